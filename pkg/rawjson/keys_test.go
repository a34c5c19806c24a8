package rawjson

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func pathsOf(raw string, depth int) (paths []string) {
	k := Keys{Depth: depth, Left: 100}
	k.Paths("m", []byte(raw), func(p string) { paths = append(paths, p) })
	return paths
}

func TestPaths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		raw  string
		want []string
	}{
		{``, nil},
		{`{}`, nil},
		{`null`, nil},
		{`"text"`, []string{"m"}},
		{`[{"a":1}]`, []string{"m"}},
		{`{"a":1,"b":"x","c":true,"d":null}`, []string{"m.a", "m.b", "m.c"}},
		{`{"a":{"b":{"c":{"d":1}}},"z":0}`, []string{"m.a", "m.a.b", "m.a.b.c", "m.z"}},
		{`{"a":[{"b":"]}"},{"c":[]}],"z":0}`, []string{"m.a", "m.z"}},
		{` { "a" : "x\\\"y" , "b\"c" : { "d" : -1.5e3 } , "e" : [ ] } `, []string{"m.a", `m.b"c`, `m.b"c.d`, "m.e"}},
		{`{"a.b":1,"é":2,"\u00e9t":3}`, []string{"m.a.b", "m.é", "m.ét"}},
		{`{"` + strings.Repeat("k", 255) + `":1,"` + strings.Repeat("k", 254) + `":{"x":1},"z":1}`, []string{"m." + strings.Repeat("k", 254), "m.z"}},
		{`{"a":{"b":1`, []string{"m.a", "m.a.b"}},
		{`{"a`, nil},
	} {
		if diff := cmp.Diff(tt.want, pathsOf(tt.raw, 3)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.raw, diff)
		}
	}
}

func TestPathsAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	if got := pathsOf("{"+b.String()[1:]+"}", 3); len(got) != 100 {
		t.Errorf("%d paths", len(got))
	}
	if got := pathsOf(`{"a":"`+strings.Repeat("x", maxKeyBytes)+`","b":1}`, 3); len(got) != 1 {
		t.Errorf("a key past the bound is seen: %d paths", len(got))
	}
}

// Shapes must be apart where paths are, and together where they are the same.
func TestShape(t *testing.T) {
	t.Parallel()
	shape := func(raw string) uint64 {
		k := Keys{Depth: 3, Left: 100}
		return k.Shape(0, "m", []byte(raw))
	}
	if shape(`{"a":1,"b":{"c":"x"}}`) != shape(`{ "a":"long \"text\"", "b": {"c":[1,2]}, "n":null}`) {
		t.Error("values do not matter to the shape, nor do members that are null")
	}
	seen := map[uint64]string{}
	for _, raw := range []string{``, `1`, `{"a":1}`, `{"b":1}`, `{"a":{"b":1}}`, `{"a":1,"b":1}`, `{"b":1,"a":1}`, `{"a":{"b":{"c":1}}}`, `{"a":{"b":1},"c":1}`, `{"a":{"b":1,"c":1}}`} {
		if other, ok := seen[shape(raw)]; ok {
			t.Errorf("%s and %s have the same shape", raw, other)
		}
		seen[shape(raw)] = raw
	}
}

// FuzzKeys holds that no text makes the walk panic or pass its bounds.
func FuzzKeys(f *testing.F) {
	f.Add(`{"a":{"b":[1,{"c":"\\\""}]},"d":null}`)
	f.Add(`{"a`)
	f.Add(`{"a":{`)
	f.Add("{\"\\")
	f.Fuzz(func(t *testing.T, raw string) {
		k := Keys{Depth: 3, Left: 20}
		n := 0
		k.Paths("m", []byte(raw), func(p string) {
			if n++; len(p) > MaxPathBytes {
				t.Errorf("a path of %d bytes", len(p))
			}
		})
		if n > 21 {
			t.Errorf("%d paths", n)
		}
		k = Keys{Depth: 3, Left: 20}
		k.Shape(0, "m", []byte(raw))
	})
}

func BenchmarkShape(b *testing.B) {
	text := strings.Repeat("some words of a message, ", 200)
	raw := []byte(`{"chat_history":[{"role":"user","content":"` + text + `"}],"model":"x","temperature":0.2}`)
	for b.Loop() {
		k := Keys{Depth: 3, Left: 256}
		k.Shape(0, "inputs", raw)
	}
}
