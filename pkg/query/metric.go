package query

import (
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MetricFilters returns all that must hold for an event that a metric is to score, as filters of a
// search:
//
//   - Its own filters, and the name and type of event that older clients give; or, if others are
//     not nil, those instead.
//   - It scores sessions if one of these asks for events that are of type session, and else no
//     session at all.
//   - Where it needs a ground truth, the event has one.
//   - No evaluator sent the event.
//
// Errors are those of ParseFilters.
func MetricFilters(d *metric.Definition, others []Filter) ([]Filter, error) {
	filters := slices.Clone(others)
	if others == nil {
		var err error
		if filters, err = ParseFilters(d.Filters, "filters"); err != nil {
			return nil, err
		}
		for field, want := range map[string]*string{"event_name": d.EventName, "event_type": d.EventType} {
			if want != nil && *want != "" && !strings.EqualFold(*want, "all") {
				filters = append(filters, isText(field, "is", *want))
			}
		}
	}
	if !AsksForSessions(filters) {
		filters = append(filters, isText("event_type", "is not", string(event.TypeSession)))
	}
	if d.NeedsGroundTruth {
		filters = append(filters, mustFilter("feedback.ground_truth", "exists", nil))
	}
	return append(filters, byNoEvaluator()), nil
}

// byNoEvaluator returns the filter that an event was not sent by an evaluator.
func byNoEvaluator() Filter { return isText("source", "is not", evaluation.Source) }

// OmitEvaluators adds to filters that no evaluator sent the events, unless they are about
// sources, or ask for events or sessions by their ids.
func OmitEvaluators(filters []Filter) []Filter {
	asks := func(c *cond) bool {
		return slices.Contains([]string{"source", "event_id", "session_id", "parent_id"}, c.name)
	}
	if anyCond(filters, asks) {
		return filters
	}
	return append(slices.Clone(filters), byNoEvaluator())
}

// isText returns a string filter that is known to be valid.
func isText(field, operator, value string) Filter {
	return mustFilter(field, operator, rawjson.AppendString(nil, value))
}

// OfSessionEvents adds to filters that an event is a session's own, or that it is not.
func OfSessionEvents(filters []Filter, own bool) []Filter {
	operator := "is not"
	if own {
		operator = "is"
	}
	return append(slices.Clone(filters), isText("event_type", operator, string(event.TypeSession)))
}

// AsksForSessions reports whether filters are for sessions alone. An alternative is if each of its lists is.
func AsksForSessions(filters []Filter) bool {
	return slices.ContainsFunc(filters, func(f Filter) bool {
		if f.Any != nil {
			return !slices.ContainsFunc(f.Any, func(list []Filter) bool { return !AsksForSessions(list) })
		}
		c := &f.cond
		return c.root.kind == kindType && c.op == opIs && !c.negate && slices.Equal(c.typeCodes(), []int{TypeCode(event.TypeSession)})
	})
}
