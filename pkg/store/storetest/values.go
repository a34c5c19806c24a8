package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
)

var valueTests = []test{
	{"Values/counts and order", valuesCounts},
	{"Values/prefix and what is left out", valuesPrefix},
	{"Values/the newest events", valuesBound},
	{"Values/more candidates than one statement reads", valuesPages},
	{"Values/hundreds in segments", valuesNumbered},
	{"Values/every field and filter, beside a plain count", valuesRandom},
}

// values makes a query of a field's values.
func (e *env) values(field, prefix string, limit int, fs ...query.Filter) *query.ValueQuery {
	e.Helper()
	q := &query.ValueQuery{Prefix: prefix}
	q.Search.Filters, q.Search.Limit = fs, limit
	var err error
	q.Field, err = query.NewFieldReader(field)
	e.ok(err)
	return q
}

// valueLines writes an answer as lines.
func (e *env) valueLines(q *query.ValueQuery) []string {
	e.Helper()
	a, err := e.s.Values(e.ctx, e.project, q)
	e.ok(err)
	list := []string{fmt.Sprintf("%d %v %d", a.LookedAt, a.Complete, a.LeftOut)}
	for _, v := range a.Values {
		list = append(list, fmt.Sprint(v.Count, " ", v.Value))
	}
	return list
}

func valuesCounts(e *env) {
	for i, model := range []string{"b", "a", "b", "c", "a", "b"} {
		x := step("s", fmt.Sprint("x", i%2), float64(i))
		x.ID = id(fmt.Sprint("value", i))
		x.Config, x.Metadata = text(`{"model":"%s"}`, model), text(`{"n":%d,"ok":%v}`, i%2, i < 2)
		e.put(x)
	}
	tools := e.filter("event_type", "is", "", `"tool"`)
	e.equal("payload", []string{"6 true 0", "3 b", "2 a", "1 c"}, e.valueLines(e.values("config.model", "", 10, tools)))
	e.equal("limit", []string{"6 true 0", "3 b"}, e.valueLines(e.values("config.model", "", 1, tools)))
	e.equal("name", []string{"6 true 0", "3 x0", "3 x1"}, e.valueLines(e.values("event_name", "", 10, tools)))
	e.equal("type", []string{"7 true 0", "6 tool", "1 session"}, e.valueLines(e.values("event_type", "", 10)))
	e.equal("number", []string{"6 true 0", "3 0", "3 1"}, e.valueLines(e.values("metadata.n", "", 10, tools)))
	e.equal("boolean", []string{"6 true 0", "4 false", "2 true"}, e.valueLines(e.values("metadata.ok", "", 10, tools)))
	e.equal("a filter on the payload", []string{"2 true 0", "1 x0", "1 x1"},
		e.valueLines(e.values("event_name", "", 10, tools, e.filter("config.model", "is", "", `"a"`))))
	e.equal("none", []string{"6 true 0"}, e.valueLines(e.values("metadata.missing", "", 10, tools)))
	q := e.values("event_name", "", 10, tools)
	first := e.search(query.Search{Filters: []query.Filter{tools}}).Events[1].Start
	q.Search.From = &first
	e.equal("range", []string{"2 true 0", "1 x0", "1 x1"}, e.valueLines(q))
	q = e.values("event_name", "", 10)
	_, err := e.s.EnsureProject(e.ctx, "another")
	e.ok(err)
	other, err := e.s.Values(e.ctx, e.project+1000, q)
	e.ok(err)
	e.equal("of another project", 0, other.LookedAt)
}

func valuesPrefix(e *env) {
	for i, value := range []string{`"Größe"`, `"grÖßer"`, `"gr"`, `"Zebra"`, `{"a":1}`, `["gr"]`, `null`, `"` + strings.Repeat("g", query.MaxValueBytes) + `"`,
		`"` + strings.Repeat("g", query.MaxValueBytes+1) + `"`, `""`} {
		x := step("s", "x", float64(i))
		x.ID = id(fmt.Sprint("value", i))
		x.Metadata, x.Inputs = text(`{"v":%s}`, value), text(`{"v":%s}`, value)
		e.put(x)
	}
	tools := e.filter("event_type", "is", "", `"tool"`)
	for _, field := range []string{"metadata.v", "inputs.v"} {
		e.equal(field, []string{"10 true 3", "1 Größe", "1 grÖßer"}, e.valueLines(e.values(field, "GRÖ", 100, tools)))
		a, err := e.s.Values(e.ctx, e.project, e.values(field, "", 100, tools))
		e.ok(err)
		e.equal(field+": without a prefix", 6, len(a.Values))
	}
}

