package wire

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/pyliteral"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// maxIndex bounds N in name[N]: no list in a query string is longer.
const maxIndex = 10_000

// QueryObject turns the query string of an events list into the JSON object that a search
// with the same content has as its body. Clients spell arrays and objects in these ways:
//
//	projections=a  projections=a,b  projections=a&projections=b  projections[]=a  projections[0]=a
//	projections=["a","b"]
//	filters[0][field]=a&filters[0][operator]=is  filters=[{...}]  filters[]={...}
//	dateRange=24h  dateRange[$gte]=1&dateRange[$lte]=2  dateRange={"$gte":1}
//
// Objects and arrays may be in Python's own spelling, {'$gte': 1}, in place of JSON: the Python client writes so
// whatever dictionaries it is handed. Numbers and booleans stay strings, which DecodeSearch reads too. Parameters that a search
// does not have are left out. Errors are fault.Invalid naming the parameter.
func QueryObject(rawQuery string) (json.RawMessage, error) {
	params, err := ParseParams(rawQuery)
	if err != nil {
		return nil, err
	}
	var b rawjson.Builder
	for _, field := range searchParams {
		ps, err := params.find(field.name)
		if err != nil {
			return nil, err
		}
		if len(ps) == 0 {
			continue
		}
		raw, err := field.read(ps)
		if err != nil {
			return nil, err
		}
		b.Raw(field.name, raw)
	}
	if b.Len() == 0 {
		return json.RawMessage("{}"), nil
	}
	// Texts from a URL may hold what no store can: the same cleaning as for a body.
	object, _, err := rawjson.Clean(b.Bytes())
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the query string holds what is %v", err)
	}
	return object, nil
}

// param is one key=text of a query string; filters[0][field] has the path 0, field.
type param struct {
	key  string
	path []string
	text string
}

// searchParam is a parameter of a search and how it is read from all that was sent for it.
type searchParam struct {
	name string
	read func([]param) (json.RawMessage, error)
}

var searchParams = []searchParam{
	{"filters", filtersParam}, {"dateRange", rangeParam}, {"projections", namesParam},
	{"limit", scalarParam}, {"page", scalarParam}, {"ignore_order", scalarParam}, {"evaluation_id", scalarParam},
}

// splitPath splits "b][c]", which is what follows the first bracket of a[b][c], into b, c. ok is false if the brackets
// do not match.
func splitPath(rest string) (path []string, ok bool) {
	for part := range strings.SplitAfterSeq(rest, "[") {
		inner, ok := strings.CutSuffix(strings.TrimSuffix(part, "["), "]")
		if !ok {
			return nil, false
		}
		path = append(path, inner)
	}
	return path, true
}

// short keeps a parameter's name readable in a message.
func short(key string) string {
	if len(key) > 60 {
		return key[:60] + "..."
	}
	return key
}

// scalarParam reads a parameter that is given once and plainly. "name=" is null, as if it were not given.
func scalarParam(ps []param) (json.RawMessage, error) {
	switch {
	case len(ps[0].path) > 0:
		return nil, fault.InvalidField(short(ps[0].key), "takes no brackets")
	case len(ps) > 1:
		return nil, fault.InvalidField(short(ps[0].key), "is given more than once")
	case ps[0].text == "":
		return json.RawMessage("null"), nil
	}
	return rawjson.AppendString(nil, ps[0].text), nil
}

// listElement is one item of an array parameter with its place.
type listElement struct {
	index int // of name[N]; -1 for name[] and a plain name, which come first in the order sent
	raw   json.RawMessage
}

// joinElements returns an array of the elements in the order of their indexes. Gaps close: filters[0] and filters[7] are
// two elements.
func joinElements(list []listElement) json.RawMessage {
	slices.SortStableFunc(list, func(a, b listElement) int { return cmp.Compare(a.index, b.index) })
	out := []byte{'['}
	for i, e := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e.raw...)
	}
	return append(out, ']')
}

// indexOf reads the first step of an array parameter's path: "" is the next place, -1.
func indexOf(p param) (int, error) {
	if p.path[0] == "" {
		return -1, nil
	}
	n, ok := rawjson.Index(p.path[0])
	if !ok || n >= maxIndex {
		return 0, fault.InvalidField(short(p.key), "%.20q is not an index from 0 to %d", p.path[0], maxIndex-1)
	}
	return n, nil
}

