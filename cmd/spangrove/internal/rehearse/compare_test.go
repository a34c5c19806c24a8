package rehearse

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, before, after string
		want                []string // path: before → after
		n                   int      // of all
		added               []string
		sums                bool
	}{
		{name: "the same", before: `{"a":[1,{"b":null}],"c":"x"}`, after: `{"c":"x","a":[1,{"b":null}]}`},
		{name: "a number spelled otherwise", before: `{"a":1.50,"b":100}`, after: `{"a":1.5,"b":1e2}`},
		{name: "a number", before: `{"a":0.1}`, after: `{"a":0.10000000000000002}`, want: []string{"a: 0.1 → 0.10000000000000002"}, n: 1},
		{name: "numbers of sums", sums: true, before: `{"a":0.1,"b":9007199254740991}`, after: `{"a":0.10000001,"b":9007199254740992}`,
			want: []string{"a: 0.1 → 0.10000001", "b: 9007199254740991 → 9007199254740992"}, n: 2},
		{name: "fractions added in another order", sums: true, before: `{"a":0.00032250000000000003,"b":3,"c":-0.3}`, after: `{"a":0.0003225,"b":2.9999999999999996,"c":-0.30000000000000004}`},
		{name: "a sum with an event less", sums: true, before: `{"a":10000000.25}`, after: `{"a":9999999.25}`, want: []string{"a: 10000000.25 → 9999999.25"}, n: 1},
		{name: "a sign", sums: true, before: `{"a":0.5,"b":0}`, after: `{"a":-0.5,"b":1e-300}`, want: []string{"a: 0.5 → -0.5", "b: 0 → 1e-300"}, n: 2},
		{name: "a number and its text", before: `{"a":1}`, after: `{"a":"1"}`, want: []string{"a: 1 → 1"}, n: 1},
		{name: "a field less", before: `{"a":{"b":1}}`, after: `{"a":{}}`, want: []string{"a.b: 1 → not there"}, n: 1},
		{name: "a field more", before: `{"a":[{},{}]}`, after: `{"a":[{"x":1},{"x":2}]}`, added: []string{"a[].x"}},
		{name: "entries", before: `[1,2,3]`, after: `[1,3]`, want: []string{": 3 entries → 2 entries", "[1]: 2 → 3"}, n: 2},
		{name: "kinds", before: `{"a":{},"b":[],"c":null,"d":true}`, after: `{"a":[],"b":{},"c":false,"d":"true"}`,
			want: []string{"a: {} → []", "b: [] → {}", "c: null → false", "d: true → true"}, n: 4},
		{name: "cursors", before: `{"next_cursor":"abc","touched":"1"}`, after: `{"next_cursor":"xyz","touched":"2"}`},
		{name: "no cursor any more", before: `{"next_cursor":"abc"}`, after: `{"next_cursor":null}`, want: []string{"next_cursor: abc → null"}, n: 1},
		{name: "the first few", before: `[1,2,3,4,5,6,7]`, after: `[0,0,0,0,0,0,0]`,
			want: []string{"[0]: 1 → 0", "[1]: 2 → 0", "[2]: 3 → 0", "[3]: 4 → 0", "[4]: 5 → 0"}, n: 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := comparison{added: map[string]bool{}, sums: tt.sums}
			c.compare("", decoded(t, tt.before), decoded(t, tt.after))
			var got []string
			for _, d := range c.list {
				got = append(got, d.Path+": "+d.Before+" → "+d.After)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("differences (-want +got):\n%s", d)
			}
			if c.n != tt.n {
				t.Errorf("%d differences, want %d", c.n, tt.n)
			}
			if d := cmp.Diff(tt.added, slices.Sorted(maps.Keys(c.added))); d != "" {
				t.Errorf("added (-want +got):\n%s", d)
			}
		})
	}
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
