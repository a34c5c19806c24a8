package storetest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/queue"
)

var deleteTests = []test{
	{"Delete/an event out of a shared chunk", deleteShared},
	{"Delete/all events of a chunk", deleteAll},
	{"Delete/all events of a session that was started", deleteAllStarted},
	{"Delete/a session", deleteSession},
	{"Delete/a session of many events", deleteLarge},
	{"Delete/a session by its event", deleteSessionEvent},
	{"Delete/a session with traces and aliases", deleteTraces},
	{"Delete/what judges, queues and senders left beside an event", deleteBeside},
	{"Delete/what judges say of an event that is deleted meanwhile", deleteJudging},
	{"Delete/copies in datapoints", deleteCopies},
	{"Delete/unknown is NotFound", deleteUnknown},
	{"Delete/created again is a new event", deleteRecreate},
}

func deleteShared(e *env) {
	var list []event.Incoming
	for i := range 6 {
		x := call("s", fmt.Sprint("x", i), float64(i), 1, 1, 0.25)
		x.Inputs, x.Outputs = text(`{"secret":"payload of %d"}`, i), text(`"%d %s"`, i, prose(500, uint64(i)))
		if i%2 == 0 {
			x.ColdMetadata = text(`{"attributes":{"n":%d}}`, i)
		}
		list = append(list, x)
	}
	e.put(list...)
	e.equal("chunks", 1, e.place.Count(e.T, `SELECT count(*) FROM chunk`))
	size := e.place.Count(e.T, `SELECT length(data) FROM chunk`)
	e.holds(list...) // so that what is cached is old
	for _, i := range []int{2, 0, 3} {
		e.ok(e.s.DeleteEvent(e.ctx, e.project, list[i].ID))
		if _, err := e.s.Event(e.ctx, e.project, list[i].ID); fault.Of(err) != fault.NotFound {
			e.Errorf("deleted event: %v, want NotFound", err)
		}
		list[i].ID = uuid.Nil
		var left []event.Incoming
		for _, x := range list {
			if x.ID != uuid.Nil {
				left = append(left, x)
			}
		}
		e.holds(left...)
		e.equal("chunks", 1, e.place.Count(e.T, `SELECT count(*) FROM chunk`))
		smaller := e.place.Count(e.T, `SELECT length(data) FROM chunk`)
		if smaller >= size {
			e.Errorf("%d bytes of payload after a deletion, %d before", smaller, size)
		}
		size = smaller
	}
	e.wantRollup("s", "num_events=3 num_model_events=3 has_feedback=false cost=0.75 total_tokens=6 prompt_tokens=3 completion_tokens=3")
	e.reopen(optionsNone)
	e.holds(list[1], list[4], list[5])
}

func deleteAll(e *env) {
	e.put(sample()...)
	for _, x := range sample() {
		e.ok(e.s.DeleteEvent(e.ctx, e.project, x.ID))
	}
	e.empty()
	if _, err := e.s.Session(e.ctx, e.project, id("s")); fault.Of(err) != fault.NotFound {
		e.Errorf("an implicit session without events: %v, want NotFound", err)
	}
	e.put(sample()...) // as those of a new session
	e.holds(sample()...)
}

func deleteAllStarted(e *env) {
	e.put(append([]event.Incoming{start("s", "session", 0, 10)}, sample()...)...)
	for _, x := range sample() {
		e.ok(e.s.DeleteEvent(e.ctx, e.project, x.ID))
	}
	e.equal("events", 1, len(e.session(id("s"))))
	e.wantRollup("s", "num_events=0 num_model_events=0 has_feedback=false cost= total_tokens=0 prompt_tokens=0 completion_tokens=0")
}

// empty checks that nothing of any session is left.
func (e *env) empty() {
	e.Helper()
	for _, table := range []string{"event", "chunk", "session", "trace", "alias"} {
		e.equal("rows of "+table, 0, e.place.Count(e.T, `SELECT count(*) FROM `+table))
	}
}

