package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

var sessionTests = []test{
	{"Session/shows the error of its failed root", sessionFails},
	{"Session/shows the first inputs and the last outputs of its steps", sessionSays},
	{"Session/costs in any order", costsAnyOrder},
	{"Session/exists from its first event", firstEvent},
	{"Session/made event follows its events", madeFollows},
	{"Session/user of its events", madeUser},
	{"Session/hint names a made session", hints},
	{"Session/started late keeps what the sender says", startedLate},
	{"Session/started late keeps what was added before", startedAfterUpdate},
	{"Session/without an end follows its events", openEnd},
	{"Session/an explicit end stays", explicitEnd},
	{"Session/a given end stays", updatedEnd},
	{"Session/end follows a changed event", endFollowsChange},
	{"Session/totals", exactTotals},
	{"Session/order of arrival does not matter", anyOrder},
	{"Session/an event's id as session id", eventAsSession},
	{"Session/totals of numbers beyond reason stay numbers", hugeTotals},
	{"Session/a model event that is its session's event counts", modelAsSession},
	{"Session/unknown is NotFound", unknownSession},
}

func firstEvent(e *env) {
	first := step("s", "x", 0)
	first.Inputs, first.Outputs = text(`{"q":1}`), text(`"a"`)
	e.put(first)
	session := e.event(id("s"))
	want := event.Event{
		ID:        id("s"),
		SessionID: id("s"),
		Type:      event.TypeSession,
		Name:      "x",
		Source:    "suite",
		Start:     first.Start,
		End:       first.End,
		Duration:  1000,
		Inputs:    first.Inputs,
		Outputs:   first.Outputs,
		Metadata:  text(`{"num_events":1,"num_model_events":0,"has_feedback":false,"total_tokens":0,"prompt_tokens":0,"completion_tokens":0}`),
	}
	e.same("made session", []event.Event{want}, []event.Event{session})
	e.equal("events", []string{"x", "x"}, names(e.session(id("s"))))
}

func madeFollows(e *env) {
	late := below("root", step("s", "child", 5))
	e.put(late)
	secondRoot, firstRoot := step("s", "second root", 3), step("s", "root", 1)
	firstRoot.Source, firstRoot.Inputs, firstRoot.Outputs = "src1", text(`{"q":"first"}`), text(`"first"`)
	secondRoot.Inputs, secondRoot.Outputs = text(`{"q":"second"}`), text(`"second"`)
	e.put(secondRoot)
	session := e.event(id("s"))
	e.equal("name after the later root", "second root", session.Name)
	e.put(firstRoot)
	session = e.event(id("s"))
	e.equal("session", []any{"root", "src1", firstRoot.Start, late.End, late.End - firstRoot.Start, `{"q":"first"}`, `"second"`},
		[]any{session.Name, session.Source, session.Start, session.End, session.Duration, string(session.Inputs), string(session.Outputs)})
	yesterday := step("s", "yesterday", -86400)
	e.put(yesterday, step("s", "tomorrow", 86400))
	session = e.event(id("s"))
	e.equal("session over days", []any{"yesterday", noon - dayMillis, noon + dayMillis + 1000},
		[]any{session.Name, session.Start, session.End})
	e.equal("events", 6, len(e.session(id("s"))))
}

func madeUser(e *env) {
	withoutUser := step("s", "x", 0)
	e.put(withoutUser)
	withUser := step("s", "y", 1)
	withUser.UserProperties = text(`{"plan":"pro","user_id":"u-1"}`)
	e.put(withUser)
	e.equal("user", `{"user_id":"u-1"}`, string(e.event(id("s")).UserProperties))
}

func hints(e *env) {
	put := func(h event.SessionHint, x event.Incoming) event.Event {
		h.SessionID = x.SessionID
		e.ok(e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{x}, Sessions: []event.SessionHint{h}}))
		return e.event(x.SessionID)
	}
	s := put(
		event.SessionHint{Fallback: "service", Source: "hinted", Metadata: text(`{"resource":{"a":1}}`)},
		below("root", step("s", "child", 5)),
	)
	e.equal("fallback", []string{"service", "hinted", `resource={"a":1}`}, []string{s.Name, s.Source, members(s.Metadata, "resource")})
	s = put(event.SessionHint{Fallback: "service"}, step("s", "root", 1))
	e.equal("root", []string{"root", "suite"}, []string{s.Name, s.Source})
	s = put(event.SessionHint{Name: "named"}, below("root", step("s", "other", 2)))
	e.equal("hint", "named", s.Name)
	s = put(event.SessionHint{Fallback: "service"}, step("s", "earlier root", 0))
	e.equal("hint stays", "named", s.Name)
}

