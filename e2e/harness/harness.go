// Package harness builds the spangrove binary, runs it on loopback with a store
// of its own, and talks to it as a client would. It knows the product only by
// its public interface: flags, environment variables, sockets and signals.
//
// Environment:
//
//	SPANGROVE_E2E            1: run; anything else: the tests are skipped
//	SPANGROVE_E2E_BINARY     binary to test; empty: built once from this module
//	SPANGROVE_TEST_POSTGRES  DSN of a server in which databases may be created
//	SPANGROVE_E2E_SDK        folder that e2e/sdk/install.sh filled
//	SPANGROVE_E2E_KILLS      kills per store, instead of 20 (SQLite) and 5 (PostgreSQL)
//	SPANGROVE_E2E_EDGE_SPANS spans through the edge, instead of 6,000
//	SPANGROVE_E2E_SEED       seed of the random moments; empty: from the clock, logged
package harness

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Require skips the test unless end-to-end tests are asked for.
func Require(t *testing.T) {
	t.Helper()
	if os.Getenv("SPANGROVE_E2E") != "1" {
		t.Skip("end-to-end test: set SPANGROVE_E2E=1 to run it")
	}
}

// Env returns a required variable; the test fails with hint if it is unset.
func Env(t *testing.T, name, hint string) string {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		t.Fatalf("%s is not set: %s", name, hint)
	}
	return v
}

// Count returns the number in a variable, or def.
func Count(t *testing.T, name string, def int) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(def)))
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: want a positive number", name, os.Getenv(name))
	}
	return n
}

// Seed returns what the test's random moments come from. It is logged, so that a
// failure can be tried again.
func Seed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("SPANGROVE_E2E_SEED"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			t.Fatalf("SPANGROVE_E2E_SEED=%q: want a number", v)
		}
		seed = n
	}
	t.Logf("SPANGROVE_E2E_SEED=%d", seed)
	return seed
}

// Root returns the folder of this module.
func Root(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("no caller information")
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

var (
	buildOnce sync.Once
	built     string
	buildErr  error
	buildOut  []byte
)

// Binary returns the path of the spangrove binary: static, as it is shipped.
func Binary(t testing.TB) string {
	t.Helper()
	if b := os.Getenv("SPANGROVE_E2E_BINARY"); b != "" {
		return b
	}
	buildOnce.Do(func() {
		var dir string
		if dir, buildErr = os.MkdirTemp("", "spangrove-e2e"); buildErr != nil {
			return
		}
		built = filepath.Join(dir, "spangrove")
		cmd := exec.Command("go", "build", "-o", built, "./cmd/spangrove")
		cmd.Dir = Root(t)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		buildOut, buildErr = cmd.CombinedOutput()
	})
	if buildErr != nil {
		t.Fatalf("build spangrove: %v\n%s", buildErr, buildOut)
	}
	return built
}

// Main runs a package's tests and removes the binary that Binary built.
func Main(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(filepath.Dir(built))
	}
	os.Exit(code)
}
