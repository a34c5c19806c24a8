package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// reader walks a body that was checked once, member by member, so that no list of what is in it is ever made. Values are
// slices of the body, not copies, unless characters had to be replaced. The caller must read each value, or skip it.
type reader struct {
	d    *jsontext.Decoder
	text []byte
	// dirty says that somewhere characters must be replaced; then each value is cleaned by
	// itself, so that every event knows its own count.
	dirty bool
}

// newReader checks a whole body, which must be one JSON object; nothing at all and null are {}.
func newReader(body []byte) (*reader, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	if len(text) == 0 || string(text) == "null" {
		text = []byte("{}")
	}
	clean, replaced, err := rawjson.Clean(text)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "%v", err)
	}
	if replaced == 0 {
		text = clean
	}
	if rawjson.KindOf(text) != '{' {
		return nil, wrong("an object", text)
	}
	return &reader{
		d:     jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		text:  text,
		dirty: replaced > 0,
	}, nil
}

// kind returns the kind of the next value.
func (r *reader) kind() rawjson.Kind { return rawjson.Kind(r.d.PeekKind()) }

// object reads an object; member must read the value of each key. Its errors come back with
// the key before their field.
func (r *reader) object(member func(key string) error) error {
	if r.kind() != '{' {
		return r.unexpected("an object")
	}
	if err := r.token(); err != nil {
		return err
	}
	for r.kind() == '"' {
		name, err := r.d.ReadToken()
		if err != nil {
			return syntax(err)
		}
		key := name.String()
		if err := member(key); err != nil {
			return fault.In(key, err)
		}
	}
	return r.token()
}

// array reads an array; element must read each value. Its errors come back with the index
// before their field.
func (r *reader) array(element func(i int) error) error {
	if r.kind() != '[' {
		return r.unexpected("an array")
	}
	if err := r.token(); err != nil {
		return err
	}
	for i := 0; r.d.PeekKind() != ']' && r.d.PeekKind() != jsontext.KindInvalid; i++ {
		if err := element(i); err != nil {
			return fault.In(fmt.Sprintf("[%d]", i), err)
		}
	}
	return r.token()
}

// value reads any value, clean; what had to be replaced in it is added to replaced.
func (r *reader) value(replaced *int) (json.RawMessage, error) {
	v, err := r.d.ReadValue()
	if err != nil {
		return nil, syntax(err)
	}
	end := int(r.d.InputOffset())
	raw := json.RawMessage(r.text[end-len(v) : end : end])
	if !r.dirty {
		return raw, nil
	}
	clean, n, err := rawjson.Clean(raw)
	if err != nil {
		return nil, syntax(err)
	}
	*replaced += n
	return clean, nil
}

// skip passes over a value.
func (r *reader) skip() error {
	if err := r.d.SkipValue(); err != nil {
		return syntax(err)
	}
	return nil
}

// token reads the bracket that comes next.
func (r *reader) token() error {
	if _, err := r.d.ReadToken(); err != nil {
		return syntax(err)
	}
	return nil
}

// unexpected reads the next value to say that it is of the wrong kind.
func (r *reader) unexpected(want string) error {
	v, err := r.d.ReadValue()
	if err != nil {
		return syntax(err)
	}
	return wrong(want, v)
}

// syntax returns an error of the decoder. The body was checked, so there should be none.
func syntax(err error) error { return fault.Wrap(fault.Invalid, err, "%v", rawjson.ErrSyntax) }
