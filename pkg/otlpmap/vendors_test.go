package otlpmap

import (
	"testing"

	"github.com/spangrove/spangrove/pkg/event"
)

// TestLangfuse maps Langfuse's observations of all types, and the names of its older SDKs.
func TestLangfuse(t *testing.T) {
	t.Parallel()
	const scope = "langfuse-sdk"
	checkConventions(t, []conventionCase{
		{name: "generation of a text", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.model.name": "m", "langfuse.observation.input": "Say hi", "langfuse.observation.output": "hi",
				"langfuse.observation.model.parameters": `{"temperature":0.5,"service_tier":"default"}`, "langfuse.observation.prompt.name": "greet", "langfuse.observation.prompt.version": 3,
				"langfuse.observation.completion_start_time": `"2023-11-14T22:13:20.050Z"`},
			want: map[string]string{"name": "span", "inputs": `{"chat_history":[{"role":"user","content":"Say hi"}]}`, "outputs": `{"content":"hi","role":"assistant"}`,
				"config":                          `{"model":"m","temperature":0.5,"service_tier":"default","prompt_name":"greet","prompt_version":3}`,
				"metadata.time_to_first_token_ms": "50", "metadata.instrumentor": `"langfuse"`, "metadata.langfuse.observation.completion_start_time": `"\"2023-11-14T22:13:20.050Z\""`}},
		{name: "span of an old SDK with a model", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "span", "langfuse.observation.model.name": "m", "langfuse.observation.usage_details": `{"input":5,"output":2}`},
			want:  map[string]string{"metadata.prompt_tokens": "5", "metadata.completion_tokens": "2", "metadata.total_tokens": "7", "unmapped": ""}},
		{name: "span with usage", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "span", "langfuse.observation.usage_details": `{"promptTokens":5,"completionTokens":2}`},
			want:  map[string]string{"metadata.prompt_tokens": "5"}},
		{name: "span", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"langfuse.observation.type": "span", "langfuse.observation.input": `{"args":["x"],"kwargs":{"y":1}}`, "langfuse.observation.output": `{"a":1}`},
			want:  map[string]string{"inputs": `{"y":1,"args":["x"]}`, "outputs": `{"a":1}`}},
		{name: "embedding", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "embedding", "langfuse.observation.input": `{"input":["a","b"],"model":"e"}`},
			want:  map[string]string{"inputs": `{"texts":["a","b"]}`, "config.model": `"e"`}},
		{name: "guardrail", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"langfuse.observation.type": "guardrail", "langfuse.observation.input": "x", "langfuse.observation.output": `{"pass":true}`},
			want:  map[string]string{"inputs": `{"value":"x"}`, "outputs": `{"result":{"pass":true}}`}},
		{name: "evaluator", typ: event.TypeChain, attrs: map[string]any{"langfuse.observation.type": "evaluator"}, want: map[string]string{"metadata.span_kind": `"evaluator"`}},
		{name: "event", typ: event.TypeChain, attrs: map[string]any{"langfuse.observation.type": "event"}, want: map[string]string{"metadata.instrumentor": `"langfuse"`}},
		{name: "parts beside their counts", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.usage_details": `{"input":10,"input_cache_read":20,"input_audio":3,"output":5,"output_reasoning":7,"total":45}`},
			want: map[string]string{"metadata.prompt_tokens": "33", "metadata.completion_tokens": "12", "metadata.total_tokens": "45", "metadata.cache_read_input_tokens": "20",
				"metadata.reasoning_tokens": "7", "metadata.usage_adjusted": "true"}},
		{name: "parts of their counts", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.usage_details": `{"input":30,"input_cached_tokens":20,"output":5,"total":35}`},
			want:  map[string]string{"metadata.prompt_tokens": "30", "metadata.total_tokens": "35", "metadata.cache_read_input_tokens": "20", "metadata.usage_adjusted": ""}},
		{name: "parts beside their counts, without a total", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.usage_details": `{"input":500,"cache_read_input_tokens":300,"cache_creation_input_tokens":20,"output":5}`},
			want: map[string]string{"metadata.prompt_tokens": "820", "metadata.completion_tokens": "5", "metadata.total_tokens": "825", "metadata.cache_read_input_tokens": "300",
				"metadata.cache_write_input_tokens": "20", "metadata.usage_adjusted": "true", "unmapped": `{"langfuse.observation.usage_details":{"input":500}}`}},
		{name: "parts in the words of Anthropic's API", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.usage_details": `{"input":500,"cache_read_input_tokens":300,"output":5,"total":805}`},
			want:  map[string]string{"metadata.prompt_tokens": "800", "metadata.total_tokens": "805", "metadata.cache_read_input_tokens": "300", "metadata.usage_adjusted": "true"}},
		{name: "counts in OpenAI's words", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.usage_details": `{"prompt_tokens":500,"cache_read_input_tokens":300,"completion_tokens":5}`},
			want:  map[string]string{"metadata.prompt_tokens": "500", "metadata.total_tokens": "505", "metadata.usage_adjusted": ""}},
		{name: "costs without a total", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.cost_details": `{"input":0.25,"output":0.5}`},
			want:  map[string]string{"metadata.cost": "0.75", "metadata.cost_source": `"reported"`}},
		{name: "trace", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"langfuse.trace.name": "turn", "langfuse.trace.input": `{"q":"x"}`, "langfuse.trace.output": "done", "langfuse.trace.tags": []any{"a"}, "langfuse.trace.metadata.plan": `"gold"`, "langfuse.trace.metadata.n": `{"x":[1]}`,
				"langfuse.observation.metadata.plan": "silver", "langfuse.observation.metadata.flag": "true", "langfuse.user.id": "u", "langfuse.session.id": "s", "langfuse.environment": "prod", "langfuse.release": "1", "langfuse.version": "2"},
			want: map[string]string{"inputs": `{"q":"x"}`, "outputs": `{"result":"done"}`, "metadata.plan": `"silver"`, "metadata.n": `{"x":[1]}`, "metadata.flag": "true", "metadata.tags": `["a"]`, "user_properties.user_id": `"u"`,
				"metadata.release": `"1"`, "metadata.version": `"2"`, "metadata.session_id": `"s"`, "source": "prod", "unmapped": `{"langfuse.trace.metadata.plan":"\"gold\""}`}},
		{name: "level without a status", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"langfuse.observation.type": "span", "langfuse.observation.level": "ERROR", "langfuse.observation.status_message": "boom"},
			want:  map[string]string{"error": "boom", "metadata.level": `"ERROR"`, "unmapped": ""}},
		{name: "message of a warning", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"langfuse.observation.type": "span", "langfuse.observation.level": "WARNING", "langfuse.observation.status_message": "slow"},
			want:  map[string]string{"error": "", "unmapped": `{"langfuse.observation.status_message":"slow"}`}},
	})
}

