package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spangrove/spangrove/e2e/harness"
)

// bridge passes connections on to another address until it is cut.
type bridge struct {
	addr string
	mu   sync.Mutex
	cut  bool
	open map[net.Conn]bool
}

func newBridge(t *testing.T, to string) *bridge {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bridge{addr: l.Addr().String(), open: map[net.Conn]bool{}}
	t.Cleanup(func() { l.Close(); b.set(true) })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return // closed by the test's end
			}
			go b.carry(in, to)
		}
	}()
	return b
}

// carry joins a connection with one of its own to the other side.
func (b *bridge) carry(in net.Conn, to string) {
	out, err := net.Dial("tcp", to)
	if err != nil {
		in.Close()
		return
	}
	b.mu.Lock()
	if b.cut {
		b.mu.Unlock()
		in.Close()
		out.Close()
		return
	}
	b.open[in], b.open[out] = true, true
	b.mu.Unlock()
	pass := func(dst, src net.Conn) {
		_, _ = io.Copy(dst, src) // ends when either side is closed
		dst.Close()
		src.Close()
	}
	go pass(out, in)
	pass(in, out)
	b.mu.Lock()
	delete(b.open, in)
	delete(b.open, out)
	b.mu.Unlock()
}

// set cuts the bridge, with every connection on it, or mends it.
func (b *bridge) set(cut bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = cut
	if cut {
		for c := range b.open {
			c.Close()
		}
	}
}

// TestStoreOutage takes the database away and gives it back. Meanwhile writes
// are refused in the words that make senders try again, and after that the same
// requests succeed, without a restart.
func TestStoreOutage(t *testing.T) {
	harness.Require(t)
	dsn, err := url.Parse(harness.PostgresDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	b := newBridge(t, dsn.Host)
	dsn.Host = b.addr
	srv := harness.Start(t, harness.Options{Env: map[string]string{"SPANGROVE_POSTGRES_DSN": dsn.String()}})
	conn, err := grpc.NewClient(srv.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := ptraceotlp.NewGRPCClient(conn)

	event := func(id string) string {
		return `{"event":{"event_type":"tool","event_id":"` + id + `","inputs":{"a":1}}}`
	}
	span := decode(t, sampleOf(t, "otel-genai/agent_tool_loop").traces)
	post := func(t *testing.T, path, body string) *http.Response {
		t.Helper()
		// A sender's patience, not a judgement of speed.
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+srv.Key)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	export := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+srv.Key)
		_, err := client.Export(ctx, toTraces(t, span))
		return err
	}
	const before, during = "6f1d1f0e-0000-4000-8000-000000000001", "6f1d1f0e-0000-4000-8000-000000000002"
	if resp := post(t, srv.URL+"/events", event(before)); resp.StatusCode != http.StatusOK {
		t.Fatalf("before the outage: status %d", resp.StatusCode)
	}

	b.set(true)
	for _, path := range []string{srv.URL + "/events", srv.URL + "/session/start"} {
		body := event(during)
		if strings.HasSuffix(path, "start") {
			body = `{"session":{"session_name":"x"}}`
		}
		resp := post(t, path, body)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("POST %s without a database: status %d, Retry-After %q; want 503 and a time", path, resp.StatusCode, resp.Header.Get("Retry-After"))
		}
	}
	for _, path := range []string{srv.HTTP + "/v1/traces", srv.URL + "/v1/traces"} {
		if resp := post(t, path, string(toJSON(t, span))); resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("POST %s without a database: status %d, want 503", path, resp.StatusCode)
		}
	}
	if err := export(); status.Code(err) != codes.Unavailable {
		t.Errorf("OTLP over gRPC without a database: %v, want Unavailable", err)
	}
	if resp := post(t, srv.URL+"/v1/events/export", `{"filters":[]}`); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a read without a database: status %d, want 503", resp.StatusCode)
	}

	b.set(false)
	if resp := post(t, srv.URL+"/events", event(during)); resp.StatusCode != http.StatusOK {
		t.Fatalf("after the outage: status %d", resp.StatusCode)
	}
	if err := export(); err != nil {
		t.Errorf("OTLP over gRPC after the outage: %v", err)
	}
	for _, id := range []string{before, during} {
		if _, err := srv.Event(t.Context(), id); err != nil {
			t.Errorf("after the outage: %v", err)
		}
	}
}
