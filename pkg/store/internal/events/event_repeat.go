package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// repeatOf is an event whose id is stored already.
type repeatOf struct {
	head *head
	day  int32 // where it is stored
}

// repeat changes a stored event by a second create of the same id.
func (w *writing) repeat(ctx context.Context, tx *Commit, r repeatOf) error {
	old, err := w.s.load(ctx, tx, r.head.project, r.day, r.head.ev.ID)
	if fault.IsNotFound(err) {
		// A session event that follows its events may have moved to another day meanwhile.
		old, err = w.s.Find(ctx, tx, r.head.project, r.head.ev.ID)
	}
	if fault.IsNotFound(err) {
		return sqldb.ErrConflict // deleted since it was found
	}
	if err != nil {
		return err
	}
	now := old.Event
	if now.IsSession() && r.head.ev.IsSession() {
		return w.repeatSession(ctx, tx, old, r.head.in)
	}
	came := r.head.in
	// What it cost, and how many tokens it has in all, follows from the tokens that the event has then.
	if r.head.priced {
		came = unpriced(came)
	}
	if r.head.totalled {
		came = untotalled(came)
	}
	changed, err := w.s.repeatWithLogs(ctx, tx, r.head.project, &now, came)
	if err != nil || !changed {
		return err
	}
	w.noteResponse(r.head.project, responseOf(&now), responseOf(&old.Event))
	return w.s.Rewrite(ctx, tx, r.head.project, old, &now)
}

// repeatSession changes a stored session event by another one. What its sender set goes
// before what was made up for an implicit session.
func (w *writing) repeatSession(ctx context.Context, tx *Commit, old *Stored, came *event.Incoming) error {
	now := old.Event
	var implicit int
	ok, err := sqldb.One(ctx, tx, `SELECT implicit
		FROM session
		WHERE project_id = $1 AND session_id = $2`, []any{old.project, tx.ID(came.ID)}, &implicit)
	if err != nil {
		return err
	}
	if !ok {
		return sqldb.ErrConflict // deleted since it was found
	}
	// The session event is one that somebody sent, and this is another copy of it: the usual merge decides.
	if implicit != implicitAll {
		if !now.Repeat(came) {
			return nil
		}
		return w.s.Rewrite(ctx, tx, old.project, old, &now)
	}
	// The implicit session's event becomes the sender's: came is the base, and what was made up only fills what it lacks.
	before := now
	now = came.Event
	now.SessionID, now.ParentID = came.ID, uuid.Nil
	before.Unfinished = now.Unfinished
	now.Repeat(&event.Incoming{Event: before})
	// Nobody but updates and evaluators has given the session any of these so far.
	now.Metrics = rawjson.Merge(came.Metrics, before.Metrics)
	now.Feedback = rawjson.Merge(came.Feedback, before.Feedback)
	implicit = explicitSession
	switch {
	case before.EndGiven: // by an update
		now.End, now.EndGiven = before.End, true
	case came.End <= came.Start:
		implicit = implicitEnd
		now.End = max(before.End, came.End)
	}
	// The sender gave no start, so the earliest that is known is as good as the time at which the request came.
	if came.DefaultTime {
		now.Start = min(before.Start, came.Start)
	}
	switch {
	case before.DurationGiven: // by an update
		now.Duration, now.DurationGiven = before.Duration, true
	case implicit == implicitEnd || now.EndGiven || came.DefaultTime:
		now.Duration = max(now.End-now.Start, 0)
	}
	if _, err := tx.Exec(ctx, `UPDATE session
		SET implicit = $3
		WHERE project_id = $1 AND session_id = $2`, old.project, tx.ID(came.ID), implicit); err != nil {
		return err
	}
	return w.s.Rewrite(ctx, tx, old.project, old, &now)
}
