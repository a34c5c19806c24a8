package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
)

// listing is what one transaction adds to the catalogue. The usual event adds nothing: its shape
// is known for its day, and note finds that in memory.
type listing struct {
	s     *Store
	fresh []listed
	// asked are events that changed, of which the run may be told by their session.
	asked  map[idKey][]listed
	drafts map[bookKey]*book // what is new in each scope
	rows   map[listingRow]days
}

// listed is an event whose keys may be new in a scope.
type listed struct {
	ev      *event.Event
	key     bookKey
	day     int32
	shape   uint64
	dataset string
}

type listingRow struct {
	bookKey
	typ        int
	name, path string
}

func newListing(s *Store) *listing { return &listing{s: s} }

// note lists the keys of an event that was stored, of a run or of none ("").
func (l *listing) note(h *head, run string) {
	x := listed{ev: h.ev, key: bookKey{h.project, scopeAll}, day: h.day, shape: h.shape, dataset: h.datasetID}
	l.in(x)
	if run == "" || len(run) > catalogueName {
		return
	}
	x.key.scope = scopeRuns
	l.in(x)
	x.key.scope = scopeRun + run
	l.in(x)
}

// made lists the keys of a session event that the store made.
func (l *listing) made(h *head) {
	h.shape = shapeOf(h.ev, h.datasetID)
	l.note(h, h.runID)
}

func (l *listing) in(x listed) {
	if !l.s.catalogue.knows(x.key, query.TypeCode(x.ev.Type), x.ev.Name, x.shape, x.day) {
		l.fresh = append(l.fresh, x)
	}
}

// changed lists the keys of an event that was rewritten, if it has others than before.
func (l *listing) changed(before, after *head) {
	before.shape, after.shape = shapeOf(before.ev, before.datasetID), shapeOf(after.ev, after.datasetID)
	if before.shape == after.shape && before.runID == after.runID && before.day == after.day &&
		before.ev.Type == after.ev.Type && before.ev.Name == after.ev.Name {
		return
	}
	l.note(after, after.runID)
	if after.runID == "" && !after.ev.IsSession() {
		if l.asked == nil {
			l.asked = map[idKey][]listed{}
		}
		k := idKey{after.project, after.ev.SessionID}
		l.asked[k] = append(l.asked[k], listed{ev: after.ev, day: after.day, shape: after.shape, dataset: after.datasetID})
	}
}

// write stores what is new, in one order for all lanes and after all else that a transaction
// locks: nobody who waits for these rows holds others that their writer still needs.
func (l *listing) write(ctx context.Context, tx writeTx) error {
	if err := l.ask(ctx, tx); err != nil || len(l.fresh) == 0 {
		return err
	}
	l.drafts, l.rows = map[bookKey]*book{}, map[listingRow]days{}
	for _, x := range l.fresh {
		ok, err := l.open(ctx, tx, x.key)
		if err != nil {
			return fmt.Errorf("read catalogue: %w", err)
		}
		if ok {
			l.list(&x)
		}
	}
	keys := slices.SortedFunc(maps.Keys(l.rows), func(a, b listingRow) int {
		return cmp.Or(cmp.Compare(a.project, b.project), cmp.Compare(a.scope, b.scope), cmp.Compare(a.typ, b.typ),
			cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path))
	})
	rows := make([][]any, len(keys))
	for i, k := range keys {
		rows[i] = []any{k.project, k.scope, k.typ, k.name, k.path, l.rows[k].first, l.rows[k].last}
	}
	if err := putCatalogue(ctx, tx, rows); err != nil {
		return fmt.Errorf("write catalogue: %w", err)
	}
	return nil
}

func putCatalogue(ctx context.Context, tx writeTx, rows [][]any) error {
	columns := []string{"project_id", "scope", "type", "name", "path", "first_day", "last_day"}
	_, err := putRows(ctx, tx, "catalogue", columns, rows, `ON CONFLICT (project_id, scope, type, name, path) DO UPDATE SET
		first_day = CASE WHEN excluded.first_day < catalogue.first_day THEN excluded.first_day ELSE catalogue.first_day END,
		last_day = CASE WHEN excluded.last_day > catalogue.last_day THEN excluded.last_day ELSE catalogue.last_day END
		WHERE excluded.first_day < catalogue.first_day OR excluded.last_day > catalogue.last_day`)
	return err
}

