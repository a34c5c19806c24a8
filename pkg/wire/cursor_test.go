package wire

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
)

// FuzzCursor holds that a cursor is read as the place that it was made of, and that any other text is refused as the caller's fault.
func FuzzCursor(f *testing.F) {
	question := hashOf(json.RawMessage(`[]`), json.RawMessage(`"7d"`))
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1.5, 1_790_000_000_000.25, 0.1, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		cursor := cursorAfter(question, query.Place{Value: v, ID: uuid.NewSHA1(uuid.Nil, []byte("seed"))})
		f.Add(cursor)
		f.Add(cursor + "=")
		f.Add(cursor[:len(cursor)-1])
	}
	for _, text := range []string{
		"", " ", " 0 ", question,
		question + " NaN 22222222-2222-4222-8222-222222222222",
		question + " 1e999 22222222-2222-4222-8222-222222222222",
		question + " 0x1p-2 22222222-2222-4222-8222-222222222222", question + " 1_0 22222222-2222-4222-8222-222222222222",
		question + "  22222222-2222-4222-8222-222222222222", question + " 1 00000000-0000-0000-0000-000000000000", question + " 1 2 3",
	} {
		f.Add(text)
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(text)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := readCursor(question, raw)
		if err != nil {
			if fault.Of(err) != fault.Invalid || p != nil {
				t.Errorf("%q: %v, %v", text, p, err)
			}
			return
		}
		if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
			t.Errorf("%q is at %v", text, p.Value)
		}
		again, err := json.Marshal(cursorAfter(question, *p))
		if err != nil {
			t.Fatal(err)
		}
		same, err := readCursor(question, again)
		if err != nil || same.ID != p.ID || math.Float64bits(same.Value) != math.Float64bits(p.Value) {
			t.Errorf("%q is %v, and written again %v, %v", text, p, same, err)
		}
		if _, err := readCursor(question+"x", raw); fault.Of(err) != fault.Invalid {
			t.Errorf("%q is also a cursor of another search", text)
		}
	})
}
