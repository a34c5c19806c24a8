package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

var updateTests = []test{
	{"Update/merges one level deep", mergeRules},
	{"Update/of large fields", updateSpilled},
	{"Update/cold metadata gives way", updateCold},
	{"Update/of a session", updateSession},
	{"Update/of the duration of an implicit session", updateDuration},
	{"Update/of the end of an implicit session", updateEnd},
	{"Update/native model events are priced", pricedNative},
	{"Update/native model events have a total of tokens", totalledNative},
	{"Update/run of an event and of a session", updateRun},
	{"Update/that breaks a rule changes nothing", updateInvalid},
	{"Update/before its event", updateEarly},
	{"Update/before its event, with a restart", updateEarlyReopened},
	{"Update/before its session", updateEarlySession},
	{"Update/too many wait", updateBound},
	{"Update/too many wait, of telemetry", updateBoundOfTelemetry},
	{"Update/too many wait, of one project", updateBoundOfProject},
	{"Update/that waited too long", updateExpired},
	{"Update/many at once all land", updatesAtOnce},
	{"Update/with repeats at once", updatesAndRepeats},
	{"Update/before and with its event at once", earlyAtOnce},
	{"Update/while it is read", readWhileUpdated},
	{"Update/an event does not outgrow its bound", outgrown},
}

func mergeRules(e *env) {
	x := step("s", "x", 0)
	obj := `{"a":1.50,"b":{"c":1,"d":2},"e":"x"}`
	x.Config, x.Inputs, x.Metadata, x.Metrics, x.Feedback, x.UserProperties = raw(obj), raw(obj), raw(obj), raw(obj), raw(obj), raw(obj)
	x.Outputs, x.ChildrenIDs = text(`{"kept":1}`), text(`["a"]`)
	e.put(x, step("s", "y", 1))
	patch, merged := text(`{"b":{"c":9},"e":null,"f":[1.0]}`), text(`{"a":1.50,"b":{"c":9},"e":null,"f":[1.0]}`)
	e.update(
		event.Update{
			EventID:        x.ID,
			Config:         patch,
			Inputs:         patch,
			Metadata:       patch,
			Metrics:        patch,
			Feedback:       patch,
			UserProperties: patch,
			ChildrenIDs:    text(`[]`),
		},
	)
	want := x
	want.Config, want.Inputs, want.Metadata, want.Metrics, want.Feedback, want.UserProperties = merged, merged, merged, merged, merged, merged
	e.holds(want, step("s", "y", 1))
	for _, out := range []string{`"text"`, `null`, `7.10`, `false`, `[]`, `{}`, `{"new":1}`} {
		want.Outputs = raw(out)
		e.update(event.Update{EventID: x.ID, Outputs: want.Outputs})
		e.holds(want)
	}
	want.ChildrenIDs, want.End, want.Duration = text(`["b","c"]`), want.Start+7, 7
	e.update(event.Update{EventID: x.ID, ChildrenIDs: want.ChildrenIDs, EndTime: &want.End, Duration: &want.Duration})
	e.holds(want)
	e.update(event.Update{EventID: x.ID})
	e.holds(want, step("s", "y", 1))
	e.equal("chunks", 1, e.place.Count(e.T, `SELECT count(*) FROM chunk`))
}

func updateSpilled(e *env) {
	x := step("s", "x", 0)
	x.Inputs, x.Error = text(`{"q":1}`), pointer(prose(20<<10, 1))
	e.put(x, step("s", "y", 1))
	for i, n := range []int{20 << 10, 10, 9 << 10, 600 << 10} {
		x.Metadata, x.Feedback = text(`{"k":"%s"}`, prose(n, uint64(i))), text(`{"k":"%s"}`, prose(n, uint64(i)))
		e.update(event.Update{EventID: x.ID, Metadata: x.Metadata, Feedback: x.Feedback})
		e.holds(x)
	}
	e.equal("chunks, one of them of the session, which shows the error", 2, e.place.Count(e.T, `SELECT count(*) FROM chunk`))
}

