package jsonrepair

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// FuzzClose holds that text which was JSON before it was cut is JSON again, or given up.
func FuzzClose(f *testing.F) {
	f.Add(`[{"role":"user","content":"a\u00e9\n\"x"},{"n":12,"t":true}]`, uint16(30))
	f.Fuzz(func(t *testing.T, s string, cut uint16) {
		if _, _, err := rawjson.Clean([]byte(s)); err != nil {
			return
		}
		closed := Close(s[:min(int(cut), len(s))])
		if closed != "" && !json.Valid([]byte(strings.ToValidUTF8(closed, "?"))) {
			t.Fatalf("%q cut at %d became %q", s, cut, closed)
		}
	})
}
