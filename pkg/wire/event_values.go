package wire

import (
	"encoding/json"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeValues reads the body of a request for the values of a field: field, and if they are given prefix, filters,
// dateRange and evaluation_id as in a search, and limit. Errors are fault.Invalid naming the field.
func DecodeValues(body []byte, now time.Time) (*query.ValueQuery, error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return nil, err
	}
	if err := knownFields(object, []string{"field", "prefix", "filters", "dateRange", "evaluation_id", "limit"}); err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	for key, raw := range rawjson.Object(object) {
		fields[key] = raw
	}
	if rawjson.Null(fields["field"]) {
		return nil, fault.InvalidField("field", "is required")
	}
	name, err := readText(fields["field"])
	if err != nil {
		return nil, fault.In("field", err)
	}
	q := &query.ValueQuery{}
	if q.Field, err = query.NewFieldReader(name); err != nil {
		return nil, rename("field", err)
	}
	if raw := fields["prefix"]; !rawjson.Null(raw) {
		if q.Prefix, err = readText(raw); err != nil {
			return nil, fault.In("prefix", err)
		}
	}
	if len(q.Prefix) > query.MaxValueBytes {
		return nil, fault.InvalidField("prefix", "must be at most %d bytes", query.MaxValueBytes)
	}
	if q.Search.Filters, err = query.ParseFilters(fields["filters"], "filters"); err != nil {
		return nil, err
	}
	if q.Search.From, q.Search.To, err = query.ParseRange(fields["dateRange"], "dateRange", now); err != nil {
		return nil, err
	}
	if raw := fields["evaluation_id"]; !rawjson.Null(raw) {
		if q.Search.RunID, err = readText(raw); err != nil {
			return nil, fault.In("evaluation_id", err)
		}
	}
	q.Search.Limit, q.Search.Page, err = query.FieldValuePages.Parse(fields["limit"], nil)
	return q, err
}

// AppendValues writes the values of a field: {"values": [{"value", "count"}], "looked_at", "complete", "left_out"}.
func AppendValues(dst []byte, a *query.ValueAnswer) json.RawMessage {
	dst = append(dst, `{"values":[`...)
	for i, v := range a.Values {
		if i > 0 {
			dst = append(dst, ',')
		}
		var b rawjson.Builder
		b.String("value", v.Value)
		b.Int("count", int64(v.Count))
		dst = append(dst, b.Bytes()...)
	}
	dst = append(dst, `],`...)
	var b rawjson.Builder
	b.Int("looked_at", int64(a.LookedAt))
	b.Bool("complete", a.Complete)
	b.Int("left_out", int64(a.LeftOut))
	return append(dst, b.Bytes()[1:]...)
}
