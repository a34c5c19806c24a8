package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store"
)

var evaluationTests = []test{
	{"Evaluation/arrivals are noted with the commit", arrivalsNoted},
	{"Evaluation/arrivals are taken by one and come back", arrivalsTaken},
	{"Evaluation/admitted once", admittedOnce},
	{"Evaluation/put off", putOff},
	{"Evaluation/put off until what came before is looked at", putOffBehind},
	{"Evaluation/one after another", oneAfterAnother},
	{"Evaluation/bounded number of metrics", onlineBound},
	{"Evaluation/claimed, finished, retried", evaluationLife},
	{"Evaluation/costs what all attempts have cost", evaluationCost},
	{"Evaluation/texts that no store can hold", evaluationTexts},
	{"Evaluation/a claim that ended changes nothing", lateFinish},
	{"Evaluation/a version that is no longer in force", outdatedFinish},
	{"Evaluation/telemetry leaves scores alone", scoresStay},
	{"Evaluation/telemetry leaves scores of the pipeline alone", pipelineScoresStay},
	{"Evaluation/a session start leaves scores alone", scoredThenStarted},
	{"Evaluation/the event is deleted", evaluatedEventDeleted},
	{"Evaluation/lists", evaluationLists},
	{"Evaluation/scores beside labels", labelledScores},
	{"Evaluation/counts", evaluationCounts},
	{"Evaluation/events by their ids", eventsByID},
	{"Evaluation/two servers share the queue", twoServers},
}

// fakeClock is a time that stands until it is moved.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// clocked opens the store with a clock that stands.
func (e *env) clocked() *fakeClock {
	e.Helper()
	c := &fakeClock{now: time.UnixMilli(1_800_000_000_000)}
	e.reopen(store.Options{Now: c.Now})
	return c
}

// onlineMetric makes a metric that runs over new events.
func (e *env) onlineMetric(name string) string {
	e.Helper()
	return e.createMetric(metric.Definition{Name: name, Type: metric.Human, EnabledInProd: true})
}

// arrived takes all arrivals and returns the events.
func (e *env) arrived() (ids []uuid.UUID, intakes []int64) {
	e.Helper()
	list, err := e.s.ClaimOutbox(e.ctx, e.project, 100, time.Minute)
	e.ok(err)
	for _, in := range list {
		intakes = append(intakes, in.ID)
		for _, a := range in.Events {
			ids = append(ids, a.EventID)
		}
	}
	return ids, intakes
}

func (e *env) admit(a evaluation.Enqueue) int64 {
	e.Helper()
	a.Project = e.project
	n, err := e.s.EnqueueEvaluations(e.ctx, a)
	e.ok(err)
	return n
}

func (e *env) claimJobs(limit int) []evaluation.Job {
	e.Helper()
	groups, err := e.s.EvaluationQueue(e.ctx)
	e.ok(err)
	var jobs []evaluation.Job
	for _, g := range groups {
		part, err := e.s.ClaimEvaluations(e.ctx, g, limit, time.Minute, nil)
		e.ok(err)
		jobs = append(jobs, part...)
	}
	return jobs
}

func (e *env) evaluations(q evaluation.Query) []evaluation.Evaluation {
	e.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	list, _, err := e.s.FindEvaluations(e.ctx, e.project, q)
	e.ok(err)
	return list
}

func arrivalsNoted(e *env) {
	e.clocked()
	session := id("s")
	early := step("s", "early", 0)
	e.put(early)
	m := e.onlineMetric("m")
	a, b := step("s", "a", 0), step("s", "b", 0)
	own := step("s", "own", 0)
	own.Source = evaluation.Source
	e.put(a, b, own)
	ids, intakes := e.arrived()
	e.equal("arrived", []uuid.UUID{a.ID, b.ID}, ids)
	e.admit(evaluation.Enqueue{OutboxIDs: intakes})

	e.put(a) // a repeat that changes nothing
	ids, _ = e.arrived()
	e.equal("after a repeat", 0, len(ids))
	e.update(event.Update{EventID: early.ID, Outputs: raw(`{"x":1}`)})
	e.update(event.Update{EventID: session, Feedback: raw(`{"x":1}`)})
	ids, intakes = e.arrived()
	e.equal("after updates", []uuid.UUID{early.ID, session}, ids)
	e.admit(evaluation.Enqueue{OutboxIDs: intakes})

	off := false
	_, err := e.s.UpdateMetric(e.ctx, e.project, m, metric.Patch{EnabledInProd: &off})
	e.ok(err)
	e.put(step("s", "c", 0))
	ids, _ = e.arrived()
	e.equal("with the metric off", 0, len(ids))
}

func arrivalsTaken(e *env) {
	c := e.clocked()
	e.onlineMetric("m")
	e.put(step("s", "a", 0))
	e.reopen(store.Options{Now: c.Now})
	projects, err := e.s.OutboxProjects(e.ctx)
	e.ok(err)
	e.equal("projects", []int64{e.project}, projects)
	first, intakes := e.arrived()
	e.equal("first", 1, len(first))
	again, _ := e.arrived()
	e.equal("while taken", 0, len(again))
	c.move(time.Minute)
	again, _ = e.arrived()
	e.equal("after the lease", first, again)
	e.admit(evaluation.Enqueue{OutboxIDs: intakes})
	c.move(time.Hour)
	again, _ = e.arrived()
	e.equal("answered", 0, len(again))
}

