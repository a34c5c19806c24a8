package otlpmap

import (
	"testing"

	"github.com/spangrove/spangrove/pkg/event"
)

// TestBedrock maps the requests and answers of models on Bedrock that have an API of their own.
func TestBedrock(t *testing.T) {
	t.Parallel()
	const titan = `{"results":[{"tokenCount":3,"outputText":"a","completionReason":"FINISH"}],"inputTextTokenCount":5}`
	checkConventions(t, []conventionCase{
		{name: "Titan among the parameters", scope: "openinference.instrumentation.bedrock", typ: event.TypeModel,
			attrs: map[string]any{"openinference.span.kind": "LLM", "llm.model_name": "amazon.titan-text-lite-v1", "llm.invocation_parameters": `{"inputText": "q", "textGenerationConfig": {"maxTokenCount": 64, "temperature": 0.5, "stopSequences": []}}`, "output.value": "a"},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "outputs": `{"content":"a","role":"assistant"}`,
				"config": `{"model":"amazon.titan-text-lite-v1","max_tokens":64,"temperature":0.5,"stop_sequences":[]}`, "unmapped": ""}},
		{name: "Titan as it is", typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.input": `{"inputText":"q","textGenerationConfig":{"maxTokenCount":64}}`, "langfuse.observation.output": titan},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "outputs": `{"role":"assistant","content":"a","finish_reason":"finish"}`, "config": `{"max_tokens":64}`,
				"metadata.prompt_tokens": "5", "metadata.completion_tokens": "3", "unmapped": ""}},
		{name: "Titan in a call of MLflow", scope: "mlflow", typ: event.TypeModel,
			attrs: map[string]any{"mlflow.spanType": `"LLM"`, "mlflow.spanInputs": `{"modelId":"amazon.titan-text-lite-v1","body":"{\"inputText\": \"q\", \"textGenerationConfig\": {\"topP\": 0.5}}"}`, "mlflow.spanOutputs": `{"ResponseMetadata":{"HTTPStatusCode":200},"contentType":"application/json","body":` + titan + `}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "outputs.content": `"a"`, "config": `{"top_p":0.5,"model":"amazon.titan-text-lite-v1"}`, "metadata.prompt_tokens": "5",
				"unmapped": `{"mlflow.spanOutputs":{"ResponseMetadata":{"HTTPStatusCode":200},"contentType":"application/json"}}`}},
		{name: "Titan's embedding", typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "embedding", "langfuse.observation.input": `{"inputText":"q"}`, "langfuse.observation.output": `{"embedding":[0.5,0.25],"inputTextTokenCount":4}`},
			want:  map[string]string{"inputs": `{"texts":["q"]}`, "metadata.prompt_tokens": "4", "metadata.total_tokens": "4"}},
		{name: "Llama", typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.input": `{"prompt":"q","max_gen_len":9}`, "langfuse.observation.output": `{"generation":"a","prompt_token_count":5,"generation_token_count":3,"stop_reason":"stop"}`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "outputs": `{"finish_reason":"stop","role":"assistant","content":"a"}`, "config.max_tokens": "9", "metadata.prompt_tokens": "5", "metadata.completion_tokens": "3", "unmapped": ""}},
		{name: "Mistral", typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.output": `{"outputs":[{"text":"a","stop_reason":"length"}]}`},
			want:  map[string]string{"outputs": `{"role":"assistant","content":"a","finish_reason":"length"}`, "unmapped": ""}},
		{name: "Converse", typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.input": `{"modelId":"m","system":[{"text":"s"}],"messages":[{"role":"user","content":[{"text":"q"}]}],"inferenceConfig":{"maxTokens":9,"temperature":0.5},"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]}}`,
				"langfuse.observation.output": `{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"f","input":{"x":1}}}]}},"stopReason":"tool_use","usage":{"inputTokens":5,"outputTokens":3,"totalTokens":8}}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"s"},{"role":"user","content":"q"}]}`, "outputs": `{"finish_reason":"tool_use","role":"assistant","tool_calls":[{"id":"c","name":"f","arguments":{"x":1}}]}`,
				"config.model": `"m"`, "config.max_tokens": "9", "config.tools": `[{"name":"f","parameters":{"type":"object"}}]`, "metadata.total_tokens": "8", "unmapped": ""}},
	})
}

