package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Backfills is where the backfills of a project are.
type Backfills interface {
	// CreateBackfill stores a backfill, which runs from then on, and returns it.
	// fault.Conflict if too many of the project have not ended.
	CreateBackfill(ctx context.Context, projectID int64, b evaluation.Backfill) (evaluation.Backfill, error)
	// FindBackfills lists the ids of a metric's backfills, oldest first, a page of them, and counts all.
	FindBackfills(ctx context.Context, projectID int64, metricID string, limit, page int) (ids []string, total int, err error)
	// LoadBackfills reads backfills with their progress, in the order of ids. Those that are gone are
	// left out.
	LoadBackfills(ctx context.Context, projectID int64, ids []string) ([]evaluation.Backfill, error)
	// MoveBackfill pauses, resumes or cancels a backfill of a metric, with what waits of it.
	// fault.NotFound if there is none, fault.Conflict if it has ended.
	MoveBackfill(ctx context.Context, projectID int64, metricID, id string, to evaluation.BackfillState) (evaluation.Backfill, error)
}

var backfillOperations = []apiOperation{
	{"listBackfills", http.MethodGet, []string{"/metrics/{id}/backfills"}, project.ScopeRead, (*Server).listBackfills},
	{"createBackfill", http.MethodPost, []string{"/metrics/{id}/backfills"}, project.ScopeFull, (*Server).createBackfill},
	{"getBackfill", http.MethodGet, []string{"/metrics/{id}/backfills/{backfill}"}, project.ScopeRead, (*Server).getBackfill},
	{"pauseBackfill", http.MethodPost, []string{"/metrics/{id}/backfills/{backfill}/pause"}, project.ScopeFull, moveBackfill(evaluation.BackfillPaused)},
	{"resumeBackfill", http.MethodPost, []string{"/metrics/{id}/backfills/{backfill}/resume"}, project.ScopeFull, moveBackfill(evaluation.BackfillRunning)},
	{"cancelBackfill", http.MethodPost, []string{"/metrics/{id}/backfills/{backfill}/cancel"}, project.ScopeFull, moveBackfill(evaluation.BackfillCancelled)},
}

// metricOf reads the metric of the path.
func (s *Server) metricOf(c *call) (metric.Metric, error) {
	list, err := s.Store.LoadMetrics(c.ctx(), c.project.ID, []string{c.text("id")})
	if err == nil && len(list) == 0 {
		err = fault.New(fault.NotFound, "no metric %.60q", c.text("id"))
	}
	if err != nil {
		return metric.Metric{}, err
	}
	return list[0], nil
}

// createBackfill has the metric, as it is now, score past events.
func (s *Server) createBackfill(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	m, err := s.metricOf(c)
	if err != nil {
		return err
	}
	if m.Type == metric.Human {
		return fault.New(fault.Invalid, "people give the scores of this metric: make an annotation queue of the events instead")
	}
	r, err := wire.DecodeBackfill(body, &m.Definition, s.Now())
	if err != nil {
		return err
	}
	r.Search.Filters, r.Search.Limit, r.Search.HeadOnly = query.InProject(r.Search.Filters, c.project), 1, true
	set, err := s.Store.Search(c.ctx(), c.project.ID, r.Search)
	if err != nil {
		return err
	}
	b, err := r.Backfill(m.ID, m.Deployed, set.Total)
	if err == nil {
		b, err = s.Store.CreateBackfill(c.ctx(), c.project.ID, b)
	}
	if err != nil {
		return err
	}
	return c.answer(wire.AppendBackfill(nil, &b))
}

func (s *Server) listBackfills(c *call) error {
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	if _, err := s.metricOf(c); err != nil {
		return err
	}
	ids, total, err := s.Store.FindBackfills(c.ctx(), c.project.ID, c.text("id"), limit, page)
	if err != nil {
		return err
	}
	c.total(total)
	return list(c, "backfills", ids,
		func(ids []string) ([]evaluation.Backfill, error) {
			return s.Store.LoadBackfills(c.ctx(), c.project.ID, ids)
		}, wire.AppendBackfill)
}

func (s *Server) getBackfill(c *call) error {
	list, err := s.Store.LoadBackfills(c.ctx(), c.project.ID, []string{c.text("backfill")})
	if err == nil && (len(list) == 0 || list[0].MetricID != c.text("id")) {
		err = fault.New(fault.NotFound, "the metric has no backfill %.60q", c.text("backfill"))
	}
	if err != nil {
		return err
	}
	return c.answer(wire.AppendBackfill(nil, &list[0]))
}

// moveBackfill returns the operation that brings a backfill into a state.
func moveBackfill(to evaluation.BackfillState) func(*Server, *call) error {
	return func(s *Server, c *call) error {
		b, err := s.Store.MoveBackfill(c.ctx(), c.project.ID, c.text("id"), c.text("backfill"), to)
		if err != nil {
			return err
		}
		return c.answer(wire.AppendBackfill(nil, &b))
	}
}
