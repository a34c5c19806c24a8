package events

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

const (
	// looseRows is how many rows are read and looked at together.
	looseRows = 500
	// maxLoose is how many events of segments may have to be read one by one, or that share of all events of the segments, as a divisor, if it is more
	// (looseShare): reading one by its key takes some five times what it takes as one of all. A question for more is answered from rows altogether.
	// One that looks for a text in payloads may have to read mostLoose of them, since rows alone would need all: 20 bytes each.
	maxLoose   = 20_000
	looseShare = 20
	mostLoose  = 1_000_000
	// looseRange is about how many rows of a segment without columns, or that are not sealed, are in memory at once.
	looseRange = 8192
	// maxWaiting is which share of a project's events may be in segments without columns, if there are more than maxLoose of them, as a
	// divisor: their rows are read one by one, and a question for more of them goes by rows altogether.
	maxWaiting = 4
)

// errNotInSegments says that a question is to be answered from rows.
var errNotInSegments = errors.New("not to be answered from segments")

// segmentView is what a read sees of a project's segments, as one snapshot: those whose columns are good, and the events that must be
// read from their rows, which are loose.
type segmentView struct {
	s        *Store
	project  int64
	sealed   int64
	maxLoose int
	segments []segment.Segment // with columns, by place
	ranges   [][2]int64        // places of those without, whose rows are read
	stale    []int64           // places of the events that have changed, in order
	keys     []eventKey        // of those among them that are there

	mu   sync.Mutex // one read at a time on the connection
	conn sqldb.Conn
}

// eventKey is the key of an event's row. seq tells it from another event that has taken the key since.
type eventKey struct {
	day int32
	id  uuid.UUID
}

// FromRows returns a context whose reads are answered without segments, for comparisons.
func FromRows(ctx context.Context) context.Context { return context.WithValue(ctx, fromRows{}, true) }

type fromRows struct{}

// indexedEvents is how many events an index may lead to for a question to be answered from their rows, and indexedPerSegment how many more for each
// segment that would be looked at instead; maxIndexed is how many in all.
const (
	indexedEvents     = 50
	indexedPerSegment = 8
	maxIndexed        = 2000
)

// usesSegments reports whether a question is answered from segments, if there are any: columns must have all that it reads, and no index
// may lead to few events that meet its filters. counted says that it looks at all of them, not only at the first in order.
func (s *Store) usesSegments(ctx context.Context, projectID int64, filters []query.Filter, counted, inColumns bool) (bool, error) {
	if query.HasIndex(filters, counted) {
		return s.byRows(ctx, rowsByIndex), nil
	}
	b := query.NewBuilder(s.Dialect)
	if cond := query.IndexSQL(b, filters); cond != "" {
		few, err := s.leadsToFew(ctx, projectID, b, cond)
		if err != nil || few {
			return s.byRows(ctx, rowsByIndex), err
		}
	}
	if !inColumns {
		return s.byRows(ctx, rowsByFields), nil
	}
	return true, nil
}

