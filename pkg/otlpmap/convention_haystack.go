package otlpmap

// haystackConvention is Haystack.
var haystackConvention = definition{
	name:       "haystack",
	scopes:     []string{"haystack"},
	version:    "the framework's published names",
	frameworks: []string{"haystack"},
	kinds:      haystackKinds,
	fallbacks:  haystackRules,
	caller:     haystackCaller,
	keys: map[keyList][]string{
		lateNameKeys: {"haystack.component.name"},
	},
}

// haystackKinds tell a component by its class, and the steps of an agent by their spans' names.
var haystackKinds = []kindRule{
	{by: haystack, attr: "haystack.component.type", like: []kindPattern{
		{"*Generator", onModel}, {"*Embedder", onEmbedding}, {"*Retriever", onRetriever}, {"*Ranker", onRetriever},
		{"*WebSearch", onRetriever}, {"*ToolInvoker", onTool}, {"*", onChain},
	}},
	{by: haystack, attr: spanName, is: map[string]spanRole{
		"haystack.agent.step.llm": onModel, "haystack.agent.step.tool": onTool,
	}},
}

// haystackRules are the tags of Haystack's pipelines, components and agents.
var haystackRules = []rule{
	{haystack, "metadata.component_name", []string{"haystack.component.name"}, asText, 0},
	{haystack, "metadata.component_type", []string{"haystack.component.type"}, asText, 0},
	{haystack, "config.max_steps", []string{"haystack.agent.max_steps"}, asNumber, 0},
	{haystack, "config.tools", []string{"haystack.agent.tools"}, asTools, 0},
	{haystack, "inputs", []string{
		"haystack.component.input", "haystack.agent.input", "haystack.pipeline.input_data",
		"haystack.agent.step.llm.input", "haystack.agent.step.tool.input",
	}, asInput, 0},
	{haystack, "outputs", []string{
		"haystack.component.output", "haystack.agent.output", "haystack.pipeline.output_data",
		"haystack.agent.step.llm.output", "haystack.agent.step.tool.output",
	}, asOutput, 0},
}

// haystackCaller is what the caller says of a pipeline.
var haystackCaller = []rule{
	{haystack, "metadata", []string{"haystack.pipeline.metadata"}, asMembers, 0},
}
