package otlpmap

import "github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"

// promptflowConvention is Microsoft's prompt flow. Its attributes have short names of general meaning.
var promptflowConvention = definition{
	name:       "promptflow",
	scopes:     []string{"promptflow"},
	version:    "promptflow-tracing 1.18.5",
	frameworks: []string{"promptflow"},
	kinds:      promptflowKinds,
	fallbacks:  promptflowRules,
}

// promptflowKinds are the types of its spans.
var promptflowKinds = []kindRule{
	{by: promptflow, attr: "span_type", is: map[string]spanRole{
		"LLM": onModel, "Embedding": onEmbedding, "Retrieval": onRetriever, "Tool": onTool, "Flow": onChain, "Function": onChain,
	}},
}

// promptflowRules are what went into a span and what came out of it, of a model call as its client has them. Of a streamed
// answer the output is the list of its chunks, and the message made of them stands beside it.
var promptflowRules = []rule{
	{promptflow, "metadata.span_kind", []string{"span_type"}, asText, 0},
	{promptflow, "inputs", []string{"inputs"}, asInput, 0},
	{promptflow, "outputs", []string{"output"}, asObjectOutput, onModel},
	{promptflow, "outputs", []string{"llm.generated_message"}, asAnswer, onModel},
	{promptflow, "outputs", []string{"output"}, asOutput, 0},
}

// asObjectOutput reads an answer that is an object.
var asObjectOutput = reader{
	name: "object output", about: "as output, if it is a JSON object",
	whole: func(b *eventBuilder, t target, a *attr) {
		if jsonscan.Kind(view(a.str())) == '{' {
			asOutput.whole(b, t, a)
		}
	},
}
