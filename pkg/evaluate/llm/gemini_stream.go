package llm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/playground"
	"github.com/spangrove/spangrove/pkg/price"
)

// geminiFinish has our words for why an answer ended; its other words stand for a filter.
var geminiFinish = map[genai.FinishReason]string{genai.FinishReasonStop: "stop", genai.FinishReasonMaxTokens: "length"}

// fits implements client.
func (c *geminiClient) fits(q *playground.Request) error {
	if q.ReasoningEffort != "" {
		return unknownParameter("parameters.reasoning_effort", "Gemini's API")
	}
	for i := range q.Messages {
		for k, part := range q.Messages[i].Parts {
			if _, _, ok := dataURL(part.ImageURL); part.ImageURL != "" && !ok {
				return fault.InvalidField(fmt.Sprintf("messages[%d].content[%d].image_url.url", i, k), "must be a data: URL in base64 for Gemini's API")
			}
		}
	}
	return checkArguments(q)
}

// stream implements client.
func (c *geminiClient) stream(ctx context.Context, q request) (r reply, err error) {
	contents, config := geminiAsk(&q)
	calls := 0
	for a, err := range c.models.GenerateContentStream(ctx, q.model, contents, config) {
		if err != nil {
			return r, err
		}
		r.model = orElse(a.ModelVersion, r.model)
		if a.UsageMetadata != nil {
			r.usage = geminiUsage(a.UsageMetadata)
		}
		if f := a.PromptFeedback; f != nil && f.BlockReason != "" {
			r.refusal, r.finish = fmt.Sprintf("the prompt was blocked, %s %s", f.BlockReason, f.BlockReasonMessage), "content_filter"
			return r, nil
		}
		if len(a.Candidates) == 0 {
			continue
		}
		chosen := a.Candidates[0]
		if chosen.Content != nil {
			if d, ok := geminiDelta(chosen.Content.Parts, &calls); ok {
				if err := q.tell(d); err != nil {
					return r, err
				}
			}
		}
		switch reason := chosen.FinishReason; {
		case geminiRefusals[reason]:
			r.refusal, r.finish = fmt.Sprintf("the answer was stopped, %s %s", reason, chosen.FinishMessage), "content_filter"
		case reason == genai.FinishReasonStop && calls > 0:
			r.finish = "tool_calls"
		case reason != "":
			r.finish = orElse(geminiFinish[reason], strings.ToLower(string(reason)))
		}
	}
	if r.finish == "" {
		return r, errShort
	}
	return r, nil
}

// geminiDelta returns what the parts of a piece say. Calls have no id in this API, unless it gives one.
func geminiDelta(parts []*genai.Part, calls *int) (d playground.Delta, ok bool) {
	for _, part := range parts {
		switch {
		case part.FunctionCall != nil:
			arguments, err := json.Marshal(part.FunctionCall.Args)
			if err != nil || part.FunctionCall.Args == nil {
				arguments = []byte("{}")
			}
			d.Calls = append(d.Calls, playground.CallDelta{Index: *calls, ToolCall: playground.ToolCall{
				ID: orElse(part.FunctionCall.ID, fmt.Sprintf("call_%d", *calls+1)), Name: part.FunctionCall.Name,
				Arguments: string(arguments), Signature: base64.StdEncoding.EncodeToString(part.ThoughtSignature)}})
			*calls++
		case part.Thought:
			d.Reasoning += part.Text
		default:
			d.Text += part.Text
		}
	}
	return d, d.Text != "" || d.Reasoning != "" || len(d.Calls) > 0
}

