package storetest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/store"
)

var metricTests = []test{
	{"Metric/created, listed, changed, deleted", metricLife},
	{"Metric/enabled once", metricEnabled},
	{"Metric/lists are narrowed", metricLists},
	{"Metric/versions", metricVersions},
	{"Metric/another project's is not there", metricProjects},
	{"Metric/deleted with many versions", metricManyVersions},
}

// definition returns a metric in which every field is set, in spellings that must come back.
func definition(name string, typ metric.Type) metric.Definition {
	return metric.Definition{
		Name:             name,
		Type:             typ,
		Criteria:         "def f(event):\n\treturn \"é\"",
		Description:      "d",
		Return:           metric.Categorical,
		EnabledInProd:    true,
		NeedsGroundTruth: true,
		Sampling:         raw(`12.50`),
		ModelProvider:    pointer("p"),
		ModelName:        pointer(""),
		EventName:        pointer("n"),
		EventType:        pointer("model"),
		Scale:            raw(`5`),
		Threshold:        raw(`{"min": 1.0, "max": null, "own": 9007199254740993}`),
		Categories:       raw(`[{"category":"a","score":1e0}]`),
		Children:         raw(`[{"name":"c","weight":0.10}]`),
		Filters:          raw(`{"filterArray":[],"kept":true}`),
	}
}

func (e *env) createMetric(d metric.Definition) string {
	e.Helper()
	d.Complete(metric.DefaultSampling)
	e.ok(d.Validate())
	id, err := e.s.CreateMetric(e.ctx, e.project, d)
	e.ok(err)
	return id
}

func (e *env) metric(id string) metric.Metric {
	e.Helper()
	list, err := e.s.LoadMetrics(e.ctx, e.project, []string{id})
	e.ok(err)
	if len(list) != 1 {
		e.Fatalf("%d metrics %s", len(list), id)
	}
	return list[0]
}

func metricLife(e *env) {
	full := definition("one", metric.Python)
	first := e.createMetric(full)
	second := e.createMetric(metric.Definition{Name: "one", Type: metric.Human})
	if len(first) != 24 || !(first < second) {
		e.Errorf("ids %q, %q: want 24 digits, growing", first, second)
	}
	got := e.metric(first)
	e.equal("first", metric.Metric{Definition: full, ID: first, Created: got.Created, Deployed: 1}, got)
	bare := e.metric(second)
	e.equal(
		"second",
		metric.Metric{
			Definition: metric.Definition{
				Name:     "one",
				Type:     metric.Human,
				Return:   metric.Float,
				Sampling: raw(`10`),
				Filters:  raw(`{"filterArray":[]}`),
			},
			ID:       second,
			Created:  bare.Created,
			Deployed: 1,
		},
		bare,
	)

	_, err := e.s.UpdateMetric(e.ctx, e.project, first, metric.Patch{Name: pointer("")})
	e.equal("broken rule", fault.Invalid, fault.Of(err))
	same, err := e.s.UpdateMetric(e.ctx, e.project, first, metric.Patch{Name: pointer("one"), Threshold: full.Threshold})
	e.ok(err)
	e.equal("nothing changed", got, same)
	changed, err := e.s.UpdateMetric(
		e.ctx,
		e.project,
		first,
		metric.Patch{Name: pointer("two"), Type: pointer(metric.LLM), Threshold: raw(`{"max":2}`)},
	)
	e.ok(err)
	e.reopen(optionsNone)
	e.equal("as answered", changed, e.metric(first))
	want := full
	want.Name, want.Type, want.Threshold = "two", metric.LLM, raw(`{"max":2}`)
	e.equal("changed", metric.Metric{Definition: want, ID: first, Created: got.Created, Updated: changed.Updated, Deployed: 2}, changed)
	if changed.Updated < changed.Created {
		e.Errorf("changed at %d, made at %d", changed.Updated, changed.Created)
	}

	e.ok(e.s.DeleteMetric(e.ctx, e.project, first))
	e.equal("deleted twice", fault.NotFound, fault.Of(e.s.DeleteMetric(e.ctx, e.project, first)))
	_, err = e.s.UpdateMetric(e.ctx, e.project, first, metric.Patch{})
	e.equal("changed after deletion", fault.NotFound, fault.Of(err))
	ids, total, err := e.s.FindMetrics(e.ctx, e.project, metric.Query{Limit: 10, Page: 1})
	e.ok(err)
	e.equal("left", []any{[]string{second}, 1}, []any{ids, total})
	e.equal("versions left", 1, e.place.Count(e.T, `SELECT count(*) FROM metric_version`))
}

