package mcpserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/client"
)

type runQuery struct {
	DatasetID string `json:"dataset_id,omitempty" jsonschema:"only runs over this dataset"`
	Name      string `json:"name,omitempty" jsonschema:"only runs of this name"`
	Status    string `json:"status,omitempty" jsonschema:"only runs of this status"`
	Limit     int    `json:"limit,omitempty" jsonschema:"how many runs, newest first"`
	Cursor    string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
	size
}

// run is an experiment run in a list.
type run struct {
	ID         string   `json:"run_id"`
	Name       string   `json:"name"`
	Status     string   `json:"status"`
	DatasetID  string   `json:"dataset_id,omitempty"`
	CreatedAt  string   `json:"created_at"`
	Sessions   int      `json:"sessions"`
	Errors     int      `json:"errors"`
	DurationMS *float64 `json:"mean_duration_ms,omitempty"`
	Cost       *float64 `json:"cost,omitempty"`
	Scores     []score  `json:"scores,omitempty"`
}

// score is what a run has of a metric.
type score struct {
	Metric    string   `json:"metric" jsonschema:"key of the metric"`
	Aggregate *float64 `json:"aggregate,omitempty"`
	Values    int      `json:"values"`
	Passed    int      `json:"passed"`
	Failed    int      `json:"failed"`
}

type runList struct {
	Runs  []run `json:"runs"`
	Total int   `json:"total"`
}

type compareQuery struct {
	RunIDs   []string `json:"run_ids" jsonschema:"ids of the runs"`
	Baseline string   `json:"baseline,omitempty" jsonschema:"id of the run that the others are compared with; the first if left out"`
	Only     string   `json:"only,omitempty" jsonschema:"only datapoints that are so in some run"`
	Metric   string   `json:"metric,omitempty" jsonschema:"key of the metric that only and sort are about, as metrics lists it"`
	Sort     string   `json:"sort,omitempty" jsonschema:"order of the dataset, or the largest difference or value of metric first"`
	Limit    int      `json:"limit,omitempty" jsonschema:"how many datapoints"`
	Cursor   string   `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
	size
}

type resultQuery struct {
	RunID  string `json:"run_id" jsonschema:"id of the run"`
	Only   string `json:"only,omitempty" jsonschema:"only datapoints that are so"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many datapoints"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
	size
}

// comparison is runs side by side.
type comparison struct {
	Baseline string         `json:"baseline"`
	Runs     []compared     `json:"runs,omitempty"`
	Metrics  []metricOfRuns `json:"metrics,omitempty"`
	Counts   map[string]int `json:"counts,omitempty" jsonschema:"datapoints by what only may be"`
	Rows     []comparedRow  `json:"rows"`
}

type compared struct {
	run
	Paired   int    `json:"paired" jsonschema:"datapoints that the baseline has, too"`
	Sentence string `json:"sentence,omitempty" jsonschema:"the comparison with the baseline in words"`
}

type metricOfRuns struct {
	Key           string        `json:"key"`
	LowerIsBetter bool          `json:"lower_is_better"`
	Runs          []metricInRun `json:"runs"`
}

// metricInRun is a metric in one run against the baseline.
type metricInRun struct {
	RunID      string    `json:"run_id"`
	Aggregate  *float64  `json:"aggregate,omitempty"`
	Difference *float64  `json:"difference,omitempty" jsonschema:"mean over the datapoints that both have"`
	Interval   []float64 `json:"interval,omitempty" jsonschema:"of the difference, at 95 %"`
	Verdict    string    `json:"verdict,omitempty" jsonschema:"better, worse or cannot_tell"`
	Improved   int       `json:"improved"`
	Degraded   int       `json:"degraded"`
}

type comparedRow struct {
	DatapointID string  `json:"datapoint_id,omitempty"`
	Input       string  `json:"input"`
	Expected    string  `json:"expected,omitempty"`
	Cells       []*cell `json:"runs" jsonschema:"in the order of run_ids; null: the run has no session about it"`
}

type cell struct {
	SessionID string         `json:"session_id"`
	Output    string         `json:"output"`
	Error     string         `json:"error,omitempty"`
	Scores    map[string]any `json:"scores,omitempty"`
}

var onlyRows = []string{"improved", "degraded", "same", "failed", "errors", "differing"}

