package events

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// The error of a session event whose sender gave none is that of the first failed root of its session: the earliest event
// directly below the session that has an error. It follows that event: it changes when an earlier one fails, and goes when that
// one is updated, moved or deleted (refreshSessionError, which recount and moves of traces come to). flagRootError on the
// session event marks an error as one that followed, so that it counts as none of its own.

// setSessionError makes the error of a session's first failed root that of its session event. The row keeps when that root
// began (error_ms): a failed root that began later changes nothing, and costs one look at the row.
func (w *writing) setSessionError(ctx context.Context, tx *Commit, d *sessionDelta) error {
	if d.failed.ev == nil {
		return nil
	}
	var known *float64
	key := []any{d.project, tx.ID(d.id)}
	if ok, err := sqldb.One(ctx, tx, `SELECT error_ms
		FROM session
		WHERE project_id = $1 AND session_id = $2`, key, &known); err != nil || !ok {
		return err
	}
	if known != nil && *known < d.failed.ms {
		return nil
	}
	if d.state.fresh && d.sessionHead == nil { // it was made with the error
		return w.s.setErrorTime(ctx, tx, d.project, d.id, &d.failed.ms)
	}
	return w.s.refreshSessionError(ctx, tx, d.project, d.id)
}

// setErrorTime keeps when the root began whose error the session has; nil: it has none.
func (s *Store) setErrorTime(ctx context.Context, tx *Commit, project int64, session uuid.UUID, ms *float64) error {
	_, err := tx.Exec(ctx, `UPDATE session SET error_ms = $3 WHERE project_id = $1 AND session_id = $2`, project, tx.ID(session), ms)
	return err
}

// refreshSessionError finds the first failed root of a session again and makes its error that of the session
// event, unless that has one of its own.
func (s *Store) refreshSessionError(ctx context.Context, tx *Commit, project int64, session uuid.UUID) error {
	old, err := s.Find(ctx, tx, project, session)
	if fault.IsNotFound(err) {
		return nil // the session goes
	}
	if err != nil {
		return err
	}
	var id uuid.UUID
	var day int32
	var ms *float64
	ok, err := sqldb.One(ctx, tx, fmt.Sprintf(`SELECT event_id, day, start_ms FROM event WHERE %s AND event_id <> $2 AND parent_id IS NULL
		AND (error <> '' OR (spill & %d) <> 0) ORDER BY start_ms, event_id LIMIT 1`, s.Dialect.OfSession(), query.SpillError),
		[]any{project, tx.ID(session)}, sqldb.ScanID(&id), &day, &ms)
	if err != nil {
		return err
	}
	var c event.Correction
	if ok {
		// Read whole: an error that is too long for the row stands in the payload.
		root, err := s.load(ctx, tx, project, day, id)
		if fault.IsNotFound(err) {
			return sqldb.ErrConflict
		}
		if err != nil {
			return err
		}
		c.SessionError = root.Error
	}
	if err := s.setErrorTime(ctx, tx, project, session, ms); err != nil {
		return err
	}
	now := old.Event
	now.Recorrect(c, false)
	// An error of the session's own stays: Recorrect only changes one that had followed a root.
	if sameError(now.Error, old.Error) {
		return nil
	}
	return s.Rewrite(ctx, tx, project, old, &now)
}

// sameError reports whether two errors have one text, or are both absent.
func sameError(a, b *string) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
