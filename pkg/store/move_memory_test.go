package store_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/store"
)

// TestMoveMemory moves datapoints of 2 MB and watches the memory. It does not run beside others.
func TestMoveMemory(t *testing.T) {
	from, to := sqlitePlace{dir: t.TempDir()}, newPostgresPlace(t)
	s := from.Open(t, store.Options{})
	if _, err := s.EnsureProject(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	const points, most = 80, 64 << 20
	from.Exec(t, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80)
		INSERT INTO datapoint(project_id, id, version, created_ms, updated_ms, doc)
		SELECT (SELECT min(id) FROM project), 'point' || i, 1, 1, 1, json_object('inputs', json_object('text', hex(zeroblob(1000000)))) FROM n`)
	var peak uint64
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			runtime.GC() // what is left is in use
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	})
	r, err := store.MoveSQLite(t.Context(), from.dir, to.dsn, store.MoveOptions{})
	close(stop)
	watch.Wait()
	if err != nil || !r.Moved {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := to.Count(t, `SELECT count(*) FROM datapoint`); n != points {
		t.Errorf("%d datapoints are there, want %d", n, points)
	}
	if peak > most {
		t.Errorf("the move of %d datapoints of 2 MB has %d MB in memory, want at most %d", points, peak>>20, most>>20)
	}
}
