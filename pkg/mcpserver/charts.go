package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/client"
)

type chartQuery struct {
	span
	Metric      string   `json:"metric,omitempty" jsonschema:"the number that is summed up: duration (ms), metadata.cost, metadata.total_tokens, metrics.NAME or any other field; duration if left out"`
	Aggregation string   `json:"aggregation,omitempty" jsonschema:"how the values of a bucket are summed up; count is of all events that match"`
	GroupBy     string   `json:"group_by,omitempty" jsonschema:"a row for each value of this field, such as event_name or config.model"`
	Groups      int      `json:"groups,omitempty" jsonschema:"how many groups, those with most events; the others are summed up as one"`
	Bucket      string   `json:"bucket,omitempty" jsonschema:"length of a bucket of time"`
	Type        string   `json:"type,omitempty" jsonschema:"only events of this type; totals of sessions, such as their cost, need session"`
	ErrorsOnly  bool     `json:"errors_only,omitempty" jsonschema:"only events with an error"`
	Filters     []filter `json:"filters,omitempty" jsonschema:"all must hold"`
	Cursor      string   `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
	size
}

// point is a number of a chart.
type point struct {
	Bucket string   `json:"bucket"`
	Group  *string  `json:"group,omitempty" jsonschema:"left out of events without the field, and of a chart without groups"`
	Other  bool     `json:"other,omitempty" jsonschema:"all groups that have no row of their own"`
	Value  *float64 `json:"value,omitempty"`
	Events int      `json:"events"`
}

type chart struct {
	Bucket string  `json:"bucket"`
	Total  int     `json:"total_events"`
	Points []point `json:"points"`
}

type valueQuery struct {
	span
	Field   string   `json:"field" jsonschema:"dotted path, such as config.model, event_name or metadata.customer"`
	Prefix  string   `json:"prefix,omitempty" jsonschema:"only values that begin with this, in any case"`
	Type    string   `json:"type,omitempty" jsonschema:"only events of this type"`
	Filters []filter `json:"filters,omitempty" jsonschema:"all must hold"`
	Limit   int      `json:"limit,omitempty" jsonschema:"how many values, the most frequent first"`
	size
}

type value struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

type values struct {
	Values   []value `json:"values"`
	LookedAt int     `json:"looked_at" jsonschema:"how many events were looked at"`
	Complete bool    `json:"complete" jsonschema:"these are all events that match"`
}

type fieldQuery struct {
	Type   string `json:"type,omitempty" jsonschema:"only fields of events of this type"`
	Text   string `json:"text,omitempty" jsonschema:"only fields whose path contains this"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
	size
}

type field struct {
	Name string `json:"field"`
	Type string `json:"event_type"`
}

type fields struct {
	Fields []field `json:"fields"`
	Total  int     `json:"total"`
}

func (t *tools) addCharts() {
	add(t, definition{
		name: "chart_events", title: "Chart of events",
		description: "Numbers over time, optionally by group: how many events, percentiles of their duration, sums of cost or tokens, averages of a metric. Use it to see when something became slow, costly or failing, and of which model or step.",
		schema: []property{
			oneOf("aggregation", "average", "count", "sum", "min", "max", "median", "p50", "p75", "p90", "p95", "p99"), anyOf("type", eventTypes...),
			oneOf("bucket", "day", "auto", "minute", "hour", "week", "month"), between("groups", 1, 50, 10),
		},
	}, chartEvents)
	add(t, definition{
		name: "field_values", title: "Values of a field",
		description: "The values that a field of events has, with how many events have each, the most frequent first. Use it before filtering by a field.",
		schema:      []property{between("limit", 1, 100, 20), anyOf("type", eventTypes...)},
	}, fieldValues)
	add(t, definition{
		name: "list_fields", title: "Fields of events",
		description: "The fields by which events can be filtered, charted and grouped, as dotted paths.",
		schema:      []property{anyOf("type", eventTypes...)},
	}, listFields)
}

