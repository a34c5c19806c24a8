package otlpmap

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
)

// TestGenAIForms maps the forms of the GenAI conventions that no captured sample shows.
func TestGenAIForms(t *testing.T) {
	t.Parallel()
	chat := map[string]any{"gen_ai.operation.name": "chat"}
	checkConventions(t, []conventionCase{
		{name: "details with values of their own types", typ: event.TypeModel, attrs: chat,
			events: []spanEvent{{detailsEvent, map[string]any{
				"gen_ai.system_instructions": []any{map[string]any{"type": "text", "content": "s"}},
				"gen_ai.input.messages":      []any{map[string]any{"role": "user", "parts": []any{map[string]any{"type": "text", "content": "q"}}}},
				"gen_ai.output.messages":     []any{map[string]any{"role": "assistant", "finish_reason": "stop", "parts": []any{map[string]any{"type": "text", "content": "a"}}}},
				"gen_ai.tool.definitions":    []any{map[string]any{"name": "f", "type": "function"}},
			}}},
			want: map[string]string{"inputs.chat_history": `[{"role":"system","content":"s"},{"role":"user","content":"q"}]`, "outputs": `{"role":"assistant","content":"a","finish_reason":"stop"}`,
				"config.tools.0.name": `"f"`, "metadata.span_events": "", "unmapped": ""}},
		{name: "message events in order", typ: event.TypeModel, attrs: chat,
			events: []spanEvent{{"gen_ai.system.message", map[string]any{"content": "s"}}, {"gen_ai.user.message", map[string]any{"content": "q"}},
				{"gen_ai.assistant.message", map[string]any{"tool_calls": `[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]`}},
				{"gen_ai.tool.message", map[string]any{"content": "r", "id": "c"}},
				{"gen_ai.choice", map[string]any{"index": 0, "finish_reason": "stop", "message": `{"role":"assistant","content":"a"}`}},
				{"gen_ai.choice", map[string]any{"index": 1, "finish_reason": "stop", "message": `{"role":"assistant","content":"b"}`}}},
			want: map[string]string{"inputs.chat_history": `[{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","name":"f","arguments":{}}]},{"role":"tool","content":"r","tool_call_id":"c"}]`,
				"outputs": `{"role":"assistant","content":"a","finish_reason":"stop","choices":[{"role":"assistant","content":"b","finish_reason":"stop"}]}`}},
		{name: "choice of real maps", typ: event.TypeModel, attrs: chat,
			events: []spanEvent{{"gen_ai.choice", map[string]any{"message": map[string]any{"role": "assistant", "content": "a", "tool_calls": []any{map[string]any{"id": "c", "function": map[string]any{"name": "f", "arguments": `{"x":1}`}}}}}}},
			want:   map[string]string{"outputs.content": `"a"`, "outputs.tool_calls.0.arguments": `{"x":1}`, "outputs.tool_calls.0.name": `"f"`, "outputs.tool_calls.0.id": `"c"`}},
		{name: "events with the message in one attribute", typ: event.TypeModel, attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.system": "az.ai.inference", "gen_ai.request.model": "m"},
			events: []spanEvent{{"gen_ai.system.message", map[string]any{"gen_ai.system": "az.ai.inference", "gen_ai.event.content": `{"role": "system", "content": "s"}`}},
				{"gen_ai.user.message", map[string]any{"gen_ai.system": "az.ai.inference", "gen_ai.event.content": `{"role": "user", "content": "q"}`}},
				{"gen_ai.tool.message", map[string]any{"gen_ai.event.content": `{"content": "21", "id": "c0"}`}},
				{"gen_ai.choice", map[string]any{"gen_ai.event.content": `{"message": {"content": "a", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, "finish_reason": "stop", "index": 0}`}}},
			want: map[string]string{"inputs.chat_history": `[{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"tool","content":"21","tool_call_id":"c0"}]`,
				"outputs": `{"role":"assistant","content":"a","tool_calls":[{"id":"c","type":"function","name":"f","arguments":{}}],"finish_reason":"stop"}`, "metadata.span_events": ""}},
		{name: "events with messages in one attribute", typ: event.TypeModel, attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"},
			events: []spanEvent{{"gen_ai.input.messages", map[string]any{"gen_ai.provider.name": "azure.openai", "gen_ai.message.role": "user", "gen_ai.event.content": `[{"role":"user","parts":[{"type":"text","content":"q"}]}]`}},
				{"gen_ai.output.messages", map[string]any{"gen_ai.event.content": `[{"role":"assistant","parts":[{"type":"text","content":"a"}],"finish_reason":"completed"}]`}}},
			want: map[string]string{"inputs.chat_history": `[{"role":"user","content":"q"}]`, "outputs": `{"role":"assistant","content":"a","finish_reason":"completed"}`, "metadata.span_events": ""}},
		{name: "text that looks like JSON stays text", typ: event.TypeModel, attrs: chat,
			events: []spanEvent{{"gen_ai.user.message", map[string]any{"content": `["a","b"]`}}, {"gen_ai.choice", map[string]any{"message": `{"answer":1}`}}},
			want:   map[string]string{"inputs.chat_history": `[{"role":"user","content":"[\"a\",\"b\"]"}]`, "outputs.content": `"{\"answer\":1}"`}},
		{name: "prompt and completion events", typ: event.TypeModel, attrs: chat,
			events: []spanEvent{{"gen_ai.content.prompt", map[string]any{"gen_ai.prompt": `[{"role":"user","content":"q"}]`}}, {"gen_ai.content.completion", map[string]any{"gen_ai.completion": "a"}}},
			want:   map[string]string{"inputs.chat_history": `[{"role":"user","content":"q"}]`, "outputs": `{"role":"assistant","content":"a"}`, "metadata.span_events": ""}},
		{name: "prompt event of text", typ: event.TypeModel, attrs: chat,
			events: []spanEvent{{"gen_ai.content.prompt", map[string]any{"gen_ai.prompt": "q"}}, {"gen_ai.content.completion", map[string]any{"gen_ai.completion": `[{"role":"assistant","content":"a"}]`}}},
			want:   map[string]string{"inputs.chat_history": `[{"role":"user","content":"q"}]`, "outputs.content": `"a"`}},
		{name: "retrieval", typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "q", "gen_ai.retrieval.documents": `[{"id":"d","content":"c","score":0.5}]`, "gen_ai.data_source.id": "ds", "gen_ai.retrieval.top_k": 3},
			want:  map[string]string{"inputs": `{"query":"q"}`, "outputs": `{"documents":[{"id":"d","content":"c","score":0.5}]}`, "metadata.data_source_id": `"ds"`, "config.top_k": "3"}},
		{name: "documents without their texts", typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": `[{"id":"d","score":0.5},{"id":"e","score":0.25}]`},
			want:  map[string]string{"outputs": `{"documents":[{"id":"d","score":0.5},{"id":"e","score":0.25}]}`, "unmapped": ""}},
		{name: "a search of what is remembered", typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "search_memory", "gen_ai.memory.store.id": "st", "gen_ai.memory.query.text": "q", "gen_ai.memory.records": `[{"content":"c","id":"m","score":0.5},{"content":{"likes":"tea"}}]`},
			want:  map[string]string{"inputs": `{"query":"q"}`, "outputs": `{"documents":[{"content":"c","id":"m","score":0.5},{"content":{"likes":"tea"}}]}`, "unmapped": `{"gen_ai.memory.store.id":"st"}`}},
		{name: "what is to be remembered", typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "create_memory", "gen_ai.memory.records": `[{"content":"c"}]`},
			want:  map[string]string{"inputs": `{"documents":[{"content":"c"}]}`, "outputs": "", "unmapped": ""}},
		{name: "a plan", typ: event.TypeChain, attrs: map[string]any{"gen_ai.operation.name": "plan", "gen_ai.agent.name": "a"}, want: map[string]string{"metadata.agent_name": `"a"`}},
		{name: "tokens of sound", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "realtime_inference", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 30, "gen_ai.usage.audio.input_tokens": 20, "gen_ai.usage.input_audio_tokens": 20,
				"gen_ai.usage.output_tokens": 9, "gen_ai.usage.audio.output_tokens": 8, "gen_ai.usage.input_cached_tokens": 4, "gen_ai.request.reasoning.level": "low"},
			want: map[string]string{"metadata.audio_input_tokens": "20", "metadata.audio_output_tokens": "8", "metadata.cache_read_input_tokens": "4", "config.reasoning": `{"level":"low"}`, "unmapped": ""}},
		{name: "messages that are each JSON in a text", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.input.messages": []any{`{"role": "user", "parts": [{"type": "text", "content": "q"}]}`, `{"role": "tool", "parts": [{"type": "tool_call_response", "response": "r", "id": "c"}]}`},
				"gen_ai.output.messages":  []any{`{"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, {"type": "tool_call", "name": "f", "id": "d", "arguments": "{\"x\": 1}"}], "finish_reason": "tool_calls"}`},
				"gen_ai.tool.definitions": []any{`{"type": "function", "name": "f", "parameters": {}}`}},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"},{"role":"tool","content":"r","tool_call_id":"c"}]}`,
				"outputs":      `{"role":"assistant","tool_calls":[{"name":"f","id":"d","arguments":{"x": 1}}],"finish_reason":"tool_calls","reasoning":"hm"}`,
				"config.tools": `[{"type":"function","name":"f","parameters":{}}]`, "metadata.parse_error": "", "unmapped": ""}},
		{name: "texts in a list that are no messages", typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "input.value": `["{\"a\":1}","b"]`}, want: map[string]string{"inputs": `{"value":["{\"a\":1}","b"]}`}},
		{name: "instructions beside message events", typ: event.TypeModel,
			attrs:  map[string]any{"gen_ai.operation.name": "chat", "gen_ai.system_instructions": `[{"type":"text","content":"s"}]`},
			events: []spanEvent{{"gen_ai.user.message", map[string]any{"content": "q"}}},
			want:   map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"s"},{"role":"user","content":"q"}]}`, "unmapped": ""}},
		{name: "instructions beside a raw request", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.system_instructions": "s", "input.value": `{"messages":[{"role":"user","content":"q"}]}`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"s"},{"role":"user","content":"q"}]}`, "unmapped": ""}},
		{name: "instructions alone", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.system_instructions": "s"}, want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"s"}]}`, "unmapped": ""}},
		{name: "usage of an agent", typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 40, "gen_ai.usage.output_tokens": 9, "gen_ai.usage.cache_read.input_tokens": 8, "gen_ai.usage.cost": 0.5},
			want: map[string]string{"metadata.aggregate_usage": `{"prompt_tokens":40,"completion_tokens":9,"total_tokens":49,"cache_read_input_tokens":8,"cost":0.5}`,
				"metadata.prompt_tokens": "", "metadata.total_tokens": "", "metadata.cost": "", "metadata.cost_source": "", "unmapped": ""}},
		{name: "usage of an agent that has a sum of its own", typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 40, "gen_ai.aggregated_usage.input_tokens": 50},
			want:  map[string]string{"metadata.aggregate_usage": `{"input_tokens":50}`, "metadata.prompt_tokens": "", "unmapped": `{"gen_ai.usage.input_tokens":40}`}},
		{name: "embeddings", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e", "gen_ai.embeddings.dimension.count": 256, "gen_ai.request.encoding_formats": []any{"float"}, "gen_ai.usage.input_tokens": 3},
			want:  map[string]string{"config": `{"model":"e","dimensions":256,"encoding_formats":["float"]}`, "metadata.prompt_tokens": "3"}},
		{name: "vectors that are the whole output", typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "embedding", "langfuse.observation.input": "x", "langfuse.observation.output": "[[" + strings.Repeat("0.5,", 99) + "1],[" + strings.Repeat("0.25,", 99) + "1]]"},
			want:  map[string]string{"inputs": `{"texts":["x"]}`, "outputs": "", "metadata.embedding": `{"count":2,"dimension":100}`, "metadata.truncated": `{"embedding":1600}`, "unmapped": ""}},
		{name: "vectors under a name", typ: event.TypeModel,
			attrs: map[string]any{"langsmith.span.kind": "embedding", "gen_ai.completion": `{"embeddings":{"float":[[` + strings.Repeat("0.5,", 99) + `1]]},"id":"e1","tokens":[` + strings.Repeat("7,", 99) + `7]}`},
			want:  map[string]string{"outputs": `{"id":"e1","tokens":[` + strings.Repeat("7,", 99) + `7]}`, "metadata.embedding": `{"count":1,"dimension":100}`, "unmapped": ""}},
		{name: "a short vector", typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "embedding", "langfuse.observation.output": "[0.5,0.25]"}, want: map[string]string{"outputs": `{"result":[0.5,0.25]}`, "metadata.embedding": ""}},
		{name: "evaluation with a label", typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", "gen_ai.agent.version": "2"},
			events: []spanEvent{{"gen_ai.evaluation.result", map[string]any{"gen_ai.evaluation.name": "tone", "gen_ai.evaluation.score.label": "kind", "gen_ai.evaluation.explanation": "x"}},
				{"gen_ai.evaluation.result", map[string]any{"gen_ai.evaluation.name": "rel", "gen_ai.evaluation.score.value": 0.5}}},
			want: map[string]string{"metrics": `{"tone":"kind","rel":0.5}`, "metadata.evaluations.0": `{"explanation":"x","name":"tone","label":"kind"}`, "metadata.agent_version": `"2"`}},
		{name: "calls whose id and name have other names beside their arguments", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.output.messages": `[{"role":"assistant","content":null,"tool_calls":[{"call_id":"c","tool_name":"f","arguments":"{\"x\":1}"},{"id":"d","call_id":"e","name":"g","arguments":{}}]}]`},
			want:  map[string]string{"outputs.tool_calls": `[{"id":"c","name":"f","arguments":{"x":1}},{"id":"d","call_id":"e","name":"g","arguments":{}}]`}},
		{name: "counts of 0 where other names have the figures", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 0, "gen_ai.usage.prompt_tokens": 0, "llm.token_count.prompt": 12, "gen_ai.usage.output_tokens": 5, "llm.token_count.completion": 0,
				"gen_ai.usage.cache_read.input_tokens": 0, "gen_ai.usage.cached_tokens": "0"},
			want: map[string]string{"metadata.prompt_tokens": "12", "metadata.input_tokens": "12", "metadata.completion_tokens": "5", "metadata.total_tokens": "17", "metadata.cache_read_input_tokens": "0",
				"unmapped": `{"gen_ai.usage.input_tokens":0,"gen_ai.usage.prompt_tokens":0,"llm.token_count.completion":0}`}},
		{name: "counts of 0 where the raw answer has the figures", typ: event.TypeModel,
			attrs: map[string]any{"openinference.span.kind": "LLM", "llm.token_count.prompt": 0, "llm.token_count.completion": 0, "output.value": `{"choices":[{"message":{"role":"assistant","content":"a"}}],"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17}}`},
			want:  map[string]string{"metadata.prompt_tokens": "12", "metadata.completion_tokens": "5", "metadata.total_tokens": "17"}},
		{name: "a call of nothing", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0},
			want:  map[string]string{"metadata.prompt_tokens": "0", "metadata.completion_tokens": "0", "metadata.total_tokens": "0", "unmapped": ""}},
		{name: "a tool of the provider", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat",
				"gen_ai.input.messages":  `[{"role":"assistant","parts":[{"type":"server_tool_call","id":"s","name":"web_search","server_tool_call":{"type":"web_search","query":"q"}},{"type":"server_tool_call_response","id":"s","server_tool_call_response":{"type":"web_search","hits":1}},{"type":"text","content":"t"}]},{"role":"user","content":"and?"}]`,
				"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"a"},{"type":"server_tool_call","id":"s2","name":"web_search","server_tool_call":{"type":"web_search","query":"p"}},{"type":"server_tool_call_response","id":"s2","server_tool_call_response":{"type":"web_search","hits":2}},{"type":"text","content":"b"}],"finish_reason":"stop"}]`},
			want: map[string]string{"inputs.chat_history": `[{"role":"assistant","content":"t","tool_calls":[{"type":"server_tool_call","id":"s","name":"web_search","arguments":{"type":"web_search","query":"q"}}]},{"role":"tool","content":"{\"type\":\"web_search\",\"hits\":1}","tool_call_id":"s"},{"role":"user","content":"and?"}]`,
				"outputs.content": `"ab"`, "outputs.finish_reason": `"stop"`, "outputs.choices": "", "outputs.tool_calls": `[{"type":"server_tool_call","id":"s2","name":"web_search","arguments":{"type":"web_search","query":"p"}}]`,
				"outputs.chat_history.1": `{"role":"tool","content":"{\"type\":\"web_search\",\"hits\":2}","tool_call_id":"s2"}`, "unmapped": ""}},
		{name: "tools that Anthropic runs", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.output.messages": `[{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"u"}]},{"type":"mcp_tool_use","id":"m","name":"f","server_name":"x","input":{}},{"type":"mcp_tool_result","tool_use_id":"m","is_error":false,"content":[{"type":"text","text":"r"}]},{"type":"text","text":"a"}]}]`},
			want: map[string]string{"outputs.content": `"a"`, "outputs.tool_calls": `[{"type":"server_tool_use","id":"s","name":"web_search","arguments":{"query":"q"}},{"type":"mcp_tool_use","id":"m","name":"f","server_name":"x","arguments":{}}]`,
				"outputs.chat_history.1": `{"role":"tool","content":"[{\"type\":\"web_search_result\",\"url\":\"u\"}]","tool_call_id":"s"}`, "outputs.chat_history.2.content": `"r"`}},
		{name: "a call with two ids", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"tool_call","call_id":"c","toolCallId":"d","name":"f","args":{}}]}]`},
			want:  map[string]string{"outputs.tool_calls": `[{"id":"c","toolCallId":"d","name":"f","arguments":{}}]`}},
		{name: "calls in the words of other providers", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.input.messages": `[{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"tool_use","id":"c","name":"f","input":{"x":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"r"}]}]}]`},
			want:  map[string]string{"inputs.chat_history": `[{"role":"assistant","content":"t","tool_calls":[{"id":"c","name":"f","arguments":{"x":1}}]},{"role":"tool","content":"r","tool_call_id":"c"}]`}},
	})
}

// TestOlderForms maps what older OpenLLMetry and OpenInference sent.
func TestOlderForms(t *testing.T) {
	t.Parallel()
	checkConventions(t, []conventionCase{
		{name: "llm.prompts", typ: event.TypeModel,
			attrs: map[string]any{"llm.request.type": "chat", "llm.vendor": "OpenAI", "llm.request.model": "m", "llm.response.model": "m-1", "llm.prompts.0.role": "user", "llm.prompts.0.content": "q", "llm.completions.0.content": "a", "llm.completions.0.role": "assistant", "llm.completions.0.finish_reason": "stop",
				"llm.usage.prompt_tokens": 5, "llm.usage.completion_tokens": 2, "llm.usage.total_tokens": 7, "llm.temperature": 0.5, "llm.top_p": 1.0, "llm.request.max_tokens": 9, "llm.is_streaming": false},
			want: map[string]string{"inputs.chat_history": `[{"role":"user","content":"q"}]`, "outputs": `{"role":"assistant","content":"a","finish_reason":"stop"}`, "metadata.prompt_tokens": "5", "metadata.total_tokens": "7",
				"config": `{"model":"m-1","request_model":"m","provider":"openai","temperature":0.5,"top_p":1.0,"max_tokens":9,"stream":false}`, "unmapped": ""}},
		{name: "JS workflow", scope: "@traceloop/node-server-sdk", typ: event.TypeChain,
			attrs: map[string]any{"traceloop.span.kind": "workflow", "traceloop.entity.name": "plan", "traceloop.workflow.name": "plan", "traceloop.entity.input": `{"args":["x"],"kwargs":{}}`, "traceloop.entity.output": `"done"`},
			want:  map[string]string{"name": "plan", "inputs": `{"args":["x"]}`, "outputs.result": `"done"`, "metadata.instrumentor": `"openllmetry"`}},
		{name: "JS OpenInference", scope: "@arizeai/openinference-instrumentation-openai", typ: event.TypeModel,
			attrs: map[string]any{"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.system": "openai", "llm.provider": "openai", "input.value": `{"messages":[{"role":"user","content":"q"}]}`, "input.mime_type": "application/json",
				"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "q", "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f",
				"llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": `{"x":1}`, "llm.tools.0.tool.json_schema": `{"type":"function","function":{"name":"f"}}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "outputs.tool_calls": `[{"arguments":{"x":1},"name":"f"}]`, "config.tools.0.name": `"f"`, "metadata.instrumentor": `"openinference"`, "unmapped": ""}},
		{name: "OpenInference over the Vercel AI SDK", scope: "ai", typ: event.TypeModel,
			attrs: map[string]any{"openinference.span.kind": "LLM", "ai.operationId": "ai.generateText.doGenerate", "ai.prompt.messages": `[{"role":"user","content":"q"}]`, "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "q",
				"ai.response.text": "a", "output.value": "a"},
			want: map[string]string{"inputs.chat_history": `[{"role":"user","content":"q"}]`, "outputs": `{"content":"a","role":"assistant"}`, "unmapped": ""}},
		{name: "judges and people", typ: event.TypeChain,
			attrs: map[string]any{"openinference.span.kind": "AGENT",
				"evaluations.0.evaluation.name": "rel", "evaluations.0.evaluation.score": 0.5, "evaluations.0.evaluation.label": "ok", "evaluations.0.evaluation.explanation": "e",
				"annotations.0.annotation.name": "thumb", "annotations.0.annotation.score": 1, "annotations.0.annotation.annotator_kind": "HUMAN",
				"annotations.1.annotation.name": "safe", "annotations.1.annotation.label": "yes", "annotations.1.annotation.annotator_kind": "LLM", "annotations.1.annotation.metadata": `{"k":1}`,
				"trace.evaluations.0.evaluation.name": "goal", "trace.evaluations.0.evaluation.score": 1, "session.annotations.0.annotation.name": "mood", "session.annotations.0.annotation.label": "glad",
				"evaluations.3.evaluation.score": 7},
			want: map[string]string{"metrics": `{"rel":0.5,"goal":1,"safe":"yes","mood":"glad"}`, "feedback": `{"thumb":1}`,
				"metadata.evaluations": `[{"explanation":"e","label":"ok","name":"rel","value":0.5},{"name":"goal","value":1,"target":"trace"},{"annotator_kind":"HUMAN","name":"thumb","value":1},{"annotator_kind":"LLM","label":"yes","metadata":{"k":1},"name":"safe"},{"label":"glad","name":"mood","target":"session"}]`,
				"unmapped":             `{"evaluations.3.evaluation.score":7}`}},
	})
}

