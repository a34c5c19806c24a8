package otlpmap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func TestEventID(t *testing.T) {
	trace := [16]byte{0x1d, 0xf6, 0x2e, 0x7b, 0xe0, 0x09, 0x02, 0x6a, 0xc6, 0x03, 0xf1, 0x18, 0x49, 0x88, 0xa9, 0xdf}
	span := [8]byte{0xa1, 0x8d, 0xd6, 0x12, 0x98, 0x2f, 0x59, 0xea}
	want := uuid.NewSHA1(uuid.UUID(trace), []byte("a18dd612982f59ea"))
	if got := EventID(trace, span); got != want {
		t.Errorf("EventID = %s, want %s", got, want)
	}
	if n := testing.AllocsPerRun(100, func() { EventID(trace, span) }); n != 0 {
		t.Errorf("EventID allocates %v times", n)
	}
}

func TestSessionID(t *testing.T) {
	t.Parallel()
	const id = "6b0f2c1e-0f5d-4d53-9a52-0d1f4a3f8a11"
	hashed := func(s string) string { return uuid.NewSHA1(uuid.NameSpaceURL, []byte(s)).String() }
	for _, tt := range []struct{ key, want string }{
		{id, id}, {strings.ToUpper(id), id}, {"urn:uuid:" + id, id}, {"{" + id + "}", id}, {strings.ReplaceAll(id, "-", ""), id},
		{"x" + id + "x", hashed("x" + id + "x")}, {"conv-1", hashed("conv-1")},
		{uuid.Nil.String(), hashed(uuid.Nil.String())},
	} {
		if got := SessionID(tt.key).String(); got != tt.want {
			t.Errorf("SessionID(%q) = %s, want %s", tt.key, got, tt.want)
		}
	}
}

