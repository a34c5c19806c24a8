package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// What sessions are sorted by.
const (
	SortStart    = "start"
	SortDuration = "duration"
	SortCost     = "cost"
	SortTokens   = "tokens"
	SortErrors   = "errors"
	SortEvents   = "events"
	SortTools    = "tool_events"
	SortState    = "state" // running sessions have the highest
)

// SessionQuery asks for sessions. Filters are about the session event, or about what its events add up to (totals.cost,
// totals.tokens, totals.errors, totals.events, totals.tool_events) or its state, in alternatives as well; one event of the session meets all EventFilters.
type SessionQuery struct {
	Filters      []Filter
	EventFilters []Filter
	DateRange    DateRange
	Sort         string // SortStart if empty
	Ascending    bool
	Limit        int    // 1 to 200; 0: 50
	Cursor       string // NextCursor of the page before
	Counted      bool   // SessionPage.Total is wanted, which takes longer
}

// SessionSummary is a session in a list.
type SessionSummary struct {
	SessionID      string  `json:"session_id"`
	SessionName    string  `json:"session_name"` // at most 300 bytes
	Source         string  `json:"source"`
	StartTime      float64 `json:"start_time"` // Unix milliseconds
	EndTime        float64 `json:"end_time"`
	Duration       float64 `json:"duration"`   // milliseconds
	NumEvents      int     `json:"num_events"` // without the session event
	NumModelEvents int     `json:"num_model_events"`
	NumToolEvents  int     `json:"num_tool_events"`
	State          string  `json:"state"` // running while an event of it has begun and not ended, else ended
	NumErrors      int     `json:"num_errors"`
	Tokens         struct {
		Prompt     float64 `json:"prompt"`
		Completion float64 `json:"completion"`
		Total      float64 `json:"total"`
	} `json:"tokens"`
	Cost        *float64 `json:"cost"` // US dollars; nil if no event has a cost
	HasFeedback bool     `json:"has_feedback"`
	Error       string   `json:"error"` // at most 200 bytes
	UserID      string   `json:"user_id"`
	RunID       string   `json:"run_id"`
	Metrics     Object   `json:"metrics"` // nil if over 4 KiB, as Feedback and Metadata
	Feedback    Object   `json:"feedback"`
	Metadata    Object   `json:"metadata"`
	Input       string   `json:"input"` // a line of at most 200 characters
	Output      string   `json:"output"`
}

// SessionPage is a page of sessions.
type SessionPage struct {
	Sessions   []SessionSummary `json:"sessions"`
	NextCursor string           `json:"next_cursor"` // empty on the last page
	Total      int              `json:"total"`       // of all pages, if that was asked for
}

