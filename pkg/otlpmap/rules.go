package otlpmap

import "slices"

// rule moves attributes to one field of an event. {otelGenAI, "metadata.agent_name", []string{"gen_ai.agent.name",
// "agent.name"}, asText, 0} reads: metadata.agent_name is the text of the first of these two attributes that is there;
// both are names of the GenAI conventions; the rule holds for all roles.
type rule struct {
	// The convention that the names belong to: an attribute that is first mentioned here shows it (see tables.slot).
	by convention
	// to is bucket.key, or a bucket alone where the reader writes members of its own.
	to string
	// from are the sources, in order: an attribute's name; a family of attributes, "p.N" for
	// p.0…, p.1…, and "p.*" for everything below p; one with a part that may be any, "p.?.x";
	// or "@messages", the messages in the span's events. The first that can be read fills the
	// field.
	from []string
	// How the value is read, and for which roles of spans the rule holds; 0: for all.
	as reader
	on spanRole // 0: all
}

// rules is the whole mapping of attributes to the objects of an event, in order of precedence:
// a rule never overwrites what an earlier one filled. The stages:
//
//  1. facts: what a convention knows better than the common rules, such as a model's name of its own
//  2. the common small facts: metadata, counts of tokens, settings of a call
//  3. content: what went in and came out, in the attributes of a convention
//  4. the common families of attributes with messages (llm.input_messages.N)
//  5. additions: what a convention has besides the GenAI attributes
//  6. the common attributes with content, from the most structured (gen_ai.input.messages) to the least (input.value)
//  7. fallbacks: attributes that are read only if nothing common was there
//  8. instructions without messages: where there are any, the instructions stand before them (see putMessages)
//  9. caller: metadata of the caller, whose keys may be any, so that none takes the place of a known field
//
// Within a stage the conventions come in their order.
var rules = slices.Concat(
	ofConventions(func(c *definition) []rule { return c.facts }),
	metadataRules, usageRules, configRules,
	ofConventions(func(c *definition) []rule { return c.content }),
	flatRules,
	ofConventions(func(c *definition) []rule { return c.additions }),
	contentRules,
	ofConventions(func(c *definition) []rule { return c.fallbacks }),
	[]rule{{otelGenAI, "inputs.chat_history", []string{"gen_ai.system_instructions"}, asMessages, 0}},
	ofConventions(func(c *definition) []rule { return c.caller }),
)

