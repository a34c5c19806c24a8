package main

import (
	"context"
	"maps"
	"slices"

	"go.opentelemetry.io/collector/confmap"
	"go.uber.org/zap"
)

// early warns of configurations in which an answer of success comes before data is on disk: of processors that answer at once, and of
// pipelines that only lead to queues in memory. The exporter spangrove warns of its own queue. Processors that answer at once also forget the
// caller, whose project only the receiver spangrove writes into what it passes on.
type early struct{ log *zap.Logger }

// newEarly returns the check, which runs on the configuration as it is when all is put together.
func newEarly(set confmap.ConverterSettings) confmap.Converter {
	if set.Logger == nil {
		return early{zap.NewNop()}
	}
	return early{set.Logger}
}

// holders are the processors of this build that hold data after they have answered.
var holders = []string{"batch", "tail_sampling"}

// queuing are the exporters of this build that have a queue in memory unless they are told otherwise.
var queuing = []string{"otlp", "otlp_grpc", "otlphttp", "otlp_http"}

// Convert implements confmap.Converter. It changes nothing.
func (e early) Convert(_ context.Context, conf *confmap.Conf) error {
	all := conf.ToStringMap()
	pipelines := section(all, "service", "pipelines")
	for _, id := range slices.Sorted(maps.Keys(pipelines)) {
		pipeline, _ := pipelines[id].(map[string]any)
		stores := lists(pipeline["exporters"], "spangrove")
		if !stores && !lists(pipeline["receivers"], "spangrove") {
			continue
		}
		for _, name := range listed(pipeline["processors"], holders...) {
			e.log.Warn("an answer of success does not mean that data is stored: a processor answers before, and a crash loses what it holds; "+
				"see docs/reliability.md", zap.String("pipeline", id), zap.String("processor", name))
			if others := unlisted(pipeline["receivers"], "spangrove"); stores && len(others) > 0 {
				e.log.Warn("a processor forgets whose key a request came with: what these receivers take goes to the project that its sender names in the "+
					"resource, or else to the first one; use the receiver spangrove", zap.String("pipeline", id), zap.String("processor", name), zap.Strings("receivers", others))
			}
		}
		if stores {
			continue
		}
		for _, name := range listed(pipeline["exporters"], queuing...) {
			queue := section(all, "exporters", name, "sending_queue")
			if queue["enabled"] != false && queue["storage"] == nil && queue["wait_for_result"] != true {
				e.log.Warn("an answer of success does not mean that data is stored: an exporter holds it in a queue in memory, and a crash loses it; "+
					"set storage of its sending_queue to a file_storage with fsync", zap.String("pipeline", id), zap.String("exporter", name))
			}
		}
	}
	return nil
}
