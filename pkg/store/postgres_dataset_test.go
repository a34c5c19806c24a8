package store_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/store"
)

// Two processes on one PostgreSQL link, change and delete at once: no link is lost, no version
// comes twice, and every open row names its datapoint as it is.
func TestPostgresLinksOfTwoProcesses(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	stores := []*store.Store{place.Open(t, store.Options{}), place.Open(t, store.Options{})}
	p, err := stores[0].EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	point := func(links ...string) dataset.Datapoint {
		d := dataset.Datapoint{LinkedDatasets: links}
		d.Complete()
		return d
	}
	create := func(s *store.Store, list ...dataset.Datapoint) []string {
		ids, err := s.CreateDatapoints(t.Context(), p.ID, list)
		if err != nil {
			t.Error(err)
		}
		return ids
	}
	var sets []string
	for range 2 {
		id, err := stores[0].CreateDataset(t.Context(), p.ID, dataset.New(&dataset.Update{}), nil)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, id)
	}
	const rounds = 6
	var free []string
	for range 2 * rounds {
		free = append(free, create(stores[0], point())...)
	}
	shared := create(stores[0], point(sets...))[0]
	var group sync.WaitGroup
	for n, s := range stores {
		group.Go(func() {
			for i := range rounds {
				links := []string{sets[(i+n)%2], sets[(i+n+1)%2]}
				for _, u := range []dataset.PointUpdate{
					{ID: free[n*rounds+i], LinkedDatasets: links, Inputs: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))},
					{ID: shared, Metadata: json.RawMessage(fmt.Sprintf(`{"n":"%d %d"}`, n, i))},
				} {
					if _, err := s.UpdateDatapoint(t.Context(), p.ID, u); err != nil {
						t.Error(err)
					}
				}
				if ids := create(s, point(links...), point(links[0])); len(ids) == 2 {
					if err := s.DeleteDatapoint(t.Context(), p.ID, ids[1]); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	for _, set := range sets {
		now, err := stores[1].Dataset(t.Context(), p.ID, set, 0)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := stores[1].DatapointIDs(t.Context(), p.ID, set, now.Version)
		if err != nil {
			t.Fatal(err)
		}
		if want := 1 + 4*rounds; len(ids) != want || len(dataset.Unique(ids)) != want {
			t.Errorf("dataset %s has %d datapoints, want %d, each once", set, len(ids), want)
		}
	}
	if n := place.Count(t, `SELECT count(*) FROM dataset_row r LEFT JOIN datapoint d ON d.id = r.datapoint_id
		WHERE r.to_version IS NULL AND (d.id IS NULL OR d.version <> r.datapoint_version)`); n != 0 {
		t.Errorf("%d open rows name a datapoint as it is not", n)
	}
}
