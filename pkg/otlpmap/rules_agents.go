package otlpmap

// strandsRules are what Strands Agents (scope strands.telemetry.tracer) sends beside the GenAI
// attributes. Its messages are span events, see spanevents.go.
var strandsRules = []rule{
	{strands, "metadata.cycle_id", []string{"event_loop.cycle_id"}, asText, 0},
	{strands, "metadata.parent_cycle_id", []string{"event_loop.parent_cycle_id"}, asText, 0},
	{otelGenAI, "metadata.tool_status", []string{"gen_ai.tool.status"}, asText, 0},
	{otelGenAI, "metadata.tool_schema", []string{"gen_ai.tool.json_schema"}, asJSON, 0},
	{otelGenAI, "config.tool_names", []string{"gen_ai.agent.tools"}, asList, 0},
	{otelGenAI, "config.system_prompt", []string{"gen_ai.agent.system_prompt"}, asText, 0},
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

// mcpRules are the spans of the Model Context Protocol (semantic conventions 1.39, and the names
// of OpenLLMetry's instrumentation). mcp.session.id is a session of the transport, no
// conversation.
var mcpRules = []rule{
	{mcp, "metadata.mcp_method", []string{"mcp.method.name"}, asText, 0},
	{mcp, "metadata.mcp_protocol_version", []string{"mcp.protocol.version"}, asText, 0},
	{mcp, "metadata.mcp_session_id", []string{"mcp.session.id"}, asText, 0},
	{otel, "metadata.jsonrpc_request_id", []string{"jsonrpc.request.id", "mcp.request.id"}, asText, 0},
	{mcp, "inputs.uri", []string{"mcp.resource.uri"}, asText, 0},
	{mcp, "inputs", []string{"mcp.request.argument", "mcp.request.arguments"}, asInput, 0},
	{mcp, "outputs", []string{"mcp.response.value"}, asOutput, 0},
}
