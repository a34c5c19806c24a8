package storetest

import (
	"fmt"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/fault"
)

var datapointTests = []test{
	{"Datapoint/created, read, changed, deleted", pointLife},
	{"Datapoint/found by ids and by a dataset's name", pointFind},
	{"Datapoint/links go both ways", pointLinks},
	{"Datapoint/a change that another overtook is refused", pointOvertaken},
	{"Datapoint/all or none are created", pointAllOrNone},
	{"Datapoint/another project's is not there", pointProjects},
	{"Datapoint/an id of an event that is too long for an index is refused", pointLongEvent},
}

var versionTests = []test{
	{"Version/every change of a dataset makes one", versionEach},
	{"Version/of a deleted datapoint old ones have the id", versionDeleted},
	{"Version/old ones go with the last dataset that had them", versionSweep},
}

func (e *env) point(id string) dataset.Datapoint {
	e.Helper()
	list, err := e.s.LoadDatapoints(e.ctx, e.project, []string{id})
	e.ok(err)
	if len(list) != 1 {
		e.Fatalf("datapoint %s is not there", id)
	}
	return list[0]
}

func (e *env) updatePoint(u dataset.PointUpdate) bool {
	e.Helper()
	changed, err := e.s.UpdateDatapoint(e.ctx, e.project, u)
	e.ok(err)
	return changed
}

func pointOvertaken(e *env) {
	p := e.points("1")[0]
	e.equal("version", int64(1), e.point(p).Version)
	e.updatePoint(dataset.PointUpdate{ID: p, Inputs: raw(`{"n":"one"}`), IfVersion: 1})
	e.equal("changed", int64(2), e.point(p).Version)
	_, err := e.s.UpdateDatapoint(e.ctx, e.project, dataset.PointUpdate{ID: p, Inputs: raw(`{"n":"eins"}`), IfVersion: 1})
	e.equal("overtaken", fault.Conflict, fault.Of(err))
	e.equal("it stays", "one", nameOf(e.point(p)))
}

func pointLife(e *env) {
	yes := true
	want := dataset.Datapoint{
		Inputs:      raw(`{"q": 9007199254740993}`),
		History:     raw(`[{"role":"user"},{"f":1.50}]`),
		GroundTruth: raw(`{"a":"é"}`),
		Metadata: raw(
			`{"m":null}`,
		),
		LinkedEvent:    "event",
		LinkedEvals:    raw(`["e"]`),
		Saved:          &yes,
		Type:           pointer("t"),
		LinkedDatasets: []string{"EXT-1"},
	}
	least := dataset.Datapoint{}
	least.Complete()
	ids, err := e.s.CreateDatapoints(e.ctx, e.project, []dataset.Datapoint{want, least})
	e.ok(err)
	got := e.point(ids[0])
	want.ID, want.Created, want.Version = ids[0], got.Created, 1
	e.equal("as created", want, got)
	got = e.point(ids[1])
	e.equal(
		"the least",
		dataset.Datapoint{ID: ids[1], Inputs: raw(`{}`), History: raw(`[]`), GroundTruth: raw(`{}`), Metadata: raw(`{}`), Created: got.Created, Version: 1},
		got,
	)
	e.equal("changed", true, e.updatePoint(dataset.PointUpdate{ID: ids[0], Inputs: raw(`{"q":1.0}`), LinkedEvent: pointer("other")}))
	e.reopen(optionsNone)
	got = e.point(ids[0])
	want.Inputs, want.LinkedEvent, want.Updated, want.Version = raw(`{"q":1.0}`), "other", got.Updated, 2
	e.equal("as changed", want, got)
	if got.Updated == 0 {
		e.Error("no time of the change")
	}
	e.equal("the same again", false, e.updatePoint(dataset.PointUpdate{ID: ids[0], Inputs: raw(`{"q":1.0}`)}))
	e.equal("external links go", true, e.updatePoint(dataset.PointUpdate{ID: ids[0], LinkedDatasets: []string{}}))
	e.equal("links", 0, len(e.point(ids[0]).LinkedDatasets))
	e.ok(e.s.DeleteDatapoint(e.ctx, e.project, ids[0]))
	e.equal("deleted twice", fault.NotFound, fault.Of(e.s.DeleteDatapoint(e.ctx, e.project, ids[0])))
	_, err = e.s.UpdateDatapoint(e.ctx, e.project, dataset.PointUpdate{ID: ids[0]})
	e.equal("changed after", fault.NotFound, fault.Of(err))
	list, err := e.s.LoadDatapoints(e.ctx, e.project, ids)
	e.ok(err)
	e.equal("left", []string{ids[1]}, []string{list[0].ID})
	e.equal("old versions", 0, e.place.Count(e.T, `SELECT count(*) FROM document_version`))
}

