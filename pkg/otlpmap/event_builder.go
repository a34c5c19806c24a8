package otlpmap

import (
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
	"github.com/spangrove/spangrove/pkg/pyliteral"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// eventBuilder makes one event after the other. Its buffers are used again for each, so what it returns is
// copied out of them (see finish). It belongs to one mapState and thus to one goroutine.
//
// Slices of JSON text come from three places: the request (attribute values), an attribute's parsed json,
// and the arena. All of them stay valid until the next reset, so messages and fields refer to them
// without copying.
type eventBuilder struct {
	// The span being mapped, its attributes, and the request that it belongs to.
	opt   *Options
	x     *mapState
	s     *span
	attrs []attr

	// The objects of the event, as JSON text without the closing brace. by is 0 if something other than an attribute
	// filled the field, and means something only for a field that is in set.
	obj   [buckets]object
	set   [maxFields / 64]uint64 // fields that are filled
	by    [maxFields]int16       // 1 + the index of the attribute that filled a field
	whole []byte                 // outputs that are not an object
	// hasOutputs is set if attributes are added to a native event that has outputs (Mapper.Native).
	hasOutputs bool
	// arena holds text that is made for one event. It only grows until the next reset (but for attempts that are
	// taken back at once), so slices of it stay valid.
	arena []byte

	// Token counts and cost are written when all their sources have been read; losses at the very end.
	tokens tokenUsage
	zeros  []zeroCount // see offer
	losses losses

	// tree is the family of flattened attributes that is being read. msgs is a stack: a reader appends messages
	// from its own mark on (at := len(b.msgs)), places them, and takes them off again.
	tree tree
	msgs []chatMessage
	// The list that readMessages read last, and whether it is whole (wholeMessages): hasWhole then need not
	// walk over it again.
	list      []byte
	listWhole bool
	// modelText is config.model if no attribute holds it.
	modelText string

	// Span events.
	taken         []bool // by span event: it is in the event
	evaluations   []byte // the entries of metadata.evaluations so far
	lastException string // the message of the exception that ended the span
	lastStack     string // its stack trace, if that is the event's

	// What no rule has placed.
	unread []int32 // attributes whose field another one filled: see dropRedundant
	texts  textSet
	// The attributes that are kept although metadata has a member of their name, and their names.
	clashes []int32
	names   keySet

	jsonLeaves bool // flattened values are JSON, also texts and numbers
}

// tokenUsage is what is known so far about the tokens and the cost of a call.
type tokenUsage struct {
	// The first source that names a count other than 0 wins, so sources are read from the most to the least reliable.
	counts [countKinds]count
	// The cost in US dollars that the span itself reports, as a JSON number; nil: it reports none.
	cost   []byte
	answer []byte // usage inside an answer's message
	joined bool   // parts were added to their counts: see joinDetails
	// The thoughts are no part of the completion: see asThoughts.
	thoughtsApart bool
}

// losses are what was done to values, which metadata has members for (truncated, parse_error,
// replaced_characters, part_types, embedding).
type losses struct {
	// Strings that were longer than a bound, with the length they had.
	cuts     []cutOff
	failed   []string // attributes that are not the JSON they should be
	replaced int      // characters that no store can hold
	parts    keySet   // kinds of message parts that lost their wrapping
	vectors  [2]droppedVectors
}

// reset forgets the losses of the event before.
func (l *losses) reset() {
	l.cuts, l.failed, l.replaced, l.vectors = l.cuts[:0], l.failed[:0], 0, [2]droppedVectors{}
	l.parts.reset()
}

// reset turns to the next span. Strings that were cut while its attributes were collected are losses already.
func (b *eventBuilder) reset(s *span) {
	b.s, b.attrs = s, b.x.attrsOf(s)
	for i := range b.obj {
		b.obj[i].reset()
	}
	clear(b.set[:])
	b.tokens, b.zeros = tokenUsage{}, b.zeros[:0]
	b.losses.reset()
	b.losses.cuts = append(b.losses.cuts, s.truncated...)
	b.whole, b.hasOutputs, b.evaluations, b.modelText = nil, false, nil, ""
	b.unread, b.taken = b.unread[:0], b.taken[:0]
	b.arena = b.arena[:0]
	clear(b.msgs)
	b.msgs = b.msgs[:0]
	b.texts.reset()
	b.list, b.listWhole = nil, false
}

// keepBuffer bounds the buffers that a builder keeps for the next request, in bytes.
const keepBuffer = 1 << 20

// forget drops what points into the request, before the builder goes back to the pool with its mapState.
func (b *eventBuilder) forget() {
	b.s, b.attrs, b.x, b.whole, b.tokens.cost, b.list = nil, nil, nil, nil, nil, nil
	if cap(b.arena) > keepBuffer {
		b.arena = nil
	}
	for i := range b.obj {
		b.obj[i].reset()
		if cap(b.obj[i].buf) > keepBuffer {
			b.obj[i].buf = nil
		}
	}
	clear(b.msgs[:cap(b.msgs)])
	b.msgs = b.msgs[:0]
	b.tree.reset()
	b.texts.reset()
	b.names.reset()
}

// event maps one span. The order of the steps matters:
//
//  1. identity: the ids, the type and the parent.
//  2. run: the rules fill the fields from attributes. answerRole and callersUser then fill
//     two fields that the rules may have left empty.
//  3. spanEvents: exceptions and evaluations. It comes after the rules, so that attributes win, and before
//     errorText, which may need the last exception.
//  4. placeOutputs, usage: what could not be written before all rules had run. usage also computes the cost,
//     for which the model must be known.
//  5. name, source, errorText, times, sessionFacts: the event's own members. They mark the attributes that
//     they used.
//  6. dropRedundant: of the attributes that are still unused, those whose content is in the event go.
//  7. otlpFields: the span's own data. They come before the next step, so that no unmapped attribute of the
//     same name takes their place.
//  8. unmapped: all that is still unused is kept as it is, with a note of what was done to the values.
//  9. finish: the objects are copied out of the buffers.
func (b *eventBuilder) event(s *span, e *event.Incoming) {
	b.reset(s)
	b.identity(e)
	b.run()
	b.answerRole()
	b.callersUser()
	b.spanEvents()
	b.placeOutputs()
	b.usage()
	b.name(&e.Event)
	b.source(&e.Event)
	b.errorText(&e.Event)
	b.times(e)
	b.sessionFacts(&e.Event)
	b.dropRedundant()
	b.otlpFields()
	b.unmapped()
	b.finish(&e.Event)
}

// filled reports whether a field has a value.
func (b *eventBuilder) filled(field int) bool { return b.set[field/64]&(1<<(field%64)) != 0 }

// mark notes that a field has a value, or that nothing may fill it.
func (b *eventBuilder) mark(field int) { b.set[field/64] |= 1 << (field % 64) }

// put sets a field to a copy of val, which is JSON. It returns false, and does nothing, if the field is filled.
func (b *eventBuilder) put(t target, val []byte) bool {
	if b.filled(t.field) {
		return false
	}
	b.mark(t.field)
	b.by[t.field] = 0
	o := &b.obj[t.bucket]
	o.field(t)
	o.buf = append(o.buf, val...)
	return true
}

// putText is put for a text, which need not be valid UTF-8.
func (b *eventBuilder) putText(t target, val string) bool {
	if b.filled(t.field) {
		return false
	}
	b.mark(t.field)
	b.by[t.field] = 0
	o := &b.obj[t.bucket]
	o.field(t)
	o.buf = b.appendString(o.buf, val)
	return true
}

// putInt is put for a whole number.
func (b *eventBuilder) putInt(t target, n int64) {
	if !b.filled(t.field) {
		b.mark(t.field)
		b.by[t.field] = 0
		o := &b.obj[t.bucket]
		o.field(t)
		o.buf = strconv.AppendInt(o.buf, n, 10)
	}
}

// member adds to a bucket a member under a key that comes from data. It returns false if the bucket
// has that key. A key that is also a field's name, such as config's "temperature", fills that field, so that no
// later rule writes it a second time.
func (b *eventBuilder) member(bucket int, key string, val []byte) bool {
	if bucket == bucketHot && event.ColdKey(key) {
		bucket = bucketCold
	}
	if field, ok := fieldIDs[bucket][key]; ok {
		return !writtenLast(field) && b.put(target{bucket: bucket, key: key, field: field}, val)
	}
	if !b.obj[bucket].keys.add(key) {
		return false
	}
	b.obj[bucket].raw(key, val)
	return true
}

// writtenLast reports whether a field holds what no rule placed, or what was done to the values. A
// member of that name that comes from data must not take its place: all would be lost.
func writtenLast(field int) bool {
	switch field {
	case fieldAttributes.field, fieldSpanEvents.field, fieldLinks.field, fieldEmbedding.field,
		fieldPartTypes.field, fieldParseError.field, fieldTruncated.field, fieldReplaced.field:
		return true
	}
	return false
}

// run lets the rules look at the span, in their order: those that have something to read in it. These
// are a few of all rules: the bits of the span's rule set, from the lowest on.
func (b *eventBuilder) run() {
	for word, set := range &b.s.rules {
		for ; set != 0; set &= set - 1 {
			r := &compiled.rules[word*64+bits.TrailingZeros64(set)]
			if r.on&b.s.role == 0 {
				continue
			}
			for j := range r.src {
				b.read(r, &r.src[j])
			}
		}
	}
}

// read lets a rule look at one of its sources. All sources are read, also after one has filled the field:
// an attribute that only repeats the value is then known to be in the event.
func (b *eventBuilder) read(r *compiledRule, src *ruleSource) {
	if src.slot >= 0 && b.s.slots[src.slot] != 0 {
		if a := b.s.at(b.attrs, src.slot); a != nil {
			b.apply(r, a)
		}
	}
	if src.fam >= 0 && b.s.families.has(src.fam) {
		r.as.family(b, r.target, src.fam)
	}
	if src.events {
		b.messageEvents(r.target)
	}
}

// apply lets a rule read one attribute.
//
// A reader with a scalar function appends the value right behind the field's key; if it appends nothing or
// declines, the key is taken back. An attribute that comes after the field was filled counts as used if it has the
// same value as the one that filled it. Otherwise it stays, for another rule or for unmapped.
func (b *eventBuilder) apply(r *compiledRule, a *attr) {
	// Readers of whole attributes decide everything themselves.
	if r.as.whole != nil {
		r.as.whole(b, r.target, a)
		return
	}
	if b.filled(r.field) {
		if from := b.by[r.field]; from > 0 && equal(b.attrs[from-1].val, a.val) {
			a.used = true
		}
		return
	}
	o := &b.obj[r.bucket]
	before := len(o.buf)
	o.field(r.target)
	at := len(o.buf)
	buf, v := r.as.scalar(b, o.buf, a)
	if v == no || len(buf) == at {
		o.buf = buf[:before]
		return
	}
	o.buf = buf
	b.mark(r.field)
	b.by[r.field] = int16(a.index + 1)
	if v == yes {
		a.used = true
	}
}

// keep notes that an attribute was not read, or not all of it, because its field has a value; dropRedundant
// decides what becomes of it.
func (b *eventBuilder) keep(a *attr) {
	if !a.used && !a.unread {
		a.unread = true
		b.unread = append(b.unread, a.index)
	}
}

// jsonState is what is known about an attribute's value as JSON, so that it is parsed at most once.
type jsonState uint8

const (
	unparsed jsonState = iota
	isJSON
	notJSON
)

// parse returns an attribute's value as JSON text: a string's content if it is JSON (also when it
// was encoded twice), any other value as it is. It does the work once; the text is the attribute's own
// and must not be written to.
func (b *eventBuilder) parse(a *attr) ([]byte, bool) {
	if a.parsed == unparsed {
		a.parsed = notJSON
		if a.val.Type() != pcommon.ValueTypeStr {
			a.json, a.parsed = b.appendValue(nil, a.val), isJSON
		} else if raw, ok := b.clean(view(a.val.Str())); ok {
			a.json, a.parsed = raw, isJSON
		}
	}
	return a.json, a.parsed == isJSON
}

// literal is parse for values that may be Python literals, such as {'a': None}. Such an attribute stays as
// well: its meaning is in the event, but not its very text.
func (b *eventBuilder) literal(a *attr) ([]byte, bool) {
	raw, ok := b.parse(a)
	if !ok && a.val.Type() == pcommon.ValueTypeStr {
		if raw, ok = pyliteral.JSON(a.val.Str()); !ok {
			return nil, false
		}
		if raw, ok = b.clean(raw); ok { // its texts may have what no store takes
			a.json, a.parsed, a.repaired = raw, isJSON, true
		}
	}
	return raw, ok
}

// clean returns text as JSON that can be embedded, and whether it is JSON. A JSON string that holds a JSON
// object, list or string is unwrapped, at most twice: the text "{\"a\": 1}", with its quotes, becomes {"a": 1}. A
// string that holds a number stays a string, since "42" may be an answer. The result may share
// memory with text.
func (b *eventBuilder) clean(text []byte) ([]byte, bool) {
	// Most texts are prose, which the first byte shows. The full check would read them to the first error.
	switch jsonscan.Kind(text) {
	case '{', '[', '"', '0', 't', 'f', 'n':
	default:
		return nil, false
	}
	raw, n, err := rawjson.Clean(text)
	if err != nil {
		return nil, false
	}
	b.losses.replaced += n
	for range 2 { // JSON in a JSON string
		if jsonscan.Kind(raw) != '"' {
			break
		}
		text := unquoted(raw)
		if k := jsonscan.Kind(view(text)); k != '{' && k != '[' && k != '"' {
			break
		}
		in, n, err := rawjson.Clean(view(text))
		if err != nil {
			break
		}
		b.losses.replaced += n
		raw = in
	}
	return raw, true
}

// view returns a string's bytes without a copy. They must not be written to.
func view(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// unquoted returns the text of a JSON string, "" for any other value.
func unquoted(raw []byte) string {
	s, _ := rawjson.Text(raw)
	return s
}

// uncleared returns an empty slice with room for size bytes that nobody has filled with zeros: to clear them would
// take about 5 % of the time to map spans with long texts (BenchmarkTraces/agent-4096).
func uncleared(size int) []byte {
	var b strings.Builder
	b.Grow(size)
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), size)[:0:size]
}

