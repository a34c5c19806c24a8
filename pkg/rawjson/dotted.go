package rawjson

import (
	"encoding/json"
	"strings"
)

// Lookup reads a dotted path, split at its dots, below raw. Keys may hold dots themselves, so each
// level is read in this order, until something is found that is not null:
//
//  1. the first segment as a key, or as an index of an array, and all the others below it, by the
//     same rule;
//  2. all segments as one key;
//  3. the first two segments as one key, then the first three and so on, and the others below it.
//
// It returns a null if there is nothing but nulls, and nil if there is nothing at all.
func Lookup(raw []byte, segments ...string) json.RawMessage {
	value, _ := Resolve(raw, segments)
	return value
}

// Resolve is Lookup and also returns the keys and indexes that lead to the value, for Path; they
// are nil if there is none. Of {"a.b":{"c":1}} and the segments a, b, c they are "a.b" and "c".
func Resolve(raw []byte, segments []string) (value json.RawMessage, keys []string) {
	// Nearly all paths are nested keys only.
	if value = Path(raw, segments...); len(segments) < 2 || !Null(value) {
		if value != nil {
			keys = segments
		}
		return value, keys
	}
	return resolve(raw, segments)
}

// resolve visits each value within raw at most once: the keys that lead to it are the beginning
// of the path. In one walk over an object it notes the members whose names are the first, the first two, … of the
// segments; then it goes on below them in Lookup's order. A null found on the way is kept in case nothing better comes.
func resolve(raw []byte, segments []string) (value json.RawMessage, keys []string) {
	if len(segments) == 0 {
		return raw, []string{}
	}
	n := len(segments)
	below := make([]json.RawMessage, n+1) // by how many segments the key is
	names := make([]string, n+1)
	switch KindOf(raw) {
	case '[':
		below[1], names[1] = Path(raw, segments[0]), segments[0]
	case '{':
		path := strings.Join(segments, ".")
		for key, v := range Object(raw) {
			if size := segmentsOf(key, path, segments); size > 0 && below[size] == nil {
				below[size], names[size] = v, key
			}
		}
	}
	// A null is taken only if nothing else is found.
	for _, size := range keySizes(n) {
		if below[size] == nil {
			continue
		}
		v, rest := resolve(below[size], segments[size:])
		if v != nil && (value == nil || !Null(v)) {
			value, keys = v, append([]string{names[size]}, rest...)
		}
		if !Null(v) {
			break
		}
	}
	return value, keys
}

// keySizes returns how many of n segments make up a key, in the order in which Lookup tries them.
func keySizes(n int) []int {
	sizes := []int{1}
	if n > 1 {
		sizes = append(sizes, n)
	}
	for size := 2; size < n; size++ {
		sizes = append(sizes, size)
	}
	return sizes
}

// segmentsOf returns how many segments, from the first on, key is; 0 if it is not part of the path.
func segmentsOf(key, path string, segments []string) int {
	if !strings.HasPrefix(path, key) || (len(key) < len(path) && path[len(key)] != '.') {
		return 0
	}
	end := -1
	for i, s := range segments {
		if end += 1 + len(s); end == len(key) {
			return i + 1
		}
	}
	return 0
}

// Readings returns the paths that Lookup tries, in order: the value is the first that is not null.
// A path of n segments, at least 1, has 2 to the power of n-1 of them. Those of a.b.c are a b c, a "b.c", "a.b.c" and
// "a.b" c.
func Readings(segments []string) [][]string {
	if len(segments) == 0 {
		return [][]string{{}}
	}
	var all [][]string
	for _, size := range keySizes(len(segments)) {
		key := strings.Join(segments[:size], ".")
		for _, rest := range Readings(segments[size:]) {
			all = append(all, append([]string{key}, rest...))
		}
	}
	return all
}
