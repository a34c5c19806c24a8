package online

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a store with a project, an engine that does as told, and a clock that stands.
type world struct {
	*testing.T
	s       *store.Store
	project project.Project
	r       *Runner
	engine  *engine

	mu  sync.Mutex
	now time.Time
}

func newWorld(t *testing.T, change func(*Options)) *world {
	t.Helper()
	w := &world{T: t, now: time.UnixMilli(1_800_000_000_000), engine: &engine{}}
	var err error
	if w.s, err = store.OpenSQLite(t.Context(), t.TempDir(), store.Options{Now: w.Now, Synchronous: "normal"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if w.project, err = w.s.EnsureProject(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	o := Options{Workers: 2, Batch: 10, Timeout: time.Minute, Attempts: 3, Backoff: time.Second, Queue: 1000, SessionIdle: time.Minute, Unfinished: 2 * time.Minute,
		Poll: 10 * time.Millisecond, Now: w.Now}
	if change != nil {
		change(&o)
	}
	if w.r, err = New(w.s, w.engine, o); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) move(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// metric makes a metric that runs over all new events, but as change says.
func (w *world) metric(name string, change func(*metric.Definition)) string {
	w.Helper()
	d := metric.Definition{Name: name, Type: metric.Python, Criteria: "x", EnabledInProd: true, Sampling: json.RawMessage("100")}
	if change != nil {
		change(&d)
	}
	d.Complete(metric.DefaultSampling)
	if err := d.Validate(); err != nil {
		w.Fatal(err)
	}
	id, err := w.s.CreateMetric(w.Context(), w.project.ID, d)
	if err != nil {
		w.Fatal(err)
	}
	return id
}

// step returns an event that has ended.
func step(name string) event.Incoming {
	e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.NewSHA1(uuid.Nil, nil), Type: event.TypeTool, Name: name, Source: "test", Start: 1_800_000_000_000, Duration: 5}}
	e.Complete(time.Time{})
	return e
}

func (w *world) put(events ...event.Incoming) {
	w.Helper()
	if err := w.s.Put(w.Context(), w.project.ID, event.Batch{Events: events}); err != nil {
		w.Fatal(err)
	}
}

// drain feeds and works until nothing is left to do now.
func (w *world) drain() {
	w.Helper()
	for busy := true; busy; {
		var err error
		worked, err := w.r.feed(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		for range 3 { // a group that waits for another has its turn again
			more, err := w.r.workOnce(w.Context())
			if err != nil {
				w.Fatal(err)
			}
			worked += more
		}
		busy = worked > 0
	}
}

func (w *world) metrics(e event.Incoming) string {
	w.Helper()
	got, err := w.s.Event(w.Context(), w.project.ID, e.ID)
	if err != nil {
		w.Fatal(err)
	}
	return string(got.Metrics)
}

func (w *world) evaluations() []evaluation.Evaluation {
	w.Helper()
	list, _, err := w.s.FindEvaluations(w.Context(), w.project.ID, evaluation.Query{Limit: 1000})
	if err != nil {
		w.Fatal(err)
	}
	return list
}

func (w *world) equal(what string, want, got any) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// engine gives each event the score 1, or does what answer says, and counts.
type engine struct {
	mu     sync.Mutex
	answer func(evaluate.Task) ([]evaluation.Result, error)
	tasks  []evaluate.Task
	seen   map[string]int // metric and event
}

func (f *engine) Run(ctx context.Context, task evaluate.Task) ([]evaluation.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tasks = append(f.tasks, task)
	if f.seen == nil {
		f.seen = map[string]int{}
	}
	for _, e := range task.Events {
		f.seen[task.ID+" "+member(e, "event_id")]++
	}
	if f.answer != nil {
		return f.answer(task)
	}
	if task.Metric.Type == metric.Composite {
		return evaluate.Builtin().Run(ctx, task)
	}
	results := make([]evaluation.Result, len(task.Events))
	for i := range results {
		results[i] = evaluation.Result{Success: true, Score: json.RawMessage("1"), Explanation: "seen"}
	}
	return results, nil
}

func member(e json.RawMessage, key string) string {
	var m map[string]any
	_ = json.Unmarshal(e, &m)
	return fmt.Sprint(m[key])
}

func TestScored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.metric("m", nil)
	a, b := step("a"), step("b")
	own := step("own")
	own.Source = evaluation.Source
	w.put(a, b, own)
	w.drain()
	for _, e := range []event.Incoming{a, b} {
		w.equal("metrics of "+e.Name, `{"m":1,"m_explanation":"seen"}`, w.metrics(e))
	}
	w.equal("metrics of an evaluator's event", "", w.metrics(own))
	w.equal("engine asked", 1, len(w.engine.tasks))
	task := w.engine.tasks[0]
	w.equal("task", []any{w.project.ID, id, int64(1), "m", 2}, []any{task.Project, task.ID, task.Version, task.Metric.Name, len(task.Events)})
	w.put(a)
	if _, err := w.s.Update(t.Context(), w.project.ID, event.Update{EventID: a.ID, Outputs: json.RawMessage(`"more"`)}); err != nil {
		t.Fatal(err)
	}
	w.drain()
	w.equal("engine asked after a repeat and an update", 1, len(w.engine.tasks))

	// A new version scores what comes from then on.
	criteria := "y"
	if _, err := w.s.UpdateMetric(t.Context(), w.project.ID, id, metric.Patch{Criteria: &criteria}); err != nil {
		t.Fatal(err)
	}
	c := step("c")
	w.put(c)
	w.drain()
	w.equal("engine asked of the new version", int64(2), w.engine.tasks[1].Version)
	w.equal("its criteria", "y", w.engine.tasks[1].Metric.Criteria)
}

func TestWhichEvents(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for _, tt := range []struct {
		name   string
		change func(*metric.Definition)
		event  func(*event.Incoming)
		want   bool
	}{
		{"all", nil, func(*event.Incoming) {}, true},
		{"filter holds", func(d *metric.Definition) {
			d.Filters = json.RawMessage(`{"filterArray":[{"field":"outputs.x","operator":"greater than","value":1,"type":"number"}]}`)
		}, func(e *event.Incoming) { e.Outputs = json.RawMessage(`{"x":2}`) }, true},
		{"filter does not hold", func(d *metric.Definition) {
			d.Filters = json.RawMessage(`{"filterArray":[{"field":"outputs.x","operator":"greater than","value":1,"type":"number"}]}`)
		}, func(e *event.Incoming) { e.Outputs = json.RawMessage(`{"x":1}`) }, false},
		{"the project", func(d *metric.Definition) {
			d.Filters = json.RawMessage(`{"filterArray":[{"field":"project","operator":"is","value":"default"}]}`)
		}, func(*event.Incoming) {}, true},
		{"another project", func(d *metric.Definition) {
			d.Filters = json.RawMessage(`{"filterArray":[{"field":"project","operator":"is","value":"other"}]}`)
		}, func(*event.Incoming) {}, false},
		{"older client's name", func(d *metric.Definition) { d.EventName = text("x") }, func(e *event.Incoming) { e.Name = "x" }, true},
		{"another name", func(d *metric.Definition) { d.EventName = text("x") }, func(e *event.Incoming) { e.Name = "y" }, false},
		{"older client's type", func(d *metric.Definition) { d.EventType = text("tool") }, func(*event.Incoming) {}, true},
		{"another type", func(d *metric.Definition) { d.EventType = text("model") }, func(*event.Incoming) {}, false},
		{"all, in words", func(d *metric.Definition) { d.EventType, d.EventName = text("all"), text("") }, func(*event.Incoming) {}, true},
		{"sessions", func(d *metric.Definition) { d.EventType = text("session") }, func(*event.Incoming) {}, false},
		{"no sample", func(d *metric.Definition) { d.Sampling = json.RawMessage("0") }, func(*event.Incoming) {}, false},
		{"people", func(d *metric.Definition) { d.Type = metric.Human }, func(*event.Incoming) {}, false},
		{"no ground truth", func(d *metric.Definition) { d.NeedsGroundTruth = true }, func(*event.Incoming) {}, false},
		{"ground truth", func(d *metric.Definition) { d.NeedsGroundTruth = true }, func(e *event.Incoming) { e.Feedback = json.RawMessage(`{"ground_truth":false}`) }, true},
		{"not enabled", func(d *metric.Definition) { d.EnabledInProd = false }, func(*event.Incoming) {}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.metric("m", tt.change)
			e := step("e")
			tt.event(&e)
			w.put(e)
			w.drain()
			if got := len(w.engine.tasks) == 1; got != tt.want {
				t.Errorf("scored: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestUnfinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.metric("m", nil)
	open := func(name string) event.Incoming {
		e := step(name)
		e.End, e.Duration = e.Start, 0
		return e
	}
	ends, fails, never := open("ends"), open("fails"), open("never")
	span := step("span")
	span.Unfinished = true
	w.put(ends, never, span)
	text := "boom"
	fails.Error = &text
	w.put(fails)
	w.drain()
	w.equal("with an error", `{"m":1,"m_explanation":"seen"}`, w.metrics(fails))
	w.equal("unfinished", 1, len(w.evaluations()))
	end := ends.Start + 7
	if _, err := w.s.Update(t.Context(), w.project.ID, event.Update{EventID: ends.ID, EndTime: &end, Outputs: json.RawMessage(`{"x":1}`)}); err != nil {
		t.Fatal(err)
	}
	span.Unfinished = false
	span.Outputs = json.RawMessage(`{"done":true}`)
	w.put(span)
	w.drain()
	w.equal("ended", 3, len(w.evaluations()))
	last := w.engine.tasks[len(w.engine.tasks)-1]
	for _, e := range last.Events {
		if out := member(e, "outputs"); out == "map[]" {
			t.Errorf("scored before it had ended: %s", e)
		}
	}
	w.move(2 * time.Minute)
	w.drain()
	w.equal("after the wait", 4, len(w.evaluations()))
	w.equal("as it stands", `{"m":1,"m_explanation":"seen"}`, w.metrics(never))
}

func TestSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.metric("all", func(d *metric.Definition) {
		d.Filters = json.RawMessage(`{"filterArray":[{"field":"event_type","operator":"is","value":"session"},{"field":"metadata.num_events","operator":"is","value":2,"type":"number"}]}`)
	})
	a, b := step("a"), step("b")
	session := event.Incoming{Event: event.Event{ID: a.SessionID}}
	w.put(a)
	w.drain()
	w.move(40 * time.Second)
	w.put(b)
	w.drain()
	w.move(40 * time.Second)
	w.drain()
	w.equal("before it is idle", 0, len(w.engine.tasks))
	w.move(20 * time.Second)
	w.drain()
	w.equal("idle", `{"all":1,"all_explanation":"seen"}`, w.metrics(session))
	w.equal("its events", "", w.metrics(a)+w.metrics(b))
	var seen struct {
		Children []struct {
			Name string `json:"event_name"`
		} `json:"children"`
	}
	if err := json.Unmarshal(w.engine.tasks[0].Events[0], &seen); err != nil {
		t.Fatal(err)
	}
	w.equal("what the engine sees below it", 2, len(seen.Children))
	w.put(step("c"))
	w.drain()
	w.move(time.Hour)
	w.drain()
	w.equal("once", 1, len(w.evaluations()))
}

// TestBackfillWaits has past events scored some of which have not ended: they are scored when they have, and that one score is of the whole.
func TestBackfillWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	backfill := func(name, typ string) (metricID, id string) {
		t.Helper()
		m := w.metric(name, func(d *metric.Definition) { d.EnabledInProd = false })
		r, err := wire.DecodeBackfill([]byte(`{"filters":[{"field":"event_type","operator":"is","value":"`+typ+`"}]}`), &metric.Definition{}, w.Now())
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Backfill(m, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		if b, err = w.s.CreateBackfill(t.Context(), w.project.ID, b); err != nil {
			t.Fatal(err)
		}
		return m, b.ID
	}
	work := func() {
		t.Helper()
		for busy := true; busy; {
			var err error
			if busy, err = w.s.StepBackfills(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.drain()
	}
	count := func(metricID string) (n int) {
		for _, e := range w.evaluations() {
			if e.MetricID == metricID && e.State == evaluation.Done {
				n++
			}
		}
		return n
	}
	done, running, never, ahead := step("done"), step("running"), step("never"), step("ahead")
	for _, e := range []*event.Incoming{&running, &never, &ahead} {
		e.Unfinished, e.End, e.Duration = true, e.Start, 0
	}
	never.Start -= 121_000
	ahead.Start += 20 * 3_600_000 // of a sender whose clock is
	never.End, ahead.End = never.Start, ahead.Start
	w.put(done, running, never, ahead)
	tools, ofTools := backfill("tools", "tool")
	sessions, _ := backfill("sessions", "session")
	work()
	w.equal("all but the one that runs", []int{3, 0}, []int{count(tools), count(sessions)})
	w.equal("it has no score", "", w.metrics(running))
	w.equal("attempts", true, !slices.ContainsFunc(w.evaluations(), func(e evaluation.Evaluation) bool { return e.State == evaluation.Waiting && e.Attempts > 0 }))

	running.Unfinished, running.Outputs = false, json.RawMessage(`{"done":true}`)
	w.put(running)
	w.move(59 * time.Second)
	work()
	w.equal("within a minute", []int{3, 0}, []int{count(tools), count(sessions)})
	w.move(2 * time.Second)
	work()
	w.equal("then", []int{4, 1}, []int{count(tools), count(sessions)})
	for _, task := range w.engine.tasks {
		for _, e := range task.Events {
			if member(e, "event_name") == "running" && member(e, "outputs") != "map[done:true]" {
				t.Errorf("scored before it had ended: %s", e)
			}
		}
	}
	work()
	list, err := w.s.LoadBackfills(t.Context(), w.project.ID, []string{ofTools})
	if err != nil || list[0].State != evaluation.BackfillDone {
		t.Errorf("the backfill: %+v, %v", list, err)
	}
}

// A session for which something has come that nobody has looked at yet is not idle, also if its time has come.
func TestSessionGoesOnUnseen(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]int{"looked at together": 0, "behind others": claimOutbox + 100} {
		w := newWorld(t, nil)
		w.metric("all", func(d *metric.Definition) { d.EventType = new(string); *d.EventType = "session" })
		a := step("a")
		w.put(a)
		w.drain()
		w.move(59 * time.Second)
		for range between / 100 {
			var others []event.Incoming
			for range 100 {
				e := step("other")
				e.SessionID = uuid.UUID{1}
				others = append(others, e)
			}
			w.put(others...)
		}
		w.put(step("b"))
		w.move(time.Second)
		w.drain()
		w.equal(name+": a second after its last event", 0, len(w.evaluations()))
		w.move(time.Minute)
		w.drain()
		var seen []int // events below the session
		for _, task := range w.engine.tasks {
			for _, e := range task.Events {
				if member(e, "event_id") == a.SessionID.String() {
					seen = append(seen, strings.Count(string(e), `"event_type":"tool"`))
				}
			}
		}
		w.equal(name+": scored once, with both of its events", []int{2}, seen)
	}
}

func TestCompositeWaitsForItsParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.Batch = 2 })
	whole := func(children string) func(*metric.Definition) {
		return func(d *metric.Definition) {
			d.Type, d.Criteria, d.Children = metric.Composite, "", json.RawMessage(children)
		}
	}
	w.metric("top", whole(`[{"name":"middle","weight":1}]`))
	w.metric("middle", whole(`[{"name":"part","weight":1},{"name":"elsewhere","weight":1}]`))
	w.metric("part", nil)
	w.metric("ring", whole(`[{"name":"ring","weight":1},{"name":"part","weight":1}]`))
	var list []event.Incoming
	for i := range 7 {
		list = append(list, step(fmt.Sprint(i)))
	}
	w.put(list...)
	w.drain()
	for _, e := range list {
		got := w.metrics(e)
		for _, want := range []string{`"part":1`, `"middle":1`, `"top":1`} {
			if !strings.Contains(got, want) {
				t.Errorf("metrics %s, want %s in it", got, want)
			}
		}
	}
	for _, e := range w.evaluations() {
		if e.State == evaluation.Waiting {
			t.Errorf("%+v still waits", e)
		}
	}
}

func TestEngineBreaks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.metric("m", nil)
	w.engine.answer = func(evaluate.Task) ([]evaluation.Result, error) {
		return nil, fault.New(fault.Unavailable, "no provider answers")
	}
	e := step("e")
	w.put(e)
	for attempt, pause := range []time.Duration{time.Second, 2 * time.Second, 0} {
		w.drain()
		w.equal("asked", attempt+1, len(w.engine.tasks))
		got := w.evaluations()[0]
		w.equal("why", "no provider answers", got.Explanation)
		if pause == 0 {
			w.equal("state", evaluation.Dead, got.State)
			break
		}
		w.equal("state", evaluation.Waiting, got.State)
		w.move(pause - time.Millisecond)
		w.drain()
		w.equal("asked too early", attempt+1, len(w.engine.tasks))
		w.move(time.Millisecond)
	}
	if _, err := w.s.RetryEvaluations(t.Context(), w.project.ID, evaluation.Query{}); err != nil {
		t.Fatal(err)
	}
	w.engine.answer = func(evaluate.Task) ([]evaluation.Result, error) { return nil, errors.New("secret") }
	w.drain()
	if got := w.evaluations()[0]; strings.Contains(got.Explanation, "secret") || got.State != evaluation.Waiting {
		t.Errorf("after an unknown error: %+v", got)
	}
	w.engine.answer = func(evaluate.Task) ([]evaluation.Result, error) {
		return []evaluation.Result{{Failure: "timeout", Temporary: true, Explanation: "no answer in time"}}, nil
	}
	w.move(time.Hour)
	w.drain()
	if got := w.evaluations()[0]; got.Explanation != "no answer in time" || got.State != evaluation.Waiting {
		t.Errorf("after a failure that may go away: %+v", got)
	}
	w.engine.answer = func(evaluate.Task) ([]evaluation.Result, error) {
		return []evaluation.Result{{Failure: evaluation.Unfit, Explanation: "no question"}}, nil
	}
	w.move(time.Hour)
	w.drain()
	got := w.evaluations()[0]
	w.equal("failed", []any{evaluation.Failed, "unfit", "no question"}, []any{got.State, got.Failure, got.Explanation})
	w.move(time.Hour)
	w.drain()
	w.equal("a failure is a result", 6, len(w.engine.tasks))
	w.equal("metrics", "", w.metrics(e))
}

// TestBrokenOff leaves claims as a process that dies would.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.metric("m", nil)
	w.put(step("e"))
	if _, err := w.r.feed(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		jobs, err := w.s.ClaimEvaluations(t.Context(), evaluation.Group{Project: w.project.ID, MetricID: id, Version: 1}, 10, time.Minute, nil)
		if err != nil || len(jobs) != 1 {
			t.Fatal(jobs, err)
		}
		w.move(time.Minute)
	}
	w.drain()
	got := w.evaluations()[0]
	w.equal("state", evaluation.Dead, got.State)
	w.equal("engine asked", 0, len(w.engine.tasks))
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.Queue, o.Batch = 20, 100 })
	w.metric("m", nil)
	const n = 5 * claimOutbox
	var list []event.Incoming
	for range n {
		list = append(list, step("e"))
	}
	for part := range slices.Chunk(list, 400) {
		w.put(part...)
	}
	for range 50 {
		if _, err := w.r.feed(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if waits := len(w.evaluations()); waits < 20 || waits > 20+2*claimOutbox {
		t.Errorf("%d evaluations wait, want about 20", waits)
	}
	w.drain()
	w.equal("none is left out", n, len(w.engine.seen))
}

func TestMetricGoesAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	gone, off := w.metric("gone", nil), w.metric("off", nil)
	e := step("e")
	w.put(e)
	if _, err := w.r.feed(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.equal("wait", 2, len(w.evaluations()))
	if err := w.s.DeleteMetric(t.Context(), w.project.ID, gone); err != nil {
		t.Fatal(err)
	}
	no := false
	if _, err := w.s.UpdateMetric(t.Context(), w.project.ID, off, metric.Patch{EnabledInProd: &no}); err != nil {
		t.Fatal(err)
	}
	w.drain()
	w.equal("left", 0, len(w.evaluations()))
	w.equal("engine asked", 0, len(w.engine.tasks))
}

// TestRunner runs it as a server does: several workers, until all is done, and stops it.
func TestRunner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.metric("m", nil)
	w.metric("n", nil)
	w.r.Start()
	const n = 300
	var list []event.Incoming
	for i := range n {
		list = append(list, step("e"))
		w.put(list[i])
	}
	for deadline := time.Now().Add(time.Minute); ; {
		done := 0
		for _, e := range w.evaluations() {
			if e.State == evaluation.Done {
				done++
			}
		}
		if done == 2*n {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d evaluations done, want %d", done, 2*n)
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.r.Stop()
	w.r.Stop()
	for key, times := range w.engine.seen {
		if times != 1 {
			t.Errorf("%s was scored %d times", key, times)
		}
	}
	for _, e := range list {
		if got := w.metrics(e); !strings.Contains(got, `"m":1`) || !strings.Contains(got, `"n":1`) {
			t.Errorf("metrics %s", got)
		}
	}
}

// TestStop breaks off an evaluation, which waits for whoever comes next.
func TestStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.metric("m", nil)
	inside := make(chan struct{})
	slow := slowEngine{inside}
	r, err := New(w.s, slow, w.r.options)
	if err != nil {
		t.Fatal(err)
	}
	w.put(step("e"))
	r.Start()
	<-inside
	r.Stop()
	got := w.evaluations()[0]
	w.equal("state", evaluation.Waiting, got.State)
	w.drain()
	w.equal("done by the next", evaluation.Done, w.evaluations()[0].State)
}

// slowEngine ends with its context.
type slowEngine struct{ inside chan struct{} }

func (s slowEngine) Run(ctx context.Context, _ evaluate.Task) ([]evaluation.Result, error) {
	s.inside <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// busyStore says that events are being stored, until a moment.
type busyStore struct {
	Store
	until time.Time
}

func (b busyStore) Ingesting() bool { return time.Now().Before(b.until) }

func TestGivesWay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		worked, busy time.Duration
		want         time.Duration
	}{
		{"many times as long as it worked", time.Second, time.Hour, 2 * backoffFactor * time.Second},
		{"with a bound", time.Hour, time.Hour, maxPause},
		{"no longer than events are stored", time.Hour, 1950 * time.Millisecond, 2400 * time.Millisecond},
		{"not where none are", time.Second, 0, 0},
		{"not where there was nothing to do", 0, time.Hour, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			r := &Runner{store: busyStore{until: began.Add(tt.busy)}}
			f := r.throttle(2, func(context.Context) (time.Duration, error) { return tt.worked, nil })
			busy, err := f(t.Context())
			if err != nil || busy != (tt.worked > 0) || time.Since(began) != tt.want {
				t.Errorf("%s: busy %t, %v after %s, want it after %s", tt.name, busy, err, time.Since(began), tt.want)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := f(ctx); err != nil {
				t.Error(err) // and it came back
			}
		})
	}
}

