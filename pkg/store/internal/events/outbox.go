package events

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// A transaction records the events that it stored or changed, for metrics that run over new events, in
// an outbox: ids only, a row of them for each commit, so that it costs little. The evaluator claims the
// rows, looks at the events, and replaces the rows by evaluations in one transaction.

// outboxGroup is how many events one row names.
const outboxGroup = 500

// outbox collects the events that a transaction stored or changed, of projects with metrics that run
// over new events.
type outbox struct {
	s     *Store
	Muted bool                // what changes now is a score
	seen  map[writer.Key]bool // each event is listed once
	ids   map[int64][]byte    // by project: 32 bytes an event, its id and its session's
	order []int64             // projects, as they came
}

func newOutbox(s *Store) *outbox { return &outbox{s: s} }

// add lists an event that the transaction stored or changed. What evaluation itself stores is no news to evaluate.
func (a *outbox) add(project int64, e *event.Event, session uuid.UUID) {
	if a.Muted || e.Source == evaluation.Source || !a.s.online.has(project) {
		return
	}
	k := writer.Key{Project: project, ID: e.ID}
	if a.seen[k] {
		return
	}
	if a.seen == nil {
		a.seen, a.ids = map[writer.Key]bool{}, map[int64][]byte{}
	}
	a.seen[k] = true
	if a.ids[project] == nil {
		a.order = append(a.order, project)
	}
	a.ids[project] = append(append(a.ids[project], e.ID[:]...), session[:]...)
}

// write stores what was added.
func (a *outbox) write(ctx context.Context, tx *Commit) error {
	for _, project := range a.order {
		now := a.s.options.Now().UnixMilli()
		for ids := range slices.Chunk(a.ids[project], outboxGroup*32) {
			if _, err := tx.Exec(ctx, `INSERT INTO outbox(project_id, created_ms, due_ms, ids)
				VALUES ($1, $2, 0, $3)`, project, now, ids); err != nil {
				return fmt.Errorf("write the outbox: %w", err)
			}
		}
	}
	return nil
}

// online is the set of projects with metrics that run over new events.
type online struct {
	projects atomic.Pointer[map[int64]bool]
}

func (o *online) has(project int64) bool {
	m := o.projects.Load()
	return m != nil && (*m)[project]
}

// OutboxExpired counts rows of the outbox that nobody claimed in time.
func (s *Store) OutboxExpired(ctx context.Context, n int64) { s.telemetry.outbox.Add(ctx, n) }

// SetOnline sets the projects with metrics that run over new events.
func (s *Store) SetOnline(projects map[int64]bool) { s.online.projects.Store(&projects) }
