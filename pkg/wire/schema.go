package wire

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeSchema reads the query string of a schema: dateRange and evaluation_id, which stand in
// the search's From, To and RunID. Errors are fault.Invalid naming the parameter.
func DecodeSchema(rawQuery string, now time.Time) (query.Search, error) {
	object, err := QueryObject(rawQuery)
	if err != nil {
		return query.Search{}, err
	}
	var b rawjson.Builder
	for _, name := range []string{"dateRange", "evaluation_id"} {
		if raw := rawjson.Get(object, name); raw != nil {
			b.Raw(name, raw)
		}
	}
	in, err := DecodeSearch(b.Bytes(), query.ExportPages, now)
	if err != nil {
		return query.Search{}, err
	}
	return in.Search, nil
}

// AppendSchema writes which fields events have: {"fields": [{"name", "event_type"}], "datasets":
// [id], "mappings": {event name: [{"field_name", "event_type"}]}}. The keys of c are sorted by
// type and path. Those of events whose names are not told apart are in no mapping.
func AppendSchema(dst []byte, c *event.FieldIndex) json.RawMessage {
	byName := map[string][]event.Key{}
	var names []string
	dst = append(dst, `{"fields":[`...)
	for i, k := range c.Keys {
		if i == 0 || k.Type != c.Keys[i-1].Type || k.Path != c.Keys[i-1].Path {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendSchemaField(dst, "name", k)
		}
		// Where names are not told apart, there is nothing to map.
		if k.Name == "" {
			continue
		}
		if byName[k.Name] == nil {
			names = append(names, k.Name)
		}
		byName[k.Name] = append(byName[k.Name], k)
	}
	dst = append(dst, `],"datasets":[`...)
	for i, id := range c.Datasets {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, id)
	}
	dst = append(dst, `],"mappings":{`...)
	slices.Sort(names)
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendString(dst, name), ":["...)
		for j, k := range byName[name] {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = appendSchemaField(dst, "field_name", k)
		}
		dst = append(dst, ']')
	}
	return append(dst, "}}"...)
}

// appendSchemaField appends {key: path, "event_type"}.
func appendSchemaField(dst []byte, key string, k event.Key) []byte {
	dst = append(append(append(dst, `{"`...), key...), `":`...)
	dst = append(rawjson.AppendString(dst, k.Path), `,"event_type":`...)
	return append(rawjson.AppendString(dst, string(k.Type)), '}')
}
