package otlpmap

// pydanticAIConvention is pydantic-ai.
var pydanticAIConvention = definition{
	name:      "pydantic-ai",
	scopes:    []string{"pydantic-ai"},
	version:   "pydantic-ai-slim 2.68.0, and the forms of its versions 1 and 2",
	additions: pydanticRules,
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
