package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/lzh"
)

// deleteSlice is how many events one transaction of a session's deletion takes, so that a
// large session does not hold up the writers.
const deleteSlice = 500

// DeleteEvent deletes one event and its payload; its children stay, as orphans. The id of a
// session deletes the session. fault.NotFound if there is none.
func (s *Store) DeleteEvent(ctx context.Context, projectID int64, id uuid.UUID) error {
	session := false
	err := s.change(ctx, projectID, id, 0, func(ctx context.Context, tx writeTx) error {
		old, err := s.find(ctx, tx, projectID, id)
		if err != nil {
			return err
		}
		if session = old.IsSession(); session {
			return nil
		}
		if err := s.erase(ctx, tx, old); err != nil {
			return err
		}
		if err := eraseNotes(ctx, tx, projectID, []uuid.UUID{id}); err != nil {
			return err
		}
		if err := eraseEvaluations(ctx, tx, projectID, []uuid.UUID{id}); err != nil {
			return err
		}
		if old.trace != 0 {
			tx.reshape().removed(projectID, old.SessionID)
		}
		h := &head{ev: &old.Event, project: projectID, trace: old.trace}
		h.derive()
		if err := s.addTotals(ctx, tx, projectID, old.SessionID, totals{}.minus(h.totals), old.Start, old.End); err != nil {
			return err
		}
		return s.recount(ctx, tx, projectID, old.SessionID)
	})
	if err == nil && session {
		return s.DeleteSession(ctx, projectID, id)
	}
	return err
}

// DeleteSession deletes a session with all its events. fault.NotFound if there is none.
// Events that arrive while it runs may survive it, as those of a new session.
func (s *Store) DeleteSession(ctx context.Context, projectID int64, id uuid.UUID) error {
	for first := true; ; first = false {
		more := false
		err := s.change(ctx, projectID, id, 0, func(ctx context.Context, tx writeTx) (err error) {
			if first {
				if to, ok, err := aliasOf(ctx, tx, projectID, id); err != nil {
					return err
				} else if ok {
					id = to
				}
			}
			more, err = s.deleteSome(ctx, tx, projectID, id, first)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
}

func (s *Store) deleteSome(ctx context.Context, tx writeTx, project int64, session uuid.UUID, first bool) (more bool, err error) {
	var n int
	found, err := one(ctx, tx, `SELECT 1 FROM session WHERE project_id = $1 AND session_id = $2`, []any{project, tx.id(session)}, &n)
	if err != nil {
		return false, err
	}
	if !found {
		if first {
			return false, fault.New(fault.NotFound, "no session %s", session)
		}
		return false, nil
	}
	type row struct {
		day   int32
		id    uuid.UUID
		typ   int
		chunk *int64
	}
	var list []row
	// In the order of their chunks, so that a chunk goes with the last of its events; the session
	// event last, since events that arrive meanwhile need it.
	err = each(ctx, tx, `SELECT day, event_id, type, chunk FROM ev WHERE `+s.db.frag().bySession+` ORDER BY CASE WHEN event_id = $2 THEN 1 ELSE 0 END, chunk LIMIT $3`,
		[]any{project, tx.id(session), deleteSlice + 1}, func(scan func(...any) error) error {
			var r row
			if err := scan(&r.day, scanID{&r.id}, &r.typ, &r.chunk); err != nil {
				return err
			}
			list = append(list, r)
			return nil
		})
	if err != nil {
		return false, err
	}
	if more = len(list) > deleteSlice; more {
		list = list[:deleteSlice]
	}
	chunks := map[int64]int32{} // chunk to day
	ids := make([]uuid.UUID, len(list))
	for i := range list {
		ids[i] = list[i].id
	}
	if err := eraseNotes(ctx, tx, project, ids); err != nil {
		return false, err
	}
	if err := eraseEvaluations(ctx, tx, project, ids); err != nil {
		return false, err
	}
	for _, r := range list {
		gone, err := tx.exec(ctx, `DELETE FROM ev WHERE project_id = $1 AND day = $2 AND event_id = $3`, project, r.day, tx.id(r.id))
		if err != nil {
			return false, err
		}
		tx.counts().add(project, query.TypeOf(r.typ), -gone)
		if r.chunk != nil {
			chunks[*r.chunk] = r.day
		}
	}
	for c, day := range chunks {
		var left int
		if more {
			if _, err := one(ctx, tx, `SELECT count(*) FROM ev WHERE `+s.db.frag().bySession+` AND chunk = $3 AND day = $4`, []any{project, tx.id(session), c, day}, &left); err != nil {
				return false, err
			}
		}
		if left > 0 {
			continue
		}
		if _, err := tx.exec(ctx, `DELETE FROM chunk WHERE id = $1`, c); err != nil {
			return false, err
		}
		s.chunks.drop(c)
	}
	if more {
		return true, nil
	}
	for _, stmt := range []string{
		`DELETE FROM note WHERE project_id = $1 AND trace_id IN (SELECT trace_id FROM trace WHERE project_id = $1 AND session_id = $2)`,
		`DELETE FROM session WHERE project_id = $1 AND session_id = $2`,
		`DELETE FROM trace WHERE project_id = $1 AND session_id = $2`,
		`DELETE FROM alias WHERE project_id = $1 AND target = $2`,
		`DELETE FROM pending WHERE project_id = $1 AND event_id = $2`,
	} {
		if _, err := tx.exec(ctx, stmt, project, tx.id(session)); err != nil {
			return false, err
		}
	}
	tx.reshape().dropped(project, session)
	s.traces.Purge() // rare, and the cache fills again
	return false, nil
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
