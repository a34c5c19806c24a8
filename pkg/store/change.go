package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/lzh"
)

// repeat changes a stored event by a second create of the same id.
func (w *writing) repeat(ctx context.Context, tx writeTx, r repeatOf) error {
	old, err := w.s.load(ctx, tx, r.head.project, r.day, r.head.ev.ID)
	if err != nil && fault.Of(err) == fault.NotFound {
		// A session event that follows its events may have moved to another day meanwhile.
		old, err = w.s.find(ctx, tx, r.head.project, r.head.ev.ID)
	}
	if err != nil && fault.Of(err) == fault.NotFound {
		return errConflict // deleted since it was found
	}
	if err != nil {
		return err
	}
	now := old.Event
	if now.IsSession() && r.head.ev.IsSession() {
		return w.repeatSession(ctx, tx, old, r.head.ev)
	}
	changed, err := w.s.repeatNoted(ctx, tx, r.head.project, &now, r.head.ev)
	if err != nil || !changed {
		return err
	}
	w.tellsAnswer(r.head.project, responseOf(&now), responseOf(&old.Event))
	return w.s.rewrite(ctx, tx, r.head.project, old, &now)
}

// repeatSession changes a stored session event by another one. What its sender says goes
// before what was made up for a session that nobody had started.
func (w *writing) repeatSession(ctx context.Context, tx writeTx, old *stored, came *event.Event) error {
	now := old.Event
	var made int
	ok, err := one(ctx, tx, `SELECT made FROM session WHERE project_id = $1 AND session_id = $2`, []any{old.project, tx.id(came.ID)}, &made)
	if err != nil {
		return err
	}
	if !ok {
		return errConflict // deleted since it was found
	}
	if made != madeAll {
		if !repeatEvent(&now, came) {
			return nil
		}
		return w.s.rewrite(ctx, tx, old.project, old, &now)
	}
	before := now
	now = *came
	now.SessionID, now.ParentID = came.ID, uuid.Nil
	before.Unfinished = now.Unfinished
	repeatEvent(&now, &before)
	made = madeNot
	if came.End <= came.Start {
		made = madeOpen
		now.End = max(before.End, came.End)
	}
	if came.DefaultTime {
		now.Start = min(before.Start, came.Start)
	}
	if made == madeOpen || came.DefaultTime {
		now.Duration = max(now.End-now.Start, 0)
	}
	if _, err := tx.exec(ctx, `UPDATE session SET made = $3 WHERE project_id = $1 AND session_id = $2`, old.project, tx.id(came.ID), made); err != nil {
		return err
	}
	return w.s.rewrite(ctx, tx, old.project, old, &now)
}

// repeatEvent is event.Repeat, and keeps each member of metadata in one of its two parts.
func repeatEvent(e, came *event.Event) (changed bool) {
	if len(e.ColdMetadata) == 0 && len(came.ColdMetadata) == 0 {
		return e.Repeat(came)
	}
	c := *came
	replaces := e.Unfinished && !c.Unfinished
	switch {
	case replaces:
	case c.Started:
		e.ColdMetadata = without(e.ColdMetadata, c.Metadata)
		c.ColdMetadata = without(c.ColdMetadata, e.Metadata)
	default:
		c.Metadata = without(c.Metadata, e.ColdMetadata)
		c.ColdMetadata = without(c.ColdMetadata, e.Metadata)
	}
	changed = e.Repeat(&c)
	if replaces {
		e.Metadata = without(e.Metadata, e.ColdMetadata)
	}
	return changed
}

// without gives the members of object whose keys other does not have.
func without(object, other json.RawMessage) json.RawMessage {
	if rawjson.Empty(object) || rawjson.Empty(other) {
		return object
	}
	taken := map[string]bool{}
	for k := range rawjson.Object(other) {
		taken[k] = true
	}
	var b rawjson.Builder
	dropped := false
	for k, v := range rawjson.Object(object) {
		if taken[k] {
			dropped = true
			continue
		}
		b.Raw(k, v)
	}
	if !dropped {
		return object
	}
	return b.Bytes()
}

func nullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// follow brings the session event of a session that its sender left open up to its events.
func (w *writing) follow(ctx context.Context, tx writeTx, d *sessionDelta) error {
	old, err := w.s.load(ctx, tx, d.project, d.state.eventDay, d.id)
	if err != nil && fault.Of(err) == fault.NotFound {
		return errConflict // its day changed since the row was read
	}
	if err != nil {
		return err
	}
	now := old.Event
	if d.state.made == madeAll {
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
	if d.state.made == madeAll {
		now.End = d.state.last
	}
	now.Duration = max(now.End-now.Start, 0)
	return w.s.rewrite(ctx, tx, d.project, old, &now)
}

// move puts the events of a trace's provisional session under the session the trace turned
// out to have, and leaves an alias.
func (w *writing) move(ctx context.Context, tx writeTx, t *traceRow) error {
	from, to := t.trace, t.session
	if target, ok, err := aliasOf(ctx, tx, t.project, to); err != nil {
		return err
	} else if ok {
		to = target // the session has moved itself
	}
	if to == from {
		return nil
	}
	var o sessionDelta
	var rootID, lastID uuid.UUID
	var rootMS, lastMS *float64
	var rootDay, lastDay *int32
	var made, rank int
	ok, err := one(ctx, tx, `SELECT made, name_rank, event_day, first_ms, last_ms, n, n_model, n_error, n_feedback, prompt_tokens, completion_tokens,
		total_tokens, cost, n_cost, coalesce(run_id, ''), root_ms, root_id, root_day, last_root_ms, last_root_id, last_root_day, user_ms
		FROM session WHERE project_id = $1 AND session_id = $2`, []any{t.project, tx.id(from)},
		&made, &rank, &o.eventDay, &o.first, &o.last, &o.totals.n, &o.totals.models, &o.totals.errors, &o.totals.feedback, &o.totals.prompt,
		&o.totals.completion, &o.totals.total, &o.totals.cost, &o.totals.costs, &o.runID, &rootMS, scanID{&rootID}, &rootDay, &lastMS, scanID{&lastID}, &lastDay, &o.userMS)
	if err != nil || !ok || made != madeAll {
		return err // a session that somebody started under this very id keeps its events
	}
	event0, err := w.s.load(ctx, tx, t.project, o.eventDay, from)
	if err != nil {
		return err
	}
	if o.first == noFirst { // its events were deleted
		o.first, o.last = event0.Start, event0.End
	}
	d := &sessionDelta{project: t.project, id: to, totals: o.totals, first: o.first, last: o.last, made: madeAll, runID: o.runID}
	if o.userMS != nil {
		d.user, d.userMS = event0.UserProperties, o.userMS
	}
	d.hint = &event.SessionHint{Fallback: event0.Name, Metadata: event0.ColdMetadata, Source: event0.Source}
	if rootMS != nil {
		root, err := w.s.load(ctx, tx, t.project, *rootDay, rootID)
		if err != nil {
			return err
		}
		d.root = rootRef{*rootMS, &root.Event, *rootDay}
	}
	if lastMS != nil {
		d.final = rootRef{*lastMS, &event.Event{ID: lastID}, *lastDay}
	}
	if rank == rankHint {
		d.hint.Name = event0.Name
	}
	if err := w.upsert(ctx, tx, []*sessionDelta{d}); err != nil {
		return err
	}
	tx.reshape().moved(t.project, from, to)
	if err := tx.moveEvents(ctx, t.project, from, to, 0); err != nil {
		return err
	}
	if err := w.s.erase(ctx, tx, event0); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `DELETE FROM session WHERE project_id = $1 AND session_id = $2`, t.project, tx.id(from)); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `INSERT INTO alias(project_id, session_id, target) VALUES ($1, $2, $3)
		ON CONFLICT (project_id, session_id) DO UPDATE SET target = excluded.target`, t.project, tx.id(from), tx.id(to)); err != nil {
		return err
	}
	w.s.aliases.note()
	switch {
	case d.state.fresh:
		return w.insertOwn(ctx, tx, d)
	case d.state.made != madeNot:
		return w.follow(ctx, tx, d)
	}
	return nil
}

