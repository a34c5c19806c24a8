package client

import (
	"encoding/json"
	"time"
)

// Filter is a condition on a field of events, or an alternative of conditions. All filters of a query must hold.
type Filter struct {
	Field    string   `json:"field"` // dotted path, such as metadata.cost
	Operator Operator `json:"operator"`
	Value    any      `json:"value"`          // of IsAnyOf a slice of 1 to 100 values
	Type     Type     `json:"type,omitempty"` // how to compare; TypeString if empty

	// Any makes the filter an alternative, which has none of the fields above: all filters of one of its lists must hold.
	// It has at most 8 lists, and their filters have no Any.
	Any [][]Filter `json:"any,omitempty"`
}

// AnyOf returns a filter that holds if all filters of one of the lists do.
func AnyOf(lists ...[]Filter) Filter { return Filter{Any: lists} }

// MarshalJSON writes an alternative with any alone.
func (f Filter) MarshalJSON() ([]byte, error) {
	if f.Any != nil {
		return json.Marshal(struct {
			Any [][]Filter `json:"any"`
		}{f.Any})
	}
	type plain Filter
	return json.Marshal(plain(f))
}

// Operator is how a filter compares.
type Operator string

// The operators.
const (
	Is          Operator = "is"
	IsNot       Operator = "is not"
	IsAnyOf     Operator = "is any of"
	Contains    Operator = "contains"
	NotContains Operator = "not contains"
	GreaterThan Operator = "greater than"
	LessThan    Operator = "less than"
	Exists      Operator = "exists"
	NotExists   Operator = "not exists"
	After       Operator = "after"
	Before      Operator = "before"

	// MatchesWords goes with FieldText alone: the texts have all words of the value, in any order and case.
	MatchesWords Operator = "matches words"
)

// FieldText is the field of filters on all that an event says: its name, its error, and the strings in inputs and outputs. It
// takes Contains, NotContains and MatchesWords.
const FieldText = "text"

// Type is what a filter takes the field for.
type Type string

// The types of filters.
const (
	TypeString   Type = "string"
	TypeNumber   Type = "number"
	TypeBoolean  Type = "boolean"
	TypeID       Type = "id"
	TypeDatetime Type = "datetime"
)

// DateRange bounds start_time, both ends included. The zero value is no bound.
type DateRange struct {
	From, To time.Time // zero: open
	// Last is the time up to now instead: a whole number and m, h, d, w or M, such as 7d.
	Last string
}

// Since returns the range from a time on.
func Since(t time.Time) DateRange { return DateRange{From: t} }

// Last returns the range of a time up to now, such as 7d.
func Last(span string) DateRange { return DateRange{Last: span} }

// wire returns the range as the API has it, nil for none.
func (r DateRange) wire() any {
	switch {
	case r.Last != "":
		return r.Last
	case r.From.IsZero() && r.To.IsZero():
		return nil
	}
	return bounds{Millis(r.From), Millis(r.To)}
}

// bounds are a date range in Unix milliseconds; 0 is none.
type bounds struct {
	From float64 `json:"$gte,omitzero"`
	To   float64 `json:"$lte,omitzero"`
}

// EventQuery chooses events. They come by start time, newest first.
type EventQuery struct {
	Filters   []Filter
	DateRange DateRange
	// Projections are dotted paths of the fields to show, all if there are none; the id is
	// always shown.
	Projections []string
	RunID       string // only events of this experiment run
	// Project is told in an export, for the record: the key decides.
	Project string
	Page    // at most 1000 a page
}

// wireQuery is a query as the API has it.
type wireQuery struct {
	Filters     []Filter `json:"filters,omitempty"`
	DateRange   any      `json:"dateRange,omitempty"`
	Projections []string `json:"projections,omitempty"`
	RunID       string   `json:"evaluation_id,omitempty"`
	Limit       int      `json:"limit,omitempty"`
	Page        int      `json:"page,omitempty"`
	Project     string   `json:"project,omitempty"`
}

func (q *EventQuery) wire() wireQuery {
	return wireQuery{q.Filters, q.DateRange.wire(), q.Projections, q.RunID, q.Limit, q.Page.Page, ""}
}
