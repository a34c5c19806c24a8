package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/tool"
)

var projectTests = []test{
	{"Project/create, list and update", projectChanges},
	{"Project/rules", projectRules},
	{"Project/delete takes its data and nothing else", projectDelete},
	{"Project/delete of many rows goes in slices", projectDeleteLarge},
	{"Project/a deletion that broke off goes on", projectDeleteResumes},
	{"Project/what the server needs is not deleted", projectDeleteRefused},
	{"Project/limits", projectLimits},
	{"Project/stored bytes", projectStored},
	{"Project/quota", projectQuota},
	{"Key/of a project", keyChanges},
	{"Key/use", keyUse},
	{"Key/revoke", keyRevoke},
	{"Key/from the configuration", keyConfigured},
	{"Key/revision", keyRevision},
}

func projectNames(list []project.Project) (out []string) {
	for _, p := range list {
		out = append(out, p.Name)
	}
	return out
}

func projectChanges(e *env) {
	text, typ := "for \"tests\"", project.TypeEvaluation
	made, err := e.s.CreateProject(e.ctx, project.Project{Name: "Größe ☃", Description: text, Type: typ})
	e.ok(err)
	e.equal("as stored", []string{"Größe ☃", text, string(typ)}, []string{made.Name, made.Description, string(made.Type)})
	e.equal("times", true, !made.CreatedAt.IsZero() && made.CreatedAt.Equal(made.UpdatedAt))
	_, err = e.s.CreateProject(e.ctx, project.Project{Name: "Größe ☃"})
	e.equal("again", fault.Conflict, fault.Of(err))
	other, err := e.s.CreateProject(e.ctx, project.Project{Name: "other"})
	e.ok(err)
	e.equal("one organisation", made.OrgID+made.WorkspaceID, other.OrgID+other.WorkspaceID)

	for _, tt := range []struct {
		name        string
		limit, page int
		want        []string
	}{
		{"", 10, 1, []string{"default", "Größe ☃", "other"}},
		{"", 2, 2, []string{"other"}},
		{"", 10, 2, nil},
		{"other", 10, 1, []string{"other"}},
		{"Other", 10, 1, nil},
	} {
		list, total, err := e.s.Projects(e.ctx, tt.name, tt.limit, tt.page)
		e.ok(err)
		e.equal(fmt.Sprint(tt, " in all"), map[string]int{"": 3, "other": 1}[tt.name], total)
		e.equal(fmt.Sprint(tt), tt.want, projectNames(list))
	}

	changed, err := e.s.UpdateProject(e.ctx, other.ID, project.Change{Description: &text})
	e.ok(err)
	e.equal("changed", []string{"other", text, ""}, []string{changed.Name, changed.Description, string(changed.Type)})
	_, err = e.s.UpdateProject(e.ctx, other.ID, project.Change{Name: &made.Name})
	e.equal("name of another", fault.Conflict, fault.Of(err))
	same, err := e.s.UpdateProject(e.ctx, other.ID, project.Change{Name: &other.Name, Type: &typ})
	e.ok(err)
	got, err := e.s.ProjectByPublicID(e.ctx, other.PublicID)
	e.ok(err)
	e.equal("read back", same, got)
	_, err = e.s.UpdateProject(e.ctx, 4711, project.Change{})
	e.equal("unknown", fault.NotFound, fault.Of(err))
}

func projectRules(e *env) {
	empty, long, bad := " ", strings.Repeat("é", 201), project.Type("other")
	for _, p := range []project.Project{{}, {Name: empty}, {Name: long}, {Name: "a\x01b"}, {Name: "a\nb"}, {Name: "a", Type: bad}, {Name: "a", Description: strings.Repeat("x", 10_001)}} {
		_, err := e.s.CreateProject(e.ctx, p)
		e.equal("create "+p.Name, fault.Invalid, fault.Of(err))
	}
	for _, c := range []project.Change{{Name: &empty}, {Name: &long}, {Type: &bad}} {
		_, err := e.s.UpdateProject(e.ctx, e.project, c)
		e.equal("update", fault.Invalid, fault.Of(err))
	}
	p, err := e.s.CreateProject(e.ctx, project.Project{Name: long[:400]})
	e.ok(err)
	e.equal("longest", 200, len([]rune(p.Name)))
}

