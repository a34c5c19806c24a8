package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
)

func (a *app) charts() *cobra.Command {
	fields := []bodyField{
		text("name", "name", "name of the chart"),
		text("description", "description", "what it shows"),
		text("metric", "metric", "the field that is summed up, such as duration or metadata.cost"),
		text("aggregation", "func", "average, sum, count, min, max, median, p50, p75, p90, p95 or p99"),
		text("group-by", "groupBy", "a field, one line a value"),
		text("bucket", "bucketing", "auto, second, minute, hour, day, week or month, or a step such as 10m"),
		value("date-range", "dateRange", `which events, such as {"relative": "7d"}`),
		value("filters", "query", "filters as JSON, or @FILE"),
		text("display", "display", "how it is drawn: lines, bars or number"),
		value("series", "series", `what is drawn beside it, such as [{"metric": "duration", "aggregation": "p95"}], or @FILE`),
	}
	const id = "65a1b2c3d4e5f60718293a4b"
	return noun("charts", "Charts: questions about events that are kept under a name",
		a.lister(&listing{
			plural:  "charts",
			example: `spangrove charts list`,
			request: get("/v1/charts"), at: "data", limit: 100,
			columns: []column{
				{title: "id", path: "id", whole: true},
				{title: "name", path: "name"},
				{title: "metric", path: "metric"},
				{title: "aggregation", path: "func"},
				{title: "group by", path: "groupBy"},
				{title: "bucket", path: "bucketing"},
				{title: "created", path: "created_at", show: date, whole: true},
			},
		}),
		a.creator("a chart", `
			spangrove charts create --name 'cost a day' --metric metadata.cost --aggregation sum --bucket day --group-by config.model
			spangrove charts create --file chart.yaml`,
			"/v1/charts", fields, "data", "id"),
		a.getter("a chart", `spangrove charts get `+id, func(id string) client.Request { return get(path("charts", id)) }, "data"),
		a.updater("a chart", `spangrove charts update `+id+` --bucket week`,
			func(id string, body json.RawMessage) client.Request { return put(path("charts", id), body) }, fields),
		a.deleter("delete ID...", "charts", `spangrove charts delete `+id+` --yes`,
			func(id string) client.Request { return del(path("charts", id)) }),
	)
}
