package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sessiontree"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Rewrite stores now in place of old, an event that this transaction has read and holds. Whatever changes an event that is
// stored ends here: updates, repeats, log parts, corrections of trees, and session events that follow others.
//
//  1. The cost of a model call and the total of its tokens are computed anew if its model or tokens changed. What the call's sender reported
//     stays, also where the payload that told it is gone.
//  2. A payload that did not change stays in the chunk that it shares. One that changed gets a chunk of its own, and the
//     former one is deleted if nobody else's payload is in it; else the row names it, so that what it has goes with the event.
//  3. The row is updated under its key, with a new day if the start moved to another one; version tells readers that
//     the row is another.
//  4. The tree, the index of fields, the outbox and the counts learn of the difference.
//  5. The filter of ids follows the day, the session's row the day of its event and a run that the event names.
//  6. The session's totals move by the difference. Its times and roots are computed anew only if a time, the place,
//     the name, the source or a root's error changed.
func (s *Store) Rewrite(ctx context.Context, tx *Commit, project int64, old *Stored, now *event.Event) error {
	if now.Type == event.TypeModel || now.Wrapper {
		s.reprice(&old.Event, now, old.trace == 0)
	}
	// Both rows are derived in the same way, so that their differences are the event's.
	before := &head{ev: &old.Event, project: project, trace: old.trace}
	after := &head{ev: now, project: project, session: old.SessionID, trace: old.trace}
	before.derive()
	after.derive()
	if err := keepReported(ctx, tx, old, before, after); err != nil {
		return err
	}
	tx.Counts.Stored(project, after.bytes()-before.bytes()) // of the rows: neither has its chunk
	chunk, off, err := rewritePayload(ctx, tx, old, before, after)
	if err != nil {
		return err
	}
	if err := updateHead(ctx, tx, old, after, chunk, off); err != nil {
		return err
	}
	// These only note the difference. What they write follows at the end of the transaction, in one order for all writers.
	tx.trees.changed(before, after)
	tx.sessionChanged(project, now.SessionID, event.ChangeEvent)
	tx.fields.changed(before, after)
	if !now.IsSession() { // which follows its events
		tx.Outbox.add(project, now, now.SessionID)
	}
	// A correction turns models into chains and back, which the counts by type must show.
	if now.Type != old.Type {
		tx.Counts.add(project, old.Type, -1)
		tx.Counts.add(project, now.Type, 1)
	}
	if err := followRewrite(ctx, tx, old.Day, before, after); err != nil {
		return err
	}
	// Also with a difference of nothing: the statement locks the session's row, and widens its times.
	if err := s.addTotals(ctx, tx, project, now.SessionID, after.totals.minus(before.totals), now.Start, now.End); err != nil {
		return err
	}
	if before.runID != "" && after.runID != before.runID {
		if err := s.refreshRun(ctx, tx, project, now.SessionID); err != nil {
			return err
		}
	}
	// The row names another chunk by now, so that of the former one only others are counted. That is done while the session's row is
	// held: of two transactions that take the last two events from a chunk, the second one sees that the first has done so.
	if old.chunk != nil && chunk != old.chunk {
		if err := s.dropUnused(ctx, tx, old); err != nil {
			return err
		}
	}
	failed := !now.IsSession() && (before.parent == uuid.Nil || after.parent == uuid.Nil) && !sameError(old.Error, now.Error)
	same := !failed && now.Start == old.Start && now.End == old.End && before.parent == after.parent && before.day == after.day &&
		now.Name == old.Name && now.Source == old.Source
	if now.IsSession() || same {
		return nil
	}
	return s.recount(ctx, tx, project, now.SessionID)
}

// keepReported gives the rows of a span's model call before and after a change what its sender reported and no payload tells any more, since
// a rule of retention removed it: the grade of its content, and of which instrumentor, or which failed call, it is. The session's tree goes by that.
func keepReported(ctx context.Context, tx *Commit, old *Stored, before, after *head) error {
	if old.trace == 0 || old.Type != event.TypeModel && !old.Wrapper {
		return nil
	}
	lost := old.Spill & (sessiontree.FlagMessages | sessiontree.FlagTools) &^ before.spill
	before.spill |= lost
	after.spill |= lost
	if len(old.ColdMetadata) > 0 { // which has both
		return nil
	}
	var key []byte
	if _, err := sqldb.One(ctx, tx, `SELECT duplicate_key FROM event WHERE project_id = $1 AND day = $2 AND event_id = $3`,
		[]any{after.project, old.Day, tx.ID(old.ID)}, &key); err != nil {
		return err
	}
	for _, h := range []*head{before, after} {
		h.duplicateKey = sessiontree.KeepKey(h.duplicateKey, key, h.ev)
	}
	return nil
}

