// Package jsonscan walks JSON text without copying or allocating. It expects text that is known to be
// valid and to name no member twice, as rawjson.Clean returns it. On any other text it stops early, but
// never reads outside the text.
package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// skipSpace returns the offset of the first byte from i on that is no space between JSON's tokens.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// shortString is how many bytes of a string are looked at in words of eight: most names and many
// texts end within, and a search costs more.
const shortString = 32

// skipString returns the offset after the string whose opening quote is at i, or the end of b if it is not closed.
//
// The beginning is searched eight bytes at a time for a quote or a backslash; the search goes on two bytes after a
// backslash. From there on only quotes are searched, by bytes.IndexByte; one is the end if an even number of
// backslashes stands before it.
func skipString(b []byte, i int) int {
	i++
	for end := i + shortString; i < end && i+8 <= len(b); {
		w := binary.LittleEndian.Uint64(b[i:])
		hit := zeros(w^eight*'"') | zeros(w^eight*'\\')
		if hit == 0 {
			i += 8
			continue
		}
		if i += bits.TrailingZeros64(hit) / 8; b[i] == '"' {
			return i + 1
		}
		i += 2
	}
	for i < len(b) {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		back := 0
		for i-1-back >= 0 && b[i-1-back] == '\\' {
			back++
		}
		i++
		if back%2 == 0 {
			return i
		}
	}
	return len(b)
}

// eight, multiplied by a byte, is a word of eight of it.
const eight = 0x0101010101010101

// zeros sets the highest bit of the first byte of w that is zero, and perhaps of some after it: subtracting 1 from a zero
// byte borrows, which sets its highest bit. XOR with a repeated byte makes the bytes zero that are searched.
func zeros(w uint64) uint64 { return (w - eight) &^ w & (eight << 7) }

// SkipValue returns the offset after the value that starts at i. Brackets are only counted, not matched by kind:
// the text is known to be valid. A value that does not end reaches to the end of b.
func SkipValue(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				i = skipString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return len(b)
	default:
		for i < len(b) {
			switch b[i] {
			case ',', ']', '}', ' ', '\n', '\t', '\r':
				return i
			}
			i++
		}
		return i
	}
}

// Cursor steps through the members of an object or the elements of an array. Key and Val are slices of the text.
//
//	for c := jsonscan.Members(raw); c.Next(); { use c.Key, c.Val }
type Cursor struct {
	// The text, nil once there is nothing more; the offset of what comes next; the closing bracket.
	b   []byte
	i   int
	end byte
	obj bool

	// Of a member: the text between the quotes, escapes as they stand.
	Key []byte
	// The value's text, without surrounding space.
	Val []byte

	Stop int // once Next has returned false: the offset after the closing bracket, 0 if there is none
}

// Members returns a cursor over the members of an object. On any other value it has none.
func Members(raw []byte) Cursor { return walk(raw, '{') }

// Elements returns a cursor over the elements of an array. On any other value it has none.
func Elements(raw []byte) Cursor { return walk(raw, '[') }

// walk returns a cursor behind the opening bracket. In ASCII a closing bracket comes two after the opening one.
func walk(raw []byte, open byte) Cursor {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != open {
		return Cursor{}
	}
	return Cursor{b: raw, i: i + 1, end: open + 2, obj: open == '{'}
}

// Next steps to the next member or element, and reports whether there is one.
func (c *Cursor) Next() bool { return c.Open() && c.Close() }

// Open does the first half of Next, for a caller that may walk through the value itself: Val is
// all text from the value on. The caller must then call either Close or Leave. A walk through a value
// that reads it anyway thus need not be preceded by one that only looks for its end.
func (c *Cursor) Open() bool {
	i := skipSpace(c.b, c.i)
	if i < len(c.b) && c.b[i] == ',' {
		i = skipSpace(c.b, i+1)
	}
	if i >= len(c.b) || c.b[i] == c.end {
		if i < len(c.b) {
			c.Stop = i + 1
		}
		c.b = nil
		return false
	}
	if c.obj {
		end := skipString(c.b, i)
		if end-1 <= i {
			return false
		}
		c.Key = c.b[i+1 : end-1]
		i = skipSpace(c.b, end)
		if i < len(c.b) && c.b[i] == ':' {
			i = skipSpace(c.b, i+1)
		}
	}
	c.i, c.Val = i, c.b[i:]
	return true
}

// Close steps over the value and makes it Val.
func (c *Cursor) Close() bool {
	end := SkipValue(c.b, c.i)
	if end <= c.i {
		return false
	}
	c.Val = c.b[c.i:end:end]
	c.i = end
	return true
}

// Leave steps over the value, whose length the caller knows.
func (c *Cursor) Leave(n int) {
	if n <= 0 {
		c.b = nil
	}
	c.i += n
}

// Member returns the value of an object's member by its name, nil if absent. It walks through the members each time:
// a caller that needs several of them does better with a cursor.
func Member(raw []byte, key string) []byte {
	for c := Members(raw); c.Next(); {
		if string(c.Key) == key {
			return c.Val
		}
	}
	return nil
}

// Kind returns the first byte of a value, 0 for none: '{', '[', '"', 'n', 't', 'f', or a digit
// or sign, which is returned as '0'.
func Kind(raw []byte) byte {
	i := skipSpace(raw, 0)
	if i >= len(raw) {
		return 0
	}
	switch c := raw[i]; c {
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	default:
		return c
	}
}

// Empty reports whether a value is absent, null, "", {} or [].
func Empty(raw []byte) bool {
	switch Kind(raw) {
	case 0, 'n':
		return true
	case '"':
		return len(bytes.TrimSpace(raw)) == 2
	case '{', '[':
		i := skipSpace(raw, skipSpace(raw, 0)+1)
		return i < len(raw) && (raw[i] == '}' || raw[i] == ']')
	}
	return false
}

// Inner returns the text of a string between its quotes, escapes as they stand.
func Inner(raw []byte) []byte {
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	return raw[1 : len(raw)-1]
}
