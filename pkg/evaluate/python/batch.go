package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// batch is one task: an evaluator and the interpreter that runs it, or the next one after one has
// ended. It is used by one goroutine.
type batch struct {
	engine *Engine
	// What is run for which metric, and how the task waits for a place.
	program program
	metric  *metric.Definition
	wait    evaluate.Wait
	since   time.Time // when it got its place; zero: it has none

	interpreter *interpreter // nil: there is none
}

// reserve is the time that a batch leaves of what its caller gives it, for another interpreter's start; of a short time it leaves half.
const reserve = 5 * time.Second

// turn is how long a task keeps its place, in which it finishes what it has begun, where other
// projects wait for one.
const turn = time.Second

// enter waits for a place.
func (b *batch) enter(ctx context.Context) error {
	if err := b.engine.slots.Take(ctx, b.wait); err != nil {
		return err
	}
	b.since = time.Now()
	return nil
}

// leave ends the interpreter and gives the place back.
func (b *batch) leave() {
	b.end()
	if !b.since.IsZero() {
		b.engine.slots.Give(b.wait.Project)
		b.since = time.Time{}
	}
}

// takeTurns lets another project's task have the place if this one had it for long enough. The
// interpreter goes with it, so that those that wait take no memory; run begins a new one afterwards.
func (b *batch) takeTurns(ctx context.Context) error {
	if time.Since(b.since) < turn || !b.engine.slots.Wanted(b.wait.Project) {
		return nil
	}
	b.leave()
	wait := b.wait
	b.wait.Longest, b.wait.Queued = 0, true // it is half done
	err := b.enter(ctx)
	b.wait = wait
	return err
}

// run scores events, in order. Where the caller's time does not suffice for all of them, the results that there are count, and the others are
// marked as skipped.
func (b *batch) run(ctx context.Context, events []json.RawMessage) ([]evaluation.Result, error) {
	results, err := b.each(ctx, events)
	if len(results) > 0 && errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return b.fillSkipped(results, len(events)), nil
	}
	if err != nil {
		return nil, err
	}
	return results, nil
}

