package otlpmap

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
)

// conventionCase is one span as a framework sends it, in a form that no captured sample shows.
type conventionCase struct {
	name   string
	scope  string
	span   string // its name, if it matters
	attrs  map[string]any
	events []spanEvent
	typ    event.Type
	want   map[string]string
}

type spanEvent struct {
	name  string
	attrs map[string]any
}

func checkConventions(t *testing.T, cases []conventionCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			td, s := oneSpan(tt.attrs)
			td.ResourceSpans().At(0).ScopeSpans().At(0).Scope().SetName(tt.scope)
			if tt.span != "" {
				s.SetName(tt.span)
			}
			for _, e := range tt.events {
				ev := s.Events().AppendEmpty()
				ev.SetName(e.name)
				ev.SetTimestamp(s.StartTimestamp())
				putSorted(ev.Attributes(), e.attrs)
			}
			e := mapOne(t, td)
			if e.Type != tt.typ {
				t.Errorf("type %s, want %s", e.Type, tt.typ)
			}
			for path, want := range tt.want {
				got := at(e, path)
				switch path {
				case "unmapped":
					got = unmapped(e, td)
				case "name":
					got = e.Name
				case "source":
					got = e.Source
				case "session":
					got, want = e.SessionID.String(), SessionID(want).String()
				case "error":
					got = ""
					if e.Error != nil {
						got = *e.Error
					}
				}
				if got != want {
					t.Errorf("%s = %s, want %s\n%s", path, got, want, flatEvent(e))
				}
			}
			sameAsProtobuf(t, td)
		})
	}
}

// sameAsProtobuf holds that the encoding of a request changes nothing.
func sameAsProtobuf(t *testing.T, td ptrace.Traces) {
	t.Helper()
	m := New(Options{})
	p, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	fromProto, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(p)
	if err != nil {
		t.Fatal(err)
	}
	j, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	fromJSON, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(j)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := m.Traces(fromProto)
	b, _ := m.Traces(fromJSON)
	sameEvents(t, "protobuf and JSON", a, b, true)
}