func (t *tools) addRuns() {
	add(t, definition{
		name: "list_runs", title: "Experiment runs",
		description: "Experiment runs, newest first: evaluations of a program over a dataset, with what their scores, errors, durations and costs come to.",
		schema:      []property{between("limit", 1, 100, 20), anyOf("status", "pending", "running", "completed", "failed", "cancelled")},
	}, listRuns)
	add(t, definition{
		name: "run_result", title: "Result of a run",
		description: "What one experiment run came to: each metric with its aggregate and how many datapoints pass, and its datapoints with outputs, errors and scores. only narrows to those that failed or had errors.",
		schema:      []property{between("limit", 1, 200, 20), anyOf("only", "failed", "errors")},
	}, func(ctx context.Context, c *call, in resultQuery) (*answer[comparison], error) {
		return compare(ctx, c, client.RunCompareQuery{RunIDs: []string{in.RunID}, Only: in.Only, Limit: or(in.Limit, 20), Cursor: in.Cursor})
	})
	add(t, definition{
		name: "compare_runs", title: "Compare runs",
		description: "Compares up to eight experiment runs with a baseline: a sentence for each in plain words, each metric with the mean difference, its 95 % interval and a verdict, and the datapoints side by side. only narrows to what improved or degraded.",
		schema: []property{between("limit", 1, 200, 20), items("run_ids", 2, 8), anyOf("only", onlyRows...),
			oneOf("sort", "order", "delta", "value")},
	}, func(ctx context.Context, c *call, in compareQuery) (*answer[comparison], error) {
		return compare(ctx, c, client.RunCompareQuery{
			RunIDs: in.RunIDs, Baseline: in.Baseline, Only: in.Only, Metric: in.Metric, Sort: in.Sort, Descending: in.Sort == "delta" || in.Sort == "value",
			Limit: or(in.Limit, 20), Cursor: in.Cursor,
		})
	})
}

// maxScores is how many metrics of a run a list names.
const maxScores = 8

func listRuns(ctx context.Context, c *call, in runQuery) (*answer[runList], error) {
	first, err := offset(in.Cursor)
	if err != nil {
		return nil, err
	}
	found, total, err := pageOf(first, or(in.Limit, 20), func(p client.Page) (*client.List[client.Run], error) {
		got, err := c.Runs.List(ctx, client.RunQuery{DatasetID: in.DatasetID, Name: in.Name, Status: in.Status, Aggregates: true, WithoutIDs: true, Page: p})
		if err != nil {
			return nil, err
		}
		return &got.List, nil
	})
	if err != nil {
		return nil, err
	}
	list := fit(c, len(found), 0, func(i, width int) item[run] { return runItem(&found[i], min(width, 100)) })
	a := &answer[runList]{
		head: fmt.Sprintf("%s of %d, newest first.", count(len(list), "run", "runs"), total),
		text: texts(list), data: runList{data(list), total}, next: after(first, len(list), total),
	}
	if total == 0 {
		a.hints = append(a.hints, "A run is made by evaluating a program over a dataset: spangrove eval, or the evaluate function of an SDK.")
	} else {
		a.hints = append(a.hints, "compare_runs with two to eight run_ids compares them; run_result shows one.")
	}
	return a, nil
}

func runItem(r *client.Run, width int) item[run] {
	d := run{ID: line(r.RunID, 80), Name: line(r.Name, width), Status: line(r.Status, 20), DatasetID: line(r.DatasetID, 80), CreatedAt: day(r.CreatedAt)}
	text := fmt.Sprintf("%s %q %s, created %s", d.ID, d.Name, d.Status, d.CreatedAt)
	if r.Aggregates == nil {
		return item[run]{text, d}
	}
	d.Sessions, d.Errors, d.DurationMS, d.Cost = r.Aggregates.Sessions, r.Aggregates.Errors, r.Aggregates.Duration, r.Aggregates.Cost
	text += fmt.Sprintf("; sessions %d, errors %d, cost %s", d.Sessions, d.Errors, dollars(d.Cost))
	for i, m := range r.Aggregates.Metrics {
		if i == maxScores {
			break
		}
		s := score{line(m.Key, min(width, 80)), m.Aggregate, m.Values, m.Passed, m.Failed}
		d.Scores = append(d.Scores, s)
		text += fmt.Sprintf("\n    %s: %s (%d values, %d passed, %d failed)", s.Metric, optional(s.Aggregate), s.Values, s.Passed, s.Failed)
	}
	return item[run]{text, d}
}

// compare compares runs, or shows a single one.
func compare(ctx context.Context, c *call, q client.RunCompareQuery) (*answer[comparison], error) {
	got, err := c.Runs.CompareMany(ctx, q)
	if err != nil {
		return nil, err
	}
	d := comparison{Baseline: got.Baseline, Rows: []comparedRow{}}
	// What stands before the rows has at most half of the answer.
	fits := func(top string) bool { return max(len(top), jsonSize(d.Runs)+jsonSize(d.Metrics)) < c.size/2 }
	top := d.top(got, 400)
	for _, width := range []int{120, 40} {
		if !fits(top) {
			top = d.top(got, width)
		}
	}
	for !fits(top) && len(got.Metrics) > 1 {
		got.MetricsOmitted += len(got.Metrics) - len(got.Metrics)/2
		got.Metrics = got.Metrics[:len(got.Metrics)/2]
		top = d.top(got, 40)
	}
	d.Counts = got.Counts
	list := fit(c, len(got.Rows), max(len(top), jsonSize(d)), func(i, width int) item[comparedRow] {
		return comparedItem(&got.Rows[i], width/max(1, len(q.RunIDs)/2))
	})
	next := got.NextCursor
	if len(list) < len(got.Rows) { // the cursor is to stand after the last one that is shown
		q.Limit = len(list)
		shorter, err := c.Runs.CompareMany(ctx, q)
		if err != nil {
			return nil, err
		}
		next = shorter.NextCursor
	}
	d.Rows = data(list)
	a := &answer[comparison]{
		head: fmt.Sprintf("%s, %s of %d datapoints that match.", count(len(q.RunIDs), "run", "runs"), count(len(list), "datapoint", "datapoints"), got.Total),
		text: top + texts(list), data: d, next: next,
	}
	if len(list) > 0 {
		a.hints = append(a.hints, "session_tree with a session_id shows what a run did for a datapoint.")
	}
	return a, nil
}