// Waiting for a model's answer, or for one's turn at the store, takes nothing from ingestion.
func TestWork(t *testing.T) {
	t.Parallel()
	const slow = 20 * time.Millisecond
	for typ, want := range map[metric.Type]func(time.Duration) bool{
		metric.LLM:    func(d time.Duration) bool { return d == 2*(eventWork+judgeWork) },
		metric.Python: func(d time.Duration) bool { return d >= slow+2*eventWork },
	} {
		w := newWorld(t, nil)
		w.engine.answer = func(task evaluate.Task) ([]evaluation.Result, error) {
			time.Sleep(slow)
			return make([]evaluation.Result, len(task.Events)), nil
		}
		w.metric("m", func(d *metric.Definition) { d.Type = typ })
		w.put(step("a"), step("b"))
		looked, err := w.r.feed(t.Context())
		if err != nil || looked != 2*eventWork {
			t.Errorf("%s: looking at two events is %s of work, %v", typ, looked, err)
		}
		worked, err := w.r.workOnce(t.Context())
		if err != nil || !want(worked) {
			t.Errorf("%s: evaluating two events is %s of work, %v", typ, worked, err)
		}
	}
}

// An engine whose places others have was not asked: however often that is, it costs no attempt.
func TestBusy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	asked := 0
	w.engine.answer = func(evaluate.Task) ([]evaluation.Result, error) {
		if asked++; asked <= 10 {
			return nil, fault.Wrap(fault.Unavailable, evaluate.ErrBusy, "busy")
		}
		return []evaluation.Result{{Success: true, Score: json.RawMessage("1")}}, nil
	}
	w.metric("m", nil)
	w.put(step("a"))
	w.drain()
	list := w.evaluations()
	if len(list) != 1 || list[0].State != evaluation.Done || list[0].Attempts != 1 {
		t.Errorf("%+v after %d calls", list, asked)
	}
}

