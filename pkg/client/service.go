package client

import (
	"context"
	"net/http"
	"time"
)

// Ready asks whether the server takes and answers requests; nil means it does. It needs no key.
func (c *Client) Ready(ctx context.Context) error {
	return c.Call(ctx, Request{Method: http.MethodGet, Path: "/v1/healthcheck", Repeatable: true}, nil)
}

// OpenAPI reads the description of the API, in YAML.
func (c *Client) OpenAPI(ctx context.Context) (text []byte, err error) {
	err = c.Call(ctx, Request{Method: http.MethodGet, Path: "/v1/openapi.yaml", Accept: "application/yaml", Repeatable: true}, &text)
	return text, err
}

// Refusal is a request that the server refused, or several alike.
type Refusal struct {
	Time      time.Time `json:"time"` // of the last one
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	Status    int       `json:"status"` // that of HTTP, also for gRPC
	Message   string    `json:"message"`
	KeyPrefix string    `json:"key_prefix"` // the first characters of the key; empty if there was none
	Count     int64     `json:"count"`
}

// Refusals reads the latest requests of the project that were refused, the last one first; those of unknown callers are among
// them if the key is of scope admin, or the server has a single project.
func (c *Client) Refusals(ctx context.Context) ([]Refusal, error) {
	var answer struct {
		Refusals []Refusal `json:"refusals"`
	}
	err := c.Call(ctx, Request{Method: http.MethodGet, Path: "/v1/server/refusals", Repeatable: true}, &answer)
	return answer.Refusals, err
}
