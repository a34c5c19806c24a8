package storetest

import (
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

var traceTests = []test{
	{"Trace/a key that comes later moves the trace", keyLate},
	{"Trace/spans after the key join it", keyFirst},
	{"Trace/a key for a session that exists", keyOfExisting},
	{"Trace/order of arrival does not matter", traceAnyOrder},
	{"Trace/two traces in one session", twoTraces},
	{"Trace/a fixed event stays out", fixedEvent},
	{"Trace/sent again with its key", resentWithKey},
	{"Trace/an alias leads on", aliases},
	{"Trace/a session started under the trace's id stays", startedProvisional},
	{"Trace/many requests at once", tracesAtOnce},
	{"Trace/survives a restart", traceReopened},
	{"Trace/a root that comes last and names another session", rootNamesOther},
	{"Trace/another trace stays in the session that one leaves", traceLeaves},
	{"Trace/what was said of a session moves with it", saidBeforeMove},
	{"Trace/evaluations and items of queues move with a session", judgedBeforeMove},
	{"Trace/annotations move into a queue that has the session already", annotatedBeforeMove},
	{"Trace/a span whose session is its own names its trace's", fixedNames},
}

// traced makes an event a span of a trace. With session "" no span has told the session, and
// the event is filed under the trace's own id.
func traced(trace, session string, x event.Incoming) event.Incoming {
	x.TraceID = id(trace)
	old := x.SessionID
	x.SessionID = id(session)
	if session == "" {
		x.SessionID, x.Provisional = id(trace), true
	}
	if x.ParentID == old {
		x.ParentID = x.SessionID
	}
	return x
}

func (e *env) wantNames(what, session string, want ...string) {
	e.Helper()
	e.equal(what, want, names(e.session(id(session))))
}

func keyLate(e *env) {
	child := traced("t", "", below("root", call("t", "child", 2, 4, 4, 0.25)))
	child.Inputs = text(`{"q":"child"}`)
	e.put(child)
	e.wantNames("provisional", "t", "unknown", "child")
	root := traced("t", "key", step("key", "root", 1))
	e.put(root)
	e.wantNames("moved", "key", "root", "root", "child")
	child.SessionID = id("key")
	e.holds(child, root)
	e.wantRollup("key", "num_events=2 num_model_events=1 has_feedback=false cost=0.25 total_tokens=8 prompt_tokens=4 completion_tokens=4")
	e.equal("session rows", 1, e.place.Count(e.T, `SELECT count(*) FROM session`))
	e.equal("event rows", 3, e.place.Count(e.T, `SELECT count(*) FROM event`))
}

func keyFirst(e *env) {
	e.put(traced("t", "key", step("key", "root", 1)))
	e.put(traced("t", "", below("root", step("t", "child", 2))), traced("t", "", step("t", "second", 3)))
	e.wantNames("joined", "key", "root", "root", "child", "second")
	e.equal("session rows", 1, e.place.Count(e.T, `SELECT count(*) FROM session`))
	e.put(traced("t", "other key", step("other key", "third", 4)))
	e.wantNames("the first key holds", "key", "root", "root", "child", "second", "third")
}

func keyOfExisting(e *env) {
	e.put(step("key", "native", 50))
	e.put(traced("t", "", step("t", "early", -86400)), traced("t", "", step("t", "late", 86400)))
	e.put(traced("t", "key", step("key", "middle", 10)))
	s := e.session(id("key"))
	e.equal("events", []string{"early", "early", "middle", "native", "late"}, names(s))
	own := e.event(id("key"))
	e.equal("times", []float64{noon - dayMillis, noon + dayMillis + 1000}, []float64{own.Start, own.End})

	e.put(start("started", "chosen", 0, 7))
	e.put(traced("u", "", step("u", "u early", -86400)))
	e.put(traced("u", "started", step("started", "u root", 1)))
	got := e.event(id("started"))
	e.equal("a started session", []any{"chosen", noon, noon + 7000}, []any{got.Name, got.Start, got.End})
	e.wantNames("its events", "started", "u early", "chosen", "u root")
}

func traceAnyOrder(e *env) {
	modelCall := traced("t", "", below("root", call("t", "a", 2, 1, 2, 0.5)))
	belowCall := traced("t", "", below("a", step("t", "b", 3)))
	belowCall.UserProperties = text(`{"user_id":"u"}`)
	root := traced("t", "key", step("key", "root", 1))
	root.Inputs, root.Outputs = text(`{"q":"root"}`), text(`"root"`)
	second := traced("t", "", step("t", "second root", 86400))
	second.Outputs = text(`"last"`)
	sameByAnyOrder(e, id("key"), []event.Incoming{modelCall, belowCall, root, second})
}

func twoTraces(e *env) {
	e.put(traced("t1", "", step("t1", "one", 1)), traced("t2", "", step("t2", "two", 2)))
	e.put(traced("t1", "key", step("key", "root 1", 3)), traced("t2", "key", step("key", "root 2", 4)))
	e.wantNames("both", "key", "one", "one", "two", "root 1", "root 2")
	e.equal("session rows", 1, e.place.Count(e.T, `SELECT count(*) FROM session`))
	e.wantRollup("key", "num_events=4 num_model_events=0 has_feedback=false cost= total_tokens=0 prompt_tokens=0 completion_tokens=0")
	// Two provisional sessions over two days become one at once.
	e.put(traced("t3", "", step("t3", "three", -2*86400)), traced("t4", "", step("t4", "four", 2*86400)))
	e.put(traced("t4", "key", step("key", "root 4", 5)), traced("t3", "key", step("key", "root 3", 6)))
	session := e.event(id("key"))
	e.equal("session", []any{"three", noon - 2*dayMillis, noon + 2*dayMillis + 1000}, []any{session.Name, session.Start, session.End})
}

func fixedEvent(e *env) {
	fixed := traced("t", "own", step("own", "fixed", 2))
	fixed.Fixed = true
	e.put(traced("t", "", step("t", "one", 1)), fixed)
	e.put(traced("t", "key", step("key", "root", 3)))
	e.wantNames("own", "own", "fixed", "fixed")
	e.wantNames("key", "key", "one", "one", "root")
}

func resentWithKey(e *env) {
	resent := step("t", "x", 1)
	resent.Inputs = text(`{"q":1}`)
	e.put(traced("t", "", resent), traced("t", "", step("t", "y", 2)))
	for range 2 {
		e.put(traced("t", "key", resent))
	}
	e.wantNames("moved", "key", "x", "x", "y")
	e.equal("event rows", 3, e.place.Count(e.T, `SELECT count(*) FROM event`))
	e.wantRollup("key", "num_events=2 num_model_events=0 has_feedback=false cost= total_tokens=0 prompt_tokens=0 completion_tokens=0")
}

func aliases(e *env) {
	e.put(traced("t", "", step("t", "x", 1)))
	e.put(traced("t", "key", step("key", "root", 2)))
	e.equal("session of the old id", names(e.session(id("key"))), names(e.session(id("t"))))
	e.equal("event of the old id", id("key"), e.event(id("t")).ID)
	e.update(event.Update{EventID: id("t"), Metadata: text(`{"k":1}`)})
	e.equal("updated", "k=1", members(e.event(id("key")).Metadata, "k"))
	e.put(step("t", "native", 5))
	e.wantNames("put under the old id", "key", "x", "x", "root", "native")
	// A session start under the old id is one of the session.
	late := start("t", "chosen", 0, 9)
	late.Inputs = text(`{"q":"sender"}`)
	for range 2 {
		e.put(late, step("t", "beside", 6))
	}
	s := e.event(id("key"))
	e.equal("started under the old id", []string{"chosen", `{"q":"sender"}`}, []string{s.Name, string(s.Inputs)})
	e.equal("event rows", 5, e.place.Count(e.T, `SELECT count(*) FROM event`))
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("t")))
	_, err := e.s.Session(e.ctx, e.project, id("key"))
	e.equal("deleted by the old id", fault.NotFound, fault.Of(err))
}

