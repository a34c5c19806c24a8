package otlpexport

import (
	"encoding/json"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// reserved is the prefix of names that have a meaning to this service only.
const reserved = "spangrove."

// putMembers writes an object's members as attributes, but those of the names in not: strings,
// numbers and booleans as they are, anything else as its JSON. What is there already stays.
func putMembers(attrs pcommon.Map, object json.RawMessage, not map[string]bool) {
	n := 0
	for k, v := range rawjson.Object(object) {
		if k == "" || not[k] || strings.HasPrefix(k, reserved) {
			continue
		}
		if n++; n > maxPut {
			putManyMembers(attrs, object, not)
			return
		}
		put(attrs, k, v)
	}
}

// maxPut bounds the members that are put in one by one, each of which looks at all that is there.
const maxPut = 1000

// putManyMembers is putMembers for an object of many members: the attributes are made anew, and their order is lost.
func putManyMembers(attrs pcommon.Map, object json.RawMessage, not map[string]bool) {
	all := attrs.AsRaw()
	for k, raw := range rawjson.Object(object) {
		if _, there := all[k]; there || k == "" || not[k] || strings.HasPrefix(k, reserved) || rawjson.Null(raw) {
			continue
		}
		v := pcommon.NewValueEmpty()
		setValue(v, raw)
		all[k] = v.AsRaw()
	}
	_ = attrs.FromRaw(all) // which AsRaw has made
}

// put writes a JSON value as an attribute. An absent value, null and an attribute that is there
// already change nothing.
func put(attrs pcommon.Map, key string, raw json.RawMessage) {
	if rawjson.Null(raw) || len(raw) == 0 {
		return
	}
	if _, there := attrs.Get(key); there {
		return
	}
	setValue(attrs.PutEmpty(key), raw)
}

func setValue(v pcommon.Value, raw json.RawMessage) {
	switch rawjson.KindOf(raw) {
	case '"':
		s, _ := rawjson.Text(raw)
		v.SetStr(s)
	case 't', 'f':
		v.SetBool(raw[0] == 't')
	case '0':
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			v.SetInt(n)
		} else if f, ok := rawjson.Number(raw); ok {
			v.SetDouble(f)
		} else {
			v.SetStr(string(raw))
		}
	default:
		v.SetStr(string(raw))
	}
}

// putText writes a string that is not empty.
func putText(attrs pcommon.Map, key, text string) {
	if text != "" {
		if _, there := attrs.Get(key); !there {
			attrs.PutStr(key, text)
		}
	}
}

// putTexts writes an array of strings as one; a single string is an array of one.
func putTexts(attrs pcommon.Map, key string, raw json.RawMessage) {
	var list []string
	if s, ok := rawjson.Text(raw); ok && s != "" {
		list = append(list, s)
	}
	if rawjson.KindOf(raw) == '[' {
		for _, v := range rawjson.Array(raw) {
			if s, ok := rawjson.Text(v); ok {
				list = append(list, s)
			}
		}
	}
	if len(list) == 0 {
		return
	}
	to := attrs.PutEmptySlice(key)
	for _, s := range list {
		to.AppendEmpty().SetStr(s)
	}
}
