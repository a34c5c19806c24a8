package events

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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

// repeatAll changes stored events by second creates of the same ids, as when a request is sent again whose answer was lost.
func (w *writing) repeatAll(ctx context.Context, tx *Commit, repeats []repeatOf) error {
	// All transactions hold rows of events in one order, so that no two wait for each other.
	slices.SortStableFunc(repeats, func(a, b repeatOf) int {
		return cmp.Or(cmp.Compare(a.head.project, b.head.project), cmp.Compare(a.day, b.day), bytes.Compare(a.head.ev.ID[:], b.head.ev.ID[:]))
	})
	for len(repeats) > 0 {
		n := 1
		for n < min(len(repeats), sqldb.IDsPerQuery) && repeats[n].head.project == repeats[0].head.project && repeats[n].day == repeats[0].day {
			n++
		}
		held, err := w.s.hold(ctx, tx, repeats[:n])
		if err != nil {
			return fmt.Errorf("hold repeated events: %w", err)
		}
		for _, r := range repeats[:n] {
			if err := w.repeat(ctx, tx, r, held); err != nil {
				return fmt.Errorf("repeat event %s: %w", r.head.ev.ID, err)
			}
		}
		repeats = repeats[n:]
	}
	return nil
}

// heldRows are rows of events that a transaction holds, each to be taken once: it is out of date once the event has been changed.
type heldRows struct {
	list *eventList
	at   map[uuid.UUID]int // places in it, by id
}

// hold reads and holds the rows of repeated events of one project and day with one statement, in the order of their ids. On SQLite, where each
// statement is a call in this process, it reads none.
func (s *Store) hold(ctx context.Context, tx *Commit, repeats []repeatOf) (h heldRows, err error) {
	if s.db.Exclusive() || len(repeats) == 1 {
		return h, nil
	}
	ids := make([]uuid.UUID, len(repeats))
	for i, r := range repeats {
		ids[i] = r.head.ev.ID
	}
	project := repeats[0].head.project
	cond, more := tx.AnyID("e.event_id", 3, ids)
	// The payloads are read ahead by connections that wait for no search; the transaction has one only.
	h = heldRows{&eventList{s: s, by: s.db.Quick(), project: project, ahead: prefetchEvents}, map[uuid.UUID]int{}}
	err = s.eachHead(ctx, tx, `e.project_id = $1 AND e.day = $2 AND `+cond+` ORDER BY e.event_id`+tx.ForUpdate("e"),
		append([]any{project, repeats[0].day}, more...), func(r *Stored) {
			// Changes of its events change a session event, too: its row is read when it is its turn.
			if !r.IsSession() {
				h.at[r.ID] = len(h.list.rows)
				h.list.rows = append(h.list.rows, r)
			}
		})
	return h, err
}

// loadRepeated is load for an event whose row may be held already.
func (s *Store) loadRepeated(ctx context.Context, tx *Commit, r repeatOf, held heldRows) (*Stored, error) {
	id := r.head.ev.ID
	if i, ok := held.at[id]; ok {
		delete(held.at, id)
		held.list.prefetch(ctx, i)
		row := *held.list.rows[i] // a copy: its payload goes when it has been changed
		if err := s.fillFrom(ctx, tx, &row); !errors.Is(err, errNoChunk) {
			return &row, err
		}
	}
	return s.load(ctx, tx, r.head.project, r.day, id)
}

// repeat changes a stored event by a second create of the same id.
func (w *writing) repeat(ctx context.Context, tx *Commit, r repeatOf, held heldRows) error {
	old, err := w.s.loadRepeated(ctx, tx, r, held)
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
