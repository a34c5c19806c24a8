package spangroveexporter

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func loadConfig(t *testing.T, id string) *Config {
	t.Helper()
	file, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sub, err := file.Sub(id)
	if err != nil {
		t.Fatal(err)
	}
	cfg := createDefaultConfig()
	if err := sub.Unmarshal(cfg); err != nil {
		t.Fatal(err)
	}
	return cfg.(*Config)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	got := loadConfig(t, "spangrove")
	if got.Timeout.Timeout != 0 || got.Queue.HasValue() || got.Retry.Enabled {
		t.Errorf("by default a write must be synchronous and without bounds of its own: %+v", got)
	}
	all := loadConfig(t, "spangrove/all")
	type settings struct {
		Store   string
		Timeout time.Duration
		Size    int64
		Wait    bool
		Retry   bool
		Elapsed time.Duration
	}
	want := settings{"spangrove_store/other", 7 * time.Second, 99, true, true, 3 * time.Minute}
	have := settings{
		all.Store.String(), all.Timeout.Timeout, all.Queue.Get().QueueSize, all.Queue.Get().WaitForResult,
		all.Retry.Enabled, all.Retry.MaxElapsedTime,
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	// A queue that has answered tries again, unless it is told not to.
	for id, want := range map[string]settings{
		"spangrove/queue":   {Retry: true},
		"spangrove/noretry": {},
		"spangrove/elapsed": {Retry: true, Elapsed: time.Minute},
		"spangrove/waits":   {Elapsed: 5 * time.Minute}, // the Collector's default, of retries that are off
	} {
		c := loadConfig(t, id)
		if got := (settings{Retry: c.Retry.Enabled, Elapsed: c.Retry.MaxElapsedTime}); got != want {
			t.Errorf("%s: retries %+v, want %+v", id, got, want)
		}
	}
	if want := (MappingConfig{MaxFieldBytes: -1, MaxMediaBytes: 2, MaxVector: 3, KeepPlainLogs: true}); all.Mapping != want {
		t.Errorf("mapping = %+v, want %+v", all.Mapping, want)
	}
	if err := confmap.Validate(loadConfig(t, "spangrove/nothing")); err == nil || err.Error() != "mapping: max_vector: must not be 0; a negative number is no bound" {
		t.Errorf("max_vector 0: %v", err)
	}
	if all.PriceFile != "testdata/prices.json" {
		t.Errorf("price_file = %q", all.PriceFile)
	}
	for id, want := range map[string]string{
		"spangrove/noprices":  "price_file: open testdata/absent.json: no such file or directory",
		"spangrove/badprices": `price_file: testdata/badprices.json: model "gpt-4o-mini": outptu is unknown; must be one of input, output, cache_read, cache_write, reasoning, audio_input, audio_output, tiers`,
	} {
		if err := confmap.Validate(loadConfig(t, id)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", id, err, want)
		}
	}
	for _, cfg := range []component.Config{got, all} {
		if err := confmap.Validate(cfg); err != nil {
			t.Error(err)
		}
	}
	if err := confmap.Validate(loadConfig(t, "spangrove/negative")); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("negative timeout: %v", err)
	}
}
