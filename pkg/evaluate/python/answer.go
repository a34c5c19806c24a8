package python

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// harnessAnswer is what the harness says of a line that it read. Without a failure and a type it only
// says that it goes on.
type harnessAnswer struct {
	// Type is the name of the value's type, and one of the others the value: none if it is None.
	Type        string  `json:"type"`
	Bool        *bool   `json:"bool"`
	Number      *string `json:"number"` // as Python writes it, also nan and inf
	String      *string `json:"string"`
	Text        string  `json:"text"` // of a value of another type, or of an exception
	Explanation string  `json:"explanation"`

	Failure string   `json:"failure"`
	Error   string   `json:"error"`  // type of the exception
	Module  string   `json:"module"` // that could not be imported
	Trace   []string `json:"trace"`
}

// result returns what a reply says of the event. The harness's answer is not trusted: the evaluator may have written it.
func (b *batch) result(r reply) evaluation.Result {
	var a harnessAnswer
	if err := json.Unmarshal(r.answer, &a); err != nil {
		return failure(Exit, "The evaluator broke its interpreter: what it answered cannot be read.", r.printed)
	}
	switch {
	case a.Failure == "memory":
		return b.outOfMemory(r.printed)
	case a.Failure != "":
		return a.failure(r.printed)
	case a.Type == "":
		return evaluation.Result{Success: true}
	}
	score, why := a.score(b.metric)
	if why != "" {
		return failure(ResultType, fmt.Sprintf("The evaluator returned %s.", why), r.printed)
	}
	text := a.Explanation
	if text == "" {
		text = fmt.Sprintf("The evaluator returned %s.", evaluate.Clip(string(score), 200))
	}
	return evaluation.Result{Success: true, Score: score, Explanation: explain(text, r.printed)}
}

// failure returns the result for what went wrong in the evaluator.
func (a *harnessAnswer) failure(printed string) evaluation.Result {
	trace := ""
	if a.Trace != nil {
		trace = "\nTraceback (most recent call last):\n" + strings.Join(a.Trace, "\n") + "\n" + a.Error + ": " + a.Text
	}
	switch sort := evaluation.Failure(a.Failure); sort {
	case "no_result":
		return failure(ResultType, "The evaluator defines no function to call, sets no result and ends with no expression.", printed)
	case Syntax:
		return failure(Syntax, fmt.Sprintf("The evaluator is not valid Python: %s", a.Text)+trace, printed)
	case Import:
		text := "The evaluator could not import what it needs."
		if why := unavailable(a.Module); why != "" {
			text += " " + why
		}
		return failure(Import, text+trace, printed)
	case Recursion, Exception:
		text := a.Error
		if a.Text != "" {
			text += ": " + a.Text
		}
		return failure(sort, "The evaluator raised "+text+trace, printed)
	}
	return failure(Exit, "The evaluator broke its interpreter: what it answered cannot be understood.", printed)
}

// score returns the value as JSON, or why the metric cannot have it, as the end of a sentence. In Python truth values
// are numbers, too: where a number is asked for they are 1 and 0.
func (a *harnessAnswer) score(d *metric.Definition) (score json.RawMessage, why string) {
	switch {
	case a.Bool != nil && d.Return == metric.Float:
		score = json.RawMessage(map[bool]string{true: "1", false: "0"}[*a.Bool])
	case a.Bool != nil:
		score = fmt.Append(nil, *a.Bool)
	case a.String != nil:
		score = rawjson.AppendString(nil, *a.String)
	case a.Number != nil:
		score = json.RawMessage(*a.Number)
		if _, ok := rawjson.Number(score); !ok || !json.Valid(score) {
			return nil, evaluate.Clip(*a.Number, 50) + ", which is not a finite number"
		}
	case a.Type == "NoneType":
		return nil, fmt.Sprintf("None, and no %s", d.Return)
	default:
		return nil, fmt.Sprintf("%s of type %s, which is not a score", evaluate.Clip(a.Text, 200), evaluate.Clip(a.Type, 100))
	}
	if misfit := evaluate.Misfit(d, score); misfit != "" {
		return nil, evaluate.Clip(string(score), 200) + ", which is " + misfit
	}
	return score, ""
}

// outOfMemory returns the result for an evaluator that had not enough memory.
func (b *batch) outOfMemory(printed string) evaluation.Result {
	return failure(Memory, fmt.Sprintf("The evaluator needed more memory than it may have: the interpreter and it together have %d MiB.",
		b.engine.config.MemoryMiB), printed)
}

// failure returns a result without a score.
func failure(sort evaluation.Failure, text, printed string) evaluation.Result {
	return evaluation.Result{Failure: sort, Explanation: explain(text, printed)}
}

// explain adds to a text what the evaluator printed.
func explain(text, printed string) string {
	text = evaluate.Clip(text, evaluate.MaxExplanation)
	if printed != "" {
		text += evaluate.PrintedMark + printed
	}
	return text
}
