package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/spangrove/spangrove/pkg/client"
)

type eventSearch struct {
	span
	Filters    []filter `json:"filters,omitempty" jsonschema:"all must hold, about fields of the event"`
	Type       string   `json:"type,omitempty" jsonschema:"only events of this type"`
	Name       string   `json:"name,omitempty" jsonschema:"only events of exactly this name"`
	SessionID  string   `json:"session_id,omitempty" jsonschema:"only events of this session"`
	RunID      string   `json:"run_id,omitempty" jsonschema:"only events of this experiment run"`
	ErrorsOnly bool     `json:"errors_only,omitempty" jsonschema:"only events with an error"`
	Text       string   `json:"text,omitempty" jsonschema:"only events that have this text in their name, error, inputs or outputs, case as written; the answer shows where"`
	Sort       string   `json:"sort,omitempty" jsonschema:"what comes first: the highest of this"`
	Ascending  bool     `json:"ascending,omitempty" jsonschema:"the lowest first"`
	Limit      int      `json:"limit,omitempty" jsonschema:"how many events"`
	Cursor     string   `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
	size
}

// found is an event in a list.
type found struct {
	ID         string   `json:"event_id"`
	SessionID  string   `json:"session_id"`
	Type       string   `json:"type"`
	Name       string   `json:"name"`
	Start      string   `json:"start"`
	DurationMS float64  `json:"duration_ms"`
	Model      string   `json:"model,omitempty"`
	Tokens     *float64 `json:"tokens,omitempty"`
	Cost       *float64 `json:"cost,omitempty"`
	Error      string   `json:"error,omitempty"`
	Where      string   `json:"where,omitempty" jsonschema:"path of the text that was searched for"`
	Snippet    string   `json:"snippet,omitempty"`
}

type eventList struct {
	Events []found `json:"events"`
	Total  int     `json:"total"`
}

var eventTypes = []string{"session", "chain", "model", "tool", "generic"}

func (t *tools) addEvents() {
	add(t, definition{
		name: "search_events", title: "Search events",
		description: "Finds events (steps of programs, such as calls of models and tools) over all sessions, with duration, model, tokens, cost and error. Filters are those of the API.",
		schema: []property{between("limit", 1, 200, 20), anyOf("type", eventTypes...),
			oneOf("sort", client.SortStart, client.SortDuration, client.SortCost, client.SortTokens)},
	}, searchEvents)
	add(t, definition{
		name: "get_event", title: "One event",
		description: "One event with chosen parts of what it says. Long texts and lists are cut, and each cut says how to read on: call again with its path and offset.",
		schema:      []property{anyOf("parts", parts...), items("parts", 1, len(parts)), between("offset", 0, 1_000_000_000, 0)},
	}, t.getEvent)
}

// query returns the filters of the simple arguments, and all others.
func (in *eventSearch) query() []client.Filter {
	all := filters(in.Filters)
	for _, one := range []struct{ field, value string }{{"event_type", in.Type}, {"event_name", in.Name}} {
		if one.value != "" {
			all = append(all, is(one.field, one.value))
		}
	}
	if in.SessionID != "" {
		all = append(all, client.Filter{Field: "session_id", Operator: client.Is, Value: in.SessionID, Type: client.TypeID})
	}
	if in.ErrorsOnly {
		all = append(all, client.Filter{Field: "error", Operator: client.Exists})
	}
	if in.Text != "" {
		all = append(all, holds(client.FieldText, in.Text))
	}
	return all
}

func searchEvents(ctx context.Context, c *call, in eventSearch) (*answer[eventList], error) {
	between, err := in.dateRange(time.Now())
	if err != nil {
		return nil, err
	}
	q := client.EventSearch{
		EventQuery: client.EventQuery{
			Filters: in.query(), DateRange: between, RunID: in.RunID, Page: client.Page{Limit: or(in.Limit, 20)},
			Projections: []string{"session_id", "event_type", "event_name", "start_time", "duration", "error", "config.model", "metadata.total_tokens", "metadata.cost"},
		},
		Sort: in.Sort, Ascending: in.Ascending, Cursor: in.Cursor, Uncounted: in.Cursor != "", Snippets: in.Text != "",
	}
	page, err := c.Events.SearchPage(ctx, q)
	if err != nil {
		return nil, err
	}
	list := fit(c, len(page.Events), 0, func(i, width int) item[found] { return eventItem(&page.Events[i], width) })
	if len(list) < len(page.Events) { // the cursor is to stand after the last one that is shown
		q.Limit, q.Uncounted, q.Snippets = len(list), true, false
		shorter, err := c.Events.SearchPage(ctx, q)
		if err != nil {
			return nil, err
		}
		page.NextCursor = shorter.NextCursor
	}
	a := &answer[eventList]{head: count(len(list), "event", "events"), text: texts(list), data: eventList{data(list), page.Total}, next: page.NextCursor}
	if in.Cursor == "" {
		a.head += fmt.Sprintf(" of %d that match", page.Total)
	}
	a.head += ", sorted by " + orText(in.Sort, client.SortStart) + "."
	if len(list) == 0 {
		a.head = "No event matches. Widen since and until, or drop filters; list_fields tells which fields events have."
	} else {
		a.hints = append(a.hints, "get_event with an event_id reads its inputs and outputs, session_tree with a session_id what it was part of.")
	}
	return a, nil
}

func eventItem(e *client.Event, width int) item[found] {
	d := found{
		ID: e.EventID, SessionID: e.SessionID, Type: line(e.EventType, 20), Name: line(e.EventName, width), Start: at(e.StartTime), DurationMS: e.Duration,
		Model: line(text(e.Config["model"]), 80), Tokens: float(e.Metadata["total_tokens"]), Cost: float(e.Metadata["cost"]), Error: line(e.Error, width),
	}
	if len(e.Snippets) > 0 {
		s := e.Snippets[0]
		d.Where, d.Snippet = line(s.Field, 100), line(s.Before+s.Hit+s.After, width)
	}
	out := fmt.Sprintf("%s %s %q began %s, took %s", d.ID, d.Type, d.Name, d.Start, took(d.DurationMS))
	if d.Model != "" {
		out += ", model " + d.Model
	}
	if d.Tokens != nil {
		out += ", tokens " + number(*d.Tokens)
	}
	if d.Cost != nil {
		out += ", cost " + dollars(d.Cost)
	}
	out += ", session " + d.SessionID
	if d.Error != "" {
		out += "\n    error: " + d.Error
	}
	if d.Snippet != "" {
		out += "\n    " + d.Where + ": " + d.Snippet
	}
	return item[found]{out, d}
}

func float(v any) *float64 {
	if f, ok := client.Float(v); ok {
		return &f
	}
	return nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