// limitedStore refuses sessions because too much is read, a number of times.
type limitedStore struct {
	Store
	left int
}

func (l *limitedStore) Session(ctx context.Context, project int64, id uuid.UUID) (*event.Set, error) {
	if l.left--; l.left >= 0 {
		return nil, fault.New(fault.Limited, "too many reads")
	}
	return l.Store.Session(ctx, project, id)
}

// An event that cannot be read because its project reads too much at once waits, and that costs no attempt.
func TestLimitedReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.metric("m", func(d *metric.Definition) {
		d.Filters = json.RawMessage(`{"filterArray":[{"field":"event_type","operator":"is","value":"session"}]}`)
	})
	limited := &limitedStore{w.r.store, 10}
	w.r.store = limited
	w.put(step("a"))
	for range 20 {
		w.drain()
		w.move(30 * time.Second)
	}
	list := w.evaluations()
	if len(list) != 1 || list[0].State != evaluation.Done || list[0].Attempts != 1 || limited.left >= 0 {
		t.Errorf("%+v, %d refusals left", list, limited.left)
	}
}

// What an attempt cost that gave no score is a part of what the evaluation cost.
func TestCostOfAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	asked := 0
	w.engine.answer = func(evaluate.Task) ([]evaluation.Result, error) {
		if asked++; asked == 1 {
			return []evaluation.Result{{Temporary: true, Failure: "provider", Cost: 0.25}}, nil
		}
		return []evaluation.Result{{Success: true, Score: json.RawMessage("1"), Cost: 0.5}}, nil
	}
	w.metric("m", nil)
	w.put(step("a"))
	w.drain()
	w.move(time.Minute)
	w.drain()
	w.equal("cost", 0.75, w.evaluations()[0].Cost)
}

