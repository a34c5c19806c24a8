package client

import (
	"context"
	"net/http"
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