func updateCold(e *env) {
	first := step("s", "x", 0)
	first.Metadata, first.ColdMetadata = text(`{"warm":1}`), text(`{"attributes":{"a":1},"span_name":"GET"}`)
	e.put(first)
	e.update(event.Update{EventID: first.ID, Metadata: text(`{"attributes":{"b":2},"warm":3}`)})
	e.equal("metadata", `{"warm":3,"attributes":{"b":2},"span_name":"GET"}`, string(e.event(first.ID).Metadata))
	repeat := first
	repeat.Metadata, repeat.ColdMetadata = text(`{"span_name":"other","new":1}`), text(`{"attributes":{"c":3},"resource":{"r":1}}`)
	e.put(repeat)
	e.equal(
		"metadata after a repeat",
		`{"warm":3,"attributes":{"b":2},"new":1,"span_name":"GET","resource":{"r":1}}`,
		string(e.event(first.ID).Metadata),
	)
}

func updateSession(e *env) {
	e.put(step("s", "x", 0))
	u := event.Update{
		EventID:        id("s"),
		Metadata:       text(`{"k":1,"num_events":"mine"}`),
		Feedback:       text(`{"rating":2}`),
		UserProperties: text(`{"user_id":"u"}`),
		Outputs:        text(`{"o":1}`),
		Inputs:         text(`{"i":1}`),
		Config:         text(`{"c":1}`),
		Metrics:        text(`{"m":1}`),
	}
	e.update(u)
	e.put(step("s", "y", 60))
	s := e.event(id("s"))
	e.equal(
		"session",
		[]any{
			"k=1 num_events=\"mine\" has_feedback=true",
			`{"rating":2}`,
			`{"user_id":"u"}`,
			`{"o":1}`,
			`{"i":1}`,
			`{"c":1}`,
			`{"m":1}`,
			noon + 61000,
		},
		[]any{
			members(s.Metadata, "k", "num_events", "has_feedback"),
			string(s.Feedback),
			string(s.UserProperties),
			string(s.Outputs),
			string(s.Inputs),
			string(s.Config),
			string(s.Metrics),
			s.End,
		},
	)
}

func (e *env) run(run string) int {
	e.Helper()
	set, err := e.s.Search(e.ctx, e.project, query.Search{RunID: run, Limit: 100, Page: 1})
	e.ok(err)
	return set.Total
}

// updateDuration gives a duration to a session whose event follows its events: its times go on to follow them, but the duration stays.
func updateDuration(e *env) {
	e.put(step("s", "x", 0))
	e.update(event.Update{EventID: id("s"), Duration: pointer(7.0)})
	after := func(what string, last float64) {
		e.Helper()
		s := e.event(id("s"))
		e.equal(what, []float64{noon, noon + last, 7}, []float64{s.Start, s.End, s.Duration})
	}
	after("as given", 1000)
	e.put(step("s", "y", 5))
	after("with a later event", 6000)
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("y")))
	after("without it again", 1000)
	e.put(start("s", "late", 0, 0))
	after("when it is started", 1000)
}

// updateEnd gives an end to a session whose event follows its events: its start goes on to follow them, but the end stays.
func updateEnd(e *env) {
	e.put(step("s", "x", 1))
	e.update(event.Update{EventID: id("s"), EndTime: pointer(noon + 9000.0)})
	after := func(what string, start float64) {
		e.Helper()
		s := e.event(id("s"))
		e.equal(what, []float64{noon + start, noon + 9000, 9000 - start}, []float64{s.Start, s.End, s.Duration})
	}
	after("as given", 1000)
	e.put(step("s", "y", 20))
	after("with a later event", 1000)
	e.put(step("s", "z", 0))
	after("with an earlier event", 0)
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("z")))
	after("without it again", 1000)
	e.put(start("s", "late", 0, 0))
	after("when it is started", 0)
	e.put(step("s", "w", 30))
	after("with an event after that", 0)

	// It moves with what else was said of a session.
	e.put(traced("t", "", step("t", "of t", 1)))
	e.update(event.Update{EventID: id("t"), EndTime: pointer(noon + 9000.0)})
	e.put(traced("t", "key", step("key", "root", 20)))
	s := e.event(id("key"))
	e.equal("of a session that moved", []float64{noon + 1000, noon + 9000, 8000}, []float64{s.Start, s.End, s.Duration})
}

