// Package pyliteral reads Python literals as JSON: some Python programs write nested values with str() instead
// of as JSON, {'a': None, 'b': (1, 2)}, in attributes of spans and in query strings.
package pyliteral

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MaxBytes bounds the text that is read as a Python literal, in bytes: far more than the usage
// objects and tool definitions that come this way.
const MaxBytes = 1 << 20

// JSON returns a Python dict, list or tuple as JSON text. It knows strings with their prefixes
// and escapes, numbers, None, True, False and trailing commas; anything else (an object's
// <...>, a call, a set) is refused, since its meaning can only be guessed.
//
//	{'a': None, 'b': (1, 2)}  → {"a":null,"b":[1,2]}
//	{1: 'x'}                  → {"1":"x"}
//	{'a': <Foo object>}       → false
//
// A bare string, number or constant is refused, too: prose must not be taken for a literal.
func JSON(text string) ([]byte, bool) {
	if len(text) > MaxBytes {
		return nil, false
	}
	r := reader{text: text, out: make([]byte, 0, len(text)+len(text)/8)}
	r.space()
	if c := r.peek(); c != '{' && c != '[' && c != '(' {
		return nil, false
	}
	if !r.value(0) {
		return nil, false
	}
	r.space()
	return r.out, r.at == len(r.text)
}

// reader is a recursive descent parser that writes while it reads. Its methods report whether they read what they
// should; if not, the text as a whole is refused.
type reader struct {
	text string
	at   int
	out  []byte
}

