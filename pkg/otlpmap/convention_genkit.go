package otlpmap

// genkitConvention is Genkit. Its attributes have colons.
var genkitConvention = definition{
	name:      "genkit",
	scopes:    []string{"genkit-tracer"},
	version:   "Genkit 1.42.0",
	prefix:    "genkit:",
	kinds:     genkitKinds,
	facts:     genkitFacts,
	additions: genkitRules,
	keys: map[keyList][]string{
		sessionKeys: {"genkit:sessionId", "genkit:metadata:sessionId"},
		nameKeys:    {"genkit:name"},
	},
}

var genkitKinds = []kindRule{
	{by: genkit, attr: "genkit:metadata:subtype", is: map[string]spanRole{
		"model": onModel, "background-model": onModel, "embedder": onEmbedding, "retriever": onRetriever, "reranker": onRetriever,
		"indexer": onTool, "tool": onTool, "tool.v2": onTool,
	}, like: []kindPattern{{"*", onChain}}},
	{by: genkit, attr: "genkit:type", like: []kindPattern{{"*", onChain}}},
}

var genkitFacts = []rule{
	{genkit, "metadata.span_kind", []string{"genkit:metadata:subtype", "genkit:type"}, asText, 0},
	{genkit, "config.model", []string{"genkit:name"}, asModelPath, onModel | onEmbedding},
}

var genkitRules = []rule{
	{genkit, "inputs", []string{"genkit:input"}, asInput, 0},
	{genkit, "outputs", []string{"genkit:output"}, asOutput, 0},
}
