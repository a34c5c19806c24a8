package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Metrics is where the metrics of a project are.
type Metrics interface {
	MetricVersions
	// CreateMetric stores a metric whose definition is complete and valid, as its first version, and
	// returns its id.
	CreateMetric(ctx context.Context, projectID int64, d metric.Definition) (id string, err error)
	// EnableMetric is CreateMetric for a name that no metric of the project has. One that has it with the same definition is the
	// answer, and inserted is false; one with another definition is fault.Conflict.
	EnableMetric(ctx context.Context, projectID int64, d metric.Definition) (id string, inserted bool, err error)
	metric.Finder
	// UpdateMetric changes a metric, which makes a new current version unless nothing changes.
	// fault.NotFound if there is none, fault.Invalid if it would break a rule.
	UpdateMetric(ctx context.Context, projectID int64, id string, p metric.Patch) (metric.Metric, error)
	// DeleteMetric deletes a metric with all its versions. fault.NotFound if there is none.
	DeleteMetric(ctx context.Context, projectID int64, id string) error
}

// MetricVersions is where the versions of metrics are. All but the loading are fault.NotFound if
// there is no such metric.
type MetricVersions interface {
	// FindMetricVersions lists the names of a metric's versions, newest first, a page of them, and
	// counts all. fault.NotFound if there is no such metric.
	FindMetricVersions(ctx context.Context, projectID int64, id string, limit, page int) (names []string, total int, err error)
	// LoadMetricVersions reads versions of a metric by their names, which follow one another as in
	// FindMetricVersions. If the metric is gone, there are none.
	LoadMetricVersions(ctx context.Context, projectID int64, id string, names []string) ([]metric.Version, error)
	// CreateMetricVersion stores a version of a metric whose definition is complete and valid, in
	// force from then on if deploy, and returns the updated one. fault.NotFound if there is no such
	// metric.
	CreateMetricVersion(ctx context.Context, projectID int64, id string, v metric.Version, deploy bool) (metric.Version, error)
	// DeployMetricVersion makes a version the current one, named by its name or its SHA, and returns it.
	// fault.NotFound if there is no such metric or version.
	DeployMetricVersion(ctx context.Context, projectID int64, id, name string) (metric.Version, error)
}

var metricOperations = []apiOperation{
	{"listMetrics", http.MethodGet, []string{"/metrics"}, project.ScopeRead, (*Server).listMetrics},
	{"createMetric", http.MethodPost, []string{"/metrics"}, project.ScopeFull, (*Server).createMetric},
	{"updateMetric", http.MethodPut, []string{"/metrics"}, project.ScopeFull, (*Server).updateMetric},
	{"updateMetricById", http.MethodPut, []string{"/metrics/{id}"}, project.ScopeFull, (*Server).updateMetricByID},
	{"deleteMetric", http.MethodDelete, []string{"/metrics"}, project.ScopeFull, (*Server).deleteMetric},
	{"deleteMetricById", http.MethodDelete, []string{"/metrics/{id}"}, project.ScopeFull, (*Server).deleteMetricByID},
	{"runMetric", http.MethodPost, []string{"/metrics/run", "/metrics/run_metric"}, project.ScopeFull, (*Server).runMetric},
	{"listMetricLibrary", http.MethodGet, []string{"/metrics/library"}, project.ScopeRead, (*Server).listMetricLibrary},
	{"enableMetric", http.MethodPost, []string{"/metrics/library"}, project.ScopeFull, (*Server).enableMetric},
	{"listMetricVersions", http.MethodGet, []string{"/metrics/{id}/versions"}, project.ScopeRead, (*Server).listMetricVersions},
	{"createMetricVersion", http.MethodPost, []string{"/metrics/{id}/versions"}, project.ScopeFull, (*Server).createMetricVersion},
	{"getMetricAgreement", http.MethodGet, []string{"/metrics/{id}/agreement"}, project.ScopeRead, (*Server).getMetricAgreement},
	{"getMetricCoverage", http.MethodGet, []string{"/metrics/{id}/coverage"}, project.ScopeRead, (*Server).getMetricCoverage},
	{"deployMetricVersion", http.MethodPost, []string{"/metrics/{id}/versions/{name}/deploy"}, project.ScopeFull, (*Server).deployMetricVersion},
}

