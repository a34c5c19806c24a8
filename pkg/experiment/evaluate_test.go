package experiment_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spangrove/spangrove/e2e/inprocess"
	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/experiment"
	"github.com/spangrove/spangrove/pkg/tracer"
)

func connect(t *testing.T, api string) (*client.Client, *tracer.Tracer) {
	t.Helper()
	c, err := client.New(api, inprocess.Key)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := tracer.New(api, inprocess.Key, tracer.WithErrorHandler(func(err error) { t.Errorf("reported: %v", err) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		c.CloseIdleConnections()
	})
	return c, tr
}

// dataset are four questions; the function fails at one and panics at another.
var dataset = []experiment.Datapoint{
	{Inputs: map[string]any{"q": "one"}, GroundTruth: map[string]any{"answer": "ONE"}},
	{ID: "mine", Inputs: map[string]any{"q": "two"}},
	{Inputs: map[string]any{"q": "fail"}},
	{Inputs: map[string]any{"q": "panic"}},
}

func shout(tr *tracer.Tracer) experiment.Function {
	return func(ctx context.Context, d experiment.Datapoint) (any, error) {
		q := d.Inputs["q"].(string)
		switch q {
		case "fail":
			return "half of it", errors.New("no answer")
		case "panic":
			panic("no idea")
		}
		err := tr.Trace(ctx, "look up", func(context.Context) error { return nil }, tracer.Tool)
		return map[string]any{"answer": strings.ToUpper(q)}, err
	}
}

func right(_ context.Context, c experiment.Case) (bool, error) {
	want, ok := c.GroundTruth.(map[string]any)
	if !ok {
		return false, errors.New("nobody knows")
	}
	return c.Outputs.(map[string]any)["answer"] == want["answer"], nil
}

func length(_ context.Context, c experiment.Case) (experiment.Score, error) {
	n := len(c.Outputs.(map[string]any)["answer"].(string))
	return experiment.Score{Value: n, Explanation: "its letters", Extras: map[string]any{"long": n > 3}}, nil
}

// TestEvaluate runs over a dataset in code, with evaluators of each sort, and reads back all that
// is stored.
func TestEvaluate(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, api string) {
		c, tr := connect(t, api)
		if _, err := c.Metrics.Create(t.Context(), client.MetricDefinition{Name: "stored", Type: "EXPRESSION", Criteria: `len(outputs.answer) == 3`, MetricDetails: client.MetricDetails{ReturnType: "boolean"}}); err != nil {
			t.Fatal(err)
		}
		var told []string
		spec := experiment.Spec{
			Name: " trial ", Function: shout(tr), FunctionName: "shout", Dataset: dataset, Parallel: 2,
			Evaluators: []experiment.Evaluator{
				experiment.Func("right", right),
				experiment.Func("length", length),
				experiment.Func("breaks", func(context.Context, experiment.Case) (string, error) { panic("evaluator") }),
				experiment.Func("nan", func(context.Context, experiment.Case) (float64, error) { return math.NaN(), nil }),
				experiment.Metric("stored"),
				experiment.Definition(client.MetricDefinition{Name: "truth", Type: "EXPRESSION", Criteria: `feedback.ground_truth.answer == outputs.answer`, MetricDetails: client.MetricDetails{ReturnType: "boolean"}}),
				experiment.Definition(client.MetricDefinition{Name: "asked", Type: "HUMAN", Criteria: "good?"}),
			},
			Progress: func(done, total int, d experiment.DatapointResult) {
				told = append(told, fmt.Sprintf("%d/%d", done, total)) // one after the other, or the race detector speaks
			},
			PassingRanges: map[string]client.Range{"length": {Min: client.Ptr(1.0)}},
			Configuration: map[string]any{"prompt": "v1"}, Metadata: map[string]any{"by": "test"},
		}
		r, err := experiment.Evaluate(t.Context(), c, tr, spec)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(told, []string{"1/4", "2/4", "3/4", "4/4"}) {
			t.Errorf("progress %v", told)
		}

		id, ids, err := experiment.ExternalIDs(dataset)
		if err != nil {
			t.Fatal(err)
		}
		if r.Name != "trial" || r.DatasetID != id || r.Status != client.RunCompleted || len(r.Datapoints) != 4 {
			t.Fatalf("result %+v", r)
		}
		for i, d := range r.Datapoints {
			if d.ID != ids[i] || d.SessionID == "" {
				t.Errorf("datapoint %d: %+v", i, d)
			}
		}
		one := r.Datapoints[0]
		if one.Err != nil || one.Scores["right"].Value != true || one.Scores["length"].Value != 3 || one.Scores["stored"].Value != true ||
			one.Scores["truth"].Value != true || one.Scores["asked"].Value != nil || len(one.EvaluatorErrs) != 2 ||
			one.EvaluatorErrs["breaks"].Error() != "panic: evaluator" || !strings.Contains(one.EvaluatorErrs["nan"].Error(), "NaN") {
			t.Errorf("one: %+v", one)
		}
		if two := r.Datapoints[1]; two.ID != "EXT-mine" || two.EvaluatorErrs["right"].Error() != "nobody knows" || two.Scores["length"].Value != 3 {
			t.Errorf("two: %+v", two)
		}
		if f := r.Datapoints[2]; f.Err == nil || f.Err.Error() != "no answer" || f.Outputs != nil || f.Scores != nil {
			t.Errorf("fail: %+v", f)
		}
		if p := r.Datapoints[3]; p.Err == nil || p.Err.Error() != "panic: no idea" {
			t.Errorf("panic: %+v", p)
		}

		// The run.
		run, err := c.Runs.Get(t.Context(), r.RunID)
		if err != nil {
			t.Fatal(err)
		}
		if run.Name != "trial" || run.Status != client.RunCompleted || run.DatasetID != "" || run.Metadata["offline_dataset_id"] != id || run.Metadata["by"] != "test" ||
			run.Configuration["function"] != "shout" || run.Configuration["prompt"] != "v1" || !slices.Equal(run.DatapointIDs, ids) || len(run.EventIDs) != 4 {
			t.Errorf("run %+v", run)
		}
		// A session, its function's step with the scores, and what is below it.
		s, err := c.Sessions.Get(t.Context(), one.SessionID)
		if err != nil {
			t.Fatal(err)
		}
		if s.EventName != "trial" || s.Source != "evaluation" || s.Inputs["q"] != "one" || s.Metadata["run_id"] != r.RunID || s.Metadata["dataset_id"] != id ||
			s.Metadata["datapoint_id"] != ids[0] || fmt.Sprint(s.Outputs) != "map[answer:ONE]" || fmt.Sprint(s.Feedback) != "map[ground_truth:map[answer:ONE]]" {
			t.Errorf("session %+v", s)
		}
		root := s.Children[0]
		if len(s.Children) != 1 || root.EventName != "shout" || root.EventType != "chain" || root.Inputs["q"] != "one" || fmt.Sprint(root.Outputs) != "map[answer:ONE]" ||
			fmt.Sprint(root.Metrics) != "map[length:3 length_explanation:its letters length_long:false right:true stored:true stored_explanation:The value of the metric's expression. truth:true truth_explanation:The value of the metric's expression.]" {
			t.Errorf("root %+v", root)
		}
		var below []string
		for _, e := range root.Children {
			below = append(below, e.EventName)
		}
		if want := []string{"look up", "right", "length", "breaks", "nan", "stored", "truth", "asked"}; !slices.Equal(below, want) {
			t.Errorf("below the root %v, want %v", below, want)
		}
		failed, err := c.Sessions.Get(t.Context(), r.Datapoints[3].SessionID)
		if err != nil || failed.Children[0].Error != "panic: no idea" {
			t.Errorf("the session of the panic: %+v, %v", failed, err)
		}
		// The server's sums.
		var names []string
		for _, m := range r.Scores.Metrics.Details {
			names = append(names, fmt.Sprintf("%s %s %v", m.MetricName, m.EventName, *m.Aggregate))
		}
		slices.Sort(names)
		if want := []string{"length shout 3", "length_long shout 0", "right shout 1", "stored shout 1", "truth shout 1"}; !slices.Equal(names, want) {
			t.Errorf("metrics %q, want %q", names, want)
		}
		if !slices.Equal(r.Scores.Passed, []string{ids[0], ids[1]}) && !slices.Equal(r.Scores.Passed, []string{ids[1], ids[0]}) {
			t.Errorf("passed %v", r.Scores.Passed)
		}

		// A second run to compare with the first.
		spec.Against, spec.Progress = r.RunID, nil
		spec.Evaluators = []experiment.Evaluator{experiment.Func("length", func(context.Context, experiment.Case) (int, error) { return 5, nil })}
		again, err := experiment.Evaluate(t.Context(), c, tr, spec)
		if err != nil {
			t.Fatal(err)
		}
		if m := again.Comparison.Metrics; len(again.Comparison.CommonDatapoints) != 4 || !slices.ContainsFunc(m, func(m client.MetricComparison) bool {
			return m.MetricName == "length" && m.ImprovedCount == 2 && *m.Difference == 2
		}) {
			t.Errorf("comparison %+v", again.Comparison)
		}
	})
}

