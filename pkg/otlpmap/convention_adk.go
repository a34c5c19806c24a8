package otlpmap

// googleADKConvention is Google's Agent Development Kit.
var googleADKConvention = definition{
	name:       "google-adk",
	scopes:     []string{"gcp.vertex.agent"},
	version:    "google-adk 2.13.0, and the source of 1.0",
	prefix:     "gcp.vertex.agent.",
	systems:    []string{"gcp.vertex.agent"},
	frameworks: []string{"gcp.vertex.agent"},
	facts:      adkCounts,
	additions:  adkRules,
	keys: map[keyList][]string{
		sessionKeys: {"gcp.vertex.agent.session_id"},
	},
}

// adkCounts come before the counts of the GenAI attributes: Google ADK before 1.3 gave the total
// as gen_ai.usage.output_tokens, and its raw answer tells each count.
var adkCounts = []rule{
	{googleADK, "metadata.prompt_tokens", []string{"gcp.vertex.agent.llm_response"}, asGeminiUsage, onModel},
	{googleADK, "metadata.reasoning_tokens", []string{"gen_ai.usage.experimental.reasoning_tokens"}, asThoughts, onModel},
}

// asThoughts takes the tokens of thoughts as Google ADK counts them before 2.3: beside the completion, as the API does. Without its raw
// answer no total tells so.
var asThoughts = reader{
	name: "thoughts", about: "as count; without a total they are added to the completion",
	whole: func(b *eventBuilder, t target, a *attr) {
		asCount.whole(b, t, a)
		b.tokens.thoughtsApart = true
	},
}

// adkRules are what Google ADK (scope gcp.vertex.agent) sends beside or, in versions before 1.17,
// instead of the GenAI attributes.
var adkRules = []rule{
	{googleADK, "metadata.invocation_id", []string{"gcp.vertex.agent.invocation_id"}, asText, 0},
	{googleADK, "metadata.adk_event_id", []string{"gcp.vertex.agent.event_id"}, asText, 0},
	{googleADK, "metadata.adk_associated_event_ids", []string{"gcp.vertex.agent.associated_event_ids"}, asList, 0},
	{googleADK, "inputs.chat_history", []string{"gcp.vertex.agent.llm_request"}, asGeminiRequest, onModel},
	{googleADK, "outputs", []string{"gcp.vertex.agent.llm_response"}, asGeminiAnswer, onModel},
	{googleADK, "inputs", []string{"gcp.vertex.agent.tool_call_args"}, asInput, onTools},
	{googleADK, "outputs", []string{"gcp.vertex.agent.tool_response"}, asOutput, onTools},
	{googleADK, "inputs.chat_history", []string{"gcp.vertex.agent.data"}, asGeminiRequest, 0},
}
