package authextension

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
)

var componentType = component.MustNewType("spangrove_auth")

const (
	stability      = component.StabilityLevelBeta
	defaultProject = "default"
	defaultKeyFile = "./spangrove-data/api-key"
	defaultTTL     = 3 * time.Second
)

// NewFactory returns the factory of the extension type spangrove_auth.
func NewFactory() extension.Factory {
	return extension.NewFactory(componentType, createDefaultConfig, create, stability)
}

func createDefaultConfig() component.Config {
	return &Config{
		Store:    component.MustNewID("spangrove_store"),
		Project:  defaultProject,
		KeyFile:  defaultKeyFile,
		CacheTTL: defaultTTL,
	}
}

func create(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
	return newExtension(set, cfg.(*Config))
}
