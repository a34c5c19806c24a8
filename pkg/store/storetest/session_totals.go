package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
)

var sessionTotalTests = []test{
	{"SearchSessions/totals and states in alternatives", sessionAlternatives},
	{"SearchSessions/random filters", sessionRandom},
}

// total makes one filter of a search of sessions. value is JSON text.
func (e *env) total(field, operator, value string) query.Filter {
	e.Helper()
	return e.sessionFilters(fmt.Sprintf(`[{"field":%q,"operator":%q,"value":%s}]`, field, operator, value))[0]
}

// sessionFilters reads the filters of a search of sessions.
func (e *env) sessionFilters(text string) []query.Filter {
	e.Helper()
	fs, err := query.ParseSessionFilters([]byte(text), "filters")
	e.ok(err)
	return fs
}

// Totals and the state stand in alternatives beside what the database decides, what it does not (payload), and fields that are too large
// for some rows; and the filters on events hold beside all of it.
func sessionAlternatives(e *env) {
	e.putSessions()
	open := step("s6", "open", 6)
	open.Unfinished, open.End, open.Duration = true, open.Start, 0
	e.put(open)
	const expensive = `{"field":"totals.cost","operator":"greater than","value":0.25}`
	const failed = `{"field":"totals.errors","operator":"is","value":1,"type":"number"}`
	const running = `{"field":"state","operator":"is","value":"running"}`
	of := func(field, operator, value string) string {
		return fmt.Sprintf(`{"field":%q,"operator":%q,"value":%s}`, field, operator, value)
	}
	for filters, want := range map[string]string{
		`[{"any":[[` + expensive + `],[` + running + `]]}]`:                                                       "s2 s5 s6 s8",
		`[{"any":[[` + expensive + `,` + failed + `],[` + running + `]]}]`:                                        "s5 s6",
		`[{"any":[[` + expensive + `],[` + of("event_name", "is", `"session s3"`) + `]]},` + failed + `]`:         "s3 s5",
		`[{"any":[[` + running + `],[` + of("inputs.question", "contains", `"s4"`) + `]]}]`:                       "s4 s6",
		`[{"any":[[` + expensive + `,` + of("inputs.question", "contains", `"s5"`) + `],[` + running + `]]}]`:     "s5 s6",
		`[{"any":[[` + running + `],[` + of("metadata.cost", "is", `0.25`) + `]]}]`:                               "s1 s4 s6 s7",
		`[{"any":[[` + of("state", "is not", `"ended"`) + `],[` + of("totals.tokens", "less than", `10`) + `]]}]`: "s0 s3 s6",
		`[{"any":[[` + of("state", "is any of", `["ended","running"]`) + `]]}]`:                                   "s0 s1 s2 s3 s4 s5 s6 s7 s8",
		`[` + of("totals.events", "is any of", `[0,"3"]`) + `]`:                                                   "s0 s5",
		`[` + of("totals.errors", "greater than", `0.5`) + `]`:                                                    "s1 s3 s5 s7",
		`[` + of("totals.errors", "is", `0.5`) + `]`:                                                              "",
		`{"filterArray":[` + running + `]}`:                                                                       "s6",
		running:                                                                                                   "s6",
	} {
		q := query.SessionSearch{Filters: e.sessionFilters(filters), Ascending: true, Limit: 2}
		e.equal(filters, want, strings.Join(e.walk(q), " "))
		q.Counted, q.Limit = true, 1
		e.equal(filters+" counted", len(strings.Fields(want)), e.sessions(q).Total)
	}
	either := e.sessionFilters(`[{"any":[[` + expensive + `],[` + running + `]]}]`)
	large := []query.Filter{e.filter("config.model", "is", "", `"large"`)}
	e.equal("with an event decided outside", "s5", strings.Join(e.walk(query.SessionSearch{Filters: either, EventFilters: large, Ascending: true, Limit: 2}), " "))
	tools := []query.Filter{e.filter("event_type", "is", "", `"tool"`)}
	e.equal("with an event", "s5 s6", strings.Join(e.walk(query.SessionSearch{Filters: either, EventFilters: tools, Ascending: true, Limit: 2}), " "))
}

