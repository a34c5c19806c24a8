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
