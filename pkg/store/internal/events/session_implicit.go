package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// userGiven is session.user_ms where an update has set the user: no event's user comes before it.
const userGiven = noLast

// refreshImplicitSession recomputes the name, source, resource and user of an implicit session's event
// after its events changed or were deleted: resource and source are those of the first root, or else of
// the first event; a name that was the service's is renewed; the user is that of the first event with one.
func (s *Store) refreshImplicitSession(ctx context.Context, tx *Commit, project int64, now *event.Event, rank int) error {
	key := []any{project, tx.ID(now.ID)}
	below := ` FROM event WHERE ` + s.Dialect.OfSession() + ` AND event_id <> $2`
	// The event that leads the session: its first root, or else its first event.
	var id uuid.UUID
	var day int32
	var root bool
	ok, err := sqldb.One(ctx, tx, `SELECT event_id, day, parent_id IS NULL`+below+`
		ORDER BY CASE WHEN parent_id IS NULL THEN 0 ELSE 1 END, start_ms, event_id LIMIT 1`,
		key, sqldb.ScanID(&id), &day, &root)
	if err != nil || !ok {
		return err
	}
	first, err := s.load(ctx, tx, project, day, id)
	if fault.IsNotFound(err) {
		return sqldb.ErrConflict
	}
	if err != nil {
		return err
	}
	hint := hintOf(&first.Event)
	now.Source = first.Source
	now.ColdMetadata = rawjson.Merge(now.ColdMetadata, rawjson.Without(hint.Metadata, now.Metadata))
	if rank != rankHint { // what gave the name may be gone
		was := rank
		switch {
		case root && first.Name != event.Unknown:
			now.Name, rank = first.Name, rankRoot
		case hint.Fallback != "":
			now.Name, rank = hint.Fallback, rankFallback
		}
		if rank != was {
			if _, err := tx.Exec(ctx, `UPDATE session
				SET name_rank = $3
				WHERE project_id = $1 AND session_id = $2`, project, tx.ID(now.ID), rank); err != nil {
				return err
			}
		}
	}
	// The user follows the events, unless an update has set it.
	var was *float64
	if _, err := sqldb.One(ctx, tx, `SELECT user_ms FROM session WHERE project_id = $1 AND session_id = $2`, key, &was); err != nil {
		return err
	}
	if was == nil || *was == userGiven {
		return nil
	}
	var user string
	var ms *float64
	if _, err := sqldb.One(ctx, tx, `SELECT user_id, start_ms`+below+` AND user_id IS NOT NULL
		ORDER BY start_ms, event_id LIMIT 1`, key, &user, &ms); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE session
		SET user_ms = $3
		WHERE project_id = $1 AND session_id = $2`, project, tx.ID(now.ID), ms); err != nil {
		return err
	}
	now.UserProperties = rawjson.Without(now.UserProperties, []byte(`{"user_id":null}`))
	if ms != nil {
		var b rawjson.Builder
		b.String("user_id", user)
		now.UserProperties = rawjson.Merge(now.UserProperties, b.Bytes())
	}
	return nil
}

// name returns the name that an implicit session gets from this delta, and its rank.
func (d *sessionDelta) name() (string, int) {
	switch {
	case d.hint != nil && d.hint.Name != "":
		return d.hint.Name, rankHint
	case d.root.ev != nil && d.root.ev.Name != event.Unknown:
		return d.root.ev.Name, rankRoot
	case d.hint != nil && d.hint.Fallback != "":
		return d.hint.Fallback, rankFallback
	default:
		return event.Unknown, rankUnknown
	}
}

// event makes the session event of an implicit session, from the row (state) where the row decides: a session may have
// had events before that began earlier or ended later.
func (d *sessionDelta) event() *event.Event {
	e := &event.Event{ID: d.id, SessionID: d.id, Type: event.TypeSession, Source: event.Unknown,
		Start: d.state.first, End: d.state.last, UserProperties: d.user}
	e.Duration = max(e.End-e.Start, 0)
	if d.failed.ev != nil {
		e.Correct(event.Correction{SessionError: d.failed.ev.Error})
	}
	e.Name, _ = d.name()
	if d.root.ev != nil {
		e.Source = d.root.ev.Source
	} else if d.hint != nil && d.hint.Source != "" {
		e.Source = d.hint.Source
	}
	if d.hint != nil {
		e.ColdMetadata = d.hint.Metadata
	}
	return e
}

// insertImplicitSession stores the session event of an implicit session that a move has just made. Those of sessions that
// new events make are inserted together with these (insert).
func (w *writing) insertImplicitSession(ctx context.Context, tx *Commit, d *sessionDelta) error {
	// An event with the id of a session would share its session event's key.
	if err := w.idFree(ctx, tx, d.project, d.id); err != nil {
		return err
	}
	// A chunk of its own, if it has a payload at all: the session's other chunks are compressed already.
	h, c := headOf(d.event(), d.project)
	h.sid = d.state.sid
	if c != nil {
		id, err := tx.nextChunkID(ctx)
		if err != nil {
			return err
		}
		c.ID = id
		if err := tx.insertChunks(ctx, []record.Chunk{*c}); err != nil {
			return err
		}
	}
	tx.fields.addImplicitSession(h)
	if err := tx.insertEvents(ctx, []*head{h}); err != nil {
		return err
	}
	w.fresh = append(w.fresh, h) // updates may wait for it
	// After the row: the filter may only know ids that are stored, or are about to be in this same transaction.
	return tx.addIDs(ctx, h.project, h.day, h.ev.ID)
}

// syncImplicitSession updates the session event of an implicit session, or the end of one that its sender
// left open, after events were added.
//
// The delta knows only the events of this transaction, and the row knows the times and the first root of all. So the
// delta may set what follows the first root only if its root is the row's, and what the leading event gives only
// if it brought that event (leads); what it brings otherwise only fills what is empty.
func (w *writing) syncImplicitSession(ctx context.Context, tx *Commit, d *sessionDelta) error {
	old, err := w.s.load(ctx, tx, d.project, d.state.eventDay, d.id)
	if fault.IsNotFound(err) {
		return sqldb.ErrConflict // its day changed since the row was read
	}
	if err != nil {
		return err
	}
	now := old.Event
	if d.state.implicit == implicitAll {
		now.Start = d.state.first
		name, rank := d.name()
		isRoot := d.root.ev != nil && d.state.rootID == d.root.ev.ID
		// A better or equal rank wins, so that the name does not depend on which request came first; of equal ones
		// only the event that leads may set it.
		if rank >= d.state.nameRank && (rank != rankRoot || isRoot) && (rank != rankFallback || d.leads()) {
			now.Name = name
		}
		if isRoot {
			now.Source = d.root.ev.Source
		} else if now.Source == event.Unknown && d.hint != nil && d.hint.Source != "" {
			now.Source = d.hint.Source
		}
		// The row has the earliest time of an event with a user. If it is this delta's, so is the user.
		if d.userMS != nil && *d.userMS == *d.state.userMS {
			now.UserProperties = rawjson.Merge(now.UserProperties, d.user)
		}
		switch {
		case d.hint == nil:
		case d.leads():
			if !isRoot && d.hint.Source != "" {
				now.Source = d.hint.Source
			}
			now.ColdMetadata = rawjson.Merge(now.ColdMetadata, rawjson.Without(d.hint.Metadata, now.Metadata))
		default:
			now.ColdMetadata = rawjson.Fill(now.ColdMetadata, rawjson.Without(d.hint.Metadata, now.Metadata))
		}
	}
	switch {
	case now.EndGiven:
	case d.state.implicit == implicitAll:
		now.End = d.state.last
	default:
		now.End = max(now.End, d.state.last)
	}
	now.FollowTimes()
	return w.s.Rewrite(ctx, tx, d.project, old, &now)
}

// endImplicit deletes an implicit session and that has no event any more but its own. over
// reports whether it did.
func (s *Store) endImplicit(ctx context.Context, tx *Commit, project int64, session uuid.UUID) (over bool, err error) {
	var implicit, left int
	found, err := sqldb.One(ctx, tx, `SELECT implicit,
			CASE WHEN EXISTS (SELECT 1 FROM event WHERE `+s.Dialect.OfSession()+` AND event_id <> $2) THEN 1 ELSE 0 END
		FROM session
		WHERE project_id = $1 AND session_id = $2`, []any{project, tx.ID(session)}, &implicit, &left)
	if err != nil || !found || implicit != implicitAll || left > 0 {
		return false, err
	}
	// There is one event left, its own, so a single slice is all of it.
	_, _, err = s.deleteSome(ctx, tx, project, session, false)
	return true, err
}