// metricEnabled has metrics enabled again, by another name, and by several at the same moment.
func metricEnabled(e *env) {
	servers := []*store.Store{e.s}
	if e.place.Shared() {
		servers = append(servers, e.place.Open(e.T, optionsNone))
	}
	full := definition("one", metric.Python)
	full.EnabledInProd = true
	var mu sync.Mutex
	var wg sync.WaitGroup
	made, ids := 0, map[string]bool{}
	for i := range 8 {
		s := servers[i%len(servers)]
		wg.Go(func() {
			id, inserted, err := s.EnableMetric(e.ctx, e.project, full)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				e.Error(err)
			}
			if ids[id] = true; inserted {
				made++
			}
		})
	}
	wg.Wait()
	e.equal("made once, of one id", []int{1, 1}, []int{made, len(ids)})
	e.equal("versions", 1, e.place.Count(e.T, `SELECT count(*) FROM metric_version`))
	other := full
	other.Criteria += " "
	_, _, err := e.s.EnableMetric(e.ctx, e.project, other)
	e.equal("another definition of the name", fault.Conflict, fault.Of(err))
	other.Name = "two"
	second, inserted, err := e.s.EnableMetric(e.ctx, e.project, other)
	e.ok(err)
	e.equal("another name", []bool{true, false}, []bool{inserted, ids[second]})
	_, err = e.s.UpdateMetric(e.ctx, e.project, second, metric.Patch{Name: pointer("one")})
	e.ok(err)
	first, inserted, err := e.s.EnableMetric(e.ctx, e.project, full)
	e.ok(err)
	e.equal("of two of a name the same one", []bool{false, true}, []bool{inserted, ids[first]})
	e.ok(e.s.DeleteMetric(e.ctx, e.project, first))
	e.ok(e.s.DeleteMetric(e.ctx, e.project, second))
	again, inserted, err := e.s.EnableMetric(e.ctx, e.project, full)
	e.ok(err)
	e.equal("after it was deleted", []bool{true, false}, []bool{inserted, ids[again]})
}

func metricLists(e *env) {
	var ids []string
	for i, typ := range []metric.Type{metric.Human, metric.Python, metric.Human} {
		ids = append(ids, e.createMetric(metric.Definition{Name: fmt.Sprint(i), Type: typ, Criteria: "x"}))
	}
	for _, tt := range []struct {
		q     metric.Query
		want  []string
		total int
	}{
		{metric.Query{Limit: 10, Page: 1}, ids, 3},
		{metric.Query{Limit: 2, Page: 2}, ids[2:], 3},
		{metric.Query{Type: metric.Human, Limit: 10, Page: 1}, []string{ids[0], ids[2]}, 2},
		{metric.Query{Type: metric.LLM, Limit: 10, Page: 1}, nil, 0},
		{metric.Query{ID: ids[1], Limit: 10, Page: 1}, ids[1:2], 1},
		{metric.Query{ID: ids[1], Type: metric.Human, Limit: 10, Page: 1}, nil, 0},
		{metric.Query{ID: "x' OR '1'='1", Limit: 10, Page: 1}, nil, 0},
	} {
		got, total, err := e.s.FindMetrics(e.ctx, e.project, tt.q)
		e.ok(err)
		e.equal(fmt.Sprintf("%+v", tt.q), []any{tt.want, tt.total}, []any{got, total})
	}
}