func projectLimits(e *env) {
	defaults, err := e.s.ProjectLimits(e.ctx, e.project)
	e.ok(err)
	e.equal("defaults", project.DefaultBounds(), defaults)
	other := e.second()
	five, half := 5.0, 0.5
	set := func(name string, v *float64) func(*project.Limits) error {
		return func(l *project.Limits) error { return l.Set(name, v) }
	}
	_, err = e.s.ChangeLimits(e.ctx, e.project, set("stored_bytes", &five))
	e.ok(err)
	l, err := e.s.ChangeLimits(e.ctx, e.project, set("judge_usd_per_day", &half))
	e.ok(err)
	e.equal("both", []float64{5, 0.5}, []float64{float64(*l.StoredBytes), *l.JudgeUSDPerDay})
	want := defaults
	want.StoredBytes, want.JudgeUSDPerDay = 5, 0.5
	got, err := e.s.ProjectLimits(e.ctx, e.project)
	e.ok(err)
	e.equal("in force at once", want, got)
	_, err = e.s.ChangeLimits(e.ctx, e.project, func(l *project.Limits) error {
		l.StoredBytes = nil
		return fault.New(fault.Invalid, "no")
	})
	e.equal("refused", fault.Invalid, fault.Of(err))

	strict := project.Bounds{RequestsPerSecond: 7}
	e.reopen(store.Options{Limits: &strict})
	got, err = e.s.ProjectLimits(e.ctx, e.project)
	e.ok(err)
	e.equal("over other defaults", project.Bounds{RequestsPerSecond: 7, StoredBytes: 5, JudgeUSDPerDay: 0.5}, got)
	got, err = e.s.ProjectLimits(e.ctx, other.ID)
	e.ok(err)
	e.equal("of another project", strict, got)

	if e.place.Shared() {
		beside := e.place.Open(e.T, store.Options{})
		_, err := beside.ProjectLimits(e.ctx, other.ID)
		e.ok(err)
		_, err = e.s.ChangeLimits(e.ctx, other.ID, set("evaluation_slots", &five))
		e.ok(err)
		for slots := int64(0); slots != 5; {
			got, err := beside.ProjectLimits(e.ctx, other.ID)
			e.ok(err)
			slots = got.EvaluationSlots
			time.Sleep(10 * time.Millisecond) // until what is remembered is old
		}
	}
	gone, err := e.s.DeleteProject(e.ctx, other.ID)
	e.ok(err)
	_, err = e.s.ProjectLimits(e.ctx, other.ID)
	e.equal("of none", fault.NotFound, fault.Of(err))
	_, err = e.s.ChangeLimits(e.ctx, other.ID, set("evaluation_slots", nil))
	e.equal("change of none", fault.NotFound, fault.Of(err))
	e.await(gone)
}

func (e *env) stored() int64 {
	e.Helper()
	n, err := e.s.StoredBytes(e.ctx, e.project)
	e.ok(err)
	return n
}

// recount counts the rows and returns what is stored then.
func (e *env) recount() int64 {
	e.Helper()
	e.ok(e.s.Recount(e.ctx, e.project))
	return e.stored()
}