func TestVercel(t *testing.T) {
	t.Parallel()
	op := func(id string, more map[string]any) map[string]any {
		more["ai.operationId"] = id
		return more
	}
	checkConventions(t, []conventionCase{
		{name: "version 3 answers", scope: "ai", typ: event.TypeModel,
			attrs: map[string]any{"operation.name": "ai.generateText.doGenerate my fn", "ai.prompt.messages": `[{"role":"user","content":"q"}]`, "ai.result.text": "a", "ai.finishReason": "tool-calls",
				"ai.result.toolCalls": `[{"toolCallType":"function","toolCallId":"c1","toolName":"f","args":"{\"x\":1}"}]`, "ai.usage.promptTokens": 5, "ai.usage.completionTokens": 2, "ai.settings.maxTokens": 64, "ai.settings.mode": "json"},
			want: map[string]string{"inputs.chat_history": `[{"role":"user","content":"q"}]`, "outputs.content": `"a"`, "outputs.role": `"assistant"`, "outputs.finish_reason": `"tool-calls"`,
				"outputs.tool_calls": `[{"toolCallType":"function","id":"c1","name":"f","arguments":{"x":1}}]`, "metadata.prompt_tokens": "5", "metadata.total_tokens": "7", "config.max_tokens": "64", "config.mode": `"json"`}},
		{name: "version 3 object", scope: "ai", typ: event.TypeChain,
			attrs: op("ai.generateObject", map[string]any{"ai.prompt": `{"system":"s","prompt":"q"}`, "ai.schema": `{"type":"object"}`, "ai.schema.name": "city", "ai.result.object": `{"city":"Lisbon"}`, "ai.telemetry.functionId": "fn"}),
			want: map[string]string{"name": "fn", "inputs.chat_history": `[{"role":"system","content":"s"},{"role":"user","content":"q"}]`, "outputs.content": `"{\"city\":\"Lisbon\"}"`,
				"config.response_schema": `{"type":"object"}`, "config.response_schema_name": `"city"`, "metadata.agent_name": `"fn"`}},
		{name: "streamed object", scope: "ai", typ: event.TypeModel,
			attrs: op("ai.streamObject.doStream", map[string]any{"ai.response.object": `{"a":1}`, "ai.stream.msToFirstChunk": 12.5, "ai.model.id": "m", "ai.model.provider": "anthropic.messages"}),
			want:  map[string]string{"outputs.content": `"{\"a\":1}"`, "metadata.time_to_first_token_ms": "12.5", "config.model": `"m"`, "config.provider": `"anthropic"`}},
		{name: "one embedding", scope: "ai", typ: event.TypeModel,
			attrs: op("ai.embed.doEmbed", map[string]any{"ai.values": []any{`"t\n1"`}, "ai.embeddings": []any{"[0.1,0.2]"}, "ai.usage.tokens": 3}),
			want:  map[string]string{"inputs.texts": `["t\n1"]`, "metadata.prompt_tokens": "3", "metadata.ai.embeddings": `["[0.1,0.2]"]`}},
		{name: "the value of an embedding", scope: "ai", typ: event.TypeChain,
			attrs: op("ai.embed", map[string]any{"ai.value": `"t"`, "ai.embedding": vectorText(100)}),
			want:  map[string]string{"inputs.texts": `["t"]`, "metadata.embedding": `{"count":1,"dimension":100}`, "metadata.ai.embedding": ""}},
		{name: "many long embeddings", scope: "ai", typ: event.TypeModel,
			attrs: op("ai.embedMany.doEmbed", map[string]any{"ai.values": []any{`"a"`, `"b"`}, "ai.embeddings": []any{vectorText(100), vectorText(100)}}),
			want:  map[string]string{"inputs.texts": `["a","b"]`, "metadata.embedding": `{"count":2,"dimension":100}`}},
		{name: "tool with arguments and an error's text", scope: "ai", typ: event.TypeTool,
			attrs: op("ai.toolCall", map[string]any{"ai.toolCall.name": "f", "ai.toolCall.id": "c", "ai.toolCall.args": `{"x":1}`, "ai.toolCall.result": `"\"69.8\""`}),
			want:  map[string]string{"name": "f", "inputs": `{"x":1}`, "outputs.result": `"69.8"`, "metadata.tool_call_id": `"c"`}},
		{name: "parts of version 5", scope: "ai", typ: event.TypeModel,
			attrs: op("ai.streamText.doStream", map[string]any{"ai.response.reasoning": "hm", "ai.response.text": "a", "ai.prompt.messages": `[{"role":"user","content":[{"type":"text","text":"q"},{"type":"file","mediaType":"image/png","data":"AA"}]},
				{"role":"assistant","content":[{"type":"reasoning","text":"r"},{"type":"tool-call","toolCallId":"c","toolName":"f","input":{"x":1},"providerOptions":{"k":1}}]},
				{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"f","output":{"type":"text","value":"21"}}]}]`}),
			want: map[string]string{"outputs.reasoning": `"hm"`, "inputs.chat_history.0.content": `[{"type":"text","text":"q"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]`,
				"inputs.chat_history.1": `{"role":"assistant","content":null,"tool_calls":[{"id":"c","name":"f","arguments":{"x":1},"providerOptions":{"k":1}}],"reasoning":"r"}`,
				"inputs.chat_history.2": `{"role":"tool","content":"21","name":"f","tool_call_id":"c"}`}},
		{name: "session, user and settings of the caller", scope: "ai", typ: event.TypeChain,
			attrs: op("ai.generateText", map[string]any{"ai.telemetry.metadata.session_id": "s-1", "ai.telemetry.metadata.userId": "u", "ai.telemetry.metadata.plan": "gold", "ai.telemetry.metadata.tags": []any{"a"}, "ai.settings.context.region": "eu", "ai.settings.maxRetries": 2, "ai.settings.topP": 0.5}),
			want: map[string]string{"metadata.session_id": `"s-1"`, "user_properties.user_id": `"u"`, "metadata.plan": `"gold"`, "metadata.tags": `["a"]`, "metadata.region": `"eu"`,
				"config": `{"top_p":0.5,"maxRetries":2}`, "unmapped": ""}},
		{name: "counts in the provider's facts", scope: "ai", typ: event.TypeModel,
			attrs: op("ai.generateText.doGenerate", map[string]any{"ai.usage.promptTokens": 30, "ai.response.providerMetadata": `{"anthropic":{"cacheCreationInputTokens":7,"usage":{"cache_read_input_tokens":9}}}`}),
			want:  map[string]string{"metadata.cache_write_input_tokens": "7", "metadata.cache_read_input_tokens": "9"}},
		{name: "prompt that is no JSON", scope: "ai", typ: event.TypeChain,
			attrs: op("ai.generateText", map[string]any{"ai.prompt": "just text"}),
			want:  map[string]string{"inputs.chat_history": `[{"role":"user","content":"just text"}]`}},
		{name: "prompt of messages", scope: "ai", typ: event.TypeChain,
			attrs: op("ai.streamText", map[string]any{"ai.prompt": `{"system":[{"role":"system","content":"s"}],"prompt":[{"role":"user","content":"q"}],"extra":1}`}),
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"s"},{"role":"user","content":"q"}],"extra":1}`}},
		{name: "rerank", scope: "ai", typ: event.TypeTool,
			attrs: op("ai.rerank.doRerank", map[string]any{"ai.documents": []any{`"d1"`, `{"k":1}`}, "ai.ranking": []any{`{"index":1}`}}),
			want:  map[string]string{"inputs.documents": `["d1",{"k":1}]`, "outputs.ranking": `[{"index":1}]`}},
	})
}

func vectorText(n int) string {
	b := []byte{'['}
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, "0.5"...)
	}
	return string(append(b, ']'))
}

func TestGoogleADK(t *testing.T) {
	t.Parallel()
	const request = `{"model":"gemini-2.0-flash","config":{"system_instruction":"Be terse.","temperature":0.5,"tools":[{"function_declarations":[{"name":"f","description":"d","parameters":{"type":"OBJECT"}}]}],"response_modalities":["TEXT"]},
		"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"function_call":{"id":"c","name":"f","args":{"x":1}}}]},{"role":"user","parts":[{"function_response":{"id":"c","name":"f","response":{"y":2}}}]}]}`
	const answer = `{"content":{"parts":[{"text":"a"}],"role":"model"},"finish_reason":"STOP","partial":false,"usage_metadata":{"prompt_token_count":30,"candidates_token_count":5,"total_token_count":35,"cached_content_token_count":4,"thoughts_token_count":2}}`
	checkConventions(t, []conventionCase{
		{name: "older model call", scope: "gcp.vertex.agent", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.system": "gcp.vertex.agent", "gen_ai.request.model": "gemini-2.0-flash", "gcp.vertex.agent.invocation_id": "e-1", "gcp.vertex.agent.session_id": "s-1", "gcp.vertex.agent.event_id": "E",
				"gcp.vertex.agent.llm_request": request, "gcp.vertex.agent.llm_response": answer, "gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 35},
			want: map[string]string{
				"inputs.chat_history": `[{"role":"system","content":"Be terse."},{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","name":"f","arguments":{"x":1}}]},{"role":"tool","content":"{\"y\":2}","name":"f","tool_call_id":"c"}]`,
				"outputs.content":     `"a"`, "outputs.role": `"assistant"`, "outputs.finish_reason": `"stop"`, "metadata.finish_reasons": `["STOP"]`,
				"metadata.prompt_tokens": "30", "metadata.completion_tokens": "5", "metadata.total_tokens": "35", "metadata.cache_read_input_tokens": "4", "metadata.reasoning_tokens": "2",
				"config.model": `"gemini-2.0-flash"`, "config.provider": `"google"`, "config.temperature": "0.5", "config.tools": `[{"name":"f","description":"d","parameters":{"type":"OBJECT"}}]`, "config.response_modalities": `["TEXT"]`,
				"metadata.session_id": `"s-1"`, "metadata.invocation_id": `"e-1"`, "metadata.instrumentor": `"google-adk"`,
				"metadata.gen_ai.usage.output_tokens": "35"}},
		{name: "older call of a tool", scope: "gcp.vertex.agent", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.system": "gcp.vertex.agent", "gcp.vertex.agent.llm_request": `{"contents":[]}`, "gcp.vertex.agent.llm_response": `{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}}`},
			want:  map[string]string{"outputs.tool_calls": `[{"name":"f","arguments":{}}]`}},
		{name: "older tool", scope: "gcp.vertex.agent", typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.system": "gcp.vertex.agent", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "gen_ai.tool.description": "d", "gen_ai.tool.call.id": "c",
				"gcp.vertex.agent.tool_call_args": `{"x":1}`, "gcp.vertex.agent.tool_response": `{"y":2}`, "gcp.vertex.agent.llm_request": "{}", "gcp.vertex.agent.llm_response": "{}"},
			want: map[string]string{"name": "f", "inputs": `{"x":1}`, "outputs.result": `{"y":2}`, "metadata.tool_description": `"d"`}},
		{name: "merged tools", scope: "gcp.vertex.agent", typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)", "gcp.vertex.agent.tool_call_args": "N/A", "gcp.vertex.agent.tool_response": "<not serializable>"},
			want:  map[string]string{"inputs.value": `"N/A"`, "outputs.result": `"<not serializable>"`}},
		{name: "request that is no JSON", scope: "gcp.vertex.agent", typ: event.TypeChain,
			attrs: map[string]any{"gcp.vertex.agent.llm_request": "<not serializable>"},
			want:  map[string]string{"unmapped": `{"gcp.vertex.agent.llm_request":"<not serializable>"}`}},
		{name: "thoughts beside the completion, without content", scope: "gcp.vertex.agent", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "gemini-2.5-flash", "gcp.vertex.agent.llm_request": "{}", "gcp.vertex.agent.llm_response": "{}",
				"gen_ai.usage.input_tokens": 106, "gen_ai.usage.output_tokens": 6, "gen_ai.usage.experimental.reasoning_tokens": 46, "gen_ai.tool_definitions": `[{"name":"f"}]`},
			want: map[string]string{"metadata.prompt_tokens": "106", "metadata.completion_tokens": "52", "metadata.total_tokens": "158", "metadata.reasoning_tokens": "46", "metadata.usage_adjusted": "true",
				"config.tools": `[{"name":"f"}]`, "metadata.gen_ai.tool_definitions": ""}},
		{name: "thoughts beside the completion, with the raw answer", scope: "gcp.vertex.agent", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "gemini-2.5-flash",
				"gcp.vertex.agent.llm_response": `{"content":{"parts":[{"text":"a"}],"role":"model"},"usage_metadata":{"prompt_token_count":106,"candidates_token_count":6,"thoughts_token_count":46,"total_token_count":158}}`,
				"gen_ai.usage.input_tokens":     106, "gen_ai.usage.output_tokens": 6, "gen_ai.usage.experimental.reasoning_tokens": 46},
			want: map[string]string{"metadata.completion_tokens": "52", "metadata.total_tokens": "158", "metadata.reasoning_tokens": "46"}},
		{name: "data sent to a live agent", scope: "gcp.vertex.agent", typ: event.TypeChain,
			attrs: map[string]any{"gcp.vertex.agent.data": `[{"role":"user","parts":[{"text":"hi"}]}]`},
			want:  map[string]string{"inputs.chat_history": `[{"role":"user","content":"hi"}]`}},
	})
}

