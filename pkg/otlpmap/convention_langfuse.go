package otlpmap

// langfuseConvention is Langfuse.
var langfuseConvention = definition{
	name:       "langfuse",
	scopes:     []string{"langfuse-sdk"},
	version:    "Python SDK 5.0.4, and the names of its releases since 3.0",
	prefix:     "langfuse.",
	earlyKinds: langfuseKinds,
	facts:      langfuseRules,
	content:    langfuseContent,
	caller:     langfuseCaller,
	keys: map[keyList][]string{
		sessionKeys:        {"langfuse.session.id"},
		sourceKeys:         {"langfuse.environment"},
		resourceSourceKeys: {"langfuse.environment"},
		userKeys:           {"langfuse.user.id"},
	},
}

// langfuseKinds are the types of Langfuse's observations. A span with a model or usage is what
// SDKs before 3.3 make of a model call that is not declared one.
var langfuseKinds = []kindRule{
	{by: langfuse, attr: "langfuse.observation.type", is: map[string]spanRole{
		"generation": onModel, "embedding": onEmbedding, "tool": onTool, "retriever": onRetriever, "guardrail": onTool,
		"agent": onChain, "chain": onChain, "evaluator": onChain, "event": onChain,
	}},
	{by: langfuse, attr: "langfuse.observation.model.name", like: []kindPattern{{"*", onModel}}},
	{by: langfuse, attr: "langfuse.observation.usage_details", like: []kindPattern{{"*", onModel}}},
	{by: langfuse, attr: "langfuse.observation.type", is: map[string]spanRole{"span": onChain}},
}

// langfuseRules are Langfuse's observations. Values that are no text are JSON. Its users write
// session.id and user.id, older SDKs langfuse.session.id and langfuse.user.id.
var langfuseRules = []rule{
	{langfuse, "metadata.model_name", []string{"langfuse.observation.model.name"}, asText, 0},
	{langfuse, "metadata.span_kind", []string{"langfuse.observation.type"}, asText, 0},
	{langfuse, "metadata.level", []string{"langfuse.observation.level"}, asText, 0},
	{langfuse, "metadata.release", []string{"langfuse.release"}, asText, 0},
	{langfuse, "metadata.version", []string{"langfuse.version", "langfuse.observation.version"}, asText, 0},
	{langfuse, "metadata.trace_name", []string{"langfuse.trace.name"}, asText, 0},
	{langfuse, "metadata.tags", []string{"langfuse.trace.tags"}, asList, 0},
	{langfuse, "metadata.time_to_first_token_ms", []string{"langfuse.observation.completion_start_time"}, asSinceStart, 0},
	{langfuse, "metadata.prompt_tokens", []string{"langfuse.observation.usage_details", "langfuse.observation.usage"}, asUsage, 0},
	{langfuse, "metadata.cost", []string{"langfuse.observation.cost_details"}, asCosts, 0},
	{langfuse, "config.model", []string{"langfuse.observation.model.name"}, asText, 0},
	{langfuse, "config", []string{"langfuse.observation.model.parameters"}, asSettings, 0},
	{langfuse, "config.prompt_name", []string{"langfuse.observation.prompt.name"}, asText, 0},
	{langfuse, "config.prompt_version", []string{"langfuse.observation.prompt.version"}, asJSON, 0},
}

// langfuseContent is what went into a step and what came out of it.
var langfuseContent = []rule{
	{langfuse, "inputs", []string{"langfuse.observation.input"}, asInput, 0},
	{langfuse, "outputs", []string{"langfuse.observation.output"}, asOutput, 0},
	{langfuse, "inputs", []string{"langfuse.trace.input"}, asInput, onChain},
	{langfuse, "outputs", []string{"langfuse.trace.output"}, asOutput, onChain},
}

// langfuseCaller is what the caller says of a trace and its steps.
var langfuseCaller = []rule{
	{langfuse, "metadata", []string{"langfuse.observation.metadata.*"}, asCaller, 0},
	{langfuse, "metadata", []string{"langfuse.trace.metadata.*"}, asCaller, 0},
}