// TestStoredDataset runs over a dataset of the server.
func TestStoredDataset(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, api string) {
		c, tr := connect(t, api)
		id, err := c.Datasets.Create(t.Context(), client.DatasetInput{Name: "questions"})
		if err != nil {
			t.Fatal(err)
		}
		ids, err := c.Datasets.AddRows(t.Context(), id, []client.Object{{"q": "one", "a": "ONE"}, {"q": "two", "a": "TWO"}}, client.Mapping{Inputs: []string{"q"}, GroundTruth: []string{"a"}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := experiment.Evaluate(t.Context(), c, tr, experiment.Spec{Function: shout(tr), DatasetID: id,
			Evaluators: []experiment.Evaluator{experiment.Func("right", func(_ context.Context, c experiment.Case) (bool, error) {
				return c.Outputs.(map[string]any)["answer"] == c.GroundTruth.(map[string]any)["a"], nil
			})}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Name != "experiment-"+r.RunID[:8] || r.DatasetID != id || len(r.Datapoints) != 2 || r.Datapoints[0].ID != ids[0] || r.Datapoints[1].Scores["right"].Value != true {
			t.Errorf("result %+v", r)
		}
		run, err := c.Runs.Get(t.Context(), r.RunID)
		if err != nil || run.DatasetID != id || run.Metadata["offline_dataset_id"] != nil || !slices.Equal(run.DatapointIDs, ids) || run.Configuration["function"] != "shout" {
			t.Errorf("run %+v, %v", run, err)
		}
	})
}

// TestLargeDataset runs over a dataset that is larger than an answer may be.
func TestLargeDataset(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, api string) {
		c, tr := connect(t, api)
		id, err := c.Datasets.Create(t.Context(), client.DatasetInput{Name: "large"})
		if err != nil {
			t.Fatal(err)
		}
		var rows []client.Object
		for i := range 12 {
			rows = append(rows, client.Object{"q": fmt.Sprint(i), "text": strings.Repeat("x", 20_000)})
		}
		ids, err := c.Datasets.AddRows(t.Context(), id, rows, client.Mapping{Inputs: []string{"q", "text"}})
		if err != nil {
			t.Fatal(err)
		}
		small, err := client.New(api, inprocess.Key, client.WithMaxAnswer(64<<10))
		if err != nil {
			t.Fatal(err)
		}
		defer small.CloseIdleConnections()
		r, err := experiment.Evaluate(t.Context(), small, tr, experiment.Spec{Function: shout(tr), DatasetID: id})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range r.Datapoints {
			got = append(got, d.ID)
			if d.Err != nil {
				t.Errorf("%s: %v", d.ID, d.Err)
			}
		}
		if !slices.Equal(got, ids) {
			t.Errorf("datapoints %v, want %v", got, ids)
		}
	})
}

