package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store"
)

var fieldIndexTests = []test{
	{"Field index/keys by type and name", fieldIndexKeys},
	{"Field index/updates and resends add keys", fieldIndexUpdates},
	{"Field index/days", fieldIndexDays},
	{"Field index/runs, told by the event or its session", fieldIndexRunsTold},
	{"Field index/runs, told by their list of sessions, until they are deleted", fieldIndexRunsListed},
	{"Field index/names and rows are bounded", fieldIndexBounds},
	{"Field index/another process goes on", fieldIndexReopened},
	{"Field index/many writers", fieldIndexWriters},
	{"Field index/metric names", fieldIndexMetricNames},
	{"Field index/goes with its project", fieldIndexProjectGone},
	{"Field index/names go with the last event that had them", fieldIndexErased},
	{"Field index/a pass that was broken off is made anew", fieldIndexErasedAnew},
}

// fieldIndex reads keys as "type name path", and ids of datasets as "dataset id".
func (e *env) fieldIndex(q query.Search) []string {
	e.Helper()
	c, err := e.s.FieldIndex(e.ctx, e.project, q)
	e.ok(err)
	var lines []string
	for _, k := range c.Keys {
		lines = append(lines, fmt.Sprintf("%s %q %s", k.Type, k.Name, k.Path))
	}
	for _, id := range c.Datasets {
		lines = append(lines, "dataset "+id)
	}
	return lines
}

func (e *env) wantFieldIndex(q query.Search, want ...string) {
	e.Helper()
	got := e.fieldIndex(q)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("field index (-want +got):\n%s", diff)
	}
}

func fieldIndexKeys(e *env) {
	search := step("s", "search", 1)
	search.Inputs = raw(`{"q":"refund","opts":{"deep":{"er":{"est":1}}},"list":[{"no":1}]}`)
	search.Outputs = raw(`"text"`)
	search.Metadata = raw(`{"dataset_id":"EXT-1","none":null,"a.b":1,"emoji \ud83d\ude00":true}`)
	chat := call("s", "chat", 2, 10, 5, 0.25)
	chat.Config, chat.Metrics, chat.Feedback = raw(`{"model":"m"}`), raw(`{"accuracy":1}`), raw(`{"rating":5}`)
	chat.UserProperties, chat.ColdMetadata = raw(`{"user_id":"u"}`), raw(`{"trace_id":"t"}`)
	e.put(start("s", "root", 0, 10), search, chat)
	want := []string{
		`tool "search" inputs.q`, `tool "search" inputs.opts`, `tool "search" inputs.opts.deep`, `tool "search" inputs.opts.deep.er`, `tool "search" inputs.list`,
		`tool "search" outputs`, `tool "search" metadata.dataset_id`, `tool "search" metadata.a.b`, `tool "search" metadata.emoji 😀`,
		`model "chat" metadata.prompt_tokens`, `model "chat" metadata.completion_tokens`, `model "chat" metadata.total_tokens`, `model "chat" metadata.cost`, `model "chat" metadata.trace_id`,
		`model "chat" config.model`, `model "chat" metrics.accuracy`, `model "chat" feedback.rating`, `model "chat" user_properties.user_id`,
		`dataset EXT-1`,
	}
	e.wantFieldIndex(query.Search{}, want...)
	e.wantFieldIndex(query.Search{InRuns: true})
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.namesErased()
	e.wantFieldIndex(query.Search{})
}

func fieldIndexUpdates(e *env) {
	e.put(start("s", "root", 0, 10), step("s", "search", 1))
	e.wantFieldIndex(query.Search{})
	e.update(event.Update{EventID: id("search"), Metrics: raw(`{"relevance":{"score":1}}`), Outputs: raw(`{"hits":3}`)})
	e.update(event.Update{EventID: id("s"), Feedback: raw(`{"rating":1}`)})
	again := step("s", "search", 1)
	again.Inputs = raw(`{"q":1}`)
	e.put(again)
	e.wantFieldIndex(query.Search{}, `tool "search" metrics.relevance`, `tool "search" metrics.relevance.score`, `tool "search" outputs.hits`,
		`session "root" feedback.rating`, `tool "search" inputs.q`)
}

