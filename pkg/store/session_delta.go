package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// sessionDelta is what a transaction adds to one session.
type sessionDelta struct {
	project        int64
	id             uuid.UUID
	initialVersion int64 // version of the row if it is made now
	totals         totals
	first, last    float64 // of its events; +Inf and -Inf if it brings none
	implicit       int     // for a row that does not exist yet
	nameRank       int
	eventDay       int32
	runID          string
	root, final    rootRef // earliest and latest root event that came as a span
	failed         rootRef // earliest root event with an error

	sessionHead *head // the session event itself, if it is new in this transaction
	hint        *event.SessionHint
	lead        *event.Event    // its first root, or else its first event: what it tells is the session's
	user        json.RawMessage // user_id of the first of its events that has one
	userMS      *float64        // that event's start

	state sessionState
}

// rootRef points to an event directly below the session.
type rootRef struct {
	ms  float64 // its start, or its end
	ev  *event.Event
	day int32
}

// sessionState is a session's row after a delta.
type sessionState struct {
	sid         int64
	implicit    int
	nameRank    int
	version     int64 // its version: a start of its own, and one more with each change
	fresh       bool  // this write made the row
	calls       int64 // as senders told them
	eventDay    int32
	first, last float64
	rootID      uuid.UUID
	userMS      *float64
	runID       *string
}

// What column made holds.
const (
	explicitSession = 0 // the session event is as its sender gave it
	implicitAll     = 1 // the session is implicit
	implicitEnd     = 2 // started without an end: only its end follows its events
)

// Times of a session that has no events; SQL has no literal for infinity.
const (
	noFirst = math.MaxFloat64
	noLast  = -math.MaxFloat64
)

// Where a made session's name came from.
const (
	rankUnknown = iota
	rankFallback
	rankRoot
	rankHint
)

// delta is the session's delta, made at first use.
func (w *writing) delta(project int64, session uuid.UUID) *sessionDelta {
	k := idKey{project, session}
	d := w.deltas[k]
	if d == nil {
		d = &sessionDelta{project: project, id: session, first: math.Inf(1), last: math.Inf(-1), implicit: implicitAll}
		w.deltas[k] = d
		w.order = append(w.order, d)
	}
	return d
}

// count adds an event to its session's delta.
func (w *writing) count(g *group, h *head, fresh bool) {
	if !fresh {
		return // a repeat counts nothing, and may be stored under another session
	}
	e := h.ev
	d := w.delta(h.project, h.session)
	if h.parent == uuid.Nil && !e.IsSession() && (d.root.ev == nil || earlier(e.Start, e.ID, d.root.ms, d.root.ev.ID)) ||
		d.root.ev == nil && e.Start < d.first {
		d.hinted(g.hint)
		d.lead = e
	}
	d.totals.add(h.totals)
	d.first, d.last = min(d.first, e.Start), max(d.last, e.End)
	if d.runID == "" {
		d.runID = h.runID
	}
	if e.IsSession() {
		d.sessionHead, d.implicit = h, explicitSession
		if e.End <= e.Start {
			d.implicit = implicitEnd
		}
		d.runID = h.runID
		return
	}
	if h.userID != "" && (d.userMS == nil || e.Start < *d.userMS) {
		d.userMS = &e.Start
		var b rawjson.Builder
		b.String("user_id", h.userID)
		d.user = b.Bytes()
	}
	if h.parent != uuid.Nil {
		return
	}
	if d.root.ev == nil || earlier(e.Start, e.ID, d.root.ms, d.root.ev.ID) {
		d.root = rootRef{e.Start, e, h.day}
	}
	if e.Error != nil && *e.Error != "" && (d.failed.ev == nil || earlier(e.Start, e.ID, d.failed.ms, d.failed.ev.ID)) {
		d.failed = rootRef{e.Start, e, h.day}
	}
	if d.final.ev == nil || earlier(d.final.ms, d.final.ev.ID, e.End, e.ID) {
		d.final = rootRef{e.End, e, h.day}
	}
}

func earlier(a float64, aID uuid.UUID, b float64, bID uuid.UUID) bool {
	if a != b {
		return a < b
	}
	return bytes.Compare(aID[:], bID[:]) < 0
}

// hinted takes what a request tells of the session beside an event that is its first root, or
// its first event as long as no root is known.
func (d *sessionDelta) hinted(hint *event.SessionHint) {
	switch {
	case hint == nil:
	case d.hint != nil && hint.Name == "":
		named := *hint
		named.Name = d.hint.Name
		d.hint = &named
	default:
		d.hint = hint
	}
}

// leads says that the delta brought the event that the session's own follows: its first root, or
// its first event if it has no root.
func (d *sessionDelta) leads() bool {
	if d.state.rootID != uuid.Nil {
		return d.root.ev != nil && d.root.ev.ID == d.state.rootID
	}
	return d.first == d.state.first
}

// name is the name a made session gets from this delta, and its rank.
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

// prepareRow sets what an insert of the session's row needs.
func (d *sessionDelta) prepareRow() {
	if d.lead != nil && d.lead.TraceID != uuid.Nil {
		hint := hintOf(d.lead) // the request's may be that of an event that was there before
		if d.hint != nil {
			hint.Name = d.hint.Name
		}
		d.hint, d.lead = hint, nil
	}
	_, d.nameRank = d.name()
	// No two rows of one id, one after the other, ever share a version.
	d.initialVersion = time.Now().UnixNano()
	if math.IsInf(d.first, 1) {
		d.first, d.last = noFirst, noLast
	}
	d.eventDay = dayOf(min(d.first, event.MaxMillis))
	if d.sessionHead != nil {
		d.eventDay = d.sessionHead.day
	}
}

