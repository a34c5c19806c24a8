package event

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MergeLogs brings e from the notes it was made of before to those it has now, and says whether
// anything changed. Notes fill only what e leaves empty, and append to the lists of metadata
// (evaluations, exceptions, logs). Which fields came from notes stands in metadata.from_logs:
// they are taken out and composed anew each time, so that neither order nor batching of the
// notes matters. Fields that an update has set since are the update's.
//
// Where some of the notes that e was made of are no longer known, its fields stay as they are
// and the notes of now fill only what is still empty.
func (e *Event) MergeLogs(before, now []LogPart) bool {
	old := *e
	correction := e.corrections()
	e.Restore()
	from := parseFromLogs(e)
	before, now = ordered(before), ordered(now)
	if from.count <= len(before) {
		e.strip(&from)
		from = fromLogs{}
	} else {
		from.late = true
		from.count += max(len(now)-len(before), 0)
	}
	if len(now) > 0 {
		newComposer(e, &from).compose(now)
	}
	if !from.late {
		from.count = len(now)
	}
	if raw := from.json(); raw != nil {
		e.ColdMetadata = rawjson.Concat(without(e.ColdMetadata, keyFromLogs), object(keyFromLogs, raw))
	}
	e.Correct(correction)
	return !sameText(&old, e)
}

// HasLogs says that some of e's fields came from notes.
func (e *Event) HasLogs() bool { return rawjson.Get(e.ColdMetadata, keyFromLogs) != nil }

// WithoutLogs takes out of e what came from the given notes, all that it was made of, so that
// it is as its span told; Annotate(nil, notes) brings it back. It does nothing, and says so,
// if e was made of more notes than these.
func (e *Event) WithoutLogs(notes []LogPart) bool {
	from := parseFromLogs(e)
	if from.count > len(ordered(notes)) {
		return false
	}
	correction := e.corrections()
	e.Restore()
	e.strip(&from)
	e.Correct(correction)
	return true
}

const keyFromLogs = "from_logs"

// fromLogs is metadata.from_logs.
type fromLogs struct {
	count  int
	fields []string       // "bucket.key", "error", "outputs" if they are no object
	lists  map[string]int // members of metadata whose last elements came from notes, and how many
	late   bool           // some notes are no longer known
}

func parseFromLogs(e *Event) (f fromLogs) {
	raw := rawjson.Get(e.ColdMetadata, keyFromLogs)
	n, _ := rawjson.Number(rawjson.Get(raw, "count"))
	f.count = int(n)
	for _, v := range rawjson.Array(rawjson.Get(raw, "fields")) {
		if name, ok := rawjson.Text(v); ok {
			f.fields = append(f.fields, name)
		}
	}
	for k, v := range rawjson.Object(rawjson.Get(raw, "lists")) {
		if n, ok := rawjson.Number(v); ok && n >= 1 {
			f.addTo(k, int(n))
		}
	}
	return f
}

func (f *fromLogs) addTo(list string, n int) {
	if f.lists == nil {
		f.lists = map[string]int{}
	}
	f.lists[list] += n
}

func (f *fromLogs) json() json.RawMessage {
	if f.count == 0 {
		return nil
	}
	var o rawjson.Builder
	o.Int("count", int64(f.count))
	if len(f.fields) > 0 {
		slices.Sort(f.fields)
		list := []byte{'['}
		for i, name := range slices.Compact(f.fields) {
			if i > 0 {
				list = append(list, ',')
			}
			list = rawjson.AppendString(list, name)
		}
		o.Raw("fields", append(list, ']'))
	}
	var lists rawjson.Builder
	for _, name := range noteLists {
		if n := f.lists[name]; n > 0 {
			lists.Int(name, int64(n))
		}
	}
	if lists.Len() > 0 {
		o.Raw("lists", lists.Bytes())
	}
	return o.Bytes()
}

// noteLists are the members of metadata that notes append to.
var noteLists = []string{keyEvaluations, keyExceptions, keyLogs}

const (
	keyEvaluations = "evaluations"
	keyExceptions  = "exceptions"
	keyLogs        = "logs"
)

// bucket is the object of e that a field's name begins with, nil if there is none.
func (e *Event) bucket(name string) *json.RawMessage {
	switch name {
	case "config":
		return &e.Config
	case "inputs":
		return &e.Inputs
	case "outputs":
		return &e.Outputs
	case "metadata":
		return &e.Metadata
	case "metrics":
		return &e.Metrics
	case "feedback":
		return &e.Feedback
	case "user_properties":
		return &e.UserProperties
	}
	return nil
}

// strip takes out what came from notes.
func (e *Event) strip(f *fromLogs) {
	drop := map[*json.RawMessage][]string{}
	for _, name := range f.fields {
		bucket, key, inside := strings.Cut(name, ".")
		to := e.bucket(bucket)
		switch {
		case name == "error":
			e.Error = pointerTo(unnamedError)
		case to == nil:
		case !inside:
			*to = nil
		case bucket == "metadata" && ColdKey(key):
			drop[&e.ColdMetadata] = append(drop[&e.ColdMetadata], key)
		default:
			drop[to] = append(drop[to], key)
		}
	}
	for to, keys := range drop {
		*to = without(*to, keys...)
	}
	for name, n := range f.lists {
		var kept []byte
		all := rawjson.Get(e.ColdMetadata, name)
		left := count(all) - n
		for i, v := range rawjson.Array(all) {
			if i < left {
				kept = appendItem(kept, v)
			}
		}
		e.ColdMetadata = without(e.ColdMetadata, name)
		if kept != nil {
			e.ColdMetadata = rawjson.Concat(e.ColdMetadata, object(name, append(kept, ']')))
		}
	}
	e.ColdMetadata = without(e.ColdMetadata, keyFromLogs)
}

// owned takes the fields that an update sets off the list of those that came from notes.
func (e *Event) owned(u *Update) {
	if !e.HasLogs() {
		return
	}
	f := parseFromLogs(e)
	f.fields = slices.DeleteFunc(f.fields, func(name string) bool {
		bucket, key, _ := strings.Cut(name, ".")
		if bucket == "outputs" {
			return u.Outputs != nil
		}
		var now Event
		now.Apply(u)
		to := now.bucket(bucket)
		return to != nil && rawjson.Get(*to, key) != nil
	})
	for name := range f.lists {
		if rawjson.Get(u.Metadata, name) != nil {
			delete(f.lists, name)
		}
	}
	e.ColdMetadata = rawjson.Concat(without(e.ColdMetadata, keyFromLogs), object(keyFromLogs, f.json()))
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

// without is an object without some of its members, nil if none is left.
func without(obj json.RawMessage, keys ...string) json.RawMessage {
	var o rawjson.Builder
	dropped := false
	for k, v := range rawjson.Object(obj) {
		if slices.Contains(keys, k) {
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
