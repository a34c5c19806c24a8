package events

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Sessions with an event that meets a search may be many; they are kept in memory until the sessions are looked at.
const (
	// maxSessionSet is how many of them may be known by id, 16 bytes and a place in a map each, and maxSessionRows how many by the
	// row of their session event, two bytes each.
	maxSessionSet  = 2_000_000
	maxSessionRows = 20_000_000
)

// segmentSessions collects a page of a search of sessions from segments. The session events of a segment that match are one answer, and the sessions
// with an event that meets the filters on events another one (answerOf), so that both are kept.
type segmentSessions struct {
	v      *segmentView
	q      *query.SessionSearch
	search *query.Search
	// with are the sessions with an event that meets the filters on events; nil: there are none.
	with  *sessionsWith
	top   firstPlaces
	total int
}

// sessionsWith are the sessions with an event that meets a search. Most sessions came as a whole, so that their session event is in the same
// segment as the event: these are known by its row.
type sessionsWith struct {
	rows map[int64][]uint16 // by segment, in order
	num  int                // of rows
	ids  map[uuid.UUID]struct{}
	hash [16]byte // of ids
	// loose are the sessions that were found by an event that was read from its row, or whose session event is read from its row. They change with
	// each event that comes, and so are not kept with what segments have.
	loose map[uuid.UUID]struct{}
	// read are the sessions whose session event is to be read from its row (findSessionEvents), and whether it was read already: a segment may
	// leave it to its row as well.
	read map[uuid.UUID]bool
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
		x := &segmentSessions{v: v, q: q, search: q.OfSessions(), top: firstPlaces{n: keep, ascending: q.Ascending, after: q.After}}
		if err := x.findSessions(ctx); err != nil {
			return err
		}
		question := x.question()
		err := eachSegment(ctx, v, v.segments, func(b *segment.Block) (*sessionPlaces, error) {
			return answerOf(v, b, x.search, question, func(found query.Decided) (*sessionPlaces, error) { return x.placesIn(b, found) })
		}, x.add)
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
	w := &sessionsWith{rows: map[int64][]uint16{}, ids: map[uuid.UUID]struct{}{}, loose: map[uuid.UUID]struct{}{}, read: map[uuid.UUID]bool{}}
	x.with = w
	some := &query.Search{Filters: x.q.EventFilters}
	keys := len(x.v.keys)
	err := eachSegment(ctx, x.v, x.v.segments, func(b *segment.Block) (*blockSessions, error) {
		return answerOf(x.v, b, some, "sessions", func(found query.Decided) (*blockSessions, error) { return x.v.sessionsOf(b, found) })
	}, func(b *segment.Block, found *blockSessions) (bool, error) {
		if !w.add(b, found) {
			return false, goByRows(rowsLarge)
		}
		return true, x.v.addLoose(b, query.Decided{Maybe: found.maybe})
	})
	if err == nil {
		err = x.v.eachLoose(ctx, some, false, func(l *looseEvent) error {
			w.loose[l.SessionID] = struct{}{}
			return nil
		})
	}
	if err != nil {
		return err
	}
	// Events that had to be read for these filters need not be for the others.
	x.v.keys = x.v.keys[:keys]
	w.hashIDs()
	return x.findSessionEvents(ctx)
}

