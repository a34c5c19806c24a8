package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
)

var sessionSearchTests = []test{
	{"SearchSessions/orders and pages", sessionOrders},
	{"SearchSessions/filters", sessionFilters},
	{"SearchSessions/what a page shows", sessionPageShows},
	{"SearchSessions/projects are apart", sessionProjectsApart},
	{"SearchSessions/costs as they are shown", sessionCosts},
	{"SearchSessions/running", sessionRunning},
	{"SearchSessions/sessions of an older store", sessionsOfOlderStore},
	{"Events/by id", readByID},
	{"Tree/fields that are beside the row", treeIncomplete},
	{"Projects/key by id", keyByID},
}

// putSessions stores nine sessions, s0 to s8, that begin a second apart. Session i has i%3 model calls, which cost a quarter each and have
// 10 tokens, and i%2 failed tools; so many are alike in each order but that by start.
func (e *env) putSessions() (ids []uuid.UUID) {
	e.Helper()
	for i := range 9 {
		name := fmt.Sprintf("s%d", i)
		ids = append(ids, id(name))
		batch := []event.Incoming{start(name, "session "+name, float64(i), float64(i%4))}
		for n := range i % 3 {
			c := call(name, fmt.Sprintf("%s call %d", name, n), float64(i), 6, 4, 0.25)
			c.Inputs, c.Config = text(`{"question":"what is %s"}`, name), raw(`{"model":"small"}`)
			if i == 5 {
				c.Config = raw(`{"model":"large"}`)
			}
			batch = append(batch, c)
		}
		if i%2 == 1 {
			failed := step(name, name+" tool", float64(i))
			failed.Error = pointer("timeout")
			failed.Metadata = text(`{"region":"eu","attempt":%d}`, i)
			if i == 7 { // too large to stand in its row
				failed.Metadata = text(`{"region":"eu","attempt":7,"padding":%q}`, strings.Repeat("x", 40_000))
			}
			batch = append(batch, failed)
		}
		e.put(batch...)
	}
	return ids
}

func (e *env) sessions(q query.SessionSearch) *event.SessionSet {
	e.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Sort == "" {
		q.Sort = query.SortStart
	}
	set, err := e.s.SearchSessions(e.ctx, e.project, q)
	e.ok(err)
	return set
}

// walk reads all pages of a search.
func (e *env) walk(q query.SessionSearch) (names []string) {
	e.Helper()
	for {
		set := e.sessions(q)
		for i := range set.Events {
			names = append(names, strings.TrimPrefix(set.Events[i].Name, "session "))
		}
		if len(set.Events) > q.Limit || set.HasMore != (len(set.Events) == q.Limit && set.HasMore) {
			e.Fatalf("%d sessions on a page of %d, more: %t", len(set.Events), q.Limit, set.HasMore)
		}
		if !set.HasMore {
			return names
		}
		q.After = &query.Place{Value: set.Last, ID: set.Events[len(set.Events)-1].ID}
		if len(names) > 100 {
			e.Fatal("the pages do not end")
		}
	}
}

// Whatever the order, its direction and the size of a page: each session is on one page, in order.
func sessionOrders(e *env) {
	ids := e.putSessions()
	values := map[query.SessionSort]func(i int) float64{
		query.SortStart:    func(i int) float64 { return float64(i) },
		query.SortDuration: func(i int) float64 { return float64(i % 4) },
		query.SortCost:     func(i int) float64 { return float64(i % 3) },
		query.SortTokens:   func(i int) float64 { return float64(i % 3) },
		query.SortErrors:   func(i int) float64 { return float64(i % 2) },
		query.SortEvents:   func(i int) float64 { return float64(i%3 + i%2) },
		query.SortTools:    func(i int) float64 { return float64(i % 2) },
		query.SortState:    func(int) float64 { return 0 },
	}
	for _, sort := range query.SessionSorts() {
		value := values[sort]
		for _, ascending := range []bool{false, true} {
			order := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
			slices.SortFunc(order, func(a, b int) int {
				c := 0
				switch {
				case value(a) != value(b):
					c = int(value(a) - value(b))
				default:
					c = strings.Compare(string(ids[a][:]), string(ids[b][:]))
				}
				if !ascending {
					c = -c
				}
				return c
			})
			var want []string
			for _, i := range order {
				want = append(want, fmt.Sprintf("s%d", i))
			}
			for _, limit := range []int{1, 2, 4, 9, 10} {
				if got := e.walk(query.SessionSearch{Sort: sort, Ascending: ascending, Limit: limit}); !slices.Equal(got, want) {
					e.Errorf("by %s, ascending %t, pages of %d: %v, want %v", sort, ascending, limit, got, want)
				}
			}
		}
	}
}

