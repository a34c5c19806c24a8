package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Datapoint is one example, in any number of datasets.
type Datapoint struct {
	ID             string    `json:"id"`
	Inputs         Object    `json:"inputs"`
	History        []Object  `json:"history"`
	GroundTruth    Object    `json:"ground_truth"`
	Metadata       Object    `json:"metadata"`
	LinkedEvent    string    `json:"linked_event"` // id of the event it was made of, if any
	LinkedDatasets []string  `json:"linked_datasets"`
	LinkedEvals    []string  `json:"linked_evals,omitempty"`
	Saved          bool      `json:"saved,omitempty"`
	Type           string    `json:"type,omitempty"`
	Deleted        bool      `json:"deleted,omitempty"` // in an old version of a dataset: only its id is left
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at,omitzero"` // zero if it never changed
}

// DatapointInput is a datapoint to be created, or changed: each field that is not nil or empty
// replaces what was there.
type DatapointInput struct {
	Inputs         Object   `json:"inputs,omitzero"`
	History        []Object `json:"history,omitzero"`
	GroundTruth    Object   `json:"ground_truth,omitzero"`
	Metadata       Object   `json:"metadata,omitzero"`
	LinkedEvent    string   `json:"linked_event,omitempty"`
	LinkedDatasets []string `json:"linked_datasets,omitzero"` // all datasets that have it
	LinkedEvals    []string `json:"linked_evals,omitzero"`
	Saved          *bool    `json:"saved,omitempty"`
	Type           string   `json:"type,omitempty"`
	IfVersion      int64    `json:"if_version,omitempty"` // of an update: refused if its contents are in another version (Row.DatapointVersion)
}

// DatapointQuery chooses datapoints, oldest first. What is empty does not count.
type DatapointQuery struct {
	IDs         []string // at most 2,000
	DatasetName string
	Page        // at most 10,000 a page
}

// DatapointBatch selects the events that datapoints are made of: those of Events, or with SelectAll
// those that Filters and DateRange choose.
type DatapointBatch struct {
	Events    []string        // ids
	SelectAll bool            // newest first, at most 10,000
	Filters   []Filter        // with SelectAll
	DateRange DateRange       // with SelectAll
	Checked   map[string]bool // by id of event: true adds one, false leaves one of SelectAll out
	Mapping   *Mapping        // dotted paths into the event; nil: its inputs, and its outputs as ground truth
	DatasetID string          // to which they are added, if not empty
}

// DatapointService is what can be done with datapoints.
type DatapointService struct{ c *Client }

// List reads a page of datapoints.
func (s *DatapointService) List(ctx context.Context, q DatapointQuery) (*List[Datapoint], error) {
	v := q.query(url.Values{})
	setList(v, "datapoint_ids", q.IDs)
	set(v, "dataset_name", q.DatasetName)
	var answer struct {
		Datapoints []Datapoint `json:"datapoints"`
	}
	h, err := s.c.CallHeader(ctx, Request{Method: http.MethodGet, Path: "/v1/datapoints", Query: v, Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &List[Datapoint]{answer.Datapoints, total(h)}, nil
}

// All walks over all datapoints from a page on.
func (s *DatapointService) All(ctx context.Context, q DatapointQuery) iter.Seq2[Datapoint, error] {
	return all(q.Page, func(x *Datapoint) string { return x.ID }, func(p Page) (*List[Datapoint], error) { q.Page = p; return s.List(ctx, q) })
}

// Create creates a datapoint, adds it to its datasets and gives its id.
func (s *DatapointService) Create(ctx context.Context, in DatapointInput) (string, error) {
	return insert(ctx, s.c, "/v1/datapoints", &in)
}

// CreateFromEvents makes datapoints of events, all or none, and gives their ids.
func (s *DatapointService) CreateFromEvents(ctx context.Context, b DatapointBatch) ([]string, error) {
	body := struct {
		Events    []string        `json:"events,omitempty"`
		SelectAll bool            `json:"selectAll,omitempty"`
		Filters   []Filter        `json:"filters,omitempty"`
		DateRange any             `json:"dateRange,omitempty"`
		Checked   map[string]bool `json:"checkState,omitempty"`
		Mapping   *Mapping        `json:"mapping,omitempty"`
		DatasetID string          `json:"dataset_id,omitempty"`
	}{b.Events, b.SelectAll, b.Filters, b.DateRange.wire(), b.Checked, b.Mapping, b.DatasetID}
	var answer struct {
		IDs []string `json:"insertedIds"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodPost, Path: "/v1/datapoints/batch", Body: body}, &answer)
	return answer.IDs, err
}

// Get reads a datapoint.
func (s *DatapointService) Get(ctx context.Context, id string) (*Datapoint, error) {
	var answer struct {
		Datapoint [1]Datapoint `json:"datapoint"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodGet, Path: path("datapoints", id), Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &answer.Datapoint[0], nil
}

// Update changes a datapoint, and says whether that was a change.
func (s *DatapointService) Update(ctx context.Context, id string, u DatapointInput) (changed bool, err error) {
	var answer struct {
		Result struct {
			Modified int `json:"modifiedCount"`
		} `json:"result"`
	}
	err = s.c.Call(ctx, Request{Method: http.MethodPut, Path: path("datapoints", id), Body: &u, Repeatable: true}, &answer)
	return answer.Result.Modified > 0, err
}

// Delete deletes a datapoint. Old versions of its datasets still have it.
func (s *DatapointService) Delete(ctx context.Context, id string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: path("datapoints", id), Repeatable: true, deletes: true}, nil)
}
