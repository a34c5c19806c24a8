package client

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Where the server's event has what a ClientEvent has in fields of its own. These are the names
// that the server's mapping of OpenTelemetry uses, too, so both are found by the same filters.
const (
	keyStatus            = "status" // only if it is not what the error implies
	keyErrorType         = "error_type"
	keyErrorCode         = "error_code"
	keyErrorTraceback    = "error_stacktrace"
	keyErrorContext      = "error_context"
	keyErrorMessage      = "error_message" // only if the event's error is not the message
	keyToolName          = "tool_name"
	keyToolDescription   = "tool_description"
	keyToolSchema        = "tool_schema"
	keyEvaluator         = "evaluator_name"
	keyEvaluatorVersion  = "evaluator_version"
	keyEvaluationTarget  = "target_event_id"
	keyEvaluationText    = "evaluation_explanation"
	keyEvaluationRule    = "evaluation_criteria"
	keyModel             = "model" // this and the next ones below config
	keyProvider          = "provider"
	keyPromptTemplate    = "prompt_template"
	keyPromptVariables   = "prompt_variables"
	keyResponseFormat    = "response_format"
	keyTools             = "tools"
	keyToolCalls         = "tool_calls" // below outputs
	keyReturnValue       = "result"     // below outputs
	textOfUnnamedFailure = "error"
)

// millisOf cuts off what the time's JSON does not have, too, so that the way back gives the same.
func millisOf(t Timestamp) float64 {
	if t.IsZero() {
		return Millis(t.Time)
	}
	return Millis(t.Truncate(time.Microsecond))
}

// Input returns the event as the server takes it. The error's message becomes the error; its other
// parts, a status that the error does not imply, a tool's function and an evaluation stand in
// metadata; a model's settings in config, its tool calls and a tool's return value in outputs; a
// score in metrics, under the evaluator's name. It is an error if something else stands in such
// a place already.
//
// The server tells no difference between what is empty and what is left out, always has an end
// and a duration, and takes the project from the key. Times are exact to the microsecond until 2248.
func (e *ClientEvent) Input() (EventInput, error) {
	if err := e.Validate(); err != nil {
		return EventInput{}, err
	}
	in := EventInput{
		EventID: e.EventID, SessionID: e.SessionID, EventType: e.EventType, EventName: e.EventName, Source: e.Source,
		StartTime: millisOf(e.StartTime), EndTime: millisOf(e.EndTime), Inputs: e.Inputs, UserProperties: e.UserProperties,
	}
	if e.ParentID != nil {
		in.ParentID = *e.ParentID
	}
	if e.DurationMS != nil {
		in.Duration = *e.DurationMS
	}
	metadata, metrics := placement{"metadata", maps.Clone(e.Metadata), nil}, placement{"metrics", maps.Clone(e.Metrics), nil}
	config, outputs := placement{"config", nil, nil}, placement{"outputs", maps.Clone(e.Outputs), nil}
	if e.Status != e.impliedStatus() {
		metadata.put(keyStatus, e.Status)
	}
	switch f := e.Error; {
	case f != nil:
		in.Error = or(f.Message, or(f.Type, textOfUnnamedFailure))
		metadata.text(keyErrorType, f.Type)
		metadata.text(keyErrorCode, f.Code)
		metadata.text(keyErrorTraceback, f.Traceback)
		metadata.object(keyErrorContext, f.Context)
		if f.Message != in.Error || f.Message == e.Status {
			metadata.put(keyErrorMessage, f.Message)
		}
	case e.Status != StatusSuccess:
		in.Error = e.Status
	}
	if m := e.ModelCall; m != nil {
		config.put(keyModel, m.Model)
		config.put(keyProvider, m.Provider)
		config.text(keyPromptTemplate, m.PromptTemplate)
		config.object(keyPromptVariables, m.PromptVariables)
		config.text(keyResponseFormat, m.ResponseFormat)
		config.objects(keyTools, m.Tools)
		outputs.objects(keyToolCalls, m.ToolCalls)
	}
	if f := e.ToolCall; f != nil {
		metadata.put(keyToolName, f.FunctionName)
		metadata.text(keyToolDescription, f.FunctionDescription)
		metadata.object(keyToolSchema, f.Parameters)
		if f.ReturnValue != nil {
			outputs.put(keyReturnValue, f.ReturnValue)
		}
	}
	if v := e.Evaluation; v != nil {
		metadata.put(keyEvaluator, v.EvaluatorName)
		metadata.put(keyEvaluationTarget, v.TargetEventID)
		metadata.text(keyEvaluatorVersion, v.EvaluatorVersion)
		metadata.text(keyEvaluationText, v.Explanation)
		metadata.object(keyEvaluationRule, v.Criteria)
		if v.Score != nil {
			metrics.put(v.EvaluatorName, v.Score)
		}
	}
	for _, p := range []placement{metadata, metrics, outputs} {
		if p.err != nil {
			return EventInput{}, p.err
		}
	}
	in.Config, in.Metadata, in.Metrics = config.values, metadata.values, metrics.values
	if outputs.values != nil {
		in.Outputs = outputs.values
	}
	return in, nil
}

// placement is an object into which fields are put, and the first that had no place.
type placement struct {
	name   string
	values Object
	err    error
}

func (p *placement) put(key string, v any) {
	if _, taken := p.values[key]; taken && p.err == nil {
		p.err = fmt.Errorf("%s.%s: the place is needed for a field of the event, and taken", p.name, key)
	}
	if p.values == nil {
		p.values = Object{}
	}
	p.values[key] = v
}

