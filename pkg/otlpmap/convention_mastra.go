package otlpmap

// mastraConvention is Mastra's exporter: GenAI attributes, and inputs, outputs and the caller's metadata under names of its own.
var mastraConvention = definition{
	name:      "mastra",
	scopes:    []string{"@mastra/otel"},
	version:   "@mastra/core 1.71.0, @mastra/otel-exporter 1.4.0",
	prefix:    "mastra.",
	facts:     mastraFacts,
	additions: mastraRules,
	caller:    mastraCaller,
	keys: map[keyList][]string{
		sessionKeys: {
			"mastra.metadata.sessionId", "mastra.metadata.session_id", "mastra.metadata.threadId", "mastra.metadata.thread_id",
		},
		userKeys: {"mastra.metadata.userId", "mastra.metadata.user_id"},
	},
}

var mastraFacts = []rule{
	{mastra, "metadata.span_kind", []string{"mastra.span.type"}, asText, 0},
	{mastra, "metadata.time_to_first_token_ms", []string{"mastra.completion_start_time"}, asSinceStart, 0},
}

// mastraRules are what went into a step and came out of it. The attribute has the kind of the step in its name.
var mastraRules = []rule{
	{mastra, "inputs.chat_history", []string{"mastra.agent_run.input"}, asPrompt, onChain},
	{mastra, "inputs", []string{"mastra.?.input"}, asInput, 0},
	{mastra, "outputs", []string{"mastra.?.output"}, asOutput, 0},
}

var mastraCaller = []rule{
	{mastra, "metadata", []string{"mastra.metadata.*"}, asCaller, 0},
}
