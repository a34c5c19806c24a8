package events

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// With several writers, a span and its log parts may be stored by two transactions at once: neither sees the other, and the
// parts go on waiting for an event that is there. Two things find that: each request looks again after its commit
// (reconcileLogs), when at least the later one of the two sees both; and a sweep once in a while finds what a process that was
// killed in between has left (sweepLogs). On SQLite, where one transaction follows the other, neither is needed.
//
// The same goes for an evaluation and the model call whose response it names: the evaluation is then at another event, or at none.

// responsesFor is how far back a sweep looks for evaluations that are not at the response they name. Most name one that is never
// stored, so they are not looked for as long as they are kept.
const responsesFor = time.Hour

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
	responses, err := s.strayResponses(ctx, ` n.created_ms > $1`, []any{s.options.Now().Add(-responsesFor).UnixMilli()})
	if err != nil {
		return err
	}
	for _, project := range slices.Sorted(maps.Keys(byProject)) {
		if err := s.reconcileRows(ctx, project, byProject[project], nil); err != nil {
			return err
		}
	}
	for _, project := range slices.Sorted(maps.Keys(responses)) {
		if err := s.reconcileRows(ctx, project, nil, responses[project]); err != nil {
			return err
		}
	}
	return nil
}

// reconcileRows merges the waiting log parts of spans, and the evaluations of responses, into their events, as far as those are
// there. A span and its log parts that writers store at the same time do not see each other; whichever is stored last
// comes here and sees both.
func (s *Store) reconcileRows(ctx context.Context, project int64, spans []uuid.UUID, responses []string) error {
	if len(spans)+len(responses) == 0 {
		return nil
	}
	var shard uuid.UUID // any will do
	if len(spans) > 0 {
		shard = spans[0]
	}
	w := &writing{s: s}
	err := s.Change(ctx, project, shard, 0, func(ctx context.Context, tx *Commit) error {
		// The closure may run several times, and counts of a try that failed must not be published.
		w = &writing{s: s}
		// Two servers may come here for the same rows at once. Composing an event takes its row first, so the
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
		var err error
		if rows, err = a.readByResponse(ctx, rows, project, responses); err != nil {
			return err
		}
		err = a.apply(ctx, rows)
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
	if s.db.Exclusive() {
		return nil
	}
	// Reads outside any transaction come first: they find nothing for almost every request, and a write transaction
	// for each would double their number.
	spans, err := s.lateSpans(ctx, project, b)
	if err != nil {
		return sqldb.WrapError(s.db, err, "read log parts")
	}
	responses, err := s.lateResponses(ctx, project, b)
	if err != nil {
		return sqldb.WrapError(s.db, err, "read evaluations")
	}
	return s.reconcileRows(ctx, project, spans, responses)
}

// lateSpans returns the spans of a batch that have an event and log parts that wait.
func (s *Store) lateSpans(ctx context.Context, project int64, b *event.Batch) (late []uuid.UUID, err error) {
	// The count may lag behind other servers, so a part may be passed over here. The sweep finds it.
	if s.logCounts.waiting.Load() <= 0 {
		return nil, nil
	}
	var spans []uuid.UUID
	for i := range b.Events {
		if e := &b.Events[i]; e.TraceID != uuid.Nil {
			spans = append(spans, anchorOf(e))
		}
	}
	for i := range b.LogParts {
		spans = append(spans, b.LogParts[i].SpanID)
	}
	// The event is found by its id, or, if it has an id of its own, by another row of the span that has found it.
	for part := range slices.Chunk(spans, sqldb.IDsPerQuery) {
		cond, args := s.db.AnyID("span_id", 2, part)
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
			return nil, err
		}
	}
	return late, nil
}

// lateResponses returns the responses that a batch brings or names whose evaluations are not at them.
func (s *Store) lateResponses(ctx context.Context, project int64, b *event.Batch) (late []string, err error) {
	var ids []string
	for i := range b.LogParts {
		if id := b.LogParts[i].ResponseID; id != "" {
			ids = append(ids, id)
		}
	}
	if s.logCounts.withResponse.Load() > 0 { // it may lag, too
		for i := range b.Events {
			if id := responseOf(&b.Events[i].Event); id != "" {
				ids = append(ids, id)
			}
		}
	}
	for part := range slices.Chunk(ids, sqldb.IDsPerQuery) {
		where, args := namedIn("n.", project, part)
		found, err := s.strayResponses(ctx, where, args)
		if err != nil {
			return nil, err
		}
		late = append(late, found[project]...)
	}
	return late, nil
}

// strayResponses returns, by project, responses that are named by an evaluation whose event does not have the response, or only as a
// duplicate of the call; at most expireSlice.
func (s *Store) strayResponses(ctx context.Context, where string, args []any) (map[int64][]string, error) {
	stray := map[responseKey]bool{}
	err := sqldb.Each(ctx, s.db, `SELECT n.project_id, n.response_id, e.metadata
		FROM log_part n
		LEFT JOIN event e ON e.event_id = n.event_id AND e.project_id = n.project_id
		WHERE n.response_id IS NOT NULL AND `+where, args, func(scan func(...any) error) error {
		var k responseKey
		var metadata []byte
		if err := scan(&k.project, &k.response, &metadata); err != nil {
			return err
		}
		if id, duplicate := responseIn(metadata); (id != k.response || duplicate) && len(stray) < expireSlice {
			stray[k] = true
		}
		return nil
	})
	byProject := map[int64][]string{}
	for k := range stray {
		byProject[k.project] = append(byProject[k.project], k.response)
	}
	return byProject, err
}
