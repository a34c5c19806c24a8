package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

var retentionTests = []test{
	{"Retention/nothing goes unless asked", retentionOff},
	{"Retention/rules", retentionRules},
	{"Retention/a session goes after its last event", retentionDays},
	{"Retention/an end in the future keeps no session", retentionFarEnd},
	{"Retention/in slices, and events come meanwhile", retentionSlices},
	{"Retention/a pass that broke off goes on", retentionResumes},
	{"Retention/one server at a time", retentionLease},
	{"Retention/payload before heads", retentionPayload},
	{"Retention/payload that comes later", retentionPayloadLate},
	{"Retention/trees stay as they are without payload", retentionTrees},
	{"Retention/large fields of the head stay", retentionHeadFields},
	{"Retention/bytes, the oldest sessions first", retentionBytes},
	{"Retention/bytes, the oldest payloads first", retentionPayloadFirst},
	{"Retention/bytes of packs", retentionPacked},
	{"Usage/by day and kind", usageCounted},
}

const day = 86400.0 // in seconds, as steps are placed

// keep sets a member of the project's rule.
func (e *env) keep(name string, v float64) {
	e.Helper()
	_, err := e.s.ChangeRetention(e.ctx, e.project, func(r *project.Retention) error { return r.Set(name, &v) })
	e.ok(err)
}

// retain makes a pass. One that a change of a rule began has ended by then.
func (e *env) retain() {
	e.Helper()
	e.ok(e.s.Retain(e.ctx))
}

// at moves the store to a time, in days after noon of the day of the suite.
func (e *env) at(days float64) *Clock {
	e.Helper()
	c := NewClock(arrival.Add(time.Duration(days * 24 * float64(time.Hour))))
	e.reopen(store.Options{Now: c.Now})
	return c
}

// gone checks that nothing of a session is left.
func (e *env) gone(session string) {
	e.Helper()
	if _, err := e.s.Session(e.ctx, e.project, id(session)); fault.Of(err) != fault.NotFound {
		e.Errorf("session %s: %v, want NotFound", session, err)
	}
}

// spoken returns a step with a payload.
func spoken(session, name string, seconds float64) event.Incoming {
	x := step(session, name, seconds)
	x.Inputs, x.Outputs, x.Config = text(`{"q":"of %s"}`, name), text(`{"a":"to %s"}`, name), text(`{"model":"m"}`)
	return x
}

func retentionOff(e *env) {
	e.at(4000)
	list := []event.Incoming{spoken("s", "a", 0), spoken("t", "b", 1)}
	e.put(list...)
	e.retain()
	e.holds(list...)
}

func retentionRules(e *env) {
	other := e.second()
	own, rule, err := e.s.Retention(e.ctx, e.project)
	e.ok(err)
	e.equal("at first", project.Retention{}, own)
	e.equal("everything is kept", true, rule.Keeps())
	e.keep("event_days", 30)
	e.keep("payload_days", 30)
	ten, forty := 10.0, 40.0
	_, err = e.s.ChangeRetention(e.ctx, e.project, func(r *project.Retention) error { return r.Set("payload_days", &forty) })
	e.equal("payload for longer than events", fault.Invalid, fault.Of(err))
	own, err = e.s.ChangeRetention(e.ctx, e.project, func(r *project.Retention) error { return r.Set("payload_days", &ten) })
	e.ok(err)
	e.equal("both", []int64{30, 10}, []int64{*own.EventDays, *own.PayloadDays})
	e.reopen(store.Options{Retention: project.RetentionRule{EventDays: 90, PayloadDays: 20}})
	_, rule, err = e.s.Retention(e.ctx, e.project)
	e.ok(err)
	e.equal("over the defaults", project.RetentionRule{EventDays: 30, PayloadDays: 10}, rule)
	_, rule, err = e.s.Retention(e.ctx, other.ID)
	e.ok(err)
	e.equal("of another project", project.RetentionRule{EventDays: 90, PayloadDays: 20}, rule)
	_, err = e.s.ChangeRetention(e.ctx, e.project, func(r *project.Retention) error { return r.Set("payload_days", nil) })
	e.ok(err)
	_, rule, err = e.s.Retention(e.ctx, e.project)
	e.ok(err)
	e.equal("given back", project.RetentionRule{EventDays: 30, PayloadDays: 20}, rule)
	_, err = e.s.ChangeRetention(e.ctx, 4711, func(*project.Retention) error { return nil })
	e.equal("of no project", fault.NotFound, fault.Of(err))
}

