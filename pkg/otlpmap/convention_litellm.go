package otlpmap

// litellmConvention is LiteLLM, a proxy and client library for the APIs of many providers. llm.<provider>.* has the
// raw request and answer, below the span of the call.
var litellmConvention = definition{
	name:       "litellm",
	scopes:     []string{"litellm"},
	version:    "litellm 1.106, and 1.110 with its second integration",
	earlyKinds: litellmRequest,
	kinds:      litellmKinds,
	fallbacks:  litellmRules,
	caller:     litellmCaller,
	keys: map[keyList][]string{
		userKeys: {
			"llm.user", "metadata.user_api_key_end_user_id", "litellm.end_user.id", "litellm.metadata.user_api_key_end_user_id",
		},
	},
}

// litellmRequest knows the span of the request as LiteLLM's provider got it: below the one that
// counts, with the same usage. It is no call of its own, and no tool.
var litellmRequest = []kindRule{
	{by: litellm, attr: spanName, is: map[string]spanRole{"raw_gen_ai_request": onChain}},
}

// litellmKinds are LiteLLM's spans that have no GenAI operation.
var litellmKinds = []kindRule{
	{by: litellm, attr: spanName, is: map[string]spanRole{"litellm_request": onModel, "guardrail": onTool},
		like: []kindPattern{{"execute_guardrail *", onTool}}},
}

// litellmRules are what LiteLLM sends beside the GenAI attributes. Its nested values are Python
// literals, in hidden_params JSON.
var litellmRules = []rule{
	{litellm, "metadata.call_id", []string{"litellm.call_id"}, asText, 0},
	{litellm, "metadata.prompt_tokens", []string{"metadata.usage_object"}, asUsage, onModel | onEmbedding},
	{litellm, "metadata.cost", []string{"litellm.cost.total"}, asCost, 0},
	{litellm, "metadata.cost", []string{"hidden_params"}, asCosts, onModel | onEmbedding},
	{litellm, "metadata.input_cost", []string{"gen_ai.cost.input_cost", "litellm.cost.input"}, asNumber, 0},
	{litellm, "metadata.output_cost", []string{"gen_ai.cost.output_cost", "litellm.cost.output"}, asNumber, 0},
	{litellm, "config.tools", []string{"gen_ai.tool.N"}, asToolList, 0},
	{litellm, "inputs.messages", []string{"llm.?.messages", "llm.?.input", "llm.?.prompt", "llm.?.contents"}, asLiteral, onChain},
	{litellm, "outputs.choices", []string{"llm.?.choices", "llm.?.output", "llm.?.content", "llm.?.candidates"}, asLiteral, onChain},
	{litellm, "inputs.guardrail_name", []string{"guardrail_name", "litellm.guardrail.name"}, asText, onTool},
	{litellm, "inputs.guardrail_mode", []string{"guardrail_mode", "litellm.guardrail.mode"}, asLiteral, onTool},
	{litellm, "outputs.result", []string{"guardrail_response", "litellm.guardrail.response"}, asLiteral, onTool},
	{litellm, "metadata.error_stacktrace", []string{"error.stack_trace", "litellm.provider.error.stack_trace"}, asText, 0},
}

// litellmCaller is the metadata of a call, flattened. Most of it is empty.
var litellmCaller = []rule{
	{otel, "metadata", []string{"metadata.*"}, asCaller, 0},
}
