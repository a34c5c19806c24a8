package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep objects and arrays may nest.
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

// check walks the tokens once and tells whether the text must be rewritten.
func check(raw []byte) (dirty bool, err error) {
	// Only text that holds one of these can hold a NUL or a lone surrogate.
	escapes := bytes.Contains(raw, []byte(`\u`))
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	n := 0
	for {
		if n > 0 && d.StackDepth() == 0 {
			break
		}
		tok, err := d.ReadToken()
		if err != nil {
			if dirtyError(err) {
				return true, nil
			}
			return false, syntax(err, d.InputOffset())
		}
		n++
		switch tok.Kind() {
		case '0':
			if !inRange(tok.String()) {
				return false, fmt.Errorf("%w: %.40s", ErrNumber, tok.String())
			}
		case '"':
			if escapes && strings.IndexByte(tok.String(), 0) >= 0 {
				dirty = true
			}
		case '{', '[':
			if d.StackDepth() > MaxDepth {
				return false, ErrDepth
			}
		}
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return false, fmt.Errorf("%w: text after the value at byte %d", ErrSyntax, d.InputOffset())
	}
	return dirty, nil
}

// dirtyError tells the errors that rewrite can mend from those that it can't.
func dirtyError(err error) bool {
	var se *jsontext.SyntacticError
	if !errors.As(err, &se) {
		return false
	}
	return errors.Is(se.Err, jsontext.ErrDuplicateName) || se.Err.Error() == "invalid UTF-8" ||
		bytes.Contains([]byte(se.Err.Error()), []byte("surrogate"))
}

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

// inRange says that a double can hold the number: not infinite, and zero only if it is zero.
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

// rewrite is the slow way of Clean, for text with something to replace.
func rewrite(raw []byte) (json.RawMessage, int, error) {
	d := reader(raw)
	w := writer{out: make([]byte, 0, len(raw))}
	if err := w.value(d, 0); err != nil {
		return nil, 0, syntax(err, d.InputOffset())
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, 0, fmt.Errorf("%w: text after the value at byte %d", ErrSyntax, d.InputOffset())
	}
	return w.out, w.replaced, nil
}

type writer struct {
	out      []byte
	replaced int
}

func (w *writer) value(d *jsontext.Decoder, depth int) error {
	if depth > MaxDepth {
		return ErrDepth
	}
	switch d.PeekKind() {
	case '{':
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		type member struct{ start, end int }
		last := map[string]member{}
		var order []string
		scratch := writer{}
		for d.PeekKind() == '"' {
			name, err := d.ReadValue()
			if err != nil {
				return err
			}
			key := scratch.unquote(name)
			start := len(scratch.out)
			if err := scratch.value(d, depth+1); err != nil {
				return err
			}
			if _, seen := last[key]; !seen {
				order = append(order, key)
			}
			last[key] = member{start, len(scratch.out)}
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		w.replaced += scratch.replaced
		w.out = append(w.out, '{')
		for i, key := range order {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.out = AppendString(w.out, key)
			w.out = append(w.out, ':')
			w.out = append(w.out, scratch.out[last[key].start:last[key].end]...)
		}
		w.out = append(w.out, '}')
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
	case '"':
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		w.out = AppendString(w.out, w.unquote(v))
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

// unquote gives the text of a JSON string with what cannot be stored replaced, and counts.
func (w *writer) unquote(quoted []byte) string {
	b, err := jsontext.AppendUnquote(nil, quoted)
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
