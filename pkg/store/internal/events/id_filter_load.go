package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/store/internal/segment"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// At a start the filters of ids are empty, and ids of all days that are stored must be found all the same. Until a day's filter
// is complete, it answers that the day may hold any id, which costs a look-up and is never wrong. Filters are filled in the
// background: from the columns of segments, which are a hundredth of the rows, and the rows that are in none. What is not found there
// is read from rows, newest days first, since repeats and updates are mostly of today's events.

// filterSlice is how many ids are added to a filter at a time, so that its lock is never held for long against writers.
const filterSlice = 1000

// fillIDFilter builds the Bloom filters of days stored before. Where one does not fit, its ids are found without.
func (s *Store) fillIDFilter(ctx context.Context, days []projectDay) {
	filled, err := s.fillFromSegments(ctx, days)
	if err != nil && ctx.Err() == nil {
		s.options.Logger.Warn("build id filters from segments", zap.Error(err))
	}
	for _, k := range days {
		if filled[k] {
			continue
		}
		if err := s.fillFromRows(ctx, k); err != nil {
			if ctx.Err() == nil {
				s.options.Logger.Warn("build id filter", zap.Int32("day", k.day), zap.Error(err))
			}
			return
		}
	}
	if err := s.moveDays(ctx); err != nil && ctx.Err() == nil {
		s.options.Logger.Warn("list the ids of days without a filter", zap.Error(err))
	}
}

// fillFromRows builds the filter of one day from the rows of its events.
func (s *Store) fillFromRows(ctx context.Context, k projectDay) error {
	ids, began := make([]uuid.UUID, 0, filterSlice), time.Now()
	err := s.bulk.idsOf(ctx, k, func(id uuid.UUID) error {
		if ids = append(ids, id); len(ids) == cap(ids) {
			if !s.idFilter.load(k.project, k.day, ids, false) {
				return errFull
			}
			s.restForReads(ctx, began)
			ids, began = ids[:0], time.Now()
		}
		return nil
	})
	if err == nil {
		// Only the last slice makes the filter complete. New ids of the day may have come in between; those
		// were added by the writer.
		s.idFilter.load(k.project, k.day, ids, true)
	}
	if errors.Is(err, errFull) {
		return nil
	}
	return err
}

// fillFromSegments builds the filters of days, as one snapshot of the store: from the rows of the events that are not sealed, then from segments,
// newest first, and from the rows of those without columns. An event that has moved to another day since its segment was built is in segment_stale
// with that day. It returns which days it has filled; on an error none, and the ids that their filters have got by then do no harm.
func (s *Store) fillFromSegments(ctx context.Context, days []projectDay) (filled map[projectDay]bool, err error) {
	err = s.db.Snapshot(ctx, func(c sqldb.Conn) error {
		l := newIDLoader(s, days)
		var sealed int64
		if _, err := sqldb.One(ctx, c, `SELECT sealed_seq FROM segment_progress`, nil, &sealed); err != nil {
			return err
		}
		if err := l.rows(ctx, c, sealed+1, math.MaxInt64, anyProject); err != nil {
			return err
		}
		if err := sqldb.Each(ctx, c, `SELECT project_id, day, event_id FROM segment_stale`, nil, l.adding(anyProject)); err != nil {
			return err
		}
		if err := l.segments(ctx, c); err != nil {
			return err
		}
		l.done()
		filled = l.days
		return nil
	})
	return filled, err
}

// idLoader collects ids by day, up to idBatch of them, and adds them to the filters.
type idLoader struct {
	s       *Store
	days    map[projectDay]bool // those that have filters
	ids     map[projectDay][]uuid.UUID
	waiting int // of ids
}

// idBatch is how many ids are collected: they are of many days and projects, in any order.
const idBatch = 64 << 10

func newIDLoader(s *Store, days []projectDay) *idLoader {
	l := &idLoader{s: s, days: map[projectDay]bool{}, ids: map[projectDay][]uuid.UUID{}}
	for _, k := range days {
		if k.day == farDay && s.db.Exclusive() {
			continue // these ids are in far_event
		}
		l.days[k] = true
	}
	return l
}

// add takes an id of a day of a project.
func (l *idLoader) add(project int64, day int32, id uuid.UUID) {
	k := l.s.bulk.filterOf(projectDay{project, day})
	if !l.days[k] {
		return // found without
	}
	l.ids[k] = append(l.ids[k], id)
	if l.waiting++; l.waiting == idBatch {
		l.flush()
	}
}

func (l *idLoader) flush() {
	for k, ids := range l.ids {
		for part := range slices.Chunk(ids, filterSlice) {
			l.s.idFilter.load(k.project, k.day, part, false)
		}
	}
	clear(l.ids)
	l.waiting = 0
}

// done adds what waits and completes the filters.
func (l *idLoader) done() {
	l.flush()
	for k := range l.days {
		l.s.idFilter.load(k.project, k.day, nil, true)
	}
}

// anyProject stands for all projects.
const anyProject = 0

// adding returns what takes rows with a project, a day and an id, if they are of one project.
func (l *idLoader) adding(project int64) func(scan func(...any) error) error {
	return func(scan func(...any) error) error {
		var k projectDay
		var id uuid.UUID
		err := scan(&k.project, &k.day, sqldb.ScanID(&id))
		if err == nil && (project == anyProject || k.project == project) {
			l.add(k.project, k.day, id)
		}
		return err
	}
}

// rows takes the events of a project between two places.
func (l *idLoader) rows(ctx context.Context, c sqldb.Conn, first, last, project int64) error {
	return sqldb.Each(ctx, c, `SELECT project_id, day, event_id FROM event WHERE seq >= $1 AND seq <= $2`, []any{first, last}, l.adding(project))
}

// segments takes the events of all segments, the newest first.
func (l *idLoader) segments(ctx context.Context, c sqldb.Conn) error {
	list, err := listSegments(ctx, c)
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b segmentState) int { return cmp.Compare(b.LastSeq, a.LastSeq) })
	source, none := &segmentView{s: l.s, conn: c}, segment.NewCache(0) // questions have a use for other columns
	for _, x := range list {
		if !x.HasHeader {
			if err := l.rows(ctx, c, x.FirstSeq, x.LastSeq, x.project); err != nil {
				return err
			}
			continue
		}
		b, err := segment.Open(ctx, x.Segment, none, source)
		if err != nil {
			return fmt.Errorf("segment %d: %w", x.ID, err)
		}
		keys, err := b.Keys()
		if err != nil {
			return fmt.Errorf("segment %d: %w", x.ID, err)
		}
		for row := range b.Len() {
			id, day := keys.Of(row)
			l.add(x.project, day, id)
		}
	}
	return nil
}

var errFull = errors.New("filters are full")

// moveDays lists the events of days whose filters did not fit by id, so that those days need not be
// looked at one by one.
func (s *Store) moveDays(ctx context.Context) error {
	if !s.db.Exclusive() {
		return nil
	}
	for _, k := range s.idFilter.unfiltered(s.today() - nearDays) {
		var last []byte
		// last goes on only with a commit that succeeded, so a slice that failed is moved again, and nothing is left out.
		for more := true; more; {
			err := s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
				next, err := tx.moveIDs(ctx, k, last)
				if err == nil {
					last, more = next, next != nil
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
