package storetest

import (
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/comment"
	"github.com/spangrove/spangrove/pkg/fault"
)

var commentTests = []test{
	{"Comment/said, listed, changed, deleted", commentLife},
	{"Comment/another project's is not there", commentProjects},
	{"Comment/goes with its event", commentErase},
	{"Comment/moves with its session", commentMoves},
	{"Comment/no more than the bound on one event", commentBound},
}

// comments reads a page of the comments on an event.
func (e *env) comments(event string, limit, page int) (list []comment.Comment, total int) {
	e.Helper()
	ids, total, err := e.s.FindComments(e.ctx, e.project, id(event), limit, page)
	e.ok(err)
	list, err = e.s.LoadComments(e.ctx, e.project, ids)
	e.ok(err)
	return list, total
}

func (e *env) say(event, author, text string) comment.Comment {
	e.Helper()
	c := comment.Comment{EventID: id(event), Author: author, Text: text}
	e.ok(c.Validate())
	said, err := e.s.CreateComment(e.ctx, e.project, c)
	e.ok(err)
	c.ID, c.Created, c.EventID = said.ID, said.Created, said.EventID
	e.equal("as it was given", c, said)
	return said
}

// texts returns the texts of the comments on an event.
func (e *env) texts(event string) string {
	e.Helper()
	list, _ := e.comments(event, 100, 1)
	var all []string
	for _, c := range list {
		all = append(all, c.Text)
	}
	return strings.Join(all, " ")
}

func commentLife(e *env) {
	e.putEach(step("s", "a", 1), step("s", "b", 2))
	first, second := e.say("a", "ann \"<é>", "one\n\u202e"), e.say("a", "bob", "two")
	other := e.say("b", "ann", "three")
	if len(first.ID) != 24 || !(first.ID < second.ID) {
		e.Errorf("ids %q, %q: want 24 digits, growing", first.ID, second.ID)
	}
	list, total := e.comments("a", 10, 1)
	e.equal("total", 2, total)
	e.equal("list", []comment.Comment{first, second}, list)
	list, total = e.comments("a", 1, 2)
	e.equal("page of one", []comment.Comment{second}, list)
	e.equal("total of pages", 2, total)
	counts, err := e.s.CountComments(e.ctx, e.project, ids("a", "b", "s", "nowhere"))
	e.ok(err)
	e.equal("counts", map[uuid.UUID]int{id("a"): 2, id("b"): 1}, counts)

	got, err := e.s.UpdateComment(e.ctx, e.project, id("a"), first.ID, "changed")
	e.ok(err)
	want := first
	want.Text, want.Updated = "changed", got.Updated
	e.equal("changed", want, got)
	if got.Updated < got.Created {
		e.Errorf("updated %d, created %d", got.Updated, got.Created)
	}
	e.reopen(optionsNone)
	list, _ = e.comments("a", 1, 1)
	e.equal("read", []comment.Comment{got}, list)

	_, err = e.s.UpdateComment(e.ctx, e.project, id("b"), first.ID, "x")
	e.equal("changed by another event", fault.NotFound, fault.Of(err))
	e.equal("deleted by another event", fault.NotFound, fault.Of(e.s.DeleteComment(e.ctx, e.project, id("b"), first.ID)))
	e.ok(e.s.DeleteComment(e.ctx, e.project, id("a"), first.ID))
	e.equal("deleted twice", fault.NotFound, fault.Of(e.s.DeleteComment(e.ctx, e.project, id("a"), first.ID)))
	e.equal("left", "two", e.texts("a"))
	e.equal("of the other", "three", e.texts("b"))
	_, _, err = e.s.FindComments(e.ctx, e.project, id("nowhere"), 10, 1)
	e.equal("of an event that is not there", fault.NotFound, fault.Of(err))
	other.EventID = id("nowhere")
	_, err = e.s.CreateComment(e.ctx, e.project, other)
	e.equal("said of an event that is not there", fault.NotFound, fault.Of(err))
}

func commentProjects(e *env) {
	e.put(step("s", "a", 1))
	mine := e.say("a", "ann", "mine")
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	_, _, err = e.s.FindComments(e.ctx, other.ID, id("a"), 10, 1)
	e.equal("found", fault.NotFound, fault.Of(err))
	list, err := e.s.LoadComments(e.ctx, other.ID, []string{mine.ID})
	e.ok(err)
	e.equal("loaded", 0, len(list))
	counts, err := e.s.CountComments(e.ctx, other.ID, ids("a"))
	e.ok(err)
	e.equal("counted", 0, len(counts))
	_, err = e.s.UpdateComment(e.ctx, other.ID, id("a"), mine.ID, "theirs")
	e.equal("changed", fault.NotFound, fault.Of(err))
	e.equal("deleted", fault.NotFound, fault.Of(e.s.DeleteComment(e.ctx, other.ID, id("a"), mine.ID)))
	e.equal("kept", "mine", e.texts("a"))
}

func commentErase(e *env) {
	e.putEach(step("s", "a", 1), step("s", "b", 2), step("t", "c", 3))
	for _, event := range []string{"a", "b", "s", "c"} {
		e.say(event, "ann", event)
	}
	rows := func(what string, want int) {
		e.Helper()
		e.equal(what, want, e.place.Count(e.T, `SELECT count(*) FROM event_comment`))
	}
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("a")))
	rows("an event deleted", 3)
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	rows("a session deleted", 1)
	e.equal("of another session", "c", e.texts("c"))
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("c")))
	rows("all deleted", 0)
}

func commentMoves(e *env) {
	e.put(traced("t", "", step("t", "x", 1)))
	first := e.say("t", "ann", "first")
	e.say("x", "ann", "of x")
	e.put(traced("t", "key", step("key", "root", 2)))
	e.say("t", "bob", "second")
	e.equal("by the new id", "first second", e.texts("key"))
	e.equal("by the old id", "first second", e.texts("t"))
	e.equal("of the event", "of x", e.texts("x"))
	_, err := e.s.UpdateComment(e.ctx, e.project, id("t"), first.ID, "changed")
	e.ok(err)
	e.equal("changed by the old id", "changed second", e.texts("key"))
	e.ok(e.s.DeleteComment(e.ctx, e.project, id("t"), first.ID))
	e.equal("deleted by the old id", "second", e.texts("key"))
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("key")))
	e.equal("rows", 0, e.place.Count(e.T, `SELECT count(*) FROM event_comment`))
}

func commentBound(e *env) {
	e.putEach(step("s", "a", 1), step("s", "b", 2))
	e.say("a", "ann", "first")
	var values []string
	for range comment.MaxEvent - 1 {
		values = append(values, "('"+strings.ReplaceAll(uuid.NewString(), "-", "")[:24]+"')")
	}
	e.place.Exec(e.T, `INSERT INTO event_comment(project_id, id, version, created_ms, updated_ms, doc, event_id)
		SELECT c.project_id, v.column1, 1, 1, 0, c.doc, c.event_id
		FROM event_comment c, (VALUES `+strings.Join(values, ",")+`) AS v`)
	_, err := e.s.CreateComment(e.ctx, e.project, comment.Comment{EventID: id("a"), Author: "ann", Text: "one more"})
	e.equal("one more", fault.Conflict, fault.Of(err))
	e.say("b", "ann", "on another")
}
