package events

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// Updates that come before their events wait in table pending, as JSON, until their event is stored, or for PendingTTL:
//
//   - Update finds no event, and stores the update (deferUpdate). The sender is told that it is pending.
//   - Whichever transaction stores the event applies what waits for it (applyPending), at the end of its commit, so that an
//     answer to the event's sender means that both are on disk.
//   - What waits too long is dropped (expirePending), and counted.
//
// On SQLite, memory knows which ids wait, so that a new event costs no look at the table. On PostgreSQL another process may
// have stored the update, so each transaction asks for the ids of its new events, in one query for 500 of them.

// pendingIDs records which ids have updates waiting, so that a transaction need not ask for the updates of each new event.
// It is complete where this process is the only writer; elsewhere the database is asked.
type pendingIDs struct {
	mu  sync.Mutex
	ids map[writer.Key]int
	n   int           // updates waiting, in all
	of  map[int64]int // likewise, of each project
}

// has reports whether updates wait for an event.
func (p *pendingIDs) has(k writer.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids[k] > 0
}

// add counts one more update, and remove counts off all of an event, which are applied together.
func (p *pendingIDs) add(k writer.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids[k]++
	p.n++
	p.of[k.Project]++
}

func (p *pendingIDs) remove(k writer.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n -= p.ids[k]
	if p.of[k.Project] -= p.ids[k]; p.of[k.Project] <= 0 {
		delete(p.of, k.Project)
	}
	delete(p.ids, k)
}

// full returns an error that tells the sender what to do if no more updates of a project may wait: all projects
// together have most, and one of them three quarters of it.
func (p *pendingIDs) full(project int64, most int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	const again = "too many updates are waiting for their events; this one is applied if its event is stored: send it again later"
	switch {
	// A quarter stays for the others, so that one project whose events never come cannot use up the room of all. That
	// project is told to slow down (429); if all are full, the server is (503), and in both cases the sender may try again.
	case p.of[project] >= mostOfProject(most):
		return &fault.Error{Kind: fault.Limited, Msg: again, RetryAfter: fullRetry}
	case p.n >= most:
		return &fault.Error{Kind: fault.Unavailable, Msg: again, RetryAfter: fullRetry}
	}
	return nil
}

// mostOfProject is how many updates of one project may wait where all together have most.
func mostOfProject(most int) int { return most - most/4 }

// fullRetry is when to send an update again that could not wait.
const fullRetry = 30 * time.Second

func (p *pendingIDs) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

// countOf returns how many updates of a project wait.
func (p *pendingIDs) countOf(project int64) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of[project]
}

// deferUpdate keeps an update that came before its event. SDKs send a span and a score for it by two ways, and either may be
// first. If too many wait, the sender is told that the event is not there, which is true.
func (s *Store) deferUpdate(ctx context.Context, tx *Commit, project int64, u *event.Update) error {
	if s.pending.full(project, s.options.MaxPending) != nil {
		return fault.New(fault.NotFound, "no event %s, and too many updates are waiting for their events", u.EventID)
	}
	// The bound is checked before the transaction commits and without a lock on the table: it may be passed by what one transaction
	// takes, and by what several servers on one PostgreSQL store at the same moment.
	body, err := json.Marshal(deferredUpdateOf(u))
	if err != nil {
		return fmt.Errorf("encode update: %w", err)
	}
	if _, err := tx.Exec(ctx, `INSERT INTO pending(project_id, event_id, body, created_ms) VALUES ($1, $2, $3, $4)`,
		project, tx.ID(u.EventID), string(body), s.options.Now().UnixMilli()); err != nil {
		return err
	}
	tx.Counts.Stored(project, rowBytes+int64(len(body)))
	tx.deferred = append(tx.deferred, writer.Key{Project: project, ID: u.EventID})
	return nil
}

// deferredUpdate is an update as it waits. JSON fields are strings: a nested json.RawMessage would come
// back in another spelling.
type deferredUpdate struct {
	Fields   map[string]string `json:"fields"`
	Duration *float64          `json:"duration,omitempty"`
	EndTime  *float64          `json:"end_time,omitempty"`
	// Telemetry is event.Update's.
	Telemetry bool `json:"telemetry,omitempty"`
}

