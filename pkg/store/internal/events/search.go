package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

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

// Search returns one page of the events that match, in the order that q names, and the exact number of all that match.
//
// A search takes one of three ways:
//
//  1. Segments give the places of the page (searchSegments), if their columns can decide all filters and no index leads to the answer at once.
//  2. The database orders, pages and counts rows (page), if it can decide all filters for all rows and a column has the order.
//  3. The database names candidates by the filters that it can decide, and the others are decided here, row by row (scan). This is so with
//     filters on the payload, with fields that are too large for the head of some row (spilled), and with an order by a field of metadata.
func (s *Store) Search(ctx context.Context, projectID int64, q query.Search) (*event.Set, error) {
	// A scan of payloads reads chunks on a second connection while the first stands in the rows.
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
	// A run may list sessions that do not name it. They are looked up once and become part of the query.
	if err := s.findRunSessions(ctx, projectID, &q); err != nil {
		return nil, sqldb.WrapError(s.db, err, "search")
	}
	offset := math.MaxInt32 // past all events, where the product would not fit
	switch {
	case q.After != nil:
		offset = 0
	case q.Page-1 <= offset/q.Limit:
		offset = (q.Page - 1) * q.Limit
	}
	limit := q.Limit
	if q.Continued {
		q.Limit++ // one more tells whether there are more
	}
	list, keys, total, err := s.searchPage(ctx, projectID, &q, offset, limit)
	if err != nil {
		return nil, sqldb.WrapError(s.db, err, "search")
	}
	hasMore := len(list) > limit || len(keys) > limit
	list = list[:min(limit, len(list))]
	set, err := s.eventSet(ctx, projectID, list, total, q.HeadOnly)
	if err == nil && q.Continued && len(list) > 0 {
		set.HasMore, set.Last = hasMore, lastValue(list[len(list)-1], keys, q.Sort)
	}
	return set, sqldb.WrapError(s.db, err, "search")
}

// searchPage returns the rows of a page behind offset, of which the caller shows limit; of a page whose places were found first, these:
// no place could be left out before all were seen.
func (s *Store) searchPage(ctx context.Context, projectID int64, q *query.Search, offset, limit int) (
	list []*Stored, keys []EventPlace, total int, err error) {
	if offset+q.Limit <= maxScanPage {
		use, err := s.searchesSegments(ctx, projectID, q, offset)
		if err != nil {
			return nil, nil, 0, err
		}
		if use {
			var ok bool
			if keys, total, ok, err = s.searchSegments(ctx, projectID, q, offset); err != nil {
				return nil, nil, 0, err
			}
			if ok {
				list, err = s.rowsAt(ctx, projectID, keys[:min(limit, len(keys))])
				return list, keys, total, err
			}
		}
	}
	b := query.NewBuilder(s.Dialect)
	plan := query.CompileSearch(b, projectID, q)
	// Whether the slower way is taken depends on what is stored, not on the query alone: a project without a single
	// spilled row never takes it for filters on columns.
	undecided := len(plan.Residual) > 0
	if !undecided && plan.Reads != 0 {
		if undecided, err = s.anySpilled(ctx, projectID, plan.Reads); err != nil {
			return nil, nil, 0, err
		}
	}
	if !undecided && q.Sort.Column() != "" {
		list, total, err = s.page(ctx, projectID, q, b, plan.Where, offset)
		return list, nil, total, err
	}
	// Beyond this the places in memory would grow with the page that is asked for. A cursor needs no more of them than a page has.
	if offset+q.Limit > maxScanPage {
		return nil, nil, 0, fault.InvalidField("page",
			"with a filter on inputs, outputs or config, or an order by cost or tokens, only the first %d events can be paged through; "+
				"narrow the date range, or page with a cursor", maxScanPage)
	}
	if keys, total, err = s.scan(ctx, projectID, b, plan, q, offset); err != nil {
		return nil, nil, 0, err
	}
	list, err = s.rowsAt(ctx, projectID, keys[:min(limit, len(keys))])
	return list, keys, total, err
}

// lastValue returns what the last row of a page is sorted by: as it was found when the row was scanned, if it was.
func lastValue(r *Stored, keys []EventPlace, by query.EventSort) float64 {
	for _, k := range keys {
		if k.ID == r.ID {
			return k.Value
		}
	}
	return by.Value(&r.Event)
}

