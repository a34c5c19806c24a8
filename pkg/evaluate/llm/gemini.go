package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/genai"
)

// geminiClient speaks the Gemini API.
type geminiClient struct{ models *genai.Models }

// newGemini returns a client. It needs a key: without one the library would take Google's from the
// environment, wherever the endpoint is.
func newGemini(cfg Provider, c *http.Client) (*geminiClient, error) {
	if cfg.APIKey == "" {
		return nil, errors.New("api_key: is required for the type gemini")
	}
	api, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: string(cfg.APIKey), Backend: genai.BackendGeminiAPI, HTTPClient: c,
		HTTPOptions: genai.HTTPOptions{
			BaseURL:    strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1beta") + "/",
			APIVersion: "v1beta",
		},
	})
	if err != nil {
		return nil, fmt.Errorf("type gemini: %w", err)
	}
	return &geminiClient{api.Models}, nil
}

// geminiRefusals are the reasons to end that are none of the model's work.
var geminiRefusals = map[genai.FinishReason]bool{
	genai.FinishReasonSafety: true, genai.FinishReasonRecitation: true, genai.FinishReasonBlocklist: true,
	genai.FinishReasonProhibitedContent: true, genai.FinishReasonSPII: true,
}

// ask implements client. What the model thought is left out of the answer, but counts as completion, as it is paid for.
func (c *geminiClient) ask(ctx context.Context, q request) (r reply, err error) {
	config := &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText(q.system, genai.RoleUser),
		MaxOutputTokens:   int32(min(q.maxTokens, 1<<30)),
	}
	if !q.anyTemperature {
		config.Temperature = new(float32)
	}
	if q.schema != nil {
		config.ResponseMIMEType, config.ResponseJsonSchema = "application/json", q.schema
	}
	a, err := c.models.GenerateContent(ctx, q.model, genai.Text(q.prompt), config)
	if err != nil {
		return r, err
	}
	r.model = a.ModelVersion
	if a.UsageMetadata != nil {
		r.usage = geminiUsage(a.UsageMetadata)
	}
	// The API refuses a prompt and an answer in different places.
	if f := a.PromptFeedback; f != nil && f.BlockReason != "" {
		r.refusal = fmt.Sprintf("the prompt was blocked, %s %s", f.BlockReason, f.BlockReasonMessage)
		return r, nil
	}
	if len(a.Candidates) == 0 {
		return r, errors.New("an answer without candidates")
	}
	chosen := a.Candidates[0]
	if geminiRefusals[chosen.FinishReason] {
		r.refusal = fmt.Sprintf("the answer was stopped, %s %s", chosen.FinishReason, chosen.FinishMessage)
		return r, nil
	}
	r.cut = chosen.FinishReason == genai.FinishReasonMaxTokens
	if chosen.Content != nil {
		for _, part := range chosen.Content.Parts {
			if !part.Thought {
				r.text += part.Text
			}
		}
	}
	return r, nil
}