// TestFields maps one span and looks at some of its event's fields.
func TestFields(t *testing.T) {
	t.Parallel()
	chat := func(more map[string]any) map[string]any {
		m := map[string]any{"gen_ai.operation.name": "chat"}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	for _, tt := range []struct {
		name  string
		attrs map[string]any
		want  map[string]string
	}{
		{"unknown attributes keep name and type", map[string]any{"a.b": "x", "n": 3, "f": 2.0, "t": true, "l": []any{1, "y"}, "m": map[string]any{"k": 1}, "e": ""},
			map[string]string{"metadata.a.b": `"x"`, "metadata.n": "3", "metadata.f": "2.0", "metadata.t": "true",
				"metadata.l": `[1,"y"]`, "metadata.m": `{"k":1}`, "metadata.e": `""`}},
		{"flattened inputs", map[string]any{"honeyhive_inputs.a.b": "x", "honeyhive_inputs.l.0": 1, "honeyhive_inputs.l.1": "null", "honeyhive_inputs.__proto__.x": 1, "honeyhive_inputs.j": `{"k": [1]}`},
			map[string]string{"inputs.a": `{"b":"x"}`, "inputs.l": "[1,null]", "inputs.__proto__": `{"x":1}`, "inputs.j": `{"k": [1]}`}},
		{"a value and members of the same name", map[string]any{"honeyhive_inputs.a": "x", "honeyhive_inputs.a.b": "y"},
			map[string]string{"inputs": `{"a":{"b":"y"}}`, "metadata.honeyhive_inputs.a": `"x"`}},
		{"level of parameters", map[string]any{"honeyhive_inputs._params_.q": "x"}, map[string]string{"inputs": `{"q":"x"}`}},
		{"returned list", map[string]any{"honeyhive_outputs.0": "x", "honeyhive_outputs.1": 2}, map[string]string{"outputs": `["x",2]`}},
		{"returned value", map[string]any{"honeyhive_outputs": "x"}, map[string]string{"outputs": `"x"`}},
		{"own metadata", map[string]any{"honeyhive_metadata.cost": 0.5, "gen_ai.usage.cost": 0.7, "honeyhive_metadata.attributes": "mine", "x": 1},
			map[string]string{"metadata.cost": "0.5", "metadata.cost_source": "", "unmapped": `{"honeyhive_metadata.attributes":"mine","x":1}`}}, // both are kept
		{"repeated type and name", map[string]any{"honeyhive_event_type": "chain", "honeyhive_event_name": "n", "honeyhive_metadata.event_type": "chain", "honeyhive_metadata.event_name": "n"},
			map[string]string{"metadata.event_type": "", "metadata.event_name": "", "unmapped": ""}},
		{"gaps in messages", chat(map[string]any{"gen_ai.prompt.7.role": "user", "gen_ai.prompt.7.content": "b", "gen_ai.prompt.2.role": "system", "gen_ai.prompt.2.content": "a", "gen_ai.prompt.10.role": "user", "gen_ai.prompt.10.content": "c"}),
			map[string]string{"inputs.chat_history": `[{"role":"system","content":"a"},{"role":"user","content":"b"},{"role":"user","content":"c"}]`}},
		{"unknown part of a message", chat(map[string]any{"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.mood": "glad"}),
			map[string]string{"inputs.chat_history": `[{"role":"user","content":null,"mood":"glad"}]`}},
		{"content parts as JSON", chat(map[string]any{"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": `[{"type":"image_url","image_url":{"url":"u"}}]`}),
			map[string]string{"inputs.chat_history": `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}]`}},
		{"indexed contents", chat(map[string]any{"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.contents.0.message_content.type": "text",
			"llm.input_messages.0.message.contents.0.message_content.text": "t", "llm.input_messages.0.message.contents.1.message_content.type": "image",
			"llm.input_messages.0.message.contents.1.message_content.image.image.url": "u"}),
			map[string]string{"inputs.chat_history.0.content.1": `{"type":"image_url","image_url":{"url":"u"}}`}},
		{"plain messages are copied", chat(map[string]any{"gen_ai.input.messages": `[ {"role":"user", "content":"x", "z":1.50} ]`}),
			map[string]string{"inputs.chat_history": `[{"role":"user", "content":"x", "z":1.50}]`}},
		{"messages in their own type", func() map[string]any {
			return chat(map[string]any{"gen_ai.input.messages": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"type": "text", "content": "x"}}}}})
		}(), map[string]string{"inputs.chat_history": `[{"role":"user","content":"x"}]`}},
		{"choices as messages", chat(map[string]any{"gen_ai.output.messages": `[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"a"}},{"index":1,"message":{"role":"assistant","content":"b"}}]`}),
			map[string]string{"outputs": `{"role":"assistant","content":"a","finish_reason":"stop","choices":[{"role":"assistant","content":"b"}]}`}},
		{"instructions", chat(map[string]any{"gen_ai.system_instructions": `[{"type":"text","content":"s"}]`, "gen_ai.input.messages": `[{"role":"user","content":"x"}]`}),
			map[string]string{"inputs.chat_history": `[{"role":"system","content":"s"},{"role":"user","content":"x"}]`, "unmapped": ""}},
		{"instructions beside a system message", chat(map[string]any{"gen_ai.system_instructions": `[{"type":"text","content":"s"}]`, "gen_ai.input.messages": `[{"role":"system","content":"s"}]`}),
			map[string]string{"inputs.chat_history": `[{"role":"system","content":"s"}]`, "unmapped": ""}},
		{"tool results", chat(map[string]any{"gen_ai.input.messages": `[{"role":"tool","parts":[{"type":"tool_call_response","id":"1","response":{"a":1}},{"type":"tool_call_response","id":"2","name":"f","result":"r","x":1}]}]`}),
			map[string]string{"inputs.chat_history": `[{"role":"tool","content":"{\"a\":1}","tool_call_id":"1"},{"role":"tool","content":"r","name":"f","tool_call_id":"2","x":1}]`}},
		{"a signed thought is reasoning, and its signature stays beside it", chat(map[string]any{"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","content":"a"},{"type":"thinking","content":"so","signature":"t"}]}]`}),
			map[string]string{"outputs": `{"role":"assistant","content":"a","reasoning":"hm\nso","reasoning_details":[{"signature":"s"},{"signature":"t"}]}`}},
		{"a signed thought of Bedrock's API", chat(map[string]any{"gen_ai.output.messages": `[{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s"}}},{"text":"a"},{"toolUse":{"toolUseId":"1","name":"f","input":{}}}]}]`}),
			map[string]string{"outputs": `{"role":"assistant","content":"a","tool_calls":[{"id":"1","name":"f","arguments":{}}],"reasoning":"hm","reasoning_details":[{"signature":"s"}]}`}},
		{"calls beside the parts", chat(map[string]any{"gen_ai.input.messages": `[{"role":"assistant","parts":[],"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}]`}),
			map[string]string{"inputs.chat_history": `[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","name":"f","arguments":{"a":1}}]}]`}},
		{"tools among the messages", map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.input": `[{"role":"user","content":"q"},{"role":"tool","content":{"type":"function","function":{"name":"f","parameters":{}}}},{"role":"tool","content":"r","tool_call_id":"1"}]`},
			map[string]string{"inputs.chat_history": `[{"role":"user","content":"q"},{"role":"tool","content":"r","tool_call_id":"1"}]`, "config.tools": `[{"type":"function","name":"f","parameters":{}}]`, "unmapped": ""}},
		{"texts to embed", map[string]any{"langfuse.observation.type": "embedding", "langfuse.observation.input": `["a","b"]`}, map[string]string{"inputs": `{"texts":["a","b"]}`, "unmapped": ""}},
		{"a text to embed", map[string]any{"openinference.span.kind": "EMBEDDING", "input.value": "a"}, map[string]string{"inputs": `{"texts":["a"]}`, "unmapped": ""}},
		{"a text to embed in a request", map[string]any{"mlflow.spanType": `"EMBEDDING"`, "mlflow.spanInputs": `{"model":"e","input":"a"}`}, map[string]string{"inputs": `{"texts":["a"]}`, "config.model": `"e"`, "unmapped": ""}},
		{"texts to embed as messages", map[string]any{"gen_ai.operation.name": "embeddings", "gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"a"}]},{"role":"user","parts":[{"type":"text","content":"b"}]}]`},
			map[string]string{"inputs": `{"texts":["a","b"]}`, "unmapped": ""}},
		{"texts to embed as contents", map[string]any{"gen_ai.operation.name": "embeddings", "gen_ai.input.messages": `[{"content":"a"},{"content":"b"}]`}, map[string]string{"inputs": `{"texts":["a","b"]}`, "unmapped": ""}},
		{"a text beside flat calls", chat(map[string]any{"gen_ai.completion.0.function_call.name": "f", "gen_ai.completion.0.function_call.arguments": `{"x":1}`,
			"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"Let me see."}],"finish_reason":"tool_calls"}]`}),
			map[string]string{"outputs.content": `"Let me see."`, "outputs.tool_calls": `[{"arguments":{"x":1},"name":"f"}]`, "outputs.finish_reason": `"tool_calls"`, "unmapped": ""}},
		{"thoughts beside the completion", chat(map[string]any{"gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 8, "gen_ai.usage.total_tokens": 41, "gen_ai.usage.reasoning.output_tokens": 3}),
			map[string]string{"metadata.completion_tokens": "11", "metadata.total_tokens": "41", "metadata.usage_adjusted": "true"}},
		{"thoughts in the completion", chat(map[string]any{"gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 11, "gen_ai.usage.total_tokens": 41, "gen_ai.usage.reasoning.output_tokens": 3}),
			map[string]string{"metadata.completion_tokens": "11", "metadata.usage_adjusted": ""}},
		{"Haystack's tools", chat(map[string]any{"gen_ai.tool.definitions": `[{"type":"haystack.tools.tool.Tool","data":{"name":"f","parameters":{"type":"object"}}}]`}),
			map[string]string{"config.tools": `[{"type":"haystack.tools.tool.Tool","name":"f","parameters":{"type":"object"}}]`}},
		{"Haystack's embedder", map[string]any{"haystack.component.type": "OpenAITextEmbedder", "haystack.component.input": `{"text":"a"}`, "haystack.component.output": `{"embedding":[1,2],"meta":{"model":"e","usage":{"prompt_tokens":6,"total_tokens":6}}}`},
			map[string]string{"inputs": `{"texts":["a"]}`, "config.model": `"e"`, "metadata.prompt_tokens": "6", "outputs.embedding": `[1,2]`}},
		{"a flat thought in parts", chat(map[string]any{"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "a", "gen_ai.completion.0.reasoning": `[{"type":"text","text":"hm"}]`}),
			map[string]string{"outputs": `{"role":"assistant","content":"a","reasoning":"hm"}`}},
		{"a thought in parts", chat(map[string]any{"gen_ai.output.messages": `[{"role":"assistant","content":"a","reasoning":[{"type":"text","text":"hm"}]}]`}),
			map[string]string{"outputs": `{"role":"assistant","content":"a","reasoning":"hm"}`}},
		{"calls that are flat messages each", map[string]any{"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f",
			"llm.output_messages.1.message.role": "assistant", "llm.output_messages.1.message.tool_calls.0.tool_call.function.name": "g", "llm.invocation_parameters": `{"n":1}`},
			map[string]string{"outputs": `{"role":"assistant","tool_calls":[{"name":"f"},{"name":"g"}]}`}},
		{"calls of several choices", map[string]any{"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f",
			"llm.output_messages.1.message.role": "assistant", "llm.output_messages.1.message.tool_calls.0.tool_call.function.name": "f", "llm.invocation_parameters": `{"n":2}`},
			map[string]string{"outputs": `{"role":"assistant","tool_calls":[{"name":"f"}],"choices":[{"role":"assistant","content":null,"tool_calls":[{"name":"f"}]}]}`}},
		{"a thought, a call and a text, each a flat message", map[string]any{"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.contents.0.message_content.type": "reasoning",
			"llm.output_messages.0.message.contents.0.message_content.text": "hm", "llm.output_messages.1.message.role": "assistant", "llm.output_messages.1.message.tool_calls.0.tool_call.function.name": "f",
			"llm.output_messages.2.message.role": "assistant", "llm.output_messages.2.message.contents.0.message_content.type": "text", "llm.output_messages.2.message.contents.0.message_content.text": "a"},
			map[string]string{"outputs": `{"role":"assistant","tool_calls":[{"name":"f"}],"reasoning":"hm","content":"a"}`}},
		{"reasoning and several texts", chat(map[string]any{"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"text","content":"a"},{"type":"text","content":"\u00e9"}]}]`}),
			map[string]string{"outputs": `{"role":"assistant","content":"a\u00e9","reasoning":"hm"}`, "metadata.part_types": `["text","reasoning"]`}},
		{"messages that are no JSON", chat(map[string]any{"gen_ai.input.messages": `{'role': 'user'}`}),
			map[string]string{"inputs.value": `"{'role': 'user'}"`, "metadata.parse_error": `"gen_ai.input.messages"`, "inputs.chat_history": ""}},
		{"messages cut off", chat(map[string]any{"gen_ai.input.messages": `[{"role":"user","content":"a"},{"role":"user","content":"long te`}),
			map[string]string{"inputs.chat_history": `[{"role":"user","content":"a"},{"role":"user","content":"long te"}]`, "metadata.parse_error": `"gen_ai.input.messages"`,
				"metadata.gen_ai.input.messages": `"[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"long te"`}},
		{"raw request", map[string]any{"openinference.span.kind": "LLM", "input.value": `{"messages":[{"role":"user","content":"x"}],"temperature":0.5,"max_completion_tokens":9,"foo":[1]}`},
			map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"x"}],"foo":[1]}`, "config": `{"temperature":0.5,"max_tokens":9}`, "unmapped": ""}},
		{"raw request said again", map[string]any{"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "x", "input.value": `{"messages":[{"role":"user","content":"x"}],"seed":7}`},
			map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"x"}]}`, "unmapped": `{"input.value":{"seed":7}}`}},
		{"responses request", map[string]any{"openinference.span.kind": "LLM", "input.value": `{"input":"q","instructions":"i","model":"m"}`, "output.value": `{"id":"r1","output":[{"type":"reasoning","id":"z"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}],"usage":{"input_tokens":3,"output_tokens":2,"input_tokens_details":{"cached_tokens":1}}}`},
			map[string]string{"inputs.chat_history": `[{"role":"system","content":"i"},{"role":"user","content":"q"}]`, "config.model": `"m"`, "metadata.model_name": `"m"`, "metadata.response_id": `"r1"`, "metadata.prompt_tokens": "3", "metadata.total_tokens": "5", "metadata.cache_read_input_tokens": "1"}},
		{"raw answer", map[string]any{"openinference.span.kind": "LLM", "output.value": `{"id":"c1","model":"m","choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}}]}`},
			map[string]string{"outputs.tool_calls": `[{"id":"t","type":"function","name":"f","arguments":{"a":1}}]`, "outputs.finish_reason": `"tool_calls"`, "config.model": `"m"`}},
		{"text beside tool calls", map[string]any{"openinference.span.kind": "LLM", "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f", "output.value": "text"},
			map[string]string{"outputs.content": `"text"`, "outputs.tool_calls": `[{"name":"f"}]`}},
		{"tool of text", map[string]any{"openinference.span.kind": "TOOL", "input.value": "12B", "output.value": `"\"69.8\""`}, map[string]string{"inputs": `{"value":"12B"}`, "outputs": `{"result":"69.8"}`}},
		{"tool of JSON that is text", map[string]any{"openinference.span.kind": "TOOL", "output.value": `{"a":1}`, "output.mime_type": "text/plain"}, map[string]string{"outputs.result": `"{\"a\":1}"`}},
		{"arguments beside settings", map[string]any{"openinference.span.kind": "TOOL", "input.value": `{"args": [], "sanitize": true, "kwargs": {"b": 2}}`},
			map[string]string{"inputs": `{"b":2}`, "metadata.sanitize": "true", "unmapped": ""}},
		{"arguments by position", map[string]any{"traceloop.span.kind": "tool", "traceloop.entity.input": `{"args":[1],"kwargs":{"b":2}}`, "traceloop.entity.output": "null"}, map[string]string{"inputs": `{"b":2,"args":[1]}`, "outputs": "", "unmapped": `{"traceloop.entity.output":"null"}`}},
		{"result that is a number", map[string]any{"traceloop.span.kind": "tool", "traceloop.entity.output": "42"}, map[string]string{"outputs": `{"result":42}`, "unmapped": ""}},
		{"messages of an embedding", map[string]any{"gen_ai.operation.name": "embeddings", "gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"a"}]},{"role":"user","parts":[{"type":"text","content":"b"}]}]`},
			map[string]string{"inputs": `{"texts":["a","b"]}`, "unmapped": ""}},
		{"messages of an embedding that are no texts", map[string]any{"gen_ai.operation.name": "embeddings", "gen_ai.input.messages": `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}]`},
			map[string]string{"inputs": `{"chat_history":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}]}`}},
		{"Gemini's tools", map[string]any{"gen_ai.tool.definitions": `[{"function_declarations":[{"name":"f","parameters":{"type":"OBJECT"}},{"name":"g"}]},{"google_search":{}}]`},
			map[string]string{"config.tools": `[{"name":"f","parameters":{"type":"OBJECT"}},{"name":"g"},{"google_search":{}}]`}},
		{"reason to stop of the GenAI conventions", chat(map[string]any{"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"tool_call","name":"f"}],"finish_reason":"tool_call"}]`}),
			map[string]string{"outputs": `{"role":"assistant","tool_calls":[{"name":"f"}],"finish_reason":"tool_calls"}`, "unmapped": ""}},
		{"name of a result's message", chat(map[string]any{"gen_ai.input.messages": `[{"role":"tool","name":"f","parts":[{"type":"tool_call_response","id":"1","response":"r"}]}]`}),
			map[string]string{"inputs.chat_history": `[{"role":"tool","content":"r","name":"f","tool_call_id":"1"}]`}},
		{"parts in flat content", chat(map[string]any{
			"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": `[{"text":"Hi"}]`,
			"gen_ai.prompt.1.role": "assistant", "gen_ai.prompt.1.content": `[{"type":"text","text":"so"},{"type":"tool_use","id":"1","name":"f","input":{"x":1}}]`,
			"gen_ai.prompt.2.role": "user", "gen_ai.prompt.2.content": `[{"toolResult":{"toolUseId":"1","content":[{"json":{"y":2}}]}}]`,
			"gen_ai.prompt.3.role": "user", "gen_ai.prompt.3.content": `[{"a":1}]`,
		}), map[string]string{"inputs.chat_history": `[{"role":"user","content":"Hi"},{"role":"assistant","content":"so","tool_calls":[{"id":"1","name":"f","arguments":{"x":1}}]},` +
			`{"role":"tool","content":"{\"y\":2}","tool_call_id":"1"},{"role":"user","content":"[{\"a\":1}]"}]`, "unmapped": ""}},
		{"prompt of a completion", chat(map[string]any{"gen_ai.prompt.0.user": "Tell"}), map[string]string{"inputs.chat_history": `[{"role":"user","content":"Tell"}]`, "unmapped": ""}},
		{"thought as an answer of its own", chat(map[string]any{"gen_ai.completion.0.role": "thinking", "gen_ai.completion.0.content": "hm", "gen_ai.completion.0.finish_reason": "end_turn",
			"gen_ai.completion.1.role": "assistant", "gen_ai.completion.1.content": "a"}),
			map[string]string{"outputs": `{"role":"assistant","content":"a","finish_reason":"end_turn","reasoning":"hm"}`, "unmapped": ""}},
		{"only a thought", chat(map[string]any{"gen_ai.completion.0.role": "thinking", "gen_ai.completion.0.content": "hm"}), map[string]string{"outputs": `{"role":"assistant","reasoning":"hm"}`}},
		{"LlamaIndex's retriever", map[string]any{"openinference.span.kind": "RETRIEVER", "input.value": `{"query_bundle": {"query_str": "What is it?", "image_path": null, "embedding": "<4-dimensional vector>"}}`},
			map[string]string{"inputs": `{"query":"What is it?"}`, "unmapped": `{"input.value":{"query_bundle":{"query_str": "What is it?", "image_path": null, "embedding": "<4-dimensional vector>"}}}`}},
		{"LlamaIndex's tool", map[string]any{"openinference.span.kind": "TOOL", "tool.name": "f", "input.value": `{"kwargs": {"x": "y"}}`,
			"output.value": `{"blocks":[{"text":"21 degrees"}],"tool_name":"f","raw_input":{"args":[],"kwargs":{"x":"y"}},"raw_output":"21 degrees","is_error":false}`},
			map[string]string{"inputs": `{"x":"y"}`, "outputs": `{"result":"21 degrees"}`, "unmapped": ""}},
		{"LlamaIndex's tool that failed", map[string]any{"openinference.span.kind": "TOOL", "output.value": `{"blocks":[{"text":"no"}],"tool_name":"f","raw_input":{},"raw_output":"{\"code\":1}","is_error":true}`},
			map[string]string{"outputs": `{"result":{"code":1},"is_error":true}`}},
		{"framework of a step", map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "langgraph"}, map[string]string{"config": "", "unmapped": `{"gen_ai.provider.name":"langgraph"}`}},
		{"retriever", map[string]any{"openinference.span.kind": "RETRIEVER", "input.value": "q", "retrieval.documents.0.document.content": "c", "retrieval.documents.0.document.metadata": `{"k":1}`, "retrieval.documents.0.document.score": 0.5},
			map[string]string{"inputs": `{"query":"q"}`}},
		{"retriever's own documents", map[string]any{"openinference.span.kind": "RETRIEVER", "output.value": `{"documents":[{"page_content":"c","metadata":{"k":1}}]}`}, map[string]string{"outputs": `{"documents":[{"content":"c","metadata":{"k":1}}]}`, "unmapped": ""}},
		{"chain of messages", map[string]any{"openinference.span.kind": "CHAIN", "input.value": `[{"role":"user","content":"x"}]`, "output.value": "[1,2]"}, map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"x"}]}`, "outputs": `{"result":[1,2]}`}},
		{"agent's answer is the last text", map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": `[{"role":"assistant","content":"one"},{"role":"tool","content":"t"},{"role":"assistant","content":"two"}]`}, map[string]string{"outputs.content": `"two"`}},
		{"long vectors", map[string]any{"openinference.span.kind": "EMBEDDING", "embedding.embeddings.0.embedding.text": "t", "embedding.embeddings.0.embedding.vector": make([]any, 100), "output.value": `{"data":[{"embedding":[` + strings.Repeat("0.5,", 99) + `1],"index":0}]}`},
			map[string]string{"inputs.texts": `["t"]`, "outputs": `{"data":[{"index":0}]}`, "metadata.embedding": `{"count":1,"dimension":100}`, "metadata.truncated": `{"embedding":800}`}},
		{"cached beyond the prompt", map[string]any{"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5, "gen_ai.usage.cache_read.input_tokens": 20, "gen_ai.usage.total_tokens": 15},
			map[string]string{"metadata.prompt_tokens": "30", "metadata.total_tokens": "35", "metadata.usage_adjusted": "true"}},
		{"no invented counts", map[string]any{"gen_ai.usage.input_tokens": 10}, map[string]string{"metadata.completion_tokens": "", "metadata.total_tokens": ""}},
		{"counts that disagree", map[string]any{"gen_ai.usage.input_tokens": 10, "llm.token_count.prompt": 11}, map[string]string{"metadata.prompt_tokens": "10", "metadata.input_tokens": "10", "unmapped": `{"llm.token_count.prompt":11}`}},
		{"reported cost", map[string]any{"llm.cost.total": 0.25}, map[string]string{"metadata.cost": "0.25", "metadata.cost_source": `"reported"`}},
		{"provider", map[string]any{"gen_ai.system": "OpenAI.chat"}, map[string]string{"config.provider": `"openai"`, "metadata.provider": `"openai"`, "metadata.system": `"OpenAI.chat"`}},
		{"provider behind a framework", map[string]any{"gen_ai.system": "langchain", "gen_ai.request.model": "claude-4"}, map[string]string{"config.provider": `"anthropic"`}},
		{"other settings", map[string]any{"gen_ai.request.stream": true}, map[string]string{"config.stream": "true"}},
		{"association", map[string]any{"traceloop.association.properties.plan": "gold", "traceloop.association.properties.run_id": "r", "traceloop.association.properties.user_id": "u"},
			map[string]string{"metadata.plan": `"gold"`, "metadata.run_id": `"r"`, "user_properties.user_id": `"u"`, "metadata.user_id": `"u"`, "unmapped": ""}},
		{"Gemini's name of the assistant", chat(map[string]any{"llm.output_messages.0.message.role": "model", "llm.output_messages.0.message.content": "a",
			"gen_ai.input.messages": `[{"role":"model","content":"b"}]`}), map[string]string{"outputs": `{"role":"assistant","content":"a"}`, "inputs.chat_history": `[{"role":"assistant","content":"b"}]`}},
		{"settings that are not set", map[string]any{"openinference.span.kind": "LLM", "llm.invocation_parameters": `{"temperature":"","top_p":0.5,"max_tokens":"Infinity","stop":""}`},
			map[string]string{"config": `{"top_p":0.5}`, "unmapped": `{"llm.invocation_parameters":{"max_tokens":"Infinity"}}`}},
		{"calls one by one", chat(map[string]any{"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": "tool_calls", "gen_ai.completion.0.function_call.name": "f",
			"gen_ai.completion.0.function_call.arguments": `{"x":1}`, "gen_ai.completion.1.function_call.name": "g", "gen_ai.completion.1.function_call.arguments": "{}"}),
			map[string]string{"outputs": `{"role":"assistant","tool_calls":[{"arguments":{"x":1},"name":"f"},{"arguments":{},"name":"g"}],"finish_reason":"tool_calls"}`, "unmapped": ""}},
		{"a call in a message", chat(map[string]any{"gen_ai.output.messages": `[{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"x\":1}"}}]`}),
			map[string]string{"outputs": `{"role":"assistant","tool_calls":[{"name":"f","arguments":{"x":1}}]}`, "unmapped": ""}},
		{"an embedding's total", map[string]any{"gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 6}, map[string]string{"metadata.total_tokens": "6", "metadata.completion_tokens": ""}},
		{"a chat's prompt alone", chat(map[string]any{"gen_ai.usage.input_tokens": 6}), map[string]string{"metadata.total_tokens": ""}},
		{"the first chunk", chat(map[string]any{"gen_ai.client.operation.time_to_first_chunk": 0.25}), map[string]string{"metadata.time_to_first_token_ms": "250.0"}},
		{"project is kept once", map[string]any{"honeyhive.project": "p", "traceloop.association.properties.project": "p"}, map[string]string{"unmapped": "", "metadata.project": `"p"`}},
		{"characters that no store takes", map[string]any{"input.value": "a\x00b", "k\x00": "\xff"}, map[string]string{"inputs.value": "\"a\uFFFDb\"", "metadata.replaced_characters": "2"}},
		{"not a number", map[string]any{"x": nan()}, map[string]string{"metadata.x": `"NaN"`}},
		{"baggage", map[string]any{"baggage.a.b": "x"}, map[string]string{"metadata.baggage": `{"a":{"b":"x"}}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			td, _ := oneSpan(tt.attrs)
			e := mapOne(t, td)
			for path, want := range tt.want {
				got := at(e, path)
				if path == "unmapped" {
					got = unmapped(e, td)
				}
				if got != want {
					t.Errorf("%s = %s, want %s\n%s", path, got, want, flatEvent(e))
				}
			}
		})
	}
}

// TestMedia holds that a part of a message has one form, whatever API or convention it came by.
func TestMedia(t *testing.T) {
	t.Parallel()
	const png, data = "iVBORw0KGgo=", `"data:image/png;base64,iVBORw0KGgo="`
	image, linked := `{"type":"image_url","image_url":{"url":`+data+`}}`, `{"type":"image_url","image_url":{"url":"https://e.test/a.png"}}`
	for _, tt := range []struct{ name, part, want string }{
		{"OpenAI", image, image},
		{"OpenAI with detail", `{"type":"image_url","image_url":{"url":"https://e.test/a.png","detail":"low"}}`, `{"type":"image_url","image_url":{"url":"https://e.test/a.png","detail":"low"}}`},
		{"Responses", `{"type":"input_image","image_url":"https://e.test/a.png","detail":"low"}`, `{"type":"image_url","image_url":{"url":"https://e.test/a.png","detail":"low"}}`},
		{"Responses, a file's id", `{"type":"input_image","file_id":"f-1"}`, `{"type":"image_url","image_url":{"file_id":"f-1"}}`},
		{"GenAI address", `{"type":"uri","modality":"image","uri":"https://e.test/a.png"}`, linked},
		{"GenAI address with its type", `{"type":"uri","modality":"image","mime_type":"image/png","uri":"https://e.test/a.png"}`,
			`{"type":"image_url","image_url":{"url":"https://e.test/a.png"},"mime_type":"image/png"}`},
		{"GenAI content", `{"type":"blob","modality":"image","mime_type":"image/png","content":"` + png + `"}`, image},
		{"GenAI content without a type", `{"type":"blob","modality":"image","content":"` + png + `"}`, image},
		{"GenAI file", `{"type":"file","modality":"image","file_id":"f-1"}`, `{"type":"image_url","image_url":{"file_id":"f-1"}}`},
		{"GenAI document", `{"type":"blob","modality":"document","mime_type":"application/pdf","content":"JVBERi0="}`, `{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0="}}`},
		{"pydantic-ai", `{"type":"binary","media_type":"image/png","content":"` + png + `"}`, image},
		{"pydantic-ai address", `{"type":"image-url","url":"https://e.test/a.png"}`, linked},
		{"Vercel", `{"type":"image","image":"https://e.test/a.png"}`, linked},
		{"Vercel content", `{"type":"image","image":"` + png + `","mediaType":"image/png"}`, image},
		{"Vercel file", `{"type":"file","data":"` + png + `","mediaType":"image/png"}`, image},
		{"Vercel document", `{"type":"file","data":"JVBERi0=","mediaType":"application/pdf","filename":"a.pdf"}`, `{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0=","filename":"a.pdf"}}`},
		{"Anthropic", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"},"cache_control":{"type":"ephemeral"}}`,
			`{"type":"image_url","image_url":{"url":` + data + `},"cache_control":{"type":"ephemeral"}}`},
		{"Anthropic address", `{"type":"image","source":{"type":"url","url":"https://e.test/a.png"}}`, linked},
		{"Anthropic document", `{"type":"document","source":{"type":"url","url":"https://e.test/a.pdf"},"title":"A"}`, `{"type":"file","file":{"file_url":"https://e.test/a.pdf","filename":"A"}}`},
		{"Bedrock", `{"image":{"format":"png","source":{"bytes":"` + png + `"}}}`, image},
		{"Gemini", `{"inline_data":{"mime_type":"image/png","data":"` + png + `"}}`, image},
		{"Gemini file", `{"fileData":{"mimeType":"video/mp4","fileUri":"gs://b/v.mp4"}}`, `{"type":"video_url","video_url":{"url":"gs://b/v.mp4"},"mime_type":"video/mp4"}`},
		{"LangChain", `{"type":"image","source_type":"base64","data":"` + png + `","mime_type":"image/png"}`, image},
		{"LangChain 1", `{"type":"image","base64":"` + png + `","mime_type":"image/png"}`, image},
		{"OpenAI sound", `{"type":"input_audio","input_audio":{"data":"UklG","format":"wav"}}`, `{"type":"input_audio","input_audio":{"data":"UklG","format":"wav"}}`},
		{"GenAI sound", `{"type":"blob","modality":"audio","mime_type":"audio/wav","content":"UklG"}`, `{"type":"input_audio","input_audio":{"data":"UklG","format":"wav"}}`},
		{"linked sound", `{"type":"uri","modality":"audio","uri":"https://e.test/a.mp3"}`, `{"type":"audio_url","audio_url":{"url":"https://e.test/a.mp3"}}`},
		{"OpenAI file", `{"type":"file","file":{"file_id":"f-1"}}`, `{"type":"file","file":{"file_id":"f-1"}}`},
		{"Responses file", `{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}`, `{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0=","filename":"a.pdf"}}`},
		{"a bare text", `"t"`, `{"type":"text","text":"t"}`},
		{"of no form", `{"type":"hologram","url":"https://e.test/h"}`, `{"type":"hologram","url":"https://e.test/h"}`},
		{"without a medium", `{"type":"image","alt":"gone"}`, `{"type":"image","alt":"gone"}`},
		{"two media", `{"type":"image","url":"https://e.test/a.png","data":"AA"}`, `{"type":"image","url":"https://e.test/a.png","data":"AA"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list := `[{"role":"user","content":[{"type":"text","text":"q"},` + tt.part + `]}]`
			for attr, value := range map[string]string{"gen_ai.input.messages": list, "input.value": `{"messages":` + list + `}`,
				"ai.prompt.messages": list, "gen_ai.prompt.0.content": `[{"type":"text","text":"q"},` + tt.part + `]`} {
				if attr == "gen_ai.prompt.0.content" && !strings.Contains(tt.part, `"type"`) {
					continue // no list of parts, but a text
				}
				td, _ := oneSpan(map[string]any{"openinference.span.kind": "LLM", attr: value})
				e := mapOne(t, td)
				if got := at(e, "inputs.chat_history.0.content.1"); got != tt.want {
					t.Errorf("%s: %s, want %s", attr, got, tt.want)
				}
				if got := unmapped(e, td); got != "" {
					t.Errorf("%s: %s is left over", attr, got)
				}
			}
			if strings.HasPrefix(tt.part, "{") {
				td, _ := oneSpan(map[string]any{"openinference.span.kind": "LLM", "gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"q"},` + tt.part + `]}]`})
				if got := at(mapOne(t, td), "inputs.chat_history.0.content.1"); got != tt.want && !strings.Contains(tt.want, `"type":"text"`) {
					t.Errorf("a part: %s, want %s", got, tt.want)
				}
			}
		})
	}
	// One span that tells it twice keeps it once.
	td, _ := oneSpan(map[string]any{"openinference.span.kind": "LLM",
		"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.contents.0.message_content.type": "text", "llm.input_messages.0.message.contents.0.message_content.text": "q",
		"llm.input_messages.0.message.contents.1.message_content.type": "image", "llm.input_messages.0.message.contents.1.message_content.image.image.url": "data:image/png;base64," + png,
		"input.value": `{"messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}]}]}`})
	e := mapOne(t, td)
	if got := at(e, "inputs.chat_history"); got != `[{"role":"user","content":[{"text":"q","type":"text"},`+image+`]}]` {
		t.Errorf("both: %s", got)
	}
	if n := strings.Count(string(flatEvent(e)), png); n != 1 {
		t.Errorf("the image stands %d times: %s", n, flatEvent(e))
	}
}

