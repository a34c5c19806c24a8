package cli

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) metrics() *cobra.Command {
	fields := []bodyField{
		text("name", "name", "under which events have its scores"),
		text("type", "type", "EXPRESSION, PYTHON, LLM, HUMAN or COMPOSITE"),
		longText("criteria", "criteria", "expression, code, prompt, text for people, or how scores are combined; or @FILE"),
		text("description", "description", "what it measures"),
		text("return-type", "return_type", "float, boolean, string or categorical"),
		value("threshold", "threshold", `which scores pass, such as {"min": 0.8}`),
		yesNo("enabled", "enabled_in_prod", "true: runs over events as they come"),
		number("sampling", "sampling_percentage", "over so many percent of them"),
		text("model-provider", "model_provider", "of LLM: whose model"),
		text("model-name", "model_name", "of LLM: which model"),
		text("event-type", "event_type", "only events of this type"),
		text("event-name", "event_name", "only events of this name"),
	}
	const id = "65a1b2c3d4e5f60718293a4b"
	versionColumns := []column{
		{title: "version", path: "name"},
		{title: "deployed", path: "deployed"},
		{title: "created", path: "date", show: date, whole: true},
		{title: "message", path: "message"},
	}
	return noun(
		"metrics",
		"Metrics: what gives events scores, and which scores pass",
		a.lister(&listing{
			plural: "metrics",
			example: `
				spangrove metrics list
				spangrove metrics list --type LLM --output json`,
			request: get("/v1/metrics"), at: "metrics", limit: 100,
			filters: []queryFlag{{"type", "type", "only those of this type: EXPRESSION, PYTHON, LLM, HUMAN or COMPOSITE"}},
			columns: []column{
				{title: "id", path: "id", whole: true},
				{title: "name", path: "name"},
				{title: "type", path: "type"},
				{title: "returns", path: "return_type"},
				{title: "enabled", path: "enabled_in_prod"},
				{title: "version", path: "version"},
				{title: "description", path: "description"},
			},
		}),
		a.creator("a metric", `
			spangrove metrics create --name helpful --type HUMAN --return-type boolean --criteria 'Did it help?'
			spangrove metrics create --name polite --type LLM --criteria @prompt.txt --threshold '{"min": 0.8}'
			spangrove metrics create --file metric.yaml`,
			"/v1/metrics", fields, "metric_id"),
		command("get ID", "Show a metric", `spangrove metrics get `+id, func(ctx context.Context, args []string) error {
			metric, err := a.metric(ctx, args[0])
			if err != nil {
				return err
			}
			return a.one(metric)
		}),
		a.updater("a metric; this makes a new version, which is deployed at once", `spangrove metrics update `+id+` --threshold '{"min": 0.9}'`,
			func(id string, body json.RawMessage) client.Request { return put(path("metrics", id), body) }, fields),
		a.deleter("delete ID...", "metrics with their versions", `spangrove metrics delete `+id+` --yes`,
			func(id string) client.Request { return del(path("metrics", id)) }),
		a.metricRun(id),
		a.metricLibrary(),
		a.metricEnable(),
		a.metricCheck(),
		a.idLister("versions ID", "List the versions of a metric, newest first", listing{
			plural: "versions", example: `spangrove metrics versions ` + id, at: "data", limit: 100, columns: versionColumns,
		}, func(id string) client.Request { return get(path("metrics", id, "versions")) }),
		a.metricDraft(id),
		a.metricAgreement(id),
		a.metricCoverage(id),
		command(
			"deploy ID VERSION",
			"Deploy a version of a metric",
			`spangrove metrics deploy `+id+` v1`,
			func(ctx context.Context, args []string) error {
				r := post(path("metrics", args[0], "versions", args[1], "deploy"), nil)
				r.Body, r.Repeatable = nil, true
				answer, err := a.call(ctx, r)
				if err != nil {
					return err
				}
				return a.changed(rawjson.Get(answer, "data"), "%s of %s is deployed", clean(args[1]), clean(args[0]))
			},
		),
	)
}

// metric reads a metric, which the API gives as a list of one.
func (a *app) metric(ctx context.Context, id string) (json.RawMessage, error) {
	r := get("/v1/metrics")
	r.Query = url.Values{"id": {id}}
	answer, err := a.call(ctx, r)
	if err != nil {
		return nil, err
	}
	metric := rawjson.Path(answer, "metrics", "0")
	if metric == nil {
		return nil, &Failure{"no metric has the id " + clean(id), exitNotFound}
	}
	return metric, nil
}

func (a *app) metricRun(exampleID string) *cobra.Command {
	var definition, eventID, eventFile string
	cmd := command("run", "Run a metric over an event, and store nothing", `
		spangrove metrics run --metric `+exampleID+` --event `+exampleEvent+`
		spangrove metrics run --file metric.yaml --event-file event.json`, nil)
	id := cmd.Flags().String("metric", "", "`ID` of a metric")
	flags := cmd.Flags()
	flags.StringVarP(&definition, "file", "f", "", "`FILE` with a metric as JSON or YAML, instead of --metric")
	flags.StringVar(&eventID, "event", "", "`ID` of an event")
	flags.StringVar(&eventFile, "event-file", "", "`FILE` with an event as JSON or YAML, instead of --event")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if (*id == "") == (definition == "") {
			return usage("give the metric either by --metric or by --file")
		}
		if (eventID == "") == (eventFile == "") {
			return usage("give the event either by --event or by --event-file")
		}
		ctx := cmd.Context()
		var metric, event json.RawMessage
		var err error
		if *id != "" {
			metric, err = a.metric(ctx, *id)
		} else {
			metric, err = readDocument(cmd, definition)
		}
		if err != nil {
			return err
		}
		if eventID != "" {
			event, err = a.call(ctx, get(path("events", eventID)))
			event = rawjson.Get(event, "event")
		} else {
			event, err = readDocument(cmd, eventFile)
		}
		if err != nil {
			return err
		}
		var b rawjson.Builder
		b.Raw("metric", metric)
		b.Raw("event", event)
		answer, err := a.call(ctx, post("/v1/metrics/run", b.Bytes()))
		if err != nil {
			return err
		}
		if err := a.one(answer); err != nil {
			return err
		}
		if string(rawjson.Get(answer, "success")) != "true" {
			return &Failure{"the metric gave no score: " + clean(textOf(answer, "explanation")), ExitFailed}
		}
		return nil
	}
	return cmd
}

// metricDraft makes a draft version.
func (a *app) metricDraft(exampleID string) *cobra.Command {
	var file, message string
	var deploy bool
	cmd := command("draft ID", "Create a draft version of a metric, which is not deployed", `
		spangrove metrics draft `+exampleID+` --file metric.yaml --message 'stricter'
		spangrove metrics draft `+exampleID+` --file metric.yaml --message 'stricter' --deploy`, nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if file == "" {
			return usage("--file is missing: the whole metric, - for standard input")
		}
		content, err := readDocument(cmd, file)
		if err != nil {
			return err
		}
		var b rawjson.Builder
		b.String("message", message)
		b.Raw("content", content)
		b.Bool("deploy_immediately", deploy)
		answer, err := a.call(cmd.Context(), post(path("metrics", args[0], "versions"), b.Bytes()))
		if err != nil {
			return err
		}
		data := rawjson.Get(answer, "data")
		return a.made(data, textOf(data, "name"))
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "`FILE` with the whole metric as JSON or YAML, - for standard input")
	cmd.Flags().StringVarP(&message, "message", "m", "", "what is new in it")
	cmd.Flags().BoolVar(&deploy, "deploy", false, "deploy it at once")
	return cmd
}