func TestStrands(t *testing.T) {
	t.Parallel()
	const scope = "strands.telemetry.tracer"
	details := func(key, val string) spanEvent {
		return spanEvent{detailsEvent, map[string]any{key: val}}
	}
	checkConventions(t, []conventionCase{
		{name: "cycle", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "execute_event_loop_cycle", "gen_ai.system": "strands-agents", "event_loop.cycle_id": "1", "event_loop.parent_cycle_id": "0"},
			events: []spanEvent{{"gen_ai.user.message", map[string]any{"content": `[{"text":"q"},{"image":{"format":"png"}}]`}},
				{"gen_ai.choice", map[string]any{"message": `[{"reasoningContent":{"reasoningText":{"text":"hm"}}},{"toolUse":{"toolUseId":"c","name":"f","input":{}}}]`, "tool.result": `[{"toolResult":{"toolUseId":"c","status":"error","content":[{"json":{"a":1}}]}}]`}}},
			want: map[string]string{"metadata.cycle_id": `"1"`, "metadata.parent_cycle_id": `"0"`, "inputs.chat_history": `[{"role":"user","content":[{"type":"text","text":"q"},{"image":{"format":"png"}}]}]`,
				"outputs.chat_history": `[{"role":"assistant","content":null,"tool_calls":[{"id":"c","name":"f","arguments":{}}],"reasoning":"hm"},{"role":"tool","content":"{\"a\":1}","tool_call_id":"c","status":"error"}]`,
				"metadata.span_events": ""}},
		{name: "tool", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "gen_ai.tool.call.id": "c", "gen_ai.tool.status": "success"},
			events: []spanEvent{{"gen_ai.tool.message", map[string]any{"role": "tool", "content": `{"x":1}`, "id": "c"}},
				{"gen_ai.choice", map[string]any{"message": `[{"text":"12 C"}]`, "id": "c"}}},
			want: map[string]string{"inputs": `{"x":1}`, "outputs.result": `"12 C"`, "metadata.tool_status": `"success"`, "metadata.span_events": ""}},
		{name: "newest model call", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "strands-agents", "gen_ai.request.model": "claude-4", "gen_ai.server.time_to_first_token": 40},
			events: []spanEvent{details("gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"q"}]}]`),
				details("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"a"}],"finish_reason":"end_turn"}]`)},
			want: map[string]string{"inputs.chat_history": `[{"role":"user","content":"q"}]`, "outputs": `{"role":"assistant","content":"a","finish_reason":"end_turn"}`,
				"config.provider": `"anthropic"`, "metadata.time_to_first_token_ms": "40", "metadata.span_events": ""}},
		{name: "no scope", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.system": "strands-agents", "gen_ai.server.time_to_first_token": 40},
			want:  map[string]string{"metadata.instrumentor": `"strands"`, "metadata.time_to_first_token_ms": "40"}},
		{name: "newest tool", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"},
			events: []spanEvent{details("gen_ai.input.messages", `[{"role":"tool","parts":[{"type":"tool_call","name":"f","id":"c","arguments":{"x":1}}]}]`),
				details("gen_ai.output.messages", `[{"role":"tool","parts":[{"type":"tool_call_response","id":"c","response":[{"text":"{\"y\":2}"}]}]}]`)},
			want: map[string]string{"inputs": `{"x":1}`, "outputs": `{"result":{"y":2}}`, "metadata.tool_call_id": `"c"`}},
	})
}

