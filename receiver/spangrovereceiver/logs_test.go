package spangrovereceiver

import (
	"bytes"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"github.com/spangrove/spangrove/pkg/otlpmap"
)

// TestLogsWithoutSpan holds that a record about a model's work that names no span is left out
// by itself, with the reason in the answer, while lines of a log pass.
func TestLogsWithoutSpan(t *testing.T) {
	r := start(t, options{})
	some := func() plog.Logs {
		ld := oneLog()
		list := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
		for i := range 3 {
			rec := list.AppendEmpty()
			rec.SetEventName("gen_ai.user.message")
			rec.Body().SetEmptyMap().PutStr("content", "hi")
			if i > 0 {
				rec.SetTraceID(pcommon.TraceID{1})
			}
			if i > 1 {
				rec.SetSpanID(pcommon.SpanID{2})
			}
		}
		return ld
	}
	const reason = "2 log records left out: a trace id of 16 bytes and a span id of 8 bytes, not all zero, are required"
	inJSON, err := plogotlp.NewExportRequestFromLogs(some()).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	inProto, err := plogotlp.NewExportRequestFromLogs(some()).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{r.httpURL + "/v1/logs", r.apiURL + "/v1/logs", r.apiURL + "/opentelemetry/v1/logs"} {
		got := post(t, url, bytes.NewReader(inJSON), "Content-Type", typeJSON)
		if want := `{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"` + reason + `"}}`; got.status != 200 || got.body != want {
			t.Errorf("%s: %d %s, want %s", url, got.status, got.body, want)
		}
		answer := plogotlp.NewExportResponse()
		got = post(t, url, bytes.NewReader(inProto), "Content-Type", typeProto)
		if err := answer.UnmarshalProto([]byte(got.body)); err != nil || got.status != 200 || answer.PartialSuccess().ErrorMessage() != reason {
			t.Errorf("%s: %d %q, %v", url, got.status, got.body, err)
		}
	}
	answer, err := plogotlp.NewGRPCClient(dial(t, r)).Export(t.Context(), plogotlp.NewExportRequestFromLogs(some()))
	if err != nil || answer.PartialSuccess().RejectedLogRecords() != 2 || answer.PartialSuccess().ErrorMessage() != reason {
		t.Errorf("gRPC: %v, %d rejected: %s", err, answer.PartialSuccess().RejectedLogRecords(), answer.PartialSuccess().ErrorMessage())
	}
	if got := r.logs.LogRecordCount(); got != 14 {
		t.Errorf("%d records passed, want 14", got)
	}
}

// TestRecordsThatAnExporterLeavesOut: the answer counts them beside those that the receiver left out itself.
func TestRecordsThatAnExporterLeavesOut(t *testing.T) {
	r := start(t, options{})
	r.leaves = 2
	ld := oneLog()
	ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().AppendEmpty().SetEventName("gen_ai.user.message")
	answer, err := plogotlp.NewGRPCClient(dial(t, r)).Export(t.Context(), plogotlp.NewExportRequestFromLogs(ld))
	if err != nil {
		t.Fatal(err)
	}
	want := "1 log records left out: " + otlpmap.NoSpan + "; 2 log records left out: no room for them"
	if p := answer.PartialSuccess(); p.RejectedLogRecords() != 3 || p.ErrorMessage() != want {
		t.Errorf("rejected %d: %q, want 3: %q", p.RejectedLogRecords(), p.ErrorMessage(), want)
	}
}

// TestLogsInEveryDress sends log records compressed and in chunks.
func TestLogsInEveryDress(t *testing.T) {
	r := start(t, options{})
	body, err := plogotlp.NewExportRequestFromLogs(oneLog()).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		encoding string
		body     []byte
	}{{"", body}, {"gzip", gzipped(t, body)}, {"zstd", zstded(t, body)}} {
		for _, url := range []string{r.httpURL + "/v1/logs", r.httpURL + "/opentelemetry/v1/logs"} { // the API extension unpacks for its own port
			headers := []string{"Content-Type", typeProto}
			if tt.encoding != "" {
				headers = append(headers, "Content-Encoding", tt.encoding)
			}
			r.logs.Reset()
			if got := post(t, url, chunked(tt.body), headers...); got.status != 200 || got.body != "" || r.logs.LogRecordCount() != 1 {
				t.Errorf("%s %s: %d %s, %d records", url, tt.encoding, got.status, got.body, r.logs.LogRecordCount())
			}
		}
	}
}
