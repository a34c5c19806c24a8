// Package soak loads the Go tracer and the real binary for longer than other tests do. It runs under
// the race detector, as .ci/run calls it.
package soak

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/spangrove/spangrove/e2e/harness"
	"github.com/spangrove/spangrove/pkg/tracer"
)

func TestMain(m *testing.M) { harness.Main(m) }

const (
	goroutines = 8
	traces     = 100
	steps      = 100                    // of a trace, its root among them
	outage     = 500 * time.Millisecond // besides the time that the server needs to start
	queue      = 2 << 20                // small, so that the outage fills it and spans wait
)

// TestTracer traces from 8 goroutines, 10,000 spans each, kills the server in the middle of it and
// starts it again. Every span must be there at the end, in its place in the tree, once.
func TestTracer(t *testing.T) {
	harness.Require(t)
	srv := harness.Start(t, harness.Options{})
	reports := make(chan error, 1000)
	tr, err := tracer.New(srv.URL, srv.Key, tracer.WithQueue(queue), tracer.WithErrorHandler(func(err error) { reports <- err }))
	if err != nil {
		t.Fatal(err)
	}
	var (
		work     sync.WaitGroup
		sessions [goroutines]string
		parents  [goroutines]map[string]string // of each event
	)
	for g := range goroutines {
		ctx, id := tr.StartSession(t.Context(), fmt.Sprintf("soak %d", g))
		sessions[g], parents[g] = id, make(map[string]string, traces*steps)
		work.Go(func() {
			for range traces {
				trace(ctx, tr, parents[g], id)
			}
			tracer.EnrichSession(ctx, tracer.Fields{Outputs: map[string]any{"done": true}})
		})
	}
	for tr.Counts().Sent < goroutines*traces*steps/4 {
		time.Sleep(time.Millisecond)
	}
	srv.Kill()
	before := tr.Counts()
	time.Sleep(outage)
	during := tr.Counts()
	srv.Start()
	work.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := tr.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	counts := tr.Counts()
	t.Logf("killed with %+v, started again with %+v, ended with %+v", before, during, counts)
	if want := int64(goroutines * (traces*steps + 2)); counts != (tracer.Counts{Sent: want}) {
		t.Errorf("counts %+v, want %d sent", counts, want)
	}
	if during.Waiting == 0 {
		t.Errorf("nothing waited for the server, which was started again with %+v: that was no outage", during)
	}
	close(reports)
	for err := range reports {
		t.Logf("reported: %v", err)
	}

	var found struct{ TotalEvents int }
	srv.Must(t, http.MethodPost, "/v1/events/search", map[string]any{"limit": 1}, &found)
	if want := goroutines * (traces*steps + 1); found.TotalEvents != want {
		t.Errorf("search finds %d events, want %d", found.TotalEvents, want)
	}
	for g, id := range sessions {
		var root node
		srv.Must(t, http.MethodGet, "/v1/sessions/"+id, nil, &root)
		if root.EventName != fmt.Sprintf("soak %d", g) || root.Outputs["done"] != true {
			t.Errorf("session %d: name %q, outputs %v", g, root.EventName, root.Outputs)
		}
		n := 0
		root.walk(func(parent string, e *node) {
			n++
			if want, ok := parents[g][e.EventID]; !ok || want != parent || e.ParentID != parent {
				t.Errorf("session %d: event %s stands below %s and has the parent %s, want %q", g, e.EventID, parent, e.ParentID, want)
			}
		})
		if n != len(parents[g]) || n != traces*steps {
			t.Errorf("session %d: %d events in the tree, want %d of %d", g, n, len(parents[g]), traces*steps)
		}
	}
}

// trace traces so many steps: levels one below the other, with nine tools on each.
func trace(ctx context.Context, tr *tracer.Tracer, parents map[string]string, session string) {
	var level func(ctx context.Context, depth int) error
	level = func(ctx context.Context, depth int) error {
		parent := tracer.EventID(ctx)
		if parent == "" {
			parent = session
		}
		return tr.Trace(ctx, "level", func(ctx context.Context) error {
			own := tracer.EventID(ctx)
			parents[own] = parent
			for n := range 9 {
				_, _ = tracer.Wrap(tr, "step", func(ctx context.Context, n int) (int, error) {
					parents[tracer.EventID(ctx)] = own
					tracer.Enrich(ctx, tracer.Fields{Metrics: map[string]any{"depth": depth}})
					return n + 1, nil
				}, tracer.Tool)(ctx, n)
			}
			if depth == steps/10 {
				return nil
			}
			return level(ctx, depth+1)
		})
	}
	_ = level(ctx, 1)
}

// node is an event in its session's tree.
type node struct {
	EventID   string         `json:"event_id"`
	ParentID  string         `json:"parent_id"`
	EventName string         `json:"event_name"`
	Outputs   map[string]any `json:"outputs"`
	Children  []*node        `json:"children"`
}

func (e *node) walk(f func(parent string, e *node)) {
	for _, c := range e.Children {
		f(e.EventID, c)
		c.walk(f)
	}
}
