package query

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// op is what a condition asks, without its negation.
type op uint8

const (
	opExists op = iota + 1
	opIs
	opContains
	opGreater // also after
	opLess    // also before
	opWords
)

// operators are the words of a filter, and what they mean.
var operators = map[string]struct {
	op     op
	negate bool
	list   bool     // its value is an array
	types  []string // the filter types it goes with
}{
	"exists":       {op: opExists, types: []string{typeString, typeNumber, typeBoolean, typeDatetime}},
	"not exists":   {op: opExists, negate: true, types: []string{typeString, typeNumber, typeBoolean, typeDatetime}},
	"is":           {op: opIs, types: []string{typeString, typeNumber, typeBoolean, typeDatetime, typeID}},
	"is not":       {op: opIs, negate: true, types: []string{typeString, typeNumber, typeBoolean, typeDatetime, typeID}},
	"is any of":    {op: opIs, list: true, types: []string{typeString, typeNumber, typeID}},
	"contains":     {op: opContains, types: []string{typeString}},
	"not contains": {op: opContains, negate: true, types: []string{typeString}},
	"greater than": {op: opGreater, types: []string{typeString, typeNumber}},
	"less than":    {op: opLess, types: []string{typeString, typeNumber}},
	"after":        {op: opGreater, types: []string{typeDatetime}},
	"before":       {op: opLess, types: []string{typeDatetime}},

	"matches words": {op: opWords, types: []string{typeString}},
}

// The types of a filter.
const (
	typeString   = "string"
	typeNumber   = "number"
	typeBoolean  = "boolean"
	typeID       = "id"
	typeDatetime = "datetime"
)

var filterTypes = []string{typeString, typeNumber, typeBoolean, typeID, typeDatetime}

// cond is a filter made ready: its field resolved and its value converted by its type. It is what Go evaluates and
// what SQL is made from, so that both start from the same reading of the caller's words.
//
// An absent field differs from every value: the positive condition is false for it, and the
// negated one is true.
type cond struct {
	// The name of the top-level field, and how it is held.
	name string
	root root
	path []string // below the root, as rawjson.Lookup reads it; nil: the field itself

	// What is asked, and whether the answer is turned round.
	op     op
	negate bool
	typ    string

	// The values of which a field must be one (opIs); of any other operator, the only one. Empty for opExists.
	values []value
	words  []string // of opWords, in lower case
}

// value is what a filter compares with, in every reading that a comparison may need: 5 and "5" are both the text and
// the number.
type value struct {
	text   string
	num    float64 // value of a number or datetime filter, or of text that reads as a number
	isNum  bool
	truth  bool // value of a boolean filter
	id     uuid.UUID
	isUUID bool // text is a UUID, and id holds it
}

// only returns the value of an operator that takes one.
func (c *cond) only() value { return c.values[0] }

// texts returns the texts of values.
func texts(values []value) []string {
	list := make([]string, len(values))
	for i := range values {
		list[i] = values[i].text
	}
	return list
}

// numbers returns the values that are one, and ids those that are a UUID.
func (c *cond) numbers() (list []float64) {
	for i := range c.values {
		if c.values[i].isNum || c.typ == typeDatetime {
			list = append(list, c.values[i].num)
		}
	}
	return list
}

func (c *cond) ids() (list []uuid.UUID) {
	for i := range c.values {
		if c.values[i].isUUID {
			list = append(list, c.values[i].id)
		}
	}
	return list
}

// newCond checks and converts f. Errors are fault.Invalid; their field is a key of the filter.
func newCond(f Filter) (cond, error) {
	c := cond{typ: f.Type}
	if f.Field == textField {
		c.name, c.root = textField, textRoot
	} else if err := c.setField(f.Field); err != nil {
		return c, err
	}
	if c.typ == "" {
		c.typ = typeString
	}
	if !slices.Contains(filterTypes, c.typ) {
		return c, fault.InvalidField("type", "unknown type %.40q; must be one of %s", c.typ, strings.Join(filterTypes, ", "))
	}
	o, ok := operators[f.Operator]
	if !ok {
		return c, fault.InvalidField("operator", "unknown operator %.40q; must be one of %s", f.Operator, strings.Join(slices.Sorted(maps.Keys(operators)), ", "))
	}
	if !slices.Contains(o.types, c.typ) {
		return c, fault.InvalidField("operator", "%q does not go with the type %s", f.Operator, c.typ)
	}
	c.op, c.negate = o.op, o.negate
	switch all := c.root.kind == kindAllText; {
	case all && c.op != opContains && c.op != opWords:
		return c, fault.InvalidField("operator", "%q does not go with the field text; must be contains, not contains or matches words", f.Operator)
	case !all && c.op == opWords:
		return c, fault.InvalidField("operator", "%q goes with the field text alone", f.Operator)
	case c.op == opExists:
		return c, nil
	}
	if o.list {
		return c, c.setValues(f.Value)
	}
	if err := c.setValue(f.Operator, f.Value); err != nil || c.op != opWords {
		return c, err
	}
	return c, c.setWords()
}

// setField resolves a dotted field: its first part is a field of events, the rest a path into it.
func (c *cond) setField(field string) error {
	if field == "" {
		return fault.InvalidField("field", "is required")
	}
	if err := CheckPath(field); err != nil {
		return fault.In("field", err)
	}
	name, rest, dotted := splitField(field)
	c.name, c.root = name, roots[name]
	if dotted {
		c.path = strings.Split(rest, ".")
	}
	return nil
}

// setValue sets the only value of a filter.
func (c *cond) setValue(operator string, raw json.RawMessage) error {
	switch rawjson.KindOf(raw) {
	case 0:
		return fault.InvalidField("value", "is required")
	case 'n':
		// "is null" asks for absence.
		if c.op != opIs {
			return fault.InvalidField("value", "%q needs a value", operator)
		}
		c.op, c.negate = opExists, !c.negate
		return nil
	case '"', '0', 't', 'f':
	default:
		return fault.InvalidField("value", "must be a string, a number, a boolean or null")
	}
	v, err := readValue(c.typ, raw)
	if err != nil {
		return fault.In("value", err)
	}
	c.values = []value{v}
	return nil
}

// setValues sets the values of a filter that takes an array of them. Those that repeat another are left out.
func (c *cond) setValues(raw json.RawMessage) error {
	if rawjson.KindOf(raw) != '[' {
		return fault.InvalidField("value", "must be an array of 1 to %d values", MaxValues)
	}
	n := 0
	for i, item := range rawjson.Array(raw) {
		if n++; n > MaxValues {
			return fault.InvalidField("value", "must have at most %d values", MaxValues)
		}
		switch rawjson.KindOf(item) {
		case '"', '0', 't', 'f':
		default:
			return fault.InvalidField(fmt.Sprintf("value[%d]", i), "must be a string, a number or a boolean")
		}
		v, err := readValue(c.typ, item)
		if err != nil {
			return fault.In(fmt.Sprintf("value[%d]", i), err)
		}
		if !slices.Contains(c.values, v) {
			c.values = append(c.values, v)
		}
	}
	if n == 0 {
		return fault.InvalidField("value", "must have at least one value")
	}
	return nil
}

// readValue converts a JSON string, number or boolean by a filter's type. A value of another JSON type than the filter's
// is taken by its text: the number filter's "5" is 5, and the string filter's true is "true".
func readValue(typ string, raw json.RawMessage) (v value, err error) {
	if rawjson.KindOf(raw) == '"' {
		v.text, _ = rawjson.Text(raw)
	} else {
		v.text = strings.TrimSpace(string(raw))
	}
	v.num, v.isNum = parseNumber(v.text)
	switch typ {
	case typeNumber:
		if !v.isNum {
			return v, fault.New(fault.Invalid, "must be a number")
		}
	case typeBoolean:
		if v.text != "true" && v.text != "false" {
			return v, fault.New(fault.Invalid, "must be true or false")
		}
		v.truth = v.text == "true"
	case typeDatetime:
		var ok bool
		if v.num, ok = parseInstant(v.text); !ok {
			return v, fault.New(fault.Invalid, "must be an ISO 8601 date and time or Unix milliseconds")
		}
	default:
		v.id, v.isUUID = parseUUID(v.text)
	}
	return v, nil
}

// plainText reports whether text equals neither a number's nor a boolean's reading, so that only a
// JSON string can be it.
func (v *value) plainText() bool { return !v.isNum && v.text != "true" && v.text != "false" }

// parseNumber reads a decimal number, with sign, fraction and exponent if it likes, that a
// double can hold: "5", "+5" and "0.5e1" are the same number, "0x5", "NaN", " 5" and "1e999" are none.
func parseNumber(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, false // also the words and hexadecimal forms strconv would take
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// parseUUID reads the usual form of a UUID, with dashes, in either case.
func parseUUID(s string) (uuid.UUID, bool) {
	if len(s) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(s)
	return id, err == nil
}
