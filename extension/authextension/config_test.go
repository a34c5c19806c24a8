package authextension

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	file, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id      string
		want    *Config
		wantErr string
	}{
		{id: "spangrove_auth", want: createDefaultConfig().(*Config)},
		{id: "spangrove_auth/all", want: &Config{
			Store:    component.MustNewIDWithName("spangrove_store", "other"),
			Project:  "shop",
			APIKey:   "0123456789abcdef",
			KeyFile:  "/var/lib/spangrove/api-key",
			CacheTTL: 10 * time.Second,
		}},
		{id: "spangrove_auth/short", wantErr: "api_key: must have at least 16 characters, not 7"},
		{id: "spangrove_auth/spaces", wantErr: "api_key: must be printable ASCII without spaces"},
		{id: "spangrove_auth/noproject", wantErr: "project: must not be empty"},
		{id: "spangrove_auth/slow", wantErr: "cache_ttl: must be between 0s and 1m0s, not 1h0m0s"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			sub, err := file.Sub(tt.id)
			if err != nil {
				t.Fatal(err)
			}
			cfg := createDefaultConfig()
			if err := sub.Unmarshal(cfg); err != nil {
				t.Fatal(err)
			}
			err = confmap.Validate(cfg)
			if tt.wantErr != "" {
				if err == nil || err.Error() != tt.wantErr {
					t.Fatalf("error = %v, want %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, cfg, cmp.AllowUnexported(component.ID{}, component.Type{})); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
		})
	}
}