func fieldIndexDays(e *env) {
	for _, day := range []float64{5, 0, 3} { // in no order
		x := step("s", fmt.Sprintf("at %v", day), day*dayMillis/1000)
		x.Name = "search"
		x.Metadata = raw(`{"often":1}`)
		if day == 3 {
			x.Metadata = raw(`{"once":1}`)
		}
		e.put(x)
	}
	search := func(from, to float64) query.Search {
		return query.Search{From: pointer(noon + from*dayMillis), To: pointer(noon + to*dayMillis)}
	}
	often, once := `tool "search" metadata.often`, `tool "search" metadata.once`
	e.wantFieldIndex(search(0, 5), often, once)
	e.wantFieldIndex(search(1, 2), often)
	e.wantFieldIndex(search(3, 3), often, once)
	e.wantFieldIndex(search(-9, -1))
	e.wantFieldIndex(search(6, 9))
	e.wantFieldIndex(query.Search{From: pointer(noon + 4*dayMillis)}, often)
	e.wantFieldIndex(query.Search{To: pointer(noon - dayMillis)})
	e.wantFieldIndex(query.Search{From: pointer(-1e300), To: pointer(1e300)}, often, once)
}

func fieldIndexRunsTold(e *env) {
	inRun := start("s", "root", 0, 10)
	inRun.Metadata = raw(`{"run_id":"r1"}`)
	inherits := step("s", "search", 1)
	inherits.Metadata = raw(`{"k":1}`)
	e.put(inRun)
	e.put(inherits)
	e.update(event.Update{EventID: id("search"), Metrics: raw(`{"m":1}`)})
	ownRun := step("t", "other", 1)
	ownRun.Metadata = raw(`{"run_id":"r2","l":1}`)
	e.put(ownRun)
	alone := step("u", "alone", 1)
	alone.Metadata = raw(`{"z":1}`)
	e.put(alone)
	first := []string{`session "root" metadata.run_id`, `tool "search" metadata.k`, `tool "search" metrics.m`}
	second := []string{`tool "other" metadata.run_id`, `tool "other" metadata.l`}
	e.wantFieldIndex(query.Search{RunID: "r1"}, first...)
	e.wantFieldIndex(query.Search{RunID: "r2"}, second...)
	e.wantFieldIndex(query.Search{RunID: "r3"})
	e.wantFieldIndex(query.Search{InRuns: true}, append(slices.Clone(first), second...)...)
	e.wantFieldIndex(query.Search{}, append(append([]string{`tool "alone" metadata.z`}, first...), second...)...)
}

func fieldIndexRunsListed(e *env) {
	carriesID := start("s", "root", 0, 10)
	carriesID.Metadata = text(`{"run_id":"%s","mine":1}`, id("r1"))
	inListed := step("t", "search", 1)
	inListed.Metadata = raw(`{"listed":1,"dataset_id":"EXT-b"}`)
	other := step("u", "other", 1)
	other.Metadata = raw(`{"not":1}`)
	e.put(carriesID)
	e.put(inListed)
	e.put(other)
	created, err := e.s.CreateRun(
		e.ctx,
		e.project,
		run.Update{ID: id("r1").String(), DatasetID: pointer("EXT-a"), EventIDs: []string{id("t").String()}},
	)
	e.ok(err)
	listed := []string{`tool "search" metadata.listed`, `tool "search" metadata.dataset_id`, "dataset EXT-a"}
	e.wantFieldIndex(
		query.Search{RunID: created.ID},
		append([]string{`session "root" metadata.run_id`, `session "root" metadata.mine`}, listed...)...)
	e.wantFieldIndex(query.Search{RunID: created.ID, To: pointer(noon - dayMillis)}, "dataset EXT-a")
	if got := e.fieldIndex(query.Search{}); !slices.Contains(got, "dataset EXT-a") || !slices.Contains(got, "dataset EXT-b") {
		e.Errorf("datasets are missing: %q", got)
	}
	e.ok(e.s.DeleteRun(e.ctx, e.project, created.ID))
	if n := e.place.Count(e.T, "SELECT count(*) FROM field_index WHERE scope = 'run:"+created.ID+"'"); n != 0 {
		e.Errorf("%d rows stay", n)
	}
	// Of its sessions the event tells, and the keys are those of such events in the project.
	e.wantFieldIndex(query.Search{RunID: created.ID}, `session "root" metadata.run_id`, `session "root" metadata.mine`)
	cameLater := start("v", "another", 20, 10)
	cameLater.Metadata = text(`{"run_id":"%s"}`, id("r1"))
	e.put(cameLater)
	e.wantFieldIndex(
		query.Search{RunID: created.ID},
		`session "another" metadata.run_id`,
		`session "root" metadata.run_id`,
		`session "root" metadata.mine`,
	)
}

