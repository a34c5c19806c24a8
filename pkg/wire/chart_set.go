package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// NamedCharts is a decoded request for several charts of one range.
type NamedCharts struct {
	Set   query.ChartSet
	Names []string // of the series
}

// DecodeCharts reads the body of a request for several charts:
//
//	series     1 to 50 objects, each with metric, aggregation, groupBy, filters as a chart has them, groups, the number of groups to
//	           show, and a name, which the answer repeats
//	filters    of all series, beside their own
//	dateRange  as in a search
//	bucket     as of a chart, auto by default
//	timezone   as of a chart
//	previous   also the period of the same length before the range
//
// Errors are fault.Invalid naming the field.
func DecodeCharts(body []byte, now time.Time) (*NamedCharts, error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return nil, err
	}
	if err := knownFields(object, []string{"series", "filters", "dateRange", "bucket", "timezone", "previous"}); err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if err := eachOf(object, func(key string, raw []byte) error { fields[key] = raw; return nil }); err != nil {
		return nil, err
	}
	set := query.ChartSet{To: float64(now.UnixMilli()), Bucket: query.Auto}
	shared, err := query.ParseFilters(fields["filters"], "filters")
	if err != nil {
		return nil, err
	}
	var to *float64
	if set.From, to, err = query.ParseRange(fields["dateRange"], "dateRange", now); err != nil {
		return nil, err
	}
	if to != nil {
		set.To = *to
	}
	zoneName := ""
	err = eachOf(object, func(key string, raw []byte) (err error) {
		switch key {
		case "bucket":
			var name string
			if name, err = readText(raw); err == nil && name != "" {
				set.Bucket, err = query.ParseBucket(name)
				err = rename("", err)
			}
		case "timezone":
			zoneName, err = readText(raw)
		case "previous":
			set.Previous, err = readBool(raw)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if set.Zone, err = zone(zoneName); err != nil {
		return nil, err
	}
	if set.Previous && set.From == nil {
		return nil, fault.InvalidField("previous", "needs a dateRange with a beginning")
	}
	in := &NamedCharts{Set: set}
	err = in.decodeSeries(fields["series"], shared)
	return in, err
}

func (in *NamedCharts) decodeSeries(raw json.RawMessage, shared []query.Filter) error {
	if raw == nil {
		return fault.InvalidField("series", "is required")
	}
	if rawjson.KindOf(raw) != '[' {
		return fault.In("series", wrong("an array", raw))
	}
	for i, one := range rawjson.Array(raw) {
		if i == query.MaxSeries {
			return fault.InvalidField("series", "must be 1 to %d", query.MaxSeries)
		}
		c, name, err := decodeSeries(one, shared)
		if err != nil {
			return fault.In("series", fault.In(fmt.Sprintf("[%d]", i), err))
		}
		in.Set.Series, in.Names = append(in.Set.Series, c), append(in.Names, name)
	}
	if len(in.Names) == 0 {
		return fault.InvalidField("series", "must be 1 to %d", query.MaxSeries)
	}
	return nil
}

// decodeSeries reads one of several charts.
func decodeSeries(raw json.RawMessage, shared []query.Filter) (c *query.Chart, name string, err error) {
	if rawjson.KindOf(raw) != '{' {
		return nil, "", wrong("an object", raw)
	}
	if err := knownFields(raw, []string{"name", "metric", "aggregation", "groupBy", "groups", "filters"}); err != nil {
		return nil, "", err
	}
	fields := map[string]json.RawMessage{}
	text := map[string]string{}
	err = eachOf(raw, func(key string, v []byte) (err error) {
		fields[key] = v
		if key != "filters" && key != "groups" {
			text[key], err = readText(v)
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	c, name = &query.Chart{}, text["name"]
	if utf8.RuneCountInString(name) > chart.MaxName {
		return nil, "", fault.InvalidField("name", "must be at most %d characters", chart.MaxName)
	}
	if c.Metric, err = chartMetric(text["metric"]); err != nil {
		return nil, "", fault.In("metric", err)
	}
	if c.Aggregation, err = query.ParseAggregation(text["aggregation"], "aggregation"); err != nil {
		return nil, "", err
	}
	if text["groupBy"] != "" {
		g, err := query.NewFieldReader(text["groupBy"])
		if err != nil {
			return nil, "", rename("groupBy", err)
		}
		c.Group = &g
	}
	if c.MaxGroups, err = query.WholeNumber(fields["groups"], "groups", query.MaxGroups, query.MaxGroups); err != nil {
		return nil, "", err
	}
	own, err := query.ParseFilters(fields["filters"], "filters")
	if err != nil {
		return nil, "", err
	}
	c.Filters = slices.Concat(shared, own)
	if text["groupBy"] != "source" {
		c.Filters = query.OmitEvaluators(c.Filters)
	}
	return c, name, nil
}

// AppendCharts writes the answer to several charts: {"bucket", "buckets", "previous_buckets", "series"}. A series has a row, or one a group,
// with a value for each bucket.
func AppendCharts(dst []byte, in *NamedCharts, t *query.ChartTable) json.RawMessage {
	var b rawjson.Builder
	b.String("bucket", string(t.Bucket))
	b.Raw("buckets", appendTimes(nil, t.Times))
	if t.Previous != nil {
		b.Raw("previous_buckets", appendTimes(nil, t.Previous))
	}
	list := []byte{'['}
	for i := range t.Series {
		if i > 0 {
			list = append(list, ',')
		}
		list = appendSeries(list, in.Names[i], in.Set.Series[i].Group != nil, &t.Series[i], t.Previous != nil)
	}
	b.Raw("series", append(list, ']'))
	return append(dst, b.Bytes()...)
}

func appendTimes(dst []byte, times []time.Time) []byte {
	dst = append(dst, '[')
	for i, t := range times {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, t.Format(bucketTime))
	}
	return append(dst, ']')
}

func appendSeries(dst []byte, name string, grouped bool, x *query.SeriesAnswer, previous bool) []byte {
	var b rawjson.Builder
	if name != "" {
		b.String("name", name)
	}
	rows := []byte{'['}
	for i := range x.Rows {
		if i > 0 {
			rows = append(rows, ',')
		}
		rows = appendRow(rows, grouped, &x.Rows[i], previous)
	}
	b.Raw("rows", append(rows, ']'))
	b.Int("total", x.Total)
	if previous {
		b.Int("previous_total", x.Previous)
	}
	if x.Err != nil {
		b.String("error", x.Err.Error())
	}
	return append(dst, b.Bytes()...)
}

func appendRow(dst []byte, grouped bool, r *query.SeriesRow, previous bool) []byte {
	var b rawjson.Builder
	switch {
	case !grouped:
	case r.Group == nil:
		b.Raw("group", []byte("null"))
	default:
		b.String("group", *r.Group)
	}
	if r.Rest {
		b.Bool("other", true)
	}
	add := func(values, counts string, list []query.SeriesValue) {
		v, n := []byte{'['}, []byte{'['}
		for i, x := range list {
			if i > 0 {
				v, n = append(v, ','), append(n, ',')
			}
			if x.Value == nil {
				v = append(v, "null"...)
			} else {
				v = rawjson.AppendNumber(v, *x.Value)
			}
			n = rawjson.AppendNumber(n, float64(x.Count))
		}
		b.Raw(values, append(v, ']'))
		b.Raw(counts, append(n, ']'))
	}
	add("values", "counts", r.Values)
	if previous {
		add("previous", "previous_counts", r.Before)
	}
	return append(dst, b.Bytes()...)
}