// placeOutputs moves outputs that are not an object into the object that other attributes made of them, as
// the first of result, value and honeyhive_outputs that is free.
func (b *eventBuilder) placeOutputs() {
	if b.whole == nil || b.obj[bucketOutputs].empty() {
		return
	}
	for _, key := range [...]string{"result", "value", "honeyhive_outputs"} {
		if b.member(bucketOutputs, key, b.whole) {
			b.whole = nil
			return
		}
	}
}

// finish takes the event's objects out of the buffers, in one allocation. Each slice ends at its own length, so
// that whoever appends to one does not write into the next.
func (b *eventBuilder) finish(e *event.Event) {
	size := len(b.whole)
	for i := range b.obj {
		size += len(b.obj[i].buf) + 1
	}
	all := uncleared(size)
	take := func(bucket int) json.RawMessage {
		o := &b.obj[bucket]
		if o.empty() {
			return nil
		}
		at := len(all)
		all = append(all, o.buf...)
		all = append(all, '}')
		return json.RawMessage(all[at:len(all):len(all)])
	}
	e.Config = take(bucketConfig)
	e.Inputs = take(bucketInputs)
	e.Outputs = take(bucketOutputs)
	e.Metadata = take(bucketHot)
	e.ColdMetadata = take(bucketCold)
	e.Metrics = take(bucketMetrics)
	e.Feedback = take(bucketFeedback)
	e.UserProperties = take(bucketUser)
	if e.Outputs == nil && b.whole != nil {
		at := len(all)
		all = append(all, b.whole...)
		e.Outputs = json.RawMessage(all[at:len(all):len(all)])
	}
}
