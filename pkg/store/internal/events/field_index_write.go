package events

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// fieldIndexUpdate collects what one transaction adds to the field index. The usual event adds nothing:
// its shape is known for its day, and add finds that in memory.
//
// An event is listed in up to three scopes: the project, all runs, and its own run. In each the rows are (type of event,
// name of event, path of a key), with the first and the last day on which they occurred. A shape is a hash of an
// event's paths: of two events of one shape the second brings nothing new but perhaps a day.
type fieldIndexUpdate struct {
	s     *Store
	fresh []indexedEvent // events of a shape or on a day that their scope does not know
	// byRun are changed events whose run may be that of their session, by session.
	byRun  map[writer.Key][]indexedEvent
	drafts map[scopeKey]*scopeFields // what is new in each scope; memory takes it over after the commit
	rows   map[fieldIndexRow]dayRange
}

// indexedEvent is an event whose keys may be new in a scope.
type indexedEvent struct {
	ev      *event.Event
	key     scopeKey
	day     int32
	shape   uint64
	dataset string
}

type fieldIndexRow struct {
	scopeKey
	typ        int
	name, path string
}

func newFieldIndexUpdate(s *Store) *fieldIndexUpdate { return &fieldIndexUpdate{s: s} }

// add lists the keys of an event that was stored, of a run or of none ("").
func (l *fieldIndexUpdate) add(h *head, run string) {
	x := indexedEvent{ev: h.ev, key: scopeKey{h.project, ScopeAll}, day: h.day, shape: h.shape, dataset: h.datasetID}
	l.addTo(x)
	// A run whose name is too long for the index has no scope. Its events are found under the project's.
	if run == "" || len(run) > fieldIndexName {
		return
	}
	x.key.scope = ScopeRuns
	l.addTo(x)
	x.key.scope = ScopeRun + run
	l.addTo(x)
}

// addImplicitSession lists the keys of a session event that the store made.
func (l *fieldIndexUpdate) addImplicitSession(h *head) {
	h.shape = shapeOf(h.ev, h.datasetID)
	l.add(h, h.runID)
}

func (l *fieldIndexUpdate) addTo(x indexedEvent) {
	if !l.s.fieldIndex.knows(x.key, query.TypeCode(x.ev.Type), x.ev.Name, x.shape, x.day) {
		l.fresh = append(l.fresh, x)
	}
}

// changed lists the keys of an event that was rewritten, if it has others than before.
func (l *fieldIndexUpdate) changed(before, after *head) {
	before.shape, after.shape = shapeOf(before.ev, before.datasetID), shapeOf(after.ev, after.datasetID)
	if before.shape == after.shape && before.runID == after.runID && before.day == after.day &&
		before.ev.Type == after.ev.Type && before.ev.Name == after.ev.Name {
		return
	}
	l.add(after, after.runID)
	// An event without a run of its own belongs to its session's, which only the session's row knows.
	if after.runID == "" && !after.ev.IsSession() {
		if l.byRun == nil {
			l.byRun = map[writer.Key][]indexedEvent{}
		}
		k := writer.Key{Project: after.project, ID: after.ev.SessionID}
		l.byRun[k] = append(l.byRun[k], indexedEvent{ev: after.ev, day: after.day, shape: after.shape, dataset: after.datasetID})
	}
}

// write stores what is new, in one order for all writers and after all else that a transaction
// locks: nobody who waits for these rows holds others that their writer still needs.
//
//  1. Changed events whose session belongs to a run are listed in that run's scope as well (findRuns).
//  2. Each scope is read from the database, if it is not in memory (open).
//  3. Each event adds rows that its scope lacks, within the scope's bounds (list).
//  4. The rows are written. A row that another writer wrote meanwhile has its days widened.
func (l *fieldIndexUpdate) write(ctx context.Context, tx *Commit) error {
	if err := l.findRuns(ctx, tx); err != nil || len(l.fresh) == 0 {
		return err
	}
	l.drafts, l.rows = map[scopeKey]*scopeFields{}, map[fieldIndexRow]dayRange{}
	for _, x := range l.fresh {
		ok, err := l.open(ctx, tx, x.key)
		if err != nil {
			return fmt.Errorf("read field index: %w", err)
		}
		if ok {
			l.list(&x)
		}
	}
	keys := slices.SortedFunc(maps.Keys(l.rows), func(a, b fieldIndexRow) int {
		return cmp.Or(cmp.Compare(a.project, b.project), cmp.Compare(a.scope, b.scope), cmp.Compare(a.typ, b.typ),
			cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path))
	})
	rows := make([][]any, len(keys))
	for i, k := range keys {
		rows[i] = []any{k.project, k.scope, k.typ, k.name, k.path, l.rows[k].first, l.rows[k].last}
	}
	if err := putFieldIndex(ctx, tx, rows); err != nil {
		return fmt.Errorf("write field index: %w", err)
	}
	return nil
}

func putFieldIndex(ctx context.Context, tx *Commit, rows [][]any) error {
	// The condition at the end leaves a row alone that covers the days already: an update for nothing would lock it
	// and write it to the log, for keys that every event of a day has.
	columns := []string{"project_id", "scope", "type", "name", "path", "first_day", "last_day"}
	_, err := PutRows(ctx, tx, "field_index", columns, rows, `ON CONFLICT (project_id, scope, type, name, path) DO UPDATE SET
		first_day = CASE WHEN excluded.first_day < field_index.first_day THEN excluded.first_day ELSE field_index.first_day END,
		last_day = CASE WHEN excluded.last_day > field_index.last_day THEN excluded.last_day ELSE field_index.last_day END
		WHERE excluded.first_day < field_index.first_day OR excluded.last_day > field_index.last_day`)
	return err
}