// TestVectorStores maps the spans of OpenLLMetry's instrumentations of vector stores.
func TestVectorStores(t *testing.T) {
	t.Parallel()
	const scope = "opentelemetry.instrumentation.chromadb"
	checkConventions(t, []conventionCase{
		{name: "search", scope: scope, span: "chroma.query", typ: event.TypeTool,
			attrs: map[string]any{"db.system": "chroma", "db.operation": "query", "db.chroma.query.n_results": 2},
			events: []spanEvent{
				{"db.query.result", map[string]any{"db.query.result.id": "1", "db.query.result.distance": 0.5, "db.query.result.metadata": `{"a":1}`, "db.query.result.document": "x"}},
				{"db.query.result", map[string]any{"db.query.result.id": "2", "db.query.result.document": "y"}},
			},
			want: map[string]string{"outputs": `{"documents":[{"distance":0.5,"content":"x","id":"1","metadata":{"a":1}},{"content":"y","id":"2"}]}`, "config.top_k": "2", "metadata.span_events": ""}},
		{name: "insertion", scope: scope, span: "chroma.add", typ: event.TypeTool, attrs: map[string]any{"db.system": "chroma", "db.operation": "add"}, want: map[string]string{"outputs": ""}},
		{name: "LangChain's retriever", typ: event.TypeTool,
			attrs: map[string]any{"traceloop.span.kind": "task", "gen_ai.operation.name": "vector_db_retrieve", "traceloop.entity.input": `{"query":"q"}`, "traceloop.entity.output": `{"documents":[{"page_content":"x","metadata":{}}],"count":1}`},
			want:  map[string]string{"inputs": `{"query":"q"}`, "outputs.documents": `[{"content":"x","metadata":{}}]`}},
	})
}

// TestOpenLLMetry maps what its instrumentations say in their own way.
func TestOpenLLMetry(t *testing.T) {
	t.Parallel()
	const scope = "opentelemetry.instrumentation.cohere"
	checkConventions(t, []conventionCase{
		{name: "reranking", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"llm.request.type": "rerank", "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "x", "gen_ai.prompt.1.role": "system", "gen_ai.prompt.1.content": "y",
				"gen_ai.prompt.2.role": "user", "gen_ai.prompt.2.content": "q", "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Doc 1, Score: 0.9"},
			want: map[string]string{"inputs": `{"query":"q","documents":[{"content":"x"},{"content":"y"}]}`, "outputs": `{"documents":[{"content":"Doc 1, Score: 0.9"}]}`, "unmapped": ""}},
		{name: "the user that a client of OpenAI names", scope: "opentelemetry.instrumentation.openai.v1", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.user": "u-1"},
			want:  map[string]string{"user_properties": `{"user_id":"u-1"}`, "metadata.user_id": `"u-1"`, "unmapped": ""}},
		{name: "embedding of parts", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"llm.request.type": "embedding", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
			want:  map[string]string{"inputs": `{"texts":["a","b"]}`}},
		{name: "answer of parts", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"llm.request.type": "chat", "gen_ai.completion.0.role": "", "gen_ai.completion.0.content": `[{"thinking":null,"text":"a","type":"text"}]`},
			want:  map[string]string{"outputs": `{"content":"a","role":"assistant"}`}},
		{name: "role that is not known", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.output.messages": `[{"role":"unknown","parts":[{"type":"text","content":"a"}]}]`, "gen_ai.is_streaming": true},
			want:  map[string]string{"outputs": `{"content":"a","role":"assistant"}`, "config.stream": "true", "unmapped": ""}},
		{name: "summaries as JSON", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"reasoning","content":"[{\"text\": \"Hm.\", \"type\": \"summary_text\"}, {\"text\": \"Ah.\", \"type\": \"summary_text\"}]"}]}]`},
			want:  map[string]string{"outputs": `{"role":"assistant","reasoning":"Hm.\nAh."}`, "unmapped": ""}},
		{name: "text that is missing", typ: event.TypeModel,
			attrs: map[string]any{"llm.request.type": "chat", "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": `""`, "gen_ai.completion.0.tool_calls.0.name": "f"},
			want:  map[string]string{"outputs": `{"role":"assistant","tool_calls":[{"name":"f"}]}`, "unmapped": ""}},
		{name: "text as JSON", scope: "opentelemetry.instrumentation.bedrock", typ: event.TypeModel,
			attrs: map[string]any{"llm.request.type": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": `"Hi"`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"Hi"}]}`}},
		{name: "text in quotes", typ: event.TypeModel,
			attrs: map[string]any{"llm.request.type": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": `"Hi"`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"\"Hi\""}]}`}},
		{name: "messages as pairs", typ: event.TypeChain,
			attrs: map[string]any{"traceloop.span.kind": "workflow", "traceloop.entity.input": `{"inputs":{"messages":[["human","Hi"],["ai","Ho"]]},"tags":[],"metadata":{},"kwargs":{}}`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Ho"}]}`}},
		{name: "pairs that are no messages", typ: event.TypeChain,
			attrs: map[string]any{"traceloop.span.kind": "workflow", "traceloop.entity.input": `{"inputs":{"messages":[["user","Hi"],["a","b"]]},"tags":[],"metadata":{},"kwargs":{}}`},
			want:  map[string]string{"inputs": `{"messages":[["user","Hi"],["a","b"]]}`}},
		{name: "value of a template", typ: event.TypeChain,
			attrs: map[string]any{"traceloop.span.kind": "task", "traceloop.entity.output": `{"kwargs":{},"outputs":{"lc":1,"type":"constructor","id":["langchain","prompts","chat","ChatPromptValue"],"kwargs":{"messages":[` +
				`{"lc":1,"type":"constructor","id":["langchain","schema","messages","SystemMessage"],"kwargs":{"content":"s","type":"system"}},{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"q","type":"human"}}]}}}`},
			want: map[string]string{"outputs.chat_history": `[{"role":"system","content":"s"},{"role":"user","content":"q"}]`, "outputs.content": `"q"`}},
		{name: "value of a template in LangSmith", typ: event.TypeChain,
			attrs: map[string]any{"langsmith.span.kind": "prompt", "gen_ai.completion": `{"output":{"messages":[{"content":"s","type":"system"},{"content":"q","type":"human"}]}}`},
			want:  map[string]string{"outputs.chat_history": `[{"role":"system","content":"s"},{"role":"user","content":"q"}]`}},
		{name: "tool of MCP", typ: event.TypeTool,
			attrs: map[string]any{"traceloop.span.kind": "tool", "traceloop.entity.name": "f", "traceloop.entity.input": `{"tool_name":"f","arguments":{"x":1}}`, "traceloop.entity.output": `{"result":"{\"y\":2}","is_error":false}`},
			want:  map[string]string{"name": "f", "inputs": `{"x":1}`, "outputs": `{"result":{"y":2},"is_error":false}`, "metadata.tool_name": `"f"`, "metadata.instrumentor": `"openllmetry"`, "unmapped": ""}},
	})
}

