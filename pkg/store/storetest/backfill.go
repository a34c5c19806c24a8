package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

var backfillTests = []test{
	{"Backfill/asks for each event once, in slices", backfillLife},
	{"Backfill/events of one moment", backfillMoment},
	{"Backfill/of a version that is deployed again", backfillRedeployed},
	{"Backfill/goes on after a restart", backfillRestart},
	{"Backfill/paused, resumed, cancelled", backfillMoves},
	{"Backfill/new events are scored whatever becomes of it", backfillOfNewEvents},
	{"Backfill/bounds", backfillBounds},
}

// filters writes filters as a backfill keeps them.
func (e *env) filters(fs ...query.Filter) json.RawMessage {
	e.Helper()
	text, err := json.Marshal(fs)
	e.ok(err)
	return text
}

func (e *env) areTools() query.Filter {
	e.Helper()
	return e.filter("event_type", "is", "string", `"tool"`)
}

func (e *env) backfill(b evaluation.Backfill) string {
	e.Helper()
	if b.Filters == nil {
		b.Filters = e.filters(e.areTools())
	}
	if b.Version == 0 {
		b.Version = 1
	}
	made, err := e.s.CreateBackfill(e.ctx, e.project, b)
	e.ok(err)
	return made.ID
}

func (e *env) readBackfill(id string) evaluation.Backfill {
	e.Helper()
	list, err := e.s.LoadBackfills(e.ctx, e.project, []string{id})
	e.ok(err)
	if len(list) != 1 {
		e.Fatalf("%d backfills %s", len(list), id)
	}
	return list[0]
}

// runBackfills steps and finishes until nothing is left to do; every event is scored 1.
func (e *env) runBackfills() {
	e.Helper()
	for busy := true; busy; {
		var err error
		busy, err = e.s.StepBackfills(e.ctx)
		e.ok(err)
		for jobs := e.claimJobs(1000); len(jobs) > 0; jobs = e.claimJobs(1000) {
			busy = true
			var outcomes []evaluation.Outcome
			for _, j := range jobs {
				outcomes = append(outcomes, evaluation.Outcome{Job: j, State: evaluation.Done, Score: raw(`1`)})
			}
			e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", outcomes))
		}
	}
}

func (e *env) steps(n int, seconds func(i int) float64) (list []event.Incoming) {
	e.Helper()
	for i := range n {
		list = append(list, step("s", fmt.Sprint(i), seconds(i)))
	}
	for from := 0; from < n; from += 500 {
		e.put(list[from:min(from+500, n)]...)
	}
	return list
}

func backfillLife(e *env) {
	m := e.createMetric(metric.Definition{Name: "m", Type: metric.Human})
	list := e.steps(1700, func(i int) float64 { return float64(i) })
	e.admit(evaluation.Enqueue{Requests: []evaluation.Request{{MetricID: m, Version: 1, EventID: list[7].ID}}})
	id := e.backfill(evaluation.Backfill{MetricID: m, Total: 1700})
	for range 5 {
		_, err := e.s.StepBackfills(e.ctx)
		e.ok(err)
	}
	got := e.readBackfill(id)
	if got.Waiting < 1000 || got.Waiting > 1500 || got.Looked != got.Waiting {
		e.Errorf("asked for %d of %d before any is done, want about 1000", got.Waiting, got.Looked)
	}
	e.equal("newest first", 0, len(e.evaluations(evaluation.Query{EventID: list[0].ID})))
	e.runBackfills()
	got = e.readBackfill(id)
	e.equal("done", evaluation.BackfillDone, got.State)
	e.equal("counts", []int{1700, 1, 1699, 0}, []int{got.Looked, got.Skipped, got.Done, got.Waiting})
	for _, x := range list {
		if got := string(e.event(x.ID).Metrics); got != `{"m":1}` {
			e.Fatalf("%s has %s", x.Name, got)
		}
	}

	some := e.backfill(evaluation.Backfill{MetricID: m, Limit: 3, From: pointer(list[10].Start), To: pointer(list[20].Start)})
	e.runBackfills()
	got = e.readBackfill(some)
	e.equal("bounded", []any{evaluation.BackfillDone, 3, 3, 0}, []any{got.State, got.Looked, got.Skipped, got.Done})
	ids, total, err := e.s.FindBackfills(e.ctx, e.project, m, 10, 1)
	e.ok(err)
	e.equal("list", []any{[]string{id, some}, 2}, []any{ids, total})
	_, total, err = e.s.FindBackfills(e.ctx, e.project, "other", 10, 1)
	e.ok(err)
	e.equal("of another metric", 0, total)
}

