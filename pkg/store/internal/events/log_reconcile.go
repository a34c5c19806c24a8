package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// With several writers, a span and its log parts may be stored by two transactions at once: neither sees the other, and the
// parts go on waiting for an event that is there. Two things find that: each request looks again after its commit
// (reconcileLogs), when at least the later one of the two sees both; and a sweep once in a while finds what a process that was
// killed in between has left (sweepLogs). On SQLite, where one transaction follows the other, neither is needed.

// sweepLogs brings waiting log parts to events that another process stored at the same moment,
// where neither saw the other.
func (s *Store) sweepLogs(ctx context.Context) error {
	if s.db.Exclusive() {
		return nil
	}
	byProject := map[int64][]uuid.UUID{}
	// An event is found by its id, or, if it has an id of its own, by another row of the span that has found it: its anchor, if no
	// other. At most expireSlice spans in one sweep; what is left comes with the next.
	err := sqldb.Each(ctx, s.db, `SELECT n.project_id, n.span_id
		FROM log_part n
		JOIN event e ON e.event_id = n.span_id AND e.project_id = n.project_id
		WHERE n.event_id IS NULL
		UNION
		SELECT n.project_id, n.span_id
		FROM log_part n
		JOIN log_part o ON o.span_id = n.span_id AND o.project_id = n.project_id
		WHERE n.event_id IS NULL AND o.event_id IS NOT NULL AND o.response_id IS NULL
		LIMIT $1`, []any{expireSlice}, func(scan func(...any) error) error {
		var project int64
		var span uuid.UUID
		err := scan(&project, sqldb.ScanID(&span))
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

// reconcileSpans merges the waiting log parts of spans into their events, as far as those are there. A span and
// its log parts that writers store at the same time do not see each other; whichever is stored last
// comes here and sees both.
func (s *Store) reconcileSpans(ctx context.Context, project int64, spans []uuid.UUID) error {
	if len(spans) == 0 {
		return nil
	}
	w := &writing{s: s}
	err := s.Change(ctx, project, spans[0], 0, func(ctx context.Context, tx *Commit) error {
		// The closure may run several times, and counts of a try that failed must not be published.
		w = &writing{s: s}
		// Two servers may come here for the same spans at once. Composing an event takes its row first, so the
		// second one merges into what the first has written, which changes nothing.
		a := &logMerge{w: w, tx: tx, dirty: map[writer.Key]*logChange{}}
		var rows []*logRow
		for start := 0; start < len(spans); start += sqldb.IDsPerQuery {
			cond, args := tx.AnyID("span_id", 2, spans[start:min(start+sqldb.IDsPerQuery, len(spans))])
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
		w.publish()
	}
	return err
}

// reconcileLogs does so after a batch is stored, where there are several writers.
func (s *Store) reconcileLogs(ctx context.Context, project int64, b *event.Batch) error {
	// The count may lag behind other servers, so a part may be passed over here. The sweep finds it.
	if s.db.Exclusive() || s.logCounts.waiting.Load() <= 0 {
		return nil
	}
	var spans, late []uuid.UUID
	for i := range b.Events {
		if e := &b.Events[i]; e.TraceID != uuid.Nil {
			spans = append(spans, anchorOf(e))
		}
	}
	for i := range b.LogParts {
		spans = append(spans, b.LogParts[i].SpanID)
	}
	// A read outside any transaction comes first: it finds nothing for almost every request, and a write transaction
	// for each would double their number. Only spans that have an event and parts that wait are reconciled. The
	// event is found by its id, or, if it has an id of its own, by another row of the span that has found it.
	for start := 0; start < len(spans); start += sqldb.IDsPerQuery {
		cond, args := s.db.AnyID("span_id", 2, spans[start:min(start+sqldb.IDsPerQuery, len(spans))])
		err := sqldb.Each(ctx, s.db, `SELECT DISTINCT span_id
			FROM log_part n
			WHERE project_id = $1 AND `+cond+` AND event_id IS NULL
				AND (EXISTS (SELECT 1 FROM event e WHERE e.event_id = n.span_id AND e.project_id = $1)
					OR EXISTS (
						SELECT 1
						FROM log_part o
						WHERE o.project_id = $1 AND o.span_id = n.span_id AND o.event_id IS NOT NULL AND o.response_id IS NULL))`,
			append([]any{project}, args...), func(scan func(...any) error) error {
				var span uuid.UUID
				err := scan(sqldb.ScanID(&span))
				late = append(late, span)
				return err
			})
		if err != nil {
			return sqldb.WrapError(s.db, err, "read notes")
		}
	}
	return s.reconcileSpans(ctx, project, late)
}
