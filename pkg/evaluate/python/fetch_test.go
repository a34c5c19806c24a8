package python

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
)

// registry is an index of packages with the interpreter, which it gives out when gate is open.
type registry struct {
	*httptest.Server
	gate  chan struct{} // nil: open
	down  atomic.Bool
	files atomic.Int32 // that were asked for
	pages atomic.Int32
}

func newRegistry(t *testing.T, gate chan struct{}) *registry {
	t.Helper()
	r := &registry{gate: gate}
	first := packagesWithGuest[0]
	archive := wheel(t, wasm)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case r.down.Load():
			r.pages.Add(1)
			w.WriteHeader(http.StatusBadGateway)
		case req.URL.Path == "/file":
			r.files.Add(1)
			w.Header().Set("Content-Length", fmt.Sprint(len(archive)))
			_, _ = w.Write(archive[:10])
			w.(http.Flusher).Flush()
			if r.gate != nil {
				select {
				case <-r.gate:
				case <-req.Context().Done():
					return
				}
			}
			_, _ = w.Write(archive[10:])
		default:
			r.pages.Add(1)
			_, _ = fmt.Fprintf(w, `{"files":[{"filename":%q,"url":"/file"}]}`, first.file)
		}
	}))
	t.Cleanup(func() {
		r.Close()
		r.Client().CloseIdleConnections()
	})
	return r
}

// fetching returns an engine that fetches its interpreter, which a fake stands for, from a registry.
func fetching(t *testing.T, r *registry) *Engine {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "evaluators")
	e := newEngine(Config{Directory: dir, Index: r.URL + "/simple"}, func(context.Context) (program, error) {
		if _, err := read(dir, testPin()); err != nil {
			return nil, err
		}
		return &fake{}, nil
	})
	e.fetcher = newFetcher(e.config, zap.NewNop())
	e.fetcher.install.pin, e.fetcher.install.Client = testPin(), r.Client()
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func one(t *testing.T, e *Engine, queued bool) evaluation.Result {
	t.Helper()
	results, err := e.Evaluate(t.Context(), evaluate.Task{Metric: &metric.Definition{Type: metric.Python, Return: metric.Float, Criteria: "x"}, Wait: evaluate.Wait{Queued: queued},
		Events: []json.RawMessage{json.RawMessage(`{"do":"return","text":"{\"type\":\"int\",\"number\":\"1\"}"}`)}})
	if err != nil || len(results) != 1 {
		t.Fatal(results, err)
	}
	return results[0]
}

func TestFetchedAtFirstNeed(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, nil)
	e := fetching(t, r)
	e.fetcher.wait = time.Minute
	for range 2 {
		if got := one(t, e, false); !got.Success || string(got.Score) != "1" {
			t.Errorf("%+v", got)
		}
	}
	if r.files.Load() != 1 {
		t.Errorf("fetched %d times", r.files.Load())
	}
}

func TestFetchingIsToldAndShared(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, make(chan struct{}))
	e := fetching(t, r)
	e.fetcher.wait = time.Millisecond
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			got := one(t, e, i%2 == 0)
			if got.Success || !got.Loading || got.Failure != Loading || !got.Skipped || !got.Temporary || got.Later == 0 || !strings.Contains(got.Explanation, "is being fetched") {
				t.Errorf("%+v", got)
			}
		})
	}
	all.Wait()
	for r.files.Load() == 0 || e.fetcher.install.progress.total.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if got := one(t, e, true); !strings.Contains(got.Explanation, "0.0 of 0.0 MB") {
		t.Errorf("no progress in %q", got.Explanation)
	}
	e.fetcher.wait = time.Minute
	close(r.gate)
	if got := one(t, e, false); !got.Success {
		t.Errorf("%+v", got)
	}
	if r.files.Load() != 1 || r.pages.Load() != 1 {
		t.Errorf("fetched %d times from %d pages", r.files.Load(), r.pages.Load())
	}
}

func TestFetchingFails(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, nil)
	r.down.Store(true)
	e := fetching(t, r)
	e.fetcher.wait = time.Minute
	now := time.Unix(1_800_000_000, 0)
	e.fetcher.now = func() time.Time { return now }
	for i, pause := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
		for range 3 {
			got := one(t, e, false)
			if got.Success || got.Loading || got.Failure != NotInstalled || !got.Skipped || got.Later != pause || !strings.Contains(got.Explanation, "spangrove evaluators install") ||
				strings.Contains(got.Explanation, r.URL) {
				t.Errorf("attempt %d: %+v", i, got)
			}
		}
		if want := int32((i + 1) * len(packagesWithGuest)); r.pages.Load() != want {
			t.Errorf("attempt %d: %d pages were asked for, want %d", i, r.pages.Load(), want)
		}
		now = now.Add(pause)
	}
	r.down.Store(false)
	if got := one(t, e, false); !got.Success {
		t.Errorf("%+v", got)
	}
}

// TestFetchingEnds closes an engine that fetches.
func TestFetchingEnds(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, make(chan struct{}))
	e := fetching(t, r)
	e.fetcher.wait = time.Millisecond
	one(t, e, false)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
