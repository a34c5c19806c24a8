package events

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// logMerge does the work of a transaction on log parts: it stores those that came, finds the event
// of each that is not at its event yet, and composes those events anew.
//
// Some instrumentations send the prompts and answers of a model call as log records that name the call's span, in a
// request of their own, before or after the span. A log part is what such a record contributes to the event; it is
// kept as a row of log_part, so that the event can be composed anew from the span and all of its parts, in the same way
// whatever came first. A row without an event waits for it, for PendingTTL.
type logMerge struct {
	w  *writing
	tx *Commit
	// dirty are the events to compose, with the rows that came to them and went from them.
	dirty map[writer.Key]*logChange
	// waiting and withResponse are what this transaction adds to the store's counts of rows that wait, and of rows that
	// name a response: while both are 0, most transactions need not look for log parts at all.
	waiting, withResponse int64
}

// logChange is what a transaction changed in the log parts of one event. The event holds what the others gave it, and what
// those that went had given it.
type logChange struct {
	came map[int64]bool // by id of row
	gone []*logRow
}

// mergeLogs stores the log parts of write batches, and merges log parts into their events: new ones into events that are
// stored, waiting ones into events that have just come. It comes last in the transaction, when each event's session and
// place in the tree are known.
func (w *writing) mergeLogs(ctx context.Context, tx *Commit, batches []*writeBatch) error {
	var came []*logRow
	for _, p := range batches {
		came = append(came, p.logs...)
	}
	// Nothing came, nothing waits and nothing may have to change: so it is where nobody sends logs.
	hasSpanID := func(h *head) bool { return h.spanID() != uuid.Nil }
	if len(came) == 0 && !w.s.logsWaiting() && !w.s.logsNameResponses() && !slices.ContainsFunc(w.fresh, hasSpanID) {
		return nil
	}
	a := &logMerge{w: w, tx: tx, dirty: map[writer.Key]*logChange{}}
	slices.SortFunc(came, compareLogRows)
	// Rows are stored even if their event is in the same transaction: a part that comes later must find them, to
	// compose the event of all of them.
	rows, err := a.insert(ctx, came)
	if err != nil {
		return fmt.Errorf("write log parts: %w", err)
	}
	waited, err := a.awaited(ctx)
	if err != nil {
		return fmt.Errorf("find waiting log parts: %w", err)
	}
	for _, h := range w.fresh {
		w.noteResponse(h.project, h.responseID, "")
	}
	if err := a.apply(ctx, append(rows, waited...)); err != nil {
		return err
	}
	if err := a.bound(ctx); err != nil {
		return fmt.Errorf("drop waiting log parts: %w", err)
	}
	w.logCounts.waiting += a.waiting
	w.logCounts.withResponse += a.withResponse
	return nil
}

// reassignResults moves evaluation results to other events where the correction of trees changed
// which event a response belongs to. They change nothing that trees go by.
func (w *writing) reassignResults(ctx context.Context, tx *Commit) error {
	if len(tx.trees.responses) == 0 || !w.s.logsNameResponses() {
		return nil
	}
	a := &logMerge{w: w, tx: tx, dirty: map[writer.Key]*logChange{}}
	if err := a.apply(ctx, nil); err != nil {
		return err
	}
	w.logCounts.waiting += a.waiting
	w.logCounts.withResponse += a.withResponse
	return nil
}

