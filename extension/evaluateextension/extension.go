package evaluateextension

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensioncapabilities"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluate/llm"
	"github.com/spangrove/spangrove/pkg/evaluate/online"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/mount"
)

// judgeStore is what models that judge need of the store.
type judgeStore interface {
	llm.Recorder
	llm.Ledger
	llm.Projects
	// RecordSecret returns what records of models' answers are signed with.
	RecordSecret(ctx context.Context) ([]byte, error)
	providerStore
}

type evaluateExtension struct {
	set extension.Settings
	cfg *Config
	// models are the places of tasks that ask models, expressions those of tasks that compute one.
	models, expressions *evaluate.Slots

	mu      sync.RWMutex     // held for reading by every evaluation
	engines evaluate.Engines // nil: not started
	keys    *keeper          // nil: not started, or there is no store
	limits  mount.Limits     // nil: there is no store

	// background guards what works by itself, for an instant each: to end that, nobody waits for evaluations.
	background sync.Mutex
	runner     *online.Runner // nil: not started, or switched off
	alerts     *alerter       // nil: not started, or there is no store
}

var (
	_ extensioncapabilities.Dependent = (*evaluateExtension)(nil)
	_ mount.StoreUser                 = (*evaluateExtension)(nil)
)

func newExtension(set extension.Settings, cfg *Config) *evaluateExtension {
	return &evaluateExtension{set: set, cfg: cfg, models: evaluate.NewSlots(2*cfg.Workers, maxWaiting),
		expressions: evaluate.NewSlots(runtime.GOMAXPROCS(0), maxWaiting)}
}

// maxWaiting bounds the requests of one project that wait for a place of one sort.
const maxWaiting = 100

// expressionsAtOnce is how many events of a task expressions are computed for between two turns: at
// most about a second's work.
const expressionsAtOnce = 10

// Dependencies makes the collector start the store first.
func (e *evaluateExtension) Dependencies() []component.ID { return []component.ID{e.cfg.Store} }

// StoreID implements mount.StoreUser.
func (e *evaluateExtension) StoreID() component.ID { return e.cfg.Store }

// Start builds the engines and begins to work on the queue. A second Start changes nothing.
func (e *evaluateExtension) Start(ctx context.Context, host component.Host) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.background.Lock()
	defer e.background.Unlock()
	if e.engines != nil {
		return nil
	}
	judges := llm.Deps{Logger: e.set.Logger}
	s, err := mount.StoreOf[judgeStore](host, e.cfg.Store, fmt.Sprintf("extensions::%s::store", e.set.ID))
	switch {
	case err == nil:
		if e.keys, err = newKeeper(s, e.cfg); err != nil {
			return fmt.Errorf("extensions::%s::%w", e.set.ID, err)
		}
		judges.Recorder, judges.Ledger, judges.Stored = s, s, e.keys
		judges.Projects, e.limits = s, s
		if e.alerts, err = e.newAlerter(host); err != nil {
			return fmt.Errorf("extensions::%s::alerts: %w", e.set.ID, err)
		}
		if judges.Secret, err = s.RecordSecret(ctx); err != nil {
			return fmt.Errorf("extensions::%s: read the secret of records: %w", e.set.ID, err)
		}
	case len(e.cfg.LLM.Providers) > 0:
		return err
	}
	engines, err := newEngines(e.cfg, judges)
	if err != nil {
		return fmt.Errorf("extensions::%s: %w", e.set.ID, err)
	}
	if e.cfg.Online.Enabled {
		if e.runner, err = e.newRunner(host); err != nil {
			return err
		}
		e.runner.Start()
	}
	if e.alerts != nil && e.cfg.Alerts.Enabled {
		e.alerts.runner.Start()
	}
	e.engines = engines
	return nil
}

// Run scores the task's events as evaluate.Engines does. Where all slots are taken it waits for
// its project's turn, at most for the configured time; then, and where too many of the project wait
// already, it is fault.Limited or fault.Unavailable. It is fault.Unavailable before Start and after
// Shutdown, too.
func (e *evaluateExtension) Run(ctx context.Context, task evaluate.Task) ([]evaluation.Result, error) {
	task.Wait = evaluate.Wait{Longest: e.cfg.MaxWait}
	return e.run(ctx, task)
}

