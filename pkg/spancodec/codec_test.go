package spancodec

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"pgregory.net/rapid"

	"github.com/spangrove/spangrove/e2e/growth"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

var now = time.UnixMilli(1_795_213_764_357)

// overTheWire returns what a hop does to a batch.
func overTheWire(t interface{ Fatal(...any) }, td ptrace.Traces) ptrace.Traces {
	b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	back, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(b)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func spans(td ptrace.Traces) ptrace.SpanSlice {
	return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
}

func TestAnyValidEventComesOutEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(anyEvent(), 1, 4).Draw(t, "events")
		td := overTheWire(t, Traces(want))
		if !IsNative(td.ResourceSpans().At(0).ScopeSpans().At(0).Scope()) {
			t.Fatal("the scope is not native")
		}
		var got []event.Incoming
		for _, span := range spans(td).All() {
			e, err := Decode(span)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("sealed (-want +got):\n%s", d)
		}
		for i, span := range spans(td).All() { // and the same when the texts are checked again
			span.Attributes().Remove(attrSeal)
			e, err := Decode(span)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want[i], e); d != "" {
				t.Fatalf("unsealed (-want +got):\n%s", d)
			}
		}
	})
}

// anyEvent draws completed events that are valid.
func anyEvent() *rapid.Generator[event.Incoming] {
	id := rapid.Custom(func(t *rapid.T) (u uuid.UUID) {
		for i := range u {
			u[i] = rapid.Byte().Draw(t, "byte")
		}
		return u
	})
	millis := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(event.MinMillis, event.MaxMillis),
		rapid.Float64Range(1.79e12, 1.8e12), rapid.Float64Range(0, 1))
	object := func(t *rapid.T, name string) json.RawMessage {
		if rapid.Bool().Draw(t, name+" absent") {
			return nil
		}
		return anyJSON(t, name, '{')
	}
	return rapid.Custom(func(t *rapid.T) event.Incoming {
		e := event.Incoming{Event: event.Event{
			ID:             id.Draw(t, "id"),
			SessionID:      id.Draw(t, "session"),
			ParentID:       id.Draw(t, "parent"),
			Type:           rapid.SampledFrom([]event.Type{"model", "tool", "chain", "session", "generic"}).Draw(t, "type"),
			Name:           anyText(t, "name"),
			Source:         anyText(t, "source"),
			Start:          millis.Draw(t, "start"),
			End:            millis.Draw(t, "end"),
			Duration:       millis.Draw(t, "duration"),
			Config:         object(t, "config"),
			Inputs:         object(t, "inputs"),
			Metadata:       object(t, "metadata"),
			Metrics:        object(t, "metrics"),
			Feedback:       object(t, "feedback"),
			UserProperties: object(t, "user_properties"),
		}}
		e.Started = rapid.Bool().Draw(t, "started")
		if rapid.Bool().Draw(t, "is session") {
			e.ID = e.SessionID
		}
		if rapid.Bool().Draw(t, "has error") {
			text := anyText(t, "error")
			e.Error = &text
		}
		if rapid.Bool().Draw(t, "has outputs") {
			e.Outputs = anyJSON(t, "outputs", 0)
		}
		if rapid.Bool().Draw(t, "has children") {
			e.ChildrenIDs = json.RawMessage(`["a","b"]`)
		}
		e.Complete(now)
		if e.Validate() != nil { // start + duration went past 9999
			e.End, e.Duration = e.Start, 0
		}
		return e
	})
}

func anyText(t *rapid.T, name string) string {
	s, _ := rawjson.ValidText(rapid.String().Draw(t, name))
	return s
}

// anyJSON draws JSON text in spellings that a re-encoding would lose.
func anyJSON(t *rapid.T, name string, kind byte) json.RawMessage {
	values := []string{`null`, `true`, `9007199254740993`, `1.0`, `1e2`, `-0`, `"\u00e9\/"`, `[]`, `{ }`, `[1, {"a" :2}]`, `""`}
	if kind != '{' && rapid.Bool().Draw(t, name+" scalar") {
		return json.RawMessage(rapid.SampledFrom(values).Draw(t, name))
	}
	var b strings.Builder
	b.WriteString("{")
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"z", "a", "a.b", "", "é", "0"}), 0, 4, rapid.ID[string]).Draw(t, name+" keys")
	for i, k := range keys {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(`"` + k + `": ` + rapid.SampledFrom(values).Draw(t, name))
	}
	b.WriteString("}")
	return json.RawMessage(b.String())
}