// insertOwn stores the session event of a session that nobody started.
func (w *writing) insertOwn(ctx context.Context, tx writeTx, d *sessionDelta) error {
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
	w.s.seen.add(h.day, h.ev.ID)
	tx.listing().made(h)
	return tx.insertHeads(ctx, []*head{h})
}

// rewrite stores now in place of old. Totals of the session move by the difference.
func (s *Store) rewrite(ctx context.Context, tx writeTx, project int64, old *stored, now *event.Event) error {
	before, after := &head{ev: &old.Event, project: project, trace: old.trace}, &head{ev: now, project: project, session: old.SessionID, trace: old.trace}
	before.derive()
	after.derive()
	var chunk *int64
	off := 0
	if samePayload(&old.Event, now, before.spill, after.spill) && before.day == after.day {
		chunk, off = old.chunk, old.off
	} else {
		h, c := headOf(now, project)
		if c != nil {
			id, err := tx.nextChunkID(ctx)
			if err != nil {
				return err
			}
			c.id = id
			if err := tx.insertChunks(ctx, []chunkRow{*c}); err != nil {
				return err
			}
			chunk, off = &id, h.off
		}
	}
	var parent any
	if after.parent != uuid.Nil {
		parent = tx.id(after.parent)
	}
	_, err := tx.exec(ctx, `UPDATE ev SET day = $4, parent_id = $5, type = $6, name = $7, source = $8, error = $9, start_ms = $10, end_ms = $11,
		duration = $12, metadata = $13, metrics = $14, feedback = $15, user_properties = $16, children_ids = $17, run_id = $18, user_id = $19,
		spill = $20, chunk = $21, off = $22, twin = $23, rev = rev + 1
		WHERE project_id = $1 AND day = $2 AND event_id = $3`,
		project, old.day, tx.id(now.ID), after.day, parent, query.TypeCode(now.Type), now.Name, now.Source, after.errorText(), now.Start, now.End,
		now.Duration, text(after.inHead(query.SpillMetadata, now.Metadata)), text(after.inHead(query.SpillMetrics, now.Metrics)),
		text(after.inHead(query.SpillFeedback, now.Feedback)), text(after.inHead(query.SpillUserProperties, now.UserProperties)),
		text(after.inHead(query.SpillChildrenIDs, now.ChildrenIDs)), nullText(after.runID), nullText(after.userID), after.spill, chunk, off, blob(after.twin))
	if err != nil {
		return err
	}
	tx.reshape().changed(before, after)
	tx.listing().changed(before, after)
	if !now.IsSession() { // which follows its events
		tx.arrivals().note(project, now, now.SessionID)
	}
	if now.Type != old.Type {
		tx.counts().add(project, old.Type, -1)
		tx.counts().add(project, now.Type, 1)
	}
	s.seen.add(after.day, now.ID)
	if now.IsSession() && before.day != after.day {
		if _, err := tx.exec(ctx, `UPDATE session SET event_day = $3 WHERE project_id = $1 AND session_id = $2`, project, tx.id(now.ID), after.day); err != nil {
			return err
		}
	}
	if after.runID != "" && after.runID != before.runID {
		run := `coalesce(run_id, $3)`
		if now.IsSession() {
			run = `$3`
		}
		if _, err := tx.exec(ctx, `UPDATE session SET run_id = `+run+` WHERE project_id = $1 AND session_id = $2`, project, tx.id(now.SessionID), after.runID); err != nil {
			return err
		}
	}
	if old.chunk != nil && chunk != old.chunk {
		if err := s.dropUnused(ctx, tx, old); err != nil {
			return err
		}
	}
	if err := s.addTotals(ctx, tx, project, now.SessionID, after.totals.minus(before.totals), now.Start, now.End); err != nil {
		return err
	}
	same := now.Start == old.Start && now.End == old.End && before.parent == after.parent && before.day == after.day && now.Name == old.Name && now.Source == old.Source
	if now.IsSession() || same {
		return nil
	}
	return s.recount(ctx, tx, project, now.SessionID)
}

