package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/query/querytest"
)

var searchTests = []test{
	{"Search/order, pages and totals", searchPages},
	{"Search/orders and cursors", searchOrders},
	{"Search/bounds of time", searchBounds},
	{"Search/runs", searchRuns},
	{"Search/projects are apart", projectsApart},
	{"Search/every meaning of a filter", filterMeanings},
	{"Search/spilled fields", searchSpilled},
	{"Search/totals of sessions", searchRollup},
	{"Search/inner events of type session", searchInnerSession},
	{"Search/empty buckets", searchEmpty},
	{"Search/costs of sessions", searchRollupCost},
	{"Search/payload of sessions", searchSessionPayload},
	{"Search/payload however it is spelled", searchPayload},
	{"Search/deep pages of what Go decides", searchDeep},
	{"Search/payload of many sessions", searchManySessions},
	{"Search/many at once", searchAtOnce},
	{"Search/many values", searchManyValues},
	{"Search/alternatives", searchAlternatives},
	{"Search/parents", searchParents},
}

// filter makes one filter. value is JSON text, "" for none.
func (e *env) filter(field, operator, typ, value string) query.Filter {
	e.Helper()
	m := map[string]any{"field": field, "operator": operator}
	if typ != "" {
		m["type"] = typ
	}
	if value != "" {
		m["value"] = json.RawMessage(value)
	}
	raw, err := json.Marshal([]any{m})
	e.ok(err)
	fs, err := query.ParseFilters(raw, "filters")
	e.ok(err)
	return fs[0]
}

func (e *env) search(q query.Search) *event.Set {
	e.Helper()
	if q.Limit == 0 {
		q.Limit, q.Page = 1000, 1
	}
	set, err := e.s.Search(e.ctx, e.project, q)
	e.ok(err)
	return set
}

// found returns the names of the events that pass a filter, in order of name.
func (e *env) found(fs ...query.Filter) []string {
	e.Helper()
	set := e.search(query.Search{Filters: fs})
	list := names(set.Events)
	slices.Sort(list)
	e.equal("total", len(list), set.Total)
	return list
}

func searchPages(e *env) {
	var list []event.Incoming
	for i := range 60 {
		x := step(fmt.Sprint("s", i%4), fmt.Sprint("x", i), float64(i/6)*40000) // six at a time, over days
		x.Metadata = text(`{"even":%v}`, i%2 == 0)
		x.Inputs = text(`{"even":"%v"}`, i%2 == 0)
		list = append(list, x)
	}
	e.put(list...)
	for _, f := range []query.Filter{e.filter("metadata.even", "is", "boolean", "true"), e.filter("inputs.even", "is", "", `"true"`)} {
		f := []query.Filter{f, e.filter("event_type", "is not", "", `"session"`)}
		var want []event.Incoming
		for i, x := range list {
			if i%2 == 0 {
				want = append(want, x)
			}
		}
		slices.SortFunc(want, func(a, b event.Incoming) int {
			if a.Start != b.Start {
				return int(b.Start - a.Start)
			}
			return slices.Compare(b.ID[:], a.ID[:])
		})
		for _, limit := range []int{1, 7, 10, 30, 1000} {
			var got []event.Event
			for page := 1; page <= len(want)/limit+2; page++ {
				set := e.search(query.Search{Filters: f, Limit: limit, Page: page})
				e.equal(fmt.Sprint("total on page ", page, " of ", limit), len(want), set.Total)
				got = append(got, e.load(set)...)
			}
			e.same(fmt.Sprint("pages of ", limit), eventsOf(want), got)
		}
	}
	e.equal("far page", 0, len(e.search(query.Search{Limit: 1000, Page: 1 << 60}).Events))
}

