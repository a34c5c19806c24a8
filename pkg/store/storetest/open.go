package storetest

import (
	"fmt"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
)

var openTests = []test{
	{"Open/again changes nothing", openAgain},
	{"Open/a store that needs a later program is refused", needsLater},
	{"Open/projects", openProjects},
	{"Open/a damaged chunk is an error", damagedChunk},
	{"Open/a chunk of an earlier version", formerChunk},
	{"Open/a missing chunk is an error", missingChunk},
}

func openAgain(e *env) {
	e.put(sample()...)
	versions := e.place.Count(e.T, `SELECT count(*) FROM goose_db_version`)
	p, err := e.s.ProjectByName(e.ctx, "default")
	e.ok(err)
	before := e.session(id("s"))
	for range 3 {
		e.reopen(optionsNone)
	}
	e.equal("migrations", versions, e.place.Count(e.T, `SELECT count(*) FROM goose_db_version`))
	q, err := e.s.ProjectByName(e.ctx, "default")
	e.ok(err)
	e.equal("project", p, q)
	e.same("session", before, e.session(id("s")))
	e.put(step("s", "after", 9))
	e.equal("events", 5, len(e.session(id("s"))))
}

// needsLater opens a store that a later program has made unusable for this one, and one that needs no later program.
func needsLater(e *env) {
	e.put(sample()...)
	last := e.place.Count(e.T, `SELECT max(version_id) FROM goose_db_version`)
	e.ok(e.s.Close(e.ctx))
	e.place.Exec(e.T, fmt.Sprintf(`INSERT INTO setting (name, value) VALUES ('needs_migration', '%d')`, last+1))
	if err := e.place.TryOpen(e.ctx); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("it needs migration %d, and %d is the last", last+1, last)) {
		e.Errorf("opened: %v", err)
	}
	e.place.Exec(e.T, fmt.Sprintf(`UPDATE setting SET value = '%d' WHERE name = 'needs_migration'`, last))
	e.open(optionsNone)
	e.equal("events", 4, len(e.session(id("s"))))
}

func openProjects(e *env) {
	def, err := e.s.DefaultProject(e.ctx)
	e.ok(err)
	e.equal("default", "default", def.Name)
	other, err := e.s.EnsureProject(e.ctx, "Größe 2")
	e.ok(err)
	again, err := e.s.EnsureProject(e.ctx, "Größe 2")
	e.ok(err)
	byID, err := e.s.ProjectByPublicID(e.ctx, other.PublicID)
	e.ok(err)
	e.equal("again", other, again)
	e.equal("by id", other, byID)
	e.equal(
		"ids",
		[]bool{true, true, true},
		[]bool{other.ID != def.ID, other.PublicID != def.PublicID, other.OrgID == def.OrgID && other.OrgID != ""},
	)
	_, err = e.s.ProjectByName(e.ctx, "größe 2")
	e.equal("case matters", fault.NotFound, fault.Of(err))
	_, err = e.s.EnsureProject(e.ctx, "")
	e.equal("nameless", fault.Invalid, fault.Of(err))
}

// refused checks that nothing that needs the payload answers, and that nothing panics.
func (e *env) refused(name string) {
	e.Helper()
	if x, err := e.s.Event(e.ctx, e.project, id(name)); err == nil || fault.Of(err) != fault.Internal {
		e.Errorf("event: %v, %v, want an internal error", x, err)
	}
	if set, err := e.s.Search(e.ctx, e.project, query.Search{Filters: []query.Filter{e.filter("inputs.q", "is", "", `"x"`)}, Limit: 1, Page: 1}); err == nil {
		e.Errorf("search: %d found, want an error", set.Total)
	}
	set, err := e.s.Session(e.ctx, e.project, id("s"))
	e.ok(err)
	failed := 0
	for i := range set.Events {
		if _, err := set.Load(e.ctx, i); err != nil {
			failed++
		}
	}
	if failed == 0 {
		e.Error("session was loaded whole")
	}
}

func damagedChunk(e *env) {
	for i, z := range []string{"", "00", "28b52ffd", "28b52ffd2003190000010203", "28b52ffd2003190000ffffff"} {
		x := step("s", fmt.Sprint("x", i), float64(i))
		x.Inputs = text(`{"q":"%s"}`, prose(300, uint64(i)))
		e.put(x)
		e.ok(e.s.Close(e.ctx))
		e.place.Exec(e.T, `UPDATE chunk SET data = `+e.place.Bytes(z))
		e.open(optionsNone)
		e.refused(x.Name)
	}
}

// formerBlock is the record of an event whose inputs are {"q": formerText}, as it was stored before S2 was (package lzh).
const formerBlock = "b1f40269981823155401f0027b2271223a226f6c64207465787420227d00082044110919005300080000"

var formerText = strings.Repeat("old text ", 40)

// formerChunk reads a chunk of an earlier version.
func formerChunk(e *env) {
	x := step("s", "x", 0)
	x.Inputs = text(`{"q":"%s"}`, formerText)
	e.put(x)
	e.equal("chunks", 1, e.place.Count(e.T, `SELECT count(*) FROM chunk`))
	e.ok(e.s.Close(e.ctx))
	e.place.Exec(e.T, `UPDATE chunk SET data = `+e.place.Bytes(formerBlock))
	e.open(optionsNone)
	e.holds(x)
	e.update(event.Update{EventID: x.ID, Outputs: text(`{"a":1}`)})
	x.Outputs = text(`{"a":1}`)
	e.holds(x)
}

func missingChunk(e *env) {
	x := step("s", "x", 0)
	x.Inputs = text(`{"q":1}`)
	e.put(x, step("s", "bare", 1))
	e.ok(e.s.Close(e.ctx))
	e.place.Exec(e.T, `DELETE FROM chunk`)
	e.open(optionsNone)
	e.refused("x")
	e.holds(step("s", "bare", 1))
}
