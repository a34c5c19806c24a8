package store

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
)

// logCounts counts rows of log parts, so that a process that is the only writer knows whether there
// are any to look for. With other writers it may lag behind, and only serves for bounds.
type logCounts struct {
	waiting      atomic.Int64 // rows whose event has not come
	withResponse atomic.Int64 // rows that name an answer
}

// logCountsDelta is what a transaction adds to logCounts.
type logCountsDelta struct{ waiting, withResponse int64 }

func (c *logCounts) add(d logCountsDelta) {
	c.waiting.Add(d.waiting)
	c.withResponse.Add(d.withResponse)
}

// logsWaiting reports whether log parts may be waiting for events.
func (s *Store) logsWaiting() bool { return s.db.writers() > 1 || s.logCounts.waiting.Load() > 0 }

// logsNameResponses reports whether there may be log parts that name a response.
func (s *Store) logsNameResponses() bool {
	return s.db.writers() > 1 || s.logCounts.withResponse.Load() > 0
}

// loadLogCounts counts anew.
func (s *Store) loadLogCounts(ctx context.Context) error {
	var waiting, addressed int64
	if _, err := one(ctx, s.db, `SELECT count(*) FROM note WHERE event_id IS NULL`, nil, &waiting); err != nil {
		return err
	}
	if _, err := one(ctx, s.db, `SELECT count(*) FROM note WHERE response_id IS NOT NULL`, nil, &addressed); err != nil {
		return err
	}
	s.logCounts.waiting.Store(waiting)
	s.logCounts.withResponse.Store(addressed)
	return nil
}

// boundSlack is how far the rows that wait may pass their bound before the oldest are dropped:
// a share of it, so that this is done seldom.
const boundSlack = 100

// bound drops the rows that wait longest, where too many do.
func (a *logMerge) bound(ctx context.Context) error {
	s := a.w.s
	limit := int64(s.options.MaxPending)
	over := s.logCounts.waiting.Load() + a.waiting - limit
	if a.waiting <= 0 || over <= limit/boundSlack {
		return nil
	}
	n, err := a.tx.exec(ctx, `DELETE FROM note WHERE id IN (SELECT id FROM note WHERE event_id IS NULL ORDER BY created_ms, id LIMIT $1)`, over)
	if err != nil {
		return err
	}
	a.waiting -= n
	s.telemetry.logsExpired(ctx, n)
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
		for {
			var n int64
			err := s.change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx writeTx) (err error) {
				n, err = tx.exec(ctx, `DELETE FROM note WHERE id IN (SELECT id FROM note WHERE created_ms < $1 AND `+part.where+` LIMIT $2)`, before, expireSlice)
				return err
			})
			if err != nil {
				return err
			}
			if part.counted {
				s.telemetry.logsExpired(ctx, n)
			}
			if n < expireSlice {
				break
			}
		}
	}
	return s.loadLogCounts(ctx)
}

// sweepLogs brings waiting log parts to events that another process stored at the same moment,
// where neither saw the other.
func (s *Store) sweepLogs(ctx context.Context) error {
	if s.db.writers() == 1 {
		return nil
	}
	byProject := map[int64][]uuid.UUID{}
	err := each(ctx, s.db, `SELECT DISTINCT n.project_id, n.span_id FROM note n JOIN ev e ON e.event_id = n.span_id AND e.project_id = n.project_id
		WHERE n.event_id IS NULL LIMIT $1`, []any{expireSlice}, func(scan func(...any) error) error {
		var project int64
		var span uuid.UUID
		err := scan(&project, scanID{&span})
		byProject[project] = append(byProject[project], span)
		return err
	})
	if err != nil {
		return err
	}
	for project, spans := range byProject {
		if err := s.reconcileSpans(ctx, project, spans); err != nil {
			return err
		}
	}
	return nil
}

// reconcileSpans brings the waiting log parts of spans to their events, as far as those are there. A span and
// its log parts that writers store at the same time do not see each other; whichever is stored last
// comes here and sees both.
func (s *Store) reconcileSpans(ctx context.Context, project int64, spans []uuid.UUID) error {
	if len(spans) == 0 {
		return nil
	}
	w := &writing{s: s}
	err := s.change(ctx, project, spans[0], 0, func(ctx context.Context, tx writeTx) error {
		w = &writing{s: s}
		a := &logMerge{w: w, tx: tx, dirty: map[idKey]*logChange{}}
		var rows []*logRow
		for start := 0; start < len(spans); start += idsPerQuery {
			cond, args := tx.anyID("span_id", 2, spans[start:min(start+idsPerQuery, len(spans))])
			var err error
			if rows, err = a.read(ctx, rows, ` project_id = $1 AND `+cond+` AND event_id IS NULL`, append([]any{project}, args...)); err != nil {
				return err
			}
		}
		err := a.apply(ctx, rows)
		w.logCounts = logCountsDelta{a.waiting, a.withResponse}
		return err
	})
	if err == nil {
		w.finish(true)
	}
	return err
}

// reconcileLogs does so after a batch is stored, where there are several writers.
func (s *Store) reconcileLogs(ctx context.Context, project int64, b *event.Batch) error {
	if len(s.writers) == 1 || s.logCounts.waiting.Load() <= 0 {
		return nil
	}
	var spans, late []uuid.UUID
	for i := range b.Events {
		if e := &b.Events[i]; e.TraceID != uuid.Nil {
			spans = append(spans, spanID(e))
		}
	}
	for i := range b.LogParts {
		spans = append(spans, b.LogParts[i].SpanID)
	}
	for start := 0; start < len(spans); start += idsPerQuery {
		cond, args := s.db.anyID("span_id", 2, spans[start:min(start+idsPerQuery, len(spans))])
		err := each(ctx, s.db, `SELECT DISTINCT span_id FROM note n WHERE project_id = $1 AND `+cond+` AND event_id IS NULL AND
			(EXISTS (SELECT 1 FROM ev e WHERE e.event_id = n.span_id AND e.project_id = $1) OR
			EXISTS (SELECT 1 FROM note o WHERE o.project_id = $1 AND o.span_id = n.span_id AND o.event_id IS NOT NULL AND o.response_id IS NULL))`,
			append([]any{project}, args...), func(scan func(...any) error) error {
				var span uuid.UUID
				err := scan(scanID{&span})
				late = append(late, span)
				return err
			})
		if err != nil {
			return s.wrapDBError(err, "read notes")
		}
	}
	return s.reconcileSpans(ctx, project, late)
}

// eraseLogs deletes the log parts of events, and of spans those that wait.
func eraseLogs(ctx context.Context, tx writeTx, project int64, events, spans []uuid.UUID) error {
	for _, by := range []struct {
		column string
		ids    []uuid.UUID
	}{{"event_id", events}, {"span_id", spans}} {
		for group := range slices.Chunk(by.ids, idsPerQuery) {
			cond, args := tx.anyID(by.column, 2, group)
			if _, err := tx.exec(ctx, `DELETE FROM note WHERE project_id = $1 AND `+cond, append([]any{project}, args...)...); err != nil {
				return err
			}
		}
	}
	return nil
}
