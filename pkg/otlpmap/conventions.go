package otlpmap

import "strings"

// convention is a naming scheme of attributes. Their order is their precedence: where two
// conventions on one span would fill the same field, the more specific one does. metadata.instrumentor
// names the one that the span's scope announces, else the most specific one that its attributes show.
type convention uint8

const (
	// SDKs and platforms with attributes of their own for nearly everything.
	honeyhive convention = iota
	langfuse
	langsmith
	mlflow
	laminar
	agentOps
	// Conventions that many instrumentations share.
	openinference
	openllmetry
	// Frameworks and libraries, with names of their own or additions to the GenAI attributes.
	vercel
	litellm
	googleADK
	strands
	pydanticAI
	logfire
	haystack
	crewai
	agentScope
	mcp
	agentFramework
	semanticKernel
	mastra
	genkit
	// Coding agents, whose log records are mapped as well (see Mapper.Steps).
	claudeCode
	geminiCLI
	codex
	promptflow
	springAI
	anthropic
	// Voice agents.
	liveKit
	pipecat
	// OpenTelemetry's semantic conventions for generative AI.
	otelGenAI
	otel // OpenTelemetry's general names, and what nobody claims
)

// definition is a convention, in a file of its own: what announces it, and its rules by the stage at which
// they run (see rules for the stages). The rules of the conventions that others build on (OpenInference, OpenLLMetry,
// OpenTelemetry's own) are common: see rules.
type definition struct {
	name    string   // as metadata.instrumentor has it
	scopes  []string // prefixes of the instrumentation scope names that announce it
	version string   // the releases whose spans its names were checked against
	prefix  string   // of attributes that only a keyList mentions; "": none
	// frameworks are values of gen_ai.system and gen_ai.provider.name that are the name of the framework instead
	// of the provider's; systems are values that announce the convention if no scope does.
	frameworks, systems []string

	// cachedApart: its counts of the prompt are without the tokens that a cache holds, as in Anthropic's API.
	cachedApart bool

	keys map[keyList][]string // the attributes that steer the event: see keyList

	accounts []string // attributes that name the user of its own spans, where nothing else does

	earlyKinds []kindRule // before the common ones
	kinds      []kindRule // after them

	facts     []rule // first of all
	content   []rule // before the common families of attributes with messages
	additions []rule // before the common attributes with content
	fallbacks []rule // after all common rules
	caller    []rule // what a caller says under keys of their own comes last
}

