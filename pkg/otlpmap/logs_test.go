package otlpmap

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// withLogs returns a copy of the batch whose events have the notes of a file of log records, if
// there is one, as a store would give them.
func withLogs(t *testing.T, m *Mapper, batch event.Batch, file string) event.Batch {
	t.Helper()
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return batch
	}
	if err != nil {
		t.Fatal(err)
	}
	return annotated(t, m, batch, raw)
}

// annotated does so for a request in JSON. Lines of a log are left out.
func annotated(t *testing.T, m *Mapper, batch event.Batch, raw []byte) event.Batch {
	t.Helper()
	ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(raw)
	if err != nil {
		t.Fatal(err)
	}
	notes, rejected, _ := m.Logs(ld)
	if len(rejected) > 0 || len(notes) == 0 {
		t.Errorf("%d notes, rejected: %v", len(notes), rejected)
	}
	batch.Events = slices.Clone(batch.Events)
	byID := map[uuid.UUID][]event.LogPart{}
	for _, n := range notes {
		id := n.SpanID
		for i := range batch.Events {
			if n.ResponseID != "" && string(rawjson.Get(batch.Events[i].Metadata, "response_id")) == `"`+n.ResponseID+`"` {
				id = batch.Events[i].ID
			}
		}
		byID[id] = append(byID[id], n)
	}
	for i := range batch.Events {
		batch.Events[i].MergeLogs(nil, byID[batch.Events[i].ID])
		delete(byID, batch.Events[i].ID)
	}
	if len(byID) > 0 {
		t.Errorf("notes without an event: %v", byID)
	}
	return batch
}

// logRecord makes one record with a name, a body and attributes from plain values.
func logRecord(t *testing.T, ld plog.Logs, name string, body any, attrs map[string]any) plog.LogRecord {
	t.Helper()
	r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	r.SetTraceID(pcommon.TraceID{1})
	r.SetSpanID(pcommon.SpanID{2})
	r.SetTimestamp(1_000_000)
	r.SetEventName(name)
	fillValue(t, r.Body(), body)
	for _, k := range slices.Sorted(maps.Keys(attrs)) {
		fillValue(t, r.Attributes().PutEmpty(k), attrs[k])
	}
	return r
}

// fillValue sets a value from a plain one, maps in the order of their keys.
func fillValue(t *testing.T, to pcommon.Value, from any) {
	t.Helper()
	switch from := from.(type) {
	case map[string]any:
		m := to.SetEmptyMap()
		for _, k := range slices.Sorted(maps.Keys(from)) {
			fillValue(t, m.PutEmpty(k), from[k])
		}
	case []any:
		for _, v := range from {
			if to.Type() != pcommon.ValueTypeSlice {
				to.SetEmptySlice()
			}
			fillValue(t, to.Slice().AppendEmpty(), v)
		}
	default:
		if err := to.FromRaw(from); err != nil {
			t.Fatal(err)
		}
	}
}

