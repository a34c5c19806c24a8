package storetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
)

var runTests = []test{
	{"Run/create, again, change, delete", runLife},
	{"Run/list", runList},
	{"Run/over data that only a client has", runOffline},
	{"Run/which sessions belong", runJoin},
	{"Run/a session that no longer belongs", runLeft},
	{"Run/scores", runScores},
	{"Run/events that name the datapoint", runNames},
	{"Run/filters on fields that are too large for a row", runLargeFields},
	{"Run/pairs of events", runPairs},
	{"Run/outcomes", runOutcomes},
	{"Run/rules of metrics", runRules},
}

func (e *env) createRun(u run.Update) run.Run {
	e.Helper()
	r, err := e.s.CreateRun(e.ctx, e.project, u)
	e.ok(err)
	return r
}

func runLife(e *env) {
	id := uuid.NewString()
	set, err := e.s.CreateDataset(e.ctx, e.project, dataset.Dataset{Name: "d", Type: "evaluation", PipelineType: "event"}, nil)
	e.ok(err)
	first := e.createRun(
		run.Update{ID: id, Name: pointer("one"), DatasetID: &set, Metadata: raw(`{"a":1,"b":{"c":1.50}}`), EventIDs: []string{"x"}},
	)
	if first.Status != run.Pending || first.DatasetVersion != 1 || first.Created == 0 || first.Updated != 0 {
		e.Errorf("created: %+v", first)
	}
	again := e.createRun(run.Update{ID: id, Status: pointer(run.Running), Metadata: raw(`{"b":2}`)})
	if again.Name != "one" || again.Status != run.Running || string(again.Metadata) != `{"a":1,"b":2}` || again.Created != first.Created ||
		again.Updated == 0 {
		e.Errorf("created again: %+v", again)
	}
	ext := "EXT-1"
	changed, err := e.s.UpdateRun(e.ctx, e.project, run.Update{ID: id, EventIDs: []string{}, DatasetID: &ext})
	e.ok(err)
	if len(changed.EventIDs) != 0 || changed.DatasetVersion != 0 || changed.DatasetID != ext {
		e.Errorf("changed: %+v", changed)
	}
	got, err := e.s.Run(e.ctx, e.project, id)
	e.ok(err)
	if diff := cmp.Diff(changed.Doc(), got.Doc()); diff != "" {
		e.Errorf("read back (-want +got):\n%s", diff)
	}
	if _, err := e.s.UpdateRun(e.ctx, e.project, run.Update{ID: id, Status: pointer("odd")}); fault.Of(err) != fault.Invalid {
		e.Errorf("an odd state: %v", err)
	}
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	if _, err := e.s.Run(e.ctx, other.ID, id); fault.Of(err) != fault.NotFound {
		e.Errorf("another project reads it: %v", err)
	}
	e.ok(e.s.DeleteRun(e.ctx, e.project, id))
	for what, f := range map[string]func(context.Context) error{
		"read": func(ctx context.Context) error { _, err := e.s.Run(ctx, e.project, id); return err },
		"update": func(ctx context.Context) error {
			_, err := e.s.UpdateRun(ctx, e.project, run.Update{ID: id})
			return err
		},
		"delete": func(ctx context.Context) error { return e.s.DeleteRun(ctx, e.project, id) },
	} {
		if err := f(e.ctx); fault.Of(err) != fault.NotFound {
			e.Errorf("%s after it was deleted: %v", what, err)
		}
	}
}

