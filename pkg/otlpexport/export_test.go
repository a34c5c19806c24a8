package otlpexport

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"pgregory.net/rapid"

	"github.com/spangrove/spangrove/e2e/growth"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/spancodec"
)

var now = time.UnixMilli(1_795_213_764_357)

// export writes events as one request and reads it as a receiver does.
func export(t interface{ Fatal(...any) }, f Format, tree bool, events []event.Event) ptrace.Traces {
	x := New(f, tree)
	var body []byte
	var err error
	for i := range events {
		if body, err = x.Append(body, &events[i]); err != nil {
			t.Fatal(err)
		}
	}
	if body, err = x.Finish(body); err != nil {
		t.Fatal(err)
	}
	req := ptraceotlp.NewExportRequest()
	if f == JSON {
		err = req.UnmarshalJSON(body)
	} else {
		err = req.UnmarshalProto(body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return req.Traces()
}

// decoded are the events that an importing server makes of a request, in its order.
func decoded(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, td ptrace.Traces) (events []event.Event) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			if !spancodec.IsNative(ss.Scope()) {
				t.Fatalf("scope %q", ss.Scope().Name())
			}
			for _, span := range ss.Spans().All() {
				if span.TraceID().IsEmpty() || span.SpanID().IsEmpty() {
					t.Fatal("a span without ids")
				}
				e, added, err := spancodec.DecodeAdded(span)
				if err != nil {
					t.Fatal(err)
				}
				if added {
					t.Fatalf("the importing server takes %v for a processor's", spancodec.Added(span).AsRaw())
				}
				events = append(events, e.Event)
			}
		}
	}
	return events
}

// TestEventsComeBackEqual: whatever stands in a tree of events, an importing server gets it.
func TestEventsComeBackEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := anyTree(t)
		want := map[uuid.UUID]event.Event{}
		for _, e := range events {
			want[e.ID] = e
		}
		f := rapid.SampledFrom([]Format{JSON, Protobuf}).Draw(t, "format")
		got := map[uuid.UUID]event.Event{}
		for _, e := range decoded(t, export(t, f, rapid.Bool().Draw(t, "tree"), events)) {
			got[e.ID] = e
		}
		if d := cmp.Diff(want, got, sameText); d != "" {
			t.Fatalf("%s (-want +got):\n%s", f, d)
		}
	})
}

// sameText compares JSON at once, and not byte for byte.
var sameText = cmp.Comparer(func(a, b json.RawMessage) bool { return string(a) == string(b) })

// anyTree draws a session of up to 80 events with everything that the exporter looks at, and
// with things it must not stumble over.
func anyTree(t *rapid.T) []event.Event {
	id := func(n int) uuid.UUID { return uuid.NewSHA1(uuid.Nil, []byte{byte(n), byte(n >> 8)}) }
	values := []string{
		`null`, `true`, `9007199254740993`, `1.0`, `-0`, `1e2`, `"\u00e9\/"`, `""`, `[]`, `{ }`, `{"a":[1,{"b":null}]}`, `"x"`,
		`[{"role":"user","content":"hi"},{"role":"tool","tool_call_id":"c","content":{"a":1}},3,{"content":[{"type":"text","text":"t"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},null]}]`,
		`[{"id":"c","name":"f","arguments":{"a":1.0}},{"function":{"name":"g","arguments":"{}"}},"x"]`,
		`"0123456789abcdef0123456789abcdef"`, `"0123456789abcdef"`, `"0000000000000000"`, `[{"trace_id":"0123456789abcdef0123456789abcdef","span_id":"0123456789abcdef"}]`,
	}
	keys := []string{
		"trace_id", "span_id", "parent_span_id", "resource", "attributes", "links", "otel_kind", "trace_state", "trace_flags",
		"operation_name", "agent_name", "prompt_tokens", "cost", "finish_reasons", "chat_history", "texts", "documents", "query", "result",
		"role", "content", "tool_calls", "choices", "reasoning", "finish_reason", "model", "provider", "tools", "stop_sequences", "user_id",
		"spangrove.event_id", "", "a.b",
	}
	object := func(name string) json.RawMessage {
		picked := rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 6, rapid.ID[string]).Draw(t, name)
		if len(picked) == 0 {
			return nil
		}
		var parts []string
		for _, k := range picked {
			parts = append(parts, `"`+k+`": `+rapid.SampledFrom(values).Draw(t, name))
		}
		return json.RawMessage("{" + strings.Join(parts, ", ") + "}")
	}
	n := rapid.IntRange(1, 80).Draw(t, "events")
	var events []event.Event
	for i := range n {
		e := event.Event{
			ID: id(i), SessionID: id(0), ParentID: id(rapid.IntRange(0, i).Draw(t, "parent")),
			Type: rapid.SampledFrom([]event.Type{"model", "tool", "chain", "generic"}).Draw(t, "type"),
			Name: rapid.StringMatching(`[ -~é]{0,8}`).Draw(t, "name"), Start: rapid.Float64Range(1, 2e12).Draw(t, "start"),
			Duration: rapid.Float64Range(0, 1e6).Draw(t, "duration"),
			Config:   object("config"), Inputs: object("inputs"), Outputs: object("outputs"), Metadata: object("metadata"),
			Metrics: object("metrics"), Feedback: object("feedback"), UserProperties: object("user"),
		}
		if rapid.Bool().Draw(t, "failed") {
			text := "broken"
			e.Error = &text
		}
		if rapid.IntRange(0, 80).Draw(t, "large") == 0 {
			e.Outputs = json.RawMessage(`{"content":"` + strings.Repeat("x", maxHeldBytes) + `"}`)
		}
		events = append(events, completed(e))
	}
	return events
}

