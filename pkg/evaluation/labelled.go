package evaluation

import (
	"encoding/json"

	"github.com/google/uuid"
)

// Bounds of a comparison of scores with people's labels.
const (
	MaxLabelled = 10_000 // events with a label that are looked at, the newest
	// MaxLabel is how many bytes of JSON a label or a score may have that is compared; longer texts are no classes.
	MaxLabel = 500
	// MaxLabelledText is how many bytes are kept of an event's name and of the explanation of its score.
	MaxLabelledText = 1000
)

// Labelled is an event that somebody has labelled, with the score that a metric gave it.
type Labelled struct {
	EventID, SessionID uuid.UUID
	Name               string  // of the event, its beginning
	Start              float64 // Unix milliseconds
	Label              json.RawMessage
	Score              json.RawMessage // nil: the metric has given it none
	Explanation        string          // of the score, its beginning
}

// Counts is what has become of the evaluations of a metric.
type Counts struct {
	States map[State]int64  // states without evaluations are absent
	Causes map[string]int64 // of those that are failed, by the sort of failure
	Cost   float64          // of all, in US dollars
}

// Add counts n evaluations of a state and a sort of failure, which cost so much together.
func (c *Counts) Add(state State, failure string, n int64, cost float64) {
	if c.States == nil {
		c.States, c.Causes = map[State]int64{}, map[string]int64{}
	}
	c.States[state] += n
	if failure != "" {
		c.Causes[failure] += n
	}
	c.Cost += cost
}
