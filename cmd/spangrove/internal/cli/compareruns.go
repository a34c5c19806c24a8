package cli

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

const (
	// mostCompared is how many runs one comparison takes, and mostRows how many rows of it the API lists at once.
	mostCompared = 8
	mostRows     = 200

	olderRun = "0192f0a4-7c1e-7aaa-8bbb-0987654321ba"
)

// comparing is what the commands about comparisons of runs have in common.
type comparing struct {
	baseline, aggregate string
	filters             []string
}

func (c *comparing) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.baseline, "baseline", "", "the run that the others are compared with, by its `ID`; the last one if left out")
	filterFlag(cmd, &c.filters)
}

// request returns what the API is asked, without what chooses rows.
func (c *comparing) request(runs []string) (json.RawMessage, error) {
	if len(runs) > mostCompared {
		return nil, usage("%d runs are too many: at most %d are compared", len(runs), mostCompared)
	}
	var b rawjson.Builder
	b.Raw("run_ids", rawjson.AppendStrings(nil, runs))
	baseline := c.baseline
	if baseline == "" {
		baseline = runs[len(runs)-1]
	}
	b.String("baseline", baseline)
	if c.aggregate != "" {
		b.String("aggregate_function", c.aggregate)
	}
	list, err := parseFilters(c.filters)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		b.Raw("filters", array(list))
	}
	return b.Bytes(), nil
}

