package rawjson

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// quoteRoom is how many bytes appendQuoted keeps free beyond what is left of its text: for a
// whole word, for the longest escape and for the closing quote.
const quoteRoom = 16

// appendQuoted appends s between quotes. It says no, and has appended something or other, if s
// holds NUL or bytes that are not UTF-8. Behind the first byte that cannot stand as it is, it copies
// eight bytes at a time and goes on where the next such one is.
//
// A word is copied whole before it is looked at: what is too much is overwritten, which is cheaper than to copy byte by
// byte. quoteRoom sees to it that there is room.
func appendQuoted(dst []byte, s string) ([]byte, bool) {
	dst = append(slices.Grow(dst, len(s)+quoteRoom), '"')
	i := plainEnd(s, 0) // most often all of it
	dst = append(dst, s[:i]...)
	n := len(dst)
	buf := dst[:cap(dst)]
	for i < len(s) {
		if i+8 <= len(s) {
			w := load(s, i)
			binary.LittleEndian.PutUint64(buf[n:], w)
			o := odd(w)
			if o == 0 {
				i, n = i+8, n+8
				continue
			}
			plain := bits.TrailingZeros64(o) / 8
			i, n = i+plain, n+plain
		}
		// Here is a byte that is not plain, or one of the last seven.
		c := s[i]
		if c >= utf8.RuneSelf {
			end := plainStart(s, i)
			if !utf8.ValidString(s[i:end]) {
				return buf[:n], false
			}
			n += copy(buf[n:], s[i:end])
			i = end
			continue
		}
		i++
		if c >= 0x20 && c != '"' && c != '\\' {
			buf[n] = c
			n++
			continue
		}
		if c == 0 {
			return buf[:n], false
		}
		buf = appendEscape(buf[:n], c)
		n = len(buf)
		buf = slices.Grow(buf, len(s)-i+quoteRoom)
		buf = buf[:cap(buf)]
	}
	buf[n] = '"'
	return buf[:n+1], true
}

// appendEscape appends what stands for a quote, a backslash or a control character in a string.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\t':
		return append(dst, '\\', 't')
	case '\r':
		return append(dst, '\\', 'r')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}
