package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// DeleteSession deletes a session with all its events, and what judges recorded of them.
func (s *Store) DeleteSession(ctx context.Context, projectID int64, id uuid.UUID) error {
	return s.deleteSession(ctx, projectID, id, true)
}

// FinishDeletion deletes the rest of a session whose deletion is recorded; nothing if it is not, any more.
func (s *Store) FinishDeletion(ctx context.Context, projectID int64, id uuid.UUID) error {
	return s.deleteSession(ctx, projectID, id, false)
}

// deleteSession deletes a session in slices, each in a transaction of its own, so that writers wait little for a large one.
// first is set for a caller's request, which must find the session; the others go on with a deletion that is recorded.
//
//  1. The first slice records that the session is being deleted (deleteLater), in the same transaction. From then on it is
//     finished also if the caller goes away, or this process does: whoever starts next finds the row.
//  2. Further slices follow until none is left. The last one deletes the session's own rows and the record.
//  3. After each slice, the sessions in which judges recorded what they said of these events go in the same way.
func (s *Store) deleteSession(ctx context.Context, projectID int64, id uuid.UUID, first bool) error {
	for {
		more := false
		var judges []uuid.UUID
		// Between two slices other requests write. Events that come for the session meanwhile are found by a later
		// slice, and go with the others; those that come after the last slice begin a new session of this id.
		err := s.Change(ctx, projectID, id, 0, func(ctx context.Context, tx *Commit) (err error) {
			if first {
				if to, ok, err := AliasOf(ctx, tx, projectID, id); err != nil {
					return err
				} else if ok {
					id = to
				}
			} else if recorded, err := deletionRecorded(ctx, tx, projectID, id); err != nil || !recorded {
				// Somebody else has finished it. A try of this closure before may have set these.
				more, judges = false, nil
				return err
			}
			if more, judges, err = s.deleteSome(ctx, tx, projectID, id, first); err != nil {
				return err
			}
			if more {
				// Written again with each slice: the row is there already from the second one on, and stays as it is.
				return deleteLater(ctx, tx, projectID, []uuid.UUID{id})
			}
			if _, err := tx.Exec(ctx, `DELETE FROM deletion
				WHERE project_id = $1 AND kind = $2 AND id = $3`, projectID, DeletedSession, id.String()); err != nil {
				return err
			}
			return eraseNamesLater(ctx, tx, projectID)
		})
		if err != nil {
			return err
		}
		// The first slice has committed, so the session cannot be kept any more. A caller that goes away does not
		// leave it to the next start of a server.
		ctx = context.WithoutCancel(ctx)
		if err := s.deleteJudges(ctx, projectID, judges); err != nil {
			return err
		}
		if !more {
			s.kickNames()
			return nil
		}
		first = false
	}
}

// DeletedSession is the kind of a row in table deletion that names a session whose events are to be
// deleted, or are still being deleted.
const DeletedSession = "session"

// deleteLater records that sessions are to be deleted, for whoever comes after this transaction.
func deleteLater(ctx context.Context, tx *Commit, project int64, sessions []uuid.UUID) error {
	rows := make([][]any, len(sessions))
	for i, id := range sessions {
		rows[i] = []any{project, DeletedSession, id.String()}
	}
	_, err := InsertRows(ctx, tx, "deletion", []string{"project_id", "kind", "id"}, rows)
	return err
}

// deletionRecorded reports whether a session is to be deleted. Its row is held until the transaction ends.
func deletionRecorded(ctx context.Context, tx *Commit, project int64, session uuid.UUID) (bool, error) {
	var n int
	return sqldb.One(ctx, tx, `SELECT 1
		FROM deletion
		WHERE project_id = $1 AND kind = $2 AND id = $3`+tx.ForUpdate(""), []any{project, DeletedSession, session.String()}, &n)
}

// deleteJudges deletes the sessions in which judges recorded what they said of events that are gone.
func (s *Store) deleteJudges(ctx context.Context, project int64, sessions []uuid.UUID) error {
	for _, id := range sessions {
		if err := s.FinishDeletion(ctx, project, id); err != nil {
			return err
		}
	}
	return nil
}

