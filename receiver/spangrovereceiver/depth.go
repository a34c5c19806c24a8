package spangrovereceiver

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// How deep a request may nest, in messages of protobuf and in braces of JSON: what stands
// around a value (12), and up to four levels for each level of a nested attribute value. The
// decoders of pdata recurse without a bound of their own; a message of 20 MB of nested arrays
// would overflow the stack, which ends the program and cannot be caught.
const maxNesting = 12 + 4*rawjson.MaxDepth

var (
	errDepth     = errors.New("attribute values nest too deep")
	errMalformed = errors.New("malformed protobuf")
)

// shape says which fields of a message hold messages that can nest further. OTLP numbers
// these fields below 16.
type shape struct {
	fields [16]*shape
}

// The forms of OTLP's requests; their shapes as far as attribute values can stand in them.
var (
	traceRequest = &requestForm{&shape{}, [3][2]string{{"resourceSpans", "resource_spans"}, {"scopeSpans", "scope_spans"}, {"spans", "spans"}}}
	logRequest   = &requestForm{&shape{}, [3][2]string{{"resourceLogs", "resource_logs"}, {"scopeLogs", "scope_logs"}, {"logRecords", "log_records"}}}
)

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
	traceRequest.fields[1] = group(span)
	logRequest.fields[1] = group(record)
}

// check walks a message of this shape, at most depth messages deep, without decoding it.
func (s *shape) check(b []byte, depth int) error {
	if depth == 0 {
		return errDepth
	}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
				return errMalformed
			}
			b = b[n:]
			continue
		}
		content, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		if int(number) < len(s.fields) && s.fields[number] != nil {
			if err := s.fields[number].check(content, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
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
