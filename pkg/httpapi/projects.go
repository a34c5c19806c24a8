package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Projects is what the project handlers ask of a store.
type Projects interface {
	// Projects lists projects, oldest first, a page of them (the first is 1), and counts all; only
	// the one of this name, if name is not empty.
	Projects(ctx context.Context, name string, limit, page int) (list []project.Project, total int, err error)
	// ProjectByName returns a project. fault.NotFound if there is none.
	ProjectByName(ctx context.Context, name string) (project.Project, error)
	// ProjectByPublicID returns a project. fault.NotFound if there is none.
	ProjectByPublicID(ctx context.Context, publicID string) (project.Project, error)
	// CreateProject makes a project of p's name, description and type, and returns it as stored.
	// fault.Conflict if the name is taken.
	CreateProject(ctx context.Context, p project.Project) (project.Project, error)
	// UpdateProject changes a project and returns it as stored. fault.NotFound if there is none,
	// fault.Conflict if another one has the name.
	UpdateProject(ctx context.Context, id int64, c project.Change) (project.Project, error)
	// DeleteProject deletes a project. When it returns nil, the project is not found any more, its
	// keys are unknown and its name is free; its data is deleted from then on in the background, in
	// slices, also by the next process if this one ends. gone is closed when nothing is left.
	//
	// fault.NotFound if there is no such project. fault.Conflict for the first project of the
	// store, where requests without a key go; for the one of the configured or generated key; and
	// where no key would be left that may manage projects.
	DeleteProject(ctx context.Context, id int64) (gone <-chan struct{}, err error)
}

var projectOperations = []apiOperation{
	{"listProjects", http.MethodGet, []string{"/projects"}, project.ScopeRead, (*Server).listProjects},
	{"createProject", http.MethodPost, []string{"/projects"}, project.ScopeAdmin, (*Server).createProject},
	{"updateProject", http.MethodPut, []string{"/projects"}, project.ScopeAdmin, (*Server).updateProject},
	{"deleteProject", http.MethodDelete, []string{"/projects"}, project.ScopeAdmin, (*Server).deleteProject},
}

// listProjects lists the projects that the caller may know of: all of them for a key of scope
// admin, else the key's own.
func (s *Server) listProjects(c *call) error {
	var params struct {
		Name string `query:"name"`
	}
	if err := c.query(&params); err != nil {
		return err
	}
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	var some []project.Project
	total := 0
	if c.scope.Allows(project.ScopeAdmin) {
		if some, total, err = s.Store.Projects(c.ctx(), params.Name, limit, page); err != nil {
			return err
		}
	} else if params.Name == "" || params.Name == c.project.Name {
		some, total = []project.Project{c.project}[min(page-1, 1):], 1
	}
	c.total(total)
	return c.answer(wire.ProjectsAnswer(some))
}

func (s *Server) createProject(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	p, err := wire.DecodeProject(body)
	if err != nil {
		return err
	}
	if p, err = s.Store.CreateProject(c.ctx(), p); err != nil {
		return err
	}
	return c.answer(wire.ProjectAnswer(&p))
}

func (s *Server) updateProject(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	ref, change, err := wire.DecodeProjectUpdate(body)
	if err != nil {
		return err
	}
	p, err := s.projectOf(c.ctx(), ref)
	if err != nil {
		return err
	}
	if p, err = s.Store.UpdateProject(c.ctx(), p.ID, change); err != nil {
		return err
	}
	return c.answer(wire.ProjectAnswer(&p))
}

// deleteProject answers once the project is gone for all callers; its data is deleted after that.
func (s *Server) deleteProject(c *call) error {
	var params struct {
		ID   string `query:"project_id"`
		Name string `query:"name"`
	}
	if err := c.query(&params); err != nil {
		return err
	}
	ref := wire.ProjectRef{ID: params.ID, Name: params.Name}
	if ref == (wire.ProjectRef{}) {
		return fault.InvalidField("name", "is required, or project_id")
	}
	p, err := s.projectOf(c.ctx(), ref)
	if err != nil {
		return err
	}
	if _, err := s.Store.DeleteProject(c.ctx(), p.ID); err != nil {
		return err
	}
	return c.deleted(p.PublicID)
}

func (s *Server) projectOf(ctx context.Context, ref wire.ProjectRef) (project.Project, error) {
	if ref.ID != "" {
		p, err := s.Store.ProjectByPublicID(ctx, ref.ID)
		return p, missing("project_id", err)
	}
	p, err := s.Store.ProjectByName(ctx, ref.Name)
	return p, missing("name", err)
}

// pathProject returns the project whose id stands in the path.
func (s *Server) pathProject(c *call) (project.Project, error) {
	return s.Store.ProjectByPublicID(c.ctx(), c.text("id"))
}
