package events

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
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