func admittedOnce(e *env) {
	e.clocked()
	m := e.onlineMetric("m")
	a := step("s", "a", 0)
	e.put(a)
	r := evaluation.Request{MetricID: m, Version: 1, EventID: a.ID}
	e.equal("first", int64(1), e.admit(evaluation.Enqueue{Requests: []evaluation.Request{r, r}}))
	e.equal("again", int64(0), e.admit(evaluation.Enqueue{Requests: []evaluation.Request{r}}))
	r.Version = 2
	e.equal("another version", int64(1), e.admit(evaluation.Enqueue{Requests: []evaluation.Request{r}}))
}

func putOff(e *env) {
	c := e.clocked()
	session, step := id("s"), id("a")
	at := func(d time.Duration) int64 { return c.Now().Add(d).UnixMilli() }
	e.admit(
		evaluation.Enqueue{
			Delayed: []evaluation.Delayed{{EventID: step, Due: at(time.Minute)}, {EventID: session, Due: at(time.Minute), Extend: true}},
		},
	)
	c.move(30 * time.Second)
	e.admit(
		evaluation.Enqueue{
			Delayed: []evaluation.Delayed{{EventID: step, Due: at(time.Minute)}, {EventID: session, Due: at(time.Minute), Extend: true}},
		},
	)
	take := func() (ids []uuid.UUID, list []evaluation.Delayed) {
		list, err := e.s.ClaimDelayed(e.ctx, 10, time.Minute)
		e.ok(err)
		for _, l := range list {
			ids = append(ids, l.EventID)
		}
		return ids, list
	}
	ids, _ := take()
	e.equal("none is due", 0, len(ids))
	c.move(30 * time.Second)
	ids, list := take()
	e.equal("the first word holds", []uuid.UUID{step}, ids)
	e.admit(evaluation.Enqueue{Handled: list})
	c.move(30 * time.Second)
	ids, list = take()
	e.equal("extended", []uuid.UUID{session}, ids)
	// It goes on while somebody looks.
	e.admit(evaluation.Enqueue{Delayed: []evaluation.Delayed{{EventID: session, Due: at(2 * time.Minute), Extend: true}}})
	e.admit(evaluation.Enqueue{Handled: list})
	c.move(2 * time.Minute)
	ids, _ = take()
	e.equal("put off while somebody looked", []uuid.UUID{session}, ids)
}

// putOffBehind has an event that is due while others that came before its time wait in the outbox.
func putOffBehind(e *env) {
	c := e.clocked()
	e.onlineMetric("m")
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	due := evaluation.Delayed{EventID: id("waits"), Due: c.Now().Add(time.Minute).UnixMilli()}
	e.admit(evaluation.Enqueue{Delayed: []evaluation.Delayed{due}})
	_, err = e.s.EnqueueEvaluations(e.ctx, evaluation.Enqueue{Project: other.ID, Delayed: []evaluation.Delayed{due}})
	e.ok(err)
	take := func() (projects []int64) {
		e.Helper()
		list, err := e.s.ClaimDelayed(e.ctx, 10, time.Minute)
		e.ok(err)
		for _, l := range list {
			projects = append(projects, l.Project)
		}
		return projects
	}
	c.move(time.Minute - time.Second)
	e.put(step("s", "before", 0))
	c.move(2 * time.Second)
	e.put(step("s", "after", 0))
	e.equal("of another project alone", []int64{other.ID}, take())
	list, err := e.s.ClaimOutbox(e.ctx, e.project, 1, time.Minute)
	e.ok(err)
	e.equal("while that is looked at", 0, len(take()))
	e.admit(evaluation.Enqueue{OutboxIDs: []int64{list[0].ID}})
	e.equal("what came after its time does not count", []int64{e.project}, take())
}

func oneAfterAnother(e *env) {
	e.clocked()
	part, whole := e.onlineMetric("part"), e.onlineMetric("whole")
	forBoth, forWhole := step("s", "a", 0), step("s", "b", 0)
	e.put(forBoth, forWhole)
	e.admit(
		evaluation.Enqueue{
			Requests: []evaluation.Request{{MetricID: whole, Version: 1, EventID: forBoth.ID}, {MetricID: whole, Version: 1, EventID: forWhole.ID},
				{MetricID: part, Version: 1, EventID: forBoth.ID}},
		},
	)
	group := func(metric string) evaluation.Group {
		return evaluation.Group{Project: e.project, MetricID: metric, Version: 1}
	}
	claim := func(metric string, after ...string) []evaluation.Job {
		jobs, err := e.s.ClaimEvaluations(e.ctx, group(metric), 10, time.Minute, after)
		e.ok(err)
		return jobs
	}
	first := claim(whole, "another", part)
	e.equal("before the part", 1, len(first))
	e.equal("that waits for nothing", forWhole.ID, first[0].EventID)
	e.ok(e.s.FinishEvaluations(e.ctx, e.project, "part", []evaluation.Outcome{{Job: claim(part)[0], State: evaluation.Failed}}))
	rest := claim(whole, "another", part)
	e.equal("after the part", 1, len(rest))
	e.equal("that waited", forBoth.ID, rest[0].EventID)
}

