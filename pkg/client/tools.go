package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Tool is the definition of a function that a model may call.
type Tool struct {
	ID          string    `json:"id"`
	Project     string    `json:"task"` // name
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Parameters  any       `json:"parameters"` // mostly a JSON Schema
	Type        string    `json:"tool_type"`  // function or tool
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at,omitzero"` // zero if it never changed
}

// ToolInput is a tool to be created, or changed: what is empty stays as it is.
type ToolInput struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Parameters  any    `json:"parameters,omitempty"`
	Type        string `json:"tool_type,omitempty"`
}

// ToolService is what can be done with tools.
type ToolService struct{ c *Client }

// List reads a page of the tools, oldest first.
func (s *ToolService) List(ctx context.Context, p Page) (*List[Tool], error) {
	var answer struct {
		Tools []Tool `json:"tools"`
	}
	h, err := s.c.CallHeader(ctx, Request{Method: http.MethodGet, Path: "/v1/tools", Query: p.query(url.Values{}), Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &List[Tool]{answer.Tools, total(h)}, nil
}

// All walks over all tools.
func (s *ToolService) All(ctx context.Context) iter.Seq2[Tool, error] {
	return all(Page{}, func(x *Tool) string { return x.ID }, func(p Page) (*List[Tool], error) { return s.List(ctx, p) })
}

// Create creates a tool and gives its id.
func (s *ToolService) Create(ctx context.Context, in ToolInput) (string, error) {
	return insert(ctx, s.c, "/v1/tools", &in)
}

// Update changes a tool and returns the updated one.
func (s *ToolService) Update(ctx context.Context, id string, u ToolInput) (*Tool, error) {
	body := struct {
		ID string `json:"id"`
		ToolInput
	}{id, u}
	var answer struct {
		Result Tool `json:"result"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodPut, Path: "/v1/tools", Body: body, Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &answer.Result, nil
}

// Delete deletes a tool.
func (s *ToolService) Delete(ctx context.Context, id string) error {
	q := url.Values{"id": {id}}
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: "/v1/tools", Query: q, Repeatable: true, deletes: true}, nil)
}
