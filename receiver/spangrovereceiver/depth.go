package spangrovereceiver

import (
	"bytes"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/otlpmap"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// How deep a request may nest, in messages of protobuf and in braces of JSON: what stands
// around a value (12), and up to four levels for each level of a nested attribute value. The
// decoders of pdata recurse without a bound of their own; a message of 20 MB of nested arrays
// would overflow the stack, which ends the program and cannot be caught.
const maxNesting = 12 + 4*rawjson.MaxDepth

// What decoding makes of a request is many times what an empty span or attribute takes on the wire,
// so both are counted before anything is decoded.
const (
	// maxValues is how many messages may stand in one request: spans, attributes, their values.
	maxValues = 2_000_000
	// itemMemory is what a span or a log record takes when it is decoded and mapped, and valueMemory
	// what any other message takes, in bytes, without its texts.
	itemMemory  = 1 << 10
	valueMemory = 64
)

var (
	errDepth     = errors.New("attribute values nest too deep")
	errMalformed = errors.New("malformed protobuf")
)

// shape lists the fields of a message that hold messages that can nest further, by field number. OTLP numbers
// these fields below 16.
type shape struct {
	fields [16]*shape
}

// The forms of OTLP's requests; their shapes as far as attribute values can stand in them.
var (
	traceRequest = &requestForm{&shape{}, &shape{}, [3][2]string{
		{"resourceSpans", "resource_spans"},
		{"scopeSpans", "scope_spans"},
		{"spans", "spans"},
	}}
	logRequest = &requestForm{&shape{}, &shape{}, [3][2]string{
		{"resourceLogs", "resource_logs"},
		{"scopeLogs", "scope_logs"},
		{"logRecords", "log_records"},
	}}
)

// The shapes follow OTLP's protobuf definitions (opentelemetry/proto/{common,trace,logs}/v1), with the numbers of their
// fields. They refer to each other in a circle (a value holds a list of values), so they are linked here.
func init() {
	value, keyValue, array, list := &shape{}, &shape{}, &shape{}, &shape{}
	keyValue.fields[2] = value // KeyValue.value
	value.fields[5] = array    // AnyValue.array_value
	value.fields[6] = list     // AnyValue.kvlist_value
	array.fields[1] = value    // ArrayValue.values
	list.fields[1] = keyValue  // KeyValueList.values

	with := func(pairs map[int]*shape) *shape {
		s := &shape{}
		for number, field := range pairs {
			s.fields[number] = field
		}
		return s
	}
	resource := with(map[int]*shape{1: keyValue})
	scope := with(map[int]*shape{3: keyValue})
	spanEvent := with(map[int]*shape{3: keyValue})
	link := with(map[int]*shape{4: keyValue})
	span := with(map[int]*shape{9: keyValue, 11: spanEvent, 13: link})
	record := with(map[int]*shape{5: value, 6: keyValue})
	group := func(item *shape) *shape { // ResourceSpans, ResourceLogs
		return with(map[int]*shape{1: resource, 2: with(map[int]*shape{1: scope, 2: item})})
	}
	traceRequest.item, logRequest.item = span, record
	traceRequest.fields[1] = group(span)
	logRequest.fields[1] = group(record)
}

// check walks a message of this shape, at most depth messages deep, without decoding it.
func (s *shape) check(b []byte, depth int) error {
	var c count
	c.add(s, nil, b, depth)
	return c.err
}

// count is what a request holds.
type count struct {
	items  int64 // spans or log records
	values int64 // all messages, the items among them
	shared int64 // bytes of the resources and scopes, as often as there are items that have them
	err    error // the first that is malformed or nests too deep; the rest is counted
}

// sharedMemory returns what the resources and scopes take in all events, in bytes: each has those of its span.
func (c *count) sharedMemory() int64 {
	resource, scope := otlpmap.Shared(int(min(c.items, maxValues)))
	return min(c.shared, c.items*int64(resource+scope))
}

// addShared counts the bytes of resources and scopes of a request in protobuf. What is malformed counts for nothing.
func (c *count) addShared(b []byte) {
	eachField(b, func(number protowire.Number, group []byte) {
		if number != listFields[0] {
			return
		}
		var resource, items int64
		eachField(group, func(number protowire.Number, content []byte) {
			switch number {
			case sharedField:
				resource = int64(len(content))
			case listFields[1]:
				var scope, within int64
				eachField(content, func(number protowire.Number, content []byte) {
					switch number {
					case sharedField:
						scope = int64(len(content))
					case listFields[2]:
						within++
					}
				})
				c.shared += within * scope
				items += within
			}
		})
		c.shared += items * resource
	})
}

// sharedField is the number of the field in which a group has its resource, and a list of items its scope.
const sharedField = protowire.Number(1)

// eachField calls f with the fields of a message that are bytes, up to one that is malformed.
func eachField(b []byte, f func(number protowire.Number, content []byte)) {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(number, kind, b[n:])
		if size < 0 {
			return
		}
		if kind == protowire.BytesType {
			content, _ := protowire.ConsumeBytes(b[n:])
			f(number, content)
		}
		b = b[n+size:]
	}
}