func sessionFilters(e *env) {
	e.putSessions()
	model := e.filter("event_type", "is", "", `"model"`)
	for name, c := range map[string]struct {
		q    query.SessionSearch
		want string
	}{
		"all":                          {query.SessionSearch{}, "s0 s1 s2 s3 s4 s5 s6 s7 s8"},
		"name":                         {query.SessionSearch{Filters: []query.Filter{e.filter("event_name", "is", "", `"session s4"`)}}, "s4"},
		"a total that readers add":     {query.SessionSearch{Filters: []query.Filter{e.filter("metadata.num_model_events", "is", "number", `2`)}}, "s2 s5 s8"},
		"totals":                       {query.SessionSearch{Filters: []query.Filter{e.total("totals.cost", "greater than", `0.25`), e.total("totals.errors", "is", `1`)}}, "s5"},
		"no errors":                    {query.SessionSearch{Filters: []query.Filter{e.total("totals.errors", "less than", `1`)}}, "s0 s2 s4 s6 s8"},
		"an event of a type":           {query.SessionSearch{EventFilters: []query.Filter{model}}, "s1 s2 s4 s5 s7 s8"},
		"an event with an error":       {query.SessionSearch{EventFilters: []query.Filter{e.filter("error", "is", "", `"timeout"`)}}, "s1 s3 s5 s7"},
		"one event meets all":          {query.SessionSearch{EventFilters: []query.Filter{model, e.filter("error", "exists", "", "")}}, ""},
		"payload of an event":          {query.SessionSearch{EventFilters: []query.Filter{e.filter("config.model", "is", "", `"large"`)}}, "s5"},
		"text of an event":             {query.SessionSearch{EventFilters: []query.Filter{e.filter("inputs.question", "contains", "", `"s4"`)}}, "s4"},
		"a field that is too large":    {query.SessionSearch{EventFilters: []query.Filter{e.filter("metadata.attempt", "greater than", "number", `4`)}}, "s5 s7"},
		"both":                         {query.SessionSearch{Filters: []query.Filter{e.filter("duration", "greater than", "number", `1500`)}, EventFilters: []query.Filter{model}}, "s2 s7"},
		"both, decided outside":        {query.SessionSearch{Filters: []query.Filter{e.filter("metadata.cost", "is", "number", `0.25`)}, EventFilters: []query.Filter{e.filter("config.model", "is", "", `"small"`)}}, "s1 s4 s7"},
		"a range":                      {query.SessionSearch{From: pointer(noon + 2000), To: pointer(noon + 4000)}, "s2 s3 s4"},
		"a range, and none":            {query.SessionSearch{From: pointer(noon + 2000), To: pointer(noon + 1000)}, ""},
		"a filter that never holds":    {query.SessionSearch{Filters: []query.Filter{e.filter("event_type", "is", "", `"nonsense"`)}}, ""},
		"an event that is never there": {query.SessionSearch{EventFilters: []query.Filter{e.filter("event_type", "is", "", `"nonsense"`)}}, ""},
	} {
		c.q.Ascending = true
		for _, limit := range []int{2, 100} {
			c.q.Limit = limit
			if got := strings.Join(e.walk(c.q), " "); got != c.want {
				e.Errorf("%s, pages of %d: %q, want %q", name, limit, got, c.want)
			}
		}
		// The number of all is exact on every page.
		c.q.Limit, c.q.Counted = 1, true
		want := len(strings.Fields(c.want))
		set := e.sessions(c.q)
		if !set.IsCounted || set.Total != want {
			e.Errorf("%s: %d in all, want %d", name, set.Total, want)
		}
		if set.HasMore {
			c.q.After = &query.Place{Value: set.Last, ID: set.Events[0].ID}
			if set := e.sessions(c.q); set.Total != want {
				e.Errorf("%s, second page: %d in all, want %d", name, set.Total, want)
			}
		}
	}
	// A second kind of error changes the totals, and so the answer.
	e.update(event.Update{EventID: id("s0"), Metadata: raw(`{"x":1}`)})
	e.put(func() event.Incoming { x := step("s0", "late", 1); x.Error = pointer("late"); return x }())
	if got := e.walk(query.SessionSearch{Filters: []query.Filter{e.total("totals.errors", "greater than", `0`)}, Limit: 10, Ascending: true}); strings.Join(got, " ") != "s0 s1 s3 s5 s7" {
		e.Errorf("after an error has come: %v", got)
	}
}

