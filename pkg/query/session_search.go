package query

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// SessionSearch asks for a page of sessions in one order.
type SessionSearch struct {
	Filters      []Filter      // on the session event
	Totals       []TotalFilter // on what the session's events add up to
	EventFilters []Filter      // some event of the session meets all of them; nil: no such condition
	From, To     *float64      // bounds of the session's start in Unix milliseconds, both included; nil: open
	Sort         SessionSort
	Ascending    bool
	Limit        int    // rows a page, 1 or more
	After        *Place // the page begins after it; nil: with the first session
	Counted      bool   // the exact number of all matches is wanted, too
}

// SessionSort is what sessions are sorted by.
type SessionSort string

// The orders. Duration is that of the session event; the others are the session's totals.
const (
	SortStart    SessionSort = "start"
	SortDuration SessionSort = "duration"
	SortCost     SessionSort = "cost"
	SortTokens   SessionSort = "tokens"
	SortErrors   SessionSort = "errors"
	SortEvents   SessionSort = "events"
	SortTools    SessionSort = "tool_events"
	SortState    SessionSort = "state" // 1 for those that run, 0 for those that have ended
)

// sessionSorts are the expressions of the orders over event e and its session s.
var sessionSorts = map[SessionSort]string{
	SortStart:    "e.start_ms",
	SortDuration: "e.duration",
	SortCost:     "s.cost",
	SortTokens:   "s.total_tokens",
	SortErrors:   "CAST(s.num_errors AS double precision)",
	SortEvents:   "CAST(s.num_events AS double precision)",
	SortTools:    "CAST(s.num_tool_events AS double precision)",
	SortState:    "CAST(CASE WHEN s.num_unfinished > 0 THEN 1 ELSE 0 END AS double precision)",
}

// Valid reports whether s is one of the orders.
func (s SessionSort) Valid() bool { return sessionSorts[s] != "" }

// SessionSorts lists the orders, for messages.
func SessionSorts() []SessionSort {
	return []SessionSort{SortStart, SortDuration, SortCost, SortTokens, SortErrors, SortEvents, SortTools, SortState}
}

// SQL returns the expression that sessions are sorted by, over event e and session s; a double. A cost is rounded, as it is shown: the sum
// itself depends on the order in which events came.
func (s SessionSort) SQL(d Dialect) string {
	if s == SortCost {
		return d.rounded(sessionSorts[s])
	}
	return sessionSorts[s]
}

// TotalFilter is a condition on a total of a session.
type TotalFilter struct {
	Column string // of session s
	Sign   string // of SQL
	Value  float64
}

// totalsPrefix begins the fields of filters on totals.
const totalsPrefix = "totals."

// totalColumns are the totals that a filter may name, after totalsPrefix.
var totalColumns = map[string]string{
	"cost":              "s.cost",
	"tokens":            "s.total_tokens",
	"prompt_tokens":     "s.prompt_tokens",
	"completion_tokens": "s.completion_tokens",
	"errors":            "s.num_errors",
	"events":            "s.num_events",
	"model_events":      "s.num_model_events",
	"tool_events":       "s.num_tool_events",
	"feedback":          "s.num_feedback",
}

// totalSigns are the operators that totals can be compared with. All totals are there, so that none is absent.
var totalSigns = map[string]string{"is": "=", "is not": "<>", "greater than": ">", "less than": "<"}

