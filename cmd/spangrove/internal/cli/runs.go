package cli

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// mostRuns is how many runs, and how many events of one, the API lists at once.
const mostRuns = 100

func (a *app) runs() *cobra.Command {
	fields := []bodyField{
		text("name", "name", "name of the run"),
		text("description", "description", "what it tries"),
		text("status", "status", "pending, running, completed, failed or cancelled"),
		text("dataset", "dataset_id", "id of its dataset"),
		texts("sessions", "event_ids", "ids of its sessions, with commas"),
		value("metadata", "metadata", "JSON object, or @FILE"),
		value("results", "results", "JSON object, or @FILE"),
		value("configuration", "configuration", "JSON object, or @FILE"),
		value("passing-ranges", "passing_ranges", `which scores pass, such as {"accuracy": {"min": 0.8}}`),
	}
	id := exampleEvent
	return noun("runs", "Runs: experiments, their scores and what passed",
		a.runList(),
		a.runCreate(fields),
		a.getter("a run", `spangrove runs get `+id, func(id string) client.Request { return get(path("runs", id)) }, "evaluation"),
		a.updater("a run", `
			spangrove runs update `+id+` --status completed
			spangrove runs update `+id+` --metadata '{"commit": "4a5b6c7"}'`,
			func(id string, body json.RawMessage) client.Request { return put(path("runs", id), body) }, fields),
		a.deleter("delete ID...", "runs; their sessions stay", `spangrove runs delete `+id+` --yes`,
			func(id string) client.Request { return del(path("runs", id)) }),
		a.runResult(),
		a.runCompare(),
		a.runRows(),
		a.runPairs(),
		a.schema("schema [ID]", "List the fields that the events of all runs have, or those of one run", `
			spangrove runs schema
			spangrove runs schema `+id+` --by-name`,
			func(args []string) client.Request {
				if len(args) == 0 {
					return get("/v1/runs/schema")
				}
				return get(path("runs", args[0], "schema"))
			}),
		a.idLister("metrics ID", "List the scores of the events of a run", listing{
			plural: "events", at: "events", total: "totalEvents", limit: 100, most: mostRuns,
			example: `
				spangrove runs metrics ` + id + `
				spangrove runs metrics ` + id + ` --limit 0 --output jsonl`,
			columns: []column{
				{title: "session", path: "session_id", whole: true},
				{title: "type", path: "event_type"},
				{title: "name", path: "event_name"},
				{title: "metrics", path: "metrics"},
			},
		}, func(id string) client.Request { return get(path("runs", id, "metrics")) }),
	)
}

// runPairs lists what two runs made of the same datapoints.
func (a *app) runPairs() *cobra.Command {
	var choice eventChoice
	var p paging
	l := listing{
		plural: "pairs", at: "events", total: "totalEvents", limit: 100,
		example: `
			spangrove runs pairs ` + exampleEvent + ` ` + olderRun + `
			spangrove runs pairs ` + exampleEvent + ` ` + olderRun + ` --name answer --type chain --output jsonl`,
		columns: []column{
			{title: "datapoint", path: "datapoint_id"},
			{title: "old", path: "event_2.outputs"},
			{title: "new", path: "event_1.outputs"},
			{title: "old metrics", path: "event_2.metrics"},
			{title: "new metrics", path: "event_1.metrics"},
		},
	}
	cmd := command(
		"pairs NEW OLD",
		"List what two runs made of the same datapoints",
		l.example,
		func(ctx context.Context, args []string) error {
			list, err := parseFilters(choice.filters)
			if err != nil {
				return err
			}
			l.request = get("/v1/runs/compare/events")
			l.request.Query = url.Values{"run_id_1": {args[0]}, "run_id_2": {args[1]}}
			for name, text := range map[string]string{"event_name": choice.name, "event_type": choice.kind} {
				if text != "" {
					l.request.Query.Set(name, text)
				}
			}
			if len(list) > 0 {
				l.request.Query.Set("filter", string(array(list)))
			}
			return a.list(ctx, l, p)
		},
	)
	cmd.Long = "Each pair is the sessions of a datapoint, or with --name and --type its events of these."
	cmd.Flags().StringVar(&choice.name, "name", "", "the events of this `NAME`")
	cmd.Flags().StringVar(&choice.kind, "type", "", "the events of this `TYPE`")
	filterFlag(cmd, &choice.filters)
	p.flags(cmd, l)
	return cmd
}

