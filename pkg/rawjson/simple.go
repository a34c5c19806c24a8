package rawjson

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// Bounds of what simple looks at; beyond them Clean takes the slow way.
const (
	simpleKeys   = 16  // members of one object: their names are compared with each other
	simpleDigits = 300 // of a number without exponent, which no double overflows or underflows
)

// simple says that raw is one JSON value that Clean has nothing to do for. It is the quick look
// that most values pass: on anything out of the ordinary (escapes by number, exponents, many
// members, deep nesting, any fault) it says no, and the tokens are looked at one by one.
func simple(raw []byte) bool {
	i := simpleValue(raw, simpleSpace(raw, 0), 1)
	return i > 0 && simpleSpace(raw, i) == len(raw)
}

func simpleSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// simpleValue gives the offset after the value at i, -1 if it is not simple.
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

func simpleWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func simpleObject(b []byte, i, depth int) int {
	i = simpleSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
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

// simpleString gives the offset after the string whose opening quote is at i.
func simpleString(b []byte, i int) int {
	start := i + 1
	ascii := true
	for i = start; ; {
		i = skipSimple(b, i)
		if i >= len(b) {
			return -1
		}
		switch c := b[i]; {
		case c == '"':
			if !ascii && !utf8.Valid(b[start:i]) {
				return -1
			}
			return i + 1
		case c == '\\':
			if i+1 >= len(b) {
				return -1
			}
			switch b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			default:
				return -1
			}
		case c < 0x20:
			return -1
		default: // the first byte of something that is not ASCII
			ascii = false
			for i < len(b) && b[i] >= utf8.RuneSelf {
				i++
			}
		}
	}
}

// skipSimple gives the offset of the first byte from i on that is a quote, a backslash, a
// control character or not ASCII. It looks at eight bytes at a time: a byte's highest bit is
// set in one of the terms if it is such a byte. (A borrow may also set the bit of a byte after
// it, but only then, and the bytes are looked at again.)
func skipSimple(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote := w ^ ones*'"'
		slash := w ^ ones*'\\'
		if (w|(w-ones*0x20)|(quote-ones)&^quote|(slash-ones)&^slash)&highs != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return i
}

func simpleNumber(b []byte, i int) int {
	start := i
	if b[i] == '-' {
		i++
	}
	if i >= len(b) {
		return -1
	}
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

func simpleDigitsFrom(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}
