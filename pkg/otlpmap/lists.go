package otlpmap

// nameLists are the attributes behind fields that steer an event instead of standing in one of
// its objects. Of each list the first attribute that is present and not empty counts; the
// others are taken as read if they say the same, and stay under their own names if not.
var nameLists = struct {
	// session names the session of the span, and through it of the whole trace.
	session []string
	// fixed are those of session that hold for the span alone, whatever its trace says.
	fixed []string
	// parent is the event above a span that has no parent span.
	parent []string
	// eventID replaces the id that is made of trace and span id.
	eventID []string
	// eventType and givenName: see spanKind. A given name comes before all other names.
	eventType []string
	givenName []string
	// name is the event's name after givenName; toolName and chainName only for the events of
	// those types.
	name      []string
	toolName  []string
	chainName []string
	// lateName comes after those.
	lateName []string
	// sessionName names an implicit session.
	sessionName []string
	source      []string
	// resourceSource are attributes of the resource, asked after source.
	resourceSource []string
	// errorText comes before the span's status message, errorAfter after it and the exception.
	errorText  []string
	errorAfter []string
	// project says what the API key decides.
	project []string
	// unused are read by nobody: an id of the sender's own object.
	unused []string
	// tool, model, usage and client tell the role of a span without a kind.
	tool, model, usage, client []string
}{
	session: []string{
		"honeyhive.session_id", "honeyhive_session_id", "traceloop.association.properties.session_id",
		"langfuse.session.id", "session.id", "lmnr.association.properties.session_id", "gen_ai.conversation.id",
		"ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.session_id", "ai.settings.context.sessionId", "ai.settings.context.session_id",
		"gcp.vertex.agent.session_id",
		"langsmith.metadata.session_id", "langsmith.metadata.thread_id", "langsmith.metadata.conversation_id", "mlflow.trace.session",
		"metadata.session_id", "metadata.thread_id", "traceloop.association.properties.thread_id",
	},
	fixed:     []string{"honeyhive.session_id", "honeyhive_session_id"},
	parent:    []string{"honeyhive.parent_id", "honeyhive_parent_id", "traceloop.association.properties.parent_id"},
	eventID:   []string{"honeyhive_event_id", "honeyhive.event_id"},
	eventType: []string{"honeyhive_event_type", "honeyhive.event_type", "honeyhive_event_type_raw"},
	givenName: []string{"honeyhive_event_name", "honeyhive.event_name"},
	name:      []string{"traceloop.entity.name"},
	chainName: []string{"ai.telemetry.functionId"},
	lateName:  []string{"logfire.msg", "haystack.component.name"},
	toolName:  []string{"gen_ai.tool.name", "ai.toolCall.name", "tool.name"},

	sessionName:    []string{"honeyhive.session_name"},
	source:         []string{"honeyhive_source", "honeyhive.source", "traceloop.association.properties.source", "langfuse.environment"},
	resourceSource: []string{"langfuse.environment", "deployment.environment.name", "deployment.environment", "service.name"},
	errorText:      []string{"honeyhive_error"},
	errorAfter:     []string{"error.message", "honeyhive_error_type", "error.type"},
	project:        []string{"honeyhive.project", "traceloop.association.properties.project", "honeyhive_project"},
	unused:         []string{"honeyhive_tracer_id", "honeyhive.session_auto_create"},

	tool:   []string{"gen_ai.tool.name", "gen_ai.tool.call.id", "tool.name", "ai.toolCall.name"},
	model:  []string{"gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "llm.request.model", "ai.model.id"},
	usage:  []string{"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.prompt", "llm.token_count.total", "llm.usage.total_tokens"},
	client: []string{"http.request.method", "http.method", "db.system", "db.system.name", "rpc.system", "rpc.system.name"},
}