// TestLangChain holds the forms of LangChain's inputs and outputs, and that what is read of them is
// not kept a second time.
func TestLangChain(t *testing.T) {
	t.Parallel()
	ai := `{"type":"ai","data":{"content":"Hi","id":"run-1","additional_kwargs":{},"tool_calls":[],"response_metadata":{"model_name":"m","fp":"x"}}}`
	human := `{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"Hello","type":"human"}}`
	for _, tt := range []struct {
		name  string
		kind  string
		attrs map[string]any
		want  map[string]string
	}{
		{"state", "CHAIN", map[string]any{"input.value": `{"messages":[` + human + `],"k":1}`, "output.value": `{"messages":[` + human + `,` + ai + `],"done":true}`}, map[string]string{
			"inputs":   `{"chat_history":[{"role":"user","content":"Hello"}],"k":1}`,
			"outputs":  `{"chat_history":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi"}],"role":"assistant","content":"Hi","done":true}`,
			"unmapped": `{"output.value":{"messages":[{"data":{"id":"run-1","response_metadata":{"model_name":"m","fp":"x"}}}]}}`}},
		{"commands", "CHAIN", map[string]any{"output.value": `[{"graph":null,"update":{"messages":[` + ai + `]},"resume":null,"goto":[]}]`}, map[string]string{
			"outputs": `{"role":"assistant","content":"Hi"}`}},
		{"a command that goes elsewhere", "CHAIN", map[string]any{"output.value": `[{"graph":null,"update":{"n":1},"goto":"next"}]`}, map[string]string{
			"outputs": `{"n":1}`, "unmapped": `{"output.value":[{"goto":"next"}]}`}},
		{"a message", "CHAIN", map[string]any{"output.value": ai}, map[string]string{"outputs": `{"role":"assistant","content":"Hi"}`}},
		{"calls of a state without a text", "CHAIN", map[string]any{"output.value": `{"messages":[` + human + `,{"type":"ai","data":{"content":"","tool_calls":[{"name":"f","args":{"x":1},"id":"c","type":"tool_call"}]}}]}`},
			map[string]string{"outputs.tool_calls": `[{"name":"f","arguments":{"x":1},"id":"c"}]`, "outputs.content": "", "unmapped": ""}},
		{"a tool's message", "TOOL", map[string]any{"output.value": `{"type":"tool","data":{"content":"{\"n\":1}","type":"tool","name":"f","id":null,"tool_call_id":"c","artifact":null,"status":"error"}}`, "tool.name": "f"},
			map[string]string{"outputs": `{"result":{"n":1},"status":"error"}`, "metadata.tool_call_id": `"c"`, "unmapped": ""}},
		{"a tool's call", "TOOL", map[string]any{"input.value": `{"name":"f","args":{"x":1},"id":"c","type":"tool_call"}`},
			map[string]string{"inputs": `{"x":1}`, "metadata.tool_call_id": `"c"`, "metadata.tool_name": `"f"`, "unmapped": ""}},
		{"a callback's tool", "TOOL", map[string]any{"traceloop.entity.input": `{"input_str":"{'q': 'x'}","tags":["t"],"metadata":{},"inputs":null,"kwargs":{}}`,
			"traceloop.entity.output": `{"output":` + strings.Replace(human, "Human", "Tool", 1) + `,"kwargs":{"color":"green"}}`},
			map[string]string{"inputs": `{"q":"x"}`, "outputs": `{"result":"Hello"}`, "metadata.tags": `["t"]`,
				"unmapped": `{"traceloop.entity.input":{"input_str":"{'q': 'x'}"},"traceloop.entity.output":{"kwargs":{"color":"green"}}}`}},
		{"a callback's tool with a text", "TOOL", map[string]any{"traceloop.entity.input": `{"input_str":"x","tags":[],"metadata":{},"kwargs":{}}`},
			map[string]string{"inputs": `{"value":"x"}`, "unmapped": ""}},
		{"flattened in part", "CHAIN", map[string]any{"llm.input_messages.0.message.role": "user", "input.value": `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`},
			map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, "unmapped": ""}},
		{"flattened more", "CHAIN", map[string]any{"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "a", "llm.input_messages.1.message.role": "assistant",
			"llm.input_messages.1.message.content": "b", "input.value": `{"messages":[{"role":"user","content":"a"}]}`},
			map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, "unmapped": ""}},
		{"a function's own members", "CHAIN", map[string]any{"input.value": `{"inputs":[1],"metadata":{"a":1}}`, "output.value": `{"output":"x"}`},
			map[string]string{"inputs": `{"inputs":[1],"metadata":{"a":1}}`, "outputs": `{"output":"x"}`, "unmapped": ""}},
		{"data that only looks like it", "CHAIN", map[string]any{"output.value": `{"type":"human","name":"x"}`}, map[string]string{"outputs": `{"type":"human","name":"x"}`, "unmapped": ""}},
		{"the user of a configuration", "CHAIN", map[string]any{"metadata": `{"user_id":"u-7","session_id":"s"}`}, map[string]string{"user_properties": `{"user_id":"u-7"}`, "metadata.user_id": `"u-7"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.attrs["openinference.span.kind"] = tt.kind
			td, _ := oneSpan(tt.attrs)
			e := mapOne(t, td)
			for path, want := range tt.want {
				got := at(e, path)
				if path == "unmapped" {
					got = unmapped(e, td)
				}
				if got != want {
					t.Errorf("%s = %s, want %s\n%s", path, got, want, flatEvent(e))
				}
			}
		})
	}
}

// TestSessionType: a span that says it is a session is an event of that type below its session,
// with the rules of a chain.
func TestSessionType(t *testing.T) {
	t.Parallel()
	td, s := oneSpan(map[string]any{"honeyhive_event_type": "session", "honeyhive_event_name": "visit", "honeyhive_inputs.q": "x", "gen_ai.operation.name": "chat"})
	s.SetParentSpanID([8]byte{7})
	e := mapOne(t, td)
	if e.Type != event.TypeSession || e.IsSession() || e.ParentID != EventID([16]byte{1}, [8]byte{7}) || string(e.Inputs) != `{"q":"x"}` {
		t.Errorf("event %s", flatEvent(e))
	}
	if got := unmapped(e, td); got != "" {
		t.Errorf("attributes %s are left over", got)
	}
}

// TestLeftoverNames holds where attributes stand that no rule placed.
func TestLeftoverNames(t *testing.T) {
	t.Parallel()
	td, s := oneSpan(map[string]any{
		"test.unique_id": "u1", "other.name": "own", "n": 2.0, "level": "gold", "system": "linux", "run_id": "r",
		"trace_id": "mine", "resource": "r", "duplicate_of": "x", "aggregate_usage": 1, "logs": "l", "truncated": true, "num": nan(),
		"error.type": "TimeoutError", "honeyhive_error_type": "Slow", "error.message": "too slow", "a\x00b": 1,
	})
	s.Attributes().PutStr("gen_ai.conversation.id", "c")
	e := mapOne(t, td)
	for key, want := range map[string]string{
		"test.unique_id": `"u1"`, "other.name": `"own"`, "n": "2.0", "level": `"gold"`, "system": `"linux"`, "run_id": `"r"`,
		"error.type": `"TimeoutError"`, "honeyhive_error_type": `"Slow"`, "error.message": `"too slow"`, "error_type": `"Slow"`, "num": `"NaN"`, "a\ufffdb": "1",
		"attributes": `{"aggregate_usage":1,"duplicate_of":"x","logs":"l","resource":"r","trace_id":"mine","truncated":true}`,
	} {
		if got := string(rawjson.Get(rawjson.Concat(e.Metadata, e.ColdMetadata), key)); got != want {
			t.Errorf("metadata[%q] = %s, want %s\n%s", key, got, want, flatEvent(e))
		}
	}

	// A name that comes twice is kept twice.
	pb := []byte{0x0a, 0x38, 0x12, 0x36, 0x12, 0x34, 0x0a, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x08, 2, 0, 0, 0, 0, 0, 0, 0,
		0x4a, 0x0a, 0x0a, 0x03, 'd', 'u', 'p', 0x12, 0x03, 0x0a, 0x01, '1', 0x4a, 0x0a, 0x0a, 0x03, 'd', 'u', 'p', 0x12, 0x03, 0x0a, 0x01, '2'}
	twice, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(pb)
	if err != nil {
		t.Fatal(err)
	}
	e = mapOne(t, twice)
	if got := at(e, "metadata.dup") + at(e, "metadata.attributes"); got != `"1"{"dup":"2"}` {
		t.Errorf("a name that comes twice: %s", flatEvent(e))
	}
}

func nan() float64 { z := 0.0; return z / z }

func TestBadSpans(t *testing.T) {
	t.Parallel()
	td, s := oneSpan(nil)
	s.CopyTo(td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().AppendEmpty())
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetSpanID([8]byte{})
	third := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().AppendEmpty()
	third.SetSpanID([8]byte{9})
	b, rejected := New(Options{}).Traces(td)
	want := []Rejection{
		{"01000000000000000000000000000000", "0000000000000000", "the span id is all zeros"},
		{"00000000000000000000000000000000", "0900000000000000", "the trace id is all zeros"},
	}
	if diff := cmp.Diff(want, rejected); diff != "" || len(b.Events) != 1 {
		t.Errorf("%d events, rejected (-want +got)\n%s", len(b.Events), diff)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		start, end uint64
		want       [3]float64
		unfinished bool
		skew       string
	}{
		{"fractions", 1_700_000_000_000_000_000, 1_700_000_000_250_500_000, [3]float64{1_700_000_000_000, 1_700_000_000_250.5, 250.5}, false, ""},
		{"no end", 1_700_000_000_000_000_000, 0, [3]float64{1_700_000_000_000, 1_700_000_000_000, 0}, true, ""},
		{"end before start", 2_000_000_000, 1_000_000_000, [3]float64{2000, 2000, 0}, false, "true"},
		{"no start", 0, 1_000_000_000, [3]float64{1000, 1000, 0}, false, ""},
		{"far future", 1 << 63, 1<<63 + 1e6, [3]float64{9223372036854.775, 9223372036855.775, 1}, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			td, s := oneSpan(nil)
			s.SetStartTimestamp(pcommon.Timestamp(tt.start))
			s.SetEndTimestamp(pcommon.Timestamp(tt.end))
			e := mapOne(t, td)
			if got := [3]float64{e.Start, e.End, e.Duration}; got != tt.want || e.Unfinished != tt.unfinished || at(e, "metadata.clock_skew") != tt.skew {
				t.Errorf("%v unfinished %v, want %v; skew %s", got, e.Unfinished, tt.want, at(e, "metadata.clock_skew"))
			}
		})
	}
}

// spans makes a request of spans of one trace: id, parent, attributes.
type spanSpec struct {
	trace, id, parent byte
	attrs             map[string]any
}

func request(specs ...spanSpec) ptrace.Traces {
	td := ptrace.NewTraces()
	list := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i, sp := range specs {
		s := list.AppendEmpty()
		s.SetTraceID([16]byte{max(sp.trace, 1)})
		s.SetSpanID([8]byte{sp.id})
		if sp.parent != 0 {
			s.SetParentSpanID([8]byte{sp.parent})
		}
		s.SetName(fmt.Sprint("s", sp.id))
		s.SetStartTimestamp(pcommon.Timestamp(1e18 + uint64(i)*1e6))
		s.SetEndTimestamp(pcommon.Timestamp(1e18 + uint64(i)*1e6 + 1e6))
		putSorted(s.Attributes(), sp.attrs)
	}
	return td
}

// TestSessionsByNumber: a program may number its chats. The Vercel AI SDK sends such metadata as numbers.
func TestSessionsByNumber(t *testing.T) {
	t.Parallel()
	checkConventions(t, []conventionCase{
		{name: "in the telemetry's metadata", scope: "ai", typ: event.TypeModel,
			attrs: map[string]any{"ai.operationId": "ai.generateText.doGenerate", "ai.telemetry.metadata.sessionId": 42, "ai.telemetry.metadata.userId": 7},
			want:  map[string]string{"session": "42", "metadata.session_id": `"42"`, "user_properties": `{"user_id":7}`}},
		{name: "in a caller's metadata", typ: event.TypeChain,
			attrs: map[string]any{"openinference.span.kind": "CHAIN", "metadata": `{"thread_id":42,"user_id":7}`},
			want:  map[string]string{"session": "42", "metadata.thread_id": "42"}},
		{name: "none", typ: event.TypeChain, attrs: map[string]any{"session.id": 0, "gen_ai.conversation.id": 0.5, "ai.telemetry.metadata.sessionId": "c"}, want: map[string]string{"session": "c"}},
	})
}

func TestSessions(t *testing.T) {
	t.Parallel()
	const a, b = "6b0f2c1e-0f5d-4d53-9a52-0d1f4a3f8a11", "7b0f2c1e-0f5d-4d53-9a52-0d1f4a3f8a12"
	key := func(k, v string) map[string]any { return map[string]any{k: v} }
	trace := uuid.UUID{1}.String()
	for _, tt := range []struct {
		name  string
		spans []spanSpec
		want  []string // session of each event, with ! if fixed and ? if provisional
		keys  []string // metadata.session_key
	}{
		{"no key", []spanSpec{{id: 1}, {id: 2, parent: 1}}, []string{trace + "?", trace + "?"}, []string{"", ""}},
		{"root names it last", []spanSpec{{id: 2, parent: 1, attrs: key("session.id", b)}, {id: 1, attrs: key("session.id", a)}}, []string{a, a}, []string{`"` + b + `"`, ""}},
		{"first in time without a root's", []spanSpec{{id: 3, parent: 1}, {id: 2, parent: 1, attrs: key("gen_ai.conversation.id", a)}, {id: 4, parent: 1, attrs: key("session.id", b)}}, []string{a, a, a}, []string{"", "", `"` + b + `"`}},
		{"fixed counts for its span", []spanSpec{{id: 1, attrs: key("session.id", a)}, {id: 2, parent: 1, attrs: key("honeyhive.session_id", b)}}, []string{a, b + "!"}, []string{"", ""}},
		{"key in the caller's metadata", []spanSpec{{id: 1, attrs: key("metadata", `{"thread_id":"`+a+`"}`)}, {id: 2, parent: 1}}, []string{a, a}, []string{"", ""}},
		{"a key that was scrubbed", []spanSpec{{id: 1, attrs: key("session.id", "[Scrubbed due to 'session']")}}, []string{trace + "?"}, []string{""}},
		{"a key beside one that was scrubbed", []spanSpec{{id: 1, attrs: map[string]any{"session.id": "[Scrubbed due to 'session']", "gen_ai.conversation.id": a}}}, []string{a}, []string{""}},
		{"precedence on one span", []spanSpec{{id: 1, attrs: map[string]any{"gen_ai.conversation.id": b, "session.id": a}}}, []string{a}, []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			batch, _ := New(Options{}).Traces(request(tt.spans...))
			var got, keys []string
			for i := range batch.Events {
				e := &batch.Events[i]
				checkEvent(t, &e.Event)
				s := e.SessionID.String()
				if e.Fixed {
					s += "!"
				}
				if e.Provisional {
					s += "?"
				}
				got = append(got, s)
				keys = append(keys, at(&e.Event, "metadata.session_key"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("sessions (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.keys, keys); diff != "" {
				t.Errorf("keys (-want +got)\n%s", diff)
			}
		})
	}
}

func TestParents(t *testing.T) {
	t.Parallel()
	const own, above = "6b0f2c1e-0f5d-4d53-9a52-0d1f4a3f8a11", "7b0f2c1e-0f5d-4d53-9a52-0d1f4a3f8a12"
	batch, _ := New(Options{}).Traces(request(
		spanSpec{id: 1, attrs: map[string]any{"honeyhive_event_id": own, "traceloop.association.properties.parent_id": above}},
		spanSpec{id: 2, parent: 1, attrs: map[string]any{"honeyhive.parent_id": above}},
		spanSpec{id: 3, parent: 9},
		spanSpec{id: 4, attrs: map[string]any{"honeyhive.parent_id": "no id"}},
	))
	want := []string{above, own, EventID([16]byte{1}, [8]byte{9}).String(), uuid.UUID{1}.String()}
	for i, w := range want {
		if got := batch.Events[i].ParentID.String(); got != w {
			t.Errorf("parent of %d: %s, want %s", i, got, w)
		}
	}
	if batch.Events[0].ID.String() != own {
		t.Errorf("id %s", batch.Events[0].ID)
	}
	if got := at(&batch.Events[1].Event, "metadata.honeyhive.parent_id"); got != `"`+above+`"` {
		t.Errorf("a parent id below the root: %s", got)
	}
}

// TestWrapperOfItself: a span that comes twice and names itself as its parent wraps no other call.
func TestWrapperOfItself(t *testing.T) {
	t.Parallel()
	call := spanSpec{id: 1, parent: 1, attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 7}}
	batch, _ := New(Options{}).Traces(request(call, call))
	for i := range batch.Events {
		if e := &batch.Events[i].Event; e.Wrapper || e.Type != event.TypeModel {
			t.Errorf("event %d: %s", i, flatEvent(e))
		}
	}
}

func TestWrappers(t *testing.T) {
	t.Parallel()
	model := func(tokens int) map[string]any {
		return map[string]any{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": tokens, "llm.cost.total": 0.5}
	}
	batch, _ := New(Options{}).Traces(request(
		spanSpec{id: 3, parent: 2, attrs: model(7)},
		spanSpec{id: 2, parent: 1},
		spanSpec{id: 1, attrs: model(7)},
		spanSpec{trace: 2, id: 4, parent: 5, attrs: model(1)}, // a cycle
		spanSpec{trace: 2, id: 5, parent: 4, attrs: model(1)},
	))
	if e := &batch.Events[0].Event; e.Type != event.TypeModel || at(e, "metadata.prompt_tokens") != "7" {
		t.Errorf("inner call: %s", flatEvent(e))
	}
	if e := &batch.Events[2].Event; e.Type != event.TypeChain || at(e, "metadata.prompt_tokens") != "" || at(e, "metadata.cost") != "" || at(e, "metadata.aggregate_usage") != `{"prompt_tokens":7,"cost":0.5}` {
		t.Errorf("wrapper: %s", flatEvent(e))
	}
}

func TestSpanEvents(t *testing.T) {
	t.Parallel()
	add := func(s ptrace.Span, name string, attrs map[string]any) {
		ev := s.Events().AppendEmpty()
		ev.SetName(name)
		ev.SetTimestamp(s.StartTimestamp() + 5e6)
		putSorted(ev.Attributes(), attrs)
	}
	for _, tt := range []struct {
		name string
		make func(s ptrace.Span)
		want map[string]string
		err  string
	}{
		{"failure", func(s ptrace.Span) {
			s.Status().SetCode(ptrace.StatusCodeError)
			add(s, "exception", map[string]any{"exception.type": "E", "exception.message": "bad", "exception.stacktrace": "at x", "exception.escaped": "False"})
		}, map[string]string{"metadata.error_type": `"E"`, "metadata.error_stacktrace": `"at x"`, "metadata.exceptions": "", "metadata.span_events": ""}, "bad"},
		{"traceback behind the message", func(s ptrace.Span) {
			s.Status().SetCode(ptrace.StatusCodeError)
			add(s, "exception", map[string]any{"exception.type": "Exception", "exception.message": "ValueError('bad')\n\nTraceback (most recent call last):\n  at x"})
		}, map[string]string{"metadata.error_type": `"ValueError"`, "metadata.error_stacktrace": `"Traceback (most recent call last):\n  at x"`, "metadata.exceptions": "", "metadata.span_events": ""}, "ValueError('bad')"},
		{"traceback in the message and the stack trace", func(s ptrace.Span) {
			s.Status().SetCode(ptrace.StatusCodeError)
			add(s, "exception", map[string]any{"exception.type": "Exception", "exception.message": "ValueError('bad')Traceback (most recent call last):\n  at x",
				"exception.stacktrace": "Exception: ValueError('bad')Traceback (most recent call last):\n  at x\n"})
		}, map[string]string{"metadata.error_stacktrace": `"Exception: ValueError('bad')Traceback (most recent call last):\n  at x\n"`, "metadata.exceptions": ""}, "ValueError('bad')"},
		{"traceback behind a message that is no exception", func(s ptrace.Span) {
			s.Status().SetCode(ptrace.StatusCodeError)
			add(s, "exception", map[string]any{"exception.type": "Exception", "exception.message": "too bad (again)\nTraceback (most recent call last):\n  at x"})
		}, map[string]string{"metadata.error_type": `"Exception"`}, "too bad (again)"},
		{"run without outputs", func(s ptrace.Span) {
			s.Status().SetCode(ptrace.StatusCodeError)
			s.Attributes().PutStr("langsmith.span.kind", "tool")
			s.Attributes().PutStr("gen_ai.completion", "{}")
		}, map[string]string{"outputs": "", "metadata.gen_ai.completion": ""}, "error"},
		{"traceback alone", func(s ptrace.Span) {
			s.Status().SetCode(ptrace.StatusCodeError)
			s.Status().SetMessage("Traceback (most recent call last): x")
		}, map[string]string{"metadata.error_stacktrace": ""}, "Traceback (most recent call last): x"},
		{"retry that succeeded", func(s ptrace.Span) {
			add(s, "exception", map[string]any{"exception.message": "bad"})
		}, map[string]string{"metadata.exceptions": `[{"message":"bad","time":1700000000005}]`}, ""},
		{"status message", func(s ptrace.Span) {
			s.Status().SetCode(ptrace.StatusCodeError)
			s.Status().SetMessage("timeout")
			s.Attributes().PutStr("error.type", "T")
		}, map[string]string{"metadata.error_type": `"T"`}, "timeout"},
		{"only a type", func(s ptrace.Span) { s.Attributes().PutStr("error.type", "T") }, nil, "T"},
		{"nothing said", func(s ptrace.Span) { s.Status().SetCode(ptrace.StatusCodeError) }, nil, "error"},
		{"own error", func(s ptrace.Span) {
			s.Attributes().PutStr("honeyhive_error", "mine")
			s.Attributes().PutStr("honeyhive_error_type", "V")
		}, map[string]string{"metadata.error_type": `"V"`}, "mine"},
		{"evaluation", func(s ptrace.Span) {
			add(s, "gen_ai.evaluation.result", map[string]any{"gen_ai.evaluation.name": "rel", "gen_ai.evaluation.score.value": 0.5, "gen_ai.response.id": "r"})
		}, map[string]string{"metrics": `{"rel":0.5}`, "metadata.evaluations": `[{"name":"rel","value":0.5,"response_id":"r"}]`}, ""},
		{"first token", func(s ptrace.Span) { add(s, "First Token Stream Event", nil) }, map[string]string{"metadata.time_to_first_token_ms": "5", "metadata.span_events": ""}, ""},
		{"messages", func(s ptrace.Span) {
			s.Attributes().PutStr("gen_ai.operation.name", "chat")
			add(s, "gen_ai.user.message", map[string]any{"content": "x"})
			add(s, "gen_ai.choice", map[string]any{"message": "y", "finish_reason": "stop"})
		}, map[string]string{"inputs.chat_history": `[{"role":"user","content":"x"}]`, "outputs": `{"role":"assistant","content":"y","finish_reason":"stop"}`, "metadata.span_events": ""}, ""},
		{"details", func(s ptrace.Span) {
			add(s, "gen_ai.client.inference.operation.details", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.input.messages": `[{"role":"user","content":"x"}]`})
		}, map[string]string{"inputs.chat_history": `[{"role":"user","content":"x"}]`, "metadata.span_events": ""}, ""},
		{"other", func(s ptrace.Span) { add(s, "x", map[string]any{"k": 1}) }, map[string]string{"metadata.span_events": `[{"name":"x","time":1700000000005,"attributes":{"k":1}}]`}, ""},
		{"links", func(s ptrace.Span) {
			l := s.Links().AppendEmpty()
			l.SetTraceID([16]byte{3})
			l.SetSpanID([8]byte{4})
		}, map[string]string{"metadata.links": `[{"trace_id":"03000000000000000000000000000000","span_id":"0400000000000000"}]`}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			td, s := oneSpan(nil)
			tt.make(s)
			e := mapOne(t, td)
			for path, want := range tt.want {
				if got := at(e, path); got != want {
					t.Errorf("%s = %s, want %s", path, got, want)
				}
			}
			got := ""
			if e.Error != nil {
				got = *e.Error
			}
			if got != tt.err {
				t.Errorf("error %q, want %q", got, tt.err)
			}
		})
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	td := request(spanSpec{id: 1})
	td.ResourceSpans().At(0).Resource().Attributes().PutStr("service.name", "desk")
	td.ResourceSpans().At(0).Resource().Attributes().PutStr("spangrove.project", "p")
	other := td.ResourceSpans().AppendEmpty()
	td.ResourceSpans().At(0).CopyTo(other)
	other.Resource().Attributes().PutStr("service.name", "pier")
	other.ScopeSpans().At(0).Spans().At(0).SetSpanID([8]byte{2})
	batch, _ := New(Options{}).Traces(td)
	if len(batch.Sessions) != 1 {
		t.Fatalf("%d sessions", len(batch.Sessions))
	}
	h := batch.Sessions[0]
	if h.Fallback != "desk" || h.Source != "desk" || string(h.Metadata) != `{"resource":{"service.name":"desk"}}` {
		t.Errorf("hint %+v %s", h, h.Metadata)
	}
	if got := at(&batch.Events[0].Event, "metadata.resource"); got != `{"service.name":"desk"}` {
		t.Errorf("resource on the first event: %s", got)
	}
	if got := at(&batch.Events[1].Event, "metadata.resource"); got != `{"service.name":"pier"}` {
		t.Errorf("resource on the second event: %s", got)
	}
	if got := at(&batch.Events[1].Event, "metadata.service.name"); got != `"pier"` {
		t.Errorf("service.name %s", got)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	m := New(Options{MaxFieldBytes: 40, MaxMediaBytes: 16})
	td, _ := oneSpan(map[string]any{"gen_ai.operation.name": "chat", "x": strings.Repeat("é", 30), "gen_ai.input.messages": `[{"role":"user","content":"` + strings.Repeat("a", 50) + `"}]`})
	b, _ := m.Traces(td)
	e := &b.Events[0].Event
	checkEvent(t, e)
	for path, want := range map[string]string{
		"metadata.x":                     `"` + strings.Repeat("é", 20) + `"`,
		"metadata.truncated.x":           "60",
		"inputs.chat_history":            `[{"role":"user","content":"aaaaaaaaaaaaa"}]`,
		"metadata.gen_ai.input.messages": "",
	} {
		if got := at(e, path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	media := New(Options{MaxMediaBytes: 16})
	td, _ = oneSpan(map[string]any{"gen_ai.operation.name": "chat", "gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"a long enough text"},{"type":"blob","mime_type":"image/png","content":"` + strings.Repeat("A", 64) + `"}]},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAAAAAAAAAAAAAA"}}]}]`})
	b, _ = media.Traces(td)
	got := at(&b.Events[0].Event, "inputs.chat_history")
	for _, want := range []string{`"mime_type":"image/png","bytes":64`, `"url":{"type":"omitted","mime_type":"image/png","bytes":38`, `a long enough text`} {
		if !strings.Contains(got, want) {
			t.Errorf("media: no %s in %s", want, got)
		}
	}
}

