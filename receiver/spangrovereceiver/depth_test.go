package spangrovereceiver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/spangrove/spangrove/pkg/fault"
)

// nested puts n arrays into each other, under the attributes of a resource, in protobuf.
func nested(n int) []byte {
	buf := make([]byte, 12*n+64)
	at := len(buf)
	put := func(tag byte) {
		var size [binary.MaxVarintLen64]byte
		k := binary.PutUvarint(size[:], uint64(len(buf)-at))
		at -= k
		copy(buf[at:], size[:k])
		at--
		buf[at] = tag
	}
	for range n {
		put(1<<3 | 2) // ArrayValue.values
		put(5<<3 | 2) // AnyValue.array_value
	}
	put(2<<3 | 2) // KeyValue.value
	for range 3 { // Resource.attributes, ResourceSpans.resource, the request's list
		put(1<<3 | 2)
	}
	return buf[at:]
}

func TestDeepValuesAreRefusedNotFatal(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{1, 90} {
		if _, _, err := decodeExport(ptraceotlp.NewExportRequest, traceRequest, encodingProto, nested(depth), false); err != nil {
			t.Errorf("%d deep: %v", depth, err)
		}
	}
	deep := nested(1_500_000) // without the check this overflows the stack
	_, _, err := decodeExport(ptraceotlp.NewExportRequest, traceRequest, encodingProto, deep, false)
	if !errors.Is(err, errDepth) || fault.Of(err) != fault.Invalid {
		t.Errorf("spans: %v", err)
	}
	if _, _, err := decodeExport(plogotlp.NewExportRequest, logRequest, encodingProto, deep, false); !errors.Is(err, errDepth) {
		t.Errorf("logs: %v", err)
	}
	text := bytes.Repeat([]byte(`{"arrayValue":{"values":[`), 100_000)
	if _, _, err := decodeExport(ptraceotlp.NewExportRequest, traceRequest, encodingJSON, text, false); !errors.Is(err, errDepth) {
		t.Errorf("JSON: %v", err)
	}
}

// TestShapesCoverEveryValue finds a deep value wherever OTLP allows a value. Around the
// spans it makes the whole request bad, inside a span only that one.
func TestShapesCoverEveryValue(t *testing.T) {
	t.Parallel()
	deep := func(attrs pcommon.Map) {
		v := attrs.PutEmpty("k")
		for i := range 400 {
			if i%2 == 0 {
				v = v.SetEmptySlice().AppendEmpty()
			} else {
				v = v.SetEmptyMap().PutEmpty("k")
			}
		}
	}
	for name, put := range map[string]func(ptrace.ResourceSpans, ptrace.Span){
		"resource": func(rs ptrace.ResourceSpans, _ ptrace.Span) { deep(rs.Resource().Attributes()) },
		"scope":    func(rs ptrace.ResourceSpans, _ ptrace.Span) { deep(rs.ScopeSpans().At(0).Scope().Attributes()) },
		"span":     func(_ ptrace.ResourceSpans, s ptrace.Span) { deep(s.Attributes()) },
		"event":    func(_ ptrace.ResourceSpans, s ptrace.Span) { deep(s.Events().AppendEmpty().Attributes()) },
		"link":     func(_ ptrace.ResourceSpans, s ptrace.Span) { deep(s.Links().AppendEmpty().Attributes()) },
	} {
		td := someSpans(2)
		rs := td.ResourceSpans().At(0)
		put(rs, rs.ScopeSpans().At(0).Spans().At(0))
		req := ptraceotlp.NewExportRequestFromTraces(td)
		for _, enc := range []encoding{encodingProto, encodingJSON} {
			body, err := req.MarshalProto()
			if enc == encodingJSON {
				body, err = req.MarshalJSON()
			}
			if err != nil {
				t.Fatal(err)
			}
			req, out, err := decodeExport(ptraceotlp.NewExportRequest, traceRequest, enc, body, false)
			if name == "resource" || name == "scope" {
				if !errors.Is(err, errDepth) {
					t.Errorf("%s in %s: %v", name, enc, err)
				}
			} else if err != nil || out.count != 1 || !errors.Is(out.first, errDepth) || req.Traces().SpanCount() != 1 {
				t.Errorf("%s in %s: %v, left out %+v, %d spans stay", name, enc, err, out, req.Traces().SpanCount())
			}
		}
	}
	ld := oneLog()
	record := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
	deep(record.Body().SetEmptyMap())
	body, err := plogotlp.NewExportRequestFromLogs(ld).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	if _, out, err := decodeExport(plogotlp.NewExportRequest, logRequest, encodingProto, body, false); err != nil || !errors.Is(out.first, errDepth) {
		t.Errorf("body of a record: %v, left out %+v", err, out)
	}
}

func TestCheckJSONDepth(t *testing.T) {
	t.Parallel()
	for in, ok := range map[string]bool{
		`{"a":[1]}`:                   true,
		`{"a":[[1]]}`:                 false,
		`{"a":"[[[[","b":"\\\"[[[["}`: true,
		`[][][][]`:                    true,
		strings.Repeat("]", 9):        true,
	} {
		if err := checkJSONDepth([]byte(in), 2); (err == nil) != ok {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func FuzzDecodeExport(f *testing.F) {
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"parentSpanId":null,"kind":"SPAN_KIND_CLIENT"}]}]}]}`))
	f.Add([]byte(`{"resource_spans":[{"scope_spans":[{"spans":[{"spanId":"0102"},null,7,{"name":"n"}]}]},{}]}`))
	f.Add(protoOf(f, someSpans(2)))
	f.Add(badProto(f))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, enc := range []encoding{encodingJSON, encodingProto} {
			req, out, err := decodeExport(ptraceotlp.NewExportRequest, traceRequest, enc, in, false)
			if err != nil && fault.Of(err) != fault.Invalid {
				t.Fatalf("not the sender's fault: %v", err)
			}
			if err != nil {
				continue
			}
			// What was taken can be written in both encodings, and nothing of it is bad.
			for _, again := range []encoding{encodingJSON, encodingProto} {
				b, err := req.MarshalProto()
				if again == encodingJSON {
					b, err = req.MarshalJSON()
				}
				if err != nil {
					t.Fatal(err)
				}
				same, more, err := decodeExport(ptraceotlp.NewExportRequest, traceRequest, again, b, false)
				if err != nil || more.count != 0 || same.Traces().SpanCount() != req.Traces().SpanCount() {
					t.Errorf("in %s, %d left out: again in %s: %v, %+v, %d spans, had %d", enc, out.count, again, err, more, same.Traces().SpanCount(), req.Traces().SpanCount())
				}
			}
		}
	})
}