// metadataRules are the small facts about a step: its model, provider, tool, agent, user, tags and ids. Of the names
// in a row the first that is there counts.
var metadataRules = []rule{
	// The model, its provider, and the kind of the operation.
	{otelGenAI, "metadata.model_name", modelNames, asText, 0},
	{otelGenAI, "metadata.provider", providerNames, asProvider, 0},
	{otelGenAI, "metadata.system", []string{"gen_ai.system", "llm.system", "llm.vendor", "ai.model.provider"}, asText, 0},
	{otelGenAI, "metadata.operation_name", []string{"gen_ai.operation.name", "llm.request.type", "ai.operationId"}, asText, 0},
	{openinference, "metadata.span_kind", []string{"openinference.span.kind"}, asText, 0},
	{openllmetry, "metadata.span_kind", []string{"traceloop.span.kind", "gen_ai.agent.type"}, asText, 0},
	{otelGenAI, "metadata.span_kind", []string{"gen_ai.span.kind"}, asText, 0},
	{otelGenAI, "metadata.response_id", []string{"gen_ai.response.id", "ai.response.id"}, asText, 0},
	{otelGenAI, "metadata.response_model", []string{"gen_ai.response.model", "llm.response.model", "ai.response.model"}, asText, 0},
	{otelGenAI, "metadata.finish_reasons", []string{
		"gen_ai.response.finish_reasons", "gen_ai.response.finish_reason", "llm.finish_reason",
		"llm.response.finish_reason", "ai.response.finishReason", "ai.finishReason", "ai.result.finishReason",
	}, asList, 0},
	// The agent, the tool, and what they belong to.
	{otelGenAI, "metadata.agent_name", []string{"gen_ai.agent.name", "agent.name"}, asText, 0},
	{otelGenAI, "metadata.agent_id", []string{"gen_ai.agent.id"}, asText, 0},
	{otelGenAI, "metadata.agent_description", []string{"gen_ai.agent.description"}, asText, 0},
	{otelGenAI, "metadata.tool_name", []string{"gen_ai.tool.name", "ai.toolCall.name", "tool.name"}, asText, 0},
	{otelGenAI, "metadata.tool_call_id", []string{"gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id"}, asText, 0},
	{openinference, "metadata.tool_call_id", []string{"tool.id"}, asText, onTools},
	{otelGenAI, "metadata.conversation_id", []string{"gen_ai.conversation.id"}, asText, 0},
	{openllmetry, "metadata.workflow_name", []string{"traceloop.workflow.name", "gen_ai.workflow.name"}, asText, 0},
	// Times, versions and descriptions.
	{otelGenAI, "metadata.time_to_first_token_ms", []string{
		"gen_ai.response.time_to_first_chunk", "gen_ai.client.operation.time_to_first_chunk",
		"gen_ai.server.time_to_first_token",
	}, asSeconds, 0},
	{vercel, "metadata.time_to_first_token_ms", []string{"ai.response.msToFirstChunk", "ai.stream.msToFirstChunk"}, asNumber, 0},
	{otelGenAI, "metadata.agent_version", []string{"gen_ai.agent.version"}, asText, 0},
	{otelGenAI, "metadata.tool_description", []string{"gen_ai.tool.description", "tool.description"}, asText, 0},
	{otelGenAI, "metadata.tool_type", []string{"gen_ai.tool.type"}, asText, 0},
	{otelGenAI, "metadata.data_source_id", []string{"gen_ai.data_source.id"}, asText, 0},
	{otelGenAI, "metadata.system_fingerprint", []string{
		"gen_ai.openai.response.system_fingerprint", "openai.response.system_fingerprint",
	}, asText, 0},
	{otelGenAI, "metadata.service_tier", []string{"gen_ai.openai.response.service_tier", "openai.response.service_tier"}, asText, 0},
	// What the caller adds, and the user.
	{openinference, "metadata.tags", []string{"tag.tags", "ai.telemetry.metadata.tags", "ai.settings.context.tags"}, asList, 0},
	{otel, "metadata.tags", []string{"tags"}, asList, 0},
	{openinference, "metadata.tool_parameters", []string{"tool.parameters"}, asDefinition, 0},
	{openinference, "metadata.tool_schema", []string{"tool.json_schema"}, asJSON, 0},
	{openinference, "metadata.input_mime_type", []string{"input.mime_type"}, asText, 0},
	{openinference, "metadata.output_mime_type", []string{"output.mime_type"}, asText, 0},
	{otel, "metadata.error_type", []string{"error.type"}, asText, 0},
	{otel, "user_properties.user_id", keyLists[userKeys], asText, 0},
	{otel, "metadata.user_id", keyLists[userKeys], asText, 0},
	{openinference, "metadata", []string{"metadata"}, asMembers, 0},
	{openllmetry, "metadata", []string{"traceloop.association.properties.*"}, asMembers, 0},
}

var (
	// modelNames: the model that answered comes before the one that was asked for. OpenInference's
	// llm.model_name is the former; what it asked for is in llm.invocation_parameters.
	modelNames = []string{
		"gen_ai.response.model", "llm.response.model_name", "llm.response.model", "llm.model_name", "ai.response.model",
		"gen_ai.request.model", "llm.request.model", "llm.request.model_name", "ai.model.id", "embedding.model_name", "reranker.model_name",
		"langsmith.metadata.ls_model_name",
	}

	// providerNames: the provider's own name comes before that of a system, which may be a framework (see readProvider).
	providerNames = []string{
		"gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "llm.vendor", "ai.model.provider",
		"traceloop.association.properties.ls_provider", "langsmith.metadata.ls_provider",
	}
)

