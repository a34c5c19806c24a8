package query

import (
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/words"
)

// Block is a number of events as columns, by the names that ColumnsOf gives them. Its events are as callers read them: a session event
// shows what its session adds up to.
type Block interface {
	Len() int
	// Times returns bounds of the starts of its events, in Unix milliseconds.
	Times() (first, last float64)
	// Column returns the column of a field; nil if no event of the block has the field.
	Column(name string) (*column.Column, error)
	// Partial reports whether there may be members of a JSON field of which the block has no column.
	Partial(field string) bool
	// Words returns the index of what its events have in inputs and outputs; nil if there is none.
	Words() (*words.Index, error)
}

// Columns of fields that are no members of a JSON field have the field's name. A member's has the field's name, a dot, and the key.
const (
	// DerivedColumn says what of a session event follows from its events alone: the sum of the bits of derivedBits.
	DerivedColumn = "derived"
	// StateColumn is 1 for a session event whose session runs, else 0.
	StateColumn = stateField
	// SessionColumn has the 16 bytes of the id of each event's session.
	SessionColumn = "session"
	// ParentColumn has a number for the parent of each event that has one: 0 for its session, else that of parentNumber. Segments that were
	// built before there was this column lack it; all others have it, if only without values.
	ParentColumn = "parent"
	// MetricsColumn has the template of each event's metrics (rawjson.Template), which with the columns of their members gives them back
	// digit for digit; "" of metrics that have none.
	MetricsColumn = "metrics_template"
)

// derivedDuration is the bit of a duration that follows from the session's events; the members of metadata have those below it.
const derivedDuration = 1 << 7

// derivedKeys are the members of metadata that a session event may have as a sum alone, in the order of their bits.
var derivedKeys = []string{"num_events", "num_model_events", "has_feedback", "cost", "total_tokens", "prompt_tokens", "completion_tokens"}

// derivedBit returns the bit of a field in DerivedColumn; 0 if it has none.
func (c *cond) derivedBit() int {
	if c.name == "duration" {
		return derivedDuration
	}
	if c.name == "metadata" && len(c.path) == 1 {
		if i := slices.Index(derivedKeys, c.path[0]); i >= 0 {
			return 1 << i
		}
	}
	return 0
}

// columnJSON are the JSON fields whose members are columns.
var columnJSON = []string{"metadata", "metrics", "feedback", "user_properties", "config"}

// ColumnValue is the value of one column in an event.
type ColumnValue struct {
	Field string
	Key   string // of a member of a JSON field, which is never empty; "" for other fields
	Value []byte // JSON of a member, else text; nil for a number that is no member. It is valid during the call only
	// IsNumber says that Number has the value whole: the value is its text.
	Number   float64
	IsNumber bool
}

// ColumnsOf calls f with the values of an event that are columns. The event must be as callers read it, but for inputs, outputs and
// children, which are no columns, and without cold metadata. totals are those of the session of a session event.
func ColumnsOf(e *event.Event, totals *event.SessionTotals, f func(v ColumnValue)) {
	buffer := make([]byte, 0, 64) // used again for each text
	text := func(field, value string) {
		buffer = append(buffer[:0], value...)
		f(ColumnValue{Field: field, Value: buffer})
	}
	text("event_type", string(e.Type))
	f(ColumnValue{Field: SessionColumn, Value: e.SessionID[:]})
	switch parent := parentOf(e); parent {
	case uuid.Nil:
	case e.SessionID:
		f(numberColumn(ParentColumn, 0))
	default:
		f(numberColumn(ParentColumn, parentNumber(parent)))
	}
	text("event_name", e.Name)
	text("source", e.Source)
	if e.Error != nil && *e.Error != "" {
		text("error", *e.Error)
	}
	if len(e.Metrics) > 0 {
		f(ColumnValue{Field: MetricsColumn, Value: rawjson.Template(e.Metrics)})
	}
	number := func(name string, n float64) { f(numberColumn(name, n)) }
	number("start_time", e.Start)
	number("end_time", e.End)
	number("duration", e.Duration)
	var digits [32]byte
	for _, field := range columnJSON {
		for key, raw := range rawjson.Object(bucket(e, field)) {
			if key == "" || rawjson.KindOf(raw) == 'n' {
				continue // null is as good as absent; a path with an empty key is not decided by columns (memberInColumns)
			}
			v := ColumnValue{Field: field, Key: key, Value: raw}
			if n, ok := rawjson.Number(raw); ok && string(rawjson.AppendNumber(digits[:0], n)) == string(raw) {
				v.Number, v.IsNumber = n, true
			}
			f(v)
		}
	}
	if e.IsSession() && totals != nil {
		derivedColumns(e, totals, number)
	}
}

func numberColumn(name string, n float64) ColumnValue {
	return ColumnValue{Field: name, Number: n, IsNumber: true}
}

// derivedColumns adds what a session event has of its session.
func derivedColumns(e *event.Event, t *event.SessionTotals, number func(string, float64)) {
	bits := 0
	for i, key := range derivedKeys {
		if rawjson.Get(e.Totals, key) != nil {
			bits |= 1 << i
		}
	}
	if e.DerivedDuration {
		bits |= derivedDuration
	}
	number(DerivedColumn, float64(bits))
	for name, total := range totals {
		number(name, total.of(t))
	}
	running := 0.0
	if t.Unfinished > 0 {
		running = 1
	}
	number(stateField, running)
}
