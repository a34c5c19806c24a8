package client

import (
	"context"
	"net/http"
	"net/url"
)

// Schema lists the fields that events have, by which they can be filtered, charted and projected.
type Schema struct {
	Fields   []SchemaField `json:"fields"`   // sorted by type and name
	Datasets []string      `json:"datasets"` // ids of datasets
	// Mappings has the fields by the name of the event.
	Mappings map[string][]MappedField `json:"mappings"`
}

// SchemaField is a field that events of a type have.
type SchemaField struct {
	Name      string `json:"name"` // dotted path, such as metadata.cost
	EventType string `json:"event_type"`
}

// MappedField is a field that events of a name and type have.
type MappedField struct {
	Name      string `json:"field_name"`
	EventType string `json:"event_type"`
}

func schema(ctx context.Context, c *Client, path string, r DateRange, runID string) (*Schema, error) {
	q := url.Values{}
	setRange(q, r)
	set(q, "evaluation_id", runID)
	return one[Schema](ctx, c, Request{Method: http.MethodGet, Path: path, Query: q, Repeatable: true})
}
