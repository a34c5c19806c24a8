package wire

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// SearchRequest is a decoded events query, of any of the operations that read a page of events.
type SearchRequest struct {
	Search     query.Search
	Projection query.Projection
}

// searchFields are the fields of an events query.
var searchFields = []string{"filters", "dateRange", "projections", "limit", "page", "ignore_order", "evaluation_id"}

// DecodeSearch reads the JSON object of an events query: the body of a search or export, or
// what QueryObject made of a query string. pages is the operation's rule for limit and page;
// now is what relative ranges count from.
//
// All fields are optional and null is absent; unknown fields are refused, but for the
// project old clients must send: the key decides that. Numbers and booleans may be strings,
// and so may whole arrays and objects, in JSON. Errors are fault.Invalid naming the field.
func DecodeSearch(object json.RawMessage, pages query.PageRule, now time.Time) (*SearchRequest, error) {
	if err := knownFields(object, searchFields); err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	for key, raw := range rawjson.Object(object) {
		fields[key] = raw
	}
	var r SearchRequest
	var err error
	if r.Search.Filters, err = query.ParseFilters(fields["filters"], "filters"); err != nil {
		return nil, err
	}
	if r.Search.From, r.Search.To, err = query.ParseRange(fields["dateRange"], "dateRange", now); err != nil {
		return nil, err
	}
	if r.Search.Limit, r.Search.Page, err = pages.Parse(fields["limit"], fields["page"]); err != nil {
		return nil, err
	}
	if raw := fields["evaluation_id"]; !rawjson.Null(raw) {
		if r.Search.RunID, err = readText(raw); err != nil {
			return nil, fault.In("evaluation_id", err)
		}
	}
	// ignore_order has no effect, but is still of a type.
	if raw := fields["ignore_order"]; !rawjson.Null(raw) {
		if _, err = readBool(raw); err != nil {
			return nil, fault.In("ignore_order", err)
		}
	}
	names, err := readNames(fields["projections"])
	if err != nil {
		return nil, fault.In("projections", err)
	}
	if r.Projection, err = query.ParseProjection(names); err != nil {
		return nil, err
	}
	return &r, nil
}

// readNames reads an array of strings, a string that holds one in JSON, or one plain name; nil if there is none.
func readNames(raw json.RawMessage) ([]string, error) {
	if rawjson.Null(raw) {
		return nil, nil
	}
	if text, ok := rawjson.Text(raw); ok {
		if rawjson.KindOf([]byte(text)) != '[' {
			return []string{text}, nil
		}
		inner, _, err := rawjson.Clean([]byte(text))
		if err != nil {
			return nil, fault.New(fault.Invalid, "%v", err)
		}
		raw = inner
	}
	if rawjson.KindOf(raw) != '[' {
		return nil, wrong("an array of strings", raw)
	}
	var names []string
	for i, v := range rawjson.Array(raw) {
		if i == query.MaxProjections {
			return nil, fault.New(fault.Invalid, "must have at most %d names", query.MaxProjections)
		}
		name, err := readText(v)
		if err != nil {
			return nil, fault.In(fmt.Sprintf("[%d]", i), err)
		}
		names = append(names, name)
	}
	return names, nil
}
