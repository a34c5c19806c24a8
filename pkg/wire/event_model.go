package wire

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeModelEvent reads the body of a model event create: {"model_event": {…}}, the same as
// text, or bare. The call becomes a plain event of type model: what was asked of the model
// goes to config, messages and template inputs to inputs, the response to outputs, usage and
// cost to metadata. Plain event fields may come with them; where both say something, the model
// event's own field wins.
//
// The JSON fields may be slices of body. Errors are fault.Invalid naming the field.
func DecodeModelEvent(body []byte, now time.Time) (event.Incoming, error) {
	d, prefix, err := decodeWrapped(body, "model_event", modelFields)
	if err != nil {
		return event.Incoming{}, err
	}
	if err := d.finishModel(now); err != nil {
		return event.Incoming{}, fault.In(prefix, err)
	}
	return d.event, nil
}

// modelParts are the fields only a model event has; nil: absent.
type modelParts struct {
	model, provider, messages, response, usage, duration      json.RawMessage
	hyperparameters, template, templateInputs, tools          json.RawMessage
	toolChoice, responseFormat, cost, modelName, modelVersion json.RawMessage
}

// parts returns the model event's own fields, made when they are first asked for.
func (d *draft) parts() *modelParts {
	if d.model == nil {
		d.model = new(modelParts)
	}
	return d.model
}

// modelFields are the fields of a model event: its own and those of an event.
var modelFields = func() map[string]setter {
	fields := maps.Clone(eventFields)
	part := func(key string, of func(*modelParts) *json.RawMessage, kinds string, want string) {
		fields[key] = func(d *draft, v json.RawMessage) error {
			kind := rawjson.KindOf(v)
			for _, k := range []byte(kinds) {
				if rawjson.Kind(k) == kind {
					*of(d.parts()) = v
					return nil
				}
			}
			return wrong(want, v)
		}
	}
	const anything = `{["0tf`
	part("model", func(m *modelParts) *json.RawMessage { return &m.model }, `"`, "a string")
	part("provider", func(m *modelParts) *json.RawMessage { return &m.provider }, `"`, "a string")
	part("model_name", func(m *modelParts) *json.RawMessage { return &m.modelName }, `"`, "a string")
	part("model_version", func(m *modelParts) *json.RawMessage { return &m.modelVersion }, `"`, "a string")
	part("response", func(m *modelParts) *json.RawMessage { return &m.response }, `{`, "an object")
	part("usage", func(m *modelParts) *json.RawMessage { return &m.usage }, `{`, "an object")
	part("cost", func(m *modelParts) *json.RawMessage { return &m.cost }, `0`, "a number")
	part("hyperparameters", func(m *modelParts) *json.RawMessage { return &m.hyperparameters }, `{`, "an object")
	part("template", func(m *modelParts) *json.RawMessage { return &m.template }, `["`, "an array or a string")
	part("template_inputs", func(m *modelParts) *json.RawMessage { return &m.templateInputs }, `{`, "an object")
	part("tools", func(m *modelParts) *json.RawMessage { return &m.tools }, anything, "")
	part("tool_choice", func(m *modelParts) *json.RawMessage { return &m.toolChoice }, anything, "")
	part("response_format", func(m *modelParts) *json.RawMessage { return &m.responseFormat }, anything, "")
	delete(fields, "event_type")
	fields["messages"] = func(d *draft, v json.RawMessage) (err error) {
		d.parts().messages, err = readObjects(v)
		return err
	}
	fields["duration"] = func(d *draft, v json.RawMessage) error {
		d.parts().duration = v
		return setDuration(d, v)
	}
	return fields
}()

// needModel requires what a create of a model event must carry.
func (d *draft) needModel() error {
	m := d.parts()
	for _, required := range []struct {
		field string
		v     json.RawMessage
	}{
		{"model", m.model}, {"provider", m.provider}, {"messages", m.messages},
		{"response", m.response}, {"duration", m.duration}, {"usage", m.usage},
	} {
		if required.v == nil {
			return fault.InvalidField(required.field, "is required")
		}
	}
	return nil
}

// finishModel turns a model event into a plain one and completes it:
//
//	model, provider, hyperparameters, template, tools, tool_choice, response_format → config
//	messages                                                                         → inputs.chat_history
//	template_inputs                                                                  → inputs
//	response                                                                         → outputs
//	usage, cost, model_name, model_version                                           → metadata
//
// These come over what the plain fields said.
func (d *draft) finishModel(now time.Time) error {
	if err := d.needModel(); err != nil {
		return err
	}
	e, m := &d.event, d.parts()
	e.Type = event.TypeModel
	e.Config = rawjson.Merge(e.Config, object(
		objectMember{"model", m.model}, objectMember{"provider", m.provider}, objectMember{"hyperparameters", m.hyperparameters},
		objectMember{"template", m.template}, objectMember{"tools", m.tools}, objectMember{"tool_choice", m.toolChoice},
		objectMember{"response_format", m.responseFormat}))
	e.Inputs = rawjson.Merge(e.Inputs, rawjson.Merge(object(objectMember{"chat_history", m.messages}), m.templateInputs))
	if rawjson.KindOf(e.Outputs) == '{' {
		e.Outputs = rawjson.Merge(e.Outputs, m.response)
	} else {
		e.Outputs = m.response
	}
	e.Metadata = rawjson.Merge(e.Metadata, rawjson.Merge(m.usage, object(
		objectMember{"cost", m.cost}, objectMember{"model_name", m.modelName}, objectMember{"model_version", m.modelVersion})))
	return d.complete(now)
}

// objectMember is a member of an object, nil if absent.
type objectMember struct {
	key   string
	value json.RawMessage
}

// object builds an object of the members that are present, nil if none is.
func object(members ...objectMember) json.RawMessage {
	var b rawjson.Builder
	for _, m := range members {
		if m.value != nil {
			b.Raw(m.key, m.value)
		}
	}
	return b.Bytes()
}

// readObjects checks an array of objects.
func readObjects(raw json.RawMessage) (json.RawMessage, error) {
	if rawjson.KindOf(raw) != '[' {
		return nil, wrong("an array of objects", raw)
	}
	for i, v := range rawjson.Array(raw) {
		if rawjson.KindOf(v) != '{' {
			return nil, fault.In(indexed("", i), wrong("an object", v))
		}
	}
	return raw, nil
}