// TestMany maps what someone might send to hurt: many elements, deep names, many keys.
func TestMany(t *testing.T) {
	t.Parallel()
	attrs := map[string]any{"openinference.span.kind": "LLM"}
	for i := range MaxIndexed + 5 {
		attrs[fmt.Sprintf("llm.input_messages.%d.message.role", i)] = "user"
		attrs[fmt.Sprintf("llm.input_messages.%d.message.content", i)] = fmt.Sprint("m", i)
	}
	attrs["honeyhive_inputs."+strings.Repeat("a.", 2000)+"b"] = "deep"
	attrs["honeyhive_metadata."+strings.Repeat("a.", 500)+"b"] = "deep"
	for i := range 3000 {
		attrs[fmt.Sprintf("honeyhive_config.k%d", i)] = i
	}
	td, _ := oneSpan(attrs)
	e := mapOne(t, td)
	if got := at(e, "metadata.llm.input_messages.10004.message.content"); got != `"m10004"` {
		t.Errorf("beyond the bound: %s", got)
	}
	if got := at(e, "inputs.chat_history.9999.content"); got != `"m9999"` {
		t.Errorf("last within the bound: %s", got)
	}
	if got := at(e, "config.k2999"); got != "2999" {
		t.Errorf("config.k2999 = %s", got)
	}
}

