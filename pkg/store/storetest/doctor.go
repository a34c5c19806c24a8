package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

var doctorTests = []test{
	{"Doctor/nothing is wrong while events come, change and go", doctorHealthy},
	{"Doctor/what follows from the rows is found and mended", doctorMends},
	{"Doctor/an index and a trigger that are missing", doctorObjects},
	{"Doctor/what cannot be mended is found", doctorFinds},
	{"Doctor/leases that end too late", doctorLeases},
	{"Doctor/schemas of other versions", doctorSchema},
	{"Doctor/sealed values and another secret", doctorSecret},
	{"Doctor/trees and what waits", doctorTrees},
	{"Doctor/a sample", doctorSample},
}

// doctorFill stores sessions of all sorts, packed, sealed, changed afterwards and not sealed, and closes the store.
func doctorFill(e *env) {
	e.reopen(optionsUnpacked)
	e.talks(4, 6)
	r := newRandomEvents(e, 9, 1)
	for range 6 {
		r.change()
	}
	large := call("large", "large one", 5, 10, 20, 0.5)
	large.Metadata = text(`{"prompt_tokens":10,"completion_tokens":20,"cost":0.5,"long":"%s"}`, strings.Repeat("x", 20_000))
	e.put(start("large", "a session with large fields", 0, 60), large)
	e.ok(e.s.Seal(e.ctx))
	e.ok(e.s.Pack(e.ctx))
	e.update(event.Update{EventID: id("talk1 2"), Feedback: text(`{"rating":1}`)})
	e.put(step("late", "not sealed", 1), step("talk2", "one more", 90))
	e.ok(e.s.Close(e.ctx))
}

// examined runs the doctor over everything and returns what it found but for nothing wrong, as "severity check", each once.
func (e *env) examined(o store.DoctorOptions) (found []string, report *diagnosis.Report) {
	e.Helper()
	report, err := e.place.Doctor(e.T, o)
	e.ok(err)
	for _, f := range report.Findings {
		if f.Severity == diagnosis.OK || byMachine[f.Check] {
			continue
		}
		if line := fmt.Sprint(f.Severity, " ", f.Check); !slices.Contains(found, line) {
			found = append(found, line)
		}
		if f.Text == "" || f.Advice == "" || strings.Contains(f.Text, "%!") || strings.Contains(f.Text, "%d") {
			e.Errorf("a finding that does not say what to do: %+v", f)
		}
	}
	slices.Sort(found)
	return found, report
}

// wantFound checks what an examination of everything finds.
func (e *env) wantFound(what string, want ...string) {
	e.Helper()
	found, report := e.examined(store.DoctorOptions{Full: true})
	if d := cmp.Diff(want, found); d != "" {
		e.Errorf("%s: found (-want +got):\n%s%s", what, d, details(report))
	}
}

// wantMended mends, and checks that nothing is left.
func (e *env) wantMended(what string) {
	e.Helper()
	found, report := e.examined(store.DoctorOptions{Full: true, Mend: true})
	if len(found) > 0 || len(report.Mended) == 0 {
		e.Errorf("%s: left after mending: %q; mended %+v\n%s", what, found, report.Mended, details(report))
	}
	for _, m := range report.Mended {
		if m.Error != "" {
			e.Errorf("%s: %s: %s", what, m.Check, m.Error)
		}
	}
}

func details(report *diagnosis.Report) string {
	var b strings.Builder
	for _, f := range report.Findings {
		if f.Severity != diagnosis.OK {
			fmt.Fprintf(&b, "%s %s: %s %q\n", f.Severity, f.Check, f.Text, f.Examples)
		}
	}
	return b.String()
}

