package httpapi

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Runs is where the experiment runs of a project are.
type Runs interface {
	// CreateRun stores a run and returns it complete. If the project has a run of that id already,
	// that one is updated: clients choose ids, and send again what may not have arrived.
	CreateRun(ctx context.Context, projectID int64, u run.Update) (run.Run, error)
	// UpdateRun changes a run and returns the updated one. fault.NotFound if there is none,
	// fault.Invalid if it would break a rule.
	UpdateRun(ctx context.Context, projectID int64, u run.Update) (run.Run, error)
	// Run returns a run. fault.NotFound if there is none.
	Run(ctx context.Context, projectID int64, id string) (run.Run, error)
	// DeleteRun deletes a run; its sessions stay. fault.NotFound if there is none.
	DeleteRun(ctx context.Context, projectID int64, id string) error
	// FindRuns returns a page of the runs that match, the number of all that match, and of all there
	// are.
	FindRuns(ctx context.Context, projectID int64, q run.Query) (list []run.Run, total, unfiltered int, err error)
}

// RunScores is where the scores of runs are.
type RunScores interface {
	// RunScores returns what the events of a run carry that match q's filters and date range: scores
	// and sessions of those events alone, Kinds of all.
	RunScores(ctx context.Context, projectID int64, r *run.Run, q query.Search) (*run.Scores, error)
	// RunOutcomes returns what the sessions of a run came to, those of them that have an event which matches q's filters and date range. fault.Invalid if
	// there are more than run.MaxSessions. The answer must not be changed.
	RunOutcomes(ctx context.Context, projectID int64, r *run.Run, q query.Search) (*run.Outcomes, error)
	// RunPairs pairs the events of two runs that are about the same datapoint and of the same kind,
	// the first with the first and so on, in the order of the new run, a page of the pairs, and
	// counts all. Without a name and a type, also in filters, the session events are paired.
	RunPairs(ctx context.Context, projectID int64, newRun, oldRun *run.Run, q run.PairQuery, filters []query.Filter) ([]run.Pair, int, error)
	// MetricRules returns the rules of the project's metrics by name. Of metrics that
	// share a name, the newest counts.
	MetricRules(ctx context.Context, projectID int64) (map[string]run.Rule, error)
}

var runOperations = []apiOperation{
	{"createRun", http.MethodPost, []string{"/runs"}, project.ScopeFull, (*Server).createRun},
	{"listRuns", http.MethodGet, []string{"/runs"}, project.ScopeRead, (*Server).listRuns},
	{"getRun", http.MethodGet, []string{"/runs/{id}"}, project.ScopeRead, (*Server).getRun},
	{"updateRun", http.MethodPut, []string{"/runs/{id}"}, project.ScopeFull, (*Server).updateRun},
	{"deleteRun", http.MethodDelete, []string{"/runs/{id}"}, project.ScopeFull, (*Server).deleteRun},
	{"getRunResult", http.MethodGet, []string{"/runs/{id}/result", "/runs/{id}/summary"}, project.ScopeRead, (*Server).runResult},
	{"getRunMetrics", http.MethodGet, []string{"/runs/{id}/metrics"}, project.ScopeRead, (*Server).runMetrics},
	{"compareRuns", http.MethodGet, []string{"/runs/{id}/compare-with/{old}", "/runs/{id}/compare/{old}"}, project.ScopeRead, (*Server).compareRuns},
	{"compareManyRuns", http.MethodPost, []string{"/runs/compare"}, project.ScopeRead, (*Server).compareManyRuns},
	{"compareRunEvents", http.MethodGet, []string{"/runs/compare/events"}, project.ScopeRead, (*Server).compareRunEvents},
	{"compareRunEventsByPath", http.MethodGet, []string{"/runs/{id}/compare/{old}/events"}, project.ScopeRead, (*Server).compareRunEvents},
}

func (s *Server) createRun(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	u, err := wire.DecodeRun(body, "")
	if err != nil {
		return err
	}
	r, err := s.Store.CreateRun(c.ctx(), c.project.ID, u)
	if err != nil {
		return err
	}
	return c.evaluation(&r, true)
}

// runID reads the id of a run from the path, as it is stored.
func (c *call) runID(name string) string { return run.FoldID(c.text(name)) }

// evaluation answers with a run, under the name clients know it by.
func (c *call) evaluation(r *run.Run, withID bool) error {
	var b rawjson.Builder
	b.Raw("evaluation", wire.AppendRun(nil, r, &c.project, c.dialect))
	if withID {
		b.String("run_id", r.ID)
	}
	return c.json(&b)
}

func (s *Server) listRuns(c *call) error {
	q, err := wire.DecodeRuns(c.r.URL.RawQuery, s.Now())
	if err != nil {
		return err
	}
	page := wire.RunPage{Limit: q.Limit, Page: q.Page}
	if page.Runs, page.Total, page.Unfiltered, err = s.Store.FindRuns(c.ctx(), c.project.ID, q.Query); err != nil {
		return err
	}
	rules, err := s.Store.MetricRules(c.ctx(), c.project.ID)
	if err != nil {
		return err
	}
	if q.Aggregates {
		if page.Aggregates, err = s.aggregates(c, page.Runs, rules); err != nil {
			return err
		}
	}
	if q.LeaveOut {
		for i := range page.Runs {
			page.Runs[i].EventIDs, page.Runs[i].SessionIDs, page.Runs[i].DatapointIDs = nil, nil, nil
		}
	}
	seen, err := s.Store.MetricNames(c.ctx(), c.project.ID)
	if err != nil {
		return err
	}
	page.Metrics = slices.AppendSeq(seen, maps.Keys(rules))
	slices.Sort(page.Metrics)
	page.Metrics = slices.Compact(page.Metrics)
	return c.answer(wire.AppendRuns(nil, &page, &c.project, c.dialect))
}