// each is run, but for an error it returns the results of the events before. Each failure is one event's: the next one finds an interpreter in
// the state that the first one found, or a new one. Before each event but the first it
//
//  1. lets another project have the place, if this task had it for long enough;
//  2. stops if another interpreter is needed, and the caller's time might not suffice for its start and one more event;
//  3. brings the state back, if the last event failed.
//
// The state is kept before the first event, unless there is only one.
func (b *batch) each(ctx context.Context, events []json.RawMessage) ([]evaluation.Result, error) {
	results := make([]evaluation.Result, 0, len(events))
	end, timed := ctx.Deadline()
	another := b.engine.config.Deadline + min(reserve, time.Until(end)/2)
	for i, event := range events {
		if i > 0 {
			if err := b.takeTurns(ctx); errors.Is(err, evaluate.ErrBusy) {
				return b.fillSkipped(results, len(events)), nil
			} else if err != nil {
				return results, err
			}
		}
		if timed && i > 0 && b.interpreter == nil && time.Until(end) <= another {
			return b.fillSkipped(results, len(events)), nil
		}
		if i > 0 && !results[i-1].Success {
			if err := b.step(ctx, back); err != nil {
				return results, err
			}
		}
		if b.interpreter == nil {
			refused, err := b.begin(ctx)
			if err != nil {
				return results, err
			}
			if refused != nil { // as for this event, so for all others
				return fill(results, len(events)-len(results), *refused), nil
			}
			if i+1 < len(events) {
				if err := b.step(ctx, keep); err != nil {
					return results, err
				}
			}
		}
		r, err := b.ask(ctx, eventLine(event), b.engine.config.Deadline)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}

// fillSkipped fills the results up to n with those of events that were not looked at, or not to the end.
func (b *batch) fillSkipped(results []evaluation.Result, n int) []evaluation.Result {
	return fill(results, n-len(results), evaluation.Result{Failure: Timeout, Temporary: true, Skipped: true,
		Explanation: "The evaluator was not run: those before it on other events took all the time there was."})
}

// begin takes an interpreter and gives it the code. A result is the evaluator's failure, which holds for all events: its
// code is no Python, or imports what is not there. That an interpreter does not even start is an error.
func (b *batch) begin(ctx context.Context) (*evaluation.Result, error) {
	i := b.engine.take(b.program)
	b.interpreter = i
	_, started, err := i.answer(ctx, startLimit)
	if err == nil && started {
		_, started, err = i.ask(ctx, message{line: object(modules{preload(b.metric.Criteria)})}, startLimit)
	}
	switch {
	case err != nil:
		return nil, err
	case !started:
		r := b.ended(i, startLimit)
		return nil, fault.Wrap(fault.Unavailable, fmt.Errorf("%w: %s", i.err, r.Explanation), "no Python interpreter could be started")
	}
	r, err := b.ask(ctx, object(job{b.metric.Criteria, b.metric.Name}), b.engine.config.Deadline)
	if err != nil || r.Success {
		return nil, err
	}
	b.end()
	return &r, nil
}

// object returns a line that holds v.
func object(v any) []byte {
	line, _ := json.Marshal(v) // strings only
	return append(line, '\n')
}

// The first three lines that the harness reads.
type (
	setup struct {
		Token string `json:"token"`
	}
	modules struct {
		Modules []string `json:"modules"`
	}
	job struct {
		Code string `json:"code"`
		Name string `json:"name"`
	}
)

// ask has the interpreter answer a line. If it does not within a time, or ends, there is none
// afterwards. An error is ctx's.
func (b *batch) ask(ctx context.Context, line []byte, within time.Duration) (evaluation.Result, error) {
	i := b.interpreter
	r, answered, err := i.ask(ctx, message{line: line}, within)
	switch {
	case err != nil:
		return evaluation.Result{}, err
	case answered:
		return b.result(r), nil
	}
	b.interpreter = nil
	return b.ended(i, within), nil
}

// step keeps the interpreter's state, or goes back to it. If that fails there is no interpreter
// afterwards. An error is ctx's.
func (b *batch) step(ctx context.Context, do step) error {
	if b.interpreter == nil {
		return nil
	}
	r, answered, err := b.interpreter.ask(ctx, message{do: do}, b.engine.config.Deadline)
	if err == nil && (!answered || do == back && r.err != nil) {
		b.end()
	}
	return err
}

// end ends the interpreter, if there is one, and waits for that.
func (b *batch) end() {
	if b.interpreter != nil {
		b.interpreter.end(nil)
		b.interpreter = nil
	}
}

// ended returns the result of an event for which the interpreter ended instead of answering. The order of the cases matters:
// what ended it on purpose is known for sure and comes first, what it printed is a hint.
func (b *batch) ended(i *interpreter, within time.Duration) evaluation.Result {
	printed := i.talk.printed.String()
	var exit *sys.ExitError
	switch cause := context.Cause(i.talk.ctx); {
	case errors.Is(cause, errOutput):
		return failure(Output, fmt.Sprintf("The evaluator printed or returned more than %d KiB for one event.",
			b.engine.config.OutputKiB), "")
	case errors.Is(cause, context.DeadlineExceeded):
		return failure(Timeout, fmt.Sprintf("The evaluator took longer than %s and was stopped.", within), printed)
	case i.err != nil && strings.Contains(i.err.Error(), "stack overflow"):
		return failure(Recursion, "The evaluator's calls went deeper than the interpreter's stack.", printed)
	case strings.Contains(printed, "MemoryError"), strings.Contains(printed, "out of memory"):
		return b.outOfMemory(printed)
	case i.err == nil:
		return failure(Exit, "The evaluator ended its interpreter, with status 0.", printed)
	case errors.As(i.err, &exit):
		return failure(Exit, fmt.Sprintf("The evaluator ended its interpreter, with status %d.", exit.ExitCode()), printed)
	}
	return failure(Exit, "The evaluator broke its interpreter.", printed)
}

// eventLine returns an event as the interpreter reads it, a JSON object on one line; no event is an
// empty one. Line breaks in JSON stand between values only.
func eventLine(event json.RawMessage) []byte {
	if rawjson.KindOf(event) != '{' {
		return []byte("{}\n")
	}
	line := append(make([]byte, 0, len(event)+1), event...)
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return append(line, '\n')
}
