package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Segments follow from the rows of events and are built in the background (ADR 016). Each event has a place in the order in which events
// came (seq), and segments hold all events up to one place. A pass makes it a later one:
//
//  1. It reads the last place that was handed out, and marks it: from now on the database records each change of an event up to there.
//  2. On PostgreSQL it waits for the transactions that were under way, which may hold such places or have changed such events.
//  3. It reads the events between the two places as one snapshot, and builds a segment for each project.
//  4. One transaction stores the segments and the new place.
//
// A change that commits before the snapshot is in it; one that commits later is recorded, since the mark came before. What is recorded is
// read from rows by whoever reads segments, until the segment is built again (segment_merge.go).

// Bounds of when segments are built.
const (
	// sealEvery is how often the background looks for events to seal.
	sealEvery = 2 * time.Second
	// sealEvents is from how many events on they are sealed while others come in: so many that under a steady load no segment becomes
	// part of a larger one (mergeRun). sealPass is how many one pass reads at most.
	sealEvents = 20 << 10
	sealPass   = segment.MaxEvents
	// sealRows is how many rows are read at once.
	sealRows = 1000
	// settleTime is how long a pass waits for transactions that are under way, and settlePause how long between two looks.
	settleTime  = 30 * time.Second
	settlePause = 10 * time.Millisecond
	// segmentCacheBytes bounds the decoded columns in memory.
	segmentCacheBytes = 96 << 20
)

// segmentLock makes servers on one database build segments one after another.
const segmentLock = "segments"

// sealing builds segments until ctx ends. While events come in it waits for sealEvents of them; once none came for sealEvery, it seals all.
func (s *Store) sealing(ctx context.Context) {
	last, since := int64(-1), time.Now()
	index := &wordIndexer{s: s}
	for s.sealPause(ctx) {
		now, err := s.bulk.lastSeq(ctx, s.db.Quick())
		if now != last {
			last, since = now, time.Now()
		}
		if err == nil {
			var mine bool
			mine, err = s.underLease(ctx, segmentLease, func() error {
				if err := s.sealSome(ctx, now, time.Since(since) >= sealEvery, func() bool { return len(s.sealKick) > 0 }); err != nil {
					return err
				}
				return index.run(ctx, time.Since(since) >= sealEvery)
			})
			if err == nil && !mine {
				err = s.lookAtSegments(ctx, now)
			}
		}
		if err != nil && ctx.Err() == nil {
			s.options.Logger.Warn("build segments", zap.Error(err))
		}
	}
}

// lookAtSegments looks at what another server does, for those who ask how far it is.
func (s *Store) lookAtSegments(ctx context.Context, last int64) error {
	sealed, err := s.sealedSeq(ctx)
	if err != nil {
		return err
	}
	s.sealed.unsealed.Store(max(0, last-sealed))
	list, err := s.segmentStates(ctx)
	if err != nil {
		return err
	}
	s.sealed.saw(list)
	s.sealed.pass()
	return nil
}

// sealPause waits for the next pass: for sealEvery, or until somebody has asked for one. It reports whether ctx goes on.
func (s *Store) sealPause(ctx context.Context) bool {
	wait := time.NewTimer(sealEvery)
	defer wait.Stop()
	select {
	case <-ctx.Done():
	case <-wait.C:
	case <-s.sealKick:
	}
	return ctx.Err() == nil
}

// wakeSealing has the background begin a pass now.
func (s *Store) wakeSealing() {
	select {
	case s.sealKick <- struct{}{}:
	default: // it was asked for already
	}
}

// sealSome seals what is due, and builds again what has changed, until stop says that it is to begin anew.
func (s *Store) sealSome(ctx context.Context, last int64, idle bool, stop func() bool) error {
	if err := s.sealDue(ctx, last, idle); err != nil {
		return err
	}
	if err := s.mergeSegments(ctx, idle, stop); err != nil {
		return err
	}
	s.sealed.pass()
	return nil
}

