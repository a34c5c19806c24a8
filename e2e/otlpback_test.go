package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/spangrove/spangrove/e2e/harness"
)

var otlpTypes = map[string]string{"json": "application/json", "protobuf": "application/x-protobuf"}

// TestOTLPBack exports what a server has as OTLP and imports it into an empty one, which then
// shows the same: session by session, event by event, and page by page of a search.
func TestOTLPBack(t *testing.T) {
	harness.EachStore(t, func(t *testing.T, st harness.Store) {
		from := harness.Start(t, harness.Options{Store: st})
		for _, s := range samples(t) {
			whole, _ := s.exports(t)
			for _, e := range whole {
				sendJSON(func(srv *harness.Server) string { return srv.URL })(t, from, e)
			}
		}
		sendNative(t, from)
		var sessions []string
		for _, ev := range readBack(t, from) {
			if ev["event_type"] == "session" {
				sessions = append(sessions, fmt.Sprint(ev["event_id"]))
			}
		}
		for format := range otlpTypes {
			t.Run("sessions as "+format, func(t *testing.T) {
				t.Parallel()
				to := harness.Start(t, harness.Options{Store: st})
				for i, id := range sessions {
					path := "/v1/sessions/" + id + "/otlp"
					if i%2 == 1 {
						path = "/v1/events/" + id + "/otlp"
					}
					carry(t, from, to, format, http.MethodGet, path, nil)
				}
				for _, id := range sessions {
					sameTree(t, from, to, "/v1/sessions/"+id)
				}
			})
			t.Run("a search as "+format, func(t *testing.T) {
				t.Parallel()
				to := harness.Start(t, harness.Options{Store: st})
				const limit = 40
				for page := 1; ; page++ {
					body := fmt.Sprintf(`{"filters":[],"limit":%d,"page":%d}`, limit, page)
					if carry(t, from, to, format, http.MethodPost, "/events/otlp", []byte(body)) == 0 {
						break
					}
				}
				for _, id := range sessions {
					sameTree(t, from, to, "/v1/sessions/"+id)
				}
			})
		}
		t.Run("one event in parts", func(t *testing.T) {
			t.Parallel()
			to := harness.Start(t, harness.Options{Store: st})
			var last string
			for _, id := range sessions {
				var tree harness.Event
				from.Must(t, http.MethodGet, "/v1/sessions/"+id, nil, &tree)
				for _, child := range tree["children"].([]any) {
					last = fmt.Sprint(child.(harness.Event)["event_id"])
				}
			}
			for page := 1; ; page++ {
				path := fmt.Sprintf("/events/%s/otlp?limit=2&page=%d", last, page)
				if carry(t, from, to, "json", http.MethodGet, path, nil) == 0 {
					break
				}
			}
			sameTree(t, from, to, "/v1/events/"+last)
		})
	})
}

// carry exports from one server, imports into another, and gives the number of spans.
func carry(t *testing.T, from, to *harness.Server, format, method, path string, body []byte) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, from.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+from.Key)
	req.Header.Set("Accept", otlpTypes[format])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	spans, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != otlpTypes[format] {
		t.Fatalf("%s %s: status %d, %s, %v: %.500s", method, path, resp.StatusCode, resp.Header.Get("Content-Type"), err, spans)
	}
	read := ptraceotlp.NewExportRequest()
	if format == "json" {
		err = read.UnmarshalJSON(spans)
	} else {
		err = read.UnmarshalProto(spans)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if n := read.Traces().SpanCount(); n > 0 {
		post(t, to, to.URL+"/v1/traces", otlpTypes[format], spans)
		return n
	}
	return 0
}

// sameTree compares what two servers show under a path.
func sameTree(t *testing.T, from, to *harness.Server, path string) {
	t.Helper()
	var want, got harness.Event
	from.Must(t, http.MethodGet, path, nil, &want)
	to.Must(t, http.MethodGet, path, nil, &got)
	forget(want)
	forget(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-exported +imported):\n%.3000s", path, diff)
	}
}

// forget takes what tells of the server out of a tree.
func forget(node map[string]any) {
	for _, k := range arrivalFields {
		delete(node, k)
	}
	for _, v := range node {
		if event, ok := v.(map[string]any); ok && event["event_id"] != nil {
			forget(event)
		}
	}
	children, _ := node["children"].([]any)
	for _, c := range children {
		forget(c.(map[string]any))
	}
}

