package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// SessionInput is a session to be started.
type SessionInput struct {
	SessionID      string   `json:"session_id,omitempty"` // a UUID; made by the client if empty
	SessionName    string   `json:"session_name,omitempty"`
	Source         string   `json:"source,omitempty"`
	Error          string   `json:"error,omitempty"`
	StartTime      float64  `json:"start_time,omitzero"` // Unix milliseconds, see Millis; now if 0
	EndTime        float64  `json:"end_time,omitzero"`
	Duration       float64  `json:"duration,omitzero"` // milliseconds
	ChildrenIDs    []string `json:"children_ids,omitempty"`
	Config         Object   `json:"config,omitempty"`
	Inputs         Object   `json:"inputs,omitempty"`
	Outputs        any      `json:"outputs,omitempty"` // any JSON value
	Metadata       Object   `json:"metadata,omitempty"`
	Metrics        Object   `json:"metrics,omitempty"`
	Feedback       Object   `json:"feedback,omitempty"`
	UserProperties Object   `json:"user_properties,omitempty"`
}

// SessionService is what can be done with sessions. A session is changed by Events.Update with
// its id.
type SessionService struct{ c *Client }

// Start starts a session and gives its event as stored. If the session is there already,
// Metadata and UserProperties are merged into it.
func (s *SessionService) Start(ctx context.Context, in SessionInput) (*Event, error) {
	in.SessionID = or(in.SessionID, newSessionID())
	session, err := s.c.record(in.SessionID, &in)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"session": session}
	return one[Event](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/session/start", Body: body, Repeatable: true})
}

// AddEvents adds events to a session, all or none, and gives their ids.
func (s *SessionService) AddEvents(ctx context.Context, id string, events []EventInput) ([]string, error) {
	body := struct {
		Events []json.RawMessage `json:"events"`
	}{make([]json.RawMessage, len(events))}
	ids := make([]string, len(events))
	for i, e := range events {
		e.prepare()
		var err error
		if body.Events[i], err = s.c.record(e.EventID, &e); err != nil {
			return nil, fmt.Errorf("events[%d]: %w", i, err)
		}
		ids[i] = e.EventID
	}
	err := s.c.Call(ctx, Request{Method: http.MethodPost, Path: path("sessions", id, "events/batch"), Body: body, Repeatable: true}, nil)
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// Get reads a session as a tree: the session event with all events below it.
func (s *SessionService) Get(ctx context.Context, id string) (*Node, error) {
	return one[Node](ctx, s.c, Request{Method: http.MethodGet, Path: path("sessions", id), Repeatable: true})
}

// Delete deletes a session with all its events.
func (s *SessionService) Delete(ctx context.Context, id string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: path("sessions", id), Repeatable: true, deletes: true}, nil)
}

// Deletion is the answer to the deletion of a session or an event.
type Deletion struct {
	Deleted string `json:"deleted"` // its id
	Copies  struct {
		Datapoints []string `json:"datapoints"` // at most 1000
		Total      int      `json:"total"`
	} `json:"copies"` // datapoints that were made of it, and stay
	Purged struct {
		Datapoints int `json:"datapoints"`
	} `json:"purged"` // what was deleted with it
}

// DeleteCopies is Delete, and also returns which datapoints were made of the session's events, or, with purge,
// deletes those, too.
func (s *SessionService) DeleteCopies(ctx context.Context, id string, purge bool) (*Deletion, error) {
	return deletion(ctx, s.c, path("sessions", id), purge)
}

func deletion(ctx context.Context, c *Client, path string, purge bool) (*Deletion, error) {
	req := Request{Method: http.MethodDelete, Path: path, Repeatable: true, deletes: true}
	if purge {
		req.Query = url.Values{"purge": {"true"}}
	}
	return one[Deletion](ctx, c, req)
}

// LoadSamples stores the server's sample sessions in the project, and returns their ids, which are always the same: loading them again
// adds nothing.
func (s *SessionService) LoadSamples(ctx context.Context) ([]string, error) {
	var answer struct {
		Sessions []string `json:"sessions"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodPost, Path: "/v1/samples", Repeatable: true}, &answer)
	return answer.Sessions, err
}

// DeleteSamples deletes the sample sessions with all that was added to them, and returns how many there were.
func (s *SessionService) DeleteSamples(ctx context.Context) (int, error) {
	var answer struct {
		Deleted int `json:"deleted"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodDelete, Path: "/v1/samples", Repeatable: true}, &answer)
	return answer.Deleted, err
}