// TestCancel ends the context in the middle: the run is cancelled, and what was done is there.
func TestCancel(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, api string) {
		c, tr := connect(t, api)
		ctx, cancel := context.WithCancel(t.Context())
		var n atomic.Int32
		r, err := experiment.Evaluate(ctx, c, tr, experiment.Spec{Dataset: make([]experiment.Datapoint, 20), Parallel: 1, FunctionName: "f",
			Function: func(ctx context.Context, _ experiment.Datapoint) (any, error) {
				if n.Add(1) == 3 {
					cancel()
					return nil, ctx.Err()
				}
				return "done", nil
			}})
		if !errors.Is(err, context.Canceled) || r == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		run, err := c.Runs.Get(t.Context(), r.RunID)
		if err != nil || r.Status != client.RunCancelled || run.Status != client.RunCancelled || len(run.EventIDs) != 3 || r.Scores == nil {
			t.Errorf("run %+v, %v", run, err)
		}
		if r.Datapoints[0].Outputs != "done" || r.Datapoints[2].Err == nil || r.Datapoints[3].SessionID != "" {
			t.Errorf("result %+v", r.Datapoints[:4])
		}
	})
}

// TestParallel checks the bound on datapoints at a time, and that all of it is used.
func TestParallel(t *testing.T) {
	api, _ := inprocess.Start(t, inprocess.SQLite(t))
	c, tr := connect(t, api)
	for _, tt := range []struct{ asked, want int }{{0, experiment.DefaultParallel}, {2, 2}} {
		var mu sync.Mutex
		now, most := 0, 0
		all := make(chan struct{})
		_, err := experiment.Evaluate(t.Context(), c, tr, experiment.Spec{Dataset: make([]experiment.Datapoint, 12), Parallel: tt.asked, FunctionName: "f",
			Function: func(context.Context, experiment.Datapoint) (any, error) {
				mu.Lock()
				now++
				if now > most {
					if most = now; most == tt.want {
						close(all)
					}
				}
				mu.Unlock()
				<-all // until as many run as may
				mu.Lock()
				now--
				mu.Unlock()
				return nil, nil
			}})
		if err != nil || most != tt.want {
			t.Errorf("%d at a time, want %d; %v", most, tt.want, err)
		}
	}
}

