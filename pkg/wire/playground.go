package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/playground"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// playgroundFields and parameterFields are the fields of a request to a model, and of its parameters.
var (
	playgroundFields = []string{"messages", "model", "parameters", "provider", "response_format", "tool_choice", "tools"}
	parameterFields  = []string{"frequency_penalty", "max_tokens", "presence_penalty", "reasoning_effort", "seed", "stop", "temperature", "top_p"}
)

// DecodePlaygroundRun reads a request to a model, checked. It has the form of OpenAI's chat completions, with the settings of
// the model under parameters. Members of messages and tools that are not known are ignored, since clients send messages
// back as providers wrote them; all else that is not known is an error that names the nearest name.
func DecodePlaygroundRun(body []byte) (*playground.Request, error) {
	var r playground.Request
	err := eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "provider":
			r.Provider, err = readText(raw)
		case "model":
			r.Model, err = readText(raw)
		case "messages":
			r.Messages, err = readList(raw, playground.MaxMessages, readMessage)
		case "tools":
			r.Tools, err = readList(raw, playground.MaxTools, readModelTool)
		case "tool_choice":
			r.Choice, err = readChoice(raw)
		case "response_format":
			r.Format, err = readFormat(raw)
		case "parameters":
			r.Parameters, err = readParameters(raw)
		default:
			if !slices.Contains(clientNames, key) {
				return notKnown("field", key, playgroundFields)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &r, r.Validate()
}

// readList reads an array, at most max elements of it.
func readList[T any](raw []byte, max int, read func(raw []byte) (T, error)) (list []T, err error) {
	if rawjson.KindOf(raw) != '[' {
		return nil, wrong("an array", raw)
	}
	for i, v := range rawjson.Array(raw) {
		if i == max {
			return nil, fault.New(fault.Invalid, "must have at most %d elements", max)
		}
		one, err := read(v)
		if err != nil {
			return nil, fault.In(indexed("", i), err)
		}
		list = append(list, one)
	}
	return list, nil
}

func readMessage(raw []byte) (m playground.Message, err error) {
	if raw, err = readObject(raw); err != nil {
		return m, err
	}
	return m, eachOf(raw, func(key string, raw []byte) (err error) {
		switch key {
		case "role":
			m.Role, err = readText(raw)
		case "name":
			m.Name, err = readText(raw)
		case "tool_call_id":
			m.CallID, err = readText(raw)
		case "content":
			if text, ok := rawjson.Text(raw); ok {
				m.Parts = []playground.Part{{Text: text}}
				return nil
			}
			if rawjson.KindOf(raw) != '[' {
				return wrong("a string or an array of parts", raw)
			}
			m.Parts, err = readList(raw, playground.MaxParts, readPart)
		case "tool_calls":
			m.Calls, err = readList(raw, playground.MaxTools, readToolCall)
		}
		return err
	})
}

// readPart reads a part of a message's content: {"type": "text", "text"} or {"type": "image_url", "image_url": {"url", "detail"?}}.
func readPart(raw []byte) (p playground.Part, err error) {
	if raw, err = readObject(raw); err != nil {
		return p, err
	}
	switch kind, _ := rawjson.Text(rawjson.Get(raw, "type")); kind {
	case "text":
		p.Text, err = readText(rawjson.Get(raw, "text"))
		return p, fault.In("text", err)
	case "image_url":
		image := rawjson.Get(raw, "image_url")
		if p.ImageURL, err = readText(rawjson.Get(image, "url")); err != nil || p.ImageURL == "" {
			return p, fault.InvalidField("image_url.url", "is required: the address of an image")
		}
		p.Detail, _ = rawjson.Text(rawjson.Get(image, "detail"))
		return p, nil
	default:
		return p, fault.InvalidField("type", "must be text or image_url, not %.40q", kind)
	}
}

// readToolCall reads {"id", "function": {"name", "arguments"}, "signature"?}.
func readToolCall(raw []byte) (c playground.ToolCall, err error) {
	if raw, err = readObject(raw); err != nil {
		return c, err
	}
	return c, eachOf(raw, func(key string, raw []byte) (err error) {
		switch key {
		case "id":
			c.ID, err = readText(raw)
		case "signature":
			c.Signature, err = readText(raw)
		case "function":
			if raw, err = readObject(raw); err != nil {
				return err
			}
			return eachOf(raw, func(key string, raw []byte) (err error) {
				switch key {
				case "name":
					c.Name, err = readText(raw)
				case "arguments":
					if c.Arguments, err = readText(raw); err != nil && rawjson.KindOf(raw) == '{' {
						c.Arguments, err = string(raw), nil
					}
				}
				return err
			})
		}
		return err
	})
}

// readModelTool reads {"type": "function", "function": {"name", "description"?, "parameters"?, "strict"?}}.
func readModelTool(raw []byte) (t playground.Tool, err error) {
	if raw, err = readObject(raw); err != nil {
		return t, err
	}
	if kind, ok := rawjson.Text(rawjson.Get(raw, "type")); ok && kind != "function" {
		return t, fault.InvalidField("type", "must be function, not %.40q", kind)
	}
	function, err := readObject(rawjson.Get(raw, "function"))
	if err != nil {
		return t, fault.In("function", err)
	}
	return t, fault.In("function", eachOf(function, func(key string, raw []byte) (err error) {
		switch key {
		case "name":
			t.Name, err = readText(raw)
		case "description":
			t.Description, err = readText(raw)
		case "parameters":
			t.Parameters, err = readObject(raw)
			t.Parameters = slices.Clone(t.Parameters) // the body goes before the answer ends
		case "strict":
			t.Strict, err = readBool(raw)
		}
		return err
	}))
}

// readChoice reads "auto", "none", "required", or {"type": "function", "function": {"name"}}.
func readChoice(raw []byte) (playground.Choice, error) {
	if mode, ok := rawjson.Text(raw); ok {
		if mode == playground.ChoiceTool { // which is only for objects
			mode = `"function"`
		}
		return playground.Choice{Mode: mode}, nil
	}
	name, ok := rawjson.Text(rawjson.Path(raw, "function", "name"))
	if !ok {
		return playground.Choice{}, wrong(`auto, none, required, or an object {"type": "function", "function": {"name"}}`, raw)
	}
	return playground.Choice{Mode: playground.ChoiceTool, Tool: name}, nil
}

// readFormat reads {"type", "json_schema"?: {"name", "schema", "strict"?}}.
func readFormat(raw []byte) (f playground.Format, err error) {
	if raw, err = readObject(raw); err != nil {
		return f, err
	}
	if f.Type, err = readText(rawjson.Get(raw, "type")); err != nil {
		return f, fault.In("type", err)
	}
	schema := rawjson.Get(raw, "json_schema")
	f.Name, _ = rawjson.Text(rawjson.Get(schema, "name"))
	f.Schema = slices.Clone(rawjson.Get(schema, "schema"))
	f.Strict = rawjson.KindOf(rawjson.Get(schema, "strict")) == 't'
	return f, nil
}

func readParameters(raw []byte) (p playground.Parameters, err error) {
	if raw, err = readObject(raw); err != nil {
		return p, err
	}
	return p, eachOf(raw, func(key string, raw []byte) (err error) {
		number := func(to **float64) error {
			f, err := readDouble(raw)
			*to = &f
			return err
		}
		whole := func(to **int64) error {
			n, err := readWhole(raw)
			*to = &n
			return err
		}
		switch key {
		case "temperature":
			return number(&p.Temperature)
		case "top_p":
			return number(&p.TopP)
		case "presence_penalty":
			return number(&p.PresencePenalty)
		case "frequency_penalty":
			return number(&p.FrequencyPenalty)
		case "max_tokens":
			return whole(&p.MaxTokens)
		case "seed":
			return whole(&p.Seed)
		case "reasoning_effort":
			p.ReasoningEffort, err = readText(raw)
		case "stop":
			if one, ok := rawjson.Text(raw); ok {
				p.Stop = []string{one}
				return nil
			}
			p.Stop, err = readTexts(raw, playground.MaxStops)
		default:
			return notKnown("parameter", key, parameterFields)
		}
		return err
	})
}

// PlaygroundMessage returns a piece of a model's answer as a server-sent event: delta, usage, done or error.
func PlaygroundMessage(e *playground.Event) string {
	var b rawjson.Builder
	name := "delta"
	switch {
	case e.Delta != nil:
		addDelta(&b, e.Delta)
	case e.Usage != nil:
		name = "usage"
		addUsage(&b, e.Usage)
	case e.Done != nil:
		name = "done"
		d := e.Done
		b.String("provider", d.Provider)
		b.String("model", d.Model)
		b.String("finish_reason", d.Finish)
		if d.Refusal != "" {
			addModelText(&b, "refusal", d.Refusal)
		}
		b.Number("duration", milliseconds(d.Duration))
		b.Number("time_to_first_token", milliseconds(d.FirstToken))
	case e.Error != nil:
		name = "error"
		b.String("failure", e.Error.Kind)
		addModelText(&b, "message", e.Error.Message)
		if e.Error.Status != 0 {
			b.Int("status", int64(e.Error.Status))
		}
		b.Bool("temporary", e.Error.Temporary)
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", name, b.Bytes())
}

func addDelta(b *rawjson.Builder, d *playground.Delta) {
	if d.Text != "" {
		addModelText(b, "text", d.Text)
	}
	if d.Reasoning != "" {
		addModelText(b, "reasoning", d.Reasoning)
	}
	if len(d.Calls) == 0 {
		return
	}
	list := make([]json.RawMessage, len(d.Calls))
	for i := range d.Calls {
		var call, function rawjson.Builder
		c := &d.Calls[i]
		call.Int("index", int64(c.Index))
		if c.ID != "" {
			addModelText(&call, "id", c.ID)
		}
		if c.Name != "" {
			addModelText(&function, "name", c.Name)
		}
		addModelText(&function, "arguments", c.Arguments)
		call.Raw("function", function.Bytes())
		if c.Signature != "" {
			addModelText(&call, "signature", c.Signature)
		}
		list[i] = call.Bytes()
	}
	b.Raw("tool_calls", rawjson.AppendArray(nil, list))
}

func addUsage(b *rawjson.Builder, u *playground.Usage) {
	b.Int("prompt_tokens", u.Prompt)
	b.Int("completion_tokens", u.Completion)
	b.Int("total_tokens", u.Prompt+u.Completion)
	b.Int("cache_read_tokens", u.CacheRead)
	b.Int("cache_write_tokens", u.CacheWrite)
	b.Int("reasoning_tokens", u.Reasoning)
	if u.Priced {
		b.Number("cost", u.USD)
	} else {
		b.Raw("cost", json.RawMessage("null"))
	}
	b.Bool("estimated", u.Estimated)
}

// addModelText adds a text that came from outside, with what no JSON text can hold replaced.
func addModelText(b *rawjson.Builder, key, text string) {
	quoted, _ := rawjson.AppendText(nil, text)
	b.Raw(key, quoted)
}

// milliseconds returns a time in milliseconds, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
