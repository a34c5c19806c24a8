package otlpmap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/spangrove/spangrove/pkg/event"
)

// agentRecord is a record as an agent sends it. Its time is in seconds.
type agentRecord struct {
	seconds int
	span    byte // 0: none
	body    any
	attrs   map[string]any
}

// agentLogs makes a request of records of one session.
func agentLogs(t *testing.T, scope string, records []agentRecord) plog.Logs {
	t.Helper()
	ld := plog.NewLogs()
	sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	sl.Scope().SetName(scope)
	for _, r := range records {
		one := plog.NewLogs()
		rec := logRecord(t, one, "", r.body, r.attrs)
		rec.SetTimestamp(pcommon.Timestamp(r.seconds) * 1e9)
		rec.SetTraceID(pcommon.TraceID{})
		rec.SetSpanID(pcommon.SpanID{})
		if r.span != 0 {
			rec.SetTraceID(pcommon.TraceID{1})
			rec.SetSpanID(pcommon.SpanID{r.span})
		}
		rec.CopyTo(sl.LogRecords().AppendEmpty())
	}
	return ld
}

// stepTree returns the events of the steps with the parts of their records, one a line, and how many records were
// rejected and dropped.
func stepTree(m *Mapper, ld plog.Logs) (tree string, rejected, dropped int) {
	batch := m.Steps(ld)
	notes, refused, lines := m.Logs(ld)
	for i := range batch.Events {
		e := &batch.Events[i]
		var own []event.LogPart
		for _, n := range notes {
			if n.SpanID == e.ID {
				own = append(own, n)
			}
		}
		e.MergeLogs(nil, own)
	}
	return draw(batch), len(refused), lines
}

