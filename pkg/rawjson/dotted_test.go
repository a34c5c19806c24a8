package rawjson

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/rawjson/rawjsontest"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ doc, path, want string }{
		{`{"a":{"b":1},"a.b":2}`, "a.b", `1`},
		{`{"a":{"b":null},"a.b":2}`, "a.b", `2`},
		{`{"a":null,"a.b":2}`, "a.b", `2`},
		{`{"a":{"b.c":3},"a.b.c":4}`, "a.b.c", `3`},
		{`{"a":{"b":{"c":null},"b.c":null},"a.b.c":4}`, "a.b.c", `4`},
		{`{"a":{"x":1},"a.b.c":4,"a.b":{"c":5}}`, "a.b.c", `4`},
		{`{"a.b":{"c":5}}`, "a.b.c", `5`},
		{`{"a.b":{"c.d":5,"c":{"x":1}}}`, "a.b.c.d", `5`},
		{`{"a.b":[{"c":6}]}`, "a.b.0.c", `6`},
		{`{"a":[{"b.c":7}]}`, "a.0.b.c", `7`},
		{`{"a.0":{"b":8},"a":[1]}`, "a.0.b", `8`},
		{`{"a":{"b":null}}`, "a.b", `null`},
		{`{"a":{"b":1}}`, "a.b.c", ``},
		{`{"a..b":9}`, "a..b", `9`},
		{`{"":{"":9}}`, ".", `9`},
		{`["x"]`, "0", `"x"`},
		{`["x"]`, "0.1", ``},
		{`"x"`, "a.b", ``},
		{``, "a.b", ``},
	} {
		if got := string(Lookup([]byte(tt.doc), strings.Split(tt.path, ".")...)); got != tt.want {
			t.Errorf("%s of %s: %s, want %s", tt.path, tt.doc, got, tt.want)
		}
	}
}

func TestReadings(t *testing.T) {
	t.Parallel()
	var got []string
	for _, keys := range Readings([]string{"a", "b", "c", "d"}) {
		got = append(got, strings.Join(keys, " "))
	}
	want := []string{"a b c d", "a b c.d", "a b.c.d", "a b.c d", "a.b.c.d", "a.b c d", "a.b c.d", "a.b.c d"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Resolve finds the first of the readings that leads to a value.
func TestResolveIsFirstReading(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 20_000 {
		raw, path := rawjsontest.Dotted(rnd)
		var want []byte
		for _, keys := range Readings(path) {
			if v := Path(raw, keys...); !Null(v) {
				want = v
				break
			}
		}
		got, at := Resolve(raw, path)
		if Null(got) != (want == nil) || want != nil && string(got) != string(want) {
			t.Fatalf("%v of %s: %s, want %s", path, raw, got, want)
		}
		if got != nil && string(Path(raw, at...)) != string(got) || got == nil && at != nil {
			t.Fatalf("%v of %s: keys %v", path, raw, at)
		}
		if want != nil && !slices.Equal(at, path) {
			found++
		}
	}
	if found < 500 {
		t.Errorf("only %d values below keys with dots: the test tests little", found)
	}
}
