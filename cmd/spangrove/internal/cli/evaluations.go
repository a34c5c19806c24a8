package cli

import (
	"context"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// evaluationChoice are the flags that choose evaluations, by the names that the API has for them.
type evaluationChoice struct{ flags map[string]*string }

func (c *evaluationChoice) add(cmd *cobra.Command) {
	c.flags = map[string]*string{}
	for _, f := range []queryFlag{
		{"event", "event_id", "only those of the event of this `ID`"},
		{"metric", "metric_id", "only those of the metric of this `ID`"},
		{"backfill", "backfill_id", "only those of the backfill of this `ID`"},
		{"state", "state", "only those in this `STATE`: waiting, paused, done, failed or dead"},
		{"failure", "failure", "only those with this sort of `FAILURE`, such as timeout or refused"},
	} {
		c.flags[f.param] = cmd.Flags().String(f.flag, "", f.usage)
	}
}

func (a *app) evaluations() *cobra.Command {
	return noun("evaluations", "Evaluations: what came of metrics over events", a.evaluationList(), a.evaluationRetry())
}

func (a *app) evaluationList() *cobra.Command {
	var choice evaluationChoice
	var limit int
	cmd := command("list", "List evaluations, newest first", `
		spangrove evaluations list --state dead
		spangrove evaluations list --metric `+exampleMetric+` --failure timeout --output jsonl`,
		func(ctx context.Context, _ []string) error {
			if limit < 0 {
				return usage("--limit must not be negative")
			}
			query := url.Values{}
			for name, value := range choice.flags {
				if *value != "" {
					query.Set(name, *value)
				}
			}
			out := a.items([]column{
				{title: "event", path: "event_id", whole: true},
				{title: "metric", path: "metric_id", whole: true},
				{title: "version", path: "metric_version"},
				{title: "state", path: "state"},
				{title: "score", path: "score", right: true},
				{title: "failure", path: "failure"},
				{title: "cost", path: "cost", right: true},
				{title: "explanation", path: "explanation"},
			})
			for {
				size := most
				if limit > 0 {
					size = min(size, limit-out.n)
				}
				query.Set("limit", strconv.Itoa(size))
				r := get("/v1/evaluations")
				r.Query = query
				answer, err := a.call(ctx, r)
				if err != nil {
					return err
				}
				for _, item := range rawjson.Array(rawjson.Get(answer, "evaluations")) {
					if err := out.add(item); err != nil {
						return err
					}
				}
				next := textOf(answer, "next")
				if next == "" || limit > 0 && out.n >= limit {
					break
				}
				query.Set("before", next)
			}
			if out.n == 0 && a.format == formatTable {
				a.remark("no evaluations")
			}
			return out.end()
		})
	choice.add(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "how many to show; 0: all")
	return cmd
}

func (a *app) evaluationRetry() *cobra.Command {
	var choice evaluationChoice
	cmd := command("retry", "Let evaluations without a score be tried again", `
		spangrove evaluations retry --state dead
		spangrove evaluations retry --metric `+exampleMetric+` --state failed --failure timeout`,
		func(ctx context.Context, _ []string) error {
			var b rawjson.Builder
			for _, name := range []string{"event_id", "metric_id", "backfill_id", "state", "failure"} {
				if value := *choice.flags[name]; value != "" {
					b.String(name, value)
				}
			}
			if b.Len() == 0 {
				return usage("nothing says which: give --state dead, or --event, --metric, --backfill or --failure")
			}
			answer, err := a.call(ctx, post("/v1/evaluations/retry", b.Bytes()))
			if err != nil {
				return err
			}
			return a.changed(answer, "%s evaluations wait again", cell(rawjson.Get(answer, "retried")))
		})
	choice.add(cmd)
	return cmd
}
