package words

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/column"
)

// stored are the pages of an index that was built.
type stored [][]byte

func (s stored) Texts(number int) (*Texts, error) { return ReadTexts(s[number]) }
func (s stored) Lists(number int) ([]byte, error) { return ReadLists(s[number]) }

// rowTexts are the texts of a row by field.
type rowTexts [numFields][]string

func (r rowTexts) any(fields Field, f func(text string) bool) bool {
	for i, list := range r {
		if fields&(1<<i) != 0 && slices.ContainsFunc(list, f) {
			return true
		}
	}
	return false
}

func indexOf(t testing.TB, rows []rowTexts, add func(b *Builder, field Field, text string)) *Index {
	t.Helper()
	b := NewBuilder()
	b.most = 100_000
	for i, r := range rows {
		b.Row(i)
		for f, list := range r {
			for _, text := range list {
				add(b, 1<<f, text)
			}
		}
	}
	return open(t, b, len(rows))
}

func open(t testing.TB, b *Builder, rows int) *Index {
	t.Helper()
	built, err := b.Build(rows)
	if err != nil {
		t.Fatal(err)
	}
	d, err := ReadDirectory(built.Directory)
	if err != nil {
		t.Fatal(err)
	}
	return NewIndex(d, stored(built.Pages), rows)
}

func addText(b *Builder, field Field, text string) { b.Add(field, []byte(text)) }

// addJSON adds a text as a JSON value that has it as key as well, which must not be found.
func addJSON(b *Builder, field Field, text string) {
	raw, _ := json.Marshal(map[string]any{"hiddenkey": []any{1, text, true}})
	b.AddJSON(field, raw)
}

// check compares what an index finds with the texts.
func check(t testing.TB, rows []rowTexts, found Found, what string, holds func(r rowTexts) bool) {
	t.Helper()
	for i, r := range rows {
		switch {
		case found.Sure.Has(i) && found.Maybe.Has(i):
			t.Fatalf("%s: row %d is sure and maybe", what, i)
		case found.Sure.Has(i) && !holds(r):
			t.Fatalf("%s: row %d is sure: %q", what, i, r)
		case !found.Sure.Has(i) && !found.Maybe.Has(i) && holds(r):
			t.Fatalf("%s: row %d is missing: %q", what, i, r)
		}
	}
}

func checkContains(t testing.TB, rows []rowTexts, x *Index, fields Field, text string) Found {
	t.Helper()
	found, err := x.Contains(fields, text)
	if err != nil {
		t.Fatal(err)
	}
	check(t, rows, found, fmt.Sprintf("%d contains %q", fields, text), func(r rowTexts) bool {
		return r.any(fields, func(s string) bool { return strings.Contains(s, text) })
	})
	return found
}

func checkWord(t testing.TB, rows []rowTexts, x *Index, fields Field, word string) Found {
	t.Helper()
	found, err := x.Word(fields, word)
	if err != nil {
		t.Fatal(err)
	}
	check(t, rows, found, fmt.Sprintf("%d has word %q", fields, word), func(r rowTexts) bool {
		return r.any(fields, func(s string) bool {
			for w := range Split(s) {
				if strings.ToLower(w) == word {
					return true
				}
			}
			return false
		})
	})
	return found
}

var (
	base64Text = strings.Repeat("iVBORw0KGgo+AAAANSUhEUg/", 40)
	samples    = []string{
		"Where is my refund? The Refunds-desk said: \"refund/policy\" 12.5 %", "naïve Größe ЖУК жук İstanbul K 9",
		"退款政策在哪里？请尽快处理。", "أين استرداد أموالي", "ok 🎉🎉🎉 done", "func (s *Store) Put_event(ctx) error {\n\treturn nil\n}",
		strings.Repeat("0123456789abcdef", 9), "data:image/png;base64," + base64Text + " the end", strings.Repeat("退款政策在哪里", 20), "", "::->",
		"tail " + strings.Repeat("x", 300) + "é after", "\u0000\ufffd zero",
	}
)

func TestContains(t *testing.T) {
	var rows []rowTexts
	for i, s := range samples {
		rows = append(rows, rowTexts{{s}, {samples[(i+5)%len(samples)], "other"}}, rowTexts{})
	}
	for _, add := range []func(*Builder, Field, string){addText, addJSON} {
		x := indexOf(t, rows, add)
		for _, s := range append(samples, "hiddenkey", "refund", "fund", "refund policy", "refund/policy", "\"refund/policy\" 12", "desk said: ", "款政", "政策在哪",
			"🎉", "🎉🎉🎉", "🎉 done", "e", "", " ", "cdef0123456789abcdef01", strings.Repeat("0123456789abcdef", 3)+"0", "Uh", "the end", "xxxxxé", "é after", "nil\n}",
			"nothing of it") {
			for _, fields := range []Field{Inputs, Outputs, Inputs | Outputs} {
				checkContains(t, rows, x, fields, s)
			}
		}
		for _, w := range []string{"refund", "refunds", "größe", "жук", "i̇stanbul", "k", "9", "退款政策在哪里", "put", "event", strings.Repeat("0123456789abcdef", 9), "other", "zero",
			"absent"} {
			checkWord(t, rows, x, Inputs, w)
			checkWord(t, rows, x, Inputs|Outputs, w)
		}
	}
}