// TestPlainSpans maps spans of servers and clients that have nothing to do with models: their
// attributes all stay under their names.
func TestPlainSpans(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		kind  ptrace.SpanKind
		attrs map[string]any
		want  event.Type
	}{
		{"HTTP server", ptrace.SpanKindServer, map[string]any{"http.request.method": "POST", "http.route": "/chat", "http.response.status_code": 200, "url.path": "/chat"}, event.TypeChain},
		{"HTTP server, old names", ptrace.SpanKindServer, map[string]any{"http.method": "POST", "http.target": "/chat", "http.status_code": 200}, event.TypeChain},
		{"HTTP client", ptrace.SpanKindClient, map[string]any{"http.request.method": "GET", "url.full": "https://example.test/", "server.address": "example.test"}, event.TypeTool},
		{"HTTP client, old names", ptrace.SpanKindClient, map[string]any{"http.method": "GET", "http.url": "https://example.test/", "net.peer.name": "example.test"}, event.TypeTool},
		{"database", ptrace.SpanKindClient, map[string]any{"db.system.name": "postgresql", "db.query.text": "SELECT 1", "db.namespace": "d", "db.operation.name": "SELECT"}, event.TypeTool},
		{"database, old names", ptrace.SpanKindClient, map[string]any{"db.system": "postgresql", "db.statement": "SELECT 1", "db.name": "d", "db.operation": "SELECT"}, event.TypeTool},
		{"RPC client", ptrace.SpanKindClient, map[string]any{"rpc.system": "grpc", "rpc.service": "s", "rpc.method": "m"}, event.TypeTool},
		{"RPC client, new name", ptrace.SpanKindClient, map[string]any{"rpc.system.name": "grpc", "rpc.method": "s/m"}, event.TypeTool},
		{"RPC server", ptrace.SpanKindServer, map[string]any{"rpc.system": "grpc", "rpc.service": "s"}, event.TypeChain},
		{"message sent", ptrace.SpanKindProducer, map[string]any{"messaging.system": "kafka", "messaging.destination.name": "t"}, event.TypeChain},
		{"message received", ptrace.SpanKindConsumer, map[string]any{"messaging.system": "kafka", "messaging.operation.type": "process"}, event.TypeChain},
		{"names that others share", ptrace.SpanKindServer, map[string]any{"operation.name": "http.request", "resource.name": "GET /x", "env": "prod"}, event.TypeChain},
		{"inside", ptrace.SpanKindInternal, map[string]any{"code.function.name": "f"}, event.TypeChain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			td, s := oneSpan(tt.attrs)
			s.SetKind(tt.kind)
			s.SetName("GET /x")
			e := mapOne(t, td)
			if e.Type != tt.want || e.Name != "GET /x" || at(e, "metadata.instrumentor") != `"plain"` || e.Inputs != nil || e.Outputs != nil || e.Config != nil {
				t.Errorf("event %s", flatEvent(e))
			}
			for k := range tt.attrs {
				if at(e, "metadata."+k) == "" {
					t.Errorf("%s is lost: %s", k, flatEvent(e))
				}
			}
		})
	}
}
