package llm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// first and second are the fields of a prompt that compares two answers: the event's outputs and
// its ground truth.
const (
	first  = "first"
	second = "second"
)

// pair compares the event's outputs with its ground truth, once in each place, since judges lean
// to an answer for where it stands. The outputs win, or lose, if they do in both places; else
// there is no winner. The score is 1, 0 and one half, of the metric's scale if it has one; or
// whether the outputs win.
func (e *Engine) pair(ctx context.Context, p *endpoint, who asker, model string, t template, task *evaluate.Task,
	event json.RawMessage) evaluation.Result {
	d := task.Metric
	if d.Return != metric.Float && d.Return != metric.Boolean {
		return failed(evaluation.Unfit, "A metric that compares two answers must have the return type float or boolean, not %s.", d.Return)
	}
	outputs, truth := lookup(event, []string{"outputs"}), lookup(event, []string{"ground_truth"})
	if outputs == nil || truth == nil {
		return failed(evaluation.Unfit, "The metric compares outputs with feedback.ground_truth, and the event lacks one of them.")
	}
	// The question has three answers, whatever kind of score the metric has.
	choice := *d
	choice.Return, choice.Scale = metric.Categorical, nil
	choice.Categories = json.RawMessage(`[{"category":"first"},{"category":"second"},{"category":"tie"}]`)
	var both evaluation.Result
	wins, losses := 0, 0
	for i, places := range [][2]json.RawMessage{{outputs, truth}, {truth, outputs}} {
		var b rawjson.Builder
		b.Raw(first, places[0])
		b.Raw(second, places[1])
		r := e.askForScore(ctx, p, who, model, t, task, &choice, rawjson.Merge(event, b.Bytes()))
		r.Cost += both.Cost
		if i > 0 {
			r.Prompt = both.Prompt
		}
		if !r.Success {
			return r
		}
		// The outputs are first in the first round and second in the second.
		chosen, _ := rawjson.Text(r.Score)
		switch {
		case chosen == "tie":
		case (chosen == first) == (i == 0):
			wins++
		default:
			losses++
		}
		r.Explanation = both.Explanation + fmt.Sprintf("Outputs in place %d: %s. %s\n", i+1, chosen, r.Explanation)
		both = r
	}
	part, says := 0.5, "There is no clear winner.\n"
	switch {
	case wins == 2:
		part, says = 1, "The outputs are better than the ground truth, in both places.\n"
	case losses == 2:
		part, says = 0, "The outputs are worse than the ground truth, in both places.\n"
	}
	both.Explanation = cut(says+both.Explanation, maxExplanation)
	if d.Return == metric.Boolean {
		both.Score = fmt.Append(nil, wins == 2)
		return both
	}
	if scale, ok := rawjson.Number(d.Scale); ok {
		part *= scale
	}
	both.Score = rawjson.AppendNumber(nil, part)
	return both
}