// ParseSessionFilters reads filters of a search of sessions: those on the session's totals, whose fields are named
// totals.cost, totals.tokens, totals.errors and so on, those on its state, and those on the session event, as ParseFilters reads them. Errors are
// fault.Invalid and name the filter.
func ParseSessionFilters(raw json.RawMessage, field string) (fs []Filter, totals []TotalFilter, err error) {
	if rawjson.KindOf(raw) != '[' {
		fs, err = ParseFilters(raw, field)
		return fs, nil, err
	}
	// In the place of a filter on a total stands one that is left out again, so that errors name the caller's places.
	others, places := []byte{'['}, []int(nil)
	for i, element := range rawjson.Array(raw) {
		if i > 0 {
			others = append(others, ',')
		}
		name, _ := rawjson.Text(rawjson.Get(element, "field"))
		var t TotalFilter
		switch total, ok := strings.CutPrefix(name, totalsPrefix); {
		case name == stateField:
			t, err = parseState(element)
		case ok:
			t, err = parseTotal(element, total)
		default:
			others = append(others, element...)
			continue
		}
		if err != nil {
			return nil, nil, fault.In(fmt.Sprintf("%s[%d]", field, i), err)
		}
		totals, places = append(totals, t), append(places, i)
		others = append(others, `{"field":"event_id","operator":"exists"}`...)
	}
	if fs, err = ParseFilters(append(others, ']'), field); err != nil {
		return nil, nil, err
	}
	for n, i := range places {
		fs = slices.Delete(fs, i-n, i-n+1)
	}
	return fs, totals, nil
}

func parseTotal(raw json.RawMessage, name string) (t TotalFilter, err error) {
	var ok bool
	if t.Column, ok = totalColumns[name]; !ok {
		return t, fault.InvalidField("field", "unknown total %.100q; must be one of cost, tokens, prompt_tokens, completion_tokens, errors, events, model_events, tool_events, feedback", name)
	}
	operator, _ := rawjson.Text(rawjson.Get(raw, "operator"))
	if t.Sign, ok = totalSigns[operator]; !ok {
		return t, fault.InvalidField("operator", "%.40q does not go with a total; must be one of is, is not, greater than, less than", operator)
	}
	value := rawjson.Get(raw, "value")
	text, isText := rawjson.Text(value)
	if !isText {
		text = string(value)
	}
	if t.Value, ok = parseNumber(text); !ok {
		return t, fault.InvalidField("value", "must be a number")
	}
	return t, nil
}

// stateField is the field of filters on a session's state, and the states are those of its values. A session runs while only the
// begin of one of its events is known.
const (
	stateField   = "state"
	StateRunning = "running"
	StateEnded   = "ended"
)

func parseState(raw json.RawMessage) (t TotalFilter, err error) {
	operator, _ := rawjson.Text(rawjson.Get(raw, "operator"))
	if operator != "is" && operator != "is not" {
		return t, fault.InvalidField("operator", "%.40q does not go with state; must be one of is, is not", operator)
	}
	value, _ := rawjson.Text(rawjson.Get(raw, "value"))
	if value != StateRunning && value != StateEnded {
		return t, fault.InvalidField("value", "must be one of %s, %s", StateRunning, StateEnded)
	}
	t = TotalFilter{Column: "s.num_unfinished", Sign: "="}
	if (value == StateRunning) == (operator == "is") {
		t.Sign = ">"
	}
	return t, nil
}

// SessionPlan is how a store answers a search of sessions: as Plan, for the session events, and for the events that
// one of each session must be like.
type SessionPlan struct {
	Plan
	// Some is the plan of the event filters; nil if there are none. Its rows are named by SomeIn.
	Some *Plan
	// SomeIn is the condition that a candidate of Some is in the session.
	SomeIn string
}

// CompileSessions compiles all of a search of sessions but its order, its page and its place.
func CompileSessions(b *Builder, projectID int64, q *SessionSearch) SessionPlan {
	p := SessionPlan{Plan: CompileSearch(b, projectID, &Search{Filters: q.Filters, From: q.From, To: q.To})}
	conds := []string{fmt.Sprintf("e.type = %d", TypeCode(event.TypeSession))} // a literal: an index holds only these rows
	for _, t := range q.Totals {
		column := t.Column
		if column == totalColumns["cost"] {
			column = b.dialect.rounded(column)
		}
		conds = append(conds, column+" "+t.Sign+" "+b.Arg(t.Value))
	}
	if q.EventFilters != nil {
		some := CompileSearch(b, projectID, &Search{Filters: q.EventFilters})
		p.Some = &some
		key := b.dialect.sessionKey()
		p.SomeIn = key + " IN (SELECT " + key + " FROM event AS e WHERE " + some.Candidates + ")"
		conds = append(conds, p.SomeIn)
	}
	p.Where = all(append(conds, p.Where))
	p.Candidates = all(append(conds, p.Candidates))
	return p
}