// brokenStore cannot read one session.
type brokenStore struct {
	Store
	broken uuid.UUID
}

func (b brokenStore) Session(ctx context.Context, project int64, id uuid.UUID) (*event.Set, error) {
	if id == b.broken {
		return nil, fault.New(fault.Internal, "damaged")
	}
	return b.Store.Session(ctx, project, id)
}

// An event that cannot be read is given up by itself, and those that were claimed with it are scored.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.metric("m", func(d *metric.Definition) {
		d.Filters = json.RawMessage(`{"filterArray":[{"field":"event_type","operator":"is","value":"session"}]}`)
	})
	for i := range 4 {
		e := step("a")
		e.SessionID = uuid.UUID{15: byte(i + 1)}
		w.put(e)
		if i == 0 {
			w.r.store = brokenStore{w.r.store, e.SessionID}
		}
	}
	for range 10 {
		_, _ = w.r.feed(t.Context())
		for range 3 {
			_, _ = w.r.workOnce(t.Context())
		}
		w.move(time.Hour)
		w.r.queue.read = time.Time{}
	}
	got := map[string]int{}
	for _, e := range w.evaluations() {
		got[fmt.Sprint(e.State, " ", e.Attempts, " ", e.Explanation)]++
	}
	w.equal("evaluations", map[string]int{"done 1 seen": 3, "dead 3 The event could not be read.": 1}, got)
}

