package llm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/playground"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// The parts of the Messages API that conversations of people need in addition to those of judges.
type (
	anthropicChat struct {
		Model       string          `json:"model"`
		MaxTokens   int             `json:"max_tokens"`
		Stream      bool            `json:"stream"`
		System      string          `json:"system,omitempty"`
		Messages    []anthropicTurn `json:"messages"`
		Temperature *float64        `json:"temperature,omitempty"`
		TopP        *float64        `json:"top_p,omitempty"`
		Stop        []string        `json:"stop_sequences,omitempty"`
		Tools       []anthropicTool `json:"tools,omitempty"`
		ToolChoice  map[string]any  `json:"tool_choice,omitempty"`
	}
	anthropicTurn struct {
		Role    string           `json:"role"`
		Content []map[string]any `json:"content"`
	}
)

// anthropicEvent is a piece of a streamed answer.
type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Model string         `json:"model"`
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	Block struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Text  string          `json:"text"`
		Input json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		Thinking   string `json:"thinking"`
		Partial    string `json:"partial_json"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

// anthropicFinish has our words for why an answer ended.
var anthropicFinish = map[string]string{
	"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls", "refusal": "content_filter",
}

// fits implements client.
func (c *anthropicClient) fits(q *playground.Request) error {
	const api = "Anthropic's API"
	switch {
	case q.Seed != nil:
		return unknownParameter("parameters.seed", api)
	case q.PresencePenalty != nil:
		return unknownParameter("parameters.presence_penalty", api)
	case q.FrequencyPenalty != nil:
		return unknownParameter("parameters.frequency_penalty", api)
	case q.ReasoningEffort != "":
		return unknownParameter("parameters.reasoning_effort", api)
	case q.Format.Type != "" && q.Format.Type != playground.FormatText:
		return fault.InvalidField("response_format.type", "must be text for %s; have it call a tool instead (tools, tool_choice)", api)
	}
	return checkArguments(q)
}

// checkArguments returns an error if the arguments of a call are not an object, as some APIs need them.
func checkArguments(q *playground.Request) error {
	for i := range q.Messages {
		for k, call := range q.Messages[i].Calls {
			raw, _, err := rawjson.Clean([]byte(orElse(call.Arguments, "{}")))
			if err != nil || rawjson.KindOf(raw) != '{' {
				return fault.InvalidField(fmt.Sprintf("messages[%d].tool_calls[%d].function.arguments", i, k), "must be a JSON object")
			}
		}
	}
	return nil
}

// stream implements client.
func (c *anthropicClient) stream(ctx context.Context, q request) (r reply, err error) {
	s := anthropicStream{reply: &r, tell: q.tell, calls: map[int]int{}}
	res, err := c.post(ctx, anthropicAsk(&q))
	if err != nil {
		return r, err
	}
	for e, err := range pieces[anthropicEvent](res) {
		if err != nil {
			return r, err
		}
		if e.Type == "message_stop" {
			return r, nil
		}
		if err := s.take(e); err != nil {
			return r, err
		}
	}
	return r, errShort
}

// anthropicStream puts an answer together.
type anthropicStream struct {
	*reply
	tell  func(playground.Delta) error
	calls map[int]int // by index of the block, that of the call
}

func (s *anthropicStream) take(e *anthropicEvent) error {
	switch e.Type {
	case "message_start":
		s.model, s.usage = e.Message.Model, e.Message.Usage.usage()
	case "message_delta":
		s.finish = orElse(anthropicFinish[e.Delta.StopReason], e.Delta.StopReason)
		if e.Delta.StopReason == "refusal" {
			s.refusal = "its provider's safeguards stopped the answer"
		}
		// What the answer has taken so far. Anthropic told of the prompt when it began; others who speak its API do so only now, or tell nothing
		// more here.
		now := e.Usage.usage()
		s.usage.Prompt, s.usage.Completion = max(s.usage.Prompt, now.Prompt), max(s.usage.Completion, now.Completion)
		s.usage.CacheRead, s.usage.CacheWrite = max(s.usage.CacheRead, now.CacheRead), max(s.usage.CacheWrite, now.CacheWrite)
	case "error":
		return errors.New(e.Error.Message)
	case "content_block_start":
		switch e.Block.Type {
		case "tool_use":
			s.calls[e.Index] = len(s.calls)
			return s.call(e.Index, playground.ToolCall{ID: e.Block.ID, Name: e.Block.Name})
		case "text":
			return s.write(playground.Delta{Text: e.Block.Text})
		}
	case "content_block_delta":
		if e.Delta.Type == "input_json_delta" {
			return s.call(e.Index, playground.ToolCall{Arguments: e.Delta.Partial})
		}
		return s.write(playground.Delta{Text: e.Delta.Text, Reasoning: e.Delta.Thinking})
	}
	return nil
}

func (s *anthropicStream) write(d playground.Delta) error {
	if d.Text == "" && d.Reasoning == "" {
		return nil
	}
	return s.tell(d)
}

// call tells more of a call.
func (s *anthropicStream) call(block int, call playground.ToolCall) error {
	index, ok := s.calls[block]
	if !ok {
		return nil // of a tool that the provider runs itself
	}
	return s.tell(playground.Delta{Calls: []playground.CallDelta{{Index: index, ToolCall: call}}})
}

// anthropicAsk returns what a person asks in the API's terms.
func anthropicAsk(q *request) *anthropicChat {
	chat := q.chat
	ask := &anthropicChat{Model: q.model, MaxTokens: q.maxTokens, Stream: true, Temperature: chat.Temperature, TopP: chat.TopP, Stop: chat.Stop}
	var system []string
	for i := range chat.Messages {
		m := &chat.Messages[i]
		if m.Role == playground.System || m.Role == playground.Developer {
			system = append(system, m.Text())
			continue
		}
		role, content := anthropicContent(m)
		if n := len(ask.Messages); n > 0 && ask.Messages[n-1].Role == role { // results of several calls must be in one message
			ask.Messages[n-1].Content = append(ask.Messages[n-1].Content, content...)
			continue
		}
		ask.Messages = append(ask.Messages, anthropicTurn{role, content})
	}
	ask.System = strings.Join(system, "\n\n")
	for _, t := range chat.Tools {
		schema := t.Parameters
		if schema == nil {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		ask.Tools = append(ask.Tools, anthropicTool{t.Name, t.Description, schema})
	}
	switch chat.Choice.Mode {
	case playground.ChoiceRequired:
		ask.ToolChoice = map[string]any{"type": "any"}
	case playground.ChoiceTool:
		ask.ToolChoice = map[string]any{"type": "tool", "name": chat.Choice.Tool}
	case playground.ChoiceAuto, playground.ChoiceNone:
		if len(ask.Tools) > 0 {
			ask.ToolChoice = map[string]any{"type": chat.Choice.Mode}
		}
	}
	return ask
}

// anthropicContent returns the blocks of a message and who speaks; results of tools are the user's.
func anthropicContent(m *playground.Message) (role string, content []map[string]any) {
	if m.Role == playground.ToolRole {
		return playground.User, []map[string]any{{"type": "tool_result", "tool_use_id": m.CallID, "content": m.Text()}}
	}
	for _, part := range m.Parts {
		if part.ImageURL == "" {
			if part.Text != "" {
				content = append(content, map[string]any{"type": "text", "text": part.Text})
			}
			continue
		}
		source := map[string]any{"type": "url", "url": part.ImageURL}
		if kind, data, ok := dataURL(part.ImageURL); ok {
			source = map[string]any{"type": "base64", "media_type": kind, "data": base64.StdEncoding.EncodeToString(data)}
		}
		content = append(content, map[string]any{"type": "image", "source": source})
	}
	for _, call := range m.Calls {
		content = append(content, map[string]any{"type": "tool_use", "id": call.ID, "name": call.Name,
			"input": json.RawMessage(orElse(call.Arguments, "{}"))})
	}
	return m.Role, content
}

// dataURL reads a data: URL in base64, which images have.
func dataURL(address string) (kind string, data []byte, ok bool) {
	rest, ok := strings.CutPrefix(address, "data:")
	if !ok {
		return "", nil, false
	}
	kind, text, ok := strings.Cut(rest, ";base64,")
	if !ok {
		return "", nil, false
	}
	data, err := base64.StdEncoding.DecodeString(text)
	return kind, data, err == nil
}