func startedLate(e *env) {
	cameBefore := step("s", "x", 10)
	cameBefore.UserProperties = text(`{"user_id":"u"}`)
	e.put(cameBefore)
	startEvent := start("s", "chosen", 5, 100)
	startEvent.Metadata, startEvent.Inputs, startEvent.UserProperties = text(`{"k":1}`), text(`{"q":"sender"}`), text(`{"plan":"pro"}`)
	e.put(startEvent)
	session := e.event(id("s"))
	e.equal("session", []any{"chosen", "sender", startEvent.Start, startEvent.End, `{"q":"sender"}`, "1", `{"plan":"pro","user_id":"u"}`},
		[]any{session.Name, session.Source, session.Start, session.End, string(session.Inputs), members(session.Metadata, "k")[2:],
			string(session.UserProperties)})
	e.put(step("s", "y", -50), step("s", "z", 500))
	session = e.event(id("s"))
	e.equal("session stays", []any{"chosen", startEvent.Start, startEvent.End}, []any{session.Name, session.Start, session.End})
	e.wantRollup("s", "num_events=3 num_model_events=0 has_feedback=false cost= total_tokens=0 prompt_tokens=0 completion_tokens=0")
}

func startedAfterUpdate(e *env) {
	e.put(step("s", "x", 10))
	e.update(
		event.Update{
			EventID:  id("s"),
			Feedback: text(`{"rating":5}`),
			Metrics:  text(`{"m":1}`),
			Metadata: text(`{"k":1}`),
			Outputs:  text(`"out"`),
		},
	)
	e.put(start("s", "chosen", 5, 0))
	s := e.event(id("s"))
	e.equal("session", []string{"chosen", `{"rating":5}`, `{"m":1}`, "k=1 has_feedback=true", `"out"`},
		[]string{s.Name, string(s.Feedback), string(s.Metrics), members(s.Metadata, "k", "has_feedback"), string(s.Outputs)})
}

func openEnd(e *env) {
	startEvent := start("s", "open", 0, 0)
	e.put(startEvent)
	e.put(step("s", "x", 30), step("s", "y", -30))
	session := e.event(id("s"))
	e.equal("session", []any{"open", startEvent.Start, noon + 31000, 31000.0},
		[]any{session.Name, session.Start, session.End, session.Duration})
	e.put(step("s", "z", 10))
	e.equal("end", noon+31000, e.event(id("s")).End)
}

func explicitEnd(e *env) {
	startEvent := start("s", "closed", 0, 5)
	e.put(step("s", "x", 30), startEvent)
	e.put(step("s", "y", 60))
	e.equal("end", startEvent.End, e.event(id("s")).End)
}

func updatedEnd(e *env) {
	e.put(start("s", "open", 0, 0), step("s", "x", 30))
	e.update(event.Update{EventID: id("s"), EndTime: pointer(noon + 40000)})
	e.put(step("s", "y", 60))
	e.equal("end", noon+40000, e.event(id("s")).End)
}

func endFollowsChange(e *env) {
	for _, session := range []string{"made", "open"} {
		if session == "open" {
			e.put(start(session, "open", 0, 0))
		}
		lengthened, lastBefore := step(session, session+" x", 0), step(session, session+" y", 1)
		lastBefore.Outputs = text(`"of y"`)
		lengthened.Outputs = text(`"of x"`)
		e.put(lengthened, lastBefore)
		e.equal(session+" outputs", `"of y"`, string(e.event(id(session)).Outputs))
		e.update(event.Update{EventID: lengthened.ID, EndTime: pointer(noon + 90000)})
		e.equal(session+" end", noon+90000, e.event(id(session)).End)
		e.equal(session+" outputs of what now ends last", `"of x"`, string(e.event(id(session)).Outputs))
		e.ok(e.s.DeleteEvent(e.ctx, e.project, lengthened.ID))
		e.equal(session+" outputs after the deletion", `"of y"`, string(e.event(id(session)).Outputs))
	}
}

