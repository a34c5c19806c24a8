package spangrovereceiver

import (
	"encoding/json"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/spangrove/spangrove/pkg/fault"
)

func TestWithoutNulls(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":null,"b":1}`:     `{"b":1}`,
		`{"b":1,"a":null}`:     `{"b":1}`,
		`{"a":null}`:           `{}`,
		`[null,1,null,2,null]`: `[1,2]`,
		` {"a" : {"b": [null], "c": "null"} , "n" : null } `: `{"a":{"b":[],"c":"null"}}`,
		`"text"`:                   `"text"`,
		`{"a":1e400,"b":"\u0000"}`: `{"a":1e400,"b":"\u0000"}`,
	} {
		got, err := withoutNulls([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{``, `{`, `{"a"}`, `[1`, `[1}`, `{"a":1]`, strings.Repeat("[", 100_000)} {
		if got, err := withoutNulls([]byte(in)); err == nil {
			t.Errorf("%.20s: got %.20s", in, got)
		}
	}
}

func FuzzWithoutNulls(f *testing.F) {
	f.Add([]byte(`{"a":null,"b":[null,{"c":null}],"d":"x"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := withoutNulls(in)
		if err == nil && json.Valid(in) && !json.Valid(got) {
			t.Fatalf("%q became %q", in, got)
		}
	})
}

func FuzzDecodeExport(f *testing.F) {
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"parentSpanId":null,"kind":"SPAN_KIND_CLIENT"}]}]}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, enc := range []encoding{encodingJSON, encodingProto} {
			if _, err := decodeExport(ptraceotlp.NewExportRequest, enc, in); err != nil && fault.Of(err) != fault.Invalid {
				t.Fatalf("not the sender's fault: %v", err)
			}
		}
	})
}
