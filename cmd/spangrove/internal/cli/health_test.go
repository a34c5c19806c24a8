package cli

import (
	"bytes"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHealth asks servers of the environment, as the health check of a container does.
func TestHealth(t *testing.T) {
	ready := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/healthcheck" {
			http.NotFound(w, r)
		}
	})
	plain, secure := httptest.NewServer(ready), httptest.NewTLSServer(ready)
	defer plain.Close()
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	starting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer starting.Close()
	asked := 0
	soon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer soon.Close()

	certificate := func(name string, der []byte) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	own := certificate("own.pem", secure.Certificate().Raw)
	other := certificate("other.pem", append(bytes.Clone(secure.Certificate().Raw), 0))
	address := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	_, port, err := net.SplitHostPort(address(plain))
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name, addr, cert, server string
		args                     []string
		wantErr                  string // empty: ready
	}{
		{name: "by its address", addr: address(plain)},
		{name: "on all addresses", addr: "0.0.0.0:" + port},
		{name: "without a host", addr: ":" + port},
		{name: "with its certificate", addr: address(secure), cert: own},
		{name: "with another certificate", addr: address(secure), cert: other, wantErr: "its certificate is not the one in"},
		{name: "without TLS", addr: address(plain), cert: own, wantErr: "does not speak TLS"},
		{name: "not ready yet", addr: address(starting), wantErr: "Service Unavailable"},
		{name: "ready soon", addr: address(soon), args: []string{"--wait", "1m"}},
		{name: "a named server comes first", addr: address(starting), cert: other, server: plain.URL},
		{name: "no port", addr: "localhost", wantErr: `SPANGROVE_ADDR: "localhost" is not of the form host:port`},
		{name: "no certificate", addr: address(secure), cert: filepath.Join(t.TempDir(), "none"), wantErr: "SPANGROVE_TLS_CERT_FILE: open"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			t.Setenv("SPANGROVE_ADDR", tt.addr)
			t.Setenv("SPANGROVE_TLS_CERT_FILE", tt.cert)
			t.Setenv("SPANGROVE_SERVER", tt.server)
			var told bytes.Buffer
			root := &cobra.Command{Use: "spangrove", SilenceUsage: true, SilenceErrors: true}
			Add(root, nil)
			root.SetArgs(append([]string{"health"}, tt.args...))
			root.SetErr(&told)
			err := root.ExecuteContext(t.Context())
			switch {
			case tt.wantErr == "" && (err != nil || !strings.HasSuffix(told.String(), " is ready\n")):
				t.Errorf("health: %v, told %q", err, told.String())
			case tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)):
				t.Errorf("health: %v, want %q", err, tt.wantErr)
			}
		})
	}
}

// TestListener checks that all commands find the server of this environment with its key, and a named one before it.
func TestListener(t *testing.T) {
	const key = "sg_0123456789abcdef"
	asked := ""
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `[]`)
	})
	plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer plain.Close()
	defer secure.Close()
	data := t.TempDir()
	own := filepath.Join(data, "own.pem")
	for file, text := range map[string][]byte{
		own: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), filepath.Join(data, "api-key"): []byte(key + "\n"),
	} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, port, err := net.SplitHostPort(plain.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, addr, cert, server string
		args                     []string
		wantErr                  string
	}{
		{name: "by its address", addr: plain.Listener.Addr().String()},
		{name: "on all addresses", addr: "0.0.0.0:" + port},
		{name: "with its certificate", addr: secure.Listener.Addr().String(), cert: own},
		{name: "tells what it sends", addr: secure.Listener.Addr().String(), cert: own, args: []string{"--verbose"}},
		{name: "a variable comes first", addr: "127.0.0.1:1", cert: "none", server: plain.URL},
		{name: "an option comes first", addr: "127.0.0.1:1", cert: "none", args: []string{"--server", plain.URL}},
		{name: "no port", addr: "localhost", wantErr: `SPANGROVE_ADDR: "localhost" is not of the form host:port`},
		{name: "no certificate", addr: secure.Listener.Addr().String(), cert: "none", wantErr: "SPANGROVE_TLS_CERT_FILE: open none: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			t.Setenv("SPANGROVE_DATA_DIR", data)
			t.Setenv("SPANGROVE_API_KEY", "")
			t.Setenv("SPANGROVE_ADDR", tt.addr)
			t.Setenv("SPANGROVE_TLS_CERT_FILE", tt.cert)
			t.Setenv("SPANGROVE_SERVER", tt.server)
			asked = ""
			root := &cobra.Command{Use: "spangrove", SilenceUsage: true, SilenceErrors: true}
			Add(root, nil)
			root.SetArgs(append([]string{"projects", "list"}, tt.args...))
			root.SetOut(io.Discard)
			root.SetErr(io.Discard)
			err := root.ExecuteContext(t.Context())
			switch {
			case tt.wantErr == "" && (err != nil || asked != "Bearer "+key):
				t.Errorf("projects list: %v, asked with %q", err, asked)
			case tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)):
				t.Errorf("projects list: %v, want %q", err, tt.wantErr)
			}
		})
	}
}