// answers opens the store, and returns what it answers to searches, charts, lists and sessions.
func (e *env) answers() (lines []string) {
	e.Helper()
	e.open(optionsUnpacked)
	defer func() { e.ok(e.s.Close(e.ctx)) }()
	e.ok(e.s.Seal(e.ctx))
	for what, filters := range map[string][]query.Filter{
		"all":     nil,
		"type":    {e.filter("event_type", "is", "string", `"model"`)},
		"words":   {e.filter("outputs", "contains", "string", `"needle"`)},
		"failed":  {e.filter("error", "exists", "", "")},
		"tokens":  {e.filter("metadata.total_tokens", "greater than", "number", `100`)},
		"session": {e.filter("session_id", "is", "id", fmt.Sprintf("%q", id("talk1")))},
	} {
		set, err := e.s.Search(e.ctx, e.project, query.Search{Filters: filters, Limit: 1000, Page: 1})
		e.ok(err)
		lines = append(lines, fmt.Sprintf("%s: %d", what, set.Total))
		for _, x := range e.load(set) {
			lines = append(lines, what+": "+x.ID.String())
		}
	}
	for _, session := range []string{"talk0", "talk1", "talk2", "large", "late"} {
		if _, err := e.s.Session(e.ctx, e.project, id(session)); fault.Of(err) == fault.NotFound {
			lines = append(lines, session+": none")
			continue
		}
		for _, x := range e.session(id(session)) {
			lines = append(lines, fmt.Sprintf("%s: %+v", session, shapeOf(x)))
		}
	}
	lines = append(lines, e.chartLines(e.chart("duration", "event_type", "day", "sum"))...)
	lines = append(lines, e.chartLines(e.chart("metadata.cost", "", "hour", "avg"))...)
	lines = append(lines, e.fieldIndex(query.Search{})...)
	slices.Sort(lines)
	return lines
}

// doctorHealthy examines a store again and again while others write, change, delete, seal and pack.
func doctorHealthy(e *env) {
	doctorFill(e)
	e.open(optionsUnpacked)
	stop := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		r := newRandomEvents(e, 10, 1)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			r.change()
			if n%5 == 4 {
				e.ok(e.s.Seal(e.ctx))
				e.ok(e.s.Pack(e.ctx))
				e.ok(e.s.DeleteSession(e.ctx, e.project, r.sessions[0]))
				r.sessions = r.sessions[1:]
			}
		}
	})
	began := time.Now()
	for n := 0; n < 3 || time.Since(began) < time.Second; n++ {
		found, report := e.examined(store.DoctorOptions{Full: true})
		if len(slices.DeleteFunc(found, func(f string) bool { return strings.HasPrefix(f, "warn trees") })) > 0 {
			e.Errorf("found while others write: %s", details(report))
		}
	}
	close(stop)
	work.Wait()
}

