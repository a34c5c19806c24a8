package spangroveexporter

import (
	"path/filepath"
	"testing"

	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// TestCosts follows the price of a call from the configuration into the event.
func TestCosts(t *testing.T) {
	t.Parallel()
	own := filepath.Join("testdata", "prices.json")
	for _, tt := range []struct {
		name, file, model  string
		reported           float64
		wantCost, wantFrom string
	}{
		{"built in", "", "gpt-4o-mini", 0, "0.00000795", `"computed"`},
		{"the user's own", own, "gpt-4o-mini", 0, "0.0000159", `"computed"`},
		{"the user's free one", own, "small", 0, "0", `"computed"`},
		{"reported", own, "gpt-4o-mini", 0.5, "0.5", `"reported"`},
		{"unknown", own, "nobody-knows", 0, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := createDefaultConfig().(*Config)
			cfg.PriceFile = tt.file
			e, err := newExporter(exportertest.NewNopSettings(componentType), cfg)
			if err != nil {
				t.Fatal(err)
			}
			td := ptrace.NewTraces()
			span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			span.SetTraceID([16]byte{1})
			span.SetSpanID([8]byte{1})
			attrs := span.Attributes()
			attrs.PutStr("gen_ai.operation.name", "chat")
			attrs.PutStr("gen_ai.request.model", tt.model)
			attrs.PutStr("gen_ai.provider.name", "house")
			attrs.PutInt("gen_ai.usage.input_tokens", 23)
			attrs.PutInt("gen_ai.usage.cache_read.input_tokens", 4)
			attrs.PutInt("gen_ai.usage.output_tokens", 8)
			if tt.reported > 0 {
				attrs.PutDouble("gen_ai.usage.cost", tt.reported)
			}
			batch, _ := e.mapper(td)
			metadata := batch.Events[0].Metadata
			if cost, from := rawjson.Get(metadata, "cost"), rawjson.Get(metadata, "cost_source"); string(cost) != tt.wantCost || string(from) != tt.wantFrom {
				t.Errorf("cost %s from %s, want %s from %s", cost, from, tt.wantCost, tt.wantFrom)
			}
		})
	}
}
