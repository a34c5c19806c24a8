package spangrovereceiver

import (
	"encoding/json"
	"strings"
	"testing"
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