func sample() event.Incoming {
	broken := "it broke"
	e := event.Incoming{Event: event.Event{
		ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeModel, Name: "chat", Source: "test", Error: &broken,
		Start: 1795213764357.25, End: 1795213765000.5,
		Inputs:   json.RawMessage(`{"q":"call me at 555-0100"}`),
		Metadata: json.RawMessage(`{"n":9007199254740993}`),
	}}
	e.Complete(now)
	return e
}

func TestProcessorsSeeASpan(t *testing.T) {
	t.Parallel()
	e := sample()
	span := spans(Traces([]event.Incoming{e})).At(0)
	if got := uuid.UUID(span.TraceID()); got != e.SessionID {
		t.Errorf("trace id %s, want the session %s", got, e.SessionID)
	}
	if span.Name() != "chat" || span.Kind() != ptrace.SpanKindClient || span.Status().Message() != "it broke" ||
		span.Status().Code() != ptrace.StatusCodeError {
		t.Errorf("name %q, kind %v, status %q", span.Name(), span.Kind(), span.Status().Message())
	}
	if got := span.StartTimestamp(); got != 1795213764357250000 {
		t.Errorf("start %d", got)
	}
	if span.ParentSpanID() != spanID(e.SessionID) {
		t.Error("the parent span is not the session's")
	}
}

func TestWhatAProcessorChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(ptrace.Span)
		check  func(t *testing.T, e event.Incoming)
		field  string // of the fault; empty: none
	}{
		{"redacted text", func(s ptrace.Span) { s.Attributes().PutStr("spangrove.inputs", `{"q":"call me at ****"}`) },
			func(t *testing.T, e event.Incoming) {
				if string(e.Inputs) != `{"q":"call me at ****"}` {
					t.Errorf("inputs %s", e.Inputs)
				}
			}, ""},
		{"text cut off", func(s ptrace.Span) { s.Attributes().PutStr("spangrove.inputs", `{"q":"call m`) }, nil, "inputs"},
		{"text emptied", func(s ptrace.Span) { s.Attributes().PutStr("spangrove.inputs", ``) }, nil, "inputs"},
		{"another kind of JSON", func(s ptrace.Span) { s.Attributes().PutStr("spangrove.inputs", `[1]`) }, nil, "inputs"},
		{"no text", func(s ptrace.Span) { s.Attributes().PutInt("spangrove.metadata", 3) }, nil, "metadata"},
		{"field removed", func(s ptrace.Span) { s.Attributes().Remove("spangrove.inputs") },
			func(t *testing.T, e event.Incoming) {
				if e.Inputs != nil || e.Metadata == nil {
					t.Errorf("inputs %s, metadata %s", e.Inputs, e.Metadata)
				}
			}, ""},
		{"renamed, error cleared", func(s ptrace.Span) { s.SetName("other"); s.Status().SetCode(ptrace.StatusCodeUnset) },
			func(t *testing.T, e event.Incoming) {
				if e.Name != "other" || e.Error != nil {
					t.Errorf("name %q, error %v", e.Name, e.Error)
				}
			}, ""},
		{"NUL in the name", func(s ptrace.Span) { s.SetName("a\x00b") },
			func(t *testing.T, e event.Incoming) {
				if e.Name != "a\uFFFDb" || string(e.Metadata) != `{"n":9007199254740993,"replaced_characters":1}` {
					t.Errorf("name %q, metadata %s", e.Name, e.Metadata)
				}
			}, ""},
		{"all removed", func(s ptrace.Span) { s.Attributes().Clear() }, nil, "event_id"},
		{"session, parent and times removed", func(s ptrace.Span) {
			for _, a := range []string{attrSessionID, attrParentID, attrStart, attrEnd, attrDuration, attrSource} {
				s.Attributes().Remove(a)
			}
		}, func(t *testing.T, e event.Incoming) {
			if e.SessionID == uuid.Nil || e.ParentID != e.SessionID || e.Source != event.Unknown || e.Start != 1795213764357.25 || e.Duration != 643.25 {
				t.Errorf("got %+v", e)
			}
		}, ""},
		{"type removed", func(s ptrace.Span) { s.Attributes().Remove(attrType) }, nil, "event_type"},
		{"bad id", func(s ptrace.Span) { s.Attributes().PutStr(attrParentID, "x") }, nil, "parent_id"},
		{"time out of range", func(s ptrace.Span) { s.Attributes().PutDouble(attrStart, -1) }, nil, "start_time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			span := spans(Traces([]event.Incoming{sample()})).At(0)
			tt.change(span)
			e, err := Decode(span)
			var f *fault.Error
			if errors.As(err, &f) != (tt.field != "") || (f != nil && (f.Field != tt.field || f.Kind != fault.Invalid)) {
				t.Fatalf("error %v, want one about %q", err, tt.field)
			}
			if tt.check != nil {
				tt.check(t, e)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	e := sample()
	b, _ := (&ptrace.ProtoMarshaler{}).MarshalTraces(Traces([]event.Incoming{e}))
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(b)
		if err != nil {
			return
		}
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					e, err := Decode(span)
					if err == nil {
						err = e.Validate()
					}
					if err != nil && fault.Of(err) != fault.Invalid {
						t.Fatalf("not the sender's fault: %v", err)
					}
				}
			}
		}
	})
}