// recount finds a session's first and last times and its first and last root event anew, after
// one of its events changed in place or went, and brings a session event that follows its
// events up to them.
func (s *Store) recount(ctx context.Context, tx writeTx, project int64, session uuid.UUID) error {
	var made, rank int
	var day int32
	key := []any{project, tx.id(session)}
	ok, err := one(ctx, tx, `SELECT made, name_rank, event_day FROM session WHERE project_id = $1 AND session_id = $2`, key, &made, &rank, &day)
	if err != nil || !ok {
		return err
	}
	below := ` FROM ev WHERE ` + s.db.frag().bySession + ` AND event_id <> $2`
	var first, last *float64
	if _, err := one(ctx, tx, `SELECT min(start_ms), max(end_ms)`+below, key, &first, &last); err != nil {
		return err
	}
	own, err := s.load(ctx, tx, project, day, session)
	if err != nil && fault.Of(err) == fault.NotFound {
		return errConflict // its day changed since the row was read
	}
	if err != nil {
		return err
	}
	from, to := own.Start, own.End
	switch {
	case first != nil && last != nil:
		switch made {
		case madeAll:
			from, to = *first, *last
		case madeOpen:
			from, to = min(own.Start, *first), max(own.Start, *last)
		default:
			from, to = min(own.Start, *first), max(own.End, *last)
		}
	case made == madeAll:
		from, to = noFirst, noLast // the next event tells
	case made == madeOpen:
		to = own.Start
	}
	var rootMS, lastMS *float64
	var rootID, lastID uuid.UUID
	var rootDay, lastDay *int32
	if _, err := one(ctx, tx, `SELECT start_ms, event_id, day`+below+` AND parent_id IS NULL ORDER BY start_ms, event_id LIMIT 1`, key,
		&rootMS, scanID{&rootID}, &rootDay); err != nil {
		return err
	}
	if _, err := one(ctx, tx, `SELECT end_ms, event_id, day`+below+` AND parent_id IS NULL ORDER BY end_ms DESC, event_id DESC LIMIT 1`, key,
		&lastMS, scanID{&lastID}, &lastDay); err != nil {
		return err
	}
	orNull := func(id uuid.UUID) any {
		if id == uuid.Nil {
			return nil
		}
		return tx.id(id)
	}
	if _, err := tx.exec(ctx, `UPDATE session SET first_ms = $3, last_ms = $4, root_ms = $5, root_id = $6, root_day = $7, last_root_ms = $8, last_root_id = $9,
		last_root_day = $10 WHERE project_id = $1 AND session_id = $2`, project, tx.id(session), from, to, rootMS, orNull(rootID), rootDay,
		lastMS, orNull(lastID), lastDay); err != nil {
		return err
	}
	if made == madeNot || (made == madeAll && first == nil) {
		return nil
	}
	now := own.Event
	now.End = to
	if made == madeAll {
		now.Start = from
		if err := s.face(ctx, tx, project, &now, rank); err != nil {
			return err
		}
	}
	now.Duration = max(now.End-now.Start, 0)
	return s.rewrite(ctx, tx, project, own, &now)
}

// addTotals changes a session's row by what an event of it changed.
func (s *Store) addTotals(ctx context.Context, tx writeTx, project int64, session uuid.UUID, t totals, start, end float64) error {
	_, err := tx.exec(ctx, `UPDATE session SET n = n + $3, n_model = n_model + $4, n_error = n_error + $5, n_feedback = n_feedback + $6,
		prompt_tokens = prompt_tokens + $7, completion_tokens = completion_tokens + $8, total_tokens = total_tokens + $9, cost = cost + $10,
		n_cost = n_cost + $11, first_ms = CASE WHEN first_ms > $12 THEN $12 ELSE first_ms END, last_ms = CASE WHEN last_ms < $13 THEN $13 ELSE last_ms END
		WHERE project_id = $1 AND session_id = $2`, project, tx.id(session), t.n, t.models, t.errors, t.feedback,
		t.prompt, t.completion, t.total, t.cost, t.costs, start, end)
	return err
}

