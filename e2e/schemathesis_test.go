package e2e

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/spangrove/spangrove/e2e/harness"
)

const (
	schemathesisTimeout = 30 * time.Minute
	// schemathesisChecks: no status from 500 up, and no status, content type, header or
	// body that openapi.yaml does not have. What is refused and what is taken is left to the
	// scenarios: the schema says less than the rules.
	schemathesisChecks = "not_a_server_error,status_code_conformance,content_type_conformance," +
		"response_headers_conformance,response_schema_conformance"
)

// schemathesisRequests returns which requests are made up: five random ones for each operation, or, where suites run in full, fifteen besides
// those that go through every boundary of its schema, which take twice as long as these.
func schemathesisRequests() (phases, examples string) {
	if harness.AllStores() {
		return "examples,coverage,fuzzing", "15"
	}
	return "examples,fuzzing", "5"
}

// TestSchemathesis lets PyPI schemathesis make up requests, good and bad ones, from
// openapi.yaml. The seed is fixed: two runs make the same requests, as far as these do not
// hang on answers.
func TestSchemathesis(t *testing.T) {
	harness.Require(t)
	t.Parallel() // it takes one core to make requests up
	st := filepath.Join(sdkDir(t), "venv-schemathesis", "bin", "schemathesis")
	phases, examples := schemathesisRequests()
	document := filepath.Join(harness.Root(t), "pkg", "httpapi", "openapi.yaml")
	harness.OneStore(t, "postgres", func(t *testing.T, store harness.Store) {
		srv := harness.Start(t, harness.Options{Store: store})
		run := func(operations ...string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), schemathesisTimeout)
			defer cancel()
			cmd := exec.CommandContext(ctx, st, append([]string{"run", document,
				"--url", srv.URL, "--header", "Authorization: Bearer " + srv.Key,
				"--phases", phases, "--max-examples", examples, "--seed", "1",
				"--checks", schemathesisChecks, "--continue-on-failure", "--no-shrink",
				// A busy machine is no failure: not that an answer takes long, nor that a request is
				// slow to be made up.
				"--request-timeout", "120", "--suppress-health-check", "too_slow",
				// One worker: threads of CPython 3.11 that parse Python at once, as its generators do, fail at times.
				"--warnings", "off", "--workers", "1"}, operations...)...)
			cmd.Dir = t.TempDir() // it leaves a folder of examples where it runs
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !bytes.Contains(out, []byte("No issues found")) {
				t.Errorf("schemathesis does not say that all is well:\n%s", out)
			}
		}
		// Limits last: those that it sets would refuse all that comes after. The answer of watchSessions has no end, and
		// runPlayground would wait for providers that other requests have made up.
		run("--exclude-operation-id", "setLimits", "--exclude-operation-id", "watchSessions", "--exclude-operation-id", "runPlayground")
		run("--include-operation-id", "setLimits")
	})
}