func updateRun(e *env) {
	e.put(start("s", "s", 0, 0), step("s", "x", 1), step("t", "y", 2))
	e.update(event.Update{EventID: id("s"), Metadata: text(`{"run_id":"r1"}`)})
	e.equal("run of the session", 2, e.run("r1"))
	e.update(event.Update{EventID: id("y"), Metadata: text(`{"run_id":"r2"}`)})
	e.equal("run of an event", 2, e.run("r2"))
	e.equal("unknown run", 0, e.run("r3"))
}

func updateInvalid(e *env) {
	x := step("s", "x", 0)
	e.put(x)
	_, err := e.s.Update(e.ctx, e.project, event.Update{EventID: x.ID, Metadata: text(`{"k":1}`), EndTime: pointer(-5.0)})
	e.equal("error", fault.Invalid, fault.Of(err))
	e.holds(x)
}

func (e *env) early(u event.Update) {
	e.Helper()
	pending, err := e.s.Update(e.ctx, e.project, u)
	e.ok(err)
	if !pending {
		e.Errorf("update of %s did not wait", u.EventID)
	}
}

func earlyUpdates(e *env, again func()) {
	x := call("s", "x", 0, 1, 1, 1)
	e.early(event.Update{EventID: x.ID, Metadata: text(`{"a":1.50,"b":1}`), Outputs: text(`"first"`), Feedback: text(`{"rating":1}`)})
	e.early(
		event.Update{
			EventID:  x.ID,
			Metadata: text(`{"b":2,"cost":4}`),
			Outputs:  text(`"second"`),
			Duration: pointer(9.0),
			EndTime:  pointer(noon + 9),
		},
	)
	e.early(event.Update{EventID: id("other"), Metadata: text(`{"a":1}`)})
	again()
	e.put(x, step("s", "y", 0))
	want := x
	want.Metadata = text(`{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"cost":4,"a":1.50,"b":2}`)
	want.Outputs, want.Feedback, want.Duration, want.End = text(`"second"`), text(`{"rating":1}`), 9, noon+9
	e.holds(want)
	e.put(x)
	e.holds(want)
	e.wantRollup("s", "num_events=2 num_model_events=1 has_feedback=true cost=4 total_tokens=2 prompt_tokens=1 completion_tokens=1")
	e.equal("still waiting", 1, e.place.Count(e.T, `SELECT count(*) FROM pending`))
}

func updateEarly(e *env)         { earlyUpdates(e, func() {}) }
func updateEarlyReopened(e *env) { earlyUpdates(e, func() { e.reopen(optionsNone) }) }

func updateEarlySession(e *env) {
	e.early(event.Update{EventID: id("s"), Metadata: text(`{"k":1}`)})
	e.early(event.Update{EventID: id("t"), Metadata: text(`{"k":2}`)})
	e.put(step("s", "x", 0), start("t", "t", 0, 0))
	e.equal("made", "k=1", members(e.event(id("s")).Metadata, "k"))
	e.equal("started", "k=2", members(e.event(id("t")).Metadata, "k"))
	e.early(event.Update{EventID: id("u"), Metadata: text(`{"k":4}`)})
	e.put(traced("trace", "", step("u", "z", 0)))
	named := note("z", "trace", 1, event.LogRecord, `{"name":"gen_ai.unheard"}`)
	named.Session = id("u")
	e.putNotes(named)
	e.equal("named by a log record", "k=4", members(e.event(id("u")).Metadata, "k"))
	// Other projects have other events.
	p, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	e.early(event.Update{EventID: id("y"), Metadata: text(`{"k":3}`)})
	e.ok(e.s.Put(e.ctx, p.ID, event.Batch{Events: []event.Incoming{step("s", "y", 0)}}))
	e.equal("still waiting", 1, e.place.Count(e.T, `SELECT count(*) FROM pending`))
}