// deleteSome deletes a slice of a session's events, with what is stored of them elsewhere; with the last slice also the session,
// its traces, aliases and log parts. more reports whether events are left. judges are sessions that are to be deleted
// as well, which the transaction has recorded.
//
// The counts of a session are not kept right while it goes: a reader finds it with fewer and fewer events, and at the end
// not at all.
func (s *Store) deleteSome(ctx context.Context, tx *Commit, project int64, session uuid.UUID, first bool) (
	more bool, judges []uuid.UUID, err error) {
	var n int
	// Its row is held until the transaction ends: events that are being stored are there before any are listed, and those that come
	// later begin the session anew.
	found, err := sqldb.One(ctx, tx, `SELECT 1 FROM session WHERE project_id = $1 AND session_id = $2`+tx.ForUpdate(""),
		[]any{project, tx.ID(session)}, &n)
	if err != nil {
		return false, nil, err
	}
	if !found {
		if first {
			return false, nil, fault.New(fault.NotFound, "no session %s", session)
		}
		return false, nil, nil
	}
	list, more, err := s.nextToDelete(ctx, tx, project, session)
	if err != nil {
		return false, nil, err
	}
	ids, spans := make([]uuid.UUID, len(list)), make([]uuid.UUID, 0, len(list))
	var days []int32
	byDay := map[int32][]uuid.UUID{}
	for i, r := range list {
		ids[i] = r.id
		spans = append(spans, r.id)
		if r.span != uuid.Nil {
			spans = append(spans, r.span)
		}
		if byDay[r.day] == nil {
			days = append(days, r.day)
		}
		byDay[r.day] = append(byDay[r.day], r.id)
	}
	// By what the statements delete and not by what was listed: another transaction may have been faster.
	for _, day := range days {
		if err := tx.deleteHeads(ctx, project, day, byDay[day], func(typ int) { tx.Counts.add(project, query.TypeOf(typ), -1) }); err != nil {
			return false, nil, err
		}
	}
	// After the events themselves: whoever records something about one of them meanwhile either waits
	// for the event's row, and finds it gone, or is found here.
	if judges, err = s.eraseBeside(ctx, tx, project, ids, spans); err != nil {
		return false, nil, err
	}
	for _, day := range days {
		if err := tx.removeIDs(ctx, project, day, byDay[day]...); err != nil {
			return false, nil, err
		}
	}
	unused, err := s.freedChunks(ctx, tx, project, session, list, more)
	if err != nil {
		return false, nil, err
	}
	if err := s.dropChunks(ctx, tx, days, unused...); err != nil {
		return false, nil, err
	}
	if more {
		tx.sessionChanged(project, session, event.ChangeEvent)
		return true, judges, nil
	}
	return false, judges, s.eraseSession(ctx, tx, project, session)
}

// deletedEvent is an event that is about to be deleted with its session.
type deletedEvent struct {
	day   int32
	id    uuid.UUID
	span  uuid.UUID // by which its children and log records name it; Nil: by its id
	chunk *int64    // nil: it has no payload
}

// nextToDelete lists the events of a session that the next slice deletes: in the order of their chunks, so that a chunk goes with the last of
// its events, and the session event last, since events that arrive meanwhile need it. more reports whether others are left.
func (s *Store) nextToDelete(ctx context.Context, tx *Commit, project int64, session uuid.UUID) (list []deletedEvent, more bool, err error) {
	// One row more than a slice tells whether anything is left.
	err = sqldb.Each(ctx, tx, `SELECT day, event_id, span_id, chunk
		FROM event
		WHERE `+s.Dialect.OfSession()+`
		ORDER BY CASE WHEN event_id = $2 THEN 1 ELSE 0 END, chunk LIMIT $3`,
		[]any{project, tx.ID(session), deleteSlice + 1}, func(scan func(...any) error) error {
			var r deletedEvent
			if err := scan(&r.day, sqldb.ScanID(&r.id), sqldb.ScanID(&r.span), &r.chunk); err != nil {
				return err
			}
			list = append(list, r)
			return nil
		})
	if more = len(list) > deleteSlice; more {
		list = list[:deleteSlice]
	}
	return list, more, err
}

// freedChunks returns the chunks of deleted events that no other event of the session is in; the next slice may free the others. more says
// whether the session has other events.
func (s *Store) freedChunks(ctx context.Context, tx *Commit, project int64, session uuid.UUID, list []deletedEvent, more bool) (
	unused []int64, err error) {
	chunks := map[int64]int32{} // chunk to day
	for _, r := range list {
		if r.chunk != nil {
			chunks[*r.chunk] = r.day
		}
	}
	for c, day := range chunks {
		var left int
		if more {
			if _, err := sqldb.One(ctx, tx, `SELECT count(*)
				FROM event
				WHERE `+s.Dialect.OfSession()+` AND chunk = $3 AND day = $4`, []any{project, tx.ID(session), c, day}, &left); err != nil {
				return nil, err
			}
		}
		if left == 0 {
			unused = append(unused, c)
		}
	}
	return unused, nil
}

// eraseSession deletes what is left of a session without events.
func (s *Store) eraseSession(ctx context.Context, tx *Commit, project int64, session uuid.UUID) error {
	if err := forgetTraces(ctx, tx, project, session); err != nil {
		return err
	}
	// Log parts go before the rows of traces, which say which parts are the session's. Aliases go too: an id that
	// had led here leads nowhere, and a later trace with it begins a session of its own.
	for _, stmt := range []string{
		`DELETE FROM log_part
			WHERE project_id = $1
				AND trace_id IN (SELECT trace_id FROM trace WHERE project_id = $1 AND session_id = $2)`,
		`DELETE FROM session WHERE project_id = $1 AND session_id = $2`,
		`DELETE FROM trace WHERE project_id = $1 AND session_id = $2`,
		`DELETE FROM alias WHERE project_id = $1 AND target = $2`,
		`DELETE FROM pending WHERE project_id = $1 AND event_id = $2`,
	} {
		if _, err := tx.Exec(ctx, stmt, project, tx.ID(session)); err != nil {
			return err
		}
	}
	tx.dropped(project, session)
	return nil
}

// forgetTraces notes that the traces of a session leave the cache once the transaction has committed. It comes before their rows go.
func forgetTraces(ctx context.Context, tx *Commit, project int64, session uuid.UUID) error {
	return sqldb.Each(ctx, tx, `SELECT trace_id
		FROM trace
		WHERE project_id = $1 AND session_id = $2`, []any{project, tx.ID(session)}, func(scan func(...any) error) error {
		var trace uuid.UUID
		err := scan(sqldb.ScanID(&trace))
		tx.put.lostTraces = append(tx.put.lostTraces, traceKey{project, trace})
		return err
	})
}
