package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// States of a BulkDeletion.
const (
	DeletionPreparing = "preparing"
	DeletionRunning   = "running"
	DeletionDone      = "done"
	DeletionCancelled = "cancelled"
)

// Matching counts what a deletion of all that matches would delete, and is what such a deletion is told to expect.
type Matching struct {
	Sessions int64 `json:"sessions"` // of a deletion of sessions
	Events   int64 `json:"events"`   // of a deletion of sessions, session events are among them
	// SessionEvents are session events that a deletion of events matches, and which stay.
	SessionEvents int64 `json:"session_events"`
}

// BulkDeletion is a deletion of all events or sessions that matched when it began, with its progress.
type BulkDeletion struct {
	ID              string    `json:"id"`
	Of              string    `json:"of"` // events or sessions
	State           string    `json:"state"`
	Sessions        int64     `json:"sessions"` // to be deleted when it began; of a deletion of sessions
	Events          int64     `json:"events"`
	DeletedSessions int64     `json:"deleted_sessions"`
	DeletedEvents   int64     `json:"deleted_events"`
	KeptSessions    int64     `json:"kept_sessions"` // that stay since events came to them meanwhile
	CreatedAt       time.Time `json:"created_at"`
	UpdatedAt       time.Time `json:"updated_at,omitzero"` // zero before the first progress
}

// Ended reports whether it deletes nothing any more.
func (d *BulkDeletion) Ended() bool { return d.State == DeletionDone || d.State == DeletionCancelled }

// CountMatching counts the events that DeleteMatching would delete. Of the query Filters, DateRange and RunID count.
func (s *EventService) CountMatching(ctx context.Context, q EventQuery) (*Matching, error) {
	return one[Matching](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/events/delete", Body: eventDeletion(q, true, nil), Repeatable: true})
}

// DeleteMatching begins to delete all events that match, but no session events. If they are more than expected, which CountMatching has
// said, it is refused as a conflict and nothing is deleted. A large deletion goes on when this returns: see DeletionService.Get.
func (s *EventService) DeleteMatching(ctx context.Context, q EventQuery, expected *Matching) (*BulkDeletion, error) {
	return one[BulkDeletion](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/events/delete", Body: eventDeletion(q, false, expected)})
}

func eventDeletion(q EventQuery, dry bool, expected *Matching) any {
	w := q.wire()
	body := struct {
		Filters   any    `json:"filters,omitempty"`
		DateRange any    `json:"dateRange,omitempty"`
		RunID     string `json:"evaluation_id,omitempty"`
		Dry       bool   `json:"dry_run,omitempty"`
		Events    *int64 `json:"expected_events,omitempty"`
	}{w.Filters, w.DateRange, w.RunID, dry, nil}
	if expected != nil {
		body.Events = &expected.Events
	}
	return body
}

// CountMatching counts the sessions that DeleteMatching would delete, and their events. Of the query Filters, EventFilters and DateRange count.
func (s *SessionService) CountMatching(ctx context.Context, q SessionQuery) (*Matching, error) {
	return one[Matching](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/sessions/delete", Body: sessionDeletion(q, true, nil), Repeatable: true})
}

// DeleteMatching begins to delete all sessions that match, whole. If they, or their events, are more than expected, which CountMatching has said,
// it is refused as a conflict and nothing is deleted. A large deletion goes on when this returns: see DeletionService.Get.
func (s *SessionService) DeleteMatching(ctx context.Context, q SessionQuery, expected *Matching) (*BulkDeletion, error) {
	return one[BulkDeletion](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/sessions/delete", Body: sessionDeletion(q, false, expected)})
}

func sessionDeletion(q SessionQuery, dry bool, expected *Matching) any {
	body := struct {
		Filters      []Filter `json:"filters,omitempty"`
		EventFilters []Filter `json:"event_filters,omitempty"`
		DateRange    any      `json:"dateRange,omitempty"`
		Dry          bool     `json:"dry_run,omitempty"`
		Sessions     *int64   `json:"expected_sessions,omitempty"`
		Events       *int64   `json:"expected_events,omitempty"`
	}{q.Filters, q.EventFilters, q.DateRange.wire(), dry, nil, nil}
	if expected != nil {
		body.Sessions, body.Events = &expected.Sessions, &expected.Events
	}
	return body
}

// DeletionService is what can be done with deletions of all that matched.
type DeletionService struct{ c *Client }

// List reads a page of the deletions, newest first: those that run, and the last hundred that have ended.
func (s *DeletionService) List(ctx context.Context, p Page) (*List[BulkDeletion], error) {
	var answer struct {
		Data []BulkDeletion `json:"data"`
	}
	h, err := s.c.CallHeader(ctx, Request{Method: http.MethodGet, Path: "/v1/deletions", Query: p.query(url.Values{}), Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &List[BulkDeletion]{answer.Data, total(h)}, nil
}

// All walks over all deletions, newest first.
func (s *DeletionService) All(ctx context.Context) iter.Seq2[BulkDeletion, error] {
	return all(Page{}, func(x *BulkDeletion) string { return x.ID }, func(p Page) (*List[BulkDeletion], error) { return s.List(ctx, p) })
}

// Get reads a deletion with its progress.
func (s *DeletionService) Get(ctx context.Context, id string) (*BulkDeletion, error) {
	return one[BulkDeletion](ctx, s.c, Request{Method: http.MethodGet, Path: path("deletions", id), Repeatable: true})
}

// Cancel ends a deletion before it has deleted all. What is gone stays gone.
func (s *DeletionService) Cancel(ctx context.Context, id string) (*BulkDeletion, error) {
	return one[BulkDeletion](ctx, s.c, Request{Method: http.MethodPost, Path: path("deletions", id, "cancel"), Repeatable: true})
}
