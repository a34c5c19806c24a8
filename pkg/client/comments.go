package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Comment is what a person says of an event. The server knows no people: Author is what the caller said.
type Comment struct {
	ID        string    `json:"id"`
	EventID   string    `json:"event_id"`
	Author    string    `json:"author"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at,omitzero"` // zero if it never changed
}

// CommentService is what can be done with the comments on events. A session is commented on by the id of its event, which is its own.
type CommentService struct{ c *Client }

// List reads a page of the comments on an event, oldest first.
func (s *CommentService) List(ctx context.Context, eventID string, p Page) (*List[Comment], error) {
	var answer struct {
		Data []Comment `json:"data"`
	}
	r := Request{Method: http.MethodGet, Path: path("events", eventID, "comments"), Query: p.query(url.Values{}), Repeatable: true}
	h, err := s.c.CallHeader(ctx, r, &answer)
	if err != nil {
		return nil, err
	}
	return &List[Comment]{answer.Data, total(h)}, nil
}

// All walks over all comments on an event.
func (s *CommentService) All(ctx context.Context, eventID string) iter.Seq2[Comment, error] {
	return all(Page{}, func(x *Comment) string { return x.ID }, func(p Page) (*List[Comment], error) { return s.List(ctx, eventID, p) })
}

// Create says something of an event.
func (s *CommentService) Create(ctx context.Context, eventID, author, text string) (*Comment, error) {
	return s.one(ctx, Request{Method: http.MethodPost, Path: path("events", eventID, "comments"), Body: Object{"author": author, "text": text}})
}

// Update changes the text of a comment and returns the comment.
func (s *CommentService) Update(ctx context.Context, eventID, id, text string) (*Comment, error) {
	return s.one(ctx, Request{Method: http.MethodPut, Path: path("events", eventID, "comments", id), Body: Object{"text": text}, Repeatable: true})
}

func (s *CommentService) one(ctx context.Context, r Request) (*Comment, error) {
	var answer struct {
		Data Comment `json:"data"`
	}
	if err := s.c.Call(ctx, r, &answer); err != nil {
		return nil, err
	}
	return &answer.Data, nil
}

// Delete deletes a comment.
func (s *CommentService) Delete(ctx context.Context, eventID, id string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: path("events", eventID, "comments", id), Repeatable: true, deletes: true}, nil)
}