// valuesNumbered: segments with many values number them, and what is not in segments, or has changed since, joins them.
func valuesNumbered(e *env) {
	const users = 400
	put := func(part, first, n int) {
		for i := first; i < first+n; i++ {
			x := step(fmt.Sprint("s", part), "x", float64(i))
			x.ID = id(fmt.Sprint("value", part, " ", i))
			x.Metadata = text(`{"user":"u%03d"}`, i)
			e.put(x)
		}
	}
	for part := range 2 { // in segments of their own
		put(part, part*100, users)
		e.ok(e.s.Seal(e.ctx))
	}
	put(2, 499, 3) // in none
	tools := e.filter("event_type", "is", "", `"tool"`)
	all := e.values("metadata.user", "", 100, tools)
	for range 2 { // the second time it is known what segments have
		got := e.valueLines(all)
		e.equal("first", []string{"803 true 0", "2 u100", "2 u101"}, got[:3])
		e.equal("prefix", []string{"803 true 0", "2 u499", "1 u490"}, e.valueLines(e.values("metadata.user", "u49", 2, tools)))
		e.equal("not in segments", []string{"803 true 0", "1 u500", "1 u501"}, e.valueLines(e.values("metadata.user", "u50", 9, tools)))
	}
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("value0 100")))
	e.equal("one less", []string{"802 true 0", "2 u101", "2 u102"}, e.valueLines(all)[:3])
}

// valuesBound: the newest events count, those whose filters Go decides too, and the answer says whether that was all.
func valuesBound(e *env) {
	e.ctx = events.FromRows(e.ctx)
	for i := range 30 {
		x := step("s", fmt.Sprint("x", i/10), float64(i))
		x.ID = id(fmt.Sprint("value", i))
		x.Metadata, x.Inputs = text(`{"even":%v}`, i%2 == 0), text(`{"even":%v}`, i%2 == 0)
		if i%7 == 0 {
			x.Metadata = text(`{"even":%v,"pad":"%s"}`, i%2 == 0, prose(9<<10, uint64(i)))
		}
		e.put(x)
	}
	tools := e.filter("event_type", "is", "", `"tool"`)
	for _, tt := range []struct {
		events int
		want   []string
	}{
		{14, []string{"14 false 0", "5 x1", "5 x2", "4 x0"}},
		{15, []string{"15 true 0", "5 x0", "5 x1", "5 x2"}},
		{7, []string{"7 false 0", "5 x2", "2 x1"}},
		{1, []string{"1 false 0", "1 x2"}},
	} {
		e.reopen(store.Options{ValueEvents: tt.events})
		for _, field := range []string{"metadata.even", "inputs.even"} {
			e.equal(fmt.Sprint(field, tt.events), tt.want, e.valueLines(e.values("event_name", "", 10, tools, e.filter(field, "is", "boolean", "true"))))
		}
	}
}

// valuesPages: candidates that begin at one time are neither lost nor read twice where one statement ends and the next begins.
func valuesPages(e *env) {
	e.ctx = events.FromRows(e.ctx)
	var list []event.Incoming
	for i := range 2300 {
		x := step("s", fmt.Sprint("x", i%2), float64(i/700))
		x.ID = id(fmt.Sprint("value", i))
		x.Inputs = text(`{"k":%v}`, i%100 == 0)
		list = append(list, x)
	}
	e.put(list...)
	e.reopen(store.Options{ValueEvents: 50})
	e.equal("few", []string{"23 true 0", "23 x0"}, e.valueLines(e.values("event_name", "", 10, e.filter("inputs.k", "is", "boolean", "true"))))
	e.reopen(store.Options{ValueEvents: 22})
	e.equal("fewer", []string{"22 false 0", "22 x0"}, e.valueLines(e.values("event_name", "", 10, e.filter("inputs.k", "is", "boolean", "true"))))
	e.reopen(store.Options{ValueEvents: 11_000}) // the database reads the field, as many as one statement may
	e.equal("all", []string{"2300 true 0", "1150 x0", "1150 x1"}, e.valueLines(e.values("event_name", "", 10, e.filter("event_type", "is", "", `"tool"`))))
}