func chartEvents(ctx context.Context, c *call, in chartQuery) (*answer[chart], error) {
	between, err := in.dateRange(time.Now())
	if err != nil {
		return nil, err
	}
	first, err := offset(in.Cursor)
	if err != nil {
		return nil, err
	}
	search := eventSearch{Filters: in.Filters, Type: in.Type, ErrorsOnly: in.ErrorsOnly}
	metric, how := orText(in.Metric, "duration"), orText(in.Aggregation, "average")
	got, err := c.Events.Charts(ctx, client.ChartSetQuery{
		Series:    []client.ChartSeries{{Metric: metric, Aggregation: how, GroupBy: in.GroupBy, Groups: or(in.Groups, 10)}},
		Filters:   search.query(),
		DateRange: between, Bucket: orText(in.Bucket, "day"),
	})
	if err != nil {
		return nil, err
	}
	if len(got.Series) == 0 {
		return nil, fmt.Errorf("the server answered without the chart")
	}
	series := got.Series[0]
	if series.Error != "" {
		return nil, fmt.Errorf("%s", line(series.Error, 500))
	}
	var points []point
	for i, b := range got.Buckets {
		for _, r := range series.Rows {
			if i < len(r.Counts) && r.Counts[i] > 0 {
				points = append(points, point{Bucket: day(b), Group: r.Group, Other: r.Other, Value: r.Values[i], Events: r.Counts[i]})
			}
		}
	}
	rest := points[min(first, len(points)):]
	list := fit(c, len(rest), 0, func(i, width int) item[point] { return pointItem(rest[i], in.GroupBy != "", width) })
	a := &answer[chart]{
		head: fmt.Sprintf("%s of %s over %s, by %s of UTC; buckets without events are left out.", how, line(metric, 100), count(series.Total, "event", "events"), line(got.Bucket, 20)),
		text: texts(list), data: chart{got.Bucket, series.Total, data(list)}, next: after(first, len(list), len(points)),
	}
	if len(points) == 0 {
		a.head = "No event matches, or none has a value. Widen since and until, or drop filters; list_fields tells which fields there are."
	}
	return a, nil
}

func pointItem(p point, grouped bool, width int) item[point] {
	text := p.Bucket
	if grouped {
		switch {
		case p.Other:
			text += " (other groups)"
		case p.Group == nil:
			text += " (without the field)"
		default:
			name := line(*p.Group, width)
			p.Group = &name
			text += fmt.Sprintf(" %q", name)
		}
	}
	return item[point]{fmt.Sprintf("%s: %s (%s)", text, optional(p.Value), count(p.Events, "event", "events")), p}
}

func fieldValues(ctx context.Context, c *call, in valueQuery) (*answer[values], error) {
	between, err := in.dateRange(time.Now())
	if err != nil {
		return nil, err
	}
	search := eventSearch{Filters: in.Filters, Type: in.Type}
	got, err := c.Events.Values(ctx, client.ValueQuery{
		Field: in.Field, Prefix: in.Prefix, Filters: search.query(), DateRange: between, Limit: or(in.Limit, 20),
	})
	if err != nil {
		return nil, err
	}
	list := fit(c, len(got.Values), 0, func(i, width int) item[value] {
		v := value{line(got.Values[i].Value, width), got.Values[i].Count}
		return item[value]{fmt.Sprintf("%6d  %s", v.Count, v.Value), v}
	})
	a := &answer[values]{
		head: fmt.Sprintf("%s of the field, of %s looked at.", count(len(list), "value", "values"), count(got.LookedAt, "event", "events")),
		text: texts(list), data: values{data(list), got.LookedAt, got.Complete},
	}
	if !got.Complete {
		a.hints = append(a.hints, "Only the newest events that match were looked at; since and until choose others.")
	}
	if len(list) < len(got.Values) {
		a.hints = append(a.hints, fmt.Sprintf("%d more values did not fit; raise max_tokens, or narrow with prefix.", len(got.Values)-len(list)))
	}
	if len(list) == 0 {
		a.hints = append(a.hints, "list_fields tells which fields events have.")
	}
	return a, nil
}

func listFields(ctx context.Context, c *call, in fieldQuery) (*answer[fields], error) {
	first, err := offset(in.Cursor)
	if err != nil {
		return nil, err
	}
	got, err := c.Events.Schema(ctx, client.DateRange{}, "")
	if err != nil {
		return nil, err
	}
	var chosen []client.SchemaField
	for _, f := range got.Fields {
		if (in.Type == "" || f.EventType == in.Type) && strings.Contains(f.Name, in.Text) {
			chosen = append(chosen, f)
		}
	}
	rest := chosen[min(first, len(chosen)):]
	list := fit(c, len(rest), 0, func(i, width int) item[field] {
		f := field{line(rest[i].Name, width), line(rest[i].EventType, 20)}
		return item[field]{f.Type + ": " + f.Name, f}
	})
	return &answer[fields]{
		head: fmt.Sprintf("%s of %d.", count(len(list), "field", "fields"), len(chosen)),
		text: texts(list), data: fields{data(list), len(chosen)}, next: after(first, len(list), len(chosen)),
	}, nil
}
