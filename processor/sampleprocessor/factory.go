package sampleprocessor

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"
)

var componentType = component.MustNewType("spangrove_sample")

const stability = component.StabilityLevelBeta

// NewFactory returns the factory of the processor type spangrove_sample.
func NewFactory() processor.Factory {
	return processor.NewFactory(componentType, createDefaultConfig, processor.WithTraces(createTraces, stability))
}

func createDefaultConfig() component.Config {
	return &Config{DecisionWait: defaultWait, KeepErrors: true, Percentage: 100, MaxTraces: 200_000}
}

func createTraces(ctx context.Context, set processor.Settings, c component.Config, next consumer.Traces) (processor.Traces, error) {
	p, err := newProcessor(set, c.(*Config))
	if err != nil {
		return nil, err
	}
	return processorhelper.NewTraces(ctx, set, c, next, p.process,
		processorhelper.WithCapabilities(consumer.Capabilities{MutatesData: true}), processorhelper.WithShutdown(p.shutdown))
}
