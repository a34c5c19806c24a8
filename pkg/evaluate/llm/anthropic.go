package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/spangrove/spangrove/pkg/price"
)

// anthropicClient speaks Anthropic's Messages API: one request, written here, since their client
// makes the program 12 MB larger.
type anthropicClient struct {
	url, key string
	http     *http.Client
}

// anthropicVersion is the version of the API that requests and answers are written for.
const anthropicVersion = "2023-06-01"

// newAnthropic returns a client. The base URL may have the version of the API or not.
func newAnthropic(cfg Provider, c *http.Client) *anthropicClient {
	return &anthropicClient{strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1") + "/v1/messages", string(cfg.APIKey), c}
}

// verdictTool is the tool that the model must call where it is told the form of the answer: that
// holds for all models, and its input is the answer.
const verdictTool = "verdict"

// The parts of the API's requests and answers that are used, as of anthropicVersion.
type anthropicMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// anthropicTool is a tool that the model may call; here the one whose input is the answer.
type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// anthropicRequest is the body of a call. What is left out has the API's default.
type anthropicRequest struct {
	Model       string             `json:"model"`
	MaxTokens   int                `json:"max_tokens"`
	System      string             `json:"system"`
	Messages    []anthropicMessage `json:"messages"`
	Temperature *float64           `json:"temperature,omitempty"`
	Tools       []anthropicTool    `json:"tools,omitempty"`
	ToolChoice  map[string]string  `json:"tool_choice,omitempty"`
}

// anthropicAnswer is the body of an answer, as far as it is read.
type anthropicAnswer struct {
	Model   string `json:"model"`
	Content []struct {
		Type  string          `json:"type"` // text, tool_use; others are left out
		Text  string          `json:"text"`
		Input json.RawMessage `json:"input"`
	} `json:"content"`
	StopReason string         `json:"stop_reason"`
	Usage      anthropicUsage `json:"usage"`
}

// anthropicUsage is what an answer has taken.
type anthropicUsage struct {
	Input      int64 `json:"input_tokens"` // without those of the cache
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

// usage returns it as prices count. The API counts cached tokens apart from the prompt; prices count them as part of it.
func (u anthropicUsage) usage() price.Usage {
	return price.Usage{
		Prompt:     u.Input + u.CacheRead + u.CacheWrite,
		Completion: u.Output,
		CacheRead:  u.CacheRead,
		CacheWrite: u.CacheWrite,
	}
}

// post sends a request.
func (c *anthropicClient) post(ctx context.Context, ask any) (*http.Response, error) {
	header := map[string]string{"Anthropic-Version": anthropicVersion}
	if c.key != "" {
		header["X-Api-Key"] = c.key
	}
	return postJSON(ctx, c.http, c.url, ask, header)
}

// ask implements client. Refusals with a status of 400 and more come as an error of c.http.
func (c *anthropicClient) ask(ctx context.Context, q request) (r reply, err error) {
	ask := anthropicRequest{Model: q.model, MaxTokens: q.maxTokens, System: q.system, Messages: []anthropicMessage{{"user", q.prompt}}}
	if !q.anyTemperature {
		ask.Temperature = new(float64)
	}
	// The model must call the tool, and with an input of this schema: the API's way to ask for a form.
	if q.schema != nil {
		ask.Tools = []anthropicTool{{verdictTool, "Gives the verdict: the explanation, then the score.", q.schema}}
		ask.ToolChoice = map[string]string{"type": "tool", "name": verdictTool}
	}
	res, err := c.post(ctx, ask)
	if err != nil {
		return r, err
	}
	var a anthropicAnswer
	if err := readJSON(res, &a); err != nil {
		return r, err
	}
	// The tool's input is JSON, as an answer in text would be; thoughts are left out.
	var text strings.Builder
	for _, part := range a.Content {
		switch part.Type {
		case "text":
			text.WriteString(part.Text)
		case "tool_use":
			text.Write(part.Input)
		}
	}
	if a.StopReason == "" && text.Len() == 0 {
		return r, errors.New("an answer without content")
	}
	r = reply{text: text.String(), cut: a.StopReason == "max_tokens", model: a.Model}
	if a.StopReason == "refusal" {
		r.refusal = "its provider's safeguards stopped the answer"
	}
	r.usage = a.Usage.usage()
	return r, nil
}
