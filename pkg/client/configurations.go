package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Configuration is stored settings of a model or pipeline.
type Configuration struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Type       string   `json:"type"` // LLM or pipeline
	Provider   string   `json:"provider"`
	Parameters Object   `json:"parameters"`
	Env        []string `json:"env"` // dev, staging, prod
	// EnvVersions has the environments that stay at a version; all others get the current one.
	EnvVersions    map[string]int64 `json:"env_versions"`
	Tags           []string         `json:"tags"`
	UserProperties Object           `json:"user_properties"`
	Version        int64            `json:"version"`
	CreatedAt      time.Time        `json:"created_at"`
	UpdatedAt      time.Time        `json:"updated_at,omitzero"` // zero if it never changed
}

// ConfigurationInput is a configuration to be created, or changed: each field that is not empty
// replaces what was there, Parameters as a whole.
type ConfigurationInput struct {
	Name     string `json:"name,omitempty"` // required, in a change too
	Provider string `json:"provider,omitempty"`
	Type     string `json:"type,omitempty"`
	// Parameters have the keys call_type (chat or completion) and model, and may have
	// hyperparameters, responseFormat, selectedFunctions, functionCallParams, forceFunction and
	// template. All other keys are kept as they are.
	Parameters Object   `json:"parameters,omitempty"`
	Env        []string `json:"env,omitzero"`
	// EnvVersions deploys to environments beside those that there are: to each the version, which it then stays at, or with 0 the
	// current one of any time.
	EnvVersions    map[string]int64 `json:"env_versions,omitempty"`
	Tags           []string         `json:"tags,omitzero"`
	UserProperties Object           `json:"user_properties,omitzero"`
}

// ConfigurationQuery chooses configurations, oldest first. What is empty does not count. With Env each is given at the version that
// the first of the environments gets to which it is deployed.
type ConfigurationQuery struct {
	Name string   // exactly this name
	Env  []string // deployed to one of these environments
	Tags []string // with all of these tags
	Page
}

// ConfigurationService is what can be done with configurations.
type ConfigurationService struct{ c *Client }

// List reads a page of configurations.
func (s *ConfigurationService) List(ctx context.Context, q ConfigurationQuery) (*List[Configuration], error) {
	v := q.query(url.Values{})
	set(v, "name", q.Name)
	set(v, "env", strings.Join(q.Env, ","))
	setList(v, "tags", q.Tags)
	var answer struct {
		Configurations []Configuration `json:"configurations"`
	}
	h, err := s.c.CallHeader(ctx, Request{Method: http.MethodGet, Path: "/v1/configurations", Query: v, Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &List[Configuration]{answer.Configurations, total(h)}, nil
}

// All walks over all configurations from a page on.
func (s *ConfigurationService) All(ctx context.Context, q ConfigurationQuery) iter.Seq2[Configuration, error] {
	return all(q.Page, func(x *Configuration) string { return x.ID }, func(p Page) (*List[Configuration], error) { q.Page = p; return s.List(ctx, q) })
}

// Create creates a configuration and gives its id.
func (s *ConfigurationService) Create(ctx context.Context, in ConfigurationInput) (string, error) {
	var answer struct {
		ID string `json:"insertedId"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodPost, Path: "/v1/configurations", Body: &in}, &answer)
	return answer.ID, err
}

// Get reads a configuration; version 0 is the current one.
func (s *ConfigurationService) Get(ctx context.Context, id string, version int64) (*Configuration, error) {
	q := url.Values{}
	setInt(q, "version", version)
	return s.get(ctx, id, q)
}

// Deployed reads a configuration at the version that an environment gets.
func (s *ConfigurationService) Deployed(ctx context.Context, id, env string) (*Configuration, error) {
	return s.get(ctx, id, url.Values{"env": {env}})
}

func (s *ConfigurationService) get(ctx context.Context, id string, q url.Values) (*Configuration, error) {
	var answer struct {
		Configuration Configuration `json:"configuration"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodGet, Path: path("configurations", id), Query: q, Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &answer.Configuration, nil
}

// Versions reads a page of a configuration's versions, newest first.
func (s *ConfigurationService) Versions(ctx context.Context, id string, p Page) (*List[Version], error) {
	return versions(ctx, s.c, path("configurations", id, "versions"), p)
}

// AllVersions walks over all versions of a configuration, newest first.
func (s *ConfigurationService) AllVersions(ctx context.Context, id string) iter.Seq2[Version, error] {
	return all(Page{}, nil, func(p Page) (*List[Version], error) { return s.Versions(ctx, id, p) })
}

// Update changes a configuration, and says whether that was a change.
func (s *ConfigurationService) Update(ctx context.Context, id string, u ConfigurationInput) (changed bool, err error) {
	var answer struct {
		Modified int `json:"modifiedCount"`
	}
	err = s.c.Call(ctx, Request{Method: http.MethodPut, Path: path("configurations", id), Body: &u, Repeatable: true}, &answer)
	return answer.Modified > 0, err
}

// Delete deletes a configuration with its versions.
func (s *ConfigurationService) Delete(ctx context.Context, id string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: path("configurations", id), Repeatable: true, deletes: true}, nil)
}
