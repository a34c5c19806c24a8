package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spangrove/spangrove/e2e/harness"
)

// TestReadmeGoProgram runs the README's Go program and looks at what it left on the server.
func TestReadmeGoProgram(t *testing.T) {
	harness.Require(t)
	srv := harness.Start(t, harness.Options{})
	program := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(program, []byte(onServer(t, srv, readmeCode(t, "## From your Go program"))), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", program)
	cmd.Dir = harness.Root(t)
	cmd.Env = append(os.Environ(), "KEY="+srv.Key)
	out, err := cmd.CombinedOutput()
	if want := "Lisbon\ncapitals 0.5\n"; err != nil || string(out) != want {
		t.Errorf("%v, it prints %q, want %q", err, out, want)
	}
	wantStored(t, srv, "session geography", "capital",
		"session capitals", "answer", "capital", "exact", "session capitals", "answer", "capital", "exact")
}
