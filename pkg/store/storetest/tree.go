package storetest

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
)

var treeTests = []test{
	{"Tree/a wrapper is corrected in any order", wrapperAnyOrder},
	{"Tree/a late step connects a wrapper with its call", lateLink},
	{"Tree/native events keep their type", nativeKeeps},
	{"Tree/traces and sessions stand for themselves", tracesApart},
	{"Tree/a cycle is cut at its earliest start", wrapperCycle},
	{"Tree/a repeated wrapper stays corrected", wrapperRepeated},
	{"Tree/an update of a wrapper, before and after", wrapperUpdated},
	{"Tree/a wrapper whose call is deleted counts again", wrapperDeleted},
	{"Tree/a large wrapper", wrapperLarge},
	{"Tree/duplicates in any order", duplicatesAnyOrder},
	{"Tree/duplicates of one instrumentor are not marked", duplicatesOfOne},
	{"Tree/a call that was a duplicate for a while is filled again", filledAgain},
	{"Tree/duplicates of calls that failed", duplicatesFailed},
	{"Tree/the answer's model is filled in", duplicatesModel},
	{"Tree/duplicates that end at once: the deeper counts", duplicatesByDepth},
	{"Tree/a wrapper is no duplicate", wrapperNoDuplicate},
	{"Tree/what a sender says of duplicates holds", duplicateSaid},
	{"Tree/a duplicate whose original is deleted counts", duplicateDeleted},
	{"Tree/an unfinished copy in any order", unfinishedAnyOrder},
	{"Tree/a span with an id of its own in any order", ownIDAnyOrder},
	{"Tree/ids of their own after a restart, without calls", ownIDRestart},
	{"Tree/a trace in many requests", longTrace},
	{"Tree/a call in a session of its own loses its request's company", companyLeaves},
	{"Tree/a call that comes corrected for nothing", correctedForNothing},
	{"Tree/a session that is left and named again in one commit", leftAndNamed},
	{"Tree/the span with messages is the model event, around or beside others", messagesStand},
	{"Tree/a call that several spans inside it tell in parts", partsSummed},
	{"Tree/what others know of a call follows them", knownFollows},
	{"Tree/messages that come with log records", messagesLate},
	{"Tree/the span with messages is deleted, and what it knew of", messagesDeleted},
}

// told makes a model call that an instrumentor tells with the provider's id of the answer.
func told(scope, response string, x event.Incoming) event.Incoming {
	x.Type = event.TypeModel
	x.Metadata = text(
		`{"prompt_tokens":4,"input_tokens":4,"completion_tokens":2,"output_tokens":2,"total_tokens":6,"cost":0.25,"cost_source":"reported","response_id":%q}`,
		response,
	)
	x.ColdMetadata = text(`{"scope":{"name":%q}}`, scope)
	return x
}

// spans returns a trace whose root is a model call around two others.
func spans() []event.Incoming {
	outer := traced("t", "s", call("s", "outer", 0, 10, 20, 1.5))
	outer.Metadata = text(`{"prompt_tokens":10,"input_tokens":10,"completion_tokens":20,"output_tokens":20,"cost":1.5,"k":"v"}`)
	outer.End, outer.Duration = outer.Start+9000, 9000
	between := traced("t", "s", below("outer", step("s", "step", 1)))
	firstCall := traced("t", "s", below("step", call("s", "a", 2, 4, 8, 0.5)))
	secondCall := traced("t", "s", below("step", call("s", "b", 3, 6, 12, 1)))
	return []event.Incoming{outer, between, firstCall, secondCall}
}

const spansRollup = "num_events=4 num_model_events=2 has_feedback=false cost=1.5 total_tokens=30 prompt_tokens=10 completion_tokens=20"

func wrapperAnyOrder(e *env) {
	sameByAnyOrder(e, id("s"), spans())
	outer := e.event(id("outer"))
	e.equal("wrapper", []string{"chain", `{"k":"v","aggregate_usage":{"prompt_tokens":10,"completion_tokens":20,"cost":1.5}}`},
		[]string{string(outer.Type), string(outer.Metadata)})
	e.wantRollup("s", spansRollup)
}

