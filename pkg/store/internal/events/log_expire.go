package events

import (
	"context"
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
	n, err := deleteCounted(ctx, a.tx, `DELETE FROM log_part
		WHERE id IN (SELECT id FROM log_part WHERE event_id IS NULL ORDER BY created_ms, id LIMIT $1)
		RETURNING project_id, octet_length(data)`, counts.waiting-limit)
	if err != nil {
		return err
	}
	a.waiting -= n
	a.w.logsExpired += n
	return nil
}

// expireSlice is how many rows one transaction of the expiry deletes, so that writers do not
// wait for it.
const expireSlice = 2000

// expireLogs drops log parts that waited too long, and those that are in their event for as long:
// from then on the event keeps what it has, and later log parts only fill what is empty.
func (s *Store) expireLogs(ctx context.Context, now time.Time) error {
	before := now.Add(-s.options.PendingTTL).UnixMilli()
	for _, part := range []struct {
		where   string
		counted bool
	}{{`event_id IS NULL`, true}, {`event_id IS NOT NULL`, false}} {
		// One transaction for each slice, so that the writer takes other requests in between.
		for {
			var n int64
			err := s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) (err error) {
				n, err = deleteCounted(ctx, tx, `DELETE FROM log_part
					WHERE id IN (SELECT id FROM log_part WHERE created_ms < $1 AND `+part.where+` LIMIT $2)
					RETURNING project_id, octet_length(data)`, before, expireSlice)
				if part.counted {
					tx.put.logsExpired += n
				}
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
