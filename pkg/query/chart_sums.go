package query

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/run"
)

// maxChartValues bounds the values that percentiles sort, 8 bytes each.
const maxChartValues = 20_000_000

// ErrManyGroups is returned where a chart has more groups than points that it may have; a second pass keeps
// the largest of them apart.
var ErrManyGroups = errors.New("a chart has more groups than are summed up at once")

// ChartSums adds up the events of a chart into its points: what the database has summed up, and events one by
// one. It holds at most a number of points (Chart.Limit), and of values for percentiles. AddRow and
// AddEvent may come in any order, Result is the last.
type ChartSums struct {
	chart  *Chart
	plan   *ChartPlan
	only   map[string]bool // groups to keep apart; nil: all
	keep   bool            // values are needed one by one
	how    joining         // of the values that are not kept
	starts map[int64]int64 // of the bucket of a unit, in Unix milliseconds
	cells  map[chartCellKey]*chartCell
	kept   int // values kept
	// By the start of a bucket: it has events that were added one by one; its points were restored.
	single, restored map[int64]bool
}

// chartCellKey identifies a point: the start of its bucket in Unix milliseconds, and its group.
type chartCellKey struct {
	start int64
	chartGroup
}

// chartGroup is the value that a chart's events are split by.
type chartGroup struct {
	name string
	null bool // there is no value to group by
	rest bool // all groups that are not kept apart; one of them may have the same name
}

// restGroup has the events of all groups that are not kept apart.
var restGroup = chartGroup{name: OtherGroup, rest: true}

// chartCell is what is known so far of a point.
type chartCell struct {
	// How many events entered.
	n     int64
	value float64 // sum, least or greatest
	has   bool    // value is of something
	// The values one by one, for percentiles: those of events that were added one by one, and of blocks.
	values []float64
	blocks [][]float64
	// The percentile, if it is known.
	finished *float64
}

// NewChartSums returns empty sums of a chart. only are the groups to keep apart, nil for those that the chart itself names, or all.
func NewChartSums(c *Chart, plan *ChartPlan, only map[string]bool) *ChartSums {
	_, keep := c.Aggregation.Quantile()
	if only == nil && c.Only != nil {
		only = make(map[string]bool, len(c.Only))
		for _, g := range c.Only {
			only[g] = true
		}
	}
	how := addUp
	switch c.Aggregation {
	case Min:
		how = keepLeast
	case Max:
		how = keepGreatest
	}
	return &ChartSums{
		chart: c, plan: plan, only: only, keep: keep, how: how, starts: map[int64]int64{}, cells: map[chartCellKey]*chartCell{},
		single: map[int64]bool{}, restored: map[int64]bool{},
	}
}

// AddRow adds what the database read: one event, or the sum of many.
func (a *ChartSums) AddRow(unit int64, group *string, n int64, value *float64) error {
	if value == nil && a.chart.Aggregation != Count {
		return nil // no numbers among them
	}
	g := chartGroup{null: true}
	if a.chart.Group != nil {
		if text, ok := a.chart.Group.TextOf(group); ok {
			g = chartGroup{name: text}
		}
	}
	return a.add(unit, g, n, value)
}

// MaxSummed is as what greater values of an event count in sums and averages, so that no sum overflows.
const MaxSummed = 1e290

// AddEvent adds a matching event.
func (a *ChartSums) AddEvent(e *event.Event) error {
	var value *float64
	if a.chart.Aggregation != Count {
		f, ok := a.plan.number(e)
		if !ok {
			return nil
		}
		if !a.keep {
			f = a.how.bounded(f)
		}
		value = &f
	}
	g := chartGroup{null: true}
	if a.chart.Group != nil {
		if text, ok := a.chart.Group.Text(e); ok {
			g = chartGroup{name: text}
		}
	}
	unit := a.plan.unitOf(e.Start)
	if a.keep {
		a.single[a.bucketOf(unit)] = true
	}
	return a.add(unit, g, 1, value)
}

