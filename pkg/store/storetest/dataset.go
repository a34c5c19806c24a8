package storetest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/fault"
)

var datasetTests = []test{
	{"Dataset/created, read, changed, deleted", datasetLife},
	{"Dataset/found by id, name and type", datasetFind},
	{"Dataset/its datapoints are an ordered set", datasetOrder},
	{"Dataset/datapoints that are not there", datasetMissing},
	{"Dataset/a row is removed, the datapoint stays", datasetRemoveRow},
	{"Dataset/datapoints are added and removed by id", datasetAddRemove},
	{"Dataset/created with its datapoints, or not at all", datasetOf},
	{"Dataset/versions are compared", datasetDiff},
	{"Dataset/many rows are deleted with it", datasetDeleteLarge},
	{"Dataset/another project's is not there", datasetProjects},
	{"Dataset/updates at once lose no link", datasetRace},
}

func (e *env) dataset(name string, points ...string) string {
	e.Helper()
	set := dataset.New(&dataset.Update{Name: &name})
	e.ok(set.Validate())
	id, err := e.s.CreateDataset(e.ctx, e.project, set, points)
	e.ok(err)
	return id
}

// points makes datapoints whose inputs are {"n": name}, linked with datasets.
func (e *env) points(names string, links ...string) []string {
	e.Helper()
	var list []dataset.Datapoint
	for _, name := range strings.Fields(names) {
		p := dataset.Datapoint{Inputs: text(`{"n":%q}`, name), LinkedDatasets: links}
		p.Complete()
		list = append(list, p)
	}
	ids, err := e.s.CreateDatapoints(e.ctx, e.project, list)
	e.ok(err)
	return ids
}

func (e *env) head(id string, version int64) dataset.Dataset {
	e.Helper()
	d, err := e.s.Dataset(e.ctx, e.project, id, version)
	e.ok(err)
	return d
}

// rows returns the names of a dataset's datapoints in a version, 0 the current one, read by their
// ids and by their contents.
func (e *env) rows(id string, version int64) string {
	e.Helper()
	if version == 0 {
		version = e.head(id, 0).Version
	}
	ids, err := e.s.DatapointIDs(e.ctx, e.project, id, version)
	e.ok(err)
	var names []string
	after, n := int64(0), 0
	for {
		list, next, err := e.s.DatapointsIn(e.ctx, e.project, id, version, after, 2)
		e.ok(err)
		for _, p := range list {
			names = append(names, nameOf(p))
			if n >= len(ids) || ids[n] != p.ID {
				e.Errorf("datapoint %d of %s in version %d is %s, ids are %v", n, id, version, p.ID, ids)
			}
			n++
		}
		if next == 0 {
			break
		}
		after = next
	}
	if n != len(ids) {
		e.Errorf("%d contents of %d datapoints in version %d", n, len(ids), version)
	}
	return strings.Join(names, " ")
}

func nameOf(p dataset.Datapoint) string {
	if p.Deleted {
		return "-"
	}
	return strings.Trim(strings.TrimPrefix(strings.TrimSuffix(string(p.Inputs), "}"), `{"n":`), `"`)
}

func (e *env) updateDataset(u dataset.Update) dataset.Dataset {
	e.Helper()
	d, err := e.s.UpdateDataset(e.ctx, e.project, u)
	e.ok(err)
	return d
}

