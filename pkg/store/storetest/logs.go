package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store"
)

var logTests = []test{
	{"Logs/in any order and any batches give the same event", logsAnyOrder},
	{"Logs/across a restart", logsRestart},
	{"Logs/a span with an id of its own", logsOwnID},
	{"Logs/a session that moves", logsMove},
	{"Logs/a session that only a log record names", logsSession},
	{"Logs/a session with the id of an event", logsTaken},
	{"Logs/an update is never overwritten", logsUpdate},
	{"Logs/an unfinished span", logsUnfinished},
	{"Logs/evaluations find the answer they name", logsEvaluation},
	{"Logs/evaluations of an answer that is told late", logsLateAnswer},
	{"Logs/deleted with their session", logsDelete},
	{"Logs/a bound on those that wait", logsBound},
	{"Logs/at the same time as their spans", logsConcurrent},
	{"Logs/of another project", logsProject},
}

// ofTrace returns an event that came with a trace.
func ofTrace(trace string, e event.Incoming) event.Incoming {
	e.TraceID = id(trace)
	return e
}

// note returns a note about an event, at seconds after noon.
func note(name, trace string, seconds float64, kind event.LogPartKind, content string) event.LogPart {
	return event.LogPart{Kind: kind, SpanID: id(name), TraceID: id(trace), Nanos: uint64((noon + 1000*seconds) * 1e6), Content: raw(content)}
}

// talk returns the notes of a model call: two messages, an answer and a log.
func talk(name, trace string) []event.LogPart {
	return []event.LogPart{
		note(name, trace, 1, event.LogInput, `[{"role":"system","content":"Be terse."}]`),
		note(name, trace, 1.5, event.LogInput, fmt.Sprintf(`[{"role":"user","content":"What of %s?"}]`, name)),
		note(name, trace, 2, event.LogOutput, `{"index":0,"messages":[{"role":"assistant","content":"Fine.","finish_reason":"stop"}]}`),
		note(name, trace, 3, event.LogRecord, `{"name":"gen_ai.unheard","time":1767355203000,"body":{"n":1}}`),
	}
}

const talkHistory = `[{"role":"system","content":"Be terse."},{"role":"user","content":"What of %s?"}]`

// talked checks that an event has what talk says.
func (e *env) talked(name string) {
	e.Helper()
	x := e.event(id(name))
	e.equal(name+": chat_history", fmt.Sprintf(talkHistory, name), string(rawjson.Get(x.Inputs, "chat_history")))
	e.equal(name+": outputs", `"Fine."`, string(rawjson.Get(x.Outputs, "content")))
	e.equal(name+": logs", `[{"name":"gen_ai.unheard","time":1767355203000,"body":{"n":1}}]`, string(rawjson.Get(x.Metadata, "logs")))
}

func (e *env) putBatch(b event.Batch) {
	e.Helper()
	e.ok(e.s.Put(e.ctx, e.project, b))
}

func (e *env) putNotes(notes ...event.LogPart) {
	e.Helper()
	e.putBatch(event.Batch{LogParts: notes})
}

func logsAnyOrder(e *env) {
	want := map[string]shape{}
	for round := range 24 {
		r := rand.New(rand.NewPCG(7, uint64(round)))
		session := fmt.Sprint("s", round)
		spans := []event.Incoming{ofTrace(session, call(session, "a", 0, 5, 3, 0.25)), ofTrace(session, call(session, "b", 1, 5, 3, 0.25))}
		var parts []event.Batch
		for i := range spans {
			// Ids apart for each round; all else alike.
			spans[i].ID = id(session + spans[i].Name)
			spans[i].Outputs = raw(`{"finish_reason":"length"}`)
			parts = append(parts, event.Batch{Events: spans[i : i+1]})
			for _, n := range talk(spans[i].Name, session) {
				n.SpanID = spans[i].ID
				switch {
				case r.IntN(3) > 0 && len(parts) > 0 && len(parts[len(parts)-1].LogParts) > 0:
					parts[len(parts)-1].LogParts = append(parts[len(parts)-1].LogParts, n)
				default:
					parts = append(parts, event.Batch{LogParts: []event.LogPart{n}})
				}
			}
		}
		parts = append(parts, parts[r.IntN(len(parts))], parts[r.IntN(len(parts))]) // twice
		switch round {
		case 0:
		case 1:
			slices.Reverse(parts)
		case 2: // all at once
			var all event.Batch
			for _, p := range parts {
				all.Events, all.LogParts = append(all.Events, p.Events...), append(all.LogParts, p.LogParts...)
			}
			parts = []event.Batch{all}
		default:
			r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		}
		for _, p := range parts {
			e.putBatch(p)
		}
		for _, span := range spans {
			got := shapeOf(e.event(span.ID))
			got.ID, got.Session, got.Parent = "", "", ""
			if w, ok := want[span.Name]; ok {
				e.equal(fmt.Sprintf("round %d, %s", round, span.Name), w, got)
			} else {
				want[span.Name] = got
				e.equal("outputs", `{"finish_reason":"length","role":"assistant","content":"Fine."}`, got.Outputs)
			}
		}
		e.wantRollup(session, "num_events=2 num_model_events=2 has_feedback=false cost=0.5 total_tokens=16 prompt_tokens=10 completion_tokens=6")
	}
}

