package rawjson

import (
	"math/bits"
	"unicode/utf8"
)

// Words of eight bytes that are all 1, and all 0x80. A word times a byte less than 0x80 is that byte eight times.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plainEnd returns the offset of the first byte from i on that does not stand for itself in a JSON
// string: a quote, a backslash, a control character or one that is not ASCII; len(s) if there is
// none. It looks at sixteen bytes at a time.
func plainEnd[T string | []byte](s T, i int) int {
	for ; i+16 <= len(s); i += 16 {
		v, w := odd(load(s, i)), odd(load(s, i+8))
		if v|w == 0 {
			continue
		}
		if v == 0 {
			return i + 8 + bits.TrailingZeros64(w)/8
		}
		return i + bits.TrailingZeros64(v)/8
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

// odd sets the highest bit of the first byte that plainEnd stops at, and perhaps of bytes after
// it; 0 if there is none. Such a byte has that bit, or borrows it when 0x20 is taken off, or 1
// off its difference to the quote or the backslash.
func odd(w uint64) uint64 {
	return (w | (w - ones*0x20) | ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones)) & highs
}

// plainStart returns the offset of the first byte from i on that is ASCII, len(s) if there is none.
func plainStart[T string | []byte](s T, i int) int {
	for ; i+8 <= len(s); i += 8 {
		if ascii := ^load(s, i) & highs; ascii != 0 {
			return i + bits.TrailingZeros64(ascii)/8
		}
	}
	for i < len(s) && s[i] >= utf8.RuneSelf {
		i++
	}
	return i
}

// load returns the eight bytes at i, the first one lowest.
func load[T string | []byte](s T, i int) uint64 {
	t := s[i : i+8]
	return uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
		uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
}
