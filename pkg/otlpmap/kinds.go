package otlpmap

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
)

// spanRole is what a span is about, finer than the event's type: it decides which rules apply. Roles are bits, so that a
// rule can name several.
type spanRole uint8

const (
	onModel spanRole = 1 << iota
	onEmbedding
	onTool
	onRetriever
	onChain

	onAll   = onModel | onEmbedding | onTool | onRetriever | onChain
	onTools = onTool | onRetriever
	notText = onModel | onTool | onRetriever | onChain // all but embeddings
)

// typed returns the event type that goes with a role.
func (r spanRole) typed() event.Type {
	switch r {
	case onModel, onEmbedding:
		return event.TypeModel
	case onTool, onRetriever:
		return event.TypeTool
	}
	return event.TypeChain
}

// kindRule decides what a span is by the value of one attribute, or by its name (see spanName): by
// the value itself, which may stand in JSON quotes (MLflow), else by the first pattern that it
// matches, in which * stands for any text. Any other value decides nothing.
type kindRule struct {
	by   convention
	attr string
	is   map[string]spanRole
	like []kindPattern
}

// kindPattern is a pattern with * for any text, and the role of what matches it.
type kindPattern struct {
	pattern string
	role    spanRole
}

// spanName stands for the span's name where an attribute's could stand.
const spanName = "@name"

// role returns what a value decides, 0 for nothing.
func (k *kindRule) role(value string) spanRole {
	if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
		value = value[1 : len(value)-1]
	}
	if r, ok := k.is[value]; ok {
		return r
	}
	for _, p := range k.like {
		if matches(p.pattern, value) {
			return p.role
		}
	}
	return 0
}

// matches reports whether s is the pattern, in which each * stands for any text: "ai.*.doStream" matches
// "ai.streamText.doStream". Between two stars the first fit is taken, which is enough as the rest may be anything.
func matches(pattern, s string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return s == pattern
	}
	if !strings.HasPrefix(s, head) {
		return false
	}
	for s = s[len(head):]; ; {
		part, more, wild := strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], more
	}
}

// kindRules decide a span's role and its event's type: the first rule whose attribute has a
// listed value. honeyhive_event_type comes before them (see spanKind). A span that no rule
// knows is a model call if it names a model and usage, a tool if it names one or is a client
// call of HTTP or a database, else a chain.
var kindRules = slices.Concat(
	ofConventions(func(c *definition) []kindRule { return c.earlyKinds }),
	commonKinds,
	ofConventions(func(c *definition) []kindRule { return c.kinds }),
)

// llamaIndexKinds knows the method of LlamaIndex's models that puts a request together and sends none.
// OpenInference names spans by class and method, and each of a model's methods has the span kind LLM.
var llamaIndexKinds = []kindRule{
	{by: openinference, attr: spanName, like: []kindPattern{{"*._prepare_chat_with_tools", onChain}}},
}