func searchBounds(e *env) {
	for i := range 5 {
		e.put(below("p", step("s", fmt.Sprint("x", i), float64(i)*86400)))
	}
	at := func(i float64) *float64 { return pointer(noon + i*dayMillis) }
	step := e.filter("event_type", "is", "", `"tool"`)
	for _, tt := range []struct {
		from, to *float64
		want     int
	}{{nil, nil, 5}, {at(1), nil, 4}, {nil, at(1), 2}, {at(1), at(3), 3}, {at(1.1), at(1.9), 0}, {at(3), at(1), 0}, {at(2), at(2), 1}} {
		set := e.search(query.Search{From: tt.from, To: tt.to, Filters: []query.Filter{step}})
		e.equal("events within bounds", []int{tt.want, tt.want}, []int{set.Total, len(set.Events)})
	}
}

func searchRuns(e *env) {
	own := step("s", "own run", 0)
	own.Metadata = text(`{"run_id":"r1"}`)
	other := step("s", "no run", 1)
	sessionOfRun := start("t", "session run", 0, 0)
	sessionOfRun.Metadata = text(`{"run_id":"r2"}`)
	e.put(other, own, sessionOfRun, step("t", "x", 1), step("u", "y", 2))
	e.equal("run of a session", 2, e.run("r2"))
	if n := e.run("r1"); n == 0 {
		e.Error("run of an event finds nothing")
	}
	e.equal("unknown", 0, e.run("r"))
	late := start("u", "late", 0, 0)
	late.Metadata = text(`{"run_id":"r3"}`)
	e.put(late)
	e.equal("run of a session started late", 2, e.run("r3"))
}

func projectsApart(e *env) {
	p, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	other := *e
	other.project = p.ID
	for i, in := range []*env{e, &other} {
		x := call("s", "x", 0, i+1, 0, 0.25)
		x.Inputs = text(`{"project":%d}`, i)
		in.put(x, traced("t", "", step("t", "y", 1)))
	}
	other.put(traced("t", "key", step("key", "root", 2)))
	e.wantNames("not moved", "t", "y", "y")
	e.update(event.Update{EventID: id("x"), Metadata: text(`{"mine":1}`)})
	e.equal(
		"inputs",
		[]string{`{"project":0}`, `{"project":1}`},
		[]string{string(e.event(id("x")).Inputs), string(other.event(id("x")).Inputs)},
	)
	e.equal(
		"updated",
		[]string{"mine=1", "mine="},
		[]string{members(e.event(id("x")).Metadata, "mine"), members(other.event(id("x")).Metadata, "mine")},
	)
	e.ok(other.s.DeleteSession(e.ctx, other.project, id("s")))
	e.wantRollup("s", "num_events=1 num_model_events=1 has_feedback=false cost=0.25 total_tokens=1 prompt_tokens=1 completion_tokens=0")
	e.equal("events", []int{4, 3}, []int{e.search(query.Search{}).Total, other.search(query.Search{}).Total})
	_, err = other.s.Session(e.ctx, other.project, id("s"))
	e.equal("deleted", fault.NotFound, fault.Of(err))
	e.equal(
		"by session",
		0,
		other.search(query.Search{Filters: []query.Filter{e.filter("session_id", "is", "id", fmt.Sprintf("%q", id("s")))}}).Total,
	)
}

