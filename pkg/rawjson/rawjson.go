// Package rawjson reads and builds JSON text without decoding it into Go values, so that
// what came in goes out digit for digit: numbers, key order and spelling stay as they were.
//
// Values handed to this package's readers (Object, Array, Get, Merge, Fill) must be valid
// JSON, which Clean makes sure of at the edge of the service; on anything else they return
// what they could read so far and never panic.
//
// A value is a json.RawMessage. What a reader returns is a slice of the text that it read, ending at its own length: it
// must not be written to, and it keeps the whole text alive. What a writer returns is new, unless it says otherwise:
// Clean, Merge, Fill, Concat and Without return an argument where that is the answer.
//
// A member that is null is there: Get returns null for it and nil for one that is absent. Empty and Null take both for
// the same.
package rawjson

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the first letter of a value: 'n' null, 'f' false, 't' true, '"' string,
// '0' number, '{' object, '[' array, 0 for nothing at all.
type Kind byte

// KindOf returns what raw is, by its first byte. It does not check the rest.
func KindOf(raw []byte) Kind {
	for _, c := range raw {
		switch c {
		case ' ', '\t', '\n', '\r':
			continue
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			return '0'
		default:
			return Kind(c)
		}
	}
	return 0
}

// Empty reports whether raw is absent, null, "", {} or [].
func Empty(raw []byte) bool {
	t := bytes.TrimSpace(raw)
	switch {
	case len(t) == 0, string(t) == "null", string(t) == `""`:
		return true
	case len(t) > 1 && (t[0] == '{' || t[0] == '['):
		return len(bytes.TrimSpace(t[1:len(t)-1])) == 0
	default:
		return false
	}
}

// Null reports whether raw is absent or JSON null.
func Null(raw []byte) bool {
	k := KindOf(raw)
	return k == 0 || k == 'n'
}

// reader returns a decoder that takes duplicate names and bytes that are not UTF-8.
func reader(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// walker is a decoder that is used again: small values are many, and a decoder is larger than they are.
type walker struct {
	d    jsontext.Decoder
	text bytes.Buffer
}

// walkers are the walkers that nobody uses.
var walkers = sync.Pool{New: func() any { return new(walker) }}

// walk returns a walker over raw. done must be called.
func walk(raw []byte) *walker {
	w := walkers.Get().(*walker)
	w.reset(raw)
	return w
}

// reset turns to another text.
func (w *walker) reset(raw []byte) {
	w.text = *bytes.NewBuffer(raw)
	w.d.Reset(&w.text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// done releases the decoder without the text.
func (w *walker) done() {
	w.reset(nil)
	walkers.Put(w)
}

// Object walks the members of a JSON object in order. The values are slices of raw.
// Anything but an object has no members. Names come without their escapes; one that is there twice comes twice.
func Object(raw []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		if KindOf(raw) != '{' {
			return
		}
		w := walk(raw)
		defer w.done()
		d := &w.d
		if _, err := d.ReadToken(); err != nil {
			return
		}
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				return
			}
			key := name.String()
			v, err := d.ReadValue()
			if err != nil {
				return
			}
			// The decoder's value is valid until the next read only; the same bytes of raw stay.
			end := int(d.InputOffset())
			if !yield(key, json.RawMessage(raw[end-len(v):end:end])) {
				return
			}
		}
	}
}

// Array walks the elements of a JSON array. The values are slices of raw.
func Array(raw []byte) iter.Seq2[int, json.RawMessage] {
	return func(yield func(int, json.RawMessage) bool) {
		if KindOf(raw) != '[' {
			return
		}
		w := walk(raw)
		defer w.done()
		d := &w.d
		if _, err := d.ReadToken(); err != nil {
			return
		}
		for i := 0; d.PeekKind() != ']' && d.PeekKind() != jsontext.KindInvalid; i++ {
			v, err := d.ReadValue()
			if err != nil {
				return
			}
			end := int(d.InputOffset())
			if !yield(i, json.RawMessage(raw[end-len(v):end:end])) {
				return
			}
		}
	}
}