func projectStored(e *env) {
	e.equal("at first", int64(0), e.stored())
	long := strings.Repeat("no two words of it are the same 0123456789 ", 2000)
	large := step("s", "a", 1)
	large.Inputs = []byte(`{"text":"` + long + `"}`)
	small := step("s", "b", 2)
	small.Metadata = []byte(`{"k":"` + long[:500] + `"}`)
	e.put(start("s", "s", 0, 10), large, small)
	e.putEach(step("s", "c", 3), step("s", "d", 4))
	first := e.stored()
	e.equal("rows and texts", true, first > 5*256+500)
	e.equal("the rows say the same", first, e.recount())
	aTool, err := e.s.CreateTool(e.ctx, e.project, tool.Tool{ID: "t", Name: "t", Type: "tool", Description: &long, Parameters: []byte(`{}`)})
	e.ok(err)
	second := e.stored()
	e.equal("a document counts", true, second > first+int64(len(long)))
	e.equal("the rows still say the same", true, e.recount() <= second && e.stored() > first+int64(len(long)))
	second = e.stored()

	e.update(event.Update{EventID: id("c"), Outputs: []byte(`{"text":"` + long + `"}`)})
	e.equal("an update counts", true, e.stored() > second)
	e.equal("and what it replaced does not", true, e.recount() > second)
	before := e.stored()
	e.early(event.Update{EventID: id("later"), Metadata: []byte(`{"k":"` + long + `"}`)})
	waits := e.stored()
	e.equal("an update that waits counts", true, waits > before+int64(len(long)))
	e.putNotes(note("comes later", "t", 1, event.LogRecord, `{"body":"`+prose(10_000, 1)+`"}`))
	e.equal("what log records say counts", true, e.stored() > waits+5000)
	waits = e.stored()
	e.equal("the rows say the same of what waits", waits, e.recount())
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("later")))
	e.put(ofTrace("t", step("t", "comes later", 5)))
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("t")))
	e.equal("what waited is gone", before, e.recount())
	e.reopen(store.Options{})
	e.equal("after a restart", before, e.stored())
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("a")))
	e.equal("after a deletion", true, e.recount() < before)
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.ok(e.s.DeleteTool(e.ctx, e.project, aTool))
	e.equal("when all is gone", int64(0), e.recount())
}

func projectQuota(e *env) {
	other := e.second()
	e.put(start("s", "s", 0, 10), step("s", "a", 1))
	limit := func(n float64) {
		e.Helper()
		_, err := e.s.ChangeLimits(e.ctx, e.project, func(l *project.Limits) error { return l.Set("stored_bytes", &n) })
		e.ok(err)
	}
	limit(100)
	batch := event.Batch{Events: []event.Incoming{step("s", "b", 2)}}
	err := e.s.Put(e.ctx, e.project, batch)
	e.equal("over the quota", fault.Limited, fault.Of(err))
	e.equal("says what to do", true, strings.Contains(err.Error(), "may store 100: delete what is not needed"))
	e.equal("no other project", nil, e.s.Put(e.ctx, other.ID, batch))
	e.equal("reading goes on", id("a"), e.event(id("a")).ID)
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.equal("room again", int64(0), e.recount())
	e.put(step("s", "b", 2))
	limit(0)
	e.put(step("s", "c", 3))
	e.equal("none", nil, e.s.CheckStored(e.ctx, 4711))
}

// second makes another project.
func (e *env) second() project.Project {
	e.Helper()
	p, err := e.s.CreateProject(e.ctx, project.Project{Name: "second"})
	e.ok(err)
	return p
}

// deleteProject deletes a project and waits until its data is gone.
func (e *env) deleteProject(id int64) {
	e.Helper()
	gone, err := e.s.DeleteProject(e.ctx, id)
	e.ok(err)
	e.await(gone)
}

func (e *env) await(gone <-chan struct{}) {
	e.Helper()
	select {
	case <-gone:
	case <-e.ctx.Done():
		e.Fatal("the data is still there")
	}
}

// leftOf counts the rows of a project in every table.
func (e *env) leftOf(p project.Project) (n int) {
	for _, table := range []string{"event", "session", "trace", "alias", "pending", "event_count", "api_key", "tool", "chart", "saved_view", "event_comment", "dashboard", "alert", "alert_change", "alert_notice", "configuration", "dataset", "dataset_row", "datapoint", "document_version", "deletion", "log_part", "unpacked", "metric", "metric_version", "queue", "queue_item", "queue_turn", "provider", "spending"} {
		n += e.place.Count(e.T, fmt.Sprintf(`SELECT count(*) FROM %s WHERE project_id = %d`, table, p.ID))
	}
	return n
}

