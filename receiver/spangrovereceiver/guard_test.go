package spangrovereceiver

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spangrove/spangrove/pkg/fault"
)

// withKeys makes both listeners ask fakeAuth.
func withKeys(c *Config) {
	auth := configauth.Config{AuthenticatorID: component.MustNewID("spangrove_auth")}
	c.Protocols.GRPC.Get().Auth = configoptional.Some(auth)
	c.Protocols.HTTP.Get().Auth = configoptional.Some(confighttp.AuthConfig{Config: auth})
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read before the key was checked")
	return 0, http.ErrBodyReadAfterClose
}

func (unread) Close() error { return nil }

// sink is an answer that keeps its headers only.
type sink struct{ header http.Header }

func (s sink) Header() http.Header         { return s.header }
func (s sink) Write(p []byte) (int, error) { return len(p), nil }
func (sink) WriteHeader(int)               {}
func (sink) Flush()                        {}

// Not a byte of a message is read for a caller without a key, or whose key may not write.
func TestKeyBeforeMessage(t *testing.T) {
	r := start(t, options{config: withKeys})
	for key, want := range map[string]codes.Code{"": codes.Unauthenticated, "Bearer read": codes.PermissionDenied, "Bearer down": codes.Unavailable} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h/opentelemetry.proto.collector.trace.v1.TraceService/Export", unread{t})
		if err != nil {
			t.Fatal(err)
		}
		req.ProtoMajor = 2
		req.Header.Set("Content-Type", "application/grpc")
		req.Header.Set("Grpc-Encoding", "zstd")
		if key != "" {
			req.Header.Set("Authorization", key)
		}
		w := sink{http.Header{}}
		r.receiver.grpc.server.Handler.ServeHTTP(w, req)
		if got := w.header.Get("Grpc-Status"); got != fmt.Sprint(int(want)) {
			t.Errorf("key %q over gRPC: status %s %s, want %s", key, got, w.header.Get("Grpc-Message"), want)
		}
		for _, encoding := range []string{"", "gzip", "zstd", "snappy"} {
			req.URL.Path, req.ProtoMajor = "/v1/traces", 1
			req.Header.Set("Content-Encoding", encoding)
			req.Header.Set("Content-Type", typeProto)
			if encoding == "snappy" && key == "Bearer read" {
				continue // 400 comes before 403, without reading either
			}
			r.receiver.http.Handler.ServeHTTP(sink{http.Header{}}, req)
		}
	}
}

// Messages compressed with gzip and zstd are taken, others are UNIMPLEMENTED, and a window that no
// encoder may ask for is no good.
func TestGRPCEncodings(t *testing.T) {
	r := start(t, options{config: withKeys})
	conn := dial(t, r)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer ingest")
	td := ptraceotlp.NewExportRequestFromTraces(someSpans(3))
	for _, name := range []string{"gzip", "zstd"} {
		r.traces.Reset()
		if _, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, td, grpc.UseCompressor(name)); err != nil || r.traces.SpanCount() != 3 {
			t.Errorf("%s: %d spans, %v", name, r.traces.SpanCount(), err)
		}
	}
	_, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, td, grpc.UseCompressor("snappy"))
	if st := status.Convert(err); st.Code() != codes.Unimplemented || !strings.Contains(st.Message(), "gzip") {
		t.Errorf("snappy: %v", err)
	}
	window := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (29 - 10) << 3, 1, 0, 0}
	for name, tt := range map[string]struct {
		encoding string
		message  []byte
		want     codes.Code
	}{
		"a window of 512 MiB":   {"zstd", frame(1, len(window), window), codes.InvalidArgument},
		"no encoding":           {"", frame(1, 3, []byte("abc")), codes.InvalidArgument},
		"cut off":               {"", frame(0, 10, []byte("abc")), codes.InvalidArgument},
		"no prefix":             {"", []byte{0}, codes.InvalidArgument},
		"a length of 4 GiB":     {"", frame(0, 1<<32-1, nil), codes.ResourceExhausted},
		"a gzip bomb":           {"gzip", frame(1, -1, gzipped(t, make([]byte, 21<<20))), codes.ResourceExhausted},
		"an empty message":      {"gzip", frame(0, 0, nil), codes.OK},
		"uncompressed, as flag": {"gzip", frame(0, -1, protoOf(t, someSpans(1))), codes.OK},
	} {
		if got := rawCall(t, r, tt.encoding, tt.message); got != fmt.Sprint(int(tt.want)) {
			t.Errorf("%s: status %s, want %d", name, got, tt.want)
		}
	}
}

// frame returns a message of gRPC with its prefix; length -1 is that of the message.
func frame(flag byte, length int, message []byte) []byte {
	if length < 0 {
		length = len(message)
	}
	return append(binary.BigEndian.AppendUint32([]byte{flag}, uint32(length)), message...)
}