// usageRules are counts of tokens and costs, as the span reports them. The two counts that frameworks call prompt and
// input, or completion and output, are the same (see countKeys).
var usageRules = []rule{
	{otelGenAI, "metadata.prompt_tokens", []string{
		"gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens", "llm.token_count.prompt",
		"gen_ai.response.prompt_tokens", "ai.usage.inputTokens", "ai.usage.promptTokens", "ai.usage.tokens",
	}, asCount, 0},
	{otelGenAI, "metadata.completion_tokens", []string{
		"gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.usage.completion_tokens",
		"llm.token_count.completion", "gen_ai.response.completion_tokens", "ai.usage.outputTokens",
		"ai.usage.completionTokens",
	}, asCount, 0},
	{otelGenAI, "metadata.total_tokens", []string{
		"gen_ai.usage.total_tokens", "llm.usage.total_tokens", "llm.token_count.total", "ai.usage.totalTokens",
	}, asCount, 0},
	{otelGenAI, "metadata.cache_read_input_tokens", []string{
		"gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
		"gen_ai.usage.details.cache_read_tokens", "llm.token_count.prompt_details.cache_read",
		"ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens",
		"gen_ai.usage.input_cached_tokens", "gen_ai.usage.cached_input_tokens", "gen_ai.usage.cached_tokens",
		"gen_ai.usage.prompt_tokens_details.cached_tokens",
	}, asCount, 0},
	{otelGenAI, "metadata.cache_write_input_tokens", []string{
		"gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_write.input_tokens",
		"gen_ai.usage.cache_creation_input_tokens", "gen_ai.usage.cache_write_input_tokens",
		"llm.token_count.prompt_details.cache_write", "ai.usage.inputTokenDetails.cacheWriteTokens",
	}, asCount, 0},
	{otelGenAI, "metadata.reasoning_tokens", []string{
		"gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens", "gen_ai.usage.details.reasoning_tokens",
		"llm.token_count.completion_details.reasoning", "ai.usage.outputTokenDetails.reasoningTokens",
		"ai.usage.reasoningTokens", "gen_ai.usage.reasoning_output_tokens", "gen_ai.usage.completion_tokens_details.reasoning_tokens",
	}, asCount, 0},
	{otelGenAI, "metadata.audio_input_tokens", []string{
		"gen_ai.usage.audio.input_tokens", "gen_ai.usage.details.input_audio_tokens", "llm.token_count.prompt_details.audio",
		"gen_ai.usage.input_audio_tokens", "gen_ai.usage.audio_input_tokens",
	}, asCount, 0},
	{otelGenAI, "metadata.audio_output_tokens", []string{
		"gen_ai.usage.audio.output_tokens", "gen_ai.usage.details.output_audio_tokens", "llm.token_count.completion_details.audio",
		"gen_ai.usage.output_audio_tokens", "gen_ai.usage.audio_output_tokens",
	}, asCount, 0},
	{otelGenAI, "metadata.cost", []string{"gen_ai.usage.cost", "gen_ai.cost.total_cost", "llm.cost.total", "operation.cost"}, asCost, 0},
}

