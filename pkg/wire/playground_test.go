package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/playground"
)

func TestDecodePlaygroundRun(t *testing.T) {
	t.Parallel()
	half, seven := 0.5, int64(7)
	got, err := DecodePlaygroundRun([]byte(`{"provider": "openai", "model": "m", "messages": [
		{"role": "system", "content": "Be brief.", "unknown": 1},
		{"role": "user", "content": [{"type": "text", "text": "Oslo?"}, {"type": "image_url", "image_url": {"url": "https://x", "detail": "low"}}]},
		{"role": "assistant", "content": null, "refusal": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"n\":9007199254740993}"}, "signature": "s"}]},
		{"role": "tool", "tool_call_id": "c", "content": "21"}],
		"tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"n": 9007199254740993}, "strict": true}}],
		"tool_choice": {"type": "function", "function": {"name": "f"}},
		"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}, "strict": true}},
		"parameters": {"temperature": 0.5, "max_tokens": 7, "stop": "END", "top_p": null}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &playground.Request{
		Provider: "openai", Model: "m",
		Messages: []playground.Message{
			{Role: "system", Parts: []playground.Part{{Text: "Be brief."}}},
			{Role: "user", Parts: []playground.Part{{Text: "Oslo?"}, {ImageURL: "https://x", Detail: "low"}}},
			{Role: "assistant", Calls: []playground.ToolCall{{ID: "c", Name: "f", Arguments: `{"n":9007199254740993}`, Signature: "s"}}},
			{Role: "tool", CallID: "c", Parts: []playground.Part{{Text: "21"}}},
		},
		Tools:      []playground.Tool{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"n": 9007199254740993}`), Strict: true}},
		Choice:     playground.Choice{Mode: playground.ChoiceTool, Tool: "f"},
		Parameters: playground.Parameters{Temperature: &half, MaxTokens: &seven, Stop: []string{"END"}},
		Format:     playground.Format{Type: "json_schema", Name: "a", Schema: json.RawMessage(`{"type": "object"}`), Strict: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for body, says := range map[string]string{
		`{"mesages": []}`:   `unknown field "mesages"; did you mean "messages"?`,
		`{"messages": {}}`:  "messages: must be an array, not an object",
		`{"messages": [1]}`: "messages[0]: must be an object, not a number",
		`{"messages": [{"role": "user", "content": 1}]}`:                              "messages[0].content: must be a string or an array of parts, not a number",
		`{"messages": [{"content": [{"type": "audio"}]}]}`:                            `messages[0].content[0].type: must be text or image_url, not "audio"`,
		`{"messages": [{"content": [{"type": "text"}]}]}`:                             "messages[0].content[0].text: must be a string",
		`{"tools": [{"type": "web_search"}]}`:                                         `tools[0].type: must be function, not "web_search"`,
		`{"tools": [{"function": {"parameters": "x"}}]}`:                              "tools[0].function.parameters: must be an object, not a string",
		`{"tool_choice": 1}`:                                                          "tool_choice: must be auto, none, required, or an object",
		`{"tool_choice": "function", "messages": [{"role": "user", "content": "x"}]}`: "tool_choice: must be auto",
		`{"parameters": {"temprature": 1}}`:                                           `parameters.temprature: unknown parameter "temprature"; did you mean "temperature"?`,
		`{"parameters": {"max_tokens": 1.5}}`:                                         "parameters.max_tokens: must be a whole number",
		`{"model": "m"}`:                                                              "messages: is required",
	} {
		if _, err := DecodePlaygroundRun([]byte(body)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", body, err, says)
		}
	}
}

func TestPlaygroundMessage(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]playground.Event{
		"event: delta\ndata: {\"text\":\"a\\n\\uFFFD\",\"reasoning\":\"b\"}\n\n": {Delta: &playground.Delta{Text: "a\n\x00", Reasoning: "b"}},
		`event: delta` + "\n" + `data: {"tool_calls":[{"index":1,"id":"c","function":{"name":"f","arguments":"{"}}]}` + "\n\n": {Delta: &playground.Delta{
			Calls: []playground.CallDelta{{Index: 1, ToolCall: playground.ToolCall{ID: "c", Name: "f", Arguments: "{"}}}}},
		`event: usage` + "\n" + `data: {"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"cache_read_tokens":1,"cache_write_tokens":0,"reasoning_tokens":0,"cost":null,"estimated":false}` + "\n\n": {
			Usage: &playground.Usage{Prompt: 3, Completion: 2, CacheRead: 1}},
		`event: done` + "\n" + `data: {"provider":"p","model":"m","finish_reason":"stop","duration":1500.25,"time_to_first_token":3}` + "\n\n": {
			Done: &playground.Done{Provider: "p", Model: "m", Finish: "stop", Duration: 1500250 * time.Microsecond, FirstToken: 3 * time.Millisecond}},
		`event: error` + "\n" + `data: {"failure":"provider","message":"Broke.","status":429,"temporary":true}` + "\n\n": {
			Error: &playground.Failure{Kind: "provider", Message: "Broke.", Status: 429, Temporary: true}},
	} {
		if got := PlaygroundMessage(&e); strings.ReplaceAll(got, "\uFFFD", `\uFFFD`) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