// leadsToFew reports whether so few events meet a condition that an index has that reading their rows is quicker than looking at segments.
func (s *Store) leadsToFew(ctx context.Context, projectID int64, b *query.Builder, cond string) (bool, error) {
	segments, n := 0, 0
	if _, err := sqldb.One(ctx, s.db, `SELECT count(*) FROM segment WHERE project_id = $1`, []any{projectID}, &segments); err != nil {
		return false, err
	}
	most := min(indexedEvents+indexedPerSegment*segments, maxIndexed)
	_, err := sqldb.One(ctx, s.db, fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM event AS e WHERE e.project_id = $%d AND %s LIMIT %d) AS x`,
		len(b.Args())+1, cond, most+1), append(b.Args(), projectID), &n)
	return n <= most, err
}

// inSegments calls f with a view of a project's segments. It reports whether f has answered: not if there are no segments or f says so
// (errNotInSegments), nor if a segment turns out to be damaged, which is built again then. payloads says that the question looks at payloads.
// f may be called a second time, as Snapshot's.
func (s *Store) inSegments(ctx context.Context, project int64, payloads bool, f func(v *segmentView) error) (answered bool, err error) {
	if ctx.Value(fromRows{}) != nil {
		return false, nil
	}
	if s.options.SealBeforeReads {
		if err := s.Seal(ctx); err != nil {
			return false, err
		}
	}
	var v *segmentView
	err = s.db.Snapshot(ctx, func(c sqldb.Conn) error {
		v = &segmentView{s: s, project: project, conn: c, maxLoose: maxLoose}
		if payloads {
			v.maxLoose = mostLoose
		}
		if err := v.open(ctx); err != nil {
			return err
		}
		return f(v)
	})
	var damaged *damagedSegment
	switch {
	case errors.As(err, &damaged):
		s.options.Logger.Warn("a segment is damaged and will be built again", zap.Int64("segment", damaged.id), zap.Error(damaged.err))
		s.telemetry.damaged.Add(ctx, 1)
		return s.byRows(ctx, rowsDamaged), s.dropColumns(ctx, []int64{damaged.id})
	case errors.Is(err, errNotInSegments):
		return s.byRows(ctx, reasonOf(err)), nil
	case err != nil:
		return false, err
	}
	s.bySegments(ctx)
	return true, nil
}

// damagedSegment is the error of a segment that must be built again.
type damagedSegment struct {
	id  int64
	err error
}

func (d *damagedSegment) Error() string { return fmt.Sprintf("segment %d: %v", d.id, d.err) }

// dropColumns makes segments ones without columns: their events are read from rows until they are built again.
func (s *Store) dropColumns(ctx context.Context, ids []int64) error {
	err := s.changeSegments(ctx, func(ctx context.Context, tx *Commit) error {
		for _, id := range ids {
			if _, err := tx.Exec(ctx, `UPDATE segment SET header = NULL WHERE id = $1`, id); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `DELETE FROM segment_column WHERE segment_id = $1`, id); err != nil {
				return err
			}
		}
		return nil
	})
	s.forget(ids...)
	return err
}

// open reads which segments there are.
func (v *segmentView) open(ctx context.Context) error {
	if _, err := sqldb.One(ctx, v.conn, `SELECT sealed_seq FROM segment_progress`, nil, &v.sealed); err != nil {
		return err
	}
	built, waiting := 0, 0
	err := sqldb.Each(ctx, v.conn, `SELECT id, first_seq, last_seq, num_events, first_ms, last_ms, header IS NOT NULL, words
		FROM segment
		WHERE project_id = $1
		ORDER BY first_seq`, []any{v.project}, func(scan func(...any) error) error {
		var x segment.Segment
		if err := scan(&x.ID, &x.FirstSeq, &x.LastSeq, &x.Events, &x.FirstMS, &x.LastMS, &x.HasHeader, &x.HasWords); err != nil {
			return err
		}
		if x.HasHeader {
			built += x.Events
			v.segments = append(v.segments, x)
		} else {
			waiting += x.Events
			v.ranges = append(v.ranges, rowRanges(x.FirstSeq, x.LastSeq, x.Events)...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch {
	case waiting > max(maxLoose, built/maxWaiting):
		return goByRows(rowsWaiting)
	case len(v.segments) == 0:
		return goByRows(rowsNone)
	}
	v.maxLoose = max(v.maxLoose, min(built/looseShare, mostLoose))
	return sqldb.Each(ctx, v.conn, `SELECT seq, day, event_id, gone FROM segment_stale WHERE project_id = $1 ORDER BY seq`,
		[]any{v.project}, func(scan func(...any) error) error {
			var k eventKey
			var seq int64
			var gone bool
			if err := scan(&seq, &k.day, sqldb.ScanID(&k.id), &gone); err != nil {
				return err
			}
			// One that is recorded between the mark and the segment's own snapshot, and not sealed yet, is read with the others behind.
			if seq > v.sealed {
				return nil
			}
			v.stale = append(v.stale, seq)
			if !gone && !v.inRange(seq) {
				v.keys = append(v.keys, k)
			}
			if len(v.keys) > v.maxLoose {
				return goByRows(rowsLoose)
			}
			return nil
		})
}

// rowRanges divides places, those of so many events at most, into ranges of about looseRange events each.
func rowRanges(first, last int64, events int) (list [][2]int64) {
	step := (last-first)/int64(events/looseRange+1) + 1
	for ; first <= last; first += step {
		list = append(list, [2]int64{first, min(first+step-1, last)})
	}
	return list
}

// unsealed returns ranges of the places behind the last one that is sealed, of which the last has no end.
func (v *segmentView) unsealed(ctx context.Context) ([][2]int64, error) {
	last, err := v.s.bulk.lastSeq(ctx, v.conn)
	if err != nil {
		return nil, err
	}
	last = max(last, v.sealed+1)
	list := rowRanges(v.sealed+1, last, int(last-v.sealed))
	list[len(list)-1][1] = math.MaxInt64
	return list, nil
}

// inRange reports whether a place is of a segment without columns, whose rows are read anyway.
func (v *segmentView) inRange(seq int64) bool {
	return slices.ContainsFunc(v.ranges, func(r [2]int64) bool { return r[0] <= seq && seq <= r[1] })
}

// Header and Column implement segment.Source.
func (v *segmentView) Header(ctx context.Context, id int64) (data []byte, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, err = sqldb.One(ctx, v.conn, `SELECT header FROM segment WHERE id = $1`, []any{id}, &data)
	return data, err
}

func (v *segmentView) Column(ctx context.Context, id int64, number int) (data []byte, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, err = sqldb.One(ctx, v.conn, `SELECT data FROM segment_column WHERE segment_id = $1 AND number = $2`, []any{id, number}, &data)
	return data, err
}

// eachSegment calls work with blocks of all segments, several at once, and then use with what it returned, one after another in the order of
// list. It ends when use returns false.
func eachSegment[T any](ctx context.Context, v *segmentView, list []segment.Segment, work func(b *segment.Block) (T, error),
	use func(b *segment.Block, t T) (more bool, err error)) error {
	type done struct {
		b   *segment.Block
		t   T
		err error
	}
	one := func(x segment.Segment) (d done) {
		if d.b, d.err = segment.Open(ctx, x, v.s.columns, v); d.err == nil {
			d.t, d.err = work(d.b)
		}
		if isDamaged(d.err) {
			d.err = &damagedSegment{x.ID, d.err}
		}
		return d
	}
	// Two of a batch run at once, so that a question never takes all of a larger machine from those who store events.
	width := min(runtime.GOMAXPROCS(0), 2)
	for batch := range slices.Chunk(list, 2*width) {
		if err := ctx.Err(); err != nil {
			return err
		}
		results := make([]done, len(batch))
		var wg sync.WaitGroup
		next := make(chan int, len(batch))
		for i := range batch {
			next <- i
		}
		close(next)
		for range width {
			wg.Go(func() {
				for i := range next {
					results[i] = one(batch[i])
				}
			})
		}
		wg.Wait()
		for _, d := range results {
			if d.err != nil {
				return d.err
			}
			more, err := use(d.b, d.t)
			if isDamaged(err) {
				err = &damagedSegment{d.b.ID, err}
			}
			if err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// addLoose adds events of a segment to those that must be read from their rows.
func (v *segmentView) addLoose(b *segment.Block, d query.Decided) error {
	if d.Maybe.Empty() {
		return nil
	}
	if len(v.keys)+d.Maybe.Count() > v.maxLoose {
		return goByRows(rowsLoose)
	}
	keys, err := b.Keys()
	if err != nil {
		return err
	}
	for row := range d.Maybe.All() {
		id, day := keys.Of(row)
		v.keys = append(v.keys, eventKey{day, id})
	}
	return nil
}

// eachLoose calls f with the loose events that match a search: those after the last sealed place, those of segments without columns, and those
// that are on record as changed. An event has no payload unless needPayload is set.
func (v *segmentView) eachLoose(ctx context.Context, q *query.Search, needPayload bool, f func(l *looseEvent) error) error {
	return v.eachLooseOf(ctx, q, nil, needPayload, f)
}

// eachLooseOf is eachLoose for the events of some sessions; nil: of all.
func (v *segmentView) eachLooseOf(ctx context.Context, q *query.Search, sessions []uuid.UUID, needPayload bool, f func(l *looseEvent) error) error {
	b := query.NewBuilder(v.s.Dialect)
	narrowed := *q
	narrowed.Filters = query.OfEvents(q.Filters) // the reader decides all of them
	plan := query.CompileSearch(b, v.project, &narrowed)
	look := newLooseReader(v, q, needPayload, f)
	if sessions != nil {
		look.sessions = setOf(sessions)
		plan.Candidates += " AND " + v.s.Dialect.SessionIn(b, v.project, sessions)
	}
	n := len(b.Args())
	columns := `SELECT ` + v.s.Columns() + ` FROM `
	unsealed, err := v.unsealed(ctx)
	if err != nil {
		return err
	}
	for _, r := range slices.Concat(v.ranges, unsealed) {
		text := fmt.Sprintf(columns+v.s.Dialect.FromBySeq()+` WHERE e.seq >= $%d AND e.seq <= $%d AND `, n+1, n+2) + plan.Candidates
		if err := look.read(ctx, text, append(b.Args()[:n:n], r[0], r[1])); err != nil {
			return err
		}
	}
	return look.readKeys(ctx, v.keys)
}

// readKeys reads events by their keys.
func (l *looseReader) readKeys(ctx context.Context, keys []eventKey) error {
	v, byDay := l.v, map[int32][]uuid.UUID{}
	for _, k := range keys {
		byDay[k.day] = append(byDay[k.day], k.id)
	}
	for day, ids := range byDay {
		for group := range slices.Chunk(ids, sqldb.IDsPerQuery) {
			cond, args := v.conn.AnyID("e.event_id", 4, group)
			// An event that was deleted and stored again has another place behind those that are sealed.
			text := `SELECT ` + v.s.Columns() + ` FROM ` + v.s.Dialect.From() + ` WHERE e.project_id = $1 AND e.day = $2 AND e.seq <= $3 AND ` + cond
			if err := l.read(ctx, text, append([]any{v.project, day, v.sealed}, args...)); err != nil {
				return err
			}
		}
	}
	return nil
}

// looseEvent is an event that was read from its row.
type looseEvent struct {
	*Stored
	event  *event.Event         // as callers see it
	totals *event.SessionTotals // of the session of a session event
}

// looseReader reads rows, decides filters on them, and passes on the events that match.
type looseReader struct {
	v           *segmentView
	q           *query.Search
	match       query.Matcher
	sessions    map[uuid.UUID]bool // others are left out; nil: none is
	needPayload bool
	f           func(l *looseEvent) error
}

func newLooseReader(v *segmentView, q *query.Search, needPayload bool, f func(l *looseEvent) error) *looseReader {
	return &looseReader{v: v, q: q, match: query.NewMatcher(q.Filters), f: f, needPayload: needPayload || query.NeedPayload(q.Filters)}
}

// read looks at the rows of a statement, looseRows at a time.
func (l *looseReader) read(ctx context.Context, text string, args []any) error {
	var rows []*Stored
	// All rows of a statement are read before the next one runs on the connection: heads are small, and there are about looseRange.
	err := sqldb.Each(ctx, l.v.conn, text, args, func(scan func(...any) error) error {
		r, err := ScanHead(scan)
		if err == nil && (l.sessions == nil || l.sessions[r.SessionID]) {
			rows = append(rows, r)
		}
		return err
	})
	if err != nil {
		return err
	}
	for group := range slices.Chunk(rows, looseRows) {
		if err := l.look(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

func (l *looseReader) look(ctx context.Context, rows []*Stored) error {
	list, err := l.v.s.newEventList(ctx, l.v.conn, l.v.project, rows)
	if err != nil {
		return err
	}
	for i, r := range rows {
		if !l.q.InRange(r.Start) {
			continue
		}
		e, ok, err := l.asRead(ctx, list, i)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		match, loose := l.match, &looseEvent{Stored: r, event: &e}
		if roll := list.rolls[r.ID]; roll != nil && r.IsSession() {
			loose.totals = roll.sessionTotals()
			match = match.OfSession(loose.totals)
		}
		if !match.Match(&e) {
			continue
		}
		if err := l.f(loose); err != nil {
			return err
		}
	}
	return nil
}

// asRead returns an event of a list as callers see it, without payload if nobody asks for it; not ok if it is gone.
func (l *looseReader) asRead(ctx context.Context, list *eventList, i int) (e event.Event, ok bool, err error) {
	r := list.rows[i]
	if l.needPayload {
		list.prefetch(ctx, i)
		return list.asRead(ctx, i)
	}
	whole := *r
	if uint32(r.Spill)&record.HeadFields != 0 {
		if err := l.v.s.payload(ctx, &whole); err != nil || whole.gone {
			return e, false, err
		}
	}
	e = whole.Event
	e.Metadata, e.ColdMetadata = rawjson.Concat(e.Metadata, e.ColdMetadata), nil
	if roll := list.rolls[r.ID]; roll != nil && r.IsSession() {
		roll.show(&e)
	}
	return e, true, nil
}
