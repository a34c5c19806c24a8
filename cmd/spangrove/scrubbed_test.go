package main

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/confmap"
)

func TestScrubbed(t *testing.T) {
	conf := func(processors ...any) *confmap.Conf {
		return confmap.NewFromStringMap(map[string]any{"service": map[string]any{"pipelines": map[string]any{
			"traces/in": map[string]any{"receivers": []any{"spangrove"}, "processors": processors},
			"traces/on": map[string]any{"receivers": []any{"otlp"}},
		}}})
	}
	for _, tt := range []struct {
		asked string
		conf  *confmap.Conf
		want  string
	}{
		{"", conf("memory_limiter"), ""},
		{"off", conf("memory_limiter"), ""},
		{"secrets", conf("memory_limiter", "spangrove_scrub/mine"), ""},
		{"secrets", conf("memory_limiter"), "service::pipelines::traces/in::processors: has no spangrove_scrub, which SPANGROVE_SCRUB asks for"},
	} {
		t.Setenv(scrubVariable, tt.asked)
		err := newScrubbed(confmap.ConverterSettings{}).Convert(t.Context(), tt.conf)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "traces/on")) {
			t.Errorf("%q: %v, want %q", tt.asked, err, tt.want)
		}
	}
}
