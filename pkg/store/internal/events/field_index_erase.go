package events

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Names of keys, events and datasets leave the field index after the last event that had them. Storing and
// deleting events costs nothing for it: a deletion only asks for a pass over its project, by a row of
// table deletion. A pass reads what is listed, then events, newest first, until each listed name was
// seen, or all events were; what was not seen is deleted. Events that were stored meanwhile may have
// counted on a row that is gone now; a second look lists their keys anew. What a process leaves undone,
// the next one begins anew.

const (
	// DeletedNames is the kind of the rows of table deletion that ask for a pass, or say that one is
	// under way.
	DeletedNames  = "names"
	namesAsked    = "asked"
	namesRunning  = "running"  // since a process began
	namesChecking = "checking" // names are gone: what servers remember of the field index is to be read anew

	// namesEvents is how many events a pass reads at once, before a rest.
	namesEvents = 200
	// namesRows bounds the rows of the field index that a pass has in memory; for more, it reads the events again.
	namesRows = 50_000
	// namesEvery is how often field indexes are looked at without being asked to.
	namesEvery = 10 * time.Minute
	// RefreshEvery is how soon what another server changed is seen.
	RefreshEvery = 3 * time.Second
	// namesSlice is how many rows one transaction deletes.
	namesSlice = 100
)

// eraseNamesLater asks for a pass over a project's field index, at the end of a transaction that deletes
// events. The row is locked until the transaction ends: a pass that takes it up sees what is deleted.
func eraseNamesLater(ctx context.Context, tx *Commit, project int64) error {
	_, err := PutRows(ctx, tx, "deletion", []string{"project_id", "kind", "id"}, [][]any{{project, DeletedNames, namesAsked}},
		"ON CONFLICT (project_id, kind, id) DO UPDATE SET id = excluded.id")
	return err
}

func (s *Store) kickNames() {
	select {
	case s.namesKick <- struct{}{}:
	default:
	}
}

// erasingNames removes names that no event has any more from the field indexes until ctx ends.
func (s *Store) erasingNames(ctx context.Context) {
	for {
		start := time.Now()
		var waited time.Duration
		mine, err := s.underLease(ctx, namesLease, func() (err error) {
			waited, err = s.eraseNames(sqldb.Patiently(ctx))
			return err
		})
		if err == nil && !mine { // the one that has it may not know of a pass that was asked for here
			if !sleep(ctx, leaseRenew) {
				return
			}
			continue
		}
		// A pass may read all events of a project. The rest after it, ten times as long up to ten minutes, leaves
		// the machine to others.
		pause := min(erasePart*(time.Since(start)-waited), maxErasePause)
		if err != nil && ctx.Err() == nil {
			s.options.Logger.Warn("erase names from the field index", zap.Error(err))
			pause = max(pause, eraseAgain)
		}
		if !sleep(ctx, pause) {
			return
		}
		if err != nil {
			continue
		}
		look := time.NewTimer(namesEvery)
		select {
		case <-ctx.Done():
		case <-s.namesKick:
		case <-look.C:
		}
		look.Stop()
	}
}

// sleep waits; it reports false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wait.C:
		return ctx.Err() == nil
	}
}

// eraseNames makes all passes that were asked for. waited is how long it waited for other servers.
func (s *Store) eraseNames(ctx context.Context) (waited time.Duration, err error) {
	begun := map[int64]bool{} // by project: by a process that ended
	err = sqldb.Each(ctx, s.db, `SELECT project_id, id
		FROM deletion
		WHERE kind = $1`, []any{DeletedNames}, func(scan func(...any) error) error {
		var project int64
		var state string
		err := scan(&project, &state)
		// A row other than asked is of a pass that did not come to its end. Which names it had deleted is not known.
		begun[project] = begun[project] || state != namesAsked
		return err
	})
	for _, project := range slices.Sorted(maps.Keys(begun)) {
		if err != nil {
			break
		}
		var w time.Duration
		w, err = s.eraseNamesOf(ctx, project, begun[project])
		waited += w
	}
	return waited, err
}