func lateLink(e *env) {
	list := spans()
	e.put(list[0], list[2])
	e.wantRollup("s", "num_events=2 num_model_events=2 has_feedback=false cost=2 total_tokens=42 prompt_tokens=14 completion_tokens=28")
	e.reopen(optionsNone)
	e.put(list[3])
	e.put(list[1])
	e.equal("wrapper", event.TypeChain, e.event(id("outer")).Type)
	e.wantRollup("s", spansRollup)
}

func nativeKeeps(e *env) {
	outer := call("s", "outer", 0, 1, 1, 0.25)
	inner := below("outer", call("s", "inner", 1, 1, 1, 0.25))
	e.put(inner)
	e.put(outer)
	e.holds(outer, inner)
	// A span below a native call does not change it either.
	e.put(traced("t", "s", below("inner", call("s", "span", 2, 1, 1, 0.25))))
	e.holds(outer, inner)
}

func tracesApart(e *env) {
	outer := traced("t1", "s", call("s", "outer", 0, 1, 1, 0.25))
	e.put(outer, traced("t2", "s", below("outer", call("s", "of another trace", 1, 1, 1, 0.25))))
	fixed := traced("t1", "other", below("outer", call("other", "of another session", 1, 1, 1, 0.25)))
	fixed.Fixed = true
	e.put(fixed)
	e.holds(outer)
}

func wrapperCycle(e *env) {
	earlier := traced("t", "s", below("b", call("s", "a", 0, 1, 1, 0.25)))
	later := traced("t", "s", below("a", call("s", "b", 1, 2, 2, 0.5)))
	sameByAnyOrder(e, id("s"), []event.Incoming{earlier, later})
	e.equal("types", []event.Type{event.TypeChain, event.TypeModel}, []event.Type{e.event(earlier.ID).Type, e.event(later.ID).Type})
}

func wrapperRepeated(e *env) {
	list := spans()
	e.put(list...)
	want := e.session(id("s"))
	for _, x := range list {
		e.put(x)
	}
	e.reopen(optionsNone)
	e.putEach(reversed(list)...)
	e.same("session", want, e.session(id("s")))
	again := list[0]
	again.Metadata = text(`{"prompt_tokens":10,"late":1,"reasoning_tokens":3}`)
	e.put(again)
	e.equal(
		"filled",
		`{"k":"v","late":1,"aggregate_usage":{"prompt_tokens":10,"completion_tokens":20,"cost":1.5,"reasoning_tokens":3}}`,
		string(e.event(id("outer")).Metadata),
	)
	e.wantRollup("s", spansRollup)
}

func wrapperUpdated(e *env) {
	list := spans()
	u := event.Update{EventID: id("outer"), Metadata: text(`{"cost":9,"note":"n"}`)}
	ways := []func(){
		func() { e.put(list...); e.update(u) },
		func() { e.put(list[:1]...); e.update(u); e.put(list[1:]...) },
		func() { e.put(list[1:]...); _, err := e.s.Update(e.ctx, e.project, u); e.ok(err); e.put(list[:1]...) },
		func() { _, err := e.s.Update(e.ctx, e.project, u); e.ok(err); e.put(list...) },
	}
	for i, way := range ways {
		p, err := e.s.EnsureProject(e.ctx, fmt.Sprint("way ", i))
		e.ok(err)
		e.project = p.ID
		way()
		e.equal(fmt.Sprint("wrapper, way ", i), `{"k":"v","note":"n","aggregate_usage":{"prompt_tokens":10,"completion_tokens":20,"cost":9}}`,
			string(e.event(id("outer")).Metadata))
		e.wantRollup("s", spansRollup)
	}
}

func wrapperDeleted(e *env) {
	e.putEach(spans()...)
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("a")))
	e.wantRollup("s", "num_events=3 num_model_events=1 has_feedback=false cost=1 total_tokens=18 prompt_tokens=6 completion_tokens=12")
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("b")))
	e.wantRollup("s", "num_events=2 num_model_events=1 has_feedback=false cost=1.5 total_tokens=30 prompt_tokens=10 completion_tokens=20")
	e.equal("type", event.TypeModel, e.event(id("outer")).Type)
	e.put(spans()[2])
	e.equal("type, with a call again", event.TypeChain, e.event(id("outer")).Type)
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.put(spans()[0])
	e.equal("type in a new session", event.TypeModel, e.event(id("outer")).Type)
}

