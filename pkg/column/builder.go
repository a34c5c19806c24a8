package column

import (
	"encoding/binary"
	"math"
)

// Builder collects a column, row by row.
//
// As long as all values are numbers it keeps no more than these: a column of times has a value of its own in each row, and a
// dictionary of them would be most of the work.
type Builder struct {
	text    func(dst []byte, f float64) []byte
	next    int // the row behind the last one with a value
	rows    []uint32
	numbers []float64 // of rows
	// Once a value is no number:
	mixed   bool
	codes   []uint32 // of rows so far; a shorter list is filled with Absent
	dict    [][]byte
	ids     map[string]uint32
	tooLong bool
	bytes   int
}

// NewBuilder returns a builder without rows. text appends the canonical text of a double.
func NewBuilder(text func(dst []byte, f float64) []byte) *Builder { return &Builder{text: text} }

// Add sets the value of a row; rows must come in order, and those left out have none. isNumber says that the value is the canonical
// text of a double, so that the double alone gives it back; the value itself may then be left out. A row that has a value already
// keeps it. The value is not kept.
func (b *Builder) Add(row int, value []byte, number float64, isNumber bool) {
	if row < b.next {
		return
	}
	b.next = row + 1
	if isNumber && !b.mixed {
		b.rows, b.numbers = append(b.rows, uint32(row)), append(b.numbers, number)
		return
	}
	b.mix()
	if isNumber && value == nil {
		value = b.text(make([]byte, 0, 32), number)
	}
	b.addText(row, value)
}

// mix makes a dictionary of the numbers so far.
func (b *Builder) mix() {
	if b.mixed {
		return
	}
	b.mixed, b.ids = true, map[string]uint32{}
	var buffer [32]byte
	for i, row := range b.rows {
		b.addText(int(row), b.text(buffer[:0], b.numbers[i]))
	}
	b.rows, b.numbers = nil, nil
}

func (b *Builder) addText(row int, value []byte) {
	for len(b.codes) < row {
		b.codes = append(b.codes, Absent)
	}
	if len(value) > MaxValueBytes {
		b.tooLong = true
		b.codes = append(b.codes, TooLong)
		return
	}
	// Neighbours often have the same value.
	if row > 0 {
		if code := b.codes[row-1]; code >= First && string(b.dict[code-First]) == string(value) {
			b.codes = append(b.codes, code)
			return
		}
	}
	code, ok := b.ids[string(value)]
	if !ok {
		code = First + uint32(len(b.dict))
		kept := append([]byte(nil), value...)
		b.dict = append(b.dict, kept)
		b.ids[string(kept)] = code
		b.bytes += len(kept) + 64
	}
	b.codes = append(b.codes, code)
}

// Bytes returns about how much memory the builder takes.
func (b *Builder) Bytes() int { return b.bytes + 4*len(b.codes) + 12*len(b.rows) }

// Build returns the column of n rows.
func (b *Builder) Build(n int) *Column {
	if b.mixed || len(b.rows) == 0 {
		for len(b.codes) < n {
			b.codes = append(b.codes, Absent)
		}
		return &Column{n: n, dict: b.dict, codes: pack(b.codes), tooLong: b.tooLong}
	}
	if len(b.rows) == n {
		return newNumbers(b.numbers, nil)
	}
	values, present := make([]float64, n), NewSet(n)
	for i, row := range b.rows {
		values[row] = b.numbers[i]
		present.Add(int(row))
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
	c.numbers.floats = make([]byte, 0, 8*len(values))
	for _, v := range values {
		c.numbers.floats = binary.LittleEndian.AppendUint64(c.numbers.floats, math.Float64bits(v))
	}
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
