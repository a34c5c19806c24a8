package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Index is what the API asks of a store about the segments in which it keeps events as columns.
type Index interface {
	// IndexState counts what a project has in segments, and what is read from rows instead. It reads the rows of events that
	// are in no segment yet, within the time that a read may take.
	IndexState(ctx context.Context, projectID int64) (project.Index, error)
	// RebuildIndex has all segments of a project built anew, in the background, also by the next process if this one ends.
	// Meanwhile their events are read from rows, so that answers stay the same. To ask for it again begins anew.
	RebuildIndex(ctx context.Context, projectID int64) error
}

var indexOperations = []apiOperation{
	{"getIndex", http.MethodGet, []string{"/projects/{id}/index"}, project.ScopeAdmin, (*Server).getIndex},
	{"rebuildIndex", http.MethodPost, []string{"/projects/{id}/index/rebuild"}, project.ScopeAdmin, (*Server).rebuildIndex},
}

func (s *Server) getIndex(c *call) error {
	p, err := s.pathProject(c)
	if err != nil {
		return err
	}
	return s.answerIndex(c, &p)
}

func (s *Server) rebuildIndex(c *call) error {
	p, err := s.pathProject(c)
	if err != nil {
		return err
	}
	if err := s.Store.RebuildIndex(c.ctx(), p.ID); err != nil {
		return err
	}
	return s.answerIndex(c, &p)
}

func (s *Server) answerIndex(c *call, p *project.Project) error {
	x, err := s.Store.IndexState(c.ctx(), p.ID)
	if err != nil {
		return err
	}
	return c.answer(wire.IndexAnswer(p, &x))
}
