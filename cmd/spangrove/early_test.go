package main

import (
	"fmt"
	"slices"
	"testing"

	"go.opentelemetry.io/collector/confmap"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestEarlyAnswers(t *testing.T) {
	t.Parallel()
	list := func(names ...any) []any { return names }
	pipeline := func(receivers, processors, exporters []any) map[string]any {
		return map[string]any{"receivers": receivers, "processors": processors, "exporters": exporters}
	}
	queue := func(settings map[string]any) map[string]any { return map[string]any{"sending_queue": settings} }
	core, logged := observer.New(zap.WarnLevel)
	err := newEarly(confmap.ConverterSettings{Logger: zap.New(core)}).Convert(t.Context(), confmap.NewFromStringMap(map[string]any{
		"exporters": map[string]any{
			"otlp_grpc/disk":  queue(map[string]any{"storage": "file_storage"}),
			"otlp_http/off":   queue(map[string]any{"enabled": false}),
			"otlp_http/waits": queue(map[string]any{"wait_for_result": true}),
			"otlp_http/other": nil,
		},
		"service": map[string]any{"pipelines": map[string]any{
			"traces":         pipeline(list("spangrove"), list("memory_limiter", "spangrove_scrub"), list("spangrove", "otlp_http/other")),
			"traces/batched": pipeline(list("otlp"), list("batch/mine", "transform"), list("spangrove")),
			"traces/tail":    pipeline(list("spangrove"), list("tail_sampling"), list("otlp_grpc/disk")),
			"traces/on":      pipeline(list("spangrove"), nil, list("otlp_grpc/disk", "otlp_http/off", "otlp_http/waits", "otlp_http/other")),
			"traces/others":  pipeline(list("otlp"), list("batch"), list("otlp_http/other")),
		}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range logged.All() {
		fields := entry.ContextMap()
		got = append(got, fmt.Sprint(fields["pipeline"], " ", fields["processor"], " ", fields["exporter"], " ", fields["receivers"]))
	}
	want := []string{"traces/batched batch/mine <nil> <nil>", "traces/batched batch/mine <nil> [otlp]", "traces/on <nil> otlp_http/other <nil>", "traces/tail tail_sampling <nil> <nil>"}
	if !slices.Equal(got, want) {
		t.Errorf("warnings of\n%q, want\n%q", got, want)
	}
}
