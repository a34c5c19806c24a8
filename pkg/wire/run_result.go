package wire

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
)

// AppendResult appends what a run's scores say, with the run. What is unknown is null, and
// left out in V0, whose clients refuse null.
func AppendResult(dst []byte, x *run.Result, r *run.Run, p *project.Project, dialect Dialect) []byte {
	var b, metrics rawjson.Builder
	b.String("status", r.Status)
	b.Bool("success", x.Success)
	b.Raw("passed", rawjson.AppendStrings(nil, x.Passed))
	b.Raw("failed", rawjson.AppendStrings(nil, x.Failed))
	metrics.String("aggregation_function", string(x.Aggregate))
	metrics.Raw("details", arrayOf(x.Metrics, func(dst []byte, m *run.MetricResult) []byte {
		var b rawjson.Builder
		b.String("metric_name", m.Name)
		b.String("metric_type", m.Type)
		addKind(&b, m.Kind)
		addNumber(&b, "aggregate", m.Aggregate, dialect)
		b.Raw("values", appendValues(m.Values))
		if m.Range.Min != nil || m.Range.Max != nil {
			b.Raw("passing_range", rangeOfValues(m.Range))
		}
		var ids rawjson.Builder
		ids.Raw("passed", rawjson.AppendStrings(nil, m.Passed))
		ids.Raw("failed", rawjson.AppendStrings(nil, m.Failed))
		b.Raw("datapoints", ids.Bytes())
		return append(dst, b.Bytes()...)
	}))
	b.Raw("metrics", metrics.Bytes())
	b.Raw("datapoints", arrayOf(x.Datapoints, func(dst []byte, d *run.DatapointResult) []byte {
		var b rawjson.Builder
		addText(&b, "datapoint_id", d.Datapoint, dialect)
		b.String("session_id", d.Session.String())
		b.Bool("passed", d.Passed)
		b.Raw("metrics", arrayOf(d.Metrics, func(dst []byte, m *run.DatapointMetric) []byte {
			var b rawjson.Builder
			b.String("name", m.Name)
			addKind(&b, m.Kind)
			addKnown(&b, "value", m.Value.JSON, dialect)
			b.Bool("passed", m.Passed)
			return append(dst, b.Bytes()...)
		}))
		return append(dst, b.Bytes()...)
	}))
	b.Raw("event_details", arrayOf(x.Kinds, func(dst []byte, k *run.Kind) []byte {
		var b rawjson.Builder
		addKind(&b, *k)
		return append(dst, b.Bytes()...)
	}))
	b.Raw("run_object", AppendRun(nil, r, p, dialect))
	return append(dst, b.Bytes()...)
}

// AppendComparison appends a comparison with both runs, in full and as a summary: the numbers of
// datapoints, and metric_deltas by the name of the metric. Clients refuse null in a run of a
// comparison, in either dialect; those of V0 refuse it everywhere.
func AppendComparison(dst []byte, c *run.Comparison, newRun, oldRun *run.Run, p *project.Project, dialect Dialect) []byte {
	var b rawjson.Builder
	b.Raw("metrics", arrayOf(c.Metrics, func(dst []byte, m *run.MetricComparison) []byte {
		return appendMetricComparison(dst, m, dialect)
	}))
	b.Raw("commonDatapoints", rawjson.AppendStrings(nil, c.Common))
	b.Raw("event_details", arrayOf(c.Kinds, func(dst []byte, k *run.KindPresence) []byte {
		var b rawjson.Builder
		addKind(&b, k.Kind)
		b.String("presence", k.Presence)
		return append(dst, b.Bytes()...)
	}))
	b.Raw("old_run", appendRun(nil, oldRun, p, dialect, false))
	b.Raw("new_run", appendRun(nil, newRun, p, dialect, false))
	b.String("new_run_id", newRun.ID)
	b.String("old_run_id", oldRun.ID)
	b.Int("common_datapoints", int64(len(c.Common)))
	b.Int("new_only_datapoints", int64(c.NewOnly))
	b.Int("old_only_datapoints", int64(c.OldOnly))
	addObject(&b, "metric_deltas", metricDeltas(c.Metrics, dialect))
	return append(dst, b.Bytes()...)
}

