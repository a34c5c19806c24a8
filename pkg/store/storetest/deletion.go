package storetest

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/deletion"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

var bulkDeletionTests = []test{
	{"BulkDelete/events that a search finds", bulkEvents},
	{"BulkDelete/as one by one", bulkAsSingle},
	{"BulkDelete/sessions that a search finds", bulkSessions},
	{"BulkDelete/filters that are decided row by row", bulkPayload},
	{"BulkDelete/more than was expected is a Conflict", bulkGrown},
	{"BulkDelete/nothing", bulkNothing},
	{"BulkDelete/what comes meanwhile stays", bulkMeanwhile},
	{"BulkDelete/goes on after a restart", bulkRestart},
	{"BulkDelete/another server takes over", bulkTakeOver},
	{"BulkDelete/cancelled", bulkCancel},
	{"BulkDelete/prepared by a process that is gone", bulkPrepared},
	{"BulkDelete/of another project", bulkOther},
}

// deletes begins a deletion of what was counted, waits for its end, and returns it.
func (e *env) deletes(begin func() (deletion.Deletion, <-chan struct{}, error)) deletion.Deletion {
	e.Helper()
	d, done, err := begin()
	e.ok(err)
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		e.Fatal("the deletion does not end")
	}
	d, err = e.s.Deletion(e.ctx, e.project, d.ID)
	e.ok(err)
	e.equal("parts left", 0, e.place.Count(e.T, `SELECT count(*) FROM bulk_deletion_part`))
	return d
}

func (e *env) deleteEvents(q query.Search) deletion.Deletion {
	e.Helper()
	n, err := e.s.CountEventDeletion(e.ctx, e.project, q)
	e.ok(err)
	return e.deletes(func() (deletion.Deletion, <-chan struct{}, error) { return e.s.DeleteEvents(e.ctx, e.project, q, n) })
}

func (e *env) deleteSessions(q query.SessionSearch) deletion.Deletion {
	e.Helper()
	n, err := e.s.CountSessionDeletion(e.ctx, e.project, q)
	e.ok(err)
	return e.deletes(func() (deletion.Deletion, <-chan struct{}, error) { return e.s.DeleteSessions(e.ctx, e.project, q, n) })
}

// deletionsEnd waits until no deletion runs.
func (e *env) deletionsEnd() {
	e.Helper()
	for until := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if e.place.Count(e.T, `SELECT count(*) FROM bulk_deletion WHERE state = 'running'`) == 0 {
			return
		}
		if time.Now().After(until) {
			e.Fatal("a deletion does not end")
		}
	}
}

func bulkEvents(e *env) {
	var kept []event.Incoming
	var all []event.Incoming
	for i := range 6 {
		x := call("s", fmt.Sprint("x", i), float64(i), 1, 1, 0.25)
		x.Inputs = text(`{"secret":"payload of %d"}`, i)
		if all = append(all, x); i >= 3 {
			kept = append(kept, x)
		}
	}
	other := step("t", "y", 1)
	e.put(append(all, other, start("u", "u", 1, 5))...)
	to := noon + 2500
	q := query.Search{To: &to}
	n, err := e.s.CountEventDeletion(e.ctx, e.project, q)
	e.ok(err)
	e.equal("counted", deletion.Count{Events: 4, SessionEvents: 3}, n)
	d := e.deleteEvents(q)
	e.equal("state", deletion.Done, d.State)
	e.equal("deleted", deletion.Count{Events: 4}, d.Deleted)
	e.equal("of", deletion.Count{Events: 4}, d.Total)
	e.holds(kept...)
	e.gone("t") // an implicit session without events
	e.equal("a session that was started", 1, len(e.session(id("u"))))
	e.wantRollup("s", "num_events=3 num_model_events=3 has_feedback=false cost=0.75 total_tokens=6 prompt_tokens=3 completion_tokens=3")
	e.equal("chunks", 1, e.place.Count(e.T, `SELECT count(*) FROM chunk`))
	e.reopen(optionsNone)
	e.holds(kept...)
	e.noOrphans()
}