func deleteSession(e *env) {
	e.put(sample()...)
	e.put(below("c", step("s", "later", 86400*2)))
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	_, err := e.s.Session(e.ctx, e.project, id("s"))
	e.equal("session", fault.NotFound, fault.Of(err))
	_, err = e.s.Event(e.ctx, e.project, id("a"))
	e.equal("event", fault.NotFound, fault.Of(err))
	e.holds(sample()[3])
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("t")))
	e.empty()
}

func deleteLarge(e *env) {
	for part := range 3 {
		var list []event.Incoming
		for i := range 500 {
			x := step("s", fmt.Sprint("x", part, " ", i), float64(part*500+i)*100)
			x.Inputs = text(`{"n":%d}`, i)
			list = append(list, x)
		}
		e.put(list...)
	}
	e.put(step("other", "stays", 0))
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.equal("events", 2, e.place.Count(e.T, `SELECT count(*) FROM event`))
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("other")))
	e.empty()
}

func deleteSessionEvent(e *env) {
	e.put(sample()...)
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("s")))
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("t")))
	e.empty()
}

func deleteTraces(e *env) {
	e.put(traced("t", "", step("t", "x", 1)))
	e.put(traced("t", "key", step("key", "root", 2)))
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("t")))
	e.empty()
	// A late span of the trace starts anew.
	e.put(traced("t", "", step("t", "late", 3)))
	e.wantNames("late span", "t", "late", "late")
	e.put(traced("t", "key", step("key", "root", 4)))
	e.wantNames("moved again", "key", "late", "late", "root")
}

func deleteUnknown(e *env) {
	e.put(sample()...)
	e.equal("event", fault.NotFound, fault.Of(e.s.DeleteEvent(e.ctx, e.project, id("nowhere"))))
	e.equal("session", fault.NotFound, fault.Of(e.s.DeleteSession(e.ctx, e.project, id("nowhere"))))
	e.equal("event as session", fault.NotFound, fault.Of(e.s.DeleteSession(e.ctx, e.project, id("a"))))
	p, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	e.equal("other project", fault.NotFound, fault.Of(e.s.DeleteEvent(e.ctx, p.ID, id("a"))))
	e.equal("other project's session", fault.NotFound, fault.Of(e.s.DeleteSession(e.ctx, p.ID, id("s"))))
	e.holds(sample()...)
}

func deleteRecreate(e *env) {
	x := call("s", "x", 0, 1, 1, 1)
	x.Inputs = text(`{"old":1}`)
	e.put(x, step("s", "y", 1))
	e.ok(e.s.DeleteEvent(e.ctx, e.project, x.ID))
	e.equal("deleted twice", fault.NotFound, fault.Of(e.s.DeleteEvent(e.ctx, e.project, x.ID)))
	x.Inputs, x.Start, x.End = text(`{"new":1}`), x.Start+dayMillis, x.End+dayMillis
	e.put(x)
	e.holds(x)
	e.wantRollup("s", "num_events=2 num_model_events=1 has_feedback=false cost=1 total_tokens=2 prompt_tokens=1 completion_tokens=1")
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.put(x)
	e.holds(x)
	e.wantNames("anew", "s", "x", "x")
}

func deleteBeside(e *env) {
	deleted, stays := step("s", "x", 0), step("s", "y", 1)
	e.put(start("s", "session", 0, 10), deleted, stays)
	for _, about := range []event.Incoming{deleted, stays} {
		session := start("judge of "+about.Name, "judge", 2, 1)
		call := step("judge of "+about.Name, "call about "+about.Name, 2)
		session.Source, call.Source = "evaluator", "evaluator"
		session.Metadata = text(`{"target_event_id":%q}`, about.ID)
		call.Inputs = text(`{"prompt":"about %s"}`, about.Name)
		e.put(session, call)
	}
	_, err := e.s.CreateQueue(e.ctx, e.project, queue.New(&queue.Update{Name: pointer("q")}, 0), []uuid.UUID{deleted.ID, stays.ID})
	e.ok(err)
	_, err = e.s.Update(e.ctx, e.project, event.Update{EventID: id("to come"), Outputs: raw(`"waits"`)})
	e.ok(err)
	e.ok(e.s.DeleteEvent(e.ctx, e.project, deleted.ID))
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("to come")))
	count := func(what string, want int) {
		e.Helper()
		e.equal(what, want, e.place.Count(e.T, `SELECT count(*) FROM `+what))
	}
	count("pending", 0)
	count("queue_item", 1)
	count("session", 2)
	count("event", 4)
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.namesErased()
	for _, table := range []string{"queue_item", "session", "event", "chunk", "deletion"} {
		count(table, 0)
	}
}