// fieldsOf names the JSON fields of an update, for both directions.
func fieldsOf(u *event.Update) map[string]*json.RawMessage {
	return map[string]*json.RawMessage{
		"inputs":          &u.Inputs,
		"outputs":         &u.Outputs,
		"config":          &u.Config,
		"metadata":        &u.Metadata,
		"metrics":         &u.Metrics,
		"feedback":        &u.Feedback,
		"user_properties": &u.UserProperties,
		"children_ids":    &u.ChildrenIDs,
	}
}

func deferredUpdateOf(u *event.Update) deferredUpdate {
	h := deferredUpdate{Fields: map[string]string{}, Duration: u.Duration, EndTime: u.EndTime, Telemetry: u.Telemetry}
	// A field that was not sent differs from one that was sent as null: only what is there is written down.
	for name, raw := range fieldsOf(u) {
		if *raw != nil {
			h.Fields[name] = string(*raw)
		}
	}
	return h
}

func (h deferredUpdate) update(id uuid.UUID) event.Update {
	u := event.Update{EventID: id, Duration: h.Duration, EndTime: h.EndTime, Telemetry: h.Telemetry}
	for name, raw := range fieldsOf(&u) {
		if text, ok := h.Fields[name]; ok {
			*raw = json.RawMessage(text)
		}
	}
	return u
}

// applyPending applies the updates that waited for events of this transaction, oldest first.
func (w *writing) applyPending(ctx context.Context, tx *Commit) error {
	byProject := map[int64][]uuid.UUID{}
	for _, h := range w.fresh {
		// fresh are the events that this transaction inserted. A repeat needs no look: its event was there when the
		// update came, so the update was applied at once.
		if !w.s.db.Exclusive() || w.s.pending.has(writer.Key{Project: h.project, ID: h.ev.ID}) {
			byProject[h.project] = append(byProject[h.project], h.ev.ID)
		}
	}
	for project, ids := range byProject {
		// 500 ids are as many as one statement takes (sqldb.IDsPerQuery): SQLite has a placeholder for each.
		for start := 0; start < len(ids); start += 500 {
			if err := w.applyPendingOf(ctx, tx, project, ids[start:min(start+500, len(ids))]); err != nil {
				return fmt.Errorf("apply waiting updates: %w", err)
			}
		}
	}
	if len(w.consumed) == 0 {
		return nil
	}
	consumed := make(map[writer.Key]bool, len(w.consumed))
	for _, k := range w.consumed {
		consumed[k] = true
	}
	for _, h := range w.fresh {
		h.waited = consumed[writer.Key{Project: h.project, ID: h.ev.ID}]
	}
	return nil
}

// applyPendingOf applies the updates that wait for these events, in the order in which they came. Deleting its row first
// makes sure that an update is applied once, whoever else tries to.
func (w *writing) applyPendingOf(ctx context.Context, tx *Commit, project int64, ids []uuid.UUID) error {
	type waiting struct {
		row     int64
		id      uuid.UUID
		body    string
		created int64
	}
	var list []waiting
	cond, args := tx.AnyID("event_id", 2, ids)
	err := sqldb.Each(ctx, tx, `SELECT id, event_id, body, created_ms
		FROM pending
		WHERE project_id = $1 AND `+cond+` ORDER BY id`, append([]any{project}, args...),
		func(scan func(...any) error) error {
			var x waiting
			if err := scan(&x.row, sqldb.ScanID(&x.id), &x.body, &x.created); err != nil {
				return err
			}
			list = append(list, x)
			return nil
		})
	if err != nil {
		return err
	}
	// Expiry runs only now and then. An update past its time must not be applied because that has not come round yet.
	oldest := w.s.options.Now().Add(-w.s.options.PendingTTL).UnixMilli()
	for _, x := range list {
		n, err := tx.Exec(ctx, `DELETE FROM pending WHERE id = $1`, x.row)
		if err != nil {
			return err
		}
		// Memory is told after the commit (publish). If the transaction fails, the updates still wait, and memory still says so.
		w.consumed = append(w.consumed, writer.Key{Project: project, ID: x.id})
		if n == 0 {
			continue // another writer applied it
		}
		tx.Counts.Stored(project, -rowBytes-int64(len(x.body)))
		if x.created < oldest {
			continue // it waited too long, and is gone
		}
		var h deferredUpdate
		if err := json.Unmarshal([]byte(x.body), &h); err != nil {
			return fmt.Errorf("update %d: %w", x.row, err)
		}
		// Each update is applied to the event as the one before left it, so that the last one to come wins, as it
		// would have if the event had been there.
		old, err := w.s.Find(ctx, tx, project, x.id)
		if err != nil {
			return err
		}
		u := h.update(x.id)
		// An update that breaks a rule together with its event (an end out of range, or too many bytes) is
		// dropped: it was answered long ago, and must not refuse the event.
		err = w.s.ApplyUpdate(ctx, tx, old, &u)
		if kind := fault.Of(err); err != nil && kind != fault.Invalid && kind != fault.TooLarge {
			return err
		}
	}
	return nil
}

