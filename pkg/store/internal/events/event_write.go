package events

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// writing is the state of one try of a transaction that stores write batches. A transaction that is retried begins
// with a new one, so nothing here outlives a try that failed; caches of the Store learn of it in publish, after
// the commit.
type writing struct {
	s *Store
	// force probes every id on every day instead of trusting the Bloom filters, after another
	// process got in between.
	force          bool
	fresh          []*head // inserted by this transaction
	resolvedTraces []*traceRow
	lostTraces     []traceKey // whose rows were deleted, after all batches were stored
	// deltas are the changes of sessions by their keys, and order the same in the order in which rows are locked.
	deltas   map[writer.Key]*sessionDelta
	order    []*sessionDelta
	consumed []writer.Key // events whose pending updates were applied or deleted

	moved     []*traceRow   // traces whose events went to another session
	responses []responseKey // response ids that an event has got
	logCounts logCountsDelta
	// logsExpired are log parts that have waited too long, or too many, and were dropped.
	logsExpired int64
}

// storeBatches stores the events of all batches, which may be of several projects:
//
//  1. Each trace is given its session, and aliases lead to where a session has moved (resolveTraces, resolveAliases).
//     From here on the session of an event is final, but for traces that move below.
//  2. New events are told from repeats of stored ones (split).
//  3. What the new events change in their sessions is summed up (count), and the rows of these sessions are written
//     in the order of their keys. The statement answers with each row as it is now, which later steps use.
//  4. Chunks, events and ids are inserted (insert).
//  5. Session events that follow their events are brought up to them.
//  6. Traces whose session turned out to be another one move there, with what was stored of them before.
//  7. Repeats change the stored events; updates that waited for an event are applied to it.
//  8. The trees of all sessions that were touched are corrected, and log parts are merged.
//
// The order matters: a repeat may be of an event that a move has just taken elsewhere, and a tree is corrected once,
// when all of that is done.
func (w *writing) storeBatches(ctx context.Context, tx *Commit, batches []*writeBatch) error {
	var groups []*eventGroup
	for _, p := range batches {
		groups = append(groups, p.groups...)
	}
	moves, err := w.resolveTraces(ctx, tx, batches)
	if err != nil {
		return fmt.Errorf("resolve traces: %w", err)
	}
	if err := w.resolveAliases(ctx, tx, groups); err != nil {
		return fmt.Errorf("resolve aliases: %w", err)
	}
	fresh, repeats, err := w.split(ctx, tx, groups)
	if err != nil {
		return fmt.Errorf("find repeats: %w", err)
	}
	w.deltas = map[writer.Key]*sessionDelta{}
	for _, g := range groups {
		for _, h := range g.heads {
			w.count(g, h, fresh[h])
		}
	}
	// One order of locks for all writers.
	slices.SortFunc(w.order, func(a, b *sessionDelta) int {
		if a.project != b.project {
			return int(a.project - b.project)
		}
		return bytes.Compare(a.id[:], b.id[:])
	})
	if err := w.upsert(ctx, tx, w.order); err != nil {
		return fmt.Errorf("write sessions: %w", err)
	}
	if err := w.insert(ctx, tx, groups, fresh); err != nil {
		return err
	}
	if err := w.namesFree(ctx, tx, groups); err != nil {
		return err
	}
	for _, d := range w.order {
		if !d.state.fresh && d.state.implicit != explicitSession {
			if err := w.syncImplicitSession(ctx, tx, d); err != nil {
				return fmt.Errorf("update session event: %w", err)
			}
		}
		if err := w.setSessionError(ctx, tx, d); err != nil {
			return fmt.Errorf("update the error of a session event: %w", err)
		}
	}
	for _, m := range moves { // last: they change the rows that follow works from
		if err := w.move(ctx, tx, m); err != nil {
			return fmt.Errorf("move a trace to its session: %w", err)
		}
		if m.former != uuid.Nil && m.former != m.trace {
			if err := w.moveTrace(ctx, tx, m); err != nil {
				return fmt.Errorf("move a trace to another session: %w", err)
			}
		}
		w.moved = append(w.moved, m)
	}
	if err := w.repeatAll(ctx, tx, repeats); err != nil {
		return err
	}
	if err := w.applyPending(ctx, tx); err != nil {
		return err
	}
	if err := tx.trees.apply(ctx, tx); err != nil {
		return err
	}
	return w.mergeLogs(ctx, tx, batches)
}

