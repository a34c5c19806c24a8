package rawjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep objects and arrays may nest. It bounds the stack of everything that walks values by recursion,
// here and in the packages that use this one.
const MaxDepth = 100

// Errors of Clean. They are wrapped with the place where they were found.
var (
	ErrSyntax = errors.New("not valid JSON")
	ErrNumber = errors.New("number outside the range of a double")
	ErrDepth  = fmt.Errorf("nested deeper than %d", MaxDepth)
)

// Clean checks one JSON value and brings it into the form that every store can hold: NUL and
// what is not UTF-8 (raw bytes, lone surrogates) become U+FFFD, of duplicate keys the last
// wins, a leading byte order mark is dropped. Text that needs none of this is returned as it
// came, without a copy. replaced counts the characters that were replaced.
//
// It refuses what is not JSON, numbers that a double cannot hold (also those that would
// underflow to zero), and nesting deeper than MaxDepth.
//
// There are three ways, each slower than the one before it:
//
//  1. simple looks at the bytes alone, and passes most values.
//  2. check reads the tokens with a full decoder. It passes what is clean but out of the ordinary, and finds errors.
//  3. rewrite writes the value anew. Only text with something to replace comes here.
func Clean(raw []byte) (clean json.RawMessage, replaced int, err error) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if simple(raw) {
		return bytes.TrimSpace(raw), 0, nil
	}
	dirty, err := check(raw)
	if err != nil {
		return nil, 0, err
	}
	if !dirty {
		return bytes.TrimSpace(raw), 0, nil
	}
	return rewrite(raw)
}

// check walks the values once and reports whether the text must be rewritten. Names are compared by their hashes, since
// to keep them all would take as much memory as the text: two names of one hash only make rewrite look closer.
func check(raw []byte) (dirty bool, err error) {
	// Only text that holds one of these can hold a NUL or a lone surrogate.
	escapes := bytes.Contains(raw, []byte(`\u`))
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	var (
		names []uint64 // hashes of the names of all objects that are open, the innermost last
		first []int    // where those of each open object begin; -1 for an array
		spare []byte
	)
	for {
		kind := d.PeekKind()
		switch kind {
		case '{', '[', '}', ']':
			if _, err := d.ReadToken(); err != nil {
				return false, syntax(err, d.InputOffset())
			}
		default:
			v, err := d.ReadValue()
			if err != nil {
				// What follows has not been looked at: rewrite finds its errors.
				if dirtyError(err) {
					return true, nil
				}
				return false, syntax(err, d.InputOffset())
			}
			switch kind {
			case '0':
				if !inRange(string(v)) {
					return false, fmt.Errorf("%w: %.40s", ErrNumber, v)
				}
			case '"':
				// Two spellings of a name are one name, so it is hashed without its escapes.
				if bytes.IndexByte(v, '\\') >= 0 {
					if spare, err = jsontext.AppendUnquote(spare[:0], v); err != nil {
						return true, nil
					}
					v = spare
					dirty = dirty || escapes && bytes.IndexByte(v, 0) >= 0
				} else {
					v = v[1 : len(v)-1]
				}
				if in, n := d.StackIndex(d.StackDepth()); in == '{' && n%2 == 1 { // a name was read
					if names == nil {
						names = make([]uint64, 0, mostMembers(raw))
					}
					names = append(names, maphash.Bytes(keySeed, v))
				}
			}
		}
		switch kind {
		case '{', '[':
			if d.StackDepth() > MaxDepth {
				return false, ErrDepth
			}
			// first grows and shrinks with the open objects and arrays, as the stack of a recursion would.
			if kind == '{' {
				first = append(first, len(names))
			} else {
				first = append(first, -1)
			}
		case '}', ']':
			if from := first[len(first)-1]; from >= 0 {
				dirty = dirty || twice(names[from:])
				names = names[:from]
			}
			first = first[:len(first)-1]
		}
		if d.StackDepth() == 0 {
			break
		}
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return false, fmt.Errorf("%w: text after the value at byte %d", ErrSyntax, d.InputOffset())
	}
	return dirty, nil
}