// ofQueue runs tasks of the queue, which wait as long as their contexts let them.
type ofQueue struct{ *evaluateExtension }

// Run implements online.Evaluator.
func (e ofQueue) Run(ctx context.Context, task evaluate.Task) ([]evaluation.Result, error) {
	task.Wait = evaluate.Wait{Queued: true}
	return e.run(ctx, task)
}

func (e *evaluateExtension) run(ctx context.Context, task evaluate.Task) (results []evaluation.Result, err error) {
	task.Wait.Project = task.Project
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.engines == nil {
		return nil, fault.New(fault.Unavailable, "metrics do not run now: the server is starting or stopping")
	}
	switch task.Metric.Type {
	case metric.LLM:
		// A model's answer takes long and nothing of this machine: some places are always left.
		if task.Wait.Most, err = e.most(ctx, task.Project); err != nil {
			return nil, err
		}
		return e.place(ctx, e.models, task)
	case metric.Python:
		// The engine has places of its own, which a long task leaves in between.
		if task.Wait.Most, err = e.ownMost(ctx, task.Project); err != nil {
			return nil, err
		}
	case metric.Expression:
		for events := range slices.Chunk(task.Events, expressionsAtOnce) {
			part := task
			part.Events = events
			more, err := e.place(ctx, e.expressions, part)
			if err != nil {
				return nil, err
			}
			results = append(results, more...)
			task.Wait.Queued = true // it is half done
		}
		return results, nil
	}
	return e.engines.Run(ctx, task)
}

// place runs a task when there is a place for it.
func (e *evaluateExtension) place(ctx context.Context, places *evaluate.Slots, task evaluate.Task) ([]evaluation.Result, error) {
	if err := places.Take(ctx, task.Wait); err != nil {
		return nil, err
	}
	defer places.Give(task.Project)
	return e.engines.Run(ctx, task)
}

// most returns how many of a project's tasks may ask models, or be taken from the queue, at the same time.
func (e *evaluateExtension) most(ctx context.Context, projectID int64) (int, error) {
	own, err := e.ownMost(ctx, projectID)
	share := max(1, e.cfg.Workers/2)
	if own > 0 {
		share = min(own, share)
	}
	return share, err
}

// ownMost returns the project's limit of evaluations at the same time; 0: none.
func (e *evaluateExtension) ownMost(ctx context.Context, projectID int64) (int, error) {
	if e.limits == nil {
		return 0, nil
	}
	bounds, err := e.limits.ProjectLimits(ctx, projectID)
	if fault.IsNotFound(err) {
		return 0, nil // it has just been deleted
	}
	if err != nil {
		return 0, fmt.Errorf("read the project's limits: %w", errors.Join(err, evaluate.ErrBusy)) // nothing was begun
	}
	return int(min(bounds.EvaluationSlots, maxWorkers)), nil
}

// queueShare returns how many batches of a project's queue are worked on at the same time. A place is left
// to its requests, if it may have more than one.
func (e *evaluateExtension) queueShare(ctx context.Context, projectID int64) (int, error) {
	n, err := e.most(ctx, projectID)
	return max(1, n-1), err
}

// Check returns what is wrong with a definition, as evaluate.Engines does. Before Start and after
// Shutdown nothing is.
func (e *evaluateExtension) Check(d *metric.Definition) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.engines.Check(d)
}

// Warnings returns what in a definition may not work, as evaluate.Engines does.
func (e *evaluateExtension) Warnings(d *metric.Definition) []string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.engines.Warnings(d)
}

// Available returns what metrics of a project can use, as evaluate.Engines does. Before Start and after Shutdown it is nothing.
func (e *evaluateExtension) Available(ctx context.Context, projectID int64) (evaluate.Available, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.engines.Available(ctx, projectID)
}

// Shutdown breaks off work on the queue, waits for the evaluations that run, and closes the
// engines.
func (e *evaluateExtension) Shutdown(context.Context) error {
	e.background.Lock()
	runner, alerts := e.runner, e.alerts
	e.runner, e.alerts = nil, nil
	e.background.Unlock()
	if alerts != nil {
		alerts.runner.Stop()
	}
	if runner != nil {
		runner.Stop()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for _, engine := range e.engines {
		if c, ok := engine.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	e.engines = nil
	return errors.Join(errs...)
}