// A session runs while an event of it has begun and not ended, in whatever order the copies of the event come.
func sessionRunning(e *env) {
	of := func(name string) (open, done event.Incoming) {
		done = call(name, name+" step", 1, 1, 1, 0)
		done.Type = event.TypeTool
		open = done
		open.Unfinished, open.End, open.Duration = true, open.Start, 0
		return open, done
	}
	runs := func() string {
		e.Helper()
		running := e.walk(query.SessionSearch{Filters: []query.Filter{e.total("state", "is", `"running"`)}, Ascending: true, Limit: 2})
		ended := e.walk(query.SessionSearch{Filters: []query.Filter{e.total("state", "is", `"ended"`)}, Ascending: true, Limit: 2})
		if first := e.walk(query.SessionSearch{Sort: query.SortState, Limit: 1}); len(running) > 0 && !slices.Contains(running, first[0]) {
			e.Errorf("by state: %v, running are %v", first, running)
		}
		slices.Sort(running)
		slices.Sort(ended)
		return strings.Join(running, " ") + " / " + strings.Join(ended, " ")
	}
	a, aDone := of("a")
	b, bDone := of("b")
	e.put(start("a", "a", 0, 9), a)
	e.put(start("b", "b", 0, 9), bDone)
	e.put(start("c", "c", 0, 9))
	e.equal("one runs", "a / b c", runs())
	e.put(b) // a copy that comes late
	e.put(a)
	e.equal("copies again", "a / b c", runs())
	e.put(aDone)
	e.equal("all have ended", " / a b c", runs())
	set := e.sessions(query.SessionSearch{Filters: []query.Filter{e.total("totals.tool_events", "is", `1`)}})
	if len(set.Totals) != 2 || set.Totals[0].ToolEvents != 1 || set.Totals[0].Unfinished != 0 {
		e.Errorf("with one tool event: %+v", set.Totals)
	}
	c, _ := of("c")
	e.put(c)
	e.equal("another runs", "c / a b", runs())
	e.ok(e.s.DeleteEvent(e.ctx, e.project, c.ID))
	e.equal("its event was deleted", " / a b c", runs())
}

// A store whose sessions were written before tool events and unfinished ones were counted has the counts when it is opened.
func sessionsOfOlderStore(e *env) {
	e.putSessions()
	open := call("s2", "s2 open", 2, 1, 1, 0)
	open.Unfinished, open.End, open.Duration = true, open.Start, 0
	e.put(open)
	e.ok(e.s.Close(e.ctx))
	for _, text := range []string{`ALTER TABLE session DROP COLUMN num_tool_events`, `ALTER TABLE session DROP COLUMN num_unfinished`,
		`DELETE FROM goose_db_version WHERE version_id = 3`} {
		e.place.Exec(e.T, text)
	}
	e.open(optionsNone)
	counts := func() (list []string) {
		set := e.sessions(query.SessionSearch{Ascending: true})
		for _, t := range set.Totals {
			list = append(list, fmt.Sprintf("%d/%d", t.ToolEvents, t.Unfinished))
		}
		return list
	}
	e.equal("tool events / unfinished", "0/0 1/0 0/1 1/0 0/0 1/0 0/0 1/0 0/0", strings.Join(counts(), " "))
	done := open
	done.Unfinished, done.End, done.Duration = false, done.Start+1, 1
	late := step("s0", "late", 1)
	late.Type = event.TypeTool
	e.put(done, late)
	e.equal("after more events", "1/0 1/0 0/0 1/0 0/0 1/0 0/0 1/0 0/0", strings.Join(counts(), " "))
}

func sessionPageShows(e *env) {
	e.putSessions()
	set := e.sessions(query.SessionSearch{Filters: []query.Filter{e.filter("session_id", "is", "", fmt.Sprintf("%q", id("s5")))}})
	if len(set.Events) != 1 || len(set.Totals) != 1 {
		e.Fatalf("%d sessions, %d totals", len(set.Events), len(set.Totals))
	}
	if got, want := set.Totals[0], (event.SessionTotals{Events: 3, ModelEvents: 2, ToolEvents: 1, Errors: 1, Prompt: 12, Completion: 8, Tokens: 20, Cost: 0.5, HasCost: true}); got != want {
		e.Errorf("totals %+v, want %+v", got, want)
	}
	// The session has no inputs of its own: those of its first step stand for them.
	whole, err := set.Load(e.ctx, 0)
	e.ok(err)
	if string(whole.Inputs) != `{"question":"what is s5"}` {
		e.Errorf("inputs %s", whole.Inputs)
	}
	free := e.sessions(query.SessionSearch{Filters: []query.Filter{e.filter("session_id", "is", "", fmt.Sprintf("%q", id("s3")))}})
	if free.Totals[0].HasCost {
		e.Error("a session without a cost has one")
	}
}

