package evalqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// The outbox as evaluators see it. Commits insert its rows (events/outbox.go), each with the ids of up to 500 events; here
// they are claimed, answered and, if nobody does so for a week, dropped.
//
// A row is claimed by a later due_ms and deleted by the transaction that makes its evaluations. If the claimant dies, the row is due
// again when the lease ends, and is looked at a second time: evaluations that exist already are left out, so an
// event may be looked at twice, but gets one evaluation by each version of a metric.

const (
	// enqueueSlice is how many evaluations one transaction makes, and how many events a step of a backfill asks for.
	enqueueSlice = 500
	// outboxTTL is how long a row waits for somebody to take it: a server may have no evaluators, or
	// have as many evaluations waiting as it may, and its outbox must not grow for ever.
	outboxTTL = 7 * 24 * time.Hour
)

// ExpireOutbox drops rows that nobody claimed in time, and counts them in the telemetry of the store: their events
// will not be evaluated, unless a backfill asks for them.
func (s *Store) ExpireOutbox(ctx context.Context) error {
	n, err := s.deleteStaleOutbox(ctx, s.options.Now())
	s.events.OutboxExpired(ctx, n)
	return err
}

// deleteStaleOutbox deletes rows that nobody claimed in time, in slices, and returns their number. It goes by the age of a row
// alone: one that was claimed again and again, and never answered, goes as well.
func (s *Store) deleteStaleOutbox(ctx context.Context, now time.Time) (total int64, err error) {
	for n := int64(events.DeleteDocsSlice); n == events.DeleteDocsSlice; {
		err := s.events.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) (err error) {
			n, err = tx.Exec(ctx, fmt.Sprintf(`DELETE FROM outbox
				WHERE id IN (SELECT id FROM outbox WHERE created_ms < $1 ORDER BY id LIMIT %d)`,
				events.DeleteDocsSlice), now.Add(-outboxTTL).UnixMilli())
			return err
		})
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// ClaimOutbox claims the oldest outbox rows of a project, with about limit events, for the time of
// lease. The last row is taken whole, so there may be as many events more as one row names, less one. Rows that another
// server is claiming at this moment are passed over.
func (s *Store) ClaimOutbox(ctx context.Context, projectID int64, limit int, lease time.Duration) (list []evaluation.OutboxRow, err error) {
	now := s.options.Now()
	err = s.events.Change(ctx, projectID, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) error {
		list = nil
		events := 0
		err := sqldb.Each(ctx, tx, `SELECT id, ids FROM outbox WHERE project_id = $1 AND due_ms <= $2 ORDER BY id LIMIT $3`+tx.SkipLocked(),
			[]any{projectID, now.UnixMilli(), limit}, func(scan func(...any) error) error {
				in := evaluation.OutboxRow{Project: projectID}
				var ids []byte
				if err := scan(&in.ID, &ids); err != nil {
					return err
				}
				if events >= limit {
					return nil // read, but not claimed
				}
				events += len(ids) / 32 // ids of event and session, 16 bytes each
				for ; len(ids) >= 32; ids = ids[32:] {
					in.Events = append(in.Events, evaluation.OutboxEvent{EventID: uuid.UUID(ids[:16]), SessionID: uuid.UUID(ids[16:32])})
				}
				list = append(list, in)
				return nil
			})
		if err != nil || len(list) == 0 {
			return err
		}
		ids := make([]int64, len(list))
		for i := range list {
			ids[i] = list[i].ID
		}
		cond, args := tx.AnyNumber("id", 2, ids)
		_, err = tx.Exec(ctx, `UPDATE outbox SET due_ms = $1 WHERE `+cond, append([]any{now.Add(lease).UnixMilli()}, args...)...)
		return err
	})
	return list, sqldb.WrapError(s.db, err, "claim outbox rows")
}

