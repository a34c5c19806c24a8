package scrubprocessor

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"

	"github.com/spangrove/spangrove/pkg/scrub"
)

var componentType = component.MustNewType("spangrove_scrub")

const stability = component.StabilityLevelBeta

// NewFactory returns the factory of the processor type spangrove_scrub.
func NewFactory() processor.Factory {
	return processor.NewFactory(componentType, createDefaultConfig,
		processor.WithTraces(createTraces, stability), processor.WithLogs(createLogs, stability), processor.WithMetrics(createMetrics, stability))
}

func createDefaultConfig() component.Config { return &Config{Rules: []string{scrub.Secrets}} }

func createTraces(ctx context.Context, set processor.Settings, c component.Config, next consumer.Traces) (processor.Traces, error) {
	p, err := newProcessor(set, c.(*Config))
	if err != nil {
		return nil, err
	}
	return processorhelper.NewTraces(ctx, set, c, next, p.traces, p.options()...)
}

func createLogs(ctx context.Context, set processor.Settings, c component.Config, next consumer.Logs) (processor.Logs, error) {
	p, err := newProcessor(set, c.(*Config))
	if err != nil {
		return nil, err
	}
	return processorhelper.NewLogs(ctx, set, c, next, p.logs, p.options()...)
}

func createMetrics(ctx context.Context, set processor.Settings, c component.Config, next consumer.Metrics) (processor.Metrics, error) {
	p, err := newProcessor(set, c.(*Config))
	if err != nil {
		return nil, err
	}
	return processorhelper.NewMetrics(ctx, set, c, next, p.metrics, p.options()...)
}