// mostMembers returns an upper bound of the members that raw, valid JSON or not, can have: with at least
// two quotes, a colon, a value and what ends it.
func mostMembers(raw []byte) int {
	return min(bytes.Count(raw, []byte{':'}), bytes.Count(raw, []byte{'"'})/2, len(raw)/5+1)
}

// twice reports whether two of the hashes are equal, and sorts them. To sort takes less memory than a set.
func twice(hashes []uint64) bool {
	slices.Sort(hashes)
	for i := 1; i < len(hashes); i++ {
		if hashes[i] == hashes[i-1] {
			return true
		}
	}
	return false
}

// dirtyError reports whether an error is one that rewrite can repair. The decoder has no error values for two of them, so
// their texts are looked at.
func dirtyError(err error) bool {
	var se *jsontext.SyntacticError
	if !errors.As(err, &se) {
		return false
	}
	return errors.Is(se.Err, jsontext.ErrDuplicateName) || se.Err.Error() == "invalid UTF-8" ||
		bytes.Contains([]byte(se.Err.Error()), []byte("surrogate"))
}

// syntax returns an error of the decoder as one of this package, with the place. at is where the decoder stopped.
func syntax(err error, at int64) error {
	if errors.Is(err, ErrNumber) || errors.Is(err, ErrDepth) {
		return err
	}
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends at byte %d", ErrSyntax, at)
	}
	var se *jsontext.SyntacticError
	if errors.As(err, &se) {
		return fmt.Errorf("%w: %v at byte %d", ErrSyntax, se.Err, se.ByteOffset)
	}
	return fmt.Errorf("%w: %v", ErrSyntax, err)
}

// inRange reports whether a double can hold the number: not infinite, and zero only if it is zero. 1e400 and 1e-400 are
// out of range, 0e400 is not, and neither is a number with more digits than a double has: its spelling stays.
func inRange(num string) bool {
	f, err := strconv.ParseFloat(num, 64)
	if err != nil {
		return false
	}
	if f != 0 {
		return true
	}
	for _, c := range []byte(num) {
		if c == 'e' || c == 'E' {
			break
		}
		if c >= '1' && c <= '9' {
			return false
		}
	}
	return true
}

// rewrite does the work of Clean for text with something to replace.
func rewrite(raw []byte) (json.RawMessage, int, error) {
	d := reader(raw)
	w := writer{out: make([]byte, 0, len(raw)), raw: raw}
	if err := w.value(d, 0); err != nil {
		return nil, 0, syntax(err, d.InputOffset())
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, 0, fmt.Errorf("%w: text after the value at byte %d", ErrSyntax, d.InputOffset())
	}
	return w.out, w.replaced, nil
}

// writer writes each value once. Only objects with a name twice are written again, without what
// another value of the name replaces.
type writer struct {
	raw      []byte
	out      []byte
	replaced int
	members  []cleanMember // of all objects that are open, the innermost last
	spare    []byte
}

// cleanMember is a member of an object that is being written: the places in out where its name begins, where
// its value begins, and where the value ends.
type cleanMember struct {
	hash             uint64 // of the name
	name, value, end int
}

