package store

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
)

// annotating is what a transaction does with notes: it stores those that came, finds the event
// of each that is not at its event yet, and composes those events anew.
type annotating struct {
	w  *writing
	tx writeTx
	// dirty are the events to compose, with the rows that came to them and went from them.
	dirty map[idKey]*noteChange
	// waiting and addressed are what this transaction adds to the store's counts.
	waiting, addressed int64
}

type noteChange struct {
	came map[int64]bool // by id of row
	gone []*noteRow
}

// annotate stores the notes of puts and brings events and notes together.
func (w *writing) annotate(ctx context.Context, tx writeTx, puts []*put) error {
	var came []*noteRow
	for _, p := range puts {
		came = append(came, p.notes...)
	}
	if len(came) == 0 && !w.s.noted() && !w.s.addressed() && !slices.ContainsFunc(w.fresh, func(h *head) bool { return h.ev.SpanID != uuid.Nil }) {
		return nil
	}
	a := &annotating{w: w, tx: tx, dirty: map[idKey]*noteChange{}}
	slices.SortFunc(came, compareNoteRows)
	rows, err := a.insert(ctx, came)
	if err != nil {
		return fmt.Errorf("write notes: %w", err)
	}
	waited, err := a.awaited(ctx)
	if err != nil {
		return fmt.Errorf("find waiting notes: %w", err)
	}
	for _, h := range w.fresh {
		w.tellsAnswer(h.project, h.responseID, "")
	}
	if err := a.settle(ctx, append(rows, waited...)); err != nil {
		return err
	}
	if err := a.bound(ctx); err != nil {
		return fmt.Errorf("drop waiting notes: %w", err)
	}
	w.noteCounts.waiting += a.waiting
	w.noteCounts.addressed += a.addressed
	return nil
}

// readdress moves the evaluations of answers for which another event stands since trees were
// corrected. They change nothing that trees go by.
func (w *writing) readdress(ctx context.Context, tx writeTx) error {
	if len(tx.reshape().answered) == 0 || !w.s.addressed() {
		return nil
	}
	a := &annotating{w: w, tx: tx, dirty: map[idKey]*noteChange{}}
	if err := a.settle(ctx, nil); err != nil {
		return err
	}
	w.noteCounts.waiting += a.waiting
	w.noteCounts.addressed += a.addressed
	return nil
}

// settle places rows and composes the events that change by it. An event composed may tell the
// id of its answer by one of its notes, and evaluations of that answer then follow.
func (a *annotating) settle(ctx context.Context, rows []*noteRow) error {
	for {
		if err := a.place(ctx, rows); err != nil {
			return fmt.Errorf("place notes: %w", err)
		}
		addressed, err := a.readdressed(ctx)
		if err != nil {
			return fmt.Errorf("find evaluations: %w", err)
		}
		if err := a.place(ctx, addressed); err != nil {
			return fmt.Errorf("place evaluations: %w", err)
		}
		if len(a.dirty) == 0 {
			return nil
		}
		if err := a.composeAll(ctx); err != nil {
			return err
		}
		clear(a.dirty)
		rows = nil
	}
}

// insert stores rows that are not stored yet, and the anchors of new events whose id is not
// that of their span. It gives the new rows.
func (a *annotating) insert(ctx context.Context, came []*noteRow) (fresh []*noteRow, err error) {
	for _, h := range a.w.fresh {
		if h.ev.SpanID == uuid.Nil || h.ev.SpanID == h.ev.ID {
			continue
		}
		_, err := a.tx.exec(ctx, `INSERT INTO note(project_id, span_id, hash, trace_id, event_id, created_ms, z) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (project_id, span_id, hash) DO UPDATE SET event_id = excluded.event_id`,
			h.project, a.tx.id(h.ev.SpanID), a.tx.id(uuid.Nil), a.tx.id(h.ev.TraceID), a.tx.id(h.ev.ID), a.w.s.options.Now().UnixMilli(), []byte{})
		if err != nil {
			return nil, err
		}
	}
	for _, r := range came {
		var response any
		if r.response != "" {
			response = r.response
		}
		ok, err := one(ctx, a.tx, `INSERT INTO note(project_id, span_id, hash, trace_id, response_id, created_ms, z) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (project_id, span_id, hash) DO NOTHING RETURNING id`,
			[]any{r.project, a.tx.id(r.span), a.tx.id(r.hash), a.tx.id(r.trace), response, r.created, r.z}, &r.id)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue // sent again
		}
		r.event = uuid.Nil // of a try before
		fresh = append(fresh, r)
		a.waiting++
		if r.response != "" {
			a.addressed++
		}
	}
	return fresh, nil
}