var commonKinds = []kindRule{
	// OpenInference, span kinds. Guardrails and rerankers do one job and return.
	{by: openinference, attr: "openinference.span.kind", is: map[string]spanRole{
		"LLM": onModel, "EMBEDDING": onEmbedding,
		"TOOL": onTool, "RETRIEVER": onRetriever, "RERANKER": onRetriever, "GUARDRAIL": onTool,
		"CHAIN": onChain, "AGENT": onChain, "PROMPT": onChain, "EVALUATOR": onChain, "DECISION": onChain,
		"CODE": onChain, "HUMAN": onChain, "UNKNOWN": onChain,
	}},
	// OpenLLMetry's LangChain calls a retriever a task.
	{by: openllmetry, attr: "gen_ai.operation.name", is: map[string]spanRole{"vector_db_retrieve": onRetriever}},
	// OpenLLMetry, entity kinds of decorated functions. Model calls have none.
	{by: openllmetry, attr: "traceloop.span.kind", is: map[string]spanRole{
		"tool": onTool, "llm": onModel, "workflow": onChain, "task": onChain, "agent": onChain,
	}},
	// Vercel AI SDK 3 to 6: the calls of a provider are named do…, those around them are chains.
	{by: vercel, attr: "ai.operationId", is: map[string]spanRole{"ai.toolCall": onTool}, like: []kindPattern{
		{"ai.*.doGenerate", onModel}, {"ai.*.doStream", onModel}, {"ai.*.doEmbed", onEmbedding},
		{"ai.*.doRerank", onRetriever}, {"ai.*", onChain},
	}},
	{by: otel, attr: "operation.name", is: map[string]spanRole{"ai.toolCall": onTool}, like: []kindPattern{
		{"ai.*.doGenerate", onModel}, {"ai.*.doGenerate *", onModel}, {"ai.*.doStream", onModel}, {"ai.*.doStream *", onModel},
		{"ai.*.doEmbed", onEmbedding}, {"ai.*.doEmbed *", onEmbedding}, {"ai.toolCall *", onTool}, {"ai.*", onChain},
	}},
	// OTel GenAI, gen_ai.operation.name. Exact words only: execute_event_loop_cycle and
	// execute_task, which frameworks send too, are no tools.
	{by: otelGenAI, attr: "gen_ai.operation.name", is: map[string]spanRole{
		"chat": onModel, "text_completion": onModel, "completion": onModel, "generate_content": onModel,
		"generate": onModel, "embeddings": onEmbedding,
		// Semantic Kernel.
		"chat.completions": onModel, "text.completions": onModel, "chat.streaming_completions": onModel, "text.streaming_completions": onModel,
		"execute_tool": onTool, "retrieval": onRetriever, "rerank": onRetriever,
		"invoke_agent": onChain, "create_agent": onChain, "invoke_workflow": onChain, "agent_step": onChain, "plan": onChain,
		// What an agent remembers: a search gives documents, all else is done to the store.
		"search_memory": onRetriever, "create_memory": onTool, "update_memory": onTool, "upsert_memory": onTool, "delete_memory": onTool,
		"create_memory_store": onTool, "delete_memory_store": onTool,
		// Calls of models that answer with sound or pictures, or are asked with sound.
		"realtime_inference": onModel, "text_to_speech": onModel, "tts": onModel, "stt": onModel, "image": onModel, "audio": onModel,
		"speech_to_text": onModel, "video": onModel, "memory": onTool, "vectordb": onTool, "moderation": onTool, // OpenLIT
		// Spring AI.
		"embedding": onEmbedding, "framework": onChain,
		"execute_task": onChain, "execute_event_loop_cycle": onChain, "chain": onChain,
	}},
	// The kinds that Alibaba's extension of the GenAI conventions has, which Dify sends.
	{by: otelGenAI, attr: "gen_ai.span.kind", is: map[string]spanRole{
		"LLM": onModel, "EMBEDDING": onEmbedding, "TOOL": onTool, "RETRIEVER": onRetriever, "RERANKER": onRetriever,
		"CHAIN": onChain, "TASK": onChain, "AGENT": onChain, "WORKFLOW": onChain, "ENTRY": onChain, "STEP": onChain,
	}},
	// OpenLLMetry of the flat form (0.40): the kind of request on model calls.
	{by: openllmetry, attr: "llm.request.type", is: map[string]spanRole{
		"chat": onModel, "completion": onModel, "embedding": onEmbedding, "rerank": onRetriever,
		// LiteLLM's names of calls.
		"acompletion": onModel, "text_completion": onModel, "atext_completion": onModel, "responses": onModel, "aresponses": onModel,
		"anthropic_messages": onModel, "aembedding": onEmbedding, "arerank": onRetriever,
	}},
	// Google ADK before 1.17: model calls have no operation, but a request. Tools have an empty one.
	{by: googleADK, attr: "gcp.vertex.agent.llm_request", like: []kindPattern{{`{"*`, onModel}}},
	// OpenLLMetry's vector stores: what searches is a retriever, anything else a tool, whatever the span's kind.
	{by: openllmetry, attr: spanName, like: []kindPattern{
		{"chroma.query", onRetriever}, {"qdrant.search*", onRetriever}, {"qdrant.query*", onRetriever}, {"pinecone.query", onRetriever},
		{"milvus.search", onRetriever}, {"milvus.query", onRetriever}, {"milvus.hybrid_search", onRetriever}, {"marqo.search", onRetriever},
	}},
	{by: otel, attr: "db.system", is: map[string]spanRole{
		"chroma": onTool, "qdrant": onTool, "Qdrant": onTool, "pinecone": onTool, "Pinecone": onTool, "milvus": onTool, "weaviate": onTool,
		"marqo": onTool, "Marqo": onTool, "lancedb": onTool, "LanceDB": onTool,
	}},
	{by: mcp, attr: "mcp.method.name", is: map[string]spanRole{"tools/call": onTool}, like: []kindPattern{{"*", onChain}}},
}

// nativeTypes are the values of honeyhive_event_type.
var nativeTypes = map[string]event.Type{
	"model": event.TypeModel, "tool": event.TypeTool, "chain": event.TypeChain,
	"session": event.TypeSession, // a session inside the session, if its id is not the session's
	"generic": event.TypeGeneric,
}

// spanKind decides the role of a span and the type of its event.
//
// honeyhive_event_type decides the type, with one exception: Python SDKs from 1.0 stamp "tool"
// on every span as it starts, before anyone knows what it is. So a bare "tool" without an event
// name loses to any other rule.
func spanKind(s *span, attrs []attr) (spanRole, event.Type) {
	r := roleOf(s, attrs)
	s.wraps = r == onChain
	native, given := nativeTypes[s.text(attrs, compiled.lists[eventTypeKeys])]
	if given && !(native == event.TypeTool && r != 0 && s.text(attrs, compiled.lists[givenNameKeys]) == "") {
		if r == 0 || r.typed() != native {
			r = roleOfType(native)
		}
		return r, native
	}
	if r == 0 {
		r = onChain
	}
	return r, r.typed()
}

// roleOf returns the role that attributes show, 0 if none does: the first kind rule that knows the value of its
// attribute, or else what the span names (a tool; a model with usage; a client call of HTTP or a database).
func roleOf(s *span, attrs []attr) spanRole {
	for i := range kindRules {
		value := ""
		if a := s.at(attrs, compiled.kinds[i]); a != nil {
			value = a.str()
		} else if kindRules[i].attr == spanName {
			value = s.src.Name()
		}
		if value == "" {
			continue
		}
		if r := kindRules[i].role(value); r != 0 {
			return r
		}
	}
	switch {
	case s.any(compiled.lists[toolHints]):
		return onTool
	case s.any(compiled.lists[modelHints]) && s.any(compiled.lists[usageHints]):
		return onModel
	case s.src.Kind() == ptrace.SpanKindClient && s.any(compiled.lists[clientHints]):
		return onTool
	}
	return 0
}

// roleOfType returns the role of a span whose event type is given. Sessions and generic events are read like chains.
func roleOfType(t event.Type) spanRole {
	switch t {
	case event.TypeModel:
		return onModel
	case event.TypeTool:
		return onTool
	}
	return onChain
}
