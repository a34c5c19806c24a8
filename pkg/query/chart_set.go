package query

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
)

// MaxSeries is how many charts one ChartSet asks for.
const MaxSeries = 50

// ChartSet asks for several charts of one range, in the same buckets.
type ChartSet struct {
	From   *float64 // in Unix milliseconds; nil: with the first event
	To     float64  // as From
	Bucket Bucket   // may be Auto
	Zone   *time.Location
	// Previous asks also for the period of the same length before the range, bucket by bucket. From is set then.
	Previous bool
	// Series are the charts. Range, bucket and zone of each are those of the set; Fill plays no part.
	Series []*Chart
}

// ChartTable is the answer to a ChartSet: a value of each series and group for each bucket.
type ChartTable struct {
	Bucket   Bucket
	Times    []time.Time // beginnings of all buckets of the range
	Previous []time.Time // of the buckets that they are compared with; nil if nobody asked
	Series   []SeriesAnswer
}

// SeriesAnswer has the rows of one series: one, or one a group by name, then the group of all others and the one without a value.
type SeriesAnswer struct {
	Rows            []SeriesRow
	Total, Previous int64 // events that entered, in the range and before it
	Err             error // a fault.Invalid: why there are no rows
}

// SeriesRow has the values of a group.
type SeriesRow struct {
	Group *string // nil where the field is absent, or without groups
	// Rest says that the row is that of all groups that are not shown.
	Rest           bool
	Values, Before []SeriesValue // by bucket; Before is nil without a previous period
}

// SeriesValue is a number of a row.
type SeriesValue struct {
	Value *float64 // nil: there is none
	Count int64    // events that entered
}

// Settle returns the set with bounds within those of times, and the bucket that goes with them. from is where it begins; nil if there are no
// events to begin with.
func (s *ChartSet) Settle(from *float64) ChartSet {
	out := *s
	out.To = min(max(s.To, event.MinMillis), event.MaxMillis)
	first := out.To
	if from != nil {
		first = min(max(*from, event.MinMillis), event.MaxMillis)
	}
	out.From = &first
	if out.Bucket == Auto {
		out.Bucket = Fit(out.From, &out.To, time.Time{})
	}
	return out
}

// Buckets returns the beginnings of the buckets of a range that is settled. More than an answer may have are a fault.Invalid.
func (s *ChartSet) Buckets() ([]time.Time, error) {
	var all []time.Time
	for t := s.Bucket.Start(time.UnixMilli(int64(*s.From)), s.Zone); float64(t.UnixMilli()) <= s.To; t = s.Bucket.Next(t) {
		if len(all) == MaxChartPoints {
			return nil, tooManyPoints(MaxChartPoints)
		}
		all = append(all, t)
	}
	return all, nil
}

// Before returns the set of the previous period, and the beginnings of its buckets: as many as the range has, of which it cuts first and
// last as the range does. The two periods have no event in common.
func (s *ChartSet) Before(times []time.Time) (ChartSet, []time.Time) {
	n := len(times)
	if n == 0 {
		return *s, nil
	}
	offset := func(at float64, start time.Time) float64 { return at - float64(start.UnixMilli()) }
	first, last := offset(*s.From, times[0]), offset(s.To, times[n-1])
	// Where first and last bucket are cut at the same place, the one before last is the range's own first: the periods share a bucket.
	back := n
	if n > 1 && last <= first {
		back--
	}
	before := make([]time.Time, 0, n+back)
	for t, k := times[0], 0; k < back; k++ {
		t = s.Bucket.Start(t.Add(-time.Millisecond), s.Zone)
		before = append(before, t)
	}
	slices.Reverse(before)
	before = append(before, times[:n-back]...)
	out := *s
	from := s.within(before[0], first)
	to := min(s.within(before[n-1], last), math.Nextafter(*s.From, math.Inf(-1)))
	out.From, out.To = &from, to
	return out, before
}