// configRules are the settings of a call. The last two rules take what no rule before them knows: any other setting
// below gen_ai.request, and OpenInference's JSON of all parameters.
var configRules = []rule{
	{otelGenAI, "config.model", modelNames, asText, 0},
	{otelGenAI, "config.request_model", []string{
		"gen_ai.request.model", "llm.request.model", "llm.request.model_name", "ai.model.id",
	}, asOther, 0},
	{otelGenAI, "config.provider", providerNames, asProvider, 0},
	// Sampling and bounds of the answer.
	{otelGenAI, "config.temperature", []string{"gen_ai.request.temperature", "llm.temperature", "ai.settings.temperature"}, asNumber, 0},
	{otelGenAI, "config.top_p", []string{"gen_ai.request.top_p", "llm.top_p", "ai.settings.topP"}, asNumber, 0},
	{otelGenAI, "config.top_k", []string{
		"gen_ai.request.top_k", "llm.top_k", "reranker.top_k", "ai.settings.topK", "gen_ai.retrieval.top_k",
		"db.vector.query.top_k", "db.chroma.query.n_results", "pinecone.query.top_k",
	}, asNumber, 0},
	{otelGenAI, "config.max_tokens", []string{
		"gen_ai.request.max_tokens", "llm.request.max_tokens", "ai.settings.maxOutputTokens", "ai.settings.maxTokens",
	}, asNumber, 0},
	{otelGenAI, "config.frequency_penalty", []string{
		"gen_ai.request.frequency_penalty", "llm.frequency_penalty", "ai.settings.frequencyPenalty",
	}, asNumber, 0},
	{otelGenAI, "config.presence_penalty", []string{
		"gen_ai.request.presence_penalty", "llm.presence_penalty", "ai.settings.presencePenalty",
	}, asNumber, 0},
	{otelGenAI, "config.seed", []string{"gen_ai.request.seed", "gen_ai.openai.request.seed", "ai.settings.seed"}, asNumber, 0},
	{otelGenAI, "config.stop_sequences", []string{
		"gen_ai.request.stop_sequences", "llm.chat.stop_sequences", "ai.settings.stopSequences",
	}, asList, 0},
	{otelGenAI, "config.choice_count", []string{"gen_ai.request.choice.count"}, asNumber, 0},
	{otelGenAI, "config.response_format", []string{
		"gen_ai.output.type", "gen_ai.openai.request.response_format", "ai.settings.output",
	}, asJSON, 0},
	// The template that the prompt was made from.
	{otelGenAI, "config.prompt_template", []string{"llm.prompt_template.template", "traceloop.prompt.template"}, asText, 0},
	{otelGenAI, "config.prompt_variables", []string{"llm.prompt_template.variables", "traceloop.prompt.template_variables"}, asJSON, 0},
	{otelGenAI, "config.prompt_variables", []string{"gen_ai.prompt.variable.*"}, asTree, 0},
	{otelGenAI, "config.prompt_name", []string{"gen_ai.prompt.name", "traceloop.prompt.key"}, asText, 0},
	{otelGenAI, "config.prompt_version", []string{
		"gen_ai.prompt.version", "llm.prompt_template.version", "traceloop.prompt.version",
	}, asJSON, 0},
	{otelGenAI, "config.dimensions", []string{"gen_ai.embeddings.dimension.count"}, asNumber, 0},
	{otelGenAI, "config.service_tier", []string{"gen_ai.openai.request.service_tier", "openai.request.service_tier"}, asText, 0},
	{openllmetry, "config.stream", []string{"llm.is_streaming", "gen_ai.is_streaming"}, asBool, 0},
	// Tools: flattened, or as JSON.
	{openinference, "config.tools", []string{"llm.tools.N"}, asToolList, 0},
	{openllmetry, "config.tools", []string{"llm.request.functions.N"}, asToolList, 0},
	{otelGenAI, "config.tools", []string{"gen_ai.tool.definitions", "gen_ai.tool_definitions"}, asTools, 0}, // the latter: Google ADK 1.27 to 1.31
	// Everything else.
	{otelGenAI, "config", []string{"gen_ai.request.*"}, asMembers, 0},
	{openinference, "config", []string{"llm.invocation_parameters", "embedding.invocation_parameters"}, asSettings, 0},
}

