package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/dashboard"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Dashboards is where the dashboards of a project are.
type Dashboards interface {
	// CreateDashboard saves a dashboard that is valid, and returns it as it is stored.
	CreateDashboard(ctx context.Context, projectID int64, d dashboard.Dashboard) (dashboard.Dashboard, error)
	// FindDashboards lists the ids of all dashboards of a project, oldest first, a page of them, and counts all.
	FindDashboards(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	// LoadDashboards reads dashboards in the order of ids. Those that are gone are left out.
	LoadDashboards(ctx context.Context, projectID int64, ids []string) ([]dashboard.Dashboard, error)
	// Dashboard returns a dashboard. fault.NotFound if there is none.
	Dashboard(ctx context.Context, projectID int64, id string) (dashboard.Dashboard, error)
	// UpdateDashboard changes a dashboard and returns the updated one. fault.NotFound if there is none, fault.Invalid if it would
	// break a rule.
	UpdateDashboard(ctx context.Context, projectID int64, u dashboard.Update) (dashboard.Dashboard, error)
	// DeleteDashboard deletes a dashboard. fault.NotFound if there is none.
	DeleteDashboard(ctx context.Context, projectID int64, id string) error
}

var dashboardOperations = []apiOperation{
	{"listDashboards", http.MethodGet, []string{"/dashboards"}, project.ScopeRead, (*Server).listDashboards},
	{"createDashboard", http.MethodPost, []string{"/dashboards"}, project.ScopeFull, (*Server).createDashboard},
	{"getDashboard", http.MethodGet, []string{"/dashboards/{dashboard}"}, project.ScopeRead, (*Server).getDashboard},
	{"updateDashboard", http.MethodPut, []string{"/dashboards/{dashboard}"}, project.ScopeFull, (*Server).updateDashboard},
	{"deleteDashboard", http.MethodDelete, []string{"/dashboards/{dashboard}"}, project.ScopeFull, (*Server).deleteDashboard},
}

func (s *Server) listDashboards(c *call) error {
	return dataPage(c, s.Store.FindDashboards, s.Store.LoadDashboards, wire.AppendDashboard)
}

func (s *Server) createDashboard(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	item, err := wire.DecodeDashboard(body)
	if err != nil {
		return err
	}
	if item, err = s.Store.CreateDashboard(c.ctx(), c.project.ID, item); err != nil {
		return err
	}
	return s.answerDashboard(c, &item)
}

func (s *Server) getDashboard(c *call) error {
	item, err := s.Store.Dashboard(c.ctx(), c.project.ID, c.text("dashboard"))
	if err != nil {
		return err
	}
	return s.answerDashboard(c, &item)
}

// updateDashboard changes the fields that are given.
func (s *Server) updateDashboard(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	u, err := wire.DecodeDashboardUpdate(body, c.text("dashboard"))
	if err != nil {
		return err
	}
	item, err := s.Store.UpdateDashboard(c.ctx(), c.project.ID, u)
	if err != nil {
		return err
	}
	return s.answerDashboard(c, &item)
}

// answerDashboard answers with a dashboard and its charts, so that a page that shows it asks once.
func (s *Server) answerDashboard(c *call, d *dashboard.Dashboard) error {
	tiles, err := d.Tiles()
	if err != nil {
		return err
	}
	var ids []string
	for _, t := range tiles {
		if !slices.Contains(ids, t.Chart) {
			ids = append(ids, t.Chart)
		}
	}
	charts := []chart.Chart{}
	if len(ids) > 0 {
		if charts, err = s.Store.LoadCharts(c.ctx(), c.project.ID, ids); err != nil {
			return err
		}
	}
	return c.data(wire.AppendDashboardWithCharts(nil, d, charts))
}

func (s *Server) deleteDashboard(c *call) error {
	id := c.text("dashboard")
	if err := s.Store.DeleteDashboard(c.ctx(), c.project.ID, id); err != nil {
		return err
	}
	return c.dataDeleted("dashboard", id)
}