func datasetLife(e *env) {
	yes := true
	set := dataset.New(
		&dataset.Update{Name: pointer("a"), Description: pointer("d"), Type: pointer("fine-tuning"), PipelineType: pointer("session"),
			LinkedEvals: raw(`["x"]`), Saved: &yes, Metadata: raw(`{"n": 9007199254740993}`)},
	)
	points := e.points("1 2")
	id, err := e.s.CreateDataset(e.ctx, e.project, set, points)
	e.ok(err)
	got := e.head(id, 0)
	set.ID, set.Version, set.Created = id, 1, got.Created
	e.equal("as created", set, got)
	e.equal("rows", "1 2", e.rows(id, 0))
	got = e.updateDataset(dataset.Update{ID: id, Name: pointer("b"), Metadata: raw(`{}`)})
	set.Name, set.Metadata, set.Version, set.Updated = "b", raw(`{}`), 2, got.Updated
	e.equal("as answered", set, got)
	e.reopen(optionsNone)
	e.equal("as changed", set, e.head(id, 0))
	e.equal("rows stay", "1 2", e.rows(id, 0))
	e.equal("the same again", set, e.updateDataset(dataset.Update{ID: id, Name: pointer("b"), Datapoints: points}))
	_, err = e.s.UpdateDataset(e.ctx, e.project, dataset.Update{ID: id, Name: pointer("")})
	e.equal("broken rule", fault.Invalid, fault.Of(err))
	e.equal("current version", int64(2), e.head(id, 0).Version)
	e.ok(e.s.DeleteDataset(e.ctx, e.project, id))
	_, err = e.s.Dataset(e.ctx, e.project, id, 0)
	e.equal("deleted", fault.NotFound, fault.Of(err))
	e.equal("deleted twice", fault.NotFound, fault.Of(e.s.DeleteDataset(e.ctx, e.project, id)))
	_, err = e.s.UpdateDataset(e.ctx, e.project, dataset.Update{ID: id})
	e.equal("changed after", fault.NotFound, fault.Of(err))
	_, err = e.s.Dataset(e.ctx, e.project, id, 2)
	e.equal("its version after", fault.NotFound, fault.Of(err))
	e.equal("links after", 0, len(e.point(points[0]).LinkedDatasets))
	e.equal(
		"rows after",
		0,
		e.place.Count(
			e.T,
			`SELECT (SELECT count(*) FROM dataset_row) + (SELECT count(*) FROM document_version) + (SELECT count(*) FROM deletion)`,
		),
	)
}

func datasetFind(e *env) {
	first, other, sameName := e.dataset("a"), e.dataset("b"), e.dataset("a")
	e.updateDataset(dataset.Update{ID: sameName, Type: pointer("fine-tuning")})
	for _, tt := range []struct {
		q     dataset.Query
		want  []string
		total int
	}{
		{dataset.Query{}, []string{first, other, sameName}, 3},
		{dataset.Query{Name: "a"}, []string{first, sameName}, 2},
		{dataset.Query{Name: "A"}, nil, 0},
		{dataset.Query{ID: other}, []string{other}, 1},
		{dataset.Query{ID: other, Name: "a"}, nil, 0},
		{dataset.Query{ID: "EXT-0123456789abcdef"}, nil, 0},
		{dataset.Query{Type: "fine-tuning"}, []string{sameName}, 1},
		{dataset.Query{Limit: 2, Page: 2}, []string{sameName}, 3},
	} {
		if tt.q.Limit == 0 {
			tt.q.Limit, tt.q.Page = 10, 1
		}
		ids, total, err := e.s.FindDatasets(e.ctx, e.project, tt.q)
		e.ok(err)
		e.equal(fmt.Sprintf("%+v", tt.q), tt.want, ids)
		e.equal("total", tt.total, total)
	}
}

func datasetOrder(e *env) {
	p := e.points("0 1 2 3 4 5")
	pick := func(which string) (list []string) {
		list = []string{}
		for _, c := range which {
			list = append(list, p[c-'0'])
		}
		return list
	}
	id := e.dataset("a", pick("0120")...)
	e.equal("twice is once", "0 1 2", e.rows(id, 0))
	history := []string{"0 1 2"}
	for _, which := range []string{"012345", "12345", "1245", "21", "3012", "3012", "0", "", "54", "554", "0123"} {
		e.updateDataset(dataset.Update{ID: id, Datapoints: pick(which)})
		var names []string
		for _, c := range dataset.Unique(strings.Split(which, "")) {
			if c != "" {
				names = append(names, c)
			}
		}
		want := strings.Join(names, " ")
		e.equal("after "+which, want, e.rows(id, 0))
		if want != history[len(history)-1] {
			history = append(history, want)
		}
		// Added one by one they come last.
		if which == "0" {
			added := e.points("x y", id)
			e.equal("added", "0 x y", e.rows(id, 0))
			history = append(history, "0 x y")
			e.equal("linked", []string{id}, e.point(added[0]).LinkedDatasets)
		}
	}
	for v, want := range history {
		e.equal(fmt.Sprint("version ", v+1), want, e.rows(id, int64(v+1)))
	}
	e.equal("versions", int64(len(history)), e.head(id, 0).Version)
	e.equal("linked", []string{id}, e.point(p[3]).LinkedDatasets)
	e.equal("not linked", 0, len(e.point(p[4]).LinkedDatasets))
}