// event makes the session event of an implicit session.
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

// run is the run of an event: its own, or else its session's.
func (d *sessionDelta) run(h *head) string {
	if h.runID == "" && d.state.runID != nil && !h.ev.IsSession() {
		return *d.state.runID
	}
	return h.runID
}

// insertImplicitSession stores the session event of an implicit session.
func (w *writing) insertImplicitSession(ctx context.Context, tx writeTx, d *sessionDelta) error {
	if err := w.idFree(ctx, tx, d); err != nil {
		return err
	}
	h, c := headOf(d.event(), d.project)
	h.sid = d.state.sid
	if c != nil {
		id, err := tx.nextChunkID(ctx)
		if err != nil {
			return err
		}
		c.id = id
		if err := tx.insertChunks(ctx, []chunkRow{*c}); err != nil {
			return err
		}
	}
	tx.fieldIndex().addImplicitSession(h)
	if err := tx.insertHeads(ctx, []*head{h}); err != nil {
		return err
	}
	return tx.noteIDs(ctx, h.project, h.day, h.ev.ID)
}

// syncImplicitSession brings the session event of a session that its sender left open up to its events.
func (w *writing) syncImplicitSession(ctx context.Context, tx writeTx, d *sessionDelta) error {
	old, err := w.s.load(ctx, tx, d.project, d.state.eventDay, d.id)
	if err != nil && fault.Of(err) == fault.NotFound {
		return errConflict // its day changed since the row was read
	}
	if err != nil {
		return err
	}
	now := old.Event
	if d.state.implicit == implicitAll {
		now.Start = d.state.first
		name, rank := d.name()
		isRoot := d.root.ev != nil && d.state.rootID == d.root.ev.ID
		if rank >= d.state.nameRank && (rank != rankRoot || isRoot) && (rank != rankFallback || d.leads()) {
			now.Name = name
		}
		if isRoot {
			now.Source = d.root.ev.Source
		} else if now.Source == event.Unknown && d.hint != nil && d.hint.Source != "" {
			now.Source = d.hint.Source
		}
		if d.userMS != nil && *d.userMS == *d.state.userMS {
			now.UserProperties = rawjson.Merge(now.UserProperties, d.user)
		}
		switch {
		case d.hint == nil:
		case d.leads():
			if !isRoot && d.hint.Source != "" {
				now.Source = d.hint.Source
			}
			now.ColdMetadata = rawjson.Merge(now.ColdMetadata, without(d.hint.Metadata, now.Metadata))
		default:
			now.ColdMetadata = rawjson.Fill(now.ColdMetadata, without(d.hint.Metadata, now.Metadata))
		}
	}
	now.End = max(now.End, d.state.last)
	if d.state.implicit == implicitAll {
		now.End = d.state.last
	}
	now.Duration = max(now.End-now.Start, 0)
	return w.s.rewrite(ctx, tx, d.project, old, &now)
}

// fail makes the error of a session's first failed root that of its session event.
func (w *writing) fail(ctx context.Context, tx writeTx, d *sessionDelta) error {
	if d.failed.ev == nil {
		return nil
	}
	var known *float64
	key := []any{d.project, tx.id(d.id)}
	if ok, err := one(ctx, tx, `SELECT error_ms FROM session WHERE project_id = $1 AND session_id = $2`, key, &known); err != nil || !ok {
		return err
	}
	if known != nil && *known < d.failed.ms {
		return nil
	}
	if d.state.fresh && d.sessionHead == nil { // it was made with the error
		return w.s.setErrorTime(ctx, tx, d.project, d.id, &d.failed.ms)
	}
	return w.s.sessionError(ctx, tx, d.project, d.id)
}

func (s *Store) setErrorTime(ctx context.Context, tx writeTx, project int64, session uuid.UUID, ms *float64) error {
	_, err := tx.exec(ctx, `UPDATE session SET error_ms = $3 WHERE project_id = $1 AND session_id = $2`, project, tx.id(session), ms)
	return err
}

// sessionError finds the first failed root of a session anew and makes its error that of the session
// event, unless that has one of its own.
func (s *Store) sessionError(ctx context.Context, tx writeTx, project int64, session uuid.UUID) error {
	old, err := s.find(ctx, tx, project, session)
	if err != nil && fault.Of(err) == fault.NotFound {
		return nil // the session goes
	}
	if err != nil {
		return err
	}
	var id uuid.UUID
	var day int32
	var ms *float64
	ok, err := one(ctx, tx, fmt.Sprintf(`SELECT event_id, day, start_ms FROM ev WHERE %s AND event_id <> $2 AND parent_id IS NULL
		AND (error <> '' OR (spill & %d) <> 0) ORDER BY start_ms, event_id LIMIT 1`, s.db.frag().bySession, query.SpillError),
		[]any{project, tx.id(session)}, scanID{&id}, &day, &ms)
	if err != nil {
		return err
	}
	var c event.Correction
	if ok {
		root, err := s.load(ctx, tx, project, day, id)
		if err != nil && fault.Of(err) == fault.NotFound {
			return errConflict
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
	if sameError(now.Error, old.Error) {
		return nil
	}
	return s.rewrite(ctx, tx, project, old, &now)
}

func sameError(a, b *string) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