// bulkAsSingle deletes the same of two equal sessions at once and one by one.
func bulkAsSingle(e *env) {
	fill := func(p int64) {
		var list []event.Incoming
		for i := range 40 {
			x := call("s", fmt.Sprint("x", i), float64(i), 1, i, 0.25)
			x.Outputs = text(`"%d %s"`, i, prose(300, uint64(i)))
			if i > 0 {
				x = below(fmt.Sprint("x", i/3), x)
			}
			if list = append(list, x); len(list) == 7 {
				e.ok(e.s.Put(e.ctx, p, event.Batch{Events: list}))
				list = nil
			}
		}
		e.ok(e.s.Put(e.ctx, p, event.Batch{Events: list}))
	}
	other := e.second()
	fill(e.project)
	fill(other.ID)
	filters := e.parsed(`[{"field":"metadata.completion_tokens","operator":"less than","value":15,"type":"number"}]`)
	d := e.deleteEvents(query.Search{Filters: filters})
	e.equal("deleted", int64(15), d.Deleted.Events)
	for i := range 15 {
		e.ok(e.s.DeleteEvent(e.ctx, other.ID, id(fmt.Sprint("x", i))))
	}
	read := func(p int64) (list []shape) {
		set, err := e.s.Session(e.ctx, p, id("s"))
		e.ok(err)
		for _, x := range e.load(set) {
			list = append(list, shapeOf(x))
		}
		return list
	}
	e.equal("what stays", read(other.ID), read(e.project))
}

func bulkSessions(e *env) {
	var large []event.Incoming
	for i := range 1200 {
		x := step("large", fmt.Sprint("x", i), float64(i)/100)
		x.Inputs = text(`{"n":%d}`, i)
		large = append(large, x)
	}
	e.put(large...)
	for i := range 30 {
		e.put(spoken(fmt.Sprint("s", i), fmt.Sprint("a", i), float64(i)), below(fmt.Sprint("a", i), spoken(fmt.Sprint("s", i), fmt.Sprint("b", i), float64(i))))
	}
	e.put(traced("t", "", step("t", "root", 3)))
	stays := step("stays", "z", 100)
	e.put(stays)
	to := noon + 99_000
	d := e.deleteSessions(query.SessionSearch{To: &to})
	e.equal("deleted", deletion.Count{Sessions: 32, Events: 1201 + 30*3 + 2}, d.Deleted)
	e.equal("kept", int64(0), d.Kept)
	e.gone("large")
	e.gone("s7")
	e.holds(stays)
	e.equal("events", 2, e.place.Count(e.T, `SELECT count(*) FROM event`))
	e.noOrphans()
	d = e.deleteSessions(query.SessionSearch{})
	e.equal("the last", deletion.Count{Sessions: 1, Events: 2}, d.Deleted)
	e.empty()
}

func bulkPayload(e *env) {
	for i := range 10 {
		x := spoken(fmt.Sprint("s", i), fmt.Sprint("a", i), float64(i))
		x.Inputs = text(`{"who":"%s"}`, []string{"ann", "bob"}[i%2])
		e.put(x)
	}
	ann := e.parsed(`[{"field":"inputs.who","operator":"is","value":"ann","type":"string"}]`)
	n, err := e.s.CountSessionDeletion(e.ctx, e.project, query.SessionSearch{EventFilters: ann})
	e.ok(err)
	e.equal("sessions with ann", deletion.Count{Sessions: 5, Events: 10}, n)
	d := e.deleteEvents(query.Search{Filters: ann})
	e.equal("events of ann", deletion.Count{Events: 5}, d.Deleted)
	e.equal("session events that show its inputs stay until it is gone", int64(0), d.Kept)
	bob := e.parsed(`[{"field":"inputs.who","operator":"is","value":"bob","type":"string"}]`)
	d = e.deleteSessions(query.SessionSearch{EventFilters: bob})
	e.equal("sessions of bob", deletion.Count{Sessions: 5, Events: 10}, d.Deleted)
	e.empty()
}

