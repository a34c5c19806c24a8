package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Dashboard has places of saved charts on a page of twelve columns, and is kept under a name for everybody in the project.
type Dashboard struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Layout      []Tile       `json:"layout"`
	Charts      []SavedChart `json:"charts"` // those of the layout that are there; nil in a list
	CreatedAt   time.Time    `json:"created_at"`
	UpdatedAt   time.Time    `json:"updated_at,omitzero"` // zero if it never changed
}

// Tile is the place of a saved chart: its left upper corner in columns and rows, from 0, and how many of them it takes.
type Tile struct {
	Chart  string `json:"chart"` // its id
	X      int    `json:"x"`     // 0 to 11
	Y      int    `json:"y"`
	Width  int    `json:"width"`  // 1 to 12
	Height int    `json:"height"` // 1 to 20
}

// DashboardInput is a dashboard to be saved, of which the name is required, or changed: what is nil stays as it is.
type DashboardInput struct {
	Name        *string `json:"name,omitempty"`
	Description *string `json:"description,omitempty"`
	Layout      []Tile  `json:"layout,omitzero"`
}

// DashboardService is what can be done with dashboards.
type DashboardService struct{ c *Client }

// List reads a page of dashboards, oldest first.
func (s *DashboardService) List(ctx context.Context, p Page) (*List[Dashboard], error) {
	var answer struct {
		Data []Dashboard `json:"data"`
	}
	h, err := s.c.CallHeader(ctx, Request{Method: http.MethodGet, Path: path("dashboards"), Query: p.query(url.Values{}), Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &List[Dashboard]{answer.Data, total(h)}, nil
}

// All walks over all dashboards.
func (s *DashboardService) All(ctx context.Context) iter.Seq2[Dashboard, error] {
	return all(Page{}, func(x *Dashboard) string { return x.ID }, func(p Page) (*List[Dashboard], error) { return s.List(ctx, p) })
}

// Create saves a dashboard.
func (s *DashboardService) Create(ctx context.Context, in DashboardInput) (*Dashboard, error) {
	return s.one(ctx, Request{Method: http.MethodPost, Path: path("dashboards"), Body: in})
}

// Get reads a dashboard.
func (s *DashboardService) Get(ctx context.Context, id string) (*Dashboard, error) {
	return s.one(ctx, Request{Method: http.MethodGet, Path: path("dashboards", id), Repeatable: true})
}

// Update changes a dashboard and returns the updated one.
func (s *DashboardService) Update(ctx context.Context, id string, u DashboardInput) (*Dashboard, error) {
	return s.one(ctx, Request{Method: http.MethodPut, Path: path("dashboards", id), Body: u, Repeatable: true})
}

func (s *DashboardService) one(ctx context.Context, r Request) (*Dashboard, error) {
	var answer struct {
		Data Dashboard `json:"data"`
	}
	if err := s.c.Call(ctx, r, &answer); err != nil {
		return nil, err
	}
	return &answer.Data, nil
}

// Delete deletes a dashboard.
func (s *DashboardService) Delete(ctx context.Context, id string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: path("dashboards", id), Repeatable: true, deletes: true}, nil)
}
