package otlpmap

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// oneSpan returns a request of one span with the given attributes.
func oneSpan(attrs map[string]any) (ptrace.Traces, ptrace.Span) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetTraceID([16]byte{1})
	s.SetSpanID([8]byte{2})
	s.SetName("span")
	s.SetStartTimestamp(1_700_000_000_000_000_000)
	s.SetEndTimestamp(1_700_000_000_250_500_000)
	putSorted(s.Attributes(), attrs)
	return td, s
}

// putSorted fills attributes in the order of their names, so that a test sees the same event
// each time.
func putSorted(m pcommon.Map, attrs map[string]any) {
	const many = 1000 // each Put looks for its key first
	if len(attrs) > many {
		if err := m.FromRaw(attrs); err != nil {
			panic(err)
		}
		return
	}
	for _, k := range slices.Sorted(maps.Keys(attrs)) {
		if err := m.PutEmpty(k).FromRaw(attrs[k]); err != nil {
			panic(err)
		}
	}
}

func mapOne(t testing.TB, td ptrace.Traces) *event.Event {
	t.Helper()
	b, rejected := New(Options{}).Traces(td)
	if len(b.Events) != 1 || len(rejected) != 0 {
		t.Fatalf("%d events, rejected %v", len(b.Events), rejected)
	}
	checkEvent(t, &b.Events[0].Event)
	return &b.Events[0].Event
}

// checkEvent holds what is true of every event: its objects are JSON that a store takes as it
// is, no key stands twice, and the two halves of metadata share none.
func checkEvent(t testing.TB, e *event.Event) {
	t.Helper()
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string]json.RawMessage{
		"config": e.Config, "inputs": e.Inputs, "outputs": e.Outputs, "metadata": e.Metadata, "cold metadata": e.ColdMetadata,
		"metrics": e.Metrics, "feedback": e.Feedback, "user_properties": e.UserProperties,
	} {
		if raw == nil {
			continue
		}
		clean, n, err := rawjson.Clean(raw)
		if err != nil || n != 0 || string(clean) != string(raw) {
			t.Fatalf("%s is not clean (%v, %d): %s", name, err, n, raw)
		}
	}
	for key := range rawjson.Object(e.ColdMetadata) {
		if !event.ColdKey(key) {
			t.Errorf("cold metadata has %q", key)
		}
	}
	for key := range rawjson.Object(e.Metadata) {
		if event.ColdKey(key) {
			t.Errorf("metadata has the cold key %q", key)
		}
	}
}

// at returns a value of an event by its path, "" if absent.
func at(e *event.Event, path string) string {
	bucket, rest, _ := strings.Cut(path, ".")
	raw := map[string]json.RawMessage{
		"config": e.Config, "inputs": e.Inputs, "outputs": e.Outputs, "metadata": rawjson.Concat(e.Metadata, e.ColdMetadata),
		"metrics": e.Metrics, "feedback": e.Feedback, "user_properties": e.UserProperties,
	}[bucket]
	if rest == "" {
		return string(raw)
	}
	if v := rawjson.Path(raw, strings.Split(rest, ".")...); v != nil {
		return string(v)
	}
	if head, tail, ok := strings.Cut(rest, "."); ok && head == "attributes" {
		return string(rawjson.Get(rawjson.Get(raw, head), tail))
	}
	return string(rawjson.Get(raw, rest))
}

// unmapped returns the attributes of a request's spans that stand in an event's metadata under
// their own names, and those of metadata.attributes, as one object; "" if there are none.
func unmapped(e *event.Event, td ptrace.Traces) string {
	own := map[string]bool{}
	add := func(m pcommon.Map) {
		for k := range m.All() {
			own[k] = true
		}
	}
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				add(s.Attributes())
				for _, ev := range s.Events().All() {
					add(ev.Attributes())
				}
			}
		}
	}
	var o rawjson.Builder
	for k, v := range rawjson.Object(rawjson.Concat(e.Metadata, e.ColdMetadata)) {
		if _, known := fieldIDs[bucketHot][k]; own[k] && !known {
			o.Raw(k, v)
		}
	}
	for k, v := range rawjson.Object(rawjson.Get(e.ColdMetadata, "attributes")) {
		o.Raw(k, v)
	}
	if o.Len() == 0 {
		return ""
	}
	return string(o.Bytes())
}

