package otlpmap

// mcpConvention is the Model Context Protocol.
var mcpConvention = definition{
	name:      "mcp",
	scopes:    []string{"mcp"},
	version:   "the Python SDK, semantic conventions 1.39",
	kinds:     mcpKinds,
	additions: mcpRules,
	keys: map[keyList][]string{
		toolNameKeys: {"mcp.tool.name"},
	},
}

// mcpKinds know the tools of instrumentations that name no method of the conventions.
var mcpKinds = []kindRule{
	{by: mcp, attr: "mcp.tool.name", like: []kindPattern{{"*", onTool}}},
}

// mcpRules are the spans of the Model Context Protocol (semantic conventions 1.39, and the names
// of OpenLLMetry's and OpenLIT's instrumentations). mcp.session.id is a session of the transport, no
// conversation.
var mcpRules = []rule{
	{mcp, "metadata.mcp_method", []string{"mcp.method.name", "mcp.method"}, asText, 0},
	{mcp, "metadata.mcp_protocol_version", []string{"mcp.protocol.version"}, asText, 0},
	{mcp, "metadata.mcp_session_id", []string{"mcp.session.id"}, asText, 0},
	{otel, "metadata.jsonrpc_request_id", []string{"jsonrpc.request.id", "mcp.request.id"}, asText, 0},
	{mcp, "metadata.tool_name", []string{"mcp.tool.name"}, asText, 0},
	{mcp, "inputs.uri", []string{"mcp.resource.uri"}, asText, 0},
	{mcp, "inputs", []string{"mcp.request.argument", "mcp.request.arguments", "mcp.tool.arguments"}, asInput, 0},
	{mcp, "outputs", []string{"mcp.response.value", "mcp.result", "mcp.tool.result"}, asOutput, 0},
}
