package query

import (
	"encoding/json"
	"fmt"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of what a search may ask. The databases bound the size of an expression too.
const (
	// MaxFilters is how many filters a search may have, those of alternatives included; MaxFieldBytes how long a field or
	// path may be.
	MaxFilters    = 100
	MaxFieldBytes = 2000
	// MaxValues is how many values the array of a filter may have, and MaxAllValues how many those of all filters of a
	// search may have together.
	MaxValues    = 100
	MaxAllValues = 1000
	// MaxLists is how many lists an alternative may have.
	MaxLists = 8
)

// ParseFilters reads an array of filters, {"filterArray": […]}, a single filter object, or a
// JSON string that holds one of these; nothing and null are no filters. What a filter's parts
// mean:
//
//   - field: a top-level field of an event, or a dotted path into a JSON one, array indexes
//     included. Keys may hold dots themselves: rawjson.Lookup says in which order a path is read.
//   - operator: exists, not exists, is, is not, is any of, contains, not contains, greater than, less than,
//     after, before, as the type allows. An absent field differs from every value.
//     matches words goes with the field text alone, which is all that an event says (textField).
//   - type: string (default), number, boolean, id or datetime; the value is converted by it.
//   - value: "is" null means not exists, "is not" null means exists. "is any of" has an array of 1 to MaxValues
//     values, and holds if "is" holds for one of them.
//
// An element {"any": [[…], […]]} is an alternative of 1 to MaxLists lists of filters, in which there are no
// further alternatives.
//
// Errors are fault.Invalid and name the place below field, such as "filters[2].operator".
func ParseFilters(raw json.RawMessage, field string) ([]Filter, error) {
	return parser(newFilter).parse(raw, field)
}

// parser reads filters. It checks the parts of each and builds its condition.
type parser func(f Filter) (Filter, error)

// parse is ParseFilters with the parser's fields.
func (p parser) parse(raw json.RawMessage, field string) ([]Filter, error) {
	if rawjson.Null(raw) {
		return nil, nil
	}
	raw, _, err := rawjson.Clean(raw)
	if err != nil {
		return nil, fault.InvalidField(field, "%v", err)
	}
	switch rawjson.KindOf(raw) {
	case '[':
		return p.parseAll(raw, field)
	case '{':
		if list := rawjson.Get(raw, "filterArray"); list != nil {
			if rawjson.KindOf(list) == '{' || rawjson.KindOf(list) == '"' {
				return nil, fault.InvalidField(field+".filterArray", "must be an array of filters")
			}
			return p.parse(list, field+".filterArray")
		}
		if rawjson.Empty(raw) {
			return nil, nil
		}
		if countFilters(raw) > MaxFilters {
			return nil, tooManyFilters(field)
		}
		f, err := p.parseElement(raw)
		if err != nil {
			return nil, fault.In(field, err)
		}
		return checkValues([]Filter{f}, field)
	case '"':
		text, _ := rawjson.Text(raw)
		if k := rawjson.KindOf([]byte(text)); k == 0 || k == '[' || k == '{' {
			return p.parse(json.RawMessage(text), field)
		}
	case 'n':
		return nil, nil
	}
	return nil, fault.InvalidField(field, "must be an array of filters")
}

// parseAll reads the array of all filters of a search.
func (p parser) parseAll(raw json.RawMessage, field string) ([]Filter, error) {
	n := 0
	for _, e := range rawjson.Array(raw) {
		if n += countFilters(e); n > MaxFilters {
			return nil, tooManyFilters(field)
		}
	}
	fs, err := parseList(raw, field, p.parseElement)
	if err != nil {
		return nil, err
	}
	return checkValues(fs, field)
}

func tooManyFilters(field string) error {
	return fault.InvalidField(field, "must have at most %d filters", MaxFilters)
}

// countFilters returns how many filters an element has: 1, or those of all lists of an alternative. It stops when there are more
// than MaxFilters.
func countFilters(element json.RawMessage) int {
	lists := rawjson.Get(element, "any")
	if rawjson.KindOf(lists) != '[' {
		return 1
	}
	n := 0
	for _, list := range rawjson.Array(lists) {
		for range rawjson.Array(list) {
			if n++; n > MaxFilters {
				return n
			}
		}
	}
	return n
}

// checkValues returns fs if they do not have too many values together.
func checkValues(fs []Filter, field string) ([]Filter, error) {
	values := 0
	for i := range fs {
		for _, c := range fs[i].conds() {
			values += len(c.values)
		}
	}
	if values > MaxAllValues {
		return nil, fault.InvalidField(field, "must have at most %d values in all filters together", MaxAllValues)
	}
	return fs, nil
}

// parseList reads an array, each element by parse.
func parseList(raw json.RawMessage, field string, parse func(json.RawMessage) (Filter, error)) ([]Filter, error) {
	var fs []Filter
	for i, e := range rawjson.Array(raw) {
		f, err := parse(e)
		if err != nil {
			return nil, fault.In(fmt.Sprintf("%s[%d]", field, i), err)
		}
		fs = append(fs, f)
	}
	return fs, nil
}

// parseElement reads a filter or an alternative.
func (p parser) parseElement(raw json.RawMessage) (Filter, error) {
	lists := rawjson.Get(raw, "any")
	if rawjson.KindOf(raw) != '{' || rawjson.Null(lists) {
		return p.parseFilter(raw)
	}
	for _, key := range []string{"field", "operator", "value", "type"} {
		if !rawjson.Null(rawjson.Get(raw, key)) {
			return Filter{}, fault.InvalidField(key, "must not be given together with any")
		}
	}
	if rawjson.KindOf(lists) != '[' {
		return Filter{}, fault.InvalidField("any", "must be an array of 1 to %d lists of filters", MaxLists)
	}
	var f Filter
	for i, raw := range rawjson.Array(lists) {
		at := fmt.Sprintf("any[%d]", i)
		switch {
		case i == MaxLists:
			return Filter{}, fault.InvalidField("any", "must have at most %d lists", MaxLists)
		case rawjson.KindOf(raw) != '[':
			return Filter{}, fault.InvalidField(at, "must be an array of filters")
		case rawjson.Empty(raw):
			return Filter{}, fault.InvalidField(at, "must have at least one filter")
		}
		list, err := parseList(raw, at, p.parseFilter)
		if err != nil {
			return Filter{}, err
		}
		f.Any = append(f.Any, list)
	}
	if len(f.Any) == 0 {
		return Filter{}, fault.InvalidField("any", "must have at least one list")
	}
	return f, nil
}

// parseFilter reads one filter object. Keys it does not know are left alone: clients keep
// their own there.
func (p parser) parseFilter(raw json.RawMessage) (Filter, error) {
	if rawjson.KindOf(raw) != '{' {
		return Filter{}, fault.New(fault.Invalid, "must be a filter object")
	}
	f := Filter{Type: typeString}
	for key, v := range rawjson.Object(raw) {
		var into *string
		switch key {
		case "field":
			into = &f.Field
		case "operator":
			into = &f.Operator
		case "type":
			into = &f.Type
		case "value":
			f.Value = v
			continue
		case "any":
			if !rawjson.Null(v) {
				return Filter{}, fault.InvalidField("any", "must not stand within any")
			}
			continue
		default:
			continue
		}
		if rawjson.Null(v) {
			continue
		}
		text, ok := rawjson.Text(v)
		if !ok {
			return Filter{}, fault.InvalidField(key, "must be a string")
		}
		if text == "" {
			return Filter{}, fault.InvalidField(key, "must not be empty")
		}
		*into = text
	}
	if f.Field != "" && f.Operator == "" {
		return Filter{}, fault.InvalidField("operator", "is required")
	}
	f, err := p(f)
	if err != nil {
		return Filter{}, err
	}
	if operators[f.Operator].op == opExists {
		f.Value = nil
	}
	return f, nil
}

// newFilter checks the fields of f and builds its condition. Errors are those of newCond.
func newFilter(f Filter) (Filter, error) {
	c, err := newCond(f)
	if err != nil {
		return Filter{}, err
	}
	f.cond = c
	return f, nil
}

// mustFilter is newFilter for a filter that is known to be valid.
func mustFilter(field, operator string, value json.RawMessage) Filter {
	f, err := newFilter(Filter{Field: field, Operator: operator, Type: typeString, Value: value})
	if err != nil {
		panic(fmt.Sprintf("filter %s %s: %v", field, operator, err))
	}
	return f
}

// UnmarshalJSON reads a filter as json.Marshal writes it, with the names of its Go fields, and
// checks it as ParseFilters does.
func (f *Filter) UnmarshalJSON(data []byte) error {
	type plain Filter
	if err := json.Unmarshal(data, (*plain)(f)); err != nil {
		return err
	}
	if f.Any != nil {
		return nil // its filters have been checked
	}
	var err error
	*f, err = newFilter(*f)
	return err
}
