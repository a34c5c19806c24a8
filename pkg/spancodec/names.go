package spancodec

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/event"
)

// Scope is the name of the instrumentation scope of native spans.
const Scope = "spangrove.native"

// prefix begins the names of all attributes that have a meaning to this service only.
const prefix = "spangrove."

// The attributes of a native span.
const (
	attrEventID     = "spangrove.event_id"     // string, UUID
	attrSessionID   = "spangrove.session_id"   // string, UUID
	attrParentID    = "spangrove.parent_id"    // string, UUID; absent on a session event
	attrType        = "spangrove.event_type"   // string
	attrSource      = "spangrove.source"       // string
	attrStart       = "spangrove.start_time"   // double, Unix ms; the span's own time is rounded to ns
	attrEnd         = "spangrove.end_time"     // double, Unix ms
	attrDuration    = "spangrove.duration"     // double, ms
	attrStarted     = "spangrove.started"      // bool, present if true
	attrDefaultTime = "spangrove.default_time" // bool, present if true
	attrOwnDuration = "spangrove.own_duration" // bool, present if true
	attrMetadata    = "spangrove.metadata"     // string, JSON object
	attrMetrics     = "spangrove.metrics"      // string, JSON object
	attrSeal        = "spangrove.seal"         // int, see seal
	attrStandard    = "spangrove.standard"     // string, see MarkStandard
)

// fields are the JSON fields in the order in which they are encoded and sealed.
var fields = [...]struct {
	attr string
	name string // in error messages: the field of the native event
	of   func(*event.Event) *json.RawMessage
}{
	{"spangrove.children_ids", "children_ids", func(e *event.Event) *json.RawMessage { return &e.ChildrenIDs }},
	{"spangrove.config", "config", func(e *event.Event) *json.RawMessage { return &e.Config }},
	{"spangrove.inputs", "inputs", func(e *event.Event) *json.RawMessage { return &e.Inputs }},
	{"spangrove.outputs", "outputs", func(e *event.Event) *json.RawMessage { return &e.Outputs }},
	{attrMetadata, "metadata", func(e *event.Event) *json.RawMessage { return &e.Metadata }},
	{attrMetrics, "metrics", func(e *event.Event) *json.RawMessage { return &e.Metrics }},
	{"spangrove.feedback", "feedback", func(e *event.Event) *json.RawMessage { return &e.Feedback }},
	{"spangrove.user_properties", "user_properties", func(e *event.Event) *json.RawMessage { return &e.UserProperties }},
}

// fixedAttributes is how many attributes a native span has beside its JSON fields, at most.
const fixedAttributes = 13

// Fixed reports whether an attribute of a native span is not text of its sender: an id, the type, what the codec notes.
// A processor that changes text leaves it alone.
func Fixed(attr string) bool {
	switch attr {
	case attrEventID, attrSessionID, attrParentID, attrType, attrStandard, fields[0].attr: // children_ids
		return true
	}
	return false
}
