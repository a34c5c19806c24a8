package query

import (
	"cmp"
	"maps"
	"slices"
	"time"
	_ "time/tzdata" // the binary runs where there is no time zone database

	"github.com/spangrove/spangrove/pkg/fault"
)

// Bucket is a length of time that a chart sums up: a unit of the calendar or of the clock where the
// chart's zone is.
//
// A day begins at its first instant that exists, which is not midnight where clocks are put forward
// then. An hour in which clocks are changed by less than an hour has fewer minutes, and one that a change
// repeats is two buckets.
type Bucket string

// The buckets. There are also the steps between them, by their lengths: 5s, 10s, 30s, 5m, 10m, 30m, 3h, 6h and 12h, which begin with a whole
// minute, hour or day of the clocks, and again where clocks are changed.
const (
	Second Bucket = "second"
	Minute Bucket = "minute"
	Hour   Bucket = "hour"
	Day    Bucket = "day"
	Week   Bucket = "week" // from Monday
	Month  Bucket = "month"

	// Auto is the bucket that goes with the range of a chart (see Fit).
	Auto Bucket = "auto"

	// Whole is all time: a chart of it has one point, also of percentiles. No caller of the API names it.
	Whole Bucket = "whole"
)

// lengths are the buckets of the clock. A day is a multiple of each.
var lengths = map[Bucket]time.Duration{
	Second: time.Second, "5s": 5 * time.Second, "10s": 10 * time.Second, "30s": 30 * time.Second,
	Minute: time.Minute, "5m": 5 * time.Minute, "10m": 10 * time.Minute, "30m": 30 * time.Minute,
	Hour: time.Hour, "3h": 3 * time.Hour, "6h": 6 * time.Hour, "12h": 12 * time.Hour,
}

// byLength are the buckets of the clock, shortest first.
var byLength = slices.SortedFunc(maps.Keys(lengths), func(a, b Bucket) int { return cmp.Compare(lengths[a], lengths[b]) })

// fitBuckets is how many buckets a range has at most, but for months.
const fitBuckets = 120

// Fit returns the shortest bucket of which a range has at most 120; a day for a range that is open towards the past. The bounds are in
// Unix milliseconds; a range without an end ends now.
func Fit(from, to *float64, now time.Time) Bucket {
	if from == nil {
		return Day
	}
	end := float64(now.UnixMilli())
	if to != nil {
		end = *to
	}
	fits := func(length time.Duration) bool { return end-*from <= fitBuckets*float64(length.Milliseconds()) }
	if i := slices.IndexFunc(byLength, func(b Bucket) bool { return fits(lengths[b]) }); i >= 0 {
		return byLength[i]
	}
	const day = 24 * time.Hour
	switch {
	case fits(day):
		return Day
	case fits(7 * day):
		return Week
	}
	return Month
}

var bucketNames = map[string]Bucket{
	"auto": Auto, "second": Second, "seconds": Second, "1s": Second, "minute": Minute, "minutes": Minute, "1m": Minute, "hour": Hour, "hours": Hour, "1h": Hour,
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
	if lengths[Bucket(name)] != 0 {
		return Bucket(name), nil
	}
	return "", fault.InvalidField("bucket", "unknown bucket %.40q; must be one of auto, second, minute, hour, day, week, month, "+
		"5s, 10s, 30s, 5m, 10m, 30m, 3h, 6h, 12h", name)
}

// Start returns the beginning of the bucket that t falls into, in the zone. It is not later than t.
func (b Bucket) Start(t time.Time, zone *time.Location) time.Time {
	if b == Whole {
		return time.UnixMilli(0).In(zone)
	}
	t = t.In(zone)
	y, m, d := t.Date()
	if length := lengths[b]; length != 0 {
		return clockStart(t, onClock(t)%length)
	}
	switch b {
	case Week:
		d -= (int(t.Weekday()) + 6) % 7
	case Month:
		d = 1
	}
	return dayStart(y, m, d, zone)
}

// Next returns the beginning of the bucket after the one that begins at start, which is later.
func (b Bucket) Next(start time.Time) time.Time {
	if b == Whole {
		return start.Add(wholeMS * time.Millisecond)
	}
	if length := lengths[b]; length != 0 {
		return clockEnd(start, length-onClock(start)%length)
	}
	y, m, d := start.Date()
	months, days := 0, 1
	switch b {
	case Week:
		d -= (int(start.Weekday()) + 6) % 7 // Monday itself may not exist
		days = 7
	case Month:
		months, days, d = 1, 0, 1
	}
	for {
		y, m, d = time.Date(y, m+time.Month(months), d+days, 0, 0, 0, 0, time.UTC).Date()
		if next := dayStart(y, m, d, start.Location()); next.After(start) {
			return next // else the date does not exist
		}
	}
}

