package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/event"
)

// benchRows is how many datapoints the dataset has that BenchmarkDatasetChange changes.
const benchRows = 10_000

// BenchmarkDatasetChange turns around the order of a dataset, the change that writes most rows, while events are stored one after another: wait-ms is how long one of these
// waits at most, in the median of the changes.
func BenchmarkDatasetChange(b *testing.B) {
	s, projectID, _ := benchStore(b)
	var points []dataset.Datapoint
	for i := range benchRows {
		p := dataset.Datapoint{Inputs: fmt.Appendf(nil, `{"n":%d}`, i)}
		p.Complete()
		points = append(points, p)
	}
	ids, err := s.CreateDatapoints(b.Context(), projectID, points)
	if err != nil {
		b.Fatal(err)
	}
	set := dataset.Dataset{Name: "turned"}
	set.Complete()
	id, err := s.CreateDataset(b.Context(), projectID, set, ids)
	if err != nil {
		b.Fatal(err)
	}
	var changes, waits []time.Duration
	for b.Loop() {
		slices.Reverse(ids)
		done := make(chan struct{})
		longest := time.Duration(0)
		var ingest sync.WaitGroup
		ingest.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				at := time.Now()
				e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "step", Source: "bench", Start: float64(at.UnixMilli())}}
				e.Complete(at)
				if err := s.Put(b.Context(), projectID, event.Batch{Events: []event.Incoming{e}}); err != nil {
					b.Error(err)
					return
				}
				longest = max(longest, time.Since(at))
			}
		})
		time.Sleep(50 * time.Millisecond) // until events flow
		at := time.Now()
		if _, err := s.UpdateDataset(b.Context(), projectID, dataset.Update{ID: id, Datapoints: ids}); err != nil {
			b.Fatal(err)
		}
		changes = append(changes, time.Since(at))
		close(done)
		ingest.Wait()
		waits = append(waits, longest)
	}
	report(b, changes, "change-ms")
	report(b, waits, "wait-ms")
}