func wrapperLarge(e *env) {
	list := spans()
	list[0].Metadata = text(`{"prompt_tokens":10,"long":%q}`, prose(9<<10, 1))
	sameByAnyOrder(e, id("s"), list)
	e.equal("wrapper", `aggregate_usage={"prompt_tokens":10}`, members(e.event(id("outer")).Metadata, "aggregate_usage"))
}

func duplicates() []event.Incoming {
	inner := traced("t1", "s", told("openai", "r-1", step("s", "inner", 1)))
	outer := traced("t2", "s", told("langchain", "r-1", step("s", "outer", 0)))
	outer.End, outer.Duration = outer.Start+5000, 5000
	third := traced("t3", "s", told("gateway", "r-1", step("s", "third", 2)))
	third.End, third.Duration = third.Start+9000, 9000
	other := traced("t2", "s", told("langchain", "r-2", step("s", "other", 3)))
	return []event.Incoming{inner, outer, third, other}
}

const duplicatesRollup = "num_events=4 num_model_events=2 has_feedback=false cost=0.5 total_tokens=12 prompt_tokens=8 completion_tokens=4"

func (e *env) duplicateOf(name string) string {
	e.Helper()
	of := e.event(id(name))
	if d := of.DuplicateOf(); d != uuid.Nil {
		return e.event(d).Name
	}
	return ""
}

func duplicatesAnyOrder(e *env) {
	sameByAnyOrder(e, id("s"), duplicates())
	for name, of := range map[string]string{"inner": "", "outer": "inner", "third": "inner", "other": ""} {
		e.equal(name+" is a duplicate of", of, e.duplicateOf(name))
	}
	e.wantRollup("s", duplicatesRollup)
}

func duplicatesModel(e *env) {
	list := duplicates()
	list[1].ColdMetadata = text(`{"scope":{"name":"langchain"},"response_model":"m-1"}`)
	sameByAnyOrder(e, id("s"), list)
	e.equal("filled in", `response_model="m-1"`, members(e.event(id("inner")).Metadata, "response_model"))
	found, err := e.s.Search(e.ctx, e.project, query.Search{Limit: 10, Page: 1,
		Filters: []query.Filter{e.filter("metadata.response_model", "is", "string", `"m-1"`)}})
	e.ok(err)
	e.equal("found by it", 2, len(found.Events))
}

// filledAgain: what fills a call is the same before another account takes its place and after that one
// turns out to be of another answer, since it ended last, or has another id.
func filledAgain(e *env) {
	client := traced("t1", "s", told("openai", "r-1", step("s", "client", 1)))
	framework := traced("t2", "s", told("langchain", "r-1", step("s", "framework", 2)))
	gateway := traced("t3", "s", told("gateway", "r-1", step("s", "gateway", 1.5)))
	lateGateway := traced("t4", "s", told("gateway", "r-1", step("s", "late", 0)))
	for _, withoutCounts := range []*event.Incoming{&client, &gateway, &lateGateway} {
		withoutCounts.Metadata = text(`{"response_id":"r-1"}`)
	}
	duplicates := func() []string {
		return []string{e.duplicateOf("client"), e.duplicateOf("framework"), e.duplicateOf("gateway")}
	}
	e.put(client, framework, gateway)
	filled := e.counts("client")
	e.equal("filled", "total_tokens=6", members(e.event(client.ID).Metadata, "total_tokens"))
	open := lateGateway
	open.Unfinished, open.End, open.Duration = true, lateGateway.Start, 0
	e.put(open)
	e.equal("duplicates while the late one is open", []string{"late", "late", ""}, duplicates())
	lateGateway.End, lateGateway.Duration = lateGateway.Start+9000, 9000
	e.put(lateGateway)
	e.equal("duplicates", []string{"", "client", "client"}, duplicates())
	e.equal("filled again", filled, e.counts("client"))
	early := traced("t5", "s", told("proxy", "r-1", step("s", "early", 0)))
	e.put(early)
	e.equal("duplicates of another", []string{"early", "early", "early"}, duplicates())
	e.update(event.Update{EventID: early.ID, Metadata: text(`{"response_id":"r-9"}`)})
	e.equal("duplicates without it", []string{"", "client", "client"}, duplicates())
	e.equal("filled once more", filled, e.counts("client"))
}

