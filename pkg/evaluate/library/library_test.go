package library_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluate/expression"
	"github.com/spangrove/spangrove/pkg/evaluate/library"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
)

// TestEntries: every entry is a valid metric, has at least six examples of more than one score,
// and an expression gives exactly the scores of its examples.
func TestEntries(t *testing.T) {
	t.Parallel()
	engines := evaluate.Builtin()
	engines[metric.Expression] = expression.New(expression.Config{})
	seen := map[string]bool{}
	for _, e := range library.Entries() {
		name := e.Definition.Name
		if seen[name] || !regexp.MustCompile(`^[a-z0-9_]+$`).MatchString(name) {
			t.Errorf("%q: a name is small letters and underscores, and used once", name)
		}
		seen[name] = true
		if e.Definition.Description == "" || len(e.Examples) < 6 {
			t.Errorf("%s: description %q, %d examples", name, e.Definition.Description, len(e.Examples))
		}
		scores := map[string]bool{}
		for i, x := range e.Examples {
			scores[string(x.Score)] = true
			if why := evaluate.Misfit(&e.Definition, x.Score); why != "" {
				t.Errorf("%s: example %d: the score is %s", name, i, why)
			}
			if e.Definition.Type != metric.Expression {
				continue
			}
			d, err := e.Define(x.Parameters)
			if err != nil {
				t.Errorf("%s: example %d: %v", name, i, err)
				continue
			}
			r, err := engines.Run(t.Context(), evaluate.Task{Metric: &d, Events: []json.RawMessage{x.Event}})
			if err != nil {
				t.Fatal(err)
			}
			if string(r[0].Score) != string(x.Score) {
				t.Errorf("%s: example %d: score %s (%s), want %s\n%s", name, i, r[0].Score, r[0].Explanation, x.Score, x.Event)
			}
		}
		if len(scores) < 2 {
			t.Errorf("%s: all examples have the score %v", name, scores)
		}
	}
	if len(seen) < 30 {
		t.Errorf("the library has %d metrics", len(seen))
	}
}

// TestDocs: the table of the documentation has a row for each entry, with its description.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/evaluators.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range library.Entries() {
		var parameters []string
		for _, p := range e.Parameters {
			parameters = append(parameters, "`"+p.Name+"`")
		}
		d := &e.Definition
		row := fmt.Sprintf("| `%s` | `%s` | %s | %s | %s |\n", d.Name, d.Type, d.Return, d.Description, strings.Join(parameters, ", "))
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/evaluators.md lacks the row\n%s", row)
		}
	}
}

func TestDefine(t *testing.T) {
	t.Parallel()
	e := library.Find("contains")
	engine := expression.New(expression.Config{})
	for _, text := range []string{`a"b`, `a\b`, "a\nb", "a'b`c", "ä☃😀", "</x>\u2028", `"; 1 == 1; "`, "\x00\x1f"} {
		parameters, err := json.Marshal(map[string]string{"phrase": text})
		if err != nil {
			t.Fatal(err)
		}
		d, err := e.Define(parameters)
		if err != nil {
			t.Fatal(err)
		}
		for answer, want := range map[string]string{"x" + text + "y": "true", "nothing": "false"} {
			event, err := json.Marshal(map[string]any{"outputs": map[string]string{"content": answer}})
			if err != nil {
				t.Fatal(err)
			}
			r, err := engine.Evaluate(t.Context(), evaluate.Task{Metric: &d, Events: []json.RawMessage{event}})
			if err != nil || string(r[0].Score) != want {
				t.Errorf("%q in %q: %s %s %v", text, answer, r[0].Score, r[0].Explanation, err)
			}
		}
	}
	for parameters, want := range map[string]string{`[]`: "must be an object", `{"text": "a"}`: "text: the metric contains has no such parameter"} {
		if _, err := e.Define(json.RawMessage(parameters)); fault.Of(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", parameters, err)
		}
	}
	e = library.Find("regex_match")
	if _, err := e.Define(nil); fault.Of(err) != fault.Invalid || !strings.Contains(err.Error(), "pattern: is required") {
		t.Errorf("%v", err)
	}
	if e := library.Find("odd"); e != nil {
		t.Errorf("%+v", e)
	}
}
