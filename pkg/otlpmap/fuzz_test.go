package otlpmap

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// FuzzAttributes maps spans with any attributes of the families that are taken apart. Whatever
// the names, the event is clean JSON and has every value.
func FuzzAttributes(f *testing.F) {
	f.Add("honeyhive_inputs.a\nhoneyhive_inputs.a.b\nhoneyhive_outputs.0", "x\n{\"a\":[1]}\nnull", uint8(0))
	f.Add("llm.input_messages.0.message.role\nllm.input_messages.0.message.tool_calls.1.tool_call.function.arguments", "user\n{\"a\":1}", uint8(1))
	f.Add("gen_ai.prompt.1.content\ngen_ai.completion.0.tool_calls\nmetadata", "[{\"type\":\"text\"}]\ny\n{\"session_id\":\"s\",\"attributes\":1}", uint8(2))
	f.Add("input.value\noutput.value\nllm.invocation_parameters", "{\"messages\":[{\"role\":\"user\",\"content\":[]}],\"model\":1}\n{\"choices\":[{}]}\n{\"tools\":[1]}", uint8(1))
	f.Add("traceloop.entity.input\ngen_ai.tool.call.result\nhoneyhive_metadata.resource", "{\"args\":[],\"kwargs\":{}}\n\"\\\"x\\\"\"\nz", uint8(3))
	f.Add("retrieval.documents.0.document.content\nembedding.embeddings.0.embedding.text\nhoneyhive_inputs..\nhoneyhive_inputs", "a\nb\nc\nd", uint8(4))
	m := New(Options{})
	kinds := []string{"CHAIN", "LLM", "EMBEDDING", "TOOL", "RETRIEVER"}
	f.Fuzz(func(t *testing.T, names, values string, kind uint8) {
		attrs := map[string]any{"openinference.span.kind": kinds[int(kind)%len(kinds)]}
		vals := strings.Split(values, "\n")
		for i, name := range strings.Split(names, "\n") {
			attrs[name] = vals[i%len(vals)]
		}
		td, _ := oneSpan(attrs)
		b, _ := m.Traces(td)
		if len(b.Events) != 1 {
			t.Fatal("the span is lost")
		}
		checkEvent(t, &b.Events[0])
	})
}

// FuzzMessages reads any JSON as messages, both ways. What comes out is clean, and so is what
// a cut makes of it.
func FuzzMessages(f *testing.F) {
	for _, s := range []string{
		`[{"role":"user","content":"x"}]`, `[{"role":"a","parts":[{"type":"text","content":"x"},{"type":"tool_call","id":"1","name":"f","arguments":"{}"}]}]`,
		`[{"role":"tool","parts":[{"type":"tool_call_response","id":"1","response":[1]}]}]`, `[{"index":0,"message":{"role":"a","tool_calls":[{"function":{"arguments":"[1"}}]}}]`,
		`{"messages":[[{"role":"a"}]]}`, `"text"`, `[{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}]`, `{"role":"a","content":[{"type":"text","text":"\ud83d\ude00"}]}`,
		`{"a":1,"choices":[{"message":{"role":"a","content":"b","z":{"y":[]}}}]}`,
	} {
		f.Add(s, uint8(10))
	}
	m := New(Options{MaxMediaBytes: 24})
	f.Fuzz(func(t *testing.T, s string, cut uint8) {
		for _, text := range []string{s, s[:min(int(cut), len(s))]} {
			for _, kind := range []string{"chat", "invoke_agent", "execute_tool"} {
				td, _ := oneSpan(map[string]any{
					"gen_ai.operation.name": kind, "gen_ai.input.messages": text, "gen_ai.output.messages": text,
					"gen_ai.tool.definitions": text, "gen_ai.system_instructions": text, "output.value": text, "input.value": text,
				})
				b, _ := m.Traces(td)
				checkEvent(t, &b.Events[0])
			}
		}
	})
}

// FuzzCloseJSON holds that text which was JSON before it was cut is JSON again, or given up.
func FuzzCloseJSON(f *testing.F) {
	f.Add(`[{"role":"user","content":"a\u00e9\n\"x"},{"n":12,"t":true}]`, uint16(30))
	f.Fuzz(func(t *testing.T, s string, cut uint16) {
		if _, _, err := rawjson.Clean([]byte(s)); err != nil {
			return
		}
		closed := closeJSON(s[:min(int(cut), len(s))])
		if closed != "" && !json.Valid([]byte(strings.ToValidUTF8(closed, "?"))) {
			t.Fatalf("%q cut at %d became %q", s, cut, closed)
		}
	})
}