// namesParam reads an array of names: one text with the JSON of the array, or texts with commas between names.
func namesParam(ps []param) (json.RawMessage, error) {
	var list []listElement
	for _, p := range ps {
		index := -1
		switch {
		case len(p.path) > 1:
			return nil, fault.InvalidField(short(p.key), "must be a list of names")
		case len(p.path) == 1:
			var err error
			if index, err = indexOf(p); err != nil {
				return nil, err
			}
		case len(ps) == 1 && rawjson.KindOf([]byte(p.text)) == '[':
			return jsonText(p)
		}
		for name := range strings.SplitSeq(p.text, ",") {
			if name = strings.TrimSpace(name); name != "" {
				list = append(list, listElement{index, rawjson.AppendString(nil, name)})
			}
		}
	}
	return joinElements(list), nil
}

// filtersParam reads an array of filters: one text with the JSON of all of them; or each filter as JSON (filters[]={…},
// filters[0]={…}); or member by member (filters[0][field]=a). The last two may be mixed.
func filtersParam(ps []param) (json.RawMessage, error) {
	if len(ps) == 1 && len(ps[0].path) == 0 {
		if strings.TrimSpace(ps[0].text) == "" {
			return json.RawMessage("[]"), nil
		}
		return jsonText(ps[0])
	}
	var list []listElement
	members := map[int]*rawjson.Builder{}
	for _, p := range ps {
		index := -1
		if len(p.path) > 0 {
			var err error
			if index, err = indexOf(p); err != nil {
				return nil, err
			}
		}
		switch {
		case len(p.path) < 2:
			raw, err := jsonText(p)
			if err != nil {
				return nil, err
			}
			list = append(list, listElement{index, raw})
		case len(p.path) > 2:
			return nil, fault.InvalidField(short(p.key), "must be a member of a filter, such as filters[0][field]")
		case index < 0:
			return nil, fault.InvalidField(short(p.key), "needs an index, such as filters[0][field]")
		default:
			if members[index] == nil {
				members[index] = &rawjson.Builder{}
			}
			members[index].String(p.path[1], p.text)
		}
	}
	for index, b := range members {
		list = append(list, listElement{index, b.Bytes()})
	}
	return joinElements(list), nil
}

// rangeParam reads a date range: an object member by member (dateRange[$gte]=1) or as one text, or any other text. What a text
// means is for the reader of ranges to say.
func rangeParam(ps []param) (json.RawMessage, error) {
	if len(ps[0].path) == 0 {
		if len(ps) > 1 {
			return nil, fault.InvalidField(short(ps[0].key), "is given more than once")
		}
		raw, err := jsonText(ps[0])
		switch kind := rawjson.KindOf([]byte(ps[0].text)); {
		case err == nil && (kind == '{' || kind == '"'):
			return raw, nil
		case kind == '{':
			return nil, fault.InvalidField(short(ps[0].key), "is neither JSON nor a range such as 7d")
		}
		return rawjson.AppendString(nil, ps[0].text), nil
	}
	var b rawjson.Builder
	seen := map[string]bool{}
	for _, p := range ps {
		if len(p.path) != 1 {
			return nil, fault.InvalidField(short(p.key), "must be a bound, such as dateRange[$gte]")
		}
		if seen[p.path[0]] {
			return nil, fault.InvalidField(short(p.key), "is given more than once")
		}
		seen[p.path[0]] = true
		b.String(p.path[0], p.text)
	}
	return b.Bytes(), nil
}

// jsonText returns a parameter whose text is JSON, or a dict or list as Python writes it.
func jsonText(p param) (json.RawMessage, error) {
	raw, _, err := rawjson.Clean([]byte(p.text))
	if err == nil {
		return raw, nil
	}
	if literal, ok := pyliteral.JSON(p.text); ok {
		// What Clean refuses, such as a number out of range, is no value here either.
		if raw, _, err := rawjson.Clean(literal); err == nil {
			return raw, nil
		}
	}
	return nil, fault.InvalidField(short(p.key), "%v", err)
}
