package spangrovereceiver

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func load(t *testing.T, id string) (*Config, error) {
	t.Helper()
	file, err := confmaptest.LoadConf("testdata/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	section, err := file.Sub(id)
	if err != nil {
		t.Fatal(err)
	}
	cfg := createDefaultConfig().(*Config)
	if err := section.Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func TestDefaultConfigStandsByItself(t *testing.T) {
	t.Parallel()
	if err := componenttest.CheckConfigStruct(createDefaultConfig()); err != nil {
		t.Error(err)
	}
	cfg, err := load(t, "spangrove")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.share() != 64<<20 {
		t.Errorf("one project may have %d bytes", cfg.share())
	}
	if cfg.grpc() != nil || cfg.http() != nil || !cfg.API.Enabled || cfg.API.Extension != component.MustNewID("spangrove_api") || cfg.MaxInFlightMiB != 96 {
		t.Errorf("got %+v", cfg)
	}
}

// Every key must arrive: a ServerConfig with its own Unmarshal swallows its neighbours' keys
// if it is embedded.
func TestEveryKeyArrives(t *testing.T) {
	t.Parallel()
	cfg, err := load(t, "spangrove/all")
	if err != nil {
		t.Fatal(err)
	}
	g, h := cfg.grpc(), cfg.http()
	if g == nil || h == nil {
		t.Fatalf("a protocol is off: %+v", cfg)
	}
	for name, ok := range map[string]bool{
		"grpc endpoint": g.NetAddr.Endpoint == "127.0.0.1:14317",
		"grpc size":     g.MaxRecvMsgSizeMiB == 8,
		"grpc metadata": g.IncludeMetadata,
		"grpc auth":     g.Auth.HasValue() && g.Auth.Get().AuthenticatorID == component.MustNewID("spangrove_auth"),
		"http endpoint": h.NetAddr.Endpoint == "127.0.0.1:14318",
		"http size":     h.MaxRequestBodySize == 1<<20,
		"http metadata": h.IncludeMetadata,
		"http timeout":  h.ReadHeaderTimeout == 7*time.Second,
		"http auth":     h.Auth.HasValue() && h.Auth.Get().Config.AuthenticatorID == component.MustNewID("spangrove_auth"),
		"http params":   h.Auth.HasValue() && len(h.Auth.Get().RequestParameters) == 1,
		"http cors":     h.CORS.HasValue() && h.CORS.Get().AllowedOrigins[0] == "https://example.org",
		"api enabled":   !cfg.API.Enabled,
		"api extension": cfg.API.Extension == component.MustNewIDWithName("spangrove_api", "other"),
		"in flight":     cfg.MaxInFlightMiB == 32,
	} {
		if !ok {
			t.Errorf("%s did not arrive", name)
		}
	}
}

func TestListedProtocolsHaveDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := load(t, "spangrove/listed")
	if err != nil {
		t.Fatal(err)
	}
	keys := component.MustNewID("spangrove_auth")
	if g := cfg.grpc(); g == nil || g.MaxConcurrentStreams != 100 || g.Auth.Get().AuthenticatorID != keys || g.NetAddr.Endpoint != "localhost:4317" || g.MaxRecvMsgSizeMiB != 20 {
		t.Errorf("grpc %+v", g)
	}
	if h := cfg.http(); h == nil || h.Auth.Get().Config.AuthenticatorID != keys || h.NetAddr.Endpoint != "localhost:4318" || h.MaxRequestBodySize != 20<<20 {
		t.Errorf("http %+v", h)
	}
}

func TestAnEmptyEndpointIsOff(t *testing.T) {
	t.Parallel()
	cfg, err := load(t, "spangrove/off")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.grpc() != nil || cfg.http() != nil {
		t.Errorf("got %+v", cfg.Protocols)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"spangrove/nowhere":     "nothing to listen on",
		"spangrove/public":      "protocols::grpc::endpoint: 0.0.0.0:4317 can be reached from other machines, which needs keys",
		"spangrove/public_http": "protocols::http::endpoint: :4318 can be reached from other machines, which needs keys",
		"spangrove/anonymous":   "",
		"spangrove/share":       "max_in_flight_per_project_mib: must be at most max_in_flight_mib, 96, not 97",
		"spangrove/snappy":      "protocols::http::compression_algorithms: must be among",
		"spangrove/slow":        "body_grace: must be at least 1s",
		"spangrove/small":       "max_in_flight_mib: 4 is less than protocols::grpc::max_recv_msg_size_mib, 20",
		"spangrove/zero":        "max_in_flight_mib: must be at least 1",
		"spangrove/unknown_key": "protocol",
	} {
		_, err := load(t, id)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", id, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", id, err, want)
		}
	}
}