func logsRestart(e *env) {
	notes := talk("a", "t")
	e.putNotes(notes[0], notes[2])
	e.reopen(store.Options{})
	e.put(ofTrace("t", call("s", "a", 0, 1, 1, 1)))
	e.reopen(store.Options{})
	e.putNotes(notes[1:]...)
	e.talked("a")
}

func logsOwnID(e *env) {
	for _, first := range []bool{true, false} {
		name := fmt.Sprint("span", first)
		own := ofTrace("t", call("s", name, 0, 1, 1, 1))
		own.ID, own.SpanID = id("own "+name), id(name)
		notes := talk(name, "t")
		if first {
			e.putNotes(notes[:2]...)
		}
		e.put(own)
		e.put(own)
		e.putNotes(notes...)
		x := e.event(own.ID)
		e.equal("history", fmt.Sprintf(talkHistory, name), string(rawjson.Get(x.Inputs, "chat_history")))
	}
}

func logsMove(e *env) {
	trace := "moving"
	child := ofTrace(trace, call(trace, "child", 1, 1, 1, 1))
	child.Provisional = true
	child.SessionID, child.ParentID = id(trace), id("root")
	notes := talk("child", trace)
	e.put(child)
	e.putNotes(notes[0])
	root := ofTrace(trace, step("named", "root", 0))
	e.put(root)
	e.putNotes(notes[1:]...)
	e.equal("session", id("named"), e.event(id("child")).SessionID)
	e.talked("child")
}

func logsSession(e *env) {
	for i, first := range []bool{true, false} {
		trace, name, session := fmt.Sprint("t", i), fmt.Sprint("x", i), fmt.Sprint("told", i)
		span := ofTrace(trace, call(trace, name, 0, 1, 1, 1))
		span.Provisional = true
		span.SessionID, span.ParentID = id(trace), id(trace)
		notes := talk(name, trace)
		for j := range notes {
			notes[j].Session = id(session)
		}
		if first {
			e.putNotes(notes...)
		}
		e.put(span)
		if !first {
			e.putNotes(notes...)
		}
		e.equal("session", id(session), e.event(id(name)).SessionID)
		e.equal("events", 2, len(e.session(id(session))))
		e.talked(name)
	}
}

// logsTaken: log records cannot name a session whose id an event of another session has. They are refused, whichever comes first, and keep no
// span of their trace from its own session.
func logsTaken(e *env) {
	for i, first := range []bool{true, false} {
		trace, name, other := fmt.Sprint("t", i), fmt.Sprint("x", i), fmt.Sprint("other", i)
		e.put(step("elsewhere", other, 0))
		span := ofTrace(trace, call(trace, name, 0, 1, 1, 1))
		span.Provisional = true
		span.SessionID, span.ParentID = id(trace), id(trace)
		notes := talk(name, trace)
		for j := range notes {
			notes[j].Session = id(other)
		}
		if !first {
			e.put(span)
		}
		e.equal("notes", fault.Invalid, fault.Of(e.s.Put(e.ctx, e.project, event.Batch{LogParts: notes})))
		if first {
			e.put(span)
		}
		e.equal("session", id(trace), e.event(id(name)).SessionID)
		e.equal("the other's session", id("elsewhere"), e.event(id(other)).SessionID)
		e.putNotes(talk(name, trace)...)
		e.talked(name)
	}
}