// madeSession is what a random session was made of: what the filters on it are worked out from, without the code that is tested.
type madeSession struct {
	name, region, question string
	events                 []madeEvent // its own first
	calls, tools, errors   int
	feedback, running      int
	prompt, completion     int
	cost                   float64
	totals                 map[string]float64
}

type madeEvent struct {
	typ, model string
	failed     bool
}

// makeSession stores a random session.
func (e *env) makeSession(r *rand.Rand, n int) madeSession {
	e.Helper()
	m := madeSession{name: fmt.Sprintf("r%d", n), region: []string{"eu", "us"}[r.IntN(2)], question: []string{"refund", "order"}[r.IntN(2)]}
	own := start(m.name, "session "+m.name, float64(n), 1)
	own.Metadata, own.Inputs = text(`{"region":%q}`, m.region), text(`{"question":"the %s please"}`, m.question)
	if r.IntN(4) == 0 { // too large to stand in its row
		own.Metadata = text(`{"region":%q,"padding":%q}`, m.region, strings.Repeat("x", 40_000))
	}
	batch := []event.Incoming{own}
	m.events = []madeEvent{{typ: "session"}}
	for i := range r.IntN(5) {
		name := fmt.Sprintf("%s step %d", m.name, i)
		x := step(m.name, name, float64(n))
		made := madeEvent{typ: "tool"}
		if r.IntN(2) == 0 {
			made.typ, made.model = "model", []string{"small", "large"}[r.IntN(2)]
			prompt, completion, cost := r.IntN(4), r.IntN(4), float64(r.IntN(3))/4
			x = call(m.name, name, float64(n), prompt, completion, cost)
			x.Config = text(`{"model":%q}`, made.model)
			m.prompt, m.completion, m.cost = m.prompt+prompt, m.completion+completion, m.cost+cost
			m.calls++
		} else {
			m.tools++
		}
		switch r.IntN(6) {
		case 0:
			x.Error, made.failed = pointer("timeout"), true
			m.errors++
		case 1:
			x.Unfinished, x.End, x.Duration = true, x.Start, 0
			m.running++
		case 2:
			x.Feedback = raw(`{"rating":1}`)
			m.feedback++
		}
		batch, m.events = append(batch, x), append(m.events, made)
	}
	m.events[0].failed = m.errors > 0 // a session shows the error of its first failed step
	m.totals = map[string]float64{"cost": m.cost, "tokens": float64(m.prompt + m.completion), "prompt_tokens": float64(m.prompt), "completion_tokens": float64(m.completion),
		"errors": float64(m.errors), "events": float64(m.calls + m.tools), "model_events": float64(m.calls), "tool_events": float64(m.tools), "feedback": float64(m.feedback)}
	e.put(batch...)
	return m
}

// asked is a filter and what it means.
type asked[T any] struct {
	text  string
	holds func(x T) bool
}

// askSession returns a random condition on a session.
func askSession(r *rand.Rand) asked[madeSession] {
	of := func(field, operator, value string, holds func(m madeSession) bool) asked[madeSession] {
		return asked[madeSession]{fmt.Sprintf(`{"field":%q,"operator":%q,"value":%s}`, field, operator, value), holds}
	}
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	switch r.IntN(7) {
	case 0:
		state, operator := pick("running", "ended"), pick("is", "is not", "is any of")
		value := strconv.Quote(state)
		if operator == "is any of" {
			value = "[" + value + "]"
		}
		return of("state", operator, value, func(m madeSession) bool {
			return ((m.running > 0) == (state == "running")) != (operator == "is not")
		})
	case 1:
		region, operator := pick("eu", "us", "asia"), pick("is", "is not")
		return of("metadata.region", operator, strconv.Quote(region), func(m madeSession) bool { return (m.region == region) == (operator == "is") })
	case 2:
		word := pick("refund", "order")
		return of("inputs.question", "contains", strconv.Quote(word), func(m madeSession) bool { return m.question == word })
	case 3:
		name := fmt.Sprintf("r%d", r.IntN(24))
		return of("event_name", "is", strconv.Quote("session "+name), func(m madeSession) bool { return m.name == name })
	}
	name := pick("cost", "tokens", "prompt_tokens", "completion_tokens", "errors", "events", "model_events", "tool_events", "feedback")
	operator, value := pick("is", "is not", "is any of", "greater than", "less than"), float64(r.IntN(12))/4
	number := fmt.Sprint(value)
	if operator == "is any of" {
		number = fmt.Sprintf("[%v,%v]", value, value+1)
	}
	return of("totals."+name, operator, number, func(m madeSession) bool {
		switch got := m.totals[name]; operator {
		case "is":
			return got == value
		case "is not":
			return got != value
		case "greater than":
			return got > value
		case "less than":
			return got < value
		default:
			return got == value || got == value+1
		}
	})
}

