package spangrovereceiver

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// One span that cannot be decoded makes pdata refuse the whole request: an id of three
// bytes, a word where a number belongs, values that nest too deep. A
// partialDecoder takes such items out, so that those around them are stored. It is only used after
// decoding the whole request has failed, since it decodes each item by itself, in a request made for it:
//
//	{"resourceSpans":[{"scopeSpans":[{"spans":[<the item>]}]}]}

// rejectedItems counts the items of a request that could not be decoded.
type rejectedItems struct {
	count int
	first error // why the first one could not; nil if count is 0
}

// maxReason is how much of a reason a sender is told, in bytes.
const maxReason = 300

// leftOut counts the items of a request that were left out while the others were taken, and tells why.
type leftOut struct {
	items int
	why   []leftOutBy
}

// leftOutBy is so many items that were left out for one reason.
type leftOutBy struct {
	items  int
	reason string
}

// add counts items that were left out for a reason.
func (l *leftOut) add(items int, reason string) { l.because(items, ": "+reason) }

// undecoded counts the items that could not be decoded.
func (l *leftOut) undecoded(r rejectedItems) {
	if r.count > 0 {
		l.because(r.count, " that cannot be decoded: "+r.first.Error())
	}
}

func (l *leftOut) because(items int, reason string) {
	if items > 0 {
		l.items += items
		l.why = append(l.why, leftOutBy{items, reason})
	}
}

// message returns the text for the sender, of which what names the items.
func (l *leftOut) message(what string) string {
	var parts []string
	for _, by := range l.why {
		why := rawjson.Prefix(strings.ToValidUTF8(by.reason, ""), maxReason)
		parts = append(parts, fmt.Sprintf("%d %s left out%s", by.items, what, why))
	}
	return strings.Join(parts, "; ")
}

// requestForm is what is known of an export request before it is decoded.
type requestForm struct {
	*shape
	item  *shape       // a span or a log record
	names [3][2]string // of the lists down to the items, in both spellings that JSON may have
}

// partialDecoder copies a request without the items that try rejects.
type partialDecoder struct {
	form     *requestForm
	try      func(one []byte) error
	rejected rejectedItems
}

// keeps reports whether an item can be decoded, in a request of its own, and records it if not.
func (p *partialDecoder) keeps(one []byte) bool {
	err := p.try(one)
	if err == nil {
		return true
	}
	if p.rejected.count++; p.rejected.first == nil {
		p.rejected.first = err
	}
	return false
}

// json copies the value that comes next, an object at a level of the lists (see count.itemsOf). What does not
// have the expected shape is copied as it is: the decoder of the whole will judge it.
func (p *partialDecoder) json(dst []byte, d *jsontext.Decoder, level int) ([]byte, error) {
	if d.PeekKind() != '{' {
		v, err := d.ReadValue()
		return append(dst, v...), err
	}
	return eachOf(dst, d, func(dst []byte) ([]byte, bool, error) {
		name, err := d.ReadValue()
		if err != nil {
			return dst, false, err
		}
		dst = append(append(dst, name...), ':')
		text, err := jsontext.AppendUnquote(nil, name)
		if err != nil {
			return dst, false, err
		}
		if !slices.Contains(p.form.names[level][:], string(text)) || d.PeekKind() != '[' {
			v, err := d.ReadValue()
			return append(dst, v...), true, err
		}
		dst, err = eachOf(dst, d, func(dst []byte) ([]byte, bool, error) {
			// An element that holds a list itself.
			if level+1 < len(p.form.names) {
				dst, err := p.json(dst, d, level+1)
				return dst, true, err
			}
			item, err := d.ReadValue()
			if err != nil {
				return dst, false, err
			}
			// An item: it stays if a request with nothing but it can be decoded.
			names := &p.form.names
			one := fmt.Appendf(nil, `{%q:[{%q:[{%q:[%s]}]}]}`, names[0][0], names[1][0], names[2][0], item)
			return append(dst, item...), p.keeps(one), nil
		})
		return dst, true, err
	})
}

// eachOf copies an object or array; one copies a member or element and reports whether it stays.
func eachOf(dst []byte, d *jsontext.Decoder, one func(dst []byte) ([]byte, bool, error)) ([]byte, error) {
	open, err := d.ReadToken()
	if err != nil {
		return dst, err
	}
	dst = append(dst, byte(open.Kind()))
	for first := true; d.PeekKind() != '}' && d.PeekKind() != ']'; {
		// The comma goes with the element that follows it, if that is left out.
		before := len(dst)
		if !first {
			dst = append(dst, ',')
		}
		var stays bool
		if dst, stays, err = one(dst); err != nil {
			return dst, err
		}
		if stays {
			first = false
		} else {
			dst = dst[:before]
		}
	}
	end, err := d.ReadToken()
	if err != nil {
		return dst, err
	}
	return append(dst, byte(end.Kind())), nil
}

// copy returns the request without the rejected items.
func (p *partialDecoder) copy(enc encoding, body []byte) ([]byte, error) {
	if enc == encodingProto {
		return p.proto(make([]byte, 0, len(body)), body, 0)
	}
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return p.json(make([]byte, 0, len(body)), d, 0)
}

// listFields are the numbers of the lists' fields, for spans and log records alike.
var listFields = [3]protowire.Number{1, 2, 2}

// proto copies a message at a level of the lists. Messages around items are written anew, since their length changes with
// what is left out; all other fields are copied as they are.
func (p *partialDecoder) proto(dst, b []byte, level int) ([]byte, error) {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeField(b)
		if n < 0 {
			return dst, errMalformed
		}
		field := b[:n]
		b = b[n:]
		// A field that is not the list of this level: the resource, the scope, a schema's URL.
		if number != listFields[level] || kind != protowire.BytesType {
			dst = append(dst, field...)
			continue
		}
		_, _, tag := protowire.ConsumeTag(field)
		content, _ := protowire.ConsumeBytes(field[tag:])
		if level+1 < len(listFields) {
			inner, err := p.proto(nil, content, level+1)
			if err != nil {
				return dst, err
			}
			dst = appendField(dst, number, inner)
			continue
		}
		// The item with the messages around it, and nothing else of them: a request of its own.
		one := field
		for up := level - 1; up >= 0; up-- {
			one = appendField(nil, listFields[up], one)
		}
		if p.keeps(one) {
			dst = append(dst, field...)
		}
	}
	return dst, nil
}

// appendField appends a field that holds a message.
func appendField(dst []byte, number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, number, protowire.BytesType), content)
}