func filterMeanings(e *env) {
	cases := querytest.Cases()
	var batch []event.Incoming
	for _, c := range cases {
		batch = append(batch, event.Incoming{Event: c.Event})
	}
	// The same cases once more with every field in the payload.
	spilled := make([]event.Incoming, len(cases))
	pad := prose(9<<10, 5)
	for i, c := range cases {
		x := c.Event
		for _, f := range []*json.RawMessage{&x.Metadata, &x.Metrics, &x.Feedback, &x.UserProperties} {
			if *f != nil {
				*f = text(`%s,"zz padding":%q}`, (*f)[:len(*f)-1], pad)
			}
		}
		spilled[i].Event = x
	}
	p, err := e.s.EnsureProject(e.ctx, "spilled")
	e.ok(err)
	for start := 0; start < len(batch); start += 100 {
		end := min(start+100, len(batch))
		e.put(batch[start:end]...)
		e.ok(e.s.Put(e.ctx, p.ID, event.Batch{Events: spilled[start:end]}))
	}
	for i, c := range cases {
		raw := text(`[%s,{"field":"event_id","operator":"is","type":"id","value":"%s"}]`, c.Filter, c.Event.ID)
		fs, err := query.ParseFilters(raw, "filters")
		if err != nil {
			e.Errorf("%s: %v", c.Name, err)
			continue
		}
		for j, project := range []int64{e.project, p.ID} {
			set, err := e.s.Search(e.ctx, project, query.Search{Filters: fs, Limit: 10, Page: 1})
			if err != nil {
				e.Errorf("%s: %v", c.Name, err)
				continue
			}
			if got := set.Total == 1 && len(set.Events) == 1; got != c.Want || set.Total > 1 {
				// What looks into the whole of a field sees the padding too.
				if j == 1 && (slices.Contains([]string{"metadata", "metrics", "feedback", "user_properties"}, fs[0].Field)) {
					continue
				}
				e.Errorf("%s (spilled: %v, row %d): got %v, want %v", c.Name, j == 1, i, got, c.Want)
			}
		}
	}
}

// As many values as a search may have, along the longest path that the databases read, stay within their bounds.
func searchManyValues(e *env) {
	x := step("s", "x", 1)
	x.Metadata = text(`{"a":{"0":{"1":{"b":"500"}}}}`)
	e.put(x)
	var fs []query.Filter
	for i := range query.MaxAllValues / query.MaxValues {
		var values []byte
		for j := range query.MaxValues {
			values = fmt.Appendf(values, `,"%d"`, 450+100*i*min(i, 1)+j) // the first has 500
		}
		values = append([]byte{'['}, append(values[1:], ']')...)
		fs = append(fs, e.filter("metadata.a.0.1.b", "is any of", "", string(values)))
	}
	e.equal("the first", []string{"x"}, e.found(fs[0]))
	e.equal("all", []string{}, e.found(fs...))
	raw, err := json.Marshal(fs)
	e.ok(err)
	var again []query.Filter
	e.ok(json.Unmarshal(raw, &again))
	e.equal("from JSON", []string{"x"}, e.found(again[0]))
}

// filters reads filters from JSON.
func (e *env) parsed(list string) []query.Filter {
	e.Helper()
	fs, err := query.ParseFilters(raw(list), "filters")
	e.ok(err)
	return fs
}

// Alternatives answer alike whether SQL decides them, or Go for fields in the payload and rows that spilled.
func searchAlternatives(e *env) {
	for i := range 12 {
		x := step("s", fmt.Sprintf("x%02d", i), float64(i))
		x.Metadata, x.Inputs = text(`{"n":%d}`, i), text(`{"n":%d}`, i)
		if i%3 == 0 {
			x.Metadata = text(`{"n":%d,"pad":"%s"}`, i, prose(9<<10, uint64(i)))
		}
		if i%2 == 0 {
			x.Error = pointer("broken")
		}
		e.put(x)
	}
	for _, n := range []string{"metadata.n", "inputs.n"} {
		e.equal(n, []string{"x04", "x09", "x11"}, e.found(e.parsed(`[{"field":"event_type","operator":"is not","value":"session"},{"any":[
			[{"field":"`+n+`","operator":"greater than","value":8,"type":"number"},{"field":"error","operator":"not exists"}],
			[{"field":"`+n+`","operator":"is","value":4,"type":"number"},{"field":"event_name","operator":"contains","value":"x"}],
			[{"field":"`+n+`","operator":"is","value":5,"type":"number"},{"field":"event_type","operator":"is","value":"session"}]]}]`)...))
		e.equal(n+" of nothing", []string{}, e.found(e.parsed(`[{"any":[[{"field":"`+n+`","operator":"is","value":4,"type":"number"}]]},
			{"any":[[{"field":"`+n+`","operator":"is","value":5,"type":"number"}],[{"field":"event_type","operator":"is","value":"model"}]]}]`)...))
	}
	e.equal("type and session", []string{"x00", "x02", "x04", "x06", "x08", "x10"}, e.found(e.parsed(`[{"any":[[{"field":"event_type","operator":"is","value":"model"}],
		[{"field":"event_type","operator":"is","value":"tool"},{"field":"error","operator":"is","value":"broken"}]]}]`)...))
}

