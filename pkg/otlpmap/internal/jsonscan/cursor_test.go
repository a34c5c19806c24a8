package jsonscan

import (
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
		if want := SkipValue(raw, 0); want != len(raw) {
			t.Fatalf("%s ends at %d", raw, want)
		}
		var got []string
		c := Members(raw)
		for c.Next() {
			got = append(got, text(append(append([]byte{'"'}, c.Key...), '"')), string(c.Val))
			for e := Elements(c.Val); e.Next(); {
				got = append(got, string(e.Val))
			}
		}
		list := `[` + string(rawjson.AppendString(nil, other)) + ` , {"a":[1]}]`
		want := []string{
			"k", string(rawjson.AppendString(nil, val)),
			text(rawjson.AppendString(nil, "_"+key)), list, string(rawjson.AppendString(nil, other)), `{"a":[1]}`,
			"z", "-0.5",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || c.Stop != len(raw) {
			t.Fatalf("%s: walked through %q to %d, want %q", raw, got, c.Stop, want)
		}
	})
}

func text(raw []byte) string {
	s, _ := rawjson.Text(raw)
	return s
}
