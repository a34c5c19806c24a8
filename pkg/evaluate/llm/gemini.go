package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spangrove/spangrove/pkg/price"
)

// geminiClient speaks the Gemini API, v1beta: its two methods are written here, since Google's client brings a stack for
// signing in that a key does not need, and takes 9 of 250 CPU seconds of compiling all.
type geminiClient struct {
	url, key string // url: to which the path of a model is appended
	http     *http.Client
}

// newGemini returns a client. The base URL may have the version of the API or not.
func newGemini(cfg Provider, c *http.Client) (*geminiClient, error) {
	if cfg.APIKey == "" {
		return nil, errors.New("api_key: is required for the type gemini")
	}
	return &geminiClient{strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1beta") + "/v1beta/", string(cfg.APIKey), c}, nil
}

// The parts of the API's requests and answers that are used, as of v1beta. Bytes are in base64.
type (
	geminiRequest struct {
		Contents   []*geminiContent  `json:"contents"`
		System     *geminiContent    `json:"systemInstruction,omitempty"`
		Generation geminiGeneration  `json:"generationConfig"`
		Tools      []geminiTools     `json:"tools,omitempty"`
		ToolConfig *geminiToolConfig `json:"toolConfig,omitempty"`
	}
	geminiContent struct {
		Role  string       `json:"role,omitempty"`
		Parts []geminiPart `json:"parts"`
	}
	geminiPart struct {
		Text             string          `json:"text,omitempty"`
		Thought          bool            `json:"thought,omitempty"`
		ThoughtSignature []byte          `json:"thoughtSignature,omitempty"`
		InlineData       *geminiBlob     `json:"inlineData,omitempty"`
		FunctionCall     *geminiCall     `json:"functionCall,omitempty"`
		FunctionResponse *geminiResponse `json:"functionResponse,omitempty"`
	}
	geminiBlob struct {
		MIMEType string `json:"mimeType"`
		Data     []byte `json:"data"`
	}
	geminiCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args,omitempty"`
	}
	geminiResponse struct {
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	}
	geminiGeneration struct {
		Temperature      *float64        `json:"temperature,omitempty"`
		TopP             *float64        `json:"topP,omitempty"`
		MaxOutputTokens  int             `json:"maxOutputTokens,omitempty"`
		PresencePenalty  *float64        `json:"presencePenalty,omitempty"`
		FrequencyPenalty *float64        `json:"frequencyPenalty,omitempty"`
		Stop             []string        `json:"stopSequences,omitempty"`
		Seed             *int64          `json:"seed,omitempty"`
		MIMEType         string          `json:"responseMimeType,omitempty"`
		JSONSchema       json.RawMessage `json:"responseJsonSchema,omitempty"`
	}
	geminiTools struct {
		Functions []geminiFunction `json:"functionDeclarations"`
	}
	geminiFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
	}
	geminiToolConfig struct {
		Calling geminiCalling `json:"functionCallingConfig"`
	}
	geminiCalling struct {
		Mode    string   `json:"mode"` // AUTO, ANY or NONE
		Allowed []string `json:"allowedFunctionNames,omitempty"`
	}

	// geminiAnswer is an answer, or a piece of one that is streamed.
	geminiAnswer struct {
		Candidates []struct {
			Content       geminiContent `json:"content"`
			FinishReason  string        `json:"finishReason"`
			FinishMessage string        `json:"finishMessage"`
		} `json:"candidates"`
		PromptFeedback struct {
			BlockReason        string `json:"blockReason"`
			BlockReasonMessage string `json:"blockReasonMessage"`
		} `json:"promptFeedback"`
		ModelVersion string       `json:"modelVersion"`
		Usage        *geminiUsage `json:"usageMetadata"`
		Error        *struct {
			Message string `json:"message"`
		} `json:"error"` // in a stream
	}
	geminiUsage struct {
		Prompt    int64 `json:"promptTokenCount"`
		Candidate int64 `json:"candidatesTokenCount"`
		Thoughts  int64 `json:"thoughtsTokenCount"`
		Cached    int64 `json:"cachedContentTokenCount"`
	}
)

// Who speaks, in the API's words.
const (
	geminiUser  = "user"
	geminiModel = "model"
)

// usage returns the tokens that an answer has taken. What the model thought counts as completion, as it is paid for.
func (u *geminiUsage) usage() price.Usage {
	return price.Usage{Prompt: u.Prompt, Completion: u.Candidate + u.Thoughts, CacheRead: u.Cached, Reasoning: u.Thoughts}
}

// blocked returns why the API refused the prompt, empty if it did not.
func (a *geminiAnswer) blocked() string {
	f := a.PromptFeedback
	if f.BlockReason == "" {
		return ""
	}
	return fmt.Sprintf("the prompt was blocked, %s %s", f.BlockReason, f.BlockReasonMessage)
}

func geminiSpeech(role, text string) *geminiContent {
	return &geminiContent{Role: role, Parts: []geminiPart{{Text: text}}}
}

// The reasons to end that are read. geminiRefusals are those that are none of the model's work.
const (
	geminiStop      = "STOP"
	geminiMaxTokens = "MAX_TOKENS"
)

var geminiRefusals = map[string]bool{"SAFETY": true, "RECITATION": true, "BLOCKLIST": true, "PROHIBITED_CONTENT": true, "SPII": true}

// post sends a request to a method of a model. A model of a user's own has a name that begins with tunedModels/.
func (c *geminiClient) post(ctx context.Context, model, method string, ask *geminiRequest) (*http.Response, error) {
	if !strings.HasPrefix(model, "models/") && !strings.HasPrefix(model, "tunedModels/") {
		model = "models/" + model
	}
	return postJSON(ctx, c.http, c.url+model+":"+method, ask, map[string]string{"X-Goog-Api-Key": c.key})
}

// ask implements client. What the model thought is left out of the answer, but counts as completion, as it is paid for.
func (c *geminiClient) ask(ctx context.Context, q request) (r reply, err error) {
	ask := &geminiRequest{Contents: []*geminiContent{geminiSpeech(geminiUser, q.prompt)}, Generation: geminiGeneration{MaxOutputTokens: q.maxTokens}}
	if q.system != "" {
		ask.System = geminiSpeech("", q.system)
	}
	if !q.anyTemperature {
		ask.Generation.Temperature = new(float64)
	}
	if q.schema != nil {
		ask.Generation.MIMEType, ask.Generation.JSONSchema = "application/json", q.schema
	}
	res, err := c.post(ctx, q.model, "generateContent", ask)
	if err != nil {
		return r, err
	}
	var a geminiAnswer
	if err := readJSON(res, &a); err != nil {
		return r, err
	}
	r.model = a.ModelVersion
	if a.Usage != nil {
		r.usage = a.Usage.usage()
	}
	// The API refuses a prompt and an answer in different places.
	if r.refusal = a.blocked(); r.refusal != "" {
		return r, nil
	}
	if len(a.Candidates) == 0 {
		return r, errors.New("an answer without candidates")
	}
	chosen := &a.Candidates[0]
	if geminiRefusals[chosen.FinishReason] {
		r.refusal = fmt.Sprintf("the answer was stopped, %s %s", chosen.FinishReason, chosen.FinishMessage)
		return r, nil
	}
	r.cut = chosen.FinishReason == geminiMaxTokens
	for i := range chosen.Content.Parts {
		if part := &chosen.Content.Parts[i]; !part.Thought {
			r.text += part.Text
		}
	}
	return r, nil
}
