package otlpmap

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/spangrove/spangrove/pkg/event"
)

// TestNothingLost holds that what a rule finds no place for stays somewhere: each KEPT of the attributes must be in the event.
func TestNothingLost(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	of := func(kind string, o object) object {
		o["openinference.span.kind"] = kind
		return o
	}
	m := New(Options{})
	for name, attrs := range map[string]object{
		"embedded plain text":           of("EMBEDDING", object{"gen_ai.input.messages": "KEPT there"}),
		"embedded JSON text":            of("EMBEDDING", object{"gen_ai.input.messages": `"KEPT there"`}),
		"id beside an embedded text":    of("EMBEDDING", object{"gen_ai.input.messages": `[{"role":"user","content":"x","tool_call_id":"KEPT"}]`}),
		"two messages of one element":   of("EMBEDDING", object{"input.value": `[{"role":"user","content":[{"type":"tool_result","content":"KEPT"},{"type":"text","text":"b"}]}]`}),
		"messages that were cut off":    of("EMBEDDING", object{"gen_ai.input.messages": `[{"role":"user","content":"KEPT and`}),
		"name of a tool of MCP":         {"traceloop.span.kind": "tool", "gen_ai.tool.name": "y", "traceloop.entity.input": `{"tool_name":"KEPT","arguments":{"a":1}}`},
		"call of Gemini CLI":            of("TOOL", object{"input.value": `{"callId":"KEPT","name":"KEPT2","args":{"x":1},"prompt_id":"KEPT3"}`}),
		"answer of Gemini CLI":          of("TOOL", object{"gen_ai.output.messages": `{"request":{"callId":"KEPT2"},"response":{"out":"KEPT"}}`}),
		"second thought":                of("LLM", object{"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.reasoning": "r", "gen_ai.completion.0.tool_calls.0.name": "f", "gen_ai.output.messages": `[{"role":"assistant","content":"text","reasoning":"KEPT"}]`}),
		"thought of a second message":   of("LLM", object{"gen_ai.output.messages": `[{"role":"assistant","content":"a","reasoning":"r1"},{"role":"assistant","content":null,"reasoning":"KEPT"}]`}),
		"reason to stop of a thought":   of("LLM", object{"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "a", "gen_ai.completion.1.role": "assistant", "gen_ai.completion.1.reasoning": "r", "gen_ai.completion.1.finish_reason": "KEPT"}),
		"second choice, a thought":      of("LLM", object{"gen_ai.request.choice.count": 2, "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "a", "gen_ai.completion.0.finish_reason": "stop", "gen_ai.completion.1.role": "assistant", "gen_ai.completion.1.reasoning": "r", "gen_ai.completion.1.finish_reason": "KEPT"}),
		"name of a thought":             of("LLM", object{"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.reasoning": "a", "gen_ai.completion.0.name": "KEPT", "gen_ai.completion.1.role": "assistant", "gen_ai.completion.1.content": "r"}),
		"name of calls":                 of("LLM", object{"gen_ai.completion.0.content": "a", "gen_ai.completion.1.name": "KEPT", "gen_ai.completion.1.tool_calls.0.name": "f"}),
		"thought beside a thought part": of("LLM", object{"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.contents.0.message_content.type": "reasoning", "llm.output_messages.0.message.contents.0.message_content.text": "KEPT", "llm.output_messages.0.message.reasoning": "B"}),
		"thought of a thought":          of("LLM", object{"gen_ai.completion.0.role": "thinking", "gen_ai.completion.0.content": "a", "gen_ai.completion.0.reasoning": "KEPT", "gen_ai.completion.1.role": "assistant", "gen_ai.completion.1.content": "b"}),
		"two texts of a thought":        of("LLM", object{"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"reasoning","content":"a","thought":"KEPT"},{"type":"text","content":"b"}]}]`}),
		"type of an address":            of("LLM", object{"gen_ai.input.messages": `[{"role":"user","parts":[{"type":"blob","modality":"image","mime_type":"image/KEPT","content":"https://a/b.png"}]}]`}),
		"declarations that are none":    of("LLM", object{"gen_ai.tool.definitions": `[{"function_declarations":"KEPT"},{"name":"a"}]`}),
		"name beside a definition":      {"langfuse.observation.type": "generation", "langfuse.observation.input": `[{"role":"user","content":"hi"},{"role":"tool","name":"KEPT","content":{"type":"function","function":{"name":"f"}}}]`},
		"second result":                 of("LLM", object{"honeyhive_outputs.result": "x", "traceloop.entity.output": "4242 KEPT"}),
		"document's author":             of("RERANKER", object{"gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "d", "gen_ai.prompt.0.name": "KEPT", "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": "q"}),
	} {
		for i := range 2 { // what a mapper has mapped before must not show
			td, _ := oneSpan(attrs)
			b, _ := m.Traces(td)
			text := flatEvent(&b.Events[0].Event)
			if !json.Valid(text) {
				t.Errorf("%s, time %d: no JSON: %s", name, i, text)
			}
			for _, kept := range []string{"KEPT", "KEPT2", "KEPT3"} {
				if strings.Contains(fmt.Sprint(attrs), kept) && !strings.Contains(string(text), kept) {
					t.Errorf("%s: %s is nowhere in %s", name, kept, text)
				}
			}
		}
	}
}

// TestLongAnswers maps answers of many parts, each of which joins the one before. What is allocated grows with the attributes, not with
// their square.
func TestLongAnswers(t *testing.T) {
	const parts = 4000
	flat := map[string]any{"openinference.span.kind": "LLM", "gen_ai.completion.0.content": "a"}
	for i := 1; i < parts; i++ {
		flat[fmt.Sprintf("gen_ai.completion.%d.tool_calls.0.name", i)] = "f"
		flat[fmt.Sprintf("gen_ai.completion.%d.tool_calls.0.arguments", i)] = strings.Repeat("x", 100)
	}
	m := New(Options{})
	for name, attrs := range map[string]map[string]any{
		"flat calls": flat,
		"items":      {"openinference.span.kind": "LLM", "output.value": `{"output":[` + strings.Repeat(`{"type":"function_call","name":"f","arguments":"{}"},`, parts) + `{"type":"function_call","name":"f"}]}`},
		"thoughts":   {"openinference.span.kind": "LLM", "gen_ai.output.messages": `[{"role":"assistant","parts":[` + strings.Repeat(`{"type":"thinking","thinking":"long thoughts of a model"},`, parts) + `{"type":"text","text":"x"}]}]`},
	} {
		td, _ := oneSpan(attrs)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, _ := m.Traces(td)
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 100 {
			t.Errorf("%s: %d MiB were allocated", name, n)
		}
		if len(b.Events[0].Outputs) < 20*parts {
			t.Errorf("%s: outputs are %d bytes", name, len(b.Events[0].Outputs))
		}
	}
}

// TestStepsApart has records that share what others are told apart by, and times that no clock has.
func TestStepsApart(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	add := func(name string, attrs object) {
		r := records.AppendEmpty()
		r.Body().SetStr(name)
		r.SetTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000))
		attrs["event.name"], attrs["session.id"] = name, "s"
		putSorted(r.Attributes(), attrs)
	}
	const at = "2026-11-29T10:00:00Z"
	add("codex.user_prompt", object{"event.timestamp": at, "prompt": "Hi"})
	add("codex.api_request", object{"event.timestamp": at, "error.message": "no"})
	add("codex.sse_event", object{"event.timestamp": at, "error.message": "no"})
	add("gemini_cli.tool_call", object{"event.timestamp": at, "function_name": "read_file", "function_args": `{"path":"a"}`})
	add("gemini_cli.tool_call", object{"event.timestamp": at, "function_name": "read_file", "function_args": `{"path":"b"}`})
	add("claude_code.api_error", object{"event.sequence": 5, "error": "no"})
	add("claude_code.api_request_body", object{"event.sequence": 5, "body": "{}"})
	for i, d := range []any{"NaN", "Inf", 1e300, -5, "abc", 1e13} {
		add("claude_code.tool_result", object{"tool_use_id": fmt.Sprint(i), "tool_name": "n", "duration_ms": d})
	}
	ids := map[string]string{}
	b := New(Options{}).Steps(ld)
	for i := range b.Events {
		e := &b.Events[i].Event
		if other := ids[e.ID.String()]; other != "" {
			t.Errorf("%s and %s are one event", other, e.Name)
		}
		ids[e.ID.String()] = e.Name
		if e.Start != 1_700_000_000_000 {
			t.Errorf("%s begins at %f", e.Name, e.Start)
		}
	}
	if len(b.Events) != records.Len() {
		t.Errorf("%d events of %d records", len(b.Events), records.Len())
	}
}

// TestBesideMessages: what stands beside messages, and has no place since another attribute or an answer took it, stays with its attribute.
func TestBesideMessages(t *testing.T) {
	t.Parallel()
	const messages = `"messages":[{"role":"user","content":"q"}]`
	checkConventions(t, []conventionCase{
		{name: "schemas of tools that another attribute names", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": `[{"type":"function","name":"f"}]`,
				"input.value": `{` + messages + `,"tools":[{"type":"function","function":{"name":"f","description":"adds","parameters":{"type":"object"}}}]}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "config.tools": `[{"type":"function","name":"f"}]`,
				"unmapped": `{"input.value":{"tools":[{"type":"function","function":{"name":"f","description":"adds","parameters":{"type":"object"}}}]}}`}},
		{name: "tools that another attribute has", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": `[{"type":"function","name":"f","description":"adds"}]`,
				"input.value": `{` + messages + `,"tools":[{"type":"function","function":{"name":"f","description":"adds"}}]}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "unmapped": ""}},
		{name: "an input of a name that the program gives, too", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "honeyhive_inputs.user": "u1", "input.value": `{` + messages + `,"user":"u2","seed":7}`},
			want:  map[string]string{"inputs": `{"user":"u1","chat_history":[{"role":"user","content":"q"}]}`, "config.seed": "7", "unmapped": `{"input.value":{"user":"u2"}}`}},
		{name: "a member of a state that is named like one of an answer", typ: event.TypeChain,
			attrs: map[string]any{"openinference.span.kind": "CHAIN", "output.value": `{"messages":[{"role":"assistant","content":"a"}],"content":"draft","next":"end"}`},
			want:  map[string]string{"outputs": `{"role":"assistant","content":"a","next":"end"}`, "unmapped": `{"output.value":{"content":"draft"}}`}},
		{name: "instructions that are items", typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "input.value": `{"input":"q","instructions":[{"role":"developer","content":"s"}]}`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}],"instructions":[{"role":"developer","content":"s"}]}`, "unmapped": ""}},
	})
}