// anySpilled reports whether the project holds rows whose fields in bits SQL cannot see. An index over the few rows that
// spill at all answers it; the condition repeats the index's own so that it is used.
func (s *Store) anySpilled(ctx context.Context, projectID int64, bits uint32) (bool, error) {
	// Totals are not in any row of an event, so every session event is one that the database cannot decide.
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
	value, direction := q.Sort.Column(), directionOf(q.Ascending)
	n := len(b.Args())
	after, args := s.afterPlace(b.Args(), value, q.After, q.Ascending)
	statement := fmt.Sprintf(`SELECT %s FROM %s WHERE %s ORDER BY %s %s, e.event_id %s LIMIT $%d OFFSET $%d`,
		s.Columns(), s.Dialect.From(), where+after, value, direction, direction, len(args)+1, len(args)+2)
	err = sqldb.Each(ctx, s.db, statement, append(args, q.Limit, offset), func(scan func(...any) error) error {
		r, err := ScanHead(scan)
		list = append(list, r)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	// An empty page that is not the first tells nothing: it may lie anywhere behind the last event.
	if q.After == nil && len(list) < q.Limit && (len(list) > 0 || offset == 0) {
		return list, offset + len(list), nil // the last page gives the total
	}
	if q.Uncounted {
		return list, 0, nil
	}
	if total, ok, err := s.countFromCounters(ctx, projectID, q); ok || err != nil {
		return list, total, err
	}
	_, err = sqldb.One(ctx, s.db, `SELECT count(*) FROM event e WHERE `+where, args[:n], &total)
	return list, total, err
}

// directionOf returns the direction of an ORDER BY.
func directionOf(ascending bool) string {
	if ascending {
		return "ASC"
	}
	return "DESC"
}

// afterPlace returns the condition, with AND before it, that a row of event e stands after a place in the order by value and then by id,
// and the arguments of the statement with those of the condition; no condition if there is no place. What is appended to the arguments
// later is not seen by the caller's: a count uses those alone.
func (s *Store) afterPlace(args []any, value string, after *query.Place, ascending bool) (string, []any) {
	n := len(args)
	if after == nil {
		return "", args[:n:n]
	}
	sign := "<"
	if ascending {
		sign = ">"
	}
	// The first condition alone lets an index find the place; the second leaves out the equal values that were on the page before.
	return fmt.Sprintf(" AND %s %s= $%d AND (%s %s $%d OR e.event_id %s $%d)", value, sign, n+1, value, sign, n+1, sign, n+2),
		append(args[:n:n], after.Value, s.db.ID(after.ID))
}

// scan walks the candidates and decides the rest in Go. It keeps the places up to the end of the page, and only
// their keys: the rows of the page asked for are read again. So memory is bounded by the page's place in the
// order, not by the number of matches. It returns the places behind offset.
func (s *Store) scan(ctx context.Context, projectID int64, b *query.Builder, plan query.Plan, q *query.Search, offset int) (
	best []EventPlace, total int, err error) {
	top := firstPlaces{n: offset + q.Limit, ascending: q.Ascending}
	rest := decision{query.NewMatcher(plan.Residual), query.NeedPayload(plan.Residual), query.Needle(plan.Residual)}
	all := decision{query.NewMatcher(q.Filters), true, nil}
	candidates := `SELECT ` + s.Columns() + ` FROM ` + s.Dialect.From() + ` WHERE ` + plan.Candidates
	consider := func(r *Stored, asRead func() (event.Event, bool, error)) error {
		d := &rest
		if uint32(r.Spill)&plan.Reads != 0 {
			d = &all // SQL lacked a field of this row
		}
		if ok, err := s.decideBy(ctx, r, d, asRead); err != nil || !ok {
			return err
		}
		total++
		value, err := s.sortValue(ctx, r, q.Sort)
		if err != nil {
			return err
		}
		at := EventPlace{query.Place{Value: value, ID: r.ID}, r.Day}
		isBefore := q.After != nil && !before(*q.After, at.Place, q.Ascending) // on a page before
		if !isBefore && top.wants(at.Place) {
			top.add(at)
		}
		return nil
	}
	if rest.whole {
		// The payload of every candidate is looked at, and what session events show of others.
		err = s.eachAhead(ctx, projectID, candidates, b.Args(), func(l *eventList, i int) error {
			return consider(l.rows[i], func() (event.Event, bool, error) { return l.asRead(ctx, i) })
		})
	} else {
		err = sqldb.Each(ctx, s.db, candidates, b.Args(), func(scan func(...any) error) error {
			r, err := ScanHead(scan)
			if err != nil {
				return err
			}
			return consider(r, func() (event.Event, bool, error) { return s.AsRead(ctx, r) })
		})
	}
	if err != nil {
		return nil, 0, err
	}
	return top.page(offset), total, nil
}

// sortValue returns what a row is sorted by. Metadata that was too large for the head is read with the payload.
func (s *Store) sortValue(ctx context.Context, r *Stored, by query.EventSort) (float64, error) {
	// A session event has no cost and no tokens of its own: in an order by these its value is 0, and nothing is read for it.
	if by.Column() != "" || r.IsSession() || r.Spill&query.SpillMetadata == 0 {
		return by.Value(&r.Event), nil
	}
	e, _, err := s.AsRead(ctx, r)
	return by.Value(&e), err
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
	return s.decideBy(ctx, r, d, func() (event.Event, bool, error) { return s.AsRead(ctx, r) })
}

// decideBy is decide with another way to read the row as callers see it, in which a deleted one is not ok and does not match.
func (s *Store) decideBy(ctx context.Context, r *Stored, d *decision, asRead func() (event.Event, bool, error)) (bool, error) {
	matchAsRead := func() (bool, error) {
		e, ok, err := asRead()
		return ok && d.match.Match(&e), err
	}
	if !d.whole {
		return d.match.Match(&r.Event), nil
	}
	if r.IsSession() {
		return matchAsRead()
	}
	if r.chunk == nil {
		return d.needle == nil && d.match.Match(&r.Event), nil
	}
	raw, err := s.chunk(ctx, s.db, r.Day, *r.chunk)
	if errors.Is(err, errNoChunk) {
		return matchAsRead() // it has changed since its row was read
	}
	if err != nil {
		return false, err
	}
	if r.off > len(raw) {
		return false, record.ErrDamaged
	}
	// A copy: a row that matches may be kept for the page, and must not hold on to the payload.
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

// rowsAt reads the head rows at places, in their order. A row that went meanwhile is left out.
func (s *Store) rowsAt(ctx context.Context, projectID int64, at []EventPlace) ([]*Stored, error) {
	type key struct {
		day int32
		id  uuid.UUID
	}
	byDay := map[int32][]uuid.UUID{}
	for _, p := range at {
		byDay[p.Day] = append(byDay[p.Day], p.ID)
	}
	there := make(map[key]*Stored, len(at))
	if err := s.eachOfDays(ctx, projectID, byDay, func(r *Stored) { there[key{r.Day, r.ID}] = r }); err != nil {
		return nil, err
	}
	list := make([]*Stored, 0, len(at))
	for _, p := range at {
		if r := there[key{p.Day, p.ID}]; r != nil {
			list = append(list, r)
		}
	}
	return list, nil
}

// eachOfDays calls f with the head rows of those events that are there, in no order: one statement for the events of a day.
func (s *Store) eachOfDays(ctx context.Context, projectID int64, byDay map[int32][]uuid.UUID, f func(r *Stored)) error {
	for day, ids := range byDay {
		for group := range slices.Chunk(ids, sqldb.IDsPerQuery) {
			cond, args := s.db.AnyID("e.event_id", 3, group)
			err := s.eachHead(ctx, s.db, `e.project_id = $1 AND e.day = $2 AND `+cond, append([]any{projectID, day}, args...), f)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// eachHead calls f with the head rows that meet a condition, in no order but one that stands behind it.
func (s *Store) eachHead(ctx context.Context, c sqldb.Conn, where string, args []any, f func(r *Stored)) error {
	return sqldb.Each(ctx, c, `SELECT `+s.Columns()+` FROM `+s.Dialect.From()+` WHERE `+where, args, func(scan func(...any) error) error {
		r, err := ScanHead(scan)
		if err == nil {
			f(r)
		}
		return err
	})
}

// findRunSessions sets the sessions that a run lists for a search over it.
func (s *Store) findRunSessions(ctx context.Context, projectID int64, q *query.Search) (err error) {
	if q.RunID != "" {
		q.RunSessions, err = s.hooks.RunSessions(ctx, projectID, run.FoldID(q.RunID))
	}
	return err
}
