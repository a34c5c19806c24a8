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

// geminiFinish has our words for why an answer ended; its other words stand for a filter.
var geminiFinish = map[string]string{geminiStop: "stop", geminiMaxTokens: "length"}

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
	res, err := c.post(ctx, q.model, "streamGenerateContent?alt=sse", geminiAsk(&q))
	if err != nil {
		return r, err
	}
	calls := 0
	for a, err := range pieces[geminiAnswer](res) {
		if err != nil {
			return r, err
		}
		if a.Error != nil {
			return r, errors.New(a.Error.Message)
		}
		r.model = orElse(a.ModelVersion, r.model)
		if a.Usage != nil {
			r.usage = a.Usage.usage()
		}
		if r.refusal = a.blocked(); r.refusal != "" {
			r.finish = "content_filter"
			return r, nil
		}
		if len(a.Candidates) == 0 {
			continue
		}
		chosen := &a.Candidates[0]
		if d, ok := geminiDelta(chosen.Content.Parts, &calls); ok {
			if err := q.tell(d); err != nil {
				return r, err
			}
		}
		switch reason := chosen.FinishReason; {
		case geminiRefusals[reason]:
			r.refusal, r.finish = fmt.Sprintf("the answer was stopped, %s %s", reason, chosen.FinishMessage), "content_filter"
			return r, nil
		case reason == geminiStop && calls > 0:
			r.finish = "tool_calls"
		case reason != "":
			r.finish = orElse(geminiFinish[reason], strings.ToLower(reason))
		}
	}
	if r.finish == "" {
		return r, errShort
	}
	return r, nil
}

// geminiDelta returns what the parts of a piece say. Calls have no id in this API, unless it gives one.
func geminiDelta(parts []geminiPart, calls *int) (d playground.Delta, ok bool) {
	for i := range parts {
		part := &parts[i]
		switch {
		case part.FunctionCall != nil:
			arguments := string(part.FunctionCall.Args)
			if rawjson.KindOf(part.FunctionCall.Args) != '{' {
				arguments = "{}"
			}
			d.Calls = append(d.Calls, playground.CallDelta{Index: *calls, ToolCall: playground.ToolCall{
				ID: orElse(part.FunctionCall.ID, fmt.Sprintf("call_%d", *calls+1)), Name: part.FunctionCall.Name,
				Arguments: arguments, Signature: base64.StdEncoding.EncodeToString(part.ThoughtSignature)}})
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
func geminiAsk(q *request) *geminiRequest {
	chat := q.chat
	ask := &geminiRequest{Generation: geminiGeneration{
		MaxOutputTokens: q.maxTokens, Temperature: chat.Temperature, TopP: chat.TopP, PresencePenalty: chat.PresencePenalty,
		FrequencyPenalty: chat.FrequencyPenalty, Stop: chat.Stop, Seed: chat.Seed,
	}}
	switch chat.Format.Type {
	case playground.FormatObject:
		ask.Generation.MIMEType = "application/json"
	case playground.FormatSchema:
		ask.Generation.MIMEType, ask.Generation.JSONSchema = "application/json", chat.Format.Schema
	}
	geminiAskTools(chat, ask)
	var system []string
	names := map[string]string{} // of called tools, by id of the call
	for i := range chat.Messages {
		m := &chat.Messages[i]
		if m.Role == playground.System || m.Role == playground.Developer {
			system = append(system, m.Text())
			continue
		}
		role, parts := geminiParts(m, names)
		if n := len(ask.Contents); n > 0 && ask.Contents[n-1].Role == role { // results of several calls must be in one message
			ask.Contents[n-1].Parts = append(ask.Contents[n-1].Parts, parts...)
			continue
		}
		ask.Contents = append(ask.Contents, &geminiContent{Role: role, Parts: parts})
	}
	if len(system) > 0 {
		ask.System = geminiSpeech("", strings.Join(system, "\n\n"))
	}
	return ask
}

// geminiAskTools writes which tools the model may call, and whether it must.
func geminiAskTools(chat *playground.Request, ask *geminiRequest) {
	if len(chat.Tools) == 0 {
		return
	}
	var list geminiTools
	for _, t := range chat.Tools {
		list.Functions = append(list.Functions, geminiFunction{t.Name, t.Description, t.Parameters})
	}
	ask.Tools = []geminiTools{list}
	var calling geminiCalling
	switch chat.Choice.Mode {
	case "":
		return
	case playground.ChoiceNone:
		calling.Mode = "NONE"
	case playground.ChoiceRequired:
		calling.Mode = "ANY"
	case playground.ChoiceTool:
		calling.Mode, calling.Allowed = "ANY", []string{chat.Choice.Tool}
	default:
		calling.Mode = "AUTO"
	}
	ask.ToolConfig = &geminiToolConfig{calling}
}

// geminiParts returns the parts of a message and who speaks; results of tools are the user's. names are the tools of calls.
func geminiParts(m *playground.Message, names map[string]string) (role string, parts []geminiPart) {
	if m.Role == playground.ToolRole {
		result := json.RawMessage(m.Text())
		if !json.Valid(result) || rawjson.KindOf(result) != '{' { // the API takes objects only
			result, _ = json.Marshal(map[string]string{"output": m.Text()})
		}
		return geminiUser, []geminiPart{{FunctionResponse: &geminiResponse{names[m.CallID], result}}}
	}
	role = geminiUser
	if m.Role == playground.Assistant {
		role = geminiModel
	}
	for _, part := range m.Parts {
		if kind, data, ok := dataURL(part.ImageURL); ok {
			parts = append(parts, geminiPart{InlineData: &geminiBlob{kind, data}})
		} else if part.Text != "" {
			parts = append(parts, geminiPart{Text: part.Text})
		}
	}
	for _, call := range m.Calls {
		signature, _ := base64.StdEncoding.DecodeString(call.Signature)
		names[call.ID] = call.Name
		parts = append(parts, geminiPart{ThoughtSignature: signature,
			FunctionCall: &geminiCall{Name: call.Name, Args: json.RawMessage(orElse(call.Arguments, "{}"))}}) // fits has checked them
	}
	return role, parts
}
