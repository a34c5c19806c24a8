package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
)

var fieldTests = []test{
	{"Fields/come back digit for digit", digits},
	{"Fields/outputs of any kind", outputKinds},
	{"Fields/absent stays absent", absentFields},
	{"Fields/large fields leave the head and come back", spilledFields},
	{"Fields/payload of one and three megabytes", largePayload},
	{"Fields/a batch over days, sessions and chunks", manyChunks},
	{"Fields/ids of users, runs and answers of any length", longIDs},
}

func digits(e *env) {
	x := step("s", "digits", 0.00025)
	x.Type = event.TypeModel
	x.Name, x.Source, x.Error = "Größe 😀 'x\" \\ %_", "prod\n", pointer("Fehler: \t\"ü\" 😀")
	x.Start, x.End, x.Duration = noon+0.25, noon+1234.75, 1234.125
	x.ParentID = id("some parent")
	odd := `{"b":1.50,"a":9007199254740993,"é":"\u00e9","big":123456789012345678901234567890,"neg":-0,"exp":1E+2,"deep":{"z":[1, 2 ,{"y":null}],"":""},"esc":"\/\u2028😀"}`
	x.Config, x.Inputs, x.Outputs, x.Metadata = raw(odd), raw(odd), raw(odd), raw(odd)
	x.Metrics, x.Feedback, x.UserProperties = raw(odd), raw(odd), raw(odd)
	x.ChildrenIDs = text(`["b", "a","ü"]`)
	x.ColdMetadata = text(`{"attributes":{"http.status":200.0,"k":[true,null]},"span_name":"GET /"}`)
	e.put(x)
	e.holds(x)
	e.reopen(optionsNone)
	e.holds(x)
}

func outputKinds(e *env) {
	for i, out := range []string{`"text"`, `""`, `3.10`, `0`, `true`, `false`, `null`, `[]`, `[1,{"a":2}]`, `{}`, `{"a":1}`} {
		x := step("s", fmt.Sprint("outputs ", i), float64(i))
		x.Outputs = raw(out)
		e.put(x)
		e.holds(x)
	}
}

func absentFields(e *env) {
	x := step("s", "bare", 0)
	e.put(x)
	e.holds(x)
	for _, f := range [][]byte{e.event(x.ID).Metadata, e.event(x.ID).Metrics, e.event(x.ID).Inputs, e.event(x.ID).ChildrenIDs} {
		if f != nil {
			e.Errorf("absent field reads %q", f)
		}
	}
}

// prose is text of n bytes that hardly compresses.
func prose(n int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[r.IntN(63)]
	}
	return string(b)
}

func spilledFields(e *env) {
	var all []event.Incoming
	for i, n := range []int{8 << 10, 9 << 10, 300 << 10, 1 << 20} {
		x := step("s", fmt.Sprint("large ", i), float64(i))
		long := text(`{"k":"%s","n":1.50}`, prose(n, uint64(i)))
		x.Metadata, x.Metrics, x.Feedback, x.UserProperties = long, long, long, long
		x.ChildrenIDs = text(`["%s"]`, prose(n, 9))
		x.Error = pointer(prose(n, 10))
		x.ColdMetadata = text(`{"attributes":{"x":"%s"}}`, prose(n, 11))
		all = append(all, x)
	}
	e.put(all...)
	e.holds(all...)
	// Each field alone, between events without any.
	for i, set := range []func(*event.Incoming, []byte){
		func(x *event.Incoming, b []byte) { x.Metadata = b }, func(x *event.Incoming, b []byte) { x.Metrics = b },
		func(x *event.Incoming, b []byte) { x.Feedback = b }, func(x *event.Incoming, b []byte) { x.UserProperties = b },
	} {
		x := step("alone", fmt.Sprint("alone ", i), float64(i))
		set(&x, text(`{"k":"%s"}`, prose(10<<10, uint64(i))))
		e.put(step("alone", fmt.Sprint("beside ", i), 50+float64(i)), x)
		e.holds(x)
	}
}

func largePayload(e *env) {
	one, three := step("s", "one", 0), step("s", "three", 1)
	one.Inputs = text(`{"q":"%s"}`, prose(1<<20, 1))
	three.Inputs = text(`{"q":"%s"}`, prose(1<<20, 2))
	three.Outputs = text(`"%s"`, prose(1<<20, 3))
	three.Config = text(`{"c":"%s"}`, strings.Repeat("x", 1<<20))
	e.put(one, three)
	e.holds(one, three)
}

func manyChunks(e *env) {
	var all []event.Incoming
	for i := range 300 {
		x := step(fmt.Sprint("s", i%7), fmt.Sprint("event ", i), float64(i)+float64(i%5)*86400)
		x.Inputs = text(`{"n":%d,"q":"%s"}`, i, prose(100+i*37, uint64(i)))
		x.Outputs = text(`"%s"`, prose(3000, uint64(1000+i)))
		x.Metadata = text(`{"n":%d}`, i)
		all = append(all, x)
	}
	e.put(all...)
	e.holds(all...)
	byID := map[uuid.UUID]event.Event{}
	for _, x := range all {
		byID[x.ID] = x.Event
	}
	n := 0
	for i := range 7 {
		for _, got := range e.session(id(fmt.Sprint("s", i))) {
			if got.IsSession() {
				continue
			}
			n++
			e.same("event of a session", []event.Event{byID[got.ID]}, []event.Event{got})
		}
	}
	e.equal("events in sessions", len(all), n)
}

// longIDs has ids longer than an index of PostgreSQL takes, which is about 2,700 bytes that do not compress.
func longIDs(e *env) {
	for i, n := range []int{200, 1024, 1025, 2500, 4000, 20_000} {
		session := fmt.Sprint("s", i)
		user, run, response := prose(n, uint64(i)), prose(n, uint64(100+i)), prose(n, uint64(200+i))
		long, short := ofTrace(session, step(session, session+" long", 1)), ofTrace(session, step(session, session+" short", 2))
		long.UserProperties = text(`{"user_id":"%s"}`, user)
		long.Metadata = text(`{"run_id":"%s","response_id":"%s"}`, run, response)
		short.UserProperties = raw(`{"user_id":"u-1"}`)
		of := note(session+" short", session, 3, event.LogEvaluation, `{"name":"tone","value":0.5}`)
		of.ResponseID = response
		e.put(long, short)
		e.putNotes(of)
		e.update(event.Update{EventID: short.ID, Metadata: text(`{"run_id":"%s"}`, run)})
		if n > 20_000>>1 { // a filter's value may have 10,000 bytes
			continue
		}
		want := []string{session + " long", session + " short"}
		e.equal("of the run", want, e.found(e.filter("metadata.run_id", "is", "", fmt.Sprintf("%q", run))))
		got := e.found(e.filter("user_properties.user_id", "is", "", fmt.Sprintf("%q", user)), e.filter("event_type", "is not", "", `"session"`))
		e.equal("of the user", want[:1], got)
		got = e.found(e.filter("user_properties.user_id", "is any of", "", fmt.Sprintf(`[%q,"u-1"]`, user)), e.filter("session_id", "is", "id", fmt.Sprintf("%q", id(session))),
			e.filter("event_type", "is not", "", `"session"`))
		e.equal("of both users", want, got)
	}
}
