package run

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// Result is what a run's scores say.
type Result struct {
	Aggregate  Aggregate
	Success    bool     // nothing failed
	Passed     []string // datapoints, or sessions without one
	Failed     []string
	Metrics    []MetricResult
	Datapoints []DatapointResult
	Kinds      []Kind
}

// MetricResult is one metric of one kind of event.
type MetricResult struct {
	Name      string
	Type      string
	Kind      Kind
	Aggregate *float64
	Values    []Value
	Range     Range
	Passed    []string // datapoints, or sessions without one, of which all values pass
	Failed    []string
}

// DatapointResult is one session of the run.
type DatapointResult struct {
	Datapoint string // "" if none is known
	Session   uuid.UUID
	Passed    bool
	Metrics   []DatapointMetric
}

// DatapointMetric is one score of a session.
type DatapointMetric struct {
	Name   string
	Kind   Kind
	Value  Value
	Passed bool // true also where nothing decides
}

// ResultOf sums up a run. A session passes when it has at least one metric with a rule and all
// those it has pass; a missing value counts neither way.
func ResultOf(r *Run, s *Scores, project map[string]Rule, how Aggregate) *Result {
	rules := rulesOf(r, project)
	out := &Result{Aggregate: how, Success: true, Kinds: s.Kinds}
	place := make(map[uuid.UUID]int, len(s.Sessions))
	verdicts := make([]verdict, len(s.Sessions))
	out.Datapoints = make([]DatapointResult, len(s.Sessions))
	for i, id := range s.Sessions {
		place[id] = i
		out.Datapoints[i] = DatapointResult{Session: id, Datapoint: s.Datapoints[id]}
	}
	metrics := map[key]*MetricResult{}
	byMetric := map[key]map[int]verdict{}
	for _, e := range s.Events {
		i, ok := place[e.Session]
		if !ok {
			continue
		}
		for name, v := range values(e.Metrics) {
			rule, k := rules(name), keyOf(name, e.Kind)
			m := metrics[k]
			if m == nil {
				m = &MetricResult{Name: name, Type: rule.typeName(), Kind: e.Kind, Range: rule.Range}
				metrics[k], byMetric[k] = m, map[int]verdict{}
			}
			m.Values = append(m.Values, v)
			pass := true
			if rule.decides() {
				pass = rule.passes(v)
				verdicts[i].add(pass)
				x := byMetric[k][i]
				x.add(pass)
				byMetric[k][i] = x
			}
			d := &out.Datapoints[i]
			d.Metrics = append(d.Metrics, DatapointMetric{name, e.Kind, v, pass})
		}
	}
	for i := range out.Datapoints {
		d := &out.Datapoints[i]
		d.Passed = verdicts[i].passed()
		switch {
		case verdicts[i].passed():
			out.Passed = append(out.Passed, d.id())
		case verdicts[i].failed:
			out.Failed = append(out.Failed, d.id())
			out.Success = false
		}
	}
	for k, m := range metrics {
		if v, ok := how.Of(m.Values); ok {
			m.Aggregate = &v
		}
		for i := range out.Datapoints {
			switch x := byMetric[k][i]; {
			case x.passed():
				m.Passed = append(m.Passed, out.Datapoints[i].id())
			case x.failed:
				m.Failed = append(m.Failed, out.Datapoints[i].id())
			}
		}
		out.Metrics = append(out.Metrics, *m)
	}
	slices.SortFunc(out.Metrics, func(a, b MetricResult) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind.Type, b.Kind.Type), cmp.Compare(a.Kind.Name, b.Kind.Name))
	})
	return out
}

// id is what lists of datapoints call the session.
func (d *DatapointResult) id() string {
	if d.Datapoint != "" {
		return d.Datapoint
	}
	return d.Session.String()
}

// verdict gathers what rules decide.
type verdict struct{ any, failed bool }

func (v *verdict) add(pass bool) {
	v.any = true
	v.failed = v.failed || !pass
}

func (v verdict) passed() bool { return v.any && !v.failed }
