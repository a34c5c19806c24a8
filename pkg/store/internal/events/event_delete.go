package events

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// deleteSlice is how many events one transaction of a session's deletion takes, so that a
// large session does not hold up the writers.
const deleteSlice = 500

// DeleteEvent deletes one event and its payload; its children stay, as orphans. The id of a session event deletes the session.
//
//  1. The row and the payload go; a chunk that others share is written anew without it (erase).
//  2. What is stored of the event elsewhere goes (eraseBeside).
//  3. Its figures are taken off the session's, and what followed it is computed anew; an implicit session without events
//     is over.
//  4. After the commit, records of judges about the event are deleted, which the transaction listed: if the process ends
//     in between, the next one finishes them.
func (s *Store) DeleteEvent(ctx context.Context, projectID int64, id uuid.UUID) error {
	session := false
	var judges []uuid.UUID
	err := s.Change(ctx, projectID, id, 0, func(ctx context.Context, tx *Commit) error {
		old, err := s.Find(ctx, tx, projectID, id)
		if fault.IsNotFound(err) {
			// An update may wait for an event that never came. Deleting that id deletes the update, and is a success.
			if n, failed := s.erasePending(ctx, tx, projectID, []uuid.UUID{id}); failed != nil || n > 0 {
				return failed
			}
		}
		if err != nil {
			return err
		}
		// A session is deleted in slices, each in a transaction of its own, which cannot begin inside this one.
		if session = old.IsSession(); session {
			id = old.ID
			return nil
		}
		span, err := beside(ctx, tx, old)
		if err != nil {
			return err
		}
		if err := s.erase(ctx, tx, old); err != nil {
			return err
		}
		if judges, err = s.eraseBeside(ctx, tx, projectID, []uuid.UUID{old.ID}, []uuid.UUID{old.ID, span}); err != nil {
			return err
		}
		if err := s.takeOff(ctx, tx, projectID, old.SessionID, []*Stored{old}); err != nil {
			return err
		}
		return eraseNamesLater(ctx, tx, projectID)
	})
	if err == nil && session {
		return s.DeleteSession(ctx, projectID, id)
	}
	if err != nil {
		return err
	}
	s.kickNames()
	return s.deleteJudges(ctx, projectID, judges)
}

// beside reads of an event that is to be deleted, before its row goes, the id by which log parts and children name it, Nil if that is its own, and sets the
// chunk that its payload has left.
func beside(ctx context.Context, tx *Commit, old *Stored) (span uuid.UUID, err error) {
	_, err = sqldb.One(ctx, tx, `SELECT span_id, former_chunk
		FROM event
		WHERE project_id = $1 AND day = $2 AND event_id = $3`, []any{old.project, old.Day, tx.ID(old.ID)}, sqldb.ScanID(&span), &old.former)
	return span, err
}