// flatRules are what went into a step and what came out of it, in families of attributes.
var flatRules = []rule{
	{openinference, "inputs.chat_history", []string{"llm.input_messages.N"}, asFlatMessages, 0},
	{openinference, "outputs", []string{"llm.output_messages.N"}, asFlatAnswer, 0},
	// llm.prompts is OpenInference's, with a level "prompt", or OpenLLMetry's, with role and content: a reader
	// that finds nothing fills nothing.
	{openinference, "inputs.chat_history", []string{"llm.prompts.N"}, asPrompts, 0},
	{openllmetry, "inputs.chat_history", []string{"llm.prompts.N"}, asFlatMessages, notText},
	{openllmetry, "outputs", []string{"llm.completions.N"}, asFlatAnswer, 0},
	{openinference, "metadata.evaluations", []string{"evaluations.N", "trace.evaluations.N", "session.evaluations.N"}, asEvaluations, 0},
	{openinference, "metadata.evaluations", []string{"annotations.N", "trace.annotations.N", "session.annotations.N"}, asEvaluations, 0},
	{openinference, "outputs", []string{"llm.choices.N"}, asFlatAnswer, 0},
	{openllmetry, "inputs.chat_history", []string{"gen_ai.prompt.N"}, asFlatMessages, notText},
	{openllmetry, "outputs", []string{"gen_ai.completion.N"}, asFlatAnswer, 0},
	{openinference, "inputs.texts", []string{"embedding.embeddings.N"}, asTexts, 0},
	{openllmetry, "inputs.texts", []string{"gen_ai.prompt.N"}, asTexts, onEmbedding},
	{openinference, "inputs.query", []string{"reranker.query"}, asText, 0},
	{openinference, "inputs.documents", []string{"reranker.input_documents.N"}, asDocuments, 0},
	{openinference, "outputs.documents", []string{"retrieval.documents.N", "reranker.output_documents.N"}, asDocuments, 0},
}

// contentRules are what went into a step and what came out of it, in single attributes. input.value and output.value come
// last: most instrumentations repeat there what the others hold.
var contentRules = []rule{
	// Retrievals.
	{otelGenAI, "inputs.query", []string{
		"gen_ai.retrieval.query.text", "gen_ai.memory.query.text", "retrieval.query", "gen_ai.retrieval.query", "gen_ai.memory.search.query",
	}, asText, 0},
	{otelGenAI, "outputs.documents", []string{"gen_ai.retrieval.documents", "retrieval.document"}, asDocumentList, 0},
	{otelGenAI, "outputs.documents", []string{"gen_ai.memory.records"}, asDocumentList, onRetriever},
	{otelGenAI, "inputs.documents", []string{"gen_ai.memory.records"}, asDocumentList, onTool},
	{otelGenAI, "inputs.texts", []string{"gen_ai.input.messages"}, asMessageTexts, onEmbedding},
	{otelGenAI, "inputs.chat_history", []string{"gen_ai.input.messages", "gen_ai.agent.invocation_input"}, asMessages, 0},
	{otelGenAI, "outputs", []string{"gen_ai.output.messages", "gen_ai.agent.invocation_output"}, asAnswer, 0},
	{openinference, "outputs.finish_reason", []string{
		"llm.finish_reason", "gen_ai.response.finish_reasons", "gen_ai.response.finish_reason",
	}, asFirst, onModel},
	// Tools.
	{otelGenAI, "inputs", []string{"gen_ai.tool.call.arguments", "tool_call.function.arguments"}, asInput, onTools},
	{otelGenAI, "outputs", []string{"gen_ai.tool.call.result"}, asOutput, onTools},
	// Messages in span events, and then values of any shape.
	{otelGenAI, "inputs.chat_history", []string{"@messages"}, asEventMessages, 0},
	{otelGenAI, "inputs", []string{"gen_ai.workflow.input", "ag2.human_input.prompt"}, asInput, 0},
	{otelGenAI, "outputs", []string{"gen_ai.workflow.output", "ag2.human_input.response"}, asOutput, 0},
	{openllmetry, "inputs", []string{"traceloop.entity.input"}, asInput, 0},
	{openllmetry, "outputs", []string{"traceloop.entity.output"}, asOutput, 0},
	{openinference, "inputs", []string{"input.value"}, asInput, 0},
	{openinference, "outputs", []string{"output.value"}, asOutput, 0},
	{openinference, "inputs.chat_history", []string{"llm.invocation_parameters"}, asParameterPrompt, onModel},
}