// TestLangSmith maps LangSmith's runs: LangChain's messages in their three forms, prompts and
// generations, and the outputs of each kind.
func TestLangSmith(t *testing.T) {
	t.Parallel()
	const scope = "langsmith"
	const hello = `{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"Hello","type":"human"}}`
	checkConventions(t, []conventionCase{
		{name: "constructors", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langsmith.span.kind": "llm", "gen_ai.system": "langchain", "langsmith.metadata.ls_provider": "openai", "langsmith.metadata.ls_model_name": "gpt-x", "langsmith.metadata.ls_temperature": 0.5,
				"gen_ai.prompt":     `{"messages":[[{"lc":1,"type":"constructor","id":["langchain","schema","messages","SystemMessage"],"kwargs":{"content":"Be brief.","type":"system"}},` + hello + `]]}`,
				"gen_ai.completion": `{"generations":[[{"text":"Hi","generation_info":{"finish_reason":"stop","logprobs":null},"type":"ChatGeneration","message":{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"Hi","type":"ai","id":"run-1","tool_calls":[{"name":"f","args":{"x":1},"id":"c1","type":"tool_call"}],"usage_metadata":{"input_tokens":9,"output_tokens":4,"total_tokens":13,"input_token_details":{"cache_read":2}}}}}]],"llm_output":{"model_name":"gpt-x-1"},"run":null}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}]}`, "outputs.content": `"Hi"`, "outputs.role": `"assistant"`, "outputs.finish_reason": `"stop"`,
				"outputs.tool_calls": `[{"name":"f","arguments":{"x":1},"id":"c1"}]`, "metadata.prompt_tokens": "9", "metadata.total_tokens": "13", "metadata.cache_read_input_tokens": "2",
				"config.provider": `"openai"`, "config.model": `"gpt-x"`, "config.temperature": "0.5", "metadata.part_types": `["constructor","langchain.schema.messages.SystemMessage","system","langchain.schema.messages.HumanMessage","human","langchain.schema.messages.AIMessage","ai","tool_call","ChatGeneration"]`}},
		{name: "messages by type", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langsmith.span.kind": "llm", "gen_ai.prompt": `{"messages":[{"type":"human","content":"Hello"},{"type":"ai","content":"","tool_calls":[{"name":"f","args":{},"id":"c"}]},{"type":"tool","content":"21","tool_call_id":"c","name":"f"}]}`,
				"gen_ai.completion": `{"output":{"content":"Hi","type":"ai"}}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"Hello"},{"role":"assistant","content":"","tool_calls":[{"name":"f","arguments":{},"id":"c"}]},{"role":"tool","content":"21","name":"f","tool_call_id":"c"}]}`,
				"outputs": `{"role":"assistant","content":"Hi"}`}},
		{name: "messages with data", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langsmith.span.kind": "llm", "gen_ai.prompt": `{"messages":[{"type":"human","data":{"content":"Hello"}}]}`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"Hello"}]}`}},
		{name: "prompts and generations of text", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langsmith.span.kind": "llm", "gen_ai.prompt": `{"prompts":["Once"]}`, "gen_ai.completion": `{"generations":[[{"text":" upon","generation_info":{"finish_reason":"length"}}]],"llm_output":{"token_usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3},"model_name":"davinci"}}`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"Once"}]}`, "outputs": `{"role":"assistant","content":" upon","finish_reason":"length"}`, "metadata.total_tokens": "3", "config.model": `"davinci"`}},
		{name: "a tool's text", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"langsmith.span.kind": "tool", "gen_ai.prompt": `{"input":"Lisbon"}`, "gen_ai.completion": `{"output":"sunny"}`},
			want:  map[string]string{"inputs": `{"input":"Lisbon"}`, "outputs": `{"result":"sunny"}`}},
		{name: "a retriever's documents", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"langsmith.span.kind": "retriever", "gen_ai.operation.name": "embeddings", "gen_ai.prompt": `{"query":"ferry"}`, "gen_ai.completion": `{"documents":[{"page_content":"c","metadata":{"id":1}}]}`},
			want:  map[string]string{"inputs": `{"query":"ferry"}`, "outputs": `{"documents":[{"content":"c","metadata":{"id":1}}]}`}},
		{name: "a run that failed", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"langsmith.span.kind": "chain", "gen_ai.completion": `{"output":null}`}, want: map[string]string{"outputs": "", "unmapped": ""}},
		{name: "a tool that failed", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"langsmith.span.kind": "tool", "gen_ai.completion": `{"output":null}`}, want: map[string]string{"outputs": "", "unmapped": ""}},
		{name: "a chain, a prompt", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"langsmith.span.kind": "prompt", "gen_ai.operation.name": "chat", "gen_ai.prompt": `{"question":"q"}`, "gen_ai.completion": `{"output":"a"}`, "langsmith.span.tags": "a, b",
				"langsmith.metadata.LANGCHAIN_X": "y", "langsmith.metadata.team": "blue", "langsmith.metadata.user_id": "u", "langsmith.metadata.thread_id": "th", "langsmith.trace.session_name": "ferry"},
			want: map[string]string{"inputs": `{"question":"q"}`, "outputs": `{"output":"a"}`, "metadata.tags": `["a","b"]`, "metadata.team": `"blue"`, "user_properties.user_id": `"u"`, "metadata.thread_id": `"th"`, "metadata.session_id": `"th"`,
				"metadata.project": `"ferry"`, "unmapped": `{"langsmith.metadata.LANGCHAIN_X":"y","langsmith.span.tags":"a, b"}`}},
		{name: "Responses API", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langsmith.span.kind": "llm", "gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "gpt-x", "gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 7, "gen_ai.usage.total_tokens": 27,
				"gen_ai.usage.input_token_details": "{'cache_read': 4}", "gen_ai.usage.output_token_details": "{'reasoning': 3}",
				"gen_ai.prompt":     `{"model":"gpt-x","instructions":"Be brief.","input":[{"role":"user","content":[{"type":"input_text","text":"Hello"}]},{"type":"function_call","call_id":"c0","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c0","output":"21"}],"tools":[{"type":"function","name":"f","parameters":{}}]}`,
				"gen_ai.completion": `{"id":"resp_1","created_at":1,"model":"gpt-x-1","object":"response","output":[{"id":"rs_1","summary":[],"type":"reasoning"},{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[]}]},{"id":"fc_1","type":"function_call","call_id":"c1","name":"f","arguments":"{\"x\":1}","status":"completed"}],"parallel_tool_calls":true,"status":"completed","usage_metadata":{"input_tokens":20,"output_tokens":7,"total_tokens":27,"input_token_details":{"cache_read":4},"output_token_details":{"reasoning":3}}}`},
			want: map[string]string{"inputs.chat_history": `[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"},{"role":"assistant","content":null,"tool_calls":[{"id":"c0","name":"f","arguments":{}}]},{"role":"tool","content":"21","tool_call_id":"c0"}]`,
				"inputs.input": "", "outputs.content": `"Hi"`, "outputs.tool_calls": `[{"id":"c1","name":"f","arguments":{"x":1}}]`, "outputs.usage_metadata": "", "outputs.output": "", "metadata.prompt_tokens": "20", "metadata.total_tokens": "27",
				"metadata.cache_read_input_tokens": "4", "metadata.reasoning_tokens": "3", "metadata.response_id": `"resp_1"`, "config.model": `"gpt-x"`,
				"unmapped": `{"gen_ai.completion":{"object":"response","output":[{"id":"rs_1"},{"id":"fc_1"}]},"gen_ai.usage.input_token_details":"{'cache_read': 4}","gen_ai.usage.output_token_details":"{'reasoning': 3}"}`}},
		{name: "Anthropic's answer", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langsmith.span.kind": "llm", "gen_ai.prompt": `{"system":"Be brief.","messages":[{"role":"user","content":"Hello"}],"max_tokens":9}`,
				"gen_ai.completion": `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"t","name":"f","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"cache_read_input_tokens":10,"output_tokens":4}}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}]}`, "config.max_tokens": "9", "config.model": `"claude-x"`, "outputs.content": `"Hi"`,
				"outputs.tool_calls": `[{"id":"t","name":"f","arguments":{"x":1}}]`, "outputs.finish_reason": `"tool_use"`, "metadata.prompt_tokens": "13", "metadata.usage_adjusted": "true", "metadata.response_id": `"msg_1"`}},
		{name: "what cannot be parsed", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"langsmith.span.kind": "llm", "gen_ai.usage.input_token_details": "{'audio': object()}"},
			want:  map[string]string{"unmapped": `{"gen_ai.usage.input_token_details":"{'audio': object()}"}`}},
	})
}

