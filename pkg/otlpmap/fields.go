package otlpmap

import (
	"fmt"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
)

// The fields that code fills, and not only a rule.
var (
	fieldModel             = declareField("config.model")
	fieldModelName         = declareField("metadata.model_name")
	fieldCost              = declareField("metadata.cost")
	fieldAggregate         = declareField("metadata." + event.AggregateKey)
	fieldCostSource        = declareField("metadata.cost_source")
	fieldUsageAdjusted     = declareField("metadata.usage_adjusted")
	fieldHistory           = declareField("inputs.chat_history")
	fieldTexts             = declareField("inputs.texts")
	fieldQuery             = declareField("inputs.query")
	fieldInputDocuments    = declareField("inputs.documents")
	fieldInputValue        = declareField("inputs.value")
	fieldRole              = declareField("outputs.role")
	fieldContent           = declareField("outputs.content")
	fieldCalls             = declareField("outputs.tool_calls")
	fieldFinish            = declareField("outputs.finish_reason")
	fieldReasoning         = declareField("outputs.reasoning")
	fieldChoices           = declareField("outputs.choices")
	fieldAnswerHistory     = declareField("outputs.chat_history")
	fieldDocuments         = declareField("outputs.documents")
	fieldResult            = declareField("outputs.result")
	fieldSessionID         = declareField("metadata.session_id")
	fieldSessionKey        = declareField("metadata.session_key")
	fieldServiceName       = declareField("metadata.service.name")
	fieldServiceVersion    = declareField("metadata.service.version")
	fieldUserID            = declareField("metadata.user_id")
	fieldUser              = declareField("user_properties.user_id")
	fieldParseError        = declareField("metadata.parse_error")
	fieldTruncated         = declareField("metadata.truncated")
	fieldReplaced          = declareField("metadata.replaced_characters")
	fieldClockSkew         = declareField("metadata.clock_skew")
	fieldEmbedding         = declareField("metadata.embedding")
	fieldFirstToken        = declareField("metadata.time_to_first_token_ms")
	fieldEvaluations       = declareField("metadata.evaluations")
	fieldExceptions        = declareField("metadata.exceptions")
	fieldStacktrace        = declareField("metadata.error_stacktrace")
	fieldErrorType         = declareField("metadata.error_type")
	fieldPartTypes         = declareField("metadata.part_types")
	fieldAttributes        = declareField("metadata.attributes")
	fieldSpanEvents        = declareField("metadata.span_events")
	fieldLinks             = declareField("metadata.links")
	fieldResource          = declareField("metadata.resource")
	fieldTraceID           = declareField("metadata.trace_id")
	fieldSpanID            = declareField("metadata.span_id")
	fieldParentSpanID      = declareField("metadata.parent_span_id")
	fieldHasOTLP           = declareField("metadata.has_otlp_lineage")
	fieldSpanName          = declareField("metadata.span_name")
	fieldOtelKind          = declareField("metadata.otel_kind")
	fieldTraceState        = declareField("metadata.trace_state")
	fieldTraceFlags        = declareField("metadata.trace_flags")
	fieldInstrumentor      = declareField("metadata.instrumentor")
	fieldScope             = declareField("metadata.scope")
	fieldDroppedAttributes = declareField("metadata.dropped_attributes_count")
	fieldDroppedEvents     = declareField("metadata.dropped_events_count")
	fieldDroppedLinks      = declareField("metadata.dropped_links_count")
	fieldResponseID        = declareField("metadata.response_id")
	fieldResponseModel     = declareField("metadata.response_model")
	fieldTools             = declareField("config.tools")
	fieldRequestModel      = declareField("config.request_model")
	fieldProvider          = declareField("config.provider")
	fieldChoiceCount       = declareField("config.choice_count")
	fieldFinishReasons     = declareField("metadata.finish_reasons")
	fieldToolCallID        = declareField("metadata.tool_call_id")
	fieldToolName          = declareField("metadata.tool_name")
)

// fieldIDs are the numbers of all fields that code or a rule fills, by bucket and key. A number is unique over
// all buckets. Keys that are not in it come only from data; object.keys watches over these.
var fieldIDs = func() (ids [buckets]map[string]int) {
	for i := range ids {
		ids[i] = map[string]int{}
	}
	return ids
}()

// declareField returns the target of that name, such as "config.model", and numbers it when it is new. It depends
// neither on the rules nor on the readers, so that those may refer to fields. Only the first dot separates:
// "metadata.service.name" is the member "service.name" of metadata. "config" alone is the bucket, which has no
// number.
func declareField(to string) target {
	name, key, _ := strings.Cut(to, ".")
	bucket, ok := bucketNames[name]
	if !ok {
		panic(fmt.Sprintf("otlpmap: rule for %q: no such object", to))
	}
	if key == "" {
		return target{bucket: bucket, field: -1}
	}
	if bucket == bucketHot && event.ColdKey(key) {
		bucket = bucketCold
	}
	id, ok := fieldIDs[bucket][key]
	if !ok {
		for _, m := range fieldIDs {
			id += len(m)
		}
		if id >= maxFields {
			panic("otlpmap: more fields than maxFields")
		}
		fieldIDs[bucket][key] = id
	}
	return target{bucket: bucket, key: key, field: id, member: string(appendKey(nil, key))}
}
