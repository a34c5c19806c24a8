// Package playground has what people ask models when they try a prompt, and what comes back piece by piece. It knows the
// rules of a request and does no I/O.
package playground

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of a request.
const (
	MaxBytes     = 8 << 20 // of all texts and images together
	MaxMessages  = 1000
	MaxParts     = 100 // of one message
	MaxTools     = 128 // also calls of one message
	MaxName      = 200 // characters, of providers, models and tools
	MaxStops     = 16
	MaxTokens    = 32768 // that may be asked for; providers of the server may allow more
	maxReasoning = 20    // bytes of a reasoning effort
)

// The roles of messages. Developer is another name of System, which newer models have.
const (
	System    = "system"
	Developer = "developer"
	User      = "user"
	Assistant = "assistant"
	ToolRole  = "tool"
)

var roles = []string{System, Developer, User, Assistant, ToolRole}

// Request is one question to a model, in no API's terms.
type Request struct {
	Provider string // empty: the default one
	Model    string // empty: the provider's
	Messages []Message
	Tools    []Tool
	Choice   Choice
	Parameters
	Format Format
}

// Message is one message of a conversation.
type Message struct {
	Role   string
	Parts  []Part
	Name   string     // of who speaks, which some APIs show the model
	Calls  []ToolCall // of the assistant
	CallID string     // of the call whose result a message of a tool is
}

// Text returns the texts of the message's parts, joined.
func (m *Message) Text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Part is a text or an image.
type Part struct {
	Text     string
	ImageURL string // https: or data:; empty: it is a text
	Detail   string // of an image: auto, low, high or empty
}

// ToolCall is a call of a tool that a model asks for.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON, as the model wrote it
	Signature string // what a provider wants back with the call, as it came; mostly empty
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema; nil: the tool takes nothing
	Strict      bool
}

// The modes of a Choice.
const (
	ChoiceAuto     = "auto"
	ChoiceNone     = "none"
	ChoiceRequired = "required"
	ChoiceTool     = "function"
)

// Choice says whether the model calls tools. The zero Choice leaves it to the model.
type Choice struct {
	Mode string
	Tool string // of ChoiceTool
}

// Parameters are the settings of a model; nil leaves one to the provider.
type Parameters struct {
	Temperature      *float64
	TopP             *float64
	MaxTokens        *int64
	Stop             []string
	Seed             *int64
	PresencePenalty  *float64
	FrequencyPenalty *float64
	ReasoningEffort  string
}

// The forms of an answer.
const (
	FormatText   = "text"
	FormatObject = "json_object"
	FormatSchema = "json_schema"
)

// Format is the form that an answer must have. The zero Format is text.
type Format struct {
	Type   string
	Name   string          // of the schema
	Schema json.RawMessage // of FormatSchema
	Strict bool
}

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (r *Request) Validate() error {
	switch {
	case tooLong(r.Provider):
		return fault.InvalidField("provider", "must be at most %d characters", MaxName)
	case tooLong(r.Model):
		return fault.InvalidField("model", "must be at most %d characters", MaxName)
	case len(r.Messages) == 0:
		return fault.InvalidField("messages", "is required: at least one message")
	case len(r.Messages) > MaxMessages:
		return fault.InvalidField("messages", "must be at most %d messages", MaxMessages)
	case len(r.Tools) > MaxTools:
		return fault.InvalidField("tools", "must be at most %d tools", MaxTools)
	}
	calls := map[string]bool{}
	for i := range r.Messages {
		if err := r.Messages[i].validate(calls); err != nil {
			return fault.In(fmt.Sprintf("messages[%d]", i), err)
		}
	}
	for i := range r.Tools {
		if err := r.Tools[i].validate(); err != nil {
			return fault.In(fmt.Sprintf("tools[%d]", i), err)
		}
	}
	if n := r.Bytes(); n > MaxBytes {
		return fault.New(fault.TooLarge, "messages and tools must be at most %d bytes together, not %d", MaxBytes, n)
	}
	if err := r.checkChoice(); err != nil {
		return fault.In("tool_choice", err)
	}
	if err := r.Format.validate(); err != nil {
		return fault.In("response_format", err)
	}
	return fault.In("parameters", r.Parameters.validate())
}

// Bytes returns the size of what the model has to read.
func (r *Request) Bytes() (n int) {
	for _, m := range r.Messages {
		n += len(m.Role) + len(m.Name) + len(m.CallID)
		for _, p := range m.Parts {
			n += len(p.Text) + len(p.ImageURL)
		}
		for _, c := range m.Calls {
			n += len(c.ID) + len(c.Name) + len(c.Arguments) + len(c.Signature)
		}
	}
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return n + len(r.Format.Schema)
}

