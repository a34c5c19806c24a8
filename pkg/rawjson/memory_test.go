package rawjson

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// What Clean allocates is in proportion to the text, also where it must be rewritten: deep objects are
// not copied at each of their levels, and names are not kept one by one.
func TestMemoryOfClean(t *testing.T) {
	members := func(format string, n int) string {
		b := []byte(`{"":""`)
		for i := range n {
			b = fmt.Appendf(b, format, i)
		}
		return string(append(b, '}'))
	}
	deep := strings.Repeat(`{"a":`, MaxDepth) + `"\u0000` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat("}", MaxDepth)
	for name, text := range map[string]string{
		"many members":   members(`,"%d":0`, 200_000),
		"members of NUL": members(`,"%d":"\u0000"`, 200_000),
		"names twice":    members(`,"":%d`, 200_000),
		"deep":           deep,
		"deep and twice": strings.ReplaceAll(deep, `{"a":`, `{"a":0,"a":`),
		"small objects":  "[" + strings.Repeat(`{"a":0,"a":0},`, 100_000) + `"\u0000"]`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := Clean([]byte(text))
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		took := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(text))
		t.Logf("%s: %.1f bytes for each byte", name, took)
		if took > 12 {
			t.Errorf("%s: %.1f bytes are allocated for each byte", name, took)
		}
	}
}

// A name stands where it was first, with its last value; values that are replaced may hold anything.
func TestCleanNamesTwice(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":1,"b":{"c":1,"c":{"d":1,"d":2}},"a":[{"x":1,"x":2}]}`: `{"a":[{"x":2}],"b":{"c":{"d":2}}}`,
		`{"a\n\"":1,"a\u000a\u0022":2,"\u0061":3,"a":4}`:            `{"a\n\"":2,"a":4}`,
		`{"":1,"é":2,"":{"\u00e9":5},"\u00e9":{"é":1,"é":2}}`:       `{"":{"é":5},"é":{"é":2}}`,
		`{"\u0000":1,"\ufffd":2}`:                                   `{"�":2}`,
	} {
		got, _, err := Clean([]byte(in))
		if err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
}
