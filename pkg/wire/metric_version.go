package wire

import (
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MetricVersionRequest is a version to be made, and whether it becomes the metric's current one at once.
type MetricVersionRequest struct {
	Message string
	Content metric.Definition
	Deploy  bool
}

// DecodeMetricVersion reads the body of a version's creation: {"message", "content": <as in a
// metric's creation>, "deploy_immediately"?}. Errors name the field.
func DecodeMetricVersion(body []byte, dialect Dialect) (r MetricVersionRequest, err error) {
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
			if p, _, err = metricPatch(raw, dialect); err == nil {
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
func AppendMetricVersion(dst []byte, v *metric.Version, dialect Dialect) []byte {
	var b rawjson.Builder
	b.String("name", v.Name())
	b.String("full_sha", v.SHA)
	b.String("message", v.Message)
	b.String("date", isoTime(v.Created))
	b.Bool("deployed", v.Deployed)
	b.Raw("content", MetricDefinition(&v.Definition, dialect))
	return append(dst, b.Bytes()...)
}
