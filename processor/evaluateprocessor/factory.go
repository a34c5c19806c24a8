package evaluateprocessor

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"
)

var componentType = component.MustNewType("spangrove_evaluate")

const stability = component.StabilityLevelBeta

// NewFactory returns the factory of the processor type spangrove_evaluate.
func NewFactory() processor.Factory {
	return processor.NewFactory(componentType, createDefaultConfig, processor.WithTraces(createTraces, stability))
}

func createDefaultConfig() component.Config {
	return &Config{Evaluate: component.MustNewID("spangrove_evaluate"), Timeout: 5 * time.Second}
}

func createTraces(ctx context.Context, set processor.Settings, c component.Config, next consumer.Traces) (processor.Traces, error) {
	cfg := c.(*Config)
	p, err := newProcessor(set, cfg)
	if err != nil {
		return nil, err
	}
	return processorhelper.NewTraces(ctx, set, cfg, next, p.process,
		processorhelper.WithStart(p.start), processorhelper.WithCapabilities(consumer.Capabilities{MutatesData: true}))
}
