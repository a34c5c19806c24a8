package llm

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"

	"github.com/sashabaranov/go-openai"
)

// openaiClient speaks OpenAI's API for chat completions, which most other providers and servers
// of local models speak as well.
type openaiClient struct{ api *openai.Client }

// newOpenAI returns a client. The base URL has the version of the API.
func newOpenAI(cfg Provider, c *http.Client) *openaiClient {
	config := openai.DefaultConfig(string(cfg.APIKey))
	config.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	config.HTTPClient = c
	return &openaiClient{openai.NewClientWithConfig(config)}
}

// ask implements client.
func (c *openaiClient) ask(ctx context.Context, q request) (r reply, err error) {
	ask := openai.ChatCompletionRequest{
		Model: q.model,
		Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleSystem, Content: q.system},
			{Role: openai.ChatMessageRoleUser, Content: q.prompt},
		},
	}
	if q.olderLimit {
		ask.MaxTokens = q.maxTokens
	} else {
		ask.MaxCompletionTokens = q.maxTokens
	}
	if !q.anyTemperature {
		ask.Temperature = math.SmallestNonzeroFloat32 // 0 would not be sent
	}
	if q.schema != nil {
		ask.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "verdict", Strict: true, Schema: q.schema}}
	}
	a, err := c.api.CreateChatCompletion(ctx, ask)
	switch {
	case errors.Is(err, openai.ErrReasoningSamplingUnsupported), errors.Is(err, openai.ErrReasoningModelLimitationsOther):
		// The client knows of some models what they refuse.
		return r, &statusError{status: http.StatusBadRequest, message: "temperature: " + err.Error()}
	case errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated):
		return r, &statusError{status: http.StatusBadRequest, message: "max_tokens: " + err.Error()}
	case err != nil:
		return r, err
	case len(a.Choices) == 0:
		return r, errors.New("an answer without choices")
	}
	choice := a.Choices[0]
	r = reply{
		text:    choice.Message.Content,
		refusal: choice.Message.Refusal,
		cut:     choice.FinishReason == openai.FinishReasonLength,
		model:   a.Model,
	}
	if r.refusal == "" && choice.FinishReason == openai.FinishReasonContentFilter {
		r.refusal = "its provider's content filter stopped the answer"
	}
	r.usage = openaiUsage(&a.Usage)
	return r, nil
}
