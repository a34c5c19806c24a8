package online

import (
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// rule says which events a metric is for.
type rule struct {
	metric  *metric.Metric
	match   query.Matcher
	session bool // it is for sessions, which no other metric is
	percent float64
}

// rules are those of a project's metrics. People's scores run by themselves.
func rules(list []metric.Metric, p project.Project) (out []rule) {
	for i := range list {
		m := &list[i]
		if m.Type == metric.Human {
			continue
		}
		filters, err := query.ParseFilters(m.Filters, "filters")
		if err != nil {
			continue // checked when it was saved: nothing matches what cannot be read
		}
		percent, _ := rawjson.Number(m.Sampling)
		out = append(out, rule{metric: m, match: query.NewMatcher(query.InProject(filters, p)), session: forSessions(m, filters), percent: percent})
	}
	return out
}

// forSessions says that a metric names sessions as what it is for.
func forSessions(m *metric.Metric, filters []query.Filter) bool {
	if m.EventType != nil && *m.EventType == string(event.TypeSession) {
		return true
	}
	return slices.ContainsFunc(filters, func(f query.Filter) bool {
		value, _ := rawjson.Text(f.Value)
		return f.Field == "event_type" && f.Operator == "is" && value == string(event.TypeSession)
	})
}

// names says that a value is the one that an older client's metric names; nothing, and "all",
// name every value.
func names(want *string, value string) bool {
	return want == nil || *want == "" || strings.EqualFold(*want, "all") || *want == value
}

// wants says whether the metric is for the event, which is whole.
func (r *rule) wants(e *event.Event) bool {
	return e.IsSession() == r.session && e.Source != evaluation.Source &&
		names(r.metric.EventType, string(e.Type)) && names(r.metric.EventName, e.Name) &&
		(!r.metric.NeedsGroundTruth || !rawjson.Null(rawjson.Get(e.Feedback, "ground_truth"))) &&
		r.match.Match(e)
}

// ended says that an event is as it will be, as far as one can tell: a span that has ended, or
// an event with an end, outputs or an error.
func ended(e *event.Event) bool {
	return !e.Unfinished && (e.End > e.Start || e.Duration > 0 || !rawjson.Empty(e.Outputs) || e.Error != nil)
}