func fieldIndexBounds(e *env) {
	var list []event.Incoming
	for i := range 1100 {
		x := step("s", fmt.Sprintf("step %d", i), float64(i))
		x.Metadata = raw(`{"k":1}`)
		list = append(list, x)
	}
	e.put(list...)
	got := e.fieldIndex(query.Search{})
	if want := `tool "" metadata.k`; len(got) != 1001 || !slices.Contains(got, want) {
		e.Errorf("%d keys; among them %s: %v", len(got), want, slices.Contains(got, want))
	}
	for i := range 100 {
		var b strings.Builder
		for k := range 250 {
			fmt.Fprintf(&b, `,"k%d_%d":1`, i, k)
		}
		x := step("s", fmt.Sprintf("wide %d", i), float64(i))
		x.Name, x.Metadata = "step 0", raw("{"+b.String()[1:]+"}")
		e.put(x)
	}
	if got := e.fieldIndex(query.Search{}); len(got) != 20_000 {
		e.Errorf("%d keys", len(got))
	}
	odd := step("s", strings.Repeat("n", 5000), 0)
	odd.Metadata = raw(`{"k":1}`)
	e.put(odd)
	if got := e.fieldIndex(query.Search{}); len(got) != 20_000 {
		e.Errorf("%d keys", len(got))
	}
}

func fieldIndexReopened(e *env) {
	before := step("s", "search", 0)
	before.Metadata = raw(`{"a":1}`)
	e.put(before)
	e.reopen(store.Options{})
	after := step("s", "y", 2*dayMillis/1000)
	after.Name, after.Metadata = "search", raw(`{"a":1,"b":1}`)
	e.put(after)
	e.wantFieldIndex(query.Search{To: pointer(noon)}, `tool "search" metadata.a`)
	e.wantFieldIndex(query.Search{From: pointer(noon + dayMillis)}, `tool "search" metadata.a`, `tool "search" metadata.b`)
}

func fieldIndexWriters(e *env) {
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 20 {
				x := step(fmt.Sprintf("s%d %d", w, i), fmt.Sprintf("x%d %d", w, i), float64(i*w)*86_400)
				x.Name, x.Metadata = fmt.Sprintf("n%d", (i+w)%5), text(`{"a%d":1,"b%d":1,"run_id":"r%d"}`, i, 19-i, i%2)
				if err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{x}}); err != nil {
					e.Error(err)
				}
			}
		})
	}
	writers.Wait()
	paths := map[string]bool{}
	for _, line := range e.fieldIndex(query.Search{}) {
		paths[line[strings.LastIndexByte(line, ' ')+1:]] = true
	}
	if len(paths) != 41 {
		e.Errorf("%d paths, want 41", len(paths))
	}
}

func fieldIndexMetricNames(e *env) {
	x := step("s", "search", 0)
	x.Metrics = raw(
		`{"accuracy":0.5,"accuracy_explanation":"half","judge":{"score":1,"why":"x"},"odd name":true,"lone_explanation":"y","gone":null}`,
	)
	x.Metadata = raw(`{"metrics":1}`)
	e.put(x)
	names, err := e.s.MetricNames(e.ctx, e.project)
	e.ok(err)
	if diff := cmp.Diff([]string{"accuracy", "judge", "lone_explanation", "odd name"}, names); diff != "" {
		e.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func fieldIndexProjectGone(e *env) {
	p, err := e.s.EnsureProject(e.ctx, "second")
	e.ok(err)
	x := step("s", "search", 0)
	x.Metadata = raw(`{"a":1}`)
	e.ok(e.s.Put(e.ctx, p.ID, event.Batch{Events: []event.Incoming{x}}))
	e.wantFieldIndex(query.Search{})
	if n := e.place.Count(e.T, `SELECT count(*) FROM field_index`); n != 1 {
		e.Errorf("%d rows, want 1", n)
	}
	gone, err := e.s.DeleteProject(e.ctx, p.ID)
	e.ok(err)
	<-gone
	if n := e.place.Count(e.T, `SELECT count(*) FROM field_index`); n != 0 {
		e.Errorf("%d rows stay", n)
	}
}

// namesErased waits until names that nothing has any more are erased from the field index.
func (e *env) namesErased() {
	e.Helper()
	for end := time.Now().Add(5 * time.Minute); e.place.Count(e.T, `SELECT count(*) FROM deletion`) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			e.Fatal("names are not erased from the field index")
		}
	}
}

