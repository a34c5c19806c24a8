package events

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
)

var errManyGroups = errors.New("a chart has more groups than are summed up at once")

// chartAggregate sums up a chart.
type chartAggregate struct {
	chart  *query.Chart
	plan   *query.ChartPlan
	only   map[string]bool // groups to keep apart; nil: all
	keep   bool            // values are needed one by one
	starts map[int64]int64 // of the bucket of a unit, in Unix milliseconds
	cells  map[cellKey]*cell
	kept   int // values kept
}

type cellKey struct {
	start int64
	groupKey
}

type groupKey struct {
	name string
	null bool // there is no value to group by
}

type cell struct {
	n      int64
	value  float64 // sum, least or greatest
	has    bool    // value is of something
	values []float64
}

func newChartAggregate(c *query.Chart, plan *query.ChartPlan, only map[string]bool) *chartAggregate {
	_, keep := c.Aggregation.Quantile()
	return &chartAggregate{chart: c, plan: plan, only: only, keep: keep, starts: map[int64]int64{}, cells: map[cellKey]*cell{}}
}

// addRow adds what the database read: one event, or the sum of many.
func (a *chartAggregate) addRow(unit int64, group *string, n int64, value *float64) error {
	if value == nil && a.chart.Aggregation != query.Count {
		return nil // no numbers among them
	}
	g := groupKey{null: true}
	if a.chart.Group != nil {
		if text, ok := a.chart.Group.TextOf(group); ok {
			g = groupKey{name: text}
		}
	}
	return a.add(unit, g, n, value)
}

// maxSummed is as what greater values of an event count in sums and averages, so that no sum overflows.
const maxSummed = 1e290

// addEvent adds a matching event.
func (a *chartAggregate) addEvent(e *event.Event) error {
	var value *float64
	if a.chart.Aggregation != query.Count {
		f, ok := a.plan.Number(e)
		if !ok {
			return nil
		}
		if how := a.chart.Aggregation; how == query.Sum || how == query.Average {
			f = min(max(f, -maxSummed), maxSummed)
		}
		value = &f
	}
	g := groupKey{null: true}
	if a.chart.Group != nil {
		if text, ok := a.chart.Group.Text(e); ok {
			g = groupKey{name: text}
		}
	}
	return a.add(a.plan.UnitOf(e.Start), g, 1, value)
}

func (a *chartAggregate) add(unit int64, g groupKey, n int64, value *float64) error {
	start, ok := a.starts[unit]
	if !ok {
		start = a.chart.Bucket.Start(a.plan.UnitStart(unit), a.chart.Zone).UnixMilli()
		a.starts[unit] = start
	}
	if a.only != nil && !g.null && !a.only[g.name] {
		g.name = query.OtherGroup
	}
	k := cellKey{start, g}
	x := a.cells[k]
	if x == nil {
		if len(a.cells) == a.chart.Limit() {
			if a.chart.Group != nil && a.only == nil {
				return errManyGroups
			}
			return a.tooMany()
		}
		x = &cell{}
		a.cells[k] = x
	}
	x.n += n
	if value == nil {
		return nil
	}
	if a.keep {
		if a.kept++; a.kept > maxChartValues {
			return fault.InvalidField("aggregation", "percentiles sort at most %d values; narrow the date range or the filters", maxChartValues)
		}
		x.values = append(x.values, *value)
		return nil
	}
	x.join(a.chart.Aggregation, *value)
	return nil
}

// join puts a value to the cell's.
func (x *cell) join(how query.Aggregation, v float64) {
	switch {
	case !x.has:
		x.value, x.has = v, true
	case how == query.Min:
		x.value = min(x.value, v)
	case how == query.Max:
		x.value = max(x.value, v)
	default:
		x.value += v
	}
}

func (a *chartAggregate) tooMany() error {
	return fault.InvalidField("bucket", "the chart has more than %d points; take a longer bucket or a shorter date range", a.chart.Limit())
}

// result makes the answer of the cells, or passes err on.
func (a *chartAggregate) result(err error) (*query.ChartAnswer, error) {
	if err != nil {
		return nil, err
	}
	a.limitGroups()
	points, err := a.points()
	if err != nil {
		return nil, err
	}
	answer := &query.ChartAnswer{Points: points}
	for i := range points {
		answer.Total += points[i].Count
	}
	return answer, nil
}

