package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/tracer"
)

// DefaultParallel is how many datapoints are worked on at a time.
const DefaultParallel = 5

// endTimeout bounds how long a run that was cancelled takes to say so to the server.
const endTimeout = 30 * time.Second

// Function is what is evaluated. Its context belongs to the datapoint's session, so that all
// spans that start with it are steps of it. What it returns is stored as outputs.
type Function func(ctx context.Context, d Datapoint) (outputs any, err error)

// Spec defines what is evaluated, on what, and how. Function and one of Dataset and DatasetID are
// required.
type Spec struct {
	Name     string   // of the run; empty: experiment- and the head of its id
	RunID    string   // a UUID; empty: one is made
	Function Function // runs once for each datapoint, at the same time for several ones
	// FunctionName names the step that is the function's. Empty: its name in the program.
	FunctionName string

	Dataset   []Datapoint // in code, named by ExternalIDs
	DatasetID string      // of a stored dataset

	Evaluators []Evaluator
	Parallel   int // datapoints at a time; 0: DefaultParallel
	// Progress is told of each datapoint when it is done, one after the other. done counts them.
	Progress func(done, total int, d DatapointResult)

	Aggregate     string                  // of the result, see client.RunRead; empty: average
	Against       string                  // id of an earlier run to compare with; empty: none
	PassingRanges map[string]client.Range // of metrics, by name
	Configuration map[string]any          // of what is evaluated: prompts, models, versions
	// Metadata of the run. Its git is what the program was built of, if it is not given; nil
	// leaves it out.
	Metadata map[string]any
}

// Result is what came of an evaluation.
type Result struct {
	RunID, Name string
	DatasetID   string
	Status      string                // of the run: client.RunCompleted, RunFailed or RunCancelled
	Datapoints  []DatapointResult     // in the order of the dataset
	Scores      *client.RunResult     // as the server adds them up
	Comparison  *client.RunComparison // with the run Against, nil without one
}

// DatapointResult is what came of one datapoint.
type DatapointResult struct {
	Datapoint Datapoint
	ID        string // as the server knows it: EXT-… if it is not stored
	SessionID string // empty if the run was cancelled before its turn
	Outputs   any
	Err       error            // of the function, which may have panicked or ended its goroutine
	Scores    map[string]Score // by evaluator, without those that failed
	// EvaluatorErrs tell why there is no score.
	EvaluatorErrs map[string]error
	Duration      time.Duration // of the function; 0 if it panicked
}

// Context is what is the same for all sessions of a run.
type Context struct {
	Project, RunID, DatasetID, RunName, Source string
}

// Tracer returns the tracer configuration of one datapoint of the run.
func (c Context) Tracer(datapointID string) tracer.Experiment {
	x := tracer.Experiment{
		Project:      c.Project,
		IsEvaluation: true,
		RunID:        c.RunID,
		DatasetID:    c.DatasetID,
		DatapointID:  datapointID,
		Source:       c.Source,
	}
	if x.Source == "" {
		x.Source = tracer.SourceEvaluation
	}
	return x
}

// Evaluate runs a function over a dataset, lets evaluators judge what it returns, and stores all
// of it as a run. The tracer must send to the server of the client. The package's documentation
// tells what is stored.
//
// A datapoint whose function fails, or an evaluator that does, is told of in the result and does
// not stop the others. The error is of the evaluation itself: the dataset cannot be read, the run
// cannot be stored, or the context ended. In the last case the run is cancelled, and the result
// has what was done until then.
func Evaluate(ctx context.Context, c *client.Client, t *tracer.Tracer, s Spec) (*Result, error) {
	e, err := prepare(ctx, c, t, s)
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	if err := e.create(ctx); err != nil {
		return nil, fmt.Errorf("evaluate: create the run: %w", err)
	}
	e.run(ctx)
	if err := e.end(ctx); err != nil {
		return &e.result, fmt.Errorf("evaluate: run %s: %w", e.result.RunID, err)
	}
	return &e.result, nil
}

// evaluation is one call of Evaluate.
type evaluation struct {
	c          *client.Client
	t          *tracer.Tracer
	spec       Spec
	evaluators []Evaluator
	stored     bool // the dataset is
	result     Result

	mu   sync.Mutex // held while Progress runs
	done int
}

