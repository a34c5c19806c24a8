package evaluation

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Backfill asks for the evaluations of past events by one version of a metric, newest event first.
// Times are Unix milliseconds.
type Backfill struct {
	ID       string `json:"-"`
	MetricID string `json:"-"`
	Progress `json:"-"`
	State    BackfillState `json:"-"`
	Created  int64         `json:"-"`
	Updated  int64         `json:"-"` // of the last change; 0: there was none

	Version int64           `json:"version"` // of the metric
	Filters json.RawMessage `json:"filters"` // all that must hold, as package query writes them
	From    *float64        `json:"from,omitempty"`
	To      *float64        `json:"to,omitempty"`
	RunID   string          `json:"run_id,omitempty"`
	Limit   int             `json:"limit,omitempty"` // events at most; 0: all
	Total   int             `json:"total"`           // events that it is about, when it was made

	// Handled counts the events looked at, of which Skipped had been evaluated by the version
	// before; AtStart and AtID are the last one's place.
	Looked  int       `json:"looked"`
	Skipped int       `json:"skipped"`
	AtStart *float64  `json:"at_start,omitempty"`
	AtID    uuid.UUID `json:"at_id"`
	// Asked says that there are no further events.
	Asked bool `json:"asked"`
}

// MaxBackfills is how many backfills of a project may run or be paused.
const MaxBackfills = 10

// backfillWaiting is from how many evaluations of a backfill on that wait no more are asked for, so
// that there is little to pause or cancel.
const backfillWaiting = 1000

// Progress counts the evaluations that a backfill has asked for, by their state.
type Progress struct{ Waiting, Paused, Done, Failed, Dead int }

// BackfillState is where a backfill stands.
type BackfillState string

// The states. The last two are final.
const (
	BackfillRunning   BackfillState = "running"
	BackfillPaused    BackfillState = "paused"
	BackfillDone      BackfillState = "done"
	BackfillCancelled BackfillState = "cancelled"
)

// Move moves the backfill to another state; to that in which it is, nothing changes. fault.Conflict
// if it has ended.
func (b *Backfill) Move(to BackfillState) error {
	if b.State != to && slices.Contains([]BackfillState{BackfillDone, BackfillCancelled}, b.State) {
		return fault.New(fault.Conflict, "the backfill is %s", b.State)
	}
	b.State = to
	return nil
}

// Passed reports whether the event at a place in the order, newest first, has been looked at.
func (b *Backfill) Passed(start float64, id uuid.UUID) bool {
	if b.AtStart == nil || start != *b.AtStart {
		return b.AtStart != nil && start > *b.AtStart
	}
	return id.String() >= b.AtID.String()
}

// Due reports whether the backfill may take its next step: ask for further evaluations, unless enough
// of it waits, or end, when all that it has asked for have been made.
func (b *Backfill) Due(p Progress) bool {
	return p.Waiting < backfillWaiting && (!b.Asked || p.Waiting == 0)
}

// Room returns for how many further events the backfill may ask in one step of at most slice.
func (b *Backfill) Room(slice int) int {
	if b.Limit > 0 {
		return min(slice, b.Limit-b.Looked)
	}
	return slice
}

// NextTo returns the latest start time of events that it has not looked at; nil if that is open.
func (b *Backfill) NextTo() *float64 {
	if b.AtStart != nil {
		return b.AtStart
	}
	return b.To
}

// Candidate is an event that a backfill may ask for.
type Candidate struct {
	Start float64 // Unix milliseconds
	ID    uuid.UUID
}

// Take returns the ids of those of a page of events, newest first, that the backfill has not looked
// at, at most room, and moves it behind the last of them. Many events may have started at the same
// time: those looked at before are passed over.
func (b *Backfill) Take(page []Candidate, room int) (ids []uuid.UUID) {
	var last *Candidate
	for i := range page {
		if e := &page[i]; !b.Passed(e.Start, e.ID) && len(ids) < room {
			ids, last = append(ids, e.ID), e
		}
	}
	if last != nil {
		b.AtStart, b.AtID = &last.Start, last.ID
	}
	return ids
}

// Count adds to the counts of events: looked at, and made of them into new evaluations.
func (b *Backfill) Count(looked, made int) {
	b.Looked += looked
	b.Skipped += looked - made
}