func projectDelete(e *env) {
	e.put(sample()...)
	keep, chunks := e.session(id("s")), e.place.Count(e.T, `SELECT count(*) FROM chunk`)
	p := e.second()
	for _, list := range [][]event.Incoming{sample(), {traced("t", "", step("t", "x", 1))}, {traced("t", "key", step("key", "root", 2))}} {
		e.ok(e.s.Put(e.ctx, p.ID, event.Batch{Events: list}))
	}
	_, err := e.s.Update(e.ctx, p.ID, event.Update{EventID: id("early"), Metadata: raw(`{"a":1}`)})
	e.ok(err)
	_, err = e.s.CreateTool(e.ctx, p.ID, tool.Tool{Name: "add", Type: "tool", Parameters: raw(`{}`)})
	e.ok(err)
	_, err = e.s.CreateChart(e.ctx, p.ID, chart.Chart{Name: "delay", Metric: "duration", Query: raw(`[]`)})
	e.ok(err)
	_, err = e.s.ChangeProvider(e.ctx, p.ID, "own", func(p *provider.Provider) error { p.SealedKey = []byte("key"); return nil })
	e.ok(err)
	_, _, err = e.s.Spend(e.ctx, p.ID, "own", 20000, 0.5, 1)
	e.ok(err)
	e.ok(e.s.InsertKey(e.ctx, newKey("gone", p, project.ScopeFull)))
	_, isKey, err := e.s.KeyByHash(e.ctx, project.HashSecret("gone"))
	e.ok(err)
	e.equal("key of", p, isKey)

	gone, err := e.s.DeleteProject(e.ctx, p.ID)
	e.ok(err)
	_, err = e.s.ProjectByPublicID(e.ctx, p.PublicID)
	e.equal("project", fault.NotFound, fault.Of(err))
	_, _, err = e.s.KeyByHash(e.ctx, project.HashSecret("gone"))
	e.equal("key", fault.NotFound, fault.Of(err))
	list, _, err := e.s.Projects(e.ctx, "", 10, 1)
	e.ok(err)
	e.equal("list", []string{"default"}, projectNames(list))
	_, err = e.s.DeleteProject(e.ctx, p.ID)
	e.equal("again", fault.NotFound, fault.Of(err))
	e.equal("key for it", fault.NotFound, fault.Of(e.s.InsertKey(e.ctx, newKey("late", p, project.ScopeFull))))

	e.await(gone)
	e.equal("rows", 0, e.leftOf(p))
	e.equal("chunks", chunks, e.place.Count(e.T, `SELECT count(*) FROM chunk`))
	e.same("the other project", keep, e.session(id("s")))

	// The name is free, and its new owner sees nothing of the old one.
	again := e.second()
	if again.ID == p.ID || again.PublicID == p.PublicID {
		e.Errorf("the new project has the ids of the old one: %+v", again)
	}
	set, err := e.s.Search(e.ctx, again.ID, query.Search{Limit: 10, Page: 1})
	e.ok(err)
	e.equal("events of the new project", 0, set.Total)
	e.ok(e.s.Put(e.ctx, again.ID, event.Batch{Events: sample()}))
	anew, err := e.s.Session(e.ctx, again.ID, id("s"))
	e.ok(err)
	e.same("events anew", keep, e.load(anew))
}

