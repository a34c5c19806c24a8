package spangrovereceiver

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc/metadata"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/fault/verdict"
)

// Whatever way a request comes, its refusal reaches those who keep them, under the project of its key, and without anything of its body.
func TestRefusalsAreNoted(t *testing.T) {
	r := start(t, options{config: withKeys})
	const wrong = "Bearer sg_abcdefghijklmnopqrstuvwxyz234567"
	bad := `{"resourceSpans": "a word of the body"}`

	post(t, r.httpURL+"/v1/traces?key=x", text(bad), "Content-Type", typeJSON)
	post(t, r.httpURL+"/v1/traces", text(bad), "Content-Type", typeJSON, "Authorization", wrong)
	post(t, r.httpURL+"/v1/traces", text(bad), "Content-Type", typeJSON, "Authorization", "Bearer over")
	post(t, r.httpURL+"/v1/traces", text(bad), "Content-Type", typeJSON, "Authorization", "Bearer down") // 503: the server's own
	post(t, r.httpURL+"/v1/traces", text(bad), "Content-Type", typeJSON, "Authorization", "Bearer read")
	post(t, r.httpURL+"/v1/traces", text(bad), "Content-Type", typeJSON, "Authorization", "Bearer ingest")
	post(t, r.httpURL+"/v1/spans", text(bad), "Content-Type", typeJSON, "Authorization", "Bearer ingest")
	post(t, r.apiURL+"/v1/sessions/x/events/batch", text(`{"events": "a word of the body"}`), "Authorization", "Bearer ingest")

	traces := ptraceotlp.NewGRPCClient(dial(t, r))
	export := func(key string) {
		t.Helper()
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", key)
		if _, err := traces.Export(ctx, ptraceotlp.NewExportRequestFromTraces(someSpans(1))); err == nil && r.fail != nil {
			t.Errorf("%s is taken", key)
		}
	}
	export(wrong)
	export("Bearer over")
	export("Bearer read")
	r.fail = verdict.Pipeline(fault.New(fault.Invalid, "no"))
	export("Bearer ingest")
	r.fail = verdict.Pipeline(fault.New(fault.Unavailable, "busy"))
	export("Bearer ingest")
	r.fail = nil
	export("Bearer ingest")

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h/other.Service/Export", bytes.NewReader(emptyMessage))
	if err != nil {
		t.Fatal(err)
	}
	req.ProtoMajor = 2
	req.Header.Set("Content-Type", "application/json")
	r.receiver.grpc.server.Handler.ServeHTTP(sink{http.Header{}}, req)

	const call = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
	r.api.mu.Lock()
	defer r.api.mu.Unlock()
	if diff := cmp.Diff([]string{
		`: POST /v1/traces 401 "" authentication failed`,
		`: POST /v1/traces 401 "sg_abcdefg" unknown API key`,
		`p-acme: POST /v1/traces 429 "sg_k1" too many requests`,
		`p-acme: POST /v1/traces 403 "sg_k1" this key may not write telemetry; it has the scope read`,
		`p-acme: POST /v1/traces 400 "sg_k1" the body is not an OTLP request in json: ReadArray: expect [ or , or ] or n, but found "`,
		`p-acme: POST /v1/spans 404 "sg_k1" nothing is served here: POST to /v1/traces or /v1/logs`,
		`p-acme: POST /v1/sessions/{id}/events/batch 400 "sg_k1" session_id: "x" is not a UUID`,
		`: POST ` + call + ` 401 "sg_abcdefg" unknown API key`,
		`p-acme: POST ` + call + ` 429 "sg_k1" too many requests`,
		`p-acme: POST ` + call + ` 403 "sg_k1" this key may not write telemetry; it has the scope read`,
		`p-acme: POST ` + call + ` 400 "sg_k1" no`,
		`: POST /other.Service/Export 415 "" OTLP over gRPC only`,
	}, r.api.refused); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if all := strings.Join(r.api.refused, " "); strings.Contains(all, "word") || strings.Contains(all, "key=x") || strings.Contains(all, "hijklm") {
		t.Errorf("something of the body, the query or the key is kept: %s", all)
	}
}
