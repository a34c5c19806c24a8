package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Limits is what the handlers of limits ask of a store.
type Limits interface {
	mount.Limits
	// StoredBytes returns how many bytes a project has stored: payloads as they are compressed, the texts
	// of rows, and 256 bytes for each row. Right after a deletion it may be too large, for some seconds
	// or as long as counting takes.
	StoredBytes(ctx context.Context, projectID int64) (int64, error)
	// CheckStored is fault.Limited if a project has stored all that it may, and nil for one that is
	// not there.
	CheckStored(ctx context.Context, projectID int64) error
	// OwnLimits returns the limits that were set for a project. fault.NotFound if there is no such
	// project.
	OwnLimits(ctx context.Context, projectID int64) (project.Limits, error)
	// ChangeLimits changes the limits of a project, all of what change does or, if it returns an error,
	// nothing, and returns the updated ones. fault.NotFound if there is no such project.
	ChangeLimits(ctx context.Context, projectID int64, change func(*project.Limits) error) (project.Limits, error)
}

var limitOperations = []apiOperation{
	{"getLimits", http.MethodGet, []string{"/projects/{id}/limits"}, project.ScopeAdmin, (*Server).getLimits},
	{"setLimits", http.MethodPut, []string{"/projects/{id}/limits"}, project.ScopeAdmin, (*Server).setLimits},
}

func (s *Server) getLimits(c *call) error {
	p, err := s.pathProject(c)
	if err != nil {
		return err
	}
	return s.answerLimits(c, &p)
}

func (s *Server) setLimits(c *call) error {
	p, err := s.pathProject(c)
	if err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	change, err := wire.DecodeLimits(body)
	if err != nil {
		return err
	}
	if _, err := s.Store.ChangeLimits(c.ctx(), p.ID, change); err != nil {
		return err
	}
	return s.answerLimits(c, &p)
}

func (s *Server) answerLimits(c *call, p *project.Project) error {
	own, err := s.Store.OwnLimits(c.ctx(), p.ID)
	if err != nil {
		return err
	}
	effective, err := s.Store.ProjectLimits(c.ctx(), p.ID)
	if err != nil {
		return err
	}
	stored, err := s.Store.StoredBytes(c.ctx(), p.ID)
	if err != nil {
		return err
	}
	answer, err := wire.LimitsAnswer(p, &own, &effective, stored)
	if err != nil {
		return err
	}
	return c.answer(answer)
}