func searchParents(e *env) {
	e.put(start("s", "whole", 0, 1))
	below := func(name, session string, parent uuid.UUID) {
		x := step(session, name, 1)
		x.ParentID = parent
		e.put(x)
	}
	below("root", "s", id("s"))
	below("implied", "s", uuid.Nil)
	below("child a", "s", id("root"))
	below("child b", "s", id("root"))
	below("grandchild", "s", id("child a"))
	below("orphan", "s", id("never came"))
	below("elsewhere", "other", id("root"))
	inner := step("s", "inner", 1) // an event of type session that is not its session's
	inner.Type, inner.ParentID = event.TypeSession, id("child b")
	e.put(inner)

	everyone := []string{"child a", "child b", "elsewhere", "grandchild", "implied", "inner", "orphan", "root"}
	sessions := []string{"unknown", "whole"} // that of the other one was made for its event
	for _, c := range []struct {
		operator, typ, value string
		want                 []string
	}{
		{"is", "id", fmt.Sprintf("%q", id("s")), []string{"implied", "root"}},
		{"is", "id", fmt.Sprintf("%q", id("root")), []string{"child a", "child b", "elsewhere"}},
		{"is", "string", fmt.Sprintf("%q", strings.ToUpper(id("child a").String())), []string{"grandchild"}},
		{"is", "", fmt.Sprintf("%q", id("never came")), []string{"orphan"}},
		{"is", "", fmt.Sprintf("%q", id("child b")), []string{"inner"}},
		{"is", "", fmt.Sprintf("%q", id("grandchild")), []string{}},
		{"is", "", `"root"`, []string{}},
		{"is", "number", `5`, []string{}},
		{"is any of", "", fmt.Sprintf("[%q,%q,%q]", id("s"), id("child a"), id("other")), []string{"grandchild", "implied", "root"}},
		{"is not", "", fmt.Sprintf("%q", id("root")), append([]string{"grandchild", "implied", "inner", "orphan", "root"}, sessions...)},
		{"is not", "", `"root"`, append(slices.Clone(everyone), sessions...)},
		{"exists", "", "", everyone},
		{"not exists", "", "", sessions},
		{"contains", "", fmt.Sprintf("%q", id("root").String()[4:30]), []string{"child a", "child b", "elsewhere"}},
	} {
		slices.Sort(c.want)
		e.equal(fmt.Sprint(c.operator, " ", c.typ, " ", c.value), c.want, e.found(e.filter("parent_id", c.operator, c.typ, c.value)))
	}
}