func updateBound(e *env) {
	e.reopen(store.Options{MaxPending: 2})
	for i := range 2 {
		e.early(event.Update{EventID: id(fmt.Sprint("e", i)), Metadata: text(`{"k":1}`)})
	}
	_, err := e.s.Update(e.ctx, e.project, event.Update{EventID: id("e2"), Metadata: text(`{"k":1}`)})
	e.equal("past the bound", fault.NotFound, fault.Of(err))
	e.put(step("s", "e0", 0))
	e.early(event.Update{EventID: id("e2"), Metadata: text(`{"k":1}`)})
	e.reopen(store.Options{MaxPending: 2})
	_, err = e.s.Update(e.ctx, e.project, event.Update{EventID: id("e3"), Metadata: text(`{"k":1}`)})
	e.equal("past the bound after a restart", fault.NotFound, fault.Of(err))
}

// Whoever may only write is answered alike whether the event is there, and nothing is lost.
func updateBoundOfTelemetry(e *env) {
	e.reopen(store.Options{MaxPending: 2})
	e.put(step("s", "x", 0))
	update := func(name, metadata string) (bool, error) {
		return e.s.Update(e.ctx, e.project, event.Update{EventID: id(name), Metadata: text("%s", metadata), Telemetry: true})
	}
	for i := range 2 {
		_, err := update(fmt.Sprint("e", i), `{"k":1}`)
		e.ok(err)
	}
	pending, known := update("x", `{"k":7}`)
	e.equal("of an event that is there", fault.Limited, fault.Of(known))
	e.equal("pending", false, pending)
	_, unknown := update("e2", `{"k":7}`)
	e.equal("what is said", fmt.Sprint(known), fmt.Sprint(unknown))
	e.equal("kind", fault.Of(known), fault.Of(unknown))
	e.equal("applied", "k=7", members(e.event(id("x")).Metadata, "k"))
	e.equal("waiting", 2, e.place.Count(e.T, `SELECT count(*) FROM pending`))
	// Others may know, and are told.
	_, err := e.s.Update(e.ctx, e.project, event.Update{EventID: id("x"), Metadata: text(`{"k":8}`)})
	e.ok(err)
	e.put(step("s", "e0", 0))
	_, err = update("e2", `{"k":7}`)
	e.ok(err)
}

// One project cannot have all places.
func updateBoundOfProject(e *env) {
	e.reopen(store.Options{MaxPending: 4})
	p, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	early := func(project int64, name string) fault.Kind {
		_, err := e.s.Update(e.ctx, project, event.Update{EventID: id(name), Metadata: text(`{"k":1}`), Telemetry: true})
		return fault.Of(err)
	}
	for i := range 3 {
		e.early(event.Update{EventID: id(fmt.Sprint("e", i)), Metadata: text(`{"k":1}`)})
	}
	e.equal("past its share", fault.Limited, early(e.project, "e3"))
	_, err = e.s.Update(e.ctx, p.ID, event.Update{EventID: id("e4"), Metadata: text(`{"k":1}`)})
	e.ok(err)
	e.equal("past all", fault.Unavailable, early(p.ID, "e5"))
	e.reopen(store.Options{MaxPending: 4})
	e.equal("past its share after a restart", fault.Limited, early(e.project, "e3"))
}

func updateExpired(e *env) {
	clock := NewClock(time.UnixMilli(noon))
	e.reopen(store.Options{Now: clock.Now, PendingTTL: time.Hour})
	e.early(event.Update{EventID: id("x"), Metadata: text(`{"k":1}`)})
	e.early(event.Update{EventID: id("y"), Metadata: text(`{"k":1}`)})
	clock.Add(59 * time.Minute)
	e.put(step("s", "x", 0))
	e.equal("in time", "k=1", members(e.event(id("x")).Metadata, "k"))
	clock.Add(2 * time.Minute)
	e.put(step("s", "y", 0))
	e.equal("too late", "k=", members(e.event(id("y")).Metadata, "k"))
}

