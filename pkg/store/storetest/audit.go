package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store"
)

var auditTests = []test{
	{"Audit/listed newest first, chosen and paged", auditListed},
	{"Audit/in the order of their times within one millisecond", auditWithinAMillisecond},
	{"Audit/what failed is counted", auditCounted},
	{"Audit/stays when its project goes", auditOutlasts},
	{"Audit/entries name their keys", auditKeys},
	{"Audit/goes by age and by number", auditExpires},
	{"Audit/several servers drop what is too much once", auditExpiresOnce},
}

// audited lists entries as "ms action target count", and holds that total is right without pages.
func (e *env) audited(q audit.Query) (lines []string) {
	e.Helper()
	all := q.Limit == 0
	if all {
		q.Limit, q.Page = 1000, 1
	}
	list, total, err := e.s.Audit(e.ctx, q)
	e.ok(err)
	if all {
		e.equal("total", len(list), total)
	}
	for _, x := range list {
		lines = append(lines, fmt.Sprintf("%d %s %s %d", x.At.UnixMilli(), x.Action, x.Target, x.Count))
	}
	return lines
}

// auditKeys has entries name the keys that asked as long as these are stored: also when they are revoked, and not when their project is gone.
func auditKeys(e *env) {
	own, err := e.s.ProjectByName(e.ctx, "default")
	e.ok(err)
	p := e.second()
	one, two := newKey("one", own, project.ScopeFull), newKey("two", p, project.ScopeFull)
	e.ok(e.s.InsertKey(e.ctx, one))
	e.ok(e.s.InsertKey(e.ctx, two))
	for i, id := range []string{one.ID, two.ID, one.ID, "", "unknown"} {
		e.s.RecordAudit(e.ctx, audit.Entry{At: time.UnixMilli(int64(i)), KeyID: id, Action: audit.EventDelete, Target: "x", Outcome: audit.Success})
	}
	told := func(want string) {
		e.Helper()
		list, _, err := e.s.Audit(e.ctx, audit.Query{Limit: 10, Page: 1})
		e.ok(err)
		var names []string
		for _, x := range list {
			names = append(names, x.KeyName+"/"+x.KeyPrefix)
		}
		e.equal("keys", want, strings.Join(names, " "))
	}
	told(fmt.Sprintf("/ / one/%s two/%s one/%s", one.Prefix, two.Prefix, one.Prefix))
	_, err = e.s.RevokeKey(e.ctx, own.ID, one.ID)
	e.ok(err)
	_, err = e.s.DeleteProject(e.ctx, p.ID)
	e.ok(err)
	told(fmt.Sprintf("/ / one/%s / one/%s", one.Prefix, one.Prefix))
}

func auditListed(e *env) {
	whole := audit.Entry{
		At:        time.UnixMilli(5),
		ProjectID: "p1",
		KeyID:     "k",
		Address:   "192.0.2.1",
		Action:    audit.SessionDelete,
		Target:    "s\x00\xff" + strings.Repeat("x", 300),
		Outcome:   audit.Success,
		Count:     1,
	}
	e.s.RecordAudit(e.ctx, whole)
	for i, action := range []string{audit.KeyCreate, audit.KeyRevoke, audit.KeyCreate} {
		e.s.RecordAudit(
			e.ctx,
			audit.Entry{
				At:        time.UnixMilli(int64(10 + i/2*10)),
				ProjectID: fmt.Sprint("p", i),
				Action:    action,
				Target:    fmt.Sprint(i),
				Outcome:   audit.Success,
			},
		)
	}
	e.reopen(optionsNone)
	list, total, err := e.s.Audit(e.ctx, audit.Query{ProjectID: "p1", Action: audit.SessionDelete, Limit: 1, Page: 1})
	e.ok(err)
	e.equal("total", 1, total)
	e.equal("whole", []audit.Entry{whole.Bounded()}, list)

	ms := func(f float64) *float64 { return &f }
	e.equal(
		"all",
		[]string{"20 key.create 2 1", "10 key.revoke 1 1", "10 key.create 0 1", "5 session.delete " + whole.Bounded().Target + " 1"},
		e.audited(audit.Query{}),
	)
	e.equal("second page", []string{"10 key.create 0 1"}, e.audited(audit.Query{Action: audit.KeyCreate, Limit: 1, Page: 2}))
	e.equal("by action", []string{"20 key.create 2 1", "10 key.create 0 1"}, e.audited(audit.Query{Action: audit.KeyCreate}))
	e.equal("by project", []string{"20 key.create 2 1"}, e.audited(audit.Query{ProjectID: "p2"}))
	e.equal("up to", []string{"10 key.revoke 1 1"}, e.audited(audit.Query{Action: audit.KeyRevoke, To: ms(10)}))
	e.equal("between", 2, len(e.audited(audit.Query{From: ms(9.5), To: ms(19.9)})))
	e.equal("far bounds", 4, len(e.audited(audit.Query{From: ms(-1e300), To: ms(1e300)})))
	e.equal("none", 0, len(e.audited(audit.Query{From: ms(20.5)})))
}

func auditWithinAMillisecond(e *env) {
	at := func(us int64, action, outcome string) {
		e.s.RecordAudit(e.ctx, audit.Entry{At: time.UnixMicro(us), Action: action, Outcome: outcome})
	}
	at(5001, audit.ToolDelete, "NOT_FOUND") // written after the next one
	at(5002, audit.KeyRevoke, audit.Success)
	e.equal("order", []string{"5 key.revoke  1", "5 tool.delete  1"}, e.audited(audit.Query{}))
	from := 5.002
	e.equal("from within it", []string{"5 key.revoke  1"}, e.audited(audit.Query{From: &from}))
}