// TestMLflow maps MLflow's spans of all types.
func TestMLflow(t *testing.T) {
	t.Parallel()
	const scope = "mlflow.tracing.provider"
	for kind, typ := range map[string]event.Type{
		"LLM": event.TypeModel, "CHAT_MODEL": event.TypeModel, "EMBEDDING": event.TypeModel, "TOOL": event.TypeTool, "RETRIEVER": event.TypeTool, "RERANKER": event.TypeTool,
		"AGENT": event.TypeChain, "CHAIN": event.TypeChain, "PARSER": event.TypeChain, "MEMORY": event.TypeChain, "UNKNOWN": event.TypeChain, "WORKFLOW": event.TypeChain, "MY_OWN": event.TypeChain,
	} {
		checkConventions(t, []conventionCase{{name: kind, scope: scope, typ: typ, attrs: map[string]any{"mlflow.spanType": `"` + kind + `"`}, want: map[string]string{"metadata.span_kind": `"` + kind + `"`}}})
	}
	checkConventions(t, []conventionCase{
		{name: "facts", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"mlflow.spanType": `"LLM"`, "mlflow.llm.model": `"m"`, "mlflow.llm.provider": `"OpenAI"`, "mlflow.llm.cost": `{"input_cost":0.25,"output_cost":0.5,"total_cost":0.75}`, "mlflow.spanInputs": `"Say hi"`, "mlflow.spanOutputs": `"hi"`,
				"mlflow.trace.session": `"conv-1"`, "mlflow.trace.user": `"u"`, "mlflow.chat.tokenUsage": `{"input_tokens":5,"output_tokens":2,"total_tokens":7,"cache_creation_input_tokens":1}`},
			want: map[string]string{"config.model": `"m"`, "config.provider": `"openai"`, "metadata.cost": "0.75", "inputs": `{"chat_history":[{"role":"user","content":"Say hi"}]}`, "outputs": `{"content":"hi","role":"assistant"}`, "session": "conv-1",
				"user_properties.user_id": `"u"`, "metadata.prompt_tokens": "5", "metadata.cache_write_input_tokens": "1"}},
		{name: "messages of an older release", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"mlflow.spanType": `"CHAT_MODEL"`, "mlflow.chat.messages": `[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]`, "mlflow.spanInputs": `{"messages":[{"role":"user","content":"q"}]}`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "outputs": `{"role":"assistant","content":"a"}`, "unmapped": ""}},
		{name: "Responses API", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"mlflow.spanType": `"CHAT_MODEL"`, "mlflow.spanInputs": `{"model":"m","instructions":"Be brief.","input":"Hello"}`,
				"mlflow.spanOutputs": `{"id":"resp_1","output":[{"type":"reasoning","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}],"usage":{"input_tokens":3,"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0}}}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}]}`, "outputs.content": `"Hi"`, "metadata.prompt_tokens": "3", "metadata.reasoning_tokens": "0", "metadata.response_id": `"resp_1"`}},
		{name: "items of the Responses API", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"mlflow.spanType": `"CHAT_MODEL"`, "mlflow.spanInputs": `{"input":[{"role":"user","content":"q"},{"type":"function_call","id":"fc_0","call_id":"c0","name":"f","arguments":"{}","status":"completed"},{"type":"function_call_output","call_id":"c0","output":"21"}]}`,
				"mlflow.spanOutputs": `{"output":[{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"id":"ws_1","type":"web_search_call","status":"completed"},{"id":"fc_1","type":"function_call","call_id":"c1","name":"f","arguments":"{\"x\":1}"},{"id":"fc_2","type":"function_call","call_id":"c2","name":"g","arguments":"{}"},{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"a"}]}]}`},
			want: map[string]string{"inputs.chat_history.1.tool_calls": `[{"id":"c0","name":"f","arguments":{}}]`, "inputs.chat_history.1.status": `"completed"`, "inputs.chat_history.2": `{"role":"tool","content":"21","tool_call_id":"c0"}`,
				"outputs.tool_calls": `[{"id":"c1","name":"f","arguments":{"x":1}},{"id":"c2","name":"g","arguments":{}}]`, "outputs.reasoning": `"hm"`, "outputs.content": `"a"`, "outputs.choices": ""}},
	})
}