func TestMicrosoft(t *testing.T) {
	t.Parallel()
	checkConventions(t, []conventionCase{
		{name: "reasons as JSON text", scope: "agent_framework", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "microsoft.agent_framework", "gen_ai.request.model": "gpt-5", "gen_ai.response.finish_reasons": `["tool_calls"]`},
			want:  map[string]string{"metadata.finish_reasons": `["tool_calls"]`, "outputs.finish_reason": `"tool_calls"`, "config.provider": `"openai"`, "metadata.instrumentor": `"agent-framework"`}},
		{name: "workflow", scope: "agent_framework", typ: event.TypeChain,
			attrs: map[string]any{"workflow.name": "w", "workflow.id": "1", "executor.id": "e", "executor.type": "T"},
			want:  map[string]string{"metadata.workflow_name": `"w"`, "metadata.executor_id": `"e"`}},
		{name: "kernel's completion", scope: "semantic_kernel.connectors.ai", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat.completions", "gen_ai.system": "openai", "gen_ai.request.model": "m", "gen_ai.response.finish_reason": "FinishReason.TOOL_CALLS", "gen_ai.response.prompt_tokens": 5, "gen_ai.response.completion_tokens": 2},
			want: map[string]string{"outputs.finish_reason": `"tool_calls"`, "metadata.finish_reasons": `["FinishReason.TOOL_CALLS"]`, "metadata.total_tokens": "7", "unmapped": "",
				"metadata.instrumentor": `"semantic-kernel"`}},
		{name: "kernel's agent", scope: "semantic_kernel.agents", typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk", "gen_ai.agent.id": "1", "gen_ai.input.messages": `[{"role":"user","content":"q"}]`, "gen_ai.output.messages": `[{"role":"assistant","content":"a"}]`},
			want:  map[string]string{"inputs.chat_history": `[{"role":"user","content":"q"}]`, "outputs.content": `"a"`, "metadata.agent_name": `"clerk"`}},
		{name: "kernel's older agent", scope: "semantic_kernel.agents", typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.invocation_input": `[{"role":"user","content":"q"}]`, "gen_ai.agent.invocation_output": `[{"role":"assistant","content":"a"}]`},
			want:  map[string]string{"inputs.chat_history": `[{"role":"user","content":"q"}]`, "outputs.content": `"a"`}},
		{name: "kernel's function", scope: "semantic_kernel.functions.kernel_function", typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather-get", "gen_ai.tool.call.arguments": `{"city":"Lisbon"}`, "gen_ai.tool.call.result": "sunny"},
			want:  map[string]string{"name": "weather-get", "inputs": `{"city":"Lisbon"}`, "outputs.result": `"sunny"`}},
	})
}