// unreadableStore cannot load events of a name.
type unreadableStore struct{ Store }

func (u unreadableStore) EventsByID(ctx context.Context, project int64, ids []uuid.UUID) (*event.Set, error) {
	set, err := u.Store.EventsByID(ctx, project, ids)
	if err != nil {
		return nil, err
	}
	load := set.Load
	set.Load = func(ctx context.Context, i int) (event.Event, error) {
		if set.Events[i].Name == "damaged" {
			return event.Event{}, fault.New(fault.Internal, "damaged")
		}
		return load(ctx, i)
	}
	return set, nil
}

// A new event that cannot be read keeps no other one from being scored.
func TestUnreadableArrival(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.r.store = unreadableStore{w.r.store}
	w.metric("m", nil)
	good := step("good")
	w.put(step("damaged"), good)
	w.drain()
	w.equal("metrics of the other", `{"m":1,"m_explanation":"seen"}`, w.metrics(good))
	w.move(time.Hour)
	w.drain()
	w.equal("evaluations", 1, len(w.evaluations()))
	projects, err := w.s.OutboxProjects(t.Context())
	if err != nil || len(projects) != 0 {
		t.Errorf("projects with something in the outbox: %v, %v", projects, err)
	}
}

// What an engine is being made ready for waits as long as it says, and that costs no attempt.
func TestLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	asked := 0
	w.engine.answer = func(evaluate.Task) ([]evaluation.Result, error) {
		if asked++; asked <= 5 {
			return []evaluation.Result{{Temporary: true, Skipped: true, Loading: true, Later: time.Minute, Explanation: "being fetched"}}, nil
		}
		return []evaluation.Result{{Success: true, Score: json.RawMessage("1")}}, nil
	}
	w.metric("m", nil)
	w.put(step("a"))
	for i := range 6 {
		w.drain()
		if asked != i+1 {
			t.Errorf("asked %d times after %d minutes", asked, i)
		}
		w.move(time.Minute)
	}
	list := w.evaluations()
	if len(list) != 1 || list[0].State != evaluation.Done || list[0].Attempts != 1 {
		t.Errorf("%+v", list)
	}
}

