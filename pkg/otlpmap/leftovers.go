package otlpmap

import (
	"strings"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// valid is text that every store can hold.
func (b *build) valid(s string) string {
	s, n := rawjson.ValidText(s)
	b.replaced += n
	return s
}

// leftovers writes what no rule placed, and what was done to the values.
func (b *build) leftovers() {
	b.putEmbedding()
	b.attributes()
	b.otherEvents()
	b.links()
	if len(b.parts.list) > 0 {
		b.putList(fields.partTypes, b.parts.list)
	}
	if len(b.failed) > 0 {
		b.putText(fields.parseError, strings.Join(b.failed, ", "))
	}
	if len(b.cuts) > 0 {
		var o object
		for _, c := range b.cuts {
			if o.keys.add(c.key) {
				o.int(c.key, int64(c.bytes))
			}
		}
		b.put(fields.truncated, append(o.buf, '}'))
	}
	if b.replaced > 0 {
		b.putInt(fields.replaced, int64(b.replaced))
	}
}

func (b *build) putList(t target, list []string) {
	at := len(b.arena)
	b.arena = append(b.arena, '[')
	for i, s := range list {
		if i > 0 {
			b.arena = append(b.arena, ',')
		}
		b.arena = b.appendString(b.arena, s)
	}
	b.arena = append(b.arena, ']')
	b.put(t, b.arena[at:])
}

// attributes keeps the attributes that are not in the event, under their names and with their
// types.
func (b *build) attributes() {
	t := fields.attributes
	if b.filled(t.field) {
		return
	}
	o := &b.obj[t.bucket]
	keys := &b.names
	keys.reset()
	n := 0
	for i := range b.attrs {
		a := &b.attrs[i]
		if a.used && !a.mended {
			continue
		}
		name, fresh := keys.name(a.key)
		if !fresh {
			continue
		}
		if n++; n == 1 {
			o.field(t)
			o.buf = append(o.buf, '{')
		} else {
			o.buf = append(o.buf, ',')
		}
		o.buf = appendKey(o.buf, name)
		if a.rest == restPruned {
			o.buf = append(o.buf, a.json...)
		} else {
			o.buf = b.appendValue(o.buf, a.val)
		}
	}
	if n > 0 {
		o.buf = append(o.buf, '}')
		b.mark(t.field)
	}
}

// otherEvents keeps the span events that no reader took: {name, time in ms, attributes}.
func (b *build) otherEvents() {
	t := fields.spanEvents
	list := b.s.src.Events()
	if b.filled(t.field) {
		return
	}
	o := &b.obj[t.bucket]
	n := 0
	for i := range list.Len() {
		if i < len(b.taken) && b.taken[i] {
			continue
		}
		if n++; n == 1 {
			o.field(t)
			o.buf = append(o.buf, '[')
		} else {
			o.buf = append(o.buf, ',')
		}
		ev := list.At(i)
		o.buf = append(o.buf, `{"name":`...)
		o.buf = b.appendString(o.buf, ev.Name())
		o.buf = append(o.buf, `,"time":`...)
		o.buf = rawjson.AppendNumber(o.buf, millis(uint64(ev.Timestamp())))
		if ev.Attributes().Len() > 0 && ev.Name() != detailsEvent {
			o.buf = append(o.buf, `,"attributes":`...)
			o.buf = b.appendMap(o.buf, ev.Attributes(), 0)
		}
		if d := ev.DroppedAttributesCount(); d > 0 {
			o.buf = append(o.buf, `,"dropped_attributes_count":`...)
			o.buf = rawjson.AppendNumber(o.buf, float64(d))
		}
		o.buf = append(o.buf, '}')
	}
	if n > 0 {
		o.buf = append(o.buf, ']')
		b.mark(t.field)
	}
}

// links keeps the span's links: {trace_id, span_id, trace_state, attributes}.
func (b *build) links() {
	t := fields.links
	list := b.s.src.Links()
	if list.Len() == 0 || b.filled(t.field) {
		return
	}
	b.mark(t.field)
	o := &b.obj[t.bucket]
	o.field(t)
	o.buf = append(o.buf, '[')
	for i := range list.Len() {
		if i > 0 {
			o.buf = append(o.buf, ',')
		}
		l := list.At(i)
		o.buf = append(o.buf, `{"trace_id":"`...)
		o.buf = append(o.buf, l.TraceID().String()...)
		o.buf = append(o.buf, `","span_id":"`...)
		o.buf = append(o.buf, l.SpanID().String()...)
		o.buf = append(o.buf, '"')
		if state := l.TraceState().AsRaw(); state != "" {
			o.buf = append(o.buf, `,"trace_state":`...)
			o.buf = b.appendString(o.buf, state)
		}
		if l.Attributes().Len() > 0 {
			o.buf = append(o.buf, `,"attributes":`...)
			o.buf = b.appendMap(o.buf, l.Attributes(), 0)
		}
		o.buf = append(o.buf, '}')
	}
	o.buf = append(o.buf, ']')
}