func runList(e *env) {
	var ids []string
	for i, name := range []string{"b 100% [x]", "a", "c"} {
		r := e.createRun(run.Update{Name: &name, DatasetID: pointer(fmt.Sprint("EXT-", i%2))})
		ids = append(ids, r.ID)
	}
	_, err := e.s.UpdateRun(e.ctx, e.project, run.Update{ID: ids[0], Status: pointer(run.Completed)})
	e.ok(err)
	// Made and changed within one millisecond, they would have no order of change.
	for i, id := range ids {
		e.place.Exec(e.T, fmt.Sprintf("UPDATE run SET updated_ms = created_ms + %d WHERE id = '%s'", 10_000*(3-i), id))
	}
	for i, tt := range []struct {
		q     run.Query
		want  []int
		total int
	}{
		{run.Query{SortBy: "name", Ascending: true}, []int{1, 0, 2}, 3},
		{run.Query{SortBy: "name"}, []int{2, 0, 1}, 3},
		{run.Query{SortBy: "updated_at"}, []int{0, 1, 2}, 3},
		{run.Query{SortBy: "status", Ascending: true, Status: run.Completed}, []int{0}, 1},
		{run.Query{SortBy: "name", Ascending: true, DatasetID: "EXT-0"}, []int{0, 2}, 2},
		{run.Query{Name: "0% ["}, []int{0}, 1},
		{run.Query{IDs: []string{ids[2], "none"}}, []int{2}, 1},
		{run.Query{IDs: []string{}}, nil, 0},
		{run.Query{From: pointer(9e15)}, nil, 0},
		{run.Query{SortBy: "name", Ascending: true, From: pointer(-1e300), To: pointer(1e300)}, []int{1, 0, 2}, 3},
		{run.Query{From: pointer(1e300)}, nil, 0},
		{run.Query{SortBy: "name", Ascending: true, Limit: 1, Page: 2}, []int{0}, 3},
	} {
		if tt.q.Limit == 0 {
			tt.q.Limit, tt.q.Page = 100, 1
		}
		list, total, all, err := e.s.FindRuns(e.ctx, e.project, tt.q)
		e.ok(err)
		var got, want []string
		for _, r := range list {
			got = append(got, r.ID)
		}
		for _, i := range tt.want {
			want = append(want, ids[i])
		}
		if diff := cmp.Diff(want, got); diff != "" || total != tt.total || all != 3 {
			e.Errorf("%d: total %d of %d (-want +got):\n%s", i, total, all, diff)
		}
	}
}

