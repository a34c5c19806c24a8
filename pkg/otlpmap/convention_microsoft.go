package otlpmap

// agentFrameworkConvention is Microsoft's Agent Framework.
var agentFrameworkConvention = definition{
	name:       "agent-framework",
	scopes:     []string{"agent_framework"},
	version:    "agent-framework 1.23.0",
	systems:    []string{"microsoft.agent_framework"},
	frameworks: []string{"microsoft.agent_framework"},
	additions:  agentRules,
}

// semanticKernelConvention is Semantic Kernel. Its own names are among agentRules.
var semanticKernelConvention = definition{
	name:       "semantic-kernel",
	scopes:     []string{"semantic_kernel", "Microsoft.SemanticKernel"},
	version:    "the source of its Python and .NET packages",
	frameworks: []string{"semantic_kernel"},
}

// agentRules are those of Microsoft's frameworks: Agent Framework (scope agent_framework) and
// Semantic Kernel (scope semantic_kernel.*). All else they send are GenAI attributes, with the
// finish reasons as JSON text or as FinishReason.STOP. These names are too common to tell a framework.
var agentRules = []rule{
	{otel, "metadata.workflow_name", []string{"workflow.name", "workflow_builder.name"}, asText, 0},
	{otel, "metadata.workflow_id", []string{"workflow.id"}, asText, 0},
	{otel, "metadata.executor_id", []string{"executor.id"}, asText, 0},
	{otel, "metadata.executor_type", []string{"executor.type"}, asText, 0},
}