func projectDeleteLarge(e *env) {
	e.put(sample()...)
	p := e.second()
	for part := range 3 {
		var list []event.Incoming
		for i := range 700 {
			// Many of one moment, and of several days.
			x := step(fmt.Sprint("s", i%600), fmt.Sprint("x", part, " ", i), float64(part)*86400+float64(i/300))
			x.Inputs = text(`{"n":"%s"}`, prose(60, uint64(i)))
			list = append(list, x)
		}
		e.ok(e.s.Put(e.ctx, p.ID, event.Batch{Events: list}))
	}
	gone, err := e.s.DeleteProject(e.ctx, p.ID)
	e.ok(err)
	e.await(gone)
	e.equal("rows", 0, e.leftOf(p))
	e.equal(
		"events",
		len(sample()),
		e.place.Count(e.T, `SELECT count(*) FROM event`)-e.place.Count(e.T, `SELECT count(*) FROM event WHERE type = 4`),
	)
	e.holds(sample()...)
}

func projectDeleteResumes(e *env) {
	p := e.second()
	e.ok(e.s.Put(e.ctx, p.ID, event.Batch{Events: sample()}))
	e.ok(e.s.Close(e.ctx))
	// As a process leaves it that is killed after its answer.
	e.place.Exec(e.T, fmt.Sprintf(`UPDATE project SET name = 'x', deleted_ms = 1 WHERE id = %d`, p.ID))
	e.open(optionsNone)
	other, err := e.s.CreateProject(e.ctx, project.Project{Name: "third"})
	e.ok(err)
	gone, err := e.s.DeleteProject(e.ctx, other.ID) // after the others
	e.ok(err)
	e.await(gone)
	e.equal("rows", 0, e.leftOf(p))
}

func projectDeleteRefused(e *env) {
	p := e.second()
	_, err := e.s.DeleteProject(e.ctx, e.project)
	e.equal("the first", fault.Conflict, fault.Of(err))
	generated := newKey("generated", p, project.ScopeAdmin)
	generated.Origin = project.OriginGenerated
	e.ok(e.s.InsertKey(e.ctx, generated))
	_, err = e.s.DeleteProject(e.ctx, p.ID)
	e.equal("of the server's key", fault.Conflict, fault.Of(err))
	third, err := e.s.CreateProject(e.ctx, project.Project{Name: "third"})
	e.ok(err)
	admin := newKey("admin", third, project.ScopeAdmin)
	e.ok(e.s.InsertKey(e.ctx, admin))
	_, err = e.s.RevokeKey(e.ctx, p.ID, generated.ID)
	e.ok(err)
	_, err = e.s.DeleteProject(e.ctx, third.ID)
	e.equal("of the last admin key", fault.Conflict, fault.Of(err))
	_, err = e.s.DeleteProject(e.ctx, p.ID)
	e.ok(err)
}

// newKey returns a key whose secret is its name.
func newKey(name string, p project.Project, scope project.Scope) project.Key {
	return project.Key{ID: id(name).String(), ProjectID: p.ID, Name: name, Prefix: name[:2], Hash: project.HashSecret(name), Scope: scope,
		Origin: project.OriginAPI, CreatedAt: arrival}
}

