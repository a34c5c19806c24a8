package otlpmap

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// appendString appends s as a JSON string that every store can hold, and counts what had to
// be replaced for that.
func (b *build) appendString(dst []byte, s string) []byte {
	if plainText(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	s, n := rawjson.ValidText(s)
	b.replaced += n
	return rawjson.AppendString(dst, s)
}

// plainText says that s is ASCII that JSON takes without an escape. It looks at eight bytes at
// a time: of each, the highest bit of the sum shows what is out of range.
func plainText(s string) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := binary.LittleEndian.Uint64(view(s[i : i+8]))
		quote, back, del := x^(ones*'"'), x^(ones*'\\'), x^(ones*0x7f)
		if (x|(x-ones*0x20)|(quote-ones)|(back-ones)|(del-ones))&high != 0 {
			// A borrow from the byte below may show a byte that is in range: look at each.
			for _, c := range []byte(s[i : i+8]) {
				if c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
					return false
				}
			}
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendDouble appends f so that it reads back equal and still shows that it is no integer.
// What JSON lacks becomes a string: NaN, Infinity, -Infinity.
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
func (b *build) appendValue(dst []byte, v pcommon.Value) []byte { return b.appendDeep(dst, v, 0) }

func (b *build) appendDeep(dst []byte, v pcommon.Value, depth int) []byte {
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

func (b *build) appendMap(dst []byte, m pcommon.Map, depth int) []byte {
	dst = append(dst, '{')
	var keys keySet
	first := true
	for k, v := range m.All() {
		if !keys.add(k) {
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

// equal says that two attribute values are the same scalar.
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

// blank says that a value is absent or the empty string.
func blank(v pcommon.Value) bool {
	return v.Type() == pcommon.ValueTypeEmpty || v.Type() == pcommon.ValueTypeStr && v.Str() == ""
}
