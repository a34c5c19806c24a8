package otlpmap

// fields are the fields that code, and not only a rule, fills.
var fields struct {
	model, modelName, cost, costSource, usageAdjusted target

	history, texts, query, inputDocuments, inputValue               target
	role, content, calls, finish, reasoning, choices, answerHistory target
	documents, result                                               target

	sessionID, sessionKey, serviceName, serviceVersion, userID, user  target
	parseError, truncated, replaced, clockSkew, embedding, firstToken target
	evaluations, exceptions, stacktrace, errorType, partTypes         target
	attributes, spanEvents, links, resource                           target
	traceID, spanID, parentSpanID, hasOTLP, spanName, otelKind        target
	traceState, traceFlags, instrumentor, scope                       target
	droppedAttributes, droppedEvents, droppedLinks                    target
	responseID, responseModel, tools, requestModel, provider          target
	finishReasons, toolCallID, toolName                               target
}

func fillFields() {
	for _, f := range []struct {
		to   *target
		name string
	}{
		{&fields.model, "config.model"},
		{&fields.modelName, "metadata.model_name"},
		{&fields.cost, "metadata.cost"},
		{&fields.costSource, "metadata.cost_source"},
		{&fields.usageAdjusted, "metadata.usage_adjusted"},
		{&fields.history, "inputs.chat_history"},
		{&fields.texts, "inputs.texts"},
		{&fields.query, "inputs.query"},
		{&fields.inputDocuments, "inputs.documents"},
		{&fields.inputValue, "inputs.value"},
		{&fields.role, "outputs.role"},
		{&fields.content, "outputs.content"},
		{&fields.calls, "outputs.tool_calls"},
		{&fields.finish, "outputs.finish_reason"},
		{&fields.reasoning, "outputs.reasoning"},
		{&fields.choices, "outputs.choices"},
		{&fields.answerHistory, "outputs.chat_history"},
		{&fields.documents, "outputs.documents"},
		{&fields.result, "outputs.result"},
		{&fields.sessionID, "metadata.session_id"},
		{&fields.sessionKey, "metadata.session_key"},
		{&fields.serviceName, "metadata.service.name"},
		{&fields.serviceVersion, "metadata.service.version"},
		{&fields.userID, "metadata.user_id"},
		{&fields.user, "user_properties.user_id"},
		{&fields.parseError, "metadata.parse_error"},
		{&fields.truncated, "metadata.truncated"},
		{&fields.replaced, "metadata.replaced_characters"},
		{&fields.clockSkew, "metadata.clock_skew"},
		{&fields.embedding, "metadata.embedding"},
		{&fields.firstToken, "metadata.time_to_first_token_ms"},
		{&fields.evaluations, "metadata.evaluations"},
		{&fields.exceptions, "metadata.exceptions"},
		{&fields.stacktrace, "metadata.error_stacktrace"},
		{&fields.errorType, "metadata.error_type"},
		{&fields.partTypes, "metadata.part_types"},
		{&fields.attributes, "metadata.attributes"},
		{&fields.spanEvents, "metadata.span_events"},
		{&fields.links, "metadata.links"},
		{&fields.resource, "metadata.resource"},
		{&fields.traceID, "metadata.trace_id"},
		{&fields.spanID, "metadata.span_id"},
		{&fields.parentSpanID, "metadata.parent_span_id"},
		{&fields.hasOTLP, "metadata.has_otlp_lineage"},
		{&fields.spanName, "metadata.span_name"},
		{&fields.otelKind, "metadata.otel_kind"},
		{&fields.traceState, "metadata.trace_state"},
		{&fields.traceFlags, "metadata.trace_flags"},
		{&fields.instrumentor, "metadata.instrumentor"},
		{&fields.scope, "metadata.scope"},
		{&fields.droppedAttributes, "metadata.dropped_attributes_count"},
		{&fields.droppedEvents, "metadata.dropped_events_count"},
		{&fields.droppedLinks, "metadata.dropped_links_count"},
		{&fields.responseID, "metadata.response_id"},
		{&fields.responseModel, "metadata.response_model"},
		{&fields.tools, "config.tools"},
		{&fields.requestModel, "config.request_model"},
		{&fields.provider, "config.provider"},
		{&fields.finishReasons, "metadata.finish_reasons"},
		{&fields.toolCallID, "metadata.tool_call_id"},
		{&fields.toolName, "metadata.tool_name"},
	} {
		*f.to = compiled.target(f.name)
	}
}
