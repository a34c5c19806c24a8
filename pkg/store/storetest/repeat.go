package storetest

import (
	"sync"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store"
)

// optionsNone is a store's defaults.
var optionsNone store.Options

var repeatTests = []test{
	{"Repeat/a batch again changes nothing", putTwice},
	{"Repeat/one batch from many clients at once", putAtOnce},
	{"Repeat/one id in many sessions at once", sameIDAtOnce},
	{"Repeat/the same id on another day", otherDay},
	{"Repeat/the same id on another day after reopening", otherDayReopened},
	{"Repeat/an id twice in one batch", twiceInBatch},
	{"Repeat/fills only what was empty", fillEmpty},
	{"Repeat/finished replaces unfinished", finished},
	{"Repeat/an unfinished copy that comes late", unfinishedLate},
	{"Repeat/a session start merges", startTwice},
	{"Repeat/under another session", otherSession},
	{"Repeat/the caller's batch is left alone", batchUntouched},
}

func sample() []event.Incoming {
	withInputs, withOutputs := call("s", "a", 1, 10, 5, 0.25), call("s", "b", 2, 3, 4, 0.5)
	withInputs.Inputs, withOutputs.Outputs = text(`{"q":1}`), text(`"answer"`)
	rated := below("a", step("s", "c", 3))
	rated.Feedback = text(`{"rating":5}`)
	return []event.Incoming{withInputs, withOutputs, rated, call("t", "d", 86400, 1, 1, 1)}
}

const sampleTotals = "num_events=3 num_model_events=2 has_feedback=true cost=0.75 total_tokens=22 prompt_tokens=13 completion_tokens=9"

func putTwice(e *env) {
	e.put(sample()...)
	before := append(e.session(id("s")), e.session(id("t"))...)
	for range 2 {
		e.put(sample()...)
		e.putEach(reversed(sample())...)
		e.reopen(optionsNone)
	}
	e.same("after repeats", before, append(e.session(id("s")), e.session(id("t"))...))
	e.wantRollup("s", sampleTotals)
	e.equal("rows", 6, e.place.Count(e.T, `SELECT count(*) FROM event`))
}

func putAtOnce(e *env) {
	var wg sync.WaitGroup
	shared := sample()
	for range 8 {
		wg.Go(func() {
			for range 3 {
				if err := e.s.Put(e.ctx, e.project, event.Batch{Events: shared}); err != nil {
					e.Error(err)
				}
			}
		})
	}
	wg.Wait()
	e.wantRollup("s", sampleTotals)
	e.equal("rows", 6, e.place.Count(e.T, `SELECT count(*) FROM event`))
	e.holds(sample()...)
}

func sameIDAtOnce(e *env) {
	var wg sync.WaitGroup
	for i, session := range []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"} {
		wg.Go(func() {
			sent := step(session, "x", 86400*float64(i%3))
			if err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{sent}}); err != nil {
				e.Error(err)
			}
		})
	}
	wg.Wait()
	e.equal("rows of the event", 1, e.place.Count(e.T, `SELECT count(*) FROM event WHERE name = 'x' AND type = 2`))
}

func otherDay(e *env) {
	first := step("s", "x", 0)
	e.put(first)
	for _, days := range []float64{1, -3, 40} {
		repeat := first
		repeat.Start, repeat.End = first.Start+days*dayMillis, first.End+days*dayMillis
		repeat.DefaultTime = true
		e.put(repeat)
		repeat.DefaultTime = false
		e.put(repeat, step("s", "y", 5))
	}
	e.holds(first)
	e.wantRollup("s", "num_events=2 num_model_events=0 has_feedback=false cost= total_tokens=0 prompt_tokens=0 completion_tokens=0")
}

func otherDayReopened(e *env) {
	first := step("s", "x", 0)
	e.put(first, step("s", "z", -5*86400))
	for range 3 {
		e.reopen(optionsNone)
		repeat := first
		repeat.Start, repeat.End = first.Start+2*dayMillis, first.End+2*dayMillis
		e.put(repeat)
		e.put(repeat, step("s", "y", 2*86400))
	}
	e.holds(first)
	e.equal("events", 4, len(e.session(id("s"))))
}

func twiceInBatch(e *env) {
	first, second := call("s", "x", 0, 1, 1, 1), call("s", "x", 5, 7, 7, 7)
	second.Inputs = text(`{"late":1}`)
	e.put(first, second)
	want := first
	want.Inputs = second.Inputs
	e.holds(want)
	e.wantRollup("s", "num_events=1 num_model_events=1 has_feedback=false cost=1 total_tokens=2 prompt_tokens=1 completion_tokens=1")
}

