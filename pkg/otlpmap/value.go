package otlpmap

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// appendString appends s as a JSON string that every store can hold, and counts what had to
// be replaced for that.
func (b *eventBuilder) appendString(dst []byte, s string) []byte {
	dst, n := rawjson.AppendText(dst, s)
	b.losses.replaced += n
	return dst
}

// appendDouble appends f so that it reads back equal and still shows that it is no integer: 2 becomes 2.0.
// What JSON lacks becomes a string: NaN, Infinity, -Infinity (as in protobuf's JSON mapping).
func appendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	at := len(dst)
	dst = rawjson.AppendNumber(dst, f)
	if !bytes.ContainsAny(dst[at:], ".eE") {
		dst = append(dst, '.', '0')
	}
	return dst
}

// appendValue appends an attribute's value with its own type: strings stay strings, bytes
// become base64. Values nested deeper than rawjson.MaxDepth are cut to null.
func (b *eventBuilder) appendValue(dst []byte, v pcommon.Value) []byte {
	return b.appendDeep(dst, v, 0)
}

// appendDeep is appendValue of a value inside depth others.
func (b *eventBuilder) appendDeep(dst []byte, v pcommon.Value, depth int) []byte {
	if depth >= rawjson.MaxDepth {
		return append(dst, "null"...)
	}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return b.appendString(dst, v.Str())
	case pcommon.ValueTypeInt:
		return strconv.AppendInt(dst, v.Int(), 10)
	case pcommon.ValueTypeDouble:
		return appendDouble(dst, v.Double())
	case pcommon.ValueTypeBool:
		return strconv.AppendBool(dst, v.Bool())
	case pcommon.ValueTypeBytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Bytes().AsRaw())
		return append(dst, '"')
	case pcommon.ValueTypeSlice:
		dst = append(dst, '[')
		s := v.Slice()
		for i := range s.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = b.appendDeep(dst, s.At(i), depth+1)
		}
		return append(dst, ']')
	case pcommon.ValueTypeMap:
		return b.appendMap(dst, v.Map(), depth)
	}
	return append(dst, "null"...)
}

// appendMap appends a map of attributes as an object, in their order.
func (b *eventBuilder) appendMap(dst []byte, m pcommon.Map, depth int) []byte {
	dst = append(dst, '{')
	keys := keySet{list: make([]string, 0, min(m.Len(), manyKeys))}
	first := true
	for k, v := range m.All() {
		k, fresh := keys.name(k)
		if !fresh {
			continue // a key given twice: the wire format forbids it, the first one counts
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendKey(dst, k)
		dst = b.appendDeep(dst, v, depth+1)
	}
	return append(dst, '}')
}

// equal reports whether two attribute values are the same scalar. Lists and maps count as different: to compare
// them would cost more than keeping one twice.
func equal(a, b pcommon.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	switch a.Type() {
	case pcommon.ValueTypeStr:
		return a.Str() == b.Str()
	case pcommon.ValueTypeInt:
		return a.Int() == b.Int()
	case pcommon.ValueTypeDouble:
		return a.Double() == b.Double()
	case pcommon.ValueTypeBool:
		return a.Bool() == b.Bool()
	}
	return false
}

// blank reports whether a value is absent or the empty string.
func blank(v pcommon.Value) bool {
	return v.Type() == pcommon.ValueTypeEmpty || v.Type() == pcommon.ValueTypeStr && v.Str() == ""
}
