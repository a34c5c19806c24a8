package query

import (
	"fmt"

	"github.com/spangrove/spangrove/pkg/event"
)

// SessionSearch asks for a page of sessions in one order.
type SessionSearch struct {
	Filters      []Filter // on the session event, its session's totals and its state (ParseSessionFilters)
	EventFilters []Filter // some event of the session meets all of them; nil: no such condition
	From, To     *float64 // bounds of the session's start in Unix milliseconds, both included; nil: open
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

// sessionSorts are the expressions of the orders that are no totals, over event e and its session s; totalSorts are the totals of the others.
var (
	sessionSorts = map[SessionSort]string{
		SortStart:    "e.start_ms",
		SortDuration: "e.duration",
		SortState:    "CAST(CASE WHEN " + isRunning + " THEN 1 ELSE 0 END AS double precision)",
	}
	totalSorts = map[SessionSort]string{
		SortCost:   "totals.cost",
		SortTokens: "totals.tokens",
		SortErrors: "totals.errors",
		SortEvents: "totals.events",
		SortTools:  "totals.tool_events",
	}
)

// Valid reports whether s is one of the orders.
func (s SessionSort) Valid() bool { return sessionSorts[s] != "" || totalSorts[s] != "" }

// SessionSorts lists the orders, for messages.
func SessionSorts() []SessionSort {
	return []SessionSort{SortStart, SortDuration, SortCost, SortTokens, SortErrors, SortEvents, SortTools, SortState}
}

// SQL returns the expression that sessions are sorted by, over event e and session s; a double.
func (s SessionSort) SQL(d Dialect) string {
	if name := totalSorts[s]; name != "" {
		t := totals[name]
		return t.sql(d)
	}
	return sessionSorts[s]
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
	if q.EventFilters != nil {
		some := CompileSearch(b, projectID, &Search{Filters: q.EventFilters})
		p.Some = &some
		key := b.dialect.sessionKey()
		// Session events are walked through in order, of a page no further than it needs; each is looked for among what was found.
		p.SomeIn = b.dialect.NoIndex(key) + " IN (SELECT " + key + " FROM event AS e WHERE " + some.Candidates + ")"
		conds = append(conds, p.SomeIn)
	}
	p.Where = all(append(conds, p.Where))
	p.Candidates = all(append(conds, p.Candidates))
	return p
}
