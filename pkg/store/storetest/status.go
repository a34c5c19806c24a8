package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/status"
)

var statusTests = []test{
	{"Status/what came and is stored", statusActivity},
	{"Status/updates that wait", statusUpdates},
	{"Status/queue of evaluations", statusEvaluations},
	{"Status/database and its space", statusSpace},
	{"Status/whether it can be written", statusWrite},
}

func statusActivity(e *env) {
	before := e.s.Activity(0)
	span := step("a", "span", 0)
	span.TraceID, span.Inputs = id("trace"), raw(`{"q":1}`)
	e.put(span, step("a", "native", 1))
	e.put(step("b", "native, too", 2))
	e.put(step("b", "native, too", 2)) // a repeat counts again
	got := e.s.Activity(0)
	e.equal("events", int64(4), got.Ingest.Events.Total-before.Ingest.Events.Total)
	e.equal("spans", int64(1), got.Ingest.Spans.Total-before.Ingest.Spans.Total)
	e.equal("native events", int64(3), got.Ingest.Native.Total-before.Ingest.Native.Total)
	if got.Ingest.Events.PerSecond1m <= 0 || got.Commits.P50MS == nil || *got.Commits.P50MS <= 0 || *got.Commits.P99MS < *got.Commits.P50MS {
		e.Errorf("%+v, commits %+v", got.Ingest, got.Commits)
	}
	if n := *got.Commits.Total - *before.Commits.Total; n < 3 { // the background may commit, too
		e.Errorf("%d commits, want 3", n)
	}
	for got.Queue.Requests > 0 { // of the background; they end
		time.Sleep(time.Millisecond)
		got = e.s.Activity(0)
	}
	e.equal("what waits", status.Queue{MaxRequests: got.Queue.MaxRequests, MaxBytes: got.Queue.MaxBytes}, got.Queue)
	if got.Queue.MaxRequests <= 0 || got.Queue.MaxBytes <= 0 {
		e.Errorf("bounds %+v", got.Queue)
	}
	state, err := e.s.State(e.ctx, 0)
	e.ok(err)
	own, err := e.s.State(e.ctx, e.project)
	e.ok(err)
	// Each session has an event of its own.
	e.equal("of all", [3]int64{1, 2, 5}, [3]int64{state.Contents.Projects, state.Contents.Sessions, state.Contents.Events})
	e.equal("of the project", state.Contents, own.Contents)
	if state.Contents.StoredBytes <= 0 || state.Packer.Sessions != 1 || state.Packer.Due != 0 {
		e.Errorf("%+v", state)
	}
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	own, err = e.s.State(e.ctx, other.ID)
	e.ok(err)
	e.equal("of another project", status.Contents{Projects: 1}, own.Contents)
	e.ok(e.s.Seal(e.ctx))
	state, err = e.s.State(e.ctx, 0)
	e.ok(err)
	if state.WaitingWords < 1 && e.place.Count(e.T, `SELECT count(*) FROM segment WHERE NOT words`) > 0 {
		e.Errorf("no segment waits for its words: %+v", state)
	}
}

func statusUpdates(e *env) {
	e.put(step("s", "x", 0))
	early := event.Update{EventID: uuid.New(), Outputs: raw(`1`)}
	if pending, err := e.s.Update(e.ctx, e.project, early); err != nil || !pending {
		e.Fatal(pending, err)
	}
	all, own, other := e.s.Activity(0).Waiting, e.s.Activity(e.project).Waiting, e.s.Activity(e.project+1).Waiting
	e.equal("updates that wait", [3]int64{1, 1, 0}, [3]int64{all.Updates, own.Updates, other.Updates})
	if own.MaxUpdates >= all.MaxUpdates || own.MaxUpdates <= 0 {
		e.Errorf("of %d updates, %d may be of one project", all.MaxUpdates, own.MaxUpdates)
	}
}

