package otlpmap

// logfireKinds know Logfire's spans of model calls by their templates: its first versions sent
// no operation, and of a streamed call no usage.
var logfireKinds = []kindRule{
	{by: logfire, attr: "logfire.msg_template", like: []kindPattern{
		{"Chat Completion with *", onModel}, {"Completion with *", onModel}, {"Responses API with *", onModel}, {"Message with *", onModel},
		{"streaming response from *", onModel}, {"Embedding Creation with *", onEmbedding}, {"Image Generation with *", onModel},
		{"running tool*", onTool},
	}},
}

// pydanticRules are pydantic-ai's spans: version 1 has the messages as a list of events, version
// 2 and later as GenAI messages, of an agent all of them in one attribute.
var pydanticRules = []rule{
	{pydanticAI, "metadata.agent_name", []string{"agent_name"}, asText, 0},
	{pydanticAI, "metadata.agent_call_id", []string{"gen_ai.agent.call.id"}, asText, 0},
	{pydanticAI, "config.model", []string{"model_name"}, asText, onChain},
	{pydanticAI, "metadata.aggregate_usage", []string{"gen_ai.aggregated_usage.*"}, asTree, 0},
	{pydanticAI, "inputs.chat_history", []string{"pydantic_ai.all_messages", "all_messages_events"}, asConversation, 0},
	{pydanticAI, "inputs.chat_history", []string{"events"}, asConversation, onModel},
	{pydanticAI, "outputs", []string{"final_result"}, asFinal, 0},
	{pydanticAI, "inputs", []string{"tool_arguments"}, asInput, onTool},
	{pydanticAI, "outputs", []string{"tool_response"}, asOutput, onTool},
	{pydanticAI, "config.tools", []string{"model_request_parameters"}, asFunctionTools, 0},
}

// logfireRules are those of Logfire: of its own instrumentations of model APIs the request and
// the answer as JSON, of any span the level and the tags. A streamed answer comes in a span of
// its own after the call, which is a model call without usage.
var logfireRules = []rule{
	{logfire, "metadata.tags", []string{"logfire.tags"}, asList, 0},
	{logfire, "metadata.level_number", []string{"logfire.level_num"}, asNumber, 0},
	{logfire, "metadata.prompt_tokens", []string{"gen_ai.usage.raw"}, asUsage, onModel | onEmbedding},
	{logfire, "inputs", []string{"request_data"}, asInput, onModel | onEmbedding},
	{logfire, "outputs", []string{"response_data"}, asOutput, onModel | onEmbedding},
}
