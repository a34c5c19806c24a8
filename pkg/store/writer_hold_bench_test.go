package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store"
)

// holds measures how long commits take, which is how long SQLite's writer is held.
type holds struct{ reader *sdkmetric.ManualReader }

func newHolds() (holds, *sdkmetric.MeterProvider) {
	h := holds{sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(func(sdkmetric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }))}
	return h, sdkmetric.NewMeterProvider(sdkmetric.WithReader(h.reader))
}

// longest returns that of the commits since it was asked last.
func (h holds) longest(b *testing.B) (longest time.Duration) {
	b.Helper()
	var all metricdata.ResourceMetrics
	if err := h.reader.Collect(context.Background(), &all); err != nil {
		b.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != "spangrove_store_commit_seconds" {
				continue
			}
			for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
				if seconds, ok := p.Max.Value(); ok {
					longest = max(longest, time.Duration(seconds*float64(time.Second)))
				}
			}
		}
	}
	return longest
}

// BenchmarkHold measures how long large changes hold SQLite's writer, for which ingestion waits:
// hold-ms is the longest of a change's transactions, in the median of the changes.
func BenchmarkHold(b *testing.B) {
	h, meters := newHolds()
	s, err := store.OpenSQLite(b.Context(), b.TempDir(), store.Options{Meter: meters.Meter("bench")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close(context.Background()) })
	ctx := b.Context()
	projectID := benchProject(b, s)
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	points := func(size int) (list []dataset.Datapoint) {
		for i := range benchRows {
			p := dataset.Datapoint{Inputs: fmt.Appendf(nil, `{"n":%d,"text":%q}`, i, benchText[i*64:i*64+size])}
			p.Complete()
			list = append(list, p)
		}
		return list
	}
	newSet := func(ids []string) string {
		set := dataset.Dataset{Name: "set"}
		set.Complete()
		id, err := s.CreateDataset(ctx, projectID, set, ids)
		must(err)
		return id
	}
	events := func(projectID int64) (list []event.Incoming) {
		for len(list) < benchRows {
			list = append(list, plainSteps(min(1000, benchRows-len(list)))...)
			for i := max(0, len(list)-1000); i < len(list); i++ {
				list[i].SessionID = list[0].SessionID
			}
			must(s.Put(ctx, projectID, event.Batch{Events: list[max(0, len(list)-1000):]}))
		}
		return list
	}
	// change measures f, which is made anew by prepare for each run.
	change := func(name string, prepare func() func()) {
		b.Run(name, func(b *testing.B) {
			var times, took []time.Duration
			for range b.N {
				b.StopTimer()
				f := prepare()
				h.longest(b)
				b.StartTimer()
				at := time.Now()
				f()
				took = append(took, time.Since(at))
				times = append(times, h.longest(b))
			}
			report(b, took, "change-ms")
			report(b, times, "hold-ms")
		})
	}
	ids, err := s.CreateDatapoints(ctx, projectID, points(20))
	must(err)
	for _, size := range []int{20, 1500} {
		change(fmt.Sprintf("datapoints/%d", size), func() func() {
			list := points(size)
			return func() { _, err := s.CreateDatapoints(ctx, projectID, list); must(err) }
		})
	}
	change("datapoints/linked", func() func() {
		id, list := newSet(nil), points(20)
		for i := range list {
			list[i].LinkedDatasets = []string{id}
		}
		return func() { _, err := s.CreateDatapoints(ctx, projectID, list); must(err) }
	})
	change("dataset/create", func() func() { return func() { newSet(ids) } })
	change("dataset/reverse", func() func() {
		id, turned := newSet(ids), slices.Clone(ids)
		slices.Reverse(turned)
		return func() {
			_, err := s.UpdateDataset(ctx, projectID, dataset.Update{ID: id, Datapoints: turned})
			must(err)
		}
	})
	change("dataset/empty", func() func() {
		id := newSet(ids)
		return func() {
			_, err := s.UpdateDataset(ctx, projectID, dataset.Update{ID: id, Datapoints: []string{}})
			must(err)
		}
	})
	change("dataset/first-gone", func() func() {
		id := newSet(ids)
		return func() {
			_, err := s.UpdateDataset(ctx, projectID, dataset.Update{ID: id, Datapoints: ids[1:]})
			must(err)
		}
	})
	change("dataset/delete", func() func() {
		id := newSet(ids)
		return func() { must(s.DeleteDataset(ctx, projectID, id)) }
	})
	change("run/create", func() func() {
		id := uuid.NewString()
		name := "run"
		var sessions []string
		for range benchRows {
			sessions = append(sessions, uuid.NewString())
		}
		return func() {
			_, err := s.CreateRun(ctx, projectID, run.Update{ID: id, Name: &name, EventIDs: sessions})
			must(err)
		}
	})
	change("run/delete", func() func() {
		id := uuid.NewString()
		name := "run"
		_, err := s.CreateRun(ctx, projectID, run.Update{ID: id, Name: &name})
		must(err)
		var list []event.Incoming
		for i := range benchRows {
			e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: fmt.Sprint("step ", i), Start: float64(time.Now().UnixMilli()), Metadata: fmt.Appendf(nil, `{"run_id":%q,"k%d":1}`, id, i%50)}}
			e.Complete(time.Time{})
			list = append(list, e)
		}
		for part := range slices.Chunk(list, 1000) {
			must(s.Put(ctx, projectID, event.Batch{Events: part}))
		}
		return func() { must(s.DeleteRun(ctx, projectID, id)) }
	})
	change("events/put-1000", func() func() {
		list := plainSteps(1000)
		return func() { must(s.Put(ctx, projectID, event.Batch{Events: list})) }
	})
	change("session/delete", func() func() {
		list := events(projectID)
		return func() { must(s.DeleteSession(ctx, projectID, list[0].SessionID)) }
	})
	change("project/delete", func() func() {
		doomed := benchProject(b, s)
		events(doomed)
		_, err := s.CreateDatapoints(ctx, doomed, points(1500))
		must(err)
		return func() {
			gone, err := s.DeleteProject(ctx, doomed)
			must(err)
			<-gone
		}
	})
	metricID := func() string {
		d := metric.Definition{Name: "m" + uuid.NewString(), Type: metric.Human}
		d.Complete(metric.DefaultSampling)
		id, err := s.CreateMetric(ctx, projectID, d)
		must(err)
		return id
	}
	all := events(projectID)
	requests := func(id string) (a evaluation.Enqueue) {
		a.Project = projectID
		for _, e := range all {
			a.Requests = append(a.Requests, evaluation.Request{MetricID: id, Version: 1, EventID: e.ID})
		}
		return a
	}
	change("evaluations/admit", func() func() {
		a := requests(metricID())
		return func() { _, err := s.EnqueueEvaluations(ctx, a); must(err) }
	})
	change("evaluations/claim", func() func() {
		id := metricID()
		_, err := s.EnqueueEvaluations(ctx, requests(id))
		must(err)
		return func() {
			_, err := s.ClaimEvaluations(ctx, evaluation.Group{Project: projectID, MetricID: id, Version: 1}, 1000, time.Minute, nil)
			must(err)
		}
	})
	change("evaluations/finish", func() func() {
		id := metricID()
		_, err := s.EnqueueEvaluations(ctx, requests(id))
		must(err)
		jobs, err := s.ClaimEvaluations(ctx, evaluation.Group{Project: projectID, MetricID: id, Version: 1}, 1000, time.Minute, nil)
		must(err)
		var outcomes []evaluation.Outcome
		for _, j := range jobs {
			outcomes = append(outcomes, evaluation.Outcome{Job: j, State: evaluation.Done, Score: []byte("1"), Explanation: "because"})
		}
		return func() { must(s.FinishEvaluations(ctx, projectID, "m", outcomes)) }
	})
	change("evaluations/drop", func() func() {
		id := metricID()
		_, err := s.EnqueueEvaluations(ctx, requests(id))
		must(err)
		return func() { must(s.DropWaiting(ctx, evaluation.Group{Project: projectID, MetricID: id, Version: 1})) }
	})
	change("backfill", func() func() {
		bf, err := s.CreateBackfill(ctx, projectID, evaluation.Backfill{MetricID: metricID(), Version: 1, Filters: []byte(`[]`), Limit: 1000})
		must(err)
		return func() {
			for range 2 {
				_, err := s.StepBackfills(ctx)
				must(err)
			}
			_, err := s.MoveBackfill(ctx, projectID, bf.MetricID, bf.ID, evaluation.BackfillCancelled)
			must(err)
		}
	})
	change("queue/add", func() func() {
		q := queue.Queue{Name: "q" + uuid.NewString(), Annotators: 1, Lease: 600}
		var list []uuid.UUID
		for _, e := range all[:queue.MaxEvents] {
			list = append(list, e.ID)
		}
		return func() { _, err := s.CreateQueue(ctx, projectID, q, list); must(err) }
	})
	p, err := s.ProjectByID(ctx, projectID)
	must(err)
	change("queue/fill", func() func() {
		q := queue.Queue{Name: "q" + uuid.NewString(), Enabled: true, Annotators: 1, Lease: 600, Filters: []byte(`[{"field":"event_type","operator":"is","value":"tool"}]`)}
		q, err := s.CreateQueue(ctx, projectID, q, nil)
		must(err)
		return func() { _, _, err := s.FillQueue(ctx, project.Project(p), q.ID); must(err) }
	})
}
