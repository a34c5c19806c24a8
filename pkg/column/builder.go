package column

import "math"

// Builder collects a column, row by row.
type Builder struct {
	codes   []uint32 // of rows so far; a shorter list is filled with Absent
	dict    [][]byte
	numbers []float64 // by code, as long as all values are numbers
	ids     map[string]uint32
	tooLong bool
	mixed   bool // some value is no number
	bytes   int
}

// NewBuilder returns a builder without rows.
func NewBuilder() *Builder { return &Builder{ids: map[string]uint32{}} }

// Add sets the value of a row; rows must come in order, and those left out have none. number says that the value is the canonical
// text of a double, so that the double alone gives it back. A row that has a value already keeps it.
func (b *Builder) Add(row int, value []byte, number float64, isNumber bool) {
	if row < len(b.codes) {
		return
	}
	for len(b.codes) < row {
		b.codes = append(b.codes, Absent)
	}
	if len(value) > MaxValueBytes {
		b.tooLong, b.mixed = true, true
		b.codes = append(b.codes, TooLong)
		return
	}
	code, ok := b.ids[string(value)]
	if !ok {
		code = First + uint32(len(b.dict))
		kept := append([]byte(nil), value...)
		b.dict = append(b.dict, kept)
		b.ids[string(kept)] = code
		b.bytes += len(kept) + 64
		if b.mixed = b.mixed || !isNumber; b.mixed {
			b.numbers = nil
		} else {
			b.numbers = append(b.numbers, number)
		}
	}
	b.codes = append(b.codes, code)
}

// Bytes returns about how much memory the builder takes.
func (b *Builder) Bytes() int { return b.bytes + 4*len(b.codes) + 8*len(b.numbers) }

// Build returns the column of n rows.
func (b *Builder) Build(n int) *Column {
	for len(b.codes) < n {
		b.codes = append(b.codes, Absent)
	}
	if b.mixed || len(b.dict) == 0 {
		return &Column{n: n, dict: b.dict, codes: pack(b.codes), tooLong: b.tooLong}
	}
	values := make([]float64, n)
	var present Set
	for row, code := range b.codes {
		if code == Absent {
			if present == nil {
				present = FullSet(n)
			}
			present.Remove(row)
			continue
		}
		values[row] = b.numbers[code-First]
	}
	return newNumbers(values, present)
}

// OfNumbers returns a column in which each row has a number.
func OfNumbers(values []float64) *Column { return newNumbers(values, nil) }

func newNumbers(values []float64, present Set) *Column {
	c := &Column{n: len(values), numbers: &numbers{present: present}}
	for divisor := 1.0; divisor <= 1e6; divisor *= 10 {
		if c.numbers.setInts(values, divisor) {
			return c
		}
	}
	c.numbers.floats = values
	return c
}

// maxExact is below which each integer is a double.
const maxExact = 1 << 53

// setInts keeps the numbers as integers over a divisor, if that gives back each of them bit by bit and 4 bytes are enough.
func (x *numbers) setInts(values []float64, divisor float64) bool {
	least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
	for row, v := range values {
		if x.present != nil && !x.present.Has(row) {
			continue
		}
		scaled := math.Round(v * divisor)
		// Minus zero is another double than zero, though the two are equal.
		if !(math.Abs(scaled) < maxExact) || math.Float64bits(scaled/divisor) != math.Float64bits(v) {
			return false
		}
		least, greatest = min(least, int64(scaled)), max(greatest, int64(scaled))
	}
	if greatest < least {
		least, greatest = 0, 0
	}
	if greatest-least > math.MaxUint32 {
		return false
	}
	list := make([]uint32, len(values))
	for row, v := range values {
		if x.present == nil || x.present.Has(row) {
			list[row] = uint32(int64(math.Round(v*divisor)) - least)
		}
	}
	x.ints, x.base, x.divisor = pack(list), least, divisor
	return true
}