// TestTextsOfSessionsAndAnswers: PostgreSQL takes neither NUL nor broken UTF-8, and would refuse the whole request.
func TestTextsOfSessionsAndAnswers(t *testing.T) {
	t.Parallel()
	td, _ := oneSpan(map[string]any{"honeyhive.session_name": "a\x00b\xff"})
	resource := td.ResourceSpans().At(0).Resource().Attributes()
	resource.PutStr("deployment.environment", "c\x00")
	resource.PutStr("service.name", "d\x00")
	batch, _ := New(Options{}).Traces(td)
	h := batch.Sessions[0]
	if got := h.Name + " " + h.Source + " " + h.Fallback; got != "a\uFFFDb\uFFFD c\uFFFD d\uFFFD" {
		t.Errorf("the session's texts are %q", got)
	}
	ld := plog.NewLogs()
	r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	r.SetTraceID(pcommon.TraceID{1})
	r.SetSpanID(pcommon.SpanID{2})
	r.SetEventName("gen_ai.evaluation.result")
	r.Attributes().PutStr("gen_ai.evaluation.name", "tone")
	r.Attributes().PutDouble("gen_ai.evaluation.score.value", 1)
	r.Attributes().PutStr("gen_ai.response.id", "r\x00\xff")
	notes, _, _ := New(Options{}).Logs(ld)
	if len(notes) != 1 || notes[0].ResponseID != "r\uFFFD\uFFFD" {
		t.Errorf("the answer's id is that of %+v", notes)
	}
}