// rewritePayload is step 2 of Rewrite. It returns the chunk that the event's payload is in now, nil if it has none, and the offset there.
// before is the head of old.
func rewritePayload(ctx context.Context, tx *Commit, old *Stored, before, after *head) (chunk *int64, off int, err error) {
	now := after.ev
	// A chunk belongs to a day (PostgreSQL finds it by that), so an event that moves to another day takes its payload along.
	if samePayload(&old.Event, now, before.spill, after.spill) && before.day == after.day {
		return old.chunk, old.off, nil
	}
	h, c := headOf(now, after.project)
	if c == nil { // there is no payload, and the row names no chunk
		return nil, 0, nil
	}
	if c.ID, err = tx.nextChunkID(ctx); err != nil {
		return nil, 0, err
	}
	tx.Counts.Replaced(after.project, int64(len(c.Z)))
	if err := tx.insertChunks(ctx, []record.Chunk{*c}); err != nil {
		return nil, 0, err
	}
	tx.unpacked(after.project, old.SessionID)
	tx.storedPayload(after.project, now.Start)
	return &c.ID, h.off, nil
}

// updateHead is step 3 of Rewrite: it writes a head over the row of its event.
func updateHead(ctx context.Context, tx *Commit, old *Stored, after *head, chunk *int64, off int) error {
	e := after.ev
	var former *int64
	if chunk != old.chunk {
		former = old.chunk // only the first one may be shared
	}
	var parent any
	if after.parent != uuid.Nil {
		parent = tx.ID(after.parent)
	}
	_, err := tx.Exec(ctx, `
		UPDATE event SET
			day = $4,
			parent_id = $5,
			type = $6,
			name = $7,
			source = $8,
			error = $9,
			start_ms = $10,
			end_ms = $11,
			duration = $12,
			metadata = $13,
			metrics = $14,
			feedback = $15,
			user_properties = $16,
			children_ids = $17,
			run_id = $18,
			user_id = $19,
			spill = $20,
			chunk = $21,
			chunk_offset = $22,
			duplicate_key = $23,
			target_id = $24,
			former_chunk = coalesce(former_chunk, $25),
			version = version + 1
		WHERE project_id = $1 AND day = $2 AND event_id = $3`,
		after.project,
		old.Day,
		tx.ID(e.ID),
		after.day,
		parent,
		query.TypeCode(e.Type),
		e.Name,
		e.Source,
		after.errorText(),
		e.Start,
		e.End,
		e.Duration,
		sqldb.Text(after.inHead(query.SpillMetadata, e.Metadata)),
		sqldb.Text(after.inHead(query.SpillMetrics, e.Metrics)),
		sqldb.Text(after.inHead(query.SpillFeedback, e.Feedback)),
		sqldb.Text(after.inHead(query.SpillUserProperties, e.UserProperties)),
		sqldb.Text(after.inHead(query.SpillChildrenIDs, e.ChildrenIDs)),
		sqldb.NullText(after.runID),
		sqldb.NullText(after.userID),
		after.spill,
		chunk,
		off,
		sqldb.Blob(after.duplicateKey),
		sqldb.NullText(after.target),
		former,
	)
	return err
}

// followRewrite is step 5 of Rewrite: the filter of ids and the session's row follow an event that was stored on a day.
func followRewrite(ctx context.Context, tx *Commit, day int32, before, after *head) error {
	e, project := after.ev, after.project
	if before.day != after.day {
		// Added before it is removed, so that the id is found on one of the two days at any time.
		if err := tx.addIDs(ctx, project, after.day, e.ID); err != nil {
			return err
		}
		if err := tx.removeIDs(ctx, project, day, e.ID); err != nil {
			return err
		}
		// The session's row names the day of its event, by which the event is found without a search.
		if e.IsSession() {
			if _, err := tx.Exec(ctx, `UPDATE session
				SET event_day = $3
				WHERE project_id = $1 AND session_id = $2`, project, tx.ID(e.ID), after.day); err != nil {
				return err
			}
		}
	}
	if after.runID == "" || before.runID != "" {
		return nil
	}
	// The first run that an event names is the session's, unless the session event itself names one.
	run := `coalesce(run_id, $3)`
	if e.IsSession() {
		run = `$3`
	}
	_, err := tx.Exec(ctx, `UPDATE session
		SET run_id = `+run+`
		WHERE project_id = $1 AND session_id = $2`, project, tx.ID(e.SessionID), after.runID)
	return err
}

// samePayload reports whether the record of a would be that of b: the same fields stand in the payload, and have the same
// texts. spillA and spillB are the spill columns of both.
func samePayload(a, b *event.Event, spillA, spillB int) bool {
	if spillA&record.InPayload != spillB&record.InPayload {
		return false
	}
	same := string(a.Inputs) == string(b.Inputs) && string(a.Outputs) == string(b.Outputs) && string(a.Config) == string(b.Config) &&
		string(a.ColdMetadata) == string(b.ColdMetadata)
	for _, f := range record.Spills {
		if spillA&f.Bit != 0 {
			same = same && string(*f.Of(a)) == string(*f.Of(b))
		}
	}
	if spillA&query.SpillError != 0 {
		same = same && a.Error != nil && b.Error != nil && *a.Error == *b.Error
	}
	return same
}
