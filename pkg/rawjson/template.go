package rawjson

import (
	"bytes"
	"encoding/json"
)

// Template returns the text of an object with a NUL, which JSON has nowhere, in the place of each member that is not null; nil of anything but
// an object, and of one with a member without a name. Objects of one sender have few templates.
func Template(object []byte) []byte {
	if KindOf(object) != '{' {
		return nil
	}
	w := walk(object)
	defer w.done()
	d := &w.d
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	var out []byte
	from := 0
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil || name.String() == "" {
			return nil
		}
		v, err := d.ReadValue()
		if err != nil {
			return nil
		}
		if KindOf(v) == 'n' {
			continue
		}
		end := int(d.InputOffset())
		out = append(append(out, object[from:end-len(v)]...), 0)
		from = end
	}
	return append(out, object[from:]...)
}

// Filling puts values into a Template.
type Filling struct {
	Keys  []string // of the values, in the order of the template
	texts [][]byte // before each value, and behind the last
}

// NewFilling returns that of a template.
func NewFilling(template []byte) Filling {
	f := Filling{texts: bytes.Split(template, []byte{0})}
	for key, v := range Object(bytes.ReplaceAll(template, []byte{0}, []byte{'0'})) {
		if string(v) == "0" {
			f.Keys = append(f.Keys, key)
		}
	}
	return f
}

// Append appends the object with values, one for each of Keys.
func (f *Filling) Append(dst []byte, values [][]byte) json.RawMessage {
	for i, v := range values {
		dst = append(append(dst, f.texts[i]...), v...)
	}
	return append(dst, f.texts[len(f.texts)-1]...)
}
