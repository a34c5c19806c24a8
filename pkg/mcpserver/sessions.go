package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/client"
)

type sessionSearch struct {
	span
	Filters      []filter `json:"filters,omitempty" jsonschema:"all must hold, about the session or its totals: totals.cost, totals.tokens, totals.errors, totals.events, totals.tool_events, state"`
	EventFilters []filter `json:"event_filters,omitempty" jsonschema:"only sessions with an event that meets all of these"`
	ErrorsOnly   bool     `json:"errors_only,omitempty" jsonschema:"only sessions in which something failed"`
	Text         string   `json:"text,omitempty" jsonschema:"only sessions with an event that has this text in its name, error, inputs or outputs, case as written"`
	Name         string   `json:"name,omitempty" jsonschema:"only sessions whose name contains this"`
	Sort         string   `json:"sort,omitempty" jsonschema:"what comes first: the highest of this"`
	Ascending    bool     `json:"ascending,omitempty" jsonschema:"the lowest first"`
	Limit        int      `json:"limit,omitempty" jsonschema:"how many sessions"`
	Cursor       string   `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
	size
}

// session is a session in a list.
type session struct {
	ID         string   `json:"session_id"`
	Name       string   `json:"name"`
	Start      string   `json:"start"`
	DurationMS float64  `json:"duration_ms"`
	State      string   `json:"state"`
	Events     int      `json:"events"`
	ModelCalls int      `json:"model_events"`
	ToolCalls  int      `json:"tool_events"`
	Errors     int      `json:"errors"`
	Tokens     float64  `json:"tokens"`
	Cost       *float64 `json:"cost,omitempty"`
	RunID      string   `json:"run_id,omitempty"`
	Error      string   `json:"error,omitempty"`
	Input      string   `json:"input,omitempty"`
	Output     string   `json:"output,omitempty"`
}

type sessionList struct {
	Sessions []session `json:"sessions"`
	Total    int       `json:"total"`
}

func (t *tools) addSessions() {
	add(t, definition{
		name: "search_sessions", title: "Search sessions",
		description: "Finds sessions (runs of a program) with their duration, events, errors, tokens and cost. Sort by duration, cost, tokens or errors to find what is slow, costly or failing. Sessions in which a metric asked a model are left out unless a filter is about source.",
		schema: []property{between("limit", 1, 200, 20), oneOf("sort", client.SortStart, client.SortDuration, client.SortCost, client.SortTokens,
			client.SortErrors, client.SortEvents, client.SortTools, client.SortState)},
	}, searchSessions)
	add(t, definition{
		name: "session_tree", title: "Tree of a session",
		description: "The events of a session as an indented tree: type, name, duration, start after the session's, tokens, cost, error and id of each; before it the events that took most time of their own, without that of the events below them. It says why a session was slow or where it failed. get_event reads what went in and came out.",
		schema:      []property{between("limit", 1, 2000, 200), between("depth", 0, 100, 0)},
	}, sessionTree)
}

func searchSessions(ctx context.Context, c *call, in sessionSearch) (*answer[sessionList], error) {
	between, err := in.dateRange(time.Now())
	if err != nil {
		return nil, err
	}
	q := client.SessionQuery{
		Filters: filters(in.Filters), EventFilters: filters(in.EventFilters), DateRange: between, Sort: in.Sort, Ascending: in.Ascending,
		Limit: or(in.Limit, 20), Cursor: in.Cursor, Counted: in.Cursor == "",
	}
	if in.ErrorsOnly {
		q.Filters = append(q.Filters, client.Filter{Field: "totals.errors", Operator: client.GreaterThan, Value: 0, Type: client.TypeNumber})
	}
	if in.Name != "" {
		q.Filters = append(q.Filters, holds("event_name", in.Name))
	}
	if in.Text != "" {
		q.EventFilters = append(q.EventFilters, holds(client.FieldText, in.Text))
	}
	if !about(in.Filters, "source") {
		q.Filters = append(q.Filters, client.Filter{Field: "source", Operator: client.IsNot, Value: "evaluator"})
	}
	page, err := c.Sessions.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	found := page.Sessions
	list := fit(c, len(found), 0, func(i, width int) item[session] { return sessionItem(&found[i], width) })
	if len(list) < len(found) { // the cursor is to stand after the last one that is shown
		q.Limit, q.Counted = len(list), false
		shorter, err := c.Sessions.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		page.NextCursor = shorter.NextCursor
	}
	a := &answer[sessionList]{head: count(len(list), "session", "sessions"), text: texts(list), data: sessionList{data(list), page.Total}, next: page.NextCursor}
	if in.Cursor == "" {
		a.head += fmt.Sprintf(" of %d that match", page.Total)
	}
	a.head += ", sorted by " + orText(in.Sort, client.SortStart) + "."
	if len(list) == 0 {
		a.head = "No session matches. Widen since and until, or drop filters."
	} else {
		a.hints = append(a.hints, "session_tree with a session_id says what took the time and what failed.")
	}
	return a, nil
}

// about reports whether one of the filters is about a field.
func about(list []filter, field string) bool {
	for i := range list {
		if list[i].Field == field {
			return true
		}
		for _, alternative := range list[i].Any {
			for k := range alternative {
				if alternative[k].Field == field {
					return true
				}
			}
		}
	}
	return false
}

func sessionItem(s *client.SessionSummary, width int) item[session] {
	d := session{
		ID: s.SessionID, Name: line(s.SessionName, width), Start: at(s.StartTime), DurationMS: s.Duration, State: line(s.State, 20), Events: s.NumEvents,
		ModelCalls: s.NumModelEvents, ToolCalls: s.NumToolEvents, Errors: s.NumErrors, Tokens: s.Tokens.Total, Cost: s.Cost, RunID: line(s.RunID, 80),
		Error: line(s.Error, width), Input: line(s.Input, width), Output: line(s.Output, width),
	}
	text := fmt.Sprintf("%s %q began %s, took %s, %s; events %d (model %d, tool %d), errors %d, tokens %s, cost %s", d.ID, d.Name, d.Start, took(d.DurationMS), d.State,
		d.Events, d.ModelCalls, d.ToolCalls, d.Errors, number(d.Tokens), dollars(d.Cost))
	for _, more := range []struct{ name, text string }{{"error", d.Error}, {"input", d.Input}, {"output", d.Output}} {
		if more.text != "" {
			text += "\n    " + more.name + ": " + more.text
		}
	}
	return item[session]{text, d}
}

func dollars(f *float64) string {
	if f == nil {
		return "-"
	}
	return "$" + number(*f)
}

func or(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// failures returns how many errors a session has, as search_sessions tells: the error that a session event has of another event is that
// event's, and the rows may be only a part.
func (c *call) failures(ctx context.Context, session string, rows []row) (int, error) {
	page, err := c.Sessions.Search(ctx, client.SessionQuery{Filters: []client.Filter{{Field: "session_id", Operator: client.Is, Value: session}}, Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(page.Sessions) > 0 {
		return page.Sessions[0].NumErrors, nil
	}
	n := 0 // it was deleted meanwhile
	for i := range rows {
		if rows[i].Error != "" {
			n++
		}
	}
	return n, nil
}

// summaryOf returns the numbers of a tree's head as a phrase.
func summaryOf(rows []row, total, failed int) string {
	root := rows[0]
	return fmt.Sprintf("%s with %s below it took %s, began %s, has %s.", root.Type, count(total-1, "event", "events"), took(root.DurationMS), at(root.start),
		count(failed, "error", "errors"))
}

// indent is two blanks a level, of which deep trees show no more than twenty.
func indent(depth int) string { return strings.Repeat("  ", min(depth, 20)) }
