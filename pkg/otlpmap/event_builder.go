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
	"github.com/spangrove/spangrove/pkg/otlpmap/internal/pyliteral"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// eventBuilder makes one event after the other. Its buffers are used again for each.
type eventBuilder struct {
	opt   *Options
	x     *mapState
	s     *span
	attrs []attr

	// The objects of the event.
	obj   [buckets]object
	set   [maxFields / 64]uint64 // fields that are filled
	by    [maxFields]int16       // 1 + the index of the attribute that filled a field
	whole []byte                 // outputs that are not an object
	arena []byte                 // text that is made for one event; slices of it stay valid

	tokens tokenUsage
	losses losses

	// Conversations.
	tree tree
	msgs []message
	// The list that readMessages read last, and whether it is whole (wholeMessages).
	list      []byte
	listWhole bool
	// modelText is config.model if no attribute holds it.
	modelText string

	// Span events.
	taken         []bool // by span event: it is in the event
	evaluations   []byte // the entries of metadata.evaluations so far
	lastException string // the message of the exception that ended the span

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
	counts [countKinds]count
	cost   []byte
	answer []byte // usage inside an answer's message
	joined bool   // parts were added to their counts: see joinDetails
}

// losses are what was done to values, which metadata has members for (truncated, parse_error,
// replaced_characters, part_types, embedding).
type losses struct {
	cuts     []cutOff
	failed   []string // attributes that are not the JSON they should be
	replaced int      // characters that no store can hold
	parts    keySet   // kinds of message parts that lost their wrapping
	vectors  [2]dropped
}

func (l *losses) reset() {
	l.cuts, l.failed, l.replaced, l.vectors = l.cuts[:0], l.failed[:0], 0, [2]dropped{}
	l.parts.reset()
}

func (b *eventBuilder) reset(s *span) {
	b.s, b.attrs = s, b.x.attrsOf(s)
	for i := range b.obj {
		b.obj[i].reset()
	}
	clear(b.set[:])
	b.tokens = tokenUsage{}
	b.losses.reset()
	b.losses.cuts = append(b.losses.cuts, s.truncated...)
	b.whole, b.evaluations, b.modelText = nil, nil, ""
	b.unread, b.taken = b.unread[:0], b.taken[:0]
	b.arena = b.arena[:0]
	clear(b.msgs)
	b.msgs = b.msgs[:0]
	b.texts.reset()
	b.list, b.listWhole = nil, false
}

// keepBuffer bounds the buffers that a build keeps for the next event, in bytes.
const keepBuffer = 1 << 20

// forget drops what points into the request.
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

// event maps one span.
func (b *eventBuilder) event(s *span, e *event.Event) {
	b.reset(s)
	b.identity(e)
	b.run()
	b.answerRole()
	b.callersUser()
	b.spanEvents()
	b.placeOutputs()
	b.usage()
	b.name(e)
	b.source(e)
	b.errorText(e)
	b.times(e)
	b.sessionFacts(e)
	b.dropRedundant()
	b.otlpFields()
	b.unmapped()
	b.finish(e)
}

// filled reports whether a field has a value.
func (b *eventBuilder) filled(field int) bool { return b.set[field/64]&(1<<(field%64)) != 0 }

func (b *eventBuilder) mark(field int) { b.set[field/64] |= 1 << (field % 64) }

// put sets a field to its value, unless it has one.
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
// has that key.
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

// run lets the rules look at the span, in their order: those that have something to read in it.
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

// read lets a rule look at one of its sources.
func (b *eventBuilder) read(r *compiledRule, src *source) {
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
func (b *eventBuilder) apply(r *compiledRule, a *attr) {
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

// keep notes that an attribute was not read because its field has a value; dropRedundant decides what
// becomes of it.
func (b *eventBuilder) keep(a *attr) {
	if !a.used && !a.unread {
		a.unread = true
		b.unread = append(b.unread, a.index)
	}
}

type jsonState uint8

const (
	unparsed jsonState = iota
	isJSON
	notJSON
)

// parse returns an attribute's value as JSON text: a string's content if it is JSON (also when it
// was encoded twice), any other value as it is. It does the work once.
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

// literal is parse for values that may be Python literals. Such an attribute stays as well: its meaning
// is in the event, but not its very text.
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

// clean returns text as JSON that can be embedded, and whether it is JSON.
func (b *eventBuilder) clean(text []byte) ([]byte, bool) {
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

// unquoted returns the text of a JSON string.
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

// placeOutputs moves outputs that are not an object into the object that other attributes made of them.
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

// finish takes the event's objects out of the buffers, in one allocation.
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
