package column

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// value is a row's value in a test; nil: none.
type value []byte

// build makes a column of values, as JSON texts.
func build(values []value) *Column {
	b := NewBuilder(rawjson.AppendNumber)
	for row, v := range values {
		if v == nil {
			continue
		}
		n, ok := rawjson.Number(v)
		b.Add(row, v, n, ok && string(rawjson.AppendNumber(nil, n)) == string(v))
	}
	return b.Build(len(values))
}

// check holds a column to the values that it was built of.
func check(t *testing.T, c *Column, values []value) {
	t.Helper()
	if c.Len() != len(values) {
		t.Fatalf("%d rows, want %d", c.Len(), len(values))
	}
	for row, want := range values {
		var got []byte
		if c.IsNumeric() {
			if n, ok := c.Number(row); ok {
				got = rawjson.AppendNumber(nil, n)
			}
		} else if code := c.Code(row); code == TooLong {
			if len(want) <= MaxValueBytes {
				t.Errorf("row %d: a value of %d bytes is not kept", row, len(want))
			}
			continue
		} else {
			got = c.Value(code)
		}
		if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("row %d: %q, want %q", row, got, want)
		}
	}
	if c.IsNumeric() {
		checkNumbers(t, c)
	} else {
		c.EachCode(func(first int, codes []uint32) {
			for i, code := range codes {
				if int(code) != c.Code(first+i) {
					t.Errorf("row %d: code %d by pieces, %d by itself", first+i, code, c.Code(first+i))
				}
			}
		})
	}
}

func checkNumbers(t *testing.T, c *Column) {
	t.Helper()
	n := 0
	c.Numbers(func(first int, values []float64, present Set) {
		for i, f := range values {
			n++
			got, ok := c.Number(first + i)
			if ok != (present == nil || present.Has(first+i)) || (ok && math.Float64bits(got) != math.Float64bits(f)) {
				t.Errorf("row %d: %v by pieces, %v by itself", first+i, f, got)
			}
		}
	})
	if n != c.Len() {
		t.Errorf("%d numbers, want %d", n, c.Len())
	}
}

// Numbers may come without their texts, also before and behind what is no number.
func TestNumbersWithoutTexts(t *testing.T) {
	t.Parallel()
	b := NewBuilder(rawjson.AppendNumber)
	b.Add(1, nil, 1.5, true)
	b.Add(1, nil, 7, true) // has a value already
	b.Add(2, nil, 1e21, true)
	b.Add(4, []byte(`"x"`), 0, false)
	b.Add(5, nil, 1.5, true)
	check(t, b.Build(7), []value{nil, value("1.5"), value("1e+21"), nil, value(`"x"`), value("1.5"), nil})
	b = NewBuilder(rawjson.AppendNumber)
	b.Add(1, nil, 1.5, true)
	b.Add(3, nil, -2, true)
	check(t, b.Build(5), []value{nil, value("1.5"), nil, value("-2"), nil})
}

