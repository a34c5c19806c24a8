package spangrovereceiver

import (
	"bytes"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// badProto returns a request with two good spans around one whose trace id has three bytes.
func badProto(t testing.TB) []byte {
	good := protoOf(t, someSpans(1))
	bad := protowire.AppendTag(nil, 1, protowire.BytesType) // Span.trace_id
	bad = protowire.AppendBytes(bad, []byte("abc"))
	for _, number := range []protowire.Number{2, 2, 1} { // ScopeSpans.spans, ResourceSpans.scope_spans, resource_spans
		bad = protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), bad)
	}
	more := someSpans(1)
	more.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetSpanID([8]byte{9})
	return bytes.Join([][]byte{good, bad, protoOf(t, more)}, nil)
}

// TestBadSpansAreLeftOutAlone sends good spans around bad ones.
func TestBadSpansAreLeftOutAlone(t *testing.T) {
	r := start(t, options{})
	const good = `{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","name":"good"}`
	inJSON := func(spans ...string) []byte {
		return []byte(`{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"scope":{"name":"s"},"spans":[` +
			strings.Join(spans, ",") + `]},{"spans":[` + good + `]}]}]}`)
	}
	deep := strings.Repeat(`{"arrayValue":{"values":[`, 300) + strings.Repeat(`]}}`, 300)
	for name, tt := range map[string]struct {
		contentType string
		body        []byte
		rejected    int64
		reason      string
		stay        int
	}{
		"short id":                  {typeJSON, inJSON(`{"traceId":"0102","spanId":"0102030405060708"}`, good), 1, "cannot be decoded", 2},
		"id that is not hex":        {typeJSON, inJSON(good, `{"traceId":"zz02030405060708090a0b0c0d0e0f10","spanId":"0102030405060708"}`), 1, "cannot be decoded", 2},
		"time that is not a number": {typeJSON, inJSON(strings.Replace(good, `"name"`, `"startTimeUnixNano":"yesterday","name"`, 1)), 1, "cannot be decoded", 1},
		"values nested too deep":    {typeJSON, inJSON(strings.Replace(good, `"name":"good"`, `"attributes":[{"key":"k","value":`+deep+`}]`, 1)), 1, errDepth.Error(), 1},
		"not an object":             {typeJSON, inJSON(`7`, good), 1, "cannot be decoded", 2},
		"nulls, and another span":   {typeJSON, inJSON(strings.Replace(good, `"name"`, `"parentSpanId":null,"name"`, 1), `{"traceId":"x"}`), 1, "cannot be decoded", 2},
		"without an id, too":        {typeJSON, inJSON(`{"traceId":"x"}`, `{"name":"no id"}`), 2, "1 spans left out: a trace id of 16 bytes", 1},
		"protobuf":                  {typeProto, badProto(t), 1, "cannot be decoded", 2},
	} {
		for _, url := range []string{r.httpURL, r.apiURL, r.apiURL + "/opentelemetry"} {
			r.traces.Reset()
			got := post(t, url+"/v1/traces", bytes.NewReader(tt.body), "Content-Type", tt.contentType)
			answer := ptraceotlp.NewExportResponse()
			err := answer.UnmarshalJSON([]byte(got.body))
			if tt.contentType == typeProto {
				err = answer.UnmarshalProto([]byte(got.body))
			}
			p := answer.PartialSuccess()
			if err != nil || got.status != 200 || p.RejectedSpans() != tt.rejected || !strings.Contains(p.ErrorMessage(), tt.reason) {
				t.Errorf("%s: %v, %d %s", name, err, got.status, got.body)
			}
			if n := r.traces.SpanCount(); n != tt.stay {
				t.Errorf("%s: %d spans came through, want %d", name, n, tt.stay)
			}
		}
	}

	// The client of pdata cannot write what cannot be read.
	r.traces.Reset()
	answer := ptraceotlp.NewExportResponse()
	in, out := rawMessage{buffer: mem.SliceBuffer(badProto(t))}, rawMessage{}
	err := dial(t, r).Invoke(t.Context(), "/opentelemetry.proto.collector.trace.v1.TraceService/Export", &in, &out, grpc.ForceCodecV2(rawCodec{}))
	if err == nil {
		err = answer.UnmarshalProto(out.buffer.ReadOnlyData())
	}
	if p := answer.PartialSuccess(); err != nil || p.RejectedSpans() != 1 || r.traces.SpanCount() != 2 {
		t.Errorf("gRPC: %v, %d rejected: %s; %d spans came through", err, p.RejectedSpans(), p.ErrorMessage(), r.traces.SpanCount())
	}
}

func TestBadRecordsAreLeftOutAlone(t *testing.T) {
	r := start(t, options{})
	body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"soon"},{"body":{"stringValue":"good"}}]}]}]}`
	got := post(t, r.httpURL+"/v1/logs", text(body), "Content-Type", typeJSON)
	answer := plogotlp.NewExportResponse()
	if err := answer.UnmarshalJSON([]byte(got.body)); err != nil || answer.PartialSuccess().RejectedLogRecords() != 1 {
		t.Errorf("%v, %d %s", err, got.status, got.body)
	}
	if n := r.logs.LogRecordCount(); n != 1 {
		t.Errorf("%d records came through, want 1", n)
	}
}

// TestPartialDecoderGivesUp covers requests that are bad around their spans.
func TestPartialDecoderGivesUp(t *testing.T) {
	t.Parallel()
	const bad = `{"traceId":"x"}`
	for name, body := range map[string]string{
		"resource": `{"resourceSpans":[{"resource":{"attributes":7},"scopeSpans":[{"spans":[` + bad + `]}]}]}`,
		"group":    `{"resourceSpans":[8,{"scopeSpans":[{"spans":[` + bad + `]}]}]}`,
		"not JSON": `{"resourceSpans":[{"scopeSpans":[{"spans":[` + bad + `]}`,
		"array":    `[` + bad + `]`,
	} {
		if _, out, err := decodeExport(ptraceotlp.NewExportRequest, traceRequest, encodingJSON, []byte(body), false); err == nil {
			t.Errorf("%s: taken, left out %+v", name, out)
		}
	}
	cut := badProto(t)
	if _, _, err := decodeExport(ptraceotlp.NewExportRequest, traceRequest, encodingProto, cut[:len(cut)-3], false); err == nil {
		t.Error("a message that ends in the middle is taken")
	}
}
