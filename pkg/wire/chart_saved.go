package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeSavedChart reads the body of a chart's creation, complete and checked. What it asks for
// must be what an events chart can answer (DecodeChart). Errors are fault.Invalid naming the field,
// for an unknown one the nearest that a chart has.
func DecodeSavedChart(body []byte, now time.Time) (chart.Chart, error) {
	u, err := DecodeSavedChartUpdate(body, "", now)
	if err != nil {
		return chart.Chart{}, err
	}
	var c chart.Chart
	c.Apply(&u)
	return c, c.Validate()
}

// savedChartFields are the fields of a chart that may be set.
var savedChartFields = []string{"name", "description", "metric", "func", "groupBy", "bucketing", "dateRange", "query", "owner_id", "display", "series"}

// DecodeSavedChartUpdate reads the body of an update of the chart with an id.
func DecodeSavedChartUpdate(body []byte, id string, now time.Time) (chart.Update, error) {
	u := chart.Update{ID: id}
	var dates json.RawMessage
	unknown := ""
	err := eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "name":
			err = setTextPointer(&u.Name, raw)
		case "description":
			err = setTextPointer(&u.Description, raw)
		case "metric":
			if err = setTextPointer(&u.Metric, raw); err == nil {
				_, err = chartMetric(*u.Metric)
			}
		case "func":
			if err = setTextPointer(&u.Func, raw); err == nil {
				_, err = query.ParseAggregation(*u.Func, "")
			}
		case "groupBy":
			if err = setTextPointer(&u.GroupBy, raw); err == nil && *u.GroupBy != "" {
				_, err = query.NewFieldReader(*u.GroupBy)
				err = rename("", err)
			}
		case "bucketing":
			if err = setTextPointer(&u.Bucketing, raw); err == nil {
				_, err = query.ParseBucket(*u.Bucketing)
				err = rename("", err)
			}
		case "dateRange":
			dates = raw
		case "query":
			// Checked when the chart is saved, and not only when it is drawn.
			u.Query, err = readFilters(raw)
		case "display":
			err = setTextPointer(&u.Display, raw)
		case "series":
			u.Series, err = readSavedSeries(raw)
		case "owner_id":
			err = setTextPointer(&u.OwnerID, raw)
		// What answers show and nobody can set.
		case "id", "_id", "owner_profile", "is_active", "created_at", "updated_at": // who sends back a chart as it was read
		default:
			if !rawjson.Null(raw) && !slices.Contains(clientNames, key) {
				unknown = key
			}
		}
		return err
	})
	if err == nil && unknown != "" {
		err = notKnown("field", unknown, savedChartFields)
	}
	if err == nil && dates != nil {
		u.DateRange, err = readRange(dates, "dateRange", now)
	}
	return u, err
}

// readRange checks a date range and returns it as an object, which clients need it to be:
//
//	"7d"                    → {"relative":"7d"}
//	"{\"$gte\":1}"          → {"$gte":1}
//	""                      → {}
func readRange(raw json.RawMessage, field string, now time.Time) (json.RawMessage, error) {
	if _, _, err := query.ParseRange(raw, field, now); err != nil {
		return nil, err
	}
	text, ok := rawjson.Text(raw)
	text = strings.TrimSpace(text)
	switch {
	case !ok:
		return raw, nil
	case text == "":
		return json.RawMessage("{}"), nil
	case text[0] == '{':
		object, _, err := rawjson.Clean([]byte(text))
		return object, err
	}
	var b rawjson.Builder
	b.String("relative", text)
	return b.Bytes(), nil
}

// readFilters checks an array of filters. Elements that are null are left out, since clients
// have them in their types.
func readFilters(raw json.RawMessage) (json.RawMessage, error) {
	if rawjson.KindOf(raw) != '[' {
		return nil, wrong("an array of filters", raw)
	}
	list := []byte{'['}
	for _, v := range rawjson.Array(raw) {
		if rawjson.Null(v) {
			continue
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, v...)
	}
	list = append(list, ']')
	_, err := query.ParseFilters(list, "")
	return list, err
}

// readSavedSeries checks what a saved chart draws beside the first series, by the names of several charts (DecodeCharts).
func readSavedSeries(raw json.RawMessage) (json.RawMessage, error) {
	if rawjson.KindOf(raw) != '[' {
		return nil, wrong("an array", raw)
	}
	for i, one := range rawjson.Array(raw) {
		if i == chart.MaxSeries {
			return nil, fault.New(fault.Invalid, "must be at most %d", chart.MaxSeries)
		}
		if _, _, err := decodeSeries(one, nil); err != nil {
			return nil, fault.In(fmt.Sprintf("[%d]", i), err)
		}
	}
	return slices.Clone(raw), nil
}

// AppendSavedChart appends a saved chart as answers show it.
func AppendSavedChart(dst []byte, c *chart.Chart, dialect Dialect) []byte {
	b := itemOf(c.ID, dialect)
	for name, value := range c.Fields() {
		if name == "groupBy" && c.GroupBy == "" {
			value = nil
		}
		addField(b, name, value, dialect == V1)
	}
	addField(b, "owner_profile", nil, dialect == V1) // people are unknown here: keys are of projects
	b.Bool("is_active", true)                        // what is deleted is gone
	addTimes(b, c.Created, c.Updated, dialect)
	return append(dst, b.Bytes()...)
}