// What one word decides is decided, and what has nothing to do with a text is not looked at.
func TestFewAreMaybe(t *testing.T) {
	rows := []rowTexts{{{"a refund today"}}, {{"the policy"}}, {{"refund policy"}}, {{"policy refund"}}, {{base64Text}}}
	x := indexOf(t, rows, addText)
	for text, want := range map[string][2]int{
		"refund": {2 + 1, 1}, "refund policy": {0, 3}, "efund polic": {0, 3}, "policy to": {0, 1}, "none": {0, 1}, "...": {0, 5},
	} {
		found := checkContains(t, rows, x, Inputs, text)
		if got := [2]int{found.Sure.Count(), found.Maybe.Count()}; got != want {
			t.Errorf("%q: %d sure and %d maybe, want %d", text, got[0], got[1], want)
		}
	}
}

// An index of several parts and pages answers as one of a single part.
func TestParts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var rows []rowTexts
	for i := range 30_000 {
		text := fmt.Sprintf("common row%d id%x %x", i, random.Uint64(), random.Uint64())
		if i%1000 == 0 {
			text += " rare"
		}
		if i%3 == 0 {
			text += " third"
		}
		rows = append(rows, rowTexts{{text}, {fmt.Sprint("out", i%7)}})
	}
	x := indexOf(t, rows, addText)
	if len(x.dir.Parts) < 2 {
		t.Fatalf("%d parts", len(x.dir.Parts))
	}
	for _, text := range []string{"common", "rare", "third", "row777", "out3", "row1 "} {
		checkContains(t, rows, x, Inputs|Outputs, text)
	}
	checkWord(t, rows, x, Inputs, "row29999")
}

func TestUnread(t *testing.T) {
	b := NewBuilder()
	b.Row(0)
	b.Add(Inputs, []byte("text"))
	b.Row(1)
	b.Unread()
	found, err := open(t, b, 2).Contains(Inputs, "else")
	if err != nil || found.Maybe.Has(0) || !found.Maybe.Has(1) {
		t.Error(found, err)
	}
}

func TestDamaged(t *testing.T) {
	b := NewBuilder()
	b.Row(0)
	b.Add(Inputs, []byte("some text"))
	built, err := b.Build(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range append(built.Pages, built.Directory) {
		for i := range data {
			bad := slices.Clone(data)
			bad[i] ^= 4
			for _, read := range []func([]byte) error{
				func(b []byte) error { _, err := ReadDirectory(b); return err },
				func(b []byte) error { _, err := ReadTexts(b); return err },
				func(b []byte) error { _, err := ReadLists(b); return err },
			} {
				if err := read(bad); !errors.Is(err, column.ErrDamaged) {
					t.Fatalf("byte %d: %v", i, err)
				}
			}
		}
	}
}

func FuzzContains(f *testing.F) {
	for i, s := range samples {
		f.Add(s, samples[(i+3)%len(samples)], 3, 9)
	}
	f.Fuzz(func(t *testing.T, a, b string, from, size int) {
		a, b = strings.ToValidUTF8(a, ""), strings.ToValidUTF8(b, "")
		rows := []rowTexts{{{a}, {b}}, {{b, a}}, {}}
		for _, add := range []func(*Builder, Field, string){addText, addJSON} {
			x := indexOf(t, rows, add)
			from, size = max(0, min(from, len(a))), max(0, size)
			part := strings.ToValidUTF8(a[from:min(len(a), from+min(size, len(a)))], "")
			checkContains(t, rows, x, Inputs, part)
			checkContains(t, rows, x, Outputs, b)
			for w := range Split(a) {
				checkWord(t, rows, x, Inputs|Outputs, strings.ToLower(w))
			}
		}
	})
}

func BenchmarkAddJSON(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	vocabulary := make([]string, 5000)
	for i := range vocabulary {
		vocabulary[i] = fmt.Sprintf("%x", random.Uint64())[:2+random.IntN(8)]
	}
	payloads := make([][]byte, 2000)
	for i := range payloads {
		var text strings.Builder
		for text.Len() < 6700 {
			text.WriteString(vocabulary[min(random.IntN(5000), random.IntN(5000))])
			text.WriteString([]string{" ", " ", " ", ". ", "\n"}[random.IntN(5)])
		}
		payloads[i], _ = json.Marshal(map[string]string{"text": text.String()})
	}
	b.SetBytes(int64(len(payloads[0])))
	b.ReportAllocs()
	builder := NewBuilder()
	row := 0
	for b.Loop() {
		if row == 60_000 {
			if _, err := builder.Build(row); err != nil {
				b.Fatal(err)
			}
			builder, row = NewBuilder(), 0
		}
		builder.Row(row)
		builder.AddJSON(Inputs, payloads[row%len(payloads)])
		row++
	}
}