func datasetMissing(e *env) {
	p := e.points("1 2")
	set := dataset.New(&dataset.Update{})
	_, err := e.s.CreateDataset(e.ctx, e.project, set, []string{p[0], "nobody"})
	e.equal("create", `datapoints[1]: no datapoint "nobody"`, fmt.Sprint(err))
	e.equal("kind", fault.NotFound, fault.Of(err))
	e.equal("datasets", 0, e.place.Count(e.T, `SELECT count(*) FROM dataset`))
	id := e.dataset("a", p...)
	_, err = e.s.UpdateDataset(e.ctx, e.project, dataset.Update{ID: id, Name: pointer("b"), Datapoints: []string{p[1], p[0], "nobody"}})
	e.equal("update", `datapoints[2]: no datapoint "nobody"`, fmt.Sprint(err))
	e.equal("unchanged", "a", e.head(id, 0).Name)
	e.equal("rows unchanged", "1 2", e.rows(id, 0))
}

func datasetRemoveRow(e *env) {
	p := e.points("1 2 3")
	id := e.dataset("a", p...)
	e.ok(e.s.RemoveRow(e.ctx, e.project, id, p[1]))
	e.equal("rows", "1 3", e.rows(id, 0))
	e.equal("before", "1 2 3", e.rows(id, 1))
	e.equal("it stays", "2", nameOf(e.point(p[1])))
	e.equal("without the link", 0, len(e.point(p[1]).LinkedDatasets))
	e.equal("twice", fault.NotFound, fault.Of(e.s.RemoveRow(e.ctx, e.project, id, p[1])))
	e.equal("of nobody", fault.NotFound, fault.Of(e.s.RemoveRow(e.ctx, e.project, "nobody", p[0])))
	e.equal("version", int64(2), e.head(id, 0).Version)
}

func datasetAddRemove(e *env) {
	p := e.points("1 2 3 4")
	id := e.dataset("a", p[:3]...)
	d := e.updateDataset(dataset.Update{ID: id, Add: []string{p[3], p[0], p[3]}, Remove: []string{p[1], "nobody"}})
	e.equal("version", int64(2), d.Version)
	e.equal("rows", "1 3 4", e.rows(id, 0))
	d = e.updateDataset(dataset.Update{ID: id, Add: []string{p[0]}, Remove: []string{p[1]}})
	e.equal("nothing to do", int64(2), d.Version)
	e.updateDataset(dataset.Update{ID: id, Remove: p})
	e.equal("all removed", "", e.rows(id, 0))
	e.updateDataset(dataset.Update{ID: id, Add: p})
	e.equal("all added", "1 2 3 4", e.rows(id, 0))
	_, err := e.s.UpdateDataset(e.ctx, e.project, dataset.Update{ID: id, Add: []string{"nobody"}})
	e.equal("of nobody", fault.NotFound, fault.Of(err))
	for version, want := range map[int64]int{1: 3, 2: 3, 3: 0, 4: 4} {
		n, err := e.s.CountDatapoints(e.ctx, e.project, id, version)
		e.ok(err)
		e.equal(fmt.Sprint("rows of version ", version), want, n)
	}
}

func datasetOf(e *env) {
	name := "of"
	set := dataset.New(&dataset.Update{Name: &name})
	list := make([]dataset.Datapoint, 1203)
	for i := range list {
		list[i].Inputs = text(`{"n":%d}`, i)
		list[i].Complete()
	}
	id, ids, err := e.s.CreateDatasetOf(e.ctx, e.project, set, list)
	e.ok(err)
	e.equal("ids", len(list), len(ids))
	got := strings.Fields(e.rows(id, 0))
	e.equal("rows", len(list), len(got))
	e.equal("the last", "1202", got[1202])
	e.equal("version", int64(1), e.head(id, 0).Version)
	e.equal("links", []string{id}, e.point(ids[7]).LinkedDatasets)
	e.equal("versions", 0, e.place.Count(e.T, `SELECT count(*) FROM document_version`))
	id, ids, err = e.s.CreateDatasetOf(e.ctx, e.project, set, nil)
	e.ok(err)
	e.equal("none", "", e.rows(id, 0))
	e.equal("no ids", 0, len(ids))
	_, _, err = e.s.CreateDatasetOf(e.ctx, e.project, set, make([]dataset.Datapoint, dataset.MaxDatapoints+1))
	e.equal("too many", fault.Invalid, fault.Of(err))
	e.equal("datapoints", 1203, e.place.Count(e.T, `SELECT count(*) FROM datapoint`))
}