func onlineBound(e *env) {
	var last string
	for range metric.MaxOnline {
		last = e.onlineMetric("m")
	}
	d := metric.Definition{Name: "m", Type: metric.Human, EnabledInProd: true}
	d.Complete(metric.DefaultSampling)
	_, err := e.s.CreateMetric(e.ctx, e.project, d)
	e.equal("one more", fault.Invalid, fault.Of(err))
	d.EnabledInProd = false
	off, err := e.s.CreateMetric(e.ctx, e.project, d)
	e.ok(err)
	on := true
	_, err = e.s.UpdateMetric(e.ctx, e.project, off, metric.Patch{EnabledInProd: &on})
	e.equal("enabled later", fault.Invalid, fault.Of(err))
	d.EnabledInProd = true
	v, err := e.s.CreateMetricVersion(e.ctx, e.project, off, metric.Version{Definition: d}, false)
	e.ok(err)
	_, err = e.s.DeployMetricVersion(e.ctx, e.project, off, v.Name())
	e.equal("deployed", fault.Invalid, fault.Of(err))
	_, err = e.s.UpdateMetric(e.ctx, e.project, last, metric.Patch{Name: pointer("other")})
	e.ok(err)
	e.ok(e.s.DeleteMetric(e.ctx, e.project, last))
	_, err = e.s.DeployMetricVersion(e.ctx, e.project, off, v.Name())
	e.ok(err)
	list, err := e.s.OnlineMetrics(e.ctx, e.project)
	e.ok(err)
	e.equal("online", metric.MaxOnline, len(list))
}

func evaluationLife(e *env) {
	c := e.clocked()
	m := e.onlineMetric("m")
	good, bad, none, broken := step("s", "good", 0), step("s", "bad", 0), step("s", "none", 0), step("s", "broken", 0)
	good.Metrics = raw(`{"own":1e2,"m":null}`)
	e.put(good, bad, none, broken)
	_, intakes := e.arrived()
	var requests []evaluation.Request
	for _, x := range []event.Incoming{good, bad, none, broken} {
		requests = append(requests, evaluation.Request{MetricID: m, Version: 1, EventID: x.ID})
	}
	e.admit(evaluation.Enqueue{Requests: requests, OutboxIDs: intakes})
	groups, err := e.s.EvaluationQueue(e.ctx)
	e.ok(err)
	e.equal("queue", []evaluation.Group{{Project: e.project, MetricID: m, Version: 1, Waiting: 4, Due: 4}}, groups)
	jobs := map[uuid.UUID]evaluation.Job{}
	for _, j := range e.claimJobs(10) {
		jobs[j.EventID] = j
		e.equal("attempts", 1, j.Attempts)
	}
	e.equal("claimed", 4, len(jobs))
	e.equal("claimed again", 0, len(e.claimJobs(10)))

	passed := true
	e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", []evaluation.Outcome{
		{Job: jobs[good.ID], State: evaluation.Done, Score: raw(`0.50`), Explanation: "fine", Passed: &passed, Cost: 0.25, LatencyMS: 1.5},
		{Job: jobs[bad.ID], State: evaluation.Failed, Failure: "unfit", Explanation: "no"},
		{Job: jobs[none.ID], State: evaluation.Done},
		{Job: jobs[broken.ID], State: evaluation.Waiting, Due: c.Now().Add(time.Second).UnixMilli(), Explanation: "network"},
	}))
	e.equal("metrics", `{"own":1e2,"m":0.50,"m_explanation":"fine"}`, string(e.event(good.ID).Metrics))
	e.equal("metrics of the others", "", string(e.event(bad.ID).Metrics)+string(e.event(none.ID).Metrics)+string(e.event(broken.ID).Metrics))
	ids, _ := e.arrived()
	e.equal("a score is no arrival", 0, len(ids))
	got := e.evaluations(evaluation.Query{EventID: good.ID})
	e.equal(
		"found",
		[]evaluation.Evaluation{
			{ID: jobs[good.ID].ID, MetricID: m, Version: 1, EventID: good.ID, State: evaluation.Done, Attempts: 1, Created: c.Now().UnixMilli(),
				Finished: c.Now().UnixMilli(), Score: raw(`0.50`), Explanation: "fine", Passed: &passed, Cost: 0.25, LatencyMS: 1.5},
		},
		got,
	)

	e.equal("before its time", 0, len(e.claimJobs(10)))
	c.move(time.Second)
	again := e.claimJobs(10)
	e.equal("tried again", 1, len(again))
	e.equal("second attempt", 2, again[0].Attempts)
	e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", []evaluation.Outcome{{Job: again[0], State: evaluation.Dead, Explanation: "network"}}))
	c.move(time.Hour)
	e.equal("dead", 0, len(e.claimJobs(10)))
	e.equal("dead letters", broken.ID, e.evaluations(evaluation.Query{State: evaluation.Dead})[0].EventID)
	off := false
	_, err = e.s.UpdateMetric(e.ctx, e.project, m, metric.Patch{EnabledInProd: &off})
	e.ok(err)
	n, err := e.s.RetryEvaluations(e.ctx, e.project, evaluation.Query{State: evaluation.Dead})
	e.ok(err)
	e.equal("retried of a metric that is switched off", int64(0), n)
	on := true
	_, err = e.s.UpdateMetric(e.ctx, e.project, m, metric.Patch{EnabledInProd: &on})
	e.ok(err)
	n, err = e.s.RetryEvaluations(e.ctx, e.project, evaluation.Query{State: evaluation.Dead})
	e.ok(err)
	e.equal("retried", int64(1), n)
	e.equal("anew", 1, e.claimJobs(10)[0].Attempts)
	n, err = e.s.RetryEvaluations(e.ctx, e.project, evaluation.Query{EventID: good.ID})
	e.ok(err)
	e.equal("what is done is not retried", int64(0), n)
}

