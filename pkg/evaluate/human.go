package evaluate

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// human takes the score that a person gave: the event has it in its metrics, under the metric's
// name.
func human(d *metric.Definition, event json.RawMessage) (evaluation.Result, error) {
	score := scoreOf(event, d.Name)
	if score == nil {
		return evaluation.Result{Success: true, Explanation: "A person gives this score; the event has none yet in its metrics."}, nil
	}
	if why := Misfit(d, score); why != "" {
		return refusal("The event's score is %s.", why)
	}
	return evaluation.Result{Success: true, Score: score, Explanation: "A person gave this score."}, nil
}

// Misfit returns why the metric cannot have a score, or the empty string if it can.
func Misfit(d *metric.Definition, score json.RawMessage) string {
	kind := rawjson.KindOf(score)
	switch d.Return {
	case metric.Float:
		n, ok := metric.Value(score)
		scale, scaled := rawjson.Number(d.Scale)
		switch {
		case !ok:
			return "not a number, as the metric's return type asks for"
		case scaled && (n < 0 || n > scale):
			return "outside of the metric's scale, 0 to " + string(d.Scale)
		}
	case metric.Boolean:
		if kind != 't' && kind != 'f' {
			return "not a boolean, as the metric's return type asks for"
		}
	case metric.String:
		if kind != '"' {
			return "not a string, as the metric's return type asks for"
		}
	case metric.Categorical:
		name, ok := rawjson.Text(score)
		if !ok {
			return "not a string, as the metric's return type asks for"
		}
		list, _ := metric.CategoriesOf(d.Categories)
		var names []string
		for _, c := range list {
			names = append(names, c.Name)
		}
		if names != nil && !slices.Contains(names, name) {
			return "not one of the metric's categories: " + strings.Join(names, ", ")
		}
	}
	return ""
}
