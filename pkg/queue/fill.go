package queue

import (
	"encoding/json"
	"time"
)

// rescanAges are the ages at which an event is looked at whether it enters a queue.
//
// An event may be stored later than one that started after it, and may come to match by an update.
// So each event is looked at more than once: when it is the newest, and again at these ages. What
// comes or changes later than the last one enters only by hand, or when the filters are sent again.
var rescanAges = [...]time.Duration{0, 2 * time.Minute, 30 * time.Minute, 24 * time.Hour}

// FillSlice is how many events one look takes in one go.
const FillSlice = 1000

// Cursors hold, for each of the looks at events, up to which start time it has come, in Unix
// milliseconds.
type Cursors []float64

// ParseCursors reads cursors as they are stored. A look that they do not name begins with the oldest event.
func ParseCursors(text string) (Cursors, error) {
	c := make(Cursors, len(rescanAges))
	for i := range c {
		c[i] = -1
	}
	if text == "" {
		return c, nil
	}
	var kept []float64
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return nil, err
	}
	copy(c, kept)
	return c, nil
}

// Advance moves the cursors up to those of another: none moves back.
func (c Cursors) Advance(to Cursors) {
	for i := range c {
		c[i] = max(c[i], to[i])
	}
}

// Horizon returns up to which start time a look takes events now, in Unix milliseconds. A queue that
// is switched off takes none that started after that.
func (q *Queue) Horizon(look int, now time.Time) float64 {
	horizon := float64(now.Add(-rescanAges[look]).UnixMilli())
	if !q.Enabled {
		horizon = min(horizon, float64(q.Until))
	}
	return horizon
}