// comparison asks for a page of a comparison. It returns the API's answer as it is, and read.
func (a *app) comparison(ctx context.Context, body json.RawMessage) (json.RawMessage, *client.RunsCompared, error) {
	r := post("/v1/runs/compare", body)
	r.Repeatable = true
	answer, err := a.call(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	var c client.RunsCompared
	if err := json.Unmarshal(answer, &c); err != nil {
		return nil, nil, fmt.Errorf("the answer of %s is not a comparison: %w", a.api.Server(), err)
	}
	return answer, &c, nil
}

func (a *app) runCompare() *cobra.Command {
	var c comparing
	var fail string
	cmd := command("compare RUN...", "Compare runs with an earlier one, metric by metric", `
		spangrove runs compare `+exampleEvent+` `+olderRun+`
		spangrove runs compare `+exampleEvent+` `+olderRun+` --fail-if-degraded
		spangrove runs compare $A $B $C --baseline $A
		spangrove runs compare `+exampleEvent+` `+olderRun+` --aggregate p95 --output json`,
		func(ctx context.Context, args []string) error {
			if fail != "" && fail != degradedSurely && fail != degradedAtAll {
				return usage("--fail-if-degraded: %q is neither %s nor %s", fail, degradedSurely, degradedAtAll)
			}
			if len(args) < 2 {
				return usage("BASELINE is missing: name the run to compare with last")
			}
			body, err := c.request(args)
			if err != nil {
				return err
			}
			answer, x, err := a.comparison(ctx, rawjson.Concat(body, json.RawMessage(`{"limit":1}`)))
			if err != nil {
				return err
			}
			if a.format != formatTable {
				err = a.one(withoutRows(answer))
			} else {
				err = a.showCompared(x)
			}
			if err != nil {
				return err
			}
			if bad := degraded(x, fail); len(bad) > 0 {
				return &Failure{"degraded: " + strings.Join(bad, ", "), ExitFailed}
			}
			return nil
		})
	cmd.Long = `Up to ` + strconv.Itoa(mostCompared) + ` runs, of which the last is the baseline unless --baseline names another. The aggregates are over all values of a run; improved, degraded and same
count the datapoints that have a value in both, and the difference is the mean of the run less the baseline over these pairs, with its 95 % interval. A
metric is worse or better if the interval does not hold 0 and at least ` + strconv.Itoa(fewestDiffering) + ` pairs differ: fewer cannot show it. Duration, cost and tokens are those of
the sessions, and no reason for --fail-if-degraded.`
	aggregateFlag(cmd, &c.aggregate)
	c.flags(cmd)
	cmd.Flags().StringVar(&fail, "fail-if-degraded", "",
		"exit status 1 if a metric is worse; =any: if any datapoint is (`WHICH`: significant or any)")
	cmd.Flags().Lookup("fail-if-degraded").NoOptDefVal = degradedSurely
	return cmd
}

// withoutRows returns a comparison without its rows, which runs rows lists.
func withoutRows(answer json.RawMessage) json.RawMessage {
	var b rawjson.Builder
	for key, raw := range rawjson.Object(answer) {
		if key != "rows" && key != "next_cursor" && key != "total" {
			b.Raw(key, raw)
		}
	}
	return b.Bytes()
}

// sessionMetric is the type of duration, cost and tokens among metrics.
const sessionMetric = "SESSION"

// degraded names the metrics that are worse, or of which any datapoint is, with the run if there are several.
func degraded(x *client.RunsCompared, fail string) (bad []string) {
	names := runNames(x)
	for i := range x.Metrics {
		m := &x.Metrics[i]
		if m.MetricType == sessionMetric || fail == "" {
			continue
		}
		for j, r := range m.Runs {
			if r.RunID == x.Baseline || !(fail == degradedAtAll && r.Degraded > 0 || fail == degradedSurely && r.Verdict == surelyWorse) {
				continue
			}
			name := clean(m.Key)
			if len(m.Runs) > 2 {
				name += " in " + names[j]
			}
			bad = append(bad, name)
		}
	}
	return bad
}

// runNames returns the names of the runs, with their ids where two have the same.
func runNames(x *client.RunsCompared) []string {
	names := make([]string, len(x.Runs))
	for i, r := range x.Runs {
		names[i] = clean(r.Name)
		if names[i] == "" || slices.ContainsFunc(x.Runs, func(o client.ComparedRun) bool { return o.RunID != r.RunID && o.Name == r.Name }) {
			names[i] = strings.TrimSpace(names[i] + " " + r.RunID)
		}
	}
	return names
}

func (a *app) showCompared(x *client.RunsCompared) error {
	t := table{columns: []column{
		{title: "metric"}, {title: "run"}, {title: "verdict"}, {title: "baseline", right: true}, {title: "run", right: true},
		{title: "improved", right: true}, {title: "degraded", right: true}, {title: "same", right: true}, {title: "pairs", right: true},
		{title: "difference", right: true}, {title: "95 % interval", right: true},
	}}
	names := runNames(x)
	base := slices.IndexFunc(x.Runs, func(r client.ComparedRun) bool { return r.RunID == x.Baseline })
	for i := range x.Metrics {
		m := &x.Metrics[i]
		for j := range m.Runs {
			r := &m.Runs[j]
			if j == base || m.MetricType == sessionMetric && r.Pairs == 0 {
				continue
			}
			interval := "-"
			if r.Interval != nil {
				interval = signed(&r.Interval.Low) + " to " + signed(&r.Interval.High)
			}
			verdict := strings.ReplaceAll(r.Verdict, "_", " ")
			t.rows = append(t.rows, []string{
				clean(m.Key), names[j], verdict, decimal(m.Runs[base].Aggregate), decimal(r.Aggregate),
				strconv.Itoa(r.Improved), strconv.Itoa(r.Degraded), strconv.Itoa(r.Same), strconv.Itoa(r.Pairs), signed(r.Difference), interval,
			})
		}
	}
	if err := t.write(a.output); err != nil {
		return err
	}
	for i, r := range x.Runs {
		if i != base {
			a.remark("%s against %s: %d datapoints in both; %s", names[i], names[base], r.Paired, clean(r.Sentence))
		}
	}
	if x.MetricsOmitted > 0 {
		a.remark("%d more metrics are not compared", x.MetricsOmitted)
	}
	return nil
}

// runRows lists the datapoints of runs side by side.
func (a *app) runRows() *cobra.Command {
	var c comparing
	var metric, of, only, sort string
	var descending, asCSV bool
	limit := 50
	cmd := command("rows RUN...", "List what runs made of their datapoints, side by side", `
		spangrove runs rows `+exampleEvent+` `+olderRun+` --metric correctness --only degraded
		spangrove runs rows `+exampleEvent+` `+olderRun+` --metric correctness --sort delta --limit 20
		spangrove runs rows `+exampleEvent+` --limit 0 --output jsonl
		spangrove runs rows `+exampleEvent+` `+olderRun+` --limit 0 --csv > rows.csv`,
		func(ctx context.Context, args []string) error {
			if limit < 0 {
				return usage("--limit must not be negative")
			}
			body, err := c.request(args)
			if err != nil {
				return err
			}
			var rows rawjson.Builder
			for name, text := range map[string]string{"metric": metric, "run_id": of, "only": only, "sort": sort} {
				if text != "" {
					rows.String(name, text)
				}
			}
			if descending {
				rows.String("order", "desc")
			}
			if asCSV {
				return a.rowsAsCSV(ctx, rawjson.Concat(body, rows.Bytes()), limit)
			}
			return a.listRows(ctx, rawjson.Concat(body, rows.Bytes()), metric, limit)
		})
	cmd.Long = `The runs are compared with the last of them, or with that of --baseline. Texts are lines of at most 400 characters; spangrove events get and
spangrove datapoints get have the whole.`
	c.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&metric, "metric", "", "the metric that --only and --sort are about, by its `NAME`, also duration, cost or tokens")
	flags.StringVar(&of, "run", "", "the run that they are about, by its `ID`; any if left out")
	flags.StringVar(&only, "only", "", "only rows that are `WHICH`: improved, degraded, same, failed, errors or differing")
	completes(cmd, "only", []string{"improved", "degraded", "same", "failed", "errors", "differing"})
	flags.StringVar(&sort, "sort", "", "by `WHAT`: order, that of the baseline, delta or value")
	completes(cmd, "sort", []string{"order", "delta", "value"})
	flags.BoolVar(&descending, "descending", false, "the highest first")
	flags.IntVar(&limit, "limit", limit, "show at most this `NUMBER`; 0 is all")
	flags.BoolVar(&asCSV, "csv", false, "write CSV, a line a datapoint, with each metric of each run in a column")
	return cmd
}

