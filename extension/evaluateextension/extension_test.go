package evaluateextension

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTest(workers int) *evaluateExtension {
	cfg := createDefaultConfig().(*Config)
	cfg.Workers = workers
	set := extensiontest.NewNopSettings(componentType)
	set.ID = component.NewID(componentType)
	return newExtension(set, cfg)
}

type storeExtension struct {
	component.Component
	store any
}

func (s storeExtension) Store() any { return s.store }

type host map[component.ID]component.Component

func (h host) GetExtensions() map[component.ID]component.Component { return h }

// newHost has a store.
func newHost(t *testing.T) host {
	t.Helper()
	s, err := store.OpenSQLite(t.Context(), t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return host{component.MustNewID("spangrove_store"): storeExtension{store: s}}
}

func TestStartNamesTheSetting(t *testing.T) {
	t.Parallel()
	e := newTest(1)
	err := e.Start(t.Context(), host{})
	if want := `extensions::spangrove_evaluate::store: no extension "spangrove_store" runs`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Start: %v, want %q", err, want)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	e.cfg.Online.Enabled = false
	if err := e.Start(t.Context(), host{}); err != nil {
		t.Errorf("Start without a queue to work on: %v", err)
	}
}

var task = evaluate.Task{
	Metric: &metric.Definition{Name: "taste", Type: metric.Human, Return: metric.Float},
	Events: []json.RawMessage{json.RawMessage(`{"metrics":{"taste":4}}`)},
}

func TestLifeCycle(t *testing.T) {
	t.Parallel()
	e := newTest(1)
	if err := e.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown before Start: %v", err)
	}
	if _, err := e.Run(t.Context(), task); fault.Of(err) != fault.Unavailable {
		t.Errorf("Run before Start: %v, want Unavailable", err)
	}
	for range 2 {
		if err := e.Start(t.Context(), newHost(t)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := e.Run(t.Context(), task)
	if err != nil || len(got) != 1 || string(got[0].Score) != "4" {
		t.Errorf("Run: %+v, %v", got, err)
	}
	closing := &fakeEngine{}
	e.engines[metric.Python] = closing
	for range 2 {
		if err := e.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	}
	if closing.closed != 1 {
		t.Errorf("an engine was closed %d times, want once", closing.closed)
	}
	if _, err := e.Run(t.Context(), task); fault.Of(err) != fault.Unavailable {
		t.Errorf("Run after Shutdown: %v, want Unavailable", err)
	}
}

// TestShutdownBreaksOff: a server that stops does not wait for the answers that the queue waits for, such as a slow model's.
func TestShutdownBreaksOff(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	s := h[component.MustNewID("spangrove_store")].(storeExtension).store.(*store.Store)
	e := newTest(2)
	e.cfg.Online.PollInterval, e.cfg.Online.Timeout = 10*time.Millisecond, time.Hour
	if err := e.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	slow := &slowEngine{inside: make(chan struct{}, 1), answer: make(chan struct{})}
	e.mu.Lock()
	e.engines[metric.LLM] = slow
	e.mu.Unlock()
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	judge := metric.Definition{Name: "judge", Type: metric.LLM, Criteria: "is it good?", EnabledInProd: true}
	judge.Complete(metric.OlderSampling)
	if _, err := s.CreateMetric(t.Context(), p.ID, judge); err != nil {
		t.Fatal(err)
	}
	now := float64(time.Now().UnixMilli())
	if err := s.Put(t.Context(), p.ID, event.NewBatch(event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeModel, Name: "m", Source: "test",
		Start: now, End: now + 1, Duration: 1})); err != nil {
		t.Fatal(err)
	}
	<-slow.inside
	done := make(chan error, 1)
	go func() { done <- e.Shutdown(context.Background()) }()
	select {
	case err = <-done:
	case <-time.After(time.Minute):
		t.Error("it waits for the answer")
		close(slow.answer)
		err = <-done
	}
	if err != nil {
		t.Error(err)
	}
}

// slowEngine says when it is asked, and answers when it may, or not at all if it is broken off.
type slowEngine struct{ inside, answer chan struct{} }

func (f *slowEngine) Evaluate(ctx context.Context, task evaluate.Task) ([]evaluation.Result, error) {
	f.inside <- struct{}{}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.answer:
		return make([]evaluation.Result, len(task.Events)), nil
	}
}

// TestPlaces has one project fill all the places that it may have for models, and looks at what the next
// task finds: its own and another project's, of models and of expressions.
func TestPlaces(t *testing.T) {
	t.Parallel()
	e := newTest(4)
	e.cfg.Online.Enabled = false
	e.cfg.MaxWait = time.Millisecond
	if err := e.Start(t.Context(), newHost(t)); err != nil {
		t.Fatal(err)
	}
	engine := &fakeEngine{inside: make(chan struct{}, 10), leave: make(chan struct{})}
	quick := &fakeEngine{inside: make(chan struct{}, 10), leave: make(chan struct{})}
	close(quick.leave)
	e.engines[metric.LLM], e.engines[metric.Expression] = engine, quick
	of := func(project int64, typ metric.Type, events int) evaluate.Task {
		return evaluate.Task{Project: project, Metric: &metric.Definition{Type: typ, Return: metric.Float}, Events: make([]json.RawMessage, events)}
	}
	done := make(chan error)
	run := func(project int64) {
		t.Helper()
		go func() {
			_, err := e.Run(context.Background(), of(project, metric.LLM, 1))
			done <- err
		}()
		<-engine.inside
	}
	run(1)
	run(1) // half of the workers
	_, err := e.Run(t.Context(), of(1, metric.LLM, 1))
	if fault.Of(err) != fault.Limited || !errors.Is(err, evaluate.ErrBusy) {
		t.Errorf("a third of the project: %v", err)
	}
	timed, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err = (ofQueue{e}).Run(timed, of(1, metric.LLM, 1)); !errors.Is(err, evaluate.ErrBusy) {
		t.Errorf("one of the queue: %v", err)
	}
	run(2) // another project finds a place
	if results, err := e.Run(t.Context(), of(1, metric.Expression, 3*expressionsAtOnce+1)); err != nil || len(results) != 3*expressionsAtOnce+1 || len(quick.inside) != 4 {
		t.Errorf("an expression: %d results of %d tasks, %v", len(results), len(quick.inside), err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := e.Run(gone, of(1, metric.LLM, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller is gone: %v", err)
	}
	close(engine.leave)
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// fakeEngine says when it is asked, and answers when it may leave.
type fakeEngine struct {
	inside, leave chan struct{}
	closed        int
}

func (f *fakeEngine) Evaluate(_ context.Context, task evaluate.Task) ([]evaluation.Result, error) {
	f.inside <- struct{}{}
	<-f.leave
	return make([]evaluation.Result, len(task.Events)), nil
}

func (f *fakeEngine) Close() error {
	f.closed++
	return nil
}