// eraseNamesOf makes a pass over one project's field index. again: one was broken off.
//
//  1. The request for a pass is taken off, and a row says that one is running. What is deleted from now on asks for
//     another one.
//  2. The index is read in parts that fit into memory. Of each part the names that some event has are struck, and those
//     that are left are deleted.
//  3. If any were deleted, an event that came in between may have relied on one of them being listed: all servers forget
//     what they know of the index (ForgetErased; the others look every RefreshEvery), and the keys of events
//     that have one of the deleted names are listed anew.
//  4. The rows of this pass are taken off.
func (s *Store) eraseNamesOf(ctx context.Context, project int64, again bool) (waited time.Duration, err error) {
	// state and enter each make one step of a transaction, and do runs several steps as one: a row that says how
	// far the pass is changes together with what it speaks of, so that a crash leaves a row that is true.
	state := func(stmt string, args ...any) func(context.Context, *Commit) error {
		return func(ctx context.Context, tx *Commit) error {
			_, err := tx.Exec(ctx, stmt, append([]any{project, DeletedNames}, args...)...)
			return err
		}
	}
	enter := func(name string) func(context.Context, *Commit) error {
		return func(ctx context.Context, tx *Commit) error {
			_, err := InsertRows(ctx, tx, "deletion", []string{"project_id", "kind", "id"}, [][]any{{project, DeletedNames, name}})
			return err
		}
	}
	do := func(steps ...func(context.Context, *Commit) error) error {
		return s.Change(ctx, project, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
			for _, step := range steps {
				if err := step(ctx, tx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	// What is deleted from now on asks for another pass.
	if err := do(state(`DELETE FROM deletion
		WHERE project_id = $1 AND kind = $2 AND id = $3`, namesAsked), enter(namesRunning)); err != nil {
		return 0, err
	}
	// gone are the names that this pass has deleted, for step 3.
	gone := newIndexedNames()
	for after, more := (fieldIndexRow{}), true; more; {
		var rows *indexedNames
		if rows, after, more, err = s.listedNames(ctx, project, after); err != nil {
			return 0, err
		}
		// Between strike and deleteNames an event may come that has one of the names. It does not list the name
		// again, since memory says that it is listed. Step 3 is for such events.
		if err := s.strike(ctx, project, rows); err != nil {
			return 0, err
		}
		if err := s.deleteNames(ctx, project, rows); err != nil {
			return 0, err
		}
		if gone.n+rows.n > namesRows {
			gone, again = newIndexedNames(), true // too many to remember: all events are looked at
		} else {
			gone.add(rows)
		}
	}
	if gone.n > 0 || again {
		if err := do(enter(namesChecking)); err != nil {
			return 0, err
		}
		if !s.db.Exclusive() {
			// Others write, too. Each forgets what it knows when it sees the row.
			start := time.Now()
			// Another server may have looked just before the row was there, and its look may take a while: two periods
			// cover both. What it stores from then on lists its keys anew; what it stored before is read by relist.
			if !sleep(ctx, 2*RefreshEvery) {
				return time.Since(start), ctx.Err()
			}
			waited = time.Since(start)
		}
		s.fieldIndex.forget(project, nil)
		if err := s.relist(ctx, project, gone, again); err != nil {
			return waited, err
		}
	}
	// Only the rows of this pass. A request that came since stands in a row of its own, and begins the next pass.
	return waited, do(state(`DELETE FROM deletion
		WHERE project_id = $1 AND kind = $2 AND id <> $3`, namesAsked), func(ctx context.Context, tx *Commit) error { return tx.Deleted(ctx) })
}

// ForgetErased forgets what this server knows of field indexes from which names were deleted, maybe by
// another one.
func (s *Store) ForgetErased(ctx context.Context) error {
	return sqldb.Each(ctx, s.db, `SELECT project_id
		FROM deletion
		WHERE kind = $1 AND id = $2`, []any{DeletedNames, namesChecking}, func(scan func(...any) error) error {
		var project int64
		err := scan(&project)
		s.fieldIndex.forget(project, nil)
		return err
	})
}

// listedNames reads rows of a field index that follow one.
func (s *Store) listedNames(ctx context.Context, project int64, after fieldIndexRow) (
	rows *indexedNames, last fieldIndexRow, more bool, err error) {
	rows, last = newIndexedNames(), after
	n := 0
	args := []any{project, after.scope, after.typ, after.name, after.path, namesRows}
	err = sqldb.Each(ctx, s.db, `SELECT scope, type, name, path
		FROM field_index
		WHERE project_id = $1 AND (scope, type, name, path) > ($2, $3, $4, $5)
		ORDER BY scope, type, name, path LIMIT $6`, args, func(scan func(...any) error) error {
		if err := scan(&last.scope, &last.typ, &last.name, &last.path); err != nil {
			return err
		}
		n++
		rows.put(nameKind{last.scope, last.typ, last.name}, last.path)
		return nil
	})
	return rows, last, n == namesRows, err
}

// strike removes the names that events have. It stops as soon as none is left, which mostly takes a few recent events: names
// that no event has any more are the exception, and only then all events are read.
func (s *Store) strike(ctx context.Context, project int64, rows *indexedNames) error {
	if rows.n == 0 {
		return nil
	}
	return s.scanEvents(ctx, project, func(list []*scannedEvent) (bool, error) {
		for _, e := range list {
			if !rows.mayHave(e) {
				continue
			}
			if err := s.payload(ctx, e.row); err != nil {
				return false, err
			}
			rows.each(e, rows.remove)
		}
		return rows.n > 0, nil
	})
}

func (s *Store) deleteNames(ctx context.Context, project int64, rows *indexedNames) error {
	var list []fieldIndexRow
	for k, paths := range rows.paths {
		for path := range paths {
			list = append(list, fieldIndexRow{scopeKey{project, k.scope}, k.typ, k.name, path})
		}
	}
	for slice := range slices.Chunk(list, namesSlice) {
		start := time.Now()
		err := s.Change(ctx, project, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
			for _, r := range slice {
				if _, err := tx.Exec(ctx, `DELETE FROM field_index
					WHERE project_id = $1 AND scope = $2 AND type = $3 AND name = $4 AND path = $5`,
					project, r.scope, r.typ, r.name, r.path); err != nil {
					return err
				}
			}
			s.fieldIndex.forget(project, nil)
			return tx.Deleted(ctx)
		})
		s.fieldIndex.forget(project, nil)
		if err != nil {
			return err
		}
		s.Rest(ctx, start)
	}
	return nil
}

// relist lists the keys of events that have one of the names, or of all events. An event that the index knows already costs
// no transaction; the others are looked at again in theirs, since they may be deleted by then.
func (s *Store) relist(ctx context.Context, project int64, gone *indexedNames, all bool) error {
	return s.scanEvents(ctx, project, func(list []*scannedEvent) (bool, error) {
		var unlisted []*scannedEvent
		for _, e := range list {
			if !all && !gone.mayHave(e) {
				continue
			}
			if err := s.payload(ctx, e.row); err != nil {
				return false, err
			}
			has := all
			if !all {
				gone.each(e, func(nameKind, string) { has = true })
			}
			if !has {
				continue
			}
			l := newFieldIndexUpdate(s)
			if e.list(l); len(l.fresh) > 0 {
				unlisted = append(unlisted, e)
			}
		}
		if len(unlisted) == 0 {
			return true, nil
		}
		return true, s.Change(ctx, project, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
			for _, e := range unlisted {
				// Not if it was deleted since it was read.
				_, err := s.loadHead(ctx, tx, project, e.row.Day, e.row.ID)
				if fault.IsNotFound(err) {
					continue
				}
				if err != nil {
					return err
				}
				e.list(tx.fields)
			}
			return nil
		})
	})
}

// scannedEvent is an event with the runs to which it belongs.
type scannedEvent struct {
	row    *Stored
	runs   []string
	scopes []string // of the field index
}

func (e *scannedEvent) list(l *fieldIndexUpdate) {
	h := e.row.asHead()
	h.shape = shapeOf(h.ev, h.datasetID)
	l.add(h, "")
	for _, run := range e.runs {
		l.add(h, run)
	}
}

// scanEvents calls f for the events of a project, newest first, without their payload, as long as f says so.
func (s *Store) scanEvents(ctx context.Context, project int64, f func([]*scannedEvent) (more bool, err error)) error {
	// The place in the order goes from one read to the next, and no read stays open between two: a pass over a large
	// project may take hours, and an open read would keep SQLite from cutting its log and PostgreSQL from its vacuum.
	at, id := math.MaxFloat64, uuid.Nil
	for {
		start := time.Now()
		var list []*scannedEvent
		var sessions []uuid.UUID
		err := sqldb.Each(ctx, s.db, `SELECT `+s.Columns()+`
			FROM `+s.Dialect.From()+`
			WHERE e.project_id = $1 AND e.start_ms <= $2 AND (e.start_ms < $2 OR e.event_id > $3)
			ORDER BY e.start_ms DESC, e.event_id LIMIT $4`, []any{project, at, s.db.ID(id), namesEvents}, func(scan func(...any) error) error {
			r, err := ScanHead(scan)
			if err == nil {
				list, sessions = append(list, &scannedEvent{row: r}), append(sessions, r.SessionID)
			}
			return err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		runs := map[uuid.UUID]string{}
		// An event belongs to the run that it names and to that of its session, which may be two.
		slices.SortFunc(sessions, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		cond, args := s.db.AnyID("session_id", 2, slices.Compact(sessions))
		err = sqldb.Each(ctx, s.db, `SELECT session_id, run_id
			FROM session
			WHERE project_id = $1 AND run_id IS NOT NULL AND `+cond, append([]any{project}, args...),
			func(scan func(...any) error) error {
				var session uuid.UUID
				var run string
				err := scan(sqldb.ScanID(&session), &run)
				runs[session] = run
				return err
			})
		if err != nil {
			return err
		}
		for _, e := range list {
			for _, run := range []string{e.row.runID, runs[e.row.SessionID]} {
				if run != "" && !slices.Contains(e.runs, run) {
					e.runs = append(e.runs, run)
				}
			}
			e.scopes = []string{ScopeAll}
			if e.runs != nil {
				e.scopes = append(e.scopes, ScopeRuns)
			}
			for _, run := range e.runs {
				e.scopes = append(e.scopes, ScopeRun+run)
			}
		}
		last := list[len(list)-1].row
		at, id = last.Start, last.ID
		more, err := f(list)
		if err != nil || !more || len(list) < namesEvents {
			return err
		}
		// Newer events than the first ones read are not seen by this scan. They list their own keys.
		if s.Rest(ctx, start); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