// add puts n events, whose value or sum of values is given, to the cell of their unit and group.
func (a *ChartSums) add(unit int64, g chartGroup, n int64, value *float64) error {
	x, err := a.cell(unit, g)
	if err != nil {
		return err
	}
	x.n += n
	if value == nil {
		return nil
	}
	if a.keep {
		x.values = append(x.values, *value)
		return a.keepMore(1)
	}
	x.join(a.how, *value)
	return nil
}

// cell returns the cell of a unit and group. A new cell beyond the limit is an error: ErrManyGroups if a second pass with fewer groups
// can help.
func (a *ChartSums) cell(unit int64, g chartGroup) (*chartCell, error) {
	start, ok := a.starts[unit]
	if !ok {
		start = a.bucketOf(unit)
		a.starts[unit] = start
	}
	return a.cellAt(start, g)
}

// cellAt returns the cell of the bucket that begins at start, in Unix milliseconds.
func (a *ChartSums) cellAt(start int64, g chartGroup) (*chartCell, error) {
	if a.only != nil && !g.null && !a.only[g.name] {
		g = restGroup
	}
	k := chartCellKey{start, g}
	x := a.cells[k]
	if x == nil {
		if len(a.cells) == a.chart.Limit() {
			if a.chart.Group != nil && a.only == nil {
				return nil, ErrManyGroups
			}
			return nil, a.tooMany()
		}
		x = &chartCell{}
		a.cells[k] = x
	}
	return x, nil
}

// keepMore counts values that are kept one by one.
func (a *ChartSums) keepMore(n int) error {
	if a.kept += n; a.kept > maxChartValues {
		return fault.InvalidField("aggregation", "percentiles sort at most %d values; narrow the date range or the filters", maxChartValues)
	}
	return nil
}

// joining is how a cell's values become one as they come.
type joining int

const (
	addUp joining = iota
	keepLeast
	keepGreatest
)

// bounded returns the number with which an event enters: one that can be added up.
func (how joining) bounded(v float64) float64 {
	if how == addUp {
		return min(max(v, -MaxSummed), MaxSummed)
	}
	return v
}

// join puts a value to the cell's.
func (x *chartCell) join(how joining, v float64) {
	switch {
	case !x.has:
		x.value, x.has = v, true
	case how == addUp:
		x.value += v
	case how == keepLeast:
		x.value = min(x.value, v)
	default:
		x.value = max(x.value, v)
	}
}

// all returns the cell's values one by one, which the caller may put in another order.
func (x *chartCell) all() []float64 {
	if len(x.blocks) > 0 {
		x.values, x.blocks = slices.Concat(append(x.blocks, x.values)...), nil
	}
	return x.values
}

// tooMany is the error of a chart with too many points.
func (a *ChartSums) tooMany() error {
	return tooManyPoints(a.chart.Limit())
}

// Result makes the answer of the cells, or passes err on.
func (a *ChartSums) Result(err error) (*ChartAnswer, error) {
	if err != nil {
		return nil, err
	}
	a.limitGroups()
	points, err := a.points()
	if err != nil {
		return nil, err
	}
	answer := &ChartAnswer{Points: points}
	for i := range points {
		answer.Total += points[i].Count
	}
	return answer, nil
}

// limitGroups joins all but the largest groups, as many as the chart shows, by their events; ties go by name. With groups chosen before
// (only) there is nothing to do: add has joined the others.
func (a *ChartSums) limitGroups() {
	sizes := map[string]int64{}
	for k, x := range a.cells {
		if !k.null && a.only == nil {
			sizes[k.name] += x.n
		}
	}
	if len(sizes) <= a.chart.GroupLimit() {
		return
	}
	// Groups of the same size are told apart by name, so that the choice does not depend on the map.
	names := slices.SortedFunc(maps.Keys(sizes), func(x, y string) int { return cmp.Or(cmp.Compare(sizes[y], sizes[x]), cmp.Compare(x, y)) })
	large := map[string]bool{}
	for _, g := range names[:a.chart.GroupLimit()] {
		large[g] = true
	}
	var small []chartCellKey
	for k := range a.cells {
		if !k.null && !large[k.name] {
			small = append(small, k)
		}
	}
	// What joins keeps sums, least and greatest values, and the values of percentiles.
	for _, k := range small {
		x, to := a.cells[k], chartCellKey{k.start, restGroup}
		delete(a.cells, k)
		if y := a.cells[to]; y != nil {
			x.n += y.n
			x.values, x.blocks = append(x.values, y.values...), append(x.blocks, y.blocks...)
			if y.has {
				x.join(a.how, y.value)
			}
		}
		a.cells[to] = x
	}
}