func prepare(ctx context.Context, c *client.Client, t *tracer.Tracer, s Spec) (*evaluation, error) {
	if s.Function == nil {
		return nil, errors.New("there is no function")
	}
	if (s.Dataset == nil) == (s.DatasetID == "") {
		return nil, errors.New("there must be either a dataset or the id of a stored one")
	}
	if s.Parallel < 0 {
		return nil, fmt.Errorf("parallel: must not be negative: %d", s.Parallel)
	}
	if s.Parallel == 0 {
		s.Parallel = DefaultParallel
	}
	if s.FunctionName == "" {
		s.FunctionName = nameOf(s.Function)
	}
	e := &evaluation{c: c, t: t, spec: s, stored: s.DatasetID != ""}
	var err error
	if e.evaluators, err = resolve(ctx, c, s.Evaluators); err != nil {
		return nil, err
	}
	if e.stored {
		err = e.readDataset(ctx)
	} else {
		err = e.nameDataset()
	}
	if err != nil {
		return nil, err
	}
	if s.Against != "" { // better known now than after all the work
		if _, err := c.Runs.Get(ctx, s.Against); err != nil {
			return nil, fmt.Errorf("against: %w", err)
		}
	}
	if e.result.RunID = s.RunID; e.result.RunID == "" {
		e.result.RunID = uuid.NewString()
	}
	if e.result.Name = strings.TrimSpace(s.Name); e.result.Name == "" {
		e.result.Name = "experiment-" + e.result.RunID[:8]
	}
	return e, nil
}

// nameOf returns a function's own name, without package and receiver; of a closure the name of the
// function that it stands in.
func nameOf(f Function) string {
	name := strings.ReplaceAll(runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name(), "[...]", "")
	parts := strings.Split(strings.TrimSuffix(name, "-fm"), ".")
	for len(parts) > 1 && closure.MatchString(parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	return parts[len(parts)-1]
}

// closure is what the compiler calls functions without a name.
var closure = regexp.MustCompile(`^(func)?\d+$`)

func (e *evaluation) nameDataset() error {
	id, ids, err := ExternalIDs(e.spec.Dataset)
	if err != nil {
		return err
	}
	e.result.DatasetID = id
	for i, d := range e.spec.Dataset {
		e.result.Datapoints = append(e.result.Datapoints, DatapointResult{Datapoint: d, ID: ids[i]})
	}
	return nil
}

// readDataset reads the datapoints as they are in the dataset's version of this moment. A dataset may be larger than any one answer.
func (e *evaluation) readDataset(ctx context.Context) error {
	d, err := e.c.Datasets.Get(ctx, e.spec.DatasetID, client.DatasetRead{WithoutIDs: true})
	if err != nil {
		return err
	}
	e.result.DatasetID = d.ID
	for row, err := range e.c.Datasets.AllRows(ctx, d.ID, client.RowQuery{Version: d.Version}) {
		if err != nil {
			return err
		}
		p := &row.Datapoint
		if p.Deleted { // meanwhile
			continue
		}
		dp := Datapoint{ID: p.ID, Inputs: p.Inputs}
		if len(p.GroundTruth) > 0 {
			dp.GroundTruth = p.GroundTruth
		}
		e.result.Datapoints = append(e.result.Datapoints, DatapointResult{Datapoint: dp, ID: p.ID})
	}
	return nil
}

func (e *evaluation) create(ctx context.Context) error {
	names := make([]any, len(e.evaluators))
	for i, v := range e.evaluators {
		names[i] = v.name
	}
	config := map[string]any{
		"function":           e.spec.FunctionName,
		"evaluators":         names,
		"max_workers":        e.spec.Parallel,
		"aggregate_function": e.aggregate(),
	}
	maps.Copy(config, e.spec.Configuration)
	in := client.RunInput{
		RunID: e.result.RunID, Name: e.result.Name, Status: client.RunPending, EventIDs: []string{}, DatapointIDs: make([]string, len(e.result.Datapoints)),
		Configuration: config, Metadata: e.metadata(), PassingRanges: e.spec.PassingRanges, Evaluators: names,
	}
	for i, d := range e.result.Datapoints {
		in.DatapointIDs[i] = d.ID
	}
	if e.stored {
		in.DatasetID = e.result.DatasetID
	}
	_, err := e.c.Runs.Create(ctx, in)
	return err
}

func (e *evaluation) aggregate() string {
	if e.spec.Aggregate == "" {
		return "average"
	}
	return e.spec.Aggregate
}

// metadata of the run: the caller's, the dataset that is not stored, and what the program was
// built of.
func (e *evaluation) metadata() map[string]any {
	m := map[string]any{}
	if git := revision(); git != nil {
		m["git"] = git
	}
	maps.Copy(m, e.spec.Metadata)
	if m["git"] == nil {
		delete(m, "git")
	}
	if !e.stored {
		m["offline_dataset_id"] = e.result.DatasetID
	}
	return m
}

// revision returns what go build knows of the program's repository, or nil if nothing.
func revision() map[string]any {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var m map[string]any
	for _, s := range info.Settings {
		if m == nil && strings.HasPrefix(s.Key, "vcs.") {
			m = map[string]any{}
		}
		switch s.Key {
		case "vcs.revision":
			m["commit_hash"] = s.Value
		case "vcs.modified":
			m["is_dirty"] = s.Value == "true"
		}
	}
	return m
}

// run works on all datapoints, or on those whose turn comes before the context ends.
func (e *evaluation) run(ctx context.Context) {
	// Each session begins a trace of its own, whatever span the caller is in.
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	turns := make(chan struct{}, e.spec.Parallel)
	var work sync.WaitGroup
	defer work.Wait()
	for i := range e.result.Datapoints {
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			return
		}
		work.Go(func() {
			defer func() { <-turns }()
			if ctx.Err() != nil { // a turn may be given in the moment in which it ends
				return
			}
			d := &e.result.Datapoints[i]
			defer e.progress(d) // also where the function ends its goroutine
			e.datapoint(ctx, d)
		})
	}
}

