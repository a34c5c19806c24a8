package cli

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// schema returns the verb that tells which fields events have. A use with an argument is about one thing.
func (a *app) schema(use, short, example string, request func(args []string) client.Request) *cobra.Command {
	var choice eventChoice
	var byName bool
	cmd := command(use, short, example, func(ctx context.Context, args []string) error {
		r := request(args)
		var err error
		if r.Query, err = choice.parameters(); err != nil {
			return err
		}
		answer, err := a.call(ctx, r)
		if err != nil {
			return err
		}
		if a.format != formatTable {
			return a.one(answer)
		}
		if !byName {
			return a.fields(rawjson.Get(answer, "fields"), titled("event_type", "name"))
		}
		t := table{columns: []column{{title: "event name"}, {title: "event type"}, {title: "name"}}}
		for name, list := range rawjson.Object(rawjson.Get(answer, "mappings")) {
			for _, f := range rawjson.Array(list) {
				t.rows = append(t.rows, []string{cellText(name), cell(rawjson.Get(f, "event_type")), cell(rawjson.Get(f, "field_name"))})
			}
		}
		return t.write(a.output)
	})
	timeFlags(cmd, &choice.since, &choice.until)
	cmd.Flags().BoolVar(&byName, "by-name", false, "in a table, the fields of each name of events")
	return cmd
}

// fields shows a list that came whole.
func (a *app) fields(list json.RawMessage, columns []column) error {
	out := a.items(columns)
	for _, item := range rawjson.Array(list) {
		if err := out.add(item); err != nil {
			return err
		}
	}
	return out.end()
}

// eventChart sums up a field of events.
func (a *app) eventChart() *cobra.Command {
	var choice eventChoice
	texts := map[string]*string{}
	var fill, experiments bool
	cmd := command("chart", "Sum up a field of events, a number for each span of time", `
		spangrove events chart --metric metadata.cost --aggregation sum --bucket day --group-by config.model --since 7d
		spangrove events chart --metric duration --aggregation p95 --type model --output jsonl
		spangrove events chart --aggregation count --filter 'error exists' --fill`,
		func(ctx context.Context, _ []string) error {
			q, err := choice.parameters()
			if err != nil {
				return err
			}
			for name, text := range texts {
				if *text != "" {
					q.Set(name, *text)
				}
			}
			for name, on := range map[string]bool{"fill": fill, "only_experiments": experiments} {
				if on {
					q.Set(name, "true")
				}
			}
			r := get("/v1/events/chart")
			r.Query = q
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			columns := []column{
				{title: "bucket", path: "bucket", whole: true},
				{title: "group", path: "group"},
				{title: "value", path: "value", show: rounded, right: true},
				{title: "events", path: "count", right: true},
			}
			if *texts["groupBy"] == "" {
				columns = slices.Delete(columns, 1, 2)
			}
			if err := a.fields(rawjson.Get(answer, "events"), columns); err != nil {
				return err
			}
			a.remark("%s events", cell(rawjson.Get(answer, "totalEvents")))
			return nil
		})
	for _, f := range []queryFlag{
		{"metric", "metric", "the `FIELD` that is summed up, or the name of a metric; duration if left out"},
		{"aggregation", "aggregation", "`HOW`: average, sum, count, min, max, median, p75, p90, p95 or p99; average if left out"},
		{"bucket", "bucket", "how long a `SPAN` of time is: auto, second, minute, hour, day, week or month, or a step such as 10m; hour if left out"},
		{"group-by", "groupBy", "a number for each value of this `FIELD`"},
		{"timezone", "timezone", "where days, weeks and months begin, such as Europe/Berlin; UTC if left out"},
	} {
		texts[f.param] = cmd.Flags().String(f.flag, "", f.usage)
	}
	completes(cmd, "bucket", []string{"minute", "hour", "day", "week", "month"})
	completes(cmd, "aggregation", []string{"average", "sum", "count", "min", "max", "median", "p75", "p90", "p95", "p99"})
	cmd.Flags().BoolVar(&fill, "fill", false, "also spans of time without events")
	cmd.Flags().BoolVar(&experiments, "experiments", false, "only events of experiment runs")
	choice.flags(cmd)
	return cmd
}