// sweepPending applies updates that wait although their event is there: an event and an update of it may be stored by two servers at the same moment, and a
// server may end between a commit and the look at what was stored meanwhile. At most expireSlice events in one sweep; what is left comes with the next.
func (s *Store) sweepPending(ctx context.Context) error {
	if s.db.Exclusive() {
		return nil
	}
	var list []writer.Key
	err := sqldb.Each(ctx, s.db, `SELECT DISTINCT p.project_id, p.event_id
		FROM pending AS p
		JOIN event AS e ON e.event_id = p.event_id AND e.project_id = p.project_id
		LIMIT $1`, []any{expireSlice}, func(scan func(...any) error) error {
		var k writer.Key
		err := scan(&k.Project, sqldb.ScanID(&k.ID))
		list = append(list, k)
		return err
	})
	if err != nil {
		return err
	}
	for _, k := range list {
		if _, err := s.catchUp(ctx, k.Project, k.ID); err != nil {
			return err
		}
	}
	return nil
}

// expirePending drops updates whose event has not come for too long.
func (s *Store) expirePending(ctx context.Context, now time.Time) error {
	var n int64
	err := s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) (err error) {
		n, err = deleteCounted(ctx, tx, `DELETE FROM pending WHERE created_ms < $1 RETURNING project_id, octet_length(body)`, now.Add(-s.options.PendingTTL).UnixMilli())
		// The statement does not tell which ids went, so what memory knows is read anew. Where other servers write, they have also applied
		// updates that this one has counted.
		tx.recount.updates = tx.recount.updates || n > 0 || !s.db.Exclusive()
		return err
	})
	if err == nil && n > 0 {
		s.telemetry.expired(ctx, n)
	}
	return err
}

// waitingUpdates are the updates that table pending holds.
type waitingUpdates struct {
	ids map[writer.Key]int
	of  map[int64]int // of each project
	n   int           // in all
}

// readPending reads which ids have updates waiting. It is read at the start, and in a transaction of the writer (see recount): what
// another connection reads may be without an update that memory has counted already, and that would never be applied then.
func readPending(ctx context.Context, c sqldb.Conn) (*waitingUpdates, error) {
	w := waitingUpdates{ids: map[writer.Key]int{}, of: map[int64]int{}}
	// About MaxPending rows at most, and only at a start, at an expiry and after the deletion of a project.
	err := sqldb.Each(ctx, c, `SELECT project_id, event_id, count(*)
		FROM pending
		GROUP BY project_id, event_id`, nil, func(scan func(...any) error) error {
		var k writer.Key
		var n int
		if err := scan(&k.Project, sqldb.ScanID(&k.ID), &n); err != nil {
			return err
		}
		w.ids[k] = n
		w.of[k.Project] += n
		w.n += n
		return nil
	})
	return &w, err
}

// set replaces what memory knows by what the table holds.
func (p *pendingIDs) set(w *waitingUpdates) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids, p.of, p.n = w.ids, w.of, w.n
}