func retentionDays(e *env) {
	other := e.second()
	midnight := 0.5 * day // after noon of the day of the suite
	oldest := below("a", spoken("old", "b", 2))
	last := step("last", "c", midnight-1.001) // ends a millisecond before the day ends
	next := step("next", "d", midnight-1)     // ends with it
	long := []event.Incoming{spoken("long", "e", 0), spoken("long", "f", 1.5*day)}
	fresh := spoken("fresh", "g", 2*day)
	e.put(spoken("old", "a", 0), oldest, last, next, fresh)
	e.put(long...)
	e.put(traced("t", "", step("t", "h", 5)))
	kept := spoken("old in another project", "k", 0)
	e.ok(e.s.Put(e.ctx, other.ID, event.Batch{Events: []event.Incoming{kept}}))

	all := e.place.Count(e.T, `SELECT count(*) FROM event`)
	e.at(2.1)
	e.keep("event_days", 2)
	e.retain()
	e.equal("2 January is kept on 4 January", all, e.place.Count(e.T, `SELECT count(*) FROM event`))
	e.keep("event_days", 1)
	e.retain()
	for _, s := range []string{"old", "last", "t"} {
		e.gone(s)
	}
	e.holds(append(long, next, fresh)...)
	e.equal("sessions", 4, e.place.Count(e.T, `SELECT count(*) FROM session`))
	e.equal("traces", 0, e.place.Count(e.T, `SELECT count(*) FROM trace`))
	e.wantRollup("long", "num_events=2 num_model_events=0 has_feedback=false cost= total_tokens=0 prompt_tokens=0 completion_tokens=0")
	before := e.recount()
	e.equal("stored bytes are those of the rows", before, e.recount())

	// The same ids again are those of new events, also the ones that come out of the rule: the next pass removes these.
	e.put(oldest, spoken("new", "a", 2*day))
	e.holds(spoken("new", "a", 2*day))
	e.retain()
	e.gone("old")
	e.equal("session of the event again", id("new"), e.event(id("a")).SessionID)
}

func retentionFarEnd(e *env) {
	x := step("s", "a", 0)
	x.Duration, x.End = 4000*day*1000, x.Start+4000*day*1000
	y := step("t", "b", 3*day)
	y.Duration, y.End = x.Duration, y.Start+x.Duration
	e.at(3)
	e.put(x, y)
	e.keep("event_days", 1)
	e.retain()
	e.gone("s")
	e.holds(y)
}

// manySessions stores 60 small sessions and one of 1,200 events, all of the day of the suite, and returns how many events there are.
func (e *env) manySessions() int {
	e.Helper()
	for i := range 6 {
		var list []event.Incoming
		for j := range 10 {
			name := fmt.Sprint("small ", i, " ", j)
			list = append(list, spoken(name, name+" a", float64(j)), spoken(name, name+" b", float64(j)+1))
		}
		for j := range 200 {
			list = append(list, spoken("large", fmt.Sprint("large ", i, " ", j), float64(i*200+j)))
		}
		e.put(list...)
	}
	return e.place.Count(e.T, `SELECT count(*) FROM event`)
}

