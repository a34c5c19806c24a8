package otlpmap

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/event"
)

// TestNative puts attributes into native events as a processor may have added them.
func TestNative(t *testing.T) {
	t.Parallel()
	full := func() event.Event {
		return event.Event{ID: uuid.UUID{2}, SessionID: uuid.UUID{1}, ParentID: uuid.UUID{1}, Type: event.TypeModel, Name: "n", Source: "s", Start: 1, End: 2, Duration: 1,
			Config: json.RawMessage(`{"model":"own"}`), Inputs: json.RawMessage(`{"chat_history":[]}`), Outputs: json.RawMessage(`"text"`),
			Metadata: json.RawMessage(`{"prompt_tokens":5,"cost":0.25,"env":"prod","trace_id":"t"}`), Metrics: json.RawMessage(`{"a.b":1,"tone":0.5}`)}
	}
	empty := func() event.Event {
		return event.Event{ID: uuid.UUID{2}, SessionID: uuid.UUID{1}, ParentID: uuid.UUID{1}, Type: event.TypeModel, Name: "n", Source: "s", Start: 1, End: 2, Duration: 1}
	}
	object := func() event.Event {
		e := empty()
		e.Outputs = json.RawMessage(`{"answer":1}`)
		return e
	}
	for _, tt := range []struct {
		name  string
		e     event.Event
		attrs map[string]any
		want  map[string]string
	}{
		{"a name of no rule", full(), map[string]any{"deployment.ring": "canary", "n": 2.0}, map[string]string{
			"metadata": `{"prompt_tokens":5,"cost":0.25,"env":"prod","trace_id":"t","deployment.ring":"canary","n":2.0}`}},
		{"fields that are free", empty(), map[string]any{"user.id": "u", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4, "honeyhive_metrics.x": 1,
			"gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`, "gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"ho"}],"finish_reason":"stop"}]`},
			map[string]string{"config": `{"model":"m"}`, "user_properties": `{"user_id":"u"}`, "metadata.prompt_tokens": "3", "metadata.total_tokens": "7", "metrics": `{"x":1}`,
				"inputs": `{"chat_history":[{"role":"user","content":"hi"}]}`, "outputs": `{"role":"assistant","content":"ho","finish_reason":"stop"}`}},
		{"fields that are taken", full(), map[string]any{"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 7, "gen_ai.usage.cost": 1.5, "env": "dev", "trace_id": "mine",
			"honeyhive_outputs.x": "y", "gen_ai.input.messages": `[{"role":"user","parts":[]}]`},
			map[string]string{"config": `{"model":"own","request_model":"m"}`, "outputs": `"text"`, "inputs": `{"chat_history":[]}`,
				"metadata": `{"prompt_tokens":5,"cost":0.25,"env":"prod","trace_id":"t","gen_ai.input.messages":[{"role":"user"}],"gen_ai.usage.cost":1.5,` +
					`"gen_ai.usage.input_tokens":7,"attributes":{"env":"dev","trace_id":"mine"},"outputs":{"x":"y"}}`}},
		{"outputs that are no object, beside an object", object(), map[string]any{"honeyhive_outputs": "plain text"},
			map[string]string{"outputs": `{"answer":1}`, "metadata": `{"honeyhive_outputs":"plain text"}`}},
		{"outputs that are a list, beside an object", object(), map[string]any{"honeyhive_outputs.0": "a", "honeyhive_outputs.1": "b"},
			map[string]string{"outputs": `{"answer":1,"0":"a","1":"b"}`}},
		{"scores that the event has", full(), map[string]any{"honeyhive_metrics.tone": 0.5, "honeyhive_metrics.a.b": 1.0, "honeyhive_metrics.new": true},
			map[string]string{"metrics": `{"a.b":1,"tone":0.5,"new":true}`, "metadata": `{"prompt_tokens":5,"cost":0.25,"env":"prod","trace_id":"t"}`}},
		{"the session and the name stay", empty(), map[string]any{"session.id": "other", "honeyhive_event_name": "x", "honeyhive_event_type": "tool"},
			map[string]string{"metadata": `{"honeyhive_event_name":"x","honeyhive_event_type":"tool","session.id":"other"}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			added := pcommon.NewMap()
			putSorted(added, tt.attrs)
			e := tt.e
			New(Options{}).Native(&e, added)
			if err := e.Validate(); err != nil {
				t.Fatal(err)
			}
			if e.ID != tt.e.ID || e.SessionID != tt.e.SessionID || e.ParentID != tt.e.ParentID || e.Type != tt.e.Type || e.Name != tt.e.Name || e.ColdMetadata != nil {
				t.Errorf("identity: %s", flatEvent(&e))
			}
			for path, want := range tt.want {
				if got := at(&e, path); got != want {
					t.Errorf("%s = %s, want %s", path, got, want)
				}
			}
		})
	}
}
