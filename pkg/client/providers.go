package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Provider is an endpoint of models that the project has set up for its judges. Its key is never
// read back.
type Provider struct {
	Name           string    `json:"name"`
	Type           string    `json:"type"`     // the API that it speaks: openai, anthropic or gemini
	BaseURL        string    `json:"base_url"` // empty: the service of the type
	Model          string    `json:"model"`    // asked where a metric names none
	DailyBudgetUSD float64   `json:"daily_budget_usd"`
	DailyCalls     int64     `json:"daily_calls"`
	HasKey         bool      `json:"has_key"`
	Today          Spending  `json:"today"` // of its calls of this UTC day
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at,omitzero"` // zero if it never changed
}

// Spending is what calls of a provider have cost.
type Spending struct {
	USD   float64 `json:"usd"`
	Calls int64   `json:"calls"`
}

// ProviderInput sets what is not nil. A changed type or address takes the key away, unless one is
// set along with it.
type ProviderInput struct {
	Type           *string  `json:"type,omitempty"`
	BaseURL        *string  `json:"base_url,omitempty"`
	Model          *string  `json:"model,omitempty"`
	APIKey         *string  `json:"api_key,omitempty"`
	DailyBudgetUSD *float64 `json:"daily_budget_usd,omitempty"`
	DailyCalls     *int64   `json:"daily_calls,omitempty"`
}

// ProviderService is what can be done with model providers.
type ProviderService struct{ c *Client }

// List reads all providers of the project, oldest first.
func (s *ProviderService) List(ctx context.Context) ([]Provider, error) {
	var answer struct {
		Providers []Provider `json:"providers"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodGet, Path: "/v1/providers", Repeatable: true}, &answer)
	return answer.Providers, err
}

// Set makes a provider, or changes it, and returns the updated one.
func (s *ProviderService) Set(ctx context.Context, name string, in ProviderInput) (*Provider, error) {
	var p Provider
	if err := s.c.Call(ctx, Request{Method: http.MethodPut, Path: "/v1/providers/" + url.PathEscape(name), Body: &in, Repeatable: true}, &p); err != nil {
		return nil, err
	}
	return &p, nil
}

// Delete deletes a provider and its key.
func (s *ProviderService) Delete(ctx context.Context, name string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: "/v1/providers/" + url.PathEscape(name), Repeatable: true}, nil)
}
