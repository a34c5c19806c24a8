package events

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
)

// While a project's heavy reads have its share, those of another go on, and the first's are told to
// come again.
func TestGateKeepsShares(t *testing.T) {
	t.Parallel()
	g := newGate(6, 4, 10*time.Millisecond)
	ctx := t.Context()
	a1, err1 := g.enter(ctx, 1, 2)
	a2, err2 := g.enter(ctx, 1, 2)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if _, err := g.enter(ctx, 1, 1); fault.Of(err) != fault.Limited {
		t.Errorf("past the share: %v, want Limited", err)
	}
	b, err := g.enter(ctx, 2, 2)
	if err != nil {
		t.Fatal("another project:", err)
	}
	g.wait = time.Minute
	got := make(chan int64, 2)
	begin := func(project int64) {
		before := len(g.queue)
		go func() {
			release, err := g.enter(ctx, project, 2)
			if err == nil {
				got <- project
				release()
			}
		}()
		for {
			g.mu.Lock()
			n := len(g.queue)
			g.mu.Unlock()
			if n > before {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	begin(1)
	begin(3)
	a1() // project 1 still has two, project 3 nothing
	if first := <-got; first != 3 {
		t.Errorf("project %d came first, want the one that had least", first)
	}
	<-got
	a2()
	b()
	if g.free != 6 || len(g.used) != 0 || len(g.queue) != 0 {
		t.Errorf("%d free, used %v, %d waiting", g.free, g.used, len(g.queue))
	}
	gone, leave := context.WithCancel(ctx)
	leave()
	full, _ := g.enter(ctx, 1, 4)
	if _, err := g.enter(gone, 1, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
	g.waiters = 0
	if _, err := g.enter(ctx, 1, 1); fault.Of(err) != fault.Limited {
		t.Errorf("too many wait: %v, want Limited", err)
	}
	full()
}