// The Python client writes the id of data that only it has into the metadata of a run.
func runOffline(e *env) {
	offline := raw(`{"offline_dataset_id":"EXT-1"}`)
	created := e.createRun(run.Update{Name: pointer("a"), Metadata: offline})
	updated := e.createRun(run.Update{Name: pointer("b")})
	_, err := e.s.UpdateRun(e.ctx, e.project, run.Update{ID: updated.ID, Metadata: offline})
	e.ok(err)
	other := e.createRun(run.Update{Name: pointer("c"), DatasetID: pointer("EXT-2"), Metadata: offline})
	for dataset, want := range map[string][]string{"EXT-1": {created.ID, updated.ID}, "EXT-2": {other.ID}} {
		list, total, _, err := e.s.FindRuns(e.ctx, e.project, run.Query{DatasetID: dataset, SortBy: "name", Ascending: true, Limit: 10, Page: 1})
		e.ok(err)
		var got []string
		for _, r := range list {
			got = append(got, r.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" || total != len(want) {
			e.Errorf("over %s: total %d (-want +got):\n%s", dataset, total, diff)
		}
	}
	if got, err := e.s.Run(e.ctx, e.project, created.ID); err != nil || got.DatasetID != "" {
		e.Errorf("read back with the dataset %q: %v", got.DatasetID, err)
	}
}

// of makes an event of a run, about a datapoint.
func of(runID, datapoint string, x event.Incoming) event.Incoming {
	x.Metadata = text(`{"run_id":%q,"datapoint_id":%q}`, runID, datapoint)
	return x
}

func scored(x event.Incoming, metrics string) event.Incoming {
	x.Metrics = raw(metrics)
	return x
}

func runJoin(e *env) {
	r := e.createRun(
		run.Update{
			EventIDs:   []string{id("listed").String(), "no uuid", id("unknown").String(), id("listed").String()},
			SessionIDs: []string{id("also").String()},
		},
	)
	e.put(
		start("listed", "listed", 0, 1),
		start("also", "also", 1, 1),
		of(r.ID, "d3", start("started", "started", 2, 1)),
		start("stranger", "stranger", 3, 1),
	)
	e.put(of(r.ID, "d4", step("by event", "e", 4)), scored(step("listed", "l", 0.5), `{"m":1}`), scored(step("stranger", "s", 3), `{"m":2}`))
	scores, err := e.s.RunScores(e.ctx, e.project, &r, query.Search{})
	e.ok(err)
	if diff := cmp.Diff([]uuid.UUID{id("listed"), id("also"), id("started"), id("by event")}, scores.Sessions); diff != "" {
		e.Errorf("sessions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[uuid.UUID]string{id("started"): "d3", id("by event"): "d4"}, scores.Datapoints); diff != "" {
		e.Errorf("datapoints (-want +got):\n%s", diff)
	}
	if len(scores.Events) != 1 || string(scores.Events[0].Metrics) != `{"m":1}` {
		e.Errorf("events: %+v", scores.Events)
	}
	whole := []string{"e", "e", "started", "also", "l", "listed"} // the session of e has an event that nobody sent
	set, err := e.s.Search(e.ctx, e.project, query.Search{RunID: r.ID, Limit: 10, Page: 1})
	e.ok(err)
	var found []string
	for i := range set.Events {
		found = append(found, set.Events[i].Name)
	}
	e.equal("search", whole, found)
	c := *e.chart("duration", "", "day", "count")
	c.RunID = r.ID
	answer, err := e.s.Chart(e.ctx, e.project, &c)
	e.ok(err)
	e.equal("chart", int64(len(whole)), answer.Total)
	m := e.createMetric(metric.Definition{Name: "m2", Type: metric.Human})
	backfill := e.backfill(evaluation.Backfill{MetricID: m, RunID: r.ID, Filters: e.filters(e.areTools())})
	e.runBackfills()
	e.equal("backfill", 2, e.readBackfill(backfill).Done) // l and e
}

// inRun makes an event one of a run.
func inRun(runID string, x event.Incoming) event.Incoming {
	x.Metadata = text(`{"run_id":%q}`, runID)
	return x
}

// runLeft takes from sessions what made them part of a run: they belong to the next run that one of their events names, or to none.
func runLeft(e *env) {
	for way, leave := range map[string]func(x uuid.UUID){
		"deleted": func(x uuid.UUID) { e.ok(e.s.DeleteEvent(e.ctx, e.project, x)) },
		"deleted in bulk": func(x uuid.UUID) {
			e.deleteEvents(query.Search{Filters: []query.Filter{e.filter("event_id", "is", "id", `"`+x.String()+`"`)}})
		},
		"cleared": func(x uuid.UUID) { e.update(event.Update{EventID: x, Metadata: raw(`{"run_id":null}`)}) },
	} {
		first, second := "first "+way, "second "+way
		e.put(start(way, way, 0, 9), inRun(first, step(way, way+" x", 1)), inRun(second, step(way, way+" y", 2)), step(way, way+" z", 3))
		e.equal(way+": before", []int{4, 1}, []int{e.run(first), e.run(second)})
		leave(id(way + " x"))
		left := len(e.session(id(way)))
		e.equal(way+": after", []int{0, left}, []int{e.run(first), e.run(second)})
		for _, r := range []string{first, second} {
			scores, err := e.s.RunScores(e.ctx, e.project, &run.Run{ID: r}, query.Search{})
			e.ok(err)
			e.equal(way+": sessions of "+r, r == second, len(scores.Sessions) == 1)
		}
	}
	e.put(start("c", "c", 0, 9), inRun("from", step("c", "changed", 1)), step("c", "unchanged", 2))
	e.update(event.Update{EventID: id("changed"), Metadata: raw(`{"run_id":"to"}`)})
	e.equal("put into another run", []int{0, 3}, []int{e.run("from"), e.run("to")})

	// What the session itself says goes before what its events say.
	e.put(inRun("own", start("s", "s", 0, 9)), inRun("of an event", step("s", "x", 1)), step("s", "y", 2))
	e.equal("with a run of its own", []int{3, 1}, []int{e.run("own"), e.run("of an event")})
	e.update(event.Update{EventID: id("s"), Metadata: raw(`{"run_id":null}`)})
	e.equal("without", []int{0, 3}, []int{e.run("own"), e.run("of an event")})

	// In either order of one request the session belongs to the run of its event.
	e.put(inRun("before", step("t", "p", 1)), start("t", "t", 0, 9), step("t", "q", 2))
	e.put(start("u", "u", 0, 9), inRun("behind", step("u", "r", 1)), step("u", "w", 2))
	e.equal("in either order", []int{3, 3}, []int{e.run("before"), e.run("behind")})

	// A trace that turns out to be of another session takes its run along.
	e.put(traced("t2", "stays", step("stays", "rest", 5)))
	e.put(traced("t1", "stays", below("root", inRun("moves", step("stays", "moves", 2)))))
	e.equal("before the trace moves", 3, e.run("moves"))
	e.put(traced("t1", "goes", step("goes", "root", 1)))
	e.wantNames("the trace has moved", "stays", "rest", "rest")
	e.equal("after", 3, e.run("moves"))
	scores, err := e.s.RunScores(e.ctx, e.project, &run.Run{ID: "moves"}, query.Search{})
	e.ok(err)
	e.equal("its session", []uuid.UUID{id("goes")}, scores.Sessions)
}

func runScores(e *env) {
	r := e.createRun(run.Update{})
	s := of(r.ID, "d", start("s", "session", 0, 9))
	s.Metrics = raw(`{"latency":1}`)
	long := scored(step("s", "long", 2), `{"m":3,"why":"`+strings.Repeat("y", 20_000)+`"}`)
	inner := scored(step("s", "inner", 1), `{"m":2}`)
	inner.Inputs = raw(`{"q":"find me"}`)
	e.put(s, inner, long, step("s", "bare", 3))
	get := func(q query.Search) *run.Scores {
		e.Helper()
		scores, err := e.s.RunScores(e.ctx, e.project, &r, q)
		e.ok(err)
		return scores
	}
	names := func(s *run.Scores) (list []string) {
		for _, x := range s.Events {
			list = append(list, x.Kind.Name)
		}
		return list
	}
	all := get(query.Search{})
	if diff := cmp.Diff([]string{"session", "inner", "long"}, names(all)); diff != "" {
		e.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]run.Kind{{Name: "session", Type: "session"}, {Name: "bare", Type: "tool"}, {Name: "inner", Type: "tool"}, {Name: "long", Type: "tool"}}, all.Kinds); diff != "" {
		e.Errorf("kinds (-want +got):\n%s", diff)
	}
	from := noon + 1500
	for i, tt := range []struct {
		q    query.Search
		want []string
	}{
		{query.Search{From: &from}, []string{"long"}},
		{query.Search{To: &from}, []string{"session", "inner"}},
		{query.Search{Filters: []query.Filter{e.filter("inputs.q", "contains", "", `"find"`)}}, []string{"session", "inner"}}, // whose first root event it is
		{query.Search{Filters: []query.Filter{e.filter("metrics.m", "greater than", "number", "2")}}, []string{"long"}},
		{query.Search{Filters: []query.Filter{e.filter("metadata.num_events", "exists", "", "")}}, []string{"session"}},
	} {
		if diff := cmp.Diff(tt.want, names(get(tt.q))); diff != "" {
			e.Errorf("%d (-want +got):\n%s", i, diff)
		}
	}
}

// runNames stores sessions that do not name their datapoint: the earliest event with scores that does decides, or else the earliest at all.
func runNames(e *env) {
	r := e.createRun(run.Update{})
	large := of(r.ID, "large", step("b", "x", 1))
	large.Metadata = text(`{"run_id":%q,"datapoint_id":"large","more":%q}`, r.ID, strings.Repeat("y", 20_000))
	e.put(
		scored(of(r.ID, "later", step("a", "later", 3)), `{"m":1}`),
		scored(of(r.ID, "first", step("a", "first", 2)), `{"m":1}`),
		of(r.ID, "unscored", step("a", "unscored", 1)),
		of(r.ID, "small", step("b", "small", 2)),
		large,
	)
	scores, err := e.s.RunScores(e.ctx, e.project, &r, query.Search{})
	e.ok(err)
	e.equal("datapoints", map[uuid.UUID]string{id("a"): "first", id("b"): "large"}, scores.Datapoints)
}

// runLargeFields asks for the scores of events by fields of which some are in the payload, for their size.
func runLargeFields(e *env) {
	r := e.createRun(run.Update{})
	large := strings.Repeat("y", 20_000)
	failed := scored(of(r.ID, "d", step("a", "failed", 1)), `{"m":1}`)
	failed.Error = &large
	rated := scored(of(r.ID, "d", step("a", "rated", 2)), `{"m":1}`)
	rated.Feedback, rated.UserProperties = text(`{"note":%q}`, large), text(`{"about":%q}`, large)
	e.put(failed, rated, scored(of(r.ID, "d", step("a", "other", 3)), `{"m":1}`))
	for field, want := range map[string]string{"error": "failed", "feedback.note": "rated", "user_properties.about": "rated"} {
		scores, err := e.s.RunScores(e.ctx, e.project, &r, query.Search{Filters: []query.Filter{e.filter(field, "exists", "", ``)}})
		e.ok(err)
		var names []string
		for _, s := range scores.Events {
			names = append(names, s.Kind.Name)
		}
		e.equal(field, []string{want}, names)
	}
}

func runPairs(e *env) {
	before, now := e.createRun(run.Update{}), e.createRun(run.Update{})
	e.put(
		of(before.ID, "a", start("old a", "old", 0, 1)),
		of(before.ID, "b", start("old b", "old", 1, 1)),
		of(now.ID, "b", start("new b", "new", 2, 1)),
		of(now.ID, "a", start("new a", "new", 3, 1)),
		of(now.ID, "c", start("new c", "new", 4, 1)),
	)
	for i, s := range []string{"old a", "old b", "new b", "new a"} {
		first, second := step(s, s+" 1", float64(i)), step(s, s+" 2", float64(i)+0.1)
		first.Name, second.Name = "step", "step"
		e.put(first)
		if s != "new b" {
			e.put(second)
		}
	}
	names := map[uuid.UUID]string{}
	for _, name := range []string{"old a", "old b", "new a", "new b", "old a 1", "old a 2", "old b 1", "old b 2", "new b 1", "new a 1", "new a 2"} {
		names[id(name)] = name
	}
	pairs := func(q run.PairQuery, fs ...query.Filter) (list []string) {
		e.Helper()
		if q.Limit == 0 {
			q.Limit, q.Page = 100, 1
		}
		got, total, err := e.s.RunPairs(e.ctx, e.project, &now, &before, q, fs)
		e.ok(err)
		list = append(list, fmt.Sprint(total))
		for _, p := range got {
			list = append(list, fmt.Sprintf("%s: %s, %s", p.Datapoint, names[p.New], names[p.Old]))
		}
		return list
	}
	for _, tt := range []struct {
		got, want []string
	}{
		{pairs(run.PairQuery{}), []string{"2", "b: new b, old b", "a: new a, old a"}},
		{pairs(run.PairQuery{EventName: "step", EventType: "tool"}), []string{"3", "b: new b 1, old b 1", "a: new a 1, old a 1", "a: new a 2, old a 2"}},
		{pairs(run.PairQuery{EventName: "step", Limit: 1, Page: 2}), []string{"3", "a: new a 1, old a 1"}},
		{pairs(run.PairQuery{EventType: "model"}), []string{"0"}},
		{pairs(run.PairQuery{EventType: "tool"}, e.filter("start_time", "greater than", "number", "0"), e.filter("metadata.x", "exists", "", "")), []string{"0"}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			e.Errorf("pairs (-want +got):\n%s", diff)
		}
	}
}

func runRules(e *env) {
	e.createMetric(metric.Definition{Name: "n", Type: metric.Python, Criteria: "c", Threshold: raw(`{"min":0.5}`)})
	e.createMetric(metric.Definition{Name: "b", Type: metric.LLM, Criteria: "c", Threshold: raw(`{"pass_when":false}`)})
	rules, err := e.s.MetricRules(e.ctx, e.project)
	e.ok(err)
	want := map[string]run.Rule{"n": {Type: "PYTHON", Range: run.Range{Min: pointer(0.5)}}, "b": {Type: "LLM", PassWhen: raw("false")}}
	if diff := cmp.Diff(want, rules); diff != "" {
		e.Errorf("rules (-want +got):\n%s", diff)
	}
}
