package run

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
)

// MaxCompared bounds the runs of one comparison.
const MaxCompared = 8

// The keys of what is known of sessions, which are compared like metrics.
const (
	DurationKey = "duration"
	CostKey     = "cost"
	TokensKey   = "tokens"
)

// SessionMeasure is the type of a metric that is the duration, the cost or the tokens of sessions.
const SessionMeasure = "SESSION"

// Side is a run of a comparison.
type Side struct {
	Run      *Run
	Outcomes *Outcomes
}

// Many compares up to MaxCompared runs with one of them, the baseline. Its rows are the datapoints of all of them, and the sessions without one: those of
// the baseline first, in its order, then what only the next run has, and so on.
type Many struct {
	Base    int // index of the baseline
	Metrics []ManyMetric
	Omitted int // metrics beyond MaxMetrics

	sides []manySide
	rows  []rowStart
	how   Aggregate
}

// ManyMetric is a metric of some kind of events, or a measure of sessions.
type ManyMetric struct {
	Key     string // unique in the comparison
	Name    string
	Kind    Kind
	Type    string // as of Rule, or SessionMeasure
	Unit    string
	Boolean bool // all numbers are true or false
	// LowerIsBetter is the direction; Directed is false if no rule says which values are better.
	LowerIsBetter, Directed bool
	Range                   Range // where numbers pass

	columns []*Column // by side; nil: it has no values
	rules   []Rule    // by side
	measure func(o *Outcome) (v float64, ok bool)
}

// manySide is a run with what leads from rows to its sessions.
type manySide struct {
	Side
	rowOf  []int32 // of each session
	starts []int32 // of each row, its sessions in order; one more at the end
	order  []int32 // sessions by row
	paired int     // rows that the baseline has, too
}

// rowStart is where a row comes first: the first session of the first side that has it.
type rowStart struct{ side, session int32 }

// CompareMany compares runs, the one at base with each other one. It takes up to MaxCompared of them.
func CompareMany(sides []Side, base int, project map[string]Rule, how Aggregate) *Many {
	c := &Many{Base: base, how: how, sides: make([]manySide, len(sides))}
	for i, s := range sides {
		c.sides[i].Side = s
	}
	c.makeRows()
	c.makeMetrics(project)
	return c
}

// sideOrder lists the sides, the baseline first.
func (c *Many) sideOrder() []int {
	order := []int{c.Base}
	for i := range c.sides {
		if i != c.Base {
			order = append(order, i)
		}
	}
	return order
}

func (c *Many) makeRows() {
	byDatapoint := map[string]int32{}
	for _, i := range c.sideOrder() {
		s := &c.sides[i]
		s.rowOf = make([]int32, len(s.Outcomes.Sessions))
		for j := range s.rowOf {
			d := s.Outcomes.Sessions[j].Datapoint
			row, ok := byDatapoint[d]
			if d == "" || !ok {
				row = int32(len(c.rows))
				c.rows = append(c.rows, rowStart{int32(i), int32(j)})
				if d != "" {
					byDatapoint[d] = row
				}
			}
			s.rowOf[j] = row
		}
	}
	for i := range c.sides {
		c.sides[i].group(len(c.rows))
	}
	base := &c.sides[c.Base]
	for i := range c.sides {
		for row := range c.rows {
			if len(base.sessionsOf(row)) > 0 && len(c.sides[i].sessionsOf(row)) > 0 {
				c.sides[i].paired++
			}
		}
	}
}

// group puts the sessions in the order of their rows.
func (s *manySide) group(rows int) {
	s.starts = make([]int32, rows+1)
	for _, row := range s.rowOf {
		s.starts[row+1]++
	}
	for i := range rows {
		s.starts[i+1] += s.starts[i]
	}
	next := slices.Clone(s.starts)
	s.order = make([]int32, len(s.rowOf))
	for session, row := range s.rowOf {
		s.order[next[row]] = int32(session)
		next[row]++
	}
}

// sessionsOf returns the sessions of a row, in order of start time.
func (s *manySide) sessionsOf(row int) []int32 { return s.order[s.starts[row]:s.starts[row+1]] }