func (s *Server) listMetrics(c *call) error {
	var params struct {
		ID   string `query:"id"`
		Type string `query:"type"`
	}
	if err := c.query(&params); err != nil {
		return err
	}
	q := metric.Query{ID: params.ID}
	if params.Type != "" {
		var ok bool
		if q.Type, ok = metric.TypeOf(params.Type); !ok {
			return fault.InvalidField("type", "must be one of %s, not %.40q", metric.TypeNames(), params.Type)
		}
	}
	var err error
	if q.Limit, q.Page, err = c.page(); err != nil {
		return err
	}
	ids, total, err := s.Store.FindMetrics(c.ctx(), c.project.ID, q)
	if err != nil {
		return err
	}
	c.total(total)
	key := "metrics"
	if c.dialect == wire.V0 {
		key = ""
	}
	return list(c, key, ids,
		func(ids []string) ([]metric.Metric, error) { return s.Store.LoadMetrics(c.ctx(), c.project.ID, ids) },
		func(dst []byte, m *metric.Metric) []byte {
			m.Filters = c.filters(m.Filters)
			return wire.AppendMetric(dst, m, c.project.Name, c.dialect)
		})
}

func (s *Server) createMetric(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	d, err := wire.DecodeMetric(body, c.dialect)
	if err != nil {
		return err
	}
	if err := s.Evaluator.Check(&d); err != nil {
		return err
	}
	id, err := s.Store.CreateMetric(c.ctx(), c.project.ID, d)
	if err != nil {
		return err
	}
	return s.savedMetric(c, id, true, &d)
}

// updateMetric changes the metric that the body names.
func (s *Server) updateMetric(c *call) error { return s.changeMetric(c, "") }

// updateMetricByID changes the metric of the path.
func (s *Server) updateMetricByID(c *call) error { return s.changeMetric(c, c.text("id")) }

func (s *Server) changeMetric(c *call, id string) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	p, inBody, err := wire.DecodeMetricPatch(body, c.dialect)
	if err != nil {
		return err
	}
	if id == "" {
		id = inBody
	}
	if id == "" {
		name := "id"
		if c.dialect == wire.V0 {
			name = "metric_id"
		}
		return fault.InvalidField(name, "is required")
	}
	c.target = id
	if err := s.checkPatch(c, id, &p); err != nil {
		return err
	}
	m, err := s.Store.UpdateMetric(c.ctx(), c.project.ID, id, p)
	if err != nil {
		return err
	}
	var b rawjson.Builder
	b.Bool("updated", true)
	s.warn(&b, &m.Definition)
	return c.json(&b)
}

// checkPatch refuses a change after which the metric could not work. What another request changes
// meanwhile is not seen; then running the metric says what is wrong.
func (s *Server) checkPatch(c *call, id string, p *metric.Patch) error {
	if p.Criteria == nil && p.Type == nil {
		return nil
	}
	found, err := s.Store.LoadMetrics(c.ctx(), c.project.ID, []string{id})
	if err != nil || len(found) == 0 {
		return err // the update says that there is none
	}
	d := found[0].Definition
	d.Apply(p)
	return s.Evaluator.Check(&d)
}

// warn adds to an answer about a definition that was saved what in it may not work.
func (s *Server) warn(b *rawjson.Builder, d *metric.Definition) {
	if list := s.Evaluator.Warnings(d); len(list) > 0 {
		b.Raw("warnings", rawjson.AppendStrings(nil, list))
	}
}

// deleteMetric deletes the metric that the query string names.
func (s *Server) deleteMetric(c *call) error {
	id, err := c.paramID("metric_id", "id")
	if err != nil {
		return err
	}
	return s.removeMetric(c, id)
}

// deleteMetricByID deletes the metric of the path.
func (s *Server) deleteMetricByID(c *call) error { return s.removeMetric(c, c.text("id")) }

