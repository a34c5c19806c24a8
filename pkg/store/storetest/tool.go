package storetest

import (
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/tool"
)

var toolTests = []test{
	{"Tool/created, listed, changed, deleted", toolLife},
	{"Tool/another project's is not there", toolProjects},
}

// tools reads a page of the project's tools.
func (e *env) tools(limit, page int) (list []tool.Tool, total int) {
	e.Helper()
	ids, total, err := e.s.FindTools(e.ctx, e.project, limit, page)
	e.ok(err)
	list, err = e.s.LoadTools(e.ctx, e.project, ids)
	e.ok(err)
	return list, total
}

func (e *env) createTool(t tool.Tool) string {
	e.Helper()
	t.Complete()
	e.ok(t.Validate())
	id, err := e.s.CreateTool(e.ctx, e.project, t)
	e.ok(err)
	return id
}

func toolLife(e *env) {
	about := "adds"
	first := e.createTool(tool.Tool{Name: "add", Type: "tool", Description: &about, Parameters: raw(`{"n": 9007199254740993, "a": [1.50]}`)})
	second := e.createTool(tool.Tool{Name: "add", Parameters: raw(`"any"`)})
	if len(first) != 24 || !(first < second) {
		e.Errorf("ids %q, %q: want 24 digits, growing", first, second)
	}
	list, total := e.tools(10, 1)
	e.equal("total", 2, total)
	e.equal("first", tool.Tool{ID: first, Name: "add", Type: "tool", Description: &about,
		Parameters: raw(`{"n": 9007199254740993, "a": [1.50]}`), Created: list[0].Created}, list[0])
	e.equal("second", tool.Tool{ID: second, Name: "add", Type: "function", Parameters: raw(`"any"`), Created: list[1].Created}, list[1])
	list, total = e.tools(1, 2)
	e.equal("page of one", []string{second}, []string{list[0].ID})
	e.equal("total of pages", 2, total)

	name, broken := "plus", "neither"
	_, err := e.s.UpdateTool(e.ctx, e.project, tool.Update{ID: first, Type: &broken})
	e.equal("broken rule", fault.Invalid, fault.Of(err))
	got, err := e.s.UpdateTool(e.ctx, e.project, tool.Update{ID: first, Name: &name})
	e.ok(err)
	e.reopen(optionsNone)
	list, _ = e.tools(10, 1)
	e.equal("changed, as answered", got, list[0])
	e.equal("changed name", "plus", list[0].Name)
	e.equal("kept", string(raw(`{"n": 9007199254740993, "a": [1.50]}`)), string(list[0].Parameters))
	if list[0].Updated < list[0].Created {
		e.Errorf("changed at %d, made at %d", list[0].Updated, list[0].Created)
	}

	e.ok(e.s.DeleteTool(e.ctx, e.project, first))
	e.equal("deleted twice", fault.NotFound, fault.Of(e.s.DeleteTool(e.ctx, e.project, first)))
	_, err = e.s.UpdateTool(e.ctx, e.project, tool.Update{ID: first, Name: &name})
	e.equal("changed after deletion", fault.NotFound, fault.Of(err))
	list, total = e.tools(10, 1)
	e.equal("left", []string{second}, []string{list[0].ID})
	e.equal("left total", 1, total)
}

func toolProjects(e *env) {
	id := e.createTool(tool.Tool{Name: "mine"})
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	ids, total, err := e.s.FindTools(e.ctx, other.ID, 10, 1)
	e.ok(err)
	e.equal("found", 0, len(ids)+total)
	list, err := e.s.LoadTools(e.ctx, other.ID, []string{id})
	e.ok(err)
	e.equal("read", 0, len(list))
	name := "theirs"
	_, err = e.s.UpdateTool(e.ctx, other.ID, tool.Update{ID: id, Name: &name})
	e.equal("changed", fault.NotFound, fault.Of(err))
	e.equal("deleted", fault.NotFound, fault.Of(e.s.DeleteTool(e.ctx, other.ID, id)))
	kept, _ := e.tools(10, 1)
	e.equal("kept", "mine", kept[0].Name)
}
