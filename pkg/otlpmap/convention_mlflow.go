package otlpmap

// mlflowConvention is MLflow. Its tracing API sends every attribute as JSON, also a text.
var mlflowConvention = definition{
	name:       "mlflow",
	scopes:     []string{"mlflow"},
	version:    "mlflow-tracing 3.17.2",
	prefix:     "mlflow.",
	earlyKinds: mlflowKinds,
	facts:      mlflowRules,
	content:    mlflowContent,
	caller:     mlflowCaller,
	keys: map[keyList][]string{
		sessionKeys: {"mlflow.trace.session"},
	},
}

// mlflowKinds are the types of MLflow's spans, which come in JSON quotes like all its values.
var mlflowKinds = []kindRule{
	{by: mlflow, attr: "mlflow.spanType", is: map[string]spanRole{
		"LLM": onModel, "CHAT_MODEL": onModel, "EMBEDDING": onEmbedding,
		"TOOL": onTool, "RETRIEVER": onRetriever, "RERANKER": onRetriever,
	}, like: []kindPattern{{"*", onChain}}},
}

// mlflowRules are MLflow's spans: every value is JSON, a text thus in quotes.
var mlflowRules = []rule{
	{mlflow, "metadata.model_name", []string{"mlflow.llm.model"}, asWord, 0},
	{mlflow, "metadata.provider", []string{"mlflow.llm.provider"}, asProvider, 0},
	{mlflow, "metadata.span_kind", []string{"mlflow.spanType"}, asWord, 0},
	{mlflow, "metadata.description", []string{"mlflow.spanDescription"}, asWord, 0},
	{mlflow, "user_properties.user_id", []string{"mlflow.trace.user"}, asWord, 0},
	{mlflow, "metadata.user_id", []string{"mlflow.trace.user"}, asWord, 0},
	{mlflow, "metadata.prompt_tokens", []string{"mlflow.chat.tokenUsage"}, asUsage, 0},
	{mlflow, "metadata.cost", []string{"mlflow.llm.cost"}, asCosts, 0},
	{mlflow, "config.model", []string{"mlflow.llm.model"}, asWord, 0},
	{mlflow, "config.provider", []string{"mlflow.llm.provider"}, asProvider, 0},
	{mlflow, "config.linked_prompts", []string{"mlflow.linkedPrompts"}, asJSON, 0},
	{mlflow, "config.tools", []string{"mlflow.chat.tools"}, asTools, 0},
}

// mlflowContent is what went into a step and what came out of it.
var mlflowContent = []rule{
	{mlflow, "inputs.chat_history", []string{"mlflow.chat.messages"}, asConversation, onModel},
	{mlflow, "inputs", []string{"mlflow.spanInputs"}, asInput, 0},
	{mlflow, "outputs", []string{"mlflow.spanOutputs"}, asOutput, 0},
}

// mlflowCaller are the tags of a trace.
var mlflowCaller = []rule{
	{mlflow, "metadata.tags", []string{"mlflow.traceTag.*"}, asTree, 0},
}
