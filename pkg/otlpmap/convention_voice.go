package otlpmap

import "github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"

// liveKitConvention is LiveKit's framework of voice agents. Its newer releases have the GenAI attributes beside its own, and a
// part "pii" in the names of those with content.
var liveKitConvention = definition{
	name:      "livekit",
	scopes:    []string{"livekit-agents"},
	version:   "livekit-agents 1.8.9, and the names of 1.0",
	prefix:    "lk.",
	kinds:     liveKitKinds,
	additions: liveKitRules,
	keys: map[keyList][]string{
		toolNameKeys: {"lk.function_tool.name"},
		toolHints:    {"lk.function_tool.name"},
	},
}

// liveKitKinds are its spans that have no GenAI operation in older releases.
var liveKitKinds = []kindRule{
	{by: liveKit, attr: "lk.function_tool.id", like: []kindPattern{{"*", onTool}}},
}

// liveKitRules are what its nodes of models and of speech, turns and tools have. The call of a model is a span of its own,
// below that of its node.
var liveKitRules = []rule{
	{liveKit, "metadata.agent_name", []string{"lk.agent_label", "lk.agent_name"}, asText, 0},
	{liveKit, "metadata.tool_name", []string{"lk.function_tool.name"}, asText, onTool},
	{liveKit, "metadata.tool_call_id", []string{"lk.function_tool.id"}, asText, onTool},
	{liveKit, "metadata.time_to_first_token_ms", []string{"lk.response.ttft"}, asSeconds, 0},
	{liveKit, "inputs.chat_history", []string{"lk.pii.chat_ctx", "lk.chat_ctx"}, asItems, 0},
	{liveKit, "inputs.chat_history", []string{"lk.pii.user_input", "lk.user_input"}, asPrompt, 0},
	{liveKit, "inputs.instructions", []string{"lk.pii.instructions", "lk.instructions"}, asText, 0},
	{liveKit, "inputs.text", []string{"lk.pii.input_text", "lk.input_text"}, asText, 0},
	{liveKit, "inputs", []string{"lk.pii.function_tool.arguments", "lk.function_tool.arguments"}, asInput, onTool},
	{liveKit, "outputs", []string{"lk.pii.function_tool.output", "lk.function_tool.output"}, asOutput, onTool},
	{liveKit, "outputs.content", []string{
		"lk.pii.response.text", "lk.response.text", "lk.pii.user_transcript", "lk.user_transcript",
	}, asSaid, onChain},
	{liveKit, "outputs.tool_calls", []string{"lk.pii.response.function_calls", "lk.response.function_calls"}, asCalls, onChain},
}

// asItems reads a conversation in LiveKit's form, {items: […]}, whose items are those of the Responses API.
var asItems = reader{
	name: "items", about: "JSON {items} as messages",
	whole: func(b *eventBuilder, t target, a *attr) {
		raw, ok := b.parse(a)
		list := jsonscan.Member(raw, "items")
		if !ok || list == nil {
			return
		}
		b.keep(a)
		at := len(b.msgs)
		if !b.filled(t.field) && b.readMessages(list) {
			b.learn(at)
			b.putMessages(t, at)
		}
		b.msgs = b.msgs[:at]
	},
}

// asSaid reads a text that was said. Another attribute may have it as a message.
var asSaid = reader{
	name: "said", about: "as text; it is dropped if the event has it already",
	whole: func(b *eventBuilder, t target, a *attr) {
		if b.filled(t.field) {
			b.keep(a)
			return
		}
		b.put(t, b.take(a))
	},
}

// pipecatConvention is Pipecat. Its names are words that anyone may use.
var pipecatConvention = definition{
	name:      "pipecat",
	scopes:    []string{"pipecat"},
	version:   "pipecat-ai 1.14.0",
	fallbacks: pipecatRules,
	keys: map[keyList][]string{
		toolNameKeys: {"tool.function_name"},
		toolHints:    {"tool.function_name"},
	},
}

// pipecatRules are what models, recognition and synthesis of speech are given and give back.
var pipecatRules = []rule{
	{otel, "metadata.tool_name", []string{"tool.function_name"}, asText, onTool},
	{otel, "metadata.tool_call_id", []string{"tool.call_id"}, asText, onTool},
	{pipecat, "metadata.time_to_first_token_ms", []string{"metrics.ttfb"}, asSeconds, onModel},
	{pipecat, "config.tools", []string{"tools"}, asTools, onModel},
	{pipecat, "config.tool_choice", []string{"tool_choice"}, asJSON, onModel},
	{pipecat, "config.stream", []string{"stream"}, asBool, onModel},
	{pipecat, "inputs", []string{"input", "text"}, asInput, onModel},
	{pipecat, "outputs.content", []string{"transcript", "text_output"}, asSaid, onModel},
	{otel, "inputs", []string{"tool.arguments"}, asInput, onTool},
	{otel, "outputs", []string{"tool.result"}, asOutput, onTool},
}