// sendNative creates events with everything that spans of others never have.
func sendNative(t *testing.T, srv *harness.Server) {
	t.Helper()
	session, chain := uuid.NewString(), uuid.NewString()
	srv.Must(t, http.MethodPost, "/session/start", map[string]any{"session": map[string]any{
		"session_id": session, "session_name": "native", "source": "test", "start_time": 1790000000000.25,
		"user_properties": map[string]any{"user_id": "u1"}, "metadata": map[string]any{"tier": "gold"},
	}}, nil)
	events := []map[string]any{
		{"event_id": chain, "event_type": "chain", "event_name": "plan", "start_time": 1790000000001.5, "duration": 7.125, "inputs": map[string]any{"q": "ä\u0000\u2028"}},
		{
			"event_type": "model", "event_name": "chat", "parent_id": chain, "start_time": 1790000000002, "duration": 3,
			"config": map[string]any{"model": "gpt-4o-mini"}, "inputs": map[string]any{"chat_history": []any{map[string]any{"role": "user", "content": "hi"}}},
			"outputs": map[string]any{"role": "assistant", "content": strings.Repeat("long ", 20_000)}, "metadata": map[string]any{"cost": 0.25, "prompt_tokens": 3, "completion_tokens": 4},
			"metrics": map[string]any{"ok": true, "score": 0.5}, "feedback": map[string]any{"rating": 1},
		},
		{"event_type": "tool", "event_name": "search", "parent_id": uuid.NewString(), "start_time": 1790000000003, "inputs": map[string]any{}, "outputs": "text", "error": "", "children_ids": []any{"x"}},
		{"event_type": "generic", "event_name": "", "start_time": 1790000000004, "inputs": map[string]any{"n": 1e300}, "outputs": []any{1, nil}, "error": "it broke"},
	}
	srv.Must(t, http.MethodPost, "/v1/sessions/"+session+"/events/batch", map[string]any{"events": events}, nil)
	srv.Must(t, http.MethodPut, "/v1/events/"+session, map[string]any{"feedback": map[string]any{"ground_truth": "x"}, "metrics": map[string]any{"m": 2}}, nil)
	// An implicit session, whose event has a session's name for a parent.
	srv.Must(t, http.MethodPost, "/v1/events", map[string]any{"event_type": "model", "session_id": uuid.NewString(), "inputs": map[string]any{"a": 1}, "outputs": map[string]any{"b": 2}}, nil)
}

// TestFanOut: another exporter beside ours gets the spans as they were sent. The resource
// alone has two attributes more, by which the receiver says whose the data is.
func TestFanOut(t *testing.T) {
	harness.Require(t)
	var mu sync.Mutex
	got := map[string]ptrace.Span{}
	resources := map[string]pcommon.Resource{}
	scopes := map[string]ptrace.ScopeSpans{}
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		req := ptraceotlp.NewExportRequest()
		if err == nil {
			err = req.UnmarshalProto(body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		bySpan(req.Traces(), func(key string, rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, s ptrace.Span) {
			got[key], resources[key], scopes[key] = s, rs.Resource(), ss
		})
	}))
	t.Cleanup(sink.Close)
	config := filepath.Join(t.TempDir(), "fanout.yaml")
	text := fmt.Sprintf(`
exporters:
  otlphttp/other:
    traces_endpoint: %s/v1/traces
    compression: none
    sending_queue: {enabled: false}
service:
  pipelines:
    traces:
      exporters: [spangrove, otlphttp/other]
`, sink.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := harness.Start(t, harness.Options{Args: []string{"--config", "embedded:default", "--config", config}})
	for i, s := range samples(t) {
		transports[i%len(transports)].send(t, srv, export{"traces", decode(t, s.traces)})
		sent := toTraces(t, decode(t, s.traces)).Traces()
		mu.Lock()
		bySpan(sent, func(key string, rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, want ptrace.Span) {
			have, ok := got[key]
			if !ok {
				t.Errorf("%s: span %q did not arrive", s.name, want.Name())
				return
			}
			if diff := cmp.Diff(spanText(t, want), spanText(t, have)); diff != "" {
				t.Errorf("%s: span %q (-sent +arrived):\n%.2000s", s.name, want.Name(), diff)
			}
			at := resources[key].Attributes()
			at.RemoveIf(func(name string, _ pcommon.Value) bool { return strings.HasPrefix(name, "spangrove.") })
			if diff := cmp.Diff(rs.Resource().Attributes().AsRaw(), at.AsRaw()); diff != "" {
				t.Errorf("%s: resource (-sent +arrived):\n%.2000s", s.name, diff)
			}
			in := scopes[key]
			if ss.Scope().Name() != in.Scope().Name() || ss.Scope().Version() != in.Scope().Version() || ss.SchemaUrl() != in.SchemaUrl() ||
				!cmp.Equal(ss.Scope().Attributes().AsRaw(), in.Scope().Attributes().AsRaw()) {
				t.Errorf("%s: scope %q arrived as %q", s.name, ss.Scope().Name(), in.Scope().Name())
			}
		})
		mu.Unlock()
	}
	if n := len(readBack(t, srv)); n < len(got) {
		t.Errorf("%d events are stored of %d spans", n, len(got))
	}
}

// bySpan walks all spans with what they stand in.
func bySpan(td ptrace.Traces, do func(key string, rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, s ptrace.Span)) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				do(s.TraceID().String()+"/"+s.SpanID().String(), rs, ss, s)
			}
		}
	}
}

// spanText is one span as OTLP/JSON.
func spanText(t *testing.T, s ptrace.Span) string {
	t.Helper()
	td := ptrace.NewTraces()
	s.CopyTo(td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty())
	b, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
