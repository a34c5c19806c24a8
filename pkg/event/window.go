package event

import (
	"math"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Window is the range of times at which an event may begin. Times far from now are nearly always
// a mistake of the sender (another unit, a wrong clock), and a store is laid out by day.
type Window struct {
	Oldest time.Time     // the earliest start
	Ahead  time.Duration // how far the latest start is ahead of the server's clock
}

// DefaultWindow begins in 2015 and ends one day ahead of the server's clock.
var DefaultWindow = Window{Oldest: time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC), Ahead: 24 * time.Hour}

// KeyOriginalStart is the key of metadata that holds the start time that a span gave, Unix
// milliseconds, where the store keeps the span at the time it arrived.
const KeyOriginalStart = "original_start_time"

// Holds reports whether an event may begin at ms, Unix milliseconds. now is the server's clock.
func (w Window) Holds(ms float64, now time.Time) bool {
	return ms >= float64(w.Oldest.UnixMilli()) && ms <= float64(now.Add(w.Ahead).UnixMilli())
}

// Check returns a fault.Invalid about start_time if e begins outside the window.
func (w Window) Check(e *Event, now time.Time) error {
	if w.Holds(e.Start, now) {
		return nil
	}
	return fault.InvalidField("start_time", "%smust be between %s and %s", UnitHint(e.Start),
		w.Oldest.UTC().Format(time.RFC3339), now.Add(w.Ahead).UTC().Format(time.RFC3339))
}

// Adjust moves an event that begins outside the window to now, keeps its duration, and records the
// time it gave in metadata. It changes no other event.
func (w Window) Adjust(e *Incoming, now time.Time) {
	if w.Holds(e.Start, now) {
		return
	}
	original := rawjson.AppendNumber([]byte(`{"`+KeyOriginalStart+`":`), e.Start)
	e.Metadata = rawjson.Merge(e.Metadata, append(original, '}'))
	e.Start = float64(now.UnixMilli())
	e.End = math.Min(e.Start+e.Duration, MaxMillis)
	e.DefaultTime = true
}

// UnitHint returns the start of a message about a time that is out of range, if it would be a
// plausible time in another unit, else an empty text.
func UnitHint(ms float64) string {
	for _, unit := range []struct {
		name   string
		factor float64 // to milliseconds
	}{{"seconds", 1e3}, {"microseconds", 1e-3}, {"nanoseconds", 1e-6}} {
		if at := ms * unit.factor; at >= minPlausible && at < maxPlausible {
			return "looks like " + unit.name + "; Unix milliseconds are expected; "
		}
	}
	return ""
}

// What the present may be, in Unix milliseconds, for guesses at a unit: 2001 to the end of 2099.
const (
	minPlausible = 978307200000
	maxPlausible = 4102444800000
)
