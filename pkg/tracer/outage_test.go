package tracer

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/spangrove/spangrove/pkg/client"
)

// stub is a server that answers as a test says and keeps the names of the spans that it took.
type stub struct {
	mu     sync.Mutex
	answer func(request int, names []string, w http.ResponseWriter) (took bool)
	n      int
	took   []string
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var req coltracepb.ExportTraceServiceRequest
	if strings.HasSuffix(r.URL.Path, "/traces") {
		if err := proto.Unmarshal(body, &req); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	var names []string
	for _, rs := range req.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, sp := range ss.GetSpans() {
				names = append(names, sp.GetName())
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	if s.answer(s.n, names, w) {
		s.took = append(s.took, names...)
	}
}

func (s *stub) got() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.took, " ")
}

func refuse(status int) func(int, []string, http.ResponseWriter) bool {
	return func(_ int, _ []string, w http.ResponseWriter) bool { w.WriteHeader(status); return false }
}

// fast returns a tracer of a server whose retries do not make tests slow.
func fast(t *testing.T, url string, opts ...Option) (*Tracer, *reports) {
	t.Helper()
	r := &reports{}
	opts = append([]Option{WithErrorHandler(r.add), WithBatch(DefaultBatch, time.Hour),
		func(s *settings) { s.retries = client.Retries{Count: 2, Base: time.Millisecond, Max: time.Millisecond} }}, opts...)
	tr, err := New(url, "key", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = tr.Shutdown(ended) // tests that care have done it
	})
	return tr, r
}

func spans(tr *Tracer, names ...string) {
	for _, name := range names {
		_, end := tr.Start(context.Background(), name)
		end(nil)
	}
}

// TestOutage sends nothing while the server is away, busy or breaks connections, tells of it once,
// and all of it afterwards.
func TestOutage(t *testing.T) {
	s := &stub{answer: func(n int, _ []string, w http.ResponseWriter) bool {
		switch {
		case n < 5:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		case n < 10:
			w.WriteHeader(http.StatusTooManyRequests)
		case n < 15:
			panic(http.ErrAbortHandler)
		default:
			return true
		}
		return false
	}}
	srv := httptest.NewServer(s)
	defer srv.Close()
	tr, r := fast(t, srv.URL)
	spans(tr, "a", "b")
	if err := tr.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if got := s.got(); got != "a b" || r.len() != 1 {
		t.Errorf("took %q, reports %v", got, r.list)
	}
}

// TestRefused checks what is given up: what the server says is wrong at once, what it cannot do
// after some attempts, and of a request that is too large only the part that is.
func TestRefused(t *testing.T) {
	long := func(names []string) bool { return strings.Contains(strings.Join(names, " "), "long") }
	for _, tt := range []struct {
		name   string
		answer func(int, []string, http.ResponseWriter) bool
		took   string
		lost   int64
		asked  int
	}{
		{"wrong", refuse(http.StatusBadRequest), "", 4, 1},
		{"no key", refuse(http.StatusUnauthorized), "", 4, 1},
		{"fails", refuse(http.StatusInternalServerError), "", 4, 3},
		{"too large", func(_ int, names []string, w http.ResponseWriter) bool {
			if long(names) {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
			}
			return !long(names)
		}, "a b d", 1, 5}, // [a b long d], [a b], [long d], [long], [d]
		{"in part", func(_ int, names []string, w http.ResponseWriter) bool {
			b, _ := proto.Marshal(&coltracepb.ExportTraceServiceResponse{PartialSuccess: &coltracepb.ExportTracePartialSuccess{RejectedSpans: 3, ErrorMessage: "no"}})
			_, _ = w.Write(b)
			return true
		}, "a b long d", 3, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &stub{answer: tt.answer}
			srv := httptest.NewServer(s)
			defer srv.Close()
			tr, r := fast(t, srv.URL)
			spans(tr, "a", "b", "long", "d")
			if err := tr.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "are lost") {
				t.Errorf("Flush: %v", err)
			}
			if err := tr.Flush(t.Context()); err != nil {
				t.Errorf("the next Flush: %v", err)
			}
			if c := tr.Counts(); s.got() != tt.took || c != (Counts{Sent: 4 - tt.lost, Lost: tt.lost}) || s.n != tt.asked || r.len() != 1 {
				t.Errorf("took %q in %d requests, counts %+v, reports %v", s.got(), s.n, c, r.list)
			}
		})
	}
}

// TestNotUTF8 sends texts of other instrumentations that are none.
func TestNotUTF8(t *testing.T) {
	s := &stub{answer: func(int, []string, http.ResponseWriter) bool { return true }}
	srv := httptest.NewServer(s)
	defer srv.Close()
	tr, _ := fast(t, srv.URL)
	_, span := tr.Provider().Tracer("other").Start(t.Context(), "bad \xff name",
		trace.WithAttributes(attribute.StringSlice("k\xff", []string{"v\xff"})))
	span.End()
	spans(tr, "good")
	if err := tr.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if got := s.got(); got != "bad \uFFFD name good" {
		t.Errorf("took %q", got)
	}
}

// TestShutdown gives up what is left when its context ends, says so, and does nothing twice.
func TestShutdown(t *testing.T) {
	srv := httptest.NewServer(&stub{answer: refuse(http.StatusServiceUnavailable)})
	defer srv.Close()
	tr, _ := fast(t, srv.URL)
	_, _ = tr.StartSession(t.Context(), "s")
	spans(tr, "a", "b")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tr.Shutdown(ended); err == nil || !strings.Contains(err.Error(), "3 spans, session starts or updates are lost") {
		t.Errorf("Shutdown: %v", err)
	}
	if err := tr.Shutdown(t.Context()); err != nil {
		t.Errorf("a second Shutdown: %v", err)
	}
	spans(tr, "late")
	if c := tr.Counts(); c != (Counts{Lost: 4}) {
		t.Errorf("counts %+v", c)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Option{WithQueue(0), WithBatch(0, time.Second), WithBatch(1, -1)} {
		if _, err := New("http://127.0.0.1:1", "key", o); err == nil {
			t.Error("no error")
		}
	}
	if _, err := New("127.0.0.1", "key"); err == nil || !strings.Contains(err.Error(), "http://host:port") {
		t.Errorf("an address without a scheme: %v", err)
	}
}
