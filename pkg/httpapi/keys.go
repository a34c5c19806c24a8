package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Keys is what the key handlers ask of a store.
type Keys interface {
	// InsertKey stores a key. The same key again changes nothing. fault.NotFound if there is no
	// such project.
	InsertKey(ctx context.Context, k project.Key) error
	// Keys lists the keys of a project whose readable part begins with prefix, active or not,
	// oldest first, a page of them (the first is 1), and counts all.
	Keys(ctx context.Context, projectID int64, prefix string, limit, page int) (list []project.Key, total int, err error)
	// RevokeKey deactivates a key of a project and returns the updated one. One that is not
	// active stays as it is. fault.NotFound if there is none; fault.Conflict for the
	// configured key, and for the last key that may manage keys.
	RevokeKey(ctx context.Context, projectID int64, id string) (project.Key, error)
}

var keyOperations = []apiOperation{
	{"createIngestionKey", http.MethodPost, []string{"/projects/{id}/ingestion_api_keys"}, project.ScopeAdmin, (*Server).createIngestionKey},
	{"createDataPlaneKey", http.MethodPost, []string{"/projects/{id}/fine_grained_api_keys"}, project.ScopeAdmin, (*Server).createDataPlaneKey},
	{"listKeys", http.MethodGet, []string{"/projects/{id}/api_keys"}, project.ScopeAdmin, (*Server).listKeys},
	{"revokeKey", http.MethodDelete, []string{"/projects/{id}/api_keys/{key}"}, project.ScopeAdmin, (*Server).revokeKey},
}

// createIngestionKey makes a key that may write telemetry, and shows it this once.
func (s *Server) createIngestionKey(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	k, err := wire.DecodeIngestionKey(body, s.Now())
	if err != nil {
		return err
	}
	return s.createKey(c, k, project.KindIngestion, wire.IngestionKeyAnswer)
}

// createDataPlaneKey makes a key of any scope, and shows it this once.
func (s *Server) createDataPlaneKey(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	k, permissions, err := wire.DecodeDataPlaneKey(body, s.Now())
	if err != nil {
		return err
	}
	return s.createKey(c, k, project.KindDataPlane, func(k *project.Key, secret string, p *project.Project) json.RawMessage {
		return wire.DataPlaneKeyAnswer(k, secret, permissions, p)
	})
}

func (s *Server) createKey(
	c *call,
	k project.Key,
	kind project.Kind,
	answer func(*project.Key, string, *project.Project) json.RawMessage,
) error {
	p, err := s.pathProject(c)
	if err != nil {
		return err
	}
	secret := kind.Secret()
	k.ID, k.ProjectID, k.Origin, k.CreatedAt = uuid.NewString(), p.ID, project.OriginAPI, s.Now()
	k.Prefix, k.Hash = project.Prefix(secret), project.HashSecret(secret)
	if err := s.Store.InsertKey(c.ctx(), k); err != nil {
		return err
	}
	return c.answer(answer(&k, secret, &p))
}

func (s *Server) listKeys(c *call) error {
	var params struct {
		Prefix string `query:"prefix"`
	}
	if err := c.query(&params); err != nil {
		return err
	}
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	p, err := s.pathProject(c)
	if err != nil {
		return err
	}
	some, total, err := s.Store.Keys(c.ctx(), p.ID, params.Prefix, limit, page)
	if err != nil {
		return err
	}
	c.total(total)
	return c.answer(wire.KeysAnswer(some, &p, s.Now()))
}

func (s *Server) revokeKey(c *call) error {
	p, err := s.pathProject(c)
	if err != nil {
		return err
	}
	id, err := wire.ParseID(c.r.PathValue("key"))
	if err != nil {
		return fault.New(fault.NotFound, "no such key")
	}
	k, err := s.Store.RevokeKey(c.ctx(), p.ID, id.String())
	if err != nil {
		return err
	}
	return c.answer(wire.KeyAnswer(&k, &p, s.Now()))
}
