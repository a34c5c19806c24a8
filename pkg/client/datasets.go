package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Dataset is an ordered set of datapoints with a name.
type Dataset struct {
	ID           string      `json:"id"`
	Name         string      `json:"name"`
	Description  string      `json:"description"`
	Datapoints   []string    `json:"datapoints"`                    // ids, in order
	Included     []Datapoint `json:"included_datapoints,omitempty"` // as they were in this version, if they were asked for
	NumPoints    int         `json:"num_points"`
	Type         string      `json:"type"`          // evaluation or fine-tuning
	PipelineType string      `json:"pipeline_type"` // event or session
	LinkedEvals  []string    `json:"linked_evals,omitempty"`
	Saved        bool        `json:"saved,omitempty"`
	Metadata     Object      `json:"metadata,omitempty"`
	Version      int64       `json:"version"`
	CreatedAt    time.Time   `json:"created_at"`
	UpdatedAt    time.Time   `json:"updated_at,omitzero"` // zero if it never changed
}

// DatasetInput is a dataset to be created.
type DatasetInput struct {
	Name         string   `json:"name,omitempty"`
	Description  string   `json:"description,omitempty"`
	Datapoints   []string `json:"datapoints,omitempty"` // ids, in order
	Type         string   `json:"type,omitempty"`
	PipelineType string   `json:"pipeline_type,omitempty"`
	LinkedEvals  []string `json:"linked_evals,omitempty"`
	Saved        bool     `json:"saved,omitempty"`
	Metadata     Object   `json:"metadata,omitempty"`
}

// DatasetUpdate changes a dataset. What is nil stays as it is; an empty list is one.
type DatasetUpdate struct {
	Name         *string  `json:"name,omitempty"`
	Description  *string  `json:"description,omitempty"`
	Datapoints   []string `json:"datapoints,omitzero"`         // the full list from now on, in order
	Add          []string `json:"add_datapoints,omitempty"`    // instead of Datapoints: to be put behind the others
	Remove       []string `json:"remove_datapoints,omitempty"` // instead of Datapoints: to be taken out
	Type         *string  `json:"type,omitempty"`
	PipelineType *string  `json:"pipeline_type,omitempty"`
	LinkedEvals  []string `json:"linked_evals,omitzero"`
	Saved        *bool    `json:"saved,omitempty"`
	Metadata     Object   `json:"metadata,omitzero"`
}

// DatasetQuery chooses datasets, oldest first. What is empty does not count.
type DatasetQuery struct {
	ID, Name, Type    string
	IncludeDatapoints bool
	Version           int64 // an old version of the dataset of ID
	WithoutIDs        bool  // Dataset.Datapoints are not wanted, which may be many
	Page
}

// Version is a version of a thing.
type Version struct {
	Version   int64     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
}

// Mapping defines what becomes of a row's keys, or of an event's dotted paths. Those it does not
// name become metadata of a row's datapoint.
type Mapping struct {
	Inputs      []string `json:"inputs,omitempty"`
	History     []string `json:"history,omitempty"`
	GroundTruth []string `json:"ground_truth,omitempty"`
}

// DatasetService is what can be done with datasets.
type DatasetService struct{ c *Client }

