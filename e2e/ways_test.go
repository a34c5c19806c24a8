package e2e

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/spangrove/spangrove/e2e/harness"
)

// export is one request of a signal, as OTLP/JSON.
type export struct {
	signal string // traces or logs
	body   map[string]any
}

// ways are those in which one capture may reach a server. The events must be the
// same after each.
var ways = []struct {
	name string
	logs bool // of interest only where there are log records
	cut  func(whole, parts []export) []export
}{
	{"whole", false, func(whole, _ []export) []export { return whole }},
	{"span by span", false, func(_, parts []export) []export { return parts }},
	{"reversed", false, func(_, parts []export) []export {
		parts = slices.Clone(parts)
		slices.Reverse(parts)
		return parts
	}},
	{"twice", false, func(whole, _ []export) []export { return slices.Concat(whole, whole) }},
	{"logs first", true, func(whole, _ []export) []export {
		return slices.Concat(of("logs", whole), of("traces", whole))
	}},
	{"records first", true, func(_, parts []export) []export {
		return slices.Concat(of("logs", parts), of("traces", parts))
	}},
	{"records on both sides", true, func(whole, parts []export) []export {
		records := of("logs", parts)
		half := len(records) / 2
		return slices.Concat(records[half:], of("traces", whole), records[:half])
	}},
}

// of returns the exports of one signal.
func of(signal string, all []export) []export {
	var out []export
	for _, e := range all {
		if e.signal == signal {
			out = append(out, e)
		}
	}
	return out
}

// exports returns a sample as it was sent, and cut into spans and records.
func (s *sample) exports(t *testing.T) (whole, parts []export) {
	t.Helper()
	whole = []export{{"traces", decode(t, s.traces)}}
	if s.logs != nil {
		whole = append(whole, export{"logs", decode(t, s.logs)})
	}
	for _, e := range whole {
		levels := map[string][3]string{
			"traces": {"resourceSpans", "scopeSpans", "spans"},
			"logs":   {"resourceLogs", "scopeLogs", "logRecords"},
		}[e.signal]
		for _, one := range cut(e.body, levels[:]) {
			parts = append(parts, export{e.signal, one})
		}
	}
	return whole, parts
}

// cut gives o as objects that hold one element of the innermost level each, in
// their order.
func cut(o map[string]any, levels []string) []map[string]any {
	if len(levels) == 0 {
		return []map[string]any{o}
	}
	var out []map[string]any
	for _, inner := range list(o, levels[0]) {
		for _, one := range cut(inner, levels[1:]) {
			outer := maps.Clone(o)
			outer[levels[0]] = []any{one}
			out = append(out, outer)
		}
	}
	return out
}

// transports are the ways in. JSON goes out as captured; protobuf is made of it.
var transports = []struct {
	name string
	send func(t *testing.T, srv *harness.Server, e export)
}{
	{"JSON on the API port", sendJSON(func(srv *harness.Server) string { return srv.URL + "/opentelemetry" })},
	{"JSON on the API port, plain path", sendJSON(func(srv *harness.Server) string { return srv.URL })},
	{"JSON on the OTLP port", sendJSON(func(srv *harness.Server) string { return srv.HTTP })},
	{"protobuf on the API port", sendProto(func(srv *harness.Server) string { return srv.URL })},
	{"protobuf on the OTLP port", sendProto(func(srv *harness.Server) string { return srv.HTTP })},
	{"gRPC", sendGRPC},
}

func sendJSON(base func(*harness.Server) string) func(*testing.T, *harness.Server, export) {
	return func(t *testing.T, srv *harness.Server, e export) {
		t.Helper()
		answer := post(t, srv, base(srv)+"/v1/"+e.signal, "application/json", toJSON(t, e.body))
		if ps, _ := decode(t, answer)["partialSuccess"].(map[string]any); len(ps) > 0 {
			t.Errorf("partial success: %s", answer)
		}
	}
}

func sendProto(base func(*harness.Server) string) func(*testing.T, *harness.Server, export) {
	return func(t *testing.T, srv *harness.Server, e export) {
		t.Helper()
		var body []byte
		var err error
		if e.signal == "logs" {
			body, err = toLogs(t, e.body).MarshalProto()
		} else {
			body, err = toTraces(t, e.body).MarshalProto()
		}
		if err != nil {
			t.Fatal(err)
		}
		answer := post(t, srv, base(srv)+"/v1/"+e.signal, "application/x-protobuf", body)
		if len(answer) > 0 { // a message without a field has no bytes
			t.Errorf("partial success: %q", answer)
		}
	}
}

func post(t *testing.T, srv *harness.Server, url, contentType string, body []byte) []byte {
	t.Helper()
	code, answer, err := srv.Send(t.Context(), http.MethodPost, url, contentType, body)
	if err != nil {
		t.Fatal(err)
	}
	if code != http.StatusOK {
		t.Fatalf("POST %s: status %d: %.500s", url, code, answer)
	}
	return answer
}

func sendGRPC(t *testing.T, srv *harness.Server, e export) {
	t.Helper()
	conn, err := grpc.NewClient(srv.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+srv.Key)
	var rejected int64
	var why string
	if e.signal == "logs" {
		resp, err := plogotlp.NewGRPCClient(conn).Export(ctx, toLogs(t, e.body))
		if err != nil {
			t.Fatal(err)
		}
		rejected, why = resp.PartialSuccess().RejectedLogRecords(), resp.PartialSuccess().ErrorMessage()
	} else {
		resp, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, toTraces(t, e.body))
		if err != nil {
			t.Fatal(err)
		}
		rejected, why = resp.PartialSuccess().RejectedSpans(), resp.PartialSuccess().ErrorMessage()
	}
	if rejected != 0 || why != "" {
		t.Errorf("%d %s rejected: %s", rejected, e.signal, why)
	}
}

// toTraces decodes a captured request with the Collector's own decoder, which
// refuses the JSON nulls that one SDK sends.
func toTraces(t *testing.T, req map[string]any) ptraceotlp.ExportRequest {
	t.Helper()
	out := ptraceotlp.NewExportRequest()
	if err := out.UnmarshalJSON(toJSON(t, withoutNulls(req))); err != nil {
		t.Fatal(err)
	}
	return out
}

// toLogs is toTraces for log records.
func toLogs(t *testing.T, req map[string]any) plogotlp.ExportRequest {
	t.Helper()
	out := plogotlp.NewExportRequest()
	if err := out.UnmarshalJSON(toJSON(t, withoutNulls(req))); err != nil {
		t.Fatal(err)
	}
	return out
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if e != nil {
				out[k] = withoutNulls(e)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, withoutNulls(e))
		}
		return out
	}
	return v
}