// versions draws a metric's versions, newest first: "v2*Updated v1 Created"; the current one has
// the asterisk.
func (e *env) versions(id string, limit, page int) string {
	e.Helper()
	names, total, err := e.s.FindMetricVersions(e.ctx, e.project, id, limit, page)
	e.ok(err)
	list, err := e.s.LoadMetricVersions(e.ctx, e.project, id, names)
	e.ok(err)
	var out []string
	for _, v := range list {
		mark := " "
		if v.Deployed {
			mark = "*"
		}
		out = append(out, v.Name()+mark+v.Message+" "+v.Definition.Name)
		if len(v.SHA) != 64 {
			e.Errorf("sha %q", v.SHA)
		}
	}
	return fmt.Sprintf("%s of %d", strings.Join(out, ", "), total)
}

func metricVersions(e *env) {
	id := e.createMetric(metric.Definition{Name: "a", Type: metric.Human})
	other := e.createMetric(metric.Definition{Name: "other", Type: metric.Human})
	_, err := e.s.UpdateMetric(e.ctx, e.project, id, metric.Patch{Name: pointer("b")})
	e.ok(err)
	e.equal("after an update", "v2*Updated b, v1 Created a of 2", e.versions(id, 10, 1))

	draft := definition("c", metric.LLM)
	v, err := e.s.CreateMetricVersion(e.ctx, e.project, id, metric.Version{Definition: draft, Message: "try"}, false)
	e.ok(err)
	e.equal("draft", []any{int64(3), "try", false, draft}, []any{v.Number, v.Message, v.Deployed, v.Definition})
	e.equal("a draft is not in force", "b", e.metric(id).Name)
	e.equal("after a draft", "v3 try c, v2*Updated b, v1 Created a of 3", e.versions(id, 10, 1))

	deployed, err := e.s.DeployMetricVersion(e.ctx, e.project, id, "v3")
	e.ok(err)
	v.Deployed = true
	e.equal("deployed", v, deployed)
	m := e.metric(id)
	e.equal("in force", []any{draft, int64(3)}, []any{m.Definition, m.Deployed})
	found, _, err := e.s.FindMetrics(e.ctx, e.project, metric.Query{Type: metric.LLM, Limit: 9, Page: 1})
	e.ok(err)
	e.equal("found by the type in force", []string{id}, found)
	again, err := e.s.DeployMetricVersion(e.ctx, e.project, id, v.SHA)
	e.ok(err)
	e.equal("deployed again, by its sha", v, again)
	e.equal("times of a deployment that changes nothing", m.Updated, e.metric(id).Updated)
	_, err = e.s.DeployMetricVersion(e.ctx, e.project, id, "v1")
	e.ok(err)
	e.equal("back to the first", "v3 try c, v2 Updated b, v1*Created a of 3", e.versions(id, 10, 1))
	_, err = e.s.CreateMetricVersion(e.ctx, e.project, id, metric.Version{Definition: draft, Message: "now"}, true)
	e.ok(err)
	e.reopen(optionsNone)
	e.equal("deployed at once", "v4*now c, v3 try c, v2 Updated b, v1 Created a of 4", e.versions(id, 10, 1))
	e.equal("pages", "v2 Updated b, v1 Created a of 4", e.versions(id, 2, 2))
	e.equal("past the last page", " of 4", e.versions(id, 2, 3))
	e.equal("the other", "v1*Created other of 1", e.versions(other, 10, 1))

	// Versions with the same definition have hashes of their own, so a hash names one version.
	_, err = e.s.CreateMetricVersion(e.ctx, e.project, id, metric.Version{Definition: draft, Message: "now"}, true)
	e.ok(err)
	same, err := e.s.LoadMetricVersions(e.ctx, e.project, id, []string{"v5", "v4"})
	e.ok(err)
	if same[0].SHA == same[1].SHA {
		e.Errorf("v5 and v4 have one hash")
	}
	deployed, err = e.s.DeployMetricVersion(e.ctx, e.project, id, same[1].SHA)
	e.ok(err)
	e.equal("deployed by its hash", []any{int64(4), int64(4)}, []any{deployed.Number, e.metric(id).Deployed})

	for _, name := range []string{"v6", "v0", "v01", "4", "", "v1 ", "V1", "v99999999999999999999"} {
		_, err := e.s.DeployMetricVersion(e.ctx, e.project, id, name)
		e.equal("version "+name, fault.NotFound, fault.Of(err))
	}
	_, err = e.s.CreateMetricVersion(e.ctx, e.project, "nobody", metric.Version{Definition: draft}, true)
	e.equal("version of nothing", fault.NotFound, fault.Of(err))
	_, _, err = e.s.FindMetricVersions(e.ctx, e.project, "nobody", 1, 1)
	e.equal("versions of nothing", fault.NotFound, fault.Of(err))
}