func keyChanges(e *env) {
	own, err := e.s.ProjectByName(e.ctx, "default")
	e.ok(err)
	other := e.second()
	for _, k := range []project.Key{newKey("ab1", own, project.ScopeFull), newKey("ab2", own, project.ScopeIngest), newKey("xy1", own, project.ScopeRead), newKey("ab3", other, project.ScopeRead)} {
		k.Description, k.ExpiresAt = "of "+k.Name, arrival.Add(time.Hour)
		e.ok(e.s.InsertKey(e.ctx, k))
		got, of, err := e.s.KeyByHash(e.ctx, k.Hash)
		e.ok(err)
		got.CreatedAt, got.ExpiresAt, k.CreatedAt, k.ExpiresAt = got.CreatedAt.UTC(), got.ExpiresAt.UTC(), k.CreatedAt.UTC(), k.ExpiresAt.UTC()
		e.equal("as stored", k, got)
		e.equal("project", k.ProjectID, of.ID)
	}
	for _, tt := range []struct {
		project     int64
		prefix      string
		limit, page int
		want        string
	}{
		{own.ID, "", 10, 1, "ab1 ab2 xy1"},
		{own.ID, "ab", 10, 1, "ab1 ab2"},
		{own.ID, "a", 10, 1, "ab1 ab2"},
		{own.ID, "b", 10, 1, ""},
		{own.ID, "%", 10, 1, ""},
		{own.ID, "ab1", 10, 1, ""}, {other.ID, "", 10, 1, "ab3"}, {own.ID, "", 2, 1, "two"}, {own.ID, "", 2, 2, "one"},
	} {
		list, total, err := e.s.Keys(e.ctx, tt.project, tt.prefix, tt.limit, tt.page)
		e.ok(err)
		e.equal(fmt.Sprint(tt, " in all"), true, total == len(list) || total == 3 && tt.limit == 2)
		names := map[string]bool{}
		for _, k := range list {
			names[k.Name] = true
		}
		switch tt.want {
		case "one", "two": // all were made in the same millisecond, so ids decide
			e.equal(fmt.Sprint(tt), map[string]int{"one": 1, "two": 2}[tt.want], len(list))
		default:
			want := map[string]bool{}
			for _, n := range strings.Fields(tt.want) {
				want[n] = true
			}
			e.equal(fmt.Sprint(tt), want, names)
		}
	}
}

func keyUse(e *env) {
	own, err := e.s.ProjectByName(e.ctx, "default")
	e.ok(err)
	used, unused := newKey("used", own, project.ScopeFull), newKey("unused", own, project.ScopeRead)
	e.ok(e.s.InsertKey(e.ctx, used))
	e.ok(e.s.InsertKey(e.ctx, unused))
	revision := e.s.KeysRevision()
	e.s.RecordKeyUse(used.ID, arrival.Add(2*time.Minute), "192.0.2.2")
	e.s.RecordKeyUse(used.ID, arrival.Add(time.Minute), "192.0.2.1") // an earlier one changes nothing
	e.s.RecordKeyUse(uuid.NewString(), arrival, "192.0.2.9")         // nor does that of a key that is gone
	last := func() string {
		list, _, err := e.s.Keys(e.ctx, own.ID, "", 10, 1)
		e.ok(err)
		var text []string
		for _, k := range list {
			if !k.LastUsed.IsZero() {
				text = append(text, fmt.Sprint(k.Name, " ", k.LastUsed.UTC().Sub(arrival.UTC()), " ", k.LastFrom))
			}
		}
		return strings.Join(text, ", ")
	}
	e.equal("uses", "used 2m0s 192.0.2.2", last())
	e.s.RecordKeyUse(used.ID, arrival.Add(time.Minute), "192.0.2.1") // of another server, that writes later
	e.equal("the last use stays", "used 2m0s 192.0.2.2", last())
	e.equal("who remembers a key need not look again", revision, e.s.KeysRevision())
	k, _, err := e.s.KeyByHash(e.ctx, used.Hash)
	e.ok(err)
	e.equal("of one key", "192.0.2.2", k.LastFrom)
}

