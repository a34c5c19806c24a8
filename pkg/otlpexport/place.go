package otlpexport

import (
	"encoding/hex"
	"encoding/json"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// facts are the members of an event's metadata that describe the span it was.
type facts struct {
	metadata   map[string]json.RawMessage
	trace      pcommon.TraceID
	span       pcommon.SpanID
	foreign    bool // the event came as a span, with these ids
	parent     pcommon.SpanID
	attributes json.RawMessage // those of its attributes whose name metadata had
	own        json.RawMessage // of a foreign event: its metadata, where the other attributes stand
	resource   json.RawMessage
}

// told are the members of a foreign event's metadata that are not attributes: they describe how its
// span stood, or what the mapping made of it.
var told = map[string]bool{
	"attributes": true, "resource": true, "scope": true, "span_events": true, "links": true, "logs": true, "from_logs": true,
	"trace_id": true, "span_id": true, "parent_span_id": true, "has_otlp_lineage": true, "span_name": true,
	"otel_kind": true, "trace_state": true, "trace_flags": true, "instrumentor": true, "exceptions": true, "error_stacktrace": true,
	"embedding": true, "evaluations": true, "finish_reasons": true, "part_types": true, "parse_error": true, "truncated": true,
	event.ReplacedKey: true, event.AggregateKey: true, event.DuplicateKey: true, event.FilledKey: true,
}

// read takes an event's metadata apart, once.
func read(e *event.Event) facts {
	f := facts{metadata: map[string]json.RawMessage{}}
	for k, v := range rawjson.Object(e.Metadata) {
		f.metadata[k] = v
	}
	if hexID(f.text("trace_id"), f.trace[:]) && hexID(f.text("span_id"), f.span[:]) {
		f.foreign = true
		hexID(f.text("parent_span_id"), f.parent[:])
	}
	f.attributes = f.metadata["attributes"]
	if f.foreign {
		f.own = e.Metadata
	}
	f.resource = f.metadata["resource"]
	if rawjson.KindOf(f.resource) != '{' {
		var b rawjson.Builder
		b.String("service.name", e.Source)
		f.resource = b.Bytes()
	}
	return f
}

// text returns a member's string, "" if it is none.
func (f *facts) text(key string) string {
	s, _ := rawjson.Text(f.metadata[key])
	return s
}

// hexID reads an id of the length of dst, which stays all zeros if s is none.
func hexID(s string, dst []byte) bool {
	if len(s) != 2*len(dst) {
		return false
	}
	if _, err := hex.Decode(dst, []byte(s)); err != nil {
		clear(dst)
		return false
	}
	for _, b := range dst {
		if b != 0 {
			return true
		}
	}
	return false
}

// place is where an event's span stands.
type place struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
}

// placer sets the ids of spans: those that they came with, or new ones. known, if it is not nil, remembers them.
type placer struct {
	known map[[16]byte]place
}

// place moves a span from where the codec put it (the trace of its session) to where it stood
// before it became an event. A native event stays, or joins the trace of the event above it.
func (l *placer) place(span ptrace.Span, e *event.Event, f *facts) {
	at := place{span.TraceID(), span.SpanID()}
	above, below := l.known[e.ParentID]
	switch {
	case f.foreign:
		at = place{f.trace, f.span}
		span.SetTraceID(f.trace)
		span.SetSpanID(f.span)
		span.SetParentSpanID(f.parent)
		span.TraceState().FromRaw(f.text("trace_state"))
		if flags, ok := rawjson.Number(f.metadata["trace_flags"]); ok && flags >= 0 && flags < 256 {
			span.SetFlags(uint32(flags))
		}
		if kind, ok := kinds[f.text("otel_kind")]; ok {
			span.SetKind(kind)
		}
		links(span, f.metadata["links"])
	case below && e.ParentID != e.SessionID:
		at.trace = above.trace
		span.SetTraceID(above.trace)
		span.SetParentSpanID(above.span)
	}
	if l.known != nil && e.ID != uuid.Nil {
		l.known[e.ID] = at
	}
}

var kinds = map[string]ptrace.SpanKind{
	"INTERNAL": ptrace.SpanKindInternal, "SERVER": ptrace.SpanKindServer, "CLIENT": ptrace.SpanKindClient,
	"PRODUCER": ptrace.SpanKindProducer, "CONSUMER": ptrace.SpanKindConsumer,
}

// links writes {trace_id, span_id, trace_state, attributes} as the span's links.
func links(span ptrace.Span, list json.RawMessage) {
	for _, raw := range rawjson.Array(list) {
		var at place
		trace, _ := rawjson.Text(rawjson.Get(raw, "trace_id"))
		id, _ := rawjson.Text(rawjson.Get(raw, "span_id"))
		if !hexID(trace, at.trace[:]) || !hexID(id, at.span[:]) {
			continue
		}
		link := span.Links().AppendEmpty()
		link.SetTraceID(at.trace)
		link.SetSpanID(at.span)
		state, _ := rawjson.Text(rawjson.Get(raw, "trace_state"))
		link.TraceState().FromRaw(state)
		putMembers(link.Attributes(), rawjson.Get(raw, "attributes"), nil)
	}
}