// metricDeltas returns the changes of metrics by their names; that of a metric which several kinds of
// events have is named with the kind, too: "accuracy (model chat)". A change is new - old, and null where one of the two
// is unknown; the percentage also where it is not defined.
func metricDeltas(list []run.MetricComparison, dialect Dialect) json.RawMessage {
	kinds := map[string]int{}
	for i := range list {
		kinds[list[i].Name]++
	}
	var b rawjson.Builder
	for i := range list {
		m := &list[i]
		name := m.Name
		if kinds[name] > 1 {
			name += " (" + m.Kind.Type + " " + m.Kind.Name + ")"
		}
		var d rawjson.Builder
		addNumber(&d, "new_value", m.New, dialect)
		addNumber(&d, "old_value", m.Old, dialect)
		var delta, percent *float64
		if m.Old != nil && m.New != nil {
			change := *m.New - *m.Old
			delta = &change
			if p, defined := run.PercentageChange(*m.Old, *m.New); defined {
				percent = &p
			}
		}
		addNumber(&d, "delta", delta, dialect)
		addNumber(&d, "percent_change", percent, dialect)
		d.Int("improved_count", int64(len(m.Improved)))
		d.Int("degraded_count", int64(len(m.Degraded)))
		b.Raw(name, d.Bytes())
	}
	return b.Bytes()
}

// appendMetricComparison appends how a metric differs between two runs.
func appendMetricComparison(dst []byte, m *run.MetricComparison, dialect Dialect) []byte {
	var b rawjson.Builder
	b.String("metric_name", m.Name)
	b.String("metric_type", m.Type)
	addKind(&b, m.Kind)
	addNumber(&b, "old_aggregate", m.Old, dialect)
	addNumber(&b, "new_aggregate", m.New, dialect)
	if m.Old != nil && m.New != nil {
		b.Number("difference", *m.New-*m.Old)
		change, defined := run.PercentageChange(*m.Old, *m.New)
		b.Number("percentage_change", change)
		if !defined {
			b.Bool("percentage_change_defined", false)
		}
	} else {
		addNumber(&b, "difference", nil, dialect)
		addNumber(&b, "percentage_change", nil, dialect)
	}
	b.Int("found_count", int64(m.Pairs()))
	b.Int("improved_count", int64(len(m.Improved)))
	b.Int("degraded_count", int64(len(m.Degraded)))
	b.Int("same_count", int64(len(m.Same)))
	b.Raw("improved", rawjson.AppendStrings(nil, m.Improved))
	b.Raw("degraded", rawjson.AppendStrings(nil, m.Degraded))
	b.Raw("same", rawjson.AppendStrings(nil, m.Same))
	b.Raw("old_values", appendValues(m.OldValues))
	b.Raw("new_values", appendValues(m.NewValues))
	b.Bool("lower_is_better", m.LowerIsBetter)
	b.Int("pair_count", int64(m.Pairs()))
	if m.Mean != nil {
		b.Number("mean_difference", *m.Mean)
	}
	if m.Interval != nil {
		b.Raw("confidence_interval", intervalOf(m.Interval))
	}
	return append(dst, b.Bytes()...)
}