// sealDue seals the events up to a place, if there are enough of them or the store is idle.
func (s *Store) sealDue(ctx context.Context, last int64, idle bool) error {
	for ctx.Err() == nil {
		sealed, err := s.sealedSeq(ctx)
		if err != nil {
			return err
		}
		s.sealed.unsealed.Store(max(0, last-sealed))
		if last-sealed < sealEvents && !(idle && last > sealed) {
			break
		}
		if err := s.sealTo(ctx, sealed, min(last, sealed+sealPass)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// sealNew seals what has come meanwhile, if it is enough: longer work calls it in between, since questions read from rows what is not sealed.
func (s *Store) sealNew(ctx context.Context) error {
	last, err := s.bulk.lastSeq(ctx, s.db.Quick())
	if err != nil {
		return err
	}
	return s.sealDue(ctx, last, false)
}

// Seal builds segments of all events that are stored by now, and their indexes of words.
func (s *Store) Seal(ctx context.Context) error {
	last, err := s.bulk.lastSeq(ctx, s.db.Quick())
	if err != nil {
		return err
	}
	ctx = sqldb.Patiently(ctx)
	if err := s.sealSome(ctx, last, true, func() bool { return false }); err != nil {
		return err
	}
	list, err := s.withoutWords(ctx)
	for i := range list {
		if err == nil {
			err = s.indexWords(ctx, &list[i])
		}
	}
	return err
}

func (s *Store) sealedSeq(ctx context.Context) (sealed int64, err error) {
	_, err = sqldb.One(ctx, s.db.Quick(), `SELECT sealed_seq FROM segment_progress`, nil, &sealed)
	return sealed, err
}

// errSealed is returned if another server has sealed the same events.
var errSealed = errors.New("events were sealed by another server")

// sealTo seals the events behind one place up to another.
func (s *Store) sealTo(ctx context.Context, sealed, to int64) error {
	began := time.Now()
	err := s.changeSegments(ctx, func(ctx context.Context, tx *Commit) error {
		_, err := tx.Exec(ctx, `UPDATE segment_progress SET marked_seq = $1 WHERE marked_seq < $1`, to)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.bulk.settle(ctx); err != nil {
		return err
	}
	if err := s.bulk.indexSeq(ctx); err != nil {
		return err
	}
	var built []builtSegment
	err = s.db.Snapshot(ctx, func(c sqldb.Conn) (err error) {
		built, err = s.buildSegments(ctx, c, `e.seq > $1 AND e.seq <= $2`, seqSteps{sealed, to, sealRows})
		return err
	})
	if err != nil {
		return err
	}
	err = s.changeSegments(ctx, func(ctx context.Context, tx *Commit) error {
		n, err := tx.Exec(ctx, `UPDATE segment_progress SET sealed_seq = $2 WHERE sealed_seq = $1`, sealed, to)
		if err != nil {
			return err
		}
		if n == 0 {
			return errSealed
		}
		return s.insertSegments(ctx, tx, built)
	})
	if errors.Is(err, errSealed) {
		return nil
	}
	s.telemetry.builds.Record(ctx, time.Since(began).Seconds())
	return err
}

// changeSegments runs f in a transaction that no other server's for segments overlaps.
func (s *Store) changeSegments(ctx context.Context, f func(context.Context, *Commit) error) error {
	return s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
		if err := tx.Lock(ctx, segmentLock); err != nil {
			return err
		}
		return f(ctx, tx)
	})
}

// builtSegment is a new segment of a project.
type builtSegment struct {
	project int64
	*segment.Built
}

// insertSegments stores new segments, but for those of projects that are deleted: what deletes a project's data waits for this
// transaction, or has been seen by it.
func (s *Store) insertSegments(ctx context.Context, tx *Commit, list []builtSegment) error {
	for _, b := range list {
		var id int64
		if there, err := sqldb.One(ctx, tx, `SELECT id FROM project WHERE id = $1 AND deleted_ms = 0`+tx.ForUpdate(""), []any{b.project}, &id); err != nil {
			return err
		} else if !there {
			continue
		}
		if _, err := sqldb.One(ctx, tx, `INSERT INTO segment(project_id, first_seq, last_seq, num_events, first_ms, last_ms, header)
			VALUES ($1, $2, $3, $4, $5, $6, $7)
			RETURNING id`,
			[]any{b.project, b.FirstSeq, b.LastSeq, b.Events, b.FirstMS, b.LastMS, b.Header}, &id); err != nil {
			return err
		}
		if err := insertColumns(ctx, tx, id, b.Columns); err != nil {
			return err
		}
	}
	return nil
}

func insertColumns(ctx context.Context, tx *Commit, id int64, columns []segment.Column) error {
	for _, c := range columns {
		if _, err := tx.Exec(ctx, `INSERT INTO segment_column(segment_id, number, data) VALUES ($1, $2, $3)`, id, c.Number, c.Data); err != nil {
			return err
		}
	}
	return nil
}

// seqSteps are places behind one and up to another, which are read in steps. PostgreSQL reads the rows of all places that a statement names,
// in any order, before it has the first ones: a statement that names many and takes the first few would read nearly all of them each time.
type seqSteps struct {
	from, to int64
	step     int64
}

// stepsOf returns steps behind one place and up to another that hold about rows each of so many events.
func stepsOf(from, to int64, events, rows int) seqSteps {
	return seqSteps{from, to, (to-from)/int64(events/rows+1) + 1}
}

// next returns the places of the next step.
func (s *seqSteps) next() (from, to int64, more bool) {
	return s.from, min(s.to, s.from+s.step), s.from < s.to
}

// read goes on behind a place.
func (s *seqSteps) read(to int64) { s.from = to }

// buildSegments builds segments of the events at some places that meet a condition, of all projects that have any.
func (s *Store) buildSegments(ctx context.Context, c sqldb.Conn, cond string, steps seqSteps, args ...any) (list []builtSegment, err error) {
	builders := map[int64]*segment.Builder{}
	finish := func(project int64) error {
		built, err := builders[project].Build()
		if err == nil {
			list = append(list, builtSegment{project, built})
		}
		delete(builders, project)
		return err
	}
	for from, to, more := steps.next(); more; from, to, more = steps.next() {
		rows, err := s.sealedRows(ctx, c, cond, from, to, args)
		if err != nil {
			return nil, err
		}
		if len(rows) == sealRows { // there may be more
			to = rows[sealRows-1].seq
		}
		steps.read(to)
		for i := range rows {
			r := &rows[i]
			b := builders[r.project]
			if b == nil {
				b = segment.NewBuilder()
				builders[r.project] = b
			}
			b.Add(r.seq, r.Day, &r.Event, r.totals, r.isRead)
			if b.Full() {
				if err := finish(r.project); err != nil {
					return nil, err
				}
			}
		}
	}
	for project := range builders {
		if err := finish(project); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// sealedRow is an event that goes into a segment.
type sealedRow struct {
	*Stored
	seq    int64
	totals *event.SessionTotals // of a session event
	isRead bool
}

// sealedRows reads the next rows behind a place, as callers see them as far as columns hold them.
func (s *Store) sealedRows(ctx context.Context, c sqldb.Conn, cond string, from, to int64, args []any) ([]sealedRow, error) {
	var rows []sealedRow
	var into []any
	err := sqldb.Each(ctx, c, `SELECT e.seq, `+s.Columns()+`
		FROM `+s.Dialect.FromBySeq()+`
		WHERE `+cond+fmt.Sprintf(` ORDER BY e.seq LIMIT %d`, sealRows), append([]any{from, to}, args...), func(scan func(...any) error) error {
		r := sealedRow{isRead: true}
		var err error
		r.Stored, err = ScanHead(func(columns ...any) error {
			into = append(append(into[:0], &r.seq), columns...)
			return scan(into...)
		})
		rows = append(rows, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	sessions := map[int64][]uuid.UUID{}
	for i := range rows {
		if r := &rows[i]; r.IsSession() {
			sessions[r.project] = append(sessions[r.project], r.ID)
		}
	}
	rolls := map[int64]map[uuid.UUID]*rollup{}
	for project, ids := range sessions {
		if rolls[project], err = s.rollups(ctx, c, project, ids); err != nil {
			return nil, err
		}
	}
	for i := range rows {
		r := &rows[i]
		if err := s.fillForSegment(ctx, c, r); err != nil {
			return nil, err
		}
		if roll := rolls[r.project][r.ID]; roll != nil && r.IsSession() {
			roll.show(&r.Event)
			r.totals = roll.sessionTotals()
		}
	}
	return rows, nil
}

// fillForSegment reads what a row needs of its payload: its configuration, and fields that were too large for the row. A payload that is
// damaged leaves the event to those who read its row, who will say so.
func (s *Store) fillForSegment(ctx context.Context, c sqldb.Conn, r *sealedRow) error {
	if r.chunk == nil || (r.Spill&flagNoConfig != 0 && r.Spill&record.HeadFields == 0) {
		return nil
	}
	if s.keptConfig(r) {
		return nil
	}
	err := s.fillFrom(ctx, c, r.Stored)
	switch {
	case errors.Is(err, errNoChunk), errors.Is(err, record.ErrDamaged):
		r.isRead = false
		return nil
	case err != nil:
		return err
	}
	r.Inputs, r.Outputs, r.ColdMetadata = nil, nil, nil
	return nil
}

// isDamaged reports whether an error says that a segment must be built again.
func isDamaged(err error) bool { return errors.Is(err, column.ErrDamaged) }

// configFlag returns the flag of an event without a configuration.
func configFlag(e *event.Event) int {
	if rawjson.Empty(e.Config) {
		return flagNoConfig
	}
	return 0
}
