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

// NewFactory returns the factory of the exporter type spangrove.
func NewFactory() exporter.Factory {
	return exporter.NewFactory(
		componentType,
		createDefaultConfig,
		exporter.WithTraces(createTraces, stability),
		exporter.WithLogs(createLogs, stability),
	)
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
	traces, err := exporterhelper.NewTraces(ctx, quiet(set, cfg), cfg, e.consumeTraces, e.options(e.startTraces)...)
	if err != nil {
		return nil, err
	}
	return newTracesExporter(traces, e), nil
}

func createLogs(ctx context.Context, set exporter.Settings, c component.Config) (exporter.Logs, error) {
	cfg := c.(*Config)
	e, err := newExporter(set, cfg)
	if err != nil {
		return nil, err
	}
	logs, err := exporterhelper.NewLogs(ctx, quiet(set, cfg), cfg, e.consumeLogs, e.options(e.start)...)
	if err != nil {
		return nil, err
	}
	return newLogsExporter(logs, e), nil
}

// quiet keeps the helper from logging every refused request as an error: without a queue the
// sender gets that very error, and the counters tell of it here.
func quiet(set exporter.Settings, cfg *Config) exporter.Settings {
	if !cfg.Queue.HasValue() {
		set.Logger = set.Logger.WithOptions(zap.IncreaseLevel(zap.DPanicLevel))
	}
	return set
}

func (e *spangroveExporter) options(start component.StartFunc) []exporterhelper.Option {
	return []exporterhelper.Option{
		exporterhelper.WithStart(start),
		exporterhelper.WithShutdown(e.shutdown),
		exporterhelper.WithTimeout(e.cfg.Timeout),
		exporterhelper.WithQueue(e.cfg.Queue),
		exporterhelper.WithRetry(e.cfg.Retry),
	}
}
