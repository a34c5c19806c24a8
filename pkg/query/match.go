package query

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Matcher decides filters on events in Go, with the same answers as the SQL of Compile.
type Matcher struct {
	filters []Filter
	totals  *event.SessionTotals
}

// NewMatcher returns a matcher that wants all of the filters to hold.
func NewMatcher(fs []Filter) Matcher { return Matcher{filters: fs} }

// Match reports whether all filters hold for e, which must be whole as far as they look: with its
// payload if NeedPayload says so, and its cold metadata joined to Metadata.
func (m Matcher) Match(e *event.Event) bool {
	return allHold(m.filters, subject{e, m.totals})
}

// OfSession returns the matcher for the session event of a session, whose totals and state the filters may ask for.
func (m Matcher) OfSession(t *event.SessionTotals) Matcher {
	m.totals = t
	return m
}

// Match is NewMatcher(fs).Match(e), for a single event.
func Match(e *event.Event, fs []Filter) bool { return NewMatcher(fs).Match(e) }

// fieldValue is what a field holds, read from an event: kind 0 is absent, which null is too.
type fieldValue struct {
	kind rawjson.Kind
	text string          // of a string
	num  float64         // of a number
	raw  json.RawMessage // of an object or an array
	id   bool            // text is a UUID column's
}

// textValue, numberValue and idValue make the values of fields that are not JSON. The nil UUID is absent.
func textValue(s string) fieldValue    { return fieldValue{kind: '"', text: s} }
func numberValue(f float64) fieldValue { return fieldValue{kind: '0', num: f} }

func idValue(id uuid.UUID) fieldValue {
	if id == uuid.Nil {
		return fieldValue{}
	}
	return fieldValue{kind: '"', text: id.String(), id: true}
}

// lookup reads the condition's field of e, as the columns of the head row have it.
func (c *cond) lookup(e *event.Event) fieldValue {
	switch c.name {
	case "event_id":
		return idValue(e.ID)
	case "session_id":
		return idValue(e.SessionID)
	case "parent_id":
		return idValue(parentOf(e))
	case "event_type":
		return textValue(string(e.Type))
	case "event_name":
		return textValue(e.Name)
	case "source":
		return textValue(e.Source)
	case "error":
		if e.Error == nil || *e.Error == "" { // an empty text is no error
			return fieldValue{}
		}
		return textValue(*e.Error)
	case "start_time":
		return numberValue(e.Start)
	case "end_time":
		return numberValue(e.End)
	case "duration":
		return numberValue(e.Duration)
	}
	return c.inside(bucket(e, c.name))
}

// parentOf returns the parent of an event: its session if it names none, and none of a session event.
func parentOf(e *event.Event) uuid.UUID {
	switch {
	case e.IsSession():
		return uuid.Nil
	case e.ParentID == uuid.Nil:
		return e.SessionID
	}
	return e.ParentID
}

// bucket returns the JSON field of e with that name.
func bucket(e *event.Event, name string) json.RawMessage {
	switch name {
	case "metadata":
		return e.Metadata
	case "metrics":
		return e.Metrics
	case "feedback":
		return e.Feedback
	case "user_properties":
		return e.UserProperties
	case "children_ids":
		return e.ChildrenIDs
	case "inputs":
		return e.Inputs
	case "outputs":
		return e.Outputs
	case "config":
		return e.Config
	}
	return nil
}

// inside follows the condition's path into a JSON field.
func (c *cond) inside(raw json.RawMessage) fieldValue {
	return jsonValue(c.rawInside(raw))
}

// rawInside is inside before the value is read; nothing where an object or array itself is
// asked for and is empty.
func (c *cond) rawInside(raw json.RawMessage) json.RawMessage {
	if c.path == nil {
		if k := rawjson.KindOf(raw); (k == '{' || k == '[') && rawjson.Empty(raw) {
			return nil
		}
		return raw
	}
	return rawjson.Lookup(raw, c.path...)
}

// number returns the value if it is a number; true is 1 and false 0.
func (v fieldValue) number() (float64, bool) {
	switch v.kind {
	case '0':
		return v.num, true
	case 't':
		return 1, true
	case 'f':
		return 0, true
	}
	return 0, false
}

// jsonValue reads a JSON value. A number beyond a double is absent.
func jsonValue(raw json.RawMessage) fieldValue {
	v := fieldValue{kind: rawjson.KindOf(raw)}
	ok := true
	switch v.kind {
	case 'n':
		v.kind = 0
	case '"':
		v.text, ok = rawjson.Text(raw)
	case '0':
		v.num, ok = rawjson.Number(raw)
	case '{', '[':
		v.raw = raw
	}
	if !ok {
		return fieldValue{}
	}
	return v
}

// holds reports whether the condition holds for the value of its field.
func (c *cond) holds(v fieldValue) bool { return c.positive(v) != c.negate }

// positive is holds without the negation: false for an absent value, whatever is asked.
func (c *cond) positive(v fieldValue) bool {
	if v.kind == 0 {
		return false
	}
	if c.op == opExists {
		return true
	}
	switch c.typ {
	case typeNumber:
		return v.kind == '0' && c.compare(v.num)
	case typeBoolean:
		return (v.kind == 't' && c.only().truth) || (v.kind == 'f' && !c.only().truth)
	case typeDatetime:
		switch v.kind {
		case '0':
			return c.compare(v.num)
		case '"':
			t, _, ok := parseTime(v.text)
			return ok && c.compare(millis(t))
		}
		return false
	}
	// Of type string or id from here on.
	switch c.op {
	case opIs:
		return c.isText(v)
	case opContains:
		return containsText(v, c.only().text)
	}
	// A number is compared as one, as isText does.
	want := c.only()
	switch {
	case v.kind == '0':
		return want.isNum && c.compare(v.num)
	case v.kind != '"':
		return false
	case c.op == opGreater:
		return v.text > want.text
	default:
		return v.text < want.text
	}
}

// compare decides number and datetime conditions.
func (c *cond) compare(f float64) bool {
	switch c.op {
	case opGreater:
		return f > c.only().num
	case opLess:
		return f < c.only().num
	default:
		return slices.ContainsFunc(c.values, func(want value) bool { return f == want.num })
	}
}

// isText decides "is" of a string or id filter.
func (c *cond) isText(v fieldValue) bool {
	return slices.ContainsFunc(c.values, func(want value) bool { return want.equals(v, c.typ) })
}

// equals reports whether a field holds the value of a string or id filter. Old clients send every value as a string, so
// that "5" is also the number 5 and "true" also the boolean.
func (v *value) equals(field fieldValue, typ string) bool {
	switch field.kind {
	case '"':
		if v.isUUID && (field.id || typ == typeID) {
			return strings.EqualFold(field.text, v.text)
		}
		return field.text == v.text
	case '0':
		return v.isNum && field.num == v.num
	case 't':
		return v.text == "true"
	case 'f':
		return v.text == "false"
	}
	return false
}

// containsText reports whether v is a string that contains needle, or an object or array with such a
// string in it at any depth, keys aside.
func containsText(v fieldValue, needle string) bool {
	return anyText(v, func(text string) bool { return strings.Contains(text, needle) })
}