func backfillMoment(e *env) {
	m := e.createMetric(metric.Definition{Name: "m", Type: metric.Human})
	e.steps(1300, func(i int) float64 { return float64(i / 1200) })
	id := e.backfill(evaluation.Backfill{MetricID: m})
	e.runBackfills()
	got := e.readBackfill(id)
	e.equal("counts", []any{evaluation.BackfillDone, 1300, 0, 1300}, []any{got.State, got.Looked, got.Skipped, got.Done})
}

// backfillRedeployed goes back to an older version, and forth again. Two events have scores of both, one of the newer one alone, whose
// score by the older one is asked for as of any other.
func backfillRedeployed(e *env) {
	clock := e.clocked()
	m := e.createMetric(metric.Definition{Name: "m", Type: metric.Human})
	list := e.steps(3, func(i int) float64 { return float64(i) })
	score := func(version int64, of ...event.Incoming) {
		e.Helper()
		clock.move(time.Second)
		for _, x := range of {
			e.admit(evaluation.Enqueue{Requests: []evaluation.Request{{MetricID: m, Version: version, EventID: x.ID}}})
		}
		for _, j := range e.claimJobs(10) {
			e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", []evaluation.Outcome{{Job: j, State: evaluation.Done,
				Score: text(`%d`, 10*version), Explanation: fmt.Sprint("by ", version)}}))
		}
	}
	backfill := func(version int64, want []int) {
		e.Helper()
		clock.move(time.Second)
		_, err := e.s.DeployMetricVersion(e.ctx, e.project, m, metric.VersionName(version))
		e.ok(err)
		id := e.backfill(evaluation.Backfill{MetricID: m, Version: version})
		e.runBackfills()
		got := e.readBackfill(id)
		e.equal("counts", want, []int{got.Looked, got.Skipped, got.Done})
	}
	scores := func(what string, want ...string) {
		e.Helper()
		var got []string
		for _, x := range list {
			got = append(got, string(e.event(x.ID).Metrics))
		}
		e.equal(what, want, got)
	}
	score(1, list[0], list[1])
	scored := float64(clock.Now().UnixMilli())
	_, err := e.s.UpdateMetric(e.ctx, e.project, m, metric.Patch{Description: pointer("another")})
	e.ok(err)
	score(2, list...)
	const first, second = `{"m":10,"m_explanation":"by 1"}`, `{"m":20,"m_explanation":"by 2"}`
	scores("by the newer one", second, second, second)
	backfill(1, []int{3, 2, 1})
	scores("by the older one", first, first, `{"m":1,"m_explanation":null}`)
	backfill(2, []int{3, 3, 0})
	scores("by the newer one again", second, second, second)
	counts, _, err := e.s.CountEvaluations(e.ctx, e.project, m, nil, &scored)
	e.ok(err)
	e.equal("asked for at the beginning", map[evaluation.State]int64{evaluation.Done: 2}, counts.States)
}

func backfillRestart(e *env) {
	m := e.createMetric(metric.Definition{Name: "m", Type: metric.Human})
	e.steps(1100, func(i int) float64 { return float64(i) })
	id := e.backfill(evaluation.Backfill{MetricID: m, Filters: e.filters(e.areTools(), e.filter("duration", "is", "number", `1000`))})
	_, err := e.s.StepBackfills(e.ctx)
	e.ok(err)
	e.reopen(store.Options{})
	e.runBackfills()
	got := e.readBackfill(id)
	e.equal("counts", []any{evaluation.BackfillDone, 1100, 0, 1100}, []any{got.State, got.Looked, got.Skipped, got.Done})
}

func backfillMoves(e *env) {
	m := e.createMetric(metric.Definition{Name: "m", Type: metric.Human})
	e.steps(700, func(i int) float64 { return float64(i) })
	id := e.backfill(evaluation.Backfill{MetricID: m})
	step := func() {
		_, err := e.s.StepBackfills(e.ctx)
		e.ok(err)
	}
	move := func(to evaluation.BackfillState) evaluation.Backfill {
		b, err := e.s.MoveBackfill(e.ctx, e.project, m, id, to)
		e.ok(err)
		return b
	}
	step()
	taken := e.claimJobs(1)
	b := move(evaluation.BackfillPaused)
	e.equal("paused", []any{evaluation.BackfillPaused, 0, 500}, []any{b.State, b.Waiting, b.Paused})
	step()
	e.equal("no more is asked for", 500, e.readBackfill(id).Looked)
	e.equal("nor worked on", 0, len(e.claimJobs(10)))
	e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", []evaluation.Outcome{{Job: taken[0], State: evaluation.Done, Score: raw(`1`)}}))
	e.equal("nor finished", 0, e.readBackfill(id).Done)
	b = move(evaluation.BackfillRunning)
	e.equal("resumed", []any{evaluation.BackfillRunning, 500, 0}, []any{b.State, b.Waiting, b.Paused})
	b = move(evaluation.BackfillCancelled)
	e.equal("cancelled", []any{evaluation.BackfillCancelled, 0, 0}, []any{b.State, b.Waiting, b.Paused})
	move(evaluation.BackfillCancelled)
	_, err := e.s.MoveBackfill(e.ctx, e.project, m, id, evaluation.BackfillRunning)
	e.equal("resumed after its end", fault.Conflict, fault.Of(err))
	for _, x := range [][2]string{{"other", id}, {m, "none"}} {
		_, err = e.s.MoveBackfill(e.ctx, e.project, x[0], x[1], evaluation.BackfillPaused)
		e.equal("not there", fault.NotFound, fault.Of(err))
	}
	gone := e.backfill(evaluation.Backfill{MetricID: m, Limit: 1})
	step()
	failed := evaluation.Outcome{Job: e.claimJobs(1)[0], State: evaluation.Failed, Failure: "unfit"}
	e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", []evaluation.Outcome{failed}))
	e.ok(e.s.DeleteMetric(e.ctx, e.project, m))
	n, err := e.s.RetryEvaluations(e.ctx, e.project, evaluation.Query{})
	e.ok(err)
	e.equal("retried of a metric that is deleted", int64(0), n)
	left := e.backfill(evaluation.Backfill{MetricID: m})
	step()
	e.equal("its metric is deleted", evaluation.BackfillCancelled, e.readBackfill(left).State)
	e.equal("what failed is still known", 1, e.readBackfill(gone).Failed)
}