// points returns the cells in order, gaps filled if that is asked.
func (a *ChartSums) points() ([]ChartPoint, error) {
	present := map[chartGroup]bool{}
	buckets := map[int64]bool{}
	for k := range a.cells {
		present[k.chartGroup] = true
		buckets[k.start] = true
	}
	if a.chart.Group == nil {
		present[chartGroup{null: true}] = true
	}
	groups := slices.SortedFunc(maps.Keys(present), compareGroups)
	starts := slices.Sorted(maps.Keys(buckets))
	if a.chart.Fill {
		var err error
		if starts, err = a.fill(starts, len(groups)); err != nil {
			return nil, err
		}
	}
	points := make([]ChartPoint, 0, len(a.cells))
	for _, start := range starts {
		for _, g := range groups {
			if x := a.cells[chartCellKey{start, g}]; x != nil || a.chart.Fill {
				points = append(points, a.point(time.UnixMilli(start).In(a.chart.Zone), g, x))
			}
		}
	}
	return points, nil
}

// compareGroups orders groups by name; the group of all others and the one without a value
// come last.
func compareGroups(x, y chartGroup) int {
	rank := func(k chartGroup) int {
		switch {
		case k.null:
			return 2
		case k.rest:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.name, y.name))
}

// fill returns all buckets of the chart's range, or where that is open, from the first or to the
// last that has events.
func (a *ChartSums) fill(starts []int64, groups int) ([]int64, error) {
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

// point makes the answer's point of a cell; nil is an empty bucket, of which count and sum are 0 and any other value unknown.
func (a *ChartSums) point(t time.Time, g chartGroup, x *chartCell) ChartPoint {
	p := ChartPoint{Start: t, Rest: g.rest}
	if !g.null {
		p.Group = &g.name
	}
	if x == nil {
		if a.chart.Aggregation == Count || a.chart.Aggregation == Sum {
			p.Value = new(float64)
		}
		return p
	}
	p.Count = x.n
	switch q, isQuantile := a.chart.Aggregation.Quantile(); {
	case x.finished != nil:
		p.Value = finite(*x.finished)
	case isQuantile:
		p.Value = finite(quantile(x.all(), q))
	case a.chart.Aggregation == Count:
		p.Value = finite(float64(x.n))
	case a.chart.Aggregation == Average:
		p.Value = finite(x.value / float64(x.n))
	default:
		p.Value = finite(x.value)
	}
	return p
}

// quantile returns the value below which a part q of the values lies, interpolated between its neighbours as run.Quantile does. It leaves
// the values in another order: as far sorted as the answer needs, which takes time in proportion to their number.
func quantile(values []float64, q float64) float64 {
	if len(values) > 0 {
		at := int(q * float64(len(values)-1))
		selectNth(values, at)
		// What follows is not smaller, and the least of it is the next one.
		for i := at + 1; i < len(values); i++ {
			if values[i] < values[at+1] {
				values[i], values[at+1] = values[at+1], values[i]
			}
		}
	}
	return run.Quantile(values, q)
}

// selectNth orders values so far that the one at n is where it would be if they were sorted, with none greater before it and none smaller
// behind it.
func selectNth(values []float64, n int) {
	for len(values) > 16 {
		a, b, c := values[0], values[len(values)/2], values[len(values)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := 0, len(values)-1
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			values = values[:j+1]
		case n >= i:
			values, n = values[i:], n-i
		default:
			return
		}
	}
	slices.Sort(values)
}

// finite returns f, nil for what JSON has no number for.
func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}