// eachRowPage calls f with the pages of a comparison, the first of which has the runs and the metrics, and the rows of each, until there are limit rows; 0: all.
func (a *app) eachRowPage(ctx context.Context, body json.RawMessage, limit int, f func(x *client.RunsCompared, rows []json.RawMessage) error) error {
	n := 0
	for cursor := json.RawMessage(nil); ; {
		size := mostRows
		if limit > 0 {
			size = min(size, limit-n)
		}
		var page rawjson.Builder
		page.Int("limit", int64(size))
		if cursor != nil {
			page.Raw("cursor", cursor)
		}
		answer, x, err := a.comparison(ctx, rawjson.Concat(body, page.Bytes()))
		if err != nil {
			return err
		}
		var rows []json.RawMessage
		for _, row := range rawjson.Array(rawjson.Get(answer, "rows")) {
			rows = append(rows, row)
		}
		if err := f(x, rows); err != nil {
			return err
		}
		n += len(rows)
		cursor = rawjson.Get(answer, "next_cursor")
		if rawjson.Null(cursor) || limit > 0 && n >= limit {
			return nil
		}
	}
}

// listRows shows rows as they come. A table has the outputs of the runs, or their values of the metric.
func (a *app) listRows(ctx context.Context, body json.RawMessage, metric string, limit int) error {
	var out *listOutput
	total := 0
	err := a.eachRowPage(ctx, body, limit, func(x *client.RunsCompared, rows []json.RawMessage) error {
		if out == nil {
			columns := []column{{title: "datapoint", path: "id"}, {title: "input", path: "input"}}
			for i, name := range runNames(x) {
				columns = append(columns, column{title: name, path: "cells", show: func(cells json.RawMessage) string { return cellOf(cells, i, metric) }})
			}
			out, total = a.items(columns), x.Total
		}
		for _, row := range rows {
			if err := out.add(row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := out.end(); err != nil {
		return err
	}
	if a.format == formatTable && out.n < total {
		a.remark("%d of %d rows; --limit 0 shows all", out.n, total)
	} else if a.format == formatTable && total == 0 {
		a.remark("no rows")
	}
	return nil
}

// cellOf returns what a table shows of a run: its value of the metric with the difference, or its output, or its error.
func cellOf(cells json.RawMessage, run int, metric string) string {
	var list []*client.ComparedCell
	if json.Unmarshal(cells, &list) != nil || run >= len(list) || list[run] == nil {
		return "-"
	}
	cell := list[run]
	switch score, ok := cell.Scores[metric]; {
	case metric == "" && cell.Error != "":
		return clean(cell.Error)
	case metric == "":
		return cellText(cell.Output)
	case !ok:
		return "-"
	case score.Delta != nil && *score.Delta != 0:
		return valueText(score.Value) + " (" + signed(score.Delta) + ")"
	default:
		return valueText(score.Value)
	}
}

func valueText(v any) string {
	if f, ok := client.Float(v); ok {
		return decimal(&f)
	}
	return cellText(fmt.Sprint(v))
}

// rowsAsCSV writes rows with each metric of each run in a column.
func (a *app) rowsAsCSV(ctx context.Context, body json.RawMessage, limit int) error {
	w := csv.NewWriter(a.results)
	var keys []string
	err := a.eachRowPage(ctx, body, limit, func(x *client.RunsCompared, _ []json.RawMessage) error {
		if x.Runs != nil {
			header := []string{"datapoint", "input", "expected"}
			for i := range x.Metrics {
				keys = append(keys, x.Metrics[i].Key)
			}
			for _, name := range runNames(x) {
				header = append(header, name+" session", name+" output", name+" error")
				for _, key := range keys {
					header = append(header, name+" "+key)
				}
			}
			for i := range header {
				header[i] = rawjson.CSVText(header[i])
			}
			if err := w.Write(header); err != nil {
				return err
			}
		}
		for i := range x.Rows {
			if err := w.Write(csvRow(&x.Rows[i], keys)); err != nil {
				return err
			}
		}
		w.Flush()
		return w.Error()
	})
	return err
}

func csvRow(row *client.ComparedRow, keys []string) []string {
	out := []string{rawjson.CSVText(row.ID), rawjson.CSVText(row.Input), rawjson.CSVText(row.Expected)}
	for _, cell := range row.Cells {
		if cell == nil {
			cell = &client.ComparedCell{}
		}
		out = append(out, cell.SessionID, rawjson.CSVText(cell.Output), rawjson.CSVText(cell.Error))
		for _, key := range keys {
			text := ""
			if score, ok := cell.Scores[key]; ok {
				text = rawjson.CSVText(fmt.Sprint(score.Value))
				if f, isNumber := score.Value.(float64); isNumber {
					text = strconv.FormatFloat(f, 'f', -1, 64)
				}
			}
			out = append(out, text)
		}
	}
	return out
}