func evaluationCost(e *env) {
	c := e.clocked()
	m := e.onlineMetric("m")
	x := step("s", "a", 0)
	e.put(x)
	e.admit(evaluation.Enqueue{Requests: []evaluation.Request{{MetricID: m, Version: 1, EventID: x.ID}}})
	finish := func(o evaluation.Outcome) {
		e.Helper()
		o.Job = e.claimJobs(1)[0]
		e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", []evaluation.Outcome{o}))
	}
	finish(evaluation.Outcome{State: evaluation.Waiting, Due: c.Now().UnixMilli(), Cost: 0.25})
	finish(evaluation.Outcome{State: evaluation.Failed, Failure: "unparsed", Cost: 0.5})
	_, err := e.s.RetryEvaluations(e.ctx, e.project, evaluation.Query{EventID: x.ID})
	e.ok(err)
	finish(evaluation.Outcome{State: evaluation.Done, Score: raw(`1`), Cost: 1})
	e.equal("of the evaluation", 1.75, e.evaluations(evaluation.Query{EventID: x.ID})[0].Cost)
	online, _, err := e.s.CountEvaluations(e.ctx, e.project, m, nil, nil)
	e.ok(err)
	e.equal("of the metric", 1.75, online.Cost)
}

// evaluationTexts has an evaluator that answers with what is no text for one event, and well for another one.
func evaluationTexts(e *env) {
	e.clocked()
	m := e.onlineMetric("m")
	odd, plain := step("s", "odd", 0), step("s", "plain", 1)
	e.put(odd, plain)
	e.admit(evaluation.Enqueue{Requests: []evaluation.Request{{MetricID: m, Version: 1, EventID: odd.ID}, {MetricID: m, Version: 1, EventID: plain.ID}}})
	var outcomes []evaluation.Outcome
	for _, j := range e.claimJobs(10) {
		o := evaluation.Outcome{Job: j, State: evaluation.Done, Score: raw(`"a"`), Explanation: "b"}
		if j.EventID == odd.ID {
			o.Score, o.Explanation = raw(`"a\u0000\ud800"`), "b\x00\xff"
		}
		outcomes = append(outcomes, o)
	}
	e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", outcomes))
	e.equal("the other event", `{"m":"a","m_explanation":"b"}`, string(e.event(plain.ID).Metrics))
	e.equal("marked", `{"m":"a��","m_explanation":"b��"}`, string(e.event(odd.ID).Metrics))
	found := e.evaluations(evaluation.Query{EventID: odd.ID})
	e.equal("the evaluation", []string{`"a��"`, "b��"}, []string{string(found[0].Score), found[0].Explanation})
	e.equal("found by their scores", []string{"odd", "plain"}, e.found(e.parsed(`[{"field":"metrics.m","operator":"contains","value":"a"}]`)...))
}

// scoresStay has updates of telemetry say something else of scores that the server and people gave.
func scoresStay(e *env) {
	e.clocked()
	m := e.onlineMetric("m")
	scored, early := step("s", "a", 0), step("s", "early", 1)
	scored.Metrics = raw(`{"own":1,"m_explanation":"of nothing"}`)
	scored.Feedback = raw(`{"ground_truth":"four"}`)
	e.put(scored)
	e.admit(evaluation.Enqueue{Requests: []evaluation.Request{{MetricID: m, Version: 1, EventID: scored.ID}}})
	telemetry := func(to uuid.UUID, metrics, feedback string) {
		e.Helper()
		u := event.Update{EventID: to, Telemetry: true, Metrics: raw(metrics), Outputs: raw(`{"x":1}`)}
		if feedback != "" {
			u.Feedback = raw(feedback)
		}
		_, err := e.s.Update(e.ctx, e.project, u)
		e.ok(err)
	}
	telemetry(scored.ID, `{"m":0.1,"own":2}`, "") // nobody has scored it yet
	e.ok(
		e.s.FinishEvaluations(e.ctx, e.project, "m", []evaluation.Outcome{{Job: e.claimJobs(1)[0], State: evaluation.Done, Score: raw(`0.5`)}}),
	)
	e.equal("scored", `{"own":2,"m_explanation":null,"m":0.5}`, string(e.event(scored.ID).Metrics))
	q := e.createQueue(queue.Update{Annotators: pointer(1)}, "a")
	e.annotate(q.ID, "a", "ann", `{"taste.of.it":3}`)
	telemetry(
		scored.ID,
		`{"m":1,"m_explanation":"great","own":3,"taste.of.it":5,"taste.of.it_explanation":"great","taste":{"of":{"it":5}},"other":{"x":1}}`,
		`{"ground_truth":"five","rating":1}`,
	)
	got := e.event(scored.ID)
	e.equal("metrics", `{"own":3,"m_explanation":null,"m":0.5,"taste.of.it":3,"taste.of.it_explanation":"by ann","other":{"x":1}}`, string(got.Metrics))
	e.equal("feedback", `{"ground_truth":"four","rating":1}`, string(got.Feedback))
	e.equal("outputs", `{"x":1}`, string(got.Outputs))

	name := "renamed"
	_, err := e.s.UpdateMetric(e.ctx, e.project, m, metric.Patch{Name: &name})
	e.ok(err)
	telemetry(scored.ID, `{"m":1,"renamed":2}`, "")
	e.equal(
		"after the metric has another name",
		`{"own":3,"m_explanation":null,"m":0.5,"taste.of.it":3,"taste.of.it_explanation":"by ann","other":{"x":1},"renamed":2}`,
		string(e.event(scored.ID).Metrics),
	)

	// One that waits for its event is no other.
	telemetry(early.ID, `{"own":1}`, `{"ground_truth":"five"}`)
	early.Feedback = raw(`{"ground_truth":"four"}`)
	e.put(early)
	e.equal("an early one", `{"ground_truth":"four"}`+`{"own":1}`, string(e.event(early.ID).Feedback)+string(e.event(early.ID).Metrics))

	// The project's own keys may say what they want.
	e.update(event.Update{EventID: scored.ID, Metrics: raw(`{"m":1}`), Feedback: raw(`{"ground_truth":"five"}`)})
	e.equal("an update by the project", `{"ground_truth":"five","rating":1}`, string(e.event(scored.ID).Feedback))
	e.equal("its score", "1", string(rawjson.Get(e.event(scored.ID).Metrics, "m")))
}