// awaited are the rows that waited for events of this transaction.
func (a *annotating) awaited(ctx context.Context) (list []*noteRow, err error) {
	if a.waiting == 0 && !a.w.s.noted() {
		return nil, nil
	}
	spans := map[int64][]uuid.UUID{}
	for _, h := range a.w.fresh {
		if h.ev.TraceID != uuid.Nil {
			spans[h.project] = append(spans[h.project], spanID(h.ev))
		}
	}
	for project, ids := range spans {
		for part := range slices.Chunk(ids, idsPerQuery) {
			cond, args := a.tx.anyID("span_id", 2, part)
			if list, err = a.read(ctx, list, ` project_id = $1 AND `+cond+` AND event_id IS NULL`, append([]any{project}, args...)); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

func (a *annotating) read(ctx context.Context, list []*noteRow, where string, args []any) ([]*noteRow, error) {
	err := each(ctx, a.tx, `SELECT `+noteColumns+` FROM note WHERE`+where, args, func(scan func(...any) error) error {
		r, err := scanNote(scan)
		list = append(list, r)
		return err
	})
	return list, err
}

// spanID is the id under which notes look for an event.
func spanID(e *event.Event) uuid.UUID {
	if e.SpanID != uuid.Nil {
		return e.SpanID
	}
	return e.ID
}

// place finds the event of each row and writes it down.
func (a *annotating) place(ctx context.Context, rows []*noteRow) error {
	byProject := map[int64][]*noteRow{}
	for _, r := range rows {
		byProject[r.project] = append(byProject[r.project], r)
	}
	for _, project := range slices.Sorted(maps.Keys(byProject)) {
		list := byProject[project]
		slices.SortFunc(list, compareNoteRows)
		list = slices.CompactFunc(list, func(a, b *noteRow) bool { return a.id == b.id })
		events, err := a.eventsOf(ctx, project, list)
		if err != nil {
			return err
		}
		answers := &answers{a: a, project: project, sessions: map[uuid.UUID]map[string]answerRef{}}
		for _, r := range list {
			to := events[r.span]
			if r.response != "" {
				if to, err = answers.eventOf(ctx, r, to); err != nil {
					return err
				}
			}
			if err := a.assign(ctx, r, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// assign gives a row its event.
func (a *annotating) assign(ctx context.Context, r *noteRow, to uuid.UUID) error {
	if to == r.event || to == uuid.Nil {
		return nil
	}
	if _, err := a.tx.exec(ctx, `UPDATE note SET event_id = $2 WHERE id = $1`, r.id, a.tx.id(to)); err != nil {
		return err
	}
	if r.event == uuid.Nil {
		a.waiting--
	} else {
		from := a.change(r.project, r.event)
		if !from.came[r.id] {
			from.gone = append(from.gone, r)
		}
		delete(from.came, r.id)
	}
	a.change(r.project, to).came[r.id] = true
	r.event = to
	return nil
}

func (a *annotating) change(project int64, id uuid.UUID) *noteChange {
	k := idKey{project, id}
	c := a.dirty[k]
	if c == nil {
		c = &noteChange{came: map[int64]bool{}}
		a.dirty[k] = c
	}
	return c
}

// eventsOf finds the events of spans: those that other rows found, else those that are stored
// under the span's own id.
func (a *annotating) eventsOf(ctx context.Context, project int64, rows []*noteRow) (map[uuid.UUID]uuid.UUID, error) {
	events := map[uuid.UUID]uuid.UUID{}
	var spans []uuid.UUID
	for _, r := range rows {
		spans = append(spans, r.span)
	}
	slices.SortFunc(spans, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	spans = slices.Compact(spans)
	for part := range slices.Chunk(spans, idsPerQuery) {
		cond, args := a.tx.anyID("span_id", 2, part)
		err := each(ctx, a.tx, `SELECT span_id, event_id FROM note WHERE project_id = $1 AND `+cond+` AND event_id IS NOT NULL AND response_id IS NULL`,
			append([]any{project}, args...), func(scan func(...any) error) error {
				var span, id uuid.UUID
				err := scan(scanID{&span}, scanID{&id})
				events[span] = id
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	var ask []idDays
	for _, span := range spans {
		if _, ok := events[span]; ok {
			continue
		}
		days, far := a.w.s.seen.maybe(project, span, nil)
		if a.w.s.db.lanes() > 1 {
			days, far = nil, false // another process may have stored it
		} else if len(days) == 0 && !far {
			continue
		}
		ask = append(ask, idDays{span, days, far})
	}
	if len(ask) == 0 {
		return events, nil
	}
	found, err := a.tx.findEvents(ctx, project, ask)
	for id := range found {
		events[id] = id
	}
	return events, err
}

// composeAll composes the events whose notes changed, in one order for all lanes.
func (a *annotating) composeAll(ctx context.Context) error {
	keys := slices.SortedFunc(maps.Keys(a.dirty), func(x, y idKey) int {
		if x.project != y.project {
			return int(x.project - y.project)
		}
		return bytes.Compare(x.id[:], y.id[:])
	})
	for _, k := range keys {
		if err := a.compose(ctx, k, a.dirty[k]); err != nil {
			return fmt.Errorf("compose event %s: %w", k.id, err)
		}
	}
	return nil
}

func (a *annotating) compose(ctx context.Context, k idKey, change *noteChange) error {
	s := a.w.s
	old, err := s.find(ctx, a.tx, k.project, k.id)
	if err != nil {
		if fault.Of(err) == fault.NotFound {
			return nil // deleted since; its notes go with it
		}
		return err
	}
	rows, err := a.read(ctx, nil, ` project_id = $1 AND event_id = $2`, []any{k.project, a.tx.id(k.id)})
	if err != nil {
		return err
	}
	before := slices.DeleteFunc(slices.Clone(rows), func(r *noteRow) bool { return change.came[r.id] })
	had, err := s.notesOf(append(before, change.gone...))
	if err != nil {
		return err
	}
	has, err := s.notesOf(rows)
	if err != nil {
		return err
	}
	now := old.Event
	if !now.MergeLogs(had, has) {
		return nil
	}
	a.w.tellsAnswer(k.project, responseOf(&now), responseOf(&old.Event))
	return s.rewrite(ctx, a.tx, k.project, old, &now)
}

// repeatNoted is repeatEvent for an event that was composed with notes: the copies of the span
// meet without them.
func (s *Store) repeatNoted(ctx context.Context, tx writeTx, project int64, e, came *event.Event) (changed bool, err error) {
	if !e.HasLogs() {
		return repeatEvent(e, came), nil
	}
	var rows []*noteRow
	err = each(ctx, tx, `SELECT `+noteColumns+` FROM note WHERE project_id = $1 AND event_id = $2`, []any{project, tx.id(e.ID)}, func(scan func(...any) error) error {
		r, err := scanNote(scan)
		rows = append(rows, r)
		return err
	})
	if err != nil {
		return false, err
	}
	notes, err := s.notesOf(rows)
	if err != nil || !e.WithoutLogs(notes) {
		return err == nil && repeatEvent(e, came), err
	}
	repeatEvent(e, came)
	e.MergeLogs(nil, notes)
	return true, nil
}