func exactTotals(e *env) {
	tool := step("s", "tool", 1)
	tool.Metadata = text(`{"prompt_tokens":1000,"cost":1000,"total_tokens":5}`)
	duplicate := call("s", "duplicate", 2, 50, 50, 50)
	duplicate.Metadata = text(`{"prompt_tokens":50,"cost":50,"duplicate_of":"%s"}`, id("m"))
	odd := call("s", "odd", 3, 0, 0, 0)
	odd.Metadata = text(`{"prompt_tokens":"many","input_tokens":4,"output_tokens":8,"cost":"dear"}`)
	own := call("s", "own total", 4, 0, 0, 0)
	own.Metadata = text(`{"prompt_tokens":1,"completion_tokens":1,"total_tokens":64,"duplicate_of":null}`)
	e.put(call("s", "m", 0, 16, 32, 0.5), tool, duplicate, odd, own)
	e.wantRollup("s", "num_events=5 num_model_events=3 has_feedback=false cost=0.5 total_tokens=124 prompt_tokens=21 completion_tokens=41")
	e.update(event.Update{EventID: id("m"), Metadata: text(`{"cost":2.25,"prompt_tokens":17}`)})
	e.update(event.Update{EventID: id("tool"), Feedback: text(`{"rating":1}`), Metadata: text(`{"cost":3}`)})
	e.update(event.Update{EventID: id("own total"), Metadata: text(`{"cost":4}`)})
	e.wantRollup("s", "num_events=5 num_model_events=3 has_feedback=true cost=6.25 total_tokens=125 prompt_tokens=22 completion_tokens=41")
	e.update(event.Update{EventID: id("own total"), Metadata: text(`{"cost":null}`)})
	e.wantRollup("s", "num_events=5 num_model_events=3 has_feedback=true cost=2.25 total_tokens=125 prompt_tokens=22 completion_tokens=41")
	for _, gone := range []string{"m", "tool", "duplicate"} {
		e.ok(e.s.DeleteEvent(e.ctx, e.project, id(gone)))
	}
	e.wantRollup("s", "num_events=2 num_model_events=2 has_feedback=false cost= total_tokens=76 prompt_tokens=5 completion_tokens=9")
}

// arrivals are ways in which the same events may come. A restart leaves the store open anew.
var arrivals = []struct {
	name string
	fn   func(e *env, list []event.Incoming)
}{
	{"whole", func(e *env, list []event.Incoming) { e.put(list...) }},
	{"reversed", func(e *env, list []event.Incoming) { e.put(reversed(list)...) }},
	{"one by one", func(e *env, list []event.Incoming) { e.putEach(list...) }},
	{"one by one, reversed", func(e *env, list []event.Incoming) { e.putEach(reversed(list)...) }},
	{"twice", func(e *env, list []event.Incoming) { e.putEach(list...); e.put(list...) }},
	{"in halves, with a restart", func(e *env, list []event.Incoming) {
		project := e.project
		e.put(list[len(list)/2:]...)
		e.reopen(optionsNone)
		e.project = project
		e.put(list[:len(list)/2]...)
	}},
}

// sameByAnyOrder stores the same events in every way, each in a project of its own, and
// compares the whole session.
func sameByAnyOrder(e *env, session uuid.UUID, list []event.Incoming) {
	var want []event.Event
	for i, way := range arrivals {
		p, err := e.s.EnsureProject(e.ctx, way.name)
		e.ok(err)
		e.project = p.ID
		way.fn(e, list)
		got := e.session(session)
		if i == 0 {
			want = got
			continue
		}
		e.same("session, "+way.name, want, got)
	}
}

func anyOrder(e *env) {
	list := sample()[:3]
	root := step("s", "early root", -100000)
	root.UserProperties = text(`{"user_id":"u"}`)
	root.Inputs, root.Outputs = text(`{"q":"root"}`), text(`"root"`)
	list = append(list, root, below("b", call("s", "deep", 200000, 8, 8, 8)))
	sameByAnyOrder(e, id("s"), list)
}

func eventAsSession(e *env) {
	stored := step("s", "x", 0)
	e.put(stored)
	for _, seconds := range []float64{0, 86400} {
		misfiled := step("x", "y", seconds) // its session's id is the event's
		if err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{misfiled}}); fault.Of(err) != fault.Invalid {
			e.Errorf("put into a session whose id is an event's: %v, want Invalid", err)
		}
	}
	e.holds(stored)
	if err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{step("a", "b", 0), step("b", "c", 0)}}); fault.Of(
		err,
	) != fault.Invalid {
		e.Errorf("both at once: %v, want Invalid", err)
	}
	// A session event with the id of an event fills it, as any repeat.
	e.put(start("x", "as a session", 5, 0))
	e.holds(stored)
	e.equal("rows", 2, e.place.Count(e.T, `SELECT count(*) FROM event`))
}

