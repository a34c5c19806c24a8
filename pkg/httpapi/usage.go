package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Usage is what the API asks of a store about what takes space.
type Usage interface {
	// DatabaseBytes returns what the database takes on disk: of SQLite its files, of PostgreSQL the tables of the store with
	// their indexes.
	DatabaseBytes(ctx context.Context) (int64, error)
	// EventCount returns how many events a project has, session events among them.
	EventCount(ctx context.Context, projectID int64) (int64, error)
	// Usage counts what takes the space of a project. It reads all rows of its events, within the time that a read may take.
	Usage(ctx context.Context, projectID int64) (project.Usage, error)
}

var usageOperations = []apiOperation{
	{"listUsage", http.MethodGet, []string{"/usage"}, project.ScopeAdmin, (*Server).listUsage},
	{"getUsage", http.MethodGet, []string{"/projects/{id}/usage"}, project.ScopeAdmin, (*Server).getUsage},
}

// listUsage answers from the sums that are kept, and reads no events.
func (s *Server) listUsage(c *call) error {
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	list, total, err := s.Store.Projects(c.ctx(), "", limit, page)
	if err != nil {
		return err
	}
	size, err := s.Store.DatabaseBytes(c.ctx())
	if err != nil {
		return err
	}
	sums := make([]wire.ProjectSums, len(list))
	for i := range list {
		sums[i].Project = &list[i]
		if sums[i].Events, err = s.Store.EventCount(c.ctx(), list[i].ID); err != nil {
			return err
		}
		if sums[i].StoredBytes, err = s.Store.StoredBytes(c.ctx(), list[i].ID); err != nil {
			return err
		}
	}
	c.total(total)
	return c.answer(wire.UsageListAnswer(size, sums))
}

func (s *Server) getUsage(c *call) error {
	p, err := s.pathProject(c)
	if err != nil {
		return err
	}
	u, err := s.Store.Usage(c.ctx(), p.ID)
	if err != nil {
		return err
	}
	stored, err := s.Store.StoredBytes(c.ctx(), p.ID)
	if err != nil {
		return err
	}
	return c.answer(wire.UsageAnswer(&p, &u, stored))
}
