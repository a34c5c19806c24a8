package otlpmap

// springAIConvention is Spring AI: GenAI attributes of models, and names of its own for the rest. The scope is that of the
// whole application.
var springAIConvention = definition{
	name:       "spring-ai",
	version:    "the names of its releases 1.0 to 2.0",
	prefix:     "spring.ai.",
	earlyKinds: springAIKinds,
	additions:  springAIRules,
	keys: map[keyList][]string{
		sessionKeys:  {springConversation},
		toolNameKeys: {"spring.ai.tool.definition.name"},
	},
}

// springConversation is the attribute with the conversation that a client's memory keeps. Without one that the application
// names it is springDefault for all: no session.
const (
	springConversation = "spring.ai.chat.client.conversation.id"
	springDefault      = "default"
)

// springAIKinds are the kinds of its spans. They come before gen_ai.operation.name, which says "framework" of tools, too. A
// vector store that is searched is a retriever.
var springAIKinds = []kindRule{
	{by: springAI, attr: "db.vector.query.content", like: []kindPattern{{"*", onRetriever}}},
	{by: springAI, attr: "spring.ai.kind", is: map[string]spanRole{
		"tool_call": onTool, "vector_store": onTool, "chat_client": onChain, "advisor": onChain,
	}},
}

var springAIRules = []rule{
	{springAI, "metadata.span_kind", []string{"spring.ai.kind"}, asText, 0},
	{springAI, "metadata.tool_name", []string{"spring.ai.tool.definition.name"}, asText, onTools},
	{springAI, "metadata.tool_description", []string{"spring.ai.tool.definition.description"}, asText, onTools},
	{springAI, "metadata.tool_schema", []string{"spring.ai.tool.definition.schema"}, asJSON, onTools},
	{springAI, "metadata.tool_call_id", []string{"spring.ai.tool.call.id"}, asText, onTools},
	{springAI, "config.tool_names", []string{"spring.ai.model.request.tool.names", "spring.ai.chat.client.tool.names"}, asList, 0},
	{springAI, "inputs", []string{"spring.ai.tool.call.arguments"}, asInput, onTools},
	{springAI, "outputs", []string{"spring.ai.tool.call.result"}, asOutput, onTools},
	{springAI, "inputs.query", []string{"db.vector.query.content"}, asText, onRetriever},
	{springAI, "outputs", []string{"db.vector.query.response.documents"}, asOutput, onRetriever},
}
