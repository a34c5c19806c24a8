package embedprovider

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
)

func TestProvider(t *testing.T) {
	t.Parallel()
	p := NewFactory().Create(confmaptest.NewNopProviderSettings())
	if err := confmaptest.ValidateProviderScheme(p); err != nil {
		t.Error(err)
	}
	for uri, want := range map[string]string{
		"embedded:nothing":        `no embedded configuration "nothing"; must be one of default`,
		"embedded:../provider.go": `no embedded configuration "../provider.go"; must be one of default`,
		"file:default":            `"file:default" does not begin with embedded:`,
		"embedded:default.yaml":   `no embedded configuration "default.yaml"; must be one of default`,
		"embedded:":               `no embedded configuration ""; must be one of default`,
	} {
		if _, err := p.Retrieve(t.Context(), uri, nil); err == nil || err.Error() != want {
			t.Errorf("Retrieve(%q): %v, want %q", uri, err, want)
		}
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// resolve returns the default configuration with --set settings over it.
func resolve(t *testing.T, sets ...string) *confmap.Conf {
	t.Helper()
	uris := []string{Default}
	for _, s := range sets {
		uris = append(uris, "yaml:"+s)
	}
	r, err := confmap.NewResolver(confmap.ResolverSettings{
		URIs:              uris,
		DefaultScheme:     "env",
		ProviderFactories: []confmap.ProviderFactory{NewFactory(), envprovider.NewFactory(), yamlprovider.NewFactory()},
	})
	if err != nil {
		t.Fatal(err)
	}
	conf, err := r.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// settings are the keys behind the environment variables of the program's public interface.
var settings = []struct{ variable, key, byDefault string }{
	{"SPANGROVE_ADDR", "extensions::spangrove_api::endpoint", "127.0.0.1:7420"},
	{"SPANGROVE_OTLP_GRPC_ADDR", "receivers::spangrove::protocols::grpc::endpoint", "127.0.0.1:4317"},
	{"SPANGROVE_OTLP_HTTP_ADDR", "receivers::spangrove::protocols::http::endpoint", "127.0.0.1:4318"},
	{"SPANGROVE_DATA_DIR", "extensions::spangrove_store::sqlite::directory", "./spangrove-data"},
	{"SPANGROVE_POSTGRES_DSN", "extensions::spangrove_store::postgres::dsn", ""},
	{"SPANGROVE_POSTGRES_DIRECT_DSN", "extensions::spangrove_store::postgres::direct_dsn", ""},
	{"SPANGROVE_POSTGRES_READ_DSN", "extensions::spangrove_store::postgres::read_dsn", ""},
	{"SPANGROVE_API_KEY", "extensions::spangrove_auth::api_key", ""},
	{"SPANGROVE_PROJECT", "extensions::spangrove_auth::project", "default"},
	{"SPANGROVE_LOG_LEVEL", "service::telemetry::logs::level", "info"},
}

// textOf reads a key as a component's string setting sees it.
func textOf(t *testing.T, conf *confmap.Conf, key string) string {
	t.Helper()
	i := strings.LastIndex(key, "::")
	sub, err := conf.Sub(key[:i])
	if err != nil {
		t.Fatal(err)
	}
	// The original text of a variable rides beside its YAML value; only Unmarshal shows it.
	target := reflect.New(reflect.StructOf([]reflect.StructField{{
		Name: "Value", Type: reflect.TypeFor[string](), Tag: reflect.StructTag(`mapstructure:"` + key[i+2:] + `"`),
	}}))
	if err := sub.Unmarshal(target.Interface(), confmap.WithIgnoreUnused()); err != nil {
		t.Fatal(err)
	}
	return target.Elem().Field(0).String()
}

func TestDefaults(t *testing.T) {
	for _, s := range settings {
		t.Setenv(s.variable, "") // so that it is put back
		if err := os.Unsetenv(s.variable); err != nil {
			t.Fatal(err)
		}
	}
	conf := resolve(t)
	for _, s := range settings {
		if got := textOf(t, conf, s.key); got != s.byDefault {
			t.Errorf("%s = %q, want %q", s.key, got, s.byDefault)
		}
	}
}

func TestVariables(t *testing.T) {
	for _, value := range []string{"", "plain", "0123456789012345", "[::1]:7420", "true", "postgres://u:p%40ss@h:5/db?a=b&c=d", "host=h password='a b: #c'", "1e5"} {
		for _, s := range settings {
			t.Setenv(s.variable, value)
		}
		conf := resolve(t)
		for _, s := range settings {
			if got := textOf(t, conf, s.key); got != value {
				t.Errorf("%s=%q: %s = %q", s.variable, value, s.key, got)
			}
		}
	}
	t.Setenv("SPANGROVE_DATA_DIR", "/var/lib/spangrove")
	if got := textOf(t, resolve(t), "extensions::spangrove_auth::key_file"); got != "/var/lib/spangrove/api-key" {
		t.Errorf("key_file = %q", got)
	}
}

func TestSetOverDefault(t *testing.T) {
	conf := resolve(t, "extensions::spangrove_api::endpoint: 127.0.0.1:9", "processors::memory_limiter::limit_mib: 7")
	if got := textOf(t, conf, "extensions::spangrove_api::endpoint"); got != "127.0.0.1:9" {
		t.Errorf("endpoint = %q", got)
	}
	if got := conf.Get("processors::memory_limiter::limit_mib"); got != 7 {
		t.Errorf("limit_mib = %v", got)
	}
}

func TestTLSByEnvironment(t *testing.T) {
	t.Setenv(certFile, "/tls/cert.pem")
	t.Setenv(keyFile, "/tls/key.pem")
	conf := resolve(t)
	for _, listener := range []string{"extensions::spangrove_api", "receivers::spangrove::protocols::grpc", "receivers::spangrove::protocols::http"} {
		if cert, key := conf.Get(listener+"::tls::cert_file"), conf.Get(listener+"::tls::key_file"); cert != "/tls/cert.pem" || key != "/tls/key.pem" {
			t.Errorf("%s has the certificate %v and the key %v", listener, cert, key)
		}
		if conf.Get(listener+"::endpoint") == nil {
			t.Errorf("%s lost its endpoint", listener)
		}
	}
	t.Setenv(keyFile, "")
	p := NewFactory().Create(confmaptest.NewNopProviderSettings())
	if _, err := p.Retrieve(t.Context(), Default, nil); err == nil || err.Error() != "SPANGROVE_TLS_CERT_FILE and SPANGROVE_TLS_KEY_FILE must be set together" {
		t.Errorf("half of it: %v", err)
	}
}

// TestScrubByEnvironment: the variable reaches both places that scrub, and both pipelines have the processor.
func TestScrubByEnvironment(t *testing.T) {
	for value, want := range map[string]string{"": "off", "secrets,email": "secrets,email", "off": "off"} {
		t.Setenv("SPANGROVE_SCRUB", value)
		if value == "" {
			if err := os.Unsetenv("SPANGROVE_SCRUB"); err != nil {
				t.Fatal(err)
			}
		}
		conf := resolve(t)
		var got struct {
			Rules []string `mapstructure:"rules"`
			Scrub []string `mapstructure:"scrub"`
		}
		for _, path := range []string{"processors::spangrove_scrub", "extensions::spangrove_api"} {
			sub, err := conf.Sub(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := sub.Unmarshal(&got, confmap.WithIgnoreUnused()); err != nil {
				t.Fatal(err)
			}
		}
		if len(got.Rules) != 1 || got.Rules[0] != want || len(got.Scrub) != 1 || got.Scrub[0] != want {
			t.Errorf("SPANGROVE_SCRUB=%q: %+v, want %q", value, got, want)
		}
		for _, pipeline := range []string{"traces", "logs"} {
			if list := conf.Get("service::pipelines::" + pipeline + "::processors"); !reflect.DeepEqual(list, []any{"memory_limiter", "spangrove_scrub"}) {
				t.Errorf("%s: processors %v", pipeline, list)
			}
		}
	}
}
