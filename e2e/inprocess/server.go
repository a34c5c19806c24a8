// Package inprocess runs a whole server in the test's own process, with a store and ports of its
// own: quick to start, and under the race detector where the test is.
package inprocess

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"

	"github.com/spangrove/spangrove/e2e/harness"
	"github.com/spangrove/spangrove/exporter/spangroveexporter"
	"github.com/spangrove/spangrove/extension/apiextension"
	"github.com/spangrove/spangrove/extension/authextension"
	"github.com/spangrove/spangrove/extension/evaluateextension"
	"github.com/spangrove/spangrove/extension/storeextension"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/receiver/spangrovereceiver"
)

// Key is the key of the servers, of scope admin.
const Key = "sg_inprocess_0123456789abcdef"

// startTimeout is generous: PostgreSQL may have to make its schema on a busy machine.
const startTimeout = time.Minute

// config is a whole server on ports of its own.
const config = `yaml:
extensions:
  spangrove_auth:
    api_key: ` + Key + `
    key_file: %[1]s/api-key
  spangrove_evaluate: %[3]s
  spangrove_api:
    endpoint: 127.0.0.1:0
    evaluate: spangrove_evaluate
  spangrove_store:
    %[2]s
receivers:
  spangrove:
    protocols:
      grpc:
        endpoint: 127.0.0.1:0
        auth: {authenticator: spangrove_auth}
      http:
        endpoint: 127.0.0.1:0
        auth: {authenticator: spangrove_auth}
exporters:
  spangrove:
service:
  extensions: [spangrove_store, spangrove_auth, spangrove_evaluate, spangrove_api]
  pipelines:
    traces:
      receivers: [spangrove]
      exporters: [spangrove]
  telemetry:
    logs:
      level: error
    metrics:
      level: none
`

// SQLite returns the store part of a configuration: a database in a directory of its own.
func SQLite(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("sqlite: {directory: %q}", t.TempDir())
}

// Postgres is likewise a database of its own on the server of SPANGROVE_TEST_POSTGRES. The test
// is skipped if there is none.
func Postgres(t *testing.T) string {
	t.Helper()
	if os.Getenv("SPANGROVE_TEST_POSTGRES") == "" {
		t.Skip("SPANGROVE_TEST_POSTGRES is not set")
	}
	return "postgres: {dsn: " + fmt.Sprintf("%q", strings.ReplaceAll(harness.PostgresDSN(t), "$", "$$")) + "}"
}

// EachStore runs f as a subtest with a server on each database; url is that of its API.
func EachStore(t *testing.T, f func(t *testing.T, url string)) {
	t.Helper()
	for _, db := range []struct {
		name  string
		store func(*testing.T) string
	}{{"sqlite", SQLite}, {"postgres", Postgres}} {
		t.Run(db.name, func(t *testing.T) {
			url, _ := Start(t, db.store(t))
			f(t, url)
		})
	}
}

// Start runs a collector with our components in this process until the test ends, and gives
// the URLs of its API and of its port for OTLP. store is as SQLite and Postgres give it.
func Start(t *testing.T, store string) (api, otlp string) {
	t.Helper()
	return StartWith(t, store, "{secret: 0123456789abcdef0123456789abcdef}")
}

// StartWith is Start with settings of spangrove_evaluate, as YAML in a line.
func StartWith(t *testing.T, store, evaluate string) (api, otlp string) {
	t.Helper()
	api, otlp, stop, err := open(t.TempDir(), store, evaluate)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("the server ended with: %v", err)
		}
	})
	return api, otlp
}

// ForExample runs a server on SQLite for an example, which has no test, and gives the URL of its
// API. What fails panics.
func ForExample() (api string, stop func()) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	dir, err := os.MkdirTemp("", "spangrove-example")
	must(err)
	api, _, end, err := open(dir, fmt.Sprintf("sqlite: {directory: %q}", dir), "")
	must(err)
	return api, func() { must(end()); must(os.RemoveAll(dir)) }
}

// open runs a collector whose key file is in dir, until stop.
func open(dir, store, evaluate string) (api, otlp string, stop func() error, err error) {
	col, err := otelcol.NewCollector(otelcol.CollectorSettings{
		Factories:               factories,
		BuildInfo:               component.BuildInfo{Command: "spangrove", Version: "test"},
		DisableGracefulShutdown: true,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{fmt.Sprintf(config, dir, store, evaluate)},
			ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	if err != nil {
		return "", "", nil, err
	}
	notices := make(chan mount.Notice, 16) // more than there are topics
	ctx := mount.WithBoard(context.Background(), func(n mount.Notice) { notices <- n })
	ended := make(chan error, 1)
	go func() { ended <- col.Run(ctx) }()
	late := time.After(startTimeout)
	for api == "" || otlp == "" {
		select {
		case n := <-notices:
			switch n.Topic {
			case mount.TopicAPI:
				api = n.Text
			case mount.TopicOTLPHTTP:
				otlp = n.Text
			}
		case err := <-ended:
			return "", "", nil, fmt.Errorf("the server did not start: %w", err)
		case <-late:
			col.Shutdown()
			return "", "", nil, fmt.Errorf("the server did not start within %s: %w", startTimeout, <-ended)
		}
	}
	return api, otlp, func() error { col.Shutdown(); return <-ended }, nil
}

func factories() (otelcol.Factories, error) {
	f := otelcol.Factories{Telemetry: otelconftelemetry.NewFactory()}
	var err error
	if f.Extensions, err = otelcol.MakeFactoryMap[extension.Factory](
		storeextension.NewFactory(), authextension.NewFactory(), evaluateextension.NewFactory(), apiextension.NewFactory()); err != nil {
		return f, err
	}
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](spangrovereceiver.NewFactory()); err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](spangroveexporter.NewFactory())
	return f, err
}