// askEvent returns a random condition on an event.
func askEvent(r *rand.Rand) asked[madeEvent] {
	switch r.IntN(3) {
	case 0:
		return asked[madeEvent]{`{"field":"error","operator":"exists"}`, func(x madeEvent) bool { return x.failed }}
	case 1:
		typ := []string{"session", "model", "tool"}[r.IntN(3)]
		return asked[madeEvent]{fmt.Sprintf(`{"field":"event_type","operator":"is","value":%q}`, typ), func(x madeEvent) bool { return x.typ == typ }}
	}
	model := []string{"small", "large"}[r.IntN(2)]
	return asked[madeEvent]{fmt.Sprintf(`{"field":"config.model","operator":"is","value":%q}`, model), func(x madeEvent) bool { return x.model == model }}
}

// askAll returns up to most random conditions that must all hold, some of them alternatives if these may be.
func askAll[T any](r *rand.Rand, most int, one func(*rand.Rand) asked[T], alternatives bool) asked[T] {
	var parts []string
	var conds []func(T) bool
	for range 1 + r.IntN(most) {
		if !alternatives || r.IntN(3) == 0 {
			a := one(r)
			parts, conds = append(parts, a.text), append(conds, a.holds)
			continue
		}
		var lists []string
		var either []func(T) bool
		for range 1 + r.IntN(3) {
			list := askAll(r, 2, one, false)
			lists, either = append(lists, list.text), append(either, list.holds)
		}
		parts = append(parts, `{"any":[`+strings.Join(lists, ",")+`]}`)
		conds = append(conds, func(x T) bool { return slices.ContainsFunc(either, func(f func(T) bool) bool { return f(x) }) })
	}
	return asked[T]{"[" + strings.Join(parts, ",") + "]", func(x T) bool {
		return !slices.ContainsFunc(conds, func(f func(T) bool) bool { return !f(x) })
	}}
}

// Random filters find the sessions that they should by what these were made of, and the evaluation in Go says the same of each.
func sessionRandom(e *env) {
	r := rand.New(rand.NewPCG(14, 2))
	var made []madeSession
	for n := range 24 {
		made = append(made, e.makeSession(r, n))
	}
	all := e.sessions(query.SessionSearch{Ascending: true})
	whole := make([]event.Event, len(all.Events))
	for i := range all.Events {
		var err error
		whole[i], err = all.Load(e.ctx, i)
		e.ok(err)
	}
	hits := 0
	for range 150 {
		ask := askAll(r, 2, askSession, true)
		some := asked[madeEvent]{text: "[]"}
		q := query.SessionSearch{Filters: e.sessionFilters(ask.text), Ascending: true, Limit: []int{3, 100}[r.IntN(2)]}
		if r.IntN(3) == 0 {
			some = askAll(r, 2, askEvent, true)
			var err error
			q.EventFilters, err = query.ParseFilters([]byte(some.text), "event_filters")
			e.ok(err)
		}
		match := query.NewMatcher(q.Filters)
		var want []string
		for i, m := range made {
			holds := ask.holds(m)
			if match.OfSession(&all.Totals[i]).Match(&whole[i]) != holds {
				e.Errorf("%s of %+v: Go says %t", ask.text, m, !holds)
			}
			if holds && (some.holds == nil || slices.ContainsFunc(m.events, some.holds)) {
				want = append(want, m.name)
			}
		}
		hits += len(want)
		if got := e.walk(q); !slices.Equal(got, want) {
			e.Errorf("%s, with an event %s: %v, want %v", ask.text, some.text, got, want)
		}
		q.Counted, q.Limit = true, 1
		if n := e.sessions(q).Total; n != len(want) {
			e.Errorf("%s, with an event %s: %d in all, want %d", ask.text, some.text, n, len(want))
		}
	}
	if hits < 150 {
		e.Errorf("only %d hits: the generator tests little", hits)
	}
}
