package cli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

const exampleAlert = "65a1b2c3d4e5f60718293a4b"

// noticeColumns are those of the notices of an alert.
var noticeColumns = []column{
	{title: "created", path: "created_at", show: date, whole: true},
	{title: "kind", path: "kind"},
	{title: "state", path: "state"},
	{title: "type", path: "type"},
	{title: "to", path: "where"},
	{title: "attempts", path: "attempts", right: true},
	{title: "error", path: "error"},
}

func (a *app) alerts() *cobra.Command {
	fields := []bodyField{
		text("name", "name", "name of the alert"),
		text("description", "description", "part of its notices"),
		text("chart", "chart_id", "ID of the saved chart that is measured"),
		text("metric", "metric", "what is measured, if not a chart: a field such as duration, or the name of a metric"),
		text("func", "func", "how it is summed up: average, sum, count, min, max, median, p75 … p99"),
		value("query", "query", "array of filters of the events that are measured"),
		text("compare", "compare", "value: with the threshold; week_before: with the same window a week before"),
		text("op", "op", "above or below"),
		number("threshold", "threshold", "the bound; of week_before a change in percent"),
		number("window", "window_minutes", "minutes that are measured"),
		number("every", "every_minutes", "minutes between two evaluations; 0: as the window needs"),
		number("for", "for_minutes", "minutes for which it must be out of bounds"),
		number("min-events", "min_events", "with fewer events there is no data"),
		text("timezone", "timezone", "whose clocks say what a week before is, such as Europe/Berlin"),
		yesNo("notify-no-data", "notify_no_data", "send a notice when there is no data"),
		yesNo("enabled", "enabled", "whether it is evaluated"),
		value("channels", "channels", `where notices go, such as [{"type": "email", "to": ["ann@example.com"]}]`),
	}
	one := func(id string) string { return path("alerts", id) }
	return noun("alerts", "Alerts: notices when a figure of the events is out of bounds",
		a.lister(&listing{
			plural:  "alerts",
			example: `spangrove alerts list`,
			request: get("/v1/alerts"), at: "data", limit: 100,
			columns: []column{
				{title: "id", path: "id", whole: true},
				{title: "name", path: "name"},
				{title: "state", path: "status.state"},
				{title: "value", path: "status.value", right: true},
				{title: "since", path: "status.since", show: date, whole: true},
				{title: "fires when", path: "condition"},
			},
		}),
		a.creator("an alert", `
			spangrove alerts create --name 'slow answers' --metric duration --func p95 --op above --threshold 5000 --for 10 \
			  --channels '[{"type": "email", "to": ["ann@example.com"]}]'
			spangrove alerts create --file alert.yaml`,
			"/v1/alerts", fields, "data", "id"),
		a.getter("an alert with its state", `spangrove alerts get `+exampleAlert, func(id string) client.Request { return get(one(id)) }, "data"),
		a.updater("an alert", `spangrove alerts update `+exampleAlert+` --threshold 4000`,
			func(id string, body json.RawMessage) client.Request { return put(one(id), body) }, fields),
		a.deleter("delete ID...", "alerts with their history", `spangrove alerts delete `+exampleAlert+` --yes`,
			func(id string) client.Request { return del(one(id)) }),
		a.alertTest(),
		a.alertSilence(),
		a.idLister("history ID", "List how the state of an alert has changed, newest first", listing{
			plural: "changes", at: "data", limit: 100, example: `spangrove alerts history ` + exampleAlert,
			columns: []column{
				{title: "at", path: "at", show: date, whole: true},
				{title: "from", path: "from"},
				{title: "to", path: "to"},
				{title: "value", path: "value", right: true},
				{title: "week before", path: "before", right: true},
				{title: "events", path: "events", right: true},
				{title: "error", path: "error"},
			},
		}, func(id string) client.Request { return get(path("alerts", id, "history")) }),
		a.idLister("notices ID", "List the notices of an alert, newest first", listing{
			plural: "notices", at: "data", limit: 100, example: `spangrove alerts notices ` + exampleAlert, columns: noticeColumns,
		}, func(id string) client.Request { return get(path("alerts", id, "notices")) }),
	)
}

// alertTest measures and sends once, and fails if a receiver did not take it.
func (a *app) alertTest() *cobra.Command {
	cmd := command("test ID", "Measure now, and send a test to each channel", `spangrove alerts test `+exampleAlert,
		func(ctx context.Context, args []string) error {
			answer, err := a.call(ctx, post(path("alerts", args[0], "test"), json.RawMessage("{}")))
			if err != nil {
				return err
			}
			if a.format != formatTable {
				err = a.one(answer)
			} else {
				reading := rawjson.Get(answer, "reading")
				a.remark("by what it measures now it is %s: %s, of %s events", cell(rawjson.Get(reading, "state")), cell(rawjson.Get(reading, "value")),
					grouped(numberOf(reading, "events")))
				t := table{columns: noticeColumns[2:]}
				for _, n := range rawjson.Array(rawjson.Get(answer, "notices")) {
					t.add(n)
				}
				err = t.write(a.output)
			}
			if err == nil && string(rawjson.Get(answer, "success")) != "true" {
				return &Failure{Line: "not all receivers took the test", Exit: ExitFailed}
			}
			return err
		})
	cmd.Long = "The state of the alert does not change. The exit status is 1 if a receiver did not take the test."
	return cmd
}

func (a *app) alertSilence() *cobra.Command {
	var span time.Duration
	var off bool
	cmd := command("silence ID", "Send no notices of an alert for a while", `
		spangrove alerts silence `+exampleAlert+` --for 2h
		spangrove alerts silence `+exampleAlert+` --off`,
		func(ctx context.Context, args []string) error {
			if off == (span > 0) || span < 0 {
				return usage("one of --for and --off is needed")
			}
			var b rawjson.Builder
			done := "not silent any more: %s"
			if off {
				b.Int("silenced_until", 0)
			} else {
				until := time.Now().Add(span).UTC()
				b.String("silenced_until", until.Format(time.RFC3339))
				done = "silent until " + showTime(until) + ": %s"
			}
			answer, err := a.call(ctx, put(path("alerts", args[0]), b.Bytes()))
			if err != nil {
				return err
			}
			return a.changed(answer, done, clean(args[0]))
		})
	cmd.Long = "The alert is evaluated all the same. If it fires when the silence is over, its notice goes out then. " +
		"That a told incident is over is told also in silence."
	cmd.Flags().DurationVar(&span, "for", 0, "how long, such as 30m or 8h")
	cmd.Flags().BoolVar(&off, "off", false, "end the silence")
	return cmd
}
