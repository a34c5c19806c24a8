package otlpmap

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Native puts attributes that a processor added to a native event's span into the event, by the
// rules for attributes: they fill what the event leaves empty. What finds its field taken, and
// what no rule places, stands in metadata under its own name. The event's identity, name, times
// and session are its own and stay.
//
// It maps a span that has only these attributes, in a builder in which all that the event has is marked as filled
// (occupy). Then it adds what came of it to the event's objects, which keep what they have (rawjson.Fill).
func (m *Mapper) Native(e *event.Event, added pcommon.Map) {
	x := m.pool.Get().(*mapState)
	defer func() {
		x.reset()
		m.pool.Put(x)
	}()
	// A span with the added attributes alone, and the event's name and role.
	s := span{src: ptrace.NewSpan(), trace: &trace{}}
	added.CopyTo(s.src.Attributes())
	s.src.Attributes().RemoveIf(func(key string, v pcommon.Value) bool { return repeats(e, key, v) })
	s.src.SetName(e.Name)
	x.collectAttrs(&s, &m.opt)
	s.typ, s.role = e.Type, roleOfType(e.Type)
	if r := roleOf(&s, x.attrsOf(&s)); r != 0 && r.typed() == e.Type {
		s.role = r
	}
	b := &x.builder
	b.opt, b.x = &m.opt, x
	b.reset(&s)
	b.occupy(e)
	b.run()
	b.answerRole()
	b.usage()
	b.dropRedundant()
	b.unmapped()
	if !rawjson.Empty(e.Outputs) {
		b.whole = nil // the event's own outputs stay
	}
	var found event.Event
	b.finish(&found)
	for _, f := range []struct {
		to   *json.RawMessage
		from json.RawMessage
	}{
		{&e.Config, found.Config}, {&e.Inputs, found.Inputs}, {&e.Metadata, found.Metadata}, {&e.Metadata, found.ColdMetadata},
		{&e.Metrics, found.Metrics}, {&e.Feedback, found.Feedback}, {&e.UserProperties, found.UserProperties},
	} {
		*f.to = rawjson.Fill(*f.to, f.from)
	}
	switch {
	case found.Outputs == nil:
	case rawjson.Empty(e.Outputs):
		e.Outputs = found.Outputs
	case rawjson.KindOf(e.Outputs) != '{': // the event's own are no object
		var o rawjson.Builder
		o.Raw("outputs", found.Outputs)
		e.Metadata = rawjson.Fill(e.Metadata, o.Bytes())
	default:
		e.Outputs = rawjson.Fill(e.Outputs, found.Outputs)
	}
}

// occupy marks what a native event has already filled, so that no rule takes an attribute for a
// field that has another value.
func (b *eventBuilder) occupy(e *event.Event) {
	for bucket := range b.obj {
		for key, val := range rawjson.Object(hostObject(e, bucket)) {
			b.occupyMember(bucket, key)
			if bucket == bucketHot {
				b.occupyCount(key, val)
			}
		}
	}
	if b.filled(fieldModel.field) {
		b.mark(fieldModelName.field)
	}
	b.hasOutputs = !rawjson.Empty(e.Outputs)
	if b.hasOutputs && rawjson.KindOf(e.Outputs) != '{' {
		b.whole = e.Outputs
	}
}

// occupyMember marks one member of a bucket as filled.
func (b *eventBuilder) occupyMember(bucket int, key string) {
	if bucket == bucketHot && event.ColdKey(key) {
		bucket = bucketCold
	}
	if field, known := fieldIDs[bucket][key]; known {
		b.mark(field)
		b.by[field] = 0
		return
	}
	b.obj[bucket].keys.add(key)
}

// occupyCount sets a count of tokens or a cost to the event's own value, so that an attribute with
// another one is not taken for it.
func (b *eventBuilder) occupyCount(key string, val json.RawMessage) {
	if key == "cost" && jsonscan.Kind(val) == '0' {
		b.tokens.cost = val
		return
	}
	for i, names := range countKeys {
		if slices.Contains(names, key) {
			b.offerCount(i, val)
			for _, name := range names { // no rule writes its other name, either
				b.occupyMember(bucketHot, name)
			}
		}
	}
}

// hostObject returns an object of a native event by its bucket, nil for none. Its metadata is one object, and
// asked for as the hot half.
func hostObject(e *event.Event, bucket int) json.RawMessage {
	switch bucket {
	case bucketConfig:
		return e.Config
	case bucketInputs:
		return e.Inputs
	case bucketOutputs:
		if rawjson.KindOf(e.Outputs) == '{' {
			return e.Outputs
		}
	case bucketHot:
		return e.Metadata
	case bucketMetrics:
		return e.Metrics
	case bucketFeedback:
		return e.Feedback
	case bucketUser:
		return e.UserProperties
	}
	return nil
}

// repeats reports whether an attribute has the value that the native event's own metrics have: the
// spangrove_evaluate processor writes each score in both places.
func repeats(e *event.Event, key string, v pcommon.Value) bool {
	name, ok := strings.CutPrefix(key, "honeyhive_metrics.")
	if !ok {
		return false
	}
	val := rawjson.Get(e.Metrics, name)
	switch v.Type() {
	case pcommon.ValueTypeInt, pcommon.ValueTypeDouble:
		own, _ := strconv.ParseFloat(v.AsString(), 64)
		n, ok := rawjson.Number(val)
		return ok && n == own
	case pcommon.ValueTypeStr:
		text, ok := rawjson.Text(val)
		return ok && text == v.Str() || string(val) == v.Str()
	}
	return string(val) == v.AsString()
}