// eventCharts asks for several charts of one range, and shows a line for each value.
func (a *app) eventCharts() *cobra.Command {
	var b *requestBody
	cmd := command("charts", "Sum up several fields of events over one range of time", `
		spangrove events charts --series '[{"name": "cost", "metric": "cost", "aggregation": "sum", "groupBy": "config.model"}]' --date-range '"7d"' --previous true
		spangrove events charts --file charts.yaml --output jsonl`,
		func(ctx context.Context, _ []string) error {
			body, err := b.build()
			if err != nil {
				return err
			}
			r := post("/v1/events/chart", body)
			r.Repeatable = true
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			for _, s := range rawjson.Array(rawjson.Get(answer, "series")) {
				if text := rawjson.Get(s, "error"); text != nil {
					a.remark("series %s: %s", cell(rawjson.Get(s, "name")), cell(text))
				}
			}
			columns := []column{
				{title: "series", path: "series"},
				{title: "bucket", path: "bucket", whole: true},
				{title: "group", path: "group"},
				{title: "value", path: "value", show: rounded, right: true},
				{title: "events", path: "count", right: true},
			}
			if rawjson.Get(answer, "previous_buckets") != nil {
				columns = append(columns, column{title: "before", path: "previous", show: rounded, right: true})
			}
			return a.fields(chartLines(answer), columns)
		})
	b = bodyOf(cmd,
		value("series", "series", "1 to 50 charts, each with name, metric, aggregation, groupBy, groups and filters, or @FILE"),
		value("filters", "filters", "filters of all of them, or @FILE"),
		value("date-range", "dateRange", `which events, such as {"relative": "7d"} or "7d"`),
		text("bucket", "bucket", "auto, second, minute, hour, day, week or month, or a step such as 10m; auto if left out"),
		text("timezone", "timezone", "where days, weeks and months begin, such as Europe/Berlin; UTC if left out"),
		yesNo("previous", "previous", "also the period of the same length before"),
	)
	return cmd
}

// chartLines makes an object of each value of an answer.
func chartLines(answer json.RawMessage) json.RawMessage {
	buckets := slices.Collect(values(rawjson.Get(answer, "buckets")))
	var lines []json.RawMessage
	for i, s := range rawjson.Array(rawjson.Get(answer, "series")) {
		name := rawjson.Get(s, "name")
		if name == nil {
			name = rawjson.AppendString(nil, strconv.Itoa(i+1))
		}
		for _, row := range rawjson.Array(rawjson.Get(s, "rows")) {
			columns := map[string][]json.RawMessage{}
			for to, from := range map[string]string{"value": "values", "count": "counts", "previous": "previous"} {
				columns[to] = slices.Collect(values(rawjson.Get(row, from)))
			}
			for at, bucket := range buckets {
				var b rawjson.Builder
				b.Raw("series", name)
				b.Raw("bucket", bucket)
				if group := rawjson.Get(row, "group"); group != nil {
					b.Raw("group", group)
				}
				for _, to := range []string{"value", "count", "previous"} {
					if at < len(columns[to]) {
						b.Raw(to, columns[to][at])
					}
				}
				lines = append(lines, b.Bytes())
			}
		}
	}
	return array(lines)
}

// values walks over the elements of an array.
func values(list json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		for _, v := range rawjson.Array(list) {
			if !yield(v) {
				return
			}
		}
	}
}

// eventValues lists the values of a field of events.
func (a *app) eventValues() *cobra.Command {
	var choice eventChoice
	var prefix string
	var limit int
	cmd := command("values FIELD", "List the values that a field of events has, the most frequent first", `
		spangrove events values config.model
		spangrove events values metadata.tier --prefix go --type model --since 7d`,
		func(ctx context.Context, args []string) error {
			chosen, err := choice.query()
			if err != nil {
				return err
			}
			var b rawjson.Builder
			b.String("field", args[0])
			for name, value := range rawjson.Object(chosen) {
				b.Raw(name, value)
			}
			if prefix != "" {
				b.String("prefix", prefix)
			}
			if limit != 0 {
				b.Int("limit", int64(limit))
			}
			r := post("/v1/events/values", b.Bytes())
			r.Repeatable = true
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			if err := a.fields(rawjson.Get(answer, "values"), []column{{title: "value", path: "value", whole: true}, {title: "events", path: "count", right: true}}); err != nil {
				return err
			}
			of := "all that match"
			if string(rawjson.Get(answer, "complete")) != "true" {
				of = "the newest that match"
			}
			a.remark("looked at %s events, %s", cell(rawjson.Get(answer, "looked_at")), of)
			return nil
		})
	cmd.Flags().StringVar(&prefix, "prefix", "", "only those that begin with this `TEXT`, in any case")
	cmd.Flags().IntVar(&limit, "limit", 0, "how many at most, up to 100; 20 if left out")
	choice.flags(cmd)
	return cmd
}

// rounded returns a number as people read it.
func rounded(value json.RawMessage) string {
	f, ok := rawjson.Number(value)
	if !ok {
		return cell(value)
	}
	return decimal(&f)
}

// parameters returns the choice as a GET takes it.
func (c *eventChoice) parameters() (url.Values, error) {
	body, err := c.query()
	if err != nil {
		return nil, err
	}
	q := url.Values{}
	for name, value := range rawjson.Object(body) {
		text, ok := rawjson.Text(value)
		if !ok {
			text = string(value)
		}
		q.Set(name, text)
	}
	return q, nil
}