// completed returns an event as it is stored.
func completed(e event.Event) event.Event {
	in := event.Incoming{Event: e}
	in.Complete(now)
	return in.Event
}

func one(t *testing.T, e event.Event) ptrace.Span {
	t.Helper()
	e.SessionID, e.ID = uuid.UUID{1}, uuid.UUID{2}
	td := export(t, JSON, false, []event.Event{completed(e)})
	return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
}

// standard returns a span's attributes that are not the codec's.
func standard(span ptrace.Span) map[string]any {
	all := span.Attributes().AsRaw()
	for k := range all {
		if strings.HasPrefix(k, "spangrove.") {
			delete(all, k)
		}
	}
	return all
}

func TestStandardAttributes(t *testing.T) {
	t.Parallel()
	session := uuid.UUID{1}.String()
	for _, tt := range []struct {
		name string
		e    event.Event
		want map[string]any
	}{
		{"a model call", event.Event{
			Type:    event.TypeModel,
			Config:  json.RawMessage(`{"model":"m-1","request_model":"m","provider":"openai","temperature":0.5,"max_tokens":100,"stop_sequences":["a"],"tools":[{"name":"f"}]}`),
			Inputs:  json.RawMessage(`{"chat_history":[{"role":"user","content":"hi"}]}`),
			Outputs: json.RawMessage(`{"role":"assistant","content":"ho","finish_reason":"stop"}`),
			Metadata: json.RawMessage(`{"prompt_tokens":3,"input_tokens":3,"completion_tokens":4,"cache_read_input_tokens":1,"reasoning_tokens":2,"cost":0.25,
				"response_id":"r","response_model":"m-1","error_type":"T","attributes":{"http.url":"u","gen_ai.usage.input_tokens":99,"n":2.0,"o":{"a":1},"spangrove.x":1}}`),
			UserProperties: json.RawMessage(`{"user_id":"u1"}`),
		}, map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m", "gen_ai.response.model": "m-1",
			"gen_ai.response.id": "r", "gen_ai.response.finish_reasons": []any{"stop"}, "gen_ai.request.temperature": 0.5,
			"gen_ai.request.max_tokens": int64(100), "gen_ai.request.stop_sequences": []any{"a"}, "gen_ai.tool.definitions": `[{"name":"f"}]`,
			"gen_ai.usage.input_tokens": int64(3), "gen_ai.usage.output_tokens": int64(4), "gen_ai.usage.cache_read.input_tokens": int64(1),
			"gen_ai.usage.reasoning.output_tokens": int64(2), "gen_ai.usage.cost": 0.25,
			"gen_ai.input.messages":  `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`,
			"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"ho"}],"finish_reason":"stop"}]`,
			"error.type":             "T", "user.id": "u1", "http.url": "u", "n": 2.0, "o": `{"a":1}`,
		}},
		{"an embedding", event.Event{Type: event.TypeModel, Inputs: json.RawMessage(`{"texts":["a"]}`)}, map[string]any{"gen_ai.operation.name": "embeddings"}},
		{"a tool", event.Event{
			Type: event.TypeTool, Name: "search", Inputs: json.RawMessage(`{"q":"x"}`), Outputs: json.RawMessage(`{"result":"y"}`),
			Metadata: json.RawMessage(`{"tool_call_id":"c"}`),
		}, map[string]any{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": "c",
			"gen_ai.tool.call.arguments": `{"q":"x"}`, "gen_ai.tool.call.result": "y",
		}},
		{"a retriever", event.Event{
			Type: event.TypeTool, Inputs: json.RawMessage(`{"query":"x"}`), Outputs: json.RawMessage(`{"documents":[{"content":"d"}]}`),
		}, map[string]any{
			"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "x", "gen_ai.retrieval.documents": `[{"content":"d"}]`,
		}},
		{"an agent", event.Event{Type: event.TypeChain, Metadata: json.RawMessage(`{"agent_name":"a","agent_id":"1"}`)},
			map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", "gen_ai.agent.id": "1"}},
		{"an agent with the usage of its calls", event.Event{Type: event.TypeChain, Metadata: json.RawMessage(`{"operation_name":"invoke_agent","aggregate_usage":{"prompt_tokens":3,"completion_tokens":4,"cost":0.25}}`)},
			map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": int64(3), "gen_ai.usage.output_tokens": int64(4), "gen_ai.usage.cost": 0.25}},
		{"its own operation", event.Event{Type: event.TypeChain, Metadata: json.RawMessage(`{"operation_name":"plan"}`)},
			map[string]any{"gen_ai.operation.name": "plan"}},
		{"nothing known", event.Event{Type: event.TypeGeneric}, map[string]any{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.want["session.id"], tt.want["gen_ai.conversation.id"] = session, session
			if d := cmp.Diff(tt.want, standard(one(t, tt.e))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"system", `[{"role":"system","content":"s"}]`, `[{"role":"system","parts":[{"type":"text","content":"s"}]}]`},
		{"calls", `[{"role":"assistant","content":"","tool_calls":[{"id":"c","name":"f","arguments":{"a":1.0}}]}]`,
			`[{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"f","arguments":{"a":1.0}}]}]`},
		{"calls as OpenAI has them", `[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]`,
			`[{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"f","arguments":"{}"}]}]`},
		{"a tool's answer", `[{"role":"tool","tool_call_id":"c","content":"42"}]`, `[{"role":"tool","parts":[{"type":"tool_call_response","id":"c","response":"42"}]}]`},
		{"a tool's empty answer", `[{"role":"tool"}]`, `[{"role":"tool","parts":[{"type":"tool_call_response","response":null}]}]`},
		{"reasoning and a name", `[{"role":"assistant","name":"n","reasoning":"r","content":"c"}]`,
			`[{"role":"assistant","parts":[{"type":"reasoning","content":"r"},{"type":"text","content":"c"}],"name":"n"}]`},
		{"parts", `[{"role":"user","content":["a",{"type":"text","text":"b"},{"type":"image_url","image_url":{"url":"http://i"}},{"type":"input_audio","x":1}]}]`,
			`[{"role":"user","parts":[{"type":"text","content":"a"},{"type":"text","content":"b"},{"type":"uri","modality":"image","uri":"http://i"},{"type":"input_audio","x":1}]}]`},
		{"a data URL", `[{"role":"user","content":[{"type":"image_url","image_url":"data:image/png;base64,AA=="}]}]`,
			`[{"role":"user","parts":[{"type":"blob","modality":"image","mime_type":"image/png","content":"AA=="}]}]`},
		{"media", `[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}},{"type":"audio_url","audio_url":{"url":"http://a"}},
			{"type":"video_url","video_url":{"url":"http://v"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,AA","filename":"a"}},{"type":"file","file":{"file_id":"f"}},
			{"type":"image_url","image_url":{"file_id":"f"}}]}]`,
			`[{"role":"user","parts":[{"type":"blob","modality":"audio","mime_type":"audio/wav","content":"AA"},{"type":"uri","modality":"audio","uri":"http://a"},` +
				`{"type":"uri","modality":"video","uri":"http://v"},{"type":"blob","mime_type":"application/pdf","content":"AA"},{"type":"file","file_id":"f"},` +
				`{"type":"file","modality":"image","file_id":"f"}]}]`},
		{"an object", `[{"role":"user","content":{"a":1}}]`, `[{"role":"user","parts":[{"type":"text","content":"{\"a\":1}"}]}]`},
		{"nothing", `[{"role":"user"},3]`, `[{"role":"user","parts":[]}]`},
		{"no list", `"hi"`, ``},
		{"empty", `[]`, ``},
	} {
		got := inputMessages(json.RawMessage(`{"chat_history":` + tt.in + `}`))
		if d := cmp.Diff(tt.want, string(got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{`{"content":"a","choices":[{"role":"assistant","content":"b","finish_reason":"length"}]}`,
			`[{"role":"assistant","parts":[{"type":"text","content":"a"}]},{"role":"assistant","parts":[{"type":"text","content":"b"}],"finish_reason":"length"}]`},
		{`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"b"}}]}`,
			`[{"role":"assistant","parts":[{"type":"text","content":"b"}],"finish_reason":"stop"}]`},
		{`{"answer":"a"}`, ``},
		{`"text"`, ``},
	} {
		if d := cmp.Diff(tt.want, string(outputMessages(json.RawMessage(tt.in)))); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.in, d)
		}
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	const trace, span, parent = "0102030405060708090a0b0c0d0e0f10", "1111111111111111", "2222222222222222"
	came := `{"trace_id":"` + trace + `","span_id":"` + span + `","parent_span_id":"` + parent + `","otel_kind":"CONSUMER","trace_state":"a=b","trace_flags":1,
		"links":[{"trace_id":"` + trace + `","span_id":"` + parent + `","trace_state":"c=d","attributes":{"k":1}},{"span_id":"x"}],
		"resource":{"service.name":"shop","n":1,"spangrove.project.id":"stolen"}}`
	session := uuid.UUID{1}
	events := []event.Event{
		{ID: session, SessionID: session, Type: event.TypeSession, Source: "dev"},
		{ID: uuid.UUID{2}, SessionID: session, ParentID: session, Type: event.TypeChain, Metadata: json.RawMessage(came)},
		{ID: uuid.UUID{3}, SessionID: session, ParentID: uuid.UUID{2}, Type: event.TypeTool},
		{ID: uuid.UUID{4}, SessionID: session, ParentID: uuid.UUID{3}, Type: event.TypeTool},
		{ID: uuid.UUID{5}, SessionID: session, ParentID: session, Type: event.TypeTool, Metadata: json.RawMessage(`{"trace_id":"zz","span_id":"0000000000000000"}`)},
	}
	for i := range events {
		events[i] = completed(events[i])
	}
	got := map[string]ptrace.Span{}
	td := export(t, Protobuf, true, events)
	for _, rs := range td.ResourceSpans().All() {
		for _, s := range rs.ScopeSpans().At(0).Spans().All() {
			id, _ := s.Attributes().Get("spangrove.event_id")
			got[id.Str()] = s
		}
	}
	at := func(n byte) ptrace.Span { return got[uuid.UUID{n}.String()] }
	root := at(2)
	if root.TraceID().String() != trace || root.SpanID().String() != span || root.ParentSpanID().String() != parent ||
		root.Kind() != ptrace.SpanKindConsumer || root.TraceState().AsRaw() != "a=b" || root.Flags() != 1 {
		t.Errorf("the span's own place is lost: %s %s below %s", root.TraceID(), root.SpanID(), root.ParentSpanID())
	}
	if root.Links().Len() != 1 || root.Links().At(0).SpanID().String() != parent || root.Links().At(0).TraceState().AsRaw() != "c=d" {
		t.Errorf("%d links", root.Links().Len())
	}
	if c := at(3); c.TraceID() != root.TraceID() || c.ParentSpanID() != root.SpanID() {
		t.Error("a native event does not stand below the span above it")
	}
	if c := at(4); c.TraceID() != root.TraceID() || c.ParentSpanID() != at(3).SpanID() {
		t.Error("nor does one below that")
	}
	if c := at(5); c.TraceID() != pcommon.TraceID(session) || c.ParentSpanID() != at(1).SpanID() {
		t.Error("ids that are none count")
	}
	var resources []string
	for _, rs := range td.ResourceSpans().All() {
		b, err := json.Marshal(rs.Resource().Attributes().AsRaw())
		if err != nil {
			t.Fatal(err)
		}
		resources = append(resources, string(b))
	}
	if d := cmp.Diff([]string{`{"service.name":"dev"}`, `{"n":1,"service.name":"shop"}`, `{"service.name":"unknown"}`}, resources); d != "" {
		t.Errorf("resources (-want +got):\n%s", d)
	}
}

// TestAttributesComeBack maps a span whose attributes no rule places as the mapping does, and
// finds each of them on the exported span, with its name and its type.
func TestAttributesComeBack(t *testing.T) {
	t.Parallel()
	e := event.Event{Type: event.TypeChain, Metadata: json.RawMessage(`{"tags":["a"],"level":"gold","test.unique_id":"u","n":2.0,"i":9007199254740993,"b":true,
		"o":{"a":1},"error.type":"T","error_type":"T","trace_id":"0102030405060708090a0b0c0d0e0f10","span_id":"1111111111111111","span_name":"s",
		"scope":{"name":"x"},"truncated":{"a":1},"attributes":{"span_name":"mine","spangrove.x":1}}`)}
	got := standard(one(t, e))
	for _, k := range []string{"session.id", "gen_ai.conversation.id"} {
		delete(got, k)
	}
	want := map[string]any{
		"tags": `["a"]`, "level": "gold", "test.unique_id": "u", "n": 2.0, "i": int64(9007199254740993), "b": true, "o": `{"a":1}`,
		"error.type": "T", "error_type": "T", "span_name": "mine",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestNothingLeavesThatShouldNot(t *testing.T) {
	t.Parallel()
	e := event.Event{
		Type: event.TypeChain, Metadata: json.RawMessage(`{"mine":1,"cost":0.5,"num_events":7}`), Totals: json.RawMessage(`{"num_events":7,"cost":2}`),
	}
	span := one(t, e)
	if v, ok := span.Attributes().Get("spangrove.metadata"); !ok || v.Str() != `{"mine":1,"cost":0.5}` {
		t.Errorf("metadata %s", v.AsString())
	}
	if _, sealed := span.Attributes().Get("spangrove.seal"); sealed {
		t.Error("the seal left the process")
	}
	e.Metadata = e.Totals
	if v, ok := one(t, e).Attributes().Get("spangrove.metadata"); ok {
		t.Errorf("metadata of totals alone: %s", v.AsString())
	}
}

func TestEmptyAnswers(t *testing.T) {
	t.Parallel()
	for f, want := range map[Format]string{JSON: `{"resourceSpans":[]}`, Protobuf: ``} {
		got, err := New(f, true).Finish(nil)
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", f, got, err)
		}
	}
}

// TestPartsAreBounded: what an Encoder holds back does not grow with the answer.
func TestPartsAreBounded(t *testing.T) {
	t.Parallel()
	x := New(JSON, false)
	for i := range 1000 {
		e := event.Event{ID: uuid.UUID{1, byte(i), byte(i >> 8)}, SessionID: uuid.UUID{9}, Type: event.TypeTool, Outputs: json.RawMessage(`"` + strings.Repeat("x", 1<<(i%20)) + `"`)}
		e = completed(e)
		if _, err := x.Append(nil, &e); err != nil {
			t.Fatal(err)
		}
		if x.n >= maxHeld || x.bytes >= maxHeldBytes {
			t.Fatalf("%d events of %d bytes are held", x.n, x.bytes)
		}
	}
}

// TestManyMembers: an event with metadata of many members is exported in time that grows with their number, and loses none.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	growth.Linear(t, 100_000, func(many int) func() {
		var b strings.Builder
		b.WriteString(`{"has_otlp_lineage":true,"trace_id":"0102030405060708090a0b0c0d0e0f10","span_id":"0102030405060708"`)
		for i := range many {
			fmt.Fprintf(&b, `,"k%06d":%d`, i, i)
		}
		b.WriteString("}")
		e := event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "t", Start: 1_700_000_000_000, End: 1_700_000_000_001, Metadata: json.RawMessage(b.String())}
		return func() {
			td := export(t, Protobuf, false, []event.Event{e})
			attrs := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().AsRaw()
			last := attrs[fmt.Sprintf("k%06d", many-1)]
			if attrs["k000000"] != int64(0) || last != int64(many-1) || attrs["session.id"] != e.SessionID.String() {
				t.Errorf("%d attributes, the first %v, the last %v", len(attrs), attrs["k000000"], last)
			}
		}
	})
}