func keyRevoke(e *env) {
	own, err := e.s.ProjectByName(e.ctx, "default")
	e.ok(err)
	other := e.second()
	admin, read := newKey("admin", own, project.ScopeAdmin), newKey("read", own, project.ScopeRead)
	expired := newKey("expired", own, project.ScopeAdmin)
	expired.ExpiresAt = arrival
	for _, k := range []project.Key{admin, read, expired} {
		e.ok(e.s.InsertKey(e.ctx, k))
	}
	has, err := e.s.HasAdminKey(e.ctx)
	e.ok(err)
	e.equal("admin", true, has)
	k, err := e.s.RevokeKey(e.ctx, own.ID, read.ID)
	e.ok(err)
	e.equal("in force", false, k.InForce(time.Now()))
	again, err := e.s.RevokeKey(e.ctx, own.ID, read.ID)
	e.ok(err)
	e.equal("again", k.RevokedAt.UnixMilli(), again.RevokedAt.UnixMilli())
	stored, _, err := e.s.KeyByHash(e.ctx, read.Hash)
	e.ok(err)
	e.equal("stored", k.RevokedAt.UnixMilli(), stored.RevokedAt.UnixMilli())
	_, err = e.s.RevokeKey(e.ctx, other.ID, admin.ID)
	e.equal("of another project", fault.NotFound, fault.Of(err))
	_, err = e.s.RevokeKey(e.ctx, own.ID, id("nowhere").String())
	e.equal("unknown", fault.NotFound, fault.Of(err))
	_, err = e.s.RevokeKey(e.ctx, own.ID, admin.ID)
	e.equal("the last of scope admin", fault.Conflict, fault.Of(err))
	e.ok(e.s.InsertKey(e.ctx, newKey("admin2", other, project.ScopeAdmin)))
	_, err = e.s.RevokeKey(e.ctx, own.ID, admin.ID)
	e.ok(err)
}

func keyConfigured(e *env) {
	own, err := e.s.ProjectByName(e.ctx, "default")
	e.ok(err)
	other := e.second()
	inForce := func(name string) string {
		k, of, err := e.s.KeyByHash(e.ctx, project.HashSecret(name))
		if fault.IsNotFound(err) {
			return "unknown"
		}
		e.ok(err)
		if !k.InForce(time.Now()) {
			return "out of force"
		}
		return of.Name
	}
	e.ok(e.s.InsertKey(e.ctx, newKey("made", own, project.ScopeAdmin)))
	has, err := e.s.HasAdminKey(e.ctx)
	e.ok(err)
	e.equal("admin", true, has)
	for _, tt := range []struct {
		key     string
		project project.Project
		want    [3]string
	}{
		{"first", own, [3]string{"default", "unknown", "default"}},
		{"first", own, [3]string{"default", "unknown", "default"}},
		{"second", own, [3]string{"out of force", "default", "default"}},
		{"first", other, [3]string{"second", "out of force", "default"}},
		{"", own, [3]string{"out of force", "out of force", "default"}},
		{"made", own, [3]string{"out of force", "out of force", "default"}}, // a key that a request made
	} {
		var k *project.Key
		if tt.key != "" {
			fresh := newKey(tt.key, tt.project, project.ScopeAdmin)
			fresh.Origin = project.OriginConfigured
			k = &fresh
		}
		e.ok(e.s.ConfigureKey(e.ctx, k))
		e.equal("configured "+tt.key, tt.want, [3]string{inForce("first"), inForce("second"), inForce("made")})
	}
	made, _, err := e.s.KeyByHash(e.ctx, project.HashSecret("made"))
	e.ok(err)
	_, err = e.s.RevokeKey(e.ctx, own.ID, made.ID)
	e.equal("revoke what is configured", fault.Conflict, fault.Of(err))
}

func keyRevision(e *env) {
	last := e.s.KeysRevision()
	changes := func(what string, want bool) {
		e.Helper()
		now := e.s.KeysRevision()
		e.equal(what, want, now != last)
		last = now
	}
	p := e.second()
	k := newKey("k1", p, project.ScopeFull)
	e.ok(e.s.InsertKey(e.ctx, k))
	changes("insert", true)
	_, _, err := e.s.KeyByHash(e.ctx, k.Hash)
	e.ok(err)
	e.put(sample()...)
	changes("reads and events", false)
	_, err = e.s.RevokeKey(e.ctx, p.ID, k.ID)
	e.ok(err)
	changes("revoke", true)
	e.ok(e.s.ConfigureKey(e.ctx, nil))
	changes("configure", true)
	name := "renamed"
	_, err = e.s.UpdateProject(e.ctx, p.ID, project.Change{Name: &name})
	e.ok(err)
	changes("rename", true)
	_, err = e.s.DeleteProject(e.ctx, p.ID)
	e.ok(err)
	changes("delete", true)
}
