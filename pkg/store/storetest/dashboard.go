package storetest

import (
	"github.com/spangrove/spangrove/pkg/dashboard"
	"github.com/spangrove/spangrove/pkg/fault"
)

var dashboardTests = []test{
	{"Dashboard/kept, listed, changed, deleted", dashboardLife},
	{"Dashboard/another project's is not there", dashboardProjects},
}

// dashboards reads a page of the project's dashboards.
func (e *env) dashboards(limit, page int) (list []dashboard.Dashboard, total int) {
	e.Helper()
	ids, total, err := e.s.FindDashboards(e.ctx, e.project, limit, page)
	e.ok(err)
	list, err = e.s.LoadDashboards(e.ctx, e.project, ids)
	e.ok(err)
	return list, total
}

func (e *env) saveDashboard(v dashboard.Dashboard) dashboard.Dashboard {
	e.Helper()
	e.ok(v.Validate())
	saved, err := e.s.CreateDashboard(e.ctx, e.project, v)
	e.ok(err)
	v.ID, v.Created = saved.ID, saved.Created
	e.equal("as it was given", v, saved)
	return saved
}

func dashboardLife(e *env) {
	first := e.saveDashboard(dashboard.Dashboard{Name: "slow", Layout: raw(`[{"chart": "c",  "x": 0, "y": 2, "width": 12, "height": 3}]`)})
	second := e.saveDashboard(dashboard.Dashboard{Name: "slow", Layout: raw(`[]`)})
	if len(first.ID) != 24 || !(first.ID < second.ID) {
		e.Errorf("ids %q, %q: want 24 digits, growing", first.ID, second.ID)
	}
	list, total := e.dashboards(10, 1)
	e.equal("total", 2, total)
	e.equal("list", []dashboard.Dashboard{first, second}, list)
	list, total = e.dashboards(1, 2)
	e.equal("page of one", []dashboard.Dashboard{second}, list)
	e.equal("total of pages", 2, total)

	name, none := "slower", ""
	_, err := e.s.UpdateDashboard(e.ctx, e.project, dashboard.Update{ID: first.ID, Name: &none})
	e.equal("broken rule", fault.Invalid, fault.Of(err))
	got, err := e.s.UpdateDashboard(e.ctx, e.project, dashboard.Update{ID: first.ID, Name: &name, Layout: raw(`[]`), Description: &name})
	e.ok(err)
	want := first
	want.Name, want.Description, want.Layout, want.Updated = name, &name, raw(`[]`), got.Updated
	e.equal("changed", want, got)
	e.reopen(optionsNone)
	read, err := e.s.Dashboard(e.ctx, e.project, first.ID)
	e.ok(err)
	e.equal("read", got, read)

	e.ok(e.s.DeleteDashboard(e.ctx, e.project, first.ID))
	e.equal("deleted twice", fault.NotFound, fault.Of(e.s.DeleteDashboard(e.ctx, e.project, first.ID)))
	_, err = e.s.UpdateDashboard(e.ctx, e.project, dashboard.Update{ID: first.ID, Name: &name})
	e.equal("changed after deletion", fault.NotFound, fault.Of(err))
	_, err = e.s.Dashboard(e.ctx, e.project, first.ID)
	e.equal("read after deletion", fault.NotFound, fault.Of(err))
	list, total = e.dashboards(10, 1)
	e.equal("left", []dashboard.Dashboard{second}, list)
	e.equal("left total", 1, total)
}

func dashboardProjects(e *env) {
	mine := e.saveDashboard(dashboard.Dashboard{Name: "mine", Layout: raw(`[]`)})
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	ids, total, err := e.s.FindDashboards(e.ctx, other.ID, 10, 1)
	e.ok(err)
	e.equal("found", 0, len(ids)+total)
	list, err := e.s.LoadDashboards(e.ctx, other.ID, []string{mine.ID})
	e.ok(err)
	e.equal("loaded", 0, len(list))
	_, err = e.s.Dashboard(e.ctx, other.ID, mine.ID)
	e.equal("read", fault.NotFound, fault.Of(err))
	name := "theirs"
	_, err = e.s.UpdateDashboard(e.ctx, other.ID, dashboard.Update{ID: mine.ID, Name: &name})
	e.equal("changed", fault.NotFound, fault.Of(err))
	e.equal("deleted", fault.NotFound, fault.Of(e.s.DeleteDashboard(e.ctx, other.ID, mine.ID)))
	kept, _ := e.dashboards(10, 1)
	e.equal("kept", []dashboard.Dashboard{mine}, kept)
}
