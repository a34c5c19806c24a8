package run

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Only is which rows of a comparison are asked for.
type Only string

// The choices. The zero value asks for all.
const (
	OnlyImproved  Only = "improved"
	OnlyDegraded  Only = "degraded"
	OnlySame      Only = "same"
	OnlyFailed    Only = "failed"
	OnlyErrors    Only = "errors"
	OnlyDiffering Only = "differing"
)

// Onlys lists the choices.
var Onlys = []Only{OnlyImproved, OnlyDegraded, OnlySame, OnlyFailed, OnlyErrors, OnlyDiffering}

// RowSort is what rows are sorted by.
type RowSort string

// The orders of rows. Rows without the value come last, equal ones in the order of the baseline.
const (
	SortOrder RowSort = "order" // that of the baseline
	SortDelta RowSort = "delta" // of a metric, against the baseline
	SortValue RowSort = "value" // of a metric
)

// RowSorts lists the orders.
var RowSorts = []RowSort{SortOrder, SortDelta, SortValue}

// AnySide asks for what any of the runs has.
const AnySide = -1

// RowQuery asks for a page of the rows of a comparison.
type RowQuery struct {
	Metric     int // index of the metric that Only and Sort are about; -1: Only is about all metrics but the measures of sessions
	Side       int // the run that they are about, or AnySide
	Only       Only
	Sort       RowSort
	Descending bool
	After      *RowPlace // the page begins after it
	Limit      int
}

// RowPlace is a row's place in an order. It stays where it is while the sessions of the runs do.
type RowPlace struct {
	Value float64 // what it is sorted by; NaN: it has none
	Side  int     // the run that has the row first
	Place         // of its first session there
}

// RowPage is a page of rows.
type RowPage struct {
	Rows   []int
	Total  int          // rows that match Only
	All    int          // rows
	Counts map[Only]int // rows by what they match
	Next   *RowPlace    // of the last row, if there are more
}

// flags say what a row has in a side.
type flags uint8

const (
	hasImproved flags = 1 << iota
	hasDegraded
	hasSame
	hasFailed
	hasError
)

var flagsOf = map[Only]flags{
	OnlyImproved: hasImproved, OnlyDegraded: hasDegraded, OnlySame: hasSame, OnlyFailed: hasFailed, OnlyErrors: hasError,
	OnlyDiffering: hasImproved | hasDegraded,
}

// SideMetric is a metric of a run against the baseline.
type SideMetric struct {
	MetricValue
	Paired
}

// MetricSides is a metric with each run.
type MetricSides struct {
	*ManyMetric
	Sides []SideMetric // that of the baseline is compared with itself
}

// Compare returns each metric with each run, and a page of rows. Without header, the metrics are left out, and so are the counts.
func (c *Many) Compare(q RowQuery, header bool) ([]MetricSides, *RowPage) {
	var metrics []MetricSides
	var all []flags // by row, of the sides asked for
	if header || q.Only != "" {
		all = make([]flags, len(c.rows))
		c.addErrors(all, q.Side)
	}
	for i := range c.Metrics {
		m := &c.Metrics[i]
		counts := all != nil && (q.Metric == i || q.Metric < 0 && m.measure == nil)
		if !header && !counts {
			continue
		}
		x := MetricSides{ManyMetric: m, Sides: make([]SideMetric, len(c.sides))}
		base := c.means(m, c.Base)
		for side := range c.sides {
			now := base
			if side != c.Base {
				now = c.means(m, side)
			}
			verdicts := c.verdicts(m, side)
			if counts && (q.Side == AnySide || q.Side == side) {
				c.addChanges(all, m, side, base, now, verdicts)
			}
			if header {
				p := Compare(base, now, m.LowerIsBetter)
				if m.Boolean {
					p.ofRates()
				}
				x.Sides[side] = SideMetric{c.valueOf(m, side, verdicts), p}
			}
		}
		if header {
			metrics = append(metrics, x)
		}
	}
	return metrics, c.page(&q, all, header)
}

// addErrors marks the rows with a session that has an error.
func (c *Many) addErrors(all []flags, only int) {
	for side := range c.sides {
		if only != AnySide && only != side {
			continue
		}
		s := &c.sides[side]
		for i, row := range s.rowOf {
			if s.Outcomes.Sessions[i].HasError {
				all[row] |= hasError
			}
		}
	}
}

