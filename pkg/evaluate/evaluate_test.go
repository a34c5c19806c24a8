package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
)

func TestRun(t *testing.T) {
	t.Parallel()
	const children = `[{"name":"a","weight":3},{"name":"b","weight":1}]`
	yes, no := true, false
	for _, tt := range []struct {
		name    string
		d       metric.Definition
		event   string
		want    evaluation.Result // Explanation: a part of it
		success bool
	}{
		{"python", metric.Definition{Type: metric.Python, Return: metric.Float}, `{}`, evaluation.Result{Explanation: "no engine that runs Python code"}, false},
		{"llm", metric.Definition{Type: metric.LLM, Return: metric.Float}, `{}`, evaluation.Result{Explanation: "no model provider"}, false},

		{"a person's score", metric.Definition{Name: "taste", Type: metric.Human, Return: metric.Float}, `{"metrics":{"taste":4.50}}`,
			evaluation.Result{Score: raw(`4.50`), Explanation: "A person gave this score."}, true},
		{"not scored yet", metric.Definition{Name: "taste", Type: metric.Human, Return: metric.Float}, `{"metrics":{"taste":null}}`,
			evaluation.Result{Explanation: "has none yet"}, true},
		{"no event", metric.Definition{Name: "taste", Type: metric.Human, Return: metric.Float}, ``, evaluation.Result{Explanation: "has none yet"}, true},
		{"no object", metric.Definition{Name: "taste", Type: metric.Human, Return: metric.Float}, `"text"`, evaluation.Result{Explanation: "has none yet"}, true},
		{"text for a number", metric.Definition{Name: "taste", Type: metric.Human, Return: metric.Float}, `{"metrics":{"taste":"good"}}`, evaluation.Result{Explanation: "is not a number"}, false},
		{"number for a text", metric.Definition{Name: "taste", Type: metric.Human, Return: metric.String}, `{"metrics":{"taste":1}}`, evaluation.Result{Explanation: "is not a string"}, false},
		{"number for a boolean", metric.Definition{Name: "taste", Type: metric.Human, Return: metric.Boolean}, `{"metrics":{"taste":1}}`, evaluation.Result{Explanation: "is not a boolean"}, false},
		{"over the scale", metric.Definition{Name: "taste", Type: metric.Human, Return: metric.Float, Scale: raw(`5`)}, `{"metrics":{"taste":6}}`, evaluation.Result{Explanation: "scale, 0 to 5"}, false},
		{"a category", metric.Definition{Name: "taste", Type: metric.Human, Return: metric.Categorical, Categories: raw(`[{"category":"good"},{"category":"bad"}]`),
			Threshold: raw(`{"passing_categories":["good"]}`)}, `{"metrics":{"taste":"good"}}`, evaluation.Result{Score: raw(`"good"`), Passed: &yes, Explanation: `passes the threshold: one of ["good"]`}, true},
		{"no category", metric.Definition{Name: "taste", Type: metric.Human, Return: metric.Categorical, Categories: raw(`[{"category":"good"}]`)}, `{"metrics":{"taste":"odd"}}`,
			evaluation.Result{Explanation: "not one of the metric's categories: good"}, false},
		{"a threshold", metric.Definition{Name: "taste", Type: metric.Human, Return: metric.Float, Threshold: raw(`{"min":3,"max":5}`)}, `{"metrics":{"taste":2}}`,
			evaluation.Result{Score: raw(`2`), Passed: &no, Explanation: "It does not pass the threshold: from 3 to 5."}, true},
		{"pass when true", metric.Definition{Name: "taste", Type: metric.Human, Return: metric.Boolean, Threshold: raw(`{"pass_when":true}`)}, `{"metrics":{"taste":true}}`,
			evaluation.Result{Score: raw(`true`), Passed: &yes, Explanation: "exactly true"}, true},
		{"a threshold that says nothing of it", metric.Definition{Name: "taste", Type: metric.Human, Return: metric.String, Threshold: raw(`{"min":3}`)}, `{"metrics":{"taste":"x"}}`,
			evaluation.Result{Score: raw(`"x"`), Explanation: "A person gave this score."}, true},

		{"mean", metric.Definition{Type: metric.Composite, Return: metric.Float, Children: raw(children)}, `{"metrics":{"a":1,"b":0.0,"c":9}}`,
			evaluation.Result{Score: raw(`0.75`), Explanation: "Weighted mean of a 1 × 3, b 0.0 × 1."}, true},
		{"booleans", metric.Definition{Type: metric.Composite, Return: metric.Float, Children: raw(children), Threshold: raw(`{"min":0.8}`)}, `{"metrics":{"a":true,"b":false}}`,
			evaluation.Result{Score: raw(`0.75`), Passed: &no, Explanation: "a true × 3, b false × 1. It does not pass the threshold: 0.8 or more."}, true},
		{"sum", metric.Definition{Type: metric.Composite, Return: metric.Float, Criteria: "Weighted-Sum", Children: raw(children)}, `{"metrics":{"a":1,"b":2}}`,
			evaluation.Result{Score: raw(`5`), Explanation: "Weighted sum"}, true},
		{"one is missing", metric.Definition{Type: metric.Composite, Return: metric.Float, Children: raw(children)}, `{"metrics":{"a":0.5}}`,
			evaluation.Result{Score: raw(`0.5`), Explanation: "Without a score on the event: b."}, true},
		{"one is text", metric.Definition{Type: metric.Composite, Return: metric.Float, Children: raw(children)}, `{"metrics":{"a":0.5,"b":"good"}}`,
			evaluation.Result{Score: raw(`0.5`), Explanation: "Neither a number nor a boolean: b."}, true},
		{"all are missing", metric.Definition{Type: metric.Composite, Return: metric.Float, Children: raw(children)}, `{}`,
			evaluation.Result{Explanation: "No child metric has a score that can be combined. Without a score on the event: a, b."}, false},
		{"scales", metric.Definition{Type: metric.Composite, Return: metric.Float, Scale: raw(`10`), Children: raw(`[{"name":"a","weight":1,"scale":5},{"name":"b","weight":1,"scale":100}]`)},
			`{"metrics":{"a":5,"b":50}}`, evaluation.Result{Score: raw(`7.5`), Explanation: "on a scale of 10"}, true},
		{"boolean", metric.Definition{Type: metric.Composite, Return: metric.Boolean, Children: raw(children)}, `{"metrics":{"a":1,"b":0}}`,
			evaluation.Result{Score: raw(`true`), Explanation: "that is 0.75; true from 0.5 on"}, true},
		{"exactly one half", metric.Definition{Type: metric.Composite, Return: metric.Boolean, Children: raw(`[{"name":"a","weight":0.1},{"name":"b","weight":0.2},{"name":"c","weight":0.3}]`)},
			`{"metrics":{"a":false,"b":false,"c":true}}`, evaluation.Result{Score: raw(`true`), Explanation: "that is 0.5; true from 0.5 on"}, true},
		{"exactly the threshold", metric.Definition{Type: metric.Composite, Return: metric.Float, Threshold: raw(`{"max":0.8}`),
			Children: raw(`[{"name":"a","weight":1},{"name":"b","weight":1},{"name":"c","weight":1}]`)}, `{"metrics":{"a":0.9,"b":0.8,"c":0.7}}`,
			evaluation.Result{Score: raw(`0.8`), Passed: &yes, Explanation: "passes"}, true},
		{"boolean on a scale", metric.Definition{Type: metric.Composite, Return: metric.Boolean, Scale: raw(`10`), Children: raw(children)}, `{"metrics":{"a":0,"b":1}}`,
			evaluation.Result{Score: raw(`false`), Explanation: "that is 2.5; true from 5 on"}, true},
		{"a string", metric.Definition{Type: metric.Composite, Return: metric.String, Children: raw(children)}, `{"metrics":{"a":1}}`, evaluation.Result{Explanation: "must be float or boolean"}, false},
		{"no children", metric.Definition{Type: metric.Composite, Return: metric.Float}, `{"metrics":{"a":1}}`, evaluation.Result{Explanation: "no child metrics"}, false},
		{"no weights", metric.Definition{Type: metric.Composite, Return: metric.Float, Children: raw(`[{"name":"a","weight":0}]`)}, `{"metrics":{"a":1}}`, evaluation.Result{Explanation: "weigh nothing"}, false},
		{"too large", metric.Definition{Type: metric.Composite, Return: metric.Float, Children: raw(`[{"name":"a","weight":1e308}]`)}, `{"metrics":{"a":1e308}}`, evaluation.Result{Explanation: "too large"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			results, err := Builtin().Run(t.Context(), Task{Metric: &tt.d, Events: []json.RawMessage{raw(tt.event)}})
			if err != nil {
				t.Fatal(err)
			}
			got := results[0]
			if got.Success != (got.Failure == "") {
				t.Errorf("success %v, failure %q", got.Success, got.Failure)
			}
			got.Failure = ""
			if !strings.Contains(got.Explanation, tt.want.Explanation) {
				t.Errorf("explanation %q, want %q in it", got.Explanation, tt.want.Explanation)
			}
			got.Explanation, tt.want.Explanation, tt.want.Success = "", "", tt.success
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("result (-want +got)\n%s", diff)
			}
		})
	}
}

