package query

import (
	"encoding/json"
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
)

// operators are the words of a filter, and what they mean.
var operators = map[string]struct {
	op     op
	negate bool
	types  []string // the filter types it goes with
}{
	"exists":       {opExists, false, []string{typeString, typeNumber, typeBoolean, typeDatetime}},
	"not exists":   {opExists, true, []string{typeString, typeNumber, typeBoolean, typeDatetime}},
	"is":           {opIs, false, []string{typeString, typeNumber, typeBoolean, typeDatetime, typeID}},
	"is not":       {opIs, true, []string{typeString, typeNumber, typeBoolean, typeDatetime, typeID}},
	"contains":     {opContains, false, []string{typeString}},
	"not contains": {opContains, true, []string{typeString}},
	"greater than": {opGreater, false, []string{typeString, typeNumber}},
	"less than":    {opLess, false, []string{typeString, typeNumber}},
	"after":        {opGreater, false, []string{typeDatetime}},
	"before":       {opLess, false, []string{typeDatetime}},
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

	// The value, in every reading that a comparison may need: 5 and "5" are both the text and the number.
	text   string
	num    float64 // value of a number or datetime filter, or of text that reads as a number
	isNum  bool
	truth  bool // value of a boolean filter
	id     uuid.UUID
	isUUID bool // text is a UUID, and id holds it
}

// newCond checks and converts f. Errors are fault.Invalid; their field is a key of the filter.
func newCond(f Filter) (cond, error) {
	c := cond{typ: f.Type}
	if err := c.setField(f.Field); err != nil {
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
		return c, fault.InvalidField("operator", "unknown operator %.40q", f.Operator)
	}
	if !slices.Contains(o.types, c.typ) {
		return c, fault.InvalidField("operator", "%q does not go with the type %s", f.Operator, c.typ)
	}
	c.op, c.negate = o.op, o.negate
	if c.op == opExists {
		return c, nil
	}
	return c, c.setValue(f.Operator, f.Value)
}

// setField resolves a dotted field: its first part is a field of events, the rest a path into it.
func (c *cond) setField(field string) error {
	name, rest, dotted := splitField(field)
	r, ok := roots[name]
	switch {
	case field == "":
		return fault.InvalidField("field", "is required")
	case len(field) > MaxFieldBytes:
		return fault.InvalidField("field", "must be at most %d bytes", MaxFieldBytes)
	case !ok:
		return fault.InvalidField("field", "unknown event field %.100q", name)
	case dotted && !r.hasPaths():
		return fault.InvalidField("field", "%s has no fields inside", name)
	}
	c.name, c.root = name, r
	if dotted {
		c.path = strings.Split(rest, ".")
	}
	return nil
}

// setValue converts the filter's value by its type. A value of another JSON type than the filter's is taken by its
// text: the number filter's "5" is 5, and the string filter's true is "true".
func (c *cond) setValue(operator string, value json.RawMessage) error {
	switch rawjson.KindOf(value) {
	case 0:
		return fault.InvalidField("value", "is required")
	case 'n':
		// "is null" asks for absence.
		if c.op != opIs {
			return fault.InvalidField("value", "%q needs a value", operator)
		}
		c.op, c.negate = opExists, !c.negate
		return nil
	case '"':
		c.text, _ = rawjson.Text(value)
	case '0', 't', 'f':
		c.text = strings.TrimSpace(string(value))
	default:
		return fault.InvalidField("value", "must be a string, a number, a boolean or null")
	}
	c.num, c.isNum = parseNumber(c.text)
	switch c.typ {
	case typeNumber:
		if !c.isNum {
			return fault.InvalidField("value", "must be a number")
		}
	case typeBoolean:
		if c.text != "true" && c.text != "false" {
			return fault.InvalidField("value", "must be true or false")
		}
		c.truth = c.text == "true"
	case typeDatetime:
		var ok bool
		if c.num, ok = parseInstant(c.text); !ok {
			return fault.InvalidField("value", "must be an ISO 8601 date and time or Unix milliseconds")
		}
	default:
		c.id, c.isUUID = parseUUID(c.text)
	}
	return nil
}

// plainText reports whether text equals neither a number's nor a boolean's reading, so that only a
// JSON string can be it.
func (c *cond) plainText() bool { return !c.isNum && c.text != "true" && c.text != "false" }

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