// TestMastra maps the messages of Mastra in the forms that it keeps them in.
func TestMastra(t *testing.T) {
	t.Parallel()
	const scope = "@mastra/otel"
	checkConventions(t, []conventionCase{
		{name: "messages as they are stored", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Weather", "gen_ai.system_instructions": "Be brief.",
				"mastra.agent_run.input":  `[{"id":"m1","role":"user","createdAt":"2026-01-01T00:00:00.000Z","content":{"format":2,"parts":[{"type":"text","text":"q"}],"content":"q"}}]`,
				"mastra.agent_run.output": `{"text":"a","files":[]}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"Be brief."},{"role":"user","content":"q","id":"m1","createdAt":"2026-01-01T00:00:00.000Z","format":2}]}`,
				"outputs": `{"text":"a","files":[]}`, "metadata.agent_name": `"Weather"`, "unmapped": ""}},
		{name: "texts", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "mastra.agent_run.input": `["q","more"]`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"},{"role":"user","content":"more"}]}`, "metadata.parse_error": "", "unmapped": ""}},
		{name: "a text", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "mastra.agent_run.input": `q`}, want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`}},
		{name: "a model's step", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "model_step", "mastra.span.type": "model_step", "mastra.model_step.input": `{"messages":[{"role":"user","content":"q"}]}`, "mastra.model_step.output": `{"text":"a"}`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "outputs": `{"text":"a"}`}},
		{name: "an object as an answer", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": `[{"role":"user","content":[{"type":"text","text":"q"},{"type":"file","data":"aGk=","mediaType":"image/png"}]}]`, "gen_ai.output.messages": `{"object":{"n":1}}`, "gen_ai.response.finish_reasons": `["stop"]`},
			want:  map[string]string{"inputs.chat_history.0.content.1": `{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}`, "outputs": `{"object":{"n":1},"finish_reason":"stop"}`, "metadata.parse_error": "", "unmapped": ""}},
	})
}

// TestDify maps the nodes of Dify's workflows, in the words of Alibaba's extension of the GenAI conventions.
func TestDify(t *testing.T) {
	t.Parallel()
	checkConventions(t, []conventionCase{
		{name: "model", scope: "opentelemetry.trace", span: "LLM", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.span.kind": "LLM", "gen_ai.framework": "dify", "node.type": "llm", "gen_ai.request.model": "m", "gen_ai.provider.name": "langgenius/openai/openai", "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2, "gen_ai.usage.total_tokens": 7,
				"gen_ai.prompt": `[{"role": "system", "text": "s", "files": []}, {"role": "user", "text": "q", "files": []}]`, "gen_ai.completion": "a", "gen_ai.response.finish_reason": "stop", "gen_ai.user.id": "u", "gen_ai.session.id": "se",
				"gen_ai.input.messages": `[{"role":"system","parts":[{"type":"text","content":"s"}]},{"role":"user","parts":[{"type":"text","content":"q"}]}]`, "gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"a"}],"finish_reason":"stop"}]`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"s"},{"role":"user","content":"q"}]}`, "outputs": `{"content":"a","finish_reason":"stop","role":"assistant"}`, "metadata.prompt_tokens": "5",
				"user_properties.user_id": `"u"`, "session": "se", "metadata.span_kind": `"LLM"`, "unmapped": `{"gen_ai.framework":"dify","node.type":"llm"}`}},
		{name: "retrieval", typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.span.kind": "RETRIEVER", "retrieval.query": "q", "retrieval.document": `[{"document": {"content": "c", "metadata": {"title": "t"}, "score": 0.5, "id": "d"}}]`, "input.value": `{"query": "q"}`, "output.value": `{"result": [{"content": "c", "title": "t"}]}`},
			want:  map[string]string{"inputs": `{"query":"q"}`, "outputs": `{"documents":[{"content":"c","metadata":{"title": "t"},"score":0.5,"id":"d"}]}`, "unmapped": ""}},
		{name: "task", typ: event.TypeChain, attrs: map[string]any{"gen_ai.span.kind": "TASK", "input.value": `{"a": 1}`, "output.value": `{"b": 2}`}, want: map[string]string{"inputs": `{"a":1}`, "outputs": `{"b":2}`}},
	})
}

// TestSpringAI maps Spring AI's spans, whose scope is that of the application.
func TestSpringAI(t *testing.T) {
	t.Parallel()
	const scope = "org.springframework.boot"
	checkConventions(t, []conventionCase{
		{name: "client", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "framework", "gen_ai.system": "spring_ai", "spring.ai.kind": "chat_client", "spring.ai.chat.client.stream": "false", "spring.ai.chat.client.conversation.id": "007"},
			want:  map[string]string{"session": "007", "metadata.span_kind": `"chat_client"`, "metadata.instrumentor": `"spring-ai"`}},
		{name: "client without a conversation", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"spring.ai.kind": "chat_client", "spring.ai.chat.client.conversation.id": "default"},
			want:  map[string]string{"metadata.spring.ai.chat.client.conversation.id": `"default"`, "metadata.session_id": ""}},
		{name: "tool", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "framework", "gen_ai.system": "spring_ai", "spring.ai.kind": "tool_call", "spring.ai.tool.definition.name": "f", "spring.ai.tool.call.arguments": `{"x":1}`, "spring.ai.tool.call.result": `"2"`, "spring.ai.tool.definition.description": "d", "spring.ai.tool.definition.schema": `{"type":"object"}`},
			want:  map[string]string{"name": "f", "inputs": `{"x":1}`, "outputs": `{"result":"2"}`, "metadata.tool_name": `"f"`, "metadata.tool_schema": `{"type":"object"}`, "metadata.tool_description": `"d"`}},
		{name: "embedding", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "embedding", "gen_ai.system": "openai", "gen_ai.request.model": "e", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.total_tokens": 3}, want: map[string]string{"config.model": `"e"`, "metadata.prompt_tokens": "3"}},
		{name: "search", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"spring.ai.kind": "vector_store", "db.system": "pg_vector", "db.operation.name": "query", "db.vector.query.content": "q", "db.vector.query.top_k": "4", "db.vector.query.response.documents": `["a", "b"]`},
			want:  map[string]string{"inputs": `{"query":"q"}`, "outputs": `{"result":["a", "b"]}`, "config.top_k": "4"}},
	})
}

// TestVoice maps the spans of frameworks of voice agents.
func TestVoice(t *testing.T) {
	t.Parallel()
	const livekit, pipecat = "livekit-agents", "pipecat"
	checkConventions(t, []conventionCase{
		{name: "LiveKit's call", scope: livekit, span: "llm_request", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m", "gen_ai.system_instructions": `[{"type":"text","content":"s"}]`, "gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"q"}]}]`,
				"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"a"}],"finish_reason":"stop"}]`, "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2, "gen_ai.usage.cache_read.input_tokens": 4, "gen_ai.usage.input_cached_tokens": 4,
				"gen_ai.response.time_to_first_chunk": 0.25, "langfuse.observation.completion_start_time": `"2023-11-14T22:13:20.050Z"`, "gen_ai.response.finish_reasons": []any{"stop"}},
			want: map[string]string{"inputs.chat_history": `[{"role":"system","content":"s"},{"role":"user","content":"q"}]`, "outputs": `{"role":"assistant","content":"a","finish_reason":"stop"}`, "metadata.instrumentor": `"livekit"`, "metadata.cache_read_input_tokens": "4"}},
		{name: "LiveKit's older call", scope: livekit, span: "llm_request", typ: event.TypeModel, attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"},
			events: []spanEvent{{"gen_ai.system.message", map[string]any{"content": "s"}}, {"gen_ai.user.message", map[string]any{"content": "q"}}, {"gen_ai.choice", map[string]any{"content": "a", "role": "assistant"}}},
			want:   map[string]string{"inputs.chat_history": `[{"role":"system","content":"s"},{"role":"user","content":"q"}]`, "outputs": `{"role":"assistant","content":"a"}`}},
		{name: "LiveKit's node", scope: livekit, span: "llm_node", typ: event.TypeChain,
			attrs: map[string]any{"lk.pii.chat_ctx": `{"items": [{"id": "i1", "type": "message", "role": "user", "content": ["q"], "interrupted": false}, {"id": "i2", "type": "function_call", "call_id": "c", "arguments": "{\"x\":1}", "name": "f"}, {"id": "i3", "type": "function_call_output", "name": "f", "call_id": "c", "output": "r", "is_error": false}, {"id": "i4", "type": "agent_handoff", "new_agent_id": "b"}]}`,
				"lk.pii.response.text": "a", "lk.pii.response.function_calls": "[]", "lk.function_tools": []any{"f"}, "lk.response.ttft": 0.5},
			want: map[string]string{"inputs.chat_history.0.content": `"q"`, "inputs.chat_history.1.tool_calls": `[{"id":"c","name":"f","arguments":{"x":1}}]`, "inputs.chat_history.2.tool_call_id": `"c"`, "inputs.chat_history.3.new_agent_id": `"b"`, "outputs.content": `"a"`, "metadata.time_to_first_token_ms": "500.0"}},
		{name: "LiveKit's tool", scope: livekit, span: "function_tool", typ: event.TypeTool,
			attrs: map[string]any{"lk.function_tool.id": "c", "lk.function_tool.name": "f", "lk.function_tool.arguments": `{"x":1}`, "lk.function_tool.output": "r", "lk.function_tool.is_error": false},
			want:  map[string]string{"name": "f", "inputs": `{"x":1}`, "outputs": `{"result":"r"}`, "metadata.tool_call_id": `"c"`, "unmapped": `{"lk.function_tool.is_error":false}`}},
		{name: "LiveKit's newer tool", scope: livekit, span: "function_tool", typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "gen_ai.tool.call.arguments": `{"x": 1}`, "gen_ai.tool.call.result": `"r"`, "lk.function_tool.id": "c", "lk.function_tool.name": "f", "lk.pii.function_tool.arguments": `{"x":1}`, "lk.pii.function_tool.output": "r"},
			want:  map[string]string{"inputs": `{"x":1}`, "outputs": `{"result":"r"}`, "unmapped": ""}},
		{name: "LiveKit's turn", scope: livekit, span: "agent_turn", typ: event.TypeChain, attrs: map[string]any{"lk.pii.user_input": "q", "lk.pii.response.text": "a", "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "b"},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "outputs": `{"content":"a"}`, "unmapped": ""}},
		{name: "Pipecat's model", scope: pipecat, span: "llm", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m", "gen_ai.output.type": "text", "stream": true, "gen_ai.system_instructions": "s", "input": `[{"role": "user", "content": "q"}]`, "output": "a",
				"tools": `[{"type":"function","function":{"name":"f"}}]`, "tool_count": 1, "metrics.ttfb": 0.25, "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"s"},{"role": "user", "content": "q"}]}`, "outputs": `{"content":"a","role":"assistant"}`, "config.tools.0.name": `"f"`, "config.stream": "true", "metadata.time_to_first_token_ms": "250.0",
				"metadata.instrumentor": `"pipecat"`}},
		{name: "Pipecat's speech", scope: pipecat, span: "tts", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "tts", "gen_ai.provider.name": "cartesia", "gen_ai.request.model": "m", "text": "Hi", "voice_id": "v"}, want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"Hi"}]}`, "config.model": `"m"`}},
		{name: "Pipecat's hearing", scope: pipecat, span: "stt", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "stt", "gen_ai.provider.name": "deepgram", "gen_ai.request.model": "m", "transcript": "Hi"}, want: map[string]string{"outputs": `{"content":"Hi","role":"assistant"}`}},
		{name: "Pipecat's tool", scope: pipecat, span: "llm_tool_call", typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "llm_tool_call", "tool.function_name": "f", "tool.call_id": "c", "tool.arguments": `{"x":1}`}, want: map[string]string{"name": "f", "inputs": `{"x":1}`, "metadata.tool_call_id": `"c"`}},
		{name: "Pipecat's conversation", scope: pipecat, span: "turn", typ: event.TypeChain, attrs: map[string]any{"conversation.id": "co", "turn.number": 1}, want: map[string]string{"session": "co"}},
	})
}

// TestAnthropic maps the spans of Anthropic's own SDK.
func TestAnthropic(t *testing.T) {
	t.Parallel()
	const scope = "com.anthropic.sdk.python"
	checkConventions(t, []conventionCase{
		{name: "message", span: "anthropic.messages.create", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "claude-x", "gen_ai.request.max_tokens": 9, "gen_ai.request.reasoning.level": "low", "gen_ai.conversation.id": "conv",
				"gen_ai.response.id": "msg_1", "gen_ai.response.model": "claude-x-1", "gen_ai.usage.input_tokens": 13, "gen_ai.usage.cache_read.input_tokens": 10, "gen_ai.usage.cache_write.input_tokens": 1, "gen_ai.usage.output_tokens": 4,
				"anthropic.message.stop_reason": "tool_use", "gen_ai.system_instructions": `[{"type":"text","content":"Be brief."}]`, "gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"q"}]}]`,
				"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"tool_call","id":"c1","name":"f","arguments":{"x":1}}]}]`, "http.request.method": "POST", "server.address": "api.anthropic.com"},
			want: map[string]string{"session": "conv", "inputs": `{"chat_history":[{"role":"system","content":"Be brief."},{"role":"user","content":"q"}]}`, "outputs.finish_reason": `"tool_use"`, "metadata.finish_reasons": `["tool_use"]`,
				"outputs.tool_calls": `[{"id":"c1","name":"f","arguments":{"x":1}}]`, "metadata.prompt_tokens": "13", "metadata.total_tokens": "17", "metadata.cache_read_input_tokens": "10", "metadata.cache_write_input_tokens": "1", "config.model": `"claude-x-1"`,
				"metadata.instrumentor": `"anthropic"`}},
		{name: "tool", span: "anthropic.custom_tool_use f", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": `{"x":1}`, "anthropic.tool_result.content": `[{"type":"text","text":"21"}]`},
			want:  map[string]string{"inputs": `{"x":1}`, "outputs": `{"result":"21"}`, "metadata.tool_call_id": `"c1"`}},
		{name: "tool with an image", span: "anthropic.tool_use f", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "execute_tool", "anthropic.tool_result.content": `[{"type":"text","text":"21"},{"type":"image"}]`},
			want:  map[string]string{"outputs": `{"result":[{"type":"text","text":"21"},{"type":"image"}]}`}},
	})
}