// doctorMends damages what follows from rows in one way after another.
func doctorMends(e *env) {
	doctorFill(e)
	e.wantFound("before")
	want := e.answers()
	e.wantFound("after it was open")
	talk := e.place.Bytes(strings.ReplaceAll(id("talk0").String(), "-", ""))
	if e.place.Shared() {
		talk = fmt.Sprintf("'%s'", id("talk0"))
	}
	type damage struct {
		what, sql string
		found     []string
	}
	list := []damage{
		{"totals", `UPDATE session SET num_events = num_events + 7, cost = cost + 1 WHERE session_id = ` + talk, []string{"error totals"}},
		{"times", `UPDATE session SET first_ms = first_ms - 1000 WHERE session_id = ` + talk, []string{"error totals"}},
		{"root", `UPDATE session SET root_id = NULL, root_ms = NULL, root_day = NULL WHERE session_id = ` + talk, []string{"error totals"}},
		{"counts", `UPDATE event_count SET count = count + 3 WHERE type = 2`, []string{"error counts"}},
		{"field index", `DELETE FROM field_index WHERE path = 'inputs.said'`, []string{"error fields"}},
		{"days of the field index", `UPDATE field_index SET first_day = last_day + 1000, last_day = last_day + 1000 WHERE path = 'inputs.said'`, []string{"error fields"}},
		{"a column", `UPDATE segment_column SET data = ` + e.place.Bytes("0102030405060708") + ` WHERE number = 3`, []string{"error segments"}},
		{"a column that is gone", `DELETE FROM segment_column WHERE number = 2`, []string{"error segments"}},
		{"a header", `UPDATE segment SET header = ` + e.place.Bytes("00"), []string{"error segments"}},
		{"ids of another event", `UPDATE segment SET num_events = num_events + 1`, []string{"error segments"}},
		{"a page of words", `UPDATE segment_column SET data = ` + e.place.Bytes("0102030405060708") + ` WHERE number = 1048577`, []string{"error words"}},
		{"the directory of words", `DELETE FROM segment_column WHERE number = 1048576`, []string{"error words"}},
		{"segments that are gone", `DELETE FROM segment`, []string{"error segments", "warn orphans"}},
		{"rows of nothing", `INSERT INTO segment_column(segment_id, number, data) VALUES (999999, 1, ` + e.place.Bytes("00") + `)`, []string{"warn orphans"}},
	}
	if !e.place.Shared() {
		list = append(list, damage{"ids", `DELETE FROM far_event`, []string{"error ids"}})
	}
	for _, d := range list {
		e.place.Exec(e.T, d.sql)
		e.wantFound(d.what, d.found...)
		e.wantMended(d.what)
		if d := cmp.Diff(want, e.answers()); d != "" {
			e.Errorf("answers after mending (-want +got):\n%s", d)
		}
		if e.Failed() {
			e.Fatalf("at %s", d.what)
		}
	}

	// A change that is not on record: the segment has the values of before.
	e.open(optionsUnpacked)
	e.ok(e.s.RebuildIndex(e.ctx, e.project))
	e.ok(e.s.Seal(e.ctx))
	e.update(event.Update{EventID: id("talk1 3"), Metadata: text(`{"stage":"changed"}`)})
	e.ok(e.s.Close(e.ctx))
	e.place.Exec(e.T, `DELETE FROM segment_stale`)
	e.wantFound("a change that is not on record", "error segments")
	e.wantMended("a change that is not on record")
	got := e.answers()
	e.open(optionsUnpacked)
	e.ok(e.s.RebuildIndex(e.ctx, e.project))
	e.ok(e.s.Close(e.ctx))
	e.equal("answers, and those once all is built anew", e.answers(), got)
}

// doctorObjects drops an index and a trigger, and changes events while the trigger is not there.
func doctorObjects(e *env) {
	doctorFill(e)
	want := e.answers()
	e.place.Exec(e.T, `DROP INDEX event_error`)
	e.place.Exec(e.T, `DROP INDEX session_run`)
	e.wantFound("indexes", "error objects")
	e.wantMended("indexes")
	e.equal("answers", want, e.answers())

	drop := `DROP TRIGGER event_deleted`
	if e.place.Shared() {
		drop += ` ON event`
	}
	e.place.Exec(e.T, drop)
	e.open(optionsUnpacked)
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("talk3")))
	e.ok(e.s.Close(e.ctx))
	e.wantFound("a trigger", "error objects", "error segments")
	e.wantMended("a trigger")
	e.open(optionsUnpacked)
	set, err := e.s.Search(e.ctx, e.project, query.Search{Filters: []query.Filter{e.filter("outputs", "contains", "string", `"talk3 needle"`)}, Limit: 10, Page: 1})
	e.ok(err)
	e.equal("events of a session that was deleted", 0, set.Total)
}

