package storetest

import (
	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/fault"
)

var savedChartTests = []test{
	{"SavedChart/saved, listed, changed, deleted", savedChartLife},
	{"SavedChart/another project's is not there", savedChartProjects},
}

// charts reads a page of the project's saved charts.
func (e *env) charts(limit, page int) (list []chart.Chart, total int) {
	e.Helper()
	ids, total, err := e.s.FindCharts(e.ctx, e.project, limit, page)
	e.ok(err)
	list, err = e.s.LoadCharts(e.ctx, e.project, ids)
	e.ok(err)
	return list, total
}

func (e *env) saveChart(c chart.Chart) chart.Chart {
	e.Helper()
	c.Complete()
	e.ok(c.Validate())
	saved, err := e.s.CreateChart(e.ctx, e.project, c)
	e.ok(err)
	c.ID, c.Created = saved.ID, saved.Created
	e.equal("as it was given", c, saved)
	return saved
}

func savedChartLife(e *env) {
	about, owner := "of models", "u-1"
	first := e.saveChart(
		chart.Chart{Name: "delay", Description: &about, Metric: "duration", Func: "p95", GroupBy: "config.model", Bucketing: "1d",
			DateRange: raw(`{"relative": "7d"}`),
			Query:     raw(`[{"field": "metadata.n", "operator": "is", "type": "number", "value": 1.50}]`),
			OwnerID:   &owner,
		},
	)
	second := e.saveChart(chart.Chart{Name: "delay", Metric: "cost"})
	if len(first.ID) != 24 || !(first.ID < second.ID) {
		e.Errorf("ids %q, %q: want 24 digits, growing", first.ID, second.ID)
	}
	list, total := e.charts(10, 1)
	e.equal("total", 2, total)
	e.equal("list", []chart.Chart{first, second}, list)
	list, total = e.charts(1, 2)
	e.equal("page of one", []chart.Chart{second}, list)
	e.equal("total of pages", 2, total)

	name, none := "lag", ""
	_, err := e.s.UpdateChart(e.ctx, e.project, chart.Update{ID: first.ID, Name: &name, Metric: &none})
	e.equal("broken rule", fault.Invalid, fault.Of(err))
	got, err := e.s.UpdateChart(
		e.ctx,
		e.project,
		chart.Update{ID: first.ID, Name: &name, GroupBy: &none, Bucketing: &none, DateRange: raw(`{}`)},
	)
	e.ok(err)
	want := first
	want.Name, want.GroupBy, want.Bucketing, want.DateRange, want.Updated = "lag", "", "hour", nil, got.Updated
	e.equal("changed", want, got)
	if got.Updated < got.Created {
		e.Errorf("changed at %d, made at %d", got.Updated, got.Created)
	}
	e.reopen(optionsNone)
	read, err := e.s.SavedChart(e.ctx, e.project, first.ID)
	e.ok(err)
	e.equal("read", got, read)

	e.ok(e.s.DeleteChart(e.ctx, e.project, first.ID))
	e.equal("deleted twice", fault.NotFound, fault.Of(e.s.DeleteChart(e.ctx, e.project, first.ID)))
	_, err = e.s.UpdateChart(e.ctx, e.project, chart.Update{ID: first.ID, Name: &name})
	e.equal("changed after deletion", fault.NotFound, fault.Of(err))
	_, err = e.s.SavedChart(e.ctx, e.project, first.ID)
	e.equal("read after deletion", fault.NotFound, fault.Of(err))
	list, total = e.charts(10, 1)
	e.equal("left", []chart.Chart{second}, list)
	e.equal("left total", 1, total)
}

func savedChartProjects(e *env) {
	mine := e.saveChart(chart.Chart{Name: "mine", Metric: "duration"})
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	ids, total, err := e.s.FindCharts(e.ctx, other.ID, 10, 1)
	e.ok(err)
	e.equal("found", 0, len(ids)+total)
	list, err := e.s.LoadCharts(e.ctx, other.ID, []string{mine.ID})
	e.ok(err)
	e.equal("loaded", 0, len(list))
	_, err = e.s.SavedChart(e.ctx, other.ID, mine.ID)
	e.equal("read", fault.NotFound, fault.Of(err))
	name := "theirs"
	_, err = e.s.UpdateChart(e.ctx, other.ID, chart.Update{ID: mine.ID, Name: &name})
	e.equal("changed", fault.NotFound, fault.Of(err))
	e.equal("deleted", fault.NotFound, fault.Of(e.s.DeleteChart(e.ctx, other.ID, mine.ID)))
	kept, _ := e.charts(10, 1)
	e.equal("kept", []chart.Chart{mine}, kept)
}
