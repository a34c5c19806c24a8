package otlpmap

import (
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// The defaults of Options.
const (
	// DefaultMaxFieldBytes is where a long string is cut, in bytes: prompts and answers of the largest
	// models fit, whole files do not.
	DefaultMaxFieldBytes = 1 << 20
	// DefaultMaxMediaBytes is up to where images and other media stay inside a message, in bytes of
	// their base64 text.
	DefaultMaxMediaBytes = 64 << 10
	// DefaultMaxVector is up to how many numbers an embedding vector is kept: enough for a
	// test, far less than any real model's.
	DefaultMaxVector = 64
)

// Options bound what a Mapper keeps. Zero values mean the defaults, negative ones no bound.
type Options struct {
	// Now is the time of arrival, for spans without a start time. Default: time.Now.
	Now func() time.Time
	// MaxFieldBytes cuts longer string attributes to their head, on a rune's boundary;
	// metadata.truncated then has their length. Messages in JSON that this cuts in the
	// middle are shown up to the cut.
	MaxFieldBytes int
	// MaxMediaBytes bounds media inside messages (base64 text, data URLs); longer ones are
	// replaced by their type, length and SHA-256.
	MaxMediaBytes int
	// MaxVector is how many numbers an embedding vector may have to be kept; of longer ones
	// only count and dimension are.
	MaxVector int
	// PlainLogs keeps log records that hold nothing about AI, in metadata.logs of their span's event.
	// Without it they are dropped and counted.
	PlainLogs bool
	// Prices compute the cost of model calls whose spans do not report it. Nil: such calls have no cost.
	Prices Prices
}

// fill replaces the zero values by the defaults. Negative bounds stay: they mean "no bound".
func (o *Options) fill() {
	if o.Now == nil {
		o.Now = time.Now
	}
	for _, d := range []struct {
		v *int
		n int
	}{{&o.MaxFieldBytes, DefaultMaxFieldBytes}, {&o.MaxMediaBytes, DefaultMaxMediaBytes}, {&o.MaxVector, DefaultMaxVector}} {
		if *d.v == 0 {
			*d.v = d.n
		}
	}
}

// Mapper maps spans to events. It may be used by many goroutines at once.
type Mapper struct {
	// The options with their defaults, never written after New.
	opt Options
	// The working memory of calls, *mapState: each call takes one for itself, so none is ever shared.
	pool sync.Pool // of *mapState
}

// New returns a Mapper.
func New(o Options) *Mapper {
	o.fill()
	m := &Mapper{opt: o}
	m.pool.New = func() any { return newMapState() }
	return m
}

// Rejection is a span or log record that cannot be stored, and why. Its ids are lower-case hex as they came.
type Rejection struct{ TraceID, SpanID, Reason string }

// Traces maps the spans of one request, all of one project, in the order they came. A span
// without a trace or span id is rejected by itself; every other span becomes one event.
// Spans of this service's own SDK are not for this mapper.
//
// The work is done in stages, since a span depends on the others:
//
//  1. collect reads the ids, the kind and the session key of every span;
//  2. resolve chooses the session of each trace, which needs all of its spans;
//  3. index makes parents findable by span id, where that matters;
//  4. the builder makes one event for each span;
//  5. correct finds model calls that several spans report, which needs the finished events.
//
// Nothing in the batch refers to the pooled mapState. Names and error texts may share memory with td,
// whose strings are never written to.
func (m *Mapper) Traces(td ptrace.Traces) (event.Batch, []Rejection) {
	return m.traces(td, nil)
}

// EventsOfSpans maps as Traces does, and also returns for each span of the request, in the order they came, which of the events is
// its own; -1 for a span that has none: it was rejected, or is a copy of a span that is in the request, too.
func (m *Mapper) EventsOfSpans(td ptrace.Traces) (events []event.Incoming, own []int) {
	own = slices.Repeat([]int{-1}, td.SpanCount())
	batch, _ := m.traces(td, own)
	return batch.Events, own
}

// traces is Traces, and also notes for the spans of the request which of the events is their own, unless own is nil.
func (m *Mapper) traces(td ptrace.Traces, own []int) (event.Batch, []Rejection) {
	x := m.pool.Get().(*mapState)
	defer func() {
		x.reset()
		m.pool.Put(x)
	}()
	// spans bring, and whether it counts as a model call on what is above and below it.
	rejected := x.collect(td, &m.opt)
	x.resolve()
	x.index()

	batch := event.Batch{Events: make([]event.Incoming, len(x.spans))}
	x.builder.opt, x.builder.x = &m.opt, x
	for i := range x.spans {
		x.indexSlots(&x.spans[i])
		x.builder.event(&x.spans[i], &batch.Events[i])
		if own != nil {
			own[x.spans[i].place] = i
		}
	}
	x.correct(batch.Events)
	batch.Sessions, batch.Traces = x.hints(), x.named()
	return batch, rejected
}

// mapState is the working memory of one call of Traces, pooled for the next.
type mapState struct {
	// The spans of the request, in the order they came. Its capacity is set before the first one is added:
	// other structures point into it.
	spans []span
	// The attributes of all spans, one after the other; a span has those from first to first+n.
	attrs []attr
	// The resources and scopes of the request. They are here to be cleared: spans refer to them.
	resources []*resource
	scopes    []*requestScope
	// By trace id: which session the spans of a trace belong to.
	traces map[[16]byte]*trace
	bySpan map[spanKey]int // only filled where parents matter: see correct, and own event ids
	ownIDs bool            // some span brought its own event id
	copies bool            // some span is a copy of one that has not ended: see resolvePendingCopy
	// The sessions of the request, by id and in the order of their first spans.
	sessions map[uuid.UUID]*session
	order    []*session
	// What the tables have for attribute names that are not listed word for word. It is kept for the next call:
	// it depends on the tables alone.
	places map[string]place // of names that are not the tables' own; kept for the next call
	// The builder of events, with its buffers.
	builder eventBuilder

	// Where the known attributes of the span in indexed are. Only one span at a time has its attributes here.
	slotIndex slotIndex
	indexed   *span  // whose attributes slotIndex has
	names     keySet // unusual names in families, of the span whose attributes are being collected
}

// spanKey identifies a span. A span id alone is unique only within its trace.
type spanKey struct {
	trace [16]byte
	span  [8]byte
}

// keepAttrs bounds the memory a mapState keeps between calls, in attributes.
const keepAttrs = 1 << 16

// newMapState returns the memory for the first call that needs it.
func newMapState() *mapState {
	return &mapState{traces: map[[16]byte]*trace{}, bySpan: map[spanKey]int{}, sessions: map[uuid.UUID]*session{}, places: map[string]place{}}
}

// reset prepares the memory for the next call: nothing of the request may stay reachable from the pool. After
// an unusually large request the memory is given up, so that it does not stay with the process for good.
func (x *mapState) reset() {
	x.clearSlots()
	if cap(x.attrs) > keepAttrs {
		*x = *newMapState()
		return
	}
	clear(x.spans)
	clear(x.attrs)
	clear(x.resources)
	clear(x.scopes)
	clear(x.order)
	clear(x.traces)
	clear(x.bySpan)
	clear(x.sessions)
	if len(x.places) >= keepPlaces {
		clear(x.places)
	}
	x.spans, x.attrs, x.resources, x.scopes, x.order = x.spans[:0], x.attrs[:0], x.resources[:0], x.scopes[:0], x.order[:0]
	x.ownIDs, x.copies = false, false
	x.builder.forget()
}

// collect goes over the request once and takes from each span what is needed to decide about
// the others: its ids, its kind and its session's key.
func (x *mapState) collect(td ptrace.Traces, opt *Options) (rejected []Rejection) {
	if n := td.SpanCount(); cap(x.spans) < n {
		x.spans = make([]span, 0, n) // pointers into it are kept: it must not move
	}
	mostOfResource, mostOfScope := Shared(td.SpanCount())
	place := -1
	for i := range td.ResourceSpans().Len() {
		rs := td.ResourceSpans().At(i)
		res := newResource(rs.Resource(), mostOfResource)
		x.resources = append(x.resources, res)
		for j := range rs.ScopeSpans().Len() {
			ss := rs.ScopeSpans().At(j)
			sc := newScope(ss.Scope(), mostOfScope)
			x.scopes = append(x.scopes, sc)
			for k := range ss.Spans().Len() {
				// The order matters: resolvePendingCopy replaces the span's ids, and identify derives the event's id and
				// the trace's session from them.
				src := ss.Spans().At(k)
				place++
				if reason := unusable(src); reason != "" {
					tid, sid := src.TraceID(), src.SpanID()
					rejected = append(rejected, Rejection{hex.EncodeToString(tid[:]), hex.EncodeToString(sid[:]), reason})
					continue
				}
				x.spans = append(x.spans, span{})
				s := &x.spans[len(x.spans)-1]
				s.src, s.resource, s.scope, s.place = src, res, sc, place
				s.id, s.parent = src.SpanID(), src.ParentSpanID()
				x.collectAttrs(s, opt)
				x.resolvePendingCopy(s)
				x.identify(s)
			}
		}
	}
	if x.copies {
		x.dropCopies()
	}
	return rejected
}

// unusable returns why a span cannot become an event, "" if it can.
func unusable(s ptrace.Span) string {
	switch {
	case s.TraceID().IsEmpty():
		return "the trace id is all zeros"
	case s.SpanID().IsEmpty():
		return "the span id is all zeros"
	}
	return ""
}

// identify fills what the other spans of the request may ask for: convention, role and type, event id,
// trace, session key, and the names the span has for its session and source. The span's attributes
// must be indexed.
func (x *mapState) identify(s *span) {
	attrs := x.attrsOf(s)
	if sc := s.scope.by; sc != otel {
		s.by = sc
	} else if by, ok := compiled.systems[s.text(attrs, compiled.genAISystems)]; ok && by < s.by {
		s.by = by
	}
	s.role, s.typ = spanKind(s, attrs)
	id := s.src.TraceID()
	s.eventID = EventID(id, s.id)
	// SDKs of HoneyHive may choose an event's id themselves. Children know only the span id, so from now
	// on parents must be looked up.
	if own := s.text(attrs, compiled.lists[eventIDKeys]); own != "" {
		if u, err := uuid.Parse(own); err == nil && u != uuid.Nil {
			s.eventID = u
			x.ownIDs = true
		}
	}
	t := x.traces[id]
	if t == nil {
		t = &trace{id: id}
		x.traces[id] = t
	}
	s.trace = t
	s.key = x.sessionKey(s, attrs)
	_, fixed := s.firstSession(attrs, compiled.lists[fixedSessionKeys])
	s.fixed = s.key != "" && s.key == fixed
	s.sessionName, s.own = s.text(attrs, compiled.lists[sessionNameKeys]), s.source(attrs)
	t.considerRoot(s)
}

// attrsOf returns a span's attributes. They may be written to, and the slice does not reach those of the next span.
func (x *mapState) attrsOf(s *span) []attr { return x.attrs[s.first : s.first+s.n : s.first+s.n] }

// resource is the resource of one part of the request. All spans of the part share it.
type resource struct {
	attrs pcommon.Map
	// service.name and service.version.
	service string
	version string
	// session.id: the session of spans that name none themselves.
	session string
	// The first of resourceSourceKeys that is set: the source of spans that name none themselves.
	source       string
	sharedObject // all attributes but our own stamps
}

// sharedObject is JSON that all events of a resource or a scope have. It is made when it is asked for.
type sharedObject struct {
	made  bool
	json  []byte // what fits
	most  int    // bytes of json
	left  int    // bytes of what did not fit into it
	whole []byte // with what did not fit, for the first event; nil: there is nothing more, or an event has it
}

// next returns the object for the next event, and how many bytes it lacks. The first event has all of it.
func (o *sharedObject) next() (object []byte, left int) {
	if whole := o.whole; whole != nil {
		o.whole = nil
		return whole, 0
	}
	return o.json, o.left
}

// What the spans of a request share stands in each of their events: a resource of a few MB before thousands of spans would take
// gigabytes. So it is bounded by the number of spans, but for the first.
const (
	sharedBytes   = 32 << 20 // of resources, in all events of a request
	leastShared   = 4 << 10  // of its resource, in each event
	maxSharedText = 1 << 10  // of one text that is a field of each event
)

// Shared returns how many bytes of JSON each event of a request has at most of its resource, and of its scope.
func Shared(spans int) (resource, scope int) {
	resource = max(leastShared, sharedBytes/max(spans, 1))
	return resource, resource / 4
}

// sharedText returns the begin of a text.
func sharedText(s string) string { return rawjson.Prefix(s, maxSharedText) }

// stampPrefix marks the attributes that this service's own receiver puts on a resource.
const stampPrefix = "spangrove."

// newResource reads what every span of the part needs. The JSON of all attributes is left to object; it has at most so many bytes.
func newResource(src pcommon.Resource, most int) *resource {
	r := &resource{attrs: src.Attributes(), sharedObject: sharedObject{most: most}}
	r.service = sharedText(textOf(r.attrs, "service.name"))
	r.version = sharedText(textOf(r.attrs, "service.version"))
	r.session = sharedSession(r.attrs, "session.id")
	for _, name := range keyLists[resourceSourceKeys] {
		if r.source = sharedText(textOf(r.attrs, name)); r.source != "" {
			break
		}
	}
	return r
}

// sharedSession returns the session that an attribute of a resource names, "" for none. It becomes the id of a session for each span, so
// one of many kilobytes is none.
func sharedSession(attrs pcommon.Map, key string) string {
	if session := textOf(attrs, key); len(session) <= maxSharedText {
		return session
	}
	return ""
}

// textOf returns an attribute's text, "" if it is absent or of another type.
func textOf(m pcommon.Map, key string) string {
	if v, ok := m.Get(key); ok && v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return ""
}

// requestScope is the instrumentation scope of one part of the request.
type requestScope struct {
	name, version string
	attrs         pcommon.Map
	// The convention that the scope's name announces, otel if none.
	by           convention
	sharedObject // metadata.scope
}

// newScope reads a scope. Its JSON is left to the first span that writes it; it has at most so many bytes.
func newScope(src pcommon.InstrumentationScope, most int) *requestScope {
	return &requestScope{
		name: sharedText(src.Name()), version: sharedText(src.Version()), attrs: src.Attributes(), by: ofScope(src.Name()),
		sharedObject: sharedObject{most: most},
	}
}
