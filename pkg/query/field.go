package query

import (
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// fieldKind is how a top-level field of an event is held.
type fieldKind uint8

const (
	kindUUID    fieldKind = iota + 1
	kindType              // event_type: one of five words, a number in the table
	kindText              // a text column
	kindNumber            // a double column
	kindJSON              // a JSON column of the head
	kindPayload           // a JSON field that is stored outside the head row
	kindAllText           // all texts of an event at once: text.go
	kindProject           // of the project, not of the event: InProject decides it
	kindTotal             // of the session, not of the event: total.go
	kindState             // likewise: running or ended
)

// root is a top-level field of events, as filters, projections and charts name it.
type root struct {
	kind   fieldKind
	column string // in the head table, alias e; "" where a rule of its own applies
	spill  uint32 // the bit that says that the column's value went to the payload
}

// roots are the fields a filter may name. Only the JSON ones have paths below them.
var roots = map[string]root{
	"event_id":   {kind: kindUUID, column: "e.event_id"},
	"session_id": {kind: kindUUID},
	"parent_id":  {kind: kindUUID},
	"event_type": {kind: kindType, column: "e.type"},
	"event_name": {kind: kindText, column: "e.name"},
	"source":     {kind: kindText, column: "e.source"},
	"error":      {kind: kindText, column: "nullif(e.error, '')", spill: SpillError},
	"start_time": {kind: kindNumber, column: "e.start_ms"},
	"end_time":   {kind: kindNumber, column: "e.end_ms"},
	"duration":   {kind: kindNumber, column: "e.duration"},

	"metadata":        {kind: kindJSON, column: "e.metadata", spill: SpillMetadata},
	"metrics":         {kind: kindJSON, column: "e.metrics", spill: SpillMetrics},
	"feedback":        {kind: kindJSON, column: "e.feedback", spill: SpillFeedback},
	"user_properties": {kind: kindJSON, column: "e.user_properties", spill: SpillUserProperties},
	"children_ids":    {kind: kindJSON, column: "e.children_ids", spill: SpillChildrenIDs},

	"inputs":  {kind: kindPayload},
	"outputs": {kind: kindPayload},
	"config":  {kind: kindPayload},

	"project":      {kind: kindProject},
	"project_id":   {kind: kindProject},
	"tenant":       {kind: kindProject},
	"org_id":       {kind: kindProject},
	"workspace_id": {kind: kindProject},
}

// hasPaths reports whether a field holds JSON, so that a path may go into it.
func (r root) hasPaths() bool { return r.kind == kindJSON || r.kind == kindPayload }

// splitField takes a dotted path apart: the top-level field, and what follows its first dot.
func splitField(field string) (name, rest string, dotted bool) {
	return strings.Cut(field, ".")
}

// cold reports whether a path into metadata may lead to cold metadata, which is not in the head row.
func cold(name string, path []string) bool {
	return name == "metadata" && (len(path) == 0 || event.ColdKey(path[0]))
}

// Bounds of the paths that SQL reads; Go reads those beyond them, more slowly. With each segment the
// readings of a path double, and with each segment that may be both an array index and a key they
// double again in SQLite.
const (
	maxPathSegments = 4 // below the top-level field: 8 readings
	maxAlternatives = 2
)

// plainPath reports whether both databases read the path as Go does. They do not agree on keys with
// quotes, backslashes and control characters, on empty keys, and on numbers that are no array
// index to us ("-1", "+1", "01", " 1"), which PostgreSQL takes for one.
func plainPath(path []string) bool {
	if len(path) > maxPathSegments {
		return false
	}
	indexes := 0
	for _, s := range path {
		if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) {
			return false
		}
		if _, ok := rawjson.Index(s); ok {
			indexes++
		} else if t := strings.TrimLeft(s, " +-"); t != "" && strings.Trim(t, "0123456789") == "" {
			return false
		}
	}
	return indexes <= maxAlternatives
}

// CheckPath refuses a dotted path at which no event has anything: it begins with a field of events, and goes on only below one
// that holds JSON. Errors are fault.Invalid, without a field.
func CheckPath(path string) error {
	name, _, dotted := splitField(path)
	r, ok := roots[name]
	switch {
	case len(path) > MaxFieldBytes:
		return fault.New(fault.Invalid, "must be at most %d bytes", MaxFieldBytes)
	case !ok:
		return fault.New(fault.Invalid, "unknown event field %.100q", name)
	case dotted && !r.hasPaths():
		return fault.New(fault.Invalid, "%s has no fields inside", name)
	}
	return nil
}

// IsField reports whether an event has a top-level field of that name.
func IsField(name string) bool {
	_, ok := roots[name]
	return ok
}
