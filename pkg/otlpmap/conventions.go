package otlpmap

import "strings"

// convention is a naming scheme of attributes. Their order is their precedence: where two
// conventions on one span would fill the same field, the more specific one does.
type convention uint8

const (
	honeyhive convention = iota
	openinference
	openllmetry
	otelGenAI
	otel // OpenTelemetry's general names, and what nobody claims
)

// conventions names each convention as metadata.instrumentor does, the scopes that announce it,
// and the releases whose spans its names were checked against.
var conventions = [...]struct {
	name    string
	scopes  []string // prefixes of instrumentation scope names
	version string
}{
	honeyhive:     {"honeyhive", []string{"honeyhive"}, "Python SDK 1.7.0, and the names that SDKs before 1.0 use"},
	openinference: {"openinference", []string{"openinference.instrumentation", "@arizeai/openinference"}, "instrumentations of openai 0.1.66, langchain 0.1.80, openai-agents 2.6.0"},
	openllmetry:   {"openllmetry", []string{"traceloop.", "opentelemetry.instrumentation.openai.v1", "opentelemetry.instrumentation.openai.v0", "opentelemetry.instrumentation.langchain", "opentelemetry.instrumentation.anthropic", "opentelemetry.instrumentation.bedrock", "opentelemetry.instrumentation.cohere", "opentelemetry.instrumentation.llamaindex", "@traceloop/"}, "traceloop-sdk 0.40.14 (flat) and 0.62.4"},
	otelGenAI:     {"otel-genai", []string{"opentelemetry.instrumentation.genai", "opentelemetry.instrumentation.openai_v2"}, "opentelemetry-instrumentation-genai-openai 1.3b0"},
	otel:          {"plain", nil, "OpenTelemetry's general semantic conventions"},
}

// ofScope is the convention a scope's name announces, otel if none.
func ofScope(name string) convention {
	for c := range conventions {
		for _, prefix := range conventions[c].scopes {
			if strings.HasPrefix(name, prefix) {
				return convention(c)
			}
		}
	}
	return otel
}