// sessionCosts: three sessions that show one cost, whose sums differ in the last digit by the order in which their events came.
func sessionCosts(e *env) {
	for i, costs := range [][]float64{{0.1, 0.2}, {0.2, 0.1}, {0.3}, {0.1, 0.7, -0.5}} {
		name := fmt.Sprintf("s%d", i)
		e.put(start(name, "session "+name, float64(i), 1))
		for n, cost := range costs {
			e.put(call(name, fmt.Sprintf("%s call %d", name, n), float64(i), 1, 1, cost))
		}
	}
	same := query.SessionSearch{Filters: []query.Filter{e.total("totals.cost", "is", `0.3`)}, Ascending: true, Limit: 2}
	if got := strings.Join(e.walk(same), " "); got != "s0 s1 s2 s3" {
		e.Errorf("a cost of 0.3: %s", got)
	}
	// Equal costs are in the order of ids.
	ids := []uuid.UUID{id("s0"), id("s1"), id("s2"), id("s3")}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return strings.Compare(string(a[:]), string(b[:])) })
	set := e.sessions(query.SessionSearch{Sort: query.SortCost, Ascending: true})
	for i := range set.Events {
		if set.Events[i].ID != ids[i] {
			e.Errorf("place %d has %s", i, set.Events[i].Name)
		}
	}
	// All digits of a double count.
	e.put(start("s4", "session s4", 4, 1), call("s4", "s4 call", 4, 1, 1, 100000000291.77357))
	for cost, want := range map[string]string{"100000000291.77357": "s4", "100000000291.774": ""} {
		q := query.SessionSearch{Filters: []query.Filter{e.total("totals.cost", "is", cost)}, Limit: 2}
		if got := strings.Join(e.walk(q), " "); got != want {
			e.Errorf("a cost of %s: %q", cost, got)
		}
	}
}

func sessionProjectsApart(e *env) {
	e.putSessions()
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	for _, q := range []query.SessionSearch{{}, {EventFilters: []query.Filter{e.filter("error", "exists", "", "")}}, {Counted: true}} {
		q.Limit, q.Sort = 10, query.SortStart
		set, err := e.s.SearchSessions(e.ctx, other.ID, q)
		e.ok(err)
		if len(set.Events) != 0 || set.Total != 0 {
			e.Errorf("%d sessions of another project, %d in all", len(set.Events), set.Total)
		}
	}
}

func readByID(e *env) {
	e.putSessions()
	set, err := e.s.EventsByID(e.ctx, e.project, []uuid.UUID{id("s5 tool"), id("nowhere"), id("s1"), id("s7 tool")})
	e.ok(err)
	var names []string
	for i := range set.Events {
		whole, err := set.Load(e.ctx, i)
		e.ok(err)
		names = append(names, whole.Name)
	}
	if got := strings.Join(names, ", "); got != "s5 tool, session s1, s7 tool" {
		e.Errorf("found %s", got)
	}
}

// treeIncomplete: a set says of which events it does not have all fields without loading them.
func treeIncomplete(e *env) {
	e.putSessions()
	set, err := e.s.Session(e.ctx, e.project, id("s7"))
	e.ok(err)
	for i := range set.Events {
		large := set.Events[i].Name == "s7 tool"
		if set.Complete(i) == large {
			e.Errorf("%s is complete: %t", set.Events[i].Name, set.Complete(i))
		}
	}
}

func keyByID(e *env) {
	k := project.Key{ID: id("key").String(), ProjectID: e.project, Name: "k", Prefix: "sg_x", Hash: project.HashSecret("secret"), Scope: project.ScopeRead, Origin: project.OriginAPI, CreatedAt: arrival}
	e.ok(e.s.InsertKey(e.ctx, k))
	got, of, err := e.s.KeyByID(e.ctx, k.ID)
	e.ok(err)
	if got.Name != "k" || string(got.Hash) != string(k.Hash) || of.ID != e.project {
		e.Errorf("key %+v of project %d", got, of.ID)
	}
	if _, _, err := e.s.KeyByID(e.ctx, "none"); fault.Of(err) != fault.NotFound {
		e.Errorf("a key that is not there: %v", err)
	}
}