func BenchmarkEncodeDecode(b *testing.B) {
	e := sample()
	e.Inputs = json.RawMessage(`{"chat_history":[{"role":"user","content":"` + strings.Repeat("some words ", 400) + `"}]}`)
	e.Outputs = json.RawMessage(`{"role":"assistant","content":"` + strings.Repeat("other words ", 100) + `"}`)
	b.ReportAllocs()
	for b.Loop() {
		span := ptrace.NewSpan()
		Encode(span, &e)
		if _, err := Decode(span); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAdded: attributes that are not the event's own are reported and given, those of a span that
// left the process only if they were added or changed since.
func TestAdded(t *testing.T) {
	t.Parallel()
	e := event.Incoming{Event: event.Event{ID: uuid.UUID{2}, SessionID: uuid.UUID{1}, ParentID: uuid.UUID{1}, Type: event.TypeTool, Name: "n", Source: "s", Start: 1, End: 2, Duration: 1,
		Metadata: json.RawMessage(`{"a":1}`)}}
	added := func(span ptrace.Span) map[string]any {
		t.Helper()
		got, some, err := DecodeAdded(span)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(e, got); d != "" {
			t.Errorf("the event itself (-want +got):\n%s", d)
		}
		all := Added(span).AsRaw()
		if some != (len(all) > 0) {
			t.Errorf("added %v, but %v", some, all)
		}
		return all
	}
	span := spans(Traces([]event.Incoming{e})).At(0)
	if got := added(span); len(got) != 0 {
		t.Errorf("a span as it was encoded: %v", got)
	}
	span.Attributes().PutStr("env", "prod")
	span.Attributes().PutStr("spangrove.unheard", "x")
	if d := cmp.Diff(map[string]any{"env": "prod"}, added(span)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	td := ptrace.NewTraces()
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	ss.Scope().SetName(Scope)
	open := ss.Spans().AppendEmpty()
	EncodeOpen(open, &e)
	open.Attributes().PutStr("session.id", "s")
	open.Attributes().PutDouble("gen_ai.request.temperature", 1)
	open.Attributes().PutEmptySlice("l").AppendEmpty().SetInt(1)
	MarkStandard(open)
	back := spans(overTheWire(t, td)).At(0)
	if got := added(back); len(got) != 0 {
		t.Errorf("a span that left the process: %v", got)
	}
	KeepStandard(back, func() { back.Attributes().PutStr("session.id", "cleaned") })
	if got := added(back); len(got) != 0 {
		t.Errorf("a span with a value that was cleaned: %v", got)
	}
	back.Attributes().PutDouble("gen_ai.request.temperature", 0.5)
	back.Attributes().PutStr("env", "prod")
	back.Attributes().Remove("session.id")
	if d := cmp.Diff(map[string]any{"env": "prod", "gen_ai.request.temperature": 0.5}, added(back)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestManyAdded: attributes beside the event's own, and marks of them, may be many: each is looked up, and not looked for among all.
func TestManyAdded(t *testing.T) {
	t.Parallel()
	growth.Linear(t, 100_000, func(many int) func() {
		raw := map[string]any{attrStandard: strings.Repeat("0123abcd", many)}
		for i := range many {
			raw[fmt.Sprintf("k%06d", i)] = "v"
		}
		span := ptrace.NewSpan()
		if err := span.Attributes().FromRaw(raw); err != nil {
			t.Fatal(err)
		}
		return func() {
			if n := Added(span).Len(); n < many-10 {
				t.Errorf("%d attributes, want %d", n, many)
			}
			KeepStandard(span, func() {})
		}
	})
}
