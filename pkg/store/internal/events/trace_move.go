package events

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/sessiontree"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// move puts the events of a trace's provisional session under the session the trace turned
// out to have, and leaves an alias.
//
//	before                          after
//	session T (id of the trace)     session S
//	├─ span 1                       ├─ span 1
//	└─ span 2                       ├─ span 2
//	                                └─ span 3, which named S
//	                                alias T → S
//
// The row of T becomes a delta of S: its totals, times, roots, run and user are added as if its events came now. Its
// session event goes, for S has one of its own, which gets what somebody has said of T (handOver). Whoever asks for T, or sends to it, is led
// to S by the alias.
//
// A session that its sender started under the very id of the trace is not provisional, and keeps its events.
func (w *writing) move(ctx context.Context, tx *Commit, t *traceRow) error {
	// A provisional session has the id of its trace.
	from, to := t.trace, t.session
	if target, ok, err := AliasOf(ctx, tx, t.project, to); err != nil {
		return err
	} else if ok {
		to = target // the session has moved itself
	}
	if to == from {
		return nil
	}
	// The row is locked: what another transaction adds to its totals meanwhile would be lost with it.
	row, ok, err := readSessionRow(ctx, tx, t.project, from, tx.ForUpdate(""))
	if err != nil || !ok || row.implicit != implicitAll {
		return err // a session that somebody started under this very id keeps its events
	}
	sessionEvent, err := w.s.load(ctx, tx, t.project, row.eventDay, from)
	if fault.IsNotFound(err) {
		return sqldb.ErrConflict // changed or deleted since the row was read
	}
	if err != nil {
		return err
	}
	d, err := w.deltaOfSession(ctx, tx, t.project, row, sessionEvent, to)
	if err != nil {
		return err
	}
	// The row of the new session must be there before events are moved: SQLite's events name its number.
	if err := w.upsert(ctx, tx, []*sessionDelta{d}); err != nil {
		return err
	}
	tx.moved(t.project, from, to)
	if err := tx.moveEvents(ctx, t.project, from, to, 0); err != nil {
		return err
	}
	if err := w.s.hooks.MoveOf(ctx, tx, t.project, from, to); err != nil {
		return err
	}
	// The session event goes after the others have moved, and before the row of its session, by which it is found in SQLite.
	if err := w.s.erase(ctx, tx, sessionEvent); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM session WHERE project_id = $1 AND session_id = $2`, t.project, tx.ID(from)); err != nil {
		return err
	}
	// From here on a reader who asks for the old id finds the events under the new one. All of it is one
	// transaction, so nobody sees them under both or under neither.
	if _, err := tx.Exec(ctx, `INSERT INTO alias(project_id, session_id, target) VALUES ($1, $2, $3)
		ON CONFLICT (project_id, session_id) DO UPDATE SET target = excluded.target`, t.project, tx.ID(from), tx.ID(to)); err != nil {
		return err
	}
	w.s.aliases.set()
	if err := w.finishMove(ctx, tx, d); err != nil || !sessionEvent.DerivedError {
		return err
	}
	return w.s.refreshSessionError(ctx, tx, t.project, to)
}

// deltaOfSession returns what session `to` gains by all events of another one, whose row and session event these are. Sums are added without
// the share of the session event, which goes. Everything else of the row is a minimum, a maximum or a rank, which the upsert compares with what
// the session has.
func (w *writing) deltaOfSession(ctx context.Context, tx *Commit, project int64, row *sessionRow, sessionEvent *Stored, to uuid.UUID) (*sessionDelta, error) {
	first, last := row.first, row.last
	if first == noFirst { // its events were deleted
		first, last = sessionEvent.Start, sessionEvent.End
	}
	d := &sessionDelta{project: project, id: to, totals: row.totals.minus(sessionEvent.asHead().totals), first: first, last: last,
		implicit: implicitAll, runID: row.runID, former: sessionEvent, userGiven: row.userMS != nil && *row.userMS == userGiven}
	if user := rawjson.Get(sessionEvent.UserProperties, "user_id"); row.userMS != nil && user != nil {
		var b rawjson.Builder
		b.Raw("user_id", user)
		d.user, d.userMS = b.Bytes(), row.userMS
	}
	// The new session's event may show what this one has shown, where it has nothing better.
	d.hint = &event.SessionHint{Fallback: sessionEvent.Name, Metadata: sessionEvent.ColdMetadata, Source: sessionEvent.Source}
	if row.nameRank == rankHint {
		d.hint.Name = sessionEvent.Name
	}
	if row.root.ms != nil {
		// The whole event, since the new session may take its name and source from it.
		root, err := w.s.load(ctx, tx, project, *row.root.day, row.root.id)
		if fault.IsNotFound(err) {
			return nil, sqldb.ErrConflict
		}
		if err != nil {
			return nil, err
		}
		d.root = rootRef{*row.root.ms, &root.Event, *row.root.day}
	}
	if row.final.ms != nil {
		d.final = rootRef{*row.final.ms, &event.Event{ID: row.final.id}, *row.final.day}
	}
	return d, nil
}

// finishMove brings the session event of a session up to the events that it has just got from another one, makes that session event if there
// is none, and gives it what was said of the other session (handOver).
func (w *writing) finishMove(ctx context.Context, tx *Commit, d *sessionDelta) error {
	var err error
	switch {
	case d.state.fresh:
		err = w.insertImplicitSession(ctx, tx, d)
	case d.state.implicit != explicitSession:
		err = w.syncImplicitSession(ctx, tx, d)
	}
	if err != nil {
		return err
	}
	return w.s.handOver(ctx, tx, d)
}

// handOver copies to a session's event what updates and evaluators have added to that of the former session, of which nothing is left. What the
// session's own event says goes first.
func (s *Store) handOver(ctx context.Context, tx *Commit, d *sessionDelta) error {
	if d.former == nil {
		return nil
	}
	f := &d.former.Event
	said := event.Event{
		ID: d.id, SessionID: d.id, Type: event.TypeSession, Name: event.Unknown, Source: event.Unknown, Metadata: f.Metadata, Metrics: f.Metrics,
		Feedback: f.Feedback, UserProperties: f.UserProperties, Inputs: f.Inputs, Outputs: f.Outputs, Config: f.Config, ChildrenIDs: f.ChildrenIDs,
	}
	if !d.userGiven { // it was that of an event
		said.UserProperties = rawjson.Without(said.UserProperties, []byte(`{"user_id":null}`))
	}
	timed := d.state.implicit == implicitAll && (f.EndGiven || f.DurationGiven)
	if !timed && !slices.ContainsFunc([]json.RawMessage{said.Metadata, said.Metrics, said.Feedback, said.UserProperties, said.Inputs, said.Outputs, said.Config,
		said.ChildrenIDs}, func(raw json.RawMessage) bool { return !rawjson.Empty(raw) }) {
		return nil
	}
	old, err := s.Find(ctx, tx, d.project, d.id)
	if err != nil {
		return err
	}
	now := old.Event
	said.Unfinished = now.Unfinished // it is no other copy of a span
	changed := now.Repeat(&event.Incoming{Event: said})
	if timed {
		if f.EndGiven && !now.EndGiven {
			now.End, now.EndGiven = f.End, true
		}
		if f.DurationGiven && !now.DurationGiven {
			now.Duration, now.DurationGiven = f.Duration, true
		}
		now.FollowTimes()
	}
	if !changed && !timed {
		return nil
	}
	return s.Rewrite(ctx, tx, d.project, old, &now)
}

// moveTrace takes the events of one trace out of the session that one of its spans had named,
// after a span of a smaller rank has named another one: a root that came last, say.
// Other events of that session stay. If it has no others and it is implicit, it goes; its id
// is a name that other traces may use, and leads nowhere.
//
//  1. The trace's events are read whole, and counted as a delta of their new session.
//  2. The new session's row is written, the events' rows are moved, and the totals are taken off the former session,
//     whose times and roots are computed anew (leave).
//  3. The session events of both follow.
//  4. Events whose metadata names the session's key are rewritten with the new one.
func (w *writing) moveTrace(ctx context.Context, tx *Commit, t *traceRow) error {
	to := t.session
	if target, ok, err := AliasOf(ctx, tx, t.project, to); err != nil {
		return err
	} else if ok {
		to = target
	}
	if to == t.former {
		return nil
	}
	list, err := w.ofTrace(ctx, tx, t)
	if err != nil || len(list) == 0 {
		return err
	}
	d := deltaOf(t.project, to, list)
	if err := w.upsert(ctx, tx, []*sessionDelta{d}); err != nil {
		return err
	}
	if err := tx.moveEvents(ctx, t.project, t.former, to, sessiontree.TraceHash(t.trace)); err != nil {
		return err
	}
	tx.moved(t.project, t.former, to)
	if err := w.leave(ctx, tx, t.project, t.former, d); err != nil {
		return err
	}
	if err := w.finishMove(ctx, tx, d); err != nil {
		return err
	}
	for _, old := range list { // what they name as their session's key
		now := old.Event
		now.SessionID = to
		if old.ParentID == old.SessionID {
			now.ParentID = to
		}
		before := *old
		before.Event.SessionID, before.Event.ParentID = now.SessionID, now.ParentID
		// Their rows have moved already, so only metadata is left to change; the parent is compared as it is after the move.
		if now.FileUnder(t.former) {
			if err := w.s.Rewrite(ctx, tx, t.project, &before, &now); err != nil {
				return err
			}
		}
	}
	if slices.ContainsFunc(list, func(e *Stored) bool { return e.Error != nil && e.ParentID == e.SessionID }) {
		return w.s.refreshSessionError(ctx, tx, t.project, to)
	}
	return nil
}

// upsert adds deltas to the rows of their sessions.
func (w *writing) upsert(ctx context.Context, tx *Commit, deltas []*sessionDelta) error {
	err := tx.upsertSessions(ctx, deltas)
	if err != nil {
		return err
	}
	tx.trees.upserted(deltas)
	for _, d := range deltas {
		tx.sessionChanged(d.project, d.id, d.changeKind())
	}
	return nil
}

// ofTrace reads the events of a trace in its former session, whole, in order of their start. Those whose session is
// fixed are not the trace's to move.
func (w *writing) ofTrace(ctx context.Context, tx *Commit, t *traceRow) (list []*Stored, err error) {
	type place struct {
		day int32
		id  uuid.UUID
	}
	var places []place
	err = sqldb.Each(ctx, tx, `SELECT day, event_id
		FROM event
		WHERE `+w.s.Dialect.OfSession()+` AND event_id <> $2 AND trace_hash = $3 AND spill & $4 = 0
		ORDER BY start_ms, event_id`, []any{t.project, tx.ID(t.former), sessiontree.TraceHash(t.trace), flagFixed}, func(scan func(...any) error) error {
		var p place
		err := scan(&p.day, sqldb.ScanID(&p.id))
		places = append(places, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		// Read one by one after the list, not while it is read: a connection has one open result. The number is
		// that of the spans of one trace.
		e, err := w.s.load(ctx, tx, t.project, p.day, p.id)
		if fault.IsNotFound(err) {
			return nil, sqldb.ErrConflict
		}
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// deltaOf returns what a session gains by events, which come in order of their start.
func deltaOf(project int64, session uuid.UUID, list []*Stored) *sessionDelta {
	d := &sessionDelta{project: project, id: session, first: math.Inf(1), last: math.Inf(-1), implicit: implicitAll}
	// The same counting as for events that come, by a writing that is used for nothing else.
	w := &writing{deltas: map[writer.Key]*sessionDelta{{Project: project, ID: session}: d}}
	for _, e := range list {
		h := &head{ev: &e.Event, project: project, session: session, trace: e.trace}
		h.derive()
		w.count(&eventGroup{hint: hintOf(&e.Event)}, h, true)
	}
	return d
}

// hintOf returns what an event contributes to an implicit session, as the request it came in did.
func hintOf(e *event.Event) *event.SessionHint {
	hint := &event.SessionHint{}
	if e.Source != event.Unknown {
		hint.Source = e.Source
	}
	hint.Fallback, _ = rawjson.Text(rawjson.Get(e.Metadata, "service.name"))
	if raw := rawjson.Get(e.ColdMetadata, "resource"); raw != nil {
		var b rawjson.Builder
		b.Raw("resource", raw)
		hint.Metadata = b.Bytes()
	}
	return hint
}

// leave takes what went out of a session's totals, and the session itself if nothing is left of
// one that is implicit. Sums are subtracted; what was a minimum or a maximum is computed anew from the events left.
func (w *writing) leave(ctx context.Context, tx *Commit, project int64, session uuid.UUID, d *sessionDelta) error {
	s := w.s
	if err := s.addTotals(ctx, tx, project, session, totals{}.minus(d.totals), d.first, d.last); err != nil {
		return err
	}
	var left int64
	var implicit int
	var day int32
	var userMS *float64
	key := []any{project, tx.ID(session)}
	ok, err := sqldb.One(ctx, tx, `SELECT implicit, event_day, user_ms, (SELECT count(*) FROM event WHERE `+s.Dialect.OfSession()+` AND event_id <> $2)
		FROM session WHERE project_id = $1 AND session_id = $2`, key, &implicit, &day, &userMS, &left)
	if err != nil || !ok {
		return err
	}
	// A session that its sender started stays also when it is empty.
	if left > 0 || implicit != implicitAll {
		return s.recountLeft(ctx, tx, project, session, d.runID != "")
	}
	own, err := s.load(ctx, tx, project, day, session)
	if fault.IsNotFound(err) {
		return sqldb.ErrConflict
	}
	if err != nil {
		return err
	}
	d.former, d.userGiven = own, userMS != nil && *userMS == userGiven
	if err := s.hooks.MoveOf(ctx, tx, project, session, d.id); err != nil {
		return err
	}
	if err := s.erase(ctx, tx, own); err != nil {
		return err
	}
	tx.dropped(project, session)
	_, err = tx.Exec(ctx, `DELETE FROM session WHERE project_id = $1 AND session_id = $2`, key...)
	return err
}
