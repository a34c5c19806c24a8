package query

import (
	"fmt"
	"time"
)

// Percentiles cannot be added up: the values of a bucket must be at hand together. What is worth keeping of a chart of percentiles is therefore the
// finished points of whole buckets, which hold as long as the events of the bucket do. Whoever has kept points gives them to Restore before
// blocks are summed up, and gets those of the other buckets from Finished.

// BucketPoint is a finished point of a chart of percentiles.
type BucketPoint struct {
	Group *string // nil: there is no value to group by
	Rest  bool    // the point is that of all groups that are not kept apart
	Count int64
	Value float64
}

// KeepsValues reports whether the chart needs the values of its events one by one.
func (a *ChartSums) KeepsValues() bool { return a.keep }

// PointsKey identifies the points of a bucket, but for its events and filters: points with the same key are the same.
func (a *ChartSums) PointsKey() string {
	return fmt.Sprintf("%s|%v|%s|%v|%q|%q|%s", a.chart.Aggregation, a.chart.Bucket, a.chart.Zone, a.plan.totals, a.groupKey(), a.plan.metric.key(), a.chart.onlyKey())
}

// Buckets returns the starts, in Unix milliseconds, of the buckets in which there may be events of a range of times, and of the bucket behind
// the last one. ok is false if there are more than most.
func (a *ChartSums) Buckets(first, last float64, most int) (starts []int64, end int64, ok bool) {
	t := a.chart.Bucket.Start(time.UnixMilli(int64(first)), a.chart.Zone)
	for ; float64(t.UnixMilli()) <= last; t = a.chart.Bucket.Next(t) {
		if len(starts) == most {
			return nil, 0, false
		}
		starts = append(starts, t.UnixMilli())
	}
	return starts, t.UnixMilli(), true
}

// HasEvents reports whether events of a bucket were added one by one. Its points are not finished without them.
func (a *ChartSums) HasEvents(start int64) bool { return a.single[start] }

// Restore adds the points of a bucket. SumBlock leaves out its events from now on.
func (a *ChartSums) Restore(start int64, points []BucketPoint) error {
	a.restored[start] = true
	for _, p := range points {
		x, err := a.cellAt(start, groupOf(p.Group, p.Rest))
		if err != nil {
			return err
		}
		x.n, x.finished = p.Count, &p.Value
	}
	return nil
}

// Finished returns the points of all buckets that were summed up over blocks alone. Nothing may be added afterwards.
func (a *ChartSums) Finished() map[int64][]BucketPoint {
	q, _ := a.chart.Aggregation.Quantile()
	list := map[int64][]BucketPoint{}
	for k, x := range a.cells {
		if a.single[k.start] || a.restored[k.start] {
			continue
		}
		value := quantile(x.all(), q)
		x.finished = &value
		p := BucketPoint{Rest: k.rest, Count: x.n, Value: value}
		if !k.null {
			p.Group = &k.name
		}
		list[k.start] = append(list[k.start], p)
	}
	return list
}

// JoinsGroups reports whether the chart has more groups than it shows, so that points of some become one.
func (a *ChartSums) JoinsGroups() bool {
	names := map[string]bool{}
	for k := range a.cells {
		if !k.null {
			names[k.name] = true
		}
	}
	return a.only == nil && len(names) > a.chart.GroupLimit()
}

// restoredUnits returns which units from one to another are of buckets that were restored; nil if none is.
func (a *ChartSums) restoredUnits(from, to int64) (units []bool) {
	if len(a.restored) == 0 {
		return nil
	}
	for unit := from; unit <= to; unit++ {
		if a.restored[a.bucketOf(unit)] {
			if units == nil {
				units = make([]bool, to-from+1)
			}
			units[unit-from] = true
		}
	}
	return units
}

// bucketOf returns the start of a unit's bucket, in Unix milliseconds.
func (a *ChartSums) bucketOf(unit int64) int64 {
	return a.chart.Bucket.Start(a.plan.unitStart(unit), a.chart.Zone).UnixMilli()
}

// groupOf returns the group of a text, nil for none, or that of all others.
func groupOf(text *string, rest bool) chartGroup {
	switch {
	case rest:
		return restGroup
	case text == nil:
		return chartGroup{null: true}
	}
	return chartGroup{name: *text}
}
