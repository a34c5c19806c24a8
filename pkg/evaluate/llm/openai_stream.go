package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"

	"github.com/sashabaranov/go-openai"

	"github.com/spangrove/spangrove/pkg/playground"
	"github.com/spangrove/spangrove/pkg/price"
)

// fits implements client: requests have the form of this API, which knows all of them.
func (c *openaiClient) fits(*playground.Request) error { return nil }

// openaiChunk is a piece of a streamed answer. It is read here, since the library leaves out how some others spell what
// their models think.
type openaiChunk struct {
	Model   string `json:"model"`
	Choices []struct {
		Delta struct {
			Content          string            `json:"content"`
			Refusal          string            `json:"refusal"`
			Reasoning        json.RawMessage   `json:"reasoning"`         // OpenRouter, vLLM: a text
			ReasoningContent string            `json:"reasoning_content"` // DeepSeek and others
			ToolCalls        []openai.ToolCall `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *openai.Usage `json:"usage"`
}

// stream implements client.
func (c *openaiClient) stream(ctx context.Context, q request) (r reply, err error) {
	ask, err := c.chatRequest(&q)
	if err != nil {
		return r, err
	}
	s, err := c.api.CreateChatCompletionStream(ctx, ask)
	switch {
	case errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated):
		return r, &statusError{status: 400, message: "max_tokens: " + err.Error()} // so that the other name is learned
	case errors.Is(err, openai.ErrReasoningSamplingUnsupported), errors.Is(err, openai.ErrReasoningModelLimitationsOther),
		errors.Is(err, openai.ErrReasoningEffortUnsupported), errors.Is(err, openai.ErrReasoningToolsRequireResponses):
		return r, refusedByClient(err)
	case err != nil:
		return r, err
	}
	defer func() { _ = s.Close() }()
	if !tellsStream(s.Header()) {
		return r, errors.New("an answer that is not a stream")
	}
	for {
		text, err := s.RecvRaw()
		var inside *openai.APIError
		switch {
		case errors.Is(err, io.EOF) && r.finish == "":
			return r, errShort
		case errors.Is(err, io.EOF):
			return r, nil
		case errors.As(err, &inside):
			return r, errors.New(inside.Message)
		case err != nil:
			return r, err
		}
		var chunk openaiChunk
		if err := readPiece(text, &chunk); err != nil {
			return r, err
		}
		if err := r.addChunk(&chunk, q.tell); err != nil {
			return r, err
		}
	}
}

// addChunk takes in a piece of the answer and tells what is new.
func (r *reply) addChunk(chunk *openaiChunk, tell func(playground.Delta) error) error {
	if chunk.Model != "" {
		r.model = chunk.Model
	}
	if chunk.Usage != nil {
		r.usage = openaiUsage(chunk.Usage)
	}
	if len(chunk.Choices) == 0 {
		return nil
	}
	choice := &chunk.Choices[0]
	if choice.FinishReason != "" {
		r.finish = choice.FinishReason
	}
	r.refusal += choice.Delta.Refusal
	d := playground.Delta{Text: choice.Delta.Content, Reasoning: choice.Delta.ReasoningContent}
	if d.Reasoning == "" && len(choice.Delta.Reasoning) > 0 && choice.Delta.Reasoning[0] == '"' {
		_ = json.Unmarshal(choice.Delta.Reasoning, &d.Reasoning) // another form of it has no text
	}
	for i, call := range choice.Delta.ToolCalls {
		one := playground.CallDelta{Index: i, ToolCall: playground.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments}}
		if call.Index != nil {
			one.Index = *call.Index
		}
		d.Calls = append(d.Calls, one)
	}
	if d.Text == "" && d.Reasoning == "" && len(d.Calls) == 0 {
		return nil
	}
	return tell(d)
}

// chatRequest returns what a person asks in the API's terms.
func (c *openaiClient) chatRequest(q *request) (openai.ChatCompletionRequest, error) {
	chat := q.chat
	ask := openai.ChatCompletionRequest{
		Model: q.model, Stop: chat.Stop, ReasoningEffort: chat.ReasoningEffort,
		Temperature: openaiNumber(chat.Temperature), TopP: openaiNumber(chat.TopP),
		PresencePenalty: openaiNumber(chat.PresencePenalty), FrequencyPenalty: openaiNumber(chat.FrequencyPenalty),
	}
	if q.olderLimit {
		ask.MaxTokens = q.maxTokens
	} else {
		ask.MaxCompletionTokens = q.maxTokens
	}
	if !q.noUsage {
		ask.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	if chat.Seed != nil {
		seed := int(*chat.Seed)
		ask.Seed = &seed
	}
	for i := range chat.Messages {
		ask.Messages = append(ask.Messages, openaiMessage(&chat.Messages[i]))
	}
	for i := range chat.Tools {
		t := &chat.Tools[i]
		f := &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Strict: t.Strict}
		if t.Parameters != nil {
			f.Parameters = t.Parameters
		}
		ask.Tools = append(ask.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: f})
	}
	switch chat.Choice.Mode {
	case "":
	case playground.ChoiceTool:
		ask.ToolChoice = openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: chat.Choice.Tool}}
	default:
		ask.ToolChoice = chat.Choice.Mode
	}
	if chat.Format.Type != "" {
		ask.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatType(chat.Format.Type)}
	}
	if chat.Format.Type == playground.FormatSchema {
		ask.ResponseFormat.JSONSchema = &openai.ChatCompletionResponseFormatJSONSchema{
			Name: orElse(chat.Format.Name, "answer"), Strict: chat.Format.Strict, Schema: chat.Format.Schema}
	}
	return ask, nil
}

// openaiNumber returns a setting as the library sends it: it leaves out 0, which is the provider's default.
func openaiNumber(f *float64) float32 {
	switch {
	case f == nil:
		return 0
	case *f == 0:
		return math.SmallestNonzeroFloat32
	}
	return float32(*f)
}

func openaiMessage(m *playground.Message) openai.ChatCompletionMessage {
	out := openai.ChatCompletionMessage{Role: m.Role, Name: m.Name, ToolCallID: m.CallID}
	for _, call := range m.Calls {
		out.ToolCalls = append(out.ToolCalls, openai.ToolCall{ID: call.ID, Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: call.Name, Arguments: orElse(call.Arguments, "{}")}})
	}
	if len(m.Parts) == 1 && m.Parts[0].ImageURL == "" {
		out.Content = m.Parts[0].Text
		return out
	}
	for _, part := range m.Parts {
		if part.ImageURL != "" {
			out.MultiContent = append(out.MultiContent, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL,
				ImageURL: &openai.ChatMessageImageURL{URL: part.ImageURL, Detail: openai.ImageURLDetail(part.Detail)}})
		} else {
			out.MultiContent = append(out.MultiContent, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: part.Text})
		}
	}
	return out
}

// orElse returns s, or another text if it is empty.
func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// openaiUsage returns the tokens that an answer has taken.
func openaiUsage(u *openai.Usage) price.Usage {
	out := price.Usage{Prompt: int64(u.PromptTokens), Completion: int64(u.CompletionTokens)}
	if d := u.PromptTokensDetails; d != nil {
		out.CacheRead = int64(d.CachedTokens)
	}
	if d := u.CompletionTokensDetails; d != nil {
		out.Reasoning = int64(d.ReasoningTokens)
	}
	return out
}
