package otlpmap

import (
	"testing"

	"github.com/spangrove/spangrove/pkg/event"
)

// TestOpenInference maps spans as OpenInference's instrumentations of other libraries than the samples' send them.
func TestOpenInference(t *testing.T) {
	t.Parallel()
	const llm = "openinference.span.kind"
	checkConventions(t, []conventionCase{
		{
			name: "Bedrock's settings and tools", scope: "openinference.instrumentation.bedrock", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.model_name": "m", "llm.invocation_parameters": `{"temperature":0.3,"maxTokens":200,"topP":0.9,"stopSequences":["X"]}`,
				"llm.tools.0.tool.json_schema": `{"toolSpec":{"name":"add","description":"Adds","inputSchema":{"json":{"type":"object"}}}}`,
			},
			want: map[string]string{
				"config.max_tokens": "200", "config.top_p": "0.9", "config.stop_sequences": `["X"]`, "config.maxTokens": "",
				"config.tools": `[{"name":"add","description":"Adds","parameters":{"type":"object"}}]`, "unmapped": "",
			},
		},
		{
			name: "tool of Claude's Agent SDK", scope: "openinference.instrumentation.claude_agent_sdk", typ: event.TypeTool,
			attrs: map[string]any{llm: "TOOL", "tool.name": "Read", "tool.id": "toolu_1", "input.value": `{"file_path":"x"}`, "input.mime_type": "application/json"},
			want:  map[string]string{"name": "Read", "inputs": `{"file_path":"x"}`, "metadata.tool_call_id": `"toolu_1"`, "unmapped": ""},
		},
		{
			name: "calls among Anthropic's parts", scope: "openinference.instrumentation.anthropic", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.output_messages.0.message.role": "assistant",
				"llm.output_messages.0.message.contents.0.message_content.type":           "text",
				"llm.output_messages.0.message.contents.0.message_content.text":           "I add.",
				"llm.output_messages.0.message.contents.1.message_content.type":           "tool_use",
				"llm.output_messages.0.message.contents.1.tool_call.id":                   "t1",
				"llm.output_messages.0.message.contents.1.tool_call.function.name":        "add",
				"llm.output_messages.0.message.contents.1.tool_call.function.arguments":   `{"a":1}`,
				"llm.output_messages.0.message.tool_calls.0.tool_call.id":                 "t1",
				"llm.output_messages.0.message.tool_calls.0.tool_call.function.name":      "add",
				"llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": `{"a":1}`,
				"llm.input_messages.0.message.role":                                       "assistant",
				"llm.input_messages.0.message.contents.0.message_content.type":            "tool_use",
				"llm.input_messages.0.message.contents.0.tool_call.function.name":         "add",
				"llm.input_messages.0.message.contents.0.tool_call.function.arguments":    `{"a":2}`,
			},
			want: map[string]string{
				"outputs":             `{"role":"assistant","content":"I add.","tool_calls":[{"arguments":{"a":1},"name":"add","id":"t1"}]}`,
				"inputs.chat_history": `[{"role":"assistant","content":null,"tool_calls":[{"arguments":{"a":2},"name":"add"}]}]`,
				"unmapped":            "",
			},
		},
		{
			name: "thoughts among parts", scope: "openinference.instrumentation.bedrock", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.output_messages.0.message.role": "assistant",
				"llm.output_messages.0.message.contents.0.message_content.type":     "reasoning",
				"llm.output_messages.0.message.contents.0.message_content.text":     "Hm.",
				"llm.output_messages.0.message.contents.1.message_content.type":     "text",
				"llm.output_messages.0.message.contents.1.message_content.text":     "Yes.",
				"llm.input_messages.0.message.role":                                 "assistant",
				"llm.input_messages.0.message.contents.0.message_content.type":      "reasoning",
				"llm.input_messages.0.message.contents.0.message_content.text":      "Hm.",
				"llm.input_messages.0.message.contents.0.message_content.signature": "s",
			},
			want: map[string]string{
				"outputs":             `{"role":"assistant","content":"Yes.","reasoning":"Hm."}`,
				"inputs.chat_history": `[{"role":"assistant","content":null,"reasoning":"Hm.","reasoning_details":[{"signature":"s"}]}]`,
				"unmapped":            "",
			},
		},
		{
			name: "items of an answer as messages", scope: "openinference.instrumentation.openai_agents", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.output_messages.0.message.role": "assistant",
				"llm.output_messages.0.message.contents.0.message_content.type": "reasoning",
				"llm.output_messages.0.message.contents.0.message_content.text": "Hm.",
				"llm.output_messages.0.message.contents.0.message_content.id":   "rs_1",
				"llm.output_messages.1.message.role":                            "assistant",
				"llm.output_messages.1.message.contents.0.message_content.type": "reasoning",
				"llm.output_messages.1.message.contents.0.message_content.text": "Well.",
				"llm.output_messages.2.message.role":                            "assistant",
				"llm.output_messages.2.message.content":                         "Yes.",
				"output.value":                                                  `{"output":[{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]}]}`,
			},
			want: map[string]string{
				"outputs":  `{"role":"assistant","reasoning":"Hm.\nWell.","reasoning_details":[{"id":"rs_1"}],"content":"Yes."}`,
				"unmapped": "",
			},
		},
		{
			name: "a system prompt among the settings", scope: "openinference.instrumentation.anthropic", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Hi",
				"llm.invocation_parameters":             `{"max_tokens":5,"system":[{"type":"text","text":"S"}]}`,
				"llm.output_messages.0.message.role":    "assistant",
				"llm.output_messages.0.message.content": "Ho",
				"output.value":                          `{"content":[{"type":"text","text":"Ho"}],"stop_reason":"end_turn"}`,
			},
			want: map[string]string{
				"inputs.chat_history": `[{"role":"system","content":"S"},{"role":"user","content":"Hi"}]`, "config": `{"max_tokens":5}`,
				"outputs": `{"role":"assistant","content":"Ho","finish_reason":"end_turn"}`, "unmapped": "",
			},
		},
		{
			name: "a reason to stop in the raw choices", scope: "openinference.instrumentation.mistralai", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Ho",
				"output.value": `{"candidates":[{"content":{"role":"model","parts":[{"text":"Ho"}]},"finish_reason":"MAX_TOKENS"}]}`,
			},
			want: map[string]string{"outputs": `{"role":"assistant","content":"Ho","finish_reason":"max_tokens"}`},
		},
		{
			name: "a document as JSON", scope: "openinference.instrumentation.anthropic", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.input_messages.0.message.role": "user",
				"llm.input_messages.0.message.contents.0.message_content.type": "document",
				"llm.input_messages.0.message.contents.0.message_content.text": `{"type":"document","source":{"type":"text","data":"D"},"title":"T"}`,
				"llm.input_messages.0.message.contents.1.message_content.type": "text",
				"llm.input_messages.0.message.contents.1.message_content.text": "Read it.",
			},
			want: map[string]string{
				"inputs.chat_history": `[{"role":"user","content":[{"type":"document","source":{"type":"text","data":"D"},"title":"T"},{"text":"Read it.","type":"text"}]}]`,
				"unmapped":            "",
			},
		},
		{
			name: "that a tool failed is in the request alone", scope: "openinference.instrumentation.anthropic", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "S",
				"llm.input_messages.2.message.role": "user", "llm.input_messages.2.message.content": "So?",
				"llm.input_messages.1.message.role": "tool", "llm.input_messages.1.message.content": `[{"type":"text","text":"no"}]`,
				"llm.input_messages.1.message.tool_call_id": "t1",
				"input.value": `{"system":"S","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"no"}],"is_error":true}]},{"role":"user","content":"So?"}]}`,
			},
			want: map[string]string{
				"inputs.chat_history": `[{"role":"system","content":"S"},{"role":"tool","content":"no","tool_call_id":"t1","is_error":true},{"role":"user","content":"So?"}]`, "unmapped": "",
			},
		},
		{
			name: "ids of calls are in the answer alone", scope: "openinference.instrumentation.mistralai", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.output_messages.0.message.role": "assistant",
				"llm.output_messages.0.message.tool_calls.0.tool_call.function.name":      "add",
				"llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": `{"a":1}`,
				"output.value":                         `{"choices":[{"message":{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"add","arguments":"{\"a\":1}"}}]}}]}`,
				"llm.input_messages.0.message.role":    "tool",
				"llm.input_messages.0.message.content": "3",
				"input.value":                          `{"messages":[{"role":"tool","content":"3","tool_call_id":"c0"}]}`,
			},
			want: map[string]string{
				"outputs":             `{"role":"assistant","tool_calls":[{"id":"c1","arguments":{"a":1},"name":"add"}]}`,
				"inputs.chat_history": `[{"role":"tool","content":"3","tool_call_id":"c0"}]`,
				"unmapped":            "",
			},
		},
		{
			name: "ids of other calls are not taken", scope: "openinference.instrumentation.mistralai", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.output_messages.0.message.role": "assistant",
				"llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "add",
				"output.value": `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"sub","arguments":"{}"}}]}}]}`,
			},
			want: map[string]string{"outputs": `{"role":"assistant","tool_calls":[{"name":"add"}]}`},
		},
		{
			name: "AutoGen's results of tools", scope: "openinference.instrumentation.autogen_agentchat", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.input_messages.0.message.role": "function",
				"llm.input_messages.0.function.0": `{"name":"add","content":"3","call_id":"c1","is_error":false}`,
				"llm.input_messages.0.function.1": `{"name":"sub","content":"no","call_id":"c2","is_error":true}`,
			},
			want: map[string]string{
				"inputs.chat_history": `[{"role":"tool","content":"3","name":"add","tool_call_id":"c1","is_error":false},{"role":"tool","content":"no","name":"sub","tool_call_id":"c2","is_error":true}]`,
				"unmapped":            "",
			},
		},
		{
			name: "roles of tools", scope: "openinference.instrumentation.smolagents", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.input_messages.0.message.role": "tool-call", "llm.input_messages.0.message.content": "Calling add",
				"llm.input_messages.1.message.role": "tool-response", "llm.input_messages.1.message.content": "3",
				"llm.input_messages.2.message.role": "user", "llm.input_messages.2.message.content": "4", "llm.input_messages.2.message.tool_call_id": "c1",
			},
			want: map[string]string{
				"inputs.chat_history": `[{"role":"assistant","content":"Calling add"},{"role":"tool","content":"3"},{"role":"tool","content":"4","tool_call_id":"c1"}]`,
				"metadata.part_types": `["role:tool-call","role:tool-response","role:user"]`, "unmapped": "",
			},
		},
		{
			name: "arguments beside flags", scope: "openinference.instrumentation.smolagents", typ: event.TypeTool,
			attrs: map[string]any{llm: "TOOL", "tool.name": "add", "input.value": `{"args":["x"],"sanitize_inputs_outputs":true,"kwargs":{"a":1}}`},
			want:  map[string]string{"inputs": `{"a":1,"args":["x"]}`, "metadata.sanitize_inputs_outputs": "true", "unmapped": ""},
		},
		{
			name: "arguments by name alone", scope: "openinference.instrumentation.llama_index", typ: event.TypeTool,
			attrs: map[string]any{llm: "TOOL", "tool.name": "add", "input.value": `{"kwargs":{"a":1}}`},
			want:  map[string]string{"inputs": `{"a":1}`, "unmapped": ""},
		},
		{
			name: "the text of an answer that is a call", scope: "openinference.instrumentation.llama_index", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.output_messages.0.message.role": "assistant",
				"llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "add", "output.value": "assistant: None",
			},
			want: map[string]string{"outputs": `{"role":"assistant","tool_calls":[{"name":"add"}]}`, "unmapped": `{"output.value":"assistant: None"}`},
		},
		{
			name: "args and kwargs of a tool's own", scope: "openinference.instrumentation.smolagents", typ: event.TypeTool,
			attrs: map[string]any{llm: "TOOL", "tool.name": "run", "input.value": `{"args":["x"],"command":"ls","kwargs":{"a":1}}`},
			want:  map[string]string{"inputs": `{"args":["x"],"command":"ls","kwargs":{"a":1}}`},
		},
		{
			name: "tools by name and schema", scope: "pydantic-ai", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.tools.0.tool.name": "add", "llm.tools.0.tool.description": "Adds", "llm.tools.0.tool.json_schema": `{"type":"object"}`,
			},
			want: map[string]string{"config.tools": `[{"name":"add","description":"Adds","parameters":{"type":"object"}}]`, "unmapped": ""},
		},
		{
			name: "the model that was asked for", scope: "openinference.instrumentation.anthropic", typ: event.TypeModel,
			attrs: map[string]any{llm: "LLM", "llm.request.model_name": "m-latest", "llm.model_name": "m-1", "llm.response.model_name": "m-1"},
			want:  map[string]string{"config.model": `"m-1"`, "config.request_model": `"m-latest"`, "unmapped": ""},
		},
		{
			name: "the model of a call that failed", scope: "openinference.instrumentation.anthropic", typ: event.TypeModel,
			attrs: map[string]any{llm: "LLM", "llm.request.model_name": "m-latest"},
			want:  map[string]string{"config.model": `"m-latest"`, "metadata.model_name": `"m-latest"`, "unmapped": ""},
		},
		{
			name: "tools and an id in the raw request and answer", scope: "openinference.instrumentation.google_genai", typ: event.TypeModel,
			attrs: map[string]any{
				llm: "LLM", "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Hi",
				"input.value":                           `{"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"add"}}]}`,
				"llm.output_messages.0.message.content": "Ho", "output.value": `{"response_id":"r1","text":"Ho"}`,
			},
			want: map[string]string{"config.tools": `[{"type":"function","name":"add"}]`, "metadata.response_id": `"r1"`, "unmapped": ""},
		},
		{
			name: "tokens of an embedding", scope: "openinference.instrumentation.haystack", typ: event.TypeModel,
			attrs: map[string]any{llm: "EMBEDDING", "output.value": `{"embedding":"<4-dimensional vector>","meta":{"model":"e","usage":{"prompt_tokens":7,"total_tokens":7}}}`},
			want:  map[string]string{"metadata.prompt_tokens": "7", "metadata.total_tokens": "7"},
		},
	})
}