// kindOf makes a span of a role that a rule is for.
func kindOf(on spanRole) string {
	switch {
	case on == 0, on&onModel != 0:
		return "LLM"
	case on&onEmbedding != 0:
		return "EMBEDDING"
	case on&onTool != 0:
		return "TOOL"
	case on&onRetriever != 0:
		return "RETRIEVER"
	}
	return "CHAIN"
}

// TestEveryRule maps, for each rule and each of its sources, a span that has nothing else, and
// finds the value where the rule says.
func TestEveryRule(t *testing.T) {
	t.Parallel()
	const token = "tok-17"
	for i := range rules {
		r := &rules[i]
		for _, from := range r.from {
			if from == "@messages" {
				continue // TestMessageEvents
			}
			t.Run(fmt.Sprintf("%03d/%s/%s", i, r.to, from), func(t *testing.T) {
				t.Parallel()
				attrs, want := sampleFor(r, from, token)
				if r.to != "metadata.span_kind" {
					attrs["openinference.span.kind"] = kindOf(r.on)
				}
				if r.as.name == asCallInput.name {
					attrs["agentops.span.kind"] = "tool"
				}
				td, _ := oneSpan(attrs)
				e := mapOne(t, td)
				got := at(e, r.to)
				if !strings.Contains(got, want) {
					t.Errorf("%s = %s, want %s in it; event %s", r.to, got, want, flatEvent(e))
				}
			})
		}
	}
}

