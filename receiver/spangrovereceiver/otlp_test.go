package spangrovereceiver

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/fault/verdict"
	"github.com/spangrove/spangrove/pkg/otlpmap"
	"github.com/spangrove/spangrove/pkg/project"
)

const (
	typeJSON  = "application/json"
	typeProto = "application/x-protobuf"
)

// someSpans has n good spans, and a sender that claims another project.
func someSpans(n int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "test")
	rs.Resource().Attributes().PutStr(project.AttrProjectID, "somebody else's")
	rs.Resource().Attributes().PutStr("spangrove.anything", "x")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for i := range n {
		s := spans.AppendEmpty()
		s.SetName("step")
		s.SetTraceID([16]byte{1, byte(i)})
		s.SetSpanID([8]byte{1, byte(i)})
	}
	return td
}

func protoOf(t testing.TB, td ptrace.Traces) []byte {
	t.Helper()
	b, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func gzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zstded(t *testing.T, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(b, nil)
}

func TestOTLPOverHTTP(t *testing.T) {
	r := start(t, options{})
	honeyhive, err := os.ReadFile("testdata/honeyhive_chain.json")
	if err != nil {
		t.Fatal(err)
	}
	binary := protoOf(t, someSpans(3))
	npm := `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{}}]},"scopeSpans":[{"spans":[
		{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","name":"n","kind":"SPAN_KIND_CLIENT","startTimeUnixNano":"1795213973159783596"}]}]}]}`
	for _, tt := range []struct {
		name    string
		body    []byte
		headers []string
		spans   int
		answer  string
	}{
		{"protobuf", binary, []string{"Content-Type", typeProto}, 3, ""},
		{"protobuf, gzip", gzipped(t, binary), []string{"Content-Type", typeProto, "Content-Encoding", "gzip"}, 3, ""},
		{"protobuf, zstd", zstded(t, binary), []string{"Content-Type", typeProto, "Content-Encoding", "zstd"}, 3, ""},
		{"protobuf without a content type", binary, nil, 3, ""},
		{"HoneyHive's JSON, null parents and enum names", honeyhive, []string{"Content-Type", typeJSON}, 2, "{}"},
		{"JSON, gzip", gzipped(t, honeyhive), []string{"Content-Type", typeJSON + "; charset=utf-8", "Content-Encoding", "gzip"}, 2, "{}"},
		{"JSON without a content type", honeyhive, nil, 2, "{}"},
		{"npm's empty value", []byte(npm), []string{"Content-Type", typeJSON}, 1, "{}"},
		{"nothing", nil, []string{"Content-Type", typeJSON}, 0, "{}"},
	} {
		for _, path := range []string{"/v1/traces", "/opentelemetry/v1/traces"} {
			for _, chunks := range []bool{false, true} {
				r.traces.Reset()
				body := chunked(tt.body)
				if !chunks {
					body = bytes.NewReader(tt.body)
				}
				got := post(t, r.httpURL+path, body, tt.headers...)
				if got.status != http.StatusOK || got.body != tt.answer || r.traces.SpanCount() != tt.spans {
					t.Errorf("%s to %s: %d %q, %d spans", tt.name, path, got.status, got.body, r.traces.SpanCount())
				}
				want := typeJSON
				if tt.answer == "" {
					want = typeProto
				}
				if ct := got.header.Get("Content-Type"); ct != want {
					t.Errorf("%s: content type %q, want %q", tt.name, ct, want)
				}
			}
		}
	}
}

func TestTheCallersProjectIsStamped(t *testing.T) {
	r := start(t, options{})
	body := protoOf(t, someSpans(1))
	for _, tt := range []struct {
		url, key string
		want     map[string]any
	}{
		{r.apiURL, "ingest", map[string]any{"service.name": "test", project.AttrProjectID: "p-acme", project.AttrKeyID: "k-1"}},
		{r.httpURL, "", map[string]any{"service.name": "test"}},
	} {
		r.traces.Reset()
		if got := post(t, tt.url+"/v1/traces", bytes.NewReader(body), "Content-Type", typeProto, "Authorization", tt.key); got.status != 200 {
			t.Fatalf("got %+v", got)
		}
		got := r.traces.AllTraces()[0].ResourceSpans().At(0).Resource().Attributes().AsRaw()
		if len(got) != len(tt.want) {
			t.Errorf("resource %v, want %v", got, tt.want)
		}
		for k, v := range tt.want {
			if got[k] != v {
				t.Errorf("%s is %v, want %v", k, got[k], v)
			}
		}
	}
}

func TestSpansWithoutIDsAreLeftOut(t *testing.T) {
	r := start(t, options{})
	td := someSpans(3)
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	spans.At(0).SetTraceID([16]byte{})
	spans.At(2).SetSpanID([8]byte{})
	got := post(t, r.httpURL+"/v1/traces", bytes.NewReader(protoOf(t, td)), "Content-Type", typeProto)
	answer := ptraceotlp.NewExportResponse()
	if err := answer.UnmarshalProto([]byte(got.body)); err != nil {
		t.Fatal(err)
	}
	if p := answer.PartialSuccess(); got.status != 200 || p.RejectedSpans() != 2 || !strings.Contains(p.ErrorMessage(), "2 spans left out") {
		t.Errorf("%d, rejected %d: %q", got.status, p.RejectedSpans(), p.ErrorMessage())
	}
	if r.traces.SpanCount() != 1 {
		t.Errorf("%d spans came through", r.traces.SpanCount())
	}
}

// TestSpansThatAnExporterLeavesOut: the answer counts them beside those that the receiver left out itself.
func TestSpansThatAnExporterLeavesOut(t *testing.T) {
	r := start(t, options{})
	r.leaves = 2
	td := someSpans(4)
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetTraceID([16]byte{})
	got := post(t, r.httpURL+"/v1/traces", bytes.NewReader(protoOf(t, td)), "Content-Type", typeProto)
	answer := ptraceotlp.NewExportResponse()
	if err := answer.UnmarshalProto([]byte(got.body)); err != nil {
		t.Fatal(err)
	}
	want := "1 spans left out: " + otlpmap.NoSpan + "; 2 spans left out: no room for them"
	if p := answer.PartialSuccess(); got.status != 200 || p.RejectedSpans() != 3 || p.ErrorMessage() != want {
		t.Errorf("%d, rejected %d: %q, want 3: %q", got.status, p.RejectedSpans(), p.ErrorMessage(), want)
	}
	r.fail, r.leaves = errors.New("down"), 2
	if got := post(t, r.httpURL+"/v1/traces", bytes.NewReader(protoOf(t, td)), "Content-Type", typeProto); got.status != 503 {
		t.Errorf("a request that is not taken: %d", got.status)
	}
}

func TestOTLPErrors(t *testing.T) {
	r := start(t, options{config: func(c *Config) {
		c.Protocols.HTTP.Get().MaxRequestBodySize = 4 << 10
	}})
	r.api.maxBody = 4 << 10
	big := bytes.Repeat([]byte(" "), 8<<10)
	good := protoOf(t, someSpans(1))
	for _, tt := range []struct {
		name    string
		body    []byte
		headers []string
		fail    error
		status  int
		code    codes.Code
		retry   string
	}{
		{"not protobuf", []byte("hello"), []string{"Content-Type", typeProto}, nil, 400, codes.InvalidArgument, ""},
		{"not JSON", []byte(`{"resourceSpans":`), []string{"Content-Type", typeJSON}, nil, 400, codes.InvalidArgument, ""},
		{"JSON of another shape", []byte(`{"resourceSpans":5}`), []string{"Content-Type", typeJSON}, nil, 400, codes.InvalidArgument, ""},
		{"too large", big, []string{"Content-Type", typeJSON}, nil, 413, codes.InvalidArgument, ""},
		{"invalid downstream", good, []string{"Content-Type", typeProto}, verdict.Pipeline(fault.New(fault.Invalid, "no")), 400, codes.InvalidArgument, ""},
		{"out of range downstream", good, []string{"Content-Type", typeProto}, status.Error(codes.OutOfRange, "later"), 503, codes.Unavailable, "2"},
		{"one exporter refuses, another is busy", good, []string{"Content-Type", typeProto}, errors.Join(
			verdict.Pipeline(fault.New(fault.Invalid, "no")), consumererror.NewPermanent(status.Error(codes.InvalidArgument, "no")), errors.New("busy")), 503, codes.Unavailable, "2"},
		{"two exporters refuse", good, []string{"Content-Type", typeProto}, errors.Join(
			verdict.Pipeline(fault.New(fault.Invalid, "no")), consumererror.NewPermanent(errors.New("no"))), 400, codes.InvalidArgument, ""},
		{"busy downstream", good, []string{"Content-Type", typeProto}, status.Error(codes.Unavailable, "busy"), 503, codes.Unavailable, "2"},
	} {
		for _, url := range []string{r.httpURL, r.apiURL} {
			r.fail = tt.fail
			got := post(t, url+"/v1/traces", chunked(tt.body), tt.headers...)
			if got.status != tt.status || got.header.Get("Retry-After") != tt.retry {
				t.Errorf("%s: %d, Retry-After %q, %s", tt.name, got.status, got.header.Get("Retry-After"), got.body)
			}
			if tt.headers[1] == typeProto {
				var st spb.Status
				if err := proto.Unmarshal([]byte(got.body), &st); err != nil || codes.Code(st.Code) != tt.code {
					t.Errorf("%s: status %v, %v", tt.name, &st, err)
				}
			} else if !strings.Contains(got.body, `"code"`) || got.header.Get("Content-Type") != typeJSON {
				t.Errorf("%s: body %s", tt.name, got.body)
			}
		}
	}
	bomb := gzipped(t, bytes.Repeat([]byte(" "), 1<<20))
	if got := post(t, r.httpURL+"/v1/traces", bytes.NewReader(bomb), "Content-Type", typeJSON, "Content-Encoding", "gzip"); got.status != 413 {
		t.Errorf("a small body that unpacks large: %d %s", got.status, got.body)
	}
	if got := post(t, r.httpURL+"/v1/traces", text("x"), "Content-Type", typeJSON, "Content-Encoding", "gzip"); got.status != 400 {
		t.Errorf("wrongly compressed: %d %s", got.status, got.body)
	}
}

func TestKeysOnTheOwnListeners(t *testing.T) {
	auth := configauth.Config{AuthenticatorID: component.MustNewID("spangrove_auth")}
	r := start(t, options{config: func(c *Config) {
		c.Protocols.HTTP.Get().Auth = configoptional.Some(confighttp.AuthConfig{Config: auth})
		c.Protocols.GRPC.Get().Auth = configoptional.Some(auth)
	}})
	conn := dial(t, r)
	body := protoOf(t, someSpans(1))
	for _, tt := range []struct {
		key    string
		status int
		code   codes.Code
	}{
		{"", 401, codes.Unauthenticated},
		{"read", 403, codes.PermissionDenied},
		{"ingest", 200, codes.OK},
		{"full", 200, codes.OK},
		{"admin", 200, codes.OK},
		{"down", 503, codes.Unavailable},
	} {
		r.traces.Reset()
		headers := []string{"Content-Type", typeProto}
		ctx := t.Context()
		if tt.key != "" {
			headers = append(headers, "Authorization", "Bearer "+tt.key)
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+tt.key)
		}
		if got := post(t, r.httpURL+"/v1/traces", bytes.NewReader(body), headers...); got.status != tt.status {
			t.Errorf("key %q over HTTP: %d %s", tt.key, got.status, got.body)
		}
		_, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, ptraceotlp.NewExportRequestFromTraces(someSpans(1)))
		if got := status.Code(err); got != tt.code {
			t.Errorf("key %q over gRPC: %v", tt.key, err)
		}
		if tt.status == 200 {
			for _, td := range r.traces.AllTraces() {
				if v, _ := td.ResourceSpans().At(0).Resource().Attributes().Get(project.AttrProjectID); v.Str() != "p-acme" {
					t.Errorf("key %q: project %q", tt.key, v.Str())
				}
			}
		}
	}
}

