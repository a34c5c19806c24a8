package evaluateextension

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTest(workers int) *evaluateExtension {
	cfg := createDefaultConfig().(*Config)
	cfg.Workers = workers
	return newExtension(extensiontest.NewNopSettings(componentType), cfg)
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
		if err := e.Start(t.Context(), componenttest.NewNopHost()); err != nil {
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

// TestWorkers holds one evaluation and looks at what the next one does.
func TestWorkers(t *testing.T) {
	t.Parallel()
	e := newTest(1)
	if err := e.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	engine := &fakeEngine{inside: make(chan struct{}), leave: make(chan struct{})}
	e.engines[metric.Human] = engine
	done := make(chan error)
	go func() {
		_, err := e.Run(t.Context(), task)
		done <- err
	}()
	<-engine.inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Run(ctx, task); !errors.Is(err, context.Canceled) {
		t.Errorf("an evaluation beyond the workers: %v, want to wait", err)
	}
	close(engine.leave)
	if err := <-done; err != nil {
		t.Error(err)
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

func (f *fakeEngine) Evaluate(_ context.Context, task evaluate.Task) ([]evaluate.Result, error) {
	close(f.inside)
	<-f.leave
	return make([]evaluate.Result, len(task.Events)), nil
}

func (f *fakeEngine) Close() error {
	f.closed++
	return nil
}
