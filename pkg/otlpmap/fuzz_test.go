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
	for _, names := range []string{
		"honeyhive_inputs.a\nhoneyhive_inputs.a.b\nhoneyhive_inputs.a.0\nhoneyhive_inputs.a.b.c",                       // a value that is a parent too
		"llm.input_messages.0.message.content\nllm.input_messages.7.message.content\nhoneyhive_outputs.l.1000000",      // gaps
		"gen_ai.prompt.99999999999999999999.content\ngen_ai.prompt.4294967296.content\ngen_ai.completion.-1.content",   // huge indexes
		"gen_ai.prompt.01.content\ngen_ai.prompt.1.content\ngen_ai.prompt..content",                                    // other spellings of one index
		"honeyhive_metadata" + strings.Repeat(".d", 5000) + "\nllm.tools" + strings.Repeat(".0", 5000),                 // depth
		"honeyhive_inputs.a\x00b\nhoneyhive_config.\xff\xfe\n\x00\n\xc3",                                               // NUL, invalid UTF-8
		"honeyhive_inputs.__proto__.polluted\nhoneyhive_metadata.constructor.prototype\n__proto__\nmetadata.__proto__", // names that are dangerous elsewhere
	} {
		f.Add(names, "a\x00\xff\n[1,{\"b\":2}]\n{\"__proto__\":{\"x\":1}}", uint8(1))
	}
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
		e := &b.Events[0].Event
		checkEvent(t, e)
		var shown any
		if err := json.Unmarshal(flatEvent(e), &shown); err != nil {
			t.Fatal(err)
		}
		text := allTexts(shown)
		for name, v := range attrs {
			if a, ok := compiled.names[name]; ok && slices.Contains(compiled.lists[unusedKeys], a) {
				continue
			}
			if s, n := rawjson.ValidText(v.(string)); n == 0 && !hasTexts(s, text, true) {
				t.Errorf("%s = %q is lost in %s", name, s, text)
			}
		}
	})
}

// FuzzRules gives attributes that the tables know any values. Whatever reads them, the event is
// clean and has every value.
func FuzzRules(f *testing.F) {
	var names []string
	for name := range compiled.names {
		switch i := compiled.names[name]; { // what others but the event hold
		case slices.Contains(compiled.lists[unusedKeys], i), slices.Contains(compiled.lists[sessionNameKeys], i), i == compiled.spanType, i == compiled.pendingParent:
		default:
			names = append(names, strings.Replace(name, "?", "any", 1))
		}
	}
	for prefix, fam := range compiled.families {
		names = append(names, prefix+".0.content")
		if compiled.open[fam] {
			names = append(names, prefix+".key.0")
		}
	}
	slices.Sort(names)
	kinds := []string{"CHAIN", "LLM", "EMBEDDING", "TOOL", "RETRIEVER"}
	values := []string{
		`{"messages":[{"type":"human","content":"x"},{"lc":1,"type":"constructor","id":["a","AIMessage"],"kwargs":{"content":["y"],"tool_calls":[{"name":"f","args":{}}]}}]}`,
		`{"generations":[[{"text":"t","message":{"type":"ai","data":{"content":"u"}}}]],"llm_output":{"token_usage":{"input":1}}}`,
		`{"input":1,"output_x":2,"total":1e999,"cost":3}` + "\n" + `{'a': (1, None), 'b': "c\x41"}`, "True\na, b", `"2023-11-14T22:13:20Z"`,
		`[{"event.name":"gen_ai.choice","message":{"role":"assistant","content":[{"tool_call":{"tool_name":"f"}}]}},{"role":"tool","content":[{"tool_call_result":{"result":[],"origin":{"id":"1"}}}]}]`,
		`{"replies":[{"_role":"a","_content":[{"text":"b"}],"_meta":{"usage":{"prompt_tokens":1}}}]}`, `{"output":{"content":"a","type":"ai"}}`, "null\n[]\n{}\n\"\"",
	}
	for i := range names {
		f.Add(values[i%len(values)], uint16(i), uint16(i*7), uint16(i*31), uint8(i))
	}
	m := New(Options{})
	f.Fuzz(func(t *testing.T, values string, a, b, c uint16, kind uint8) {
		vals := strings.Split(values, "\n")
		attrs := map[string]any{"openinference.span.kind": kinds[int(kind)%len(kinds)]}
		for i, n := range []uint16{a, b, c} {
			attrs[names[int(n)%len(names)]] = vals[i%len(vals)]
		}
		td, _ := oneSpan(attrs)
		batch, _ := m.Traces(td)
		if len(batch.Events) != 1 {
			t.Fatal("the span is lost")
		}
		checkEvent(t, &batch.Events[0].Event)
		var shown any
		if err := json.Unmarshal(flatEvent(&batch.Events[0].Event), &shown); err != nil {
			t.Fatal(err)
		}
		text := allTexts(shown)
		for name, v := range attrs {
			if s, n := rawjson.ValidText(v.(string)); n == 0 && !hasTexts(s, text, true) {
				t.Errorf("%s = %q is lost in %s", name, s, text)
			}
		}
	})
}

// allTexts returns the texts in a JSON value, those in JSON inside a text too.
func allTexts(v any) string {
	var b strings.Builder
	switch v := v.(type) {
	case string:
		b.WriteString(v + "\n")
		in := decoded(v)
		if same, ok := in.(string); json.Valid([]byte(v)) && (!ok || same != v) { // 1e999 is valid, but no number of Go's
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

// hasTexts reports whether a text, or each text inside it if it is JSON, is in the event.
func hasTexts(v any, event string, top bool) bool {
	switch v := v.(type) {
	case string:
		if raw, _, err := rawjson.Clean([]byte(v)); top && err == nil {
			var in any
			_ = json.Unmarshal(raw, &in)
			return hasTexts(in, event, false)
		}
		in := decoded(v)
		same, ok := in.(string)
		return strings.Contains(event, v) || json.Valid([]byte(v)) && (!ok || same != v) && hasTexts(in, event, false)
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
				checkEvent(t, &b.Events[0].Event)
			}
		}
	})
}

// FuzzWhole holds that reading a list tells what wholeMessages says of it.
func FuzzWhole(f *testing.F) {
	for _, s := range []string{
		`[{"role":"user","content":"x"},{"parts":[{"type":"text","content":"y"}],"role":"a"}]`, `[{"_role":"a","_content":[]}]`,
		`[{"messages":[],"role":"a"}]`, `[{"role":"a","messages":[]}]`, `[{"role":1,"_role":"a"}]`, `[{"_role":"a","role":1,"type":"human","content":"x"}]`,
		`[[{"role":"a","content":"x"}],[{"type":"reasoning"}]]`, `{"role":"a","messages":[{"role":"b"}]}`, `[{"finish_reason":"stop","message":{"role":"a"}}]`,
		`[{"type":"reasoning","summary":[]},{"role":"a","content":"x"}]`, `[{"role":"a","parts":1}]`, `[{"role":"a","parts":[]}]`,
	} {
		f.Add(s)
	}
	m := New(Options{})
	f.Fuzz(func(t *testing.T, s string) {
		raw, _, err := rawjson.Clean(json.RawMessage(s))
		if err != nil {
			return
		}
		b := &newMapState().builder
		b.opt = &m.opt
		if b.readMessages(raw) && b.hasWhole(raw) != wholeMessages(raw) {
			t.Fatalf("%s: whole: %v while reading, %v after it", raw, b.hasWhole(raw), wholeMessages(raw))
		}
	})
}
