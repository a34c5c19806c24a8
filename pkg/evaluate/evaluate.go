// Package evaluate runs metrics over events. What a type of metric needs to give a score is an
// Engine; Engines finds the one that a metric needs, and decides whether the score passes the
// metric's threshold.
//
// The package itself has the engines that need nothing but the event: people's scores and composites
// of other scores. Nothing here reads or writes a store.
package evaluate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Task is what an engine is asked to do: to score events of one project by one metric.
type Task struct {
	// Project owns the metric and the events. Nothing that an engine keeps for one
	// project may be seen by another's metrics.
	Project int64
	// Metric is valid. Its ID is empty if it is not stored, but only being tried.
	Metric *metric.Definition
	ID     string
	// Version numbers the stored metric's version, from 1.
	Version int64
	// Events are the JSON objects that events are in the API, of which any part may be absent.
	Events []json.RawMessage
	// Wait controls how the task waits while others hold all slots. Its Project is set by Run.
	Wait Wait
}

// Engine computes scores for one type of metric.
type Engine interface {
	// Evaluate scores the task's events: a result for each, in their order. That an event or the
	// definition does not allow a score, or that its score could not be had for now, is a Result
	// without Success; an error says nothing of any event, and all of them may be tried again.
	Evaluate(ctx context.Context, task Task) ([]evaluation.Result, error)
}

// Checker is an Engine that can detect without an event that a definition cannot work.
type Checker interface {
	// Check returns what is wrong with an otherwise valid definition, as a fault.Invalid that
	// names the field.
	Check(d *metric.Definition) error
}

// Warner is an Engine that can detect without an event what in a definition may not work.
type Warner interface {
	// Warnings returns sentences for the metric's owner.
	Warnings(d *metric.Definition) []string
}

// each is an engine that looks at one event at a time, and needs nothing else.
type each func(d *metric.Definition, event json.RawMessage) (evaluation.Result, error)

// Evaluate implements Engine.
func (f each) Evaluate(ctx context.Context, task Task) ([]evaluation.Result, error) {
	results := make([]evaluation.Result, 0, len(task.Events))
	for _, event := range task.Events {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, err := f(task.Metric, event)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// Engines maps the types of metrics to the engines of a server.
type Engines map[metric.Type]Engine

// Builtin returns the engines that need nothing but the event.
func Builtin() Engines {
	return Engines{metric.Human: each(human), metric.Composite: each(composite)}
}

// missing explains why metrics of a type cannot run on a server that has no engine for it.
var missing = map[metric.Type]string{
	metric.Python: "This server has no engine that runs Python code.",
	metric.LLM:    "This server has no model provider set up to ask.",
}

// Run scores the task's events. It returns a result for each, in their order.
func (e Engines) Run(ctx context.Context, task Task) ([]evaluation.Result, error) {
	task.Wait.Project = task.Project
	engine := e[task.Metric.Type]
	if engine == nil {
		why, ok := missing[task.Metric.Type]
		if !ok {
			why = fmt.Sprintf("This server has no engine for metrics of type %s.", task.Metric.Type)
		}
		results := make([]evaluation.Result, len(task.Events))
		for i := range results {
			results[i] = evaluation.Result{Failure: evaluation.NoEngine, Explanation: why + " The metric was not run."}
		}
		return results, nil
	}
	results, err := engine.Evaluate(ctx, task)
	if err != nil {
		return nil, err
	}
	if len(results) != len(task.Events) {
		return nil, fault.New(fault.Internal, "the engine of %s metrics gave %d results for %d events",
			task.Metric.Type, len(results), len(task.Events))
	}
	threshold, err := metric.ThresholdOf(task.Metric.Threshold)
	if err != nil {
		return nil, err
	}
	for i := range results {
		applyThreshold(&results[i], threshold)
	}
	return results, nil
}

// Check returns what is wrong with an otherwise valid definition, as a fault.Invalid that names the
// field. It returns nil if there is no engine that can check.
func (e Engines) Check(d *metric.Definition) error {
	if c, ok := e[d.Type].(Checker); ok {
		return c.Check(d)
	}
	return nil
}

// Warnings returns what in a definition may not work, if there is an engine that can find out.
func (e Engines) Warnings(d *metric.Definition) []string {
	if w, ok := e[d.Type].(Warner); ok {
		return w.Warnings(d)
	}
	return nil
}

// Available is what metrics of a project can use.
type Available struct {
	Types     []metric.Type // that can be run
	Providers []string      // names of the model providers that can be asked, sorted
}

// Asker is an engine that asks model providers.
type Asker interface {
	// Providers returns the names of the providers that a project can use, sorted.
	Providers(ctx context.Context, projectID int64) ([]string, error)
}

// Available returns what metrics of a project can use. Those whose engine asks models need a provider.
func (e Engines) Available(ctx context.Context, projectID int64) (a Available, err error) {
	for _, t := range metric.Types() {
		engine := e[t]
		if engine == nil {
			continue
		}
		if asks, ok := engine.(Asker); ok {
			if a.Providers, err = asks.Providers(ctx, projectID); err != nil {
				return Available{}, err
			}
			if len(a.Providers) == 0 {
				continue
			}
		}
		a.Types = append(a.Types, t)
	}
	return a, nil
}

// PrintedMark separates an explanation from what the evaluator printed, which goes on to the explanation's end.
const PrintedMark = "\nIt printed:\n"

// applyThreshold sets Passed, and explains it before what the evaluator printed, if the threshold applies to the score.
func applyThreshold(r *evaluation.Result, threshold metric.Threshold) {
	if r.Score == nil {
		return
	}
	passed, applies := threshold.Passes(r.Score)
	if !applies {
		return
	}
	r.Passed = &passed
	verb := "does not pass"
	if passed {
		verb = "passes"
	}
	said, printed, found := strings.Cut(r.Explanation, PrintedMark)
	r.Explanation = fmt.Sprintf("%s It %s the threshold: %s.", said, verb, threshold)
	if found {
		r.Explanation += PrintedMark + printed
	}
}

// MaxExplanation is how many bytes are kept of an explanation that code or an expression gave: it goes to the event's metrics.
const MaxExplanation = 10_000

// Clip returns a copy of s, or of the beginning of it that has at most n bytes, with an ellipsis behind.
func Clip(s string, n int) string {
	if len(s) <= n {
		return strings.Clone(s)
	}
	return rawjson.Prefix(s, n) + "…"
}

// scoreOf returns the event's score of the metric with this name, or nil.
func scoreOf(event json.RawMessage, name string) json.RawMessage {
	score := rawjson.Get(rawjson.Get(event, "metrics"), name)
	if rawjson.Null(score) {
		return nil
	}
	return score
}

// refusal returns a Result without a score.
func refusal(format string, args ...any) (evaluation.Result, error) {
	return evaluation.Result{Failure: evaluation.Unfit, Explanation: fmt.Sprintf(format, args...)}, nil
}