// addChanges marks what a metric has done in a side.
func (c *Many) addChanges(all []flags, m *ManyMetric, side int, base, now []float64, verdicts []verdict) {
	for row, v := range verdicts {
		if v.failed {
			all[row] |= hasFailed
		}
	}
	if side == c.Base {
		return
	}
	for row := range all {
		switch changeOf(base[row], now[row], m.LowerIsBetter) {
		case Improved:
			all[row] |= hasImproved
		case Degraded:
			all[row] |= hasDegraded
		case Same:
			all[row] |= hasSame
		}
	}
}

// page chooses and orders rows.
func (c *Many) page(q *RowQuery, all []flags, header bool) *RowPage {
	p := &RowPage{All: len(c.rows)}
	if header {
		p.Counts = map[Only]int{}
		for only, want := range flagsOf {
			for _, f := range all {
				if f&want != 0 {
					p.Counts[only]++
				}
			}
		}
	}
	values := c.sortValues(q)
	want := flagsOf[q.Only]
	var rows []int
	for row := range c.rows {
		if q.Only != "" && all[row]&want == 0 {
			continue
		}
		p.Total++
		if q.After == nil || c.compare(q, c.place(row, values), *q.After) > 0 {
			rows = append(rows, row)
		}
	}
	if values != nil || q.Descending {
		slices.SortFunc(rows, func(a, b int) int { return c.compareRows(q, values, a, b) })
	}
	p.Rows = rows
	if len(rows) > q.Limit {
		p.Rows = rows[:q.Limit]
		next := c.place(p.Rows[q.Limit-1], values)
		p.Next = &next
	}
	return p
}

// sortValues returns what rows are sorted by; nil for their own order.
func (c *Many) sortValues(q *RowQuery) []float64 {
	if q.Sort != SortDelta && q.Sort != SortValue || q.Metric < 0 {
		return nil
	}
	side := q.Side
	if order := c.sideOrder(); side == AnySide {
		side = order[min(1, len(order)-1)]
	}
	m := &c.Metrics[q.Metric]
	now := c.means(m, side)
	if q.Sort == SortDelta {
		for row, b := range c.means(m, c.Base) {
			if changeOf(b, now[row], m.LowerIsBetter) == Same {
				now[row] = 0 // as its cell shows it
			} else {
				now[row] = bounded(now[row] - b)
			}
		}
	}
	return now
}

func (c *Many) place(row int, values []float64) RowPlace {
	start := c.rows[row]
	p := RowPlace{Side: int(start.side), Place: c.sides[start.side].Outcomes.Sessions[start.session].Place()}
	if values != nil {
		p.Value = values[row]
	}
	return p
}

// compareRows is compare for rows, whose own order is that of their places.
func (c *Many) compareRows(q *RowQuery, values []float64, a, b int) int {
	if values == nil {
		return direction(q.Descending, cmp.Compare(a, b))
	}
	return cmp.Or(compareValues(values[a], values[b], q.Descending), cmp.Compare(a, b))
}

func (c *Many) compare(q *RowQuery, a, b RowPlace) int {
	side := cmp.Or(cmp.Compare(c.turn(a.Side), c.turn(b.Side)), a.Place.Compare(b.Place))
	if q.Sort != SortDelta && q.Sort != SortValue {
		return direction(q.Descending, side)
	}
	return cmp.Or(compareValues(a.Value, b.Value, q.Descending), side)
}

// turn returns when a side has its turn in the order of rows.
func (c *Many) turn(side int) int {
	if side == c.Base {
		return -1
	}
	return side
}

// compareValues compares what rows are sorted by; what is missing comes last in either direction.
func compareValues(a, b float64, descending bool) int {
	switch missing, other := math.IsNaN(a), math.IsNaN(b); {
	case missing && other:
		return 0
	case missing:
		return 1
	case other:
		return -1
	}
	return direction(descending, cmp.Compare(a, b))
}

func direction(descending bool, order int) int {
	if descending {
		return -order
	}
	return order
}

// RowSession marks the rows of sessions without a datapoint.
const RowSession = "session:"