func (c *Many) makeMetrics(project map[string]Rule) {
	rules := make([]func(string) Rule, len(c.sides))
	found := map[key]*ManyMetric{}
	for i := range c.sides {
		rules[i] = rulesOf(c.sides[i].Run, project)
		c.Omitted = max(c.Omitted, c.sides[i].Outcomes.Omitted)
		for j := range c.sides[i].Outcomes.Metrics {
			col := &c.sides[i].Outcomes.Metrics[j]
			k := key{col.Name, col.Kind}
			m := found[k]
			if m == nil {
				m = &ManyMetric{Name: col.Name, Kind: col.Kind, columns: make([]*Column, len(c.sides))}
				found[k] = m
			}
			m.columns[i] = col
		}
	}
	for _, m := range found {
		for i := range c.sides {
			m.rules = append(m.rules, rules[i](m.Name))
		}
		if m.isShown() {
			m.describe(c.Base)
			c.Metrics = append(c.Metrics, *m)
		}
	}
	slices.SortFunc(c.Metrics, func(a, b ManyMetric) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), CompareKinds(a.Kind, b.Kind))
	})
	if n := len(c.Metrics) - MaxMetrics; n > 0 {
		c.Metrics, c.Omitted = c.Metrics[:MaxMetrics], c.Omitted+n
	}
	c.nameMetrics()
	c.Metrics = append(c.Metrics, measures...)
}

// isShown reports whether there is something to say of the metric: it has numbers, or texts that a rule tells apart.
func (m *ManyMetric) isShown() bool {
	for i, col := range m.columns {
		if col != nil && (col.Numbers > 0 || m.rules[i].Categories != nil) {
			return true
		}
	}
	return false
}

// describe fills in what the rules say. The first of the other runs whose rule decides says what is good, and else the baseline.
func (m *ManyMetric) describe(base int) {
	rule := m.rules[base]
	for i, r := range m.rules {
		if i != base && r.decides() {
			rule = r
			break
		}
	}
	m.Type, m.LowerIsBetter, m.Directed, m.Range = rule.typeName(), rule.lowerIsBetter(), rule.directs(), rule.bounds()
	booleans, others := false, false
	for _, col := range m.columns {
		if col != nil && col.Numbers > 0 {
			booleans, others = booleans || col.Boolean, others || !col.Boolean
		}
	}
	m.Boolean = booleans && !others
}

// measures are what is known of each session.
var measures = []ManyMetric{
	sessionMeasure(DurationKey, "ms", func(o *Outcome) (float64, bool) { return o.Duration, !o.Running }),
	sessionMeasure(CostKey, "USD", func(o *Outcome) (float64, bool) { return o.Cost, o.HasCost }),
	sessionMeasure(TokensKey, "tokens", func(o *Outcome) (float64, bool) { return o.Tokens, o.Tokens > 0 }),
}

func sessionMeasure(name, unit string, of func(*Outcome) (float64, bool)) ManyMetric {
	return ManyMetric{Key: name, Name: name, Kind: Kind{Type: sessionType}, Type: SessionMeasure, Unit: unit, LowerIsBetter: true, Directed: true, measure: of}
}

// nameMetrics gives each metric a key of its own.
func (c *Many) nameMetrics() {
	names, taken := map[string]int{}, map[string]bool{DurationKey: true, CostKey: true, TokensKey: true}
	for i := range c.Metrics {
		names[c.Metrics[i].Name]++
	}
	for i := range c.Metrics {
		if m := &c.Metrics[i]; names[m.Name] == 1 && !taken[m.Name] {
			m.Key, taken[m.Name] = m.Name, true
		}
	}
	for i := range c.Metrics {
		m := &c.Metrics[i]
		if m.Key != "" {
			continue
		}
		m.Key = m.Name + " (" + strings.TrimSpace(m.Kind.Type+" "+m.Kind.Name) + ")"
		for long, n := m.Key, 2; taken[m.Key]; n++ {
			m.Key = long + " " + strconv.Itoa(n)
		}
		taken[m.Key] = true
	}
}

// Metric returns the index of a metric by its key. fault.Invalid if the runs have no such metric.
func (c *Many) Metric(name string) (int, error) {
	for i := range c.Metrics {
		if c.Metrics[i].Key == name {
			return i, nil
		}
	}
	return 0, fault.InvalidField("metric", "no run has a metric with the key %.200q", name)
}

// each calls f with the numbers and texts of a metric in a side, and the session that each is of.
func (m *ManyMetric) each(s *manySide, side int, f func(session int32, v float64, text string)) {
	if m.measure != nil {
		for i := range s.Outcomes.Sessions {
			if v, ok := m.measure(&s.Outcomes.Sessions[i]); ok {
				f(int32(i), v, "")
			}
		}
		return
	}
	col := m.columns[side]
	if col == nil {
		return
	}
	for i, session := range col.At {
		text := ""
		if col.Texts != nil {
			text = col.Texts[i]
		}
		f(session, col.Values[i], text)
	}
}

// means returns the mean of a metric's numbers in each row of a side, NaN where there is none.
func (c *Many) means(m *ManyMetric, side int) []float64 {
	s := &c.sides[side]
	sums, counts := make([]float64, len(c.rows)), make([]int32, len(c.rows))
	m.each(s, side, func(session int32, v float64, text string) {
		if text == "" {
			row := s.rowOf[session]
			sums[row] = bounded(sums[row] + v)
			counts[row]++
		}
	})
	for row, n := range counts {
		if n == 0 {
			sums[row] = math.NaN()
		} else {
			sums[row] /= float64(n)
		}
	}
	return sums
}