// findSessionEvents has the session events of loose sessions read from their rows if they are in segments and nothing there says that their
// session has an event. Mostly there are none: an event that comes or changes has its session's event recorded as changed.
func (x *segmentSessions) findSessionEvents(ctx context.Context) error {
	var ids []uuid.UUID
	for id := range x.with.loose {
		if _, ok := x.with.ids[id]; !ok {
			ids = append(ids, id)
		}
	}
	for group := range slices.Chunk(ids, sqldb.IDsPerQuery) {
		cond, args := x.v.conn.AnyID("s.session_id", 2, group)
		var rows []sessionEventAt
		err := sqldb.Each(ctx, x.v.conn, `SELECT e.seq, e.day, e.event_id
			FROM session AS s
			JOIN event AS e ON e.project_id = s.project_id AND e.day = s.event_day AND e.event_id = s.session_id
			WHERE s.project_id = $1 AND `+cond, append([]any{x.v.project}, args...), func(scan func(...any) error) error {
			var r sessionEventAt
			err := scan(&r.seq, &r.day, sqldb.ScanID(&r.id))
			rows = append(rows, r)
			return err
		})
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := x.readIfKnown(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// sessionEventAt is a session event with its place.
type sessionEventAt struct {
	eventKey
	seq int64
}

// readIfKnown has a session event read from its row if it is in a segment that would leave it out.
func (x *segmentSessions) readIfKnown(ctx context.Context, r sessionEventAt) error {
	if _, changed := slices.BinarySearch(x.v.stale, r.seq); changed || r.seq > x.v.sealed || x.v.inRange(r.seq) {
		return nil // it is read anyway
	}
	i := slices.IndexFunc(x.v.segments, func(s segment.Segment) bool { return s.FirstSeq <= r.seq && r.seq <= s.LastSeq })
	if i < 0 {
		return nil
	}
	row, ok, err := x.v.rowOf(ctx, &x.v.segments[i], r.seq)
	if err != nil || !ok {
		return err
	}
	if _, counted := slices.BinarySearch(x.with.rows[x.v.segments[i].ID], uint16(row)); counted {
		return nil
	}
	if x.v.keys = append(x.v.keys, r.eventKey); len(x.v.keys) > x.v.maxLoose {
		return goByRows(rowsLoose)
	}
	x.with.read[r.id] = false
	return nil
}

// rowOf returns the row of an event in a segment; not ok if it is not there.
func (v *segmentView) rowOf(ctx context.Context, x *segment.Segment, seq int64) (row int, ok bool, err error) {
	b, err := segment.Open(ctx, *x, v.s.columns, v)
	if err == nil {
		row, ok, err = b.RowOf(seq)
	}
	if isDamaged(err) {
		err = &damagedSegment{x.ID, err}
	}
	return row, ok, err
}

// add adds the sessions of a segment. It reports whether they are few enough.
func (w *sessionsWith) add(b *segment.Block, found *blockSessions) bool {
	if len(found.rows) > 0 {
		w.rows[b.ID] = found.rows
		w.num += len(found.rows)
	}
	for _, id := range found.ids {
		w.ids[id] = struct{}{}
	}
	return len(w.ids) <= maxSessionSet && w.num <= maxSessionRows
}

// hashIDs makes hash tell these ids from others, in whichever order they came.
func (w *sessionsWith) hashIDs() {
	h := fnv.New128a()
	for id := range w.ids {
		h.Reset()
		h.Write(id[:])
		for i, c := range h.Sum(nil) {
			w.hash[i] ^= c
		}
	}
}

// blockSessions are the sessions with an event that a search finds in a segment: by the row of their session event if that is in the same
// segment and has not changed, else by id.
type blockSessions struct {
	rows  []uint16
	ids   []uuid.UUID
	maybe column.Set // events that must be read
}

// Bytes returns about how much memory they take.
func (s *blockSessions) Bytes() int { return 100 + 2*len(s.rows) + 16*len(s.ids) + 8*len(s.maybe) }

// sessionsOf returns the sessions of the events of a segment that a search has found.
func (v *segmentView) sessionsOf(b *segment.Block, found query.Decided) (*blockSessions, error) {
	out := &blockSessions{}
	if !found.Maybe.Empty() {
		out.maybe = found.Maybe
	}
	if found.Match.Empty() {
		return out, nil
	}
	col, err := dictionary(b, query.SessionColumn)
	if err != nil {
		return nil, err
	}
	seen := make([]bool, col.Codes())
	for row := range found.Match.All() {
		seen[col.Code(row)] = true
	}
	events, err := v.sessionEvents(b)
	if err != nil {
		return nil, err
	}
	for row := range events.All() {
		if code := col.Code(row); seen[code] {
			seen[code] = false
			out.rows = append(out.rows, uint16(row))
		}
	}
	for code, left := range seen {
		if !left {
			continue
		}
		id, err := sessionOf(col, code)
		if err != nil {
			return nil, err
		}
		out.ids = append(out.ids, id)
	}
	return out, nil
}

// sessionEvents returns the session events of a segment that have the totals of a session and have not changed since.
func (v *segmentView) sessionEvents(b *segment.Block) (column.Set, error) {
	events, err := query.SessionEvents(b)
	if err != nil {
		return nil, err
	}
	return events, v.leaveOutStale(b, events)
}

// sessionOf returns the session of a code of the column of sessions.
func sessionOf(col *column.Column, code int) (uuid.UUID, error) {
	id, err := uuid.FromBytes(col.Value(code))
	if err != nil {
		return id, column.ErrDamaged
	}
	return id, nil
}

// sessionPlaces are the first places of the sessions of a segment that match, in order, and how many match in all.
type sessionPlaces struct {
	list  []EventPlace
	total int
	maybe column.Set // session events that must be read
}

// Bytes returns about how much memory they take.
func (p *sessionPlaces) Bytes() int { return 100 + 40*len(p.list) + 8*len(p.maybe) }

// question says what the places of a segment depend on beside the filters on sessions.
func (x *segmentSessions) question() string {
	after := ""
	if a := x.q.After; a != nil {
		after = fmt.Sprint(a.Value, a.ID)
	}
	question := fmt.Sprint("places ", x.q.Sort, x.q.Ascending, x.top.n, " ", after)
	if x.with != nil {
		question += fmt.Sprintf(" with %x %s", x.with.hash, query.KeyOf(x.q.EventFilters))
	}
	return question
}

// placesIn returns the places of the session events of a segment that the filters on sessions have found.
func (x *segmentSessions) placesIn(b *segment.Block, found query.Decided) (*sessionPlaces, error) {
	out := &sessionPlaces{}
	if found.Match.Empty() {
		if !found.Maybe.Empty() {
			out.maybe = found.Maybe
		}
		return out, nil
	}
	values, err := x.q.Sort.ValuesOf(b)
	if err != nil {
		return nil, err
	}
	whole, err := query.SessionEvents(b)
	if err != nil {
		return nil, err
	}
	whole.And(values.Present)
	// One without totals has no row of its session, or the segment lacks the column.
	absent := column.NewSet(b.Len())
	absent.Or(found.Match)
	absent.AndNot(whole)
	found.Match.And(whole)
	found.Maybe.Or(absent)
	if !found.Maybe.Empty() {
		out.maybe = found.Maybe
	}
	return out, x.fill(out, b, found.Match, values.Values)
}

// fill adds the session events of a segment that match if one of their session's events does.
func (x *segmentSessions) fill(out *sessionPlaces, b *segment.Block, match column.Set, values []float64) error {
	col, err := dictionary(b, query.SessionColumn)
	if err != nil {
		return err
	}
	days, err := b.Days()
	if err != nil {
		return err
	}
	var local []uint16
	if x.with != nil {
		local = x.with.rows[b.ID]
	}
	top := firstPlaces{n: x.top.n, ascending: x.q.Ascending, after: x.q.After}
	for row := range match.All() {
		for len(local) > 0 && int(local[0]) < row {
			local = local[1:]
		}
		isLocal := len(local) > 0 && int(local[0]) == row
		if x.with != nil && !isLocal && len(x.with.ids) == 0 {
			continue
		}
		id, err := sessionOf(col, col.Code(row))
		if err != nil {
			return err
		}
		if x.with != nil && !isLocal {
			if _, ok := x.with.ids[id]; !ok {
				continue
			}
		}
		out.total++
		top.consider(EventPlace{query.Place{Value: values[row], ID: id}, days.Of(row)})
	}
	out.list = top.page(0)
	return nil
}

// add adds the sessions of a segment.
func (x *segmentSessions) add(b *segment.Block, p *sessionPlaces) (bool, error) {
	x.total += p.total
	for _, at := range p.list {
		x.top.consider(at)
	}
	if err := x.addLooseSessions(b, p.maybe); err != nil {
		return false, err
	}
	return true, x.v.addLoose(b, query.Decided{Maybe: p.maybe})
}

// addLooseSessions adds the ids of sessions that are known by the row of their session event, where that must be read.
func (x *segmentSessions) addLooseSessions(b *segment.Block, maybe column.Set) error {
	if x.with == nil || maybe.Empty() || len(x.with.rows[b.ID]) == 0 {
		return nil
	}
	col, err := dictionary(b, query.SessionColumn)
	if err != nil {
		return err
	}
	for _, row := range x.with.rows[b.ID] {
		if !maybe.Has(int(row)) {
			continue
		}
		id, err := sessionOf(col, col.Code(int(row)))
		if err != nil {
			return err
		}
		x.with.loose[id] = struct{}{}
	}
	return nil
}

// isWith reports whether a session has an event that meets the filters on events. It is asked for those whose session event is read.
func (x *segmentSessions) isWith(id uuid.UUID) bool {
	if x.with == nil {
		return true
	}
	_, byID := x.with.ids[id]
	_, byRow := x.with.loose[id]
	return byID || byRow
}

func (x *segmentSessions) addLoose(l *looseEvent) error {
	if l.totals == nil || !x.isWith(l.ID) { // without totals its session's row is gone
		return nil
	}
	if x.with != nil {
		if isRead, ok := x.with.read[l.ID]; isRead {
			return nil
		} else if ok {
			x.with.read[l.ID] = true
		}
	}
	x.total++
	x.top.consider(EventPlace{query.Place{Value: x.q.Sort.Value(l.event, l.totals), ID: l.ID}, l.Day})
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
