package evaluateextension

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"

	"github.com/spangrove/spangrove/pkg/evaluate/llm"
)

var componentType = component.MustNewType("spangrove_evaluate")

const stability = component.StabilityLevelBeta

// NewFactory returns the factory of the extension type spangrove_evaluate.
func NewFactory() extension.Factory {
	return extension.NewFactory(componentType, createDefaultConfig, create, stability)
}

func createDefaultConfig() component.Config {
	return &Config{
		Store:   component.MustNewID("spangrove_store"),
		Workers: defaultWorkers(),
		MaxWait: 30 * time.Second,
		LLM:     llm.NewConfig(),
		Online:  defaultOnline(),
		Alerts:  defaultAlerts(),
	}
}

func create(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
	return newExtension(set, cfg.(*Config)), nil
}
