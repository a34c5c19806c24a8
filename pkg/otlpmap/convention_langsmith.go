package otlpmap

// langsmithConvention is LangSmith.
var langsmithConvention = definition{
	name:       "langsmith",
	scopes:     []string{"langsmith"},
	version:    "OTel export with openai 2.54, and LangChain's serialised runs",
	prefix:     "langsmith.",
	earlyKinds: langsmithKinds,
	facts:      langsmithRules,
	content:    langsmithContent,
	caller:     langsmithCaller,
	keys: map[keyList][]string{
		sessionKeys: {"langsmith.metadata.session_id", "langsmith.metadata.thread_id", "langsmith.metadata.conversation_id"},
		userKeys:    {"langsmith.metadata.user_id"},
	},
}

// langsmithKinds are the types of LangSmith's runs. They come before gen_ai.operation.name: the
// exporter says "embeddings" of retrievers and "chat" of prompts.
var langsmithKinds = []kindRule{
	{by: langsmith, attr: "langsmith.span.kind", is: map[string]spanRole{
		"llm": onModel, "embedding": onEmbedding, "tool": onTool, "retriever": onRetriever,
		"chain": onChain, "prompt": onChain, "parser": onChain,
	}},
}

// langsmithRules are LangSmith's runs. gen_ai.prompt and gen_ai.completion without an index are
// a run's inputs and outputs as JSON. langsmith.trace.session_name is the project, no session.
var langsmithRules = []rule{
	{langsmith, "metadata.span_kind", []string{"langsmith.span.kind"}, asText, 0},
	{langsmith, "metadata.project", []string{"langsmith.trace.session_name"}, asText, 0},
	{langsmith, "metadata.trace_name", []string{"langsmith.trace.name"}, asText, 0},
	{langsmith, "metadata.thread_id", []string{
		"langsmith.metadata.thread_id", "metadata.thread_id", "traceloop.association.properties.thread_id",
	}, asText, 0},
	{langsmith, "metadata.tags", []string{"langsmith.span.tags"}, asTags, 0},
	{langsmith, "config.temperature", []string{"langsmith.metadata.ls_temperature"}, asNumber, 0},
	{langsmith, "config.max_tokens", []string{"langsmith.metadata.ls_max_tokens"}, asNumber, 0},
	{langsmith, "config.stop_sequences", []string{"langsmith.metadata.ls_stop"}, asList, 0},
	{langsmith, "metadata.prompt_tokens", []string{"langsmith.metadata.usage_metadata"}, asUsage, 0},
	{langsmith, "metadata.cache_read_input_tokens", []string{
		"gen_ai.usage.input_token_details", "gen_ai.usage.output_token_details",
	}, asUsage, 0},
}

// langsmithContent is what went into a step and what came out of it.
var langsmithContent = []rule{
	{otelGenAI, "inputs", []string{"gen_ai.prompt"}, asInput, 0},
	{otelGenAI, "outputs", []string{"gen_ai.completion"}, asRunOutput, 0},
	{langsmith, "config", []string{"langsmith.metadata.ls_invocation_params"}, asSettings, 0},
}

// langsmithCaller is what the caller says of a run. The exporter's own environment is in it, too:
// see asCaller.
var langsmithCaller = []rule{
	{langsmith, "metadata", []string{"langsmith.metadata.*"}, asCaller, 0},
}
