package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
)

// What --fail-if-degraded takes.
const (
	degradedSurely = "significant"
	degradedAtAll  = "any"
)

func aggregateFlag(cmd *cobra.Command, aggregate *string) {
	cmd.Flags().StringVar(aggregate, "aggregate", "",
		"how the values of a metric are put together: average, sum, min, max, median, p90, p95, p99")
	completes(cmd, "aggregate", []string{"average", "sum", "min", "max", "median", "p90", "p95", "p99"})
}

// compare returns the API's answer as it is, and read.
func (a *app) compare(ctx context.Context, newRun, oldRun, aggregate string) (json.RawMessage, *client.RunComparison, error) {
	r := get(path("runs", newRun, "compare-with", oldRun))
	r.Query = url.Values{}
	if aggregate != "" {
		r.Query.Set("aggregate_function", aggregate)
	}
	answer, err := a.call(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	var c client.RunComparison
	if err := json.Unmarshal(answer, &c); err != nil {
		return nil, nil, fmt.Errorf("the answer of %s is not a comparison: %w", a.api.Server(), err)
	}
	return answer, &c, nil
}

// The ways in which a metric can differ.
const (
	surelyWorse  = "worse"
	surelyBetter = "better"
)

// fewestDiffering pairs that differ can show a difference with 95 % certainty: if nothing had changed, all of five would differ in the same direction in
// 6 % of cases. The server's verdicts go by the same number.
const fewestDiffering = 6

// significance returns whether a metric is worse or better beyond chance, empty if neither.
func significance(m *client.MetricComparison) string {
	if m.Interval == nil || m.ImprovedCount+m.DegradedCount < fewestDiffering || m.Interval.Low <= 0 && m.Interval.High >= 0 {
		return ""
	}
	if (m.Interval.High < 0) != m.LowerIsBetter {
		return surelyWorse
	}
	return surelyBetter
}

// comparisonColumns are the titles of comparisonRow.
var comparisonColumns = []column{
	{title: "metric"},
	{title: "event"},
	{title: "verdict"},
	{title: "old", right: true},
	{title: "new", right: true},
	{title: "delta", right: true},
	{title: "change", right: true},
	{title: "improved", right: true},
	{title: "degraded", right: true},
	{title: "same", right: true},
	{title: "pairs", right: true},
	{title: "difference", right: true},
	{title: "95 % interval", right: true},
}

func comparisonRow(m *client.MetricComparison) []string {
	change := "-"
	if m.PercentageChange != nil && (m.ChangeDefined == nil || *m.ChangeDefined) {
		change = signed(m.PercentageChange) + "%"
	}
	interval := "-"
	if m.Interval != nil {
		interval = signed(&m.Interval.Low) + " to " + signed(&m.Interval.High)
	}
	return []string{
		clean(m.MetricName), cellText(m.EventName), cellText(significance(m)),
		decimal(m.OldAggregate), decimal(m.NewAggregate), signed(m.Difference), change,
		strconv.Itoa(m.ImprovedCount), strconv.Itoa(m.DegradedCount), strconv.Itoa(m.SameCount),
		strconv.Itoa(m.PairCount), signed(m.MeanDifference), interval,
	}
}

func (a *app) showComparison(c *client.RunComparison) error {
	t := table{columns: comparisonColumns}
	for i := range c.Metrics {
		t.rows = append(t.rows, comparisonRow(&c.Metrics[i]))
	}
	if err := t.write(a.output); err != nil {
		return err
	}
	a.remark("%s against %s: %d datapoints in both", runName(&c.NewRun), runName(&c.OldRun), len(c.CommonDatapoints))
	return nil
}

func runName(r *client.Run) string { return clean(r.Name) + " (" + clean(r.RunID) + ")" }

// cellText returns a text as a table shows it.
func cellText(text string) string {
	if text = clean(text); text == "" {
		return "-"
	}
	return text
}

// decimal shows a number with four digits behind the point at most, or six in all if it is small.
func decimal(f *float64) string {
	switch {
	case f == nil:
		return "-"
	case *f != 0 && (math.Abs(*f) < 0.001 || math.Abs(*f) >= 1e15):
		return strconv.FormatFloat(*f, 'g', 4, 64)
	}
	rounded := math.Round(*f*1e4) / 1e4
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// signed returns decimal with a sign before what is not zero.
func signed(f *float64) string {
	if f == nil || !(*f > 0) {
		return decimal(f)
	}
	return "+" + decimal(f)
}
