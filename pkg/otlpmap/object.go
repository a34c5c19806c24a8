package otlpmap

import (
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// object writes one JSON object member by member into a buffer that is used again for the
// next event. It knows the keys that come from data, so that none is written twice; keys that
// come from the tables are watched over by eventBuilder.set.
type object struct {
	buf  []byte // without the closing brace
	keys keySet
}

// reset empties the object and keeps its buffer.
func (o *object) reset() {
	o.buf = o.buf[:0]
	o.keys.reset()
}

// empty reports whether nothing has been written.
func (o *object) empty() bool { return len(o.buf) == 0 }

// open starts a member. The value must follow.
func (o *object) open(key string) {
	if len(o.buf) == 0 {
		o.buf = append(o.buf, '{')
	} else {
		o.buf = append(o.buf, ',')
	}
	o.buf = appendKey(o.buf, key)
}

// field starts the member of a field, whose key is ready as text. The value must follow.
func (o *object) field(t target) {
	if t.member == "" {
		o.open(t.key)
		return
	}
	sep := byte(',')
	if len(o.buf) == 0 {
		sep = '{'
	}
	o.buf = append(o.buf, sep)
	o.buf = append(o.buf, t.member...)
}

// raw, str and int write a whole member. They do not look whether the object has the key.
func (o *object) raw(key string, val []byte) {
	o.open(key)
	o.buf = append(o.buf, val...)
}

func (o *object) str(key, val string) {
	o.open(key)
	o.buf = rawjson.AppendString(o.buf, val)
}

func (o *object) int(key string, n int64) {
	o.open(key)
	o.buf = strconv.AppendInt(o.buf, n, 10)
}

// appendKey appends a member's name and the colon.
func appendKey(dst []byte, key string) []byte {
	for i := 0; i < len(key); i++ {
		if c := key[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			key, _ = rawjson.ValidText(key)
			return append(rawjson.AppendString(dst, key), ':')
		}
	}
	dst = append(dst, '"')
	dst = append(dst, key...)
	return append(dst, '"', ':')
}

// keySet is a small set of strings that stays cheap when it grows: a list while it is short, then a map.
type keySet struct {
	list []string
	// nil while the keys are in list.
	seen map[string]struct{}
	odd  int // the last number that name has used
}

// manyKeys is the size at which a keySet turns from a list into a map.
const manyKeys = 24

// reset empties the set. A list is kept for its memory, a map is not.
func (k *keySet) reset() {
	clear(k.list)
	k.list, k.odd = k.list[:0], 0
	if k.seen != nil {
		k.seen = nil
	}
}

// has reports whether the set has a key.
func (k *keySet) has(key string) bool {
	if k.seen != nil {
		_, ok := k.seen[key]
		return ok
	}
	for _, s := range k.list {
		if s == key {
			return true
		}
	}
	return false
}

// hasText is has for text that need not become a string. The set does not keep it.
func (k *keySet) hasText(key []byte) bool {
	return k.has(unsafe.String(unsafe.SliceData(key), len(key)))
}

// add adds a key and reports whether it was new.
func (k *keySet) add(key string) bool {
	if k.has(key) {
		return false
	}
	if k.seen == nil && len(k.list) >= manyKeys {
		k.seen = make(map[string]struct{}, 2*manyKeys)
		for _, s := range k.list {
			k.seen[s] = struct{}{}
		}
	}
	if k.seen != nil {
		k.seen[key] = struct{}{}
	} else {
		k.list = append(k.list, key)
	}
	return true
}

// name returns how a key that comes from data is written, and whether it was new. Keys that differ
// only in characters that no store can hold would become one: all but the first get a number, "a\ufffd 1".
func (k *keySet) name(key string) (string, bool) {
	if plainKey(key) {
		return key, k.add(key)
	}
	text, _ := rawjson.ValidText(key)
	if !strings.ContainsRune(text, utf8.RuneError) {
		return text, k.add(text)
	}
	for name := text; ; name = text + " " + strconv.Itoa(k.odd) {
		if k.add(name) {
			return name, true
		}
		k.odd++
	}
}

// plainKey reports whether a key is printable ASCII, as nearly all are.
func plainKey(key string) bool {
	for i := range len(key) {
		if c := key[i]; c < 0x20 || c >= 0x7f {
			return false
		}
	}
	return true
}
