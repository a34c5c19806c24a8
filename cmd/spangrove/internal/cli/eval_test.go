package cli

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/experiment"
	"github.com/spangrove/spangrove/pkg/metric"
)

func TestScoreOf(t *testing.T) {
	t.Parallel()
	for printed, want := range map[string]experiment.Score{
		`0.50`:  {Value: json.Number("0.50")},
		`true`:  {Value: true},
		`"yes"`: {Value: "yes"},
		`null`:  {},
		`{"score": 1, "explanation": "it is", "letters": 5}`: {Value: json.Number("1"), Explanation: "it is", Extras: map[string]any{"letters": json.Number("5")}},
		`{"score": null}`: {},
	} {
		got, err := scoreOf(json.RawMessage(printed))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", printed, err, diff)
		}
	}
	for _, printed := range []string{`[1]`, `{}`, `{"explanation": "none"}`, `{"score": {"a": 1}}`, `{"score": 1, "more": [1]}`} {
		if got, err := scoreOf(json.RawMessage(printed)); err == nil {
			t.Errorf("%s is taken for %v", printed, got)
		}
	}
}

func TestDatapointOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		row   string
		isCSV bool
		want  string
	}{
		{`{"inputs": {"a": 1.50}, "ground_truth": 1, "note": "n"}`, false, `{"inputs":{"a": 1.50},"ground_truth":1,"note":"n"}`},
		{`{"id": "x", "a": 1, "ground_truth": {"b": 2}, "c": "{}"}`, false, `{"id":"x","ground_truth":{"b": 2},"inputs":{"a":1,"c":"{}"}}`},
		{`{"ground_truth": "{}"}`, false, `{"ground_truth":"{}","inputs":{}}`},
		{`{"inputs": "{\"a\": 1}", "ground_truth": "[1]", "id": "7"}`, true, `{"inputs":{"a": 1},"ground_truth":[1],"id":"7"}`},
		{`{"a": "{}", "ground_truth": "12"}`, true, `{"ground_truth":"12","inputs":{"a":"{}"}}`},
	} {
		if got := datapointOf(json.RawMessage(tt.row), tt.isCSV); string(got) != tt.want {
			t.Errorf("%s: %s, want %s", tt.row, got, tt.want)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	got, err := bounds([]string{"a=0.5", "b=c=1"}, []string{"a=1"})
	want := map[string]client.Range{"a": {Min: client.Ptr(0.5), Max: client.Ptr(1.0)}, "b=c": {Min: client.Ptr(1.0)}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, text := range []string{"a", "=1", "a=", "a=x", "a=NaN", "a=Inf"} {
		if _, err := bounds([]string{text}, nil); err == nil {
			t.Errorf("--min %s is taken", text)
		}
	}
}

// TestReports checks what files say of every way in which a datapoint can fail.
func TestReports(t *testing.T) {
	t.Parallel()
	api, err := client.New("http://127.0.0.1:7420", "")
	if err != nil {
		t.Fatal(err)
	}
	point := func(id string, score any, errs ...error) experiment.DatapointResult {
		d := experiment.DatapointResult{ID: id, SessionID: id, Duration: 1500 * time.Millisecond, Scores: map[string]experiment.Score{}}
		if score != nil {
			d.Scores["kind"] = experiment.Score{Value: score, Explanation: "so <it>\nis | \x00"}
		}
		if len(errs) > 0 {
			d.EvaluatorErrs = map[string]error{"kind": errs[0]}
		}
		return d
	}
	broken := point("EXT-3", nil)
	broken.Err = &programError{"exit status 1", "line 1\nline 2 & more\n"}
	e := &evalRun{app: &app{api: api}, run: "0192f0a4", scorers: []scorer{{name: "kind", rule: metric.Threshold{Categories: []string{"good"}}}}, result: &experiment.Result{
		Name: "n<1>", Datapoints: []experiment.DatapointResult{point("EXT-1", "good"), point("EXT-2", "bad"), broken, point("EXT-4", nil, errors.New("no judge"))},
		Scores: &client.RunResult{},
	}}
	s := e.summary()
	want := []string{"kind has no score of 1 datapoints", "kind: 1 of its texts do not pass", "the program failed for 1 of 4 datapoints"}
	if diff := cmp.Diff(want, s.reasons); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	var got junitSuites
	if err := xml.Unmarshal(s.junit(), &got); err != nil {
		t.Fatal(err)
	}
	points, metrics := got.Suites[0], got.Suites[1]
	if points.Name != "n<1>" || points.Tests != 4 || points.Failures != 1 || points.Errors != 2 || metrics.Tests != 1 || metrics.Failures != 1 {
		t.Errorf("suites: %+v", got)
	}
	if c := points.Cases[0]; c.Failure != nil || c.Error != nil || c.Time != "1.500" || c.Name != "EXT-1" || c.Class != "n<1>" {
		t.Errorf("one that passed: %+v", c)
	}
	if c := points.Cases[1]; c.Failure == nil || c.Failure.Type != "metric" || !strings.HasPrefix(c.Failure.Message, `kind is "bad", not one of ["good"]: so <it> is |`) {
		t.Errorf("one that did not pass: %+v", c)
	}
	if c := points.Cases[2]; c.Error == nil || c.Error.Message != "exit status 1: line 2 & more" || !strings.Contains(c.Error.Text, "line 1\nline 2") {
		t.Errorf("one whose program failed: %+v", c)
	}
	if c := points.Cases[3]; c.Error == nil || c.Error.Message != "kind: no judge" {
		t.Errorf("one without a score: %+v", c)
	}
	text := string(s.markdown())
	for _, line := range []string{
		"| kind | command | - | one of [\"good\"] | failed | 1 | 1 | 1 |\n",
		"| EXT-2 | - | - | - | kind is \"bad\", not one of [\"good\"]: so &lt;it> is \\|",
		"| EXT-3 | - | - | - | exit status 1: line 2 & more |\n", "| EXT-4 | - | - | - | kind: no judge |\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("there is no %q in\n%s", line, text)
		}
	}
	e.result.Name = "n<1> `[x](y)"
	if text := string(e.summary().markdown()); !strings.HasPrefix(text, "## n&lt;1> \\`[x]\\(y): failed\n") {
		t.Errorf("the heading: %.60s", text)
	}
	for i := range 60 {
		d := broken
		d.ID = fmt.Sprintf("EXT-more-%d", i)
		e.result.Datapoints = append(e.result.Datapoints, d)
	}
	if text := string(e.summary().markdown()); !strings.HasSuffix(text, "\nand 13 more.\n") {
		t.Errorf("the end: %s", text[len(text)-100:])
	}
}

// TestBrief checks what reports show of inputs and answers: one line, bounded.
func TestBrief(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value any
		want  string
	}{
		{nil, ""},
		{map[string]any(nil), ""},
		{"two\nlines\x1b[1m", "two lines [1m"},
		{map[string]any{"question": "Capital of Peru?"}, "Capital of Peru?"},
		{map[string]any{"n": json.Number("1.50")}, "n: 1.50"},
		{map[string]any{"b": []any{"<", 1}, "a": "x"}, `a: x, b: ["<",1]`},
		{json.RawMessage(`{"content": "Lima", "score": 1.0}`), "content: Lima, score: 1.0"},
		{json.RawMessage(`"Lima"`), "Lima"},
		{json.RawMessage(`true`), "true"},
		{map[string]any{"a": strings.Repeat("x", 1<<20), "b": "y"}, "a: " + strings.Repeat("x", 36) + "…"},
		{strings.Repeat("é", 5000), strings.Repeat("é", 39) + "…"},
	} {
		if got := brief(tt.value, 40); got != tt.want {
			t.Errorf("%.60v: %q, want %q", tt.value, got, tt.want)
		}
	}
}

