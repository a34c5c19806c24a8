package online

import (
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// metricRule selects the events that a metric is for.
type metricRule struct {
	metric  *metric.Metric
	match   query.Matcher
	session bool // it is for sessions, which no other metric is
	percent float64
}

// rulesOf returns the rules of a project's metrics. People's scores run by themselves.
func rulesOf(list []metric.Metric, p project.Project) (out []metricRule) {
	for i := range list {
		m := &list[i]
		if m.Type == metric.Human {
			continue
		}
		filters, err := query.MetricFilters(&m.Definition, nil)
		if err != nil {
			continue // checked when it was saved: nothing matches what cannot be read
		}
		percent, _ := rawjson.Number(m.Sampling)
		out = append(out, metricRule{
			metric:  m,
			match:   query.NewMatcher(query.InProject(filters, p)),
			session: query.AsksForSessions(filters),
			percent: percent,
		})
	}
	return out
}

// ended reports whether an event is as it will be, as far as one can tell: a span that has ended, or
// an event with an end, outputs or an error.
func ended(e *event.Event) bool {
	return !e.Unfinished && (e.End > e.Start || e.Duration > 0 || !rawjson.Empty(e.Outputs) || e.Error != nil)
}
