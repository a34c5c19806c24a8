package otlpmap

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// agentTraces makes spans as an instrumented agent sends them: per trace one agent, then model
// calls, tools and retrievers, with prompts of about size bytes.
func agentTraces(spans, size int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "desk")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("desk.agent")
	ss.Spans().EnsureCapacity(spans)
	text := strings.Repeat("The teal ferry leaves pier four at 09:20, the amber one an hour later. ", size/70+1)
	for i := range spans {
		s := ss.Spans().AppendEmpty()
		var trace [16]byte
		var id [8]byte
		binary.BigEndian.PutUint64(trace[8:], uint64(i/8+1))
		binary.BigEndian.PutUint64(id[:], uint64(i+1))
		s.SetTraceID(trace)
		s.SetSpanID(id)
		if i%8 != 0 {
			binary.BigEndian.PutUint64(id[:], uint64(i/8*8+1))
			s.SetParentSpanID(id)
		}
		s.SetKind(ptrace.SpanKindInternal)
		s.SetStartTimestamp(pcommon.Timestamp(1.7e18 + float64(i)*1e6))
		s.SetEndTimestamp(pcommon.Timestamp(1.7e18 + float64(i)*1e6 + 5e5))
		s.Status().SetCode(ptrace.StatusCodeOk)
		agentSpan(s, i, size, text)
	}
	return td
}

func agentSpan(s ptrace.Span, i, size int, text string) {
	a := s.Attributes()
	a.EnsureCapacity(28)
	kinds := [...]string{"AGENT", "LLM", "TOOL", "LLM", "RETRIEVER", "LLM", "TOOL", "LLM"}
	kind := kinds[i%8]
	s.SetName(strings.ToLower(kind))
	a.PutStr("openinference.span.kind", kind)
	a.PutStr("session.id", fmt.Sprintf("6b0f2c1e-0f5d-4d53-9a52-%012x", i/8))
	a.PutStr("user.id", "u-17")
	a.PutStr("input.mime_type", "application/json")
	a.PutStr("output.mime_type", "text/plain")
	a.PutStr("output.value", text[:size/8])
	if kind != "LLM" {
		a.PutStr("input.value", `{"query":"`+text[:size]+`"}`)
	}
	switch kind {
	case "AGENT":
		a.PutStr("gen_ai.operation.name", "invoke_agent")
		a.PutStr("gen_ai.agent.name", "support")
	case "LLM":
		a.PutStr("input.value", `{"messages":[{"role":"system","content":"`+text[:size/4]+`"},{"role":"user","content":"`+text[:size*3/4]+`"}]}`)
		a.PutStr("gen_ai.operation.name", "chat")
		a.PutStr("gen_ai.provider.name", "openai")
		a.PutStr("gen_ai.system", "openai")
		a.PutStr("gen_ai.request.model", "m-large")
		a.PutStr("gen_ai.response.model", "m-large")
		a.PutDouble("gen_ai.request.temperature", 0.2)
		a.PutInt("gen_ai.usage.input_tokens", 812)
		a.PutInt("gen_ai.usage.output_tokens", 64)
		a.PutEmptySlice("gen_ai.response.finish_reasons").AppendEmpty().SetStr("stop")
		a.PutStr("llm.model_name", "m-large")
		a.PutStr("llm.provider", "openai")
		a.PutInt("llm.token_count.prompt", 812)
		a.PutInt("llm.token_count.completion", 64)
		a.PutInt("llm.token_count.total", 876)
		a.PutStr("llm.output_messages.0.message.role", "assistant")
		a.PutStr("llm.output_messages.0.message.tool_calls.0.tool_call.function.name", "search")
		a.PutStr("llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments", `{"q":"ferries"}`)
	case "TOOL":
		a.PutStr("gen_ai.operation.name", "execute_tool")
		a.PutStr("gen_ai.tool.name", "search")
		a.PutStr("gen_ai.tool.call.id", "call_17")
		a.PutStr("tool.name", "search")
	case "RETRIEVER":
		a.PutStr("retrieval.documents.0.document.id", "doc-9")
		a.PutStr("retrieval.documents.0.document.content", text[:200])
		a.PutDouble("retrieval.documents.0.document.score", 0.87)
	}
}

// chatTraces makes model calls as one instrumentation alone sends them, with prompts of about
// size bytes in a conversation of eight messages, and a tool call among them.
func chatTraces(spans, size int, fill func(a pcommon.Map, texts []string)) ptrace.Traces {
	td := agentTraces(spans, size)
	list := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	const sentence = `The teal ferry leaves pier four at 09:20.\nThe amber one an hour later, said \"Kévin\". `
	texts := make([]string, 8)
	for i := range texts {
		texts[i] = fmt.Sprint(i, " ", strings.Repeat(sentence, max(1, size/len(texts)/len(sentence))))
	}
	for i := range list.Len() {
		list.At(i).SetName("chat m-large")
		list.At(i).SetParentSpanID([8]byte{})
		a := list.At(i).Attributes()
		a.Clear()
		fill(a, texts)
	}
	return td
}

