package apiextension

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func load(t *testing.T, id string) (*Config, error) {
	t.Helper()
	file, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sub, err := file.Sub(id)
	if err != nil {
		t.Fatal(err)
	}
	cfg := createDefaultConfig().(*Config)
	if err := sub.Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

// TestEveryKeyArrives guards against the server's Unmarshal swallowing the keys next to it.
func TestEveryKeyArrives(t *testing.T) {
	t.Parallel()
	cfg, err := load(t, "spangrove_api/all")
	if err != nil {
		t.Fatal(err)
	}
	h := cfg.HTTP
	got := map[string]any{
		"endpoint":               h.NetAddr.Endpoint,
		"transport":              string(h.NetAddr.Transport),
		"tls":                    h.TLS.Get().CertFile,
		"cors":                   h.CORS.Get().AllowedOrigins[0],
		"auth":                   h.Auth.Get().Config.AuthenticatorID.String(),
		"max_request_body_size":  h.MaxRequestBodySize,
		"include_metadata":       h.IncludeMetadata,
		"compression_algorithms": strings.Join(h.CompressionAlgorithms, ","),
		"read_timeout":           h.ReadTimeout.String(),
		"read_header_timeout":    h.ReadHeaderTimeout.String(),
		"write_timeout":          h.WriteTimeout.String(),
		"idle_timeout":           h.IdleTimeout.String(), //nolint:staticcheck // where Unmarshal puts keepalive::idle_timeout
		"store":                  cfg.Store.String(),
		"evaluate":               cfg.Evaluate.String(),
		"drain_timeout":          cfg.DrainTimeout.String(),
		"shutdown_delay":         cfg.ShutdownDelay.String(),
	}
	if v, ok := h.ResponseHeaders.Get("x-one"); ok {
		got["response_headers"] = string(v)
	}
	want := map[string]any{
		"endpoint": "0.0.0.0:9000", "transport": "tcp4", "tls": "cert.pem", "cors": "https://example.com", "auth": "oidc",
		"max_request_body_size": int64(1000), "include_metadata": true, "compression_algorithms": ",gzip",
		"read_timeout": "1s", "read_header_timeout": "2s", "write_timeout": "3s", "idle_timeout": "4s",
		"store": "spangrove_store/other", "evaluate": "spangrove_evaluate/other", "drain_timeout": "5s", "shutdown_delay": "6s", "response_headers": "two",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ id, wantErr string }{
		{"spangrove_api", ""},
		{"spangrove_api/open", ""},
		{"spangrove_api/public", "endpoint: 0.0.0.0:7420 can be reached from other machines, which needs keys; set auth::authenticator, or listen on 127.0.0.1"},
		{"spangrove_api/everywhere", "endpoint: :7420 can be reached from other machines, which needs keys; set auth::authenticator, or listen on 127.0.0.1"},
		{"spangrove_api/nowhere", "endpoint: must not be empty"},
		{"spangrove_api/body", "max_request_body_size: must be more than 0, not 0"},
		{"spangrove_api/drain", "drain_timeout: must be more than 0s, not 0s"},
		{"spangrove_api/delay", "shutdown_delay: must be between 0s and 5m0s, not 6m0s"},
		{"spangrove_api/query", "auth::request_params: keys are taken from the Authorization header only"},
		{"spangrove_api/typo", "stroe: no such setting"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tt.id)
			if tt.wantErr == "" && err != nil || tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("error = %v, want %q", err, tt.wantErr)
			}
		})
	}
}