// A call that failed has no answer whose id tells it: two accounts of it are made below one span, at
// the same time, of the same model.
func duplicatesFailed(e *env) {
	failed := func(name, scope, parent, model string, at, ms float64) event.Incoming {
		report := traced("t1", "s", told(scope, "", step("s", name, at)))
		report.Metadata, report.Inputs, report.Outputs = nil, nil, nil
		why := "overloaded"
		report.Error, report.End, report.Duration = &why, report.Start+ms, ms
		report.Config = text(`{"model":%q}`, model)
		report.ColdMetadata = text(`{"scope":{"name":%q},"parent_span_id":%q}`, scope, parent)
		if scope != "client" { // which does not tell what was asked
			report.Inputs = text(`{"chat_history":[{"role":"user","content":"Hello?"}]}`)
		}
		return report
	}
	list := []event.Incoming{
		failed("asked", "openllmetry", "p", "m", 1, 100), failed("sent", "client", "p", "m", 1.001, 90),
		failed("again", "openllmetry", "p", "m", 3, 100), failed("sent again", "client", "p", "m", 3.001, 90),
		failed("later", "client", "p", "m", 5, 10), failed("elsewhere", "client", "q", "m", 1, 100), failed("other", "client", "p", "n", 1, 100),
	}
	sameByAnyOrder(e, id("s"), list)
	for name, of := range map[string]string{
		"asked": "", "sent": "asked", "again": "", "sent again": "again", "later": "", "elsewhere": "", "other": "",
	} {
		e.equal(name+" is a duplicate of", of, e.duplicateOf(name))
	}

	// One that was updated before the other came is found as well, also by its row alone.
	p, err := e.s.EnsureProject(e.ctx, "updated")
	e.ok(err)
	e.project = p.ID
	e.put(list[0])
	e.update(event.Update{EventID: list[0].ID, Feedback: raw(`{"rating":1}`)})
	e.reopen(optionsNone)
	e.project = p.ID
	e.put(list[1])
	e.equal("duplicate of an updated call", "asked", e.duplicateOf("sent"))
}

func duplicatesOfOne(e *env) {
	list := duplicates()
	list[1].ColdMetadata = list[0].ColdMetadata
	list[2].TraceID, list[2].SessionID, list[2].ParentID = id("t3"), id("elsewhere"), id("elsewhere")
	e.putEach(list...)
	e.equal("of the same instrumentor", "", e.duplicateOf("outer"))
	e.equal("of another session", "", e.duplicateOf("third"))
	// A second answer with the id is told by both: each has a duplicate of its own.
	for _, x := range []struct {
		name, scope string
		at          float64
	}{{"again, outer", "langchain", 10.5}, {"again", "openai", 10}, {"first, outer", "langchain", 6}} {
		e.put(traced("t4", "s", told(x.scope, "r-1", step("s", x.name, x.at))))
	}
	e.equal(
		"pairs",
		[]string{"inner", "outer", ""},
		[]string{e.duplicateOf("first, outer"), e.duplicateOf("again, outer"), e.duplicateOf("again")},
	)
}

func duplicatesByDepth(e *env) {
	shallow := traced("t1", "s", told("x", "r", step("s", "shallow", 0)))
	deep := traced("t2", "s", below("above", told("y", "r", step("s", "deep", 0))))
	above := traced("t2", "s", step("s", "above", 0))
	sameByAnyOrder(e, id("s"), []event.Incoming{shallow, deep, above})
	e.equal("duplicate", []string{"deep", ""}, []string{e.duplicateOf("shallow"), e.duplicateOf("deep")})
}

func wrapperNoDuplicate(e *env) {
	outer := traced("t", "s", told("langchain", "r", step("s", "outer", 0)))
	inner := traced("t", "s", below("outer", told("openai", "r", step("s", "inner", 0))))
	late := traced("t2", "s", told("gateway", "r", step("s", "late", 5)))
	sameByAnyOrder(e, id("s"), []event.Incoming{outer, inner, late})
	e.equal("types", []event.Type{event.TypeChain, event.TypeModel}, []event.Type{e.event(outer.ID).Type, e.event(inner.ID).Type})
	e.equal("duplicates", []string{"", "", "inner"}, []string{e.duplicateOf("outer"), e.duplicateOf("inner"), e.duplicateOf("late")})
}

