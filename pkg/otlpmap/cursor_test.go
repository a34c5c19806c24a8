package otlpmap

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// FuzzCursor holds that the walk over members and elements sees what the standard library sees,
// whatever the length of texts and wherever their quotes and backslashes stand.
func FuzzCursor(f *testing.F) {
	for n := range 2*shortString + 10 {
		pad := strings.Repeat("x", n)
		f.Add(pad, `"`, `\`)
		f.Add(pad+`\"`, pad+`\\`, `\`+pad+`"é`)
	}
	f.Fuzz(func(t *testing.T, key, val, other string) {
		raw := []byte(`{"k":`)
		raw = rawjson.AppendString(raw, val)
		raw = append(rawjson.AppendString(append(raw, ' ', ','), "_"+key), " : ["...)
		raw = append(rawjson.AppendString(raw, other), ` , {"a":[1]}],"z":-0.5}`...)
		if want := skipValue(raw, 0); want != len(raw) {
			t.Fatalf("%s ends at %d", raw, want)
		}
		var got []string
		c := members(raw)
		for c.next() {
			got = append(got, keyText(c.key), string(c.val))
			for e := elements(c.val); e.next(); {
				got = append(got, string(e.val))
			}
		}
		list := `[` + string(rawjson.AppendString(nil, other)) + ` , {"a":[1]}]`
		want := []string{
			"k", string(rawjson.AppendString(nil, val)),
			unquoted(rawjson.AppendString(nil, "_"+key)), list, string(rawjson.AppendString(nil, other)), `{"a":[1]}`,
			"z", "-0.5",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || c.stop != len(raw) {
			t.Fatalf("%s: walked through %q to %d, want %q", raw, got, c.stop, want)
		}
	})
}

// FuzzWhole holds that reading a list tells what wholeMessages says of it.
func FuzzWhole(f *testing.F) {
	for _, s := range []string{
		`[{"role":"user","content":"x"},{"parts":[{"type":"text","content":"y"}],"role":"a"}]`, `[{"_role":"a","_content":[]}]`,
		`[{"messages":[],"role":"a"}]`, `[{"role":"a","messages":[]}]`, `[{"role":1,"_role":"a"}]`, `[{"_role":"a","role":1,"type":"human","content":"x"}]`,
		`[[{"role":"a","content":"x"}],[{"type":"reasoning"}]]`, `{"role":"a","messages":[{"role":"b"}]}`, `[{"finish_reason":"stop","message":{"role":"a"}}]`,
		`[{"type":"reasoning","summary":[]},{"role":"a","content":"x"}]`, `[{"role":"a","parts":1}]`, `[{"role":"a","parts":[]}]`,
	} {
		f.Add(s)
	}
	m := New(Options{})
	f.Fuzz(func(t *testing.T, s string) {
		raw, _, err := rawjson.Clean(json.RawMessage(s))
		if err != nil {
			return
		}
		b := &newMapState().builder
		b.opt = &m.opt
		if b.readMessages(raw) && b.hasWhole(raw) != wholeMessages(raw) {
			t.Fatalf("%s: whole: %v while reading, %v after it", raw, b.hasWhole(raw), wholeMessages(raw))
		}
	})
}