func pointFind(e *env) {
	first, other, sameName := e.dataset("a"), e.dataset("b"), e.dataset("a")
	p := e.points("0 1 2 3")
	e.updateDataset(dataset.Update{ID: first, Datapoints: []string{p[2], p[0]}})
	e.updateDataset(dataset.Update{ID: other, Datapoints: []string{p[1]}})
	e.updateDataset(dataset.Update{ID: sameName, Datapoints: []string{p[2], p[3]}})
	e.ok(e.s.RemoveRow(e.ctx, e.project, sameName, p[3]))
	for _, tt := range []struct {
		q     dataset.PointQuery
		want  []string
		total int
	}{
		{dataset.PointQuery{}, p, 4},
		{dataset.PointQuery{IDs: []string{p[3], "nobody", "EXT-1", p[1], p[1]}}, []string{p[1], p[3]}, 2},
		{dataset.PointQuery{IDs: []string{}}, nil, 0},
		{dataset.PointQuery{Dataset: "a"}, []string{p[0], p[2]}, 2},
		{dataset.PointQuery{Dataset: "b"}, []string{p[1]}, 1},
		{dataset.PointQuery{Dataset: "none"}, nil, 0},
		{dataset.PointQuery{Dataset: "a", IDs: []string{p[1], p[2]}}, []string{p[2]}, 1},
		{dataset.PointQuery{Limit: 3, Page: 2}, []string{p[3]}, 4},
	} {
		if tt.q.Limit == 0 {
			tt.q.Limit, tt.q.Page = 10, 1
		}
		ids, total, err := e.s.FindDatapoints(e.ctx, e.project, tt.q)
		e.ok(err)
		e.equal(fmt.Sprintf("%+v", tt.q), tt.want, ids)
		e.equal("total", tt.total, total)
	}
}

func pointLinks(e *env) {
	a, b := e.dataset("a"), e.dataset("b")
	p := e.points("p", a)[0]
	e.equal("made with a link", "p", e.rows(a, 0))
	e.equal("and back", []string{a}, e.point(p).LinkedDatasets)
	e.updatePoint(dataset.PointUpdate{ID: p, LinkedDatasets: []string{b, "EXT-9", b, a}})
	e.equal("both", []string{a, b, "EXT-9"}, e.point(p).LinkedDatasets)
	e.equal("in b", "p", e.rows(b, 0))
	e.equal("a as it was", int64(3), e.head(a, 0).Version) // the external link is the datapoint's, so a's datapoint changed
	e.updatePoint(dataset.PointUpdate{ID: p, LinkedDatasets: []string{b, "EXT-9"}})
	e.equal("out of a", "", e.rows(a, 0))
	e.equal("in b still", "p", e.rows(b, 0))
	e.updateDataset(dataset.Update{ID: b, Datapoints: []string{}})
	e.equal("out of both", []string{"EXT-9"}, e.point(p).LinkedDatasets)
	_, err := e.s.UpdateDatapoint(
		e.ctx,
		e.project,
		dataset.PointUpdate{ID: p, Metadata: raw(`{"x":1}`), LinkedDatasets: []string{a, "nobody"}},
	)
	e.equal("an unknown dataset", fault.NotFound, fault.Of(err))
	e.equal("nothing done", "{}", string(e.point(p).Metadata))
	e.equal("nothing linked", "", e.rows(a, 0))
}

func pointAllOrNone(e *env) {
	a := e.dataset("a")
	list := make([]dataset.Datapoint, 3)
	for i := range list {
		list[i].Complete()
		list[i].LinkedDatasets = []string{a}
	}
	list[2].LinkedDatasets = []string{"nobody"}
	_, err := e.s.CreateDatapoints(e.ctx, e.project, list)
	e.equal("unknown dataset", fault.NotFound, fault.Of(err))
	e.equal("datapoints", 0, e.place.Count(e.T, `SELECT count(*) FROM datapoint`))
	e.equal("version", int64(1), e.head(a, 0).Version)
}

func pointProjects(e *env) {
	p := e.points("mine")[0]
	mine := e.project
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	e.project = other.ID
	_, total, err := e.s.FindDatapoints(e.ctx, e.project, dataset.PointQuery{IDs: []string{p}, Limit: 10, Page: 1})
	e.ok(err)
	e.equal("found", 0, total)
	list, err := e.s.LoadDatapoints(e.ctx, e.project, []string{p})
	e.ok(err)
	e.equal("read", 0, len(list))
	_, err = e.s.UpdateDatapoint(e.ctx, e.project, dataset.PointUpdate{ID: p, Inputs: raw(`{}`)})
	e.equal("changed", fault.NotFound, fault.Of(err))
	e.equal("deleted", fault.NotFound, fault.Of(e.s.DeleteDatapoint(e.ctx, e.project, p)))
	e.project = mine
	e.equal("kept", "mine", nameOf(e.point(p)))
}

