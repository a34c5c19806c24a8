package cli

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// metricAgreement compares a metric's scores with people's labels.
func (a *app) metricAgreement(exampleID string) *cobra.Command {
	var with, version, since, until string
	var filters []string
	var limit, page int
	cmd := command("agreement ID", "Show how far a metric agrees with people's labels", `
		spangrove metrics agreement `+exampleID+` --with feedback.rating
		spangrove metrics agreement `+exampleID+` --with 'metrics.by people' --version v2 --since 30d`,
		func(ctx context.Context, args []string) error {
			if with == "" {
				return usage("--with is missing: the field of events that has the label, such as feedback.rating")
			}
			query := url.Values{"with": {with}, "limit": {strconv.Itoa(limit)}, "page": {strconv.Itoa(page)}}
			if version != "" {
				query.Set("version", version)
			}
			written, err := parseFilters(filters)
			if err != nil {
				return err
			}
			if len(written) > 0 {
				query.Set("filters", string(array(written)))
			}
			if err := setDateRange(query, since, until); err != nil {
				return err
			}
			r := get(path("metrics", args[0], "agreement"))
			r.Query = query
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			if a.format != formatTable {
				return a.one(answer)
			}
			return a.showAgreement(answer)
		})
	flags := cmd.Flags()
	flags.StringVar(&with, "with", "", "`FIELD` of events that has the label: feedback.<path>, or metrics.<name> of a HUMAN metric")
	flags.StringVar(&version, "version", "", "only scores of this `VERSION`, such as v2; otherwise the score that the event has now")
	flags.StringArrayVar(&filters, "filter", nil, "only events for which this `FILTER` holds, such as 'event_type is model'; any number of them")
	flags.StringVar(&since, "since", "", "only events from this `TIME` on, such as 7d or 2026-01-31")
	flags.StringVar(&until, "until", "", "only events up to this `TIME`")
	flags.IntVar(&limit, "limit", 50, "how many of the disagreements to show, at most 1000")
	flags.IntVar(&page, "page", 1, "which page of them")
	return cmd
}

// showAgreement prints figures on one table and the disagreements on the next.
func (a *app) showAgreement(answer json.RawMessage) error {
	classes, numbers := rawjson.Get(answer, "classes"), rawjson.Get(answer, "numbers")
	a.remark("%s of %s labelled events have a score, %s were compared", cell(rawjson.Get(answer, "scored")), cell(rawjson.Get(answer, "labelled")),
		cell(rawjson.Get(answer, "compared")))
	if string(rawjson.Get(answer, "complete")) == "false" {
		a.remark("only the newest events with a label were looked at")
	}
	if !rawjson.Null(classes) {
		a.remark("accuracy %s, kappa %s", cell(rawjson.Get(classes, "accuracy")), cell(rawjson.Get(classes, "kappa")))
		out := a.items([]column{
			{title: "value", path: "value"},
			{title: "people", path: "labelled", right: true},
			{title: "metric", path: "given", right: true},
			{title: "both", path: "both", right: true},
			{title: "precision", path: "precision", right: true},
			{title: "recall", path: "recall", right: true},
			{title: "f1", path: "f1", right: true},
		})
		if err := addAll(out, rawjson.Get(classes, "values")); err != nil {
			return err
		}
	}
	if !rawjson.Null(numbers) {
		a.remark("correlation %s, kappa %s, mean difference %s, absolute %s", cell(rawjson.Get(numbers, "correlation")), cell(rawjson.Get(numbers, "kappa")),
			cell(rawjson.Get(numbers, "mean_difference")), cell(rawjson.Get(numbers, "mean_absolute_difference")))
	}
	cases := rawjson.Get(answer, "cases")
	if rawjson.Empty(cases) {
		return nil
	}
	a.remark("%s disagree", cell(rawjson.Get(answer, "disagreements")))
	return addAll(a.items([]column{
		{title: "event", path: "event_id", whole: true},
		{title: "name", path: "event_name"},
		{title: "label", path: "label"},
		{title: "score", path: "score"},
		{title: "explanation", path: "explanation"},
	}), cases)
}

// metricCoverage shows what a metric has scored.
func (a *app) metricCoverage(exampleID string) *cobra.Command {
	var since, until string
	cmd := command("coverage ID", "Show what a metric has scored of the events that it is for, and what that cost", `
		spangrove metrics coverage `+exampleID+`
		spangrove metrics coverage `+exampleID+` --since 30d --output json`,
		func(ctx context.Context, args []string) error {
			query := url.Values{}
			if err := setDateRange(query, since, until); err != nil {
				return err
			}
			r := get(path("metrics", args[0], "coverage"))
			r.Query = query
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			return a.one(answer)
		})
	cmd.Flags().StringVar(&since, "since", "", "from this `TIME` on, such as 7d or 2026-01-31; 7d if no time is given")
	cmd.Flags().StringVar(&until, "until", "", "up to this `TIME`")
	return cmd
}

// setDateRange sets the parameter of the range of --since and --until.
func setDateRange(query url.Values, since, until string) error {
	between, err := dateRange(since, until)
	if err == nil && between != nil {
		query.Set("dateRange", string(between))
	}
	return err
}

// addAll puts a list out and ends it.
func addAll(out *listOutput, list json.RawMessage) error {
	for _, item := range rawjson.Array(list) {
		if err := out.add(item); err != nil {
			return err
		}
	}
	return out.end()
}