// TestLaminar maps Laminar's spans, from its published names.
func TestLaminar(t *testing.T) {
	t.Parallel()
	const scope = "lmnr.tracer"
	checkConventions(t, []conventionCase{
		{name: "model call", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"lmnr.span.type": "LLM", "gen_ai.system": "openai", "gen_ai.request.model": "m", "gen_ai.input.messages": `[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}]`,
				"gen_ai.output.messages": `[{"index":0,"finish_reason":"stop","logprobs":null,"message":{"role":"assistant","content":"Hi","refusal":null}}]`, "gen_ai.usage.cost": 0.5, "gen_ai.usage.input_cost": 0.25, "gen_ai.usage.output_cost": 0.25,
				"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2, "llm.usage.total_tokens": 7, "lmnr.span.path": []any{"agent", "call"}},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}]}`, "outputs.content": `"Hi"`, "outputs.finish_reason": `"stop"`, "metadata.cost": "0.5", "metadata.input_cost": "0.25",
				"metadata.total_tokens": "7", "metadata.span_path": `["agent","call"]`, "metadata.instrumentor": `"laminar"`}},
		{name: "function", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"lmnr.span.type": "DEFAULT", "lmnr.span.input": `{"q":"x"}`, "lmnr.span.output": `"done"`, "lmnr.association.properties.session_id": "s", "lmnr.association.properties.user_id": "u", "lmnr.association.properties.metadata.plan": "gold",
				"lmnr.association.properties.tags": []any{"a"}, "lmnr.association.properties.trace_type": "DEFAULT"},
			want: map[string]string{"inputs": `{"q":"x"}`, "outputs": `{"result":"done"}`, "session": "s", "user_properties.user_id": `"u"`, "metadata.plan": `"gold"`, "metadata.tags": `["a"]`, "metadata.trace_type": `"DEFAULT"`, "unmapped": ""}},
		{name: "tool", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"lmnr.span.type": "TOOL", "lmnr.span.input": `{"city":"Lisbon"}`, "lmnr.span.output": `"\"69.8\""`},
			want:  map[string]string{"inputs": `{"city":"Lisbon"}`, "outputs": `{"result":"69.8"}`}},
		{name: "cached", typ: event.TypeModel, attrs: map[string]any{"lmnr.span.type": "CACHED"}},
		{name: "evaluation", typ: event.TypeChain, attrs: map[string]any{"lmnr.span.type": "EVALUATION"}},
	})
}

// TestLiteLLM maps what LiteLLM sends beside its requests.
func TestLiteLLM(t *testing.T) {
	t.Parallel()
	const scope = "litellm"
	named := func(name string, c conventionCase) conventionCase { c.span = name; return c }
	checkConventions(t, []conventionCase{
		named("raw_gen_ai_request", conventionCase{name: "raw request", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"llm.anthropic.messages": `[{'role': 'user', 'content': "it's"}]`, "llm.anthropic.content": `[{'type': 'text', 'text': 'a\nb'}]`, "llm.anthropic.usage": `{'input_tokens': 5}`, "gen_ai.operation.name": "chat"},
			want: map[string]string{"inputs": `{"messages":[{"role":"user","content":"it's"}]}`, "outputs": `{"choices":[{"type":"text","text":"a\nb"}]}`, "metadata.prompt_tokens": "",
				"metadata.llm.anthropic.messages": `"[{'role': 'user', 'content': \"it's\"}]"`}}),
		named("litellm_request", conventionCase{name: "request without content", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"llm.request.type": "pass_through_endpoint", "hidden_params": `{"response_cost":0.5}`, "metadata.usage_object": `{'prompt_tokens': 5, 'completion_tokens': 2, 'prompt_tokens_details': {'cached_tokens': 1}, 'x': None}`, "llm.user": "u",
				"metadata.requester_metadata": `{"team":"blue"}`, "metadata.user_api_key_alias": "key", "metadata.team_id": "", "metadata.tags": `["a"]`},
			want: map[string]string{"metadata.cost": "0.5", "metadata.prompt_tokens": "5", "metadata.cache_read_input_tokens": "1", "metadata.total_tokens": "7", "user_properties.user_id": `"u"`, "metadata.requester_metadata": `{"team":"blue"}`,
				"metadata.user_api_key_alias": `"key"`, "metadata.metadata.team_id": `""`}}),
		named("litellm_request", conventionCase{name: "failed", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"hidden_params": `{"response_cost":0.0}`, "error.message": "no", "error.stack_trace": "trace"},
			want:  map[string]string{"metadata.cost": "", "error": "no", "metadata.error_stacktrace": `"trace"`}}),
		named("guardrail", conventionCase{name: "guardrail", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"guardrail_name": "pii", "guardrail_mode": "pre_call", "guardrail_response": `{'action': 'NONE'}`},
			want:  map[string]string{"inputs": `{"guardrail_name":"pii","guardrail_mode":"pre_call"}`, "outputs": `{"result":{"action":"NONE"}}`}}),
		{name: "second integration", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m", "gen_ai.conversation.id": "conv", "gen_ai.input.messages": `[{"role":"user","content":"q"}]`, "gen_ai.output.messages": `[{"role":"assistant","content":"a","tool_calls":null}]`,
				"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2, "litellm.cost.total": 0.75, "litellm.cost.input": 0.5, "litellm.cost.output": 0.25, "litellm.end_user.id": "u", "litellm.call_id": "c",
				"gen_ai.tool.0.name": "f", "gen_ai.tool.0.description": "d", "gen_ai.tool.0.parameters": `{"type":"object"}`, "litellm.request.tools.declared": 1},
			want: map[string]string{"session": "conv", "inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "outputs": `{"role":"assistant","content":"a"}`, "metadata.cost": "0.75", "metadata.input_cost": "0.5", "metadata.output_cost": "0.25",
				"user_properties.user_id": `"u"`, "metadata.call_id": `"c"`, "config.tools": `[{"description":"d","name":"f","parameters":{"type":"object"}}]`}},
		named("execute_guardrail pii", conventionCase{name: "its guardrail", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"litellm.guardrail.name": "pii", "litellm.guardrail.mode": "pre_call", "litellm.guardrail.status": "success", "litellm.guardrail.response": `{"action":"NONE"}`, "gen_ai.request.model": "m"},
			want:  map[string]string{"inputs": `{"guardrail_name":"pii","guardrail_mode":"pre_call"}`, "outputs": `{"result":{"action":"NONE"}}`}}),
		{name: "embedding", scope: scope, typ: event.TypeModel, attrs: map[string]any{"llm.request.type": "aembedding", "gen_ai.request.model": "e"}, want: map[string]string{"config.model": `"e"`}},
		named("postgres", conventionCase{name: "its own services", scope: scope, typ: event.TypeChain, attrs: map[string]any{"call_type": "get_data"}, want: map[string]string{"name": "postgres", "metadata.instrumentor": `"litellm"`}}),
	})
}