// publish keeps in memory what is stored now.
func (l *fieldIndexUpdate) publish() {
	if len(l.drafts) > 0 {
		l.s.fieldIndex.publish(l.drafts)
	}
}

// findRuns finds the runs of sessions with events that changed.
func (l *fieldIndexUpdate) findRuns(ctx context.Context, tx *Commit) error {
	byProject := map[int64][]uuid.UUID{}
	for k := range l.byRun {
		byProject[k.Project] = append(byProject[k.Project], k.ID)
	}
	for project, ids := range byProject {
		for part := range slices.Chunk(ids, 500) {
			cond, args := tx.AnyID("session_id", 2, part)
			err := sqldb.Each(ctx, tx, `SELECT session_id, run_id
				FROM session
				WHERE project_id = $1 AND run_id IS NOT NULL AND `+cond, append([]any{project}, args...),
				func(scan func(...any) error) error {
					var id uuid.UUID
					var run string
					if err := scan(sqldb.ScanID(&id), &run); err != nil || len(run) > fieldIndexName {
						return err
					}
					for _, x := range l.byRun[writer.Key{Project: project, ID: id}] {
						for _, scope := range []string{ScopeRuns, ScopeRun + run} {
							x.key = scopeKey{project, scope}
							l.addTo(x)
						}
					}
					return nil
				})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// open makes a scope ready for more; ok is false if no more runs are taken.
func (l *fieldIndexUpdate) open(ctx context.Context, tx *Commit, k scopeKey) (ok bool, err error) {
	if l.drafts[k] != nil {
		return true, nil
	}
	c := l.s.fieldIndex
	// Memory may have given the scope up since add asked for it.
	if !c.has(k) {
		// Each new run reads its scope. allowRun bounds how many do so in an hour, or a sender of random run ids
		// would make every commit read.
		if k.limit() == fieldIndexRunRows && !c.allowRun(l.s.options.Now()) {
			return false, nil
		}
		b := newScopeFields()
		err := sqldb.Each(ctx, tx, `SELECT type, name, path, first_day, last_day
			FROM field_index
			WHERE project_id = $1 AND scope = $2`, []any{k.project, k.scope},
			func(scan func(...any) error) error {
				var typ int
				var name, path string
				var d dayRange
				if err := scan(&typ, &name, &path, &d.first, &d.last); err != nil {
					return err
				}
				h := hashName(typ, name)
				b.rows[hashPath(h, path)] = d
				b.names[h] = true
				return nil
			})
		if err != nil {
			return false, err
		}
		c.publish(map[scopeKey]*scopeFields{k: b}) // committed by others, whatever becomes of this transaction
	}
	l.drafts[k] = newScopeFields()
	return true, nil
}

// list adds the keys of one event. Names beyond the bound of a scope are listed under the empty name, so that their keys are
// still found. The shape is remembered only if all of its rows fit: else the next event of this shape tries again.
func (l *fieldIndexUpdate) list(x *indexedEvent) {
	c := l.s.fieldIndex
	c.mu.RLock()
	defer c.mu.RUnlock()
	b := c.scopes[x.key]
	if b == nil {
		b = newScopeFields() // given up meanwhile
	}
	d := l.drafts[x.key]
	typ, name := query.TypeCode(x.ev.Type), x.ev.Name
	h := hashName(typ, name)
	if len(name) > fieldIndexName || !b.names[h] && !d.names[h] && len(b.names)+len(d.names) >= fieldIndexNames {
		name, h = "", hashName(typ, "")
	}
	shape := hashShape(h, x.shape)
	if span, ok := d.shapes[shape]; ok && span.has(x.day) {
		return
	}
	all := true
	// Bounded by fieldIndexPaths and fieldIndexDepth, whatever a sender puts into an event.
	for _, path := range keysOf(x.ev) {
		all = l.row(b, d, fieldIndexRow{x.key, typ, name, path}, hashPath(h, path), x.day) && all
	}
	if x.dataset != "" && len(x.dataset) <= fieldIndexName {
		hash := hashPath(hashName(FieldIndexDataset, ""), x.dataset)
		all = l.row(b, d, fieldIndexRow{x.key, FieldIndexDataset, "", x.dataset}, hash, x.day) && all
	}
	d.names[h] = true
	if all {
		d.shapes[shape] = dayRange{x.day, x.day}.or(d.shapes, shape)
	}
}

// row adds a row for a day, false if there are too many. at is the hash of r, by which memory knows it; b is what the scope
// has, and d what this transaction adds.
func (l *fieldIndexUpdate) row(b, d *scopeFields, r fieldIndexRow, at uint64, day int32) bool {
	before, known := b.rows[at]
	drafted, added := d.rows[at]
	switch {
	case known && before.has(day), added && drafted.has(day):
		return true
	case !known && !added:
		// Keys beyond the bound are not listed, and are still found by a filter that names them.
		if len(b.rows)+d.added >= r.limit() {
			return false
		}
		d.added++
	}
	d.rows[at] = dayRange{day, day}.or(d.rows, at)
	l.rows[r] = d.rows[at]
	return true
}

// ForgetFields drops from memory what is listed of a scope.
func (s *Store) ForgetFields(project int64, scope string) { s.fieldIndex.forget(project, &scope) }
