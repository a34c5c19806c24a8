package hostile

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// Decoded, a value of two bytes of JSON takes up to a hundred times as much, so that a text within the bounds of bodies may take gigabytes.
func init() {
	register(hostileCase{name: "values_for_agents", attack: valuesForAgents, memoryMiB: 200})
	register(hostileCase{name: "values_in_chunks", attack: valuesInChunks, memoryMiB: 400})
	register(hostileCase{name: "values_in_metrics", attack: valuesInMetrics, memoryMiB: 400})
	register(hostileCase{name: "shared_by_spans", attack: sharedBySpans, memoryMiB: 400})
}

const many = 1_300_000 // values of three bytes each, with the comma, make less than 4 MiB

// refusedOrBusy fails unless a request was refused for its size, or for want of memory.
func refusedOrBusy(t *testing.T, what string, status int, answer []byte) {
	t.Helper()
	if status != http.StatusRequestEntityTooLarge && status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		t.Errorf("%s: %d %.200s, want 413, 429 or 503", what, status, answer)
	}
}

// valuesForAgents calls a tool of /mcp with arguments of a million values, ten at a time.
func valuesForAgents(t *testing.T, s *stage) {
	body := gzipped(t, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"session_tree","arguments":{"session_id":[`+
		strings.Repeat("[],", many)+`0]}}}`))
	repeat(10, func() {
		status, answer := compressed(t.Context(), t, s.hostile.ingest, "/mcp", "application/json", "gzip", body)
		refusedOrBusy(t, "POST /mcp", status, answer)
	})
}

// valuesInChunks sends records of Gemini CLI whose answers came in millions of chunks of nothing.
func valuesInChunks(t *testing.T, s *stage) {
	text, err := json.Marshal("[" + strings.Repeat("{},", 4*many) + "{}]")
	if err != nil {
		t.Fatal(err)
	}
	value := func(key, text string) string { return fmt.Sprintf(`{"key":%q,"value":{"stringValue":%s}}`, key, text) }
	body := gzipped(t, fmt.Appendf(nil, `{"resourceLogs":[{"scopeLogs":[{"scope":{"name":"gemini-cli"},"logRecords":[{"timeUnixNano":"%d","attributes":[%s]}]}]}]}`,
		time.Now().UnixNano(), strings.Join([]string{value("session.id", `"s"`), value("event.name", `"gemini_cli.api_response"`), value("response_text", string(text))}, ",")))
	repeat(4, func() {
		if status, answer := compressed(t.Context(), t, s.hostile.ingest, s.HTTP+"/v1/logs", "application/json", "gzip", body); status != http.StatusOK {
			refusedOrBusy(t, "POST /v1/logs", status, answer)
		}
	})
}

// valuesInMetrics stores an event of millions of values in a project whose metric runs over new events, and asks /mcp for it.
func valuesInMetrics(t *testing.T, s *stage) {
	metric := map[string]any{"enabled_in_prod": true}
	for name, value := range expression {
		metric[name] = value
	}
	s.hostile.full.Must(t, http.MethodPost, "/v1/metrics", metric, nil)
	id := uuid.NewString()
	body := gzipped(t, fmt.Appendf(nil, `{"event":{"event_id":%q,"event_type":"model","event_name":"m","config":{"model":[%s0]},"inputs":{}}}`,
		id, strings.Repeat("[],", 4*many)))
	status, answer := compressed(t.Context(), t, s.hostile.ingest, "/v1/events", "application/json", "gzip", body)
	if status != http.StatusOK {
		t.Fatalf("POST /v1/events: %d %.200s", status, answer)
	}
	search := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_events","arguments":{"type":"model"}}}`)
	repeat(4, func() {
		status, answer := compressed(t.Context(), t, s.hostile.read, "/mcp", "application/json", "gzip", gzipped(t, search))
		if status != http.StatusOK || !strings.Contains(string(answer), "too large to be read") {
			refusedOrBusy(t, "POST /mcp", status, answer)
		}
	})
}

// sharedBySpans sends megabytes of a resource and of a scope that thousands of spans share, each of whose events is to have them.
func sharedBySpans(t *testing.T, s *stage) {
	const spans = 10_000
	attribute := fmt.Sprintf(`"attributes":[{"key":"large","value":{"stringValue":%q}}]`, strings.Repeat("x", 8<<20))
	var list strings.Builder
	for i := range spans {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"traceId":"%032x","spanId":"%016x","name":"s","startTimeUnixNano":"%d","endTimeUnixNano":"%[3]d"}`, i/10+1, i+1, time.Now().UnixNano())
	}
	body := gzipped(t, fmt.Appendf(nil, `{"resourceSpans":[{"resource":{%s},"scopeSpans":[{"scope":{"name":"n",%s},"spans":[%s]}]}]}`, attribute, attribute, list.String()))
	repeat(4, func() {
		if status, answer := compressed(t.Context(), t, s.hostile.ingest, s.HTTP+"/v1/traces", "application/json", "gzip", body); status != http.StatusOK {
			refusedOrBusy(t, "POST /v1/traces", status, answer)
		}
	})
}
