package otlpmap

// vercelConvention is the AI SDK of Vercel, up to version 6. The attributes of version 7 are those of the GenAI
// conventions.
var vercelConvention = definition{
	name:      "vercel-ai",
	scopes:    []string{"ai"},
	version:   "AI SDK 4.3 and 6.0.326, and the documentation of 3.3 to 6",
	prefix:    "ai.",
	additions: vercelRules,
	keys: map[keyList][]string{
		sessionKeys: {
			"ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.session_id", "ai.settings.context.sessionId", "ai.settings.context.session_id",
		},
		userKeys: {
			"ai.telemetry.metadata.userId", "ai.telemetry.metadata.user_id", "ai.settings.context.userId", "ai.settings.context.user_id",
		},
		toolNameKeys:  {"ai.toolCall.name"},
		chainNameKeys: {"ai.telemetry.functionId"},
		toolHints:     {"ai.toolCall.name"},
		modelHints:    {"ai.model.id"},
	},
}

// vercelRules are the attributes of the Vercel AI SDK 3 to 6, scope ai; version 7 uses the
// GenAI conventions. Its counts, models and settings stand in the lists of the other rules.
// Names: telemetry page of the SDK's documentation, 3.3 to 6.0; ai.result.* are those of 3.
var vercelRules = []rule{
	{vercel, "metadata.function_id", []string{"ai.telemetry.functionId"}, asText, 0},
	{vercel, "metadata.agent_name", []string{"ai.telemetry.functionId"}, asText, onChain},
	{vercel, "metadata.provider_metadata", []string{"ai.response.providerMetadata", "ai.result.providerMetadata"}, asProviderFacts, 0},
	{vercel, "metadata.response_timestamp", []string{"ai.response.timestamp"}, asText, 0},
	{vercel, "metadata", []string{"ai.telemetry.metadata.*"}, asMembers, 0},
	{vercel, "metadata", []string{"ai.settings.context.*"}, asMembers, 0},
	{vercel, "config.tool_choice", []string{"ai.prompt.toolChoice"}, asJSON, 0},
	{vercel, "config.tools", []string{"ai.prompt.tools"}, asTools, 0},
	{vercel, "config.response_schema", []string{"ai.schema"}, asJSON, 0},
	{vercel, "config.response_schema_name", []string{"ai.schema.name"}, asText, 0},
	{vercel, "config.response_schema_description", []string{"ai.schema.description"}, asText, 0},
	{vercel, "config", []string{"ai.settings.*"}, asMembers, 0},

	{vercel, "inputs.chat_history", []string{"ai.prompt.messages"}, asMessages, 0},
	{vercel, "inputs.chat_history", []string{"ai.prompt"}, asPrompt, 0},
	{vercel, "outputs.content", []string{"ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object"}, asText, 0},
	{vercel, "outputs.tool_calls", []string{"ai.response.toolCalls", "ai.result.toolCalls"}, asCalls, 0},
	{vercel, "outputs.reasoning", []string{"ai.response.reasoning"}, asText, 0},
	{vercel, "outputs.files", []string{"ai.response.files"}, asJSON, 0},
	{vercel, "outputs.finish_reason", []string{"ai.response.finishReason", "ai.finishReason", "ai.result.finishReason"}, asFirst, 0},
	{vercel, "inputs", []string{"ai.toolCall.args", "ai.toolCall.input"}, asInput, onTools},
	{vercel, "outputs", []string{"ai.toolCall.result", "ai.toolCall.output"}, asOutput, onTools},
	{vercel, "inputs.texts", []string{"ai.values", "ai.value"}, asTextList, 0},
	{vercel, "metadata.embedding", []string{"ai.embeddings", "ai.embedding"}, asVectors, 0},
	{vercel, "inputs.documents", []string{"ai.documents"}, asJSONList, 0},
	{vercel, "outputs.ranking", []string{"ai.ranking"}, asJSONList, 0},
}
