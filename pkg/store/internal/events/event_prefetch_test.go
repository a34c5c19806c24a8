package events

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// TestLargePayloadsAreReadOnce says that the payloads of a page that do not fit into the cache together are not read ahead again and again: what it
// takes to read them grows with their own size.
func TestLargePayloadsAreReadOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		events int
		bytes  int // of each
	}{
		{"small", 200, 2_000},
		{"as many as fit", 60, 100_000},
		{"more than fit", 100, 500_000},
		{"a few fit", 80, 900_000},
		{"each too large for the cache", 12, 8_000_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openTest(t, Options{})
			makeTestProject(t, s)
			session, random := uuid.New(), rand.New(rand.NewPCG(1, 2))
			for i := range c.events {
				var text strings.Builder
				for text.Len() < c.bytes {
					fmt.Fprintf(&text, "%x %s, ", random.Uint32(), strings.Repeat("and again ", 20))
				}
				e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: session, Type: event.TypeTool, Name: "a", Start: float64(s.options.Now().UnixMilli() + int64(i)),
					Inputs: fmt.Appendf(nil, `{"text":"%s"}`, text.String())}}
				e.Complete(s.options.Now())
				if err := s.Put(t.Context(), testProject, event.Batch{Events: []event.Incoming{e}}); err != nil {
					t.Fatal(err)
				}
			}
			s.chunks = newChunkCache(chunkCacheBytes)
			set, err := s.Search(t.Context(), testProject, query.Search{Limit: c.events + 1, Page: 1, Sort: query.EventsByStart, Ascending: true})
			if err != nil || len(set.Events) < c.events {
				t.Fatalf("%d events, %v", len(set.Events), err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for i := range set.Events {
				if _, err := set.Load(t.Context(), i); err != nil {
					t.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			took := float64(after.TotalAlloc-before.TotalAlloc) / float64(c.events*c.bytes)
			t.Logf("%.1f bytes for each that the payloads have", took)
			if took > 4 {
				t.Errorf("reading takes %.1f times what the payloads have", took)
			}
		})
	}
}

// TestSessionsAreReadTogether says that a list of sessions takes no statement for each, whatever shows what they were asked and what they answered.
func TestSessionsAreReadTogether(t *testing.T) {
	const sessions = 60
	s := openTest(t, Options{})
	makeTestProject(t, s)
	var batch event.Batch
	for i := range sessions {
		at := float64(s.options.Now().UnixMilli() + int64(i))
		root := event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeChain, Name: "root", Start: at}
		call := event.Event{ID: uuid.New(), SessionID: root.SessionID, ParentID: root.ID, Type: event.TypeModel, Name: "call", Start: at,
			Inputs: fmt.Appendf(nil, `{"q":%d}`, i), Outputs: fmt.Appendf(nil, `{"a":%d}`, i)}
		for _, e := range []event.Event{root, call} {
			x := event.Incoming{Event: e}
			x.Complete(s.options.Now())
			batch.Events = append(batch.Events, x)
		}
	}
	if err := s.Put(t.Context(), testProject, batch); err != nil {
		t.Fatal(err)
	}
	s.chunks = newChunkCache(chunkCacheBytes)
	db := &countingDB{DB: s.db}
	s.db = db
	filters, err := query.ParseFilters([]byte(`[{"field":"event_type","operator":"is","value":"session"}]`), "filters")
	if err != nil {
		t.Fatal(err)
	}
	set, err := s.Search(t.Context(), testProject, query.Search{Filters: filters, Limit: 100, Page: 1, Sort: query.EventsByStart, Ascending: true})
	if err != nil || len(set.Events) != sessions {
		t.Fatalf("%d sessions, %v", len(set.Events), err)
	}
	for i := range set.Events {
		e, err := set.Load(t.Context(), i)
		if want := fmt.Sprintf(`{"q":%d} {"a":%d}`, i, i); err != nil || string(e.Inputs)+" "+string(e.Outputs) != want {
			t.Errorf("session %d shows %s %s, want %s; %v", i, e.Inputs, e.Outputs, want, err)
		}
	}
	if n := db.queries.Load(); n >= sessions {
		t.Errorf("%d sessions took %d statements", sessions, n)
	}
}

// countingDB counts reads outside of transactions.
type countingDB struct {
	sqldb.DB
	queries atomic.Int64
}

func (d *countingDB) Query(ctx context.Context, sql string, args ...any) (sqldb.Rows, error) {
	d.queries.Add(1)
	return d.DB.Query(ctx, sql, args...)
}