// Get returns the member of an object by its exact name, nil if absent. It walks through the members up to it: a caller
// that needs several of them does better with Object.
func Get(raw []byte, key string) json.RawMessage {
	for k, v := range Object(raw) {
		if k == key {
			return v
		}
	}
	return nil
}

// Index parses a path segment as an array index: decimal, from 0, without leading zeros. "01", "-1" and "+1" are keys,
// and so is a number of more than nine digits.
func Index(segment string) (int, bool) {
	if segment == "" || len(segment) > 9 || (segment[0] == '0' && len(segment) > 1) {
		return 0, false
	}
	n := 0
	for _, c := range []byte(segment) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// Path follows keys and array indexes into raw, nil if the way ends: of {"a":[{"b":1}]} the segments a, 0, b lead to 1.
func Path(raw []byte, segments ...string) json.RawMessage {
	v := json.RawMessage(raw)
	for _, s := range segments {
		switch KindOf(v) {
		case '{':
			v = Get(v, s)
		case '[':
			n, ok := Index(s)
			if !ok {
				return nil
			}
			// Elements are found by walking: an array has no index.
			var found json.RawMessage
			for i, e := range Array(v) {
				if i == n {
					found = e
					break
				}
			}
			v = found
		default:
			return nil
		}
		if v == nil {
			return nil
		}
	}
	return v
}

// Text returns the value of a JSON string, and false for anything else.
func Text(raw []byte) (string, bool) {
	if KindOf(raw) != '"' {
		return "", false
	}
	raw = bytes.TrimSpace(raw)
	if end := plainEnd(raw, 1); end == len(raw)-1 && raw[end] == '"' {
		return string(raw[1:end]), true
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", false
	}
	return string(b), true
}

// Number returns the value of a JSON number as an IEEE 754 double, and false for anything else.
func Number(raw []byte) (float64, bool) {
	if KindOf(raw) != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(bytes.TrimSpace(raw)), 64)
	return f, err == nil
}

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	at := len(dst)
	dst, ok := appendQuoted(dst, s)
	if !ok {
		dst, _ = jsontext.AppendQuote(dst[:at], s) // the error only tells of replaced bytes
	}
	return dst
}

// AppendArray appends an array of values.
func AppendArray(dst []byte, values []json.RawMessage) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, v...)
	}
	return append(dst, ']')
}

// AppendStrings appends an array of strings, as AppendString writes them.
func AppendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, s)
	}
	return append(dst, ']')
}

// AppendIntegers appends an object of whole numbers, ordered by their names.
func AppendIntegers(dst []byte, object map[string]int64) []byte {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, name), ':')
		dst = strconv.AppendInt(dst, object[name], 10)
	}
	return append(dst, '}')
}

// AppendText appends s as a JSON string that every store can hold: NUL and bytes that are not
// UTF-8 become U+FFFD. replaced counts them.
func AppendText(dst []byte, s string) (out []byte, replaced int) {
	at := len(dst)
	dst, ok := appendQuoted(dst, s)
	if !ok {
		s, replaced = ValidText(s)
		dst, _ = appendQuoted(dst[:at], s)
	}
	return dst, replaced
}

// AppendNumber appends f in its shortest form that reads back equal, without an exponent for
// everyday sizes: 2, 0.1, 1000000, 1e-07. Infinities and NaN, which JSON lacks, become null.
func AppendNumber(dst []byte, f float64) []byte {
	if f != f || f > maxFloat || f < -maxFloat {
		return append(dst, "null"...)
	}
	if f == float64(int64(f)) && f > -1e15 && f < 1e15 {
		return strconv.AppendInt(dst, int64(f), 10)
	}
	if abs := max(f, -f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// Rounded returns a number that was computed with the 15 digits that every double holds: a sum of 0.1 and 0.2 is 0.3, and a mean of 1, 4 and 1 is 2.
func Rounded(f float64) float64 {
	if r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 15, 64), 64); err == nil {
		return r
	}
	return f // so large that the last digit would be one too many
}