func TestSteps(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	session := func(o object) object {
		o["session.id"] = "7f1fd2c4-2d0a-4a5e-9d3c-0a3c1c6f0f01"
		return o
	}
	for _, tt := range []struct {
		name, scope string
		records     []agentRecord
		want        string
		rejected    int
		dropped     int
	}{
		{
			name: "Claude Code", scope: "com.anthropic.claude_code.events",
			records: []agentRecord{
				{10, 0, "claude_code.user_prompt", session(object{"event.name": "user_prompt", "prompt.id": "p", "prompt": "Hi", "prompt_length": "2"})},
				{12, 0, "claude_code.tool_decision", session(object{"event.name": "tool_decision", "prompt.id": "p", "tool_name": "Bash", "tool_use_id": "t", "decision": "accept"})},
				{12, 0, "claude_code.assistant_response", session(object{"event.name": "assistant_response", "prompt.id": "p", "request_id": "r", "response": "Ho"})},
				{12, 0, "claude_code.api_request", session(object{"event.name": "api_request", "prompt.id": "p", "request_id": "r", "model": "m", "input_tokens": 100,
					"output_tokens": 4, "cache_read_tokens": 20, "cache_creation_tokens": 3, "cost_usd": 0.25, "duration_ms": 1500})},
				{13, 0, "claude_code.tool_result", session(object{"event.name": "tool_result", "prompt.id": "p", "tool_name": "Bash", "tool_use_id": "t", "success": "false",
					"error": "exit 1", "duration_ms": "500", "tool_input": `{"command":"ls"}`})},
				{14, 0, "claude_code.api_error", session(object{"event.name": "api_error", "prompt.id": "p", "event.sequence": 5, "model": "m", "error": "Overloaded", "status_code": 529})},
				{15, 0, "claude_code.plugin_loaded", session(object{"event.name": "plugin_loaded"})},
				{15, 0, "claude_code.user_prompt", object{"event.name": "user_prompt", "prompt": "whose?"}},
			},
			dropped: 2,
			want: `
session "" 7f1fd2c4-2d0a-4a5e-9d3c-0a3c1c6f0f01
  chain "claude_code.user_prompt" +0ms 0ms inputs.chat_history=[{"content":"Hi","role":"user"}] metadata+={"prompt.id":"p","prompt_length":"2"}
    model "claude_code.api_request" +500ms 1500ms config.model="m" outputs.content="Ho" metadata.prompt_tokens=123 metadata.completion_tokens=4 metadata.from_logs={"count":1,"fields":["outputs.content","outputs.role"]} metadata+={"prompt.id":"p"}
    tool "Bash" +2500ms 500ms metadata.logs=[{"name":"tool_decision","time":12000,"body":"claude_code.tool_decision","attributes":{"decision":"accept","prompt.id":"p","session.id":"7f1fd2c4-2d0a-4a5e-9d3c-0a3c1c6f0f01","tool_name":"Bash","tool_use_id":"t"},"scope":"com.anthropic.claude_code.events"}] metadata.from_logs={"count":1,"lists":{"logs":1}} metadata+={"prompt.id":"p","success":"false"} error="exit 1"
    model "claude_code.api_error" +4000ms 0ms config.model="m" metadata+={"event.sequence":5,"prompt.id":"p","http.response.status_code":529} error="Overloaded"`,
		},
		{
			name: "Codex", scope: "codex_otel.log_only",
			records: []agentRecord{
				{10, 3, nil, object{"event.name": "codex.user_prompt", "conversation.id": "c", "event.timestamp": "a", "prompt": "Hi"}},
				{11, 0, nil, object{"event.name": "codex.sse_event", "conversation.id": "c", "event.kind": "response.output_text.delta"}},
				{12, 0, nil, object{"event.name": "codex.sse_event", "conversation.id": "c", "event.timestamp": "b", "event.kind": "response.completed", "model": "m",
					"input_token_count": "40", "output_token_count": "20", "cached_token_count": "8", "reasoning_token_count": "6", "tool_token_count": "60", "ttft_ms": "7"}},
				{13, 4, nil, object{"event.name": "codex.tool_result", "conversation.id": "c", "tool_name": "exec", "call_id": "t", "arguments": `{"cmd":"ls"}`, "output": "a", "success": "true", "duration_ms": "9"}},
			},
			dropped: 1,
			want: `
session "" 71039e6c-de90-565a-8cd7-89b263271615
  chain "codex.user_prompt" +0ms 0ms inputs.chat_history=[{"content":"Hi","role":"user"}]
  model "codex.response.completed" +2000ms 0ms config.model="m" metadata.prompt_tokens=40 metadata.completion_tokens=20 metadata+={"event.kind":"response.completed"}
  tool "exec" +2991ms 9ms outputs.result="a" metadata+={"success":"true"}`,
		},
		{
			name: "Gemini CLI", scope: "gemini-cli",
			records: []agentRecord{
				{10, 0, "User prompt. Length: 2.", session(object{"event.name": "gemini_cli.user_prompt", "prompt_id": "p", "prompt": "Hi"})},
				{12, 0, "API response from m.", session(object{"event.name": "gemini_cli.api_response", "event.timestamp": "a", "prompt_id": "p", "model": "m", "duration_ms": 1000,
					"input_token_count": 30, "output_token_count": 9, "thoughts_token_count": 5, "cached_content_token_count": 4, "total_token_count": 44, "finish_reasons": []any{"stop"},
					"response_text": `[{"candidates":[{"content":{"parts":[{"text":"H"}]}}]},{"candidates":[{"content":{"parts":[{"text":"o"}]}}],"responseId":"r"}]`})},
				{12, 0, "GenAI operation details from m.", session(object{"event.name": detailsEvent, "event.timestamp": "a", "gen_ai.provider.name": "gcp.gen_ai",
					"gen_ai.request.temperature": 1, "gen_ai.system_instructions": `[{"type":"text","content":"Be brief."}]`})},
				{13, 5, "Tool call: f.", session(object{"event.name": "gemini_cli.tool_call", "function_name": "f", "function_args": `{"x":1}`})},
			},
			want: `
session "" 7f1fd2c4-2d0a-4a5e-9d3c-0a3c1c6f0f01
  chain "gemini_cli.user_prompt" +0ms 0ms inputs.chat_history=[{"content":"Hi","role":"user"}] metadata+={"prompt_id":"p"}
    model "gemini_cli.api_response" +1000ms 1000ms config.model="m" inputs.chat_history=[{"role":"system","content":"Be brief."}] outputs.content="Ho" metadata.prompt_tokens=30 metadata.completion_tokens=14 metadata.from_logs={"count":1,"fields":["config.temperature","inputs.chat_history","metadata.part_types"]} metadata+={"prompt_id":"p"}`,
		},
		{
			name: "Gemini CLI with spans", scope: "gemini-cli",
			records: []agentRecord{
				{12, 0, "API response from m.", session(object{"event.name": "gemini_cli.api_response", "event.timestamp": "a", "prompt_id": "p", "model": "m", "duration_ms": 1000,
					"input_token_count": 30, "output_token_count": 9, "total_token_count": 39, "auth_type": "oauth"})},
				{12, 0, "GenAI operation details from m.", session(object{"event.name": detailsEvent, "event.timestamp": "a", "gen_ai.provider.name": "gcp.gen_ai", "auth_type": "oauth",
					"gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]`, "gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"Ho"}]}]`})},
				{14, 0, "API response from m.", session(object{"event.name": "gemini_cli.api_response", "event.timestamp": "b", "prompt_id": "p", "model": "m", "input_token_count": 5, "output_token_count": 2, "auth_type": "oauth"})},
				{14, 0, "GenAI operation details from m.", session(object{"event.name": detailsEvent, "event.timestamp": "b", "gen_ai.provider.name": "gcp.gen_ai", "auth_type": "oauth"})},
			},
			want: `
session "" 7f1fd2c4-2d0a-4a5e-9d3c-0a3c1c6f0f01
  chain "gemini_cli.api_response" +0ms 1000ms orphan config.model="m" inputs.chat_history=[{"role":"user","content":"Hi"}] outputs.content="Ho" metadata.aggregate_usage={"prompt_tokens":30,"completion_tokens":9,"total_tokens":39} metadata.from_logs={"count":1,"fields":["inputs.chat_history","metadata.part_types","outputs.content","outputs.role"]} metadata+={"auth_type":"oauth","prompt_id":"p"}
  model "gemini_cli.api_response" +3000ms 0ms orphan config.model="m" metadata.prompt_tokens=5 metadata.completion_tokens=2 metadata.from_logs={"count":1} metadata+={"auth_type":"oauth","prompt_id":"p"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := New(Options{})
			got, rejected, dropped := stepTree(m, agentLogs(t, tt.scope, tt.records))
			if d := cmp.Diff(strings.TrimSpace(tt.want), strings.TrimSpace(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if rejected != tt.rejected || dropped != tt.dropped {
				t.Errorf("%d rejected, %d dropped, want %d, %d", rejected, dropped, tt.rejected, tt.dropped)
			}
		})
	}
}