func updatesAtOnce(e *env) {
	updated := step("s", "x", 0)
	e.put(updated)
	var wg sync.WaitGroup
	for i := range 24 {
		for _, target := range []string{"x", "s"} {
			wg.Go(func() {
				if _, err := e.s.Update(e.ctx, e.project, event.Update{EventID: id(target), Metadata: text(`{"k%d":%d}`, i, i)}); err != nil {
					e.Error(err)
				}
			})
		}
		wg.Go(func() {
			movesEnd := step("s", fmt.Sprint("y", i), float64(i)) // moves the session's end
			unrelated := step("z", fmt.Sprint("z", i), float64(i))
			if err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{unrelated, movesEnd}}); err != nil {
				e.Error(err)
			}
		})
	}
	wg.Wait()
	for _, target := range []string{"x", "s"} {
		got := e.event(id(target)).Metadata
		for i := range 24 {
			k := fmt.Sprint("k", i)
			e.equal("member of "+target, fmt.Sprintf("%s=%d", k, i), members(got, k))
		}
	}
	e.equal("end", noon+24000, e.event(id("s")).End)
}

func updatesAndRepeats(e *env) {
	first := step("s", "x", 0)
	e.put(first)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			repeat := first
			repeat.Inputs = text(`{"in%d":1}`, i)
			// Under other sessions: other writers, where there are several.
			repeat.SessionID = id(fmt.Sprint("s", i))
			if err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{repeat}}); err != nil {
				e.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := e.s.Update(e.ctx, e.project, event.Update{EventID: first.ID, Metrics: text(`{"m%d":1}`, i)}); err != nil {
				e.Error(err)
			}
		})
	}
	wg.Wait()
	got := e.event(first.ID)
	for i := range 20 {
		e.equal(
			"input and metric",
			fmt.Sprintf("in%d=1 m%d=1", i, i),
			members(got.Inputs, fmt.Sprint("in", i))+" "+members(got.Metrics, fmt.Sprint("m", i)),
		)
	}
}