func valuesRandom(e *env) {
	e.ctx = events.FromRows(e.ctx)
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	value := func() string {
		return pick(`"a"`, `"A"`, `"b"`, `5`, `5.0`, `true`, `null`, `""`, `{"c":1}`, `[1, 2]`, `"\u00e9"`, `"é"`)
	}
	for i := range 150 {
		x := step(fmt.Sprint("s", i%5), pick("x", "y"), float64(i/3))
		x.ID = id(fmt.Sprint("value", i))
		x.Metadata = text(`{"v":%s,"a.b":%s,"a":{"b":%s}}`, value(), value(), value())
		if r.IntN(8) == 0 {
			x.Metadata = text(`{"v":%s,"pad":"%s"}`, value(), prose(9<<10, uint64(i)))
		}
		x.Inputs, x.Config = text(`{"v":%s}`, value()), text(`{"v":%s}`, value())
		if r.IntN(3) == 0 {
			x.Error = pointer(pick("", "broken", prose(9<<10, uint64(i))))
		}
		e.put(x)
	}
	set := e.search(query.Search{})
	var all []event.Event
	for i := range set.Events {
		x, err := set.Load(e.ctx, i)
		e.ok(err)
		all = append(all, x)
	}
	e.reopen(store.Options{ValueEvents: 60})
	fields := []string{"event_name", "event_type", "source", "error", "session_id", "parent_id", "duration", "metadata.v", "metadata.a.b", "metadata",
		"inputs.v", "config.v", "metadata.num_events", "metadata.cost", "children_ids"}
	for range 120 {
		field := fields[r.IntN(len(fields))]
		var fs []query.Filter
		switch r.IntN(6) {
		case 0:
			fs = e.parsed(`[{"field":"metadata.v","operator":"is any of","value":["a","b",5]}]`)
		case 1:
			fs = e.parsed(`[{"field":"inputs.v","operator":"is not","value":"a"}]`)
		case 2:
			fs = e.parsed(`[{"any":[[{"field":"event_type","operator":"is","value":"session"}],[{"field":"metadata.v","operator":"exists"}]]}]`)
		case 3:
			fs = e.parsed(`[{"field":"text","operator":"matches words","value":"broken"}]`)
		case 4:
			fs = e.parsed(`[{"field":"error","operator":"not contains","value":"e"}]`)
		}
		prefix := pick("", "", "a", "É", "5", "S")
		q := e.values(field, prefix, 1+r.IntN(20), fs...)
		got, err := e.s.Values(e.ctx, e.project, q)
		e.ok(err)
		want := plainValues(all, q, 60)
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			e.Fatalf("values of %s with prefix %q and filters %+v (-want +got):\n%s", field, prefix, fs, diff)
		}
	}
}

// plainValues returns what a query of values means, of events in the order of a search.
func plainValues(all []event.Event, q *query.ValueQuery, most int) *query.ValueAnswer {
	counts := map[string]int{}
	answer := &query.ValueAnswer{Complete: true}
	for i := range all {
		if !query.Match(&all[i], q.Search.Filters) {
			continue
		}
		if answer.LookedAt == most {
			answer.Complete = false
			break
		}
		answer.LookedAt++
		value, ok := q.Field.Text(&all[i])
		switch {
		case !ok:
		case len(value) > query.MaxValueBytes, strings.HasPrefix(value, "{"), strings.HasPrefix(value, "["):
			answer.LeftOut++
		case strings.HasPrefix(strings.ToLower(value), strings.ToLower(q.Prefix)):
			counts[value]++
		}
	}
	for value, n := range counts {
		answer.Values = append(answer.Values, query.ValueCount{Value: value, Count: n})
	}
	slices.SortFunc(answer.Values, func(x, y query.ValueCount) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Value, y.Value))
	})
	answer.Values = answer.Values[:min(len(answer.Values), q.Search.Limit)]
	return answer
}
