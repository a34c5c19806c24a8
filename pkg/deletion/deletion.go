// Package deletion has the noun "deletion": that all events or sessions which a search found are to be deleted, and how far that has come. It
// does no I/O.
package deletion

import (
	"github.com/spangrove/spangrove/pkg/fault"
)

// Bounds of deletions.
const (
	// Max is how many events, or how many sessions, one deletion may be of.
	Max = 1_000_000
	// MaxRunning is how many deletions of a project may run at once.
	MaxRunning = 10
	// MaxEnded is how many deletions that have ended a project keeps.
	MaxEnded = 100
)

// Kind is what a deletion deletes.
type Kind string

// The kinds.
const (
	Events   Kind = "events"   // events, but no session events
	Sessions Kind = "sessions" // sessions with all their events
)

// State is where a deletion stands.
type State string

// The states.
const (
	Preparing State = "preparing" // what it is of is being written down; nothing is deleted yet
	Running   State = "running"
	Done      State = "done"
	Cancelled State = "cancelled"
)

// Count is what a deletion is of, or would be.
type Count struct {
	Sessions int64 `json:"sessions"` // 0 for events
	Events   int64 `json:"events"`   // session events among them, if it is of sessions
	// SessionEvents are the session events that a search for events finds, which stay.
	SessionEvents int64 `json:"-"`
}

// Check returns a fault.Conflict if there is more to delete than somebody has seen.
func (c Count) Check(k Kind, seen Count) error {
	switch {
	case k == Sessions && c.Sessions > seen.Sessions:
		return fault.New(fault.Conflict, "%d sessions match by now, more than the %d expected: count again", c.Sessions, seen.Sessions)
	case c.Events > seen.Events:
		return fault.New(fault.Conflict, "%d events would go by now, more than the %d expected: count again", c.Events, seen.Events)
	}
	return nil
}

// Deletion is one. It does not keep what was searched for, which may name what must not be kept.
type Deletion struct {
	ID      string `json:"-"`
	Of      Kind   `json:"of"`
	State   State  `json:"-"`
	Total   Count  `json:"total"`   // when it began
	Deleted Count  `json:"deleted"` // so far
	// Kept are the sessions that stay because events came for them after the deletion began, or that were gone by then.
	Kept    int64  `json:"kept"`
	Server  string `json:"server"` // the one that works on it
	Created int64  `json:"-"`      // Unix milliseconds
	Updated int64  `json:"-"`      // of the last progress; 0: there was none
}

// Ended reports whether nothing is deleted any more.
func (d *Deletion) Ended() bool { return d.State == Done || d.State == Cancelled }
