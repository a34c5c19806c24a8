package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Scope is what a key allows.
type Scope string

// The scopes of keys.
const (
	ScopeIngest Scope = "ingest" // to write telemetry
	ScopeRead   Scope = "read"   // to read everything of the project
	ScopeFull   Scope = "full"   // both, and to change and delete everything of the project
	ScopeAdmin  Scope = "admin"  // also to manage projects and keys
)

// Key is a key of a project, without the key itself.
type Key struct {
	ID          string    `json:"key_id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Prefix      string    `json:"prefix"` // its first characters
	Scope       Scope     `json:"scope"`
	Origin      string    `json:"origin"` // api, configured or generated
	ProjectID   string    `json:"root_scope_id"`
	InForce     bool      `json:"in_force"` // not told of a new key, which is
	CreatedAt   time.Time `json:"created_at"`
	ExpiresAt   time.Time `json:"expires_at,omitzero"`   // zero: never
	RevokedAt   time.Time `json:"revoked_at,omitzero"`   // zero: not
	LastUsed    time.Time `json:"last_used_at,omitzero"` // of the last request that it was good for, to a minute; zero: never
	LastFrom    string    `json:"last_used_from"`        // the address of that request's connection
}

// NewKey is a key that was just made. Its Value is never shown again.
type NewKey struct {
	Key
	Value string `json:"key_value"`
}

// KeyInput is a key to be made.
type KeyInput struct {
	Name        string
	Description string
	Scope       Scope
	ExpiresAt   time.Time // in the future
}

// KeyQuery chooses keys, oldest first.
type KeyQuery struct {
	Prefix string // only keys whose shown characters begin so
	Page
}

// KeyService is what can be done with the keys of projects. All of it needs a key of scope
// admin.
type KeyService struct{ c *Client }

// List reads a page of a project's keys, revoked ones too.
func (s *KeyService) List(ctx context.Context, project string, q KeyQuery) (*List[Key], error) {
	v := q.query(url.Values{})
	set(v, "prefix", q.Prefix)
	var answer struct {
		Data []Key `json:"data"`
	}
	h, err := s.c.CallHeader(
		ctx,
		Request{Method: http.MethodGet, Path: path("projects", project, "api_keys"), Query: v, Repeatable: true},
		&answer,
	)
	if err != nil {
		return nil, err
	}
	return &List[Key]{answer.Data, total(h)}, nil
}

// All walks over all keys of a project from a page on.
func (s *KeyService) All(ctx context.Context, project string, q KeyQuery) iter.Seq2[Key, error] {
	return all(q.Page, func(x *Key) string { return x.ID }, func(p Page) (*List[Key], error) { q.Page = p; return s.List(ctx, project, q) })
}

// Create makes a key of any scope, which expires.
func (s *KeyService) Create(ctx context.Context, project string, in KeyInput) (*NewKey, error) {
	body := struct {
		Name        string    `json:"name"`
		Description string    `json:"description,omitempty"`
		Permissions []Scope   `json:"permissions"`
		ExpiresAt   time.Time `json:"expires_at"`
	}{in.Name, in.Description, []Scope{in.Scope}, in.ExpiresAt.UTC()}
	return s.create(ctx, path("projects", project, "fine_grained_api_keys"), body)
}

// CreateIngestion makes a key that may write telemetry and does not expire.
func (s *KeyService) CreateIngestion(ctx context.Context, project, name, description string) (*NewKey, error) {
	body := struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
	}{name, description}
	return s.create(ctx, path("projects", project, "ingestion_api_keys"), body)
}

func (s *KeyService) create(ctx context.Context, path string, body any) (*NewKey, error) {
	var answer struct {
		Data NewKey `json:"data"`
	}
	if err := s.c.Call(ctx, Request{Method: http.MethodPost, Path: path, Body: body}, &answer); err != nil {
		return nil, err
	}
	return &answer.Data, nil
}

// Revoke invalidates a key and returns the updated one. Doing so again changes nothing.
func (s *KeyService) Revoke(ctx context.Context, project, key string) (*Key, error) {
	var answer struct {
		Data Key `json:"data"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodDelete, Path: path("projects", project, "api_keys", key), Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &answer.Data, nil
}
