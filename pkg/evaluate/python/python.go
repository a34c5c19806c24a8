// Package python runs evaluators written in Python: CPython 3.12, compiled to WebAssembly, inside
// this process and behind a wall. An evaluator has the standard library and its event, and nothing
// of the machine: no files, no network, no environment, no other process, and only so much memory,
// time and output.
//
// The interpreter is not part of this program: Install brings it, pinned by its hash.
//
// # The talk with an interpreter
//
// The interpreter runs harness.py, which reads JSON objects, a line each, and answers each by one line (see conversation):
//
//  1. {"token": …}: the word that its answers begin with, so that they are told from what the evaluator prints
//  2. {"modules": […]}: what to import before the evaluator's time begins
//  3. {"code": …, "name": …}: the evaluator
//  4. an event, and so on
//
// # What an evaluator cannot do
//
// It cannot outlast its deadline: the context of its interpreter ends, which ends the interpreter wherever it is. It
// cannot leave anything to another evaluator: each task has interpreters of its own. And it cannot leave anything
// of a failure to its next event: the memory of the interpreter, kept before the first event, is brought back
// (see state), or else the interpreter is replaced.
package python

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
)

// The failures that evaluators in Python may have besides evaluate's.
const (
	NotInstalled evaluation.Failure = "not_installed" // the interpreter is not there
	Syntax       evaluation.Failure = "syntax"        // the code is no Python
	Import       evaluation.Failure = "import"        // it imports what is not there
	Exception    evaluation.Failure = "exception"     // it raised one
	Recursion    evaluation.Failure = "recursion"     // its calls went too deep
	ResultType   evaluation.Failure = "result_type"   // what it returned is not a score of the metric
	Timeout      evaluation.Failure = "timeout"       // it took longer than the deadline
	Memory       evaluation.Failure = "memory"        // it needed more memory than it may have
	Output       evaluation.Failure = "output"        // it printed or returned more than it may
	Exit         evaluation.Failure = "exit"          // it ended or broke its interpreter
)

// Config defines where the interpreter is and what evaluators may use. Zero values are the defaults.
type Config struct {
	// Directory is where Install put the interpreter. What it compiles to is kept there, too.
	// Default ./spangrove-data/evaluators.
	Directory string `mapstructure:"directory"`
	// Fetch says that the server fetches the interpreter when a metric first needs it, as Install
	// does. Default false.
	Fetch bool `mapstructure:"fetch"`
	// Index is the index of Python packages that it is fetched from. Default DefaultIndex.
	Index string `mapstructure:"index"`
	// Deadline is how long an evaluator may take for one event. What it imports of the standard
	// library is imported before that time begins. Default 1s, at most 10m.
	Deadline time.Duration `mapstructure:"deadline"`
	// MemoryMiB is how much memory an interpreter may use, itself (about 20 MiB) included.
	// Default 128, 32 to 4095.
	MemoryMiB int `mapstructure:"memory_mib"`
	// OutputKiB is how much an evaluator may print and return for one event. Default 1024, at
	// most 65536.
	OutputKiB int `mapstructure:"output_kib"`
	// Parallel is how many interpreters run at once; further tasks wait, and projects take turns.
	// Default as many as the CPUs that may be used, at most 256.
	Parallel int `mapstructure:"parallel"`
}

// minMemoryMiB is what the interpreter needs for itself, and a little.
const minMemoryMiB = 32

// DefaultDirectory is where the interpreter is if nothing else is said.
const DefaultDirectory = "./spangrove-data/evaluators"

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	switch {
	case c.Deadline < 0 || c.Deadline > 10*time.Minute:
		return fmt.Errorf("deadline: must be between 0, which is the default, and 10m, not %s", c.Deadline)
	case c.MemoryMiB != 0 && (c.MemoryMiB < minMemoryMiB || c.MemoryMiB > 4095):
		return fmt.Errorf("memory_mib: must be between %d and 4095, or 0, which is the default, not %d", minMemoryMiB, c.MemoryMiB)
	case c.OutputKiB < 0 || c.OutputKiB > 65536:
		return fmt.Errorf("output_kib: must be between 0, which is the default, and 65536, not %d", c.OutputKiB)
	case c.Parallel < 0 || c.Parallel > 256:
		return fmt.Errorf("parallel: must be between 0, which is the default, and 256, not %d", c.Parallel)
	}
	return nil
}

// complete fills in the defaults.
func (c *Config) complete() {
	c.Directory = cmp.Or(c.Directory, DefaultDirectory)
	c.Deadline = cmp.Or(c.Deadline, time.Second)
	c.MemoryMiB = cmp.Or(c.MemoryMiB, 128)
	c.OutputKiB = cmp.Or(c.OutputKiB, 1024)
	c.Parallel = cmp.Or(c.Parallel, runtime.GOMAXPROCS(0))
}

// maxWaiting bounds the tasks of one project that wait for an interpreter.
const maxWaiting = 100

