package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/otelcol"
	"go.yaml.in/yaml/v3"

	"github.com/spangrove/spangrove/cmd/spangrove/internal/cli"
	"github.com/spangrove/spangrove/pkg/embedprovider"
	"github.com/spangrove/spangrove/pkg/mount"
)

// startLocal starts a server in this process for one command. It is the server as the embedded configuration has it, with its data in
// dir, whatever database is configured elsewhere, and one listener on a port of loopback that the system chooses. Signals are left
// to the command, which stops the server when it is done.
func startLocal(ctx context.Context, dir, logLevel string) (*cli.LocalServer, error) {
	overlay, err := localConfig(dir, logLevel)
	if err != nil {
		return nil, err
	}
	settings, err := (&server{configs: []string{embedprovider.Default, overlay}}).settings()
	if err != nil {
		return nil, err
	}
	col, err := otelcol.NewCollector(settings)
	if err != nil {
		return nil, explain(err, nil)
	}
	var mu sync.Mutex
	notices := map[mount.Topic]string{}
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	restore := makePrivate()
	defer restore() // the programs that are evaluated have their own files
	go func() {
		ended <- col.Run(mount.WithBoard(running, func(n mount.Notice) {
			mu.Lock()
			defer mu.Unlock()
			notices[n.Topic] = n.Text
		}))
	}()
	stop := func() error {
		end()
		if err := <-ended; err != nil {
			return explain(err, nil)
		}
		return nil
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for col.GetState() != otelcol.StateRunning {
		select {
		case err := <-ended:
			end()
			if err == nil {
				err = errors.New("the server ended before it was ready")
			}
			return nil, explain(err, nil)
		case <-ctx.Done():
			_ = stop() // that it was interrupted matters more
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
	mu.Lock()
	defer mu.Unlock()
	key, err := os.ReadFile(notices[mount.TopicKeyFile])
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	return &cli.LocalServer{URL: notices[mount.TopicAPI], Key: strings.TrimSpace(string(key)), Stop: stop}, nil
}

// localConfig returns what is layered over the embedded configuration, as a URI. The interpreter of Python evaluators is the
// user's, so that not every folder has one; one that is installed in the folder, or where a server here would look for it, comes first.
func localConfig(dir, logLevel string) (string, error) {
	type m = map[string]any
	interpreter := filepath.Join(dir, "evaluators")
	if !exists(interpreter) {
		interpreter = cmp.Or(os.Getenv("SPANGROVE_PYTHON_DIR"), filepath.Join(cmp.Or(os.Getenv("SPANGROVE_DATA_DIR"), "spangrove-data"), "evaluators"))
	}
	if cache, err := os.UserCacheDir(); err == nil && !exists(interpreter) && os.Getenv("SPANGROVE_PYTHON_DIR") == "" {
		interpreter = filepath.Join(cache, "spangrove", "evaluators")
	}
	text, err := yaml.Marshal(m{
		"extensions": m{
			"spangrove_store": m{"sqlite": m{"directory": literal(dir)}, "postgres": m{"dsn": ""}},
			"spangrove_auth":  m{"api_key": "", "key_file": literal(filepath.Join(dir, "api-key"))},
			"spangrove_evaluate": m{
				"secret_file": literal(filepath.Join(dir, "provider-secret")),
				"python":      m{"directory": literal(interpreter)},
			},
			"spangrove_api": m{"endpoint": "127.0.0.1:0", "tls": nil, "shutdown_delay": "0s"},
		},
		"receivers": m{"spangrove": m{"protocols": m{"grpc": m{"endpoint": "", "tls": nil}, "http": m{"endpoint": "", "tls": nil}}}},
		"service":   m{"telemetry": m{"logs": m{"level": logLevel}, "metrics": m{"level": "none", "readers": []any{}}}},
	})
	return "yaml:" + string(text), err
}

// literal keeps the Collector from reading variables in a text.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
