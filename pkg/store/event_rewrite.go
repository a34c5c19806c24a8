package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
)

// rewrite stores now in place of old. Totals of the session move by the difference.
func (s *Store) rewrite(ctx context.Context, tx writeTx, project int64, old *stored, now *event.Event) error {
	if now.Type == event.TypeModel || now.Wrapper {
		s.reprice(&old.Event, now)
	}
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
			tx.counts().stored(project, int64(len(c.z))) // the one before is counted off later
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
		spill = $20, chunk = $21, off = $22, twin = $23, target_id = $24, rev = rev + 1
		WHERE project_id = $1 AND day = $2 AND event_id = $3`,
		project, old.day, tx.id(now.ID), after.day, parent, query.TypeCode(now.Type), now.Name, now.Source, after.errorText(), now.Start, now.End,
		now.Duration, text(after.inHead(query.SpillMetadata, now.Metadata)), text(after.inHead(query.SpillMetrics, now.Metrics)),
		text(after.inHead(query.SpillFeedback, now.Feedback)), text(after.inHead(query.SpillUserProperties, now.UserProperties)),
		text(after.inHead(query.SpillChildrenIDs, now.ChildrenIDs)), nullText(after.runID), nullText(after.userID), after.spill, chunk, off, blob(after.duplicateKey),
		nullText(after.target))
	if err != nil {
		return err
	}
	tx.treeFixer().changed(before, after)
	tx.fieldIndex().changed(before, after)
	if !now.IsSession() { // which follows its events
		tx.outbox().add(project, now, now.SessionID)
	}
	if now.Type != old.Type {
		tx.counts().add(project, old.Type, -1)
		tx.counts().add(project, now.Type, 1)
	}
	if before.day != after.day {
		if err := tx.noteIDs(ctx, project, after.day, now.ID); err != nil {
			return err
		}
		if err := tx.forgetIDs(ctx, project, old.day, now.ID); err != nil {
			return err
		}
	}
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
	failed := !now.IsSession() && (before.parent == uuid.Nil || after.parent == uuid.Nil) && !sameError(old.Error, now.Error)
	same := !failed && now.Start == old.Start && now.End == old.End && before.parent == after.parent && before.day == after.day && now.Name == old.Name && now.Source == old.Source
	if now.IsSession() || same {
		return nil
	}
	return s.recount(ctx, tx, project, now.SessionID)
}

// recount finds a session's first and last times and its first and last root event anew, after
// one of its events changed in place or went, and brings a session event that follows its
// events up to them.
func (s *Store) recount(ctx context.Context, tx writeTx, project int64, session uuid.UUID) error {
	var implicit, rank int
	var day int32
	key := []any{project, tx.id(session)}
	ok, err := one(ctx, tx, `SELECT made, name_rank, event_day FROM session WHERE project_id = $1 AND session_id = $2`, key, &implicit, &rank, &day)
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
		switch implicit {
		case implicitAll:
			from, to = *first, *last
		case implicitEnd:
			from, to = min(own.Start, *first), max(own.Start, *last)
		default:
			from, to = min(own.Start, *first), max(own.End, *last)
		}
	case implicit == implicitAll:
		from, to = noFirst, noLast // the next event tells
	case implicit == implicitEnd:
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
	if err := s.followEvents(ctx, tx, project, own, implicit, rank, first, from, to); err != nil {
		return err
	}
	return s.sessionError(ctx, tx, project, session)
}

// followEvents brings a session event that follows its events up to them.
func (s *Store) followEvents(ctx context.Context, tx writeTx, project int64, own *stored, implicit, rank int, first *float64, from, to float64) error {
	if implicit == explicitSession || (implicit == implicitAll && first == nil) {
		return nil
	}
	now := own.Event
	now.End = to
	if implicit == implicitAll {
		now.Start = from
		if err := s.refreshImplicitSession(ctx, tx, project, &now, rank); err != nil {
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
		n_cost = n_cost + $11, first_ms = CASE WHEN first_ms > $12 THEN $12 ELSE first_ms END, last_ms = CASE WHEN last_ms < $13 THEN $13 ELSE last_ms END,
		n_call = n_call + $14
		WHERE project_id = $1 AND session_id = $2`, project, tx.id(session), t.n, t.models, t.errors, t.feedback,
		t.prompt, t.completion, t.total, t.cost, t.costs, start, end, t.calls)
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

func nullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}