// limitGroups joins all but the largest groups.
func (a *chartAggregate) limitGroups() {
	sizes := map[string]int64{}
	for k, x := range a.cells {
		if !k.null && a.only == nil {
			sizes[k.name] += x.n
		}
	}
	if len(sizes) <= query.MaxGroups {
		return
	}
	names := slices.SortedFunc(maps.Keys(sizes), func(x, y string) int { return cmp.Or(cmp.Compare(sizes[y], sizes[x]), cmp.Compare(x, y)) })
	large := map[string]bool{}
	for _, g := range names[:query.MaxGroups] {
		large[g] = true
	}
	var small []cellKey
	for k := range a.cells {
		if !k.null && !large[k.name] && k.name != query.OtherGroup {
			small = append(small, k)
		}
	}
	for _, k := range small {
		x, to := a.cells[k], cellKey{k.start, groupKey{name: query.OtherGroup}}
		delete(a.cells, k)
		if y := a.cells[to]; y != nil {
			x.n += y.n
			x.values = append(x.values, y.values...)
			if y.has {
				x.join(a.chart.Aggregation, y.value)
			}
		}
		a.cells[to] = x
	}
}

// points returns the cells in order, gaps filled if that is asked.
func (a *chartAggregate) points() ([]query.ChartPoint, error) {
	present := map[groupKey]bool{}
	buckets := map[int64]bool{}
	for k := range a.cells {
		present[k.groupKey] = true
		buckets[k.start] = true
	}
	if a.chart.Group == nil {
		present[groupKey{null: true}] = true
	}
	groups := slices.SortedFunc(maps.Keys(present), compareGroups)
	starts := slices.Sorted(maps.Keys(buckets))
	if a.chart.Fill {
		var err error
		if starts, err = a.fill(starts, len(groups)); err != nil {
			return nil, err
		}
	}
	points := make([]query.ChartPoint, 0, len(a.cells))
	for _, start := range starts {
		for _, g := range groups {
			if x := a.cells[cellKey{start, g}]; x != nil || a.chart.Fill {
				points = append(points, a.point(time.UnixMilli(start).In(a.chart.Zone), g, x))
			}
		}
	}
	return points, nil
}

// compareGroups orders groups by name; the group of all others and the one without a value
// come last.
func compareGroups(x, y groupKey) int {
	rank := func(k groupKey) int {
		switch {
		case k.null:
			return 2
		case k.name == query.OtherGroup:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.name, y.name))
}

// fill returns all buckets of the chart's range, or where that is open, from the first or to the
// last that has events.
func (a *chartAggregate) fill(starts []int64, groups int) ([]int64, error) {
	from, to := math.Inf(1), math.Inf(-1)
	if len(starts) > 0 {
		from, to = float64(starts[0]), float64(starts[len(starts)-1])
	}
	if a.chart.From != nil {
		from = min(from, max(*a.chart.From, event.MinMillis))
	}
	if a.chart.To != nil {
		to = max(to, min(*a.chart.To, event.MaxMillis))
	}
	if from > to || math.IsInf(from, 0) || math.IsInf(to, 0) {
		return starts, nil
	}
	var all []int64
	for t := a.chart.Bucket.Start(time.UnixMilli(int64(from)), a.chart.Zone); float64(t.UnixMilli()) <= to; t = a.chart.Bucket.Next(t) {
		if (len(all)+1)*groups > a.chart.Limit() {
			return nil, a.tooMany()
		}
		all = append(all, t.UnixMilli())
	}
	return all, nil
}

func (a *chartAggregate) point(t time.Time, g groupKey, x *cell) query.ChartPoint {
	p := query.ChartPoint{Start: t}
	if !g.null {
		p.Group = &g.name
	}
	if x == nil {
		if a.chart.Aggregation == query.Count || a.chart.Aggregation == query.Sum {
			p.Value = new(float64)
		}
		return p
	}
	p.Count = x.n
	switch q, quantile := a.chart.Aggregation.Quantile(); {
	case quantile:
		slices.Sort(x.values)
		p.Value = finite(run.Quantile(x.values, q))
	case a.chart.Aggregation == query.Count:
		p.Value = finite(float64(x.n))
	case a.chart.Aggregation == query.Average:
		p.Value = finite(x.value / float64(x.n))
	default:
		p.Value = finite(x.value)
	}
	return p
}