func unknownSession(e *env) {
	_, err := e.s.Session(e.ctx, e.project, id("nowhere"))
	e.equal("session", fault.NotFound, fault.Of(err))
	_, err = e.s.Event(e.ctx, e.project, id("nowhere"))
	e.equal("event", fault.NotFound, fault.Of(err))
}

// costsAnyOrder adds fractions whose sum in floating point depends on their order.
func costsAnyOrder(e *env) {
	costs := []float64{0.1, 0.2, 0.3, 0.0000085, 0.0000117, 0.0000095}
	for _, session := range []string{"up", "down"} {
		for i, c := range costs {
			e.put(call(session, fmt.Sprint(session, c), float64(i), 1, 1, c))
		}
		e.wantRollup(
			session,
			"num_events=6 num_model_events=6 has_feedback=false cost=0.6000297 total_tokens=12 prompt_tokens=6 completion_tokens=6",
		)
		slices.Reverse(costs)
	}
}

func hugeTotals(e *env) {
	var list []event.Incoming
	for i := range 3 {
		huge := call("s", fmt.Sprint("x", i), float64(i), 1, 1, 0.25)
		huge.Metadata = raw(`{"prompt_tokens":1.7e308,"completion_tokens":-1.7e308,"total_tokens":1.7e308,"cost":1.7e308}`)
		list = append(list, huge)
	}
	e.put(list...)
	e.put(call("s", "usual", 5, 3, 4, 0.5))
	e.wantRollup(
		"s",
		"num_events=4 num_model_events=4 has_feedback=false cost=3000000000000.5 total_tokens=3000000000007 prompt_tokens=3000000000003 completion_tokens=-2999999999996",
	)
	e.equal("as it came", `1.7e308`, string(rawjson.Get(e.event(list[0].ID).Metadata, "cost")))
	for how, want := range map[string]string{"sum": "3e+290", "average": "7.5e+289", "max": "1.7e+308"} {
		c := e.chart("metadata.prompt_tokens", "", "day", how)
		c.Filters = []query.Filter{e.filter("event_type", "is", "", `"model"`)}
		e.wantChart(c, "total 4", "2026-01-02T00:00Z - "+want+" 4")
		c.Filters = append(c.Filters, e.filter("inputs.x", "not exists", "", `null`)) // decided in Go
		e.wantChart(c, "total 4", "2026-01-02T00:00Z - "+want+" 4")
	}
	for _, huge := range list {
		e.ok(e.s.DeleteEvent(e.ctx, e.project, huge.ID))
	}
	e.wantRollup("s", "num_events=1 num_model_events=1 has_feedback=false cost=0.5 total_tokens=7 prompt_tokens=3 completion_tokens=4")
}

func modelAsSession(e *env) {
	modelEvent := call("s", "s", 0, 3, 4, 0.5)
	modelEvent.ID = id("s")
	modelEvent.Metadata = text(`{"prompt_tokens":3,"completion_tokens":4,"cost":0.5}`)
	e.put(modelEvent)
	e.put(call("s", "y", 1, 10, 20, 0.25))
	got := e.event(id("s"))
	e.equal(
		"totals",
		"num_events=1 num_model_events=2 has_feedback=false",
		members(got.Metadata, "num_events", "num_model_events", "has_feedback"),
	)
	e.equal("its own stay, others are the session's", "cost=0.5 total_tokens=37 prompt_tokens=3 completion_tokens=4",
		members(got.Metadata, "cost", "total_tokens", "prompt_tokens", "completion_tokens"))
	for range 2 {
		e.equal("rows", 2, e.place.Count(e.T, `SELECT count(*) FROM event`))
		e.put(modelEvent)
	}
}