// WriteRunMetrics streams a run's events with metrics, a page of them or all: {"events", "totalEvents"}.
func WriteRunMetrics(out *Stream, s *run.Scores, in *RunRead) error {
	events := s.Events
	if !in.Whole {
		from := min((in.Pairs.Page-1)*in.Pairs.Limit, len(events))
		events = events[from:min(from+in.Pairs.Limit, len(events))]
	}
	out.text(`{"events":[`)
	for i := range events {
		if i > 0 {
			out.text(",")
		}
		e := &events[i]
		var b, meta rawjson.Builder
		addKind(&b, e.Kind)
		b.String("session_id", e.Session.String())
		if d := s.Datapoints[e.Session]; d != "" {
			meta.String("datapoint_id", d)
		}
		addObject(&b, "metadata", meta.Bytes())
		addObject(&b, "metrics", e.Values())
		out.buf = append(out.buf, b.Bytes()...)
		if err := out.flushFull(); err != nil {
			return err
		}
	}
	out.text(`],"totalEvents":`)
	out.buf = strconv.AppendInt(out.buf, int64(len(s.Events)), 10)
	out.text("}")
	return out.flushFull()
}

// addKind adds the name and type of the events that are meant.
func addKind(b *rawjson.Builder, k run.Kind) {
	b.String("event_name", k.Name)
	b.String("event_type", k.Type)
}

// addKnown adds a value; nil is null, which older clients get as no member at all, since they refuse null.
func addKnown(b *rawjson.Builder, key string, v json.RawMessage, dialect Dialect) {
	switch {
	case v != nil:
		b.Raw(key, v)
	case dialect == V1:
		b.Raw(key, json.RawMessage("null"))
	}
}

// addNumber and addText are addKnown for a number and a text; nil and "" are unknown.
func addNumber(b *rawjson.Builder, key string, v *float64, dialect Dialect) {
	var raw json.RawMessage
	if v != nil {
		raw = rawjson.AppendNumber(nil, *v)
	}
	addKnown(b, key, raw, dialect)
}

func addText(b *rawjson.Builder, key, v string, dialect Dialect) {
	var raw json.RawMessage
	if v != "" {
		raw = rawjson.AppendString(nil, v)
	}
	addKnown(b, key, raw, dialect)
}

// addObject adds an object; nil is the empty one.
func addObject(b *rawjson.Builder, key string, object json.RawMessage) {
	if object == nil {
		object = json.RawMessage("{}")
	}
	b.Raw(key, object)
}

// appendValues returns an array of scores, as they were sent.
func appendValues(list []run.Value) json.RawMessage {
	return arrayOf(list, func(dst []byte, v *run.Value) []byte { return append(dst, v.JSON...) })
}

// WritePairs streams a page of pairs of events: {"events": [{"datapoint_id", "event_1",
// "event_2"}], "totalEvents", "pagination"}. event_1 is the new run's. A pair of which one event
// is gone meanwhile is left out.
func WritePairs(s *Stream, pairs []run.Pair, total int, q run.PairQuery, load func(uuid.UUID) (event.Event, error),
	p *project.Project) error {
	s.text(`{"events":[`)
	first := true
	for _, pair := range pairs {
		var events [2]event.Event
		var err error
		for i, id := range []uuid.UUID{pair.New, pair.Old} {
			if events[i], err = load(id); err != nil {
				break
			}
			if s.WholeEnd {
				events[i].End = math.Ceil(events[i].End)
			}
		}
		if fault.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if !first {
			s.text(",")
		}
		first = false
		s.text(`{"datapoint_id":`)
		s.buf = rawjson.AppendString(s.buf, pair.Datapoint)
		for i, name := range []string{`,"event_1":`, `,"event_2":`} {
			s.text(name)
			s.buf = AppendEvent(s.buf, &events[i], p)
		}
		s.text("}")
		if err := s.flushFull(); err != nil {
			return err
		}
	}
	var pages rawjson.Builder
	pages.Int("page", int64(q.Page))
	pages.Int("limit", int64(q.Limit))
	pages.Int("total", int64(total))
	s.text(`],"totalEvents":`)
	s.buf = rawjson.AppendNumber(s.buf, float64(total))
	s.text(`,"pagination":`)
	s.buf = append(s.buf, pages.Bytes()...)
	s.text("}")
	return s.flushFull()
}
