package event

import (
	"encoding/json"
	"slices"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// dropMembers returns an object without the members for which drop is true.
func dropMembers(object json.RawMessage, drop func(key string, val json.RawMessage) bool) json.RawMessage {
	var b rawjson.Builder
	for k, v := range rawjson.Object(object) {
		if !drop(k, v) {
			b.Raw(k, v)
		}
	}
	return b.Bytes()
}

func count(list json.RawMessage) (n int) {
	for range rawjson.Array(list) {
		n++
	}
	return n
}

func appendItem(list, item []byte) []byte {
	if list == nil {
		list = append(list, '[')
	} else {
		list = append(list, ',')
	}
	return append(list, item...)
}

func object(key string, val []byte) json.RawMessage {
	var o rawjson.Builder
	o.Raw(key, val)
	return o.Bytes()
}

// fewKeys is how many keys are looked through one by one.
const fewKeys = 16

func setOf(keys []string) map[string]bool {
	set := make(map[string]bool, len(keys))
	for _, key := range keys {
		set[key] = true
	}
	return set
}

// namesOf returns the names of an object's members.
func namesOf(object json.RawMessage) map[string]bool {
	set := map[string]bool{}
	for key := range rawjson.Object(object) {
		set[key] = true
	}
	return set
}

// without returns an object without some of its members, nil if none is left.
func without(obj json.RawMessage, keys ...string) json.RawMessage {
	var o rawjson.Builder
	dropped := false
	drop := func(key string) bool { return slices.Contains(keys, key) }
	if len(keys) > fewKeys {
		set := setOf(keys)
		drop = func(key string) bool { return set[key] }
	}
	for k, v := range rawjson.Object(obj) {
		if drop(k) {
			dropped = true
			continue
		}
		o.Raw(k, v)
	}
	switch {
	case !dropped:
		return obj
	case o.Len() == 0:
		return nil
	}
	return o.Bytes()
}

func pointerTo(s string) *string { return &s }
