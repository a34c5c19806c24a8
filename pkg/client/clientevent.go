package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// ClientEvent is an event as client libraries build, log and hand it on: with ISO 8601 times, a
// status, a structured error, and the fields of a model's call, a tool's call or an evaluation
// next to the others in the same JSON object. Input and ClientEventOf turn it into the server's
// event and back.
//
// As JSON an object that is empty is left out.
type ClientEvent struct {
	EventID        string    `json:"event_id"`
	SessionID      string    `json:"session_id"`
	ParentID       *string   `json:"parent_id"`  // nil at the root, directly below the session
	EventType      string    `json:"event_type"` // EventModel, EventTool or EventChain
	EventName      string    `json:"event_name"`
	StartTime      Timestamp `json:"start_time"`
	EndTime        Timestamp `json:"end_time,omitzero"`
	DurationMS     *float64  `json:"duration_ms,omitempty"` // end less start
	Status         string    `json:"status"`
	Inputs         Object    `json:"inputs,omitempty"`
	Outputs        Object    `json:"outputs,omitempty"`
	Metadata       Object    `json:"metadata,omitempty"`
	Metrics        Object    `json:"metrics,omitempty"` // numbers
	UserProperties Object    `json:"user_properties,omitempty"`
	Error          *Failure  `json:"error,omitempty"`
	Project        string    `json:"project"`
	Source         string    `json:"source"`

	// At most one of these; of an event of that type, but that an Evaluation may be of any.
	*ModelCall
	*ToolCall
	*Evaluation
}

// The statuses of a ClientEvent.
const (
	StatusSuccess   = "success"
	StatusError     = "error"
	StatusCancelled = "cancelled"
	StatusTimeout   = "timeout"
)

// Failure is what went wrong in an event.
type Failure struct {
	Type      string `json:"type,omitempty"` // such as ValueError
	Message   string `json:"message"`
	Code      string `json:"code,omitempty"`
	Traceback string `json:"traceback,omitempty"`
	Context   Object `json:"context,omitempty"`
}

// UnmarshalJSON reads a code that is a number, too, as its digits.
func (f *Failure) UnmarshalJSON(text []byte) error {
	type plain Failure
	read := struct {
		*plain
		Code any `json:"code"`
	}{plain: (*plain)(f)}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&read); err != nil {
		return err
	}
	switch code := read.Code.(type) {
	case nil:
	case string:
		f.Code = code
	case json.Number:
		f.Code = code.String()
	default:
		return fmt.Errorf("code: must be a string or a number")
	}
	return nil
}

// ModelCall is what a model's event has besides.
type ModelCall struct {
	Model           string   `json:"model"`
	Provider        string   `json:"provider"`
	PromptTemplate  string   `json:"prompt_template,omitempty"`
	PromptVariables Object   `json:"prompt_variables,omitempty"`
	ResponseFormat  string   `json:"response_format,omitempty"` // text, json or function_call
	Tools           []Object `json:"tools,omitempty"`
	ToolCalls       []Object `json:"tool_calls,omitempty"`
}

// ToolCall is what a tool's event has besides.
type ToolCall struct {
	FunctionName        string `json:"function_name"`
	FunctionDescription string `json:"function_description,omitempty"`
	Parameters          Object `json:"parameters,omitempty"` // JSON Schema
	ReturnValue         any    `json:"return_value,omitempty"`
}

// Evaluation is what the event of an evaluator has besides.
type Evaluation struct {
	EvaluatorName    string `json:"evaluator_name"`
	TargetEventID    string `json:"target_event_id"` // the event that was judged
	EvaluatorVersion string `json:"evaluator_version,omitempty"`
	Score            any    `json:"score,omitempty"` // a number or a boolean
	Explanation      string `json:"explanation,omitempty"`
	Criteria         Object `json:"criteria,omitempty"`
}

// UnmarshalJSON keeps numbers digit for digit.
func (e *ClientEvent) UnmarshalJSON(text []byte) error {
	type plain ClientEvent
	*e = ClientEvent{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode((*plain)(e))
}

// Timestamp is a time as YYYY-MM-DDTHH:MM:SS.ffffffZ in JSON: in UTC, with six digits of a
// second's fraction; more of them are cut off.
type Timestamp struct{ time.Time }

const timestamp = "2006-01-02T15:04:05.000000Z"

// MarshalJSON fails for years that do not have four digits.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	u := t.UTC()
	if u.Year() < 0 || u.Year() > 9999 {
		return nil, fmt.Errorf("the year %d does not have four digits", u.Year())
	}
	return []byte(u.Format(`"` + timestamp + `"`)), nil
}

// UnmarshalJSON also reads times of other zones and with other fractions, as RFC 3339 has them.
// null is the zero time.
func (t *Timestamp) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*t = Timestamp{}
		return nil
	}
	parsed, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(text))
	if err != nil {
		return fmt.Errorf("%.60s is not a time such as 2026-05-01T12:00:00.123456Z", text)
	}
	*t = Timestamp{parsed.UTC().Truncate(time.Microsecond)}
	return nil
}

