package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
)

// fake takes OTLP over gRPC and HTTP and answers the reads from memory.
type fake struct {
	ptraceotlp.UnimplementedGRPCServer
	mu    sync.Mutex
	spans map[string]bool
	bySes map[string]int
	drop  int // loses every drop-th span after acknowledging it
	seen  int
}

func (s *fake) traces(td ptrace.Traces) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, sp := range ss.Spans().All() {
				if s.seen++; s.drop > 0 && s.seen%s.drop == 0 {
					continue
				}
				session, _ := sp.Attributes().Get("session.id")
				if id := sp.TraceID().String() + sp.SpanID().String(); !s.spans[id] {
					s.spans[id] = true
					s.bySes[session.Str()]++
				}
			}
		}
	}
}

func (s *fake) Export(_ context.Context, r ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	s.traces(r.Traces())
	return ptraceotlp.NewExportResponse(), nil
}

func (s *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.URL.Path == "/v1/traces":
		req := ptraceotlp.NewExportRequest()
		if err := req.UnmarshalProto(body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.traces(req.Traces())
	case r.URL.Path == "/v1/events/search":
		s.mu.Lock()
		defer s.mu.Unlock()
		json.NewEncoder(w).Encode(map[string]any{"events": []any{}, "totalEvents": len(s.spans)})
	case strings.HasPrefix(r.URL.Path, "/v1/sessions/"):
		s.mu.Lock()
		defer s.mu.Unlock()
		n := s.bySes[strings.TrimPrefix(r.URL.Path, "/v1/sessions/")]
		fmt.Fprintf(w, `{"event_id":"session","children":[%s]}`, strings.TrimSuffix(strings.Repeat(`{"event_id":"x"},`, n), ","))
	default:
		http.NotFound(w, r)
	}
}

func newFake(t *testing.T, drop int) (s *fake, grpcAddr, httpURL string) {
	s = &fake{spans: map[string]bool{}, bySes: map[string]int{}, drop: drop}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gs := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	ptraceotlp.RegisterGRPCServer(gs, s)
	go gs.Serve(l)
	hs := httptest.NewServer(s)
	t.Cleanup(func() { gs.Stop(); hs.Close() })
	return s, l.Addr().String(), hs.URL
}

func TestEverySpanArrivesOnce(t *testing.T) {
	for _, mode := range []string{"otlp-grpc", "otlp-http"} {
		for _, interleave := range []bool{false, true} {
			s, grpcAddr, httpURL := newFake(t, 0)
			g := NewSpanGenerator(1, 3000, 500, baseTime(), time.Hour, "default")
			o := LoadOpts{Mode: mode, Endpoint: httpURL, Senders: 3, Batch: 100, Interleave: interleave}
			if mode == "otlp-grpc" {
				o.Endpoint = grpcAddr
			}
			r, err := Load(t.Context(), g, o)
			if err != nil {
				t.Fatal(mode, err)
			}
			if r.Acked != 3000 || len(s.spans) != 3500 || r.Failed != 0 {
				t.Errorf("%s interleave=%v: acknowledged %d, arrived %d, failed %d", mode, interleave, r.Acked, len(s.spans), r.Failed)
			}
			v := Verify(t.Context(), newQueryAPI(httpURL, ""), g, verifyOpts{acked: r.ackedBy, lastAck: r.LastAck, timeout: 5 * time.Second, readers: 4})
			if v.Lost != 0 || v.Visible < 0 || v.Expected != 3500 || v.Count != 3500 {
				t.Errorf("%s: %+v", mode, v)
			}
		}
	}
}

func TestVerifySeesLoss(t *testing.T) {
	s, grpcAddr, httpURL := newFake(t, 10)
	g := NewSpanGenerator(1, 1200, 0, baseTime(), time.Hour, "default")
	r, err := Load(t.Context(), g, LoadOpts{Mode: "otlp-grpc", Endpoint: grpcAddr, Senders: 2, Batch: 100})
	if err != nil {
		t.Fatal(err)
	}
	v := Verify(t.Context(), newQueryAPI(httpURL, ""), g, verifyOpts{acked: r.ackedBy, lastAck: r.LastAck, timeout: time.Second, readers: 2})
	if want := int64(1200 - len(s.spans)); v.Lost != want || v.Visible != -1 {
		t.Errorf("lost %d, want %d; %+v", v.Lost, want, v)
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	base := time.Unix(1700000000, 0)
	bytes := func(seed uint64) string {
		g := NewSpanGenerator(seed, 600, 0, base, time.Hour, "p")
		var spans []span
		for tr := range g.Traces {
			spans = g.Spans(tr, spans)
		}
		b, err := ptraceotlp.NewExportRequestFromTraces(g.OTLP(spans)).MarshalProto()
		if err != nil {
			t.Fatal(err)
		}
		if mean := len(b) / len(spans); mean < 5000 || mean > 7500 {
			t.Errorf("%d bytes a span, want about 6,000", mean)
		}
		return string(b)
	}
	if bytes(7) != bytes(7) {
		t.Error("the same seed gives other bytes")
	}
	if bytes(7) == bytes(8) {
		t.Error("another seed gives the same bytes")
	}
}