// sampleFor returns a span's attributes for a rule, and what must be in the rule's field.
func sampleFor(r *rule, from, token string) (map[string]any, string) {
	name := strings.TrimSuffix(strings.TrimSuffix(from, ".N"), ".*")
	switch r.as.name {
	case "number", "cost":
		return map[string]any{name: 1.25}, "1.25"
	case "count", "thoughts":
		return map[string]any{name: 17}, "17"
	case "seconds":
		return map[string]any{name: 0.25}, "250"
	case "list", "first":
		return map[string]any{name: []any{token}}, `"` + token + `"`
	case "if different":
		return map[string]any{name: token, "gen_ai.response.model": "other"}, token
	case "members":
		switch {
		case strings.HasSuffix(from, ".*"):
			return map[string]any{name + ".a.b": token}, `"a":{"b":"` + token + `"}`
		default:
			return map[string]any{name: `{"a":{"b":"` + token + `"}}`}, `"a":{"b":"` + token + `"}`
		}
	case "object":
		return map[string]any{name + ".a.b": token}, `{"a":{"b":"` + token + `"}}`
	case "flat messages", "flat answer":
		return map[string]any{name + ".0.role": "assistant", name + ".0.content": token}, `"content":"` + token + `"`
	case "flat prompts":
		return map[string]any{name + ".0.prompt.text": token}, `[{"role":"user","content":"` + token + `"}]`
	case "texts":
		return map[string]any{name + ".0.content": token}, `["` + token + `"]`
	case "documents":
		return map[string]any{name + ".0.document.content": token}, `[{"content":"` + token + `"}]`
	case "document list":
		return map[string]any{name: `[{"page_content":"` + token + `","id":1}]`}, `[{"content":"` + token + `","id":1}]`
	case "flat tools":
		return map[string]any{name + ".0.name": token}, `[{"name":"` + token + `"}]`
	case "tools":
		return map[string]any{name: `[{"type":"function","function":{"name":"` + token + `"}}]`}, `[{"type":"function","name":"` + token + `"}]`
	case "settings":
		return map[string]any{name: `{"a":{"b":"` + token + `"}}`}, `"a":{"b":"` + token + `"}`
	case "messages":
		if strings.HasSuffix(from, "instructions") {
			return map[string]any{name: `[{"type":"text","content":"` + token + `"}]`}, `[{"role":"system","content":"` + token + `"}]`
		}
		return map[string]any{name: `[{"role":"user","parts":[{"type":"text","content":"` + token + `"}]}]`}, `[{"role":"user","content":"` + token + `"}]`
	case "answer":
		return map[string]any{name: `[{"role":"assistant","parts":[{"type":"text","content":"` + token + `"}]}]`}, `"role":"assistant","content":"` + token + `"`
	case "evaluations":
		return map[string]any{name + ".0.evaluation.name": token, name + ".0.evaluation.score": 1}, `"name":"` + token + `"`
	case "Gemini usage":
		return map[string]any{name: `{"usage_metadata":{"prompt_token_count":17}}`}, "17"
	case "Gemini request":
		return map[string]any{name: `{"contents":[{"role":"user","parts":[{"text":"` + token + `"}]}]}`}, `[{"role":"user","content":"` + token + `"}]`
	case "Gemini answer":
		return map[string]any{name: `{"content":{"role":"model","parts":[{"text":"` + token + `"}]}}`}, `{"role":"assistant","content":"` + token + `"`
	case "vectors":
		return map[string]any{name: "[" + strings.Repeat("0.5,", 99) + "1]"}, `{"count":1,"dimension":100}`
	case "calls":
		return map[string]any{name: `[{"toolCallId":"1","toolName":"` + token + `","input":"{}"}]`}, `[{"id":"1","name":"` + token + `","arguments":{}}]`
	case "provider facts":
		return map[string]any{name: `{"openai":{"a":"` + token + `"}}`}, `{"openai":{"a":"` + token + `"}}`
	case "usage":
		return map[string]any{name: `{"input_tokens":17,"input_token_details":{"cache_read":17}}`}, "17"
	case "object output":
		return map[string]any{name: `{"choices":[{"message":{"role":"assistant","content":"` + token + `"}}]}`}, token
	case "costs":
		return map[string]any{name: `{"total_cost":0.25}`}, "0.25"
	case "since start":
		return map[string]any{name: `"2023-11-14T22:13:20.125Z"`}, "125"
	case "conversation":
		return map[string]any{name: `[{"role":"user","content":"` + token + `"}]`}, `[{"role":"user","content":"` + token + `"}]`
	case "boolean":
		return map[string]any{name: "False"}, "false"
	case "literal":
		return map[string]any{name: `{'a': ('` + token + `',)}`}, `{"a":["` + token + `"]}`
	case "word":
		return map[string]any{name: `"` + token + `"`}, `"` + token + `"`
	case "tags":
		return map[string]any{name: token + ", other"}, `["` + token + `","other"]`
	case "caller's":
		return map[string]any{name + ".a": `{"b":"` + token + `"}`, name + ".LANGSMITH_X": "y"}, `"a":{"b":"` + token + `"}`
	case "function tools":
		return map[string]any{name: `{"function_tools":[{"name":"` + token + `","parameters_json_schema":{}}]}`}, `[{"name":"` + token + `","parameters":{}}]`
	case "prompt of parameters":
		return map[string]any{name: `{"inputText":"` + token + `"}`}, `[{"role":"user","content":"` + token + `"}]`
	case "items":
		return map[string]any{name: `{"items":[{"role":"user","content":["` + token + `"]}]}`}, `[{"role":"user","content":"` + token + `"}]`
	case "run output", "input", "output", "function input":
		return map[string]any{name: `{"a":"` + token + `"}`}, `"a":"` + token + `"`
	}
	return map[string]any{name: token}, `"` + token + `"`
}

