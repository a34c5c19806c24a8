package store

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Update changes a stored event. An update of an event that is not there (yet) is kept and
// applied when the event comes; pending says so. Past the bound of waiting updates it is
// fault.NotFound. An update of telemetry must not tell whether the event is there: past the bound it is
// fault.Limited or fault.Unavailable either way, and yet applied if the event is there, so that trying it
// again later loses nothing.
func (s *Store) Update(ctx context.Context, projectID int64, u event.Update) (pending bool, err error) {
	size := int64(len(u.Inputs) + len(u.Outputs) + len(u.Config) + len(u.Metadata) + len(u.Metrics) + len(u.Feedback) + len(u.UserProperties) + len(u.ChildrenIDs))
	var full error
	err = s.change(ctx, projectID, u.EventID, size, func(ctx context.Context, tx writeTx) error {
		pending, full = false, nil
		if u.Telemetry {
			full = s.pending.full(projectID, s.options.MaxPending)
		}
		old, err := s.find(ctx, tx, projectID, u.EventID)
		if fault.Of(err) == fault.NotFound {
			if full != nil {
				return full
			}
			pending = true
			return s.deferUpdate(ctx, tx, projectID, &u)
		}
		if err != nil {
			return err
		}
		return s.apply(ctx, tx, old, &u)
	})
	if err == nil {
		err = full
	}
	if err == nil && pending && len(s.writers) > 1 {
		// The event may have been stored by another writer meanwhile.
		var applied bool
		applied, err = s.catchUp(ctx, projectID, u.EventID)
		pending = !applied
	}
	return pending, err
}

// catchUp applies what waits for an event, if the event is there. An event and an update of it
// that writers store at the same time do not see each other; whichever is stored last comes here
// and sees both.
func (s *Store) catchUp(ctx context.Context, project int64, id uuid.UUID) (applied bool, err error) {
	if _, err := s.find(ctx, s.db.quick(), project, id); err != nil {
		if fault.Of(err) == fault.NotFound {
			err = nil
		}
		return false, s.wrapDBError(err, "read event")
	}
	var w *writing
	err = s.change(ctx, project, id, 0, func(ctx context.Context, tx writeTx) error {
		w = &writing{s: s}
		if _, err := s.find(ctx, tx, project, id); err != nil {
			return err
		}
		return w.applyPendingOf(ctx, tx, project, []uuid.UUID{id})
	})
	if err != nil && fault.Of(err) == fault.NotFound {
		return false, nil // deleted again
	}
	if err == nil {
		w.finish(true)
	}
	return err == nil, err
}

// apply changes one stored event by an update.
func (s *Store) apply(ctx context.Context, tx writeTx, old *stored, u *event.Update) error {
	if u.Telemetry {
		var err error
		if u, err = s.keepVerdicts(ctx, tx, old, u); err != nil {
			return err
		}
	}
	now := old.Event
	now.Apply(u)
	now.ColdMetadata = without(now.ColdMetadata, u.Metadata) // what the update says stands in Metadata
	if err := now.Validate(); err != nil {
		return err
	}
	if now.IsSession() && (u.EndTime != nil || u.Duration != nil) {
		// From now on the end is what somebody said, not what the events say.
		if _, err := tx.exec(ctx, `UPDATE session SET made = 0 WHERE project_id = $1 AND session_id = $2 AND made = 2`, old.project, tx.id(now.ID)); err != nil {
			return err
		}
	}
	if now.IsSession() && rawjson.Get(u.UserProperties, "user_id") != nil {
		if _, err := tx.exec(ctx, `UPDATE session SET user_ms = $3 WHERE project_id = $1 AND session_id = $2`, old.project, tx.id(now.ID), userGiven); err != nil {
			return err
		}
	}
	if now.IsSession() {
		tx.outbox().add(old.project, &now, now.ID)
	}
	return s.rewrite(ctx, tx, old.project, old, &now)
}