// backfillOfNewEvents has new events that a backfill has asked for before anybody looked at them.
func backfillOfNewEvents(e *env) {
	m := e.onlineMetric("m")
	list := e.steps(3, func(i int) float64 { return float64(i) })
	id := e.backfill(evaluation.Backfill{MetricID: m})
	_, err := e.s.StepBackfills(e.ctx)
	e.ok(err)
	e.equal("asked for", 3, e.readBackfill(id).Waiting)
	move := func(to evaluation.BackfillState) {
		e.Helper()
		_, err := e.s.MoveBackfill(e.ctx, e.project, m, id, to)
		e.ok(err)
	}
	look := func(x event.Incoming) int64 {
		r := evaluation.Request{MetricID: m, Version: 1, EventID: x.ID}
		return e.admit(evaluation.Enqueue{Requests: []evaluation.Request{r, r}})
	}
	e.equal("the first is looked at", int64(1), look(list[0]))
	e.equal("and once more", int64(0), look(list[0]))
	move(evaluation.BackfillPaused)
	e.equal("the second, while it is paused", int64(1), look(list[1]))
	got := e.readBackfill(id)
	e.equal("what is left of the backfill", []int{3, 2, 0, 1}, []int{got.Looked, got.Skipped, got.Waiting, got.Paused})
	jobs := e.claimJobs(10)
	e.equal("worked on while it is paused", 2, len(jobs))
	move(evaluation.BackfillCancelled)
	var outcomes []evaluation.Outcome
	for _, j := range jobs {
		e.equal("attempts", 1, j.Attempts)
		outcomes = append(outcomes, evaluation.Outcome{Job: j, State: evaluation.Done, Score: raw(`1`)})
	}
	e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", outcomes))
	for i, want := range []string{`{"m":1}`, `{"m":1}`, ``} {
		e.equal("metrics of "+list[i].Name, want, string(e.event(list[i].ID).Metrics))
	}
	e.equal("scored already", int64(0), look(list[0]))
}

func backfillBounds(e *env) {
	m := e.createMetric(metric.Definition{Name: "m", Type: metric.Human})
	var last string
	for range evaluation.MaxBackfills {
		last = e.backfill(evaluation.Backfill{MetricID: m})
	}
	_, err := e.s.CreateBackfill(e.ctx, e.project, evaluation.Backfill{MetricID: m, Version: 1, Filters: e.filters()})
	e.equal("one more", fault.Conflict, fault.Of(err))
	_, err = e.s.MoveBackfill(e.ctx, e.project, m, last, evaluation.BackfillCancelled)
	e.ok(err)
	last = e.backfill(evaluation.Backfill{MetricID: m})
	_, err = e.s.MoveBackfill(e.ctx, e.project, m, last, evaluation.BackfillPaused)
	e.ok(err)
	e.ok(e.s.DeleteMetric(e.ctx, e.project, m))
	another := e.createMetric(metric.Definition{Name: "another", Type: metric.Human})
	for range evaluation.MaxBackfills {
		e.backfill(evaluation.Backfill{MetricID: another})
	}
	_, err = e.s.CreateBackfill(e.ctx, e.project, evaluation.Backfill{MetricID: another, Version: 1, Filters: e.filters()})
	e.equal("one more of another metric", fault.Conflict, fault.Of(err))
	list, err := e.s.LoadBackfills(e.ctx, e.project, []string{"none", uuid.NewString()})
	e.ok(err)
	e.equal("not there", 0, len(list))
}
