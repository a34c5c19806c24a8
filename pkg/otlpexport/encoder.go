package otlpexport

import (
	"encoding/json"
	"fmt"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/spancodec"
)

// Format is an encoding of OTLP.
type Format string

// The formats.
const (
	JSON     Format = "json"
	Protobuf Format = "protobuf"
)

// ContentType returns the media type of an answer in the format.
func (f Format) ContentType() string {
	if f == Protobuf {
		return "application/x-protobuf"
	}
	return "application/json"
}

// The bounds of what an Encoder holds back: events that follow each other share their resource,
// so a few are gathered before they are written.
const (
	maxHeld      = 64
	maxHeldBytes = 256 << 10
)

// Encoder writes one ExportTraceServiceRequest, event by event.
//
// In protobuf a message that is written in parts is the same message; in JSON the parts'
// members stand in one array. An Encoder serves one answer, and one goroutine.
type Encoder struct {
	format Format
	placer placer

	held  ptrace.Traces
	scope map[string]ptrace.ScopeSpans // of held, by the JSON of their resource
	n     int
	bytes int
	parts int
}

// New returns an Encoder. With tree, the events come parents first, all of one session: a native
// event below one that came as a span then joins that one's trace.
func New(f Format, tree bool) *Encoder {
	x := &Encoder{format: f}
	if tree {
		x.placer.known = map[[16]byte]place{}
	}
	x.forget()
	return x
}

func (x *Encoder) forget() {
	x.held, x.scope, x.n, x.bytes = ptrace.NewTraces(), map[string]ptrace.ScopeSpans{}, 0, 0
}

// Append takes the next event, which must be whole, and appends to dst what is ready. Totals
// of a session in its metadata are left out: they belong to the events around it.
func (x *Encoder) Append(dst []byte, e *event.Event) ([]byte, error) {
	out := *e
	out.Metadata = withoutTotals(e)
	known := read(&out)
	spans := x.spansOf(known.resource)
	span := spans.AppendEmpty()
	spancodec.EncodeOpen(span, &event.Incoming{Event: out})
	x.placer.place(span, &out, &known)
	describe(span, &out, &known)
	spancodec.MarkStandard(span)
	x.n++
	x.bytes += len(out.Inputs) + len(out.Outputs) + len(out.Metadata) + len(out.Config)
	if x.n < maxHeld && x.bytes < maxHeldBytes {
		return dst, nil
	}
	return x.flush(dst)
}

// Finish appends the rest.
func (x *Encoder) Finish(dst []byte) ([]byte, error) {
	dst, err := x.flush(dst)
	if err != nil || x.format == Protobuf {
		return dst, err
	}
	if x.parts == 0 {
		dst = append(dst, `{"resourceSpans":[`...)
	}
	return append(dst, "]}"...), nil
}

func (x *Encoder) flush(dst []byte) ([]byte, error) {
	if x.n == 0 {
		return dst, nil
	}
	defer x.forget()
	if x.format == Protobuf {
		part, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(x.held)
		return append(dst, part...), err
	}
	part, err := (&ptrace.JSONMarshaler{}).MarshalTraces(x.held)
	if err != nil {
		return dst, err
	}
	list := rawjson.Get(part, "resourceSpans")
	if len(list) < 2 || list[0] != '[' {
		return dst, fmt.Errorf("%d spans as JSON have no resourceSpans", x.n)
	}
	if x.parts++; x.parts == 1 {
		dst = append(dst, `{"resourceSpans":[`...)
	} else {
		dst = append(dst, ',')
	}
	return append(dst, list[1:len(list)-1]...), nil
}

// spansOf returns the spans that stand under a resource, given as JSON.
func (x *Encoder) spansOf(resource json.RawMessage) ptrace.SpanSlice {
	ss, ok := x.scope[string(resource)]
	if !ok {
		rs := x.held.ResourceSpans().AppendEmpty()
		putMembers(rs.Resource().Attributes(), resource, nil)
		ss = rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName(spancodec.Scope)
		x.scope[string(resource)] = ss
	}
	return ss.Spans()
}

// withoutTotals returns an event's metadata without what the reader added to it.
func withoutTotals(e *event.Event) json.RawMessage {
	if len(e.Totals) == 0 {
		return e.Metadata
	}
	var b rawjson.Builder
	for k, v := range rawjson.Object(e.Metadata) {
		if total := rawjson.Get(e.Totals, k); total == nil || string(total) != string(v) {
			b.Raw(k, v)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return b.Bytes()
}
