package wire

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// listGroup is how many items of a list stand in memory at once: those of one read of the store.
const listGroup = 200

// WriteList streams the things with these ids as an array, in groups that load reads and append
// writes down. What is gone meanwhile is left out.
func WriteList[T any](s *Stream, ids []string, load func(ids []string) ([]T, error), appendItem func(dst []byte, item *T) []byte) error {
	s.text("[")
	first := true
	for group := range slices.Chunk(ids, listGroup) {
		list, err := load(group)
		if err != nil {
			return err
		}
		for i := range list {
			if !first {
				s.text(",")
			}
			first = false
			s.buf = appendItem(s.buf, &list[i])
			if err := s.flushFull(); err != nil {
				return err
			}
		}
	}
	s.text("]")
	return s.flushFull()
}

// itemOf begins the object of a resource with its id, under the key of the dialect. Clients of
// V0 read _id, and some of them id: they get both.
func itemOf(id string, dialect Dialect) *rawjson.Builder {
	b := &rawjson.Builder{}
	if dialect == V0 {
		b.String("_id", id)
	}
	b.String("id", id)
	return b
}

// addTimes adds created_at and updated_at. A thing that never changed has no updated_at: null,
// or left out for older clients, which refuse null.
func addTimes(b *rawjson.Builder, created, updated int64, dialect Dialect) {
	b.String("created_at", isoTime(created))
	switch {
	case updated != 0:
		b.String("updated_at", isoTime(updated))
	case dialect == V1:
		b.Raw("updated_at", []byte("null"))
	}
}

// isoTime writes a time as clients know it, in UTC with milliseconds.
func isoTime(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000Z")
}

// iso is isoTime for a time.Time.
func iso(t time.Time) string { return isoTime(t.UnixMilli()) }

// array returns a JSON array of what one makes of each of list.
func array[T any](list []T, one func(T) json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, one(v)...)
	}
	return append(out, ']')
}

// arrayOf returns a JSON array of what item appends for each element. It is array without a slice for each.
func arrayOf[T any](list []T, item func(dst []byte, x *T) []byte) json.RawMessage {
	dst := []byte{'['}
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item(dst, &list[i])
	}
	return append(dst, ']')
}

// success returns {"success": true, "data": data}.
func success(data json.RawMessage) json.RawMessage {
	var b rawjson.Builder
	b.Bool("success", true)
	b.Raw("data", data)
	return b.Bytes()
}