// pipelineScoresStay has updates of telemetry, and repeats, say something else of scores that the pipeline gave.
func pipelineScoresStay(e *env) {
	scored, early := step("s", "a", 0), step("s", "early", 1)
	for _, x := range []*event.Incoming{&scored, &early} {
		x.Metrics = raw(`{"own":1,"polite":0.5,"polite_explanation":"calm"}`)
		x.ColdMetadata = raw(`{"pipeline_scores":["polite"],"k":1}`)
	}
	lie := event.Update{
		Telemetry: true,
		Metrics:   raw(`{"own":2,"polite":1,"polite_explanation":"great"}`),
		Metadata:  raw(`{"pipeline_scores":[],"k":2}`),
	}
	told := func(what string, to uuid.UUID, metrics string) {
		e.Helper()
		got := e.event(to)
		e.equal(what, metrics, string(got.Metrics))
		e.equal(what+": the pipeline's", []string{"polite"}, got.PipelineScores())
	}
	lie.EventID = early.ID
	_, err := e.s.Update(e.ctx, e.project, lie) // waits for its event
	e.ok(err)
	e.put(scored)
	e.put(early)
	told("one that waited", early.ID, `{"own":2,"polite":0.5,"polite_explanation":"calm"}`)
	lie.EventID = scored.ID
	for range 2 {
		_, err := e.s.Update(e.ctx, e.project, lie)
		e.ok(err)
		told("updated", scored.ID, `{"own":2,"polite":0.5,"polite_explanation":"calm"}`)
	}
	again := scored
	again.ColdMetadata, again.Metadata, again.Metrics = nil, raw(`{"pipeline_scores":["own"]}`), raw(`{"polite":1,"more":1}`)
	e.put(again)
	got := e.event(scored.ID)
	e.equal("repeated", `{"own":2,"polite":0.5,"polite_explanation":"calm","more":1}`, string(got.Metrics))
	e.equal("repeated: the pipeline's", []string{"polite", "own"}, got.PipelineScores())

	startEvent := start("s2", "s2", 0, 0)
	startEvent.Started, startEvent.Metrics, startEvent.Metadata = true, raw(`{"polite":0.5}`), raw(`{"pipeline_scores":["polite"]}`)
	e.put(startEvent)
	startEvent.Metrics, startEvent.Metadata = nil, raw(`{"pipeline_scores":"none"}`)
	e.put(startEvent)
	told("a session started twice", startEvent.ID, `{"polite":0.5}`)

	open := step("s", "open", 2)
	open.Unfinished, open.Metrics, open.ColdMetadata = true, raw(`{"polite":0.5}`), raw(`{"pipeline_scores":["polite"]}`)
	e.put(open)
	open.Unfinished, open.Metrics, open.ColdMetadata = false, nil, raw(`{"k":1}`)
	e.put(open)
	told("finished", open.ID, `{"polite":0.5}`)

	e.update(event.Update{EventID: scored.ID, Metrics: raw(`{"polite":1}`)})
	e.equal("an update by the project", "1", string(rawjson.Get(e.event(scored.ID).Metrics, "polite")))
}

// scoredThenStarted has a session scored that nobody had started yet.
func scoredThenStarted(e *env) {
	e.clocked()
	m := e.onlineMetric("m")
	e.put(step("s", "a", 0))
	e.admit(evaluation.Enqueue{Requests: []evaluation.Request{{MetricID: m, Version: 1, EventID: id("s")}}})
	e.ok(
		e.s.FinishEvaluations(e.ctx, e.project, "m", []evaluation.Outcome{{Job: e.claimJobs(1)[0], State: evaluation.Done, Score: raw(`0.5`)}}),
	)
	e.update(event.Update{EventID: id("s"), Feedback: raw(`{"ground_truth":"four"}`)})
	startEvent := start("s", "late", 0, 0)
	startEvent.Started, startEvent.Metrics, startEvent.Feedback = true, raw(`{"m":1,"own":2}`), raw(`{"ground_truth":"five","rating":1}`)
	e.put(startEvent)
	got := e.event(id("s"))
	e.equal("name", "late", got.Name)
	e.equal("metrics", `{"m":0.5,"own":2}`, string(got.Metrics))
	e.equal("feedback", `{"ground_truth":"four","rating":1}`, string(got.Feedback))
}

