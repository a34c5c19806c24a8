package embedprovider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func TestSecretsInFiles(t *testing.T) {
	for name, path := range secrets {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "secret")
			t.Setenv(name, "")
			t.Setenv(name+"_FILE", file)
			for _, secret := range []string{"0123456789012345", "postgres://u:p$${env:HOME}$x@h/db?a=b", "a: #b"} {
				if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				if got := textOf(t, resolve(t), path); got != secret {
					t.Errorf("the secret %q is %q", secret, got)
				}
			}
		})
	}
}

func TestRules(t *testing.T) {
	for _, tt := range []struct {
		variable, value string
		want            map[string]any
	}{
		{"SPANGROVE_MAX_BODY_MIB", "5", map[string]any{
			"extensions::spangrove_api::max_request_body_size": int64(5 << 20), "receivers::spangrove::protocols::grpc::max_recv_msg_size_mib": int64(5),
			"receivers::spangrove::protocols::http::max_request_body_size": int64(5 << 20),
		}},
		{"SPANGROVE_MAX_IN_FLIGHT_MIB", "200", map[string]any{
			"receivers::spangrove::max_in_flight_mib": int64(200), "extensions::spangrove_api::max_in_flight_mib": int64(200),
		}},
		{"SPANGROVE_QUEUE_MIB", "8", map[string]any{"extensions::spangrove_store::queue_bytes": int64(8 << 20)}},
		{"SPANGROVE_MEMORY_LIMIT_MIB", "512", map[string]any{
			"processors::memory_limiter::limit_mib": int64(512), "processors::memory_limiter::spike_limit_mib": int64(128),
			"processors::memory_limiter::check_interval": "500ms",
		}},
		{"SPANGROVE_SHUTDOWN_DELAY", "10s", map[string]any{"extensions::spangrove_api::shutdown_delay": "10s"}},
		{"SPANGROVE_LOG_FORMAT", "json", map[string]any{"service::telemetry::logs::encoding": "json"}},
		{"SPANGROVE_METRICS_ADDR", "[::1]:8888", map[string]any{"service::telemetry::metrics::level": "normal"}},
		{"SPANGROVE_PYTHON_DIR", "/evaluators", map[string]any{"extensions::spangrove_evaluate::python::directory": "/evaluators"}},
	} {
		t.Run(tt.variable, func(t *testing.T) {
			before := resolve(t)
			t.Setenv(tt.variable, tt.value)
			after := resolve(t)
			for path, want := range tt.want {
				if got := after.Get(path); !cmp.Equal(got, want) {
					t.Errorf("%s = %v (%T), want %v", path, got, got, want)
				}
			}
			for _, path := range before.AllKeys() {
				if !after.IsSet(path) {
					t.Errorf("%s is lost", path)
				}
			}
		})
	}
}

// Each mistake names its variable, and never what a secret is.
func TestMistakesNameTheVariable(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p := NewFactory().Create(confmaptest.NewNopProviderSettings())
	for _, tt := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"SPANGROVE_MAX_BODY_MIB": "20MB"}, `SPANGROVE_MAX_BODY_MIB: must be a whole number from 1 to 1024, not "20MB"`},
		{map[string]string{"SPANGROVE_MAX_BODY_MIB": "65"}, "SPANGROVE_MAX_BODY_MIB: 65 is more than SPANGROVE_MAX_IN_FLIGHT_MIB, 64"},
		{map[string]string{"SPANGROVE_MAX_BODY_MIB": "9", "SPANGROVE_MAX_IN_FLIGHT_MIB": "8"}, "SPANGROVE_MAX_BODY_MIB: 9 is more than SPANGROVE_MAX_IN_FLIGHT_MIB, 8"},
		{map[string]string{"SPANGROVE_MAX_IN_FLIGHT_MIB": "0"}, `SPANGROVE_MAX_IN_FLIGHT_MIB: must be a whole number from 1 to 1048576, not "0"`},
		{map[string]string{"SPANGROVE_QUEUE_MIB": "-1"}, `SPANGROVE_QUEUE_MIB: must be a whole number from 1 to 1048576, not "-1"`},
		{map[string]string{"SPANGROVE_MEMORY_LIMIT_MIB": "100"}, `SPANGROVE_MEMORY_LIMIT_MIB: must be a whole number from 256 to 1048576, not "100"`},
		{map[string]string{"SPANGROVE_SHUTDOWN_DELAY": "10"}, `SPANGROVE_SHUTDOWN_DELAY: must be a duration from 0s to 5m, such as 10s, not "10"`},
		{map[string]string{"SPANGROVE_LOG_FORMAT": "xml"}, `SPANGROVE_LOG_FORMAT: must be console or json, not "xml"`},
		{map[string]string{"SPANGROVE_METRICS_ADDR": "8888"}, `SPANGROVE_METRICS_ADDR: must be a host and a port, such as 0.0.0.0:8888, not "8888"`},
		{map[string]string{"SPANGROVE_METRICS_ADDR": ":8888"}, `SPANGROVE_METRICS_ADDR: must be a host and a port, such as 0.0.0.0:8888, not ":8888"`},
		{map[string]string{"SPANGROVE_API_KEY_FILE": file("empty", "\n")}, "SPANGROVE_API_KEY_FILE: " + filepath.Join(dir, "empty") + " is empty"},
		{map[string]string{"SPANGROVE_SECRET_FILE": file("large", strings.Repeat("x", maxSecretBytes+1))}, "SPANGROVE_SECRET_FILE: " + filepath.Join(dir, "large") + " has more than 65536 bytes"},
		{map[string]string{"SPANGROVE_POSTGRES_DSN_FILE": filepath.Join(dir, "none")}, "SPANGROVE_POSTGRES_DSN_FILE: open " + filepath.Join(dir, "none") + ": no such file or directory"},
		{map[string]string{"SPANGROVE_API_KEY_FILE": file("key", "0123456789012345"), "SPANGROVE_API_KEY": "hunter2hunter2hunter2"}, "SPANGROVE_API_KEY and SPANGROVE_API_KEY_FILE: only one of them may be set"},
	} {
		t.Run(tt.want[:24], func(t *testing.T) {
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			_, err := p.Retrieve(t.Context(), Default, nil)
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestSoftMemoryLimit(t *testing.T) {
	for value, want := range map[string]int64{"": 300 << 20, "nonsense": 300 << 20, "4096": 300 << 20, "256": 192 << 20} {
		t.Setenv(MemoryLimit, value)
		if got := SoftMemoryLimit(300 << 20); got != want {
			t.Errorf("%s=%q: %d, want %d", MemoryLimit, value, got, want)
		}
	}
}