// within returns the time that lies so far into a bucket, or the last one of a bucket that is shorter: a month has no 31st, or a day 23 hours.
func (s *ChartSet) within(start time.Time, offset float64) float64 {
	end := float64(s.Bucket.Next(start).UnixMilli())
	return min(float64(start.UnixMilli())+offset, math.Nextafter(end, math.Inf(-1)))
}

// Chart returns one of the set's charts, for the range of the set. only are the groups to keep apart, nil for the largest.
func (s *ChartSet) Chart(i int, only []string) *Chart {
	c := *s.Series[i]
	c.From, c.To, c.Bucket, c.Zone, c.Fill, c.Only = s.From, &s.To, s.Bucket, s.Zone, false, only
	return &c
}

// AddTo puts the points of a chart into a series of a table, as those of its range or of the previous period.
func (a *ChartAnswer) AddTo(x *SeriesAnswer, c *Chart, times []time.Time, previous bool) {
	at := make(map[int64]int, len(times))
	for i, t := range times {
		at[t.UnixMilli()] = i
	}
	zero := c.Aggregation == Count || c.Aggregation == Sum
	row := func(group *string, rest bool) *SeriesRow {
		for i := range x.Rows {
			if rowGroup(&x.Rows[i]) == groupOf(group, rest) {
				return &x.Rows[i]
			}
		}
		x.Rows = append(x.Rows, SeriesRow{Group: group, Rest: rest})
		return &x.Rows[len(x.Rows)-1]
	}
	values := func(r *SeriesRow) *[]SeriesValue {
		if previous {
			return &r.Before
		}
		return &r.Values
	}
	if c.Group == nil {
		row(nil, false)
	}
	for _, p := range a.Points {
		if i, ok := at[p.Start.UnixMilli()]; ok {
			v := values(row(p.Group, p.Rest))
			if *v == nil {
				*v = emptyValues(len(times), zero)
			}
			(*v)[i] = SeriesValue{p.Value, p.Count}
		}
	}
	for i := range x.Rows {
		if v := values(&x.Rows[i]); *v == nil {
			*v = emptyValues(len(times), zero)
		}
		if previous && x.Rows[i].Values == nil {
			x.Rows[i].Values = emptyValues(len(times), zero)
		}
	}
	if previous {
		x.Previous = a.Total
	} else {
		x.Total = a.Total
	}
	slices.SortStableFunc(x.Rows, func(p, q SeriesRow) int { return compareGroups(rowGroup(&p), rowGroup(&q)) })
}

// emptyValues are those of buckets without events: 0 of counts and sums, else none.
func emptyValues(n int, zero bool) []SeriesValue {
	list := make([]SeriesValue, n)
	if zero {
		for i := range list {
			list[i].Value = new(float64)
		}
	}
	return list
}

func rowGroup(r *SeriesRow) chartGroup { return groupOf(r.Group, r.Rest) }

// Groups returns the groups of a series that were kept apart, for the previous period to keep the same.
func (x *SeriesAnswer) Groups() []string {
	list := []string{}
	for _, r := range x.Rows {
		if r.Group != nil && !r.Rest {
			list = append(list, *r.Group)
		}
	}
	return list
}

// Values returns how many values the table has.
func (t *ChartTable) Values() (n int) {
	for i := range t.Series {
		for _, r := range t.Series[i].Rows {
			n += len(r.Values) + len(r.Before)
		}
	}
	return n
}

// TooMany is the error of a table with more values than an answer may have.
func (t *ChartTable) TooMany() error { return tooManyPoints(MaxChartPoints) }

func tooManyPoints(most int) error {
	return fault.InvalidField("bucket", "the chart has more than %d points; take a longer bucket or a shorter date range", most)
}

// onlyKey identifies the groups that a chart keeps apart, if it names them.
func (c *Chart) onlyKey() string {
	if c.Only == nil {
		return ""
	}
	return fmt.Sprintf("%q", c.Only)
}
