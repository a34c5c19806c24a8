// Package embedprovider provides the configurations that come with the program, under the
// scheme "embedded:", so that "--config embedded:default --config mine.yaml" changes only what
// mine.yaml says.
package embedprovider

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"
)

const scheme = "embedded"

// Default is the URI of the configuration the program starts with when it is given none.
const Default = scheme + ":default"

//go:embed *.yaml
var files embed.FS

// NewFactory makes the factory of the provider.
func NewFactory() confmap.ProviderFactory {
	return confmap.NewProviderFactory(func(confmap.ProviderSettings) confmap.Provider { return provider{} })
}

type provider struct{}

// Retrieve returns the configuration of a URI such as embedded:default. Nothing is watched:
// what is embedded does not change.
func (provider) Retrieve(_ context.Context, uri string, _ confmap.WatcherFunc) (*confmap.Retrieved, error) {
	name, ok := strings.CutPrefix(uri, scheme+":")
	if !ok {
		return nil, fmt.Errorf("%q does not begin with %s:", uri, scheme)
	}
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("no embedded configuration %q; must be one of %s", name, strings.Join(names(), ", "))
	}
	var conf map[string]any
	if err := yaml.Unmarshal(text, &conf); err != nil {
		return nil, err
	}
	c := confmap.NewFromStringMap(conf)
	if err := fromEnvironment(c); err != nil {
		return nil, err
	}
	return confmap.NewRetrieved(c.ToStringMap())
}

// The variables that make all listeners of an embedded configuration speak TLS: files in PEM.
const (
	certFile = "SPANGROVE_TLS_CERT_FILE"
	keyFile  = "SPANGROVE_TLS_KEY_FILE"
)

// listeners are the sections of an embedded configuration that listen. Its text cannot say that they speak TLS: a section tls whose files are
// empty is an error of the Collector, not the absence of TLS.
var listeners = []string{"extensions::spangrove_api", "receivers::spangrove::protocols::grpc", "receivers::spangrove::protocols::http"}

func names() (all []string) {
	entries, _ := files.ReadDir(".") // the root of an embedded tree is always there
	for _, e := range entries {
		all = append(all, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return all
}

// Scheme implements confmap.Provider.
func (provider) Scheme() string { return scheme }

// Shutdown implements confmap.Provider; there is nothing to release.
func (provider) Shutdown(context.Context) error { return nil }
