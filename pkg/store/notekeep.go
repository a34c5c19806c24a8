package store

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
)

// noteCounts tells, where this process is the only writer, whether there are notes to look for.
// Elsewhere it may lag behind, and serves for bounds alone.
type noteCounts struct {
	waiting   atomic.Int64 // rows whose event has not come
	addressed atomic.Int64 // rows that name an answer
}

// noteDelta is what a transaction adds to noteCounts.
type noteDelta struct{ waiting, addressed int64 }

func (c *noteCounts) add(d noteDelta) {
	c.waiting.Add(d.waiting)
	c.addressed.Add(d.addressed)
}

// noted says that notes may wait for events.
func (s *Store) noted() bool { return s.db.lanes() > 1 || s.notes.waiting.Load() > 0 }

// addressed says that there may be notes that name an answer.
func (s *Store) addressed() bool { return s.db.lanes() > 1 || s.notes.addressed.Load() > 0 }

// loadNotes counts anew.
func (s *Store) loadNotes(ctx context.Context) error {
	var waiting, addressed int64
	if _, err := one(ctx, s.db, `SELECT count(*) FROM note WHERE event_id IS NULL`, nil, &waiting); err != nil {
		return err
	}
	if _, err := one(ctx, s.db, `SELECT count(*) FROM note WHERE response_id IS NOT NULL`, nil, &addressed); err != nil {
		return err
	}
	s.notes.waiting.Store(waiting)
	s.notes.addressed.Store(addressed)
	return nil
}

// boundSlack is how far the rows that wait may pass their bound before the oldest are dropped:
// a share of it, so that this is done seldom.
const boundSlack = 100

// bound drops the rows that wait longest, where too many do.
func (a *annotating) bound(ctx context.Context) error {
	s := a.w.s
	limit := int64(s.options.MaxPending)
	over := s.notes.waiting.Load() + a.waiting - limit
	if a.waiting <= 0 || over <= limit/boundSlack {
		return nil
	}
	n, err := a.tx.exec(ctx, `DELETE FROM note WHERE id IN (SELECT id FROM note WHERE event_id IS NULL ORDER BY created_ms, id LIMIT $1)`, over)
	if err != nil {
		return err
	}
	a.waiting -= n
	s.telemetry.notesExpired(ctx, n)
	return nil
}

// expireSlice is how many rows one transaction of the expiry deletes, so that writers do not
// wait for it.
const expireSlice = 2000

// expireNotes drops notes that waited too long, and those that are in their event for as long:
// from then on the event keeps what it has, and later notes only fill what is empty.
func (s *Store) expireNotes(ctx context.Context, now time.Time) error {
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
				s.telemetry.notesExpired(ctx, n)
			}
			if n < expireSlice {
				break
			}
		}
	}
	return s.loadNotes(ctx)
}

// sweepNotes brings waiting notes to events that another process stored at the same moment,
// where neither saw the other.
func (s *Store) sweepNotes(ctx context.Context) error {
	if s.db.lanes() == 1 {
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
		if err := s.meet(ctx, project, spans); err != nil {
			return err
		}
	}
	return nil
}

// meet brings the waiting notes of spans to their events, as far as those are there. A span and
// its notes that lanes store at the same time do not see each other; whichever is stored last
// comes here and sees both.
func (s *Store) meet(ctx context.Context, project int64, spans []uuid.UUID) error {
	if len(spans) == 0 {
		return nil
	}
	w := &writing{s: s}
	err := s.change(ctx, project, spans[0], 0, func(ctx context.Context, tx writeTx) error {
		w = &writing{s: s}
		a := &annotating{w: w, tx: tx, dirty: map[idKey]*noteChange{}}
		var rows []*noteRow
		for start := 0; start < len(spans); start += idsPerQuery {
			cond, args := tx.anyID("span_id", 2, spans[start:min(start+idsPerQuery, len(spans))])
			var err error
			if rows, err = a.read(ctx, rows, ` project_id = $1 AND `+cond+` AND event_id IS NULL`, append([]any{project}, args...)); err != nil {
				return err
			}
		}
		err := a.settle(ctx, rows)
		w.noteCounts = noteDelta{a.waiting, a.addressed}
		return err
	})
	if err == nil {
		w.finish(true)
	}
	return err
}

// meetAfter does so after a put, where there are several lanes.
func (s *Store) meetAfter(ctx context.Context, project int64, b *event.Batch) error {
	if len(s.lanes) == 1 || s.notes.waiting.Load() <= 0 {
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
			return s.kind(err, "read notes")
		}
	}
	return s.meet(ctx, project, late)
}

// eraseNotes deletes the notes of events, and of spans those that wait.
func eraseNotes(ctx context.Context, tx writeTx, project int64, events, spans []uuid.UUID) error {
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
