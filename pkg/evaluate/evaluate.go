// Package evaluate runs metrics over events. What a type of metric needs to give a score is an
// Engine; Engines finds the one that a metric needs, and says of the score whether it passes the
// metric's threshold.
//
// Here are the engines that need nothing but the event: people's scores and composites of other
// scores. Nothing here reads or writes a store.
package evaluate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Result is what came of running a metric over an event.
type Result struct {
	// Success is false where there should be a score and is none: Explanation says why.
	Success bool
	// Score is a number, a boolean or a string; nil: there is none.
	Score json.RawMessage
	// Explanation tells a person how the score came about, or why there is none.
	Explanation string
	// Passed says whether the score meets the metric's threshold; nil: that says nothing of it.
	Passed *bool
}

// Engine gives scores for one type of metric.
type Engine interface {
	// Evaluate scores an event, the JSON object that events are in the API, of which any part
	// may be absent. The definition is valid. That the event or the definition does not allow
	// a score is a Result without Success; an error is only what may go away by itself, such
	// as a provider that is not reached.
	Evaluate(ctx context.Context, d *metric.Definition, event json.RawMessage) (Result, error)
}

// Engines are the engines of a server by the type of metric that needs them.
type Engines map[metric.Type]Engine

// Builtin are the engines that need nothing but the event.
func Builtin() Engines {
	return Engines{metric.Human: human{}, metric.Composite: composite{}}
}

// missing says why a metric of a type cannot run where there is no engine for it.
var missing = map[metric.Type]string{
	metric.Python: "This server has no engine that runs Python code.",
	metric.LLM:    "This server has no model provider set up to ask.",
}

// Run scores an event by a metric, whose definition is valid.
func (e Engines) Run(ctx context.Context, d *metric.Definition, event json.RawMessage) (Result, error) {
	engine := e[d.Type]
	if engine == nil {
		why, ok := missing[d.Type]
		if !ok {
			why = fmt.Sprintf("This server has no engine for metrics of type %s.", d.Type)
		}
		return Result{Explanation: why + " The metric was not run."}, nil
	}
	r, err := engine.Evaluate(ctx, d, event)
	if err != nil || r.Score == nil {
		return r, err
	}
	threshold, err := metric.ThresholdOf(d.Threshold)
	if err != nil {
		return r, err
	}
	if passed, says := threshold.Passes(r.Score); says {
		r.Passed = &passed
		verb := "does not pass"
		if passed {
			verb = "passes"
		}
		r.Explanation += fmt.Sprintf(" It %s the threshold: %s.", verb, threshold)
	}
	return r, nil
}

// scoreOf is the score that an event has of the metric with this name, nil if none.
func scoreOf(event json.RawMessage, name string) json.RawMessage {
	score := rawjson.Get(rawjson.Get(event, "metrics"), name)
	if rawjson.Null(score) {
		return nil
	}
	return score
}

// refusal is a Result without a score.
func refusal(format string, args ...any) (Result, error) {
	return Result{Explanation: fmt.Sprintf(format, args...)}, nil
}