// eraseBeside deletes what belongs to events that are deleted but is stored elsewhere: log records, updates that wait,
// evaluations, comments, and items of queues with their annotations. It records the sessions in which judges
// recorded what they said of these events for deletion, and gives their ids. spans are the ids by
// which log records name the events.
func (s *Store) eraseBeside(ctx context.Context, tx *Commit, project int64, events, spans []uuid.UUID) (judges []uuid.UUID, err error) {
	if err := tx.Deleted(ctx); err != nil {
		return nil, err
	}
	if err := eraseLogs(ctx, tx, project, events, spans); err != nil {
		return nil, err
	}
	if _, err := s.erasePending(ctx, tx, project, events); err != nil {
		return nil, err
	}
	for group := range slices.Chunk(events, sqldb.IDsPerQuery) {
		// Evaluations, queues and comments are of packages above this one, which erase their rows in this same transaction.
		if err := s.hooks.EraseOf(ctx, tx, project, group); err != nil {
			return nil, err
		}
		texts := make([]string, len(group))
		for i, id := range group {
			texts[i] = id.String()
		}
		cond, args := tx.AnyText("e.target_id", 2, texts)
		err := sqldb.Each(ctx, tx, `SELECT DISTINCT `+s.Dialect.SessionID()+` FROM `+s.Dialect.From()+` WHERE e.project_id = $1 AND `+cond,
			append([]any{project}, args...), func(scan func(...any) error) error {
				var id uuid.UUID
				err := scan(sqldb.ScanID(&id))
				judges = append(judges, id)
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return judges, deleteLater(ctx, tx, project, judges)
}

// erasePending deletes updates that wait for events with these ids, and counts them.
func (s *Store) erasePending(ctx context.Context, tx *Commit, project int64, events []uuid.UUID) (n int64, err error) {
	for group := range slices.Chunk(events, sqldb.IDsPerQuery) {
		if s.db.Exclusive() &&
			!slices.ContainsFunc(group, func(id uuid.UUID) bool { return s.pending.has(writer.Key{Project: project, ID: id}) }) {
			continue
		}
		cond, args := tx.AnyID("event_id", 2, group)
		gone, err := tx.Exec(ctx, `DELETE FROM pending WHERE project_id = $1 AND `+cond, append([]any{project}, args...)...)
		if err != nil {
			return n, err
		}
		if gone == 0 {
			continue
		}
		n += gone
		for _, id := range group {
			tx.put.consumed = append(tx.put.consumed, writer.Key{Project: project, ID: id})
		}
	}
	if n > 0 {
		tx.Counts.Shrunk(project)
		err = tx.Deleted(ctx)
	}
	return n, err
}

// erase deletes one event's row and its payload: a chunk it shares is rewritten without it. A deleted text must not stay
// on disk only because a neighbour's is compressed together with it.
func (s *Store) erase(ctx context.Context, tx *Commit, old *Stored) error {
	gone, err := tx.Exec(ctx, `DELETE FROM event
		WHERE project_id = $1 AND day = $2 AND event_id = $3`, old.project, old.Day, tx.ID(old.ID))
	if err != nil {
		return err
	}
	// By what the statement deleted and not by 1: another transaction may have been faster.
	tx.Counts.add(old.project, old.Type, -gone)
	if err := tx.removeIDs(ctx, old.project, old.Day, old.ID); err != nil {
		return err
	}
	if old.chunk != nil {
		if err := s.eraseFromChunk(ctx, tx, old); err != nil {
			return err
		}
	}
	return s.eraseFormer(ctx, tx, old)
}

// eraseFormer deletes what an event whose row is gone had in the chunk that its payload has left, if others of its session still have theirs there.
func (s *Store) eraseFormer(ctx context.Context, tx *Commit, old *Stored) error {
	if old.former == nil {
		return nil
	}
	left := *old
	left.chunk = old.former
	// Their day is the chunk's. A chunk that none of them has is gone, and its id may be that of another session's.
	there, err := sqldb.One(ctx, tx, `SELECT day FROM event WHERE `+s.Dialect.OfSession()+` AND chunk = $3 LIMIT 1`,
		[]any{old.project, tx.ID(old.SessionID), *old.former}, &left.Day)
	if err != nil || !there {
		return err
	}
	return s.eraseFromChunk(ctx, tx, &left)
}

// eraseFromChunk deletes the payload of an event whose row is gone, and those of all others of its chunk without a row: the chunk is rewritten
// without them, or deleted.
func (s *Store) eraseFromChunk(ctx context.Context, tx *Commit, old *Stored) error {
	type ref struct {
		id  uuid.UUID
		off int
	}
	var refs []ref
	// A chunk holds events of one session and one day, so its other users are found by the index of sessions. They are held: one that
	// another transaction is changing may name another chunk when that has ended, which must not be undone.
	err := sqldb.Each(ctx, tx, `SELECT event_id, chunk_offset
		FROM event
		WHERE `+s.Dialect.OfSession()+` AND chunk = $3 AND day = $4
		ORDER BY chunk_offset`+tx.ForUpdate(""),
		[]any{old.project, tx.ID(old.SessionID), *old.chunk, old.Day}, func(scan func(...any) error) error {
			var r ref
			if err := scan(sqldb.ScanID(&r.id), &r.off); err != nil {
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
	raw, err := s.chunk(ctx, tx, old.Day, *old.chunk)
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
			return fmt.Errorf("chunk %d: %w", *old.chunk, record.ErrDamaged)
		}
		// A record tells its own length. It is copied as bytes and not written anew from the event that was read.
		n, err := record.Read(raw[refs[i].off:], &e)
		if err != nil {
			return fmt.Errorf("chunk %d: %w", *old.chunk, err)
		}
		at := len(packed)
		packed = append(packed, raw[refs[i].off:refs[i].off+n]...)
		if _, err := tx.Exec(ctx, `UPDATE event SET chunk = $4, chunk_offset = $5 WHERE project_id = $1 AND day = $2 AND event_id = $3`,
			old.project, old.Day, tx.ID(refs[i].id), id, at); err != nil {
			return err
		}
	}
	if err := tx.insertChunks(ctx, []record.Chunk{{ID: id, Day: old.Day, Z: record.Compress(packed)}}); err != nil {
		return err
	}
	tx.unpacked(old.project, old.SessionID)
	return s.dropChunks(ctx, tx, []int32{old.Day}, *old.chunk)
}

// dropUnused deletes an event's former chunk if no other event's payload is in it.
func (s *Store) dropUnused(ctx context.Context, tx *Commit, old *Stored) error {
	var n int
	_, err := sqldb.One(ctx, tx, `SELECT count(*) FROM event WHERE `+s.Dialect.OfSession()+` AND chunk = $3 AND day = $4`,
		[]any{old.project, tx.ID(old.SessionID), *old.chunk, old.Day}, &n)
	if err != nil || n > 0 {
		return err
	}
	return s.dropChunks(ctx, tx, []int32{old.Day}, *old.chunk)
}

// PutAbout is Put for what a judge recorded of an event, as sessions of its own. If the event is deleted meanwhile, so is the
// record: whoever deletes the event either finds the record, or is found by keepRecord.
func (s *Store) PutAbout(ctx context.Context, projectID int64, about uuid.UUID, b event.Batch) error {
	for range recordTries {
		kept, err := s.putRecord(ctx, projectID, about, b)
		if err != nil || kept {
			return sqldb.WrapError(s.db, err, "store a record")
		}
	}
	return &fault.Error{Kind: fault.Unavailable, Msg: "the record was deleted while it was stored, try again"}
}

// recordTries is how often a record is stored that was taken for one of a process that ended.
const recordTries = 5

// putRecord stores a record, and keeps it if the event is there by then. It is not kept if its deletion was
// finished in the meantime, as that of a record whose process ended.
func (s *Store) putRecord(ctx context.Context, projectID int64, about uuid.UUID, b event.Batch) (kept bool, err error) {
	var sessions []uuid.UUID
	for i := range b.Events {
		if id := b.Events[i].SessionID; !slices.Contains(sessions, id) {
			sessions = append(sessions, id)
		}
	}
	// Until it is kept, it is to be deleted by whoever comes when this process ends.
	// A crash after this leaves a deletion of sessions that may not be there, which the next start finds done.
	// Without it, a crash between Put and keepRecord could leave a record of an event that is gone.
	err = s.Change(ctx, projectID, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
		return deleteLater(ctx, tx, projectID, sessions)
	})
	if err != nil {
		return false, err
	}
	// A failed Put leaves the rows in deletion, for sessions of which there is nothing. The next start takes them off.
	if err := s.Put(ctx, projectID, b); err != nil {
		return false, err
	}
	return s.keepRecord(ctx, projectID, about, sessions)
}

// keepRecord keeps the sessions of a record, or deletes them if the event that it is about is gone. kept is
// not set if one of them is deleted already.
func (s *Store) keepRecord(ctx context.Context, projectID int64, about uuid.UUID, sessions []uuid.UUID) (kept bool, err error) {
	gone := false
	err = s.Change(ctx, projectID, about, 0, func(ctx context.Context, tx *Commit) error {
		kept = true
		// It holds the event's row: a deletion that comes after this finds the record.
		_, err := s.Find(ctx, tx, projectID, about)
		if gone = fault.IsNotFound(err); gone {
			return nil
		}
		for i := 0; err == nil && i < len(sessions); i++ {
			var n int64
			n, err = tx.Exec(ctx, `DELETE FROM deletion
				WHERE project_id = $1 AND kind = $2 AND id = $3`, projectID, DeletedSession, sessions[i].String())
			kept = kept && n > 0
		}
		return err
	})
	if err == nil && gone {
		err = s.deleteJudges(ctx, projectID, sessions)
	}
	return kept, err
}
