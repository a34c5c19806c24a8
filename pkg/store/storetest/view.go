package storetest

import (
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/view"
)

var viewTests = []test{
	{"View/saved, listed, changed, deleted", viewLife},
	{"View/another project's is not there", viewProjects},
}

// views reads a page of the project's views.
func (e *env) views(limit, page int) (list []view.View, total int) {
	e.Helper()
	ids, total, err := e.s.FindViews(e.ctx, e.project, limit, page)
	e.ok(err)
	list, err = e.s.LoadViews(e.ctx, e.project, ids)
	e.ok(err)
	return list, total
}

func (e *env) saveView(v view.View) view.View {
	e.Helper()
	e.ok(v.Validate())
	saved, err := e.s.CreateView(e.ctx, e.project, v)
	e.ok(err)
	v.ID, v.Created = saved.ID, saved.Created
	e.equal("as it was given", v, saved)
	return saved
}

func viewLife(e *env) {
	first := e.saveView(view.View{Name: "slow", Page: "sessions", State: raw(`{"q": "duration>10s", "n": 1.50}`)})
	second := e.saveView(view.View{Name: "slow", Page: "events", State: raw(`{}`)})
	if len(first.ID) != 24 || !(first.ID < second.ID) {
		e.Errorf("ids %q, %q: want 24 digits, growing", first.ID, second.ID)
	}
	list, total := e.views(10, 1)
	e.equal("total", 2, total)
	e.equal("list", []view.View{first, second}, list)
	list, total = e.views(1, 2)
	e.equal("page of one", []view.View{second}, list)
	e.equal("total of pages", 2, total)

	name, none := "slower", ""
	_, err := e.s.UpdateView(e.ctx, e.project, view.Update{ID: first.ID, Name: &name, Page: &none})
	e.equal("broken rule", fault.Invalid, fault.Of(err))
	got, err := e.s.UpdateView(e.ctx, e.project, view.Update{ID: first.ID, Name: &name, State: raw(`{"q": "has:error"}`)})
	e.ok(err)
	want := first
	want.Name, want.State, want.Updated = name, raw(`{"q": "has:error"}`), got.Updated
	e.equal("changed", want, got)
	e.reopen(optionsNone)
	read, err := e.s.View(e.ctx, e.project, first.ID)
	e.ok(err)
	e.equal("read", got, read)

	e.ok(e.s.DeleteView(e.ctx, e.project, first.ID))
	e.equal("deleted twice", fault.NotFound, fault.Of(e.s.DeleteView(e.ctx, e.project, first.ID)))
	_, err = e.s.UpdateView(e.ctx, e.project, view.Update{ID: first.ID, Name: &name})
	e.equal("changed after deletion", fault.NotFound, fault.Of(err))
	_, err = e.s.View(e.ctx, e.project, first.ID)
	e.equal("read after deletion", fault.NotFound, fault.Of(err))
	list, total = e.views(10, 1)
	e.equal("left", []view.View{second}, list)
	e.equal("left total", 1, total)
}

func viewProjects(e *env) {
	mine := e.saveView(view.View{Name: "mine", Page: "sessions", State: raw(`{}`)})
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	ids, total, err := e.s.FindViews(e.ctx, other.ID, 10, 1)
	e.ok(err)
	e.equal("found", 0, len(ids)+total)
	list, err := e.s.LoadViews(e.ctx, other.ID, []string{mine.ID})
	e.ok(err)
	e.equal("loaded", 0, len(list))
	_, err = e.s.View(e.ctx, other.ID, mine.ID)
	e.equal("read", fault.NotFound, fault.Of(err))
	name := "theirs"
	_, err = e.s.UpdateView(e.ctx, other.ID, view.Update{ID: mine.ID, Name: &name})
	e.equal("changed", fault.NotFound, fault.Of(err))
	e.equal("deleted", fault.NotFound, fault.Of(e.s.DeleteView(e.ctx, other.ID, mine.ID)))
	kept, _ := e.views(10, 1)
	e.equal("kept", []view.View{mine}, kept)
}
