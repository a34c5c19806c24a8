package otlpmap

import "github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"

// agentScopeConvention is AgentScope: GenAI attributes, and what each function was called with and gave back. What a model was
// asked stands nowhere else.
var agentScopeConvention = definition{
	name:      "agentscope",
	scopes:    []string{"agentscope"},
	version:   "the source of agentscope 1.0",
	prefix:    "agentscope.",
	fallbacks: agentScopeRules,
}

var agentScopeRules = []rule{
	{agentScope, "inputs", []string{"agentscope.function.input"}, asFunctionInput, 0},
	{agentScope, "outputs", []string{"agentscope.function.output"}, asOutput, 0},
}

// asFunctionInput reads what a function was called with. The first argument of a model's is the messages, that of an embedding's
// the texts.
var asFunctionInput = reader{
	name: "function input", about: "as input; of a model call the first of {args} as messages or texts, {kwargs} as settings",
	whole: func(b *eventBuilder, t target, a *attr) {
		raw, ok := b.parse(a)
		args, kwargs := jsonscan.Member(raw, "args"), jsonscan.Member(raw, "kwargs")
		if !ok || b.s.role&(onModel|onEmbedding) == 0 || jsonscan.Kind(args) != '[' || jsonscan.Kind(kwargs) != '{' || countMembers(raw) != 2 {
			asInput.whole(b, t, a)
			return
		}
		read := b.modelInput
		if b.s.role == onEmbedding {
			read = b.embeddingInput
		}
		list := jsonscan.Elements(args)
		if !list.Next() {
			read(a, kwargs)
			return
		}
		first := list.Val
		read(a, first)
		all := a.used
		b.rest(a, kwargs, bucketInputs)
		if list.Next() {
			a.used = false // by its first argument
			b.keep(a)
		}
		if all && !a.used {
			b.texts.add(b, first)
		}
	},
}
