package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Charts is where the saved charts of a project are.
type Charts interface {
	// CreateChart saves a chart that is complete and valid, and returns it as it is stored.
	CreateChart(ctx context.Context, projectID int64, c chart.Chart) (chart.Chart, error)
	// FindCharts lists the ids of all saved charts of a project, oldest first, a page of them, and
	// counts all.
	FindCharts(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	// LoadCharts reads saved charts in the order of ids. Those that are gone are left out.
	LoadCharts(ctx context.Context, projectID int64, ids []string) ([]chart.Chart, error)
	// SavedChart returns a saved chart. fault.NotFound if there is none.
	SavedChart(ctx context.Context, projectID int64, id string) (chart.Chart, error)
	// UpdateChart changes a saved chart and returns the updated one. fault.NotFound if there is none,
	// fault.Invalid if it would break a rule.
	UpdateChart(ctx context.Context, projectID int64, u chart.Update) (chart.Chart, error)
	// DeleteChart deletes a saved chart. fault.NotFound if there is none.
	DeleteChart(ctx context.Context, projectID int64, id string) error
}

// Each operation is served twice: for the project of the key, and for the one in the path.
var chartOperations = []apiOperation{
	{"listCharts", http.MethodGet, []string{"/charts"}, project.ScopeRead, (*Server).listCharts},
	{"createChart", http.MethodPost, []string{"/charts"}, project.ScopeFull, (*Server).createChart},
	{"getChart", http.MethodGet, []string{"/charts/{chart}"}, project.ScopeRead, (*Server).getChart},
	{"updateChart", http.MethodPut, []string{"/charts/{chart}"}, project.ScopeFull, (*Server).updateChart},
	{"deleteChart", http.MethodDelete, []string{"/charts/{chart}"}, project.ScopeFull, (*Server).deleteChart},
	{"listProjectCharts", http.MethodGet, []string{"/projects/{id}/charts"}, project.ScopeRead, inPathProject((*Server).listCharts)},
	{"createProjectChart", http.MethodPost, []string{"/projects/{id}/charts"}, project.ScopeFull, inPathProject((*Server).createChart)},
	{"getProjectChart", http.MethodGet, []string{"/projects/{id}/charts/{chart}"}, project.ScopeRead, inPathProject((*Server).getChart)},
	{"updateProjectChart", http.MethodPatch, []string{"/projects/{id}/charts/{chart}"}, project.ScopeFull, inPathProject((*Server).updateChart)},
	{"deleteProjectChart", http.MethodDelete, []string{"/projects/{id}/charts/{chart}"}, project.ScopeFull, inPathProject((*Server).deleteChart)},
}

// inPathProject serves an operation in the project of the path. A key that does not manage
// projects finds its own there alone.
func inPathProject(handle func(*Server, *call) error) func(*Server, *call) error {
	return func(s *Server, c *call) error {
		p, err := s.pathProject(c)
		if err != nil {
			return err
		}
		if p.ID != c.project.ID && !c.scope.Allows(project.ScopeAdmin) {
			return fault.New(fault.NotFound, "no such project")
		}
		c.project = p
		return handle(s, c)
	}
}

func (s *Server) listCharts(c *call) error {
	return dataPage(c, s.Store.FindCharts, s.Store.LoadCharts,
		func(dst []byte, item *chart.Chart) []byte { return wire.AppendSavedChart(dst, item, c.dialect) })
}

func (s *Server) createChart(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	item, err := wire.DecodeSavedChart(body, s.Now())
	if err != nil {
		return err
	}
	if item, err = s.Store.CreateChart(c.ctx(), c.project.ID, item); err != nil {
		return err
	}
	return c.data(wire.AppendSavedChart(nil, &item, c.dialect))
}

func (s *Server) getChart(c *call) error {
	item, err := s.Store.SavedChart(c.ctx(), c.project.ID, c.text("chart"))
	if err != nil {
		return err
	}
	return c.data(wire.AppendSavedChart(nil, &item, c.dialect))
}

// updateChart changes the fields that are given, with either method.
func (s *Server) updateChart(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	u, err := wire.DecodeSavedChartUpdate(body, c.text("chart"), s.Now())
	if err != nil {
		return err
	}
	item, err := s.Store.UpdateChart(c.ctx(), c.project.ID, u)
	if err != nil {
		return err
	}
	return c.data(wire.AppendSavedChart(nil, &item, c.dialect))
}

func (s *Server) deleteChart(c *call) error {
	id := c.text("chart")
	if err := s.Store.DeleteChart(c.ctx(), c.project.ID, id); err != nil {
		return err
	}
	return c.dataDeleted("chart", id)
}
