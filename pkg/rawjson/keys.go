package rawjson

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
)

// Bounds of what Shape and Paths look at. Both see the same members.
const (
	// MaxPathBytes is the length of a path, with its root; longer ones are left out.
	MaxPathBytes = 256
	// maxKeyBytes is how far into an object keys are looked for: what begins past it is left out.
	maxKeyBytes = 64 << 10
)

// Keys says which members of objects Shape and Paths see. It is used for one value after the other: both count Left down.
type Keys struct {
	Depth int // levels of objects that are entered; arrays never are
	Left  int // members that may still be seen; it counts down
}

// keySeed is of this process: hashes are never stored or sent.
var keySeed = maphash.MakeSeed()

// Shape adds to h what Paths would give for the same value: two values with the same paths in
// the same order have the same shape. It differs from process to process. It costs little more
// than finding the ends of the strings.
func (k *Keys) Shape(h uint64, root string, raw []byte) uint64 {
	if Empty(raw) {
		return h
	}
	w := keyWalk{keys: k, raw: raw, hash: mix(h, maphash.String(keySeed, root))}
	w.root()
	return w.hash
}

// Paths calls f with the dotted path of each member of raw, a valid value: objects before what
// is in them, and root alone for what is no object. Members that are null are not there.
func (k *Keys) Paths(root string, raw []byte, f func(path string)) {
	if Empty(raw) {
		return
	}
	w := keyWalk{keys: k, raw: raw, path: append(make([]byte, 0, MaxPathBytes), root...), found: f}
	w.root()
}

// mix adds v to a hash, so that the order matters. The factor is 2 to the power of 64, divided by the
// golden ratio.
func mix(h, v uint64) uint64 { return (h ^ v) * 0x9e3779b97f4a7c15 }

// keyWalk is one walk: it hashes, or names what it finds.
type keyWalk struct {
	keys  *Keys
	raw   []byte
	hash  uint64
	path  []byte
	found func(string)
}

// root walks the value as a whole.
func (w *keyWalk) root() {
	i := keySpace(w.raw, 0)
	if i < len(w.raw) && w.raw[i] == '{' {
		w.object(i, w.keys.Depth)
	} else if w.found != nil {
		w.found(string(w.path))
	}
}

// object walks the object that begins at i and returns the index after it. What it does not enter it skips by its end
// alone: the value is known to be valid.
func (w *keyWalk) object(i, depth int) int {
	b := w.raw
	base := len(w.path)
	for i++; ; {
		if i = keySpace(b, i); i < len(b) && b[i] == ',' {
			i = keySpace(b, i+1)
		}
		if i >= len(b) || b[i] != '"' {
			return i + 1
		}
		key := i
		i = stringEnd(b, i)
		quoted := b[key:i]
		i = keySpace(b, i)
		if i >= len(b) || b[i] != ':' {
			return len(b)
		}
		if i = keySpace(b, i+1); i >= len(b) {
			return i
		}
		// A null is not there; everything else that is left out is so for the bounds.
		if b[i] == 'n' || key > maxKeyBytes || w.keys.Left <= 0 || !w.enter(quoted) {
			i = valueEnd(b, i)
			continue
		}
		w.keys.Left--
		if b[i] == '{' && depth > 1 {
			// The braces are hashed, too: {a:{b}} and {a,b} have the same names.
			w.hash = mix(w.hash, '{')
			i = w.object(i, depth-1)
			w.hash = mix(w.hash, '}')
		} else {
			i = valueEnd(b, i)
		}
		w.path = w.path[:base]
	}
}

// enter goes to a member of the object at hand, false if its path is too long. quoted is the name as it is written.
func (w *keyWalk) enter(quoted []byte) bool {
	if len(quoted) > MaxPathBytes {
		return false
	}
	if w.found == nil {
		w.hash = mix(w.hash, maphash.Bytes(keySeed, quoted))
		return true
	}
	key := quoted[1:max(1, len(quoted)-1)]
	if bytes.IndexByte(key, '\\') >= 0 {
		text, _ := Text(json.RawMessage(quoted))
		key = []byte(text)
	}
	if len(w.path)+1+len(key) > MaxPathBytes {
		return false
	}
	w.path = append(append(w.path, '.'), key...)
	w.found(string(w.path))
	return true
}

// keySpace returns the offset of the first byte from i on that is no white space.
func keySpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the index after the string that begins at i. A quote ends it if an even number of backslashes stands
// before it.
func stringEnd(b []byte, i int) int {
	for start := i; ; {
		n := bytes.IndexByte(b[i+1:], '"')
		if n < 0 {
			return len(b)
		}
		i += 1 + n
		slashes := 0
		for j := i - 1; j > start && b[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// valueEnd returns the index after the value that begins at i. Of an object or array it counts the brackets.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		for open := 0; i < len(b); {
			switch b[i] {
			case '"':
				i = stringEnd(b, i)
				continue
			case '{', '[':
				open++
			case '}', ']':
				open--
			}
			if i++; open == 0 {
				return i
			}
		}
		return i
	default:
		for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && keySpace(b, i) == i {
			i++
		}
		return i
	}
}