// publish updates the caches after the transaction has committed. Before that, a reader of the caches would see what
// may yet be rolled back.
func (w *writing) publish() {
	for _, t := range w.resolvedTraces {
		w.s.traces.Add(traceKey{t.project, t.trace}, *t)
	}
	for _, k := range w.lostTraces {
		w.s.traces.Remove(k)
	}
	for _, k := range w.consumed {
		w.s.pending.remove(k)
	}
	w.s.logCounts.add(w.logCounts)
	w.s.configs.put(w.fresh)
	if w.logsExpired > 0 {
		w.s.telemetry.logsExpired(context.Background(), w.logsExpired)
	}
}

type traceKey struct {
	project int64
	trace   uuid.UUID
}

// split separates new events from those whose id is stored already.
//
// An id that its Bloom filter does not contain is new, and costs no look-up: that is so for nearly all events. For the
// others the filter names the days on which the id may be stored (far: on a day that has no filter any more), and
// findEvents asks for exactly these. days is nil, all days, where the filters cannot be trusted:
//
//   - another process has written in between (force): the ids that it stored are in no filter here;
//   - the sender gave no start, so that the same event, sent again to another server, may stand on another day.
//
// A native event without a start that no filter knows is mostly new. It began when it came, so it is only looked for on the days beside its own:
// that finds one that is sent again, around midnight, to a server that did not store it.
//
// Where this process is the only writer (Exclusive), its filters know every id.
func (w *writing) split(ctx context.Context, tx *Commit, groups []*eventGroup) (fresh map[*head]bool, repeats []repeatOf, err error) {
	fresh = map[*head]bool{}
	asked := map[int64][]idDays{}
	maybe := map[int64][]*head{}
	for _, g := range groups {
		for _, h := range g.heads {
			var days []int32
			var far bool
			if (w.force && !w.s.db.Exclusive()) || (!w.s.db.Exclusive() && h.in.DefaultTime && (h.known || h.trace != 0)) {
				days = nil
			} else {
				days, far = w.s.idFilter.mayContain(h.project, h.ev.ID, nil)
				if !w.s.db.Exclusive() && h.in.DefaultTime {
					days = append(days, h.day-1, h.day+1) // on its own day the unique key finds it
				}
				if len(days) == 0 && !far {
					fresh[h] = true
					continue
				}
			}
			asked[h.project] = append(asked[h.project], idDays{h.ev.ID, days, far})
			maybe[h.project] = append(maybe[h.project], h)
		}
	}
	for p, list := range asked {
		found, err := tx.findEvents(ctx, p, list)
		if err != nil {
			return nil, nil, err
		}
		for _, h := range maybe[p] {
			if day, ok := found[h.ev.ID]; ok {
				repeats = append(repeats, repeatOf{h, day})
			} else {
				fresh[h] = true
			}
		}
	}
	return fresh, repeats, nil
}