// An engine that has time for one event at a time, or cannot do with many, is asked until all are
// scored; what it never looked at costs no attempt.
func TestTimeForFew(t *testing.T) {
	t.Parallel()
	for name, few := range map[string]func(evaluate.Task) ([]evaluation.Result, error){
		"one at a time": func(task evaluate.Task) ([]evaluation.Result, error) {
			results := make([]evaluation.Result, len(task.Events))
			for i := range results {
				results[i] = evaluation.Result{Temporary: true, Skipped: true}
			}
			results[0] = evaluation.Result{Success: true, Score: json.RawMessage("1")}
			return results, nil
		},
		"not many": func(task evaluate.Task) ([]evaluation.Result, error) {
			if len(task.Events) > 2 {
				return nil, context.DeadlineExceeded
			}
			results := make([]evaluation.Result, len(task.Events))
			for i := range results {
				results[i] = evaluation.Result{Success: true, Score: json.RawMessage("1")}
			}
			return results, nil
		},
	} {
		w := newWorld(t, nil)
		w.engine.answer = few
		w.metric("m", nil)
		for range 12 {
			w.put(step("a"))
		}
		for range 3 {
			w.drain()
			w.move(time.Hour)
		}
		for _, e := range w.evaluations() {
			if e.State != evaluation.Done || name == "one at a time" && e.Attempts != 1 {
				t.Errorf("%s: %s after %d attempts: %s", name, e.State, e.Attempts, e.Explanation)
			}
		}
	}
}

// untilTheEnd is an engine that takes all the time there is.
type untilTheEnd struct{}

func (untilTheEnd) Run(ctx context.Context, task evaluate.Task) ([]evaluation.Result, error) {
	<-ctx.Done()
	return slices.Repeat([]evaluation.Result{{Success: true, Score: json.RawMessage("1")}}, len(task.Events)), nil
}

// What a turn has no time left for waits as if nobody had claimed it.
func TestNoTimeLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.engine.answer = func(evaluate.Task) ([]evaluation.Result, error) { return nil, errors.New("broken") }
	w.metric("m", nil)
	for range 10 {
		w.put(step("a"))
	}
	w.drain() // from now on an engine gets two at once
	w.move(time.Hour)
	o := w.r.options
	o.Timeout = 2 * time.Second
	slow, err := New(w.s, untilTheEnd{}, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slow.workOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range w.evaluations() {
		count[fmt.Sprint(e.State, e.Attempts)]++
	}
	w.equal("after one turn", map[string]int{"done2": 2, "waiting1": 8}, count)
}
