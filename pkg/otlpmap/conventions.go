package otlpmap

import "strings"

// convention is a naming scheme of attributes. Their order is their precedence: where two
// conventions on one span would fill the same field, the more specific one does.
type convention uint8

const (
	honeyhive convention = iota
	langfuse
	langsmith
	mlflow
	laminar
	openinference
	openllmetry
	vercel
	litellm
	googleADK
	strands
	pydanticAI
	logfire
	haystack
	crewai
	mcp
	agentFramework
	semanticKernel
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
	honeyhive:      {"honeyhive", []string{"honeyhive"}, "Python SDK 1.7.0, and the names that SDKs before 1.0 use"},
	langfuse:       {"langfuse", []string{"langfuse-sdk"}, "Python SDK 5.0.4, and the names of its releases since 3.0"},
	langsmith:      {"langsmith", []string{"langsmith"}, "OTel export with openai 2.54, and LangChain's serialised runs"},
	mlflow:         {"mlflow", []string{"mlflow"}, "mlflow-tracing 3.17.2"},
	laminar:        {"laminar", []string{"lmnr.tracer", "@lmnr-ai/lmnr"}, "the SDK's published names"},
	openinference:  {"openinference", []string{"openinference.instrumentation", "@arizeai/openinference"}, "instrumentations of openai 0.1.66, langchain 0.1.80, openai-agents 2.6.0"},
	openllmetry:    {"openllmetry", []string{"traceloop.", "opentelemetry.instrumentation.openai.v1", "opentelemetry.instrumentation.openai.v0", "opentelemetry.instrumentation.langchain", "opentelemetry.instrumentation.anthropic", "opentelemetry.instrumentation.bedrock", "opentelemetry.instrumentation.cohere", "opentelemetry.instrumentation.llamaindex", "@traceloop/"}, "traceloop-sdk 0.40.14 (flat) and 0.62.4"},
	vercel:         {"vercel-ai", []string{"ai"}, "AI SDK 4.3 and 6.0.326, and the documentation of 3.3 to 6"},
	litellm:        {"litellm", []string{"litellm"}, "litellm 1.106"},
	googleADK:      {"google-adk", []string{"gcp.vertex.agent"}, "google-adk 2.13.0, and the source of 1.0"},
	strands:        {"strands", []string{"strands.telemetry.tracer"}, "strands-agents 1.45, and its latest experimental form"},
	pydanticAI:     {"pydantic-ai", []string{"pydantic-ai"}, "pydantic-ai-slim 2.68.0, and the forms of its versions 1 and 2"},
	logfire:        {"logfire", []string{"logfire"}, "logfire 5.2.0"},
	haystack:       {"haystack", []string{"haystack"}, "the framework's published names"},
	crewai:         {"crewai", []string{"crewai.telemetry", "opentelemetry.instrumentation.crewai"}, "the names of OpenLLMetry's instrumentation and of the framework's own telemetry"},
	mcp:            {"mcp", []string{"mcp"}, "the Python SDK, semantic conventions 1.39"},
	agentFramework: {"agent-framework", []string{"agent_framework"}, "agent-framework 1.23.0"},
	semanticKernel: {"semantic-kernel", []string{"semantic_kernel", "Microsoft.SemanticKernel"}, "the source of its Python and .NET packages"},
	otelGenAI:      {"otel-genai", []string{"opentelemetry.instrumentation.genai", "opentelemetry.instrumentation.openai_v2", "gen_ai", "Experimental.Microsoft.Extensions.AI"}, "opentelemetry-instrumentation-genai-openai 1.3b0, Vercel AI SDK 7"},
	otel:           {"plain", nil, "OpenTelemetry's general semantic conventions"},
}

// ofScope is the convention a scope's name announces, otel if none. A prefix ends where a part
// of the name does.
func ofScope(name string) convention {
	for c := range conventions {
		for _, prefix := range conventions[c].scopes {
			if rest, ok := strings.CutPrefix(name, prefix); ok && (rest == "" || strings.ContainsAny(rest[:1], "./-_@") || strings.ContainsAny(prefix, "./-")) {
				return convention(c)
			}
		}
	}
	return otel
}

// systems are values of gen_ai.system and gen_ai.provider.name that name a framework and so
// announce its convention, where no scope does.
var systems = map[string]convention{
	"strands-agents": strands, "gcp.vertex.agent": googleADK, "microsoft.agent_framework": agentFramework,
}