// peek returns the next byte, 0 at the end.
func (r *reader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// space skips white space. Comments are not known: str() writes none.
func (r *reader) space() {
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0 {
		r.at++
	}
}

// value reads any value. depth is how many containers are around it; at JSON's bound the text is refused.
func (r *reader) value(depth int) bool {
	if depth >= rawjson.MaxDepth-1 {
		return false
	}
	switch c := r.peek(); {
	case c == '{':
		return r.list('{', '}', depth)
	case c == '[':
		return r.list('[', ']', depth)
	case c == '(':
		return r.list('(', ')', depth)
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return r.number()
	}
	for word, is := range pythonWords {
		if rest := r.text[r.at:]; strings.HasPrefix(rest, word) && (len(rest) == len(word) || !wordByte(rest[len(word)])) {
			r.at += len(word)
			r.out = append(r.out, is...)
			return true
		}
	}
	return r.str()
}

// pythonWords are Python's constants as JSON. The floats that JSON lacks become strings, as
// they do in attributes of their own type.
var pythonWords = map[string]string{
	"None": "null", "True": "true", "False": "false", "nan": `"NaN"`, "inf": `"Infinity"`,
	// Some SDKs mix both spellings.
	"null": "null", "true": "true", "false": "false",
}

// wordByte reports whether c can be part of a name or a number, also of one beyond ASCII.
func wordByte(c byte) bool {
	return c == '_' || c >= utf8.RuneSelf || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// list reads a dict, a list or a tuple: open and end are its brackets. Lists and tuples become arrays. A tuple of one must
// have its comma: (1) is a number in brackets, which is refused.
func (r *reader) list(open, end byte, depth int) bool {
	r.at++
	if open == '{' {
		r.out = append(r.out, '{')
	} else {
		r.out = append(r.out, '[')
	}
	// n is how many elements were read, comma whether one follows the last.
	n, comma := 0, false
	for {
		r.space()
		// At the end, also after a trailing comma; (1) is not a tuple.
		if r.peek() == end && (n == 0 || comma || open != '(' || n > 1) {
			r.at++
			if open == '{' {
				r.out = append(r.out, '}')
			} else {
				r.out = append(r.out, ']')
			}
			return true
		}
		if n > 0 {
			if !comma {
				return false
			}
			r.out = append(r.out, ',')
		}
		if open == '{' && !r.key() || !r.value(depth+1) {
			return false
		}
		n++
		r.space()
		if comma = r.peek() == ','; comma {
			r.at++
		} else if r.peek() != end {
			return false
		}
	}
}

// key reads a dict's key with its colon. Numbers and constants become text, since JSON has no other keys.
func (r *reader) key() bool {
	at := len(r.out)
	if c := r.peek(); c == '{' || c == '[' || c == '(' || !r.value(rawjson.MaxDepth-2) {
		return false
	}
	if r.out[at] != '"' {
		text := string(r.out[at:])
		r.out = rawjson.AppendString(r.out[:at], text)
	}
	r.space()
	if r.peek() != ':' {
		return false
	}
	r.at++
	r.out = append(r.out, ':')
	r.space()
	return true
}

// number reads a number that JSON has, too, digit for digit. 1_000, 0x10, 1j and 01 are refused.
func (r *reader) number() bool {
	start := r.at
	for r.at < len(r.text) && (wordByte(r.text[r.at]) || strings.IndexByte("+-.", r.text[r.at]) >= 0) {
		r.at++
	}
	text := r.text[start:r.at]
	if text == "-inf" {
		r.out = append(r.out, `"-Infinity"`...)
		return true
	}
	if _, n, err := rawjson.Clean([]byte(text)); err != nil || n > 0 {
		return false
	}
	r.out = append(r.out, text...)
	return true
}

// str reads one or several adjacent string literals, which Python joins: 'a' 'b' is "ab".
func (r *reader) str() bool {
	var b strings.Builder
	if !r.literal(&b) {
		return false
	}
	for {
		at := r.at
		r.space()
		if c := r.peek(); (c == '\'' || c == '"') && r.at > at && r.literal(&b) {
			continue
		}
		r.at = at
		break
	}
	r.out = rawjson.AppendString(r.out, b.String())
	return true
}

// literal appends one string literal: at most two letters of a prefix (b, u, r in any case), a quote, and all up to the
// same quote. After r a backslash and what follows it stand for themselves, and a quote after one ends nothing.
func (r *reader) literal(b *strings.Builder) bool {
	// b and u say nothing about the text; r does.
	raw := false
	for i := 0; i < 2; i++ {
		switch r.peek() {
		case 'b', 'B', 'u', 'U':
			r.at++
		case 'r', 'R':
			raw = true
			r.at++
		}
	}
	quote := r.peek()
	if quote != '\'' && quote != '"' {
		return false
	}
	r.at++
	for r.at < len(r.text) {
		c := r.text[r.at]
		switch {
		case c == quote:
			r.at++
			return true
		case c != '\\':
			b.WriteByte(c)
			r.at++
		case raw && r.at+1 < len(r.text):
			b.WriteString(r.text[r.at : r.at+2])
			r.at += 2
		case !r.escape(b):
			return false
		}
	}
	return false
}

// escape reads one backslash sequence: \n, \x41, \u00e9, \U0001f600. Unknown ones stay as they are, as in Python. It
// returns false if the sequence is cut off.
func (r *reader) escape(b *strings.Builder) bool {
	r.at++
	c := r.peek()
	r.at++
	digits := 0
	switch c {
	case 0:
		return false
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case '\\', '\'', '"':
		b.WriteByte(c)
	// A line that goes on: neither the backslash nor the break counts.
	case '\n':
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case '0':
		b.WriteByte(0)
	case 'a':
		b.WriteByte('\a')
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'v':
		b.WriteByte('\v')
	default:
		b.WriteByte('\\')
		b.WriteByte(c)
	}
	if digits == 0 {
		return true
	}
	// A character's number in hexadecimal.
	if r.at+digits > len(r.text) {
		return false
	}
	n, err := strconv.ParseUint(r.text[r.at:r.at+digits], 16, 32)
	if err != nil {
		return false
	}
	r.at += digits
	b.WriteRune(rune(n)) // what is no character becomes U+FFFD
	return true
}
