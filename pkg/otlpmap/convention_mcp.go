package otlpmap

// mcpConvention is the Model Context Protocol.
var mcpConvention = definition{
	name:      "mcp",
	scopes:    []string{"mcp"},
	version:   "the Python SDK, semantic conventions 1.39",
	additions: mcpRules,
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