func deleteCopies(e *env) {
	first, second := step("s", "x", 0), step("s", "y", 1)
	e.put(first, second, step("t", "z", 0))
	make := func(event string) string {
		point := dataset.Datapoint{LinkedEvent: event}
		point.Complete()
		ids, err := e.s.CreateDatapoints(e.ctx, e.project, []dataset.Datapoint{point})
		e.ok(err)
		return ids[0]
	}
	ofFirst, ofSecond := make(first.ID.String()), make(strings.ToUpper(second.ID.String()))
	make("")
	make(id("z").String())
	for of, want := range map[uuid.UUID][]string{first.ID: {ofFirst}, id("s"): {ofFirst, ofSecond}, id("nobody"): nil} {
		got, total, err := e.s.Copies(e.ctx, e.project, of, 10)
		e.ok(err)
		e.equal("copies", fmt.Sprint(want, len(want)), fmt.Sprint(got, total))
	}
	list, total, err := e.s.Copies(e.ctx, e.project, id("s"), 1)
	e.ok(err)
	e.equal("the first of them", fmt.Sprint([]string{ofFirst}, 2), fmt.Sprint(list, total))
	n, err := e.s.DeleteCopies(e.ctx, e.project, id("s"))
	e.ok(err)
	e.equal("deleted", 2, n)
	e.equal("datapoints", 2, e.place.Count(e.T, `SELECT count(*) FROM datapoint`))
}

func deleteJudging(e *env) {
	judged := func(target string) (uuid.UUID, event.Batch) {
		name := "judge of " + target
		session, call := start(name, "judge", 2, 1), step(name, "call about "+target, 2)
		session.Source, call.Source = "evaluator", "evaluator"
		session.Metadata = text(`{"target_event_id":%q}`, id(target))
		call.Inputs, call.Metadata = text(`{"prompt":"about %s"}`, target), text(`{"target_event_id":%q}`, id(target))
		return id(target), event.Batch{Events: []event.Incoming{session, call}}
	}
	left := func(what string, want int) {
		e.Helper()
		e.namesErased()
		e.equal("events of judges "+what, want, e.place.Count(e.T, `SELECT count(*) FROM event WHERE source = 'evaluator'`))
		e.equal("their sessions "+what, want/2, e.place.Count(e.T, `SELECT count(*) FROM session`)-1)
	}
	e.put(start("s", "s", 0, 10), step("s", "stays", 0), step("s", "x", 1))
	about, b := judged("stays")
	e.ok(e.s.PutAbout(e.ctx, e.project, about, b))
	left("of an event that stays", 2)
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("x")))
	about, b = judged("x")
	e.ok(e.s.PutAbout(e.ctx, e.project, about, b))
	left("that end after the deletion", 2)
	// Both at once, in any order: by the event, and by its session.
	for n := range 20 {
		name, session := fmt.Sprint("y", n), "s"
		if n%2 == 1 {
			session = fmt.Sprint("of y", n)
		}
		e.put(step(session, name, 1))
		about, b := judged(name)
		var both sync.WaitGroup
		both.Go(func() { e.ok(e.s.PutAbout(e.ctx, e.project, about, b)) })
		both.Go(func() {
			if session == "s" {
				e.ok(e.s.DeleteEvent(e.ctx, e.project, about))
			} else {
				e.ok(e.s.DeleteSession(e.ctx, e.project, id(session)))
			}
		})
		both.Wait()
	}
	left("that end with the deletion", 2)
	// As a process leaves it that ended before it knew.
	_, b = judged("x")
	e.put(b.Events...)
	e.place.Exec(e.T, fmt.Sprintf(`INSERT INTO deletion(project_id, kind, id) VALUES (%d, 'session', '%s')`, e.project, b.Events[0].SessionID))
	e.reopen(optionsNone)
	left("of a process that ended", 2)
}