// TestOpenLIT maps what OpenLIT's instrumentations have beside the GenAI attributes.
func TestOpenLIT(t *testing.T) {
	t.Parallel()
	const scope = "openlit.otel.tracing"
	checkConventions(t, []conventionCase{
		{name: "chain", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_workflow", "gen_ai.provider.name": "langchain", "gen_ai.workflow.input": `{"question": "q"}`, "gen_ai.workflow.output": `{"answer": "a"}`},
			want:  map[string]string{"inputs": `{"question":"q"}`, "outputs": `{"answer":"a"}`}},
		{name: "call", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 4, "gen_ai.usage.cost": 0.25, "gen_ai.tool.name": "f", "gen_ai.tool.call.id": "c",
				"gen_ai.usage.completion_tokens_details.reasoning_tokens": 3, "gen_ai.usage.prompt_tokens_details.cached_tokens": 2},
			want: map[string]string{"metadata.cost": "0.25", "metadata.reasoning_tokens": "3", "metadata.cache_read_input_tokens": "2"}},
		{name: "memory", scope: scope, typ: event.TypeTool, attrs: map[string]any{"gen_ai.operation.name": "memory", "gen_ai.memory.search.query": "q"}, want: map[string]string{"inputs": `{"query":"q"}`}},
		{name: "tool of MCP", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"mcp.operation.name": "client_call_tool", "mcp.method": "tools/call", "mcp.tool.name": "f", "mcp.tool.arguments": `{"x": 1}`, "mcp.result": `{"content": "21"}`},
			want:  map[string]string{"name": "f", "metadata.tool_name": `"f"`, "inputs": `{"x":1}`, "outputs": `{"result":{"content": "21"}}`, "metadata.mcp_method": `"tools/call"`}},
	})
}