func metricProjects(e *env) {
	id := e.createMetric(definition("a", metric.Human))
	p := e.second()
	for what, err := range map[string]error{
		"update": second(e.s.UpdateMetric(e.ctx, p.ID, id, metric.Patch{Name: pointer("x")})),
		"delete": e.s.DeleteMetric(e.ctx, p.ID, id),
		"deploy": second(e.s.DeployMetricVersion(e.ctx, p.ID, id, "v1")),
		"draft":  second(e.s.CreateMetricVersion(e.ctx, p.ID, id, metric.Version{Definition: definition("b", metric.Human)}, true)),
	} {
		e.equal(what, fault.NotFound, fault.Of(err))
	}
	ids, total, err := e.s.FindMetrics(e.ctx, p.ID, metric.Query{Limit: 10, Page: 1})
	e.ok(err)
	e.equal("found", []any{[]string(nil), 0}, []any{ids, total})
	list, err := e.s.LoadMetrics(e.ctx, p.ID, []string{id})
	e.ok(err)
	e.equal("loaded", 0, len(list))
	versions, err := e.s.LoadMetricVersions(e.ctx, p.ID, id, []string{"v1"})
	e.ok(err)
	e.equal("versions", 0, len(versions))
	e.equal("unharmed", "v1*Created a of 1", e.versions(id, 10, 1))
	gone, err := e.s.DeleteProject(e.ctx, p.ID)
	e.ok(err)
	e.await(gone)
	e.equal("after the other project is gone", "a", e.metric(id).Name)
}

// second returns the error of a call that returns a value, too.
func second[T any](_ T, err error) error { return err }

func metricManyVersions(e *env) {
	id := e.createMetric(metric.Definition{Name: "a", Type: metric.Human})
	keep := e.createMetric(metric.Definition{Name: "b", Type: metric.Human})
	for i := range 3 {
		_, err := e.s.UpdateMetric(e.ctx, e.project, id, metric.Patch{Criteria: pointer(fmt.Sprint(i))})
		e.ok(err)
	}
	for n := 5; n < 1200; n += 199 { // as if made one after another
		var rows []string
		for i := n; i < n+199; i++ {
			rows = append(rows, fmt.Sprintf(`(%d, '%s', %d, 's%d', '', 1, '{"name":"x"}')`, e.project, id, i, i))
		}
		e.place.Exec(
			e.T,
			`INSERT INTO metric_version(project_id, metric_id, number, sha, message, created_ms, doc) VALUES `+strings.Join(rows, ","),
		)
	}
	names, total, err := e.s.FindMetricVersions(e.ctx, e.project, id, 1000, 1)
	e.ok(err)
	e.equal("total", 1397, total)
	e.equal("page", 1000, len(names))
	e.ok(e.s.DeleteMetric(e.ctx, e.project, id))
	e.equal("versions left", 1, e.place.Count(e.T, `SELECT count(*) FROM metric_version`))
	e.equal("kept", "b", e.metric(keep).Name)
}