// OutboxProjects returns the projects that have rows in the outbox which are due: those that are claimed do not count.
func (s *Store) OutboxProjects(ctx context.Context) (ids []int64, err error) {
	err = sqldb.Each(ctx, s.db, `SELECT DISTINCT project_id
		FROM outbox
		WHERE due_ms <= $1
		ORDER BY project_id`, []any{s.options.Now().UnixMilli()}, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, sqldb.WrapError(s.db, err, "list projects of the outbox")
}

// ClaimDelayed claims at most limit events that are due, of all projects, for the time of lease;
// Due of each is when that ends, and names the claim: EnqueueEvaluations deletes a row only if it still has that time, and
// leaves one whose event was put off again meanwhile.
//
// An event is not due while its project's outbox has rows from before its time: they may bring more events of its session, or its end.
//
// It looks before it claims. Callers ask again and again, and a server that has nothing to do shall not commit for that.
func (s *Store) ClaimDelayed(ctx context.Context, limit int, lease time.Duration) (list []evaluation.Delayed, err error) {
	now := s.options.Now()
	look := func(cond string, args ...any) (some bool, err error) {
		var due int
		_, err = sqldb.One(ctx, s.db, `SELECT count(*)
			FROM (SELECT 1 FROM outbox_delayed WHERE due_ms <= $1`+cond+` LIMIT 1) AS x`, append([]any{now.UnixMilli()}, args...), &due)
		return due > 0, sqldb.WrapError(s.db, err, "look for events that are due")
	}
	if some, err := look(""); err != nil || !some {
		return nil, err
	}
	oldest, err := s.oldestInOutbox(ctx)
	if err != nil {
		return nil, err
	}
	looked := func(placeholder string) string {
		return ` AND NOT EXISTS (
			SELECT 1
			FROM ` + s.db.JSONPairs(placeholder) + `
			WHERE name = CAST(project_id AS text) AND number <= due_ms)`
	}
	if some, err := look(looked("$2"), oldest); err != nil || !some {
		return nil, err
	}
	until := now.Add(lease).UnixMilli()
	err = s.events.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) error {
		list = nil
		err := sqldb.Each(ctx, tx, `SELECT project_id, event_id
			FROM outbox_delayed
			WHERE due_ms <= $1`+looked("$3")+`
			ORDER BY due_ms LIMIT $2`+tx.SkipLocked(),
			[]any{now.UnixMilli(), limit, oldest}, func(scan func(...any) error) error {
				l := evaluation.Delayed{Due: until}
				err := scan(&l.Project, sqldb.ScanID(&l.EventID))
				list = append(list, l)
				return err
			})
		if err != nil {
			return err
		}
		for _, l := range list {
			if _, err := tx.Exec(ctx, `UPDATE outbox_delayed
				SET due_ms = $3
				WHERE project_id = $1 AND event_id = $2`, l.Project, tx.ID(l.EventID), until); err != nil {
				return err
			}
		}
		return nil
	})
	return list, sqldb.WrapError(s.db, err, "take events that are due")
}

// oldestInOutbox returns since when the rows of each project's outbox wait, as pairs of the project's id and a time.
func (s *Store) oldestInOutbox(ctx context.Context) (pairs string, err error) {
	text := []byte{'['}
	err = sqldb.Each(ctx, s.db, `SELECT project_id, min(created_ms) FROM outbox GROUP BY project_id`, nil, func(scan func(...any) error) error {
		var project, since int64
		err := scan(&project, &since)
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, `["%d",%d]`, project, since)
		return err
	})
	return string(append(text, ']')), sqldb.WrapError(s.db, err, "look at the outbox")
}

// EnqueueEvaluations creates the evaluations asked for that do not exist yet, delays what is to be
// looked at later, and deletes the claimed rows.
//
//  1. While there are more than enqueueSlice requests, about so many of them are a transaction of their own. If the server dies
//     after some, the claimed rows are still there, and those evaluations exist when the rows are looked at again. Those of one
//     event are never apart: a composite metric could else be claimed before the parts that it waits for are there.
//  2. The last transaction makes the rest, and deletes the claimed rows, which all of the requests came from.
//
// In it, what was handled goes before what is delayed is written: an event may be in both lists, and a row that is there keeps
// its due time unless Extend is set.
func (s *Store) EnqueueEvaluations(ctx context.Context, a evaluation.Enqueue) (n int64, err error) {
	now := s.options.Now()
	requests := a.Requests
	for len(requests) > enqueueSlice {
		end := sliceOf(requests)
		made, err := s.requestEvaluations(ctx, a.Project, requests[:end], now)
		if err != nil {
			return n, err
		}
		n += made
		requests = requests[end:]
	}
	var last int64
	err = s.events.Change(ctx, a.Project, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) error {
		made, err := s.insertRequests(ctx, tx, a.Project, requests, now)
		if err != nil {
			return err
		}
		last = made
		for _, l := range a.Handled {
			// One that was put off again meanwhile stays.
			if _, err := tx.Exec(ctx, `DELETE FROM outbox_delayed
				WHERE project_id = $1 AND event_id = $2 AND due_ms = $3`, a.Project, tx.ID(l.EventID), l.Due); err != nil {
				return err
			}
		}
		for _, l := range a.Delayed {
			conflict := `DO NOTHING`
			if l.Extend {
				conflict = `(project_id, event_id) DO UPDATE SET due_ms = excluded.due_ms`
			}
			if _, err := tx.Exec(ctx, `INSERT INTO outbox_delayed(project_id, event_id, due_ms) VALUES ($1, $2, $3) ON CONFLICT `+conflict,
				a.Project, tx.ID(l.EventID), l.Due); err != nil {
				return err
			}
		}
		if len(a.OutboxIDs) == 0 {
			return nil
		}
		cond, args := tx.AnyNumber("id", 1, a.OutboxIDs)
		_, err = tx.Exec(ctx, `DELETE FROM outbox WHERE `+cond, args...)
		return err
	})
	if err == nil {
		n += last
	}
	return n, sqldb.WrapError(s.db, err, "enqueue evaluations")
}

// sliceOf returns how many of more than enqueueSlice requests go into the next transaction: enqueueSlice, and those after it for the same event.
func sliceOf(requests []evaluation.Request) int {
	end := enqueueSlice
	for end < len(requests) && requests[end].EventID == requests[end-1].EventID {
		end++
	}
	return end
}