// publish keeps in memory what is stored now.
func (l *listing) publish() {
	if len(l.drafts) > 0 {
		l.s.catalogue.publish(l.drafts)
	}
}

// ask finds the runs of sessions with events that changed.
func (l *listing) ask(ctx context.Context, tx writeTx) error {
	byProject := map[int64][]uuid.UUID{}
	for k := range l.asked {
		byProject[k.project] = append(byProject[k.project], k.id)
	}
	for project, ids := range byProject {
		for part := range slices.Chunk(ids, 500) {
			cond, args := tx.anyID("session_id", 2, part)
			err := each(ctx, tx, `SELECT session_id, run_id FROM session WHERE project_id = $1 AND run_id IS NOT NULL AND `+cond, append([]any{project}, args...),
				func(scan func(...any) error) error {
					var id uuid.UUID
					var run string
					if err := scan(scanID{&id}, &run); err != nil || len(run) > catalogueName {
						return err
					}
					for _, x := range l.asked[idKey{project, id}] {
						for _, scope := range []string{scopeRuns, scopeRun + run} {
							x.key = bookKey{project, scope}
							l.in(x)
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
func (l *listing) open(ctx context.Context, tx writeTx, k bookKey) (ok bool, err error) {
	if l.drafts[k] != nil {
		return true, nil
	}
	c := l.s.catalogue
	if !c.has(k) {
		if k.limit() == catalogueRunRows && !c.mayOpen(l.s.options.Now()) {
			return false, nil
		}
		b := newBook()
		err := each(ctx, tx, `SELECT type, name, path, first_day, last_day FROM catalogue WHERE project_id = $1 AND scope = $2`, []any{k.project, k.scope},
			func(scan func(...any) error) error {
				var typ int
				var name, path string
				var d days
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
		c.publish(map[bookKey]*book{k: b}) // committed by others, whatever becomes of this transaction
	}
	l.drafts[k] = newBook()
	return true, nil
}

// list adds the keys of one event.
func (l *listing) list(x *listed) {
	c := l.s.catalogue
	c.mu.RLock()
	defer c.mu.RUnlock()
	b := c.books[x.key]
	if b == nil {
		b = newBook() // given up meanwhile
	}
	d := l.drafts[x.key]
	typ, name := query.TypeCode(x.ev.Type), x.ev.Name
	h := hashName(typ, name)
	if len(name) > catalogueName || !b.names[h] && !d.names[h] && len(b.names)+len(d.names) >= catalogueNames {
		name, h = "", hashName(typ, "")
	}
	shape := hashShape(h, x.shape)
	if span, ok := d.shapes[shape]; ok && span.has(x.day) {
		return
	}
	all := true
	for _, path := range keysOf(x.ev) {
		all = l.row(b, d, listingRow{x.key, typ, name, path}, hashPath(h, path), x.day) && all
	}
	if x.dataset != "" && len(x.dataset) <= catalogueName {
		all = l.row(b, d, listingRow{x.key, catalogueDataset, "", x.dataset}, hashPath(hashName(catalogueDataset, ""), x.dataset), x.day) && all
	}
	d.names[h] = true
	if all {
		d.shapes[shape] = days{x.day, x.day}.or(d.shapes, shape)
	}
}

// row adds a row for a day, false if there are too many.
func (l *listing) row(b, d *book, r listingRow, at uint64, day int32) bool {
	before, known := b.rows[at]
	drafted, added := d.rows[at]
	switch {
	case known && before.has(day), added && drafted.has(day):
		return true
	case !known && !added:
		if len(b.rows)+d.added >= r.limit() {
			return false
		}
		d.added++
	}
	d.rows[at] = days{day, day}.or(d.rows, at)
	l.rows[r] = d.rows[at]
	return true
}