func startedProvisional(e *env) {
	e.put(start("t", "by hand", 0, 0))
	e.put(traced("t", "", step("t", "x", 1)))
	e.put(traced("t", "key", step("key", "root", 2)))
	e.wantNames("by hand", "t", "by hand", "x")
	e.wantNames("key", "key", "root", "root")
}

func tracesAtOnce(e *env) {
	const traces, spans = 12, 6
	var wg sync.WaitGroup
	for i := range traces {
		trace, key := fmt.Sprint("t", i), fmt.Sprint("key", i%3)
		for j := range spans {
			x := traced(trace, "", call(trace, fmt.Sprint(trace, " span ", j), float64(i*100+j), 1, 1, 0.25))
			if j == spans/2 {
				x = traced(trace, key, call(key, fmt.Sprint(trace, " span ", j), float64(i*100+j), 1, 1, 0.25))
			}
			wg.Go(func() {
				if err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{x}}); err != nil {
					e.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for k := range 3 {
		key := fmt.Sprint("key", k)
		e.wantRollup(key, "num_events=24 num_model_events=24 has_feedback=false cost=6 total_tokens=48 prompt_tokens=24 completion_tokens=24")
		s := e.session(id(key))
		e.equal("events of "+key, 25, len(s))
		own := e.event(id(key))
		e.equal("span of "+key, []any{fmt.Sprint("t", k, " span 0"), noon + float64(k)*100_000, noon + 1000*float64((9+k)*100+spans)},
			[]any{own.Name, own.Start, own.End})
	}
	e.equal("session rows", 3, e.place.Count(e.T, `SELECT count(*) FROM session`))
}

func traceReopened(e *env) {
	e.put(traced("t", "", step("t", "x", 1)))
	e.reopen(optionsNone)
	e.put(traced("t", "key", step("key", "root", 2)))
	e.reopen(optionsNone)
	e.put(traced("t", "", step("t", "y", 3)))
	e.put(step("t", "native", 4))
	e.wantNames("key", "key", "x", "x", "root", "y", "native")
}

// named makes an event a span that names its session itself.
func named(trace, key string, x event.Incoming) event.Incoming {
	x = traced(trace, key, x)
	x.Named = true
	x.SessionID = event.SessionOf(key)
	if x.ParentID == id(key) {
		x.ParentID = x.SessionID
	}
	x.Metadata = text(`{"session_id":%q}`, key)
	return x
}

func rootNamesOther(e *env) {
	root := named("t", "of the root", step("of the root", "root", 1))
	child := named("t", "of the child", below("root", call("of the child", "child", 2, 4, 4, 0.25)))
	child.Metadata = text(`{"session_id":"of the child","prompt_tokens":4,"completion_tokens":4,"cost":0.25}`)
	quiet := traced("t", "", below("root", step("t", "quiet", 3)))
	for _, way := range [][]event.Incoming{{root, child, quiet}, {child, quiet, root}, {quiet, child, root}, {child, root, quiet, child}} {
		p, err := e.s.EnsureProject(e.ctx, fmt.Sprint("way ", way[0].Name, way[1].Name))
		e.ok(err)
		e.project = p.ID
		e.putEach(way...)
		s := event.SessionOf("of the root")
		e.equal("events", []string{"root", "root", "child", "quiet"}, names(e.session(s)))
		e.equal("key", `session_key="of the child" session_id=`, members(e.event(child.ID).Metadata, "session_key", "session_id"))
		e.equal("key of the root", `session_key= session_id="of the root"`, members(e.event(root.ID).Metadata, "session_key", "session_id"))
		e.equal(
			"totals",
			"num_events=3 num_model_events=1 total_tokens=8 cost=0.25",
			members(e.event(s).Metadata, "num_events", "num_model_events", "total_tokens", "cost"),
		)
		_, err = e.s.Session(e.ctx, e.project, event.SessionOf("of the child"))
		e.equal("what the child named", fault.NotFound, fault.Of(err))
	}
}

func traceLeaves(e *env) {
	stays := traced("u", "first", call("first", "stays", 5, 1, 1, 0.25))
	stays.UserProperties = text(`{"user_id":"stays"}`)
	e.put(stays)
	goes := traced("t", "first", below("root", call("first", "goes", 2, 4, 4, 0.5)))
	goes.UserProperties = text(`{"user_id":"goes"}`)
	e.put(goes)
	e.equal("user of the first event", `{"user_id":"goes"}`, string(e.event(id("first")).UserProperties))
	e.put(traced("t", "second", step("second", "root", 1)))
	e.wantNames("first", "first", "stays", "stays")
	e.wantNames("second", "second", "root", "root", "goes")
	e.wantRollup("first", "num_events=1 num_model_events=1 has_feedback=false cost=0.25 total_tokens=2 prompt_tokens=1 completion_tokens=1")
	e.wantRollup("second", "num_events=2 num_model_events=1 has_feedback=false cost=0.5 total_tokens=8 prompt_tokens=4 completion_tokens=4")
	e.equal(
		"users",
		[]string{`{"user_id":"stays"}`, `{"user_id":"goes"}`},
		[]string{string(e.event(id("first")).UserProperties), string(e.event(id("second")).UserProperties)},
	)
	e.equal("start of the first", stays.Start, e.event(id("first")).Start)
	e.put(traced("v", "first", step("first", "the name is free again", 9)))
	e.equal("events of the first", 3, len(e.session(id("first"))))
}

// judgedBeforeMove has evaluations of sessions, and items of queues, before their trace turns out to be of another one.
func judgedBeforeMove(e *env) {
	e.clocked()
	m := e.createMetric(metric.Definition{Name: "m", Type: metric.Human, EnabledInProd: true})
	e.put(traced("t", "", step("t", "x", 1)))
	e.admit(evaluation.Enqueue{Requests: []evaluation.Request{{MetricID: m, Version: 1, EventID: id("t")}}})
	q, other := e.createQueue(queue.Update{Annotators: pointer(1)}, "t").ID, e.createQueue(queue.Update{Annotators: pointer(1)}, "t").ID
	e.annotate(q, "t", "ann", `{"m":1}`)
	e.equal("claimed", "t", e.claim(other, "ann", "t", "key"))
	e.put(traced("t", "key", step("key", "root", 2)))
	e.equal("of the queue", "key=done", e.inQueue(q, "t", "key"))
	e.equal("evaluated", id("key"), e.evaluations(evaluation.Query{})[0].EventID)
	e.equal("claimed again", "key", e.claim(other, "ann", "t", "key"))
	e.annotate(other, "t", "ann", `{"m":2}`)
	e.equal("annotated by the old id", "key=done", e.inQueue(other, "t", "key"))
	e.equal("score", `{"m":2,"m_explanation":"by ann"}`, string(e.event(id("key")).Metrics))

	// Another one that goes to the same session: what the session has stays.
	e.put(traced("u", "", step("u", "y", 3)))
	e.admit(evaluation.Enqueue{Requests: []evaluation.Request{{MetricID: m, Version: 1, EventID: id("u")}}})
	_, err := e.s.UpdateQueue(e.ctx, e.project, q, queue.Update{}, ids("u"), nil)
	e.ok(err)
	e.annotate(q, "u", "bob", `{"m":0}`)
	e.put(traced("u", "key", step("key", "root of u", 4)))
	e.equal("of both", "key=done", e.inQueue(q, "key", "u"))

	e.ok(e.s.DeleteSession(e.ctx, e.project, id("key")))
	for _, table := range []string{"evaluation", "queue_item", "queue_turn"} {
		e.equal("rows of "+table, 0, e.place.Count(e.T, `SELECT count(*) FROM `+table))
	}
}

// annotatedBeforeMove has a session in queues that turns out to be part of another one in them: with annotations, with a claim, and with
// annotations of both.
func annotatedBeforeMove(e *env) {
	e.clocked()
	e.put(traced("s", "key", step("key", "first", 1)))
	e.put(traced("t", "", step("t", "x", 2)))
	queue1 := func() string { return e.createQueue(queue.Update{Annotators: pointer(2)}, "key", "t").ID }
	annotated, claimed, both, removed := queue1(), queue1(), queue1(), queue1()
	claim := func(q, event, annotator string) {
		e.Helper()
		_, _, err := e.s.OpenItem(e.ctx, e.project, q, id(event), annotator)
		e.ok(err)
	}
	claim(annotated, "key", "ann")
	claim(annotated, "key", "bob")
	e.annotate(annotated, "t", "ann", `{"m":1}`)
	e.annotate(annotated, "t", "cid", `{"m":1}`)
	claim(claimed, "t", "ann")
	claim(claimed, "key", "bob")
	e.annotate(both, "t", "ann", `{"n":1}`)
	e.annotate(both, "key", "bob", `{"n":2}`)
	e.annotate(removed, "t", "ann", `{"n":1}`)
	_, err := e.s.UpdateQueue(e.ctx, e.project, removed, queue.Update{}, nil, ids("key"))
	e.ok(err)

	e.put(traced("t", "key", step("key", "root", 3)))
	says := func(q string) (text string) {
		e.Helper()
		items, err := e.s.LoadQueueItems(e.ctx, e.project, q, []string{id("key").String()})
		e.ok(err)
		for _, it := range items {
			text += string(it.State)
			for _, a := range it.Annotations {
				text += " " + a.Annotator + string(a.Scores)
			}
			for _, c := range it.Claims {
				text += " " + c.Annotator
			}
		}
		return text
	}
	e.equal("of what was annotated", `done ann{"m":1} cid{"m":1}`, says(annotated))
	e.equal("of what was claimed", `waiting bob`, says(claimed))
	e.equal("of what was annotated twice", `waiting bob{"n":2}`, says(both))
	e.equal("of what was taken out", `removed`, says(removed))
	e.equal("score", `1`, string(rawjson.Get(e.event(id("key")).Metrics, "m")))
	e.annotate(annotated, "key", "ann", `{"m":3}`)
	e.equal("annotated anew", `done ann{"m":3} cid{"m":1}`, says(annotated))
	e.equal("score", `2`, string(rawjson.Get(e.event(id("key")).Metrics, "m")))
	e.equal("turns", 4, e.place.Count(e.T, `SELECT count(*) FROM queue_turn`))
	e.equal("items", 4, e.place.Count(e.T, `SELECT count(*) FROM queue_item`))
}

// saidBeforeMove scores and annotates sessions before their trace turns out to be of another one.
func saidBeforeMove(e *env) {
	say := func(session uuid.UUID) {
		e.update(event.Update{EventID: session, Metadata: raw(`{"k":1,"both":1}`), Metrics: raw(`{"m":0.5}`), Feedback: raw(`{"rating":5,"note":"n"}`),
			UserProperties: raw(`{"tier":"x"}`), Config: raw(`{"c":1}`), Outputs: raw(`{"o":1}`)})
	}
	said := func(what string, session uuid.UUID, rating int, outputs string) {
		e.Helper()
		s := e.event(session)
		e.equal(what, []string{"k=1 has_feedback=true", `{"m":0.5}`, fmt.Sprintf(`rating=%d note="n"`, rating), `tier="x"`, `{"c":1}`, outputs},
			[]string{members(s.Metadata, "k", "has_feedback"), string(s.Metrics), members(s.Feedback, "rating", "note"), members(s.UserProperties, "tier"),
				string(s.Config), string(s.Outputs)})
	}
	child := func(trace string) event.Incoming {
		x := traced(trace, "", below(trace+" root", step(trace, trace+" child", 2)))
		x.UserProperties = raw(`{"user_id":"of an event"}`)
		return x
	}
	root := func(trace, session string) event.Incoming {
		return traced(trace, session, step(session, trace+" root", 1))
	}

	e.put(child("t"))
	say(id("t"))
	e.put(root("t", "key"))
	said("of a provisional session", id("key"), 5, `{"o":1}`)
	e.equal("user of an event", `user_id="of an event"`, members(e.event(id("key")).UserProperties, "user_id"))
	e.put(child("u"))
	say(id("u"))
	e.update(event.Update{EventID: id("u"), UserProperties: raw(`{"tier":"another","plan":"p"}`)})
	e.put(root("u", "key"))
	said("again, of another one", id("key"), 5, `{"o":1}`)
	e.equal("what only the other one has", `plan="p"`, members(e.event(id("key")).UserProperties, "plan"))

	// What its sender says of the session goes before.
	started := start("own", "own", 0, 9)
	started.Feedback, started.Metadata, started.Outputs = raw(`{"rating":1}`), raw(`{"both":2}`), raw(`"done"`)
	e.put(started)
	e.put(child("v"))
	say(id("v"))
	e.update(event.Update{EventID: id("v"), UserProperties: raw(`{"user_id":"given"}`)})
	e.put(root("v", "own"))
	said("of one that goes to a session that was started", id("own"), 1, `"done"`)
	own := e.event(id("own"))
	e.equal("of both", []string{"both=2", `user_id="given"`}, []string{members(own.Metadata, "both"), members(own.UserProperties, "user_id")})

	// A session that a span had named.
	e.put(traced("w", "named", below("w root", step("named", "w child", 2))))
	say(id("named"))
	e.put(root("w", "other"))
	said("of a session that was named", id("other"), 5, `{"o":1}`)

	e.equal("sessions with feedback", 3, e.place.Count(e.T, `SELECT CAST(sum(num_feedback) AS bigint) FROM session`))
}

func fixedNames(e *env) {
	root := traced("t", "own", step("own", "root", 1))
	root.Fixed = true
	batch := event.Batch{
		Events: []event.Incoming{root},
		Traces: []event.TraceSession{{TraceID: id("t"), SessionID: id("own"), Rank: event.TraceRank{Nanos: 1}}},
	}
	quiet := traced("t", "", below("root", step("t", "quiet", 3)))
	e.put(quiet)
	e.ok(e.s.Put(e.ctx, e.project, batch))
	e.wantNames("joined", "own", "root", "root", "quiet")
	e.put(traced("t", "", below("root", step("t", "late", 4))))
	e.wantNames("joined later", "own", "root", "root", "quiet", "late")
}
