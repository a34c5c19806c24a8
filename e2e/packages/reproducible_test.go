package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/e2e/harness"
)

// TestReproducible builds the same commit in two folders, the second time with a compiler that remembers nothing,
// other times of files and another umask, and compares the hashes of all that comes out. It compiles everything once more.
func TestReproducible(t *testing.T) {
	requireLinux(t)
	commit := strings.TrimSpace(run(t, harness.Root(t), nil, "git", "rev-parse", "HEAD")) // it may move meanwhile
	one := buildRelease(t, commit, "first", "0022")
	two := buildRelease(t, commit, filepath.Join("second", "deeper"), "0077", "GOCACHE="+t.TempDir(), "TZ=Asia/Tokyo", "LC_ALL=C", "GOFLAGS=-ldflags=-X=main.release=other")
	if len(strings.Split(one, "\n")) < 10 {
		t.Errorf("a release of %s", one)
	}
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("two builds of one commit differ (-first +second):\n%s", diff)
	}
}

// buildRelease checks the commit out in a clone, builds this machine's release from it, and returns SHA256SUMS.
func buildRelease(t *testing.T, commit, folder, umask string, env ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), folder)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, filepath.Dir(dir), nil, "sh", "-c", "umask "+umask+" && git clone --quiet \"$0\" \"$1\" && exec git -C \"$1\" checkout --quiet \"$2\"", harness.Root(t), dir, commit)
	program := filepath.Join(filepath.Dir(dir), "release") // built without what env says: it is not what is compared
	run(t, filepath.Join(dir, "build", "release"), nil, "go", "build", "-o", program, ".")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "umask "+umask+" && exec \"$0\" \"$@\"", program, "-platforms", "linux/"+runtime.GOARCH)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("release: %v\n%s", err, out)
	}
	return read(t, filepath.Join(dir, "bin", "release", "SHA256SUMS"))
}