// verdicts returns what the rule of a metric says of each row of a side; nil if it says nothing.
func (c *Many) verdicts(m *ManyMetric, side int) []verdict {
	if m.measure != nil || m.columns[side] == nil {
		return nil
	}
	rule := &m.rules[side]
	decides := rule.decides()
	if !decides && rule.Categories == nil {
		return nil
	}
	s := &c.sides[side]
	list := make([]verdict, len(c.rows))
	m.each(s, side, func(session int32, v float64, text string) {
		row := s.rowOf[session]
		switch {
		case text != "" && rule.Categories != nil:
			list[row] = list[row].and(slices.Contains(rule.Categories, text))
		case text == "" && decides:
			list[row] = list[row].and(rule.passesNumber(v))
		}
	})
	return list
}

// MetricValue is what a run has of a metric.
type MetricValue struct {
	Aggregate      *float64 // of all numbers
	Values         int      // numbers, and texts that a rule tells apart
	Datapoints     int      // rows with one
	Passed, Failed int      // rows by the rule of the metric
}

// valueOf sums up a metric in a side, of which it is given the verdicts.
func (c *Many) valueOf(m *ManyMetric, side int, verdicts []verdict) MetricValue {
	var x MetricValue
	s := &c.sides[side]
	var numbers []float64
	seen := make([]bool, len(c.rows))
	texts := m.measure == nil && m.rules[side].Categories != nil
	m.each(s, side, func(session int32, v float64, text string) {
		if text == "" {
			numbers = append(numbers, v)
		} else if !texts {
			return
		}
		x.Values++
		if row := s.rowOf[session]; !seen[row] {
			seen[row] = true
			x.Datapoints++
		}
	})
	if v, ok := c.how.ofNumbers(numbers); ok {
		x.Aggregate = &v
	}
	for _, v := range verdicts {
		if v.passed() {
			x.Passed++
		} else if v.any {
			x.Failed++
		}
	}
	return x
}

// Totals sum up the sessions of a run.
type Totals struct {
	Datapoints, Sessions, Errors, Running int
	Unmatched                             int      // sessions that no datapoint is known of
	Duration                              *float64 // mean, in milliseconds, of those that have ended
	Cost                                  *float64 // sum
	Tokens                                float64  // sum
}

// Totals sums up the sessions of a side.
func (c *Many) Totals(side int) Totals {
	s := &c.sides[side]
	x := Totals{Sessions: len(s.rowOf)}
	duration, cost, ended, costs := 0.0, 0.0, 0, 0
	for i := range s.Outcomes.Sessions {
		o := &s.Outcomes.Sessions[i]
		if o.Datapoint == "" {
			x.Unmatched++
		}
		if o.HasError {
			x.Errors++
		}
		if o.Running {
			x.Running++
		} else {
			duration = bounded(duration + o.Duration)
			ended++
		}
		if o.HasCost {
			cost = bounded(cost + o.Cost)
			costs++
		}
		x.Tokens = bounded(x.Tokens + o.Tokens)
	}
	for row := range c.rows {
		if first := s.sessionsOf(row); len(first) > 0 && s.Outcomes.Sessions[first[0]].Datapoint != "" {
			x.Datapoints++
		}
	}
	if ended > 0 {
		duration /= float64(ended)
		x.Duration = &duration
	}
	if costs > 0 {
		x.Cost = &cost
	}
	return x
}

// Paired returns how many rows a side shares with the baseline.
func (c *Many) Paired(side int) int { return c.sides[side].paired }

// Run returns the run of a side.
func (c *Many) Run(side int) *Run { return c.sides[side].Run }

// Sides returns how many runs there are.
func (c *Many) Sides() int { return len(c.sides) }

// Summary is what a list shows of a run.
type Summary struct {
	Totals
	Metrics []MetricSummary
	Omitted int
}

// MetricSummary is a metric with what a run has of it.
type MetricSummary struct {
	ManyMetric
	MetricValue
}

// Summarize sums up one run.
func Summarize(r *Run, o *Outcomes, project map[string]Rule) *Summary {
	c := CompareMany([]Side{{r, o}}, 0, project, "average")
	x := &Summary{Totals: c.Totals(0), Omitted: c.Omitted}
	for i := range c.Metrics {
		if m := &c.Metrics[i]; m.measure == nil {
			x.Metrics = append(x.Metrics, MetricSummary{*m, c.valueOf(m, 0, c.verdicts(m, 0))})
		}
	}
	return x
}
