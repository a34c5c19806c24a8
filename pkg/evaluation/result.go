package evaluation

import (
	"encoding/json"
	"time"
)

// Result is the outcome of running a metric over an event.
type Result struct {
	// Success is false if there should be a score but there is none: Explanation says why, and
	// Failure classifies the reason.
	Success bool
	Failure Failure
	// Temporary is set if the failure may go away by itself, such as a busy provider: the same
	// event may be tried again later.
	Temporary bool
	// Skipped is set with Temporary if the engine has not looked at this event: the batch ran out of time before it, or it cannot be
	// looked at now.
	Skipped bool
	// Later is set with Skipped: how long to wait before another attempt is worth it; 0: no wait.
	Later time.Duration
	// Loading is set if what the engine needs is still loading: try again in a few seconds.
	Loading bool
	// Score is a number, a boolean or a string; nil if there is none.
	Score json.RawMessage
	// Explanation is for people: how the score came about, or why there is none.
	Explanation string
	// Passed reports whether the score meets the metric's threshold; nil if that does not apply.
	Passed *bool
	// Cost is what the evaluation cost, in US dollars.
	Cost float64
	// Prompt is what a judge was sent, if its metric is only tried: an array of {"role", "content"}. Where there were two
	// questions it is the first.
	Prompt json.RawMessage
}

// Failure classifies why there is no score, so that failures can be counted apart from low scores.
type Failure string

// The failures that any engine may have. Engines name further ones of their own.
const (
	NoEngine Failure = "no_engine" // nothing here runs this type of metric
	Unfit    Failure = "unfit"     // the definition or the event allows no score
)