func (p *placement) text(key, v string) {
	if v != "" {
		p.put(key, v)
	}
}

func (p *placement) object(key string, v Object) {
	if len(v) > 0 {
		p.put(key, v)
	}
}

func (p *placement) objects(key string, list []Object) {
	if len(list) == 0 {
		return
	}
	values := make([]any, len(list))
	for i, o := range list {
		values[i] = o
	}
	p.put(key, values)
}

// ClientEventOf turns an event of the server into a ClientEvent: what Input makes comes back as
// it was, and what stood in one of its places before, or was put there by another sender, comes back as
// the field whose place it is: a tool's metadata.tool_name as FunctionName. A parent that is the session is
// none, what is empty is nil, outputs that are no object stand under "result".
//
// Config other than a model's settings, feedback and child ids have no place in a ClientEvent and
// are left behind. Events of type session and generic are none, which is an error.
func ClientEventOf(e *Event) (ClientEvent, error) {
	if !slices.Contains([]string{EventModel, EventTool, EventChain}, e.EventType) {
		return ClientEvent{}, fmt.Errorf("event_type: must be one of model, tool, chain, not %q", e.EventType)
	}
	out := ClientEvent{
		EventID: e.EventID, SessionID: e.SessionID, EventType: e.EventType, EventName: e.EventName,
		StartTime: Timestamp{Time(e.StartTime)}, EndTime: Timestamp{Time(e.EndTime)}, DurationMS: &e.Duration,
		Inputs: filled(e.Inputs), UserProperties: filled(e.UserProperties), Project: e.Project, Source: e.Source,
	}
	if e.ParentID != "" && e.ParentID != e.SessionID {
		out.ParentID = &e.ParentID
	}
	metadata, metrics, config := maps.Clone(e.Metadata), maps.Clone(e.Metrics), maps.Clone(e.Config)
	var outputs Object
	switch o := e.Outputs.(type) {
	case nil:
	case Object:
		outputs = maps.Clone(o)
	default:
		outputs = Object{keyReturnValue: o}
	}
	out.readFailure(e.Error, metadata)
	_, judges := uuid.Parse(textAt(metadata, keyEvaluationTarget))
	if name := textAt(metadata, keyEvaluator); name != "" && judges == nil {
		delete(metadata, keyEvaluator)
		out.Evaluation = &Evaluation{
			EvaluatorName:    name,
			TargetEventID:    take[string](metadata, keyEvaluationTarget),
			EvaluatorVersion: take[string](metadata, keyEvaluatorVersion),
			Explanation:      take[string](metadata, keyEvaluationText),
			Criteria:         take[Object](metadata, keyEvaluationRule),
			Score:            take[any](metrics, name),
		}
	} else if name := take[string](config, keyModel); name != "" && e.EventType == EventModel {
		out.ModelCall = &ModelCall{
			Model: name, Provider: take[string](config, keyProvider), PromptTemplate: take[string](config, keyPromptTemplate),
			PromptVariables: take[Object](config, keyPromptVariables), ResponseFormat: take[string](config, keyResponseFormat),
			Tools: takeObjects(config, keyTools), ToolCalls: takeObjects(outputs, keyToolCalls),
		}
	} else if name := nameOfTool(e, metadata); name != "" {
		out.ToolCall = &ToolCall{
			FunctionName: name, FunctionDescription: take[string](metadata, keyToolDescription),
			Parameters: take[Object](metadata, keyToolSchema), ReturnValue: take[any](outputs, keyReturnValue),
		}
	}
	out.Metadata, out.Metrics, out.Outputs = filled(metadata), filled(metrics), filled(outputs)
	return out, nil
}

// readFailure reads status and error.
func (e *ClientEvent) readFailure(text string, metadata Object) {
	if text != "" { // or it is not by us that a status stands there
		status, _ := metadata[keyStatus].(string)
		if slices.Contains([]string{StatusSuccess, StatusError, StatusCancelled, StatusTimeout}, status) {
			delete(metadata, keyStatus)
			e.Status = status
		}
		f := &Failure{Message: text, Type: take[string](metadata, keyErrorType), Code: take[string](metadata, keyErrorCode),
			Traceback: take[string](metadata, keyErrorTraceback), Context: take[Object](metadata, keyErrorContext)}
		message, own := metadata[keyErrorMessage].(string)
		if own {
			delete(metadata, keyErrorMessage)
			f.Message = message
		}
		if own || text != e.Status || f.Type+f.Code+f.Traceback != "" || f.Context != nil {
			e.Error = f
		}
	}
	e.Status = or(e.Status, e.impliedStatus())
}

// nameOfTool takes the name of a tool's function.
func nameOfTool(e *Event, metadata Object) string {
	if e.EventType != EventTool {
		return ""
	}
	return take[string](metadata, keyToolName)
}

func textAt(o Object, key string) string {
	text, _ := o[key].(string)
	return text
}

// take takes a member out of an object if it is of the type.
func take[T any](from Object, key string) T {
	v, ok := from[key].(T)
	if ok {
		delete(from, key)
	}
	return v
}

// takeObjects takes an array out of an object if all its elements are objects.
func takeObjects(from Object, key string) []Object {
	values, _ := from[key].([]any)
	var list []Object
	for _, v := range values {
		o, ok := v.(Object)
		if !ok {
			return nil
		}
		list = append(list, o)
	}
	if list != nil {
		delete(from, key)
	}
	return list
}

// filled returns an object, or nil if it is empty.
func filled(o Object) Object {
	if len(o) == 0 {
		return nil
	}
	return o
}