func retentionSlices(e *env) {
	e.at(3)
	e.manySessions()
	e.keep("event_days", 1)
	var kept []event.Incoming
	var wait sync.WaitGroup
	stop := make(chan struct{})
	wait.Go(func() {
		for i := 0; ; i++ {
			x := spoken(fmt.Sprint("kept ", i%7), fmt.Sprint("kept event ", i), 3*day+float64(i)/100)
			if err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{x}}); err != nil {
				e.Errorf("while events are removed: %v", err)
				return
			}
			kept = append(kept, x)
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	e.retain()
	close(stop)
	wait.Wait()
	e.gone("large")
	e.holds(kept...)
	e.equal("events", len(kept), e.place.Count(e.T, `SELECT count(*) FROM event WHERE type <> 4`))
	e.equal("deletions", 0, e.place.Count(e.T, `SELECT count(*) FROM deletion WHERE kind = 'session'`))
	e.equal("chunks without an event", 0, e.place.Count(e.T, `SELECT count(*) FROM chunk WHERE id NOT IN (SELECT chunk FROM event WHERE chunk IS NOT NULL)`))
}

func retentionResumes(e *env) {
	e.at(0)
	all := e.manySessions()
	fresh := spoken("fresh", "x", 1)
	e.ok(e.s.Close(e.ctx))
	e.open(store.Options{Now: NewClock(arrival.Add(3 * 24 * time.Hour)).Now})
	fresh.Start += 3 * day * 1000
	fresh.End = fresh.Start + 1000
	e.put(fresh)
	ctx, cancel := context.WithCancel(e.ctx)
	done := make(chan error)
	e.keep("event_days", 1)
	go func() { done <- e.s.Retain(ctx) }()
	for e.place.Count(e.T, `SELECT count(*) FROM event`) > all { // the first slice has not committed
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-done
	e.ok(e.s.Close(e.ctx))
	e.place.Exec(e.T, `DELETE FROM setting WHERE name = 'retention_lease'`)   // which has come to its end meanwhile
	e.open(store.Options{Now: NewClock(arrival.Add(3 * 24 * time.Hour)).Now}) // as a new process, which goes on by itself
	for e.place.Count(e.T, `SELECT count(*) FROM event WHERE type <> 4`) > 1 {
		time.Sleep(10 * time.Millisecond)
	}
	e.retain()
	e.holds(fresh)
	e.equal("sessions", 1, e.place.Count(e.T, `SELECT count(*) FROM session`))
	e.equal("deletions", 0, e.place.Count(e.T, `SELECT count(*) FROM deletion WHERE kind = 'session'`))
}

func retentionLease(e *env) {
	c := e.at(3)
	e.put(step("s", "a", 0))
	e.place.Exec(e.T, fmt.Sprintf(`INSERT INTO setting(name, value) VALUES ('retention_lease', 'another %d')`, c.Now().Add(time.Minute).UnixMilli()))
	e.keep("event_days", 1)
	e.retain()
	if !e.place.Shared() {
		e.gone("s") // there can be no other
		return
	}
	e.holds(step("s", "a", 0))
	c.Add(time.Minute)
	e.retain()
	e.gone("s")
	e.equal("leases", 0, e.place.Count(e.T, `SELECT count(*) FROM setting WHERE name = 'retention_lease'`))
}

// expired returns an event as it is read when its payload is gone.
func expired(x event.Incoming) event.Incoming {
	x.Inputs, x.Outputs, x.Config, x.ColdMetadata = nil, nil, nil, nil
	return x
}

// wantExpired checks which events say that their payload is gone.
func (e *env) wantExpired(want bool, names ...string) {
	e.Helper()
	for _, name := range names {
		e.equal("payload of "+name+" is gone", want, e.event(id(name)).PayloadExpired)
	}
}

func retentionPayload(e *env) {
	c := e.at(1)
	a, b := spoken("s", "a", 0), below("a", spoken("s", "b", 1))
	a.ColdMetadata = text(`{"attributes":{"long":"%s"}}`, strings.Repeat("text ", 20))
	a.Metadata = text(`{"kept":1}`)
	today, bare := spoken("s", "c", day), step("s", "bare", 2)
	e.put(start("s", "session", 0, 10), a, b, bare)
	e.put(today)
	e.put(call("u", "d", 3, 10, 20, 0.25), spoken("u", "d2", 4))
	e.keep("payload_days", 1)
	e.retain()
	e.holds(a, b, today, bare)
	e.wantExpired(false, "a", "b", "c", "bare")

	c.Add(24 * time.Hour)
	before := e.recount()
	e.retain()
	e.holds(expired(a), expired(b), today, bare, call("u", "d", 3, 10, 20, 0.25))
	e.wantExpired(true, "a", "b", "d2")
	e.wantExpired(false, "c", "bare", "d")
	e.equal("chunks", 1, e.place.Count(e.T, `SELECT count(*) FROM chunk`))
	e.equal("smaller", true, e.recount() < before)
	e.wantRollup("u", "num_events=2 num_model_events=1 has_feedback=false cost=0.25 total_tokens=30 prompt_tokens=10 completion_tokens=20")
	for _, tt := range []struct {
		field, value string
		want         int
	}{{"inputs.q", `"of a"`, 0}, {"inputs.q", `"of c"`, 2 /* and the session, whose first inputs they are now */}, {"metadata.kept", `"1"`, 1}} {
		set, err := e.s.Search(e.ctx, e.project, query.Search{Filters: []query.Filter{e.filter(tt.field, "is", "", tt.value)}, Limit: 10, Page: 1})
		e.ok(err)
		e.equal(tt.field+" "+tt.value, tt.want, set.Total)
	}
	e.reopen(store.Options{Now: c.Now})
	e.holds(expired(a), expired(b), today, bare)
	e.wantExpired(true, "a", "b")
}

func retentionPayloadLate(e *env) {
	e.at(3)
	a := spoken("s", "a", 0)
	e.put(a)
	e.keep("payload_days", 1)
	e.retain()
	e.wantExpired(true, "a")
	e.put(a) // sent again
	e.holds(a)
	e.wantExpired(false, "a")
	b := spoken("s", "b", 1) // arrives late
	e.put(b)
	e.holds(a, b)
	e.retain()
	e.holds(expired(a), expired(b))
	e.wantExpired(true, "a", "b")
	e.update(event.Update{EventID: id("a"), Feedback: text(`{"good":true}`)})
	e.wantExpired(true, "a")
	e.update(event.Update{EventID: id("a"), Outputs: text(`{"a":"anew"}`)})
	e.wantExpired(false, "a")
	e.equal("an update's", `{"a":"anew"}`, string(e.event(id("a")).Outputs))
	e.retain()
	e.wantExpired(true, "a")
	e.equal("chunks", 0, e.place.Count(e.T, `SELECT count(*) FROM chunk`))
	e.equal("feedback stays", `{"good":true}`, string(e.event(id("a")).Feedback))
}

// retentionTrees: which span stands for a call was decided by what its payload had, and stays so when that is gone, whatever is changed then.
func retentionTrees(e *env) {
	c := e.at(3)
	outer := traced("t", "s", messages("openinference", step("s", "outer", 1)))
	outer.End, outer.Duration = outer.Start+5000, 5000
	failed := func(name, scope string, ms float64) event.Incoming {
		x := traced("f", "s", messages(scope, step("s", name, 20)))
		x.Error, x.End, x.Duration = pointer("overloaded"), x.Start+ms, ms
		x.Config, x.Metadata = text(`{"model":"m"}`), nil
		x.ColdMetadata = text(`{"scope":{"name":%q},"parent_span_id":"p"}`, scope)
		if scope == "client" { // which does not tell what was asked
			x.Inputs, x.Outputs = nil, nil
		}
		return x
	}
	list := []event.Incoming{
		outer, traced("t", "s", below("outer", bare("r-1", step("s", "inner", 2)))),
		traced("u", "s", told("openai", "r-2", step("s", "one", 10))), traced("u", "s", told("langchain", "r-2", step("s", "two", 11))),
		failed("asked", "openllmetry", 100), failed("sent", "client", 90),
	}
	e.put(list...)
	want := func(when string) {
		e.Helper()
		e.equal(when+": type of the span with messages", event.TypeModel, e.event(id("outer")).Type)
		for name, of := range map[string]string{"inner": "outer", "one": "", "two": "one", "asked": "", "sent": "asked"} {
			e.equal(when+": "+name+" is a duplicate of", of, e.duplicateOf(name))
		}
	}
	want("at first")
	before := e.rollup("s")
	e.keep("payload_days", 1)
	e.retain()
	want("without payload")
	for _, x := range list {
		e.update(event.Update{EventID: x.ID, Metrics: text(`{"score":1}`)})
	}
	want("updated")
	e.reopen(store.Options{Now: c.Now})
	for _, trace := range []string{"t", "u", "f"} {
		e.put(traced(trace, "s", step("s", "late in "+trace, 30)))
	}
	want("after late spans")
	e.wantRollup("s", strings.Replace(before, "num_events=6", "num_events=9", 1))
	e.update(event.Update{EventID: id("inner"), Metadata: text(`{"cost":0.5}`)})
	want("with another cost")
	for _, name := range []string{"outer", "one"} {
		e.update(event.Update{EventID: id(name), Outputs: text(`{"content":"anew"}`)})
		e.update(event.Update{EventID: id(name), Metrics: text(`{"score":2}`)})
	}
	want("with outputs again")
}

func retentionHeadFields(e *env) {
	e.at(3)
	a, b := spoken("s", "a", 0), spoken("s", "b", 1)
	long := strings.Repeat("0123456789 ", 2000)
	a.Metadata, a.Error = text(`{"long":"%s","total":3}`, long), pointer(long)
	a.ColdMetadata = text(`{"attributes":{"cold":1}}`)
	e.put(a, b)
	e.holds(a, b)
	e.keep("payload_days", 1)
	e.retain()
	e.holds(expired(a), expired(b))
	e.wantExpired(true, "a", "b")
	chunks := 2 // with the error, which the session has, too
	e.equal("chunks", chunks, e.place.Count(e.T, `SELECT count(*) FROM chunk`))
	e.retain()
	e.equal("chunks after another pass", chunks, e.place.Count(e.T, `SELECT count(*) FROM chunk`))
	set, err := e.s.Search(e.ctx, e.project, query.Search{Filters: []query.Filter{e.filter("metadata.total", "is", "number", `3`)}, Limit: 10, Page: 1})
	e.ok(err)
	e.equal("found by a large field", 1, set.Total)
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.empty()
}

// usage counts what takes the project's space, and checks that the sums are those of the days.
func (e *env) usage() project.Usage {
	e.Helper()
	u, err := e.s.Usage(e.ctx, e.project)
	e.ok(err)
	var sum project.DayUsage
	for _, d := range u.Days {
		sum.Events += d.Events
		sum.HeadBytes += d.HeadBytes
		sum.PayloadBytes += d.PayloadBytes
	}
	e.equal("sums of days", project.DayUsage{Events: u.Events, HeadBytes: u.HeadBytes, PayloadBytes: u.PayloadBytes}, sum)
	e.equal("stored bytes", e.recount(), u.HeadBytes+u.PayloadBytes+u.LogBytes)
	n, err := e.s.EventCount(e.ctx, e.project)
	e.ok(err)
	e.equal("kept count of events", u.Events, n)
	return u
}

// preview counts what a rule would remove.
func (e *env) preview(rule project.RetentionRule) project.Removal {
	e.Helper()
	r, err := e.s.PreviewRetention(e.ctx, e.project, rule)
	e.ok(err)
	return r
}

// keeps sets a rule, removes what it does not keep, and checks that this is what the preview told.
func (e *env) keeps(rule project.RetentionRule) {
	e.Helper()
	told, before := e.preview(rule), e.usage()
	_, err := e.s.ChangeRetention(e.ctx, e.project, func(r *project.Retention) error {
		*r = project.Retention{EventDays: &rule.EventDays, PayloadDays: &rule.PayloadDays, Bytes: &rule.Bytes, PayloadFirst: &rule.PayloadFirst}
		return nil
	})
	e.ok(err)
	e.retain()
	after := e.usage()
	e.equal("removed as told", [3]int64{told.Sessions, told.Events, told.Bytes},
		[3]int64{before.Sessions - after.Sessions, before.Events - after.Events, before.EventBytes() - after.EventBytes()})
	e.equal("nothing more to remove", project.Removal{}, e.preview(rule))
	if rule.Bytes > 0 && after.EventBytes() > rule.Bytes {
		e.Errorf("%d bytes, may be %d", after.EventBytes(), rule.Bytes)
	}
}

// tenDays stores a session a day for ten days, each with a payload of its own, and an old one that went on at the end.
// Payloads are packed only by Pack.
func (e *env) tenDays() {
	e.Helper()
	e.reopen(store.Options{Now: NewClock(arrival.Add(10 * 24 * time.Hour)).Now, PackAfter: -1})
	for d := range 10 {
		x := spoken(fmt.Sprint("s", d), fmt.Sprint("x", d), float64(d)*day)
		x.Inputs = text(`{"text":"%s"}`, prose(3000, uint64(d)))
		e.put(x, step(fmt.Sprint("s", d), fmt.Sprint("y", d), float64(d)*day+1))
	}
	e.put(step("long", "first", 1), step("long", "last", 9.1*day))
}

func usageCounted(e *env) {
	e.equal("at first", project.Usage{}, e.usage())
	e.tenDays()
	u := e.usage()
	e.equal("counts", []int64{11, 33, 10}, []int64{u.Sessions, u.Events, int64(len(u.Days))})
	e.equal("of the first day", int64(5), u.Days[0].Events)
	if u.Days[3].PayloadBytes < 1000 || u.Days[3].HeadBytes < 3*256 {
		e.Errorf("a day: %+v", u.Days[3])
	}
	n, err := e.s.DatabaseBytes(e.ctx)
	e.ok(err)
	if n < u.EventBytes() {
		e.Errorf("%d bytes on disk, %d of events", n, u.EventBytes())
	}
}

func retentionBytes(e *env) {
	e.tenDays()
	e.equal("nothing is told without a rule", project.Removal{}, e.preview(project.RetentionRule{}))
	e.keeps(project.RetentionRule{EventDays: 8})
	e.gone("s1")
	u := e.usage()
	bytes := u.EventBytes()
	e.keeps(project.RetentionRule{Bytes: bytes})
	e.keeps(project.RetentionRule{Bytes: bytes - 1})
	e.gone("s2")
	e.keeps(project.RetentionRule{EventDays: 6, Bytes: bytes / 2})
	e.gone("s5")
	e.equal("the newest stay", true, e.event(id("x9")).Inputs != nil)
	e.equal("the one that went on stays", id("long"), e.event(id("first")).SessionID)
	e.keeps(project.RetentionRule{Bytes: 1})
	e.empty()
}

func retentionPayloadFirst(e *env) {
	e.tenDays()
	u := e.usage()
	rule := project.RetentionRule{Bytes: u.EventBytes() - u.PayloadBytes/2, PayloadFirst: true}
	told := e.preview(rule)
	e.equal("only payloads", [2]int64{0, 5}, [2]int64{told.Sessions, told.Payloads})
	e.keeps(rule)
	e.wantExpired(true, "x0", "x4")
	e.wantExpired(false, "x5", "x9")
	e.keeps(project.RetentionRule{PayloadDays: 3, Bytes: rule.Bytes, PayloadFirst: true})
	e.wantExpired(true, "x6")
	e.keeps(project.RetentionRule{Bytes: u.HeadBytes / 2, PayloadFirst: true})
	e.equal("payload", int64(0), e.usage().PayloadBytes)
	e.gone("s0")
	e.equal("the newest stay", id("s9"), e.event(id("x9")).SessionID)
}

func retentionPacked(e *env) {
	e.tenDays()
	for d := range 10 {
		for k := range 6 {
			name := fmt.Sprint("more ", d, " ", k)
			x := spoken(name, name+" event", float64(d)*day+float64(k))
			x.Inputs = text(`{"text":"%s"}`, prose(3000, uint64(10*d+k)))
			e.put(x)
		}
	}
	e.ok(e.s.Pack(e.ctx))
	u := e.usage()
	if packs := e.place.Count(e.T, `SELECT count(DISTINCT pack) FROM chunk`); packs == 0 {
		e.Fatal("nothing was packed")
	}
	told := e.preview(project.RetentionRule{EventDays: 4})
	if told.Bytes < told.Events*256 || told.Bytes > u.EventBytes() {
		e.Errorf("told %d bytes of %d", told.Bytes, u.EventBytes())
	}
	for _, rule := range []project.RetentionRule{
		{Bytes: u.EventBytes() - u.PayloadBytes/2, PayloadFirst: true},
		{Bytes: u.HeadBytes / 2},
		{Bytes: 1, PayloadFirst: true},
	} {
		_, err := e.s.ChangeRetention(e.ctx, e.project, func(r *project.Retention) error {
			*r = project.Retention{Bytes: &rule.Bytes, PayloadFirst: &rule.PayloadFirst}
			return nil
		})
		e.ok(err)
		e.retain()
		if u := e.usage(); u.EventBytes() > rule.Bytes {
			e.Errorf("%d bytes, may be %d", u.EventBytes(), rule.Bytes)
		}
		if rule.Bytes > 1 {
			e.equal("the newest stay", id("more 9 5"), e.event(id("more 9 5 event")).SessionID)
		}
	}
	e.empty()
}
