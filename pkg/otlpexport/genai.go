package otlpexport

import (
	"encoding/json"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// The attributes below are those of OpenTelemetry's semantic conventions for generative AI,
// 1.37 and later.

// requestAttrs are the settings of a call, by their names in config.
var requestAttrs = []struct{ key, attr string }{
	{"temperature", "gen_ai.request.temperature"},
	{"top_p", "gen_ai.request.top_p"},
	{"top_k", "gen_ai.request.top_k"},
	{"max_tokens", "gen_ai.request.max_tokens"},
	{"frequency_penalty", "gen_ai.request.frequency_penalty"},
	{"presence_penalty", "gen_ai.request.presence_penalty"},
	{"seed", "gen_ai.request.seed"},
	{"choice_count", "gen_ai.request.choice.count"},
}

// usageAttrs are the counts of a call, by their names in metadata. Of two for one attribute the
// first that is there counts.
var usageAttrs = []struct{ key, attr string }{
	{"prompt_tokens", "gen_ai.usage.input_tokens"},
	{"input_tokens", "gen_ai.usage.input_tokens"},
	{"completion_tokens", "gen_ai.usage.output_tokens"},
	{"output_tokens", "gen_ai.usage.output_tokens"},
	{"cache_read_input_tokens", "gen_ai.usage.cache_read.input_tokens"},
	{"cache_write_input_tokens", "gen_ai.usage.cache_creation.input_tokens"},
	{"reasoning_tokens", "gen_ai.usage.reasoning.output_tokens"},
	{"total_tokens", "gen_ai.usage.total_tokens"},
	{"cost", "gen_ai.usage.cost"},
}

// describe writes the standard attributes of an event, then what its span had besides.
func describe(span ptrace.Span, e *event.Event, f *facts) {
	attrs := span.Attributes()
	attrs.PutStr("session.id", e.SessionID.String())
	attrs.PutStr("gen_ai.conversation.id", e.SessionID.String())
	putText(attrs, "error.type", f.text("error_type"))
	if user, ok := rawjson.Text(rawjson.Get(e.UserProperties, "user_id")); ok {
		putText(attrs, "user.id", user)
	}
	putText(attrs, "gen_ai.operation.name", operation(e, f))
	putText(attrs, "gen_ai.agent.name", f.text("agent_name"))
	putText(attrs, "gen_ai.agent.id", f.text("agent_id"))
	switch e.Type {
	case event.TypeModel:
		model(attrs, e, f)
	case event.TypeTool:
		tool(attrs, e, f)
	case event.TypeChain: // an agent's spans have the sum of its calls
		usage(attrs, func(key string) json.RawMessage { return rawjson.Get(f.metadata[event.AggregateKey], key) })
	}
	putMembers(attrs, f.attributes, nil)
	putMembers(attrs, f.own, told)
}

// operation returns what the span said of itself, or what the event's type means. A chain is an
// agent if it names one; other types have no operation of their own.
func operation(e *event.Event, f *facts) string {
	if own := f.text("operation_name"); own != "" {
		return own
	}
	switch e.Type {
	case event.TypeModel:
		if rawjson.Get(e.Inputs, "texts") != nil {
			return "embeddings"
		}
		return "chat"
	case event.TypeTool:
		if rawjson.Get(e.Outputs, "documents") != nil {
			return "retrieval"
		}
		return "execute_tool"
	case event.TypeChain:
		if f.text("agent_name") != "" {
			return "invoke_agent"
		}
	}
	return ""
}

// usage writes the counts that have numbers.
func usage(attrs pcommon.Map, count func(key string) json.RawMessage) {
	for _, a := range usageAttrs {
		if v := count(a.key); rawjson.KindOf(v) == '0' {
			put(attrs, a.attr, v)
		}
	}
}

func model(attrs pcommon.Map, e *event.Event, f *facts) {
	config := map[string]json.RawMessage{}
	for k, v := range rawjson.Object(e.Config) {
		config[k] = v
	}
	text := func(key string) string {
		s, _ := rawjson.Text(config[key])
		return s
	}
	putText(attrs, "gen_ai.provider.name", text("provider"))
	putText(attrs, "gen_ai.provider.name", f.text("provider"))
	putText(attrs, "gen_ai.request.model", text("request_model"))
	putText(attrs, "gen_ai.request.model", text("model"))
	putText(attrs, "gen_ai.response.model", f.text("response_model"))
	putText(attrs, "gen_ai.response.id", f.text("response_id"))
	for _, a := range requestAttrs {
		put(attrs, a.attr, config[a.key])
	}
	putTexts(attrs, "gen_ai.request.stop_sequences", config["stop_sequences"])
	put(attrs, "gen_ai.tool.definitions", config["tools"])
	usage(attrs, func(key string) json.RawMessage { return f.metadata[key] })
	reasons := f.metadata["finish_reasons"]
	if len(reasons) == 0 {
		reasons = rawjson.Get(e.Outputs, "finish_reason")
	}
	putTexts(attrs, "gen_ai.response.finish_reasons", reasons)
	if in := inputMessages(e.Inputs); in != nil {
		attrs.PutStr("gen_ai.input.messages", string(in))
	}
	if out := outputMessages(e.Outputs); out != nil {
		attrs.PutStr("gen_ai.output.messages", string(out))
	}
}

func tool(attrs pcommon.Map, e *event.Event, f *facts) {
	if documents := rawjson.Get(e.Outputs, "documents"); documents != nil {
		query, _ := rawjson.Text(rawjson.Get(e.Inputs, "query"))
		putText(attrs, "gen_ai.retrieval.query.text", query)
		put(attrs, "gen_ai.retrieval.documents", documents)
		return
	}
	name := f.text("tool_name")
	if name == "" {
		name = e.Name
	}
	putText(attrs, "gen_ai.tool.name", name)
	putText(attrs, "gen_ai.tool.call.id", f.text("tool_call_id"))
	if !rawjson.Empty(e.Inputs) {
		put(attrs, "gen_ai.tool.call.arguments", e.Inputs)
	}
	result := e.Outputs
	if only := rawjson.Get(result, "result"); only != nil {
		result = only
	}
	if !rawjson.Empty(result) {
		put(attrs, "gen_ai.tool.call.result", result)
	}
}