func earlyAtOnce(e *env) {
	var wg sync.WaitGroup
	for i := range 40 {
		x := step(fmt.Sprint("s", i), fmt.Sprint("x", i), 0)
		wg.Go(func() {
			if err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{x}}); err != nil {
				e.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := e.s.Update(e.ctx, e.project, event.Update{EventID: x.ID, Metadata: text(`{"k":1}`)}); err != nil {
				e.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 40 {
		e.equal(fmt.Sprint("update ", i), "k=1", members(e.event(id(fmt.Sprint("x", i))).Metadata, "k"))
	}
	e.equal("still waiting", 0, e.place.Count(e.T, `SELECT count(*) FROM pending`))
}

func readWhileUpdated(e *env) {
	var list []event.Incoming
	for i := range 20 {
		x := step("s", fmt.Sprint("x", i), float64(i))
		x.Inputs, x.Outputs = text(`{"n":%d}`, i), text(`{"n":%d,"rev":0}`, i)
		list = append(list, x)
	}
	e.put(list...)
	var wg sync.WaitGroup
	for i := range list {
		wg.Go(func() {
			for rev := range 5 {
				if _, err := e.s.Update(e.ctx, e.project, event.Update{EventID: list[i].ID, Outputs: text(`{"n":%d,"rev":%d}`, i, rev)}); err != nil {
					e.Error(err)
				}
			}
			if i%2 == 1 {
				if err := e.s.DeleteEvent(e.ctx, e.project, list[i].ID); err != nil {
					e.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		set, err := e.s.Session(e.ctx, e.project, id("s"))
		e.ok(err)
		for i := range set.Events {
			x, err := set.Load(e.ctx, i)
			e.ok(err)
			if x.Inputs == nil && x.Outputs == nil && !x.IsSession() {
				continue // deleted meanwhile
			}
			if n := x.Name[1:]; !x.IsSession() && (members(x.Inputs, "n") != "n="+n || members(x.Outputs, "n") != "n="+n) {
				e.Fatalf("%s has the payload of another event: %s %s", x.Name, x.Inputs, x.Outputs)
			}
		}
	}
	e.equal("events", 11, len(e.session(id("s"))))
}

// totalledNative: some APIs report the tokens of the prompt and of the answer alone.
func totalledNative(e *env) {
	total := func(name string) string { return members(e.event(id(name)).Metadata, "total_tokens") }
	model := func(name, metadata string) event.Incoming {
		x := step("s", name, 1)
		x.Type, x.Metadata = event.TypeModel, text("%s", metadata)
		return x
	}
	tool := model("tool", `{"prompt_tokens":9,"completion_tokens":2}`)
	tool.Type = event.TypeTool
	e.put(model("both", `{"prompt_tokens":9,"completion_tokens":2}`), model("other names", `{"input_tokens":90,"output_tokens":20}`),
		model("reported", `{"prompt_tokens":9,"completion_tokens":2,"total_tokens":12}`), model("none", `{}`),
		model("half", `{"completion_tokens":2}`), model("odd", `{"prompt_tokens":"9","completion_tokens":2.5}`), tool,
		model("zeros", `{"prompt_tokens":0,"completion_tokens":0,"input_tokens":90,"output_tokens":20}`))
	for name, want := range map[string]string{"both": "11", "other names": "110", "zeros": "110", "reported": "12", "none": "", "half": "", "odd": "", "tool": ""} {
		e.equal(name, "total_tokens="+want, total(name))
	}
	// The session's totals are what they were without it, and what a filter finds.
	e.equal("session", "total_tokens=247.5", members(e.event(id("s")).Metadata, "total_tokens"))
	e.equal("found", []string{"both", "other names", "reported", "zeros"}, e.found(e.filter("metadata.total_tokens", "greater than", "number", "10"),
		e.filter("event_type", "is", "", `"model"`)))
	for _, tt := range []struct{ name, metadata, want string }{
		{"none", `{"prompt_tokens":5,"completion_tokens":6}`, "11"},
		{"none", `{"completion_tokens":7}`, "12"},
		{"none", `{"completion_tokens":8,"total_tokens":20}`, "20"},
		{"none", `{"completion_tokens":9}`, "20"},
		{"none", `{"total_tokens":null}`, "null"},
		{"half", `{"note":1}`, ""},
		{"half", `{"input_tokens":1}`, "3"},
		{"reported", `{"prompt_tokens":1}`, "12"},
		{"tool", `{"prompt_tokens":1}`, ""},
	} {
		e.update(event.Update{EventID: id(tt.name), Metadata: text("%s", tt.metadata)})
		e.equal(tt.name+" after "+tt.metadata, "total_tokens="+tt.want, total(tt.name))
	}
	// Sent again: what is stored holds, and the total is that of what the event has then.
	e.put(model("later", `{"prompt_tokens":5}`))
	e.put(model("later", `{"prompt_tokens":50,"completion_tokens":6}`), model("both", `{"prompt_tokens":90,"completion_tokens":2}`))
	e.equal("later", "total_tokens=11", total("later"))
	e.equal("both again", "total_tokens=11", total("both"))
}

// pricedNative: gpt-4o-mini costs 0.15 dollars a million tokens of prompt, 0.6 of completion.
func pricedNative(e *env) {
	cost := func(name string) string { return members(e.event(id(name)).Metadata, "cost", "cost_source") }
	model := func(name, config, metadata string) event.Incoming {
		x := step("s", name, 1)
		x.Type, x.Config, x.Metadata = event.TypeModel, text("%s", config), text("%s", metadata)
		return x
	}
	const mini, computed = `{"model":"gpt-4o-mini"}`, `cost=0.00000255 cost_source="computed"`
	e.put(model("told", mini, `{"prompt_tokens":9,"completion_tokens":2}`),
		model("other names", mini, `{"input_tokens":9,"total_tokens":11}`),
		model("reported", mini, `{"prompt_tokens":9,"completion_tokens":2,"cost":1}`),
		model("unknown", `{"model":"nobody's"}`, `{"prompt_tokens":9,"completion_tokens":2}`),
		model("later", `{}`, `{}`), model("half", mini, `{"completion_tokens":2}`),
		model("zeros", mini, `{"prompt_tokens":0,"input_tokens":9,"completion_tokens":2}`))
	tool := model("tool", mini, `{"prompt_tokens":9,"completion_tokens":2}`)
	tool.Type = event.TypeTool
	e.put(tool)
	for name, want := range map[string]string{"told": computed, "other names": computed, "zeros": computed, "reported": "cost=1 cost_source=", "unknown": "cost= cost_source=",
		"later": "cost= cost_source=", "half": "cost= cost_source=", "tool": "cost= cost_source="} {
		e.equal(name, want, cost(name))
	}
	e.equal("session", "cost=1.00000765", members(e.event(id("s")).Metadata, "cost"))
	for _, tt := range []struct{ name, config, metadata, want string }{
		{"later", `{}`, `{"prompt_tokens":9,"completion_tokens":2}`, "cost= cost_source="},
		{"later", mini, `{}`, computed},
		{"later", `{}`, `{"prompt_tokens":109}`, `cost=0.00001755 cost_source="computed"`},
		{"later", `{"model":"nobody's"}`, `{}`, "cost= cost_source="},
		{"later", mini, `{"note":1}`, `cost=0.00001755 cost_source="computed"`},
		{"later", `{}`, `{"cost":2}`, `cost=2 cost_source="reported"`},
		{"later", `{}`, `{"prompt_tokens":1}`, `cost=2 cost_source="reported"`},
		{"reported", `{}`, `{"prompt_tokens":1}`, "cost=1 cost_source="},
		{"told", `{}`, `{"note":1}`, computed},
	} {
		e.update(event.Update{EventID: id(tt.name), Config: text("%s", tt.config), Metadata: text("%s", tt.metadata)})
		e.equal(tt.name+" after "+tt.config+tt.metadata, tt.want, cost(tt.name))
	}
	e.equal("session after updates", "cost=3.00000765", members(e.event(id("s")).Metadata, "cost"))
	// Sent again: what is stored holds, and the cost is that of what the event has then.
	e.put(model("told", mini, `{"prompt_tokens":9,"completion_tokens":2}`), model("half", mini, `{"prompt_tokens":9}`),
		model("unknown", mini, `{"prompt_tokens":1000,"completion_tokens":1}`))
	e.equal("told again", computed, cost("told"))
	e.equal("half again", computed, cost("half"))
	e.equal("unknown again", "cost= cost_source=", cost("unknown"))
}

func outgrown(e *env) {
	x := step("s", "grows", 0)
	e.put(x)
	large := func(key string) event.Update {
		return event.Update{EventID: x.ID, Metadata: text(`{%q:%q}`, key, strings.Repeat("x", event.MaxBytes*3/5))}
	}
	if _, err := e.s.Update(e.ctx, e.project, large("a")); err != nil {
		e.Fatal(err)
	}
	if _, err := e.s.Update(e.ctx, e.project, large("b")); fault.Of(err) != fault.TooLarge {
		e.Errorf("error %v", err)
	}
	e.update(event.Update{EventID: x.ID, Metadata: raw(`{"a":"small"}`)})
	// One that waits for its event refuses nothing.
	y := step("s", "comes later", 1)
	for _, key := range []string{"a", "b"} {
		u := large(key)
		u.EventID = y.ID
		if pending, err := e.s.Update(e.ctx, e.project, u); err != nil || !pending {
			e.Fatalf("pending %v: %v", pending, err)
		}
	}
	e.put(y)
	if got := e.event(y.ID); len(got.Metadata) < event.MaxBytes*3/5 || len(got.Metadata) > event.MaxBytes {
		e.Errorf("%d bytes of metadata", len(got.Metadata))
	}
}
