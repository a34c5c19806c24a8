package events

import (
	"context"
	"fmt"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Bounds of how many rows one statement of Values reads.
const (
	valueRows      = 10_000
	leastValueRows = 1000
)

// Values counts the values of a field: of all events that match where segments hold field and filters, else of the newest ones, at
// most Options.ValueEvents of them.
//
// For these it walks over the candidates, newest first, at most valueRows of them with each statement. Where the database can decide the
// filters and read the field, only the value is read, and rows that lack a field in their head are read one by one; else all are
// read and decided here, as in a search.
func (s *Store) Values(ctx context.Context, projectID int64, q *query.ValueQuery) (*query.ValueAnswer, error) {
	ctx, end, err := s.HeavyRead(ctx, projectID, ScanConns)
	if err != nil {
		return nil, err
	}
	defer end()
	asked := *q
	answer, err := s.values(ctx, projectID, &asked)
	return answer, sqldb.WrapError(s.db, err, "values")
}

func (s *Store) values(ctx context.Context, projectID int64, q *query.ValueQuery) (*query.ValueAnswer, error) {
	if err := s.findRunSessions(ctx, projectID, &q.Search); err != nil {
		return nil, err
	}
	if answer, ok, err := s.valuesInSegments(ctx, projectID, q); ok || err != nil {
		return answer, err
	}
	w := valueWalk{s: s, project: projectID, query: q, counts: query.NewValueCounts(q), more: true}
	for w.more && !w.full {
		if err := w.read(ctx); err != nil {
			return nil, err
		}
	}
	return w.counts.Answer(!w.full), nil
}

// valueWalk is a walk of Values.
type valueWalk struct {
	s       *Store
	project int64
	query   *query.ValueQuery
	counts  *query.ValueCounts
	after   *EventPlace // the last candidate that was read; nil at first
	more    bool        // there may be candidates behind it
	full    bool        // one more event matches than may be looked at
}

// room reports whether another event may be looked at, and remembers if not.
func (w *valueWalk) room() bool {
	w.full = w.full || w.counts.LookedAt() >= w.s.options.ValueEvents
	return !w.full
}

// read adds the next candidates.
func (w *valueWalk) read(ctx context.Context) error {
	b := query.NewBuilder(w.s.Dialect)
	plan, expr, reads := query.CompileValues(b, w.project, w.query)
	reads |= plan.Reads
	where := plan.Candidates
	if w.after != nil {
		// Behind the last candidate read, by start and then by id: the two are the order of the walk, and no two events share them.
		start := b.Arg(w.after.Value)
		where += " AND e.start_ms <= " + start + " AND (e.start_ms < " + start + " OR e.event_id < " + b.UUID(w.after.ID) + ")"
	}
	columns := w.s.Columns()
	if expr != "" {
		columns = fmt.Sprintf("%s, CASE WHEN (e.spill & %d) <> 0 THEN 1 ELSE 0 END, e.start_ms, e.event_id, e.day", expr, reads)
	}
	// As many as may still be looked at and one more, which tells that there are more; at least leastValueRows,
	// since a filter may leave few of them.
	limit := min(max(w.s.options.ValueEvents-w.counts.LookedAt()+1, leastValueRows), valueRows)
	rest := decision{query.NewMatcher(plan.Residual), query.NeedPayload(plan.Residual), query.Needle(plan.Residual)}
	all := decision{query.NewMatcher(w.query.Search.Filters), true, nil}
	n := 0
	err := sqldb.Each(ctx, w.s.db, `SELECT `+columns+` FROM `+w.s.Dialect.From()+` WHERE `+where+`
		ORDER BY e.start_ms DESC, e.event_id DESC LIMIT `+b.Arg(limit), b.Args(), func(scan func(...any) error) error {
		n++
		if expr == "" {
			r, err := ScanHead(scan)
			if err != nil {
				return err
			}
			w.after = &EventPlace{query.Place{Value: r.Start, ID: r.ID}, r.Day}
			d := &rest
			if uint32(r.Spill)&plan.Reads != 0 {
				d = &all
			}
			return w.add(ctx, r, d, reads)
		}
		var value *string
		var lacks int
		var at EventPlace
		if err := scan(&value, &lacks, &at.Value, sqldb.ScanID(&at.ID), &at.Day); err != nil {
			return err
		}
		w.after = &at
		switch {
		// The statement could not decide this row, or has no value for it: it is read by its key, with all filters.
		case lacks != 0:
			return w.addAt(ctx, at, &all, reads)
		case w.room():
			w.counts.AddRow(value)
		}
		return nil
	})
	// A full read may have ended in the middle of the candidates; one that is not full was the last.
	w.more = n == limit
	return err
}

// addAt adds the event at a place if it matches and is still there.
func (w *valueWalk) addAt(ctx context.Context, at EventPlace, d *decision, reads uint32) error {
	if w.full {
		return nil
	}
	r, err := w.s.loadHead(ctx, w.s.db, w.project, at.Day, at.ID)
	// Deleted since the statement read its row. It would not match now.
	if fault.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.add(ctx, r, d, reads)
}

// add adds the event of a row if it matches. It is read whole where its head may not have the field as callers see it.
func (w *valueWalk) add(ctx context.Context, r *Stored, d *decision, reads uint32) error {
	if w.full {
		return nil
	}
	ok, err := w.s.decide(ctx, r, d)
	if err != nil || !ok {
		return err
	}
	e := r.Event
	if r.IsSession() || uint32(r.Spill)&reads != 0 || w.query.Field.NeedPayload() {
		if e, ok, err = w.s.AsRead(ctx, r); err != nil || !ok {
			return err
		}
	}
	if w.room() {
		w.counts.AddEvent(&e)
	}
	return nil
}
