package otlpmap

// logfireConvention is Logfire.
var logfireConvention = definition{
	name:      "logfire",
	scopes:    []string{"logfire"},
	version:   "logfire 5.2.0",
	kinds:     logfireKinds,
	fallbacks: logfireRules,
	keys: map[keyList][]string{
		lateNameKeys: {"logfire.msg"},
	},
}

// logfireKinds know Logfire's spans of model calls by their templates: its first versions sent
// no operation, and of a streamed call no usage.
var logfireKinds = []kindRule{
	{by: logfire, attr: "logfire.msg_template", like: []kindPattern{
		{"Chat Completion with *", onModel}, {"Completion with *", onModel}, {"Responses API with *", onModel}, {"Message with *", onModel},
		{"streaming response from *", onModel}, {"Embedding Creation with *", onEmbedding}, {"Image Generation with *", onModel},
		{"running tool*", onTool},
	}},
}

// logfireRules are those of Logfire: of its own instrumentations of model APIs the request and
// the answer as JSON, of any span the level and the tags. A streamed answer comes in a span of
// its own after the call, which is a model call without usage.
var logfireRules = []rule{
	{logfire, "metadata.tags", []string{"logfire.tags"}, asList, 0},
	{logfire, "metadata.level_number", []string{"logfire.level_num"}, asNumber, 0},
	{logfire, "metadata.prompt_tokens", []string{"gen_ai.usage.raw"}, asUsage, onModel | onEmbedding},
	{logfire, "inputs", []string{"request_data"}, asInput, onModel | onEmbedding},
	{logfire, "outputs", []string{"response_data"}, asOutput, onModel | onEmbedding},
}
