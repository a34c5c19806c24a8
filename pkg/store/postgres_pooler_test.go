package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb/sqldbtest"
)

// A pooler that is killed again and again, while clients store events through it, loses nothing that was acknowledged, and what fails can be
// tried again until it succeeds, without anything being stored twice.
func TestPostgresPoolerKilled(t *testing.T) {
	t.Parallel()
	bouncer, direct := sqldbtest.BouncerOf(t, "pool_mode = transaction", "default_pool_size = 6")
	s, err := store.OpenPostgres(t.Context(), bouncer.DSN, store.Options{DirectDSN: direct})
	closeAfter(t, s, err)
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var failed atomic.Int64
	var wg sync.WaitGroup
	ids := make([][]uuid.UUID, 8) // of events that were acknowledged, by client
	for client := range ids {
		wg.Go(func() {
			for n := 0; !stop.Load(); n++ {
				e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "x", Inputs: []byte(`{"q":1}`)}}
				e.Complete(time.Now())
				for end := time.Now().Add(time.Minute); ; {
					err := s.Put(t.Context(), p.ID, event.Batch{Events: []event.Incoming{e}})
					if err == nil {
						break
					}
					failed.Add(1)
					if fault.Of(err) != fault.Unavailable || time.Now().After(end) {
						t.Errorf("client %d, event %d: %v", client, n, err)
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
				ids[client] = append(ids[client], e.ID)
			}
		})
	}
	for range 10 {
		time.Sleep(200 * time.Millisecond)
		bouncer.Restart(100 * time.Millisecond)
	}
	stop.Store(true)
	wg.Wait()

	stored := 0
	for client, list := range ids {
		for n, id := range list {
			if e, err := s.Event(t.Context(), p.ID, id); err != nil || string(e.Inputs) != `{"q":1}` {
				t.Errorf("client %d, event %d: %v", client, n, err)
			}
		}
		stored += len(list)
	}
	place := postgresPlace{dsn: direct}
	if n := place.Count(t, `SELECT count(*) FROM event`); n != 2*stored { // each with a session of its own
		t.Errorf("%d rows, want 2 for each of the %d events that were acknowledged", n, stored)
	}
	if failed.Load() == 0 {
		t.Error("no request met a pooler that was gone")
	}
	t.Logf("%d events, %d requests failed", stored, failed.Load())
}