// TestMistakes are found before a run is created.
func TestMistakes(t *testing.T) {
	api, _ := inprocess.Start(t, inprocess.SQLite(t))
	c, tr := connect(t, api)
	f := func(context.Context, experiment.Datapoint) (any, error) { return nil, errors.New("never works") }
	one := experiment.Func("e", func(context.Context, experiment.Case) (int, error) { return 1, nil })
	for want, s := range map[string]experiment.Spec{
		"no function":            {Dataset: dataset},
		"either a dataset":       {Function: f},
		"or the id":              {Function: f, Dataset: dataset, DatasetID: "x"},
		"parallel":               {Function: f, Dataset: dataset, Parallel: -1},
		`no metric "nowhere"`:    {Function: f, Dataset: dataset, Evaluators: []experiment.Evaluator{experiment.Metric("nowhere")}},
		`another one named "e"`:  {Function: f, Dataset: dataset, Evaluators: []experiment.Evaluator{one, one}},
		"no name or no function": {Function: f, Dataset: dataset, Evaluators: []experiment.Evaluator{{}}},
		"(404":                   {Function: f, DatasetID: "0192f0a4-7c1e-7aaa-8bbb-1234567890ab"},
		"against: GET ":          {Function: f, Dataset: dataset, Against: "0192f0a4-7c1e-7aaa-8bbb-1234567890ab"},
	} {
		if _, err := experiment.Evaluate(t.Context(), c, tr, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	if runs, err := c.Runs.List(t.Context(), client.RunQuery{}); err != nil || runs.Total != 0 {
		t.Errorf("%d runs, %v", runs.Total, err)
	}
	r, err := experiment.Evaluate(t.Context(), c, tr, experiment.Spec{Function: f, Dataset: dataset})
	if err != nil || r.Status != client.RunFailed {
		t.Errorf("a function that always fails: %+v, %v", r, err)
	}
}

// TestFailNow evaluates functions that end their goroutine, as those of tests do, more of them than
// may work at a time.
func TestFailNow(t *testing.T) {
	api, _ := inprocess.Start(t, inprocess.SQLite(t))
	c, tr := connect(t, api)
	r, err := experiment.Evaluate(t.Context(), c, tr, experiment.Spec{
		Dataset: make([]experiment.Datapoint, 5), Parallel: 2,
		Function: func(_ context.Context, d experiment.Datapoint) (any, error) { runtime.Goexit(); return 1, nil },
	})
	if err != nil || r.Status != client.RunFailed {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, d := range r.Datapoints {
		if d.Err == nil || d.SessionID == "" {
			t.Errorf("%+v", d)
		}
	}
}
