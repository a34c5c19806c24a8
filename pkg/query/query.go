// Package query turns what a caller asks (filters, date ranges, pages, charts) into conditions:
// parsed, checked, and compiled to SQL whose every value is an argument, with a counterpart in Go for
// what SQL is not asked to decide. It runs no query.
//
// # What a filter means
//
// One definition holds for SQLite, PostgreSQL and Go; the table of package querytest is held against all three. The rules:
//
//  1. All filters of a search must hold; an alternative among them holds if all filters of one of its lists do.
//  2. A field that is absent or null differs from every value: "is" is false for it, "is not" true.
//  3. A value is compared by the filter's type. A number is compared, as a double, with numbers only, not with texts
//     that look like one.
//     A string is also compared with numbers and booleans, since old clients send all values as strings.
//  4. Texts are compared byte by byte, without regard to language. Only UUIDs ignore case, in columns of
//     ids and with the filter type id.
//  5. A path may lead through keys with dots: a.b.c is also a."b.c", "a.b.c" and "a.b".c. The first reading that
//     leads to a value counts, in the order of rawjson.Lookup.
//
// # Who decides a filter
//
// The head row of an event has its small fields in columns; inputs, outputs, config and cold metadata are in its payload,
// which is compressed. So each filter has a verdict: it is decided by SQL, or in Go after the payload was
// read, or it holds always or never whatever the event. A JSON field that is too long for the head row goes to the payload
// as well; a bit in the row's spill column says which, and such rows are decided in Go (see Plan).
package query

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
)

// Filter is one condition on an event, or an alternative. ParseFilters and UnmarshalJSON make filters, and check
// them; a Filter made otherwise matches nothing. Their meaning is the same in SQL (Compile) and in Go (Match).
type Filter struct {
	Field    string          // dotted path, such as "metadata.cost"
	Operator string          // such as "is"
	Type     string          // string, number, boolean, id or datetime
	Value    json.RawMessage // JSON string, number, boolean or null, or an array of them; nil for exists and not exists

	// Any makes the filter an alternative, which has none of the fields above: all filters of one of the lists must
	// hold. These are no alternatives themselves.
	Any [][]Filter `json:",omitempty"`

	cond cond // what the fields above mean
}

// Search asks for a page of events: newest first (start time descending, then id descending), or in another order.
type Search struct {
	Filters  []Filter
	From, To *float64 // bounds of start_time in Unix milliseconds, both included; nil: open
	RunID    string   // evaluation_id: only events of this experiment run; "" for all
	// RunSessions are sessions whose events are of the run, too, though none need name it. The
	// store knows them.
	RunSessions []uuid.UUID
	InRuns      bool      // only events of experiment runs
	Limit       int       // rows a page, 1 or more
	Page        int       // from 1
	Sort        EventSort // "": by start
	Ascending   bool
	After       *Place // the page begins after it, whatever Page is; nil: as Page says
	// Continued says that the caller wants to know whether there are further events, and where to go on (event.Set).
	Continued bool
	// HeadOnly says that the caller shows no field of the payload (Projection.NeedPayload).
	HeadOnly bool
	// Uncounted says that the caller needs no total, which is 0 then if there are further pages.
	Uncounted bool
}

// Fields that leave the head row for the payload when they are over the head bound. A row's
// spill column is the sum of those that did, so that a condition knows which rows SQL cannot
// decide.
const (
	SpillMetadata = 1 << iota
	SpillMetrics
	SpillFeedback
	SpillUserProperties
	SpillChildrenIDs
	SpillError
	SpillCold   // the event has cold metadata with its payload
	SpillRollup // a session event: its metadata gains the session's totals when it is read
)

// rollupKeys are the members of metadata that a session event gains when it is read: what the
// session's row knows of all its events.
var rollupKeys = map[string]bool{"num_events": true, "num_model_events": true, "has_feedback": true, "cost": true,
	"total_tokens": true, "prompt_tokens": true, "completion_tokens": true}

// typeCodes is how an event's type stands in the type column. The numbers are stored: they must never change.
var typeCodes = map[event.Type]int{
	event.TypeModel: 1, event.TypeTool: 2, event.TypeChain: 3, event.TypeSession: 4, event.TypeGeneric: 5,
}

// TypeCode returns the number of t in the type column, 0 if t is none.
func TypeCode(t event.Type) int { return typeCodes[t] }

// TypeOf returns the type that code stands for, generic if none.
func TypeOf(code int) event.Type {
	for t, c := range typeCodes {
		if c == code {
			return t
		}
	}
	return event.TypeGeneric
}
