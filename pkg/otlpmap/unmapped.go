package otlpmap

import (
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// valid returns text that every store can hold, and counts what had to be replaced for that.
func (b *eventBuilder) valid(s string) string {
	s, n := rawjson.ValidText(s)
	b.losses.replaced += n
	return s
}

// storable returns text that every store can hold, for what is no part of one event, whose metadata could tell of it.
func storable(s string) string {
	s, _ = rawjson.ValidText(s)
	return s
}

// unmapped writes what no rule placed, and what was done to the values. It must be the last step that writes: any field
// that is filled later would find its key taken by an attribute. The notes come after the values, which may add to them.
func (b *eventBuilder) unmapped() {
	b.putEmbedding()
	b.attributes()
	b.otherEvents()
	b.links()
	if len(b.losses.parts.list) > 0 {
		b.putList(fieldPartTypes, b.losses.parts.list)
	}
	if len(b.losses.failed) > 0 {
		b.putText(fieldParseError, strings.Join(b.losses.failed, ", "))
	}
	if len(b.losses.cuts) > 0 {
		var o object
		for _, c := range b.losses.cuts {
			if o.keys.add(c.key) {
				o.int(c.key, int64(c.bytes))
			}
		}
		b.put(fieldTruncated, append(o.buf, '}'))
	}
	if b.losses.replaced > 0 {
		b.putInt(fieldReplaced, int64(b.losses.replaced))
	}
}

// putList fills a field with an array of texts.
func (b *eventBuilder) putList(t target, list []string) {
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

// attributes keeps the attributes that are not in the event, with their types: each as a member
// of metadata under its own name, and in metadata.attributes those whose name is taken there. A
// repaired attribute stays although it is used, and so do those of keptNames.
func (b *eventBuilder) attributes() {
	b.names.reset()
	b.clashes = b.clashes[:0]
	for i := range b.attrs {
		a := &b.attrs[i]
		if a.used && !a.repaired && !keptAsWell(a.slot) {
			continue
		}
		// The clashes are written together afterwards: they are members of one object.
		bucket, name, ok := b.ownMember(a.key)
		if !ok {
			b.clashes = append(b.clashes, int32(i))
			continue
		}
		o := &b.obj[bucket]
		o.open(name)
		o.buf = b.unmappedValue(o.buf, a)
	}
	t := fieldAttributes
	if len(b.clashes) == 0 || b.filled(t.field) {
		return
	}
	// An attribute that comes twice under one name is kept once.
	o := &b.obj[t.bucket]
	n := 0
	for _, i := range b.clashes {
		a := &b.attrs[i]
		name, fresh := b.names.name(a.key)
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
		o.buf = b.unmappedValue(o.buf, a)
	}
	o.buf = append(o.buf, '}')
	b.mark(t.field)
}

// keptNames are the attributes that stay under their own names even though a field has their
// value: clients of HoneyHive look for these in both places.
var keptNames = []string{"error.type", "error.message", "honeyhive_error_type"}

// keptAsWell reports whether a slot is that of one of keptNames.
func keptAsWell(i slot) bool { return slices.Contains(compiled.keptSlots, i) }

// ownMember finds the attribute key a place as a member of metadata: the half of metadata, and
// the name it is written under. It returns false if metadata has that member, or if the name is
// one that only this service may write. The name is taken from then on.
func (b *eventBuilder) ownMember(key string) (bucket int, name string, ok bool) {
	bucket = bucketHot
	if event.ColdKey(key) {
		bucket = bucketCold
	}
	if reservedKeys[key] {
		return 0, "", false
	}
	if field, known := fieldIDs[bucket][key]; known {
		if writtenLast(field) || b.filled(field) {
			return 0, "", false
		}
		b.mark(field)
		b.by[field] = 0
		return bucket, key, true
	}
	name, ok = b.obj[bucket].keys.name(key)
	return bucket, name, ok
}

// reservedKeys are members of metadata whose meaning the store relies on: an attribute of such a
// name must not pass for one.
var reservedKeys = map[string]bool{
	"resource": true, "scope": true, "logs": true, "from_logs": true, "exceptions": true, "evaluations": true,
	event.AggregateKey: true, event.DuplicateKey: true, event.FilledKey: true,
}

// unmappedValue appends what is left of an attribute's value: all of it, or what dropRedundant left.
func (b *eventBuilder) unmappedValue(dst []byte, a *attr) []byte {
	if a.rest == restPruned {
		return append(dst, a.json...)
	}
	return b.appendValue(dst, a.val)
}

// otherEvents keeps the span events that no reader took: {name, time in ms, attributes}. The attributes of detailsEvent
// were collected as the span's own and are kept there.
func (b *eventBuilder) otherEvents() {
	t := fieldSpanEvents
	list := b.s.src.Events()
	if b.filled(t.field) {
		return
	}
	o := &b.obj[t.bucket]
	n := 0
	for i := range list.Len() {
		// taken is as long as the last event that was taken.
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
func (b *eventBuilder) links() {
	t := fieldLinks
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