func lateFinish(e *env) {
	c := e.clocked()
	m := e.onlineMetric("m")
	scored := step("s", "a", 0)
	e.put(scored)
	e.admit(evaluation.Enqueue{Requests: []evaluation.Request{{MetricID: m, Version: 1, EventID: scored.ID}}})
	first := e.claimJobs(1)
	c.move(time.Minute)
	second := e.claimJobs(1)
	e.equal("claimed after the lease", 1, len(second))
	done := func(j evaluation.Job, score string) {
		e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", []evaluation.Outcome{{Job: j, State: evaluation.Done, Score: raw(score)}}))
	}
	done(first[0], `1`)
	e.equal("the late one", "", string(e.event(scored.ID).Metrics))
	done(second[0], `2`)
	done(second[0], `3`)
	e.equal("the one that holds", `{"m":2}`, string(e.event(scored.ID).Metrics))
}

// An evaluation by a version that was in force before may end after one by the version that is.
func outdatedFinish(e *env) {
	c := e.clocked()
	m := e.onlineMetric("m")
	byBoth, byOldOnly := step("s", "a", 0), step("s", "b", 1)
	e.put(byBoth, byOldOnly)
	e.admit(
		evaluation.Enqueue{Requests: []evaluation.Request{
			{MetricID: m, Version: 1, EventID: byBoth.ID},
			{MetricID: m, Version: 1, EventID: byOldOnly.ID},
		}},
	)
	c.move(time.Second)
	e.admit(evaluation.Enqueue{Requests: []evaluation.Request{{MetricID: m, Version: 2, EventID: byBoth.ID}}})
	claim := func(version int64) []evaluation.Job {
		jobs, err := e.s.ClaimEvaluations(e.ctx, evaluation.Group{Project: e.project, MetricID: m, Version: version}, 10, time.Minute, nil)
		e.ok(err)
		return jobs
	}
	first, second := claim(1), claim(2)
	finish := func(score string, outdated bool, jobs ...evaluation.Job) {
		var outcomes []evaluation.Outcome
		for _, j := range jobs {
			outcomes = append(outcomes, evaluation.Outcome{Job: j, State: evaluation.Done, Score: raw(score), Outdated: outdated})
		}
		e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", outcomes))
	}
	finish(`2`, false, second...)
	finish(`1`, true, first...)
	e.equal("the version in force", `{"m":2}`, string(e.event(byBoth.ID).Metrics))
	e.equal("no other version", `{"m":1}`, string(e.event(byOldOnly.ID).Metrics))
	e.equal("results", 3, len(e.evaluations(evaluation.Query{State: evaluation.Done})))
}

func evaluatedEventDeleted(e *env) {
	e.clocked()
	m := e.onlineMetric("m")
	session := id("s")
	deleted, stays := step("s", "a", 0), step("s", "b", 0)
	e.put(deleted, stays)
	e.admit(
		evaluation.Enqueue{Requests: []evaluation.Request{
			{MetricID: m, Version: 1, EventID: deleted.ID},
			{MetricID: m, Version: 1, EventID: stays.ID},
		}},
	)
	jobs := e.claimJobs(10)
	e.ok(e.s.DeleteEvent(e.ctx, e.project, deleted.ID))
	e.equal("left", 1, len(e.evaluations(evaluation.Query{})))
	var outcomes []evaluation.Outcome
	for _, j := range jobs {
		outcomes = append(outcomes, evaluation.Outcome{Job: j, State: evaluation.Done, Score: raw(`1`)})
	}
	e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", outcomes))
	e.equal("score", `{"m":1}`, string(e.event(stays.ID).Metrics))
	e.ok(e.s.DeleteSession(e.ctx, e.project, session))
	e.equal("left of the session", 0, len(e.evaluations(evaluation.Query{})))
}

func evaluationLists(e *env) {
	e.clocked()
	m, other := e.onlineMetric("m"), e.onlineMetric("n")
	var requests []evaluation.Request
	for i := range 120 {
		a := step("s", fmt.Sprint(i), 0)
		e.put(a)
		metric := m
		if i%3 == 0 {
			metric = other
		}
		requests = append(requests, evaluation.Request{MetricID: metric, Version: 1, EventID: a.ID})
	}
	e.admit(evaluation.Enqueue{Requests: requests})
	all := e.evaluations(evaluation.Query{Limit: 1000})
	e.equal("all", 120, len(all))
	_, more, err := e.s.FindEvaluations(e.ctx, e.project, evaluation.Query{Limit: 120})
	e.ok(err)
	e.equal("more than all", false, more)
	page, more, err := e.s.FindEvaluations(e.ctx, e.project, evaluation.Query{Limit: 100})
	e.ok(err)
	e.equal("a page", 100, len(page))
	e.equal("more than it", true, more)
	e.equal("by id", all[5:6], e.evaluations(evaluation.Query{ID: all[5].ID}))
	e.equal("newest first", requests[119].EventID, all[0].EventID)
	rest := e.evaluations(evaluation.Query{Limit: 1000, Before: all[99].ID})
	e.equal("next page", all[100:], rest)
	e.equal("of a metric", 40, len(e.evaluations(evaluation.Query{Limit: 1000, MetricID: other})))
	var outcomes []evaluation.Outcome
	for _, j := range e.claimJobs(1000) {
		outcomes = append(outcomes, evaluation.Outcome{Job: j, State: evaluation.Failed, Failure: "odd"})
	}
	e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", outcomes))
	e.equal("failed so", 120, len(e.evaluations(evaluation.Query{Limit: 1000, Failure: "odd"})))
	e.equal("failed otherwise", 0, len(e.evaluations(evaluation.Query{Limit: 1000, Failure: "even"})))
	n, err := e.s.RetryEvaluations(e.ctx, e.project, evaluation.Query{Failure: "odd"})
	e.ok(err)
	e.equal("retried, in slices", int64(120), n)
	e.ok(e.s.DropWaiting(e.ctx, evaluation.Group{Project: e.project, MetricID: m, Version: 1}))
	e.equal("dropped", 40, len(e.evaluations(evaluation.Query{Limit: 1000})))
	stranger, err := e.s.EnsureProject(e.ctx, "stranger")
	e.ok(err)
	list, _, err := e.s.FindEvaluations(e.ctx, stranger.ID, evaluation.Query{Limit: 10})
	e.ok(err)
	e.equal("of another project", 0, len(list))
}

