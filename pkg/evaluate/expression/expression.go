// Package expression runs metrics of type EXPRESSION: one expression in the language of
// expr-lang/expr (https://expr-lang.org) over an event. It costs microseconds and cannot do
// anything but look at the event, so it suits thresholds, token counts, latency, and checks and
// comparisons of text. For example
//
//	metadata.total_tokens < 2000 and tokenF1(answer, expected) > 0.5
//
// An expression knows the fields of the event by their names (inputs, outputs, metadata, metrics,
// feedback, config, user_properties, event_type, event_name, duration, error, children, …), the
// whole of it as event, and by short names what metrics ask for most: answer and question, the
// main texts of outputs and inputs, ground_truth, that of feedback, and expected, its main text.
// A field that the event lacks is nil. In addition to the functions of the language it has those of
// functions.go.
//
// No expression can hold the server: each step and each byte that it looks at or makes counts as
// work, and one that has done Config.Work ends in a failure. The language itself has no such account, so
// every expression is rewritten when it is compiled (see patcher):
//
//  1. Each turn of a loop, and each value that is compared, passed to a function or made, is charged for.
//  2. What the library would do in one go is charged for before it is done, by the worst that it may cost: a regular
//     expression, a distance of two texts, a JSON Schema.
//  3. Functions of the language whose result may be far larger than their arguments are replaced.
package expression

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// The failures of this engine.
const (
	Syntax    evaluation.Failure = "syntax"      // the expression is invalid
	Exception evaluation.Failure = "exception"   // it cannot be computed for this event
	Work      evaluation.Failure = "work"        // it does more than it may
	Wrong     evaluation.Failure = "result_type" // its value is not one that the metric can have
)

// Bounds.
const (
	// DefaultWork takes about a tenth of a second.
	DefaultWork = 100_000_000
	// MaxBytes of an expression, so that compiling it takes milliseconds.
	MaxBytes = 64 << 10
	maxNodes = 10_000
	// maxValues of an event with the names of its members, each of which may take 200 bytes when it is decoded.
	maxValues = 500_000
	// maxScore is how many bytes of JSON a score has: as many results are in memory at the same time as a task has events.
	maxScore = 1 << 20
	// programs that are kept compiled, of at most MaxBytes of text each.
	programs = 256
)

// Config is the configuration of the engine.
type Config struct {
	// Work is how much one expression may do for one event, in units that take about a
	// nanosecond: a byte looked at or made is one, a turn of a loop is 50. 0 is DefaultWork.
	Work int `mapstructure:"work"`
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	if c.Work < 0 {
		return fmt.Errorf("work: must not be less than 0, which is the default, but is %d", c.Work)
	}
	return nil
}

// Engine runs expressions. It is safe for use by many goroutines. Compiled programs are shared by them: what
// belongs to one evaluation, the event and the meter, is in the environment.
type Engine struct {
	work     int
	programs *lru.Cache[string, *vm.Program]
}

// New returns an engine.
func New(c Config) *Engine {
	if c.Work == 0 {
		c.Work = DefaultWork
	}
	cache, _ := lru.New[string, *vm.Program](programs) // fails for sizes below 1 only
	return &Engine{work: c.Work, programs: cache}
}

// Check reports what is wrong with the expression of a metric, as a fault.Invalid.
func (e *Engine) Check(d *metric.Definition) error {
	_, err := e.program(d.Criteria)
	return fault.In("criteria", err)
}

// Evaluate implements evaluate.Engine. What is wrong with an expression or its value is a result that says so; only the
// end of ctx is an error.
func (e *Engine) Evaluate(ctx context.Context, task evaluate.Task) ([]evaluation.Result, error) {
	results := make([]evaluation.Result, 0, len(task.Events))
	program, err := e.program(task.Metric.Criteria)
	for _, event := range task.Events {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			results = append(results, failed(Syntax, "The expression cannot be compiled: %s", message(err)))
			continue
		}
		results = append(results, e.run(ctx, program, task.Metric, event))
	}
	if ctx.Err() != nil { // it may have ended an expression
		return nil, ctx.Err()
	}
	return results, nil
}

