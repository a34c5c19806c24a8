package otlpmap

import "github.com/spangrove/spangrove/pkg/event"

// honeyhiveConvention is HoneyHive, whose SDKs write the objects of an event as they are.
var honeyhiveConvention = definition{
	name:    "honeyhive",
	scopes:  []string{"honeyhive"},
	version: "Python SDK 1.7.0, and the names that SDKs before 1.0 use",
	prefix:  "honeyhive",
	facts:   nativeRules,
	keys: map[keyList][]string{
		sessionKeys:      {"honeyhive.session_id", "honeyhive_session_id", "traceloop.association.properties.session_id"},
		fixedSessionKeys: {"honeyhive.session_id", "honeyhive_session_id"},
		parentKeys:       {"honeyhive.parent_id", "honeyhive_parent_id", "traceloop.association.properties.parent_id"},
		eventIDKeys:      {"honeyhive_event_id", "honeyhive.event_id"},
		eventTypeKeys:    {"honeyhive_event_type", "honeyhive.event_type", "honeyhive_event_type_raw"},
		givenNameKeys:    {"honeyhive_event_name", "honeyhive.event_name"},
		sessionNameKeys:  {"honeyhive.session_name"},
		sourceKeys:       {"honeyhive_source", "honeyhive.source", "traceloop.association.properties.source"},
		userKeys:         {"honeyhive_user_id"},
		errorKeys:        {"honeyhive_error"},
		projectKeys:      {"honeyhive.project", "traceloop.association.properties.project", "honeyhive_project"},
		unusedKeys:       {"honeyhive_tracer_id", "honeyhive.session_auto_create"},
	},
}

// nativeRules are HoneyHive's own flattened objects, as its SDKs stamp them on their spans.
var nativeRules = []rule{
	{honeyhive, "metadata." + event.PipelineScoresKey, []string{event.PipelineScoresAttr}, asList, 0},
	{honeyhive, "inputs", []string{"honeyhive_inputs.*"}, asMembers, 0},
	{honeyhive, "inputs", []string{"honeyhive_prompt_template.inputs.*"}, asMembers, 0},
	{honeyhive, "outputs", []string{"honeyhive_outputs.*"}, asMembers, 0},
	{honeyhive, "config", []string{"honeyhive_config.*"}, asMembers, 0},
	{honeyhive, "metadata", []string{"honeyhive_metadata.*"}, asMembers, 0},
	{honeyhive, "metrics", []string{"honeyhive_metrics.*"}, asMembers, 0},
	{honeyhive, "feedback", []string{"honeyhive_feedback.*"}, asMembers, 0},
	{honeyhive, "user_properties", []string{"honeyhive_user_properties.*"}, asMembers, 0},
	{honeyhive, "config.template", []string{"honeyhive_prompt_template.template", "honeyhive_prompt_template.prompt"}, asJSON, 0},
	{honeyhive, "metadata.run_id", []string{"traceloop.association.properties.run_id"}, asText, 0},
	{honeyhive, "metadata.dataset_id", []string{"traceloop.association.properties.dataset_id"}, asText, 0},
	{honeyhive, "metadata.datapoint_id", []string{"traceloop.association.properties.datapoint_id"}, asText, 0},
	{honeyhive, "metadata.experiment_id", []string{"honeyhive.experiment_id"}, asText, 0},
	{honeyhive, "metadata.experiment_name", []string{"honeyhive.experiment_name"}, asText, 0},
	{honeyhive, "metadata.experiment_variant", []string{"honeyhive.experiment_variant"}, asText, 0},
	{honeyhive, "metadata.experiment_group", []string{"honeyhive.experiment_group"}, asText, 0},
	{honeyhive, "metadata.experiment_metadata", []string{"honeyhive.experiment_metadata.*"}, asTree, 0},
	{honeyhive, "metadata.baggage", []string{"baggage.*"}, asTree, 0},
	{honeyhive, "metadata.error_type", []string{"honeyhive_error_type"}, asText, 0},
	{honeyhive, "metadata.project", []string{"honeyhive.project", "traceloop.association.properties.project", "honeyhive_project"}, asText, 0},
}