func eventsByID(e *env) {
	a, b, c := step("s", "a", 0), step("s", "b", 90_000), step("s", "c", 1)
	b.Inputs = raw(`{"x":1}`)
	e.put(a, b, c)
	e.reopen(store.Options{}) // filters of ids are built anew
	ids := func(list ...uuid.UUID) (found []uuid.UUID) {
		set, err := e.s.EventsByID(e.ctx, e.project, list)
		e.ok(err)
		for i, x := range e.load(set) {
			found = append(found, x.ID)
			if x.ID == b.ID {
				e.equal("payload", string(b.Inputs), string(set.Events[i].Inputs)+string(x.Inputs))
			}
		}
		return found
	}
	e.equal("in order", []uuid.UUID{b.ID, id("s"), a.ID}, ids(b.ID, id("s"), uuid.New(), a.ID))
	e.equal("none", 0, len(ids()))
	stranger, err := e.s.EnsureProject(e.ctx, "stranger")
	e.ok(err)
	set, err := e.s.EventsByID(e.ctx, stranger.ID, []uuid.UUID{a.ID})
	e.ok(err)
	e.equal("of another project", 0, len(set.Events))
}

// twoServers has workers of one or, where the database allows it, two servers finish a queue: each
// evaluation is claimed by one of them.
func twoServers(e *env) {
	m := e.onlineMetric("m")
	session := id("s")
	const n = 300
	var requests []evaluation.Request
	var list []event.Incoming
	for i := range n {
		a := step("s", fmt.Sprint(i), 0)
		list = append(list, a)
		requests = append(requests, evaluation.Request{MetricID: m, Version: 1, EventID: a.ID})
	}
	e.put(list...)
	e.admit(evaluation.Enqueue{Requests: requests})
	servers := []*store.Store{e.s}
	if e.place.Shared() {
		servers = append(servers, e.place.Open(e.T, store.Options{}))
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	claims := map[string]int{}
	for i := range 4 {
		s := servers[i%len(servers)]
		wg.Go(func() {
			for {
				jobs, err := s.ClaimEvaluations(e.ctx, evaluation.Group{Project: e.project, MetricID: m, Version: 1}, 20, time.Minute, nil)
				if err != nil {
					e.Error(err)
					return
				}
				if len(jobs) == 0 {
					return
				}
				var outcomes []evaluation.Outcome
				mu.Lock()
				for _, j := range jobs {
					claims[j.ID]++
					outcomes = append(outcomes, evaluation.Outcome{Job: j, State: evaluation.Done, Score: raw(`1`)})
				}
				mu.Unlock()
				if err := s.FinishEvaluations(e.ctx, e.project, "m", outcomes); err != nil {
					e.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	e.equal("claimed", n, len(claims))
	for id, times := range claims {
		if times != 1 {
			e.Errorf("evaluation %s was claimed %d times", id, times)
		}
	}
	scored := 0
	for _, x := range e.session(session) {
		if string(x.Metrics) == `{"m":1}` {
			scored++
		}
	}
	e.equal("scored", n, scored)
}

// labelledScores compares scores with labels: where both stand on an event, and those of a version.
func labelledScores(e *env) {
	e.clocked()
	m := e.onlineMetric("m")
	labelled := func(name string, start float64, metrics, feedback string) uuid.UUID {
		a := step("s", name, start)
		a.Metrics, a.Feedback = raw(metrics), raw(feedback)
		e.put(a)
		return a.ID
	}
	long := strings.Repeat("ä", 600)
	both := labelled("both", 1, `{"m":0.50,"m_explanation":"`+long+`"}`, `{"rating":{"of.it":true}}`)
	large := labelled("large", 2, `{"x":"`+strings.Repeat("x", 9000)+`","m":1}`, `{"rating":{"of.it":"`+long+`"}}`)
	labelled("none", 3, `{}`, `{"rating":{"of.it":null}}`)
	labelled("other", 4, `{"m":1}`, `{"rating":{}}`)
	_, has, err := query.ParseLabel("feedback.rating.of.it")
	e.ok(err)
	search := func(limit int, version int64) (list []evaluation.Labelled, more bool) {
		e.Helper()
		q := query.LabelSearch{Search: query.Search{Filters: []query.Filter{has}, Limit: limit}, Label: []string{"feedback", "rating", "of", "it"},
			MetricID: m, Metric: "m", Version: version}
		list, more, err := e.s.LabelledScores(e.ctx, e.project, q)
		e.ok(err)
		return list, more
	}
	list, more := search(10, 0)
	var got []string
	for _, x := range list {
		got = append(got, fmt.Sprintf("%s %s %s %d", x.Name, x.Label, x.Score, len(x.Explanation)))
	}
	e.equal("now", []string{"large [] 1 0", "both true 0.50 1003"}, got)
	e.equal("more", false, more)
	e.equal("session", id("s"), list[0].SessionID)

	list, more = search(1, 0)
	e.equal("one of them", 1, len(list))
	e.equal("more than one", true, more)

	e.admit(evaluation.Enqueue{Requests: []evaluation.Request{
		{MetricID: m, Version: 1, EventID: both}, {MetricID: m, Version: 2, EventID: both}, {MetricID: m, Version: 1, EventID: large}}})
	passed := true
	finish := func(version int64, score string, state evaluation.State) {
		e.Helper()
		jobs, err := e.s.ClaimEvaluations(e.ctx, evaluation.Group{Project: e.project, MetricID: m, Version: version}, 1, time.Minute, nil)
		e.ok(err)
		o := evaluation.Outcome{Job: jobs[0], State: state, Explanation: "by " + score, Passed: &passed, Cost: 0.25}
		if state == evaluation.Done {
			o.Score = raw(score)
		} else {
			o.Failure = "odd"
		}
		e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", []evaluation.Outcome{o}))
	}
	finish(2, "0.75", evaluation.Done)
	list, _ = search(10, 2)
	e.equal("of the second version", "0.75 by 0.75", fmt.Sprintf("%s %s", list[len(list)-1].Score, list[len(list)-1].Explanation))
	e.equal("of another event", "", string(list[len(list)-2].Score))
	list, _ = search(10, 1)
	e.equal("of the first version, which has none", "", string(list[len(list)-1].Score))

	stranger, err := e.s.EnsureProject(e.ctx, "stranger")
	e.ok(err)
	list, _, err = e.s.LabelledScores(e.ctx, stranger.ID, query.LabelSearch{Search: query.Search{Filters: []query.Filter{has}, Limit: 10},
		Label: []string{"feedback", "rating", "of", "it"}, MetricID: m, Metric: "m"})
	e.ok(err)
	e.equal("of another project", 0, len(list))
}

// evaluationCounts counts what became of evaluations, by when they were asked for.
func evaluationCounts(e *env) {
	c := e.clocked()
	m, other := e.onlineMetric("m"), e.onlineMetric("n")
	begin := float64(c.Now().UnixMilli())
	for i := range 5 {
		a := step("s", fmt.Sprint(i), 0)
		e.put(a)
		e.admit(evaluation.Enqueue{Requests: []evaluation.Request{{MetricID: m, Version: 1, EventID: a.ID}, {MetricID: other, Version: 1, EventID: a.ID}}})
		c.move(700 * time.Millisecond)
	}
	jobs, err := e.s.ClaimEvaluations(e.ctx, evaluation.Group{Project: e.project, MetricID: m, Version: 1}, 3, time.Minute, nil)
	e.ok(err)
	e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", []evaluation.Outcome{
		{Job: jobs[0], State: evaluation.Done, Score: raw(`1`), Cost: 0.25},
		{Job: jobs[1], State: evaluation.Failed, Failure: "unfit", Cost: 0.5},
		{Job: jobs[2], State: evaluation.Dead},
	}))
	counts := func(from, to *float64) evaluation.Counts {
		e.Helper()
		online, backfills, err := e.s.CountEvaluations(e.ctx, e.project, m, from, to)
		e.ok(err)
		e.equal("of backfills", evaluation.Counts{}, backfills)
		return online
	}
	all := counts(nil, nil)
	e.equal("all", map[evaluation.State]int64{evaluation.Waiting: 2, evaluation.Done: 1, evaluation.Failed: 1, evaluation.Dead: 1}, all.States)
	e.equal("failures", map[string]int64{"unfit": 1}, all.Causes)
	e.equal("cost", 0.75, all.Cost)
	total := func(c evaluation.Counts) (n int64) {
		for _, k := range c.States {
			n += k
		}
		return n
	}
	at := func(ms float64) *float64 { ms += begin; return &ms }
	for what, x := range map[string]struct {
		from, to *float64
		want     int64
	}{
		"both bounds included": {at(700), at(1400), 2}, "fractions": {at(0.5), at(1400.5), 2}, "from on": {at(2800), nil, 1}, "up to": {nil, at(-1), 0},
		"long ago": {at(-1e15), at(-1e14), 0}, "far ahead": {at(1e15), nil, 0}, "all of time": {at(-1e18), at(1e18), 5},
	} {
		e.equal(what, x.want, total(counts(x.from, x.to)))
	}
	stranger, err := e.s.EnsureProject(e.ctx, "stranger")
	e.ok(err)
	online, _, err := e.s.CountEvaluations(e.ctx, stranger.ID, m, nil, nil)
	e.ok(err)
	e.equal("of another project", int64(0), total(online))
}
