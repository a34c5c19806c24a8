package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/view"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Views is where the saved views of a project are.
type Views interface {
	// CreateView saves a view that is valid, and returns it as it is stored.
	CreateView(ctx context.Context, projectID int64, v view.View) (view.View, error)
	// FindViews lists the ids of all views of a project, oldest first, a page of them, and counts all.
	FindViews(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	// LoadViews reads views in the order of ids. Those that are gone are left out.
	LoadViews(ctx context.Context, projectID int64, ids []string) ([]view.View, error)
	// View returns a view. fault.NotFound if there is none.
	View(ctx context.Context, projectID int64, id string) (view.View, error)
	// UpdateView changes a view and returns the updated one. fault.NotFound if there is none, fault.Invalid if it would
	// break a rule.
	UpdateView(ctx context.Context, projectID int64, u view.Update) (view.View, error)
	// DeleteView deletes a view. fault.NotFound if there is none.
	DeleteView(ctx context.Context, projectID int64, id string) error
}

var viewOperations = []apiOperation{
	{"listViews", http.MethodGet, []string{"/views"}, project.ScopeRead, (*Server).listViews},
	{"createView", http.MethodPost, []string{"/views"}, project.ScopeFull, (*Server).createView},
	{"getView", http.MethodGet, []string{"/views/{view}"}, project.ScopeRead, (*Server).getView},
	{"updateView", http.MethodPut, []string{"/views/{view}"}, project.ScopeFull, (*Server).updateView},
	{"deleteView", http.MethodDelete, []string{"/views/{view}"}, project.ScopeFull, (*Server).deleteView},
}

func (s *Server) listViews(c *call) error {
	return dataPage(c, s.Store.FindViews, s.Store.LoadViews, wire.AppendView)
}

func (s *Server) createView(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	item, err := wire.DecodeView(body)
	if err != nil {
		return err
	}
	if item, err = s.Store.CreateView(c.ctx(), c.project.ID, item); err != nil {
		return err
	}
	return c.data(wire.AppendView(nil, &item))
}

func (s *Server) getView(c *call) error {
	item, err := s.Store.View(c.ctx(), c.project.ID, c.text("view"))
	if err != nil {
		return err
	}
	return c.data(wire.AppendView(nil, &item))
}

// updateView changes the fields that are given.
func (s *Server) updateView(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	u, err := wire.DecodeViewUpdate(body, c.text("view"))
	if err != nil {
		return err
	}
	item, err := s.Store.UpdateView(c.ctx(), c.project.ID, u)
	if err != nil {
		return err
	}
	return c.data(wire.AppendView(nil, &item))
}

func (s *Server) deleteView(c *call) error {
	id := c.text("view")
	if err := s.Store.DeleteView(c.ctx(), c.project.ID, id); err != nil {
		return err
	}
	return c.dataDeleted("view", id)
}
