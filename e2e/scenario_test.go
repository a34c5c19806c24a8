package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spangrove/spangrove/e2e/harness"
	"github.com/spangrove/spangrove/e2e/scenario"
)

// TestScenarios plays the API's scripts against the real binary on both stores.
func TestScenarios(t *testing.T) {
	harness.EachStore(t, func(t *testing.T, st harness.Store) {
		// The scripts expect a server that has no interpreter of Python.
		srv := harness.Start(t, harness.Options{Store: st, Env: map[string]string{"SPANGROVE_FETCH_PYTHON": "false"}})
		api := filepath.Join(harness.Root(t), "pkg", "httpapi")
		scenario.Run(t, srv.URL, srv.Key, os.DirFS(filepath.Join(api, "testdata")), filepath.Join(api, "openapi.yaml"))
	})
}
