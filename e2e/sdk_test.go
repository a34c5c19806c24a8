package e2e

import (
	"bytes"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/e2e/fakeopenai"
	"github.com/spangrove/spangrove/e2e/harness"
)

// sdk is a published client, driven by the cases of a program in e2e/sdk.
type sdk struct {
	argv []string // runs a case whose name is appended
	env  []string
}

// pythonSDK is PyPI honeyhive, and what else is installed in the environment.
func pythonSDK(t *testing.T, venv string) sdk {
	t.Helper()
	return sdk{
		argv: []string{filepath.Join(sdkDir(t), venv, "bin", "python"), filepath.Join(harness.Root(t), "e2e", "sdk", "python", "run.py")},
		env:  []string{"PYTHONDONTWRITEBYTECODE=1", "HONEYHIVE_TELEMETRY=false", "TRACELOOP_TELEMETRY=false"},
	}
}

// python returns the interpreter with the SDKs.
func python(t *testing.T) string {
	t.Helper()
	return filepath.Join(sdkDir(t), "venv", "bin", "python")
}

// nodeSDK is npm honeyhive. Its tracer and the one below it report their use to
// their makers unless told not to; tests talk to nobody but the server.
func nodeSDK(t *testing.T) sdk {
	t.Helper()
	return sdk{
		argv: []string{"node", filepath.Join(harness.Root(t), "e2e", "sdk", "node", "run.js")},
		env: []string{
			"NODE_PATH=" + filepath.Join(sdkDir(t), "node", "node_modules"),
			"HONEYHIVE_TELEMETRY=false", "TRACELOOP_TELEMETRY=false",
		},
	}
}

func sdkDir(t *testing.T) string {
	t.Helper()
	return harness.Env(t, "SPANGROVE_E2E_SDK", "run e2e/sdk/install.sh DIR and set it to DIR")
}

// serverEnv is this process's environment with the variables by which programs
// find the server.
func serverEnv(srv *harness.Server) []string {
	return append(os.Environ(),
		"SPANGROVE_URL="+srv.URL,
		"SPANGROVE_API_KEY="+srv.Key,
		"SPANGROVE_OTLP_HTTP_URL="+srv.HTTP,
		"SPANGROVE_OTLP_GRPC="+srv.GRPC,
	)
}

// evaluators returns the arguments by which a server runs every type of metric: code in the interpreter
// that was installed, and prompts at a server in place of OpenAI's, as the provider "fake".
func evaluators(t *testing.T) []string {
	t.Helper()
	judge := httptest.NewServer(fakeopenai.Handler())
	t.Cleanup(judge.Close)
	settings := map[string]string{
		"python.directory":            harness.Env(t, "SPANGROVE_TEST_PYTHON_GUEST", "run spangrove evaluators install --dir DIR and set it to DIR"),
		"llm.allow_addresses":         "[127.0.0.1]",
		"llm.providers.fake.base_url": judge.URL + "/v1",
		"llm.providers.fake.model":    "gpt-4o-mini",
		"llm.providers.fake.api_key":  "key",
	}
	var args []string
	for key, value := range settings {
		args = append(args, "--set", "extensions.spangrove_evaluate."+key+"="+value)
	}
	return args
}

func (s sdk) run(t *testing.T, env []string, arg string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.argv[0], append(s.argv[1:], arg)...)
	cmd.Dir, cmd.Env = t.TempDir(), append(env, s.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", arg, err, bytes.TrimSpace(out))
	}
	return out
}

// on runs every case of the SDK, each in a process of its own, on a store. An
// operation that the client offers and no case calls is a failure.
func (s sdk) on(t *testing.T, st harness.Store) {
	srv := harness.Start(t, harness.Options{Store: st, Args: evaluators(t)})
	env := serverEnv(srv)
	cases := strings.Fields(string(s.run(t, env, "--list")))
	if len(cases) == 0 {
		t.Fatal("the SDK's program lists no case")
	}
	uncalled := map[string]bool{}
	for _, operation := range strings.Fields(string(s.run(t, env, "--operations"))) {
		uncalled[operation] = true
	}
	if len(uncalled) == 0 {
		t.Fatal("the SDK's program lists no operation")
	}
	played := 0
	for _, name := range cases {
		t.Run(name, func(t *testing.T) {
			played++
			out := string(s.run(t, env, name))
			if !strings.HasSuffix(out, "ok "+name+"\n") {
				t.Errorf("the case did not say that it passed:\n%s", out)
			}
			for line := range strings.Lines(out) {
				if operation, ok := strings.CutPrefix(strings.TrimSpace(line), "called "); ok {
					delete(uncalled, operation)
				}
			}
		})
	}
	// Some cases alone, chosen with -run, call some operations alone.
	if played == len(cases) && len(uncalled) > 0 {
		t.Errorf("no case calls %s", slices.Sorted(maps.Keys(uncalled)))
	}
}

// TestPythonSDK drives PyPI honeyhive 1.7.0 and the OpenTelemetry SDK.
func TestPythonSDK(t *testing.T) {
	harness.Require(t)
	t.Parallel()
	harness.EachStore(t, pythonSDK(t, "venv").on)
}

// TestOlderPythonSDK drives PyPI honeyhive 0.2.57.
func TestOlderPythonSDK(t *testing.T) {
	harness.Require(t)
	t.Parallel()
	harness.OneStore(t, "sqlite", pythonSDK(t, "venv-older").on)
}

// TestNodeSDK drives npm honeyhive 1.0.42.
func TestNodeSDK(t *testing.T) {
	harness.Require(t)
	t.Parallel()
	harness.OneStore(t, "postgres", nodeSDK(t).on)
}
