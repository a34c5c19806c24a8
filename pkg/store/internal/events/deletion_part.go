package events

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/deletion"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// A deletion of all that a search found knows what it deletes by id: these are found by one read, so that nothing that comes later is among
// them. They are written down in parts, each of what one transaction deletes, and each of sessions of one writer, so that writers do not
// wait for one another's rows.

// eventsPerPart is how many events a part of a deletion of events has. Unlike those of a whole session, each is read, and taken off its session.
const eventsPerPart = 200

// targetBytes is what a target takes in a part.
const targetBytes = 16 + 4 + 8

// PartsOf shares targets out among transactions, and returns what each is to delete as a part of the database has it.
func (s *Store) PartsOf(ctx context.Context, projectID int64, of deletion.Kind, list []Target) (parts [][]byte, err error) {
	if of == deletion.Sessions {
		byID := make(map[uuid.UUID]Target, len(list))
		sessions := make([]overdue, len(list))
		for i, t := range list {
			sessions[i] = overdue{id: t.ID, events: t.Events}
			byID[t.ID] = t
		}
		for _, batch := range s.retentionBatches(sessions) {
			var part []byte
			for _, o := range batch {
				part = appendTarget(part, byID[o.id])
			}
			parts = append(parts, part)
		}
		return parts, nil
	}
	if s.db.Exclusive() {
		for group := range slices.Chunk(list, eventsPerPart) {
			parts = append(parts, appendTargets(group))
		}
		return parts, nil
	}
	byWriter := map[int][]Target{}
	for group := range slices.Chunk(list, sqldb.IDsPerQuery) {
		sessions, err := s.sessionsOf(ctx, projectID, group)
		if err != nil {
			return nil, sqldb.WrapError(s.db, err, "find the sessions of events to be deleted")
		}
		for _, t := range group {
			session, ok := sessions[t.ID]
			if !ok {
				continue // it is gone by now
			}
			w := s.writerOf(session)
			if byWriter[w] = append(byWriter[w], t); len(byWriter[w]) == eventsPerPart {
				parts = append(parts, appendTargets(byWriter[w]))
				byWriter[w] = nil
			}
		}
	}
	for _, rest := range byWriter {
		if len(rest) > 0 {
			parts = append(parts, appendTargets(rest))
		}
	}
	return parts, nil
}