func TestMCP(t *testing.T) {
	t.Parallel()
	checkConventions(t, []conventionCase{
		{name: "tools/call", scope: "mcp-python-sdk", typ: event.TypeTool,
			attrs: map[string]any{"mcp.method.name": "tools/call", "gen_ai.tool.name": "f", "gen_ai.tool.call.arguments": `{"x":1}`, "mcp.session.id": "t-1", "jsonrpc.request.id": "2"},
			want:  map[string]string{"name": "f", "inputs": `{"x":1}`, "metadata.mcp_session_id": `"t-1"`, "metadata.session_id": "", "metadata.jsonrpc_request_id": `"2"`, "metadata.mcp_method": `"tools/call"`}},
		{name: "tools/call without a name", scope: "mcp", typ: event.TypeTool, attrs: map[string]any{"mcp.method.name": "tools/call", "mcp.response.value": `{"isError":false}`},
			want: map[string]string{"outputs.result": `{"isError":false}`}},
		{name: "resources/read", scope: "mcp", typ: event.TypeChain, attrs: map[string]any{"mcp.method.name": "resources/read", "mcp.resource.uri": "file:///a", "mcp.protocol.version": "2026-07-28"},
			want: map[string]string{"inputs.uri": `"file:///a"`, "metadata.mcp_protocol_version": `"2026-07-28"`, "metadata.instrumentor": `"mcp"`}},
		{name: "prompts/get", scope: "mcp", typ: event.TypeChain, attrs: map[string]any{"mcp.method.name": "prompts/get", "gen_ai.prompt.name": "greet"},
			want: map[string]string{"config.prompt_name": `"greet"`}},
		{name: "tools/list", scope: "mcp", typ: event.TypeChain, attrs: map[string]any{"mcp.method.name": "tools/list"}},
	})
}

