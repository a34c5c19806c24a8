package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// View is a page of the web interface with its filters, columns and order, kept under a name for everybody in the project.
type View struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Page      string    `json:"page"`  // such as sessions
	State     Object    `json:"state"` // the parameters of the page's address
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at,omitzero"` // zero if it never changed
}

// ViewInput is a view to be saved, of which name and page are required, or changed: what is nil stays as it is.
type ViewInput struct {
	Name  *string `json:"name,omitempty"`
	Page  *string `json:"page,omitempty"`
	State Object  `json:"state,omitzero"`
}

// ViewService is what can be done with saved views.
type ViewService struct{ c *Client }

// List reads a page of views, oldest first.
func (s *ViewService) List(ctx context.Context, p Page) (*List[View], error) {
	var answer struct {
		Data []View `json:"data"`
	}
	h, err := s.c.CallHeader(ctx, Request{Method: http.MethodGet, Path: path("views"), Query: p.query(url.Values{}), Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &List[View]{answer.Data, total(h)}, nil
}

// All walks over all views.
func (s *ViewService) All(ctx context.Context) iter.Seq2[View, error] {
	return all(Page{}, func(x *View) string { return x.ID }, func(p Page) (*List[View], error) { return s.List(ctx, p) })
}

// Create saves a view.
func (s *ViewService) Create(ctx context.Context, in ViewInput) (*View, error) {
	return s.one(ctx, Request{Method: http.MethodPost, Path: path("views"), Body: in})
}

// Get reads a view.
func (s *ViewService) Get(ctx context.Context, id string) (*View, error) {
	return s.one(ctx, Request{Method: http.MethodGet, Path: path("views", id), Repeatable: true})
}

// Update changes a view and returns the updated one.
func (s *ViewService) Update(ctx context.Context, id string, u ViewInput) (*View, error) {
	return s.one(ctx, Request{Method: http.MethodPut, Path: path("views", id), Body: u, Repeatable: true})
}

func (s *ViewService) one(ctx context.Context, r Request) (*View, error) {
	var answer struct {
		Data View `json:"data"`
	}
	if err := s.c.Call(ctx, r, &answer); err != nil {
		return nil, err
	}
	return &answer.Data, nil
}

// Delete deletes a view.
func (s *ViewService) Delete(ctx context.Context, id string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: path("views", id), Repeatable: true, deletes: true}, nil)
}
