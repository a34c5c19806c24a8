package wire

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeMetric reads the body of a metric's creation complete and checked. Clients of V0
// have criteria under several names, leave them out where they have none, and know no sampling. Null is absent and unknown fields
// are ignored, among them the project older clients send. Errors name the field.
func DecodeMetric(body []byte, dialect Dialect) (metric.Definition, error) {
	p, _, err := DecodeMetricPatch(body, dialect)
	if err != nil {
		return metric.Definition{}, err
	}
	return define(p)
}

// define makes a definition of all fields that were given, complete and checked. Older clients may leave out the criteria,
// and have another sampling by default.
func define(p metric.Patch) (d metric.Definition, err error) {
	d.Apply(&p)
	sampling := metric.DefaultSampling
	if p.Older {
		sampling = metric.OlderSampling
	}
	d.Complete(sampling)
	if err := d.Validate(); err != nil {
		return d, err
	}
	if p.Criteria == nil && !p.Older {
		return d, fault.InvalidField("criteria", "is required")
	}
	return d, nil
}

// DecodeMetricPatch reads the body of a metric's update in either dialect, and the id that may
// stand in it, as id or metric_id.
func DecodeMetricPatch(body []byte, dialect Dialect) (p metric.Patch, id string, err error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return p, "", err
	}
	return metricPatch(object, dialect)
}

// metricPatch is DecodeMetricPatch of an object that was checked. criteria goes before its older names, code_snippet and
// prompt; id before metric_id.
func metricPatch(object []byte, dialect Dialect) (p metric.Patch, id string, err error) {
	p.Older = dialect == V0
	var otherID string
	var code, prompt *string
	err = eachOf(object, func(key string, raw []byte) (err error) {
		switch key {
		case "id":
			id, err = readText(raw)
		case "metric_id":
			otherID, err = readText(raw)
		case "name":
			err = setTextPointer(&p.Name, raw)
		case "type":
			p.Type, err = readMetricType(raw)
		case "criteria":
			err = setTextPointer(&p.Criteria, raw)
		case "code_snippet":
			err = setTextPointer(&code, raw)
		case "prompt":
			err = setTextPointer(&prompt, raw)
		case "description":
			err = setTextPointer(&p.Description, raw)
		case "return_type":
			var text string
			text, err = readText(raw)
			kind := metric.Return(text)
			p.Return = &kind
		case "enabled_in_prod":
			err = setBoolPointer(&p.EnabledInProd, raw)
		case "needs_ground_truth":
			err = setBoolPointer(&p.NeedsGroundTruth, raw)
		case "model_provider":
			err = setTextPointer(&p.ModelProvider, raw)
		case "model_name":
			err = setTextPointer(&p.ModelName, raw)
		case "event_name":
			err = setTextPointer(&p.EventName, raw)
		case "event_type":
			err = setTextPointer(&p.EventType, raw)
		case "sampling_percentage":
			p.Sampling, err = readNumber(raw)
		case "scale":
			p.Scale, err = readNumber(raw)
		case "threshold":
			p.Threshold, err = readObject(raw)
		case "pass_when":
			p.PassWhen = raw
		case "categories":
			p.Categories, err = readArray(raw)
		case "child_metrics":
			p.Children, err = readArray(raw)
		case "filters":
			p.Filters, err = readFilterObject(raw)
		}
		return err
	})
	for _, text := range []*string{code, prompt} {
		if p.Criteria == nil {
			p.Criteria = text
		}
	}
	if id == "" {
		id = otherID
	}
	return p, id, err
}

// readMetricType reads a type by its name in either dialect.
func readMetricType(raw []byte) (*metric.Type, error) {
	text, err := readText(raw)
	if err != nil {
		return nil, err
	}
	t, ok := metric.TypeOf(text)
	if !ok {
		return nil, fault.New(fault.Invalid, "must be one of %s, not %.40q", metric.TypeNames(), text)
	}
	return &t, nil
}

// readFilterObject checks the filters of a metric or a queue and brings them into the form
// {"filterArray": […]}, from a bare array too, and from a single filter:
//
//	[{"field": …}]                     → {"filterArray": [{"field": …}]}
//	{"field": …}                       → {"filterArray": [{"field": …}]}
//	{}, {"filterArray": null}          → {"filterArray": []}
func readFilterObject(raw json.RawMessage) (json.RawMessage, error) {
	kind := rawjson.KindOf(raw)
	if kind != '{' && kind != '[' {
		return nil, wrong("an object with filterArray", raw)
	}
	raw = wholeFilters(raw)
	list, field := rawjson.Get(raw, "filterArray"), "filterArray"
	switch {
	case list == nil:
		list, field = raw, ""
	case !rawjson.Null(list) && rawjson.KindOf(list) != '[':
		return nil, fault.In(field, wrong("an array of filters", list))
	}
	if _, err := query.ParseFilters(list, field); err != nil {
		return nil, err
	}
	list = rawjson.Get(raw, "filterArray")
	switch {
	case rawjson.KindOf(list) == '[':
		return raw, nil
	case kind == '{' && (list != nil || rawjson.Empty(raw)):
		list = json.RawMessage("[]")
	case kind == '{':
		list = append(append(json.RawMessage("["), raw...), ']')
	default:
		list = raw
	}
	var b rawjson.Builder
	b.Raw("filterArray", list)
	return b.Bytes(), nil
}

