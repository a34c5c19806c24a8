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
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// batch is one task: an evaluator and the interpreter that runs it, or the next one after one was
// ended.
type batch struct {
	program program
	config  *Config
	metric  *metric.Definition

	talk *conversation // nil: there is no interpreter
	over chan struct{} // closed when it has ended
	err  error         // how; to be read after that
}

// spare is the time that a batch leaves of what its caller gives it, for an interpreter's start.
const spare = 5 * time.Second

// run scores events, in order. A failure that ends the interpreter is one event's; the next begins
// with a new one.
func (b *batch) run(ctx context.Context, events []json.RawMessage) ([]evaluate.Result, error) {
	results := make([]evaluate.Result, 0, len(events))
	for i, event := range events {
		if end, ok := ctx.Deadline(); ok && i > 0 && time.Until(end) < b.config.Deadline+spare {
			return fill(results, len(events)-len(results), evaluate.Result{Failure: Timeout, Temporary: true,
				Explanation: "The evaluator was not run: those before it on other events took all the time there was."}), nil
		}
		if b.talk == nil {
			refused, err := b.begin(ctx)
			if err != nil {
				return nil, err
			}
			if refused != nil { // as for this event, so for all others
				return fill(results, len(events)-len(results), *refused), nil
			}
		}
		r, err := b.ask(ctx, eventLine(event), b.config.Deadline)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
		if r.Failure == Memory {
			b.end() // what is left may not do for another event
		}
	}
	return results, nil
}

// begin starts an interpreter and gives it the code. A result is the evaluator's failure.
func (b *batch) begin(ctx context.Context) (*evaluate.Result, error) {
	inside, end := context.WithCancelCause(ctx)
	talk, over := newConversation(inside, end, b.config.OutputKiB<<10), make(chan struct{})
	b.talk, b.over = talk, over
	go func() {
		defer close(over)
		b.err = b.program.Run(inside, stdio{talk, talk, errorOutput{talk}})
	}()
	if r, err := b.ask(ctx, object(setup{talk.token, preload(b.metric.Criteria)}), startLimit); err != nil {
		return nil, err
	} else if b.talk == nil {
		return nil, fault.Wrap(fault.Unavailable, fmt.Errorf("%w: %s", b.err, r.Explanation), "no Python interpreter could be started")
	}
	r, err := b.ask(ctx, object(job{b.metric.Criteria, b.metric.Name}), b.config.Deadline)
	if err != nil || r.Success {
		return nil, err
	}
	b.end()
	return &r, nil
}

// object is a line that holds v.
func object(v any) []byte {
	line, _ := json.Marshal(v) // strings only
	return append(line, '\n')
}

// setup and job are the first two lines that the harness reads.
type (
	setup struct {
		Token   string   `json:"token"`
		Modules []string `json:"modules"`
	}
	job struct {
		Code string `json:"code"`
		Name string `json:"name"`
	}
)

// ask has the interpreter answer a line. If it does not within a time, or ends, there is none
// afterwards. An error is ctx's.
func (b *batch) ask(ctx context.Context, line []byte, within time.Duration) (evaluate.Result, error) {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	b.talk.lines <- line
	select {
	case r := <-b.talk.replies:
		return b.result(r), nil
	case <-b.over:
	case <-deadline.C:
		b.talk.end(context.DeadlineExceeded)
		<-b.over
	}
	defer b.end()
	if err := ctx.Err(); err != nil {
		return evaluate.Result{}, err
	}
	select {
	case r := <-b.talk.replies: // its last words
		return b.result(r), nil
	default:
		return b.ended(within), nil
	}
}

// end ends the interpreter, if there is one, and waits for that.
func (b *batch) end() {
	if b.talk == nil {
		return
	}
	b.talk.end(nil)
	<-b.over
	b.talk = nil
}

// ended is the result of an event for which the interpreter ended instead of answering.
func (b *batch) ended(within time.Duration) evaluate.Result {
	printed := b.talk.printed.String()
	var exit *sys.ExitError
	switch cause := context.Cause(b.talk.ctx); {
	case errors.Is(cause, errOutput):
		return failure(Output, fmt.Sprintf("The evaluator printed or returned more than %d KiB for one event.", b.config.OutputKiB), "")
	case errors.Is(cause, context.DeadlineExceeded):
		return failure(Timeout, fmt.Sprintf("The evaluator took longer than %s and was stopped.", within), printed)
	case b.err != nil && strings.Contains(b.err.Error(), "stack overflow"):
		return failure(Recursion, "The evaluator's calls went deeper than the interpreter's stack.", printed)
	case strings.Contains(printed, "MemoryError"), strings.Contains(printed, "out of memory"):
		return b.outOfMemory(printed)
	case b.err == nil:
		return failure(Exit, "The evaluator ended its interpreter, with status 0.", printed)
	case errors.As(b.err, &exit):
		return failure(Exit, fmt.Sprintf("The evaluator ended its interpreter, with status %d.", exit.ExitCode()), printed)
	}
	return failure(Exit, "The evaluator broke its interpreter.", printed)
}

// eventLine is an event as the interpreter reads it, a JSON object on one line; no event is an
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