func versionEach(e *env) {
	p := e.points("a b")
	id := e.dataset("one", p...) // 1
	other := e.dataset("other", p[0])
	e.updateDataset(dataset.Update{ID: id, Description: pointer("two")})                        // 2
	e.updatePoint(dataset.PointUpdate{ID: p[0], Inputs: raw(`{"n":"A"}`)})                      // 3
	e.points("c", id)                                                                           // 4
	e.updatePoint(dataset.PointUpdate{ID: p[0], Inputs: raw(`{"n":"AA"}`)})                     // 5
	e.ok(e.s.RemoveRow(e.ctx, e.project, id, p[1]))                                             // 6
	e.updatePoint(dataset.PointUpdate{ID: p[1], Inputs: raw(`{"n":"B"}`)})                      // none: it is out
	e.updateDataset(dataset.Update{ID: id, Name: pointer("seven"), Datapoints: []string{p[1]}}) // 7
	e.updatePoint(dataset.PointUpdate{ID: p[1], Inputs: raw(`{"n":"B"}`)})                      // none: it says so
	e.updatePoint(dataset.PointUpdate{ID: p[0], LinkedDatasets: []string{id}})                  // 8
	versions := func(when string, want ...string) {
		for i, want := range want {
			v := int64(i + 1)
			d := e.head(id, v)
			e.equal(fmt.Sprint(when, ", version ", v), want, d.Name+" "+e.rows(id, v))
			e.equal("its number", v, d.Version)
		}
	}
	versions("before", "one a b", "one a b", "one A b", "one A b c", "one AA b c", "one AA c", "seven B", "seven B AA")
	e.equal("the other", "a/A/AA", e.rows(other, 1)+"/"+e.rows(other, 2)+"/"+e.rows(other, 3))
	e.ok(e.s.DeleteDatapoint(e.ctx, e.project, p[0])) // 9
	e.equal("in force", int64(9), e.head(id, 0).Version)
	versions("after", "one - b", "one - b", "one - b", "one - b c", "one - b c", "one - c", "seven B", "seven B -", "seven B")
	if d := e.head(id, 1); d.Description != nil || d.Updated != 0 {
		e.Errorf("the first version: %+v", d)
	}
	e.equal("the other", "-/-/-/", e.rows(other, 1)+"/"+e.rows(other, 2)+"/"+e.rows(other, 3)+"/"+e.rows(other, 0))
	_, err := e.s.Dataset(e.ctx, e.project, id, 10)
	e.equal("a version to come", fault.NotFound, fault.Of(err))
	list, total, err := e.s.DatasetVersions(e.ctx, e.project, id, 4, 2)
	e.ok(err)
	e.equal("versions", []int64{5, 4, 3, 2}, []int64{list[0].Version, list[1].Version, list[2].Version, list[3].Version})
	e.equal("all of them", 9, total)
}

func versionDeleted(e *env) {
	p := e.points("a")[0]
	id := e.dataset("d", p)
	e.ok(e.s.DeleteDatapoint(e.ctx, e.project, p))
	e.reopen(optionsNone)
	e.equal("now", "", e.rows(id, 0))
	old, _, err := e.s.DatapointsIn(e.ctx, e.project, id, 1, 0, 10)
	e.ok(err)
	gone := dataset.Datapoint{ID: p, Deleted: true, Position: 1}
	gone.Complete()
	e.equal("then", []dataset.Datapoint{gone}, old)
	e.equal("old datapoints", 0, e.place.Count(e.T, `SELECT count(*) FROM document_version WHERE kind = 'datapoint'`))
	list, err := e.s.LoadDatapoints(e.ctx, e.project, []string{p})
	e.ok(err)
	e.equal("by itself", 0, len(list))
}

func versionSweep(e *env) {
	p := e.points("a b")
	one, two := e.dataset("one", p...), e.dataset("two", p[0])
	for _, id := range p {
		e.updatePoint(dataset.PointUpdate{ID: id, Inputs: raw(`{"n":"new"}`)})
	}
	old := func() int {
		return e.place.Count(e.T, `SELECT count(*) FROM document_version WHERE kind = 'datapoint'`)
	}
	e.equal("old datapoints", 2, old())
	e.ok(e.s.DeleteDataset(e.ctx, e.project, one))
	e.equal("of the other dataset", 1, old())
	e.equal("which shows it", "a", e.rows(two, 1))
	e.ok(e.s.DeleteDataset(e.ctx, e.project, two))
	e.equal("of none", 0, old())
	e.equal("rows", 0, e.place.Count(e.T, `SELECT (SELECT count(*) FROM dataset_row) + (SELECT count(*) FROM document_version)`))
}

func pointLongEvent(e *env) {
	id := e.points("p")[0]
	long, longest := prose(4000, 1), prose(200, 2)
	e.updatePoint(dataset.PointUpdate{ID: id, LinkedEvent: &longest})
	_, err := e.s.UpdateDatapoint(e.ctx, e.project, dataset.PointUpdate{ID: id, LinkedEvent: &long})
	e.equal("changed", fault.Invalid, fault.Of(err))
	e.equal("as it was", longest, e.point(id).LinkedEvent)
}