// shownFilters returns the filters of a metric or a queue as answers show them. Their sender may have left out the type of a filter, and the value
// of one that asks whether a field exists, but the Python client refuses an answer in which a filter lacks either.
func shownFilters(object json.RawMessage) json.RawMessage {
	return eachFilter(object, func(f json.RawMessage) json.RawMessage {
		var missing rawjson.Builder
		if isAlternative(f) {
			return f
		}
		if rawjson.Get(f, "value") == nil {
			missing.Raw("value", json.RawMessage("null"))
		}
		if rawjson.Null(rawjson.Get(f, "type")) {
			missing.String("type", "string")
		}
		return rawjson.Merge(f, missing.Bytes())
	})
}

// noCondition is what the Python client's model of a filter needs beside an alternative.
var noCondition = json.RawMessage(`{"field":"","operator":"","value":null,"type":""}`)

// PlainFilters returns the filters of a metric or a queue as the models of the Python client hold them: each has a field, an operator, a type, and a
// value that is no array. When they are sent back, wholeFilters makes them what they were.
//
//	{"field": "a", "operator": "is any of", "value": ["b", "c"]} → {"field": "a", "operator": "is any of", "value": "[\"b\", \"c\"]"}
//	{"any": [[…], […]]}                                          → {"any": [[…], […]], "field": "", "operator": "", "value": null, "type": ""}
func PlainFilters(object json.RawMessage) json.RawMessage {
	return eachFilter(object, func(f json.RawMessage) json.RawMessage {
		value := rawjson.Get(f, "value")
		switch {
		case isAlternative(f):
			return rawjson.Merge(f, noCondition)
		case rawjson.KindOf(value) == '[':
			var text rawjson.Builder
			text.String("value", string(value))
			return rawjson.Merge(f, text.Bytes())
		}
		return f
	})
}

// wholeFilters undoes PlainFilters.
func wholeFilters(object json.RawMessage) json.RawMessage {
	return eachFilter(object, func(f json.RawMessage) json.RawMessage {
		if isAlternative(f) {
			for key := range rawjson.Object(noCondition) {
				if !rawjson.Empty(rawjson.Get(f, key)) {
					return f
				}
			}
			return rawjson.Without(f, noCondition)
		}
		text, isText := rawjson.Text(rawjson.Get(f, "value"))
		if operator, _ := rawjson.Text(rawjson.Get(f, "operator")); !isText || operator != "is any of" {
			return f
		}
		list, _, err := rawjson.Clean([]byte(text))
		if err != nil {
			return f
		}
		var b rawjson.Builder
		b.Raw("value", list)
		return rawjson.Merge(f, b.Bytes())
	})
}

// isAlternative reports whether a filter has lists of others, of which one must hold, and no condition of its own.
func isAlternative(f json.RawMessage) bool { return !rawjson.Null(rawjson.Get(f, "any")) }

// eachFilter returns an object with filterArray in which each filter is what change makes of it. One with more filters than may be stays as it is, and
// is refused when it is read.
func eachFilter(object json.RawMessage, change func(f json.RawMessage) json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	changed := false
	for i, f := range rawjson.Array(rawjson.Get(object, "filterArray")) {
		if i == query.MaxFilters {
			return object
		}
		now := change(f)
		changed = changed || string(now) != string(f)
		list = append(list, now)
	}
	if !changed {
		return object
	}
	var b rawjson.Builder
	b.Raw("filterArray", arrayOf(list, func(dst []byte, f *json.RawMessage) []byte { return append(dst, *f...) }))
	return rawjson.Merge(object, b.Bytes())
}

// AppendMetric appends a metric as answers show it. project is the name of its project.
// Clients of V0 refuse null and know other names.
func AppendMetric(dst []byte, m *metric.Metric, project string, dialect Dialect) []byte {
	b := itemOf(m.ID, dialect)
	if dialect == V0 {
		b.String("task", project)
	}
	addDefinition(b, &m.Definition, dialect)
	b.String("version", metric.VersionName(m.Deployed))
	addTimes(b, m.Created, m.Updated, dialect)
	return append(dst, b.Bytes()...)
}

// MetricDefinition returns a definition as answers show it.
func MetricDefinition(d *metric.Definition, dialect Dialect) json.RawMessage {
	var b rawjson.Builder
	addDefinition(&b, d, dialect)
	return b.Bytes()
}

// addDefinition adds a definition's fields: in V1 by their names, null where they are absent; in V0 also by the older
// names, and without nulls.
func addDefinition(b *rawjson.Builder, d *metric.Definition, dialect Dialect) {
	for name, value := range d.Fields() {
		switch {
		case dialect == V0:
			value = olderField(d, name, value)
		case name == "filters":
			value = shownFilters(value)
		}
		addField(b, name, value, dialect == V1 && name != "event_name" && name != "event_type") // which only older clients have
	}
	if dialect == V1 {
		return
	}
	switch d.Type {
	case metric.Python, metric.Expression:
		b.String("code_snippet", d.Criteria)
	case metric.LLM:
		b.String("prompt", d.Criteria)
	}
	// Older clients take nothing but a boolean here.
	if when := rawjson.Get(d.Threshold, "pass_when"); rawjson.KindOf(when) == 't' || rawjson.KindOf(when) == 'f' {
		b.Raw("pass_when", when)
	}
}

// olderField returns a field as older clients know it: types by their older names, and a threshold without its nulls.
func olderField(d *metric.Definition, name string, value json.RawMessage) json.RawMessage {
	switch name {
	case "type":
		return rawjson.AppendString(nil, d.Type.Older())
	case "return_type":
		return rawjson.AppendString(nil, d.Return.Older())
	case "threshold":
		var b rawjson.Builder
		for key, v := range rawjson.Object(value) {
			if !rawjson.Null(v) {
				b.Raw(key, v)
			}
		}
		if b.Len() == 0 {
			return nil
		}
		return b.Bytes()
	}
	return value
}