// List reads a page of datasets.
func (s *DatasetService) List(ctx context.Context, q DatasetQuery) (*List[Dataset], error) {
	v := q.query(url.Values{})
	set(v, "dataset_id", q.ID)
	set(v, "name", q.Name)
	set(v, "type", q.Type)
	setBool(v, "include_datapoints", q.IncludeDatapoints)
	setInt(v, "version", q.Version)
	withoutIDs(v, q.WithoutIDs)
	var answer struct {
		Datasets []Dataset `json:"datasets"`
	}
	h, err := s.c.CallHeader(ctx, Request{Method: http.MethodGet, Path: "/v1/datasets", Query: v, Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &List[Dataset]{answer.Datasets, total(h)}, nil
}

// All walks over all datasets from a page on.
func (s *DatasetService) All(ctx context.Context, q DatasetQuery) iter.Seq2[Dataset, error] {
	return all(q.Page, func(x *Dataset) string { return x.ID }, func(p Page) (*List[Dataset], error) { q.Page = p; return s.List(ctx, q) })
}

// Create creates a dataset and gives its id.
func (s *DatasetService) Create(ctx context.Context, in DatasetInput) (string, error) {
	return insert(ctx, s.c, "/v1/datasets", &in)
}

// insert creates a thing whose id the server makes. It is sent again only if the server has
// certainly not done it, or there would be two.
func insert(ctx context.Context, c *Client, path string, body any) (string, error) {
	var answer struct {
		Result struct {
			ID string `json:"insertedId"`
		} `json:"result"`
	}
	err := c.Call(ctx, Request{Method: http.MethodPost, Path: path, Body: body}, &answer)
	return answer.Result.ID, err
}

// DatasetRead controls how a dataset is read.
type DatasetRead struct {
	Version           int64 // an old version; 0 is the current one
	IncludeDatapoints bool
	WithoutIDs        bool // Dataset.Datapoints are not wanted, which may be many
}

func withoutIDs(v url.Values, without bool) {
	if without {
		v.Set("ids", "false")
	}
}

// Get reads a dataset.
func (s *DatasetService) Get(ctx context.Context, id string, how DatasetRead) (*Dataset, error) {
	v := url.Values{}
	setInt(v, "version", how.Version)
	setBool(v, "include_datapoints", how.IncludeDatapoints)
	withoutIDs(v, how.WithoutIDs)
	var answer struct {
		Dataset Dataset `json:"dataset"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodGet, Path: path("datasets", id), Query: v, Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &answer.Dataset, nil
}

// Versions reads a page of a dataset's versions, newest first.
func (s *DatasetService) Versions(ctx context.Context, id string, p Page) (*List[Version], error) {
	return versions(ctx, s.c, path("datasets", id, "versions"), p)
}

// AllVersions walks over all versions of a dataset, newest first.
func (s *DatasetService) AllVersions(ctx context.Context, id string) iter.Seq2[Version, error] {
	return all(Page{}, nil, func(p Page) (*List[Version], error) { return s.Versions(ctx, id, p) })
}

func versions(ctx context.Context, c *Client, path string, p Page) (*List[Version], error) {
	var answer struct {
		Versions []Version `json:"versions"`
	}
	h, err := c.CallHeader(ctx, Request{Method: http.MethodGet, Path: path, Query: p.query(url.Values{}), Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &List[Version]{answer.Versions, total(h)}, nil
}

// Update changes a dataset and returns the updated one.
func (s *DatasetService) Update(ctx context.Context, id string, u DatasetUpdate) (*Dataset, error) {
	var answer struct {
		Result Dataset `json:"result"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodPut, Path: path("datasets", id), Body: &u, Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &answer.Result, nil
}

// Delete deletes a dataset with its versions. Its datapoints stay.
func (s *DatasetService) Delete(ctx context.Context, id string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: path("datasets", id), Repeatable: true, deletes: true}, nil)
}

// AddRows makes datapoints of rows, at most 10,000, all or none, and gives their ids in the
// order of the rows.
func (s *DatasetService) AddRows(ctx context.Context, id string, rows []Object, m Mapping) ([]string, error) {
	body := struct {
		Data    []Object `json:"data"`
		Mapping Mapping  `json:"mapping"`
	}{rows, m}
	var answer struct {
		IDs []string `json:"datapoint_ids"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodPost, Path: path("datasets", id, "datapoints"), Body: body}, &answer)
	return answer.IDs, err
}

// Remove takes a datapoint out of a dataset. The datapoint stays.
func (s *DatasetService) Remove(ctx context.Context, id, datapoint string) error {
	return s.c.Call(
		ctx,
		Request{Method: http.MethodDelete, Path: path("datasets", id, "datapoints", datapoint), Repeatable: true, deletes: true},
		nil,
	)
}