// startLimit is how long an interpreter may take until it has begun: usually a quarter of a
// second, on a busy machine seconds.
const startLimit = time.Minute

// program is an interpreter that can be run any number of times, also at once.
type program interface {
	// Run runs it until it or ctx ends.
	Run(ctx context.Context, stdio guestIO) error
	Close() error
}

// Engine runs evaluators of type PYTHON. Each task has interpreters of its own, which nobody has had
// before: what an evaluator leaves behind is never seen by another one or by another project. From the
// first task on one more is kept ready for the next task.
type Engine struct {
	config  Config
	load    func(ctx context.Context) (program, error)
	fetcher *fetcher        // nil: the interpreter is not fetched
	ctx     context.Context // ends with the engine
	end     context.CancelFunc
	running sync.WaitGroup
	slots   *evaluate.Slots // for interpreters that run

	mu sync.Mutex
	// mu guards these. closed: no task is taken any more.
	closed bool
	// The program, from the first task on; nil again after it could not be loaded.
	loading *loading
	spare   *interpreter // started beforehand; nil before the first task
}

// loading is a program that is there or will be, once done is closed.
type loading struct {
	done    chan struct{}
	program program
	err     error
}

// New returns an engine, which costs nothing before its first task. A nil logger is silent.
func New(c Config, logger *zap.Logger) *Engine {
	if logger == nil {
		logger = zap.NewNop()
	}
	e := newEngine(c, nil)
	e.load = func(ctx context.Context) (program, error) {
		return compile(ctx, e.config.Directory, e.config.MemoryMiB, logger)
	}
	if c.Fetch {
		e.fetcher = newFetcher(e.config, logger)
	}
	return e
}

// newEngine returns an engine of the program that load brings.
func newEngine(c Config, load func(context.Context) (program, error)) *Engine {
	c.complete()
	e := &Engine{config: c, load: load, slots: evaluate.NewSlots(c.Parallel, maxWaiting)}
	e.ctx, e.end = context.WithCancel(context.Background())
	return e
}

// Close ends what runs, and waits for it. Tasks are refused from then on. The program is closed last: it must not be while an
// interpreter of it runs.
func (e *Engine) Close() error {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	e.mu.Unlock()
	e.end()
	e.running.Wait()
	if first && e.loading != nil && e.loading.program != nil {
		return e.loading.program.Close()
	}
	return nil
}

// Evaluate implements evaluate.Engine:
//
//  1. It counts itself as running, so that Close waits for it, and ends with the engine.
//  2. It gets the program, which may have to be compiled, or fetched before that. If it is not there in time, the result
//     of each event says so.
//  3. It waits for a place, and scores the events one after the other (batch.run).
func (e *Engine) Evaluate(ctx context.Context, task evaluate.Task) ([]evaluation.Result, error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, errClosed
	}
	e.running.Add(1)
	e.mu.Unlock()
	defer e.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()

	p, err := e.program(ctx)
	if missing := notInstalled(""); errors.As(err, &missing) && e.fetcher != nil {
		var instead *evaluation.Result
		if p, instead, err = e.await(ctx, task.Wait.Queued); instead != nil {
			return fill(nil, len(task.Events), *instead), nil
		}
	} else if errors.As(err, &missing) {
		return fill(nil, len(task.Events), evaluation.Result{Failure: NotInstalled, Explanation: missing.Error()}), nil
	}
	if err != nil {
		return nil, e.cause(err)
	}
	b := batch{engine: e, program: p, metric: task.Metric, wait: task.Wait}
	defer b.leave()
	if err := b.enter(ctx); err != nil {
		return nil, e.cause(err)
	}
	results, err := b.run(ctx, task.Events)
	if e.ctx.Err() != nil {
		return nil, errClosed // some failed because of that
	}
	return results, err
}

var errClosed = fault.New(fault.Unavailable, "the server is shutting down")

// cause returns err as the engine's end, if that is what caused it.
func (e *Engine) cause(err error) error {
	if err != nil && e.ctx.Err() != nil {
		return errClosed
	}
	return err
}

// program returns the program, and loads it if nobody has. What one task waits for, others wait for
// too, and it goes on if they give up. What failed is tried again by the next task.
func (e *Engine) program(ctx context.Context) (program, error) {
	e.mu.Lock()
	l := e.loading
	if l == nil {
		l = &loading{done: make(chan struct{})}
		e.loading = l
		e.running.Go(func() {
			l.program, l.err = e.load(e.ctx)
			if l.err != nil {
				e.mu.Lock()
				e.loading = nil
				e.mu.Unlock()
			}
			close(l.done)
		})
	}
	e.mu.Unlock()
	select {
	case <-l.done:
		return l.program, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fill appends n copies of a result.
func fill(results []evaluation.Result, n int, r evaluation.Result) []evaluation.Result {
	for range n {
		results = append(results, r)
	}
	return results
}