// said returns what notes say, one a line.
func said(notes []event.LogPart) string {
	names := map[event.LogPartKind]string{event.LogInput: "input", event.LogOutput: "output", event.LogFields: "fields",
		event.LogEvaluation: "evaluation", event.LogException: "exception", event.LogRecord: "log"}
	var out strings.Builder
	for _, n := range notes {
		out.WriteString(names[n.Kind] + " " + string(n.Content))
		if n.ResponseID != "" {
			out.WriteString(" of " + n.ResponseID)
		}
		if n.Session != uuid.Nil {
			out.WriteString(" in " + n.Session.String())
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func TestRecords(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	type list = []any
	for _, tt := range []struct {
		name  string
		scope string
		event string
		body  any
		attrs object
		opt   Options
		want  string
	}{
		{name: "a message", event: "gen_ai.user.message", body: object{"content": "Hi"}, attrs: object{"gen_ai.system": "openai"},
			want: `input [{"role":"user","content":"Hi"}]`},
		{name: "a message with parts", event: "gen_ai.user.message", body: object{"content": list{object{"type": "text", "text": "Hi"}}},
			want: `input [{"role":"user","content":"Hi"}]`},
		{name: "a message whose role is its own", event: "gen_ai.system.message", body: object{"role": "developer", "content": "Be brief."},
			want: `input [{"role":"developer","content":"Be brief."}]`},
		{name: "a plain text as body", event: "gen_ai.user.message", body: "Hi", want: `input [{"role":"user","content":"Hi"}]`},
		{name: "JSON in a text, named by an attribute", body: `{"role":"user","content":"Hi","n":1.50}`, attrs: object{"event.name": "gen_ai.user.message", "gen_ai.system": "azure"},
			want: `input [{"role":"user","content":"Hi","n":"1.50"}]`},
		{name: "JSON in an attribute", event: "gen_ai.assistant.message", attrs: object{"gen_ai.event.content": `{"content":"Hi"}`},
			want: `input [{"role":"assistant","content":"Hi"}]`},
		{name: "attributes as members", event: "gen_ai.user.message", attrs: object{"content": "Hi", "role": "user"},
			want: `input [{"role":"user","content":"Hi"}]`},
		{name: "calls", event: "gen_ai.assistant.message",
			body: object{"tool_calls": list{object{"id": "c", "type": "function", "function": object{"name": "f", "arguments": `{"x":1.0}`}}}},
			want: `input [{"role":"assistant","content":null,"tool_calls":[{"arguments":{"x":1.0},"name":"f","id":"c","type":"function"}]}]`},
		{name: "a tool's answer", event: "gen_ai.tool.message", body: object{"id": "c", "content": "21"},
			want: `input [{"role":"tool","content":"21","tool_call_id":"c"}]`},
		{name: "Gemini's content", event: "gen_ai.user.message", body: object{"content": object{"role": "user", "parts": list{object{"text": "Hi"}}}},
			want: `input [{"role":"user","content":"Hi"}]`},
		{name: "a session and a user beside a message", event: "gen_ai.user.message", body: object{"content": "Hi"},
			attrs: object{"gen_ai.conversation.id": "7f1fd2c4-2d0a-4a5e-9d3c-0a3c1c6f0f01", "user.id": "u", "odd": 1},
			want: `input [{"role":"user","content":"Hi"}] in 7f1fd2c4-2d0a-4a5e-9d3c-0a3c1c6f0f01
fields {"name":"gen_ai.user.message","metadata":{"conversation_id":"7f1fd2c4-2d0a-4a5e-9d3c-0a3c1c6f0f01","user_id":"u","odd":1},"user_properties":{"user_id":"u"}} in 7f1fd2c4-2d0a-4a5e-9d3c-0a3c1c6f0f01`},
		{name: "a message that is not sent", event: "gen_ai.user.message", body: object{}, want: `log {"name":"gen_ai.user.message","time":1}`},
		{name: "an answer", event: "gen_ai.choice", body: object{"index": 1, "finish_reason": "FinishReason.STOP", "message": object{"role": "assistant", "content": "Ho"}},
			want: `output {"index":1,"messages":[{"role":"assistant","content":"Ho","finish_reason":"stop"}]}`},
		{name: "an answer that is not sent", event: "gen_ai.choice", body: object{"index": 0, "finish_reason": "stop", "message": object{"role": "assistant"}},
			want: `output {"index":0,"messages":[{"role":"assistant","content":null,"finish_reason":"stop"}]}`},
		{name: "an answer that is empty", event: "gen_ai.choice", body: object{"index": 0, "finish_reason": "stop", "message": object{}},
			want: `output {"index":0,"messages":[{"role":"assistant","content":null,"finish_reason":"stop"}]}`},
		{name: "Botocore's result of a tool, which comes again", scope: "opentelemetry.instrumentation.botocore.bedrock-runtime", event: "gen_ai.tool.message",
			body: object{"id": "c", "content": list{object{"json": object{"x": 1}}}}},
		{name: "Botocore's result of a tool in the user's message", scope: "opentelemetry.instrumentation.botocore.bedrock-runtime", event: "gen_ai.user.message",
			body: object{"content": list{object{"toolResult": object{"toolUseId": "c", "content": list{object{"json": object{"x": 1}}}}}}},
			want: `input [{"role":"tool","content":"{\"x\":1}","tool_call_id":"c"}]`},
		{name: "an answer with calls as JSON in a text", event: "gen_ai.choice",
			body: `{"index":0,"message":{"content":null,"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}`,
			want: `output {"index":0,"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","name":"f","arguments":{}}],"finish_reason":"tool_calls"}]}`},
		{name: "Gemini's answer", event: "gen_ai.choice", body: object{"index": 0, "finish_reason": "STOP", "content": object{"role": "model", "parts": list{object{"text": "Ho"}}}},
			want: `output {"index":0,"messages":[{"role":"assistant","content":"Ho","finish_reason":"stop"}]}`},
		{name: "details with values that are no text", event: detailsEvent,
			attrs: object{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.request.temperature": 0.5,
				"gen_ai.input.messages":  list{object{"role": "user", "parts": list{object{"type": "text", "content": "Hi"}}}},
				"gen_ai.output.messages": list{object{"role": "assistant", "finish_reason": "stop", "parts": list{object{"type": "text", "content": "Ho"}}}}},
			want: `fields {"name":"gen_ai.client.inference.operation.details","config":{"model":"m","temperature":0.5},"inputs":{"chat_history":[{"role":"user","content":"Hi"}]},"outputs":{"role":"assistant","content":"Ho","finish_reason":"stop"},"metadata":{"model_name":"m","operation_name":"chat","part_types":["text"]}}`},
		{name: "details in the body", event: detailsEvent, body: object{"gen_ai.request.model": "m", "more": 1},
			want: `fields {"name":"gen_ai.client.inference.operation.details","config":{"model":"m"},"metadata":{"model_name":"m"}}
log {"name":"gen_ai.client.inference.operation.details","time":1,"body":{"gen_ai.request.model":"m","more":1}}`},
		{name: "an evaluation", event: "gen_ai.evaluation.result", body: object{},
			attrs: object{"gen_ai.evaluation.name": "tone", "gen_ai.evaluation.score.value": 0.25, "gen_ai.response.id": "r"},
			want:  `evaluation {"name":"tone","value":0.25,"response_id":"r"} of r`},
		{name: "an evaluation without a name", event: "gen_ai.evaluation.result", attrs: object{"gen_ai.evaluation.score.value": 0.25},
			want: `log {"name":"gen_ai.evaluation.result","time":1,"attributes":{"gen_ai.evaluation.score.value":0.25}}`},
		{name: "an exception", event: "exception", body: "boom", attrs: object{"exception.type": "E", "exception.message": "boom"},
			want: `exception {"message":"boom","type":"E","time":1}`},
		{name: "an exception of a model call", event: "gen_ai.client.operation.exception", attrs: object{"exception.type": "RateLimitError", "exception.message": "slow down"},
			want: `exception {"message":"slow down","type":"RateLimitError","time":1}`},
		{name: "an exception of a tool", event: "gen_ai.execute_tool.exception", attrs: object{"exception.type": "KeyError", "exception.message": "no such city"},
			want: `exception {"message":"no such city","type":"KeyError","time":1}`},
		{name: "an exception in a line of a log", body: "while working", attrs: object{"exception.message": "boom"},
			want: `exception {"message":"boom","time":1,"body":"while working"}`},
		{name: "unknown, of AI", event: "gen_ai.unheard", body: object{"n": 1}, attrs: object{"a": "b"},
			want: `log {"name":"gen_ai.unheard","time":1,"body":{"n":1},"attributes":{"a":"b"}}`},
		{name: "unknown, of AI by an attribute", body: "thinking", attrs: object{"gen_ai.agent.name": "a"},
			want: `log {"time":1,"body":"thinking","attributes":{"gen_ai.agent.name":"a"}}`},
		{name: "a line of a log", body: "listening", attrs: object{"port": 80}, want: "dropped"},
		{name: "a line of a log that is kept", body: "listening", attrs: object{"port": 80}, opt: Options{PlainLogs: true},
			want: `log {"time":1,"body":"listening","attributes":{"port":80}}`},
		{name: "cut", event: "gen_ai.user.message", body: object{"content": "Größe"}, opt: Options{MaxFieldBytes: 3},
			want: `input [{"role":"user","content":"Gr"}]
fields {"name":"gen_ai.user.message","metadata":{"truncated":{"gen_ai.user.message":7}}}`},
		{name: "characters that no store holds", event: "gen_ai.user.message", body: object{"content": "a\x00b"},
			want: `input [{"role":"user","content":"a` + "\uFFFD" + `b"}]
fields {"name":"gen_ai.user.message","metadata":{"replaced_characters":1}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ld := plog.NewLogs()
			logRecord(t, ld, tt.event, tt.body, tt.attrs)
			ld.ResourceLogs().At(0).ScopeLogs().At(0).Scope().SetName(tt.scope)
			notes, rejected, dropped := New(tt.opt).Logs(ld)
			got := strings.TrimSuffix(said(notes), "\n")
			if dropped > 0 {
				got = "dropped"
			}
			if len(rejected) > 0 {
				t.Errorf("rejected: %v", rejected)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			for _, n := range notes {
				if n.SpanID != EventID(pcommon.TraceID{1}, pcommon.SpanID{2}) || n.Nanos != 1_000_000 {
					t.Errorf("note of %s at %d", n.SpanID, n.Nanos)
				}
			}
		})
	}
}

// TestRecordsWithoutSpan holds that records of AI without a span are rejected each by itself,
// and lines of a log dropped.
func TestRecordsWithoutSpan(t *testing.T) {
	t.Parallel()
	ld := plog.NewLogs()
	logRecord(t, ld, "gen_ai.user.message", map[string]any{"content": "a"}, nil).SetTraceID(pcommon.TraceID{})
	logRecord(t, ld, "gen_ai.choice", map[string]any{"message": "b"}, nil).SetSpanID(pcommon.SpanID{})
	logRecord(t, ld, "", "a line", nil).SetSpanID(pcommon.SpanID{})
	logRecord(t, ld, "gen_ai.user.message", map[string]any{"content": "c"}, nil)
	notes, rejected, dropped := New(Options{}).Logs(ld)
	want := []Rejection{{"00000000000000000000000000000000", "0200000000000000", NoSpan}, {"01000000000000000000000000000000", "0000000000000000", NoSpan}}
	if d := cmp.Diff(want, rejected); d != "" {
		t.Errorf("rejected (-want +got):\n%s", d)
	}
	if len(notes) != 1 || dropped != 1 {
		t.Errorf("%d notes, %d dropped, want 1 of each", len(notes), dropped)
	}
}
