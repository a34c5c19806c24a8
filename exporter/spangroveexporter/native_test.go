package spangroveexporter

import (
	"encoding/json"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/attributesprocessor"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/spancodec"
)

// TestAttributesOfNativeEvents sends a native event through the Collector's attributes processor.
// What that inserts, updates and deletes shows in the event.
func TestAttributesOfNativeEvents(t *testing.T) {
	t.Parallel()
	factory := attributesprocessor.NewFactory()
	cfg := factory.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(map[string]any{"actions": []any{
		map[string]any{"key": "deployment.ring", "value": "canary", "action": "insert"},
		map[string]any{"key": "user.id", "value": "u1", "action": "upsert"},
		map[string]any{"key": "env", "value": "prod", "action": "insert"},
		map[string]any{"key": "spangrove.metadata", "value": `{"env":"dev","b":2}`, "action": "update"},
		map[string]any{"key": "spangrove.inputs", "action": "delete"},
	}}).Unmarshal(cfg); err != nil {
		t.Fatal(err)
	}
	sink := &consumertest.TracesSink{}
	p, err := factory.CreateTraces(t.Context(), processortest.NewNopSettings(factory.Type()), cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	sent := event.Incoming{Event: event.Event{ID: uuid.UUID{2}, SessionID: uuid.UUID{1}, ParentID: uuid.UUID{1}, Type: event.TypeTool, Name: "n", Source: "test", Start: 1, End: 2, Duration: 1,
		Inputs: json.RawMessage(`{"secret":1}`), Outputs: json.RawMessage(`{"x":1}`), Metadata: json.RawMessage(`{"env":"dev","a":1}`)}}
	if err := p.ConsumeTraces(t.Context(), spancodec.Traces([]event.Incoming{sent})); err != nil {
		t.Fatal(err)
	}
	e, err := newExporter(exportertest.NewNopSettings(componentType), createDefaultConfig().(*Config))
	if err != nil {
		t.Fatal(err)
	}
	td := sink.AllTraces()[0]
	batch, _, err := e.events(part{spans: 1, native: []ptrace.ScopeSpans{td.ResourceSpans().At(0).ScopeSpans().At(0)}, foreign: ptrace.NewTraces()})
	if err != nil {
		t.Fatal(err)
	}
	want := sent
	want.Inputs = nil
	want.UserProperties = json.RawMessage(`{"user_id":"u1"}`)
	got := batch.Events[0]
	metadata := map[string]string{}
	for k, v := range rawjson.Object(got.Metadata) {
		metadata[k] = string(v)
	}
	if d := cmp.Diff(map[string]string{"env": `"dev"`, "b": "2", "deployment.ring": `"canary"`, "user_id": `"u1"`, "attributes": `{"env":"prod"}`}, metadata); d != "" {
		t.Errorf("metadata (-want +got):\n%s", d)
	}
	got.Metadata, want.Metadata = nil, nil
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