// Search reads a page of sessions.
func (s *SessionService) Search(ctx context.Context, q SessionQuery) (*SessionPage, error) {
	body := struct {
		Filters      []Filter `json:"filters,omitempty"`
		EventFilters []Filter `json:"event_filters,omitempty"`
		DateRange    any      `json:"dateRange,omitempty"`
		Sort         string   `json:"sort,omitempty"`
		Order        string   `json:"order,omitempty"`
		Limit        int      `json:"limit,omitempty"`
		Cursor       string   `json:"cursor,omitempty"`
		Total        string   `json:"total,omitempty"`
	}{q.Filters, q.EventFilters, q.DateRange.wire(), q.Sort, "", q.Limit, q.Cursor, ""}
	if q.Ascending {
		body.Order = "asc"
	}
	if q.Counted {
		body.Total = "exact"
	}
	return one[SessionPage](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/sessions/search", Body: body, Repeatable: true})
}

// All walks over all sessions of a search, page by page, from the page of q.Cursor on.
func (s *SessionService) All(ctx context.Context, q SessionQuery) iter.Seq2[SessionSummary, error] {
	return follow(q.Cursor, func(cursor string) ([]SessionSummary, string, error) {
		q.Cursor = cursor
		page, err := s.Search(ctx, q)
		if err != nil {
			return nil, "", err
		}
		return page.Sessions, page.NextCursor, nil
	})
}

// TreePart says which rows of a session's tree are asked for; the zero value asks for all, up to 20,000.
type TreePart struct {
	Limit  int
	Below  string // only what stands below this event
	After  string // and of its children only those after this one
	Around string // the way to this event, its neighbours, and what is below it
	Since  string // only what has changed since an answer had this Touched
}

// TreeRows are rows of a session's tree, without what its events say. Columns names what stands where in a row.
type TreeRows struct {
	SessionID string              `json:"session_id"`
	Touched   string              `json:"touched"` // another one after each change
	Total     int                 `json:"total"`   // events of the session, itself included
	Truncated bool                `json:"truncated"`
	Since     string              `json:"since"` // empty: the rows are all there are, not only changes
	Columns   []string            `json:"columns"`
	Rows      [][]json.RawMessage `json:"rows"`
	Removed   []string            `json:"removed"`
	Gaps      map[string]int      `json:"gaps"` // with Around: how many events are missing before a row, by its id
}

// Tree reads a session's tree without what its events say.
func (s *SessionService) Tree(ctx context.Context, id string, part TreePart) (*TreeRows, error) {
	q := url.Values{}
	for name, value := range map[string]string{"below": part.Below, "after": part.After, "around": part.Around, "since": part.Since} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if part.Limit > 0 {
		q.Set("limit", strconv.Itoa(part.Limit))
	}
	return one[TreeRows](ctx, s.c, Request{Method: http.MethodGet, Path: path("sessions", id, "tree"), Query: q, Repeatable: true})
}

// Preview is a line of what went into an event, one of what came out, and its model.
type Preview struct {
	Input  string `json:"input"` // at most 200 characters
	Output string `json:"output"`
	Model  string `json:"model"`
	// Comments is how many comments are on the event.
	Comments int `json:"comments"`
}

// Previews reads the previews of at most 200 events, by event id. Those that are not there are left out.
func (s *EventService) Previews(ctx context.Context, events []string) (map[string]Preview, error) {
	body := struct {
		EventIDs []string `json:"event_ids"`
	}{events}
	answer, err := one[struct {
		Previews map[string]Preview `json:"previews"`
	}](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/events/previews", Body: body, Repeatable: true})
	if err != nil {
		return nil, err
	}
	return answer.Previews, nil
}

// Field reads one field of an event (inputs, outputs, config, metadata, metrics, feedback, user_properties or error) as JSON, digit for
// digit as it is stored.
func (s *EventService) Field(ctx context.Context, id, field string) (json.RawMessage, error) {
	var raw json.RawMessage
	err := s.c.Call(ctx, Request{Method: http.MethodGet, Path: path("events", id, "fields", field), Repeatable: true}, &raw)
	return raw, err
}

// Me is who the client is to the server.
type Me struct {
	Project struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"project"`
	Scope     string `json:"scope"`
	KeyID     string `json:"key_id"`     // empty on a server without keys
	CanSwitch bool   `json:"can_switch"` // of a browser that can act in other projects; false for a client that sends its key
	Version   string `json:"version"`    // the server's
	// Addresses are where the server listens, as it bound them: behind a proxy, or in a container, clients need others.
	Addresses []ServerAddress `json:"addresses"`
	// Evaluators are the types of metrics that can be run, and Providers the names of the model providers that they can ask. Both are
	// empty for a key of scope ingest.
	Evaluators []string     `json:"evaluators"`
	Providers  []string     `json:"providers"`
	Limits     ServerLimits `json:"limits"`
}

// ServerAddress is an address on which a server listens.
type ServerAddress struct {
	Serves       string `json:"serves"` // api, otlp_grpc or otlp_http
	URL          string `json:"url"`
	MaxBodyBytes int64  `json:"max_body_bytes"` // of a request, after decompression
	MaxItems     int    `json:"max_items"`      // spans or log records of one request; 0 for api
}

// ServerLimits are bounds to know before one sends or asks.
type ServerLimits struct {
	BodyBytes    int64 `json:"body_bytes"`    // of a request to the API, after decompression
	JSONDepth    int   `json:"json_depth"`    // levels of nesting
	BatchEvents  int   `json:"batch_events"`  // events of one request
	PageRows     int   `json:"page_rows"`     // rows of a page
	PageSessions int   `json:"page_sessions"` // sessions of a page
	FieldValues  int   `json:"field_values"`  // values of a field that one answer lists
	TreeRows     int   `json:"tree_rows"`     // rows of one answer with a session's tree
	Previews     int   `json:"previews"`      // events of one request for previews
	Filters      int   `json:"filters"`       // of one search
	// Project are the rates and amounts of the project as they apply; 0 is no bound.
	Project Limits `json:"project"`
}

// Me asks who the client's key is.
func (c *Client) Me(ctx context.Context) (*Me, error) {
	return one[Me](ctx, c, Request{Method: http.MethodGet, Path: "/v1/me", Repeatable: true})
}