// doctorFinds damages what nothing else says.
func doctorFinds(e *env) {
	doctorFill(e)
	mended := func(what string, want ...string) {
		e.Helper()
		e.wantFound(what, want...)
		if found, _ := e.examined(store.DoctorOptions{Full: true, Mend: true}); !slices.Equal(found, want) {
			e.Errorf("%s: after mending %q is left, want %q", what, found, want)
		}
	}
	unpacked := `(SELECT min(id) FROM chunk WHERE pack IS NULL AND id NOT IN (SELECT pack FROM chunk WHERE pack IS NOT NULL))`
	e.place.Exec(e.T, `UPDATE chunk SET data = `+e.place.Bytes("ff060000533273547700")+` WHERE id = `+unpacked)
	mended("a chunk", "error payloads")
	e.place.Exec(e.T, `DELETE FROM chunk WHERE id = `+unpacked)
	mended("a chunk that is gone", "error payloads")
	e.place.Exec(e.T, `UPDATE chunk SET data = `+e.place.Bytes("502a4d180400000004000000")+` WHERE id = (SELECT min(pack) FROM chunk WHERE pack IS NOT NULL)`)
	_, report := e.examined(store.DoctorOptions{Full: true})
	i := slices.IndexFunc(report.Findings, func(f diagnosis.Finding) bool {
		return f.Check == "payloads" && strings.Contains(f.Text, "cannot be read")
	})
	if i < 0 || report.Findings[i].Count < 2 || len(report.Findings[i].Examples) == 0 || report.Findings[i].Mendable {
		e.Errorf("a pack: %+v", report.Findings)
	}
	if report.Worst() != diagnosis.Error {
		e.Errorf("the worst is %s", report.Worst())
	}
	day := ""
	if e.place.Shared() {
		day = `, day`
	}
	value := strings.ReplaceAll(day, "day", "20455")
	e.place.Exec(e.T, `INSERT INTO chunk(id, data`+day+`) VALUES (99000001, `+e.place.Bytes("00")+value+`)`)
	mended("a payload of nobody", "error payloads", "warn orphans")
	e.place.Exec(e.T, `DELETE FROM event WHERE type = 4 AND name = 'a session with large fields'`)
	e.wantFound("a session's own event", "error counts", "error payloads", "error sessions", "warn orphans")
	e.place.Exec(e.T, `DELETE FROM session WHERE num_events = 1 AND num_model_events = 1 AND cost = 0.5`)
	e.wantFound("a session's row", "error counts", "error orphans", "error payloads", "warn orphans")
	e.place.Exec(e.T, `DROP TABLE dashboard`)
	e.wantFound("a table", "error counts", "error objects", "error orphans", "error payloads", "warn orphans")
	e.place.Exec(e.T, `UPDATE event_count SET count = count - 1 WHERE type = 4 AND writer = (SELECT min(writer) FROM event_count WHERE type = 4)`) // the suite counts, too
}

// doctorLeases has leases of a clock that was years ahead.
func doctorLeases(e *env) {
	doctorFill(e)
	e.open(optionsUnpacked)
	e.saveAlert(newAlert("slow"))
	e.ok(e.s.Close(e.ctx))
	e.wantFound("before")
	e.place.Exec(e.T, `UPDATE alert SET lease_ms = 99999999999999`)
	e.wantFound("an alert", "error alerts")
	e.wantMended("an alert")
	for name, value := range map[string]string{"pack_lease": "99999999999999somebody", "retention_lease": "somebody 99999999999999"} {
		e.place.Exec(e.T, fmt.Sprintf(`DELETE FROM setting WHERE name = '%s'`, name))
		e.place.Exec(e.T, fmt.Sprintf(`INSERT INTO setting(name, value) VALUES ('%s', '%s')`, name, value))
		e.wantFound(name, "error leases")
		e.wantMended(name)
	}
	now := time.Now().UnixMilli()
	e.place.Exec(e.T, fmt.Sprintf(`INSERT INTO outbox(project_id, created_ms, due_ms, ids) VALUES (1, %d, 99999999999999, %s)`, now, e.place.Bytes(strings.Repeat("00", 32))))
	e.wantFound("the outbox", "error evaluations")
	e.wantMended("the outbox")
	e.place.Exec(e.T, `UPDATE outbox SET created_ms = 0, due_ms = 0`)
	e.wantFound("an outbox that nobody empties", "warn evaluations")
	e.place.Exec(e.T, `DELETE FROM outbox`)
	e.place.Exec(e.T, fmt.Sprintf(`UPDATE alert SET due_ms = 1, lease_ms = 0, updated_ms = %d`, now))
	e.wantFound("an alert that nobody measures", "warn alerts")
}

// doctorSchema looks at a schema that is older, newer or none.
func doctorSchema(e *env) {
	doctorFill(e)
	e.place.Exec(e.T, `UPDATE session SET num_events = 99`) // is not looked at
	e.place.Exec(e.T, `DELETE FROM goose_db_version WHERE version_id = 13`)
	e.wantFound("an older schema", "warn schema")
	e.place.Exec(e.T, `UPDATE goose_db_version SET version_id = 9013 WHERE version_id = 12`)
	e.wantFound("a newer schema", "error schema")
	e.place.Exec(e.T, `DROP TABLE goose_db_version`)
	e.wantFound("no store", "error schema")
	e.equal("migrations applied", 0, e.place.Count(e.T, `SELECT count(*) FROM event WHERE project_id = 0`)) // it was only read
}