type answers struct {
	results []evaluation.Result
	err     error
}

func (a answers) Evaluate(context.Context, Task) ([]evaluation.Result, error) {
	return a.results, a.err
}

func TestEnginesAreFoundByType(t *testing.T) {
	t.Parallel()
	engines := Builtin()
	two := []json.RawMessage{nil, nil}
	engines[metric.LLM] = answers{err: errors.New("not reached")}
	if _, err := engines.Run(t.Context(), Task{Metric: &metric.Definition{Type: metric.LLM}, Events: two}); err == nil {
		t.Error("the engine's error is lost")
	}
	engines[metric.Python] = answers{results: make([]evaluation.Result, 1)}
	if _, err := engines.Run(t.Context(), Task{Metric: &metric.Definition{Type: metric.Python}, Events: two}); err == nil {
		t.Error("one result for two events goes through")
	}
	r, err := engines.Run(t.Context(), Task{Metric: &metric.Definition{Type: "NEW"}, Events: two})
	if err != nil || len(r) != 2 || r[1].Failure != evaluation.NoEngine || !strings.Contains(r[1].Explanation, "of type NEW") {
		t.Errorf("%+v, %v", r, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := engines.Run(gone, Task{Metric: &metric.Definition{Type: metric.Human}, Events: two}); !errors.Is(err, context.Canceled) {
		t.Errorf("a task goes on without its caller: %v", err)
	}
}

// TestVerdictPrecedesPrintedText reads explanations that engines give with printed text, which begins at its mark.
func TestVerdictPrecedesPrintedText(t *testing.T) {
	t.Parallel()
	for explanation, want := range map[string]string{
		"words: 1":                                         "words: 1 It passes the threshold: 2 or less.",
		"words: 1" + PrintedMark + "of Brasilia":           "words: 1 It passes the threshold: 2 or less." + PrintedMark + "of Brasilia",
		"words: 1" + PrintedMark + "a" + PrintedMark + "b": "words: 1 It passes the threshold: 2 or less." + PrintedMark + "a" + PrintedMark + "b",
	} {
		engines := Engines{metric.Python: answers{results: []evaluation.Result{{Success: true, Score: raw("1"), Explanation: explanation}}}}
		r, err := engines.Run(t.Context(), Task{Metric: &metric.Definition{Type: metric.Python, Return: metric.Float, Threshold: raw(`{"max":2}`)}, Events: []json.RawMessage{nil}})
		if err != nil {
			t.Fatal(err)
		}
		if r[0].Explanation != want {
			t.Errorf("%q: %q, want %q", explanation, r[0].Explanation, want)
		}
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }
