package otlpmap

// laminarConvention is Laminar.
var laminarConvention = definition{
	name:       "laminar",
	scopes:     []string{"lmnr.tracer", "@lmnr-ai/lmnr"},
	version:    "the SDK's published names",
	prefix:     "lmnr.",
	earlyKinds: laminarKinds,
	facts:      laminarRules,
	content:    laminarContent,
	caller:     laminarCaller,
	keys: map[keyList][]string{
		sessionKeys: {"lmnr.association.properties.session_id"},
		userKeys:    {"lmnr.association.properties.user_id"},
	},
}

// laminarKinds are the types of Laminar's spans. It has none for embeddings, which are of the type LLM.
var laminarKinds = []kindRule{
	{by: laminar, attr: spanName, is: map[string]spanRole{"openai.embeddings": onEmbedding}},
	{by: laminar, attr: "lmnr.span.type", is: map[string]spanRole{
		"LLM": onModel, "CACHED": onModel, "TOOL": onTool, "DEFAULT": onChain,
		"EVALUATOR": onChain, "HUMAN_EVALUATOR": onChain, "EVALUATION": onChain, "EXECUTOR": onChain,
	}},
}

// laminarRules are Laminar's spans. Messages of its model calls are in the GenAI attributes, in
// OpenAI's shape.
var laminarRules = []rule{
	{laminar, "metadata.span_kind", []string{"lmnr.span.type"}, asText, 0},
	{laminar, "metadata.span_path", []string{"lmnr.span.path"}, asList, 0},
	{laminar, "metadata.span_ids_path", []string{"lmnr.span.ids_path"}, asList, 0},
	{laminar, "metadata.trace_type", []string{"lmnr.association.properties.trace_type"}, asText, 0},
	{laminar, "metadata.tags", []string{
		"lmnr.association.properties.tags", "lmnr.association.properties.labels", "lmnr.span.tags",
	}, asList, 0},
	{laminar, "metadata.input_cost", []string{"gen_ai.usage.input_cost"}, asNumber, 0},
	{laminar, "metadata.output_cost", []string{"gen_ai.usage.output_cost"}, asNumber, 0},
}

// laminarContent is what went into a step and what came out of it.
var laminarContent = []rule{
	{laminar, "inputs", []string{"lmnr.span.input"}, asInput, 0},
	{laminar, "outputs", []string{"lmnr.span.output"}, asOutput, 0},
}

// laminarCaller is what the caller says of a trace.
var laminarCaller = []rule{
	{laminar, "metadata", []string{"lmnr.association.properties.metadata.*"}, asCaller, 0},
	{laminar, "metadata", []string{"lmnr.association.properties.*"}, asCaller, 0},
}
