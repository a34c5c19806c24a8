package wire

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// chartNames are numbers that callers name without saying where in the event they stand.
var chartNames = map[string]string{
	"cost": "metadata.cost", "total_tokens": "metadata.total_tokens", "prompt_tokens": "metadata.prompt_tokens",
	"completion_tokens": "metadata.completion_tokens",
}

// DecodeChart reads the query string of an events chart: which events, as in an events list,
// and
//
//	metric            the field summed up, "duration" by default; a name that is no field of
//	                  an event is that of a metric ("accuracy" is "metrics.accuracy"), or of
//	                  cost and tokens ("cost" is "metadata.cost")
//	groupBy           a field
//	bucket            second, minute, hour (default), day, week, month, and their short forms, a step between them (query.Bucket), or
//	                  auto, the one that goes with the range
//	aggregation       average (default), sum, count, min, max, median, p50 … p99
//	only_experiments  only events of experiment runs
//	fill              also the buckets without events
//	timezone          a name of the IANA database, "UTC" by default
//
// What evaluators sent is left out, unless it is grouped by source or query.OmitEvaluators says otherwise.
// Errors are fault.Invalid naming the parameter.
func DecodeChart(rawQuery string, now time.Time) (*query.Chart, error) {
	// The same query string is read twice: once as a search, and once for what only a chart has.
	object, err := QueryObject(rawQuery)
	if err != nil {
		return nil, err
	}
	in, err := DecodeSearch(object, query.ExportPages, now)
	if err != nil {
		return nil, err
	}
	c := &query.Chart{Search: in.Search}
	params, err := ParseParams(rawQuery)
	if err != nil {
		return nil, err
	}
	var asked struct {
		Metric          string `query:"metric"`
		GroupBy         string `query:"groupBy"`
		Bucket          string `query:"bucket"`
		Aggregation     string `query:"aggregation"`
		Timezone        string `query:"timezone"`
		OnlyExperiments bool   `query:"only_experiments"`
		Fill            bool   `query:"fill"`
	}
	if err := params.Read(&asked); err != nil {
		return nil, err
	}
	c.InRuns, c.Fill = asked.OnlyExperiments, asked.Fill
	if c.Metric, err = chartMetric(asked.Metric); err != nil {
		return nil, fault.In("metric", err)
	}
	if asked.GroupBy != "" {
		g, err := query.NewFieldReader(asked.GroupBy)
		if err != nil {
			return nil, rename("groupBy", err)
		}
		c.Group = &g
	}
	if c.Bucket, err = query.ParseBucket(asked.Bucket); err != nil {
		return nil, err
	}
	if c.Bucket == query.Auto {
		c.Bucket = query.Fit(c.From, c.To, now)
	}
	if c.Aggregation, err = query.ParseAggregation(asked.Aggregation, "aggregation"); err != nil {
		return nil, err
	}
	if asked.GroupBy != "source" {
		c.Filters = query.OmitEvaluators(c.Filters)
	}
	c.Zone, err = zone(asked.Timezone)
	return c, err
}

// chartMetric finds the field that a chart's metric names; "" is the duration. "cost" is metadata.cost, "accuracy"
// metrics.accuracy, and metrics.accuracy itself.
func chartMetric(name string) (query.FieldReader, error) {
	name = metricField(name)
	m, err := query.NewFieldReader(name)
	if err == nil && !m.HasNumbers() {
		err = fault.New(fault.Invalid, "%.100q holds no numbers", name)
	}
	return m, rename("", err)
}

// metricField returns the path of the field that a chart's metric names.
func metricField(name string) string {
	if name == "" {
		return "duration"
	}
	if full := chartNames[name]; full != "" {
		return full
	}
	if root, _, _ := strings.Cut(name, "."); !query.IsField(root) {
		return "metrics." + name
	}
	return name
}

// rename returns a parameter's error with the parameter's name as its field: package query names the part of a search
// that it stands for.
func rename(field string, err error) error {
	if f, ok := err.(*fault.Error); ok { //nolint:errorlint // as it came from query
		again := *f
		again.Field = field
		return &again
	}
	return err
}

// zone returns a time zone by its name in the IANA database, UTC for "". The zone of this machine has no name there: a
// caller cannot mean it.
func zone(name string) (*time.Location, error) {
	if name == "" || strings.EqualFold(name, "utc") {
		return time.UTC, nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil || loc == time.Local {
		return nil, fault.InvalidField("timezone", "unknown time zone %.60q; names are such as \"Europe/Berlin\"", name)
	}
	return loc, nil
}

// bucketTime is how the beginning of a bucket is written, with the offset of its zone.
const bucketTime = "2006-01-02T15:04:05.000Z07:00"

// AppendChart writes a chart's answer: {"events": [{"bucket", "group", "other", "value", "count"}],
// "totalEvents", "bucket"}; the last is the name of the bucket, which auto has chosen. A point has a group only where c asks for groups; it is null for events without the field. other is true
// of the point of all groups that are not shown, and else left out. A bucket
// is the time at which it begins, in the chart's zone.
func AppendChart(dst []byte, c *query.Chart, a *query.ChartAnswer) json.RawMessage {
	dst = append(dst, `{"events":[`...)
	for i := range a.Points {
		if i > 0 {
			dst = append(dst, ',')
		}
		p := &a.Points[i]
		var b rawjson.Builder
		b.String("bucket", p.Start.Format(bucketTime))
		switch {
		case c.Group == nil:
		case p.Group == nil:
			b.Raw("group", []byte("null"))
		default:
			b.String("group", *p.Group)
		}
		if p.Rest {
			b.Bool("other", true)
		}
		if p.Value == nil {
			b.Raw("value", []byte("null"))
		} else {
			b.Number("value", *p.Value)
		}
		b.Int("count", p.Count)
		dst = append(dst, b.Bytes()...)
	}
	dst = append(dst, `],"totalEvents":`...)
	dst = rawjson.AppendNumber(dst, float64(a.Total))
	dst = append(dst, `,"bucket":`...)
	dst = rawjson.AppendString(dst, string(c.Bucket))
	return append(dst, '}')
}