func bulkGrown(e *env) {
	e.put(step("s", "a", 0), step("s", "b", 1))
	_, _, err := e.s.DeleteEvents(e.ctx, e.project, query.Search{}, deletion.Count{Events: 1})
	e.equal("events", fault.Conflict, fault.Of(err))
	_, _, err = e.s.DeleteSessions(e.ctx, e.project, query.SessionSearch{}, deletion.Count{Sessions: 1, Events: 2})
	e.equal("events of sessions", fault.Conflict, fault.Of(err))
	_, _, err = e.s.DeleteSessions(e.ctx, e.project, query.SessionSearch{}, deletion.Count{Sessions: 0, Events: 3})
	e.equal("sessions", fault.Conflict, fault.Of(err))
	e.holds(step("s", "a", 0), step("s", "b", 1))
	e.equal("deletions", 0, e.place.Count(e.T, `SELECT count(*) FROM bulk_deletion`))
}

func bulkNothing(e *env) {
	e.equal("state", deletion.Done, e.deleteEvents(query.Search{}).State)
	e.equal("state", deletion.Done, e.deleteSessions(query.SessionSearch{}).State)
}

// bulkMeanwhile adds an event to sessions that are being deleted: each is then there whole, or it went before and the event began it anew.
func bulkMeanwhile(e *env) {
	const sessions = 60
	for i := range sessions {
		e.put(spoken(fmt.Sprint("s", i), fmt.Sprint("a", i), float64(i)))
	}
	n, err := e.s.CountSessionDeletion(e.ctx, e.project, query.SessionSearch{})
	e.ok(err)
	d, done, err := e.s.DeleteSessions(e.ctx, e.project, query.SessionSearch{}, n)
	e.ok(err)
	for i := range sessions {
		e.put(step(fmt.Sprint("s", i), fmt.Sprint("b", i), float64(i)))
	}
	<-done
	d, err = e.s.Deletion(e.ctx, e.project, d.ID)
	e.ok(err)
	whole := int64(0)
	for i := range sessions {
		names := map[string]bool{}
		for _, x := range e.session(id(fmt.Sprint("s", i))) {
			names[x.Name] = true
		}
		if !names[fmt.Sprint("b", i)] {
			e.Errorf("what came to session %d is gone", i)
		}
		if names[fmt.Sprint("a", i)] {
			whole++
		}
	}
	e.equal("kept", whole, d.Kept)
	e.equal("deleted", sessions-whole, d.Deleted.Sessions)
	e.noOrphans()
}

// pairs stores n sessions of three events, their own among them.
func (e *env) pairs(n int) {
	e.Helper()
	var list []event.Incoming
	for i := range n {
		list = append(list, step(fmt.Sprint("s", i), fmt.Sprint("a", i), float64(i)/100), step(fmt.Sprint("s", i), fmt.Sprint("b", i), float64(i)/100))
		if len(list) == 500 {
			e.put(list...)
			list = nil
		}
	}
	e.put(list...)
}

// underWay begins to delete all sessions, and returns once some are gone.
func (e *env) underWay() deletion.Deletion {
	e.Helper()
	n, err := e.s.CountSessionDeletion(e.ctx, e.project, query.SessionSearch{})
	e.ok(err)
	d, _, err := e.s.DeleteSessions(e.ctx, e.project, query.SessionSearch{}, n)
	e.ok(err)
	for until := time.Now().Add(5 * time.Minute); d.Deleted.Sessions == 0 && time.Now().Before(until); time.Sleep(time.Millisecond) {
		d, err = e.s.Deletion(e.ctx, e.project, d.ID)
		e.ok(err)
	}
	return d
}

func bulkRestart(e *env) {
	e.pairs(800)
	d := e.underWay()
	e.ok(e.s.Close(e.ctx))
	left := e.place.Count(e.T, `SELECT count(*) FROM bulk_deletion_part`)
	e.Logf("%+v, %d parts left", d.Deleted, left)
	place := e.place
	if place.Shared() { // another process waits until it is certain that the first has ended
		place.Exec(e.T, `UPDATE bulk_deletion SET created_ms = 0, updated_ms = 0`)
	}
	e.open(store.Options{})
	e.deletionsEnd()
	d, err := e.s.Deletion(e.ctx, e.project, d.ID)
	e.ok(err)
	e.equal("state", deletion.Done, d.State)
	e.equal("deleted, each counted once", deletion.Count{Sessions: 800, Events: 2400}, d.Deleted)
	e.empty()
}