func statusEvaluations(e *env) {
	c := e.clocked()
	early := step("s", "early", 0)
	e.put(early)
	m := e.onlineMetric("m")
	list := []event.Incoming{step("s", "a", 0), step("s", "b", 1), step("s", "c", 2)}
	e.put(list...)
	backlog := func(what string, want status.Evaluations) {
		e.Helper()
		x, err := e.s.EvaluationBacklog(e.ctx, 0)
		e.ok(err)
		own, err := e.s.EvaluationBacklog(e.ctx, e.project)
		e.ok(err)
		other, err := e.s.EvaluationBacklog(e.ctx, e.project+1)
		e.ok(err)
		e.equal(what, []status.Evaluations{want, want, {}}, []status.Evaluations{x, own, other})
	}
	backlog("before anybody has looked", status.Evaluations{NewEvents: 3})
	_, rows := e.arrived()
	request := func(i int) evaluation.Request {
		return evaluation.Request{MetricID: m, Version: 1, EventID: list[i].ID}
	}
	e.admit(evaluation.Enqueue{
		Requests:  []evaluation.Request{request(0), request(1), request(2)},
		Delayed:   []evaluation.Delayed{{EventID: early.ID, Due: c.Now().Add(time.Minute).UnixMilli()}},
		OutboxIDs: rows,
	})
	backlog("asked for", status.Evaluations{Waiting: 3, Due: 3, Delayed: 1})
	jobs := e.claimJobs(2)
	backlog("two are worked on", status.Evaluations{Waiting: 3, Due: 1, Delayed: 1})
	e.ok(e.s.FinishEvaluations(e.ctx, e.project, "m", []evaluation.Outcome{{Job: jobs[0], State: evaluation.Failed}, {Job: jobs[1], State: evaluation.Dead}}))
	backlog("which came to nothing", status.Evaluations{Waiting: 1, Due: 1, Delayed: 1, Failed: 1, Dead: 1})
}

func statusSpace(e *env) {
	for i := range 50 {
		e.put(step(fmt.Sprint("s", i), "x", float64(i)))
	}
	e.ok(e.s.Seal(e.ctx))
	d, _, err := e.s.Database(e.ctx)
	e.ok(err)
	if d.Kind == "" || d.Version == "" || *d.DatabaseBytes <= 0 || (d.Directory == "") != (d.Disk == nil) {
		e.Errorf("%+v", d)
	}
	if d.Disk != nil && (d.Disk.FreeBytes < 0 || d.Disk.TotalBytes < d.Disk.FreeBytes || d.Disk.TotalBytes == 0) {
		e.Errorf("disk %+v", *d.Disk)
	}
	x, err := e.s.Space(e.ctx)
	e.ok(err)
	sum, kinds := int64(0), map[string]int64{}
	for _, k := range x.Kinds {
		kinds[k.Kind] = k.Bytes
		sum += k.Bytes
	}
	for _, kind := range []string{"heads", "payload", "sessions", "segments", "indexes", "resources"} {
		if kinds[kind] <= 0 {
			e.Errorf("%s takes nothing: %+v", kind, x.Kinds)
		}
	}
	// Pages that are in the log as well are there twice, and count once.
	if x.Bytes <= 0 || sum < x.Bytes*9/10 {
		e.Errorf("kinds take %d bytes, all together %d: %+v", sum, x.Bytes, x.Kinds)
	}
}

func statusWrite(e *env) {
	e.ok(e.s.CheckWrite(e.ctx))
	e.ok(e.s.CheckWrite(e.ctx))
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	if err := e.s.CheckWrite(ctx); !errors.Is(err, context.Canceled) {
		e.Errorf("by a caller that left: %v", err)
	}
	if n := e.place.Count(e.T, `SELECT count(*) FROM setting WHERE name = 'write_check'`); n != 1 {
		e.Errorf("%d rows", n)
	}
	e.ok(e.s.Close(e.ctx))
	if err := e.s.CheckWrite(e.ctx); err == nil {
		e.Error("a store that is closed can be written")
	}
}