// TestCodingAgents holds what the spans of coding agents become. Their log records are in TestSteps.
func TestCodingAgents(t *testing.T) {
	t.Parallel()
	checkConventions(t, []conventionCase{
		{
			name: "Claude Code's model call", scope: "com.anthropic.claude_code.tracing", span: "claude_code.llm_request", typ: event.TypeModel,
			attrs: map[string]any{"span.type": "llm_request", "gen_ai.system": "anthropic", "gen_ai.request.model": "m", "input_tokens": 500, "output_tokens": 15,
				"cache_read_tokens": 200, "cache_creation_tokens": 100, "ttft_ms": 12},
			want: map[string]string{"metadata.prompt_tokens": "800", "metadata.completion_tokens": "15", "metadata.total_tokens": "815", "metadata.cache_read_input_tokens": "200",
				"metadata.cache_write_input_tokens": "100", "metadata.time_to_first_token_ms": "12", "metadata.instrumentor": `"claude-code"`},
		},
		{
			name: "Claude Code's tool", scope: "com.anthropic.claude_code.tracing", span: "claude_code.tool", typ: event.TypeTool,
			attrs:  map[string]any{"span.type": "tool", "tool_name": "Bash", "full_command": "ls", "gen_ai.tool.call.id": "t"},
			events: []spanEvent{{"tool.output", map[string]any{"output": "a b"}}},
			want:   map[string]string{"name": "Bash", "inputs": `{"command":"ls"}`, "outputs": `{"result":"a b"}`},
		},
		{
			name: "a part of Claude Code's tool", scope: "com.anthropic.claude_code.tracing", typ: event.TypeChain,
			attrs: map[string]any{"span.type": "tool.execution", "gen_ai.tool.call.id": "t"},
		},
		{
			name: "Claude Code's interaction", scope: "com.anthropic.claude_code.tracing", typ: event.TypeChain,
			attrs: map[string]any{"span.type": "interaction", "user_prompt": "Hi"},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"Hi"}]}`},
		},
		{
			name: "Codex, with an account", scope: "codex_otel", typ: event.TypeChain,
			attrs: map[string]any{"user.account_id": "acc", "user.email": "a@example.com"},
			want:  map[string]string{"user_properties": `{"user_id":"acc"}`, "unmapped": `{"user.account_id":"acc","user.email":"a@example.com"}`},
		},
		{
			name: "Gemini CLI, with an account", scope: "gemini-cli", typ: event.TypeChain,
			attrs: map[string]any{"user.email": "a@example.com"},
			want:  map[string]string{"user_properties": `{"user_id":"a@example.com"}`, "unmapped": `{"user.email":"a@example.com"}`},
		},
		{
			name: "Gemini CLI, with a user", scope: "gemini-cli", typ: event.TypeChain,
			attrs: map[string]any{"user.email": "a@example.com", "user.id": "u"},
			want:  map[string]string{"user_properties": `{"user_id":"u"}`},
		},
		{
			name: "an address that names no user", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "user.email": "a@example.com"},
			want:  map[string]string{"user_properties": "", "unmapped": `{"user.email":"a@example.com"}`},
		},
		{
			name: "AG2's question to a person", typ: event.TypeChain,
			attrs: map[string]any{"ag2.span.type": "human_input", "gen_ai.operation.name": "await_human_input", "gen_ai.agent.name": "user", "ag2.human_input.prompt": "Shall I?", "ag2.human_input.response": "Yes"},
			want:  map[string]string{"inputs": `{"value":"Shall I?"}`, "outputs": `{"result":"Yes"}`, "metadata.instrumentor": `"otel-genai"`, "unmapped": `{"ag2.span.type":"human_input"}`},
		},
		{
			name: "Gemini CLI's model call", scope: "gemini-cli", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "llm_call", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 9,
				"gen_ai.system_instructions": `"Be brief."`, "gen_ai.tool.definitions": `[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object"}}]}]`,
				"gen_ai.input.messages":  `[{"role":"user","parts":[{"text":"Hi"}]}]`,
				"gen_ai.output.messages": `[{"role":"model","parts":[{"functionCall":{"name":"f","args":{"x":1},"id":"t"}}]}]`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}`,
				"outputs": `{"role":"assistant","tool_calls":[{"name":"f","arguments":{"x":1},"id":"t"}]}`, "config.tools": `[{"name":"f","parameters":{"type":"object"}}]`},
		},
		{
			name: "Gemini CLI's streamed answer", scope: "gemini-cli", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "llm_call", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 9,
				"gen_ai.output.messages": `[{"role":"model","parts":[{"text":"Hm","thought":true}]},{"role":"model","parts":[{"text":"H"}]},{"role":"model","parts":[{"text":"o"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},null]`},
			want: map[string]string{"outputs": `{"role":"assistant","content":"Ho","tool_calls":[{"name":"f","arguments":{}}],"reasoning":"Hm"}`, "unmapped": ""},
		},
		{
			name: "Gemini CLI's tool", scope: "gemini-cli", typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.operation.name": "tool_call", "gen_ai.tool.name": "f", "gen_ai.tool.call_id": "t",
				"gen_ai.input.messages": `{"callId":"t","name":"f","args":{"x":1}}`, "gen_ai.output.messages": `{"status":"success","request":{"callId":"t"},"response":{"resultDisplay":"2"}}`},
			want: map[string]string{"inputs": `{"x":1}`, "outputs": `{"result":{"resultDisplay":"2"}}`, "metadata.tool_call_id": `"t"`},
		},
	})
}

// TestJavaScript holds what the SDKs of JavaScript say in other forms than those of Python.
func TestJavaScript(t *testing.T) {
	t.Parallel()
	checkConventions(t, []conventionCase{
		{
			name: "Vercel 7, a picture that is a data URL already", scope: "gen_ai", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat",
				"gen_ai.input.messages": `[{"role":"user","parts":[{"type":"blob","modality":"image","mime_type":null,"content":"data:image/png;base64,aGk="}]}]`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}]}`},
		},
		{
			name: "Mastra, a run of an agent", scope: "@mastra/otel-exporter", typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "mastra.span.type": "agent_run", "mastra.agent_run.input": "Hi", "mastra.agent_run.output": `{"text":"Ho"}`,
				"gen_ai.system_instructions": "Be brief.", "mastra.metadata.sessionId": "s", "mastra.metadata.userId": "u", "mastra.metadata.tier": "gold"},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}`, "outputs": `{"text":"Ho"}`,
				"session": "s", "user_properties.user_id": `"u"`, "metadata.tier": `"gold"`, "metadata.span_kind": `"agent_run"`},
		},
		{
			name: "Genkit, a model call", scope: "genkit-tracer", span: "googleai/m", typ: event.TypeModel,
			attrs: map[string]any{"genkit:type": "action", "genkit:metadata:subtype": "model", "genkit:name": "googleai/m",
				"genkit:input": `{"messages":[{"role":"system","content":[{"text":"Be brief."}]},{"role":"user","content":[{"text":"Hi"}]},` +
					`{"role":"model","content":[{"toolRequest":{"name":"f","ref":"c","input":{"x":1}}}]},{"role":"tool","content":[{"toolResponse":{"name":"f","ref":"c","output":2}}]}],"config":{"temperature":0.5,"maxOutputTokens":9}}`,
				"genkit:output": `{"finishReason":"stop","message":{"role":"model","content":[{"reasoning":"Hm."},{"text":"Ho"}]},"usage":{"inputTokens":40,"outputTokens":20,"totalTokens":66,"thoughtsTokens":6,"cachedContentTokens":8}}`},
			want: map[string]string{
				"inputs": `{"chat_history":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},` +
					`{"role":"assistant","content":null,"tool_calls":[{"name":"f","id":"c","arguments":{"x":1}}]},{"role":"tool","content":"2","name":"f","tool_call_id":"c"}]}`,
				"outputs": `{"finish_reason":"stop","role":"assistant","content":"Ho","reasoning":"Hm."}`,
				"config":  `{"model":"m","temperature":0.5,"max_tokens":9}`, "metadata.prompt_tokens": "40", "metadata.completion_tokens": "26", "metadata.total_tokens": "66",
				"metadata.reasoning_tokens": "6", "metadata.cache_read_input_tokens": "8"},
		},
		{
			name: "Genkit, a tool", scope: "genkit-tracer", typ: event.TypeTool,
			attrs: map[string]any{"genkit:type": "action", "genkit:metadata:subtype": "tool", "genkit:name": "f", "genkit:input": `{"x":1}`, "genkit:output": `{"y":2}`},
			want:  map[string]string{"name": "f", "inputs": `{"x":1}`, "outputs": `{"result":{"y":2}}`},
		},
		{
			name: "OpenInference, Anthropic's messages", scope: "@arizeai/openinference-instrumentation-anthropic", typ: event.TypeModel,
			attrs: map[string]any{"openinference.span.kind": "LLM", "llm.invocation_parameters": `{"max_tokens":50,"system":"Be brief."}`,
				"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Hi",
				"llm.input_messages.1.message.role": "user", "llm.input_messages.1.message.content": "20", "llm.input_messages.1.message.tool_call_id": "t",
				"llm.output_messages.0.message.role":                                 "assistant",
				"llm.output_messages.0.message.contents.0.message_content.type":      "text",
				"llm.output_messages.0.message.contents.0.message_content.text":      "Let me look.",
				"llm.output_messages.0.message.contents.1.message_content.type":      "tool_use",
				"llm.output_messages.0.message.contents.1.tool_call.id":              "c",
				"llm.output_messages.0.message.contents.1.tool_call.function.name":   "f",
				"llm.output_messages.0.message.tool_calls.0.tool_call.id":            "c",
				"llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f"},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},{"role":"tool","content":"20","tool_call_id":"t"}]}`,
				"outputs": `{"role":"assistant","content":"Let me look.","tool_calls":[{"name":"f","id":"c"}]}`, "unmapped": ""},
		},
		{
			name: "OpenInference, thoughts as a message", scope: "@arizeai/openinference-instrumentation-openai", typ: event.TypeModel,
			attrs: map[string]any{"openinference.span.kind": "LLM",
				"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.contents.0.message_content.type": "reasoning",
				"llm.output_messages.0.message.contents.0.message_content.text": "Hm.",
				"llm.output_messages.1.message.role":                            "assistant", "llm.output_messages.1.message.contents.0.message_content.type": "output_text",
				"llm.output_messages.1.message.contents.0.message_content.text": "Ho"},
			want: map[string]string{"outputs": `{"role":"assistant","content":"Ho","reasoning":"Hm."}`},
		},
		{
			name: "instructions as a plain text", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.system_instructions": "Be brief.", "gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}`},
		},
		{
			name: "Mastra, a step", scope: "@mastra/otel-exporter", typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "agent_step", "mastra.model_step.input": `[{"role":"user","content":"Hi"}]`, "mastra.model_step.output": `{"text":"Ho","toolCalls":[]}`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"Hi"}]}`, "outputs": `{"text":"Ho","toolCalls":[]}`},
		},
		{
			name: "Langfuse, settings in camel case", scope: "langfuse-sdk", typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.model.parameters": `{"maxTokens":50,"topP":0.5,"stopSequences":["x"]}`},
			want:  map[string]string{"config": `{"max_tokens":50,"top_p":0.5,"stop_sequences":["x"]}`},
		},
		{
			name: "Langfuse, a text to embed", scope: "langfuse-sdk", typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "embedding", "langfuse.observation.input": "x"},
			want:  map[string]string{"inputs": `{"texts":["x"]}`},
		},
		{
			name: "Langfuse, texts to embed", scope: "langfuse-sdk", typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "embedding", "langfuse.observation.input": `["x","y"]`},
			want:  map[string]string{"inputs": `{"texts":["x","y"]}`},
		},
	})
}