// onClock returns what the clocks of t's zone show.
func onClock(t time.Time) time.Duration {
	h, m, s := t.Clock()
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second + time.Duration(t.Nanosecond())
}

// dayStart returns the first instant at which the clocks of a zone show a date, or a later one if they
// skip it. The day may be out of the month's range, as for time.Date.
func dayStart(y int, m time.Month, d int, zone *time.Location) time.Time {
	midnight := time.Date(y, m, d, 0, 0, 0, 0, time.UTC) // as the clocks show it
	// No zone is, or was, a whole day away from UTC.
	for t := midnight.Add(-24 * time.Hour).In(zone); ; {
		end := zoneEnd(t)
		at := midnight.Add(-offset(t)).In(zone)
		if at.Before(t) {
			at = t // the clocks were put forward over midnight
		}
		if end.IsZero() || at.Before(end) {
			return at
		}
		t = end.In(zone)
	}
}

// clockStart returns t less what has passed of its hour or minute, or the last change of clocks if
// that is later.
func clockStart(t time.Time, passed time.Duration) time.Time {
	start := t.Add(-passed)
	for at := t; ; {
		change, _ := at.ZoneBounds()
		if change.IsZero() || !change.After(start) {
			return start
		}
		before := change.Add(-1).In(t.Location())
		if offset(before) != offset(t) {
			return change.In(t.Location())
		}
		at = before // only the zone's name changed
	}
}

// clockEnd returns t and what is left of its hour or minute, or the next change of clocks if that is earlier.
func clockEnd(t time.Time, left time.Duration) time.Time {
	for at := t; ; {
		change := zoneEnd(at)
		if change.IsZero() || !change.Before(t.Add(left)) {
			return t.Add(left)
		}
		at = change.In(t.Location())
		if offset(at) != offset(t) {
			return at
		}
	}
}

// zoneEnd returns a time after t up to which the clocks are not changed, zero if they never are.
func zoneEnd(t time.Time) time.Time {
	_, end := t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		// On the last day of a leap year beyond the tables, Go returns its beginning.
		end = t.Add(24 * time.Hour)
	}
	return end
}

// offset returns how far the clocks of t's zone are ahead of UTC at t.
func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// wholeMS is longer than any time at which events begin.
const wholeMS = 8_000_000_000_000 // until 2223

// unitSizes are the lengths of a database's units of time, longest first.
var unitSizes = []time.Duration{time.Hour, 15 * time.Minute, time.Minute, time.Second}

// lastChange is until when changes of clocks are looked at, in Unix milliseconds: the rules in force
// go on for ever in the same way.
const lastChange = 4_102_444_800_000 // 2100

// unit returns the length in milliseconds, and an origin, of equal pieces of time such that each
// lies in one bucket: what a database can count by. No event of the chart starts before from or after
// to, in Unix milliseconds.
//
// In UTC a unit is the bucket itself, but a day for months. In another zone it is the longest of unitSizes that divides
// all offsets of the zone within the range, and the place in the hour of each of its changes: an hour where
// clocks differ by whole hours, 15 minutes in India or Nepal.
func (b Bucket) unit(zone *time.Location, from, to float64) (size, origin float64) {
	const day = 86_400_000
	if b == Whole {
		return wholeMS, 0
	}
	if zone == time.UTC {
		switch {
		case lengths[b] != 0:
			return float64(lengths[b].Milliseconds()), 0
		case b == Week:
			return 7 * day, 4 * day // 1970 began on a Thursday
		}
		return day, 0
	}
	sizes := unitSizes
	for lengths[b]%sizes[0] != 0 {
		sizes = sizes[1:]
	}
	// fit takes a length of which d is a multiple.
	fit := func(d time.Duration) {
		for len(sizes) > 1 && d%sizes[0] != 0 {
			sizes = sizes[1:]
		}
	}
	last := time.UnixMilli(int64(min(to, lastChange)))
	for t := time.UnixMilli(int64(from)).In(zone); ; {
		fit(offset(t))
		change := zoneEnd(t)
		if change.IsZero() || change.After(last) {
			break
		}
		fit(time.Duration(change.Unix()%3600) * time.Second)
		t = change.In(zone)
	}
	return float64(sizes[0].Milliseconds()), 0
}
