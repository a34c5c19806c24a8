// Package column holds the values of one field of many rows together, so that a question about the field reads little else.
//
// A column is of one of two kinds. A column of numbers has a double for each row that has a value. Any other column has a
// dictionary: each different value once, as bytes that mean nothing to this package, and a code for each row. Both are small
// in memory as well: numbers stand as integers of 1, 2 or 4 bytes above a base where they can, codes as 1, 2 or 4 bytes.
//
// Encode and Decode turn a column into bytes with a checksum and back. Columns are not changed once they are made.
package column

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Codes of a dictionary that stand for no value of it.
const (
	Absent  = 0 // the row has no value
	TooLong = 1 // the row has a value that is not kept: it is over MaxValueBytes
	First   = 2 // of the first value
)

// MaxValueBytes is how long a value of a dictionary may be.
const MaxValueBytes = 1024

// Column is the values of one field of rows 0 to Len-1.
type Column struct {
	n       int
	numbers *numbers // nil: a dictionary
	dict    [][]byte // from code First on
	codes   packed
	tooLong bool // some row has the code TooLong
}

// Len returns the number of rows.
func (c *Column) Len() int { return c.n }

// IsNumeric reports whether the column is of numbers.
func (c *Column) IsNumeric() bool { return c.numbers != nil }

// HasTooLong reports whether some row has a value that is not kept.
func (c *Column) HasTooLong() bool { return c.tooLong }

// Codes returns how many codes there are, the two that stand for no value included.
func (c *Column) Codes() int { return First + len(c.dict) }

// Code returns the code of a row of a dictionary.
func (c *Column) Code(row int) int { return int(c.codes.at(row)) }

// Value returns the value of a code, nil for the two that have none. It must not be changed.
func (c *Column) Value(code int) []byte {
	if code < First {
		return nil
	}
	return c.dict[code-First]
}

// Number returns the number of a row of a column of numbers; not ok if it has none.
func (c *Column) Number(row int) (f float64, ok bool) {
	x := c.numbers
	if x.present != nil && !x.present.Has(row) {
		return 0, false
	}
	return x.at(row), true
}

// Numbers calls f with the numbers of rows of a column of numbers and which of them are present, nil for all, by pieces of rows from
// first on. The slice is used again for the next piece.
func (c *Column) Numbers(f func(first int, values []float64, present Set)) {
	const piece = 1024
	var buffer [piece]float64
	for first := 0; first < c.n; first += piece {
		values := buffer[:min(piece, c.n-first)]
		c.numbers.read(first, values)
		f(first, values, c.numbers.present)
	}
}

// EachCode calls f with the codes of all rows in order, by pieces of rows from first on. The slice is used again for the next piece.
func (c *Column) EachCode(f func(first int, codes []uint32)) {
	const piece = 1024
	var buffer [piece]uint32
	for first := 0; first < c.n; first += piece {
		codes := buffer[:min(piece, c.n-first)]
		c.codes.read(first, codes)
		f(first, codes)
	}
}

// Bytes returns about how much memory the column takes.
func (c *Column) Bytes() int {
	size := 200 + len(c.codes.raw)
	for _, v := range c.dict {
		size += len(v) + 24
	}
	if x := c.numbers; x != nil {
		size += len(x.ints.raw) + len(x.floats) + 8*len(x.present)
	}
	return size
}

// numbers are the doubles of a column.
type numbers struct {
	present Set    // which rows have one; nil: all
	floats  []byte // as they are, 8 bytes each in little-endian order; nil: as integers
	ints    packed // (base + i) / divisor
	base    int64
	divisor float64
}

// at returns the number of a row, of one without a number any.
func (x *numbers) at(row int) float64 {
	if x.floats != nil {
		return floatAt(x.floats, row)
	}
	return float64(x.base+int64(x.ints.at(row))) / x.divisor
}

// read fills values with the numbers from row first on.
func (x *numbers) read(first int, values []float64) {
	if x.floats != nil {
		raw := x.floats[8*first:]
		for i := range values {
			values[i] = floatAt(raw, i)
		}
		return
	}
	var buffer [1024]uint32
	for len(values) > 0 {
		n := min(len(values), len(buffer))
		x.ints.read(first, buffer[:n])
		// A division by 1 is the most frequent, and the slowest step here.
		if x.divisor == 1 {
			for i, v := range buffer[:n] {
				values[i] = float64(x.base + int64(v))
			}
		} else {
			for i, v := range buffer[:n] {
				values[i] = float64(x.base+int64(v)) / x.divisor
			}
		}
		values, first = values[n:], first+n
	}
}

func floatAt(raw []byte, i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
}

// packed is a list of integers below 2^32 of one width.
type packed struct {
	width int // in bytes: 0 (all are 0), 1, 2 or 4
	raw   []byte
}

// widthOf returns the bytes that integers up to a greatest one need.
func widthOf(greatest uint64) int {
	switch n := bits.Len64(greatest); {
	case n == 0:
		return 0
	case n <= 8:
		return 1
	case n <= 16:
		return 2
	default:
		return 4
	}
}

func pack(list []uint32) packed {
	greatest := uint32(0)
	for _, v := range list {
		greatest = max(greatest, v)
	}
	p := packed{width: widthOf(uint64(greatest))}
	p.raw = make([]byte, len(list)*p.width)
	for i, v := range list {
		switch p.width {
		case 1:
			p.raw[i] = byte(v)
		case 2:
			p.raw[2*i], p.raw[2*i+1] = byte(v), byte(v>>8)
		case 4:
			p.raw[4*i], p.raw[4*i+1], p.raw[4*i+2], p.raw[4*i+3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
		}
	}
	return p
}

func (p *packed) at(i int) uint32 {
	switch p.width {
	case 1:
		return uint32(p.raw[i])
	case 2:
		b := p.raw[2*i : 2*i+2]
		return uint32(b[0]) | uint32(b[1])<<8
	case 4:
		b := p.raw[4*i : 4*i+4]
		return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	}
	return 0
}

// read fills list with the integers from number first on.
func (p *packed) read(first int, list []uint32) {
	switch p.width {
	case 0:
		clear(list)
	case 1:
		for i, b := range p.raw[first : first+len(list)] {
			list[i] = uint32(b)
		}
	case 2:
		b := p.raw[2*first : 2*(first+len(list))]
		for i := range list {
			list[i] = uint32(b[2*i]) | uint32(b[2*i+1])<<8
		}
	case 4:
		b := p.raw[4*first : 4*(first+len(list))]
		for i := range list {
			list[i] = uint32(b[4*i]) | uint32(b[4*i+1])<<8 | uint32(b[4*i+2])<<16 | uint32(b[4*i+3])<<24
		}
	}
}

// AllPresent reports whether each row of a column of numbers has one.
func (c *Column) AllPresent() bool { return c.numbers.present == nil }