// conventions has the definition of each.
var conventions = [...]definition{
	honeyhive: honeyhiveConvention,
	langfuse:  langfuseConvention,
	langsmith: langsmithConvention,
	mlflow:    mlflowConvention,
	laminar:   laminarConvention,
	agentOps:  agentOpsConvention,
	openinference: {
		name: "openinference", version: "instrumentations of openai 0.1.66, langchain 0.1.80, openai-agents 2.6.0",
		earlyKinds: llamaIndexKinds,
		scopes:     []string{"openinference.instrumentation", "@arizeai/openinference"},
		keys: map[keyList][]string{
			sessionKeys:  {"metadata.session_id", "metadata.thread_id"},
			toolNameKeys: {"tool.name"},
			toolHints:    {"tool.name"},
			modelHints:   {"llm.model_name"},
			usageHints:   {"llm.token_count.prompt", "llm.token_count.total"},
		},
	},
	openllmetry: {
		name: "openllmetry", version: "traceloop-sdk 0.40.14 (flat) and 0.62.4", prefix: "traceloop.",
		frameworks: []string{"langchain", "langgraph", "llamaindex", "autogen"},
		scopes: []string{
			"traceloop.", "opentelemetry.instrumentation.openai.v1", "opentelemetry.instrumentation.openai.v0",
			"opentelemetry.instrumentation.langchain", "opentelemetry.instrumentation.anthropic", "opentelemetry.instrumentation.bedrock",
			"opentelemetry.instrumentation.cohere", "opentelemetry.instrumentation.llamaindex", "@traceloop/",
		},
		keys: map[keyList][]string{
			sessionKeys: {"traceloop.association.properties.thread_id"},
			userKeys:    {"traceloop.association.properties.user_id", "gen_ai.user"},
			nameKeys:    {"traceloop.entity.name"},
			modelHints:  {"llm.request.model"},
			usageHints:  {"llm.usage.total_tokens"},
		},
	},
	vercel:         vercelConvention,
	litellm:        litellmConvention,
	googleADK:      googleADKConvention,
	strands:        strandsConvention,
	pydanticAI:     pydanticAIConvention,
	logfire:        logfireConvention,
	haystack:       haystackConvention,
	crewai:         crewaiConvention,
	agentScope:     agentScopeConvention,
	mcp:            mcpConvention,
	agentFramework: agentFrameworkConvention,
	semanticKernel: semanticKernelConvention,
	mastra:         mastraConvention,
	genkit:         genkitConvention,
	claudeCode:     claudeCodeConvention,
	geminiCLI:      geminiCLIConvention,
	codex:          codexConvention,
	promptflow:     promptflowConvention,
	springAI:       springAIConvention,
	anthropic:      anthropicConvention,
	liveKit:        liveKitConvention,
	pipecat:        pipecatConvention,
	otelGenAI: {
		name: "otel-genai", version: "opentelemetry-instrumentation-genai-openai 1.3b0, Vercel AI SDK 7", prefix: "gen_ai.",
		scopes: []string{
			"opentelemetry.instrumentation.genai", "opentelemetry.instrumentation.openai_v2", "gen_ai",
			"Experimental.Microsoft.Extensions.AI",
		},
		keys: map[keyList][]string{
			sessionKeys:  {"gen_ai.conversation.id", "gen_ai.session.id"},
			userKeys:     {"enduser.id", "gen_ai.user.id"},
			toolNameKeys: {"gen_ai.tool.name"},
			toolHints:    {"gen_ai.tool.name", "gen_ai.tool.call.id"},
			modelHints:   {"gen_ai.request.model", "gen_ai.response.model"},
			usageHints: {
				"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens",
			},
		},
	},
	otel: {
		name: "plain", version: "OpenTelemetry's general semantic conventions",
		keys: map[keyList][]string{
			sessionKeys:        {"session.id"},
			userKeys:           {"user.id"},
			resourceSourceKeys: {"deployment.environment.name", "deployment.environment", "service.name"},
			lateErrorKeys:      {"error.message", "honeyhive_error_type", "error.type"},
			clientHints: {
				"http.request.method", "http.method", "db.system", "db.system.name", "rpc.system", "rpc.system.name",
			},
		},
	},
}

// ofConventions concatenates a part of all conventions, in their order.
func ofConventions[T any](part func(c *definition) []T) (all []T) {
	for i := range conventions {
		all = append(all, part(&conventions[i])...)
	}
	return all
}

// ofScope returns the convention a scope's name announces, otel if none. A prefix ends where a part of the name does:
// "ai" announces "ai" and "ai.x", but not "aiohttp". A prefix that has a separator itself may end anywhere:
// "traceloop." announces "traceloop.sdk".
func ofScope(name string) convention {
	for c := range conventions {
		for _, prefix := range conventions[c].scopes {
			if rest, ok := strings.CutPrefix(name, prefix); ok &&
				(rest == "" || strings.ContainsAny(rest[:1], "./-_@") || strings.ContainsAny(prefix, "./-")) {
				return convention(c)
			}
		}
	}
	return otel
}

// nameSystems collects the systems and frameworks of all conventions.
func (t *tables) nameSystems() {
	t.systems, t.frameworks = map[string]convention{}, map[string]bool{}
	for c := range conventions {
		for _, name := range conventions[c].systems {
			t.systems[name] = convention(c)
		}
		for _, name := range conventions[c].frameworks {
			t.frameworks[name] = true
		}
	}
}