// apply places rows and composes the events that change by it. A composed event may get the
// id of its response from one of its log parts, and evaluations of that response then follow.
func (a *logMerge) apply(ctx context.Context, rows []*logRow) error {
	// It ends: a round goes on only if a row changed its event, and a row that names a response follows the
	// response ids that composing has just set. Composing the same parts again sets nothing new.
	for {
		if err := a.place(ctx, rows); err != nil {
			return fmt.Errorf("place log parts: %w", err)
		}
		addressed, err := a.rowsToReassign(ctx)
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
// that of their span. It returns the new rows.
//
// An anchor is a row of log_part with the hash zero and without data: it leads from the id that follows from trace and
// span id, which is all that a log record knows, to the event's own id. A row is told by its hash, so that a request
// that is sent again adds nothing.
func (a *logMerge) insert(ctx context.Context, came []*logRow) (fresh []*logRow, err error) {
	for _, h := range a.w.fresh {
		if h.spanID() == uuid.Nil || h.spanID() == h.ev.ID {
			continue
		}
		_, err := a.tx.Exec(ctx, `INSERT INTO log_part(project_id, span_id, hash, trace_id, event_id, created_ms, data)
			VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (project_id, span_id, hash) DO UPDATE SET event_id = excluded.event_id`,
			h.project, a.tx.ID(h.spanID()), a.tx.ID(uuid.Nil), a.tx.ID(h.traceID()), a.tx.ID(h.ev.ID), a.w.s.options.Now().UnixMilli(), []byte{})
		if err != nil {
			return nil, err
		}
		a.tx.Counts.Stored(h.project, rowBytes)
	}
	// One statement for each row, since RETURNING must tell which of them are new. A request seldom has more than one for a span.
	for _, r := range came {
		var response any
		if r.response != "" {
			response = r.response
		}
		ok, err := sqldb.One(ctx, a.tx, `INSERT INTO log_part(project_id, span_id, hash, trace_id, response_id, created_ms, data)
			VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (project_id, span_id, hash) DO NOTHING RETURNING id`,
			[]any{r.project, a.tx.ID(r.span), a.tx.ID(r.hash), a.tx.ID(r.trace), response, r.created, r.z}, &r.id)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue // sent again
		}
		a.tx.Counts.Stored(r.project, rowBytes+int64(len(r.z)))
		r.event = uuid.Nil // of a try before
		fresh = append(fresh, r)
		a.waiting++
		if r.response != "" {
			a.withResponse++
		}
	}
	return fresh, nil
}

// awaited returns the rows that waited for events of this transaction.
func (a *logMerge) awaited(ctx context.Context) (list []*logRow, err error) {
	// On SQLite the count is exact, and 0 spares the query for each commit where nobody sends logs.
	if a.waiting == 0 && !a.w.s.logsWaiting() {
		return nil, nil
	}
	spans := map[int64][]uuid.UUID{}
	for _, h := range a.w.fresh {
		if h.traceID() != uuid.Nil {
			spans[h.project] = append(spans[h.project], anchorOf(h.in))
		}
	}
	for project, ids := range spans {
		for part := range slices.Chunk(ids, sqldb.IDsPerQuery) {
			cond, args := a.tx.AnyID("span_id", 2, part)
			if list, err = a.read(ctx, list, ` project_id = $1 AND `+cond+` AND event_id IS NULL`, append([]any{project}, args...)); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

func (a *logMerge) read(ctx context.Context, list []*logRow, where string, args []any) ([]*logRow, error) {
	err := sqldb.Each(ctx, a.tx, `SELECT `+logColumns+` FROM log_part WHERE`+where, args, func(scan func(...any) error) error {
		r, err := scanLogRow(scan)
		list = append(list, r)
		return err
	})
	return list, err
}

// anchorOf returns the id under which log parts look for an event.
func anchorOf(e *event.Incoming) uuid.UUID {
	if e.SpanID != uuid.Nil {
		return e.SpanID
	}
	return e.ID
}

// place finds the event of each row and writes it down. A row that names a response belongs to the event that has the
// response, if there is one in the session of the row's span; any other belongs to the event of its span.
func (a *logMerge) place(ctx context.Context, rows []*logRow) error {
	byProject := map[int64][]*logRow{}
	for _, r := range rows {
		byProject[r.project] = append(byProject[r.project], r)
	}
	for _, project := range slices.Sorted(maps.Keys(byProject)) {
		list := byProject[project]
		slices.SortFunc(list, compareLogRows)
		// A row may be listed twice, as one that came and as one that waited for an event of this transaction.
		list = slices.CompactFunc(list, func(a, b *logRow) bool { return a.id == b.id })
		events, err := a.eventsOf(ctx, project, list)
		if err != nil {
			return err
		}
		responses := &responseIndex{a: a, project: project, sessions: map[uuid.UUID]map[string]responseRef{}}
		for _, r := range list {
			to := events[r.span]
			if r.response != "" {
				if to, err = responses.eventOf(ctx, r, to); err != nil {
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

// assign sets the event of a row.
func (a *logMerge) assign(ctx context.Context, r *logRow, to uuid.UUID) error {
	// A row is never taken from its event to wait again: if the event that it named is deleted, it goes with it.
	if to == r.event || to == uuid.Nil {
		return nil
	}
	if _, err := a.tx.Exec(ctx, `UPDATE log_part SET event_id = $2 WHERE id = $1`, r.id, a.tx.ID(to)); err != nil {
		return err
	}
	if r.event == uuid.Nil {
		a.waiting--
	} else {
		from := a.change(r.project, r.event)
		// A row that came to this event in the same transaction has given it nothing yet, so there is nothing to take off.
		if !from.came[r.id] {
			from.gone = append(from.gone, r)
		}
		delete(from.came, r.id)
	}
	a.change(r.project, to).came[r.id] = true
	r.event = to
	return nil
}

func (a *logMerge) change(project int64, id uuid.UUID) *logChange {
	k := writer.Key{Project: project, ID: id}
	c := a.dirty[k]
	if c == nil {
		c = &logChange{came: map[int64]bool{}}
		a.dirty[k] = c
	}
	return c
}

// eventsOf returns the events of spans: those that other rows of the span have found (anchors among them), or else those
// that are stored under the span's own id.
func (a *logMerge) eventsOf(ctx context.Context, project int64, rows []*logRow) (map[uuid.UUID]uuid.UUID, error) {
	events := map[uuid.UUID]uuid.UUID{}
	var spans []uuid.UUID
	for _, r := range rows {
		spans = append(spans, r.span)
	}
	slices.SortFunc(spans, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	spans = slices.Compact(spans)
	for part := range slices.Chunk(spans, sqldb.IDsPerQuery) {
		cond, args := a.tx.AnyID("span_id", 2, part)
		err := sqldb.Each(ctx, a.tx, `SELECT span_id, event_id
			FROM log_part
			WHERE project_id = $1 AND `+cond+` AND event_id IS NOT NULL AND response_id IS NULL`,
			append([]any{project}, args...), func(scan func(...any) error) error {
				var span, id uuid.UUID
				err := scan(sqldb.ScanID(&span), sqldb.ScanID(&id))
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
		days, far := a.w.s.idFilter.mayContain(project, span, nil)
		if !a.w.s.db.Exclusive() {
			days, far = nil, false // another process may have stored it
		} else if len(days) == 0 && !far {
			continue
		}
		ask = append(ask, idDays{span, days, far})
	}
	if len(ask) == 0 {
		return events, nil
	}
	// Events of this transaction are found like all others: their rows and ids were written before log parts are merged.
	found, err := a.tx.findEvents(ctx, project, ask)
	for id := range found {
		events[id] = id
	}
	return events, err
}

// composeAll composes the events whose log parts changed, in one order for all writers.
func (a *logMerge) composeAll(ctx context.Context) error {
	keys := slices.SortedFunc(maps.Keys(a.dirty), func(x, y writer.Key) int {
		if x.Project != y.Project {
			return int(x.Project - y.Project)
		}
		return bytes.Compare(x.ID[:], y.ID[:])
	})
	for _, k := range keys {
		if err := a.compose(ctx, k, a.dirty[k]); err != nil {
			return fmt.Errorf("compose event %s: %w", k.ID, err)
		}
	}
	return nil
}

// earliestLogs is the end of a query for the rows of an event, each of which has one log part at least.
var earliestLogs = fmt.Sprintf(` ORDER BY created_ms, id LIMIT %d`, event.MaxLogParts)

// compose composes an event anew: it takes off what the rows that it had until now gave it, and merges the rows that it
// has now. What an update or the span itself gave is not touched (event.MergeLogs).
func (a *logMerge) compose(ctx context.Context, k writer.Key, change *logChange) error {
	s := a.w.s
	old, err := s.Find(ctx, a.tx, k.Project, k.ID)
	if err != nil {
		if fault.IsNotFound(err) {
			return nil // deleted since; its log parts go with it
		}
		return err
	}
	if old.HasLogs() && old.Bytes() > event.MaxLogBytes {
		return nil // it has all that it takes
	}
	rows, err := a.read(ctx, nil, ` project_id = $1 AND event_id = $2`+earliestLogs, []any{k.Project, a.tx.ID(k.ID)})
	if err != nil {
		return err
	}
	// What the event holds now is of the rows that it had before this transaction, those that have left it included.
	before := slices.DeleteFunc(slices.Clone(rows), func(r *logRow) bool { return change.came[r.id] })
	had, err := s.logPartsOf(append(before, change.gone...))
	if err != nil {
		return err
	}
	has, err := s.logPartsOf(rows)
	if err != nil {
		return err
	}
	now := old.Event
	// An event that would stay the same is not rewritten: its version, its chunk and its session's row stay as they are.
	if !now.MergeLogs(had, has) {
		return nil
	}
	a.w.noteResponse(k.Project, responseOf(&now), responseOf(&old.Event))
	return s.Rewrite(ctx, a.tx, k.Project, old, &now)
}

// repeatWithLogs is event.Repeat for an event that was composed with log parts: the copies of the span
// meet without them, and the parts are merged again. Else a part's text would stand in the way of the
// same field of the span's other copy.
func (s *Store) repeatWithLogs(
	ctx context.Context,
	tx *Commit,
	project int64,
	e *event.Event,
	came *event.Incoming,
) (changed bool, err error) {
	if !e.HasLogs() {
		return e.Repeat(came), nil
	}
	var rows []*logRow
	ofEvent := `SELECT ` + logColumns + ` FROM log_part WHERE project_id = $1 AND event_id = $2` + earliestLogs
	err = sqldb.Each(ctx, tx, ofEvent, []any{project, tx.ID(e.ID)}, func(scan func(...any) error) error {
		r, err := scanLogRow(scan)
		rows = append(rows, r)
		return err
	})
	if err != nil {
		return false, err
	}
	parts, err := s.logPartsOf(rows)
	if err != nil || !e.WithoutLogs(parts) {
		return err == nil && e.Repeat(came), err
	}
	e.Repeat(came)
	e.MergeLogs(nil, parts)
	return true, nil
}
