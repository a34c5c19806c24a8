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
// and the version its names were taken from.
var conventions = [...]struct {
	name    string
	scopes  []string // prefixes of instrumentation scope names
	version string
}{
	honeyhive:     {"honeyhive", []string{"honeyhive"}, "Python SDK 0.2 to 1.7, TypeScript SDK 1.0"},
	openinference: {"openinference", []string{"openinference.instrumentation", "@arizeai/openinference"}, "semantic conventions 0.1.30"},
	openllmetry:   {"openllmetry", []string{"traceloop.", "opentelemetry.instrumentation.openai.v1", "opentelemetry.instrumentation.openai.v0", "opentelemetry.instrumentation.langchain", "opentelemetry.instrumentation.anthropic", "opentelemetry.instrumentation.bedrock", "opentelemetry.instrumentation.cohere", "opentelemetry.instrumentation.llamaindex", "@traceloop/"}, "traceloop-sdk 0.40 (flat) and 0.62"},
	otelGenAI:     {"otel-genai", []string{"opentelemetry.instrumentation.genai", "opentelemetry.instrumentation.openai_v2"}, "OpenTelemetry GenAI 1.28 to 1.40"},
	otel:          {"plain", nil, "OpenTelemetry semantic conventions 1.40"},
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
