package event

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MergeLogs replaces what was merged into e from the log parts before by what the log parts now
// contribute, and reports whether e changed. Log parts fill only what e leaves empty, and append
// to the lists of metadata (evaluations, exceptions, logs). metadata.from_logs lists the fields
// that came from log parts: they are removed and merged again each time, so that neither the
// order nor the batching of log parts matters. Fields that an update has set since are kept.
//
// If some of the log parts that e was made of are no longer known, its fields stay as they are,
// and now fills only what is still empty.
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

// HasLogs reports whether some of e's fields came from log parts.
func (e *Event) HasLogs() bool { return rawjson.Get(e.ColdMetadata, keyFromLogs) != nil }

// WithoutLogs removes from e what came from parts, so that it is as its span reported it;
// MergeLogs(nil, parts) undoes it. It changes nothing and reports false if e was made of more log
// parts than these.
func (e *Event) WithoutLogs(parts []LogPart) bool {
	from := parseFromLogs(e)
	if from.count > len(ordered(parts)) {
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
	lists  map[string]int // members of metadata whose last elements came from log parts, and how many
	late   bool           // some log parts are no longer known
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
	for _, name := range logLists {
		if n := f.lists[name]; n > 0 {
			lists.Int(name, int64(n))
		}
	}
	if lists.Len() > 0 {
		o.Raw("lists", lists.Bytes())
	}
	return o.Bytes()
}

// logLists are the members of metadata that log parts append to.
var logLists = []string{keyEvaluations, keyExceptions, keyLogs}

const (
	keyEvaluations = "evaluations"
	keyExceptions  = "exceptions"
	keyLogs        = "logs"
)

// bucket returns the object of e that a field's name begins with, nil if there is none.
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

// strip removes what came from log parts.
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

// disownLogFields removes the fields that an update sets from the list of those that came from log parts.
func (e *Event) disownLogFields(u *Update) {
	if !e.HasLogs() {
		return
	}
	f := parseFromLogs(e)
	var now Event
	now.Apply(u)
	set := map[string]map[string]bool{} // names of members that the update sets, by their bucket
	f.fields = slices.DeleteFunc(f.fields, func(name string) bool {
		bucket, key, _ := strings.Cut(name, ".")
		if bucket == "outputs" {
			return u.Outputs != nil
		}
		to := now.bucket(bucket)
		if to == nil {
			return false
		}
		if set[bucket] == nil {
			set[bucket] = namesOf(*to)
		}
		return set[bucket][key]
	})
	for name := range f.lists {
		if rawjson.Get(u.Metadata, name) != nil {
			delete(f.lists, name)
		}
	}
	e.ColdMetadata = rawjson.Concat(without(e.ColdMetadata, keyFromLogs), object(keyFromLogs, f.json()))
}
