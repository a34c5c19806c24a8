package evaluateextension

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensioncapabilities"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluate/llm"
	"github.com/spangrove/spangrove/pkg/evaluate/online"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/mount"
)

// judgeStore is what models that judge need of the store.
type judgeStore interface {
	llm.Recorder
	llm.Ledger
	// RecordSecret is what records of models' answers are signed with.
	RecordSecret(ctx context.Context) ([]byte, error)
	providerStore
}

type evaluateExtension struct {
	set extension.Settings
	cfg *Config
	// slots holds a token for each evaluation that runs.
	slots chan struct{}

	mu      sync.RWMutex     // held for reading by every evaluation
	engines evaluate.Engines // nil: not started
	keys    *keeper          // nil: not started, or there is no store
	runner  *online.Runner   // nil: not started, or switched off
}

var _ extensioncapabilities.Dependent = (*evaluateExtension)(nil)

func newExtension(set extension.Settings, cfg *Config) *evaluateExtension {
	return &evaluateExtension{set: set, cfg: cfg, slots: make(chan struct{}, cfg.Workers)}
}

// Dependencies makes the collector start the store first.
func (e *evaluateExtension) Dependencies() []component.ID { return []component.ID{e.cfg.Store} }

// Start builds the engines and begins to work on the queue. A second Start changes nothing.
func (e *evaluateExtension) Start(ctx context.Context, host component.Host) error {
	e.mu.Lock()
	defer e.mu.Unlock()
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
	e.engines = engines
	return nil
}

// Run scores the task's events as evaluate.Engines does. It waits until fewer than the
// configured number of evaluations run, and is fault.Unavailable before Start and after
// Shutdown.
func (e *evaluateExtension) Run(ctx context.Context, task evaluate.Task) ([]evaluate.Result, error) {
	select {
	case e.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-e.slots }()
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.engines == nil {
		return nil, fault.New(fault.Unavailable, "metrics do not run now: the server is starting or stopping")
	}
	return e.engines.Run(ctx, task)
}

// Check says what is wrong with a definition, as evaluate.Engines does. Before Start and after
// Shutdown nothing is.
func (e *evaluateExtension) Check(d *metric.Definition) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.engines.Check(d)
}

// Warnings says what in a definition may not work, as evaluate.Engines does.
func (e *evaluateExtension) Warnings(d *metric.Definition) []string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.engines.Warnings(d)
}

// Shutdown breaks off work on the queue, waits for the evaluations that run, and closes the
// engines.
func (e *evaluateExtension) Shutdown(context.Context) error {
	e.mu.Lock()
	runner := e.runner
	e.runner = nil
	e.mu.Unlock()
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
