package apiextension

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/extension"

	"github.com/spangrove/spangrove/pkg/ingress"
)

var componentType = component.MustNewType("spangrove_api")

const (
	stability           = component.StabilityLevelBeta
	defaultEndpoint     = "127.0.0.1:7420"
	defaultMaxBody      = 20 << 20
	defaultHeaderTime   = 10 * time.Second
	defaultBodyTime     = 2 * time.Minute
	defaultAnswerTime   = 5 * time.Minute
	defaultDrainTimeout = 10 * time.Second
	defaultForwardTime  = 10 * time.Second
	defaultInFlight     = 64 // MiB
)

// NewFactory returns the factory of the extension type spangrove_api.
func NewFactory() extension.Factory {
	return extension.NewFactory(componentType, createDefaultConfig, create, stability)
}

func createDefaultConfig() component.Config {
	http := confighttp.NewDefaultServerConfig()
	http.NetAddr.Endpoint = defaultEndpoint
	http.MaxRequestBodySize = defaultMaxBody
	http.ReadHeaderTimeout = defaultHeaderTime
	http.ReadTimeout = defaultBodyTime
	http.WriteTimeout = defaultAnswerTime
	http.Auth = configoptional.Some(confighttp.AuthConfig{
		Config: configauth.Config{AuthenticatorID: component.MustNewID("spangrove_auth")},
	})
	forward := confighttp.NewDefaultClientConfig()
	forward.Timeout = defaultForwardTime
	return &Config{
		HTTP:           http,
		Limits:         ingress.DefaultLimits(),
		MaxInFlightMiB: defaultInFlight,
		Store:          component.MustNewID("spangrove_store"),
		ForwardUpdates: configoptional.Default(forward),
		DrainTimeout:   defaultDrainTimeout,
	}
}

func create(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
	return newExtension(set, cfg.(*Config))
}