// value writes the value that comes next.
func (w *writer) value(d *jsontext.Decoder, depth int) error {
	if depth > MaxDepth {
		return ErrDepth
	}
	switch d.PeekKind() {
	case '{':
		return w.object(d, depth)
	case '[':
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		w.out = append(w.out, '[')
		for i := 0; d.PeekKind() != ']'; i++ {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			if err := w.value(d, depth+1); err != nil {
				return err
			}
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		w.out = append(w.out, ']')
	// Texts are the only values that may be written otherwise than they came.
	case '"':
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		w.text(v)
	default:
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		if KindOf(v) == '0' && !inRange(string(v)) {
			return fmt.Errorf("%w: %.40s", ErrNumber, v)
		}
		w.out = append(w.out, v...)
	}
	return nil
}

// object writes an object member by member, and then, if a name came twice, once more.
func (w *writer) object(d *jsontext.Decoder, depth int) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	begin, first := len(w.out), len(w.members)
	w.out = append(w.out, '{')
	for d.PeekKind() == '"' {
		if len(w.members) > first {
			w.out = append(w.out, ',')
		}
		name, err := d.ReadValue()
		if err != nil {
			return err
		}
		// The places are those in out: values may grow or shrink as they are written.
		m := cleanMember{name: len(w.out)}
		w.text(name)
		m.hash = maphash.Bytes(keySeed, w.out[m.name:])
		w.out = append(w.out, ':')
		m.value = len(w.out)
		if w.members == nil {
			w.members = make([]cleanMember, 0, mostMembers(w.raw))
		}
		// By its index, since members moves while the value is written.
		at := len(w.members)
		w.members = append(w.members, m)
		if err := w.value(d, depth+1); err != nil {
			return err
		}
		w.members[at].end = len(w.out)
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	w.lastWins(begin, w.members[first:])
	w.members = w.members[:first]
	w.out = append(w.out, '}')
	return nil
}

// lastWins writes the members of the object that begins at begin again if a name is there twice: each
// name where it was first, with its last value. {"a":1,"b":2,"a":3} becomes {"a":3,"b":2}. Names are compared only
// where their hashes are equal, so the time does not grow with the square of the members.
func (w *writer) lastWins(begin int, members []cleanMember) {
	slices.SortFunc(members, func(a, b cleanMember) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.name, b.name))
	})
	// Equal hashes are neighbours now, in the order of their places.
	left := members[:0]
	for _, m := range members {
		known := -1
		for i := len(left) - 1; i >= 0 && left[i].hash == m.hash; i-- {
			if bytes.Equal(w.name(&left[i]), w.name(&m)) {
				known = i
				break
			}
		}
		if known < 0 {
			left = append(left, m)
			continue
		}
		left[known].value, left[known].end = m.value, m.end
	}
	if len(left) == len(members) {
		return
	}
	slices.SortFunc(left, func(a, b cleanMember) int { return cmp.Compare(a.name, b.name) })
	w.spare = slices.Grow(w.spare[:0], len(w.out)-begin) // at once: what grows by appending allocates several times its size
	for i := range left {
		if i > 0 {
			w.spare = append(w.spare, ',')
		}
		w.spare = append(w.spare, w.name(&left[i])...)
		w.spare = append(w.spare, ':')
		w.spare = append(w.spare, w.out[left[i].value:left[i].end]...)
	}
	w.out = append(w.out[:begin+1], w.spare...)
}

// name returns the name of a member as it was written, from its first quote up to the colon.
func (w *writer) name(m *cleanMember) []byte {
	at := m.name + 1
	for at = plainEnd(w.out, at); w.out[at] != '"'; at = plainEnd(w.out, at) {
		if w.out[at] == '\\' {
			at++
		}
		at++
	}
	return w.out[m.name : at+1]
}

// text appends a JSON string with what cannot be stored replaced, and counts.
func (w *writer) text(quoted []byte) {
	if end := plainEnd(quoted, 1); end == len(quoted)-1 {
		w.out = append(w.out, quoted...)
		return
	}
	w.out = AppendString(w.out, w.unquote(quoted))
}

// unquote returns the text of a JSON string with what cannot be stored replaced, and counts: U+FFFD stands for each of
// them.
func (w *writer) unquote(quoted []byte) string {
	b, err := jsontext.AppendUnquote(w.spare[:0], quoted)
	w.spare = b[:0]
	if err != nil {
		// Bytes that are not UTF-8 and lone surrogates came out as U+FFFD: count those that
		// the text did not hold before.
		w.replaced += max(1, countRune(b, utf8.RuneError)-bytes.Count(quoted, []byte("\uFFFD")))
	}
	if n := bytes.Count(b, []byte{0}); n > 0 {
		w.replaced += n
		b = bytes.ReplaceAll(b, []byte{0}, []byte("\uFFFD"))
	}
	return string(b)
}

// countRune returns how often a character is in a text.
func countRune(b []byte, r rune) (n int) {
	for len(b) > 0 {
		c, size := utf8.DecodeRune(b)
		if c == r {
			n++
		}
		b = b[size:]
	}
	return n
}