// geminiAsk returns what a person asks in the API's terms.
func geminiAsk(q *request) ([]*genai.Content, *genai.GenerateContentConfig) {
	chat := q.chat
	config := &genai.GenerateContentConfig{
		MaxOutputTokens: int32(min(q.maxTokens, 1<<30)), Temperature: geminiNumber(chat.Temperature), TopP: geminiNumber(chat.TopP),
		PresencePenalty: geminiNumber(chat.PresencePenalty), FrequencyPenalty: geminiNumber(chat.FrequencyPenalty), StopSequences: chat.Stop,
	}
	if chat.Seed != nil {
		seed := int32(*chat.Seed)
		config.Seed = &seed
	}
	switch chat.Format.Type {
	case playground.FormatObject:
		config.ResponseMIMEType = "application/json"
	case playground.FormatSchema:
		config.ResponseMIMEType, config.ResponseJsonSchema = "application/json", chat.Format.Schema
	}
	geminiTools(chat, config)
	var system []string
	var contents []*genai.Content
	names := map[string]string{} // of called tools, by id of the call
	for i := range chat.Messages {
		m := &chat.Messages[i]
		if m.Role == playground.System || m.Role == playground.Developer {
			system = append(system, m.Text())
			continue
		}
		role, parts := geminiParts(m, names)
		if n := len(contents); n > 0 && contents[n-1].Role == role { // results of several calls must be in one message
			contents[n-1].Parts = append(contents[n-1].Parts, parts...)
			continue
		}
		contents = append(contents, &genai.Content{Role: role, Parts: parts})
	}
	if len(system) > 0 {
		config.SystemInstruction = genai.NewContentFromText(strings.Join(system, "\n\n"), genai.RoleUser)
	}
	return contents, config
}

func geminiTools(chat *playground.Request, config *genai.GenerateContentConfig) {
	if len(chat.Tools) == 0 {
		return
	}
	list := &genai.Tool{}
	for _, t := range chat.Tools {
		f := &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
		if t.Parameters != nil {
			f.ParametersJsonSchema = t.Parameters
		}
		list.FunctionDeclarations = append(list.FunctionDeclarations, f)
	}
	config.Tools = []*genai.Tool{list}
	calling := &genai.FunctionCallingConfig{}
	switch chat.Choice.Mode {
	case "":
		return
	case playground.ChoiceNone:
		calling.Mode = genai.FunctionCallingConfigModeNone
	case playground.ChoiceRequired:
		calling.Mode = genai.FunctionCallingConfigModeAny
	case playground.ChoiceTool:
		calling.Mode, calling.AllowedFunctionNames = genai.FunctionCallingConfigModeAny, []string{chat.Choice.Tool}
	default:
		calling.Mode = genai.FunctionCallingConfigModeAuto
	}
	config.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: calling}
}

// geminiParts returns the parts of a message and who speaks; results of tools are the user's. names are the tools of calls.
func geminiParts(m *playground.Message, names map[string]string) (role string, parts []*genai.Part) {
	if m.Role == playground.ToolRole {
		var result map[string]any
		if json.Unmarshal([]byte(m.Text()), &result) != nil || result == nil { // the API takes objects only
			result = map[string]any{"output": m.Text()}
		}
		return genai.RoleUser, []*genai.Part{{FunctionResponse: &genai.FunctionResponse{Name: names[m.CallID], Response: result}}}
	}
	role = genai.RoleUser
	if m.Role == playground.Assistant {
		role = genai.RoleModel
	}
	for _, part := range m.Parts {
		if kind, data, ok := dataURL(part.ImageURL); ok {
			parts = append(parts, &genai.Part{InlineData: &genai.Blob{MIMEType: kind, Data: data}})
		} else if part.Text != "" {
			parts = append(parts, &genai.Part{Text: part.Text})
		}
	}
	for _, call := range m.Calls {
		var arguments map[string]any
		_ = json.Unmarshal([]byte(call.Arguments), &arguments) // fits has checked them
		signature, _ := base64.StdEncoding.DecodeString(call.Signature)
		names[call.ID] = call.Name
		parts = append(parts, &genai.Part{FunctionCall: &genai.FunctionCall{Name: call.Name, Args: arguments}, ThoughtSignature: signature})
	}
	return role, parts
}

func geminiNumber(f *float64) *float32 {
	if f == nil {
		return nil
	}
	n := float32(*f)
	return &n
}

// geminiUsage returns the tokens that an answer has taken. What the model thought counts as completion, as it is paid for.
func geminiUsage(u *genai.GenerateContentResponseUsageMetadata) price.Usage {
	return price.Usage{Prompt: int64(u.PromptTokenCount), Completion: int64(u.CandidatesTokenCount) + int64(u.ThoughtsTokenCount),
		CacheRead: int64(u.CachedContentTokenCount), Reasoning: int64(u.ThoughtsTokenCount)}
}
