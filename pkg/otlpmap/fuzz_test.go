package otlpmap

import (
	"encoding/json"
	"slices"
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
		e := &b.Events[0]
		checkEvent(t, e)
		var shown any
		if err := json.Unmarshal(flatEvent(e), &shown); err != nil {
			t.Fatal(err)
		}
		text := allTexts(shown)
		for name, v := range attrs {
			if a, ok := compiled.names[name]; ok && slices.Contains(lists.unused, a) {
				continue
			}
			if s, n := rawjson.ValidText(v.(string)); n == 0 && !hasTexts(s, text, true) {
				t.Errorf("%s = %q is lost in %s", name, s, text)
			}
		}
	})
}

// allTexts are the texts in a JSON value, those in JSON inside a text too.
func allTexts(v any) string {
	var b strings.Builder
	switch v := v.(type) {
	case string:
		b.WriteString(v + "\n")
		if in := decoded(v); json.Valid([]byte(v)) {
			b.WriteString(allTexts(in))
		}
	case map[string]any:
		for _, e := range v {
			b.WriteString(allTexts(e))
		}
	case []any:
		for _, e := range v {
			b.WriteString(allTexts(e))
		}
	}
	return b.String()
}

// hasTexts says that a text, or each text inside it if it is JSON, is in the event.
func hasTexts(v any, event string, top bool) bool {
	switch v := v.(type) {
	case string:
		if raw, _, err := rawjson.Clean([]byte(v)); top && err == nil {
			var in any
			_ = json.Unmarshal(raw, &in)
			return hasTexts(in, event, false)
		}
		return strings.Contains(event, v) || json.Valid([]byte(v)) && hasTexts(decoded(v), event, false)
	case map[string]any:
		for _, e := range v {
			if !hasTexts(e, event, false) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !hasTexts(e, event, false) {
				return false
			}
		}
	}
	return true
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
