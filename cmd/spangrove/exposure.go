package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/confmap"

	"github.com/spangrove/spangrove/pkg/ingress"
)

// exposure refuses listeners of the Collector's own components that ask for no key where other
// machines reach them: the otlp receiver without auth, and pprof and zpages, which know no keys. The
// components of Spangrove check themselves.
type exposure struct{}

// newExposure returns the check, which runs on the configuration as it is when all is put together.
func newExposure(confmap.ConverterSettings) confmap.Converter { return exposure{} }

// Convert implements confmap.Converter. It changes nothing.
func (exposure) Convert(_ context.Context, conf *confmap.Conf) error {
	all := conf.ToStringMap()
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(section(all, "extensions"))) {
		switch kind, _, _ := strings.Cut(id, "/"); kind {
		case "pprof", "zpages":
			if endpoint, transport := address(section(all, "extensions", id)); !ingress.OnLoopback(endpoint, transport) {
				errs = append(
					errs,
					fmt.Errorf(
						"extensions::%s::endpoint: %s can be reached from other machines, and %s knows no keys; listen on 127.0.0.1",
						id,
						endpoint,
						kind,
					),
				)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(section(all, "receivers"))) {
		if kind, _, _ := strings.Cut(id, "/"); kind != "otlp" {
			continue
		}
		for _, protocol := range []string{"grpc", "http"} {
			settings := section(all, "receivers", id, "protocols", protocol)
			endpoint, transport := address(settings)
			if settings["auth"] == nil && !ingress.OnLoopback(endpoint, transport) {
				errs = append(errs, fmt.Errorf("receivers::%s::protocols::%s::endpoint: %s can be reached from other machines, which needs keys; "+
					"set auth::authenticator there, or listen on 127.0.0.1", id, protocol, endpoint))
			}
		}
	}
	return errors.Join(errs...)
}

// section returns the settings below a path, or nil if there are none.
func section(settings map[string]any, path ...string) map[string]any {
	for _, name := range path {
		settings, _ = settings[name].(map[string]any)
	}
	return settings
}

// address returns where a listener with these settings listens. By default all of them are on loopback.
func address(settings map[string]any) (endpoint, transport string) {
	endpoint, transport = "localhost:0", "tcp"
	if text, ok := settings["endpoint"].(string); ok && text != "" {
		endpoint = text
	}
	if text, ok := settings["transport"].(string); ok {
		transport = text
	}
	return endpoint, transport
}