// TestEveryKind maps a span of each value of each kind rule.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	for _, k := range kindRules {
		for value, r := range k.is {
			for _, v := range []string{value, `"` + value + `"`} {
				td, s := oneSpan(map[string]any{k.attr: v})
				if k.attr == spanName {
					s.SetName(v)
				}
				if e := mapOne(t, td); e.Type != r.typed() {
					t.Errorf("%s = %s: type %s, want %s", k.attr, v, e.Type, r.typed())
				}
			}
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"ai.*", "ai.embed", true}, {"ai.*", "aix", false}, {"*Generator", "OpenAIChatGenerator", true}, {"*Generator", "GeneratorX", false},
		{"a*b*c", "a-b-b-c", true}, {"a*b*c", "a-c-b", false}, {"ab", "ab", true}, {"ab", "abc", false}, {"a*a", "a", false}, {"*", "", true},
		{"ai.*.doStream *", "ai.streamText.doStream fn", true}, {"ai.*.doStream *", "ai.streamText fn", false},
	} {
		if got := matches(tt.pattern, tt.s); got != tt.want {
			t.Errorf("matches(%q, %q) = %v", tt.pattern, tt.s, got)
		}
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		attrs map[string]any
		kind  ptrace.SpanKind
		want  event.Type
	}{
		{"nothing known", nil, 0, event.TypeChain},
		{"unknown operation", map[string]any{"gen_ai.operation.name": "execute_task_loop"}, 0, event.TypeChain},
		{"tool by name", map[string]any{"gen_ai.tool.name": "x"}, 0, event.TypeTool},
		{"model and usage", map[string]any{"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 1}, 0, event.TypeModel},
		{"model without usage", map[string]any{"gen_ai.request.model": "m"}, 0, event.TypeChain},
		{"http client", map[string]any{"http.request.method": "GET"}, ptrace.SpanKindClient, event.TypeTool},
		{"http server", map[string]any{"http.request.method": "GET"}, ptrace.SpanKindServer, event.TypeChain},
		{"given type", map[string]any{"honeyhive_event_type": "model"}, 0, event.TypeModel},
		{"given generic", map[string]any{"honeyhive_event_type": "generic"}, 0, event.TypeGeneric},
		{"given unknown", map[string]any{"honeyhive_event_type": "x", "openinference.span.kind": "LLM"}, 0, event.TypeModel},
		{"bare tool yields", map[string]any{"honeyhive_event_type": "tool", "gen_ai.operation.name": "chat"}, 0, event.TypeModel},
		{"bare tool alone", map[string]any{"honeyhive_event_type": "tool"}, 0, event.TypeTool},
		{"named tool stays", map[string]any{"honeyhive_event_type": "tool", "honeyhive_event_name": "t", "gen_ai.operation.name": "chat"}, 0, event.TypeTool},
		{"given chain stays", map[string]any{"honeyhive_event_type": "chain", "gen_ai.operation.name": "chat"}, 0, event.TypeChain},
		{"vendor before standard", map[string]any{"openinference.span.kind": "RETRIEVER", "gen_ai.operation.name": "embeddings"}, 0, event.TypeTool},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			td, s := oneSpan(tt.attrs)
			s.SetKind(tt.kind)
			if e := mapOne(t, td); e.Type != tt.want {
				t.Errorf("type %s, want %s", e.Type, tt.want)
			}
		})
	}
}

// TestTables holds what the tables must be for the rest to work.
func TestTables(t *testing.T) {
	t.Parallel()
	if n := len(compiled.open); n > maxFamilies {
		t.Errorf("%d families, more than %d", n, maxFamilies)
	}
	for _, r := range compiled.rules {
		for _, s := range r.src {
			if s.fam >= 0 && r.as.family == nil {
				t.Errorf("%s: reader %q reads no families", r.to, r.as.name)
			}
			if s.slot >= 0 && r.as.scalar == nil && r.as.whole == nil {
				t.Errorf("%s: reader %q reads no attributes", r.to, r.as.name)
			}
			if r.as.scalar != nil && r.key == "" {
				t.Errorf("%s: reader %q needs a field", r.to, r.as.name)
			}
		}
	}
}

// What a wrapper's counts are called is known to package event, which moves them.
func TestCountsAreUsage(t *testing.T) {
	t.Parallel()
	for _, names := range countKeys {
		for _, name := range names {
			e := event.Event{Type: event.TypeModel, Metadata: json.RawMessage(`{"` + name + `":1}`)}
			e.Correct(event.Correction{Wrapper: true})
			if rawjson.Get(e.Metadata, name) != nil {
				t.Errorf("metadata.%s stays on a wrapper", name)
			}
		}
	}
}
