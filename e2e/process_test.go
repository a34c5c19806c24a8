package e2e

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/e2e/harness"
)

// TestFirstStart starts without a key: one is made and works from then on. The lines that are
// printed say where everything is, and not the key: they go to no terminal here.
func TestFirstStart(t *testing.T) {
	harness.EachStore(t, func(t *testing.T, st harness.Store) {
		srv := harness.Start(t, harness.Options{Store: st, Env: map[string]string{"SPANGROVE_API_KEY": ""}})
		words := []string{strings.TrimPrefix(srv.URL, "http://"), srv.GRPC, strings.TrimPrefix(srv.HTTP, "http://")}
		if st.Name == "sqlite" {
			words = append(words, filepath.Base(srv.Dir))
		}
		out := srv.Printed(words...)
		t.Logf("printed:\n%s", out)
		file := filepath.Join(srv.Dir, "api-key")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		key := strings.TrimSpace(string(text))
		srv.Client = harness.NewClient(srv.URL, key)
		srv.Must(t, http.MethodPost, "/events", map[string]any{"event_type": "tool", "inputs": map[string]any{}}, nil)

		if err := srv.Terminate(); err != nil {
			t.Errorf("SIGTERM: %v", err)
		}
		srv.Start()
		if output := srv.Output(); bytes.Contains(output, []byte(key)) || !bytes.Contains(output, []byte(file)) {
			t.Errorf("the output of two starts holds the key, or not the name of its file %s", file)
		}
		if evs, err := srv.Export(t.Context()); err != nil || len(evs) != 2 {
			t.Errorf("with the first start's key after a restart: %d events, %v; want the event and its session", len(evs), err)
		}
	})
}

// TestSignalWhileStarting sends SIGTERM as soon as a port is open, which is before the server is
// ready: it ends as later, without an error.
func TestSignalWhileStarting(t *testing.T) {
	harness.EachStore(t, func(t *testing.T, st harness.Store) {
		srv := harness.New(t, harness.Options{Store: st})
		srv.Launch()
		addr := strings.TrimPrefix(srv.URL, "http://")
		for {
			conn, err := net.DialTimeout("tcp", addr, time.Second)
			if err == nil {
				conn.Close()
				break
			}
			if t.Context().Err() != nil {
				t.Fatal("the port was never opened")
			}
			time.Sleep(time.Millisecond)
		}
		if err := srv.Terminate(); err != nil {
			t.Errorf("SIGTERM: %v; it printed:\n%s", err, srv.Output())
		}
	})
}

// TestKeyIsRequired tries every kind of way in without a key and with a wrong one.
func TestKeyIsRequired(t *testing.T) {
	harness.Require(t)
	srv := harness.Start(t, harness.Options{})
	for _, key := range []string{"", "wrong"} {
		c := harness.NewClient(srv.URL, key)
		for _, path := range []string{"/session/start", "/events", "/v1/events/batch", "/v1/events/export",
			"/opentelemetry/v1/traces", "/v1/traces", srv.HTTP + "/v1/traces"} {
			code, body, err := c.Send(t.Context(), http.MethodPost, path, "application/json", []byte("{}"))
			if err != nil || code != http.StatusUnauthorized {
				t.Errorf("POST %s with key %q: status %d, %v: %.200s; want 401", path, key, code, err, body)
			}
		}
	}
	// The export of nothing but sessions must show that nothing came in.
	if evs, err := srv.Export(t.Context()); err != nil || len(evs) != 0 {
		t.Errorf("%d events are stored, %v", len(evs), err)
	}
}

// TestConfigurationMistakes starts with mistakes in the configuration: the
// process ends with an exit code, says in one line what is wrong, and shows no
// stack trace.
func TestConfigurationMistakes(t *testing.T) {
	harness.Require(t)
	unknownKey := filepath.Join(t.TempDir(), "mistake.yaml")
	if err := os.WriteFile(unknownKey, []byte("extensions:\n  spangrove_api:\n    endpiont: 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	tests := map[string]struct {
		o    harness.Options
		want string
	}{
		"unknown key":       {harness.Options{Args: []string{"--config", unknownKey}}, "endpiont"},
		"missing file":      {harness.Options{Args: []string{"--config", "/does/not/exist.yaml"}}, "/does/not/exist.yaml"},
		"bad address":       {harness.Options{Env: map[string]string{"SPANGROVE_ADDR": "nonsense"}}, "nonsense"},
		"port in use":       {harness.Options{Env: map[string]string{"SPANGROVE_ADDR": taken.Addr().String()}}, taken.Addr().String()},
		"unknown log level": {harness.Options{Env: map[string]string{"SPANGROVE_LOG_LEVEL": "loud"}}, "loud"},
		"PostgreSQL is down": {harness.Options{Env: map[string]string{
			"SPANGROVE_POSTGRES_DSN": "postgres://nobody@" + harness.FreeAddr(t) + "/none"}}, "postgres"},
		"data directory is a file": {harness.Options{Env: map[string]string{"SPANGROVE_DATA_DIR": unknownKey}}, unknownKey},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := harness.New(t, tt.o)
			srv.Launch()
			if err := srv.Wait(); err == nil {
				t.Error("exit code 0")
			}
			out := string(srv.Output())
			if !strings.Contains(strings.ToLower(out), strings.ToLower(tt.want)) {
				t.Errorf("the output does not name %q:\n%s", tt.want, out)
			}
			if strings.Contains(out, "goroutine ") || strings.Contains(out, "panic") || strings.Contains(out, ".go:") {
				t.Errorf("the output shows the program's inside:\n%s", out)
			}
			lines := strings.Split(strings.TrimSpace(out), "\n")
			t.Logf("%d lines, the last: %s", len(lines), lines[len(lines)-1])
		})
	}
}
