package run

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Comparison compares a new run with an old one.
type Comparison struct {
	Metrics []MetricComparison
	Common  []string // datapoints of both, in the new run's order
	// NewOnly and OldOnly are how many datapoints only one of the runs has.
	NewOnly, OldOnly int
	Kinds            []KindPresence
}

// KindPresence tells in which run a kind of event is.
type KindPresence struct {
	Kind     Kind
	Presence string // old, new or both
}

// MetricComparison is one metric of one kind of event in both runs. The aggregates are over all values of each
// run; all else is over the datapoints that both runs have with a value: each with the mean of
// its values.
type MetricComparison struct {
	Name          string
	Type          string
	Kind          Kind
	Old, New      *float64 // aggregates; nil where a run has no values
	OldValues     []Value
	NewValues     []Value
	LowerIsBetter bool // the metric's rule has only an upper bound, or only false passes
	// Improved, Degraded and Same are datapoints.
	Improved, Degraded, Same []string
	// Mean is the mean of new less old; nil without pairs.
	Mean *float64
	// Interval is that of the true mean; nil where there is nothing to make one of.
	Interval *Interval
}

// Pairs returns the number of datapoints with values in both runs.
func (m *MetricComparison) Pairs() int { return len(m.Improved) + len(m.Degraded) + len(m.Same) }

// CompareRuns compares a new run with an old one.
func CompareRuns(newRun, oldRun *Run, newScores, oldScores *Scores, project map[string]Rule, how Aggregate) *Comparison {
	fresh, before := sideOf(newScores), sideOf(oldScores)
	// The new run's ranges say what is good; the old one's where only that has some.
	newRules, oldRules := rulesOf(newRun, project), rulesOf(oldRun, project)
	rules := func(name string) Rule {
		if r := newRules(name); r.decides() {
			return r
		}
		return oldRules(name)
	}
	c := &Comparison{Kinds: presence(newScores.Kinds, oldScores.Kinds)}
	for _, d := range fresh.order {
		if before.has[d] {
			c.Common = append(c.Common, d)
		}
	}
	c.NewOnly, c.OldOnly = len(fresh.order)-len(c.Common), len(before.order)-len(c.Common)
	keys := map[key]bool{}
	for k := range fresh.all {
		keys[k] = true
	}
	for k := range before.all {
		keys[k] = true
	}
	for k := range keys {
		c.Metrics = append(c.Metrics, compareMetric(k, fresh, before, c.Common, rules(k.metric), how))
	}
	slices.SortFunc(c.Metrics, func(a, b MetricComparison) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind.Type, b.Kind.Type), cmp.Compare(a.Kind.Name, b.Kind.Name))
	})
	return c
}

// side is one run's values.
type side struct {
	all   map[key][]Value
	names map[key]Kind // of sessions, which key has no name of
	means map[key]map[string]*mean
	order []string // datapoints
	has   map[string]bool
}

type mean struct {
	sum float64
	n   int
}

func (m *mean) value() float64 { return m.sum / float64(m.n) }

func sideOf(s *Scores) *side {
	x := &side{all: map[key][]Value{}, names: map[key]Kind{}, means: map[key]map[string]*mean{}, has: map[string]bool{}}
	for _, id := range s.Sessions {
		if d := s.Datapoints[id]; d != "" && !x.has[d] {
			x.has[d] = true
			x.order = append(x.order, d)
		}
	}
	for _, e := range s.Events {
		d := s.Datapoints[e.Session]
		for name, v := range values(e.Metrics) {
			k := keyOf(name, e.Kind)
			x.all[k] = append(x.all[k], v)
			if _, ok := x.names[k]; !ok {
				x.names[k] = e.Kind
				x.means[k] = map[string]*mean{}
			}
			if d == "" {
				continue
			}
			m := x.means[k][d]
			if m == nil {
				m = &mean{}
				x.means[k][d] = m
			}
			m.sum = min(max(m.sum+v.Number, -math.MaxFloat64), math.MaxFloat64)
			m.n++
		}
	}
	return x
}

func compareMetric(k key, fresh, before *side, common []string, rule Rule, how Aggregate) MetricComparison {
	m := MetricComparison{
		Name: k.metric, Type: rule.typeName(), Kind: k.kind,
		OldValues: before.all[k], NewValues: fresh.all[k], LowerIsBetter: rule.lowerIsBetter(),
	}
	if name, ok := fresh.names[k]; ok {
		m.Kind = name
	} else {
		m.Kind = before.names[k]
	}
	if v, ok := how.Of(m.NewValues); ok {
		m.New = &v
	}
	if v, ok := how.Of(m.OldValues); ok {
		m.Old = &v
	}
	var base, values []float64
	for _, d := range common {
		now, then := fresh.means[k][d], before.means[k][d]
		if now == nil || then == nil {
			continue
		}
		base, values = append(base, then.value()), append(values, now.value())
		switch changeOf(then.value(), now.value(), m.LowerIsBetter) {
		case Improved:
			m.Improved = append(m.Improved, d)
		case Degraded:
			m.Degraded = append(m.Degraded, d)
		default:
			m.Same = append(m.Same, d)
		}
	}
	if p := Compare(base, values, m.LowerIsBetter); p.Pairs > 0 {
		if allBoolean(m.OldValues) && allBoolean(m.NewValues) {
			p.ofRates()
		}
		m.Mean, m.Interval = &p.Mean, p.Interval
	}
	return m
}

func presence(fresh, before []Kind) []KindPresence {
	in := map[Kind]string{}
	for _, k := range before {
		in[k] = "old"
	}
	for _, k := range fresh {
		if in[k] != "" {
			in[k] = "both"
		} else {
			in[k] = "new"
		}
	}
	kinds := slices.SortedFunc(maps.Keys(in), CompareKinds)
	out := make([]KindPresence, len(kinds))
	for i, k := range kinds {
		out[i] = KindPresence{k, in[k]}
	}
	return out
}

// CompareKinds orders kinds by type, those of the same type by name.
func CompareKinds(a, b Kind) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
}

// PercentageChange returns the change from old to new in percent of the absolute old value;
// defined is false, and the change 0, where old is 0.
func PercentageChange(before, now float64) (change float64, defined bool) {
	if before == 0 {
		return 0, false
	}
	return (now - before) / max(before, -before) * 100, true
}