// samePayload says that the record of a would be that of b.
func samePayload(a, b *event.Event, spillA, spillB int) bool {
	if spillA&inPayload != spillB&inPayload {
		return false
	}
	same := string(a.Inputs) == string(b.Inputs) && string(a.Outputs) == string(b.Outputs) && string(a.Config) == string(b.Config) &&
		string(a.ColdMetadata) == string(b.ColdMetadata)
	for _, f := range spills {
		if spillA&f.bit != 0 {
			same = same && string(*f.of(a)) == string(*f.of(b))
		}
	}
	if spillA&query.SpillError != 0 {
		same = same && a.Error != nil && b.Error != nil && *a.Error == *b.Error
	}
	return same
}

// blob is bytes as an argument, nil as NULL.
func blob(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// text is a JSON field as an argument.
func text(b []byte) any {
	if b == nil {
		return nil
	}
	return string(b)
}

// dropUnused deletes an event's former chunk if no other event's payload is in it.
func (s *Store) dropUnused(ctx context.Context, tx writeTx, old *stored) error {
	var n int
	_, err := one(ctx, tx, `SELECT count(*) FROM ev WHERE `+s.db.frag().bySession+` AND chunk = $3 AND day = $4`,
		[]any{old.project, tx.id(old.SessionID), *old.chunk, old.day}, &n)
	if err != nil || n > 0 {
		return err
	}
	_, err = tx.exec(ctx, `DELETE FROM chunk WHERE id = $1`, *old.chunk)
	return err
}

// erase deletes one event's row and its payload: a chunk it shares is written anew without it.
func (s *Store) erase(ctx context.Context, tx writeTx, old *stored) error {
	gone, err := tx.exec(ctx, `DELETE FROM ev WHERE project_id = $1 AND day = $2 AND event_id = $3`, old.project, old.day, tx.id(old.ID))
	if err != nil {
		return err
	}
	tx.counts().add(old.project, old.Type, -gone)
	if old.chunk == nil {
		return nil
	}
	type ref struct {
		id  uuid.UUID
		off int
	}
	var refs []ref
	err = each(ctx, tx, `SELECT event_id, off FROM ev WHERE `+s.db.frag().bySession+` AND chunk = $3 AND day = $4 ORDER BY off`,
		[]any{old.project, tx.id(old.SessionID), *old.chunk, old.day}, func(scan func(...any) error) error {
			var r ref
			if err := scan(scanID{&r.id}, &r.off); err != nil {
				return err
			}
			refs = append(refs, r)
			return nil
		})
	if err != nil {
		return err
	}
	if len(refs) == 0 {
		return s.dropUnused(ctx, tx, old)
	}
	raw, err := s.chunk(ctx, tx, old.day, *old.chunk)
	if err != nil {
		return err
	}
	// Under a new id: what a reader has of the old chunk must not be read at the new offsets.
	id, err := tx.nextChunkID(ctx)
	if err != nil {
		return err
	}
	var packed []byte
	for i := range refs {
		var e event.Event
		if refs[i].off > len(raw) {
			return fmt.Errorf("chunk %d: %w", *old.chunk, errRecord)
		}
		n, err := readRecord(raw[refs[i].off:], &e)
		if err != nil {
			return fmt.Errorf("chunk %d: %w", *old.chunk, err)
		}
		at := len(packed)
		packed = append(packed, raw[refs[i].off:refs[i].off+n]...)
		if _, err := tx.exec(ctx, `UPDATE ev SET chunk = $4, off = $5 WHERE project_id = $1 AND day = $2 AND event_id = $3`,
			old.project, old.day, tx.id(refs[i].id), id, at); err != nil {
			return err
		}
	}
	if err := tx.insertChunks(ctx, []chunkRow{{id: id, day: old.day, z: lzh.Encode(nil, packed)}}); err != nil {
		return err
	}
	_, err = tx.exec(ctx, `DELETE FROM chunk WHERE id = $1`, *old.chunk)
	s.chunks.drop(*old.chunk)
	return err
}