// Complete fills in what the event's maker may leave out: ids (UUIDs of version 4), the start, the
// end and duration, and the status. End and duration follow from each other; without both, the
// event ended now.
func (e *ClientEvent) Complete(now time.Time) {
	e.EventID = or(e.EventID, uuid.NewString())
	e.SessionID = or(e.SessionID, uuid.NewString())
	if e.StartTime.IsZero() {
		e.StartTime = Timestamp{now.UTC().Truncate(time.Microsecond)}
	}
	if e.EndTime.IsZero() && e.DurationMS == nil {
		e.EndTime = Timestamp{now.UTC().Truncate(time.Microsecond)}
		if e.EndTime.Before(e.StartTime.Time) {
			e.EndTime = e.StartTime
		}
	}
	switch {
	case e.EndTime.IsZero():
		e.EndTime = Timestamp{Time(Millis(e.StartTime.Time) + *e.DurationMS)}
	case e.DurationMS == nil:
		e.DurationMS = Ptr(Millis(e.EndTime.Time) - Millis(e.StartTime.Time))
	}
	if e.Status == "" {
		e.Status = e.impliedStatus()
	}
}

func (e *ClientEvent) impliedStatus() string {
	if e.Error != nil {
		return StatusError
	}
	return StatusSuccess
}

// Validate names the first field that breaks a rule.
func (e *ClientEvent) Validate() error {
	wrong := func(field, format string, args ...any) error {
		return fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...))
	}
	ids := []struct{ field, id string }{{"event_id", e.EventID}, {"session_id", e.SessionID}}
	if e.ParentID != nil {
		ids = append(ids, struct{ field, id string }{"parent_id", *e.ParentID})
	}
	required := []struct{ field, text string }{{"event_name", e.EventName}, {"project", e.Project}, {"source", e.Source}}
	parts := 0
	if m := e.ModelCall; m != nil {
		parts++
		required = append(required, struct{ field, text string }{"model", m.Model}, struct{ field, text string }{"provider", m.Provider})
		if !slices.Contains([]string{"", "text", "json", "function_call"}, m.ResponseFormat) {
			return wrong("response_format", "must be one of text, json, function_call, not %q", m.ResponseFormat)
		}
		if e.EventType != EventModel {
			return wrong("event_type", "must be model, since the event has a model")
		}
	}
	if f := e.ToolCall; f != nil {
		parts++
		required = append(required, struct{ field, text string }{"function_name", f.FunctionName})
		if e.EventType != EventTool {
			return wrong("event_type", "must be tool, since the event has a function")
		}
	}
	if v := e.Evaluation; v != nil {
		parts++
		required = append(required, struct{ field, text string }{"evaluator_name", v.EvaluatorName})
		ids = append(ids, struct{ field, id string }{"target_event_id", v.TargetEventID})
		if _, isNumber := Float(v.Score); v.Score != nil && !isNumber {
			if _, isBool := v.Score.(bool); !isBool {
				return wrong("score", "must be a number or a boolean")
			}
		}
	}
	if parts > 1 {
		return wrong("event_type", "an event is one of a model's call, a tool's call and an evaluation")
	}
	if !slices.Contains([]string{EventModel, EventTool, EventChain}, e.EventType) {
		return wrong("event_type", "must be one of model, tool, chain, not %q", e.EventType)
	}
	for _, f := range ids {
		if _, err := uuid.Parse(f.id); err != nil {
			return wrong(f.field, "%q is not a UUID", f.id)
		}
	}
	for _, f := range required {
		if f.text == "" {
			return wrong(f.field, "is required")
		}
	}
	if e.StartTime.IsZero() {
		return wrong("start_time", "is required")
	}
	if !slices.Contains([]string{StatusSuccess, StatusError, StatusCancelled, StatusTimeout}, e.Status) {
		return wrong("status", "must be one of success, error, cancelled, timeout, not %q", e.Status)
	}
	for name, v := range e.Metrics {
		if _, ok := Float(v); !ok {
			return wrong("metrics."+name, "must be a number")
		}
	}
	return nil
}

// ClientBatch is an envelope of events.
type ClientBatch struct {
	BatchID  string        `json:"batch_id"`
	Project  string        `json:"project"`
	Events   []ClientEvent `json:"events"`
	Metadata BatchMetadata `json:"metadata"`
}

// BatchMetadata describes a ClientBatch.
type BatchMetadata struct {
	BatchSize int       `json:"batch_size"`
	CreatedAt Timestamp `json:"created_at"`
}

// NewClientBatch puts events into an envelope.
func NewClientBatch(project string, events []ClientEvent, now time.Time) ClientBatch {
	return ClientBatch{
		BatchID: uuid.NewString(), Project: project, Events: events,
		Metadata: BatchMetadata{BatchSize: len(events), CreatedAt: Timestamp{now.UTC().Truncate(time.Microsecond)}},
	}
}

// Batch returns what Events.CreateBatch takes. The envelope's own id and time are not stored.
func (b *ClientBatch) Batch() (Batch, error) {
	if b.Metadata.BatchSize != len(b.Events) {
		return Batch{}, fmt.Errorf("metadata.batch_size: is %d, and there are %d events", b.Metadata.BatchSize, len(b.Events))
	}
	out := Batch{Events: make([]EventInput, len(b.Events))}
	for i := range b.Events {
		var err error
		if out.Events[i], err = b.Events[i].Input(); err != nil {
			return Batch{}, fmt.Errorf("events[%d].%w", i, err)
		}
	}
	return out, nil
}
