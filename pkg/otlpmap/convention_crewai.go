package otlpmap

// crewaiConvention is CrewAI.
var crewaiConvention = definition{
	name:       "crewai",
	scopes:     []string{"crewai.telemetry", "opentelemetry.instrumentation.crewai"},
	version:    "the names of OpenLLMetry's instrumentation and of the framework's own telemetry",
	frameworks: []string{"crewai"},
	kinds:      crewaiKinds,
	fallbacks:  crewaiRules,
}

// crewaiKinds are the spans of CrewAI that say nothing else of what they are: the model calls of
// OpenLLMetry's instrumentation and the tools of the framework's own telemetry.
var crewaiKinds = []kindRule{
	{by: crewai, attr: spanName, is: map[string]spanRole{
		"crewai.workflow": onChain, "Tool Usage": onTool, "Tool Repeated Usage": onTool, "Tool Usage Error": onTool,
	}, like: []kindPattern{{"*.llm", onModel}}},
}

// crewaiRules are CrewAI's own attributes. What they hold are mostly Python objects as text.
var crewaiRules = []rule{
	{crewai, "metadata.agent_name", []string{"crewai.agent.role", "agent_role", "crewai.task.agent"}, asText, 0},
	{crewai, "metadata.agent_id", []string{"crewai.agent.id"}, asText, 0},
	{crewai, "metadata.crew_id", []string{"crewai.crew.id", "crew_id"}, asText, 0},
	{crewai, "metadata.task_id", []string{"crewai.task.id", "task_id"}, asText, 0},
	{crewai, "metadata.tool_name", []string{"tool_name"}, asText, onTool},
	{crewai, "metadata.aggregate_usage", []string{"crewai.crew.token_usage", "crewai.crew.usage_metrics"}, asLiteral, 0},
	{crewai, "inputs.description", []string{"crewai.task.description"}, asText, 0},
	{crewai, "inputs.expected_output", []string{"crewai.task.expected_output"}, asText, 0},
	{crewai, "inputs.goal", []string{"crewai.agent.goal"}, asText, 0},
	{crewai, "inputs.backstory", []string{"crewai.agent.backstory"}, asText, 0},
	{crewai, "inputs.agents", []string{"crewai.crew.agents", "crew_agents"}, asLiteral, 0},
	{crewai, "inputs.tasks", []string{"crewai.crew.tasks", "crew_tasks"}, asLiteral, 0},
	{crewai, "config.tools", []string{"crewai.agent.tools", "crewai.task.tools"}, asTools, 0},
	{crewai, "outputs", []string{"crewai.crew.result", "crewai.task.output", "crewai.agent.result"}, asOutput, 0},
	{crewai, "inputs", []string{"gen_ai.task.input"}, asInput, 0},
	{crewai, "outputs", []string{"gen_ai.task.output"}, asOutput, 0},
}
