package evaluateprocessor

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func load(t *testing.T, id string) *Config {
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
	for id, want := range map[string]string{
		"":           "",
		"/all":       "",
		"/none":      "metrics: must not be empty",
		"/judge":     `metrics::0: type: must be one of EXPRESSION, PYTHON, COMPOSITE, not "LLM"`,
		"/nameless":  "metrics::0: name: is required",
		"/twice":     `metrics::1::name: "a" is the name of two metrics`,
		"/filter":    "metrics::0: filters[0].field",
		"/threshold": "metrics::0: threshold.min",
		"/hasty":     "timeout: must be more than 0s",
	} {
		err := confmap.Validate(load(t, "spangrove_evaluate"+id))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", id, err, want)
		}
	}
}

// TestEveryKeyArrives: what the configuration says is what runs.
func TestEveryKeyArrives(t *testing.T) {
	t.Parallel()
	cfg := load(t, "spangrove_evaluate/all")
	if cfg.Evaluate != component.MustNewIDWithName("spangrove_evaluate", "other") || cfg.Timeout != time.Second || len(cfg.Metrics) != 2 {
		t.Fatalf("%+v", cfg)
	}
	quality, err := cfg.Metrics[0].scorer()
	if err != nil {
		t.Fatal(err)
	}
	d := quality.definition
	if string(d.Scale) != "5" || string(d.Threshold) != `{"min":3}` || string(d.Children) != `[{"name":"a","weight":2}]` || d.Criteria != "weighted sum" || d.Return != "float" {
		t.Errorf("%+v", d)
	}
	kind, err := cfg.Metrics[1].scorer()
	if err != nil {
		t.Fatal(err)
	}
	if d := kind.definition; string(d.Categories) != `[{"category":"x","score":1}]` || d.Return != "categorical" {
		t.Errorf("%+v", d)
	}
}
