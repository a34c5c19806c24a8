package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/store/internal/segment"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Segments are built again from rows: those without columns, those of which many events have changed, those that may have text that is not kept any
// more, and small neighbours, which become one. It is the same as sealing, but that the changes that the new columns have are taken off the record;
// one that came after the snapshot has raised the count of changes, and stays.

const (
	// mergeRun is how many neighbours become one, if together they are no more than a segment may hold.
	mergeRun = 4
	// staleShare is which share of a segment's events may have changed until it is built again, as a divisor; staleIdle is that for
	// a store at rest.
	staleShare = 20
	staleIdle  = 200
)

// segmentState is a segment and what has changed of its events since it was built.
type segmentState struct {
	segment.Segment
	project int64
	stale   int  // events that have changed
	gone    bool // some are deleted
	erased  bool // it may have text of events that are gone, or whose payload is
}

// mergeSegments builds segments again until none is due or stop says so. Between two of them it seals the events that have come, and while
// others store events, it rests for as long as it works.
func (s *Store) mergeSegments(ctx context.Context, idle bool, stop func() bool) error {
	list, err := s.segmentStates(ctx)
	if err != nil {
		return err
	}
	s.sealed.saw(list)
	for _, run := range dueRuns(list, idle) {
		if ctx.Err() != nil || stop() {
			break
		}
		began := time.Now()
		if err := s.rebuild(ctx, run); err != nil {
			return err
		}
		s.telemetry.builds.Record(ctx, time.Since(began).Seconds())
		s.sealed.built(run)
		if s.busy() {
			sleep(ctx, time.Since(began))
		}
		if err := s.sealNew(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// dueRuns returns the runs of neighbours of all projects that are to be built anew: one of each project in turn, so that no project waits
// for all of another's, and the newest ones first, which most questions are about.
func dueRuns(list []segmentState, idle bool) (runs [][]segmentState) {
	var byProject [][][]segmentState
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].project == list[0].project {
			n++
		}
		if due := dueSegments(list[:n], idle); len(due) > 0 {
			byProject = append(byProject, due)
		}
		list = list[n:]
	}
	for len(byProject) > 0 {
		rest := byProject[:0]
		for _, due := range byProject {
			newest := len(due) - 1
			runs = append(runs, due[newest])
			if newest > 0 {
				rest = append(rest, due[:newest])
			}
		}
		byProject = rest
	}
	return runs
}

// listSegments lists all segments by project and place, without what has changed of them.
func listSegments(ctx context.Context, c sqldb.Conn) (list []segmentState, err error) {
	err = sqldb.Each(ctx, c, `SELECT project_id, id, first_seq, last_seq, num_events, first_ms, last_ms, header IS NOT NULL
		FROM segment
		ORDER BY project_id, first_seq`, nil, func(scan func(...any) error) error {
		var x segmentState
		err := scan(&x.project, &x.ID, &x.FirstSeq, &x.LastSeq, &x.Events, &x.FirstMS, &x.LastMS, &x.HasHeader)
		list = append(list, x)
		return err
	})
	return list, err
}

// segmentStates lists all segments by project and place.
func (s *Store) segmentStates(ctx context.Context) (list []segmentState, err error) {
	err = s.db.Snapshot(ctx, func(c sqldb.Conn) (err error) {
		if list, err = listSegments(ctx, c); err != nil {
			return err
		}
		at := 0
		return sqldb.Each(ctx, c, `SELECT project_id, seq, gone, erased FROM segment_stale ORDER BY project_id, seq`, nil,
			func(scan func(...any) error) error {
				var project, seq int64
				var gone, erased bool
				if err := scan(&project, &seq, &gone, &erased); err != nil {
					return err
				}
				for at < len(list) && (list[at].project < project || (list[at].project == project && list[at].LastSeq < seq)) {
					at++
				}
				if at < len(list) && list[at].project == project && list[at].FirstSeq <= seq {
					list[at].stale++
					list[at].gone = list[at].gone || gone
					list[at].erased = list[at].erased || erased
				}
				return nil
			})
	})
	return list, err
}

// dueSegments returns runs of neighbours among the segments of a project that are to be built anew, each as one.
func dueSegments(list []segmentState, idle bool) (runs [][]segmentState) {
	share := staleShare
	if idle {
		share = staleIdle
	}
	for i := 0; i < len(list); {
		// The longest run of small ones from here on whose first is not much larger than the others together: so each event
		// is built again as often as its segment doubles, and no more.
		n, events := 0, 0
		for n < len(list)-i && events+list[i+n].Events <= segment.MaxEvents {
			events += list[i+n].Events
			n++
		}
		if n >= mergeRun && list[i].Events <= (events-list[i].Events) {
			runs = append(runs, list[i:i+n])
			i += n
			continue
		}
		if x := list[i]; !x.HasHeader || x.erased || x.stale*share > x.Events {
			runs = append(runs, list[i:i+1])
		}
		i++
	}
	return runs
}

// forgetStale takes changes off the record, unless there was another one since.
func forgetStale(ctx context.Context, tx *Commit, project int64, stale map[int64][]int64) error {
	for changes, seqs := range stale {
		for group := range slices.Chunk(seqs, sqldb.IDsPerQuery) {
			cond, args := tx.AnyNumber("seq", 3, group)
			if _, err := tx.Exec(ctx, `DELETE FROM segment_stale WHERE project_id = $1 AND changes = $2 AND `+cond,
				append([]any{project, changes}, args...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// purgeSegments is how many segments of a deleted project one transaction deletes.
const purgeSegments = 10

// PurgeSegments deletes some segments of a project; more is false once none is left.
func (s *Store) PurgeSegments(ctx context.Context, tx *Commit, id int64) (more bool, err error) {
	var list []int64
	err = sqldb.Each(ctx, tx, fmt.Sprintf(`SELECT id FROM segment WHERE project_id = $1 LIMIT %d`, purgeSegments), []any{id},
		func(scan func(...any) error) error {
			var segment int64
			err := scan(&segment)
			list = append(list, segment)
			return err
		})
	if err != nil || len(list) == 0 {
		return false, err
	}
	for _, segment := range list {
		if _, err := deleteSegment(ctx, tx, segment); err != nil {
			return false, err
		}
		s.forget(segment)
	}
	return true, tx.Deleted(ctx)
}

// deleteSegment deletes a segment and its columns, and returns how many segments were there: one or none.
func deleteSegment(ctx context.Context, tx *Commit, id int64) (n int64, err error) {
	if n, err = tx.Exec(ctx, `DELETE FROM segment WHERE id = $1`, id); err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM segment_column WHERE segment_id = $1`, id)
	}
	return n, err
}

// dropDeleted drops the columns in which there may be text of events that are deleted. Those with text of payloads that expired, or with what the event of a session
// showed of one that was deleted, go when the segment is built anew, which is due at once: they leave most of their events what they are, and questions need them.
func (s *Store) dropDeleted(ctx context.Context) error {
	list, err := s.segmentStates(ctx)
	if err != nil {
		return err
	}
	var ids []int64
	for _, x := range list {
		if x.gone {
			ids = append(ids, x.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return s.dropColumns(ctx, ids)
}

// rebuild builds a run of neighbours anew. If another server has done so meanwhile, it leaves all as it is.
func (s *Store) rebuild(ctx context.Context, run []segmentState) error {
	project, first, last := run[0].project, run[0].FirstSeq, run[len(run)-1].LastSeq
	events := 0
	for _, x := range run {
		events += x.Events
	}
	var built []builtSegment
	var erased bool
	stale := map[int64][]int64{} // places by the count of changes
	err := s.db.Snapshot(ctx, func(c sqldb.Conn) (err error) {
		err = sqldb.Each(ctx, c, `SELECT seq, changes, erased FROM segment_stale WHERE project_id = $1 AND seq >= $2 AND seq <= $3`,
			[]any{project, first, last}, func(scan func(...any) error) error {
				var seq, changes int64
				var is bool
				err := scan(&seq, &changes, &is)
				stale[changes] = append(stale[changes], seq)
				erased = erased || is
				return err
			})
		if err != nil {
			return err
		}
		built, err = s.buildSegments(ctx, c, `e.seq > $1 AND e.seq <= $2 AND e.project_id = $3`, stepsOf(first-1, last, events, sealRows), project)
		return err
	})
	if err != nil {
		return err
	}
	err = s.changeSegments(ctx, func(ctx context.Context, tx *Commit) error {
		for _, x := range run {
			n, err := deleteSegment(ctx, tx, x.ID)
			if err != nil {
				return err
			}
			if n == 0 {
				return errSealed
			}
		}
		if err := s.insertSegments(ctx, tx, built); err != nil {
			return err
		}
		if erased {
			// Text that is not kept any more was in the columns.
			if err := tx.Deleted(ctx); err != nil {
				return err
			}
		}
		return forgetStale(ctx, tx, project, stale)
	})
	if errors.Is(err, errSealed) {
		return nil
	}
	for _, x := range run {
		s.forget(x.ID)
	}
	return err
}
