package rawjson

import (
	"bytes"
	"unicode/utf8"
)

// Bounds of what simple looks at; beyond them Clean takes the slow way.
const (
	simpleKeys   = 16  // members of one object: their names are compared with each other
	simpleDigits = 300 // of a number without exponent, which no double overflows or underflows
)

// simple reports whether raw is one JSON value that Clean has nothing to do for. It is the quick look
// that most values pass: on anything out of the ordinary (escapes of NUL or of half a character, exponents,
// many members, deep nesting, any fault) it says no, and the tokens are looked at one by one. So it may say no to a
// clean value, but never yes to another.
func simple(raw []byte) bool {
	i := simpleValue(raw, simpleSpace(raw, 0), 1)
	return i > 0 && simpleSpace(raw, i) == len(raw)
}

// simpleSpace returns the offset of the first byte from i on that is no white space.
func simpleSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// simpleValue returns the offset after the value at i, -1 if it is not simple.
func simpleValue(b []byte, i, depth int) int {
	if i >= len(b) || depth > MaxDepth {
		return -1
	}
	switch c := b[i]; c {
	case '"':
		return simpleString(b, i)
	case '{':
		return simpleObject(b, i, depth)
	case '[':
		i = simpleSpace(b, i+1)
		if i < len(b) && b[i] == ']' {
			return i + 1
		}
		for {
			if i = simpleValue(b, i, depth+1); i < 0 {
				return -1
			}
			i = simpleSpace(b, i)
			switch {
			case i >= len(b):
				return -1
			case b[i] == ']':
				return i + 1
			case b[i] != ',':
				return -1
			}
			i = simpleSpace(b, i+1)
		}
	case 't':
		return simpleWord(b, i, "true")
	case 'f':
		return simpleWord(b, i, "false")
	case 'n':
		return simpleWord(b, i, "null")
	default:
		return simpleNumber(b, i)
	}
}

// simpleWord returns the offset after a word, -1 if it is not there.
func simpleWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// simpleObject returns the offset after the object at i, -1 if it is not simple. Names with escapes are not: they might be
// equal to others that are spelled without.
func simpleObject(b []byte, i, depth int) int {
	i = simpleSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	// All names so far: an object with one of them twice is not simple.
	var names [simpleKeys][]byte
	for n := 0; ; n++ {
		if n == simpleKeys || i >= len(b) || b[i] != '"' {
			return -1
		}
		end := simpleString(b, i)
		if end < 0 {
			return -1
		}
		name := b[i+1 : end-1]
		// It might be equal to a name that is spelled without the escape.
		if bytes.IndexByte(name, '\\') >= 0 {
			return -1
		}
		for _, other := range names[:n] {
			if bytes.Equal(name, other) {
				return -1
			}
		}
		names[n] = name
		if i = simpleSpace(b, end); i >= len(b) || b[i] != ':' {
			return -1
		}
		if i = simpleValue(b, simpleSpace(b, i+1), depth+1); i < 0 {
			return -1
		}
		i = simpleSpace(b, i)
		switch {
		case i >= len(b):
			return -1
		case b[i] == '}':
			return i + 1
		case b[i] != ',':
			return -1
		}
		i = simpleSpace(b, i+1)
	}
}

// simpleString returns the offset after the string whose opening quote is at i.
func simpleString(b []byte, i int) int {
	for i++; ; {
		if i = plainEnd(b, i); i >= len(b) {
			return -1
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if i = simpleEscape(b, i); i < 0 {
				return -1
			}
		case c < 0x20:
			return -1
		default:
			from := i
			if i = plainStart(b, i); !utf8.Valid(b[from:i]) {
				return -1
			}
		}
	}
}

// simpleEscape returns the offset after the escape whose backslash is at i, -1 if what it stands
// for must be replaced: NUL, or half of a surrogate pair. A whole pair is two escapes, \ud83d\ude00.
func simpleEscape(b []byte, i int) int {
	if i+1 >= len(b) {
		return -1
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		switch r := hex4(b, i+2); {
		case r <= 0 || r >= 0xdc00 && r < 0xe000:
			return -1
		case r >= 0xd800 && r < 0xdc00:
			if i+7 >= len(b) || b[i+6] != '\\' || b[i+7] != 'u' {
				return -1
			}
			if low := hex4(b, i+8); low < 0xdc00 || low >= 0xe000 {
				return -1
			}
			return i + 12
		default:
			return i + 6
		}
	}
	return -1
}

// hex4 returns the number that the four hex digits at i stand for, -1 if they are none.
func hex4(b []byte, i int) (r rune) {
	if i+4 > len(b) {
		return -1
	}
	for _, c := range b[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// simpleNumber returns the offset after the number at i, -1 if it is none or has an exponent or too many digits: only
// those can be out of a double's range.
func simpleNumber(b []byte, i int) int {
	start := i
	if b[i] == '-' {
		i++
	}
	if i >= len(b) {
		return -1
	}
	// JSON has no leading zeros, and a digit on each side of the point.
	switch {
	case b[i] == '0':
		i++
	case b[i] >= '1' && b[i] <= '9':
		i = simpleDigitsFrom(b, i)
	default:
		return -1
	}
	if i < len(b) && b[i] == '.' {
		from := i + 1
		if i = simpleDigitsFrom(b, from); i == from {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') || i-start > simpleDigits {
		return -1
	}
	return i
}

// simpleDigitsFrom returns the offset after the digits from i on.
func simpleDigitsFrom(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}