func genAIChat(a pcommon.Map, texts []string) {
	a.PutStr("gen_ai.operation.name", "chat")
	a.PutStr("gen_ai.provider.name", "openai")
	a.PutStr("gen_ai.request.model", "m-large")
	a.PutStr("gen_ai.response.model", "m-large-2026")
	a.PutStr("gen_ai.response.id", "chatcmpl-17")
	a.PutStr("gen_ai.conversation.id", "conv-17")
	a.PutDouble("gen_ai.request.temperature", 0.2)
	a.PutInt("gen_ai.usage.input_tokens", 812)
	a.PutInt("gen_ai.usage.output_tokens", 64)
	a.PutEmptySlice("gen_ai.response.finish_reasons").AppendEmpty().SetStr("stop")
	var in strings.Builder
	for i, t := range texts[:7] {
		in.WriteString([]string{"[", ","}[min(i, 1)])
		switch i {
		case 3:
			in.WriteString(`{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"search","arguments":{"q":"` + t + `"}}]}`)
		case 4:
			in.WriteString(`{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"` + t + `"}]}`)
		default:
			in.WriteString(`{"role":"user","parts":[{"type":"text","content":"` + t + `"}]}`)
		}
	}
	a.PutStr("gen_ai.input.messages", in.String()+"]")
	a.PutStr("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"`+texts[7]+`"}],"finish_reason":"stop"}]`)
}

func openInferenceChat(a pcommon.Map, texts []string) {
	a.PutStr("openinference.span.kind", "LLM")
	a.PutStr("llm.system", "openai")
	a.PutStr("llm.model_name", "m-large-2026")
	a.PutStr("llm.invocation_parameters", `{"model":"m-large","temperature":0.2}`)
	a.PutStr("session.id", "conv-17")
	a.PutInt("llm.token_count.prompt", 812)
	a.PutInt("llm.token_count.completion", 64)
	a.PutInt("llm.token_count.total", 876)
	for i, t := range texts[:7] {
		a.PutStr(fmt.Sprintf("llm.input_messages.%d.message.role", i), "user")
		a.PutStr(fmt.Sprintf("llm.input_messages.%d.message.content", i), t)
	}
	a.PutStr("llm.output_messages.0.message.role", "assistant")
	a.PutStr("llm.output_messages.0.message.content", texts[7])
}

func BenchmarkTraces(b *testing.B) {
	for _, size := range []int{512, 4096} {
		b.Run(fmt.Sprintf("agent-%d", size), func(b *testing.B) { benchTraces(b, agentTraces(512, size)) })
	}
	b.Run("genai-4096", func(b *testing.B) { benchTraces(b, chatTraces(512, 4096, genAIChat)) })
	b.Run("openinference-4096", func(b *testing.B) { benchTraces(b, chatTraces(512, 4096, openInferenceChat)) })
	b.Run("openinference", func(b *testing.B) {
		benchTraces(b, readSample(b, "testdata/samples/openinference/openai_agents_tool.json"))
	})
	b.Run("otel-genai", func(b *testing.B) { benchTraces(b, readSample(b, "testdata/samples/otel-genai/agent_tool_loop.json")) })
	b.Run("openllmetry-flat", func(b *testing.B) {
		benchTraces(b, readSample(b, "testdata/samples/openllmetry-flat/agent_tool_loop.json"))
	})
}

// benchTraces maps one request over and over, from the decoded request to the events: decoding,
// storing and the network are not in it. spans/s is by the clock on the wall, cpu-ns/span and
// spans/cpu-s by the time this process was on a CPU, the garbage collector's part included.
func benchTraces(b *testing.B, td ptrace.Traces) {
	size := (&ptrace.ProtoMarshaler{}).TracesSize(td)
	m := New(Options{})
	b.ReportAllocs()
	b.SetBytes(int64(size))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := cpuTime()
	for b.Loop() {
		if batch, _ := m.Traces(td); len(batch.Events) != td.SpanCount() {
			b.Fatal("spans lost")
		}
	}
	cpu = cpuTime() - cpu
	runtime.ReadMemStats(&after)
	spans := float64(td.SpanCount()) * float64(b.N)
	b.ReportMetric(spans/b.Elapsed().Seconds(), "spans/s")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/spans, "allocs/span")
	if cpu > 0 {
		b.ReportMetric(float64(cpu.Nanoseconds())/spans, "cpu-ns/span")
		b.ReportMetric(spans/cpu.Seconds(), "spans/cpu-s")
	}
}

func BenchmarkEventID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		EventID([16]byte{1, 2}, [8]byte{3})
	}
}