func logsUpdate(e *env) {
	change := func(name string) event.Update {
		return event.Update{
			EventID:  id(name),
			Inputs:   raw(`{"chat_history":["mine"]}`),
			Outputs:  raw(`{"mine":1}`),
			Metadata: raw(`{"logs":"mine"}`),
		}
	}
	span := func(name string) event.Incoming { return ofTrace("t", call("s", name, 0, 1, 1, 1)) }
	check := func(name string) {
		e.Helper()
		x := e.event(id(name))
		e.equal(name+": inputs", `{"chat_history":["mine"]}`, string(x.Inputs))
		e.equal(name+": outputs", `{"mine":1}`, string(x.Outputs))
		e.equal(name+": logs", `"mine"`, string(rawjson.Get(x.Metadata, "logs")))
	}
	for i, order := range []string{"snu", "sun", "nsu", "uns", "usn", "nus", "snun", "nsnu", "unsn"} {
		name := fmt.Sprint("e", i)
		notes := talk(name, "t")
		for _, what := range order {
			switch what {
			case 's':
				e.put(span(name))
			case 'n':
				e.putNotes(notes[:2]...)
				notes = append(notes[2:], notes[:2]...)
			case 'u':
				_, err := e.s.Update(e.ctx, e.project, change(name))
				e.ok(err)
			}
		}
		e.putNotes(notes...)
		check(name)
	}
}

func logsUnfinished(e *env) {
	for i, order := range []string{"unf", "nuf", "ufn", "unfn"} {
		name := fmt.Sprint("e", i)
		open := ofTrace("t", step("s", name, 0))
		open.Unfinished = true
		done := ofTrace("t", call("s", name, 0, 5, 3, 0.25))
		done.Inputs = raw(`{"chat_history":[{"role":"user","content":"from the span"}]}`)
		for _, what := range order {
			switch what {
			case 'u':
				e.put(open)
			case 'f':
				e.put(done)
			case 'n':
				e.putNotes(talk(name, "t")...)
			}
		}
		x := e.event(id(name))
		e.equal(order+": the span's own messages", `[{"role":"user","content":"from the span"}]`, string(rawjson.Get(x.Inputs, "chat_history")))
		e.equal(order+": outputs", `"Fine."`, string(rawjson.Get(x.Outputs, "content")))
		e.equal(order+": messages that found no place", 3, countOf(rawjson.Get(x.Metadata, "logs")))
	}
}

func countOf(list []byte) (n int) {
	for range rawjson.Array(list) {
		n++
	}
	return n
}

func logsEvaluation(e *env) {
	for i, order := range []string{"jme", "ejm", "emj", "mej", "jem", "mje"} {
		session, trace := fmt.Sprint("s", i), fmt.Sprint("t", i)
		judge := ofTrace(trace, step(session, "judge "+session, 2))
		model := ofTrace(trace, call(session, "model "+session, 1, 1, 1, 1))
		model.Metadata = raw(`{"response_id":"r-1"}`)
		verdict := note("judge "+session, trace, 3, event.LogEvaluation, `{"name":"tone","value":0.5,"response_id":"r-1"}`)
		verdict.ResponseID = "r-1"
		other := note("judge "+session, trace, 3, event.LogEvaluation, `{"name":"tone","label":"bad","response_id":"r-2"}`)
		other.ResponseID = "r-2"
		for _, what := range order {
			switch what {
			case 'j':
				e.put(judge)
			case 'm':
				e.put(model)
			case 'e':
				e.putNotes(verdict, other)
			}
		}
		j, m := e.event(judge.ID), e.event(model.ID)
		e.equal(order+": model", `{"tone":0.5}`, string(m.Metrics))
		e.equal(order+": judge", `{"tone":"bad"}`, string(j.Metrics))
		e.equal(order+": evaluations", 1, countOf(rawjson.Get(m.Metadata, "evaluations")))
		e.equal(order+": evaluations of the judge", 1, countOf(rawjson.Get(j.Metadata, "evaluations")))
	}
}