func fillEmpty(e *env) {
	first := call("s", "x", 0, 1, 1, 1)
	first.Inputs, first.Feedback, first.Name = text(`{"kept":1,"empty":"","none":null}`), text(`{}`), event.Unknown
	e.put(first)
	fuller := call("s", "x", 9, 100, 100, 100)
	fuller.Inputs, fuller.Outputs, fuller.Feedback = text(`{"kept":2,"empty":"now","none":[1],"new":1.50}`), text(`[1]`), text(`{"rating":1}`)
	fuller.Config, fuller.UserProperties, fuller.Error, fuller.Name = text(`{"model":"m"}`), text(`{"user_id":"u"}`), pointer("late"), "named"
	fuller.Metadata = text(`{"cost":9,"extra":true}`)
	e.put(fuller)
	want := first
	want.Name, want.Outputs, want.Feedback, want.Config, want.UserProperties, want.Error = fuller.Name, fuller.Outputs, fuller.Feedback, fuller.Config, fuller.UserProperties, fuller.Error
	want.Inputs = text(`{"kept":1,"empty":"now","none":[1],"new":1.50}`)
	want.Metadata = text(`{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"cost":1,"extra":true}`)
	e.holds(want)
	e.put(fuller)
	e.holds(want)
	e.wantRollup("s", "num_events=1 num_model_events=1 has_feedback=true cost=1 total_tokens=2 prompt_tokens=1 completion_tokens=1")
}

func finished(e *env) {
	open := step("s", "x", 0)
	open.Unfinished, open.End, open.Duration, open.Outputs = true, open.Start, 0, text(`"part"`)
	e.put(open)
	e.update(event.Update{EventID: open.ID, Metrics: text(`{"score":0.5}`), Feedback: text(`{"rating":4}`), Metadata: text(`{"mine":1}`)})
	done := call("s", "x", 0, 5, 6, 0.25)
	done.Outputs, done.End, done.Duration = text(`"whole"`), done.Start+5000, 5000
	for range 2 {
		e.put(done)
	}
	want := done
	want.Metrics, want.Feedback = text(`{"score":0.5}`), text(`{"rating":4}`)
	want.Metadata = text(`{"prompt_tokens":5,"completion_tokens":6,"total_tokens":11,"cost":0.25,"mine":1}`)
	e.holds(want)
	e.wantRollup("s", "num_events=1 num_model_events=1 has_feedback=true cost=0.25 total_tokens=11 prompt_tokens=5 completion_tokens=6")
	session := e.event(id("s"))
	e.equal("end of the session", done.End, session.End)
	e.equal("outputs of the session", `"whole"`, string(session.Outputs))
}

func unfinishedLate(e *env) {
	done := call("s", "x", 0, 5, 6, 0.25)
	e.put(done)
	lateCopy := step("s", "x", 0)
	lateCopy.Unfinished, lateCopy.End, lateCopy.Duration = true, lateCopy.Start, 0
	e.put(lateCopy)
	e.holds(done)
}

func startTwice(e *env) {
	first := start("s", "first", 0, 0)
	first.Metadata, first.UserProperties, first.Inputs = text(`{"a":1,"b":1}`), text(`{"user_id":"u1","x":1}`), text(`{"q":1}`)
	e.put(first)
	second := start("s", "second", 5, 0)
	second.Metadata, second.UserProperties, second.Inputs = text(`{"b":2,"c":2}`), text(`{"user_id":"u2"}`), text(`{"q":2,"r":2}`)
	for range 2 {
		e.put(second)
	}
	got := e.event(id("s"))
	e.equal("session", "first a=1 b=2 c=2 user_id=\"u2\" x=1 q=1 r=2", got.Name+" "+members(got.Metadata, "a", "b", "c")+" "+
		members(got.UserProperties, "user_id", "x")+" "+members(got.Inputs, "q", "r"))
}

func otherSession(e *env) {
	first := call("s", "x", 0, 1, 1, 1)
	e.put(first)
	elsewhere := first
	elsewhere.SessionID, elsewhere.ParentID = id("other"), id("other")
	elsewhere.Inputs = text(`{"late":1}`)
	e.put(elsewhere)
	want := first
	want.Inputs = elsewhere.Inputs
	e.holds(want)
	e.equal("sessions", 1, e.place.Count(e.T, `SELECT count(*) FROM session`))
	e.put(elsewhere, step("other", "z", 1))
	e.wantRollup("other", "num_events=1 num_model_events=0 has_feedback=false cost= total_tokens=0 prompt_tokens=0 completion_tokens=0")
}

func batchUntouched(e *env) {
	e.put(traced("t1", "key", step("key", "root", 0)))
	list := []event.Incoming{traced("t1", "", step("t1", "x", 1)), step("s", "y", 0), step("s", "y", 3)}
	list[2].Inputs = text(`{"late":1}`)
	before := shapes(eventsOf(list))
	e.put(list...)
	e.equal("the caller's events", before, shapes(eventsOf(list)))
}