func searchSpilled(e *env) {
	for i := range 12 {
		x := step("s", fmt.Sprintf("x%02d", i), float64(i))
		if i%3 == 0 {
			x.Metadata = text(`{"kind":"large","n":%d,"pad":"%s"}`, i, prose(9<<10, uint64(i)))
			x.Error = pointer(prose(9<<10, 7) + fmt.Sprint(" error of ", i))
		} else {
			x.Metadata = text(`{"kind":"small","n":%d}`, i)
		}
		e.put(x)
	}
	e.equal("large", []string{"x00", "x03", "x06", "x09"}, e.found(e.filter("metadata.kind", "is", "", `"large"`)))
	e.equal("n", []string{"x08", "x09", "x10", "x11"}, e.found(e.filter("metadata.n", "greater than", "number", `7`)))
	e.equal(
		"both",
		[]string{"x09"},
		e.found(e.filter("metadata.n", "greater than", "number", `7`), e.filter("metadata.kind", "is", "", `"large"`)),
	)
	e.equal("is not", 9, len(e.found(e.filter("metadata.kind", "is not", "", `"large"`))))
	e.equal("error", []string{"x03"}, e.found(e.filter("error", "contains", "", `"error of 3"`)))
	e.equal("no error, nor of the session", 8, len(e.found(e.filter("error", "not exists", "", ``))))
	set := e.search(query.Search{Filters: []query.Filter{e.filter("metadata.n", "greater than", "number", `1`)}, Limit: 3, Page: 2})
	e.equal("page", []any{10, []string{"x08", "x07", "x06"}}, []any{set.Total, names(set.Events)})
}

func searchRollup(e *env) {
	e.put(start("s", "dear", 0, 0), call("s", "x", 1, 10, 5, 0.5), call("s", "y", 2, 10, 5, 0.5))
	e.put(start("t", "cheap", 0, 0), call("t", "z", 1, 1, 1, 0.25))
	mine := start("u", "own", 0, 0)
	mine.Metadata = text(`{"cost":7,"num_events":"many"}`)
	e.put(mine)
	e.equal("cost", []string{"dear", "own"}, e.found(e.filter("metadata.cost", "greater than", "number", `0.6`)))
	e.equal(
		"cost of sessions",
		[]string{"cheap", "dear"},
		e.found(e.filter("metadata.cost", "less than", "number", `5`), e.filter("event_type", "is", "", `"session"`)),
	)
	e.equal("events", []string{"dear"}, e.found(e.filter("metadata.num_events", "is", "number", `2`)))
	e.equal("fewer than a fraction", []string{"cheap"}, e.found(e.filter("metadata.num_events", "less than", "number", `1.5`)))
	e.equal("more than a fraction", []string{"dear"}, e.found(e.filter("metadata.num_model_events", "greater than", "number", `1.5`)))
	e.equal("a fraction", []string{}, e.found(e.filter("metadata.num_events", "is", "number", `1.5`)))
	e.equal("own value", []string{"own"}, e.found(e.filter("metadata.num_events", "is", "", `"many"`)))
	e.equal("feedback", 3, len(e.found(e.filter("metadata.has_feedback", "is", "boolean", `false`))))
	e.equal("exists", 3, len(e.found(e.filter("metadata.num_model_events", "exists", "", ``))))
	e.equal("bucket", 6, len(e.found(e.filter("metadata", "exists", "", ``))))
	e.equal("tokens", []string{"cheap", "z"}, e.found(e.filter("metadata.total_tokens", "is", "", `"2"`)))
	e.equal(
		"not",
		[]string{"cheap", "x", "y", "z"},
		e.found(e.filter("metadata.cost", "is not", "number", `1`), e.filter("metadata.cost", "is not", "number", `7`)),
	)
}

// searchInnerSession: only the event whose id is its session's has the session's totals.
func searchInnerSession(e *env) {
	inner := step("s", "inner", 1)
	inner.Type = event.TypeSession
	e.put(start("s", "outer", 0, 0), inner, call("s", "x", 2, 10, 5, 0.5))
	for _, f := range []query.Filter{e.filter("metadata.cost", "is", "number", `0.5`), e.filter("metadata.num_events", "is", "", `"2"`),
		e.filter("metadata.num_events", "is any of", "number", `[7,2]`), e.filter("metadata.cost", "is any of", "", `["0.5","x"]`),
		e.filter("metadata.num_model_events", "exists", "", ``), e.filter("metadata", "exists", "", ``)} {
		e.equal(f.Field+" "+f.Operator, []string{"outer"}, e.found(f, e.filter("event_type", "is", "", `"session"`)))
	}
	e.equal(
		"not",
		[]string{"inner"},
		e.found(e.filter("metadata.cost", "is not", "number", `0.5`), e.filter("event_type", "is", "", `"session"`)),
	)
}