func (s *Server) getRun(c *call) error {
	r, err := s.Store.Run(c.ctx(), c.project.ID, c.runID("id"))
	if err != nil {
		return err
	}
	return c.evaluation(&r, false)
}

func (s *Server) updateRun(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	u, err := wire.DecodeRun(body, c.runID("id"))
	if err != nil {
		return err
	}
	r, err := s.Store.UpdateRun(c.ctx(), c.project.ID, u)
	if err != nil {
		return err
	}
	return c.evaluation(&r, false)
}

func (s *Server) deleteRun(c *call) error {
	id := c.runID("id")
	if err := s.Store.DeleteRun(c.ctx(), c.project.ID, id); err != nil {
		return err
	}
	var b rawjson.Builder
	b.String("id", id)
	b.Bool("deleted", true)
	return c.json(&b)
}

// scored returns a run with what its reads need.
func (s *Server) scored(c *call, id string, search query.Search) (run.Run, *run.Scores, error) {
	r, err := s.Store.Run(c.ctx(), c.project.ID, id)
	if err != nil {
		return r, nil, err
	}
	search.Filters = query.InProject(search.Filters, c.project)
	scores, err := s.Store.RunScores(c.ctx(), c.project.ID, &r, search)
	return r, scores, err
}

func (s *Server) runResult(c *call) error {
	in, err := wire.DecodeRunRead(c.r.URL.RawQuery, s.Now())
	if err != nil {
		return err
	}
	r, scores, err := s.scored(c, c.runID("id"), in.Search)
	if err != nil {
		return err
	}
	rules, err := s.Store.MetricRules(c.ctx(), c.project.ID)
	if err != nil {
		return err
	}
	return c.answer(wire.AppendResult(nil, run.ResultOf(&r, scores, rules, in.Aggregate), &r, &c.project, c.dialect))
}

func (s *Server) runMetrics(c *call) error {
	in, err := wire.DecodeRunRead(c.r.URL.RawQuery, s.Now())
	if err != nil {
		return err
	}
	_, scores, err := s.scored(c, c.runID("id"), in.Search)
	if err != nil {
		return err
	}
	return c.stream(func(out *wire.Stream) error { return wire.WriteRunMetrics(out, scores, &in) })
}

func (s *Server) compareRuns(c *call) error {
	in, err := wire.DecodeRunRead(c.r.URL.RawQuery, s.Now())
	if err != nil {
		return err
	}
	var oldRun run.Run
	var before *run.Scores
	other := make(chan error, 1)
	go func() { // in parallel with the new run: both have many scores
		var err error
		oldRun, before, err = s.scored(c, c.runID("old"), in.Search)
		other <- err
	}()
	newRun, fresh, err := s.scored(c, c.runID("id"), in.Search)
	if err = cmp.Or(err, <-other); err != nil {
		return err
	}
	rules, err := s.Store.MetricRules(c.ctx(), c.project.ID)
	if err != nil {
		return err
	}
	comparison := run.CompareRuns(&newRun, &oldRun, fresh, before, rules, in.Aggregate)
	return c.answer(wire.AppendComparison(nil, comparison, &newRun, &oldRun, &c.project, c.dialect))
}

// compareRunEvents answers with pairs of events. The run named first is the new one.
func (s *Server) compareRunEvents(c *call) error {
	in, err := wire.DecodeRunRead(c.r.URL.RawQuery, s.Now())
	if err != nil {
		return err
	}
	ids := in.RunIDs
	byPath := c.runID("id") != ""
	if byPath {
		ids = [2]string{c.runID("id"), c.runID("old")}
	}
	var both [2]run.Run
	for i, name := range []string{"run_id_1", "run_id_2"} {
		if ids[i] == "" {
			return fault.InvalidField(name, "is required")
		}
		both[i], err = s.Store.Run(c.ctx(), c.project.ID, ids[i])
		if !byPath {
			err = missing(name, err)
		}
		if err != nil {
			return err
		}
	}
	if t := in.Pairs.EventType; t != "" && !event.Type(t).Valid() {
		return fault.InvalidField("event_type", "unknown type %.40q", t)
	}
	in.Pairs.ByFilter = nameEvents(in.Search.Filters)
	pairs, total, err := s.Store.RunPairs(c.ctx(), c.project.ID, &both[0], &both[1], in.Pairs, query.InProject(in.Search.Filters, c.project))
	if err != nil {
		return err
	}
	load := func(id uuid.UUID) (event.Event, error) { return s.Store.Event(c.ctx(), c.project.ID, id) }
	return c.stream(func(out *wire.Stream) error {
		return wire.WritePairs(out, pairs, total, in.Pairs, load, &c.project)
	})
}

// nameEvents reports whether filters say by type or name which events they are about.
func nameEvents(filters []query.Filter) bool {
	return slices.ContainsFunc(filters, func(f query.Filter) bool {
		return f.Field == "event_type" || f.Field == "event_name" || slices.ContainsFunc(f.Any, nameEvents)
	})
}
