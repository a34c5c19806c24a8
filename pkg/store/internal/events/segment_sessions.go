package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
)

// maxSessionSet is how many sessions with an event that meets a search are kept in memory, 16 bytes and a place in a map each.
const maxSessionSet = 2_000_000

// segmentSessions collects a page of a search of sessions from segments.
type segmentSessions struct {
	v      *segmentView
	q      *query.SessionSearch
	search *query.Search
	with   map[uuid.UUID]struct{} // sessions with an event that meets the filters on events; nil: there are none
	top    firstPlaces
	total  int
}

// sessionsInSegments returns the first places of a search of sessions behind its cursor, and the number of all that match. It reports whether there
// was an answer.
func (s *Store) sessionsInSegments(ctx context.Context, projectID int64, q *query.SessionSearch, keep int) (best []EventPlace, total int, ok bool, err error) {
	isFirst := q.Sort == query.SortStart && !q.Counted && len(q.Filters) == 0 && q.EventFilters == nil // an index has them in order
	if isFirst || query.HasIndex(q.EventFilters, true) {
		return nil, 0, s.byRows(ctx, rowsByIndex), nil
	}
	if ok, err = s.usesSegments(ctx, projectID, q.Filters, q.Counted, q.InColumns()); !ok || err != nil {
		return nil, 0, false, err
	}
	ok, err = s.inSegments(ctx, projectID, query.NeedPayload(q.Filters) || query.NeedPayload(q.EventFilters), func(v *segmentView) error {
		x := &segmentSessions{v: v, q: q, search: q.OfSessions(), top: firstPlaces{n: keep, ascending: q.Ascending}}
		if err := x.findSessions(ctx); err != nil {
			return err
		}
		err := eachSegment(ctx, v, v.segments, x.match, x.add)
		if err == nil {
			err = v.eachLoose(ctx, x.search, false, x.addLoose)
		}
		best, total = x.top.page(0), x.total
		return err
	})
	return best, total, ok, err
}

// findSessions finds the sessions with an event that meets the filters on events.
func (x *segmentSessions) findSessions(ctx context.Context) error {
	if x.q.EventFilters == nil {
		return nil
	}
	x.with = map[uuid.UUID]struct{}{}
	some := &query.Search{Filters: x.q.EventFilters}
	keys := len(x.v.keys)
	err := eachSegment(ctx, x.v, x.v.segments, func(b *segment.Block) (query.Decided, error) { return x.v.match(b, some) },
		func(b *segment.Block, d query.Decided) (bool, error) {
			if err := x.addSessionsOf(b, d.Match); err != nil {
				return false, err
			}
			if len(x.with) > maxSessionSet {
				return false, goByRows(rowsLarge)
			}
			return true, x.v.addLoose(b, d)
		})
	if err == nil {
		err = x.v.eachLoose(ctx, some, false, func(l *looseEvent) error {
			x.with[l.SessionID] = struct{}{}
			return nil
		})
	}
	// Events that had to be read for these filters need not be for the others.
	x.v.keys = x.v.keys[:keys]
	return err
}

// addSessionsOf adds the sessions of events of a segment, each once.
func (x *segmentSessions) addSessionsOf(b *segment.Block, match column.Set) error {
	if match.Empty() {
		return nil
	}
	col, err := b.Column(query.SessionColumn)
	if err == nil && (col == nil || col.IsNumeric()) {
		err = column.ErrDamaged
	}
	if err != nil {
		return err
	}
	seen := make([]bool, col.Codes())
	match.Each(func(row int) bool {
		code := col.Code(row)
		if seen[code] {
			return true
		}
		seen[code] = true
		id, bad := uuid.FromBytes(col.Value(code))
		if bad != nil {
			err = column.ErrDamaged
			return false
		}
		x.with[id] = struct{}{}
		return true
	})
	return err
}

// sessionMatch is the session events of a segment that match, and what they are sorted by.
type sessionMatch struct {
	query.Decided
	values query.BlockNumbers
}

func (x *segmentSessions) match(b *segment.Block) (m sessionMatch, err error) {
	if m.Decided, err = x.v.match(b, x.search); err != nil || m.Match.Empty() {
		return m, err
	}
	if m.values, err = x.q.Sort.ValuesOf(b); err != nil {
		return m, err
	}
	// One without a value has no row of its session, or the segment lacks the column.
	absent := column.NewSet(b.Len())
	absent.Or(m.Match)
	absent.AndNot(m.values.Present)
	m.Match.AndNot(absent)
	m.Maybe.Or(absent)
	return m, nil
}

func (x *segmentSessions) add(b *segment.Block, m sessionMatch) (bool, error) {
	if m.Match.Empty() {
		return true, x.v.addLoose(b, m.Decided)
	}
	keys, err := b.Keys()
	if err != nil {
		return false, err
	}
	m.Match.Each(func(row int) bool {
		id, day := keys.Of(row)
		x.consider(EventPlace{query.Place{Value: m.values.Values[row], ID: id}, day})
		return true
	})
	return true, x.v.addLoose(b, m.Decided)
}

// consider counts a session that matches if one of its events does, and adds its place if that may be on the page.
func (x *segmentSessions) consider(at EventPlace) {
	if x.with != nil {
		if _, ok := x.with[at.ID]; !ok {
			return
		}
	}
	x.total++
	if x.q.After != nil && !before(*x.q.After, at.Place, x.q.Ascending) {
		return
	}
	if x.top.wants(at.Place) {
		x.top.add(at)
	}
}

func (x *segmentSessions) addLoose(l *looseEvent) error {
	if l.totals != nil { // else its session's row is gone
		x.consider(EventPlace{query.Place{Value: x.q.Sort.Value(l.event, l.totals), ID: l.ID}, l.Day})
	}
	return nil
}

// sessionsAt reads the session events and totals of places, in their order. One that went meanwhile is left out.
func (s *Store) sessionsAt(ctx context.Context, projectID int64, at []EventPlace) (rows []*Stored, totals []event.SessionTotals, err error) {
	if rows, err = s.rowsAt(ctx, projectID, at); err != nil {
		return nil, nil, err
	}
	ids := make([]uuid.UUID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	rolls, err := s.rollups(ctx, s.db, projectID, ids)
	if err != nil {
		return nil, nil, err
	}
	there := rows[:0]
	for _, r := range rows {
		if roll := rolls[r.ID]; roll != nil {
			there, totals = append(there, r), append(totals, *roll.sessionTotals())
		}
	}
	return there, totals, nil
}