func dial(t *testing.T, r *rig) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(r.grpcTarget, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestOTLPOverGRPC(t *testing.T) {
	r := start(t, options{config: func(c *Config) { c.Protocols.GRPC.Get().MaxRecvMsgSizeMiB = 1 }})
	conn := dial(t, r)
	traces := ptraceotlp.NewGRPCClient(conn)

	td := someSpans(3)
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetSpanID([8]byte{})
	answer, err := traces.Export(t.Context(), ptraceotlp.NewExportRequestFromTraces(td))
	if err != nil || answer.PartialSuccess().RejectedSpans() != 1 || r.traces.SpanCount() != 2 {
		t.Errorf("%v, rejected %d, %d spans", err, answer.PartialSuccess().RejectedSpans(), r.traces.SpanCount())
	}
	if _, err := plogotlp.NewGRPCClient(conn).Export(t.Context(), plogotlp.NewExportRequestFromLogs(oneLog())); err != nil || r.logs.LogRecordCount() != 1 {
		t.Errorf("logs: %v, %d records", err, r.logs.LogRecordCount())
	}
	if _, err := pmetricotlp.NewGRPCClient(conn).Export(t.Context(), pmetricotlp.NewExportRequest()); err != nil {
		t.Errorf("metrics: %v", err)
	}
	large := someSpans(1)
	large.ResourceSpans().At(0).Resource().Attributes().PutStr("big", strings.Repeat("x", 2<<20))
	if _, err := traces.Export(t.Context(), ptraceotlp.NewExportRequestFromTraces(large)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("over the message size: %v", err)
	}
	r.fail = verdict.Pipeline(fault.New(fault.Invalid, "no"))
	if _, err := traces.Export(t.Context(), ptraceotlp.NewExportRequestFromTraces(someSpans(1))); status.Code(err) != codes.InvalidArgument {
		t.Errorf("invalid downstream: %v", err)
	}
	r.fail = verdict.Pipeline(&fault.Error{Kind: fault.Unavailable, Msg: "busy"})
	_, err = traces.Export(t.Context(), ptraceotlp.NewExportRequestFromTraces(someSpans(1)))
	if st := status.Convert(err); st.Code() != codes.Unavailable || len(st.Details()) != 1 {
		t.Errorf("busy downstream: %v, details %v", err, st.Details())
	}
}

func oneLog() plog.Logs {
	ld := plog.NewLogs()
	ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("hello")
	return ld
}

func TestLogsAndMetrics(t *testing.T) {
	body, err := plogotlp.NewExportRequestFromLogs(oneLog()).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, noLogs := range []bool{false, true} {
		r := start(t, options{noLogs: noLogs})
		for _, url := range []string{r.httpURL + "/v1/logs", r.apiURL + "/opentelemetry/v1/logs"} {
			if got := post(t, url, bytes.NewReader(body), "Content-Type", typeJSON); got.status != 200 || got.body != "{}" {
				t.Errorf("%s: %+v", url, got)
			}
		}
		if want := map[bool]int{false: 2, true: 0}[noLogs]; r.logs.LogRecordCount() != want {
			t.Errorf("%d records, want %d", r.logs.LogRecordCount(), want)
		}
		for _, url := range []string{r.httpURL + "/v1/metrics", r.apiURL + "/opentelemetry/v1/metrics"} {
			if got := post(t, url, text("anything"), "Content-Type", typeProto); got.status != 200 || got.body != "" {
				t.Errorf("%s: %+v", url, got)
			}
		}
	}
}

func TestTooMuchInFlight(t *testing.T) {
	r := start(t, options{config: func(c *Config) {
		c.MaxInFlightMiB = 1
		c.Protocols.HTTP.Get().MaxRequestBodySize = 1 << 20
		c.Protocols.GRPC.Get().MaxRecvMsgSizeMiB = 1
	}})
	// Another project holds all but a little.
	other := r.receiver.budget.Hold("p-other")
	if err := other.Take(mebibyte - 64); err != nil {
		t.Fatal(err)
	}
	body := protoOf(t, someSpans(3))
	got := post(t, r.httpURL+"/v1/traces", bytes.NewReader(body), "Content-Type", typeProto)
	if got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("over HTTP: %+v", got)
	}
	if got := post(t, r.apiURL+"/events", text(`{"event_type":"tool","inputs":{"k":"`+strings.Repeat("x", 100)+`"}}`)); got.status != 503 {
		t.Errorf("native: %+v", got)
	}
	_, err := ptraceotlp.NewGRPCClient(dial(t, r)).Export(t.Context(), ptraceotlp.NewExportRequestFromTraces(someSpans(3)))
	if st := status.Convert(err); st.Code() != codes.Unavailable || len(st.Details()) != 1 {
		t.Errorf("over gRPC: %v", err)
	}
	other.Release()
	// The caller's own project does.
	own := r.receiver.budget.Hold(acme.PublicID)
	if err := own.Take(mebibyte - 64); err != nil {
		t.Fatal(err)
	}
	if got := post(t, r.apiURL+"/events", text(`{"event_type":"tool","inputs":{"k":"`+strings.Repeat("x", 100)+`"}}`), "Authorization", "Bearer ingest"); got.status != 429 || got.header.Get("Retry-After") == "" {
		t.Errorf("native, over the share: %+v", got)
	}
	if got := post(t, r.apiURL+"/v1/traces", bytes.NewReader(body), "Authorization", "Bearer ingest", "Content-Type", typeProto); got.status != 429 || got.header.Get("Retry-After") == "" {
		t.Errorf("OTLP, over the share: %+v", got)
	}
	if got := post(t, r.httpURL+"/v1/traces", bytes.NewReader(body), "Content-Type", typeProto); got.status != 503 {
		t.Errorf("another project: %+v", got)
	}
	own.Release()
	if got := post(t, r.httpURL+"/v1/traces", bytes.NewReader(body), "Content-Type", typeProto); got.status != 200 {
		t.Errorf("with room: %+v", got)
	}
}
