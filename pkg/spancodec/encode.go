package spancodec

import (
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
)

// IsNative reports whether the spans of a scope are native events, which Decode understands.
func IsNative(scope pcommon.InstrumentationScope) bool { return scope.Name() == Scope }

// Traces returns spans of native events, in their order, under one resource and one scope.
func Traces(events []event.Incoming) ptrace.Traces {
	td := ptrace.NewTraces()
	if len(events) == 0 {
		return td
	}
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	ss.Scope().SetName(Scope)
	ss.Spans().EnsureCapacity(len(events))
	for i := range events {
		Encode(ss.Spans().AppendEmpty(), &events[i])
	}
	return td
}

// Encode writes e into an empty span of a scope named Scope.
//
// e is complete and valid (Complete, Validate) and its JSON fields are clean (rawjson.Clean).
// Of what only the OTLP mapping sets (ColdMetadata, TraceID, Provisional, Fixed, Unfinished)
// a native event has nothing, and nothing is carried.
func Encode(span ptrace.Span, e *event.Incoming) {
	texts := encode(span, e)
	span.Attributes().PutInt(attrSeal, seal(&texts))
}

// EncodeOpen is Encode for a span that leaves the process: it has no seal, which nobody else
// could check, so Decode checks its texts.
func EncodeOpen(span ptrace.Span, e *event.Incoming) { encode(span, e) }

// SetScores replaces the metrics and metadata of a native span, JSON objects. Decode then checks its texts anew.
func SetScores(span ptrace.Span, metrics, metadata json.RawMessage) {
	span.Attributes().PutStr(attrMetrics, string(metrics))
	span.Attributes().PutStr(attrMetadata, string(metadata))
}

// encode writes all but the seal, and returns what that is made of.
func encode(span ptrace.Span, e *event.Incoming) (texts [len(fields)]string) {
	span.SetTraceID(pcommon.TraceID(e.SessionID))
	span.SetSpanID(spanID(e.ID))
	if e.ParentID != uuid.Nil {
		span.SetParentSpanID(spanID(e.ParentID))
	}
	span.SetName(e.Name)
	span.SetKind(kindOf(e.Type))
	span.SetStartTimestamp(timestamp(e.Start))
	span.SetEndTimestamp(timestamp(e.End))
	if e.Error != nil {
		span.Status().SetCode(ptrace.StatusCodeError)
		span.Status().SetMessage(*e.Error)
	}

	attrs := span.Attributes()
	attrs.EnsureCapacity(fixedAttributes + len(fields))
	attrs.PutStr(attrEventID, e.ID.String())
	attrs.PutStr(attrSessionID, e.SessionID.String())
	if e.ParentID != uuid.Nil {
		attrs.PutStr(attrParentID, e.ParentID.String())
	}
	attrs.PutStr(attrType, string(e.Type))
	attrs.PutStr(attrSource, e.Source)
	attrs.PutDouble(attrStart, e.Start)
	attrs.PutDouble(attrEnd, e.End)
	attrs.PutDouble(attrDuration, e.Duration)
	if e.Started {
		attrs.PutBool(attrStarted, true)
	}
	if e.DefaultTime {
		attrs.PutBool(attrDefaultTime, true)
	}
	if e.DurationGiven {
		attrs.PutBool(attrOwnDuration, true)
	}
	for i, f := range fields {
		if raw := *f.of(&e.Event); len(raw) > 0 {
			texts[i] = string(raw)
			attrs.PutStr(f.attr, texts[i])
		}
	}
	return texts
}

// spanID folds an event id into eight bytes. It is never zero, which OTLP forbids.
func spanID(id uuid.UUID) pcommon.SpanID {
	n := binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:])
	if n == 0 {
		n = 1
	}
	var s pcommon.SpanID
	binary.BigEndian.PutUint64(s[:], n)
	return s
}

// kindOf returns the kind that other backends expect of such a step: a model is called over
// the network, a session is where work enters.
func kindOf(t event.Type) ptrace.SpanKind {
	switch t {
	case event.TypeModel:
		return ptrace.SpanKindClient
	case event.TypeSession:
		return ptrace.SpanKindServer
	default:
		return ptrace.SpanKindInternal
	}
}

// timestamp returns Unix milliseconds as nanoseconds, at most the year 2262, the end of what
// signed nanoseconds can say. The exact value is in an attribute.
func timestamp(ms float64) pcommon.Timestamp {
	whole := math.Floor(ms)
	switch {
	case !(whole > 0):
		return 0
	case whole >= math.MaxInt64/1e6:
		return math.MaxInt64
	default:
		return pcommon.Timestamp(uint64(whole)*1e6 + uint64((ms-whole)*1e6+0.5))
	}
}