// doctorSecret has a key of a provider and a webhook that were sealed with one secret.
func doctorSecret(e *env) {
	secret := []byte(strings.Repeat("s", provider.MinSecret))
	box, err := provider.NewBox(secret)
	e.ok(err)
	alerts, err := alert.NewBox(secret)
	e.ok(err)
	e.setProvider("openai", func(p *provider.Provider) {
		p.Type = provider.OpenAI
		box.Seal(e.project, p, "sk-1")
	})
	a := newAlert("slow")
	a.To = []alert.Channel{{ID: "c1", Type: alert.Slack, URL: alerts.SealURL(e.project, "c1", "https://example.com/hook")}}
	e.saveAlert(a)
	for what, x := range map[string]struct {
		secret []byte
		want   []string
	}{
		"the right secret": {secret, nil},
		"another secret":   {[]byte(strings.Repeat("t", provider.MinSecret)), []string{"error keys"}},
		"no secret":        {nil, []string{"warn keys"}},
	} {
		found, report := e.examined(store.DoctorOptions{Full: true, Secret: x.secret})
		found = slices.DeleteFunc(found, func(f string) bool { return f == "warn partitions" }) // they are made beside the case
		if !slices.Equal(found, x.want) {
			e.Errorf("%s: %s", what, details(report))
		}
		for _, f := range report.Findings {
			if f.Check == "keys" && what == "another secret" && f.Count != 2 {
				e.Errorf("%d cannot be opened, want 2", f.Count)
			}
		}
	}
}

// doctorTrees has trees that are none, an update whose event never came, and a project that is not deleted on.
func doctorTrees(e *env) {
	e.put(below("b", step("s", "a", 0)), below("c", step("s", "b", 1)), below("a", step("s", "c", 2)), below("never sent", step("s", "d", 3)))
	e.wantFound("a circle", "warn trees")
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.put(step("t", "x", 0))
	e.put(below("x", step("u", "y", 1)))
	e.wantFound("a parent in another session", "warn trees")
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("u")))
	pending, err := e.s.Update(e.ctx, e.project, event.Update{EventID: id("never"), Feedback: text(`{"rating":1}`)})
	e.ok(err)
	e.equal("waits", true, pending)
	e.wantFound("an update that waits")
	e.place.Exec(e.T, `UPDATE pending SET created_ms = 0`)
	e.wantFound("an update that waits for too long", "warn waiting")
}

// doctorSample looks at some sessions of each project alone.
func doctorSample(e *env) {
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	for i := range 40 {
		e.put(step(fmt.Sprint("s", i), fmt.Sprint("e", i), float64(i)))
		e.ok(e.s.Put(e.ctx, other.ID, event.Batch{Events: []event.Incoming{step(fmt.Sprint("s", i), fmt.Sprint("e", i), float64(i))}}))
	}
	_, report := e.examined(store.DoctorOptions{Sample: 20})
	i := slices.IndexFunc(report.Findings, func(f diagnosis.Finding) bool { return f.Check == "sessions" })
	var sessions, events int
	if _, err := fmt.Sscanf(report.Findings[i].Text, "%d sessions with %d events", &sessions, &events); err != nil || sessions < 12 || sessions > 24 || events != 2*sessions {
		e.Errorf("looked at %s (%v)", report.Findings[i].Text, err)
	}
	// The newest are always among them.
	e.place.Exec(e.T, `UPDATE session SET num_events = 9 WHERE first_ms = (SELECT max(first_ms) FROM session) AND project_id = 1`)
	found, report := e.examined(store.DoctorOptions{Sample: 20})
	if !slices.Equal(found, []string{"error totals"}) {
		e.Errorf("found %q: %s", found, details(report))
	}
}
