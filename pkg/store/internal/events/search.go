package events

import (
	"bytes"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// maxScanPage is the last row a search may page to when its filters must be decided outside
// the database, which then keeps a place in the order for every row before.
const maxScanPage = 1_000_000

// Search returns one page of the events that match, newest first (start time descending, then id
// descending), and the exact number of all that match.
//
// A search takes one of two ways. If the database can decide all filters for all rows, it orders, pages and counts (page).
// Else it names candidates, by the filters that it can decide, and the rest is decided here, row by row (scan): so it
// is with filters on the payload, and where rows have fields that were too large for their head (spilled).
func (s *Store) Search(ctx context.Context, projectID int64, q query.Search) (*event.Set, error) {
	conns := 1
	if query.NeedPayload(q.Filters) {
		conns = ScanConns
	}
	reading, end, err := s.HeavyRead(ctx, projectID, conns)
	if err != nil {
		return nil, err
	}
	defer end()
	return s.search(reading, projectID, q)
}

func (s *Store) search(ctx context.Context, projectID int64, q query.Search) (*event.Set, error) {
	if err := s.findRunSessions(ctx, projectID, &q); err != nil {
		return nil, sqldb.WrapError(s.db, err, "search")
	}
	b := query.NewBuilder(s.Dialect)
	plan := query.CompileSearch(b, projectID, &q)
	undecided := len(plan.Residual) > 0
	if !undecided && plan.Reads != 0 {
		var err error
		if undecided, err = s.anySpilled(ctx, projectID, plan.Reads); err != nil {
			return nil, sqldb.WrapError(s.db, err, "search")
		}
	}
	offset := math.MaxInt32 // past all events, where the product would not fit
	if q.Page-1 <= offset/q.Limit {
		offset = (q.Page - 1) * q.Limit
	}
	var keys []EventPlace
	var list []*Stored
	var total int
	var err error
	if undecided {
		if offset+q.Limit > maxScanPage {
			return nil, fault.InvalidField("page",
				"with a filter on inputs, outputs or config only the first %d events can be paged through; narrow the date range", maxScanPage)
		}
		keys, total, err = s.scan(ctx, b, plan, q.Filters, offset+q.Limit)
		if err == nil && offset < len(keys) {
			list, err = s.rowsAt(ctx, projectID, keys[offset:])
		}
	} else {
		list, total, err = s.page(ctx, projectID, &q, b, plan.Where, offset)
	}
	if err != nil {
		return nil, sqldb.WrapError(s.db, err, "search")
	}
	set, err := s.eventSet(ctx, projectID, list, total, q.HeadOnly)
	return set, sqldb.WrapError(s.db, err, "search")
}

// anySpilled reports whether the project holds rows whose fields in bits SQL cannot see. An index over the few rows that
// spill at all answers it; the condition repeats the index's own so that it is used.
func (s *Store) anySpilled(ctx context.Context, projectID int64, bits uint32) (bool, error) {
	if bits&query.SpillRollup != 0 {
		return true, nil
	}
	var n int
	return sqldb.One(ctx, s.db, fmt.Sprintf(`SELECT 1
		FROM event
		WHERE project_id = $1 AND (spill & %d) <> 0 AND (spill & %d) <> 0
		LIMIT 1`,
		record.HeadFields, bits), []any{projectID}, &n)
}

// page lets the database do it all. The total costs the most of it, and is had for less where possible: from the place of
// the last page, or from the counts that are kept anyway (countFromCounters).
func (s *Store) page(ctx context.Context, projectID int64, q *query.Search, b *query.Builder, where string, offset int) (
	list []*Stored, total int, err error) {
	args := b.Args()
	n := len(args)
	err = sqldb.Each(ctx, s.db, fmt.Sprintf(`SELECT %s FROM %s WHERE %s ORDER BY e.start_ms DESC, e.event_id DESC LIMIT $%d OFFSET $%d`,
		s.Columns(), s.Dialect.From(), where, n+1, n+2), append(args[:n:n], q.Limit, offset), func(scan func(...any) error) error {
		r, err := ScanHead(scan)
		list = append(list, r)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	if len(list) < q.Limit && (len(list) > 0 || offset == 0) {
		return list, offset + len(list), nil // the last page gives the total
	}
	if q.Uncounted {
		return list, 0, nil
	}
	if total, ok, err := s.countFromCounters(ctx, projectID, q); ok || err != nil {
		return list, total, err
	}
	_, err = sqldb.One(ctx, s.db, `SELECT count(*) FROM event e WHERE `+where, args, &total)
	return list, total, err
}

// EventPlace is an event's place in the order of a search.
type EventPlace struct {
	Start float64
	ID    uuid.UUID
	Day   int32
}

// Before reports whether a stands before b in the order of a search: by start, and then by id.
func (a EventPlace) Before(b EventPlace) bool {
	if a.Start != b.Start {
		return a.Start > b.Start
	}
	return bytes.Compare(a.ID[:], b.ID[:]) > 0
}

// eventPlaces is a heap of the best places seen, the worst on top.
type eventPlaces []EventPlace

func (p eventPlaces) Len() int           { return len(p) }
func (p eventPlaces) Less(i, j int) bool { return p[j].Before(p[i]) }
func (p eventPlaces) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *eventPlaces) Push(x any)        { *p = append(*p, x.(EventPlace)) }
func (p *eventPlaces) Pop() any {
	old := *p
	x := old[len(old)-1]
	*p = old[:len(old)-1]
	return x
}

// scan walks the candidates and decides the rest in Go. It keeps the best keep places, in a heap of that size, and only
// their keys: the rows of the page asked for are read again. So memory is bounded by the page's place in the
// order, not by the number of matches.
func (s *Store) scan(ctx context.Context, b *query.Builder, plan query.Plan, filters []query.Filter, keep int) (
	best []EventPlace, total int, err error) {
	var top eventPlaces
	rest := decision{query.NewMatcher(plan.Residual), query.NeedPayload(plan.Residual), query.Needle(plan.Residual)}
	all := decision{query.NewMatcher(filters), true, nil}
	candidates := `SELECT ` + s.Columns() + ` FROM ` + s.Dialect.From() + ` WHERE ` + plan.Candidates
	err = sqldb.Each(ctx, s.db, candidates, b.Args(), func(scan func(...any) error) error {
		r, err := ScanHead(scan)
		if err != nil {
			return err
		}
		d := &rest
		if uint32(r.Spill)&plan.Reads != 0 {
			d = &all // SQL lacked a field of this row
		}
		if ok, err := s.decide(ctx, r, d); err != nil || !ok {
			return err
		}
		total++
		at := EventPlace{r.Start, r.ID, r.Day}
		switch {
		case len(top) < keep:
			heap.Push(&top, at)
		case at.Before(top[0]):
			top[0] = at
			heap.Fix(&top, 0)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	best = make([]EventPlace, len(top))
	for i := len(top) - 1; i >= 0; i-- {
		best[i] = heap.Pop(&top).(EventPlace)
	}
	return best, total, nil
}

// decision is how rows are matched outside the database.
type decision struct {
	match  query.Matcher
	whole  bool   // the filters look at the payload or at cold metadata
	needle []byte // text that a matching payload holds, nil if unknown
}

// decide matches one row, reading its payload only where that can matter:
//
//   - A session event has totals that only a reader adds: it is matched as it is read.
//   - A row without a payload cannot hold the text that the filters look for.
//   - A record that does not hold that text, byte for byte, does not match; unless it has an escape (\u), in which the
//     text may hide. That spares decoding most records.
func (s *Store) decide(ctx context.Context, r *Stored, d *decision) (bool, error) {
	if !d.whole {
		return d.match.Match(&r.Event), nil
	}
	if r.IsSession() {
		return s.decideAsRead(ctx, r, d)
	}
	if r.chunk == nil {
		return d.needle == nil && d.match.Match(&r.Event), nil
	}
	raw, err := s.chunk(ctx, s.db, r.Day, *r.chunk)
	if errors.Is(err, errNoChunk) {
		return s.decideAsRead(ctx, r, d) // it has changed since its row was read
	}
	if err != nil {
		return false, err
	}
	if r.off > len(raw) {
		return false, record.ErrDamaged
	}
	e := r.Event
	n, err := record.Read(raw[r.off:], &e)
	if err != nil {
		return false, err
	}
	if record := raw[r.off : r.off+n]; d.needle != nil && !bytes.Contains(record, d.needle) && !bytes.Contains(record, []byte(`\u`)) {
		return false, nil
	}
	e.Metadata, e.ColdMetadata = rawjson.Concat(e.Metadata, e.ColdMetadata), nil
	return d.match.Match(&e), nil
}

// decideAsRead matches a row as callers see it; a deleted one does not match.
func (s *Store) decideAsRead(ctx context.Context, r *Stored, d *decision) (bool, error) {
	e, ok, err := s.AsRead(ctx, r)
	return ok && d.match.Match(&e), err
}

// rowsAt reads the head rows at places, in their order.
func (s *Store) rowsAt(ctx context.Context, projectID int64, at []EventPlace) ([]*Stored, error) {
	list := make([]*Stored, 0, len(at))
	for _, p := range at {
		err := sqldb.Each(
			ctx,
			s.db,
			`SELECT `+s.Columns()+` FROM `+s.Dialect.From()+` WHERE e.project_id = $1 AND e.day = $2 AND e.event_id = $3`,
			[]any{projectID, p.Day, s.db.ID(p.ID)},
			func(scan func(...any) error) error {
				r, err := ScanHead(scan)
				list = append(list, r)
				return err
			},
		)
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// findRunSessions sets the sessions that a run lists for a search over it.
func (s *Store) findRunSessions(ctx context.Context, projectID int64, q *query.Search) (err error) {
	if q.RunID != "" {
		q.RunSessions, err = s.hooks.RunSessions(ctx, projectID, run.FoldID(q.RunID))
	}
	return err
}