func (s *Server) removeMetric(c *call, id string) error {
	if err := s.Store.DeleteMetric(c.ctx(), c.project.ID, id); err != nil {
		return err
	}
	var b rawjson.Builder
	b.Bool("deleted", true)
	return c.json(&b)
}

// runMetric runs a definition of the body over an event of the body or stored ones; nothing is stored.
func (s *Server) runMetric(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	if body, err = withReadyMetric(body, c.dialect); err != nil {
		return err
	}
	run, err := wire.DecodeMetricRun(body, c.dialect, s.Now())
	if err != nil {
		return err
	}
	if run.DryRun != nil {
		return s.dryRun(c, &run)
	}
	results, err := s.Evaluator.Run(c.ctx(), evaluate.Task{Project: c.project.ID, Metric: &run.Metric, Events: []json.RawMessage{run.Event}})
	if err != nil {
		return err
	}
	return c.answer(wire.MetricResult(&results[0]))
}

// withReadyMetric puts a whole definition in the place of one that names a metric of the library.
func withReadyMetric(body []byte, dialect wire.Dialect) ([]byte, error) {
	ready := rawjson.Get(body, "metric")
	if rawjson.Null(rawjson.Get(ready, "from")) {
		return body, nil
	}
	d, err := readyMetric(ready, dialect)
	if err != nil {
		return nil, fault.In("metric", err)
	}
	var b rawjson.Builder
	b.Raw("metric", wire.MetricDefinition(&d, dialect))
	return rawjson.Merge(body, b.Bytes()), nil
}

// dryRunBytes bounds the events of a dry run together, but for the first, and each session with the events below it.
const dryRunBytes = 16 << 20

// dryRun runs a definition over the newest stored events that match; nothing is stored.
func (s *Server) dryRun(c *call, run *wire.MetricRun) error {
	run.DryRun.Filters = query.InProject(run.DryRun.Filters, c.project)
	set, err := s.Store.Search(c.ctx(), c.project.ID, *run.DryRun)
	if err != nil {
		return err
	}
	task := evaluate.Task{Project: c.project.ID, Metric: &run.Metric}
	var answers []wire.DryResult
	for i, bytes := 0, 0; i < len(set.Events) && bytes < dryRunBytes; i++ {
		text, err := s.evaluated(c, set, i)
		if errors.Is(err, wire.ErrTooLarge) {
			continue // counted as omitted
		}
		if err != nil {
			return err
		}
		task.Events, answers = append(task.Events, text), append(answers, wire.DryResult{Event: &set.Events[i]})
		bytes += len(text)
	}
	if len(answers) > 0 {
		results, err := s.Evaluator.Run(c.ctx(), task)
		if err != nil {
			return err
		}
		for i, r := range results {
			answers[i].Result = r
		}
	}
	return c.answer(wire.DryRunAnswer(answers, set.Total, len(set.Events)-len(answers)))
}

// evaluated returns event i of a set as metrics get it: a session with the events below it.
func (s *Server) evaluated(c *call, set *event.Set, i int) (json.RawMessage, error) {
	if e := &set.Events[i]; e.IsSession() {
		below, err := s.Store.Session(c.ctx(), c.project.ID, e.ID)
		if err != nil {
			return nil, err
		}
		return wire.SessionText(c.ctx(), below, &c.project, dryRunBytes)
	}
	e, err := set.Load(c.ctx(), i)
	if err != nil {
		return nil, err
	}
	return wire.AppendEvent(nil, &e, &c.project), nil
}

// Evaluator runs metrics.
type Evaluator interface {
	// Run scores the task's events: a result for each, in their order. That there can be no
	// score is a result, which says why.
	Run(ctx context.Context, task evaluate.Task) ([]evaluation.Result, error)
	// Check checks a definition that is valid otherwise. Errors are fault.Invalid and name the
	// field.
	Check(d *metric.Definition) error
	// Warnings returns what in a definition may not work, in sentences for its owner.
	Warnings(d *metric.Definition) []string
	// Available returns what metrics of a project can use now.
	Available(ctx context.Context, projectID int64) (evaluate.Available, error)
}
