package rawjson

import (
	"testing"
)

// TestTemplate takes objects apart and puts them together again.
func TestTemplate(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]string{
		`{}`:                    `{}`,
		` { } `:                 ` { } `,
		`{"a":1}`:               "{\"a\":\x00}",
		`{"a": 1.50, "b": "x"}`: "{\"a\": \x00, \"b\": \x00}",
		`{"0":0,"b":null,"c":{"d":[0,null]}, "e" : "\u0000"}`: "{\"0\":\x00,\"b\":null,\"c\":\x00, \"e\" : \x00}",
		`{"\u0061\"":true}`: "{\"\\u0061\\\"\":\x00}",
		`{"":1}`:            "",
		`[1]`:               "",
		`1`:                 "",
		``:                  "",
		`{"a":1`:            "{\"a\":\x00",
	} {
		got := Template([]byte(object))
		if string(got) != want {
			t.Errorf("%s has the template %q, want %q", object, got, want)
		}
		if got == nil {
			continue
		}
		f := NewFilling(got)
		var values [][]byte
		for _, key := range f.Keys {
			values = append(values, Get([]byte(object), key))
		}
		if again := f.Append(nil, values); string(again) != object {
			t.Errorf("%s became %s", object, again)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add([]byte(`{"a": 1, "b":null,"c" :"x"}`))
	f.Add([]byte(`{"a":1,"a":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		clean, _, err := Clean(raw)
		if err != nil {
			return
		}
		template := Template(clean)
		if template == nil {
			return
		}
		filling := NewFilling(template)
		var values [][]byte
		for _, key := range filling.Keys {
			values = append(values, Get(clean, key))
		}
		if again := filling.Append(nil, values); string(again) != string(clean) {
			t.Errorf("%q became %q", clean, again)
		}
	})
}