// diff draws the difference of two versions of a dataset: what was added, removed and changed, and how many in all.
func (e *env) diff(id string, from, to int64, only string) string {
	e.Helper()
	var b strings.Builder
	q := dataset.DiffQuery{From: from, To: to, Only: only, Limit: 2}
	for {
		d, err := e.s.DiffDataset(e.ctx, e.project, id, q)
		e.ok(err)
		for i := range d.Rows {
			row := &d.Rows[i]
			fmt.Fprintf(&b, "%s ", row.Kind())
			for _, p := range []*dataset.Datapoint{row.Before, row.After} {
				if p != nil {
					fmt.Fprintf(&b, "%s ", nameOf(*p))
				}
			}
			q.After = row.ID
		}
		if !d.More {
			fmt.Fprintf(&b, "+%d -%d ~%d", d.Added, d.Removed, d.Changed)
			return b.String()
		}
	}
}

func datasetDiff(e *env) {
	p := e.points("1 2 3 4 5")
	id := e.dataset("a", p[:4]...) // version 1
	other := e.dataset("b", p...)
	e.updateDataset(dataset.Update{ID: id, Datapoints: []string{p[3], p[2], p[1], p[4]}}) // 2: without 1, with 5, in another order
	e.updatePoint(dataset.PointUpdate{ID: p[1], Inputs: raw(`{"n":"two"}`)})              // 3
	e.updatePoint(dataset.PointUpdate{ID: p[2], Metadata: raw(`{"x":1}`)})                // 4
	e.updatePoint(dataset.PointUpdate{ID: p[2], Metadata: raw(`{}`)})                     // 5: as it was
	e.equal("order does not count", "removed 1 added 5 +1 -1 ~0", e.diff(id, 1, 2, ""))
	e.equal("all", "removed 1 changed 2 two added 5 +1 -1 ~1", e.diff(id, 1, 5, ""))
	e.equal("back", "added 1 changed two 2 removed 5 +1 -1 ~1", e.diff(id, 5, 1, ""))
	e.equal("only changed", "changed 2 two +1 -1 ~1", e.diff(id, 1, 5, dataset.Changed))
	e.equal("only removed", "removed 1 +1 -1 ~1", e.diff(id, 1, 5, dataset.Removed))
	e.equal("of metadata", "changed 3 3 +0 -0 ~1", e.diff(id, 3, 4, ""))
	e.equal("of the same", "+0 -0 ~0", e.diff(id, 3, 3, ""))
	e.equal("changed back", "+0 -0 ~0", e.diff(id, 3, 5, ""))
	e.ok(e.s.DeleteDatapoint(e.ctx, e.project, p[1])) // 6
	e.equal("deleted", "removed - +0 -1 ~0", e.diff(id, 5, 6, ""))
	e.equal("deleted since", "removed 1 removed - added 5 +1 -2 ~0", e.diff(id, 1, 6, ""))
	e.equal("of another", "changed - - changed 3 3 +0 -0 ~2", e.diff(other, 1, 3, ""))
	mine := e.project
	theirs, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	e.project = theirs.ID
	e.equal("of another project", "+0 -0 ~0", e.diff(id, 1, 6, ""))
	e.project = mine
}

func datasetDeleteLarge(e *env) {
	var names strings.Builder
	for i := range 1203 {
		fmt.Fprintf(&names, "%d ", i)
	}
	id, other := e.dataset("a"), e.dataset("b")
	p := e.points(names.String(), id)
	e.points("x", other)
	e.updateDataset(dataset.Update{ID: id, Datapoints: p[:1000]})
	_, err := e.s.UpdateDatapoint(e.ctx, e.project, dataset.PointUpdate{ID: p[7], Metadata: raw(`{"a":1}`)})
	e.ok(err)
	e.equal("rows now", 1000, len(strings.Fields(e.rows(id, 0))))
	e.equal("rows before", strings.TrimSpace(names.String()), e.rows(id, 2))
	e.ok(e.s.DeleteDataset(e.ctx, e.project, id))
	e.equal("rows", 1, e.place.Count(e.T, `SELECT count(*) FROM dataset_row`))
	e.equal("old versions", 1, e.place.Count(e.T, `SELECT count(*) FROM document_version`))
	e.equal("datapoints", 1204, e.place.Count(e.T, `SELECT count(*) FROM datapoint`))
	e.equal("the other's", "x", e.rows(other, 0))
}