// validate checks a message. calls are the ids of the calls before it, to which it adds its own.
func (m *Message) validate(calls map[string]bool) error {
	switch {
	case m.Role == "":
		return fault.InvalidField("role", "is required")
	case !slices.Contains(roles, m.Role):
		return fault.InvalidField("role", "must be one of %s, not %.40q", strings.Join(roles, ", "), m.Role)
	case len(m.Parts) > MaxParts:
		return fault.InvalidField("content", "must be at most %d parts", MaxParts)
	case len(m.Calls) > MaxTools:
		return fault.InvalidField("tool_calls", "must be at most %d calls", MaxTools)
	case len(m.Calls) > 0 && m.Role != Assistant:
		return fault.InvalidField("tool_calls", "only messages of the assistant have calls")
	case m.Role == ToolRole && m.CallID == "":
		return fault.InvalidField("tool_call_id", "is required: the id of the call whose result this is")
	case m.Role == ToolRole && !calls[m.CallID]:
		return fault.InvalidField("tool_call_id", "no message before has a call %.40q", m.CallID)
	case len(m.Calls) == 0 && !slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Text != "" || p.ImageURL != "" }):
		return fault.InvalidField("content", "is required, and must not be empty")
	}
	for i, p := range m.Parts {
		if err := p.validate(m.Role); err != nil {
			return fault.In(fmt.Sprintf("content[%d]", i), err)
		}
	}
	for i, c := range m.Calls {
		switch {
		case c.ID == "":
			return fault.InvalidField(fmt.Sprintf("tool_calls[%d].id", i), "is required")
		case c.Name == "":
			return fault.InvalidField(fmt.Sprintf("tool_calls[%d].function.name", i), "is required")
		}
		calls[c.ID] = true
	}
	return nil
}

func (p *Part) validate(role string) error {
	scheme, _, _ := strings.Cut(p.ImageURL, ":")
	switch {
	case p.ImageURL == "":
		return nil
	case role != User:
		return fault.InvalidField("type", "only messages of the user have images")
	case scheme != "https" && scheme != "data":
		return fault.InvalidField("image_url.url", "must begin with https: or data:")
	case p.Detail != "" && p.Detail != "auto" && p.Detail != "low" && p.Detail != "high":
		return fault.InvalidField("image_url.detail", "must be one of auto, low, high, not %.40q", p.Detail)
	}
	return nil
}

func (t *Tool) validate() error {
	switch {
	case t.Name == "":
		return fault.InvalidField("function.name", "is required")
	case tooLong(t.Name):
		return fault.InvalidField("function.name", "must be at most %d characters", MaxName)
	case t.Parameters != nil && rawjson.KindOf(t.Parameters) != '{':
		return fault.InvalidField("function.parameters", "must be an object: a JSON Schema")
	}
	return nil
}

func (r *Request) checkChoice() error {
	switch r.Choice.Mode {
	case "", ChoiceAuto, ChoiceNone:
		return nil
	case ChoiceRequired:
		if len(r.Tools) == 0 {
			return fault.New(fault.Invalid, "required needs tools")
		}
	case ChoiceTool:
		if !slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Name == r.Choice.Tool }) {
			return fault.New(fault.Invalid, "names %.64q; must be one of tools", r.Choice.Tool)
		}
	default:
		return fault.New(fault.Invalid, "must be auto, none, required, or an object that names a function, not %.40q", r.Choice.Mode)
	}
	return nil
}

func (f *Format) validate() error {
	switch f.Type {
	case "", FormatText, FormatObject:
		return nil
	case FormatSchema:
		if rawjson.KindOf(f.Schema) != '{' {
			return fault.InvalidField("json_schema.schema", "is required: an object")
		}
		return nil
	}
	return fault.InvalidField("type", "must be one of text, json_object, json_schema, not %.40q", f.Type)
}

func (p *Parameters) validate() error {
	for _, one := range []struct {
		name     string
		value    *float64
		min, max float64
	}{
		{"temperature", p.Temperature, 0, 2}, {"top_p", p.TopP, 0, 1},
		{"presence_penalty", p.PresencePenalty, -2, 2}, {"frequency_penalty", p.FrequencyPenalty, -2, 2},
	} {
		if one.value != nil && !(*one.value >= one.min && *one.value <= one.max) {
			return fault.InvalidField(one.name, "must be between %g and %g, not %g", one.min, one.max, *one.value)
		}
	}
	switch {
	case p.MaxTokens != nil && (*p.MaxTokens < 1 || *p.MaxTokens > math.MaxInt32):
		return fault.InvalidField("max_tokens", "must be at least 1")
	case len(p.Stop) > MaxStops:
		return fault.InvalidField("stop", "must be at most %d texts", MaxStops)
	case p.Seed != nil && (*p.Seed < math.MinInt32 || *p.Seed > math.MaxInt32):
		return fault.InvalidField("seed", "must be between %d and %d", math.MinInt32, math.MaxInt32)
	case len(p.ReasoningEffort) > maxReasoning:
		return fault.InvalidField("reasoning_effort", "must be at most %d bytes", maxReasoning)
	}
	return nil
}

func tooLong(s string) bool { return utf8.RuneCountInString(s) > MaxName }