// searchEmpty: a bucket without keys is not there, whether it was sent so or became so.
func searchEmpty(e *env) {
	sent := step("s", "sent", 1)
	sent.Feedback, sent.Metrics, sent.UserProperties, sent.Metadata = raw(`{}`), raw(`{ }`), raw(`{}`), raw(`{}`)
	full := step("s", "full", 2)
	full.Feedback, full.Metrics, full.UserProperties, full.Metadata = raw(`{"a":1}`), raw(`{"a":1}`), raw(`{"a":1}`), raw(`{"a":1}`)
	e.put(sent, full)
	_, err := e.s.Update(e.ctx, e.project, event.Update{EventID: sent.ID, Feedback: raw(`{}`)})
	e.ok(err)
	tools := e.filter("event_type", "is", "", `"tool"`)
	for _, field := range []string{"feedback", "metrics", "user_properties", "metadata"} {
		e.equal(field+" exists", []string{"full"}, e.found(tools, e.filter(field, "exists", "", ``)))
		e.equal(field+" does not exist", []string{"sent"}, e.found(tools, e.filter(field, "not exists", "", ``)))
	}
}

// searchRollupCost: costs add up to the same, in whatever order they come. As binary fractions,
// these three are 0.6 one way and 0.6000000000000001 the other.
func searchRollupCost(e *env) {
	costs := []float64{0.1, 0.2, 0.3}
	for i, c := range costs {
		e.put(call("up", fmt.Sprint("u", i), float64(i), 0, 0, c))
	}
	for i := range costs {
		e.put(call("down", fmt.Sprint("d", i), float64(i), 0, 0, costs[len(costs)-1-i]))
	}
	const want = "num_events=3 num_model_events=3 has_feedback=false cost=0.6 total_tokens=0 prompt_tokens=0 completion_tokens=0"
	e.wantRollup("up", want)
	e.wantRollup("down", want)
	sessions := e.filter("event_type", "is", "", `"session"`)
	e.equal("is", 2, len(e.found(sessions, e.filter("metadata.cost", "is", "number", `0.6`))))
	e.equal("is, as text", 2, len(e.found(sessions, e.filter("metadata.cost", "is", "", `"0.6"`))))
	e.equal("greater", 0, len(e.found(sessions, e.filter("metadata.cost", "greater than", "number", `0.6`))))
}

func searchSessionPayload(e *env) {
	asks, answers := step("s", "x", 0), step("s", "y", 1)
	asks.Inputs, answers.Outputs = text(`{"q":"needle in"}`), text(`"needle out"`)
	e.put(asks, answers)
	session := e.filter("event_type", "is", "", `"session"`)
	e.equal("inputs", 1, len(e.found(session, e.filter("inputs.q", "contains", "", `"needle in"`))))
	e.equal("outputs", 1, len(e.found(session, e.filter("outputs", "contains", "", `"needle out"`))))
	e.equal("all", []string{"x", "x"}, e.found(e.filter("inputs", "contains", "", `"needle"`)))
}

