package event

// coldKeys is the contract between those who write metadata and those who read it: an event's members with
// these keys stand in ColdMetadata, all others in Metadata. The OTLP mapping and the composing of logs split
// metadata by it, and filters look into the payload only for these. To move a key from one part to the other,
// change this list only; events that are stored keep the part that they were written with.
var coldKeys = map[string]bool{
	// What came with a span and no rule has placed.
	"attributes": true, "resource": true, "scope": true, "span_events": true, "links": true, "logs": true,
	// Where the event comes from.
	"trace_id": true, "span_id": true, "parent_span_id": true, "has_otlp_lineage": true, "span_name": true,
	"otel_kind": true, "trace_state": true, "trace_flags": true, "instrumentor": true,
	// Long or rarely filtered details of a step.
	"exceptions": true, "error_stacktrace": true, "input_mime_type": true, "output_mime_type": true, "embedding": true,
	"evaluations": true, "finish_reasons": true, "system": true, "response_model": true, "part_types": true,
	// Notes of this package about what it added to the event.
	keyFromLogs: true, FilledKey: true,
}

// ColdKey reports whether key is one of the members of metadata that may stand in ColdMetadata.
// No other key ever does, so a filter on any other key need not look there.
func ColdKey(key string) bool { return coldKeys[key] }
