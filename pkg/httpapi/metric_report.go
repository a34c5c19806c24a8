package httpapi

import (
	"context"
	"slices"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/wire"
)

// MetricReports is where what metrics have done is counted.
type MetricReports interface {
	// LabelledScores reads the newest events that people have labelled, at most q.Limit, each with the score of a metric. more
	// reports whether others have a label, too.
	LabelledScores(ctx context.Context, projectID int64, q query.LabelSearch) (list []evaluation.Labelled, more bool, err error)
	// CountEvaluations counts the evaluations of a metric that were asked for from one time to another, in Unix milliseconds, both
	// included; nil is open. Those that a backfill has asked for are counted apart.
	CountEvaluations(ctx context.Context, projectID int64, metricID string, from, to *float64) (online, backfills evaluation.Counts, err error)
}

// getMetricAgreement compares the metric's scores with people's labels.
func (s *Server) getMetricAgreement(c *call) error {
	m, err := s.metricOf(c)
	if err != nil {
		return err
	}
	q, err := wire.DecodeAgreement(c.r.URL.RawQuery, &m, s.Now())
	if err != nil {
		return err
	}
	threshold, err := s.thresholdOf(c, &m, q.Version)
	if err != nil {
		return err
	}
	q.Filters = query.InProject(query.OmitEvaluators(q.Filters), c.project)
	list, more, err := s.Store.LabelledScores(c.ctx(), c.project.ID, q.LabelSearch)
	if err != nil {
		return err
	}
	a := evaluate.Agree(list, threshold)
	n := len(a.Disagreements)
	from := n // past all of them, where the product would not fit
	if q.Page-1 <= n/q.Limit {
		from = (q.Page - 1) * q.Limit
	}
	page := a.Disagreements[min(from, n):min(from+q.Limit, n)]
	return c.answer(wire.MetricAgreement(&a, more, page))
}

// thresholdOf returns the threshold of a version of a metric, of the deployed one if version is 0.
func (s *Server) thresholdOf(c *call, m *metric.Metric, version int64) (metric.Threshold, error) {
	d := &m.Definition
	if version != 0 {
		list, err := s.Store.LoadMetricVersions(c.ctx(), c.project.ID, m.ID, []string{metric.VersionName(version)})
		if err == nil && len(list) == 0 {
			err = fault.New(fault.NotFound, "the metric has no version %s", metric.VersionName(version))
		}
		if err != nil {
			return metric.Threshold{}, err
		}
		d = &list[0].Definition
	}
	t, err := metric.ThresholdOf(d.Threshold)
	if err != nil { // checked when it was saved: what cannot be read lets nothing pass or fail
		return metric.Threshold{}, nil
	}
	return t, nil
}

// getMetricCoverage counts the events that the metric is for, those of them that have its score, and its evaluations.
func (s *Server) getMetricCoverage(c *call) error {
	m, err := s.metricOf(c)
	if err != nil {
		return err
	}
	from, to, err := wire.DecodeCoverage(c.r.URL.RawQuery, s.Now())
	if err != nil {
		return err
	}
	filters, err := query.MetricFilters(&m.Definition, nil)
	if err != nil {
		return err
	}
	filters = query.InProject(filters, c.project)
	count := func(filters []query.Filter) (int, error) {
		set, err := s.Store.Search(c.ctx(), c.project.ID, query.Search{Filters: filters, From: from, To: to, Limit: 1, Page: 1, HeadOnly: true})
		if err != nil {
			return 0, err
		}
		return set.Total, nil
	}
	matching, err := count(filters)
	if err != nil {
		return err
	}
	_, has, err := query.ParseLabel("metrics." + m.Name)
	if err != nil {
		return err
	}
	scored, err := count(append(slices.Clone(filters), has))
	if err != nil {
		return err
	}
	online, backfills, err := s.Store.CountEvaluations(c.ctx(), c.project.ID, m.ID, from, to)
	if err != nil {
		return err
	}
	return c.answer(wire.MetricCoverage(matching, scored, &online, &backfills))
}
