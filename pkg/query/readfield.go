package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// FieldReader reads one dotted field of events, as a number or as text: in SQL where the head
// row has it, with a counterpart in Go. Paths are read as in filters.
type FieldReader struct{ c cond }

// NewFieldReader checks a dotted field. Errors are fault.Invalid.
func NewFieldReader(field string) (FieldReader, error) {
	var r FieldReader
	if err := r.c.setField(field); err != nil {
		return r, err
	}
	if r.c.root.kind == kindProject {
		return r, fault.InvalidField("field", "%.100q is the same for all events", field)
	}
	return r, nil
}

// key identifies the field.
func (r FieldReader) key() string { return r.c.name + "." + strings.Join(r.c.path, ".") }

// Number returns the field's value if it is a number; true is 1 and false 0.
func (r FieldReader) Number(e *event.Event) (float64, bool) { return r.c.lookup(e).number() }

// Text returns the field's value as text: a string itself, anything else as JSON. There is none
// where the field is absent or null.
func (r FieldReader) Text(e *event.Event) (string, bool) {
	if r.c.root.hasPaths() {
		return valueText(string(r.c.rawInside(bucket(e, r.c.name))))
	}
	switch v := r.c.lookup(e); v.kind {
	case 0:
		return "", false
	case '0':
		return string(rawjson.AppendNumber(nil, v.num)), true
	default:
		return v.text, true
	}
}

// NeedPayload reports whether Number and Text need more of an event than its head row holds.
func (r FieldReader) NeedPayload() bool {
	return r.c.root.kind == kindPayload || cold(r.c.name, r.c.path)
}

// HasNumbers reports whether the field can hold a number at all.
func (r FieldReader) HasNumbers() bool { return r.c.root.kind == kindNumber || r.c.root.hasPaths() }

// numberInSQL reports whether numberSQL can be asked.
func (r FieldReader) numberInSQL() bool { return r.c.root.kind == kindNumber || r.inHead() }

// numberSQL returns an expression for a double, NULL where the field is neither number nor boolean, and the
// spill bits of the rows it does not hold for. Only where numberInSQL. What a session event has only as the
// sum of its events is NULL, unless all rows are session events.
func (r FieldReader) numberSQL(b *Builder, among sessions) (expr string, reads uint32) {
	c, d := &r.c, b.dialect
	column := c.root.column
	if c.root.kind == kindNumber {
		if c.name == "duration" && among == someSessions {
			column = fmt.Sprintf("CASE WHEN (e.spill & %d) = 0 OR %s = 0 THEN e.duration END", SpillRollup, d.ofSession("s.implicit"))
		}
		return column, 0
	}
	paths := readings(b, c.path)
	expr = firstReading(d, column, paths, func(p string) string { return d.jsonNumberValue(column, p) })
	if c.name == "metadata" && len(c.path) == 1 && among == onlySessions {
		if total := sessionTotals[c.path[0]]; total != nil {
			// A session event without a value of its own shows its session's.
			expr = fmt.Sprintf("CASE WHEN (e.spill & %d) <> 0 AND %s THEN %s ELSE %s END", SpillRollup,
				d.jsonEmpty(column, paths[0]), d.ofSession(total(d)), expr)
		}
	}
	return expr, c.root.spill
}

// textInSQL reports whether textSQL can be asked.
func (r FieldReader) textInSQL() bool { return r.c.root.kind < kindNumber || r.inHead() }

// textSQL returns an expression of whose value TextOf makes the field's text, and the spill bits
// of the rows it does not hold for. Only where textInSQL: a number's text is not the same in
// both databases.
func (r FieldReader) textSQL(b *Builder) (expr string, reads uint32) {
	c, d := &r.c, b.dialect
	column := c.root.column
	switch c.root.kind {
	case kindUUID:
		switch c.name {
		case "session_id":
			column = d.sessionOf()
		case "parent_id":
			column = "coalesce(e.parent_id, nullif(" + d.sessionOf() + ", e.event_id))"
		}
		return d.uuidText(column), 0
	case kindType:
		var s strings.Builder
		s.WriteString("CASE e.type")
		for code := 1; code <= len(typeCodes); code++ {
			fmt.Fprintf(&s, " WHEN %d THEN '%s'", code, TypeOf(code))
		}
		return s.String() + " END", 0
	case kindText:
		return column, c.root.spill
	}
	var parts []string
	for _, p := range readings(b, c.path) {
		parts = append(parts, "nullif("+d.jsonRaw(column, p)+", 'null')")
	}
	reads = c.root.spill
	if c.name == "metadata" && len(c.path) == 1 && rollupKeys[c.path[0]] {
		reads |= SpillRollup
	}
	if len(parts) == 1 {
		return parts[0], reads
	}
	return "coalesce(" + strings.Join(parts, ", ") + ")", reads
}

// inHead reports whether a path leads into a JSON column of the head, in a way that both databases
// read alike.
func (r FieldReader) inHead() bool {
	c := &r.c
	return c.root.kind == kindJSON && len(c.path) > 0 && !r.NeedPayload() && plainPath(c.path)
}

// TextOf returns the field's text of what textSQL's expression gave.
func (r FieldReader) TextOf(s *string) (string, bool) {
	if s == nil {
		return "", false
	}
	if r.c.root.kind == kindJSON {
		return valueText(*s)
	}
	return *s, true
}

// valueText returns a JSON value as text, a string without its quotes. Objects and arrays have no
// space between their tokens: one of the databases leaves it out.
func valueText(raw string) (string, bool) {
	switch rawjson.KindOf([]byte(raw)) {
	case 0, 'n':
		return "", false
	case '"':
		return rawjson.Text([]byte(raw))
	case '{', '[':
		var out bytes.Buffer
		err := json.Compact(&out, []byte(raw))
		return out.String(), err == nil
	}
	return strings.TrimSpace(raw), true
}
