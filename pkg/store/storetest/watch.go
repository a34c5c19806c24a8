package storetest

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/tool"
)

var watchTests = []test{
	{"Watch/what is told of", watchTells},
	{"Watch/changes that nobody took become one", watchCoalesces},
	{"Watch/a session that moves is followed", watchFollows},
	{"Watch/projects are apart", watchProjectsApart},
	{"Watch/bounds", watchBounds},
	{"Watch/ends with the store", watchEnds},
}

// watch subscribes, and waits until other servers have heard of it where there may be some.
func (e *env) watch(project int64, session string) event.Watch {
	e.Helper()
	var of uuid.UUID
	if session != "" {
		of = id(session)
	}
	first := !e.watched
	e.watched = true
	w, err := e.s.Watch(e.ctx, project, of)
	e.ok(err)
	e.Cleanup(w.Close)
	if first && e.place.Shared() {
		if got := e.next(w); got != "reset" {
			e.Fatalf("the first subscriber gets %q, want a reset once the other servers have heard of it", got)
		}
	}
	return w
}

// next waits for a change.
func (e *env) next(w event.Watch) string {
	e.Helper()
	select {
	case <-w.Changed():
	case <-time.After(20 * time.Second):
		e.Fatal("nothing came")
	}
	got := e.taken(w)
	if got == "" {
		return e.next(w) // taken before
	}
	return got
}

// taken returns what there is to take, empty if there is nothing.
func (e *env) taken(w event.Watch) string {
	e.Helper()
	c, ok, err := w.Take(e.ctx)
	e.ok(err)
	switch {
	case !ok:
		return ""
	case c.Reset:
		return "reset"
	}
	if age := time.Since(time.UnixMilli(c.Touched)); age < 0 || age > time.Minute {
		e.Errorf("a change of %s ago", age)
	}
	if c.SessionID == uuid.Nil {
		return fmt.Sprintf("several %s", c.Kind)
	}
	for _, name := range []string{"s", "t", "key", "other"} {
		if c.SessionID == id(name) {
			return fmt.Sprintf("%s %s", name, c.Kind)
		}
	}
	return fmt.Sprintf("%s %s", c.SessionID, c.Kind)
}

func watchTells(e *env) {
	all, s := e.watch(e.project, ""), e.watch(e.project, "s")
	both := func(what, want string) {
		e.Helper()
		e.equal(what+", to one who watches all sessions", want, e.taken(all))
		e.equal(what+", to one who watches the session", want, e.taken(s))
	}
	e.put(start("s", "begun", 0, 10))
	both("a new session", "s session")
	x := step("s", "x", 1)
	e.put(x, step("s", "y", 2))
	both("two events", "s event")
	e.put(x)
	both("an event again, as it was", "")
	e.update(event.Update{EventID: x.ID, Feedback: raw(`{"rating":1}`)})
	both("an update of an event", "s event")
	e.update(event.Update{EventID: id("s"), Metadata: raw(`{"k":"v"}`)})
	both("an update of the session event", "s event")
	e.ok(e.s.DeleteEvent(e.ctx, e.project, x.ID))
	both("a deleted event", "s event")
	e.put(step("other", "elsewhere", 0))
	e.equal("another session, to one who watches all", "other session", e.taken(all))
	e.equal("another session, to one who does not watch it", "", e.taken(s))
	_, err := e.s.CreateTool(e.ctx, e.project, tool.Tool{Name: "no event", Type: "tool", Parameters: raw(`{}`)})
	e.ok(err)
	both("what is no event", "")
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	both("a deleted session", "s session")
}

func watchCoalesces(e *env) {
	all, s := e.watch(e.project, ""), e.watch(e.project, "s")
	e.put(step("s", "a", 0))
	e.put(step("s", "b", 1))
	e.equal("a new session and an event in it", "s session", e.taken(s))
	e.put(step("s", "c", 2))
	e.equal("the event after that", "s event", e.taken(s))
	e.equal("one session", "s session", e.taken(all))
	e.put(step("s", "d", 3))
	e.put(step("other", "e", 3))
	e.equal("two sessions, one new", "several session", e.taken(all))
	e.put(step("s", "f", 4), step("other", "g", 4))
	e.equal("two sessions in one commit", "several event", e.taken(all))
	e.equal("nothing since", "", e.taken(all))
}

func watchFollows(e *env) {
	w := e.watch(e.project, "t")
	child := traced("t", "", below("root", call("t", "child", 2, 4, 4, 0.25)))
	e.put(child)
	e.equal("under the trace's id", "t session", e.taken(w))
	e.put(traced("t", "key", step("key", "root", 1)))
	e.equal("the move", "key session", e.taken(w))
	e.put(step("key", "later", 3))
	e.equal("in the session that it moved to", "key event", e.taken(w))
	late := e.watch(e.project, "t")
	e.put(step("key", "more", 4))
	e.equal("to one who begins with the former id", "key event", e.taken(late))
}

func watchProjectsApart(e *env) {
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	all, same := e.watch(other.ID, ""), e.watch(other.ID, "s")
	e.put(step("s", "a", 0), step("s", "b", 1))
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.equal("sessions of another project", "", e.taken(all))
	e.equal("the session of that id in another project", "", e.taken(same))
	e.ok(e.s.Put(e.ctx, other.ID, event.Batch{Events: []event.Incoming{step("s", "a", 0)}}))
	e.equal("its own", "s session", e.taken(all))
	e.equal("its own", "s session", e.taken(same))
}

func watchBounds(e *env) {
	var open []event.Watch
	for {
		w, err := e.s.Watch(e.ctx, e.project, uuid.Nil)
		if err != nil {
			e.equal("one too many", fault.Limited, fault.Of(err))
			break
		}
		if open = append(open, w); len(open) > 64 {
			e.Fatal("more than 64 subscribers of one project")
		}
	}
	e.equal("subscribers", 64, len(open))
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	w, err := e.s.Watch(e.ctx, other.ID, uuid.Nil)
	e.ok(err)
	w.Close()
	for _, w := range open {
		w.Close()
		w.Close()
	}
	for range open {
		e.watch(e.project, "")
	}
}

func watchEnds(e *env) {
	w := e.watch(e.project, "")
	e.ok(e.s.Close(e.ctx))
	<-w.Changed()
	if _, ok, err := w.Take(e.ctx); err == nil || ok {
		e.Errorf("after the store was closed: %v, %v", ok, err)
	}
	if _, err := e.s.Watch(e.ctx, e.project, uuid.Nil); fault.Of(err) != fault.Unavailable {
		e.Errorf("a new subscriber of a closed store: %v", err)
	}
	w.Close()
}
