package events

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// boundSlack is how far the rows that wait may pass their bound before the oldest are dropped:
// a share of it, so that this is done seldom.
const boundSlack = 100

// bound drops the rows that wait longest, where too many do. The rows are counted before that: memory has also counted those that spans at other
// servers, and deletions, have taken since it was last read.
func (a *logMerge) bound(ctx context.Context) error {
	s := a.w.s
	limit := int64(s.options.MaxPending)
	// Only a transaction that adds rows pays for it. With 1 % of slack that is one transaction in many, not each of them.
	if a.waiting <= 0 || s.logCounts.waiting.Load()+a.waiting-limit <= limit/boundSlack {
		return nil
	}
	counts, err := readLogCounts(ctx, a.tx)
	if err != nil {
		return err
	}
	a.tx.recount.logs = true
	if counts.waiting <= limit {
		return nil
	}
	n, err := dropWaiting(ctx, a.tx, `ORDER BY created_ms, id LIMIT $1`, counts.waiting-limit)
	if err != nil {
		return err
	}
	a.waiting -= n
	a.w.logsExpired += n
	return nil
}

// dropWaiting deletes some of the log parts that wait, which where selects, and the rows of their traces that nothing else needs: those of which
// no span has come, so that their session is not there. What a log record said of a trace's session goes with its part.
func dropWaiting(ctx context.Context, tx *Commit, where string, args ...any) (n int64, err error) {
	var parts []int64
	byProject := map[int64][]uuid.UUID{}
	err = sqldb.Each(ctx, tx, `SELECT id, project_id, trace_id FROM log_part WHERE event_id IS NULL `+where, args, func(scan func(...any) error) error {
		var id, project int64
		var trace uuid.UUID
		err := scan(&id, &project, sqldb.ScanID(&trace))
		parts, byProject[project] = append(parts, id), append(byProject[project], trace)
		return err
	})
	if err != nil {
		return 0, err
	}
	for project, traces := range byProject {
		slices.SortFunc(traces, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		byProject[project] = slices.Compact(traces)
	}
	projects := slices.Sorted(maps.Keys(byProject))
	// Traces before parts, and in one order, as all writers lock them. Whoever stores a part or a span of one of them either has
	// committed by now, and is found below, or waits here and makes the row anew.
	for _, project := range projects {
		if err := lockTraces(ctx, tx, project, byProject[project]); err != nil {
			return 0, err
		}
	}
	for group := range slices.Chunk(parts, sqldb.IDsPerQuery) {
		cond, args := tx.AnyNumber("id", 1, group)
		some, err := deleteCounted(ctx, tx, `DELETE FROM log_part WHERE event_id IS NULL AND `+cond+` RETURNING project_id, octet_length(data)`, args...)
		if err != nil {
			return 0, err
		}
		n += some
	}
	for _, project := range projects {
		if err := dropLoneTraces(ctx, tx, project, byProject[project]); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// lockTraces holds the rows of traces, which are in the order of their ids, until the transaction ends.
func lockTraces(ctx context.Context, tx *Commit, project int64, traces []uuid.UUID) error {
	for group := range slices.Chunk(traces, sqldb.IDsPerQuery) {
		cond, args := tx.AnyID("trace_id", 2, group)
		err := sqldb.Each(ctx, tx, `SELECT 1 FROM trace WHERE project_id = $1 AND `+cond+` ORDER BY trace_id`+tx.ForUpdate(""),
			append([]any{project}, args...), func(scan func(...any) error) error {
				var n int
				return scan(&n)
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropLoneTraces deletes the rows of traces, which the transaction holds, that have no log part and whose session is not there.
func dropLoneTraces(ctx context.Context, tx *Commit, project int64, traces []uuid.UUID) error {
	for group := range slices.Chunk(traces, sqldb.IDsPerQuery) {
		cond, args := tx.AnyID("trace_id", 2, group)
		err := sqldb.Each(ctx, tx, `DELETE FROM trace
			WHERE project_id = $1 AND `+cond+`
				AND NOT EXISTS (SELECT 1 FROM log_part AS p WHERE p.project_id = trace.project_id AND p.trace_id = trace.trace_id)
				AND NOT EXISTS (SELECT 1 FROM session AS s WHERE s.project_id = trace.project_id AND s.session_id = trace.session_id)
				AND NOT EXISTS (SELECT 1 FROM alias AS a WHERE a.project_id = trace.project_id AND a.session_id = trace.session_id)
			RETURNING trace_id`, append([]any{project}, args...), func(scan func(...any) error) error {
			var trace uuid.UUID
			err := scan(sqldb.ScanID(&trace))
			tx.put.lostTraces = append(tx.put.lostTraces, traceKey{project, trace})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// expireSlice is how many rows one transaction of the expiry deletes, so that writers do not
// wait for it.
const expireSlice = 2000

// expireLogs drops log parts that waited too long, and those that are in their event for as long:
// from then on the event keeps what it has, and later log parts only fill what is empty.
func (s *Store) expireLogs(ctx context.Context, now time.Time) error {
	before := now.Add(-s.options.PendingTTL).UnixMilli()
	for _, drop := range []func(context.Context, *Commit) (int64, error){
		func(ctx context.Context, tx *Commit) (n int64, err error) {
			n, err = dropWaiting(ctx, tx, `AND created_ms < $1 LIMIT $2`, before, expireSlice)
			tx.put.logsExpired += n
			return n, err
		},
		func(ctx context.Context, tx *Commit) (int64, error) {
			return deleteCounted(ctx, tx, `DELETE FROM log_part
				WHERE id IN (SELECT id FROM log_part WHERE created_ms < $1 AND event_id IS NOT NULL LIMIT $2)
				RETURNING project_id, octet_length(data)`, before, expireSlice)
		},
	} {
		// One transaction for each slice, so that the writer takes other requests in between.
		for {
			var n int64
			err := s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) (err error) {
				n, err = drop(ctx, tx)
				return err
			})
			if err != nil {
				return err
			}
			if n < expireSlice {
				break
			}
		}
	}
	return s.Change(ctx, 0, uuid.Nil, 0, func(_ context.Context, tx *Commit) error {
		tx.recount.logs = true
		return nil
	})
}

// eraseLogs deletes the log parts of events, and of spans those that wait.
func eraseLogs(ctx context.Context, tx *Commit, project int64, events, spans []uuid.UUID) error {
	for _, by := range []struct {
		column string
		ids    []uuid.UUID
	}{{"event_id", events}, {"span_id", spans}} {
		for group := range slices.Chunk(by.ids, sqldb.IDsPerQuery) {
			cond, args := tx.AnyID(by.column, 2, group)
			if _, err := tx.Exec(ctx, `DELETE FROM log_part
				WHERE project_id = $1 AND `+cond, append([]any{project}, args...)...); err != nil {
				return err
			}
		}
	}
	return nil
}