func searchPayload(e *env) {
	plain, escaped, inOutputs, inColdMetadata := step("s", "a", 0), step("s", "b", 1), step("s", "c", 2), step("s", "d", 3)
	child := func(x event.Incoming) event.Incoming { return below("p", x) }
	plain.Inputs = text(`{"q":"zurück zum Refund"}`)
	escaped.Inputs = text(`{"q":"zur\u00fcck zum \u0052efund"}`)
	inOutputs.Outputs = text(`"zurück zum Refund"`)
	inColdMetadata.ColdMetadata = text(`{"attributes":{"q":"zurück zum Refund"}}`)
	e.put(child(plain), child(escaped), child(inOutputs), child(inColdMetadata), child(step("s", "bare", 4)))
	e.equal("contains", []string{"a", "b", "unknown"}, e.found(e.filter("inputs.q", "contains", "", `"zum Refund"`)))
	e.equal("umlaut", []string{"a", "b", "unknown"}, e.found(e.filter("inputs", "contains", "", `"rück"`)))
	e.equal("not contains", []string{"bare", "c", "d"}, e.found(e.filter("inputs.q", "not contains", "", `"Refund"`)))
	e.equal("outputs", []string{"c", "unknown"}, e.found(e.filter("outputs", "is", "", `"zurück zum Refund"`)))
	e.equal("cold", []string{"d"}, e.found(e.filter("metadata.attributes.q", "contains", "", `"Refund"`)))
	e.equal("not cold", []string{"a", "b", "bare", "c", "unknown"}, e.found(e.filter("metadata.attributes", "not exists", "", ``)))
	e.equal("nothing", 0, len(e.found(e.filter("config.x", "exists", "", ``))))
}

func searchDeep(e *env) {
	var list []event.Incoming
	for i := range 400 {
		x := step("s", fmt.Sprintf("x%03d", i), float64(i))
		x.Inputs = text(`{"n":%d}`, i)
		list = append(list, x)
	}
	e.put(list...)
	f := []query.Filter{e.filter("inputs.n", "greater than", "number", `99`)}
	seen := map[uuid.UUID]bool{}
	for page := 1; page <= 7; page++ {
		set := e.search(query.Search{Filters: f, Limit: 50, Page: page})
		e.equal("total", 300, set.Total)
		for _, x := range set.Events {
			seen[x.ID] = true
		}
	}
	e.equal("events on all pages", 300, len(seen))
	_, err := e.s.Search(e.ctx, e.project, query.Search{Filters: f, Limit: 1000, Page: 1 << 60})
	e.equal("past the bound", fault.Invalid, fault.Of(err))
}

// Payloads are read ahead, of more rows than one read brings; session events show the inputs of their roots.
func searchManySessions(e *env) {
	var list []event.Incoming
	for i := range 150 {
		x := step(fmt.Sprint("s", i), fmt.Sprint("x", i), float64(i))
		x.Inputs = text(`{"q":"%s"}`, map[bool]string{true: "rare", false: "common"}[i%7 == 0])
		list = append(list, x)
	}
	e.put(list...)
	e.reopen(optionsNone) // nothing is cached
	f := []query.Filter{e.filter("inputs.q", "is", "string", `"rare"`)}
	found := 0
	for page := 1; page <= 5; page++ {
		set := e.search(query.Search{Filters: f, Limit: 10, Page: page})
		e.equal("total", 2*22, set.Total)
		for i := range set.Events {
			x, err := set.Load(e.ctx, i)
			e.ok(err)
			e.equal("inputs", `{"q":"rare"}`, string(x.Inputs))
			found++
		}
	}
	e.equal("events on all pages", 2*22, found)
}

func searchAtOnce(e *env) {
	var list []event.Incoming
	for i := range 40 {
		x := step(fmt.Sprint("s", i%5), fmt.Sprint("x", i), float64(i))
		x.Inputs = text(`{"q":"%s"}`, prose(2000, uint64(i)))
		list = append(list, x)
	}
	e.putEach(list...)
	e.reopen(optionsNone) // nothing is cached
	all := query.Search{Filters: []query.Filter{e.filter("inputs", "not contains", "", `"no such text"`)}, Limit: 5, Page: 1}
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			set, err := e.s.Search(e.ctx, e.project, all)
			if err != nil || set.Total != 45 {
				e.Errorf("search %d: %v, %+v", i, err, set)
			}
			if err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{list[i]}}); err != nil {
				e.Error(err)
			}
		})
	}
	wg.Wait()
}