func (a *app) runList() *cobra.Command {
	var aggregates bool
	l := listing{
		plural: "runs", at: "evaluations", total: "pagination.total", id: "run_id", limit: 100, most: mostRuns,
		example: `
			spangrove runs list
			spangrove runs list --status completed --since 7d
			spangrove runs list --aggregates
			spangrove runs list --dataset 65a1b2c3d4e5f60718293a4b --output json`,
		request: get("/v1/runs"),
		filters: []queryFlag{
			{"name", "name", "only those of this name"},
			{"status", "status", "only those that are pending, running, completed, failed or cancelled"},
			{"dataset", "dataset_id", "only those over the dataset of this id"},
			{"since", "dateRange", "only those made in this time up to now, such as 7d"},
		},
		columns: []column{
			{title: "run", path: "run_id", whole: true},
			{title: "name", path: "name"},
			{title: "status", path: "status"},
			{title: "sessions", show: sessionsOf, right: true},
			{title: "created", path: "created_at", show: date, whole: true},
		},
	}
	plain, cmd := l.columns, a.lister(&l)
	list := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		l.columns, l.fixed = plain, nil
		if aggregates {
			l.columns, l.fixed = slices.Concat(plain, aggregateColumns), url.Values{"aggregates": {"true"}}
		}
		return list(cmd, args)
	}
	cmd.Long = "SESSIONS is - of a run that lists no sessions: those that name the run by themselves (metadata.run_id) are counted with --aggregates."
	cmd.Flags().BoolVar(&aggregates, "aggregates", false, "sum up what each run came to: sessions, errors, duration in ms, cost, tokens and scores")
	return cmd
}

// aggregateColumns show what runs came to.
var aggregateColumns = []column{
	{title: "datapoints", path: "aggregates.datapoints", right: true},
	{title: "errors", path: "aggregates.errors", right: true},
	{title: "duration", path: "aggregates.duration", show: rounded, right: true},
	{title: "cost", path: "aggregates.cost", show: rounded, right: true},
	{title: "tokens", path: "aggregates.tokens", right: true},
	{title: "scores", path: "aggregates.metrics", show: scoresOf},
}

// sessionsOf returns how many sessions a run has: what its aggregates say, else how many it lists, of none "-".
func sessionsOf(run json.RawMessage) string {
	if n := rawjson.Path(run, "aggregates", "sessions"); n != nil {
		return cell(n)
	}
	if n := count(rawjson.Get(run, "event_ids")); n != "0" {
		return n
	}
	return "-"
}

// scoresOf shows the scores among the metrics of a run's aggregates: "accuracy 0.5, polite 1".
func scoresOf(metrics json.RawMessage) string {
	var list []string
	for _, m := range rawjson.Array(metrics) {
		if textOf(m, "metric_type") != "SESSION" && !rawjson.Null(rawjson.Get(m, "aggregate")) {
			list = append(list, textOf(m, "key")+" "+rounded(rawjson.Get(m, "aggregate")))
		}
	}
	if list == nil {
		return "-"
	}
	return strings.Join(list, ", ")
}

// count returns how many elements an array has.
func count(list json.RawMessage) string {
	n := 0
	for range rawjson.Array(list) {
		n++
	}
	return strconv.Itoa(n)
}

func (a *app) runCreate(fields []bodyField) *cobra.Command {
	var b *requestBody
	cmd := command("create", "Create a run", `
		RUN=$(spangrove runs create --name 'new prompt' --dataset 65a1b2c3d4e5f60718293a4b)
		spangrove runs create --file run.yaml`,
		func(ctx context.Context, _ []string) error {
			run, err := b.build()
			if err != nil {
				return err
			}
			if rawjson.Get(run, "run_id") == nil {
				run = with(run, "run_id", newID())
			}
			r := post("/v1/runs", run)
			r.Repeatable = true // the server knows the run again
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			return a.made(rawjson.Get(answer, "evaluation"), textOf(answer, "run_id"))
		})
	b = bodyOf(cmd, append([]bodyField{text("id", "run_id", "a UUID; made if left out")}, fields...)...)
	return cmd
}

func (a *app) runResult() *cobra.Command {
	var aggregate string
	cmd := command("result ID", "Show what the scores of a run come to, and what passed", `
		spangrove runs result `+exampleEvent+`
		spangrove runs result `+exampleEvent+` --aggregate p95 --output json`,
		func(ctx context.Context, args []string) error {
			r := get(path("runs", args[0], "result"))
			r.Query = url.Values{}
			if aggregate != "" {
				r.Query.Set("aggregate_function", aggregate)
			}
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			if a.format != formatTable {
				return a.one(answer)
			}
			out := a.items([]column{
				{title: "metric", path: "metric_name"},
				{title: "event", path: "event_name"},
				{title: "type", path: "event_type"},
				{title: textOf(rawjson.Get(answer, "metrics"), "aggregation_function"), path: "aggregate", right: true},
				{title: "values", path: "values", show: count, right: true},
				{title: "passed", path: "datapoints.passed", show: count, right: true},
				{title: "failed", path: "datapoints.failed", show: count, right: true},
			})
			for _, metric := range rawjson.Array(rawjson.Path(answer, "metrics", "details")) {
				if err := out.add(metric); err != nil {
					return err
				}
			}
			if err := out.end(); err != nil {
				return err
			}
			a.remark(
				"%s: %s datapoints passed, %s failed",
				textOf(answer, "status"),
				count(rawjson.Get(answer, "passed")),
				count(rawjson.Get(answer, "failed")),
			)
			return nil
		})
	aggregateFlag(cmd, &aggregate)
	return cmd
}