// TestProgramBounds checks that a program that prints without end is ended.
func TestProgramBounds(t *testing.T) {
	t.Parallel()
	p := program{line: "cat /dev/zero"}
	if _, err := p.run(t.Context(), []byte("{}")); err == nil || err.Error() != "it printed more than 16 MB" {
		t.Errorf("%v", err)
	}
	p.line = "seq 100000 >&2; exit 1"
	var failed *programError
	if _, err := p.run(t.Context(), []byte("{}")); !errors.As(err, &failed) || failed.Error() != "exit status 1: 100000" || len(failed.complaint) != maxComplaint {
		t.Errorf("%v", err)
	}
	p.line = "echo '{\"a\": 1.50}' # whatever it is given"
	for printed, want := range map[string]string{
		"1e999": "it must print another JSON value: number outside the range of a double: 1e999",
		strings.Repeat("[", 101) + strings.Repeat("]", 101): "it must print another JSON value: nested deeper than 100",
		"[1] 2": `it must print one JSON value, not "[1] 2"`,
	} {
		refused := program{line: "echo '" + printed + "'"}
		if _, err := refused.run(t.Context(), nil); err == nil || err.Error() != want {
			t.Errorf("%.20s: %v", printed, err)
		}
	}
	if got, err := p.run(t.Context(), make([]byte, 1<<20)); err != nil || string(got) != `{"a": 1.50}` {
		t.Errorf("%s, %v", got, err)
	}
}