// TestLogfire maps the spans of Logfire's own instrumentations and of pydantic-ai, of all their
// versions.
func TestLogfire(t *testing.T) {
	t.Parallel()
	checkConventions(t, []conventionCase{
		{name: "request and answer", scope: "logfire.openai", typ: event.TypeModel,
			attrs: map[string]any{"logfire.msg_template": "Chat Completion with {request_data[model]!r}", "logfire.msg": "Chat Completion with 'm'", "request_data": `{"messages":[{"role":"user","content":"q"}],"model":"m","temperature":0.5}`,
				"response_data": `{"message":{"role":"assistant","content":"a","tool_calls":null},"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`, "logfire.tags": []any{"LLM"}, "logfire.level_num": 9},
			want: map[string]string{"name": "Chat Completion with 'm'", "inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "config": `{"model":"m","temperature":0.5}`, "outputs.content": `"a"`, "metadata.prompt_tokens": "5",
				"metadata.tags": `["LLM"]`, "metadata.level_number": "9", "metadata.instrumentor": `"logfire"`}},
		{name: "streamed answer", scope: "logfire.openai", typ: event.TypeModel,
			attrs: map[string]any{"logfire.span_type": "log", "logfire.msg_template": "streaming response from {request_data[model]!r} took {duration:.2f}s", "request_data": `{"messages":[{"role":"user","content":"q"}],"model":"m"}`, "response_data": `{"combined_chunk_content":"a b","chunk_count":2}`},
			want:  map[string]string{"outputs": `{"role":"assistant","content":"a b"}`, "metadata.response_data": `{"chunk_count":2}`}},
		{name: "events that end with the answer's calls", scope: "logfire.openai_agents", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "events": `[{"event.name":"gen_ai.user.message","content":"q","role":"user"},{"event.name":"gen_ai.assistant.message","role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"event.name":"gen_ai.tool.message","role":"tool","id":"1","content":"r","name":"f"},` +
				`{"event.name":"gen_ai.assistant.message","content":"a","role":"assistant"},{"event.name":"gen_ai.assistant.message","role":"assistant","tool_calls":[{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]},{"event.name":"gen_ai.assistant.message","role":"assistant","tool_calls":[{"id":"3","type":"function","function":{"name":"g","arguments":"{}"}}]}]`},
			want: map[string]string{"inputs.chat_history": `[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","name":"f","arguments":{}}]},{"role":"tool","content":"r","name":"f","tool_call_id":"1"}]`,
				"outputs": `{"role":"assistant","content":"a","tool_calls":[{"id":"2","type":"function","name":"f","arguments":{}},{"id":"3","type":"function","name":"g","arguments":{}}]}`, "unmapped": ""}},
		{name: "embeddings", scope: "logfire.openai", typ: event.TypeModel,
			attrs: map[string]any{"logfire.msg_template": "Embedding Creation with {request_data[model]!r}", "request_data": `{"input":["a"],"model":"e"}`, "response_data": `{"usage":{"prompt_tokens":1,"total_tokens":1}}`},
			want:  map[string]string{"inputs": `{"texts":["a"]}`, "config.model": `"e"`, "metadata.prompt_tokens": "1"}},
		{name: "any span", scope: "logfire", typ: event.TypeChain, attrs: map[string]any{"logfire.msg": "answer capital", "logfire.msg_template": "answer {question}", "question": "capital"},
			want: map[string]string{"name": "answer capital", "metadata.span_name": `"span"`, "unmapped": `{"logfire.msg_template":"answer {question}","question":"capital"}`}},
		{name: "tool", scope: "pydantic-ai", typ: event.TypeTool,
			attrs: map[string]any{"gen_ai.tool.name": "f", "gen_ai.tool.call.id": "c", "tool_arguments": `{"x":1}`, "tool_response": "21", "logfire.msg": "running tool: f"},
			want:  map[string]string{"name": "f", "inputs": `{"x":1}`, "outputs": `{"result":"21"}`, "metadata.tool_call_id": `"c"`}},
		{name: "events of a call", scope: "pydantic-ai", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "events": `[{"event.name":"gen_ai.system.message","content":"Be brief.","role":"system","gen_ai.message.index":0,"gen_ai.system":"openai"},{"event.name":"gen_ai.user.message","content":"q","role":"user","gen_ai.message.index":0,"gen_ai.system":"openai"},{"event.name":"gen_ai.choice","index":0,"message":{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},"gen_ai.system":"openai"}]`,
				"model_request_parameters": `{"function_tools":[{"name":"f","description":"d","parameters_json_schema":{"type":"object"}}],"output_tools":[]}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"Be brief."},{"role":"user","content":"q"}]}`, "outputs": `{"role":"assistant","tool_calls":[{"id":"c","type":"function","name":"f","arguments":{"x":1}}]}`,
				"config.tools": `[{"name":"f","description":"d","parameters":{"type":"object"}}]`, "metadata.part_types": `["gen_ai.system.message","gen_ai.user.message","gen_ai.choice","function"]`, "metadata.events": "", "metadata.instrumentor": `"pydantic-ai"`}},
		{name: "an agent's run, version 1", scope: "pydantic-ai", typ: event.TypeChain,
			attrs: map[string]any{"model_name": "m", "agent_name": "clerk", "logfire.msg": "clerk run", "all_messages_events": `[{"event.name":"gen_ai.user.message","content":"q","role":"user"},{"event.name":"gen_ai.assistant.message","content":"a","role":"assistant"}]`, "final_result": "a", "gen_ai.usage.input_tokens": 5},
			want:  map[string]string{"name": "clerk run", "inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "outputs": `{"role":"assistant","content":"a"}`, "metadata.agent_name": `"clerk"`, "config.model": `"m"`}},
		{name: "an agent's run with a structured result", scope: "pydantic-ai", typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "pydantic_ai.all_messages": `[{"role":"user","parts":[{"type":"text","content":"q"}]},{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"final_result","arguments":{"n":1}}]},{"role":"user","parts":[{"type":"tool_call_response","id":"c","result":"Final result processed."}]}]`,
				"gen_ai.system_instructions": `[{"type":"text","content":"Be brief."}]`, "final_result": `{"n":1}`, "gen_ai.aggregated_usage.input_tokens": 5, "gen_ai.aggregated_usage.details.x": 1},
			want: map[string]string{"inputs.chat_history.0": `{"role":"system","content":"Be brief."}`, "inputs.chat_history.3.role": `"tool"`, "outputs": `{"result":{"n":1}}`, "metadata.aggregate_usage": `{"details":{"x":1},"input_tokens":5}`, "metadata.prompt_tokens": ""}},
	})
}

// TestHaystack maps components by their class, in the words of all releases of version 2.
func TestHaystack(t *testing.T) {
	t.Parallel()
	const scope = "haystack"
	component := func(class, in, out string) map[string]any {
		return map[string]any{"haystack.component.name": "llm", "haystack.component.type": class, "haystack.component.input": in, "haystack.component.output": out, "haystack.component.visits": 1}
	}
	checkConventions(t, []conventionCase{
		{name: "chat generator", scope: scope, typ: event.TypeModel,
			attrs: component("OpenAIChatGenerator", `{"messages":[{"role":"user","meta":{},"name":null,"content":[{"text":"q"}]}],"generation_kwargs":{"temperature":0.5}}`,
				`{"replies":[{"role":"assistant","meta":{"model":"m","index":0,"finish_reason":"stop","usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}},"name":null,"content":[{"text":"a"},{"tool_call":{"tool_name":"f","arguments":{"x":1},"id":"c"}}]}]}`),
			want: map[string]string{"name": "llm", "inputs.chat_history": `[{"role":"user","content":"q"}]`, "outputs.content": `"a"`, "outputs.tool_calls": `[{"name":"f","arguments":{"x":1},"id":"c"}]`, "outputs.finish_reason": `"stop"`,
				"metadata.prompt_tokens": "5", "config.model": `"m"`, "metadata.component_type": `"OpenAIChatGenerator"`, "metadata.instrumentor": `"haystack"`}},
		{name: "messages before 2.9", scope: scope, typ: event.TypeModel,
			attrs: component("OpenAIChatGenerator", `{"messages":[{"_role":"user","_content":[{"text":"q"}],"_name":null,"_meta":{}},{"_role":"tool","_content":[{"tool_call_result":{"result":"21","origin":{"tool_name":"f","arguments":{},"id":"c"},"error":false}}]}]}`, `{"replies":[{"_role":"assistant","_content":[{"text":"a"}],"_meta":{"model":"m"}}]}`),
			want:  map[string]string{"inputs.chat_history.0": `{"role":"user","content":"q"}`, "inputs.chat_history.1.tool_call_id": `"c"`, "inputs.chat_history.1.content": `"21"`, "outputs.content": `"a"`, "config.model": `"m"`}},
		{name: "generator", scope: scope, typ: event.TypeModel,
			attrs: component("HuggingFaceLocalGenerator", `{"prompt":"q"}`, `{"replies":["a","b"],"meta":[{"model":"m","usage":{"prompt_tokens":5}}]}`),
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "outputs.content": `"a"`, "outputs.choices": `[{"role":"assistant","content":"b"}]`, "metadata.prompt_tokens": "5"}},
		{name: "embedder", scope: scope, typ: event.TypeModel, attrs: component("OpenAITextEmbedder", `{"text":"q"}`, `{"meta":{"model":"e","usage":{"prompt_tokens":5,"total_tokens":5}}}`), want: map[string]string{"inputs.texts": `["q"]`}},
		{name: "retriever", scope: scope, typ: event.TypeTool, attrs: component("InMemoryBM25Retriever", `{"query":"q","top_k":3}`, `{"documents":[{"id":"d","content":"c","score":0.5,"meta":{"x":1}}]}`),
			want: map[string]string{"inputs": `{"query":"q","top_k":3}`, "outputs": `{"documents":[{"id":"d","content":"c","score":0.5,"meta":{"x":1}}]}`}},
		{name: "ranker", typ: event.TypeTool, attrs: component("TransformersSimilarityRanker", `{}`, `{}`)},
		{name: "web search", typ: event.TypeTool, attrs: component("SerperDevWebSearch", `{}`, `{}`)},
		{name: "tool invoker", typ: event.TypeTool, attrs: component("ToolInvoker", `{}`, `{}`)},
		{name: "prompt builder", typ: event.TypeChain, attrs: component("PromptBuilder", `{"question":"q"}`, `{"prompt":"p"}`), want: map[string]string{"inputs": `{"question":"q"}`, "outputs": `{"prompt":"p"}`}},
		{name: "pipeline", scope: scope, typ: event.TypeChain, attrs: map[string]any{"haystack.pipeline.input_data": `{"llm":{"prompt":"q"}}`, "haystack.pipeline.output_data": `{"llm":{"replies":["a"]}}`, "haystack.pipeline.metadata": `{"team":"blue"}`},
			want: map[string]string{"inputs": `{"llm":{"prompt":"q"}}`, "outputs": `{"llm":{"replies":["a"]}}`, "metadata.team": `"blue"`}},
		{name: "a model's step in an agent", scope: scope, span: "haystack.agent.step.llm", typ: event.TypeModel, attrs: map[string]any{"haystack.agent.step.llm.input": `{"messages":[{"role":"user","content":[{"text":"q"}]}]}`},
			want: map[string]string{"inputs.chat_history": `[{"role":"user","content":"q"}]`}},
		{name: "a tool's step in an agent", scope: scope, span: "haystack.agent.step.tool", typ: event.TypeTool},
	})
}

// TestCrewAI maps CrewAI by OpenLLMetry's and OpenInference's instrumentations and by its own
// telemetry.
func TestCrewAI(t *testing.T) {
	t.Parallel()
	const scope = "opentelemetry.instrumentation.crewai"
	checkConventions(t, []conventionCase{
		{name: "crew", scope: scope, span: "crewai.workflow", typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.system": "crewai", "crewai.crew.agents": `[{'role': 'Writer', 'goal': "it's", 'cache': True, 'tools': []}]`, "crewai.crew.tasks": `[{'description': 'd', 'tools': [Tool(name='x')]}]`, "crewai.crew.result": "a poem", "crewai.crew.id": "id",
				"crewai.crew.token_usage": "total_tokens=7 prompt_tokens=5"},
			want: map[string]string{"inputs.agents": `[{"role":"Writer","goal":"it's","cache":true,"tools":[]}]`, "inputs.tasks": `"[{'description': 'd', 'tools': [Tool(name='x')]}]"`, "outputs": `{"result":"a poem"}`, "metadata.crew_id": `"id"`,
				"metadata.aggregate_usage": `"total_tokens=7 prompt_tokens=5"`, "metadata.instrumentor": `"crewai"`}},
		{name: "agent", scope: scope, span: "Writer.agent", typ: event.TypeChain,
			attrs: map[string]any{"traceloop.span.kind": "agent", "crewai.agent.role": "Writer", "crewai.agent.goal": "g", "crewai.agent.tools": `[{"name":"f","description":"d"}]`, "gen_ai.request.model": "m"},
			want:  map[string]string{"metadata.agent_name": `"Writer"`, "inputs.goal": `"g"`, "config.tools": `[{"name":"f","description":"d"}]`}},
		{name: "task", scope: scope, span: "d.task", typ: event.TypeChain,
			attrs: map[string]any{"traceloop.span.kind": "task", "crewai.task.description": "d", "crewai.task.expected_output": "e", "crewai.task.agent": "Writer", "traceloop.entity.output": "done"},
			want:  map[string]string{"inputs": `{"description":"d","expected_output":"e"}`, "outputs": `{"result":"done"}`, "metadata.agent_name": `"Writer"`}},
		{name: "model call", scope: scope, span: "gpt-x.llm", typ: event.TypeModel, attrs: map[string]any{"gen_ai.request.model": "gpt-x"}, want: map[string]string{"config.model": `"gpt-x"`}},
		{name: "own telemetry", scope: "crewai.telemetry", span: "Tool Usage", typ: event.TypeTool, attrs: map[string]any{"tool_name": "f", "attempts": 1, "crewai_version": "1"}, want: map[string]string{"metadata.tool_name": `"f"`, "metadata.instrumentor": `"crewai"`}},
		{name: "OpenInference", scope: "openinference.instrumentation.crewai", span: "Crew_1.kickoff", typ: event.TypeChain,
			attrs: map[string]any{"openinference.span.kind": "CHAIN", "crew_id": "id", "crew_agents": `[{"role":"Writer"}]`, "input.value": `{"topic":"x"}`, "output.value": "a poem"},
			want:  map[string]string{"inputs": `{"topic":"x","agents":[{"role":"Writer"}]}`, "outputs": `{"result":"a poem"}`, "metadata.instrumentor": `"openinference"`}},
	})
}

