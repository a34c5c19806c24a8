package run

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Result is what a run's scores say.
type Result struct {
	Aggregate  Aggregate
	Success    bool     // nothing failed
	Passed     []string // datapoints, or sessions without one, each once and in one of the lists
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
	Value  Value // without JSON for a text, which only passes or fails
	Passed bool  // true also where nothing decides
}

// ResultOf sums up a run. A datapoint passes when it has at least one metric with a rule and all
// those it has pass, in all of its sessions; a missing value counts neither way.
func ResultOf(r *Run, s *Scores, project map[string]Rule, how Aggregate) *Result {
	rules := rulesOf(r, project)
	out := &Result{Aggregate: how, Kinds: s.Kinds}
	place := make(map[uuid.UUID]int, len(s.Sessions))
	verdicts := map[int]verdict{} // by session
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
		for name, raw := range rawjson.Object(e.Metrics) {
			rule, k := rules(name), keyOf(name, e.Kind)
			v, isValue := valueOf(raw)
			pass, says := rule.passes(raw)
			if !isValue && !says {
				continue
			}
			m := metrics[k]
			if m == nil {
				m = &MetricResult{Name: name, Type: rule.typeName(), Kind: e.Kind, Range: rule.bounds()}
				metrics[k], byMetric[k] = m, map[int]verdict{}
			}
			if isValue {
				m.Values = append(m.Values, v)
			} else {
				v.JSON = nil
			}
			if says {
				verdicts[i] = verdicts[i].and(pass)
				byMetric[k][i] = byMetric[k][i].and(pass)
			}
			d := &out.Datapoints[i]
			d.Metrics = append(d.Metrics, DatapointMetric{name, e.Kind, v, pass || !says})
		}
	}
	for i := range out.Datapoints {
		out.Datapoints[i].Passed = verdicts[i].passed()
	}
	out.Passed, out.Failed = out.split(verdicts)
	out.Success = len(out.Failed) == 0
	for k, m := range metrics {
		if v, ok := how.Of(m.Values); ok {
			m.Aggregate = &v
		}
		m.Passed, m.Failed = out.split(byMetric[k])
		out.Metrics = append(out.Metrics, *m)
	}
	slices.SortFunc(out.Metrics, func(a, b MetricResult) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind.Type, b.Kind.Type), cmp.Compare(a.Kind.Name, b.Kind.Name))
	})
	return out
}

// split lists which datapoints passed and which failed, of verdicts on each session: where a
// datapoint has several, all that say something must have passed.
func (r *Result) split(sessions map[int]verdict) (passed, failed []string) {
	var ids []string
	whole := map[string]verdict{}
	for _, i := range slices.Sorted(maps.Keys(sessions)) {
		id := r.Datapoints[i].id()
		if !whole[id].any {
			ids = append(ids, id)
		}
		whole[id] = whole[id].and(sessions[i].passed())
	}
	for _, id := range ids {
		if whole[id].passed() {
			passed = append(passed, id)
		} else {
			failed = append(failed, id)
		}
	}
	return passed, failed
}

// id returns the name of the session in lists of datapoints.
func (d *DatapointResult) id() string {
	if d.Datapoint != "" {
		return d.Datapoint
	}
	return d.Session.String()
}

// verdict gathers what rules decide.
type verdict struct{ any, failed bool }

func (v verdict) and(pass bool) verdict { return verdict{true, v.failed || !pass} }

func (v verdict) passed() bool { return v.any && !v.failed }