func fieldIndexErased(e *env) {
	with := func(session, name string, at float64, field, dataset string) event.Incoming {
		named := step(session, name, at)
		named.Metadata = text(`{%q:1,"dataset_id":%q}`, field, dataset)
		named.Inputs = text(`{"in":{"%s":[{"deeper":1}]}}`, field)
		return named
	}
	e.put(
		start("s", "s", 0, 10),
		with("s", "kept", 1, "mine", "D"),
		with("s", "jane doe", 2, "jane", "E"),
		with("s", "kept too", 2, "jane", "D"),
	)
	runSession := start("r", "r", 0, 10)
	runSession.Metadata = text(`{"run_id":"R"}`)
	e.put(runSession, with("r", "in a run", 1, "joe", "F"), with("r", "in the run", 1, "mine", "D"))
	keys := func(name string, field string) (list []string) {
		for _, path := range []string{"metadata." + field, "metadata.dataset_id", "inputs.in", "inputs.in." + field} {
			list = append(list, fmt.Sprintf("tool %q %s", name, path))
		}
		return list
	}
	want := slices.Concat(
		keys("kept", "mine"),
		keys("kept too", "jane"),
		keys("in the run", "mine"),
		[]string{`session "r" metadata.run_id`, "dataset D"},
	)
	all := slices.Concat(want, keys("jane doe", "jane"), keys("in a run", "joe"), []string{"dataset E", "dataset F"})
	e.wantFieldIndex(query.Search{}, all...)
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("jane doe")))
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("in a run")))
	e.namesErased()
	e.wantFieldIndex(query.Search{}, want...)
	inRun := slices.Concat(keys("in the run", "mine"), []string{`session "r" metadata.run_id`, "dataset D"})
	e.wantFieldIndex(query.Search{InRuns: true}, inRun...)
	e.wantFieldIndex(query.Search{RunID: "R"}, inRun...)
	e.equal(
		"rows with a name that is gone",
		0,
		e.place.Count(e.T, `SELECT count(*) FROM field_index WHERE name IN ('jane doe', 'in a run') OR path LIKE '%joe%' OR path IN ('E', 'F')`),
	)

	// What comes again is listed again, although this process knew of it.
	e.put(with("s2", "jane doe", 2, "jane", "E"))
	e.wantFieldIndex(query.Search{}, slices.Concat(want, keys("jane doe", "jane"), []string{"dataset E"})...)

	// An event that comes while names are erased keeps its own.
	for n := range 5 {
		deleted, meanwhile := with("x", fmt.Sprint("x", n), 3, "late", "L"), with("y", fmt.Sprint("y", n), 3, "late", "L")
		deleted.Name, meanwhile.Name = "late", "late"
		e.put(deleted)
		e.ok(e.s.DeleteEvent(e.ctx, e.project, deleted.ID))
		e.put(meanwhile)
		if n == 4 {
			e.namesErased()
			if list := e.fieldIndex(query.Search{}); !slices.Contains(list, `tool "late" inputs.in.late`) || !slices.Contains(list, "dataset L") {
				e.Fatalf("after %d: %s", n, list)
			}
			e.ok(e.s.DeleteSession(e.ctx, e.project, id("y")))
			e.namesErased()
			if list := e.fieldIndex(query.Search{}); slices.Contains(list, `tool "late" inputs.in.late`) || slices.Contains(list, "dataset L") {
				e.Fatalf("after %d: %s", n, list)
			}
		}
	}
}

func fieldIndexErasedAnew(e *env) {
	x := step("s", "search", 1)
	x.Metadata = raw(`{"here":1}`)
	e.put(x)
	want := e.fieldIndex(query.Search{})
	// As a process leaves it that ended between the two looks: a name is gone that an event has.
	for _, stmt := range []string{`DELETE FROM field_index`, `INSERT INTO field_index(project_id, scope, type, name, path, first_day, last_day) VALUES (%d, '', 1, 'gone', 'metadata.gone', 1, 1)`,
		`INSERT INTO deletion(project_id, kind, id) VALUES (%d, 'names', 'running')`} {
		e.place.Exec(e.T, strings.ReplaceAll(stmt, "%d", fmt.Sprint(e.project)))
	}
	e.reopen(optionsNone)
	e.namesErased()
	e.wantFieldIndex(query.Search{}, want...)
}