func duplicateSaid(e *env) {
	list := duplicates()
	list[1].Metadata = text(`{"prompt_tokens":4,"response_id":"r-1","duplicate_of":null}`)
	sameByAnyOrder(e, id("s"), list)
	e.equal("said", "duplicate_of=null", members(e.event(id("outer")).Metadata, "duplicate_of"))
	e.update(event.Update{EventID: id("third"), Metadata: text(`{"duplicate_of":null}`)})
	e.wantRollup("s", "num_events=4 num_model_events=4 has_feedback=false cost=0.75 total_tokens=22 prompt_tokens=16 completion_tokens=6")
}

func duplicateDeleted(e *env) {
	e.put(duplicates()...)
	e.wantRollup("s", duplicatesRollup)
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("inner")))
	e.equal("duplicates", []string{"", "outer"}, []string{e.duplicateOf("outer"), e.duplicateOf("third")})
	e.put(duplicates()[0])
	e.wantRollup("s", duplicatesRollup)
	// A call that turns out to be another answer's is no duplicate any more.
	e.update(event.Update{EventID: id("outer"), Metadata: text(`{"response_id":"r-3"}`)})
	e.equal("changed", []string{"", "inner"}, []string{e.duplicateOf("outer"), e.duplicateOf("third")})
}

func unfinishedAnyOrder(e *env) {
	list := spans()
	for _, i := range []int{0, 2} {
		open := list[i]
		open.Type, open.Metadata, open.Unfinished, open.End, open.Duration = event.TypeChain, text(`{"open":1}`), true, open.Start, 0
		list = append(list, open)
	}
	sameByAnyOrder(e, id("s"), list)
	e.equal("wrapper", []any{event.TypeChain, noon + 9000}, []any{e.event(id("outer")).Type, e.event(id("outer")).End})
	e.wantRollup("s", spansRollup)
}

func ownIDAnyOrder(e *env) {
	list := spans()
	list[1].SpanID = list[1].ID
	list[1].ID = id("own id of the step")
	sameByAnyOrder(e, id("s"), list)
	e.equal("parent of a", id("own id of the step"), e.event(id("a")).ParentID)
	e.wantRollup("s", spansRollup)
	_, err := e.s.Event(e.ctx, e.project, id("step"))
	e.equal("the id of its span", fault.NotFound, fault.Of(err))
}

func ownIDRestart(e *env) {
	parent := traced("t", "s", step("s", "parent", 0))
	parent.SpanID, parent.ID = parent.ID, id("own id of the parent")
	e.put(traced("t", "s", below("parent", step("s", "before", 1))))
	e.reopen(optionsNone)
	e.put(parent)
	e.reopen(optionsNone)
	e.put(traced("t", "s", below("parent", step("s", "after", 2))))
	e.equal("parents", []uuid.UUID{parent.ID, parent.ID}, []uuid.UUID{e.event(id("before")).ParentID, e.event(id("after")).ParentID})
}

func longTrace(e *env) {
	const requests, each = 40, 25
	var all []event.Incoming
	for i := range requests * each {
		span := call("s", fmt.Sprint("span ", i), float64(i), 1, 1, 0.25)
		if i > 0 {
			span = below(fmt.Sprint("span ", (i-1)/3), span)
		}
		all = append(all, traced("t", "s", span))
	}
	for i := range requests {
		part := make([]event.Incoming, 0, each)
		for j := range each {
			part = append(part, all[(i+j*requests)*7%len(all)])
		}
		e.put(part...)
	}
	leaves := 0
	for i := range all {
		if 3*i+1 >= len(all) {
			leaves++
		}
	}
	e.wantRollup(
		"s",
		fmt.Sprintf("num_events=%d num_model_events=%d has_feedback=false cost=%v total_tokens=%d prompt_tokens=%d completion_tokens=%d",
			len(all), leaves, float64(leaves)/4, 2*leaves, leaves, leaves),
	)
}