func datasetProjects(e *env) {
	p := e.points("1")
	id := e.dataset("mine", p...)
	mine := e.project
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	e.project = other.ID
	theirs := e.points("2")
	_, err = e.s.Dataset(e.ctx, e.project, id, 0)
	e.equal("read", fault.NotFound, fault.Of(err))
	ids, err := e.s.DatapointIDs(e.ctx, e.project, id, 1)
	e.ok(err)
	e.equal("rows", 0, len(ids))
	list, _, err := e.s.DatapointsIn(e.ctx, e.project, id, 1, 0, 10)
	e.ok(err)
	e.equal("contents", 0, len(list))
	_, total, err := e.s.FindDatasets(e.ctx, e.project, dataset.Query{Limit: 10, Page: 1})
	e.ok(err)
	e.equal("found", 0, total)
	_, err = e.s.UpdateDataset(e.ctx, e.project, dataset.Update{ID: id, Name: pointer("x")})
	e.equal("changed", fault.NotFound, fault.Of(err))
	e.equal("deleted", fault.NotFound, fault.Of(e.s.DeleteDataset(e.ctx, e.project, id)))
	e.equal("row removed", fault.NotFound, fault.Of(e.s.RemoveRow(e.ctx, e.project, id, p[0])))
	_, err = e.s.CreateDatapoints(
		e.ctx,
		e.project,
		[]dataset.Datapoint{{Inputs: raw(`{}`), History: raw(`[]`), GroundTruth: raw(`{}`), Metadata: raw(`{}`), LinkedDatasets: []string{id}}},
	)
	e.equal("added to", fault.NotFound, fault.Of(err))
	_, err = e.s.UpdateDatapoint(e.ctx, e.project, dataset.PointUpdate{ID: theirs[0], LinkedDatasets: []string{id}})
	e.equal("linked with", fault.NotFound, fault.Of(err))
	_, err = e.s.CreateDataset(e.ctx, e.project, dataset.New(&dataset.Update{}), p)
	e.equal("made of", fault.NotFound, fault.Of(err))
	_, _, err = e.s.DatasetVersions(e.ctx, e.project, id, 1, 1)
	e.equal("versions", fault.NotFound, fault.Of(err))
	e.project = mine
	e.equal("kept", "1", e.rows(id, 0))
}

// datasetRace links, unlinks, changes and removes at once.
func datasetRace(e *env) {
	id, other := e.dataset("a"), e.dataset("b")
	stays := e.points("s t u", id)
	goes := e.points("g", id, other)[0]
	free := e.points("0 1 2 3 4 5 6 7")
	var group sync.WaitGroup
	run := func(f func() error) {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := f(); err != nil {
				e.Error(err)
			}
		}()
	}
	for i, p := range free {
		run(func() error {
			links := []string{id, other}
			if i%2 == 0 {
				links = []string{other, id}
			}
			_, err := e.s.UpdateDatapoint(e.ctx, e.project, dataset.PointUpdate{ID: p, LinkedDatasets: links, Metadata: text(`{"i":%d}`, i)})
			return err
		})
		run(func() error {
			p := dataset.Datapoint{LinkedDatasets: []string{other, id}}
			p.Complete()
			_, err := e.s.CreateDatapoints(e.ctx, e.project, []dataset.Datapoint{p})
			return err
		})
		run(func() error {
			_, err := e.s.UpdateDataset(e.ctx, e.project, dataset.Update{ID: id, Description: pointer(fmt.Sprint(i))})
			return err
		})
		run(func() error {
			_, err := e.s.UpdateDatapoint(e.ctx, e.project, dataset.PointUpdate{ID: stays[i%3], Metadata: text(`{"i":%d}`, i)})
			return err
		})
	}
	run(func() error { return e.s.DeleteDatapoint(e.ctx, e.project, goes) })
	group.Wait()
	for _, set := range []string{id, other} {
		ids, err := e.s.DatapointIDs(e.ctx, e.project, set, e.head(set, 0).Version)
		e.ok(err)
		want := 16
		if set == id {
			want = 19
		}
		e.equal("datapoints", want, len(ids))
		e.equal("each once", want, len(dataset.Unique(ids)))
		list, total, err := e.s.DatasetVersions(e.ctx, e.project, set, 1000, 1)
		e.ok(err)
		for n, v := range list {
			e.equal("versions without a gap", int64(total-n), v.Version)
		}
	}
	for _, p := range free {
		e.equal("links", []string{id, other}, e.point(p).LinkedDatasets)
	}
	// Open rows name the datapoints as they are.
	e.equal("rows of another version", 0, e.place.Count(e.T, `SELECT count(*) FROM dataset_row r LEFT JOIN datapoint d ON d.id = r.datapoint_id
		WHERE r.to_version IS NULL AND (d.id IS NULL OR d.version <> r.datapoint_version)`))
}