// insert stores the fresh events, and the session events of implicit sessions.
//
// Payloads were compressed before the transaction began, together for each session and day. The chunk of a group is
// dropped if none of its events turned out to be new. An event whose id might have been stored already (known) was
// left out of these chunks; if it is new after all, its payload is compressed here.
//
// The tree, the index of fields and the outbox learn of an event before its row is written, since they only collect;
// what they write follows at the end of the transaction.
func (w *writing) insert(ctx context.Context, tx *Commit, groups []*eventGroup, fresh map[*head]bool) error {
	var rows []*head
	var chunks []*record.Chunk
	for _, g := range groups {
		for _, c := range g.chunks {
			c.Use = 0 // counted anew by each try of the transaction
		}
		d := w.deltas[writer.Key{Project: g.project, ID: g.session}]
		first := len(g.chunks)
		for _, h := range g.heads {
			if !fresh[h] {
				continue
			}
			h.sid = d.state.sid
			if h.known && h.chunk == nil {
				g.addPayload(h)
			}
			if h.chunk != nil {
				h.chunk.Use++
			}
			rows = append(rows, h)
			tx.trees.added(h, g.part)
			tx.fields.add(h, d.run(h))
			tx.Outbox.add(h.project, h.ev, h.session)
		}
		for _, c := range g.chunks[first:] {
			c.Compress()
		}
		if len(g.chunks) > 0 {
			tx.unpacked(g.project, g.session)
		}
		chunks = append(chunks, g.chunks...)
	}
	if err := w.idsFree(ctx, tx, rows); err != nil {
		return err
	}
	// A session whose row this transaction made, and whose sender sent no session event, gets one of its own.
	for _, d := range w.order {
		if !d.state.fresh || d.sessionHead != nil {
			continue
		}
		h, c := headOf(d.event(), d.project)
		h.sid = d.state.sid
		if c != nil {
			tx.unpacked(d.project, d.id)
			c.Use = 1
			chunks = append(chunks, c)
		}
		rows = append(rows, h)
		tx.fields.addImplicitSession(h)
	}
	store := make([]record.Chunk, 0, len(chunks))
	for _, c := range chunks {
		if c.Use == 0 {
			continue
		}
		id, err := tx.nextChunkID(ctx)
		if err != nil {
			return fmt.Errorf("chunk id: %w", err)
		}
		c.ID = id
		store = append(store, *c)
	}
	if err := tx.insertChunks(ctx, store); err != nil {
		return fmt.Errorf("write chunks: %w", err)
	}
	if err := tx.insertEvents(ctx, rows); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	if err := addHeadIDs(ctx, tx, rows); err != nil {
		return fmt.Errorf("add ids to their filters: %w", err)
	}
	w.fresh = append(w.fresh, rows...)
	return nil
}

// addHeadIDs is addIDs for rows: neighbours of one project and day go in one call.
func addHeadIDs(ctx context.Context, tx *Commit, rows []*head) error {
	ids := make([]uuid.UUID, 0, len(rows))
	for i, h := range rows {
		ids = append(ids, h.ev.ID)
		if next := i + 1; next < len(rows) && rows[next].project == h.project && rows[next].day == h.day {
			continue
		}
		if err := tx.addIDs(ctx, h.project, h.day, ids...); err != nil {
			return err
		}
		ids = ids[:0]
	}
	return nil
}

// idsFree makes sure that no session that is to be made has the id of an event, whose row its
// session event would have to share.
func (w *writing) idsFree(ctx context.Context, tx *Commit, rows []*head) error {
	made := map[writer.Key]bool{}
	for _, d := range w.order {
		if !d.state.fresh || d.sessionHead != nil {
			continue
		}
		made[writer.Key{Project: d.project, ID: d.id}] = true
		if err := w.idFree(ctx, tx, d.project, d.id); err != nil {
			return err
		}
	}
	if len(made) == 0 {
		return nil
	}
	for _, h := range rows {
		if !h.ev.IsSession() && made[writer.Key{Project: h.project, ID: h.ev.ID}] {
			return errTaken(h.ev.ID)
		}
	}
	return nil
}

// namesFree makes sure that no session that only log records name, and that is yet to be made, has the id of an event: the spans of their trace,
// which come later, could not be stored in it.
func (w *writing) namesFree(ctx context.Context, tx *Commit, groups []*eventGroup) error {
	for _, g := range groups {
		if len(g.heads) > 0 {
			continue
		}
		if _, maybe := w.mayBeStored(g.project, g.session); !maybe {
			continue
		}
		_, made, err := readSessionRow(ctx, tx, g.project, g.session, "")
		if err == nil && !made { // else it is the session's own event
			err = w.idFree(ctx, tx, g.project, g.session)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// idFree makes sure that a session's id is not stored as that of an event.
func (w *writing) idFree(ctx context.Context, tx *Commit, project int64, session uuid.UUID) error {
	at, maybe := w.mayBeStored(project, session)
	if !maybe {
		return nil
	}
	found, err := tx.findEvents(ctx, project, []idDays{at})
	if err == nil && len(found) > 0 {
		err = errTaken(session)
	}
	return err
}

// mayBeStored returns the days on which an event with an id may be stored; maybe is false if there is none.
func (w *writing) mayBeStored(project int64, id uuid.UUID) (at idDays, maybe bool) {
	days, far := w.s.idFilter.mayContain(project, id, nil)
	if w.force && !w.s.db.Exclusive() {
		return idDays{id, nil, false}, true
	}
	return idDays{id, days, far}, len(days) > 0 || far
}

func errTaken(id uuid.UUID) error {
	return fault.InvalidField("session_id", "%s is the id of an event in another session", id)
}