// errExited is the error of a function that ends its goroutine, as FailNow of package testing does.
var errExited = errors.New("the function ended its goroutine")

func (e *evaluation) progress(d *DatapointResult) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done++
	if e.spec.Progress != nil {
		e.spec.Progress(e.done, len(e.result.Datapoints), *d)
	}
}

// datapoint runs the function and the evaluators in a session of their own.
func (e *evaluation) datapoint(ctx context.Context, d *DatapointResult) {
	x := Context{Project: e.t.Project(), RunID: e.result.RunID, DatasetID: e.result.DatasetID, RunName: e.result.Name}
	ctx, d.SessionID = e.t.StartSession(ctx, x.RunName, x.Tracer(d.ID), tracer.Fields{Inputs: d.Datapoint.Inputs})
	defer func() {
		about := tracer.Fields{Outputs: d.Outputs}
		if d.Datapoint.GroundTruth != nil {
			about.Feedback = map[string]any{"ground_truth": d.Datapoint.GroundTruth}
		}
		tracer.EnrichSession(ctx, about)
	}()
	d.Err = errExited // unless it comes back
	d.Err = guard(func() error {
		return e.t.Trace(ctx, e.spec.FunctionName, func(ctx context.Context) error {
			began := time.Now()
			outputs, err := e.spec.Function(ctx, d.Datapoint)
			d.Duration = time.Since(began)
			if err != nil {
				return err
			}
			d.Outputs = outputs
			tracer.Enrich(ctx, tracer.Fields{Outputs: d.Outputs})
			e.runEvaluators(ctx, d)
			return nil
		}, tracer.Chain, tracer.Fields{Inputs: d.Datapoint.Inputs})
	})
}

// runEvaluators runs the evaluators. Their scores become metrics of the function's step.
func (e *evaluation) runEvaluators(ctx context.Context, d *DatapointResult) {
	metrics := map[string]any{}
	for _, v := range e.evaluators {
		var own map[string]any
		var score Score
		err := guard(func() error {
			return e.t.Trace(ctx, v.name, func(ctx context.Context) (err error) {
				if score, err = v.score(ctx, Case{d.Datapoint, d.Outputs}); err != nil {
					return err
				}
				if own, err = score.metrics(v.name); err == nil {
					tracer.Enrich(ctx, tracer.Fields{Outputs: own})
				}
				return err
			}, tracer.Chain)
		})
		if err != nil {
			if d.EvaluatorErrs == nil {
				d.EvaluatorErrs = map[string]error{}
			}
			d.EvaluatorErrs[v.name] = err
			continue
		}
		if d.Scores == nil {
			d.Scores = map[string]Score{}
		}
		d.Scores[v.name] = score
		maps.Copy(metrics, own)
	}
	tracer.Enrich(ctx, tracer.Fields{Metrics: metrics})
}

// guard makes an error of a panic, which the trace has recorded with its stack.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

// end stores that the run is over, and reads what came of it.
func (e *evaluation) end(ctx context.Context) error {
	cancelled := context.Cause(ctx)
	if cancelled != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
	}
	r := &e.result
	sessions := []string{}
	worked := false
	for _, d := range r.Datapoints {
		if d.SessionID != "" {
			sessions = append(sessions, d.SessionID)
			worked = worked || d.Err == nil
		}
	}
	switch {
	case cancelled != nil:
		r.Status = client.RunCancelled
	case !worked && len(sessions) > 0:
		r.Status = client.RunFailed
	default:
		r.Status = client.RunCompleted
	}
	// The result is over what is stored: all of it must be.
	lost := e.t.Flush(ctx)
	update := client.RunInput{Name: r.Name, Status: r.Status, EventIDs: sessions}
	if !e.stored {
		update.Metadata = map[string]any{"offline_dataset_id": r.DatasetID}
	}
	if _, err := e.c.Runs.Update(ctx, r.RunID, update); err != nil {
		return errors.Join(cancelled, lost, err)
	}
	how := client.RunRead{Aggregate: e.aggregate()}
	var err, compareErr error
	if r.Scores, err = e.c.Runs.Result(ctx, r.RunID, how); err != nil {
		err = fmt.Errorf("read the result: %w", err)
	}
	if e.spec.Against != "" {
		if r.Comparison, compareErr = e.c.Runs.Compare(ctx, r.RunID, e.spec.Against, how); compareErr != nil {
			compareErr = fmt.Errorf("compare with %s: %w", e.spec.Against, compareErr)
		}
	}
	return errors.Join(cancelled, lost, err, compareErr)
}
