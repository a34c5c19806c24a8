package wire

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// pythonDict turns the text form of a flat Python dictionary, such as
//
//	{'$gte': 1795213764357.0, '$lte': "2026-01-02", 'x': None}
//
// into JSON. Python clients send it where they were handed a dictionary for a query
// parameter. Keys are strings; values are strings, numbers, True, False and None. Anything
// else is false.
func pythonDict(text string) (json.RawMessage, bool) {
	p := pythonReader{rest: text}
	if !p.take("{") {
		return nil, false
	}
	out := []byte{'{'}
	for first := true; !p.take("}"); first = false {
		if !first {
			if !p.take(",") {
				return nil, false
			}
			out = append(out, ',')
		}
		key, ok := p.text()
		if !ok || !p.take(":") {
			return nil, false
		}
		value, ok := p.value()
		if !ok {
			return nil, false
		}
		out = append(rawjson.AppendString(out, key), ':')
		out = append(out, value...)
	}
	if strings.TrimSpace(p.rest) != "" {
		return nil, false
	}
	// What Clean refuses, such as a number out of range, is no dictionary either.
	raw, _, err := rawjson.Clean(append(out, '}'))
	return raw, err == nil
}

// pythonReader reads what is left of a text. Its methods report whether they read what they should.
type pythonReader struct{ rest string }

// take reads the given text, after white space.
func (p *pythonReader) take(text string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " \t\r\n"), text)
	if ok {
		p.rest = rest
	}
	return ok
}

// value reads a string, a number, True, False or None.
func (p *pythonReader) value() (json.RawMessage, bool) {
	if s, ok := p.text(); ok {
		return rawjson.AppendString(nil, s), true
	}
	for _, word := range []struct{ python, json string }{{"True", "true"}, {"False", "false"}, {"None", "null"}} {
		if p.take(word.python) {
			return json.RawMessage(word.json), true
		}
	}
	rest := strings.TrimLeft(p.rest, " \t\r\n")
	end := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("+-.0123456789e", r) })
	if end <= 0 {
		return nil, false
	}
	raw, _, err := rawjson.Clean([]byte(rest[:end]))
	p.rest = rest[end:]
	return raw, err == nil
}

// text reads a string in either kind of quotes, with the escapes Python writes.
func (p *pythonReader) text() (string, bool) {
	var quote byte
	switch {
	case p.take("'"):
		quote = '\''
	case p.take(`"`):
		quote = '"'
	default:
		return "", false
	}
	var b strings.Builder
	rest := p.rest
	for rest != "" && rest[0] != quote {
		if len(rest) > 1 && rest[0] == '\\' && (rest[1] == '\'' || rest[1] == '"') {
			b.WriteByte(rest[1])
			rest = rest[2:]
			continue
		}
		// Go's escapes are Python's, but for \xNN, which in Python is a character: a rune.
		r, _, tail, err := strconv.UnquoteChar(rest, 0)
		if err != nil {
			return "", false
		}
		b.WriteRune(r)
		rest = tail
	}
	if rest == "" {
		return "", false
	}
	p.rest = rest[1:]
	return b.String(), true
}
