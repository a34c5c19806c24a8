package otlpmap

// strandsConvention is Strands Agents.
var strandsConvention = definition{
	name:       "strands",
	scopes:     []string{"strands.telemetry.tracer"},
	version:    "strands-agents 1.45, and its latest experimental form",
	systems:    []string{"strands-agents"},
	frameworks: []string{"strands-agents"},
	additions:  strandsRules,
}

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