// rawCall posts a body as a call of TraceService/Export and gives its grpc-status.
func rawCall(t *testing.T, r *rig, encoding string, body []byte) string {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.grpcTarget+"/opentelemetry.proto.collector.trace.v1.TraceService/Export", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Authorization", "Bearer ingest")
	if encoding != "" {
		req.Header.Set("Grpc-Encoding", encoding)
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var rest bytes.Buffer
	if _, err := rest.ReadFrom(res.Body); err != nil {
		t.Error(err)
	}
	if got := res.Trailer.Get("Grpc-Status"); got != "" {
		return got
	}
	return res.Header.Get("Grpc-Status")
}

// A message that does not come is cut off, by its time.
func TestGRPCMessageIsTimed(t *testing.T) {
	r := start(t, options{config: func(c *Config) {
		withKeys(c)
		c.BodyTimeout = 500 * time.Millisecond
	}})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	withheld, begin := newPipe()
	defer withheld.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.grpcTarget+"/opentelemetry.proto.collector.trace.v1.TraceService/Export", withheld)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Authorization", "Bearer ingest")
	go begin(frame(0, 1000, []byte("x")))
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Grpc-Status"); got != fmt.Sprint(int(codes.DeadlineExceeded)) {
		t.Errorf("status %q, want DEADLINE_EXCEEDED", got)
	}
}

// emptySpans returns a request of n spans without anything.
func emptySpans(n int) []byte {
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	spans.EnsureCapacity(n)
	for range n {
		spans.AppendEmpty()
	}
	b, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		panic(err) // a request that was just made can be written
	}
	return b
}

// What a request holds is counted before it is decoded: the memory that a request takes is in
// proportion to what it carries, whatever it is made of.
func TestWhatDecodingMakesIsBounded(t *testing.T) {
	field := func(number byte, content []byte) []byte {
		return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(content))), content...)
	}
	many := bytes.Repeat([]byte{1<<3 | 2, 0}, 3_000_000) // empty attributes
	attributes := field(1, field(1, many))
	values := field(1, field(1, field(1, field(2, field(5, many)))))
	requests := map[string]struct {
		enc  encoding
		body []byte
	}{
		"empty spans":       {encodingProto, emptySpans(1_000_000)},
		"empty spans, JSON": {encodingJSON, []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{}` + strings.Repeat(",{}", 1_000_000) + `]}]}]}`)},
		"empty spans, JSON that the decoder does not mind": {encodingJSON,
			[]byte(`{"x":"\t","resource_spans":[{"scope_spans":[{"spans":[{}` + strings.Repeat(",{}", 1_000_000) + `]}]}]}`)},
		"empty attributes": {encodingProto, attributes},
		"empty values":     {encodingProto, values},
		"empty values, JSON": {encodingJSON, []byte(`{"resourceSpans":[{"resource":{"attributes":[{"key":"k","value":{"arrayValue":{"values":[{}` +
			strings.Repeat(",{}", 3_000_000) + `]}}}]}}]}`)},
	}
	r := start(t, options{})
	for name, tt := range requests {
		from := caller{hold: r.receiver.budget.Hold("p")}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := r.receiver.tracesVia(r.receiver.viaHTTP)(t.Context(), tt.enc, tt.body, from)
		runtime.ReadMemStats(&after)
		from.hold.Release()
		if fault.Of(err) != fault.TooLarge {
			t.Errorf("%s: %v, want TooLarge", name, err)
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 50 {
			t.Errorf("%s: counting %d KiB took %d MiB", name, len(tt.body)>>10, took)
		}
	}
}

// memoryFactor is what docs/reliability.md promises: the memory that decoding takes is at most this
// many times what the request took from the budget.
const memoryFactor = 4

// What is taken from the budget is what decoding needs, within a factor, for spans with much in them
// and with little.
func TestBudgetCoversDecoding(t *testing.T) {
	r := start(t, options{})
	form := func(attributes, size int) []byte {
		td := ptrace.NewTraces()
		spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for i := range 20_000 {
			s := spans.AppendEmpty()
			s.SetTraceID([16]byte{1})
			s.SetSpanID([8]byte{byte(i), byte(i >> 8), byte(i >> 16), 1})
			for a := range attributes {
				s.Attributes().PutStr(fmt.Sprintf("attribute.%d", a), strings.Repeat("x", size))
			}
		}
		b, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	jsonSpan := `{"traceId":"01000000000000000000000000000000","spanId":"0100000000000000","attributes":[{"key":"a","value":{"intValue":1}}]}`
	for name, tt := range map[string]struct {
		enc  encoding
		body []byte
	}{
		"without attributes": {encodingProto, form(0, 0)},
		"small attributes":   {encodingProto, form(10, 1)},
		"large attributes":   {encodingProto, form(2, 300)},
		"empty spans":        {encodingProto, emptySpans(50_000)},
		"JSON":               {encodingJSON, []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[` + jsonSpan + strings.Repeat(","+jsonSpan, 20_000-1) + `]}]}]}`)},
	} {
		from := caller{hold: r.receiver.budget.Hold("p")}
		if err := from.hold.Take(int64(len(tt.body))); err != nil { // what reading it has taken
			t.Fatal(err)
		}
		r.traces.Reset()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := r.receiver.tracesVia(r.receiver.viaHTTP)(t.Context(), tt.enc, tt.body, from); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&after)
		took, held := int64(after.TotalAlloc-before.TotalAlloc), r.receiver.budget.Used()
		t.Logf("%s: a body of %d KiB, %d KiB taken from the budget, %d KiB allocated", name, len(tt.body)>>10, held>>10, took>>10)
		if took > memoryFactor*held {
			t.Errorf("%s: decoding allocated %d KiB, of which %d KiB were taken from the budget", name, took>>10, held>>10)
		}
		from.hold.Release()
	}
}

// newPipe returns a body of which begin gives the first bytes, and no more.
func newPipe() (body *io.PipeReader, begin func([]byte)) {
	body, w := io.Pipe()
	return body, func(first []byte) { _, _ = w.Write(first) }
}
