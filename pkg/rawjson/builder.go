package rawjson

import (
	"encoding/json"
	"strconv"
)

// Builder writes one JSON object member by member. The zero value is an empty object.
// Members are not checked for duplicates: the caller adds each key once.
type Builder struct {
	buf []byte
}

// Raw adds a member whose value is JSON text.
func (b *Builder) Raw(key string, value []byte) {
	b.key(key)
	b.buf = append(b.buf, value...)
}

// String adds a string member.
func (b *Builder) String(key, value string) {
	b.key(key)
	b.buf = AppendString(b.buf, value)
}

// Number adds a number member.
func (b *Builder) Number(key string, f float64) {
	b.key(key)
	b.buf = AppendNumber(b.buf, f)
}

// Int adds an integer member.
func (b *Builder) Int(key string, n int64) {
	b.key(key)
	b.buf = strconv.AppendInt(b.buf, n, 10)
}

// Bool adds a boolean member.
func (b *Builder) Bool(key string, v bool) {
	b.key(key)
	b.buf = strconv.AppendBool(b.buf, v)
}

// key begins a member. Its value must follow.
func (b *Builder) key(key string) {
	if len(b.buf) == 0 {
		b.buf = append(b.buf, '{')
	} else {
		b.buf = append(b.buf, ',')
	}
	b.buf = AppendString(b.buf, key)
	b.buf = append(b.buf, ':')
}

// Len returns the number of bytes written so far.
func (b *Builder) Len() int { return len(b.buf) }

// Bytes ends the object and returns its text, nil if it has no members. Nothing may be added
// afterwards: it might overwrite the end of the text.
func (b *Builder) Bytes() json.RawMessage {
	if len(b.buf) == 0 {
		return nil
	}
	return append(b.buf, '}')
}