// companyLeaves: a span with a session of its own comes with others that its request files there,
// too, and that go on to the session that their trace has. What it was corrected for went along.
func companyLeaves(e *env) {
	outer := traced("t", "own", call("own", "outer", 2, 4, 4, 0.5))
	outer.Fixed = true
	inner := traced("t", "own", below("outer", call("own", "inner", 3, 4, 4, 0.25)))
	duplicate := traced("t", "own", told("langchain", "r", step("own", "duplicate", 5)))
	duplicate.Fixed = true
	first := traced("t", "own", told("openai", "r", step("own", "first", 4)))
	root := traced("t", "key", step("key", "root", 1))
	all := [][]event.Incoming{{root}, {outer, inner, duplicate, first}}
	ways := map[string]func(){
		"in a new session": func() {
			for _, part := range all {
				e.put(part...)
			}
		},
		"in a session without calls": func() {
			e.put(step("own", "native", 0))
			e.put(root)
			project := e.project
			e.reopen(optionsNone)
			e.project = project
			e.put(all[1]...)
		},
		"the root last": func() {
			e.put(all[1]...)
			e.put(root)
		},
		"again with another": func() {
			e.put(root)
			e.put(outer)
			e.put(duplicate)
			e.put(all[1]...)
		},
	}
	for name, way := range ways {
		p, err := e.s.EnsureProject(e.ctx, name)
		e.ok(err)
		e.project = p.ID
		way()
		e.equal("type, "+name, event.TypeModel, e.event(id("outer")).Type)
		e.equal("duplicate, "+name, "", e.duplicateOf("duplicate"))
		e.equal("own, "+name, "num_model_events=2 cost=0.75", members(e.event(id("own")).Metadata, "num_model_events", "cost"))
		e.equal("key, "+name, "num_model_events=2 cost=0.5", members(e.event(id("key")).Metadata, "num_model_events", "cost"))
	}
}

// correctedForNothing: what a request says of wrappers holds only as far as its spans do.
func correctedForNothing(e *env) {
	ownParent := traced("t", "s", below("x", call("s", "x", 0, 4, 4, 0.5))) // its own parent
	again := ownParent
	ownParent.Correct(event.Correction{Wrapper: true})
	e.put(ownParent)
	e.equal("type", event.TypeModel, e.event(ownParent.ID).Type)
	e.put(ownParent, again)
	e.equal("type, sent again", event.TypeModel, e.event(ownParent.ID).Type)
	e.wantRollup("s", "num_events=1 num_model_events=1 has_feedback=false cost=0.5 total_tokens=8 prompt_tokens=4 completion_tokens=4")
}

// leftAndNamed: the only trace of a session leaves it, and two others join it in the same commit.
func leftAndNamed(e *env) {
	for i, order := range [][3]byte{{1, 2, 3}, {3, 2, 1}, {2, 1, 3}} {
		p, err := e.s.EnsureProject(e.ctx, fmt.Sprint("order ", i))
		e.ok(err)
		e.project = p.ID
		var traces [3]uuid.UUID
		for j, n := range order {
			traces[j] = uuid.UUID{0: n, 15: 1}
		}
		in := func(trace uuid.UUID, x event.Incoming) event.Incoming {
			x.TraceID = trace
			if x.SessionID == id("") {
				x.SessionID, x.ParentID, x.Provisional = trace, trace, true
			}
			return x
		}
		goes := in(traces[0], below("root", step("s", "goes", 2)))
		e.put(goes)
		e.put(in(traces[1], told("openai", "r", step("", "inner", 3))))
		e.put(in(traces[2], told("langchain", "r", step("", "outer", 4))))
		joins := func(trace uuid.UUID) event.LogPart {
			return event.LogPart{Kind: event.LogRecord, TraceID: trace, SpanID: id("nobody"), Session: id("s"), Nanos: 1, Content: raw(`{}`)}
		}
		e.putBatch(
			event.Batch{
				Events:   []event.Incoming{in(traces[0], step("key", "root", 1))},
				LogParts: []event.LogPart{joins(traces[1]), joins(traces[2])},
			},
		)
		e.wantNames("key", "key", "root", "root", "goes")
		e.equal("events", 3, len(e.session(id("s"))))
		e.equal("duplicate", "inner", e.duplicateOf("outer"))
		e.put(in(traces[2], below("inner", step("s", "late", 5))))
		e.equal("events, one more", 4, len(e.session(id("s"))))
	}
}

// bare makes a model call told by the client library itself: counts and ids, no messages.
func bare(response string, x event.Incoming) event.Incoming { return told("sdk", response, x) }

