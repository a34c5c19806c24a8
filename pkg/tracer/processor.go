package tracer

import (
	"context"
	"encoding/json"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// processor is where the provider tells of all spans, those of other instrumentations, too.
//
// It stands in place of the SDK's batch processor, which forgets a batch whose export failed,
// and one whose flush took longer than its caller would wait; which counts spans, not bytes; and
// in whose blocking form the end of a span hangs for good if it meets the shutdown.
type processor struct{ t *Tracer }

var _ sdktrace.SpanProcessor = processor{}

// OnStart writes the session of the span's context on the span.
func (p processor) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	if sc := scopeOf(ctx); sc != nil && sc.t == p.t && sc.session != nil {
		s.SetAttributes(sc.session.stamp...)
	}
}

// OnEnd hands the span over, unless its trace is not sampled, and what is too large for it.
func (p processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	s, large := withoutLarge(s)
	p.t.update(eventID(s.SpanContext()), large)
	p.t.spans.put(s, sizeOf(s))
}

// lean is a span of which some attributes are left out.
type lean struct {
	sdktrace.ReadOnlySpan
	attributes []attribute.KeyValue
}

// Attributes implements sdktrace.ReadOnlySpan.
func (s lean) Attributes() []attribute.KeyValue { return s.attributes }

func isLarge(a attribute.KeyValue) bool {
	return a.Value.Type() == attribute.STRING && len(a.Value.AsString()) > maxAttribute
}

// withoutLarge takes the fields out of a span that are larger than maxAttribute. It is done when the span has ended: until then, what is
// added to a field must find all that was before.
func withoutLarge(s sdktrace.ReadOnlySpan) (sdktrace.ReadOnlySpan, encoded) {
	var large encoded
	if !slices.ContainsFunc(s.Attributes(), isLarge) {
		return s, large
	}
	left := slices.DeleteFunc(slices.Clone(s.Attributes()), func(a attribute.KeyValue) bool {
		if !isLarge(a) {
			return false
		}
		i := slices.Index(attributeOf[:], a.Key)
		raw := json.RawMessage(a.Value.AsString())
		// Another instrumentation may have set it to anything; only objects can be updates.
		if i < 0 || rawjson.KindOf(raw) != '{' || !json.Valid(raw) {
			return false
		}
		large.values[i] = raw
		return true
	})
	return lean{s, left}, large
}

// Shutdown does nothing: Tracer.Shutdown ends the send queues, and a provider that ends before the
// tracer does not keep it from sending what waits.
func (p processor) Shutdown(context.Context) error { return nil }

func (p processor) ForceFlush(ctx context.Context) error { return p.t.spans.flush(ctx) }

// spanBytes and attributeBytes are about what a span and an attribute take besides their texts.
const (
	spanBytes      = 512
	attributeBytes = 64
)

// sizeOf returns about how many bytes a span holds in memory.
func sizeOf(s sdktrace.ReadOnlySpan) int {
	n := spanBytes + len(s.Name()) + len(s.Status().Description) + sizeOfAttributes(s.Attributes())
	for _, e := range s.Events() {
		n += spanBytes + len(e.Name) + sizeOfAttributes(e.Attributes)
	}
	for _, l := range s.Links() {
		n += spanBytes + sizeOfAttributes(l.Attributes)
	}
	return n
}

func sizeOfAttributes(list []attribute.KeyValue) (n int) {
	for _, a := range list {
		n += attributeBytes + len(a.Key)
		switch a.Value.Type() {
		case attribute.STRING:
			n += len(a.Value.AsString())
		case attribute.STRINGSLICE:
			for _, s := range a.Value.AsStringSlice() {
				n += attributeBytes + len(s)
			}
		case attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE:
			n += len(a.Value.Emit()) // about as long as its numbers
		}
	}
	return n
}
