package query

import (
	"fmt"
	"math"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Chart asks for one number a bucket of start time and, if it is grouped, a group.
type Chart struct {
	Search // which events; Limit and Page play no part
	Metric FieldReader
	// Group is the field whose values split the events; nil: they are not split.
	Group       *FieldReader
	Bucket      Bucket
	Aggregation Aggregation
	Zone        *time.Location // where days, weeks and months begin
	Fill        bool           // also the buckets without events
	MaxPoints   int            // bound of the answer; 0: MaxChartPoints
	MaxGroups   int            // how many groups are shown; 0: MaxGroups
	// Only are the groups that are shown, whatever their number; nil: the largest.
	Only []string
}

// GroupLimit returns how many groups the chart shows.
func (c *Chart) GroupLimit() int {
	if c.MaxGroups > 0 {
		return c.MaxGroups
	}
	return MaxGroups
}

// Limit returns how many points the answer may have.
func (c *Chart) Limit() int {
	if c.MaxPoints > 0 {
		return c.MaxPoints
	}
	return MaxChartPoints
}

// Aggregation is how the values of a bucket become one.
type Aggregation string

// The aggregations. Percentiles interpolate between the closest values.
const (
	Average Aggregation = "average"
	Sum     Aggregation = "sum"
	Count   Aggregation = "count"
	Min     Aggregation = "min"
	Max     Aggregation = "max"
	Median  Aggregation = "median"
	P75     Aggregation = "p75"
	P90     Aggregation = "p90"
	P95     Aggregation = "p95"
	P99     Aggregation = "p99"
)

var aggregationNames = map[string]Aggregation{
	"avg": Average, "average": Average, "mean": Average, "sum": Sum, "count": Count, "min": Min, "max": Max,
	"median": Median, "p50": Median, "p75": P75, "p90": P90, "p95": P95, "p99": P99,
}

// ParseAggregation reads an aggregation by any of its names; "" is the average. field is what
// an error calls it.
func ParseAggregation(name, field string) (Aggregation, error) {
	if name == "" {
		return Average, nil
	}
	if a, ok := aggregationNames[name]; ok {
		return a, nil
	}
	return "", fault.InvalidField(field,
		"unknown aggregation %.40q; must be one of average, sum, count, min, max, median, p50, p75, p90, p95, p99", name)
}

// Quantile returns the part of the values below a percentile, and whether the aggregation is one.
func (a Aggregation) Quantile() (float64, bool) {
	switch a {
	case Median:
		return 0.5, true
	case P75:
		return 0.75, true
	case P90:
		return 0.9, true
	case P95:
		return 0.95, true
	case P99:
		return 0.99, true
	}
	return 0, false
}

// ChartPlan is how a store answers a Chart. The database reads, of the rows that Plan lets
// through, Unit, Group and Value; but rows with one of the spill bits of Reads, and all rows if
// InGo is set, must be read whole, matched and measured in Go. Both go to the same ChartSums.
type ChartPlan struct {
	Plan  Plan
	Unit  string // number of the unit of time that the event starts in
	Group string // for FieldReader.TextOf; "" without groups
	Value string // a double, or NULL; "" where only events are counted
	Reads uint32
	InGo  bool

	metric       *FieldReader
	totals       bool    // session events enter with what they have only as the sum of their events
	size, origin float64 // of a unit, in milliseconds
}

// CompileChart turns a chart into a plan over event, alias e. No event starts before earliest,
// in Unix milliseconds. The database does not know the calendar: it counts by units of time that lie in one bucket each
// (see Bucket.unit), and ChartSums adds the units of a bucket together.
func CompileChart(b *Builder, projectID int64, c *Chart, earliest float64) ChartPlan {
	p := ChartPlan{Plan: CompileSearch(b, projectID, &c.Search)}
	p.metric, p.totals = &c.Metric, p.Plan.sessions == onlySessions
	latest := math.Inf(1)
	if c.To != nil {
		latest = *c.To
	}
	p.size, p.origin = c.Bucket.unit(c.Zone, earliest, latest)
	p.Reads = p.Plan.Reads
	counts := c.Aggregation == Count
	if len(p.Plan.Residual) > 0 || (c.Group != nil && !c.Group.textInSQL()) || (!counts && !c.Metric.numberInSQL()) {
		p.InGo = true
		return p
	}
	p.Unit = b.dialect.floorDiv(fmt.Sprintf("e.start_ms - %.1f", p.origin), p.size)
	var reads uint32
	if c.Group != nil {
		p.Group, reads = c.Group.textSQL(b)
		p.Reads |= reads
	}
	if !counts {
		p.Value, reads = c.Metric.numberSQL(b, p.Plan.sessions)
		p.Reads |= reads
	}
	return p
}

// number returns the number with which a matching event enters, false if it has none: the metric's
// value, 1 and 0 for true and false. What a session event has only as the sum of its events enters only if
// the filters ask for sessions alone, since the events themselves enter as well.
func (p *ChartPlan) number(e *event.Event) (float64, bool) {
	if c := &p.metric.c; !p.totals && e.IsSession() {
		switch {
		case c.name == "duration" && e.DerivedDuration:
			return 0, false
		case c.name == "metadata" && len(c.path) == 1 && rawjson.Get(e.Totals, c.path[0]) != nil:
			return 0, false
		}
	}
	return p.metric.Number(e)
}

// unitOf returns the number of the unit that a start time in Unix milliseconds falls into.
func (p *ChartPlan) unitOf(startMS float64) int64 {
	return int64(math.Floor((startMS - p.origin) / p.size))
}

// unitStart returns the beginning of a unit.
func (p *ChartPlan) unitStart(unit int64) time.Time {
	return time.UnixMilli(int64(float64(unit)*p.size + p.origin))
}

// Bounds of a chart.
const (
	// MaxGroups is how many groups a chart shows at most, those with most events; the events of all
	// others make up the group OtherGroup.
	MaxGroups  = 50
	OtherGroup = "other"
	// MaxChartPoints bounds the points of an answer, unless the chart says otherwise.
	MaxChartPoints = 100_000
)

// ChartPoint is one number of a chart.
type ChartPoint struct {
	Start time.Time // of the bucket, in the chart's zone
	// Group is the text of the group's value; nil where the field is absent, or without groups.
	Group *string
	Rest  bool     // the point is that of all groups that are not shown
	Value *float64 // nil in a bucket without values
	Count int64    // events that entered
}

// ChartAnswer has a chart's points by time, within it by group, events without the field and
// the group of all others last. Total is the number of events that entered: all that match if
// they are counted, else those whose metric is a number, true or false.
type ChartAnswer struct {
	Points []ChartPoint
	Total  int64
}