func TestColumn(t *testing.T) {
	t.Parallel()
	many := func(n int, f func(i int) string) (list []value) {
		for i := range n {
			if s := f(i); s == "" {
				list = append(list, nil)
			} else {
				list = append(list, value(s))
			}
		}
		return list
	}
	for name, values := range map[string][]value{
		"no rows":             nil,
		"nothing":             {nil, nil},
		"bytes":               many(5000, func(i int) string { return fmt.Sprint(i % 200) }),
		"two bytes":           many(5000, func(i int) string { return fmt.Sprint(1_000_000 + i*7) }),
		"four bytes":          many(3000, func(i int) string { return fmt.Sprint(i * 1_000_003) }),
		"negative":            many(300, func(i int) string { return fmt.Sprint(-i) }),
		"fractions":           many(3000, func(i int) string { return fmt.Sprint(float64(i) / 1000) }),
		"any doubles":         many(3000, func(i int) string { return string(rawjson.AppendNumber(nil, math.Sin(float64(i))*1e100)) }),
		"numbers and none":    many(3000, func(i int) string { return []string{"", fmt.Sprint(i)}[i%2] }),
		"other spellings":     many(300, func(i int) string { return []string{"1", "1.0", "1e0", "-0"}[i%4] }),
		"texts":               many(3000, func(i int) string { return fmt.Sprintf("%q", fmt.Sprint("v", i%7)) }),
		"texts and numbers":   many(300, func(i int) string { return []string{`"5"`, "5", "", "true", "{}"}[i%5] }),
		"all different":       many(70_000, func(i int) string { return fmt.Sprintf(`"%d"`, i) }),
		"too long":            many(30, func(i int) string { return fmt.Sprintf("%q", bytes.Repeat([]byte("x"), i*100)) }),
		"times":               many(3000, func(i int) string { return string(rawjson.AppendNumber(nil, 1767355200000.123+float64(i)*0.5)) }),
		"beyond 2^53":         many(30, func(i int) string { return string(rawjson.AppendNumber(nil, 9007199254740993+float64(i)*4)) }),
		"far from each other": {value("0"), value("1e+100"), value("5e-324")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := build(values)
			check(t, c, values)
			d, err := Decode(c.Encode())
			if err != nil {
				t.Fatal(err)
			}
			check(t, d, values)
		})
	}
}

// TestDamage flips each byte of columns: none is taken for another one.
func TestDamage(t *testing.T) {
	t.Parallel()
	for _, values := range [][]value{{value("1"), nil, value("300")}, {value(`"a"`), value("1"), nil}, {value("0.1"), value("1e+99")}} {
		whole := build(values).Encode()
		for i := range whole {
			for _, bit := range []byte{1, 128} {
				damaged := bytes.Clone(whole)
				damaged[i] ^= bit
				if _, err := Decode(damaged); !errors.Is(err, ErrDamaged) {
					t.Errorf("byte %d: %v", i, err)
				}
			}
			if _, err := Decode(whole[:i]); !errors.Is(err, ErrDamaged) {
				t.Errorf("cut at %d: %v", i, err)
			}
		}
	}
}

// FuzzDecode holds that bytes with a right checksum, whatever they are, are a column or damaged.
func FuzzDecode(f *testing.F) {
	for _, values := range [][]value{{value("1"), nil}, {value(`"a"`), value("1")}, {value("0.1"), value("1e+99")}} {
		raw, err := Open(build(values).Encode())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := Decode(Seal(raw))
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		for row := range min(c.Len(), 5000) {
			if c.IsNumeric() {
				c.Number(row)
			} else {
				c.Value(c.Code(row))
			}
		}
	})
}

func TestSet(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 63, 64, 65, 1000} {
		a, b := NewSet(n), NewSet(n)
		inA, inB := map[int]bool{}, map[int]bool{}
		for range n {
			x, y := r.IntN(n), r.IntN(n)
			a.Add(x)
			b.Add(y)
			inA[x], inB[y] = true, true
		}
		for name, c := range map[string]struct {
			do   func(s Set)
			want func(row int) bool
		}{
			"and":     {func(s Set) { s.And(b) }, func(row int) bool { return inA[row] && inB[row] }},
			"and not": {func(s Set) { s.AndNot(b) }, func(row int) bool { return inA[row] && !inB[row] }},
			"or":      {func(s Set) { s.Or(b) }, func(row int) bool { return inA[row] || inB[row] }},
			"fill":    {func(s Set) { s.Fill(n) }, func(int) bool { return true }},
		} {
			s := append(Set(nil), a...)
			c.do(s)
			count := 0
			for row := range n {
				if s.Has(row) != c.want(row) {
					t.Errorf("%s of %d: row %d is %v", name, n, row, s.Has(row))
				}
				if c.want(row) {
					count++
				}
			}
			last := -1
			for row := range s.All() {
				if row <= last || !s.Has(row) {
					t.Errorf("%s of %d: row %d after %d", name, n, row, last)
				}
				last, count = row, count-1
			}
			if count != 0 {
				t.Errorf("%s of %d: %d rows are left", name, n, count)
			}
		}
	}
}
