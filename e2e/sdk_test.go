package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/e2e/harness"
)

// sdk is a published client, driven by the cases of a program in e2e/sdk.
type sdk struct {
	argv []string // runs a case whose name is appended
	env  []string
}

// pythonSDK is PyPI honeyhive and OpenTelemetry.
func pythonSDK(t *testing.T) sdk {
	t.Helper()
	return sdk{
		argv: []string{python(t), filepath.Join(harness.Root(t), "e2e", "sdk", "python", "run.py")},
		env:  []string{"PYTHONDONTWRITEBYTECODE=1"},
	}
}

// python is the interpreter with the SDKs.
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

// each runs every case of the SDK, each in a process of its own, on both stores.
func (s sdk) each(t *testing.T) {
	harness.EachStore(t, func(t *testing.T, st harness.Store) {
		srv := harness.Start(t, harness.Options{Store: st})
		env := serverEnv(srv)
		cases := strings.Fields(string(s.run(t, env, "--list")))
		if len(cases) == 0 {
			t.Fatal("the SDK's program lists no case")
		}
		for _, name := range cases {
			t.Run(name, func(t *testing.T) {
				if out := string(s.run(t, env, name)); !strings.HasSuffix(out, "ok "+name+"\n") {
					t.Errorf("the case did not say that it passed:\n%s", out)
				}
			})
		}
	})
}

// TestPythonSDK drives PyPI honeyhive 1.7.0 and the OpenTelemetry SDK.
func TestPythonSDK(t *testing.T) {
	harness.Require(t)
	pythonSDK(t).each(t)
}

// TestNodeSDK drives npm honeyhive 1.0.42.
func TestNodeSDK(t *testing.T) {
	harness.Require(t)
	nodeSDK(t).each(t)
}
