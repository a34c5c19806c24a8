package tracer_test

import (
	"context"
	"sync"
	"testing"

	"github.com/spangrove/spangrove/e2e/inprocess"
	"github.com/spangrove/spangrove/pkg/tracer"
)

// TestNestedSession starts a session within a step of another one, many at the same time.
func TestNestedSession(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, api string) {
		tr, c := open(t, api)
		outer, outerID := tr.StartSession(t.Context(), "outer")
		var mu sync.Mutex
		inner := map[string]string{} // session to step
		_ = tr.Trace(outer, "fan out", func(ctx context.Context) error {
			var work sync.WaitGroup
			for range 5 {
				work.Go(func() {
					ctx, id := tr.StartSession(ctx, "inner")
					_ = tr.Trace(ctx, "step", func(ctx context.Context) error {
						mu.Lock()
						defer mu.Unlock()
						inner[id] = tracer.EventID(ctx)
						return nil
					})
				})
			}
			work.Wait()
			return nil
		})
		flush(t, tr)
		if evs := byName(t, c, outerID); len(evs) != 2 {
			t.Errorf("the outer session has %v", evs)
		}
		for id, step := range inner {
			evs := byName(t, c, id)
			if len(evs) != 2 {
				t.Errorf("an inner session has %v", evs)
				continue
			}
			want(t, evs["step"], `{"event_id":"`+step+`","session_id":"`+id+`"}`)
		}
	})
}
