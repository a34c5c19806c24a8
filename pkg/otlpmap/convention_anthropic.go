package otlpmap

// anthropicConvention is the spans of Anthropic's own SDKs and of its API: GenAI attributes, and names of its own for
// what has none. A call that both tell is one span below the other, of which the lower counts.
var anthropicConvention = definition{
	name:      "anthropic",
	scopes:    []string{"com.anthropic.sdk", "com.anthropic.claude-platform"},
	version:   "anthropic 2.14.0 for Python",
	prefix:    "anthropic.",
	additions: anthropicRules,
}

var anthropicRules = []rule{
	{anthropic, "metadata.finish_reasons", []string{"anthropic.message.stop_reason"}, asList, 0},
	{anthropic, "outputs.finish_reason", []string{"anthropic.message.stop_reason"}, asText, onModel},
	{anthropic, "config.service_tier", []string{"anthropic.request.service_tier"}, asText, 0},
	{anthropic, "outputs.result", []string{"anthropic.tool_result.content"}, asBlocks, onTool},
}

// asBlocks reads the blocks of content that a tool gave back.
var asBlocks = reader{
	name: "blocks", about: "the text of blocks that are text alone, else JSON",
	whole: func(b *eventBuilder, t target, a *attr) {
		if b.filled(t.field) {
			b.keep(a)
			return
		}
		raw, ok := b.parse(a)
		if !ok {
			b.put(t, b.take(a))
			return
		}
		a.used = true
		b.put(t, b.resultValue(raw))
	},
}
