package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/spangrove/spangrove/pkg/client"
)

// Case is what evaluators judge: what the function made of a datapoint.
type Case struct {
	Datapoint
	Outputs any // as the function returned it
}

// Score is what an evaluator says of a case.
type Score struct {
	Value       any            // a number, a boolean or a text; nil: none
	Explanation string         // stored as the metric NAME_explanation
	Extras      map[string]any // further numbers, booleans and texts, each stored as NAME_KEY
}

// Scored is what functions of evaluators may return.
type Scored interface {
	bool | int | int64 | float64 | string | Score
}

// Evaluator computes scores. Make it with Func, Metric, Definition or Ready.
type Evaluator struct {
	name string
	// score is nil for a metric that must be looked up first.
	score  func(context.Context, Case) (Score, error)
	lookup string
	metric *client.MetricDefinition
	ready  *client.MetricEnabling
}

// Func returns an evaluator that is a function. Its scores are the metric of that name. An error or a
// panic means that there is no score of this case.
func Func[S Scored](name string, f func(context.Context, Case) (S, error)) Evaluator {
	return Evaluator{name: name, score: func(ctx context.Context, c Case) (Score, error) {
		v, err := f(ctx, c)
		if err != nil {
			return Score{}, err
		}
		if s, ok := any(v).(Score); ok {
			return s, nil
		}
		return Score{Value: v}, nil
	}}
}

// Metric returns a metric that the server has, by name or id; it runs there.
func Metric(nameOrID string) Evaluator { return Evaluator{name: nameOrID, lookup: nameOrID} }

// Definition returns a metric that runs on the server and need not be stored there.
func Definition(d client.MetricDefinition) Evaluator { return Evaluator{name: d.Name, metric: &d} }

// Ready returns a ready-made metric of the server's library; it runs there and need not be enabled. Its
// name is in.Name, or else that of the library.
func Ready(in client.MetricEnabling) Evaluator {
	name := in.Name
	if name == "" {
		name = in.From
	}
	return Evaluator{name: name, ready: &in}
}

// resolve finds the server's metrics and checks the names.
func resolve(ctx context.Context, c *client.Client, list []Evaluator) ([]Evaluator, error) {
	list = append([]Evaluator(nil), list...)
	names := map[string]bool{}
	for i := range list {
		e := &list[i]
		if e.lookup != "" {
			m, err := find(ctx, c, e.lookup)
			if err != nil {
				return nil, fmt.Errorf("evaluators[%d]: %w", i, err)
			}
			e.name, e.metric = m.Name, &m.MetricDefinition
		}
		switch {
		case e.metric != nil:
			e.score = onServer(func(ctx context.Context, event any) (*client.MetricRun, error) {
				return c.Metrics.Run(ctx, *e.metric, event)
			})
		case e.ready != nil:
			e.score = onServer(func(ctx context.Context, event any) (*client.MetricRun, error) {
				return c.Metrics.RunReady(ctx, *e.ready, event)
			})
		}
		switch {
		case e.name == "" || e.score == nil:
			return nil, fmt.Errorf("evaluators[%d]: has no name or no function", i)
		case names[e.name]:
			return nil, fmt.Errorf("evaluators[%d]: there is another one named %q", i, e.name)
		}
		names[e.name] = true
	}
	return list, nil
}

func find(ctx context.Context, c *client.Client, nameOrID string) (*client.Metric, error) {
	var found *client.Metric
	for m, err := range c.Metrics.All(ctx, client.MetricQuery{}) {
		if err != nil {
			return nil, err
		}
		if m.ID == nameOrID {
			return &m, nil
		}
		if m.Name == nameOrID && found == nil {
			found = &m
		}
	}
	if found == nil {
		return nil, fmt.Errorf("there is no metric %q", nameOrID)
	}
	return found, nil
}

// onServer runs a metric over what an event of the case would have.
func onServer(run func(ctx context.Context, event any) (*client.MetricRun, error)) func(context.Context, Case) (Score, error) {
	return func(ctx context.Context, k Case) (Score, error) {
		event := map[string]any{"event_type": "session", "inputs": k.Inputs, "outputs": k.Outputs}
		if k.GroundTruth != nil {
			event["feedback"] = map[string]any{"ground_truth": k.GroundTruth}
		}
		r, err := run(ctx, event)
		switch {
		case err != nil:
			return Score{}, err
		case !r.Success:
			return Score{}, errors.New(r.Explanation)
		case r.Result == nil: // a person's, who has not said anything yet
			return Score{}, nil
		}
		return Score{Value: r.Result, Explanation: r.Explanation}, nil
	}
}

// metrics returns what is stored of a score: under the evaluator's name and under names that begin
// with it.
func (s Score) metrics(name string) (map[string]any, error) {
	m := map[string]any{}
	if s.Value != nil {
		m[name] = s.Value
	}
	if s.Explanation != "" {
		m[name+"_explanation"] = s.Explanation
	}
	for key, v := range s.Extras {
		m[name+"_"+key] = v
	}
	for key, v := range m {
		if !scalar(v) {
			return nil, fmt.Errorf("the score %s must be a number, a boolean or a text, not %T %v", key, v, v)
		}
	}
	return m, nil
}

// scalar reports whether v can be stored as a metric: NaN and infinities cannot.
func scalar(v any) bool {
	if n, ok := v.(json.Number); ok {
		_, err := n.Float64()
		return err == nil
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Float32, reflect.Float64:
		return !math.IsNaN(r.Float()) && !math.IsInf(r.Float(), 0)
	}
	return false
}
