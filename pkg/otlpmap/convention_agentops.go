package otlpmap

// agentOpsConvention is AgentOps: spans of decorated functions have attributes of its own, model calls the flat GenAI ones.
var agentOpsConvention = definition{
	name:       "agentops",
	scopes:     []string{"agentops"},
	version:    "agentops 0.4.21",
	prefix:     "agentops.",
	earlyKinds: agentOpsKinds,
	kinds:      agentOpsRequests,
	facts:      agentOpsRules,
	content:    agentOpsContent,
	keys: map[keyList][]string{
		toolHints: {"tool.call.id"},
	},
}

// agentOpsKinds are the kinds of its spans. Its instrumentation of OpenAI writes them as Python's enumeration does.
var agentOpsKinds = []kindRule{
	{by: agentOps, attr: "agentops.span.kind", is: map[string]spanRole{"tool": onTool, "guardrail": onTool, "llm": onModel}, like: []kindPattern{
		{"*.TOOL", onTool}, {"*.GUARDRAIL", onTool}, {"*.LLM", onModel}, {"*", onChain},
	}},
}

// agentOpsRequests are the kinds of requests, of model calls.
var agentOpsRequests = []kindRule{
	{by: agentOps, attr: "gen_ai.request.type", is: map[string]spanRole{
		"chat": onModel, "completion": onModel, "embedding": onEmbedding, "rerank": onRetriever,
	}},
}

// agentOpsRules are the small facts of its spans.
var agentOpsRules = []rule{
	{agentOps, "metadata.span_kind", []string{"agentops.span.kind"}, asText, 0},
	{agentOps, "metadata.operation_name", []string{"gen_ai.request.type"}, asText, 0},
	{agentOps, "metadata.tool_call_id", []string{"tool.call.id"}, asText, 0},
	{agentOps, "metadata.time_to_first_token_ms", []string{"gen_ai.streaming.time_to_first_token"}, asSeconds, 0},
	{agentOps, "metadata.system_fingerprint", []string{"gen_ai.openai.system_fingerprint"}, asText, 0},
	{agentOps, "config.stream", []string{"gen_ai.request.streaming"}, asBool, 0},
	{agentOps, "config.tools", []string{"gen_ai.request.functions.N"}, asToolList, 0},
	{agentOps, "inputs", []string{"tool.parameters"}, asCallInput, onTool},
}

// agentOpsContent is what went into a step and what came out of it: agentops.entity.input, agentops.tool.input.
var agentOpsContent = []rule{
	{agentOps, "inputs", []string{"agentops.?.input"}, asInput, 0},
	{agentOps, "outputs", []string{"agentops.?.output"}, asOutput, 0},
}

// asCallInput reads what a tool was called with from tool.parameters, where AgentOps has it. Elsewhere that may be the tool's
// definition.
var asCallInput = reader{
	name: "call's input", about: "as input, of AgentOps's spans",
	whole: func(b *eventBuilder, t target, a *attr) {
		if (b.s.scope.by == agentOps || b.s.at(b.attrs, compiled.agentOpsKind) != nil) && b.obj[bucketInputs].empty() {
			asInput.whole(b, t, a)
		}
	},
}