// sessionsOf returns the sessions of events.
func (s *Store) sessionsOf(ctx context.Context, projectID int64, list []Target) (map[uuid.UUID]uuid.UUID, error) {
	byDay := map[int32][]uuid.UUID{}
	for _, t := range list {
		byDay[t.Day] = append(byDay[t.Day], t.ID)
	}
	of := make(map[uuid.UUID]uuid.UUID, len(list))
	for day, ids := range byDay {
		cond, args := s.db.AnyID("e.event_id", 3, ids)
		err := sqldb.Each(ctx, s.db, `SELECT e.event_id, `+s.Dialect.SessionID()+` FROM `+s.Dialect.From()+` WHERE e.project_id = $1 AND e.day = $2 AND `+cond,
			append([]any{projectID, day}, args...), func(scan func(...any) error) error {
				var id, session uuid.UUID
				err := scan(sqldb.ScanID(&id), sqldb.ScanID(&session))
				of[id] = session
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return of, nil
}

func appendTargets(list []Target) (part []byte) {
	for _, t := range list {
		part = appendTarget(part, t)
	}
	return part
}

func appendTarget(part []byte, t Target) []byte {
	part = append(part, t.ID[:]...)
	part = binary.LittleEndian.AppendUint32(part, uint32(t.Day))    //nolint:gosec // the same bits
	return binary.LittleEndian.AppendUint64(part, uint64(t.Events)) //nolint:gosec // it is no negative number
}

// readTargets reads a part.
func readTargets(part []byte) ([]Target, error) {
	if len(part)%targetBytes != 0 {
		return nil, fmt.Errorf("part of a deletion: %w", record.ErrDamaged)
	}
	list := make([]Target, 0, len(part)/targetBytes)
	for ; len(part) > 0; part = part[targetBytes:] {
		var t Target
		copy(t.ID[:], part)
		t.Day = int32(binary.LittleEndian.Uint32(part[16:]))    //nolint:gosec // as it was written
		t.Events = int64(binary.LittleEndian.Uint64(part[20:])) //nolint:gosec // as it was written
		list = append(list, t)
	}
	return list, nil
}

// Removed counts what a part of a deletion has removed, and the sessions that it left since events had come for them.
type Removed struct {
	deletion.Count
	Kept int64
}

// DeletePart deletes what a part names, in one transaction; of a session with many events the first slice, and then the others. begin is called first in the
// transaction, and says whether it is still to be done; end is called in it when it is. Both may be called again.
func (s *Store) DeletePart(ctx context.Context, projectID int64, of deletion.Kind, part []byte,
	begin func(ctx context.Context, tx *Commit) (bool, error), end func(ctx context.Context, tx *Commit, n Removed) error) error {
	list, err := readTargets(part)
	if err != nil || len(list) == 0 {
		return err
	}
	var follow []uuid.UUID
	remove := s.removeEvents
	if of == deletion.Sessions {
		remove = s.removeSessions
	}
	err = s.Change(ctx, projectID, list[0].ID, 0, func(ctx context.Context, tx *Commit) error {
		follow = nil
		if ok, err := begin(ctx, tx); !ok || err != nil {
			return err
		}
		var n Removed
		var err error
		if n, follow, err = remove(ctx, tx, projectID, list); err != nil {
			return err
		}
		if n.Events > 0 {
			if err := eraseNamesLater(ctx, tx, projectID); err != nil {
				return err
			}
		}
		return end(ctx, tx, n)
	})
	if err != nil {
		return sqldb.WrapError(s.db, err, "delete")
	}
	// What is left of large sessions, and what judges recorded of the events, is named in table deletion by now.
	return sqldb.WrapError(s.db, s.deleteJudges(context.WithoutCancel(ctx), projectID, follow), "delete")
}

// DeletedAll is called when a deletion has removed all that it could.
func (s *Store) DeletedAll() { s.kickNames() }

// removeSessions deletes those of the sessions for which no event has come since they were found. follow are sessions of which more is to be
// deleted.
func (s *Store) removeSessions(ctx context.Context, tx *Commit, project int64, list []Target) (n Removed, follow []uuid.UUID, err error) {
	for _, t := range list {
		var events int64
		// Its row is held until the transaction ends, so that no event comes to it meanwhile.
		found, err := sqldb.One(ctx, tx, `SELECT num_events FROM session WHERE project_id = $1 AND session_id = $2`+tx.ForUpdate(""),
			[]any{project, tx.ID(t.ID)}, &events)
		if err != nil {
			return n, nil, err
		}
		if !found || events > t.Events {
			n.Kept++
			continue
		}
		more, judges, err := s.deleteSome(ctx, tx, project, t.ID, false)
		if err != nil {
			return n, nil, err
		}
		if more {
			if err := deleteLater(ctx, tx, project, []uuid.UUID{t.ID}); err != nil {
				return n, nil, err
			}
			follow = append(follow, t.ID)
		}
		follow = append(follow, judges...)
		n.Sessions++
		n.Events += events + 1
	}
	return n, follow, nil
}

// removeEvents deletes events, as DeleteEvent does, but reads and writes what they share once: their sessions, and chunks.
func (s *Store) removeEvents(ctx context.Context, tx *Commit, project int64, list []Target) (n Removed, follow []uuid.UUID, err error) {
	bySession := map[uuid.UUID][]*Stored{}
	var sessions []uuid.UUID
	var ids, spans []uuid.UUID
	for _, t := range list {
		old, err := s.Find(ctx, tx, project, t.ID)
		if fault.IsNotFound(err) {
			continue
		}
		if err != nil {
			return n, nil, err
		}
		if old.ID != t.ID || old.IsSession() {
			continue // the id is that of a session by now
		}
		span, err := beside(ctx, tx, old)
		if err != nil {
			return n, nil, err
		}
		ids, spans = append(ids, old.ID), append(spans, old.ID)
		if span != uuid.Nil {
			spans = append(spans, span)
		}
		if bySession[old.SessionID] == nil {
			sessions = append(sessions, old.SessionID)
		}
		bySession[old.SessionID] = append(bySession[old.SessionID], old)
	}
	if len(ids) == 0 {
		return n, nil, nil
	}
	slices.SortFunc(sessions, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }) // one order for all writers
	for _, id := range sessions {
		gone, err := s.eraseSome(ctx, tx, project, bySession[id])
		if err != nil {
			return n, nil, err
		}
		n.Events += gone
	}
	if follow, err = s.eraseBeside(ctx, tx, project, ids, spans); err != nil {
		return n, nil, err
	}
	for _, id := range sessions {
		if err := s.takeOff(ctx, tx, project, id, bySession[id]); err != nil {
			return n, nil, err
		}
	}
	return n, follow, nil
}

// eraseSome deletes the rows and payloads of events of one session, and counts the rows.
func (s *Store) eraseSome(ctx context.Context, tx *Commit, project int64, list []*Stored) (n int64, err error) {
	byDay := map[int32][]uuid.UUID{}
	var days []int32
	for _, old := range list {
		if byDay[old.Day] == nil {
			days = append(days, old.Day)
		}
		byDay[old.Day] = append(byDay[old.Day], old.ID)
	}
	slices.Sort(days)
	for _, day := range days {
		if err := tx.deleteHeads(ctx, project, day, byDay[day], func(typ int) { n++; tx.Counts.add(project, query.TypeOf(typ), -1) }); err != nil {
			return n, err
		}
		if err := tx.removeIDs(ctx, project, day, byDay[day]...); err != nil {
			return n, err
		}
	}
	done := map[int64]bool{}
	for _, old := range list {
		if old.chunk != nil && !done[*old.chunk] {
			done[*old.chunk] = true
			if err := s.eraseFromChunk(ctx, tx, old); err != nil {
				return n, err
			}
		}
		if old.former != nil && !done[*old.former] {
			done[*old.former] = true
			if err := s.eraseFormer(ctx, tx, old); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// takeOff takes the figures of deleted events off those of their session, and computes anew what followed from them. An implicit session
// is there because of its events: without any, which would be an empty line in every list, it is over.
func (s *Store) takeOff(ctx context.Context, tx *Commit, project int64, session uuid.UUID, list []*Stored) error {
	var sum totals
	inRun := false // one of them named a run
	start, end := list[0].Start, list[0].End
	for _, old := range list {
		if old.trace != 0 {
			tx.trees.removed(project, session)
		}
		sum.add(old.asHead().totals)
		inRun = inRun || old.runID != ""
		start, end = min(start, old.Start), max(end, old.End)
	}
	tx.sessionChanged(project, session, event.ChangeEvent)
	if err := s.addTotals(ctx, tx, project, session, totals{}.minus(sum), start, end); err != nil {
		return err
	}
	over, err := s.endImplicit(ctx, tx, project, session)
	if err != nil || over {
		return err
	}
	return s.recountLeft(ctx, tx, project, session, inRun)
}
