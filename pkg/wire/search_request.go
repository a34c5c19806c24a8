package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// SearchRequest is a decoded events query, of any of the operations that read a page of events.
type SearchRequest struct {
	Search     query.Search
	Projection query.Projection
	Snippets   bool // places where the filters found their text are wanted, too

	question string // what a cursor repeats
}

// searchFields are the fields of an events query.
var searchFields = []string{"filters", "dateRange", "projections", "limit", "page", "ignore_order", "evaluation_id"}

// orderFields are those of a search that can be put into an order, besides.
var orderFields = []string{"sort", "order", "cursor", "total", "snippets"}

// DecodeSearch reads the JSON object of an events query: the body of a search or export, or
// what QueryObject made of a query string. pages is the operation's rule for limit and page;
// now is what relative ranges count from.
//
// All fields are optional and null is absent; unknown fields are refused, but for the
// project old clients must send: the key decides that. Numbers and booleans may be strings,
// and so may whole arrays and objects, in JSON. Errors are fault.Invalid naming the field.
func DecodeSearch(object json.RawMessage, pages query.PageRule, now time.Time) (*SearchRequest, error) {
	known := searchFields
	if pages.Ordered {
		known = slices.Concat(searchFields, orderFields)
	}
	if err := knownFields(object, known); err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	for key, raw := range rawjson.Object(object) {
		if !rawjson.Null(raw) {
			fields[key] = raw
		}
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
	if pages.Ordered {
		err = r.decodeOrder(fields)
	}
	return &r, err
}

// decodeOrder reads the fields of a search that can be put into an order. Without any of them the search and its answer are what they
// were before there were orders.
func (r *SearchRequest) decodeOrder(fields map[string]json.RawMessage) error {
	sort, err := oneOf(fields, "sort", string(query.EventsByStart), query.EventSorts())
	if err != nil {
		return err
	}
	order, err := oneOf(fields, "order", "desc", []string{"desc", "asc"})
	if err != nil {
		return err
	}
	total, err := oneOf(fields, "total", "exact", []string{"none", "exact"})
	if err != nil {
		return err
	}
	if raw := fields["snippets"]; raw != nil {
		if r.Snippets, err = readBool(raw); err != nil {
			return fault.In("snippets", err)
		}
	}
	q := &r.Search
	q.Ascending, q.Uncounted = order == "asc", total == "none"
	if fields["sort"] != nil {
		q.Sort = query.EventSort(sort)
	}
	for _, name := range []string{"sort", "order", "cursor", "total"} {
		q.Continued = q.Continued || fields[name] != nil
	}
	r.question = hashOf(fields["filters"], fields["dateRange"], fields["evaluation_id"], []byte(sort), []byte(order))
	if raw := fields["cursor"]; raw != nil {
		if q.Page > 1 {
			return fault.InvalidField("page", "does not go with a cursor")
		}
		if q.After, err = readCursor(r.question, raw); err != nil {
			return fault.In("cursor", err)
		}
	}
	return nil
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