// add counts the messages within one of this shape, of which there are at most depth levels. item is the
// shape of a span or a log record. Nothing is copied: it walks over the tags and lengths of the wire format.
func (c *count) add(s, item *shape, b []byte, depth int) {
	if depth == 0 {
		c.fail(errDepth)
		return
	}
	for len(b) > 0 {
		number, kind, n := protowire.Number(b[0]>>3), protowire.Type(b[0]&7), 1
		// Fields below 16 have a tag of one byte, which is read here at once; any other goes the long way.
		if b[0] >= 0x80 || number == 0 {
			if number, kind, n = protowire.ConsumeTag(b); n < 0 {
				c.fail(errMalformed)
				return
			}
		}
		b = b[n:]
		// Numbers hold nothing; only fields of bytes may be messages.
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
				c.fail(errMalformed)
				return
			}
			b = b[n:]
			continue
		}
		content, n := protowire.ConsumeBytes(b)
		if n < 0 {
			c.fail(errMalformed)
			return
		}
		b = b[n:]
		if int(number) < len(s.fields) && s.fields[number] != nil {
			c.values++
			if s.fields[number] == item {
				c.items++
			}
			c.add(s.fields[number], item, content, depth-1)
		}
	}
}

// fail notes an error, unless there is one.
func (c *count) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// addJSON counts the values of a text, and its items by the names of the lists down to them. It does not check
// the text: an error is for the decoder to find.
func (c *count) addJSON(form *requestForm, text []byte) {
	depth, deep, inString := 0, int64(0), false
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case inString && ch == '\\':
			i++
		case ch == '"':
			inString = !inString
		case inString:
		case ch == '{':
			c.values++
			if depth++; depth == len(form.names)+1 {
				deep++
			}
		case ch == '}':
			depth--
		case ch == ',':
			c.values++
		}
	}
	// An attribute is two objects and two commas: {"key":"a","value":{"intValue":"1"}},
	c.values /= 2
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err := c.itemsOf(form, d, 0); err != nil {
		c.items = deep // pdata's decoder is more lenient; no item stands less deep
	}
}

// itemsOf counts the items in the value that comes next, an object at a level of the lists: 0 is the request, 1 an
// element of resourceSpans, 2 one of scopeSpans, and 3 a span.
func (c *count) itemsOf(form *requestForm, d *jsontext.Decoder, level int) error {
	if level == len(form.names) {
		c.items++
		return d.SkipValue()
	}
	if d.PeekKind() != '{' {
		return d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	before, shared := c.items, int64(0)
	defer func() { c.shared += (c.items - before) * shared }()
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		text := name.String()
		// Only the list of the next level counts, and only if it is one.
		if !slices.Contains(form.names[level][:], text) || d.PeekKind() != '[' {
			begin := d.InputOffset()
			if err := d.SkipValue(); err != nil {
				return err
			}
			if text == "resource" || text == "scope" {
				shared = d.InputOffset() - begin
			}
			continue
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		for kind := d.PeekKind(); kind != ']' && kind != jsontext.KindInvalid; kind = d.PeekKind() {
			if err := c.itemsOf(form, d, level+1); err != nil {
				return err
			}
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// admit refuses a request that holds more than may be, and takes from the budget what decoding will
// need in addition to the bytes that came: a body of 20 MB may become many times that. what names the items in an error.
// checked says that the body is well formed, as far as shapes tell, so that it need not be walked through again.
func (r *spangroveReceiver) admit(form *requestForm, what string, enc encoding, body []byte, from caller) (checked bool, err error) {
	var c count
	if enc == encodingProto {
		c.add(form.shape, form.item, body, maxNesting)
		c.addShared(body)
		checked = c.err == nil
	} else {
		c.addJSON(form, bytes.TrimPrefix(body, byteOrderMark))
	}
	if c.items > int64(r.cfg.MaxItems) {
		return false, fault.New(fault.TooLarge, "the request holds %d %s; at most %d are allowed", c.items, what, r.cfg.MaxItems)
	}
	if c.values > maxValues {
		return false, fault.New(fault.TooLarge, "the request holds %d attributes and other values; at most %d are allowed", c.values, maxValues)
	}
	return checked, from.hold.TakeUpToShare(c.items*itemMemory + c.values*valueMemory + c.sharedMemory())
}

// checkJSONDepth counts braces outside strings. It judges nothing else of the text.
func checkJSONDepth(text []byte, limit int) error {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return errDepth
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
