// Package evaluation holds evaluations: that one version of a metric is to score one event, and
// what came of it. It knows their states and how a sample is drawn, and does no I/O.
package evaluation

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"

	"github.com/google/uuid"
)

// State is where an evaluation stands.
type State string

// The states. An evaluation is made Waiting and is so until there is a result, also while an
// engine works on it.
const (
	Waiting State = "waiting"
	Paused  State = "paused" // its backfill is paused
	Done    State = "done"   // there is a score, or there is nothing to score
	Failed  State = "failed" // the engine said that there can be no score, and Failure why
	Dead    State = "dead"   // the engine broke too often; Explanation says how
)

// States returns all states, in the order of the numbers under which they are stored.
func States() []State { return []State{Waiting, Paused, Done, Failed, Dead} }

// Source is the source of events that evaluators send, such as the calls of a judge. They are
// never evaluated themselves.
const Source = "evaluator"

// Evaluation is one of a metric's version over an event. There is at most one for each metric,
// version and event. Times are Unix milliseconds.
type Evaluation struct {
	ID       string
	MetricID string
	Version  int64 // of the metric, from 1
	EventID  uuid.UUID
	Backfill string // id of the backfill that asked for it; empty: it came with the event
	State    State
	Attempts int   // how often an engine was asked
	Due      int64 // of those that wait: not before
	Created  int64
	Finished int64 // 0: there is no result yet

	Score       json.RawMessage // number, boolean or string; nil: none
	Explanation string
	Failure     string  // the engine's sort of failure
	Passed      *bool   // whether the score meets the metric's threshold; nil: it says nothing of it
	Cost        float64 // of all attempts, in US dollars
	LatencyMS   float64 // its share of the time the engine took for the batch it was in
}

// Query narrows a list of evaluations, newest first; what is empty does not count.
type Query struct {
	ID       string
	EventID  uuid.UUID
	MetricID string
	Backfill string
	State    State
	Failure  string
	Before   string // id: only older ones
	Limit    int    // 1 or more
}

// Sampled reports whether the event is in the metric's sample of percent in a hundred events. The
// answer is always the same for a metric and an event.
func Sampled(metricID string, event uuid.UUID, percent float64) bool {
	sum := sha256.Sum256(append([]byte(metricID), event[:]...))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11)/(1<<53)*100 < percent
}

// Group is what waits for one version of a metric: new events, or those of one backfill.
type Group struct {
	Project  int64
	MetricID string
	Version  int64
	Backfill string
	Waiting  int
	Due      int // of them
}

// Job is an evaluation that was claimed: nobody else works on it until its lease ends.
type Job struct {
	ID       string
	EventID  uuid.UUID
	Attempts int // this one counted; it names the claim
}

// Outcome is the result of a job.
type Outcome struct {
	Job
	// State is Done, Failed or Dead, or Waiting if the job is to be tried again at Due.
	State State
	Due   int64
	// Skipped is set with Waiting if no engine was asked: the attempt does not count.
	Skipped bool
	// Outdated is set if another version of the metric is active by now.
	Outdated bool
	// Drop deletes the evaluation: there is nothing to evaluate any more.
	Drop        bool
	Score       json.RawMessage
	Explanation string
	Failure     string
	Passed      *bool
	Cost        float64 // of this attempt, in US dollars
	LatencyMS   float64
}

// OutboxEvent is an event that was stored or changed, in a project with metrics that run over new
// events.
type OutboxEvent struct {
	EventID, SessionID uuid.UUID
}

// OutboxRow is a claimed row of the outbox: events of one project.
type OutboxRow struct {
	ID      int64
	Project int64
	Events  []OutboxEvent
}

// Delayed is an event to be looked at when it is due: one that has not ended, or a session that may
// go on.
type Delayed struct {
	Project int64
	EventID uuid.UUID
	Due     int64
	// Extend moves the due time of an event that is delayed already; otherwise the first one holds.
	Extend bool
}

// Request asks for an evaluation.
type Request struct {
	MetricID string
	Version  int64
	EventID  uuid.UUID
}

// Enqueue is what becomes of claimed outbox rows and delayed events, all of one project.
type Enqueue struct {
	Project  int64
	Requests []Request // those that exist already are left out
	Delayed  []Delayed
	// OutboxIDs and Handled are what this settles: the claimed rows and the delayed events that were due.
	OutboxIDs []int64
	Handled   []Delayed
}