// maxFloat is math.MaxFloat64.
const maxFloat = 1.79769313486231570814527423731704356798070e+308

// Merge puts the members of patch over those of base, one level deep: a key of patch replaces
// that key, also with null; new keys follow the old ones. Where one of the two is no object,
// the other is the answer, patch before base.
func Merge(base, patch json.RawMessage) json.RawMessage {
	return combine(base, patch, func(old, now json.RawMessage) json.RawMessage { return now })
}

// Fill adds to base the members of extra that base lacks or holds empty (null, "", {}, []). Like Merge it looks one
// level deep.
func Fill(base, extra json.RawMessage) json.RawMessage {
	return combine(base, extra, func(old, now json.RawMessage) json.RawMessage {
		if Empty(old) {
			return now
		}
		return old
	})
}

// combine puts the members of two objects together: those of base in their order, and then those of over that base
// does not have. pick decides about a key of both. If one has no members, or is no object, nothing is written anew.
func combine(base, over json.RawMessage, pick func(old, now json.RawMessage) json.RawMessage) json.RawMessage {
	if KindOf(over) != '{' || Empty(over) {
		if KindOf(base) == '{' || KindOf(over) != '{' {
			return base
		}
		return over
	}
	if KindOf(base) != '{' || Empty(base) {
		return over
	}
	// Both have members. now shrinks as they are written, so that at the end only new keys are left in it.
	now := map[string]json.RawMessage{}
	for k, v := range Object(over) {
		now[k] = v
	}
	var b Builder
	b.buf = make([]byte, 0, len(base)+len(over))
	for k, v := range Object(base) {
		if nv, ok := now[k]; ok {
			v = pick(v, nv)
			delete(now, k)
		}
		b.Raw(k, v)
	}
	for k, v := range Object(over) {
		if _, ok := now[k]; ok {
			b.Raw(k, v)
			delete(now, k)
		}
	}
	return b.Bytes()
}

// Concat joins the members of two objects that share no key. It is a plain copy.
func Concat(a, b json.RawMessage) json.RawMessage {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	if Empty(b) {
		return a
	}
	if Empty(a) {
		return b
	}
	out := make([]byte, 0, len(a)+len(b))
	out = append(out, bytes.TrimRight(a[:len(a)-1], " \t\r\n")...)
	out = append(out, ',')
	return append(out, b[1:]...)
}

// Prefix returns s, or the longest beginning of it that has at most n bytes and does not end within a character.
func Prefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// ValidText returns s with everything PostgreSQL's text cannot hold (NUL, bytes that are not
// UTF-8) replaced by U+FFFD, and how many replacements that took.
func ValidText(s string) (string, int) {
	ok := utf8.ValidString(s)
	if ok {
		for i := 0; i < len(s); i++ {
			if s[i] == 0 {
				ok = false
				break
			}
		}
	}
	if ok {
		return s, 0
	}
	// A U+FFFD that was in the text is not counted: it is three bytes long, a wrong byte is one.
	n := 0
	out := make([]rune, 0, len(s))
	for i, r := range s {
		if r == 0 {
			r = utf8.RuneError
			n++
		} else if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				n++
			}
		}
		out = append(out, r)
	}
	return string(out), n
}

// Without returns the members of object whose keys other does not have, whatever their values; object itself if it has
// none of them.
func Without(object, other json.RawMessage) json.RawMessage {
	if Empty(object) || Empty(other) {
		return object
	}
	taken := map[string]bool{}
	for k := range Object(other) {
		taken[k] = true
	}
	var b Builder
	dropped := false
	for k, v := range Object(object) {
		if taken[k] {
			dropped = true
			continue
		}
		b.Raw(k, v)
	}
	if !dropped {
		return object
	}
	return b.Bytes()
}
