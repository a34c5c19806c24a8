package wire

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeMetricRun reads the body of a run of a metric: {"metric": <as in its creation>, "event"?:
// any JSON}. Errors name the field.
func DecodeMetricRun(body []byte, older bool) (d metric.Definition, event json.RawMessage, err error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return d, nil, err
	}
	raw := rawjson.Get(object, "metric")
	if rawjson.Null(raw) {
		return d, nil, fault.InvalidField("metric", "is required and must be an object")
	}
	if raw, err = readObject(raw); err != nil {
		return d, nil, fault.In("metric", err)
	}
	p, _, err := metricPatch(raw, older)
	if err == nil {
		d, err = define(p)
	}
	return d, rawjson.Get(object, "event"), fault.In("metric", err)
}

// MetricResult is the answer to a run. score is nil if there is none; passed is nil where the
// metric's threshold says nothing of the score.
func MetricResult(success bool, score json.RawMessage, explanation string, passed *bool) json.RawMessage {
	var b rawjson.Builder
	b.Bool("success", success)
	b.Bool("loading", false)
	if score == nil {
		score = json.RawMessage("null")
	}
	b.Raw("result", score)
	b.String("explanation", explanation)
	if passed != nil {
		b.Bool("passed", *passed)
	}
	return b.Bytes()
}

// MetricVersionRequest is a version to be made.
type MetricVersionRequest struct {
	Message string
	Content metric.Definition
	Deploy  bool
}

// DecodeMetricVersion reads the body of a version's creation: {"message", "content": <as in a
// metric's creation>, "deploy_immediately"?}. Errors name the field.
func DecodeMetricVersion(body []byte, older bool) (r MetricVersionRequest, err error) {
	content := false
	message := false
	err = eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "message":
			r.Message, err = readText(raw)
			message = true
		case "deploy_immediately":
			r.Deploy, err = readBool(raw)
		case "content":
			content = true
			if raw, err = readObject(raw); err != nil {
				return err
			}
			var p metric.Patch
			if p, _, err = metricPatch(raw, older); err == nil {
				r.Content, err = define(p)
			}
		}
		return err
	})
	switch {
	case err != nil:
		return r, err
	case !message:
		return r, fault.InvalidField("message", "is required")
	case !content:
		return r, fault.InvalidField("content", "is required and must be an object")
	}
	return r, metric.CheckMessage(r.Message)
}

// AppendMetricVersion appends a version as answers show it.
func AppendMetricVersion(dst []byte, v *metric.Version, older bool) []byte {
	var b rawjson.Builder
	b.String("name", v.Name())
	b.String("full_sha", v.SHA)
	b.String("message", v.Message)
	b.String("date", isoTime(v.Created))
	b.Bool("deployed", v.Deployed)
	b.Raw("content", MetricDefinition(&v.Definition, older))
	return append(dst, b.Bytes()...)
}
