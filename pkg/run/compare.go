package run

import (
	"cmp"
	"hash/fnv"
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
	// Mean is the mean of new less old, and Low to High its 95 % confidence interval; nil
	// without pairs. The interval is the percentile bootstrap's, the same at each call; of
	// more than 5,000 pairs, the normal distribution's.
	Mean, Low, High *float64
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
	var deltas []float64
	for _, d := range common {
		now, then := fresh.means[k][d], before.means[k][d]
		if now == nil || then == nil {
			continue
		}
		delta := now.value() - then.value()
		deltas = append(deltas, delta)
		if m.LowerIsBetter {
			delta = -delta
		}
		switch {
		case delta > 0:
			m.Improved = append(m.Improved, d)
		case delta < 0:
			m.Degraded = append(m.Degraded, d)
		default:
			m.Same = append(m.Same, d)
		}
	}
	if len(deltas) > 0 {
		avg, low, high := interval(deltas, k)
		m.Mean, m.Low, m.High = &avg, &low, &high
	}
	return m
}

// resamples is how often the bootstrap draws. More would move the ends of the interval by less
// than they say.
const resamples = 2000

// bootstrapPairs is up to how many pairs samples are drawn. Of more, the mean is normally distributed
// to all that can be shown, and drawing would take long.
const bootstrapPairs = 5000

// interval returns the mean of paired differences and its 95 % confidence interval: the 2.5th and
// 97.5th percentile of the means of samples drawn from them with replacement. The draws depend
// on the metric alone.
func interval(deltas []float64, k key) (avg, low, high float64) {
	sum := 0.0
	for _, d := range deltas {
		sum += d
	}
	n := float64(len(deltas))
	avg = sum / n
	if len(deltas) > bootstrapPairs {
		squares := 0.0
		for _, d := range deltas {
			squares += (d - avg) * (d - avg)
		}
		half := 1.959963984540054 * math.Sqrt(squares/(n-1)/n)
		return avg, avg - half, avg + half
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(k.metric + "\x00" + k.kind.Type + "\x00" + k.kind.Name))
	rng := draws(h.Sum64() ^ uint64(len(deltas)))
	means := make([]float64, resamples)
	for i := range means {
		// Two draws from each number, and two sums: the adder need not wait for itself.
		var even, odd float64
		for range len(deltas) / 2 {
			a, b := rng.two(uint64(len(deltas)))
			even += deltas[a]
			odd += deltas[b]
		}
		if len(deltas)%2 == 1 {
			a, _ := rng.two(uint64(len(deltas)))
			even += deltas[a]
		}
		means[i] = (even + odd) / n
	}
	slices.Sort(means)
	return avg, Quantile(means, 0.025), Quantile(means, 0.975)
}

// draws is the generator SplitMix64, the fastest that is even enough for this: its state is a
// counter, and each number a mix of it.
type draws uint64

// two draws two numbers below n, which is below 2^32. For n up to bootstrapPairs, none is more
// likely than another by more than a millionth.
func (d *draws) two(n uint64) (a, b uint64) {
	*d += 0x9e3779b97f4a7c15
	x := uint64(*d)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return (x >> 32) * n >> 32, (x & 0xffffffff) * n >> 32
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
