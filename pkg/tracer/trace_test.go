package tracer

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func accept(int, []string, http.ResponseWriter) bool { return true }

// TestEnds checks how a step ends when its function does not return.
func TestEnds(t *testing.T) {
	srv := httptest.NewServer(&stub{answer: accept})
	defer srv.Close()
	spans := tracetest.NewInMemoryExporter()
	tr, _ := fast(t, srv.URL, WithProviderOptions(sdktrace.WithSyncer(spans)))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tr.Trace(context.Background(), "exits", func(context.Context) error { runtime.Goexit(); return nil })
	}()
	<-done
	ctx, end := tr.Start(t.Context(), "twice")
	end(errors.New("first"))
	end(nil)
	Enrich(ctx, Fields{Error: errors.New("too late")})
	for i, want := range []sdktrace.Status{{Code: codes.Error, Description: errExited.Error()}, {Code: codes.Error, Description: "first"}} {
		if got := spans.GetSpans()[i].Status; got != want {
			t.Errorf("span %d: %+v, want %+v", i, got, want)
		}
	}
	if n := len(spans.GetSpans()); n != 2 {
		t.Errorf("%d spans", n)
	}
}

// TestNotSampled sends nothing of a trace that is not sampled, and runs its functions.
func TestNotSampled(t *testing.T) {
	s := &stub{answer: accept}
	srv := httptest.NewServer(s)
	defer srv.Close()
	tr, _ := fast(t, srv.URL, WithProviderOptions(sdktrace.WithSampler(sdktrace.NeverSample())))
	double := Wrap(tr, "double", func(ctx context.Context, n int) (int, error) {
		Enrich(ctx, Fields{Metrics: map[string]any{"n": n}})
		return 2 * n, nil
	})
	if n, err := double(t.Context(), 21); n != 42 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	Enrich(t.Context(), Fields{Metrics: map[string]any{"nowhere": 1}})
	EnrichSession(t.Context(), Fields{Metrics: map[string]any{"nowhere": 1}})
	if EventID(t.Context()) != "" || SessionID(t.Context()) != "" {
		t.Error("ids of nothing")
	}
	if err := tr.Flush(t.Context()); err != nil || s.n != 0 {
		t.Errorf("%d requests, %v", s.n, err)
	}
}