// sessionFails: whatever the order, a session shows the error of the first of its failed roots, and
// filters see it.
func sessionFails(e *env) {
	first, second, belowFirst := step("s", "first", 1), step("s", "second", 2), below("first", step("s", "below", 0))
	first.Error, second.Error, belowFirst.Error = pointer("one"), pointer("two"), pointer("inner")
	sameByAnyOrder(e, id("s"), []event.Incoming{first, second, belowFirst, step("s", "fine", 0)})
	shown := func(session string) string {
		if err := e.event(id(session)).Error; err != nil {
			return *err
		}
		return ""
	}
	failed := func(text string) []string {
		return e.found(e.filter("event_type", "is", "", `"session"`), e.filter("error", "contains", "", `"`+text+`"`))
	}
	e.equal("error", "one", shown("s"))
	e.equal("found", []string{"fine"}, failed("one"))
	e.equal("not found", 0, len(failed("two")))
	e.ok(e.s.DeleteEvent(e.ctx, e.project, first.ID)) // what is below is a root no more than before
	e.equal("of the next", "two", shown("s"))
	e.equal("found then", []string{"fine"}, failed("two"))
	e.ok(e.s.DeleteEvent(e.ctx, e.project, second.ID))
	e.equal("of none", "", shown("s"))

	// A session that was started shows it, too, unless its sender says an error of its own.
	own := start("own", "own", 0, 10)
	late := step("own", "late", 1)
	late.Error = pointer("of the root")
	e.put(own)
	e.put(late)
	e.equal("started", "of the root", shown("own"))
	e.update(event.Update{EventID: id("own"), Metadata: text(`{"k":1}`)})
	e.equal("updated", "of the root", shown("own"))
	own.Error = pointer("of the sender")
	e.put(own)
	e.equal("said", "of the sender", shown("own"))
	e.ok(e.s.DeleteEvent(e.ctx, e.project, late.ID))
	e.equal("said, without the root", "of the sender", shown("own"))

	// The copy of a span that had not ended knows no error yet.
	open := traced("t", "open", step("open", "open", 0))
	done := open
	open.Unfinished, done.Error = true, pointer("at the end")
	e.put(open)
	e.equal("open", "", shown("open"))
	e.put(done)
	e.equal("done", "at the end", shown("open"))
}

// sessionSays: roots come before other steps, and what a session says itself before them.
func sessionSays(e *env) {
	root := step("s", "root", 0)
	withOutputs, withBoth, withInputs := below("root", step("s", "a", 1)), below("root", step("s", "b", 2)), below("root", step("s", "c", 3))
	withOutputs.Outputs = text(`"of a"`)
	withBoth.Inputs, withBoth.Outputs = text(`{"q":"of b"}`), text(`"of b"`)
	withInputs.Inputs = text(`{"q":"of c"}`)
	sameByAnyOrder(e, id("s"), []event.Incoming{root, withOutputs, withBoth, withInputs})
	own, none, ofRoot := step("own", "root of own", 0), step("none", "root of none", 0), step("of root", "root of root", 0)
	own.Inputs, ofRoot.Outputs = text(`{"q":"of its root"}`), text(`"of its root"`)
	e.put(own, none, ofRoot)
	e.update(event.Update{EventID: id("own"), Inputs: text(`{"q":"its own"}`)})
	shows := func(what, inputs, outputs string) {
		e.Helper()
		set := e.search(query.Search{Filters: []query.Filter{e.filter("event_type", "is", "", `"session"`)}, Page: 1, Limit: 10, Sort: query.EventsByStart})
		e.equal(what+": sessions", 4, len(set.Events))
		for i := range set.Events {
			listed, err := set.Load(e.ctx, i)
			e.ok(err)
			e.equal(what+": in a list", e.event(listed.ID), listed)
		}
		shown := e.event(id("s"))
		e.equal(what, []string{inputs, outputs}, []string{string(shown.Inputs), string(shown.Outputs)})
		session := e.filter("event_type", "is", "", `"session"`)
		for field, text := range map[string]string{"inputs": inputs, "outputs": outputs} {
			if text == "" {
				e.equal(what+": no "+field, 0, len(e.found(session, e.filter(field, "exists", "", ``))))
				continue
			}
			for _, other := range []string{"of a", "of b", "of c", "of late"} {
				want := 0
				if strings.Contains(text, other) {
					want = 1
				}
				e.equal(what+": "+field+" "+other, want, len(e.found(session, e.filter(field, "contains", "", `"`+other+`"`))))
			}
		}
	}
	shows("steps", `{"q":"of b"}`, `"of b"`)
	late := step("s", "late", 9)
	late.Inputs, late.Outputs = text(`{"q":"of late"}`), text(`"of late"`)
	e.put(late)
	shows("a later root", `{"q":"of late"}`, `"of late"`)
	for _, gone := range []event.Incoming{late, withBoth} {
		e.ok(e.s.DeleteEvent(e.ctx, e.project, gone.ID))
	}
	shows("without them", `{"q":"of c"}`, `"of a"`)
	e.update(event.Update{EventID: withOutputs.ID, Inputs: text(`{"q":"of a"}`)})
	shows("an update", `{"q":"of a"}`, `"of a"`)
}
