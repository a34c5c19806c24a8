package client

import (
	"context"
	"iter"
	"net/http"
)

// EventSearch asks for events in an order, page by page with a cursor. Its Page stays empty.
type EventSearch struct {
	EventQuery
	Sort      string // SortStart if empty, SortDuration, SortCost or SortTokens; without a cost or tokens an event counts as 0
	Ascending bool
	Cursor    string // NextCursor of the page before
	Uncounted bool   // EventPage.Total is not wanted, which spares the server most of its work
	Snippets  bool   // Event.Snippets are wanted
}

// EventPage is a page of events.
type EventPage struct {
	Events     []Event `json:"events"`
	NextCursor string  `json:"next_cursor"` // empty on the last page
	Total      int     `json:"totalEvents"` // of all pages; 0 if it was not wanted
}

// Snippet is a place in an event where a filter found its text.
type Snippet struct {
	Field  string `json:"field"`  // path of the text, such as inputs.chat_history.0.content
	Before string `json:"before"` // at most 80 characters
	Hit    string `json:"hit"`
	After  string `json:"after"` // at most 80 characters
}

// SearchPage reads a page of events in an order.
func (s *EventService) SearchPage(ctx context.Context, q EventSearch) (*EventPage, error) {
	page, err := pages[Event](ctx, s.c)(q)
	return (*EventPage)(page), err
}

// pageOf is an EventPage of events in another form.
type pageOf[T any] struct {
	Events     []T    `json:"events"`
	NextCursor string `json:"next_cursor"`
	Total      int    `json:"totalEvents"`
}

// pages returns what reads pages of events.
func pages[T any](ctx context.Context, c *Client) func(EventSearch) (*pageOf[T], error) {
	return func(q EventSearch) (*pageOf[T], error) {
		return one[pageOf[T]](ctx, c, Request{Method: http.MethodPost, Path: "/v1/events/search", Body: q.ordered(), Repeatable: true})
	}
}

// orderedQuery is an EventSearch as the API has it.
type orderedQuery struct {
	wireQuery
	Sort     string `json:"sort"`
	Order    string `json:"order,omitempty"`
	Cursor   string `json:"cursor,omitempty"`
	Total    string `json:"total,omitempty"`
	Snippets bool   `json:"snippets,omitempty"`
}

func (q *EventSearch) ordered() orderedQuery {
	body := orderedQuery{q.wire(), or(q.Sort, SortStart), "", q.Cursor, "", q.Snippets}
	if q.Ascending {
		body.Order = "asc"
	}
	if q.Uncounted {
		body.Total = "none"
	}
	return body
}

// AllInOrder walks over all events of a search, page by page, from the page of q.Cursor on.
func (s *EventService) AllInOrder(ctx context.Context, q EventSearch) iter.Seq2[Event, error] {
	return inOrder(q, pages[Event](ctx, s.c))
}