// program compiles an expression, or takes it from the cache. Errors are fault.Invalid. Patterns are checked before the
// library compiles them, which it would do at any size.
func (e *Engine) program(text string) (*vm.Program, error) {
	if p, ok := e.programs.Get(text); ok {
		return p, nil
	}
	if len(text) > MaxBytes {
		return nil, fault.New(fault.Invalid, "an expression has at most %d bytes", MaxBytes)
	}
	if err := checkPatterns(text); err != nil {
		return nil, err
	}
	p, err := expr.Compile(text, language...)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s", brief(err))
	}
	e.programs.Add(text, p)
	return p, nil
}

// run computes one expression for one event. The value may be the score itself, or an object {score, explanation}. A
// boolean is taken for a number, 1 or 0, by a metric that returns numbers; any other misfit is a failure.
func (e *Engine) run(ctx context.Context, p *vm.Program, d *metric.Definition, event json.RawMessage) evaluation.Result {
	if n := rawjson.CountValues(event); n > maxValues {
		return failed(Work, "The event has %d values and names: expressions are computed for events of at most %d.", n, maxValues)
	}
	m := &meter{ctx: ctx, left: e.work}
	value, err := vm.Run(p, environment(event, m))
	switch {
	case errors.Is(err, errWork):
		return failed(Work, "The expression does too much for one event: it was stopped after %d units of work.", e.work)
	case err != nil:
		return failed(Exception, "The expression cannot be computed for this event: %s", brief(err))
	}
	explanation := "The value of the metric's expression."
	if o, ok := value.(map[string]any); ok { // a score that brings its own explanation
		if text, ok := o["explanation"].(string); ok {
			explanation = evaluate.Clip(text, evaluate.MaxExplanation)
		}
		value = o["score"]
	}
	if value == nil {
		return failed(Wrong, "The expression gives nil, no score. A field that the event lacks is nil; ?? gives it another value.")
	}
	if truth, ok := value.(bool); ok && d.Return == metric.Float {
		value = map[bool]int{true: 1}[truth]
	}
	score, err := json.Marshal(value)
	if err != nil {
		return failed(Wrong, "The expression gives no score that can be written down: %v", err)
	}
	if why := evaluate.Misfit(d, score); why != "" {
		return failed(Wrong, "The expression gives %.200s, %s.", score, why)
	}
	if len(score) > maxScore {
		return failed(Wrong, "The expression gives a text of %d bytes, and a score has at most %d.", len(score), maxScore)
	}
	return evaluation.Result{Success: true, Score: score, Explanation: explanation}
}

// failed returns the result of an evaluation that gives no score.
func failed(f evaluation.Failure, format string, args ...any) evaluation.Result {
	return evaluation.Result{Failure: f, Explanation: evaluate.Clip(fmt.Sprintf(format, args...), evaluate.MaxExplanation)}
}

// brief returns the first line of an error of the language; the others draw where it is.
func brief(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if strings.Contains(line, "from <nil>") { // cannot fetch x from <nil>
		line += "; where a field may be absent, write ?. before what is below it"
	}
	return line
}

// message returns the text of an error for people: of a fault only its message.
func message(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Msg
	}
	return err.Error()
}

// fields are those of an event that an expression knows by their names.
var fields = []string{"event_id", "session_id", "parent_id", "event_type", "event_name", "source", "project", "config", "inputs", "outputs",
	"error", "start_time", "end_time", "duration", "metadata", "metrics", "feedback", "user_properties", "children"}

// environment returns what an expression can see of an event, and the meter, which the calls that patcher adds refer to.
func environment(event json.RawMessage, m *meter) map[string]any {
	object, _ := decode(event).(map[string]any)
	env := make(map[string]any, len(fields)+6)
	for _, name := range fields {
		env[name] = object[name]
	}
	feedback, _ := object["feedback"].(map[string]any)
	env["event"] = object
	env["ground_truth"] = feedback["ground_truth"]
	env["answer"] = mainText(object["outputs"])
	env["question"] = mainText(object["inputs"])
	env["expected"] = mainText(feedback["ground_truth"])
	env[meterName] = m
	return env
}

// decode makes Go values of JSON: whole numbers become int, so that the language can count with
// them, all other numbers float64. Nothing, and what is not JSON, is nil.
func decode(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return nil
	}
	return plain(value)
}

// plain replaces the numbers in a decoded value, in place.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			v[key] = plain(member)
		}
	case []any:
		for i, element := range v {
			v[i] = plain(element)
		}
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return int(n)
		}
		f, _ := v.Float64()
		return f
	}
	return value
}