func auditCounted(e *env) {
	refuse := func(ms int64, address string) {
		e.s.RecordAudit(e.ctx, audit.Entry{At: time.UnixMilli(ms), Address: address, Action: audit.SignIn, Outcome: audit.UnknownKey})
	}
	for i := range int64(5000) {
		refuse(1+i, "192.0.2.1")
	}
	refuse(6000, "192.0.2.2")
	e.equal("rows before the log is read", 0, e.place.Count(e.T, `SELECT count(*) FROM audit`))
	e.equal("counted", []string{"6000 sign_in  1", "1 sign_in  5000"}, e.audited(audit.Query{}))
	for i := range int64(5000) {
		refuse(7000+i, fmt.Sprint(i))
	}
	e.reopen(optionsNone) // closing writes what waits
	rows := e.place.Count(e.T, `SELECT count(*) FROM audit`)
	if rows > 110 {
		e.Errorf("%d entries of a flood from many addresses", rows)
	}
	e.equal("times", 10_001, e.place.Count(e.T, `SELECT CAST(sum(count) AS bigint) FROM audit`))

	for _, model := range []string{"p/b", "p/a", "p/a"} {
		e.s.RecordAudit(e.ctx, audit.Entry{At: time.UnixMilli(20_000), KeyID: "k", Action: audit.PlaygroundRun, Target: model, Outcome: audit.Success})
	}
	e.equal("rows of questions before the log is read", rows, e.place.Count(e.T, `SELECT count(*) FROM audit`))
	e.equal("questions", []string{"20000 playground.run p/a 2", "20000 playground.run p/b 1"}, e.audited(audit.Query{Action: audit.PlaygroundRun}))
}

func auditOutlasts(e *env) {
	p, err := e.s.CreateProject(e.ctx, project.Project{Name: "gone"})
	e.ok(err)
	e.s.RecordAudit(
		e.ctx,
		audit.Entry{At: time.UnixMilli(1), ProjectID: p.PublicID, Action: audit.ProjectDelete, Target: "t", Outcome: audit.Success},
	)
	gone, err := e.s.DeleteProject(e.ctx, p.ID)
	e.ok(err)
	<-gone
	e.equal("entries", []string{"1 project.delete t 1"}, e.audited(audit.Query{ProjectID: p.PublicID}))
}

func auditExpires(e *env) {
	now := time.UnixMilli(1_000_000_000)
	e.reopen(store.Options{Now: func() time.Time { return now }, AuditRetention: time.Minute, AuditMaxEntries: 6})
	add := func(n int64, outcome string) {
		e.s.RecordAudit(
			e.ctx,
			audit.Entry{
				At:      now.Add(time.Duration(n) * time.Millisecond),
				Address: fmt.Sprint(n),
				Action:  audit.KeyCreate,
				Target:  fmt.Sprint(n),
				Outcome: outcome,
			},
		)
	}
	targets := func() (all string) {
		e.Helper()
		e.ok(e.s.ExpireAudit(e.ctx))
		list, _, err := e.s.Audit(e.ctx, audit.Query{Limit: 100, Page: 1})
		e.ok(err)
		for _, x := range list {
			all += x.Target + " "
		}
		return all
	}
	add(-60_001, audit.Success)
	add(-60_000, audit.Success)
	add(1, audit.Success)
	e.equal("by age", "1 -60000 ", targets())
	for n := range int64(8) {
		add(10+n, "FORBIDDEN")
	}
	e.audited(audit.Query{})
	e.equal("failures go first", "17 16 15 14 1 -60000 ", targets())
	for n := range int64(4) {
		add(20+n, audit.Success)
	}
	e.equal("to a half", "23 22 21 20 17 16 ", targets()[:18])
	e.equal("and then the oldest", "23 22 21 20 17 16 ", targets())
}

func auditExpiresOnce(e *env) {
	const most, entries = 1000, 4000
	o := store.Options{AuditMaxEntries: most}
	e.reopen(o)
	servers := []*store.Store{e.s, e.s, e.s}
	if e.place.Shared() {
		servers[1], servers[2] = e.place.Open(e.T, o), e.place.Open(e.T, o)
	}
	for n := range entries {
		// Each has a target of its own, or they are counted as one.
		e.s.RecordAudit(e.ctx, audit.Entry{At: time.Now().Add(time.Duration(n) * time.Millisecond), Action: audit.KeyCreate, Target: fmt.Sprint(n), Outcome: audit.Success})
	}
	_, _, err := e.s.Audit(e.ctx, audit.Query{Limit: 1, Page: 1}) // writes what waits
	e.ok(err)
	before := e.place.Count(e.T, `SELECT count(*) FROM audit`)
	if before <= most {
		e.Fatalf("%d entries, want more than %d", before, most)
	}
	var all sync.WaitGroup
	for _, s := range servers {
		all.Go(func() {
			if err := s.ExpireAudit(e.ctx); err != nil {
				e.Error(err)
			}
		})
	}
	all.Wait()
	e.equal("entries that stay", most, e.place.Count(e.T, `SELECT count(*) FROM audit`))
}