func bulkTakeOver(e *env) {
	if !e.place.Shared() {
		return
	}
	e.pairs(600)
	d := e.underWay()
	e.ok(e.s.Close(e.ctx))
	if e.place.Count(e.T, `SELECT count(*) FROM bulk_deletion WHERE state = 'running'`) == 0 {
		return // it was faster
	}
	later := NewClock(time.Now().Add(3 * time.Minute))
	e.open(store.Options{Now: later.Now})
	e.deletionsEnd()
	d, err := e.s.Deletion(e.ctx, e.project, d.ID)
	e.ok(err)
	e.equal("deleted", deletion.Count{Sessions: 600, Events: 1800}, d.Deleted)
	e.empty()
}

func bulkCancel(e *env) {
	e.pairs(1500)
	d := e.underWay()
	d, err := e.s.CancelDeletion(e.ctx, e.project, d.ID)
	e.ok(err)
	e.equal("state", deletion.Cancelled, d.State)
	left := e.place.Count(e.T, `SELECT count(*) FROM session`)
	e.equal("sessions left", 1500-int(d.Deleted.Sessions), left)
	if left == 0 {
		e.Error("nothing was left to cancel")
	}
	e.equal("parts left", 0, e.place.Count(e.T, `SELECT count(*) FROM bulk_deletion_part`))
	_, err = e.s.CancelDeletion(e.ctx, e.project, d.ID)
	e.equal("cancelled again", fault.Conflict, fault.Of(err))
	_, err = e.s.CancelDeletion(e.ctx, e.project, uuid.NewString())
	e.equal("unknown", fault.NotFound, fault.Of(err))
	ids, total, err := e.s.FindDeletions(e.ctx, e.project, 10, 1)
	e.ok(err)
	e.equal("listed", []string{d.ID}, ids)
	e.equal("total", 1, total)
}

// bulkPrepared leaves what a process leaves that ends before all parts are written: nothing of it may be deleted.
func bulkPrepared(e *env) {
	e.put(step("s", "a", 0))
	e.place.Exec(e.T, fmt.Sprintf(`INSERT INTO bulk_deletion(project_id, id, version, created_ms, updated_ms, state, doc) VALUES (%d, 'x', 1, 0, 0, 'preparing', '{"of":"events"}')`, e.project))
	noonDay := int(arrival.UnixMilli() / dayMillis)
	i, day := id("a"), uint32(noonDay)
	part := fmt.Sprintf("%x%02x%02x%02x%02x0000000000000000", i[:], byte(day), byte(day>>8), byte(day>>16), byte(day>>24))
	e.place.Exec(e.T, fmt.Sprintf(`INSERT INTO bulk_deletion_part VALUES (%d, 'x', 0, %s)`, e.project, e.place.Bytes(part)))
	e.reopen(optionsNone)
	for until := time.Now().Add(5 * time.Minute); e.place.Count(e.T, `SELECT count(*) FROM bulk_deletion_part`) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			e.Fatal("the part stays")
		}
	}
	d, err := e.s.Deletion(e.ctx, e.project, "x")
	e.ok(err)
	e.equal("state", deletion.Cancelled, d.State)
	e.holds(step("s", "a", 0))
}

func bulkOther(e *env) {
	other := e.second()
	e.put(step("s", "a", 0))
	e.ok(e.s.Put(e.ctx, other.ID, event.Batch{Events: []event.Incoming{step("s", "a", 0)}}))
	d := e.deleteEvents(query.Search{})
	e.equal("deleted", int64(1), d.Deleted.Events)
	set, err := e.s.Session(e.ctx, other.ID, id("s"))
	e.ok(err)
	e.equal("of the other", 2, len(e.load(set)))
	_, err = e.s.Deletion(e.ctx, other.ID, d.ID)
	e.equal("by the other", fault.NotFound, fault.Of(err))
	_, err = e.s.CancelDeletion(e.ctx, other.ID, d.ID)
	e.equal("cancelled by the other", fault.NotFound, fault.Of(err))
}