// RowID names a row: its datapoint, or its session after RowSession.
func (c *Many) RowID(row int) (id, datapoint string) {
	start := c.rows[row]
	o := &c.sides[start.side].Outcomes.Sessions[start.session]
	if o.Datapoint != "" {
		return o.Datapoint, o.Datapoint
	}
	return RowSession + o.ID.String(), ""
}

// Cell is what a run made of a row.
type Cell struct {
	Sessions []uuid.UUID // in order of start time
	Errors   int         // sessions with an error
	Failed   uuid.UUID   // the first of them
	Running  bool
	Scores   []CellScore
}

// CellScore is what a run has of a metric in a row.
type CellScore struct {
	Metric         int     // index
	Text           string  // where there is no number
	Value          float64 // mean
	Values         int
	Low, High      float64
	Deviation      float64 // standard deviation of several
	Delta          float64 // to the mean of the baseline, if Change is not ""
	Change         Change
	Passed, Judged bool
	ValuesPassed   int // of Values, those that pass, if Judged
}

// Cell returns what a run made of a row; nil if it has no session about it.
func (c *Many) Cell(row, side int) *Cell {
	s := &c.sides[side]
	sessions := s.sessionsOf(row)
	if len(sessions) == 0 {
		return nil
	}
	x := &Cell{}
	for _, i := range sessions {
		o := &s.Outcomes.Sessions[i]
		x.Sessions = append(x.Sessions, o.ID)
		x.Running = x.Running || o.Running
		if o.HasError {
			if x.Errors++; x.Errors == 1 {
				x.Failed = o.ID
			}
		}
	}
	for i := range c.Metrics {
		if score, ok := c.score(i, row, side); ok {
			x.Scores = append(x.Scores, score)
		}
	}
	return x
}

// score returns what a run has of a metric in a row.
func (c *Many) score(metric, row, side int) (x CellScore, ok bool) {
	m := &c.Metrics[metric]
	numbers, texts := c.cellValues(m, row, side)
	if len(numbers)+len(texts) == 0 {
		return x, false
	}
	x = CellScore{Metric: metric, Values: len(numbers)}
	judged := verdict{}
	if m.measure == nil {
		rule := &m.rules[side]
		for _, text := range texts {
			if rule.Categories != nil {
				pass := slices.Contains(rule.Categories, text)
				judged = judged.and(pass)
				if pass && len(numbers) == 0 { // of texts beside numbers the cell has none
					x.ValuesPassed++
				}
			}
		}
		if rule.decides() {
			for _, v := range numbers {
				pass := rule.passesNumber(v)
				judged = judged.and(pass)
				if pass {
					x.ValuesPassed++
				}
			}
		}
	}
	x.Judged, x.Passed = judged.any, judged.passed()
	if len(numbers) == 0 {
		x.Values = len(texts)
		slices.Sort(texts)
		x.Text = strings.Join(slices.Compact(texts), ", ")
		return x, true
	}
	x.Value = meanOf(numbers)
	x.Low, x.High = spreadOf(numbers)
	x.Deviation = deviationOf(numbers)
	if side != c.Base {
		if base, _ := c.cellValues(m, row, c.Base); len(base) > 0 {
			before := meanOf(base)
			if x.Change = changeOf(before, x.Value, m.LowerIsBetter); x.Change != Same {
				x.Delta = bounded(x.Value - before)
			}
		}
	}
	return x, true
}

// cellValues returns the values of a metric in a row, in the order in which means adds them.
func (c *Many) cellValues(m *ManyMetric, row, side int) (numbers []float64, texts []string) {
	s := &c.sides[side]
	for _, session := range s.sessionsOf(row) {
		if m.measure != nil {
			if v, ok := m.measure(&s.Outcomes.Sessions[session]); ok {
				numbers = append(numbers, v)
			}
			continue
		}
		col := m.columns[side]
		if col == nil {
			break
		}
		from, to := col.of(session)
		for i := from; i < to; i++ {
			if col.Texts != nil && col.Texts[i] != "" {
				texts = append(texts, col.Texts[i])
			} else {
				numbers = append(numbers, col.Values[i])
			}
		}
	}
	return numbers, texts
}
