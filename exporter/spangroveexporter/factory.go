package spangroveexporter

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/otlpmap"
)

var componentType = component.MustNewType("spangrove")

const stability = component.StabilityLevelBeta

// NewFactory makes the factory of the exporter type spangrove.
func NewFactory() exporter.Factory {
	return exporter.NewFactory(componentType, createDefaultConfig, exporter.WithTraces(createTraces, stability))
}

func createDefaultConfig() component.Config {
	retry := configretry.NewDefaultBackOffConfig()
	retry.Enabled = false
	return &Config{
		Store:   component.MustNewID("spangrove_store"),
		Timeout: exporterhelper.TimeoutConfig{Timeout: 0},
		Queue:   configoptional.Default(exporterhelper.NewDefaultQueueConfig()),
		Retry:   retry,
		Mapping: MappingConfig{
			MaxFieldBytes: otlpmap.DefaultMaxFieldBytes,
			MaxMediaBytes: otlpmap.DefaultMaxMediaBytes,
			MaxVector:     otlpmap.DefaultMaxVector,
		},
	}
}

func createTraces(ctx context.Context, set exporter.Settings, c component.Config) (exporter.Traces, error) {
	cfg := c.(*Config)
	e, err := newExporter(set, cfg)
	if err != nil {
		return nil, err
	}
	queued := cfg.Queue.HasValue()
	if !queued {
		// The helper logs every refused request as an error; without a queue the sender
		// gets that very error, and the counters tell of it here.
		set.Logger = set.Logger.WithOptions(zap.IncreaseLevel(zap.DPanicLevel))
	}
	traces, err := exporterhelper.NewTraces(ctx, set, cfg, e.consumeTraces,
		exporterhelper.WithStart(e.start),
		exporterhelper.WithShutdown(e.shutdown),
		exporterhelper.WithTimeout(cfg.Timeout),
		exporterhelper.WithQueue(cfg.Queue),
		exporterhelper.WithRetry(cfg.Retry),
	)
	if err != nil {
		return nil, err
	}
	return &tracesExporter{Traces: traces, queued: queued}, nil
}
