package column

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// ErrDamaged is returned for bytes that are no column.
var ErrDamaged = errors.New("column is damaged")

// format is the first byte of an encoded column. Another one is of another version.
const format = 1

// Kinds of columns in their encoded form.
const (
	kindDict = iota
	kindInts
	kindFloats
)

// maxRows bounds the rows of a column that is decoded, and maxDecoded its bytes.
const (
	maxRows    = 1 << 20
	maxDecoded = 256 << 20
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	encoder    = sync.OnceValue(func() *zstd.Encoder {
		// Nearly all columns and pages are smaller than the window, of which each encoder keeps two: 32 MB altogether with the default of 8 MB.
		e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(2), zstd.WithZeroFrames(true), zstd.WithWindowSize(1<<20))
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxDecoded))
		return d
	})
)

// Encode returns the column as bytes: the format, a checksum of what follows it, and the column as zstd.
func (c *Column) Encode() []byte {
	var raw []byte
	raw = binary.AppendUvarint(raw, uint64(c.n))
	switch x := c.numbers; {
	case x == nil:
		raw = append(raw, kindDict, boolByte(c.tooLong), byte(c.codes.width))
		raw = binary.AppendUvarint(raw, uint64(len(c.dict)))
		for _, v := range c.dict {
			raw = binary.AppendUvarint(raw, uint64(len(v)))
			raw = append(raw, v...)
		}
		raw = append(raw, c.codes.raw...)
	case x.floats != nil:
		raw = appendSet(append(raw, kindFloats), x.present)
		raw = append(raw, x.floats...)
	default:
		raw = appendSet(append(raw, kindInts), x.present)
		raw = binary.AppendVarint(raw, x.base)
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x.divisor))
		raw = append(raw, byte(x.ints.width))
		raw = append(raw, x.ints.raw...)
	}
	return Seal(raw)
}

// Seal returns bytes compressed, with format and checksum, for Open.
func Seal(raw []byte) []byte {
	out := encoder().EncodeAll(raw, make([]byte, 5, 5+len(raw)/4))
	out[0] = format
	binary.LittleEndian.PutUint32(out[1:], crc32.Checksum(out[5:], castagnoli))
	return out
}

// Open returns what Seal was given. ErrDamaged if it is not that.
func Open(data []byte) ([]byte, error) {
	if len(data) < 5 || data[0] != format || binary.LittleEndian.Uint32(data[1:]) != crc32.Checksum(data[5:], castagnoli) {
		return nil, ErrDamaged
	}
	raw, err := decoder().DecodeAll(data[5:], nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return raw, nil
}

func appendSet(raw []byte, s Set) []byte {
	raw = append(raw, boolByte(s != nil))
	for _, w := range s {
		raw = binary.LittleEndian.AppendUint64(raw, w)
	}
	return raw
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Decode returns the column that Encode gave. ErrDamaged if it gave none; what is returned then must not be used.
func Decode(data []byte) (*Column, error) {
	raw, err := Open(data)
	if err != nil {
		return nil, err
	}
	r := reader{raw: raw}
	c := &Column{n: r.count(maxRows)}
	switch kind := r.byte(); kind {
	case kindDict:
		c.tooLong = r.byte() == 1
		width := int(r.byte())
		dict := r.count(len(raw))
		for range dict {
			if r.bad {
				break
			}
			c.dict = append(c.dict, r.bytes(r.count(MaxValueBytes)))
		}
		c.codes = r.packed(width, c.n)
		r.bad = r.bad || len(r.raw) > 0 || c.codes.exceeds(uint32(c.Codes()), c.n)
	case kindInts, kindFloats:
		c.numbers = &numbers{present: r.set(c.n)}
		if kind == kindFloats {
			c.numbers.floats = r.bytes(8 * c.n)
		} else {
			c.numbers.base, c.numbers.divisor = r.varint(), math.Float64frombits(r.uint64())
			c.numbers.ints = r.packed(int(r.byte()), c.n)
		}
		r.bad = r.bad || len(r.raw) > 0
	default:
		return nil, ErrDamaged
	}
	if r.bad {
		return nil, ErrDamaged
	}
	return c, nil
}

// exceeds reports whether one of n integers is not below a bound.
func (p *packed) exceeds(bound uint32, n int) bool {
	var buffer [1024]uint32
	for first := 0; first < n; first += len(buffer) {
		piece := buffer[:min(len(buffer), n-first)]
		p.read(first, piece)
		if slices.Max(piece) >= bound {
			return true
		}
	}
	return false
}

// reader takes bytes apart. Past their end it is bad, and gives zeros.
type reader struct {
	raw []byte
	bad bool
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.raw) {
		r.bad, r.raw = true, nil
		return nil
	}
	b := r.raw[:n:n]
	r.raw = r.raw[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.raw)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.raw = r.raw[n:]
	return v
}

// count reads a number of things, at most a greatest one.
func (r *reader) count(most int) int {
	v, n := binary.Uvarint(r.raw)
	if n <= 0 || v > uint64(most) {
		r.bad = true
		return 0
	}
	r.raw = r.raw[n:]
	return int(v)
}

func (r *reader) set(n int) Set {
	if r.byte() == 0 {
		return nil
	}
	b := r.bytes((n + 63) / 64 * 8)
	s := make(Set, len(b)/8)
	for i := range s {
		s[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return s
}

func (r *reader) packed(width, n int) packed {
	if width != 0 && width != 1 && width != 2 && width != 4 {
		r.bad = true
		return packed{}
	}
	return packed{width: width, raw: r.bytes(width * n)}
}