func TestAgentScope(t *testing.T) {
	t.Parallel()
	const scope = "agentscope"
	checkConventions(t, []conventionCase{
		{name: "model call", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.conversation.id": `"run-1"`, "gen_ai.tool.definitions": `[{"type":"function","name":"f","parameters":{"type":"object"}}]`,
				"agentscope.function.input": `{"args":[[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"q"}]}]],"kwargs":{"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"tool_choice":"auto","user":"u"}}`,
				"gen_ai.output.messages":    `[{"role":"assistant","parts":[{"type":"text","content":"a"}],"finish_reason":"stop"}]`, "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2,
				"agentscope.function.output": `{"content":[{"type":"text","text":"a"}],"usage":{"input_tokens":5,"output_tokens":2,"time":0.25}}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"s"},{"role":"user","content":"q"}],"user":"u"}`, "outputs": `{"role":"assistant","content":"a","finish_reason":"stop"}`,
				"config.tool_choice": `"auto"`, "config.tools": `[{"type":"function","name":"f","parameters":{"type":"object"}}]`, "session": "run-1", "metadata.instrumentor": `"agentscope"`,
				"unmapped": `{"agentscope.function.output":{"usage":{"time":0.25}}}`}},
		{name: "model call with messages by name", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "agentscope.function.input": `{"args":[],"kwargs":{"messages":[{"role":"user","content":"q"}]}}`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "unmapped": ""}},
		{name: "model call with a second argument", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "agentscope.function.input": `{"args":[[{"role":"user","content":"q"}],"more"],"kwargs":{}}`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "unmapped": `{"agentscope.function.input":{"args":[[{"role":"user","content":"q"}],"more"]}}`}},
		{name: "embedding", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e", "agentscope.function.input": `{"args":[["x","y"]],"kwargs":{}}`},
			want:  map[string]string{"inputs": `{"texts":["x","y"]}`, "unmapped": ""}},
		{name: "traced function", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_generic_function", "agentscope.function.name": "f", "agentscope.function.input": `{"args":["x"],"kwargs":{"y":1}}`, "agentscope.function.output": `{"z":2}`},
			want:  map[string]string{"inputs": `{"y":1,"args":["x"]}`, "outputs": `{"z":2}`, "unmapped": `{"agentscope.function.name":"f"}`}},
		{name: "tool", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "gen_ai.tool.call.id": "c", "gen_ai.tool.call.arguments": `{"a":5}`, "gen_ai.tool.call.result": `{"content":[{"type":"text","text":"8"}]}`,
				"agentscope.function.input": `{"tool_call":{"type":"tool_use","id":"c","name":"add","input":{"a":5}}}`, "agentscope.function.output": `{"content":[{"type":"text","text":"8"}]}`},
			want: map[string]string{"name": "add", "inputs": `{"a":5}`, "outputs": `{"result":{"content":[{"type":"text","text":"8"}]}}`, "unmapped": ""}},
	})
}