// messages makes a model call told with its messages and nothing else.
func messages(scope string, x event.Incoming) event.Incoming {
	x.Type = event.TypeModel
	x.Inputs, x.Outputs = text(`{"chat_history":[{"role":"user","content":"Hello?"}]}`), text(`{"role":"assistant","content":"Hello."}`)
	x.Metadata, x.ColdMetadata = text(`{"k":"v"}`), text(`{"scope":{"name":%q}}`, scope)
	return x
}

const (
	bareCounts = `"prompt_tokens":4,"input_tokens":4,"completion_tokens":2,"output_tokens":2,"total_tokens":6,"cost":0.25,"cost_source":"reported","response_id":"r-1"`
	bareFilled = `["metadata.completion_tokens","metadata.cost","metadata.cost_source","metadata.input_tokens","metadata.output_tokens",` +
		`"metadata.prompt_tokens","metadata.response_id","metadata.total_tokens"]`
	oneCall = "has_feedback=false cost=0.25 total_tokens=6 prompt_tokens=4 completion_tokens=2"
)

// counts returns what an event's metadata says of its call, the order of its members apart.
func (e *env) counts(name string) string {
	e.Helper()
	return members(e.event(id(name)).Metadata, "prompt_tokens", "completion_tokens", "total_tokens", "cost", "response_id", "from_duplicates")
}

const filledCounts = "prompt_tokens=4 completion_tokens=2 total_tokens=6 cost=0.25 response_id=\"r-1\" from_duplicates=" + bareFilled

func messagesStand(e *env) {
	outer := traced("t", "s", messages("openinference", step("s", "outer", 1)))
	outer.End, outer.Duration = outer.Start+5000, 5000
	between := traced("t", "s", below("outer", step("s", "between", 2)))
	inner := traced("t", "s", below("between", bare("r-1", step("s", "inner", 2))))
	around := traced("t", "s", bare("r-1", step("s", "around", 0)))
	around.End, around.Duration = around.Start+9000, 9000
	for _, tt := range []struct {
		name      string
		spans     []event.Incoming
		model     string
		chain     map[string]string // and of which event it is a duplicate
		duplicate string
	}{
		{"around", []event.Incoming{outer, between, inner}, "outer", map[string]string{"inner": "outer"}, ""},
		{"inside", []event.Incoming{around, below("around", outer)}, "outer", map[string]string{"around": ""}, ""},
		{"in the middle", []event.Incoming{around, below("around", outer), between, inner}, "outer", map[string]string{"inner": "outer", "around": ""}, ""},
		{"beside", []event.Incoming{outer, traced("t", "s", bare("r-1", step("s", "duplicate", 2)))}, "outer", nil, ""},
	} {
		if tt.name == "beside" { // which both tell the id of the answer
			tt.spans[0].Metadata = text(`{"k":"v","response_id":"r-1"}`)
			tt.duplicate = "duplicate"
		}
		for _, way := range arrivals {
			what := tt.name + ", " + way.name
			p, err := e.s.EnsureProject(e.ctx, what)
			e.ok(err)
			e.project = p.ID
			way.fn(e, tt.spans)
			e.equal(what+": type", event.TypeModel, e.event(id(tt.model)).Type)
			if tt.duplicate == "" {
				e.equal(what+": counts", filledCounts, e.counts(tt.model))
			} else {
				e.equal(what+": duplicate", tt.model, e.duplicateOf(tt.duplicate))
			}
			for name, of := range tt.chain {
				e.equal(what+": "+name, event.TypeChain, e.event(id(name)).Type)
				e.equal(what+": of which "+name+" is a duplicate", of, e.duplicateOf(name))
			}
			e.wantRollup("s", fmt.Sprintf("num_events=%d num_model_events=1 %s", len(tt.spans), oneCall))
		}
	}
}

// partsSummed: a retried call, of which each attempt is told by itself.
func partsSummed(e *env) {
	outer := traced("t", "s", messages("openinference", step("s", "outer", 1)))
	firstAttempt := traced("t", "s", below("outer", bare("r-1", step("s", "a", 2))))
	secondAttempt := traced("t", "s", below("outer", bare("r-2", step("s", "b", 3))))
	sameByAnyOrder(e, id("s"), []event.Incoming{outer, firstAttempt, secondAttempt})
	e.equal("counts", "prompt_tokens=8 completion_tokens=4 total_tokens=12 cost=0.5 response_id=", members(e.event(id("outer")).Metadata,
		"prompt_tokens", "completion_tokens", "total_tokens", "cost", "response_id"))
	e.wantRollup("s", "num_events=3 num_model_events=1 has_feedback=false cost=0.5 total_tokens=12 prompt_tokens=8 completion_tokens=4")
}