// logsLateAnswer evaluates the answer of a call that a wrapper tells too, where the call's id
// comes with a note, with the end of an unfinished span, or in metadata too large for its row.
func logsLateAnswer(e *env) {
	for i, order := range []string{"jwiac", "ejwiac", "ciawje", "ewjcia", "waceij", "cijaew", "ejwica", "icawej", "jwicae"} {
		for _, how := range []string{"note", "end", "large"} {
			session, trace := fmt.Sprint(how, i), fmt.Sprint("t", how, i)
			judge := ofTrace(trace, step(session, "judge "+session, 5))
			outer := ofTrace(trace, call(session, "outer "+session, 1, 1, 1, 1))
			outer.Metadata = raw(`{"response_id":"r-1"}`)
			inner := ofTrace(trace, below("outer "+session, call(session, "inner "+session, 2, 1, 1, 1)))
			open := inner
			inner.Metadata = raw(`{"response_id":"r-1"}`)
			var told []event.LogPart
			switch how {
			case "note":
				inner.Metadata, told = nil, []event.LogPart{note("inner "+session, trace, 3, event.LogFields, `{"metadata":{"response_id":"r-1"}}`)}
			case "end":
				open.Unfinished = true
			case "large":
				inner.Metadata = text(`{"large":"%s","response_id":"r-1"}`, prose(20000, 1))
			}
			verdict := note("judge "+session, trace, 6, event.LogEvaluation, `{"name":"tone","value":0.5}`)
			verdict.ResponseID = "r-1"
			for _, what := range order {
				switch what {
				case 'j':
					e.put(judge)
				case 'w':
					e.put(outer)
				case 'i':
					if how == "end" {
						e.put(open)
					}
				case 'c':
					e.put(inner)
				case 'a':
					e.putNotes(told...)
				case 'e':
					e.putNotes(verdict)
				}
			}
			e.putNotes(verdict)
			for name, want := range map[string]string{"inner ": `{"tone":0.5}`, "outer ": "", "judge ": ""} {
				e.equal(how+" "+order+": "+name, want, string(e.event(id(name+session)).Metrics))
			}
		}
	}
}

func logsDelete(e *env) {
	e.put(ofTrace("t", call("s", "a", 0, 1, 1, 1)), ofTrace("t", call("s", "b", 1, 1, 1, 1)))
	e.putNotes(append(talk("a", "t"), talk("b", "t")...)...)
	e.putNotes(talk("never came", "t")...)
	e.putNotes(talk("elsewhere", "u")...)
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("b")))
	e.equal("notes", 3, e.place.Count(e.T, `SELECT count(*) FROM log_part`))
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.equal("notes", 1, e.place.Count(e.T, `SELECT count(*) FROM log_part`))
	e.put(ofTrace("t", call("s", "a", 0, 1, 1, 1)))
	e.equal("inputs", "", string(e.event(id("a")).Inputs))
}

func logsBound(e *env) {
	now := arrival
	var mu sync.Mutex
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
	e.reopen(store.Options{MaxPending: 3, Now: clock})
	for i := range 8 {
		e.putNotes(talk(fmt.Sprint("x", i), "t")...)
	}
	e.equal("waiting", 3, e.place.Count(e.T, `SELECT count(*) FROM log_part`))
	e.put(ofTrace("t", call("s", "x0", 0, 1, 1, 1)), ofTrace("t", call("s", "x7", 0, 1, 1, 1)))
	e.equal("oldest", "", string(e.event(id("x0")).Inputs))
	e.talked("x7")
}

// logsConcurrent sends spans and their notes from many goroutines at once.
func logsConcurrent(e *env) {
	const n = 40
	var wg sync.WaitGroup
	for i := range n {
		name := fmt.Sprint("c", i)
		notes := talk(name, "t")
		for _, b := range []event.Batch{
			{Events: []event.Incoming{ofTrace("t", call(fmt.Sprint("s", i%5), name, 0, 1, 1, 1))}},
			{LogParts: notes[:2]}, {LogParts: notes[1:]},
		} {
			b.Events = slices.Clone(b.Events)
			for k := range b.Events {
				b.Events[k].Fixed = true
			}
			wg.Go(func() {
				if err := e.s.Put(e.ctx, e.project, b); err != nil {
					e.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for i := range n {
		e.talked(fmt.Sprint("c", i))
	}
}

func logsProject(e *env) {
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	e.ok(e.s.Put(e.ctx, other.ID, event.Batch{LogParts: talk("a", "t")}))
	e.put(ofTrace("t", call("s", "a", 0, 1, 1, 1)))
	e.equal("inputs", "", string(e.event(id("a")).Inputs))
	if _, err := e.s.Event(e.ctx, other.ID, id("a")); err == nil {
		e.Error("the other project has an event")
	}
}