// top fills in runs and metrics, and returns their lines; empty after the first page.
func (d *comparison) top(got *client.RunsCompared, width int) string {
	var b strings.Builder
	d.Runs, d.Metrics = nil, nil
	for _, r := range got.Runs {
		one := compared{
			run: run{ID: line(r.RunID, 80), Name: line(r.Name, min(width, 100)), Status: line(r.Status, 20), DatasetID: line(r.DatasetID, 80), CreatedAt: day(r.CreatedAt),
				Sessions: r.Sessions, Errors: r.Errors, DurationMS: r.Duration, Cost: r.Cost},
			Paired: r.Paired, Sentence: line(r.Sentence, 2*width),
		}
		d.Runs = append(d.Runs, one)
		fmt.Fprintf(&b, "run %s %q %s: datapoints %d, sessions %d, errors %d, cost %s", one.ID, one.Name, one.Status, r.Datapoints, r.Sessions, r.Errors, dollars(r.Cost))
		if r.RunID == got.Baseline && len(got.Runs) > 1 {
			b.WriteString(" (baseline)")
		}
		if one.Sentence != "" {
			b.WriteString("\n    " + one.Sentence)
		}
		b.WriteString("\n")
	}
	for _, m := range got.Metrics {
		one := metricOfRuns{Key: line(m.Key, min(width, 100)), LowerIsBetter: m.LowerIsBetter}
		fmt.Fprintf(&b, "metric %s", one.Key)
		if m.Unit != "" && m.Unit != "none" {
			b.WriteString(" in " + line(m.Unit, 20))
		}
		b.WriteString(":")
		for i, r := range m.Runs {
			in := metricInRun{RunID: line(r.RunID, 80), Aggregate: r.Aggregate, Difference: r.Difference, Verdict: line(r.Verdict, 20), Improved: r.Improved, Degraded: r.Degraded}
			if i > 0 {
				b.WriteString(";")
			}
			fmt.Fprintf(&b, " %s", optional(r.Aggregate))
			if r.Passed+r.Failed > 0 {
				fmt.Fprintf(&b, ", %d passed, %d failed", r.Passed, r.Failed)
			}
			if r.Interval != nil && r.Difference != nil {
				in.Interval = []float64{r.Interval.Low, r.Interval.High}
				fmt.Fprintf(&b, ", differs by %s (95 %%: %s to %s), %s", number(*r.Difference), number(r.Interval.Low), number(r.Interval.High), in.Verdict)
			}
			one.Runs = append(one.Runs, in)
		}
		d.Metrics = append(d.Metrics, one)
		b.WriteString("\n")
	}
	if got.MetricsOmitted > 0 {
		fmt.Fprintf(&b, "%d more metrics\n", got.MetricsOmitted)
	}
	return b.String()
}

// maxCellScores is how many scores of a session are shown.
const maxCellScores = 12

func comparedItem(r *client.ComparedRow, width int) item[comparedRow] {
	d := comparedRow{DatapointID: line(r.DatapointID, 80), Input: line(r.Input, width), Expected: line(r.Expected, width), Cells: []*cell{}}
	text := fmt.Sprintf("datapoint %s input: %s", orText(d.DatapointID, "(none)"), d.Input)
	if d.Expected != "" {
		text += "\n    expected: " + d.Expected
	}
	for i, c := range r.Cells {
		if c == nil {
			d.Cells = append(d.Cells, nil)
			text += fmt.Sprintf("\n    %d: no session", i+1)
			continue
		}
		one := &cell{SessionID: line(c.SessionID, 80), Output: line(c.Output, width), Error: line(c.Error, width), Scores: map[string]any{}}
		text += fmt.Sprintf("\n    %d: session %s output: %s", i+1, one.SessionID, one.Output)
		if one.Error != "" {
			text += " ERROR " + one.Error
		}
		for _, key := range slices.Sorted(maps.Keys(c.Scores)) {
			if len(one.Scores) == maxCellScores || width < 40 && len(one.Scores) == 2 {
				break
			}
			s := c.Scores[key]
			var shown any = line(fmt.Sprint(s.Value), min(width, 60))
			switch s.Value.(type) {
			case nil, bool:
				shown = s.Value
			default:
				if f := float(s.Value); f != nil {
					shown = *f
				}
			}
			one.Scores[line(key, min(width, 80))] = shown
			text += fmt.Sprintf(" | %s %v", line(key, min(width, 80)), shown)
			if s.Change != "" && s.Change != "same" {
				text += " (" + line(s.Change, 20) + ")"
			}
		}
		d.Cells = append(d.Cells, one)
	}
	return item[comparedRow]{text, d}
}