// keepVerdicts gives an update of telemetry without what it says of scores that the pipeline, the
// server or a person has given the event, and of a ground truth that it has.
func (s *Store) keepVerdicts(ctx context.Context, c conn, old *stored, u *event.Update) (*event.Update, error) {
	kept := *u
	if !rawjson.Null(rawjson.Get(old.Feedback, event.TruthKey)) {
		kept.WithoutTruth()
	}
	byPipeline := old.PipelineScores()
	if byPipeline != nil {
		kept.WithoutPipelineScores()
	}
	if rawjson.Empty(u.Metrics) || rawjson.Empty(old.Metrics) {
		return &kept, nil
	}
	names, err := s.scoreNames(ctx, c, old.project, old.ID)
	if err != nil {
		return nil, err
	}
	for _, name := range byPipeline {
		names = append(names, name, name+explanationSuffix)
	}
	kept.Without(names)
	return &kept, nil
}

// scoreNames lists the members of an event's metrics that the server or people gave: scores, and
// their explanations.
func (s *Store) scoreNames(ctx context.Context, c conn, project int64, id uuid.UUID) (names []string, err error) {
	add := func(name string) { names = append(names, name, name+explanationSuffix) }
	err = each(ctx, c, `SELECT e.name, m.doc FROM evaluation e LEFT JOIN metric m ON m.project_id = e.project_id AND m.id = e.metric_id
		WHERE e.project_id = $1 AND e.event_id = $2 AND e.state = $3 AND e.score IS NOT NULL`, []any{project, c.id(id), stateCode(evaluation.Done)}, func(scan func(...any) error) error {
		var name string
		var doc *string
		if err := scan(&name, &doc); err != nil {
			return err
		}
		if name == "" && doc != nil { // a result of before names were kept
			m := metric.FromRow([]byte(*doc))
			name = m.Name
		}
		if name != "" {
			add(name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, c, `SELECT scores FROM queue_item WHERE project_id = $1 AND event_id = $2 AND scores IS NOT NULL`, []any{project, c.id(id)}, func(scan func(...any) error) error {
		var scores string
		err := scan(&scores)
		for name := range rawjson.Object([]byte(scores)) {
			add(name)
		}
		return err
	})
	return names, err
}

// pendingIDs knows which ids have updates waiting, where this process is the only writer.
type pendingIDs struct {
	mu  sync.Mutex
	ids map[idKey]int
	n   int           // updates waiting, in all
	of  map[int64]int // likewise, of each project
}

func (p *pendingIDs) has(k idKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids[k] > 0
}

func (p *pendingIDs) note(k idKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids[k]++
	p.n++
	p.of[k.project]++
}

func (p *pendingIDs) forget(k idKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n -= p.ids[k]
	if p.of[k.project] -= p.ids[k]; p.of[k.project] <= 0 {
		delete(p.of, k.project)
	}
	delete(p.ids, k)
}

// full says that no more updates of a project may wait, as what its sender is to do: all projects
// together have most, and one of them three quarters of it.
func (p *pendingIDs) full(project int64, most int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	const again = "too many updates wait for their events already; this one counts if its event is stored: send it again later"
	switch {
	case p.of[project] >= most-most/4:
		return &fault.Error{Kind: fault.Limited, Msg: again, RetryAfter: fullRetry}
	case p.n >= most:
		return &fault.Error{Kind: fault.Unavailable, Msg: again, RetryAfter: fullRetry}
	}
	return nil
}

// fullRetry is when to send an update again that could not wait.
const fullRetry = 30 * time.Second

func (p *pendingIDs) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

// deferUpdate keeps an update that came before its event.
func (s *Store) deferUpdate(ctx context.Context, tx writeTx, project int64, u *event.Update) error {
	if s.pending.full(project, s.options.MaxPending) != nil {
		return fault.New(fault.NotFound, "no event %s, and too many updates wait for events already", u.EventID)
	}
	body, err := json.Marshal(deferredUpdateOf(u))
	if err != nil {
		return fmt.Errorf("encode update: %w", err)
	}
	if _, err := tx.exec(ctx, `INSERT INTO pending(project_id, event_id, body, created_ms) VALUES ($1, $2, $3, $4)`,
		project, tx.id(u.EventID), string(body), s.options.Now().UnixMilli()); err != nil {
		return err
	}
	s.pending.note(idKey{project, u.EventID}) // counted too often if the commit fails: only a wasted look
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

func fieldsOf(u *event.Update) map[string]*json.RawMessage {
	return map[string]*json.RawMessage{"inputs": &u.Inputs, "outputs": &u.Outputs, "config": &u.Config, "metadata": &u.Metadata, "metrics": &u.Metrics,
		"feedback": &u.Feedback, "user_properties": &u.UserProperties, "children_ids": &u.ChildrenIDs}
}

func deferredUpdateOf(u *event.Update) deferredUpdate {
	h := deferredUpdate{Fields: map[string]string{}, Duration: u.Duration, EndTime: u.EndTime, Telemetry: u.Telemetry}
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
func (w *writing) applyPending(ctx context.Context, tx writeTx) error {
	byProject := map[int64][]uuid.UUID{}
	for _, h := range w.fresh {
		if w.s.db.writers() > 1 || w.s.pending.has(idKey{h.project, h.ev.ID}) {
			byProject[h.project] = append(byProject[h.project], h.ev.ID)
		}
	}
	for project, ids := range byProject {
		for start := 0; start < len(ids); start += 500 {
			if err := w.applyPendingOf(ctx, tx, project, ids[start:min(start+500, len(ids))]); err != nil {
				return fmt.Errorf("apply waiting updates: %w", err)
			}
		}
	}
	return nil
}

func (w *writing) applyPendingOf(ctx context.Context, tx writeTx, project int64, ids []uuid.UUID) error {
	type waiting struct {
		row     int64
		id      uuid.UUID
		body    string
		created int64
	}
	var list []waiting
	cond, args := tx.anyID("event_id", 2, ids)
	err := each(ctx, tx, `SELECT id, event_id, body, created_ms FROM pending WHERE project_id = $1 AND `+cond+` ORDER BY id`, append([]any{project}, args...),
		func(scan func(...any) error) error {
			var x waiting
			if err := scan(&x.row, scanID{&x.id}, &x.body, &x.created); err != nil {
				return err
			}
			list = append(list, x)
			return nil
		})
	if err != nil {
		return err
	}
	oldest := w.s.options.Now().Add(-w.s.options.PendingTTL).UnixMilli()
	for _, x := range list {
		n, err := tx.exec(ctx, `DELETE FROM pending WHERE id = $1`, x.row)
		if err != nil {
			return err
		}
		w.consumed = append(w.consumed, idKey{project, x.id})
		if n == 0 || x.created < oldest {
			continue // another writer applied it, or it waited too long
		}
		var h deferredUpdate
		if err := json.Unmarshal([]byte(x.body), &h); err != nil {
			return fmt.Errorf("update %d: %w", x.row, err)
		}
		old, err := w.s.find(ctx, tx, project, x.id)
		if err != nil {
			return err
		}
		u := h.update(x.id)
		// An update that breaks a rule together with its event (an end out of range) is
		// dropped: it was answered long ago, and must not refuse the event.
		if err := w.s.apply(ctx, tx, old, &u); err != nil && fault.Of(err) != fault.Invalid {
			return err
		}
	}
	return nil
}

// expirePending drops updates whose event has not come for too long.
func (s *Store) expirePending(ctx context.Context, now time.Time) error {
	var n int64
	err := s.change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx writeTx) (err error) {
		n, err = tx.exec(ctx, `DELETE FROM pending WHERE created_ms < $1`, now.Add(-s.options.PendingTTL).UnixMilli())
		return err
	})
	if err != nil || n == 0 {
		return err
	}
	s.telemetry.expired(ctx, n)
	return s.loadPending(ctx)
}

// loadPending reads which ids have updates waiting.
func (s *Store) loadPending(ctx context.Context) error {
	ids, of, total := map[idKey]int{}, map[int64]int{}, 0
	err := each(ctx, s.db, `SELECT project_id, event_id, count(*) FROM pending GROUP BY project_id, event_id`, nil, func(scan func(...any) error) error {
		var k idKey
		var n int
		if err := scan(&k.project, scanID{&k.id}, &n); err != nil {
			return err
		}
		ids[k] = n
		of[k.project] += n
		total += n
		return nil
	})
	if err != nil {
		return err
	}
	s.pending.mu.Lock()
	s.pending.ids, s.pending.of, s.pending.n = ids, of, total
	s.pending.mu.Unlock()
	return nil
}
