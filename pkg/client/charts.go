package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// SavedChart is what a chart is to show, kept under a name. Chart tells how to read it.
type SavedChart struct {
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Metric      string        `json:"metric"`    // the field summed up
	Aggregation string        `json:"func"`      // such as average
	GroupBy     string        `json:"groupBy"`   // a dotted field, or empty
	Bucket      string        `json:"bucketing"` // such as hour
	DateRange   Object        `json:"dateRange"` // as it was sent; a text stands under relative
	Filters     []Filter      `json:"query"`
	OwnerID     string        `json:"owner_id"`
	Display     string        `json:"display"` // lines, bars or number; empty: lines
	Series      []ChartSeries `json:"series"`  // what is drawn beside it
	CreatedAt   time.Time     `json:"created_at"`
	UpdatedAt   time.Time     `json:"updated_at,omitzero"` // zero if it never changed
}

// SavedChartInput is a chart to be saved, of which name and metric are required, or changed:
// what is nil stays as it is, and what is empty takes away what was there.
type SavedChartInput struct {
	Name        *string
	Description *string
	Metric      *string
	Aggregation *string
	GroupBy     *string
	Bucket      *string
	DateRange   *DateRange
	Filters     []Filter
	OwnerID     *string
	Display     *string
	Series      []ChartSeries
}

func (in *SavedChartInput) wire() any {
	body := struct {
		Name        *string       `json:"name,omitempty"`
		Description *string       `json:"description,omitempty"`
		Metric      *string       `json:"metric,omitempty"`
		Aggregation *string       `json:"func,omitempty"`
		GroupBy     *string       `json:"groupBy,omitempty"`
		Bucket      *string       `json:"bucketing,omitempty"`
		DateRange   any           `json:"dateRange,omitempty"`
		Filters     []Filter      `json:"query,omitzero"`
		OwnerID     *string       `json:"owner_id,omitempty"`
		Display     *string       `json:"display,omitempty"`
		Series      []ChartSeries `json:"series,omitzero"`
	}{in.Name, in.Description, in.Metric, in.Aggregation, in.GroupBy, in.Bucket, nil, in.Filters, in.OwnerID, in.Display, in.Series}
	if in.DateRange != nil {
		if body.DateRange = in.DateRange.wire(); body.DateRange == nil {
			body.DateRange = Object{}
		}
	}
	return body
}

// ChartService is what can be done with saved charts: those of the key's project, or with In
// those of another.
type ChartService struct {
	c       *Client
	project *string // nil: the key's
}

// In returns the service for the charts of a project. A key that is not of scope admin finds its own
// project alone.
func (s *ChartService) In(project string) *ChartService { return &ChartService{s.c, &project} }

func (s *ChartService) path(parts ...string) string {
	if s.project != nil {
		parts = append([]string{"projects", *s.project}, parts...)
	}
	return path(parts...)
}

// List reads a page of saved charts, oldest first.
func (s *ChartService) List(ctx context.Context, p Page) (*List[SavedChart], error) {
	var answer struct {
		Data []SavedChart `json:"data"`
	}
	h, err := s.c.CallHeader(
		ctx,
		Request{Method: http.MethodGet, Path: s.path("charts"), Query: p.query(url.Values{}), Repeatable: true},
		&answer,
	)
	if err != nil {
		return nil, err
	}
	return &List[SavedChart]{answer.Data, total(h)}, nil
}

// All walks over all saved charts.
func (s *ChartService) All(ctx context.Context) iter.Seq2[SavedChart, error] {
	return all(Page{}, func(x *SavedChart) string { return x.ID }, func(p Page) (*List[SavedChart], error) { return s.List(ctx, p) })
}

// Create saves a chart.
func (s *ChartService) Create(ctx context.Context, in SavedChartInput) (*SavedChart, error) {
	return s.one(ctx, Request{Method: http.MethodPost, Path: s.path("charts"), Body: in.wire()})
}

// Get reads a saved chart.
func (s *ChartService) Get(ctx context.Context, id string) (*SavedChart, error) {
	return s.one(ctx, Request{Method: http.MethodGet, Path: s.path("charts", id), Repeatable: true})
}

// Update changes a saved chart and returns the updated one.
func (s *ChartService) Update(ctx context.Context, id string, u SavedChartInput) (*SavedChart, error) {
	method := http.MethodPut
	if s.project != nil {
		method = http.MethodPatch
	}
	return s.one(ctx, Request{Method: method, Path: s.path("charts", id), Body: u.wire(), Repeatable: true})
}

func (s *ChartService) one(ctx context.Context, r Request) (*SavedChart, error) {
	var answer struct {
		Data SavedChart `json:"data"`
	}
	if err := s.c.Call(ctx, r, &answer); err != nil {
		return nil, err
	}
	return &answer.Data, nil
}

// Delete deletes a saved chart.
func (s *ChartService) Delete(ctx context.Context, id string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: s.path("charts", id), Repeatable: true, deletes: true}, nil)
}
