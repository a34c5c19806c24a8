package playground

import (
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/fault"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	three, low := 3.0, int64(0)
	say := func(role, text string) Message { return Message{Role: role, Parts: []Part{{Text: text}}} }
	call := Message{Role: Assistant, Calls: []ToolCall{{ID: "c", Name: "f"}}}
	for _, tt := range []struct {
		change func(*Request)
		says   string // empty: it is valid
	}{
		{func(*Request) {}, ""},
		{func(r *Request) {
			r.Messages = append(r.Messages, call, Message{Role: ToolRole, CallID: "c", Parts: []Part{{Text: "1"}}})
		}, ""},
		{func(r *Request) { r.Messages[0].Parts = append(r.Messages[0].Parts, Part{ImageURL: "https://x"}) }, ""},
		{func(r *Request) { r.Tools, r.Choice.Mode = []Tool{{Name: "f"}}, ChoiceRequired }, ""},
		{func(r *Request) { r.Messages = nil }, "messages: is required"},
		{func(r *Request) { r.Messages = make([]Message, MaxMessages+1) }, "messages: must be at most 1000 messages"},
		{func(r *Request) { r.Messages[0].Role = "robot" }, `messages[0].role: must be one of system, developer, user, assistant, tool, not "robot"`},
		{func(r *Request) { r.Messages[0] = say(User, "") }, "messages[0].content: is required"},
		{func(r *Request) { r.Messages[0].Calls = call.Calls }, "messages[0].tool_calls: only messages of the assistant"},
		{func(r *Request) { r.Messages[0] = say(ToolRole, "1") }, "messages[0].tool_call_id: is required"},
		{func(r *Request) {
			r.Messages = append(r.Messages, Message{Role: ToolRole, CallID: "c", Parts: []Part{{Text: "1"}}}, call)
		}, `messages[1].tool_call_id: no message before has a call "c"`},
		{func(r *Request) { r.Messages[0].Parts[0].ImageURL = "http://x" }, "messages[0].content[0].image_url.url: must begin with https: or data:"},
		{func(r *Request) {
			r.Messages[0] = Message{Role: System, Parts: []Part{{ImageURL: "https://x"}}}
		}, "messages[0].content[0].type: only messages of the user"},
		{func(r *Request) { r.Messages[0] = say(User, strings.Repeat("x", MaxBytes)) }, "messages and tools must be at most 8388608 bytes together"},
		{func(r *Request) { r.Tools = []Tool{{}} }, "tools[0].function.name: is required"},
		{func(r *Request) { r.Choice.Mode = ChoiceRequired }, "tool_choice: required needs tools"},
		{func(r *Request) { r.Choice = Choice{ChoiceTool, "g"} }, `tool_choice: names "g"; must be one of tools`},
		{func(r *Request) { r.Choice.Mode = "maybe" }, "tool_choice: must be auto"},
		{func(r *Request) { r.Format.Type = "xml" }, "response_format.type: must be one of text, json_object, json_schema"},
		{func(r *Request) { r.Format.Type = FormatSchema }, "response_format.json_schema.schema: is required"},
		{func(r *Request) { r.Temperature = &three }, "parameters.temperature: must be between 0 and 2, not 3"},
		{func(r *Request) { r.MaxTokens = &low }, "parameters.max_tokens: must be at least 1"},
		{func(r *Request) { r.Stop = make([]string, MaxStops+1) }, "parameters.stop: must be at most 16"},
		{func(r *Request) { r.Model = strings.Repeat("m", MaxName+1) }, "model: must be at most 200 characters"},
	} {
		r := &Request{Messages: []Message{say(User, "Oslo?")}}
		tt.change(r)
		err := r.Validate()
		switch {
		case tt.says == "" && err != nil, tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%v, want %q", err, tt.says)
		case err != nil && fault.Of(err) != fault.Invalid && fault.Of(err) != fault.TooLarge:
			t.Errorf("%v is %s", err, fault.Of(err).Code())
		}
	}
}