// knownFollows: updates and finished spans change what fills another event, and updates of that
// event come before what fills it.
func knownFollows(e *env) {
	for i, restart := range []bool{false, true} {
		p, err := e.s.EnsureProject(e.ctx, fmt.Sprint("restart ", restart))
		e.ok(err)
		again := func() {
			e.project = p.ID
			if restart {
				e.reopen(optionsNone)
				e.project = p.ID
			}
		}
		again()
		outer := traced("t", "s", messages("openinference", step("s", "outer", 1)))
		inner := traced("t", "s", below("outer", bare("r-1", step("s", "inner", 2))))
		open := inner
		open.Unfinished, open.Metadata = true, text(`{}`)
		e.put(outer)
		again()
		e.put(open)
		e.equal(fmt.Sprint("open ", i), event.TypeChain, e.event(inner.ID).Type)
		e.equal("nothing is known", "prompt_tokens= completion_tokens= total_tokens= cost= response_id= from_duplicates=", e.counts("outer"))
		again()
		e.put(inner)
		e.equal("known", filledCounts, e.counts("outer"))
		again()
		e.update(event.Update{EventID: inner.ID, Metadata: text(`{"prompt_tokens":5,"total_tokens":7}`)})
		e.wantRollup("s", "num_events=2 num_model_events=1 has_feedback=false cost=0.25 total_tokens=7 prompt_tokens=5 completion_tokens=2")
		again()
		e.update(event.Update{EventID: outer.ID, Metadata: text(`{"prompt_tokens":1,"cost":2}`)})
		e.wantRollup("s", "num_events=2 num_model_events=1 has_feedback=false cost=2 total_tokens=1 prompt_tokens=1 completion_tokens=0")
		e.equal(
			"its own first",
			"prompt_tokens=1 completion_tokens= total_tokens= cost=2 response_id=\"r-1\" from_duplicates=[\"metadata.response_id\"]",
			e.counts("outer"),
		)
	}
}

// messagesLate: both spans come without messages, and a log record brings them to the outer one.
func messagesLate(e *env) {
	for i, order := range []string{"oin", "noi", "ino", "ion"} {
		name := func(s string) string { return fmt.Sprint(s, i) }
		session := name("s")
		outer := ofTrace(name("t"), step(session, name("outer"), 1))
		outer.Type, outer.Metadata = event.TypeModel, text(`{"k":"v"}`)
		inner := ofTrace(name("t"), below(name("outer"), bare("r-1", step(session, name("inner"), 2))))
		for _, what := range order {
			switch what {
			case 'o':
				e.put(outer)
			case 'i':
				e.put(inner)
			case 'n':
				e.putNotes(talk(name("outer"), name("t"))...)
			}
		}
		e.equal(order, []event.Type{event.TypeModel, event.TypeChain}, []event.Type{e.event(outer.ID).Type, e.event(inner.ID).Type})
		e.equal(order+": duplicate", name("outer"), e.duplicateOf(name("inner")))
		e.wantRollup(session, "num_events=2 num_model_events=1 "+oneCall)
	}
}

func messagesDeleted(e *env) {
	outer := traced("t", "s", messages("openinference", step("s", "outer", 1)))
	inner := traced("t", "s", below("outer", bare("r-1", step("s", "inner", 2))))
	e.put(outer, inner)
	e.ok(e.s.DeleteEvent(e.ctx, e.project, outer.ID))
	left := e.event(inner.ID)
	e.equal("inner", []string{"model", ""}, []string{string(left.Type), e.duplicateOf("inner")})
	e.wantRollup("s", "num_events=1 num_model_events=1 "+oneCall)
	outer.ID, inner.ParentID = id("another outer"), id("another outer")
	inner.ID = id("another inner")
	e.put(outer, inner)
	e.ok(e.s.DeleteEvent(e.ctx, e.project, inner.ID))
	e.equal("outer", "prompt_tokens= completion_tokens= total_tokens= cost= response_id= from_duplicates=",
		members(e.event(outer.ID).Metadata, "prompt_tokens", "completion_tokens", "total_tokens", "cost", "response_id", "from_duplicates"))
}
