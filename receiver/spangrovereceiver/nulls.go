package spangrovereceiver

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// withoutNulls copies JSON without the members whose value is null and without null elements:
// {"a":null,"b":[1,null]} becomes {"b":[1]}.
// HoneyHive's Python SDK writes "parentSpanId": null on root spans, which OTLP's JSON allows
// and the Collector's decoder refuses, together with the whole request.
func withoutNulls(text []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	out, err := appendWithoutNulls(make([]byte, 0, len(text)), d)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// appendWithoutNulls copies the next value. The decoder itself bounds the depth. A comma and a name are written before it
// is known whether the value is null, and taken back if it is.
func appendWithoutNulls(dst []byte, d *jsontext.Decoder) ([]byte, error) {
	open := d.PeekKind()
	if open != '{' && open != '[' {
		v, err := d.ReadValue()
		return append(dst, v...), err
	}
	if _, err := d.ReadToken(); err != nil {
		return dst, err
	}
	dst = append(dst, byte(open))
	first := true // nothing has been written after the bracket
	for k := d.PeekKind(); k != '}' && k != ']'; k = d.PeekKind() {
		before := len(dst)
		if !first {
			dst = append(dst, ',')
		}
		if open == '{' {
			name, err := d.ReadValue()
			if err != nil {
				return dst, err
			}
			dst = append(append(dst, name...), ':')
		}
		if d.PeekKind() == 'n' {
			if err := d.SkipValue(); err != nil {
				return dst, err
			}
			dst = dst[:before]
			continue
		}
		var err error
		if dst, err = appendWithoutNulls(dst, d); err != nil {
			return dst, err
		}
		first = false
	}
	if _, err := d.ReadToken(); err != nil {
		return dst, err
	}
	return append(dst, byte(open)+2), nil // { and }, [ and ] are two apart
}
