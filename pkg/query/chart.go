package query

import (
	"fmt"
	"math"
	"time"
	_ "time/tzdata" // the binary runs where there is no time zone database

	"github.com/spangrove/spangrove/pkg/fault"
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
}

// Limit is how many points the answer may have.
func (c *Chart) Limit() int {
	if c.MaxPoints > 0 {
		return c.MaxPoints
	}
	return MaxChartPoints
}

// Bucket is a length of time that a chart sums up.
type Bucket string

// The buckets.
const (
	Minute Bucket = "minute"
	Hour   Bucket = "hour"
	Day    Bucket = "day"
	Week   Bucket = "week" // from Monday
	Month  Bucket = "month"
)

var bucketNames = map[string]Bucket{
	"minute": Minute, "minutes": Minute, "1m": Minute, "hour": Hour, "hours": Hour, "1h": Hour,
	"day": Day, "days": Day, "1d": Day, "week": Week, "weeks": Week, "1w": Week, "month": Month, "months": Month, "1M": Month,
}

// ParseBucket reads a bucket by any of its names; "" is an hour.
func ParseBucket(name string) (Bucket, error) {
	if name == "" {
		return Hour, nil
	}
	if b, ok := bucketNames[name]; ok {
		return b, nil
	}
	return "", fault.InvalidField("bucket", "unknown bucket %.40q; one of minute, hour, day, week, month", name)
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
	return "", fault.InvalidField(field, "unknown aggregation %.40q; one of average, sum, count, min, max, median, p50, p75, p90, p95, p99", name)
}

// Quantile is the part of the values below a percentile, and whether the aggregation is one.
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

// Start is the beginning of the bucket that t falls into, in the zone.
func (b Bucket) Start(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	y, m, d := t.Date()
	switch b {
	case Minute:
		return t.Add(-time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
	case Hour:
		// By subtraction: an hour that a change of clocks repeats is two buckets.
		return t.Add(-time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
	case Week:
		d -= (int(t.Weekday()) + 6) % 7
	case Month:
		d = 1
	}
	return time.Date(y, m, d, 0, 0, 0, 0, zone)
}

// Next is the beginning of the bucket after the one that begins at start.
func (b Bucket) Next(start time.Time) time.Time {
	switch b {
	case Minute:
		return start.Add(time.Minute)
	case Hour:
		return start.Add(time.Hour)
	case Day:
		return start.AddDate(0, 0, 1)
	case Week:
		return start.AddDate(0, 0, 7)
	}
	return start.AddDate(0, 1, 0)
}

// unit is the length in milliseconds, and an origin, of equal pieces of time such that each
// lies in one bucket: what a database can count by. Clocks differ from UTC by whole quarters
// of an hour since 1986, and by whole minutes since 1972; before, by seconds.
func (b Bucket) unit(zone *time.Location, from float64) (size, origin float64) {
	const minute, day, year = 60_000.0, 86_400_000.0, 366 * 86_400_000.0
	switch {
	case zone == time.UTC && b == Hour:
		return 60 * minute, 0
	case zone == time.UTC && b == Week:
		return 7 * day, 4 * day // 1970 began on a Thursday
	case zone == time.UTC && b != Minute:
		return day, 0
	case zone == time.UTC, b == Minute && from >= 3*year:
		return minute, 0
	case from >= 17*year:
		return 15 * minute, 0
	case from >= 3*year:
		return minute, 0
	}
	return 1000, 0
}

// ChartPlan is how a store answers a Chart. The database reads, of the rows that Plan lets
// through, Unit, Group and Value; but rows with one of the spill bits of Reads, and all rows if
// InGo is set, must be read whole, matched and measured in Go.
type ChartPlan struct {
	Plan  Plan
	Unit  string // number of the unit of time that the event starts in
	Group string // for FieldReader.TextOf; "" without groups
	Value string // a double, or NULL; "" where only events are counted
	Reads uint32
	InGo  bool

	size, origin float64 // of a unit, in milliseconds
}

// CompileChart turns a chart into a plan over ev, alias e. No event starts before earliest,
// in Unix milliseconds.
func CompileChart(b *Builder, projectID int64, c *Chart, earliest float64) ChartPlan {
	p := ChartPlan{Plan: CompileSearch(b, projectID, &c.Search)}
	p.size, p.origin = c.Bucket.unit(c.Zone, earliest)
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
		p.Value, reads = c.Metric.numberSQL(b)
		p.Reads |= reads
	}
	return p
}

// UnitOf is the number of the unit that a start time in Unix milliseconds falls into.
func (p *ChartPlan) UnitOf(startMS float64) int64 {
	return int64(math.Floor((startMS - p.origin) / p.size))
}

// UnitStart is the beginning of a unit.
func (p *ChartPlan) UnitStart(unit int64) time.Time {
	return time.UnixMilli(int64(float64(unit)*p.size + p.origin))
}

// Bounds of a chart.
const (
	// MaxGroups is how many groups a chart shows, those with most events; the events of all
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
	Value *float64 // nil in a bucket without values
	Count int64    // events that entered
}

// ChartAnswer has a chart's points by time, within it by group, events without the field and
// the group of all others last. Total is the number of events that entered: all that match if
// they are counted, else those whose metric is a number.
type ChartAnswer struct {
	Points []ChartPoint
	Total  int64
}