// TestAgentOps maps the spans of AgentOps: of decorated functions, of a model call, and of a call that the model asked for.
func TestAgentOps(t *testing.T) {
	t.Parallel()
	const scope = "agentops"
	checkConventions(t, []conventionCase{
		{name: "session", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"agentops.span.kind": "session", "operation.name": "main", "agentops.entity.input": `{"args": [], "kwargs": {"q": "x"}}`, "agentops.entity.output": "ok"},
			want:  map[string]string{"inputs": `{"q":"x"}`, "outputs": `{"result":"ok"}`, "metadata.span_kind": `"session"`, "metadata.instrumentor": `"agentops"`}},
		{name: "tool", scope: scope, typ: event.TypeTool,
			attrs: map[string]any{"agentops.span.kind": "tool", "agentops.tool.input": `{"args": ["Lisbon"], "kwargs": {}}`, "agentops.tool.output": `{"t":21}`},
			want:  map[string]string{"inputs": `{"args":["Lisbon"]}`, "outputs": `{"result":{"t":21}}`, "unmapped": ""}},
		{name: "a call that the model asked for", span: "tool_call.f", typ: event.TypeTool,
			attrs: map[string]any{"agentops.span.kind": "AgentOpsSpanKindValues.TOOL", "tool.name": "f", "tool.parameters": `{"x": 1}`, "tool.call.id": "c", "tool.call.type": "function"},
			want:  map[string]string{"name": "f", "inputs": `{"x":1}`, "metadata.tool_call_id": `"c"`, "metadata.tool_parameters": "", "unmapped": `{"tool.call.type":"function"}`}},
		{name: "a tool of another framework", scope: "agentops.instrumentation.agentic.google_adk", typ: event.TypeTool,
			attrs: map[string]any{"agentops.span.kind": "tool", "tool.name": "f", "tool.parameters": `{"x": 1}`, "tool.result": `{"y":2}`},
			want:  map[string]string{"inputs": `{"x":1}`, "outputs": `{"result":{"y":2}}`, "unmapped": ""}},
		{name: "a tool's definition", typ: event.TypeTool,
			attrs: map[string]any{"openinference.span.kind": "TOOL", "tool.parameters": `{"x":{"type":"string"}}`},
			want:  map[string]string{"inputs": "", "metadata.tool_parameters": `{"x":{"type":"string"}}`}},
		{name: "model call", scope: "openai", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.request.type": "chat", "gen_ai.system": "OpenAI", "gen_ai.request.model": "m", "gen_ai.request.streaming": true, "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "q",
				"gen_ai.request.functions.0.name": "f", "gen_ai.request.functions.0.parameters": `{"type":"object"}`, "gen_ai.streaming.time_to_first_token": 0.5, "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "a"},
			want: map[string]string{"inputs.chat_history": `[{"role":"user","content":"q"}]`, "outputs.content": `"a"`, "config": `{"stream":true,"tools":[{"name":"f","parameters":{"type":"object"}}],"model":"m","provider":"openai"}`,
				"metadata.operation_name": `"chat"`, "metadata.time_to_first_token_ms": "500.0"}},
		{name: "failed call", scope: "openai", typ: event.TypeModel, attrs: map[string]any{"gen_ai.request.type": "chat", "gen_ai.request.model": "m"}},
		{name: "embedding", scope: "openai", typ: event.TypeModel, attrs: map[string]any{"gen_ai.request.type": "embedding", "gen_ai.prompt.0.content": "a", "gen_ai.prompt.1.content": "b"},
			want: map[string]string{"inputs": `{"texts":["a","b"]}`}},
	})
}

// TestPromptflow maps the spans of prompt flow: a function, calls of OpenAI's client, a streamed one among them.
func TestPromptflow(t *testing.T) {
	t.Parallel()
	const scope = "promptflow"
	const request = `{"model":"m","messages":[{"role":"user","content":"q"}],"temperature":0.5}`
	checkConventions(t, []conventionCase{
		{name: "function", scope: scope, typ: event.TypeChain, attrs: map[string]any{"framework": "promptflow", "span_type": "Function", "function": "main", "inputs": `{"q":"x"}`, "output": `"ok"`},
			want: map[string]string{"inputs": `{"q":"x"}`, "outputs": `{"result":"ok"}`, "metadata.span_kind": `"Function"`, "metadata.instrumentor": `"promptflow"`}},
		{name: "tool", scope: scope, typ: event.TypeTool, attrs: map[string]any{"span_type": "Tool", "inputs": `{"x":1}`, "output": `{"y":2}`},
			want: map[string]string{"inputs": `{"x":1}`, "outputs": `{"result":{"y":2}}`}},
		{name: "model call", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"span_type": "LLM", "inputs": request, "llm.response.model": "m-1", "llm.usage.prompt_tokens": 5, "llm.usage.completion_tokens": 2, "llm.usage.total_tokens": 7,
				"llm.generated_message": `{"role":"assistant","content":"a","refusal":null}`, "output": `{"id":"r","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"a"}}]}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "outputs": `{"finish_reason":"stop","role":"assistant","content":"a"}`, "config.temperature": "0.5", "metadata.prompt_tokens": "5", "metadata.response_id": `"r"`}},
		{name: "streamed call", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"span_type": "LLM", "inputs": request, "llm.generated_message": `{"role":"assistant","content":"a"}`, "output": `[{"id":"r","choices":[{"delta":{"content":"a"}}]}]`},
			want:  map[string]string{"outputs": `{"role":"assistant","content":"a"}`}},
		{name: "embedding", scope: scope, typ: event.TypeModel, attrs: map[string]any{"span_type": "Embedding", "inputs": `{"model":"e","input":["a","b"]}`, "llm.usage.prompt_tokens": 2},
			want: map[string]string{"inputs": `{"texts":["a","b"]}`, "config.model": `"e"`, "metadata.prompt_tokens": "2"}},
	})
}
