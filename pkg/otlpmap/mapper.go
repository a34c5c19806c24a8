package otlpmap

import (
	"encoding/hex"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
)

// The defaults of Options.
const (
	// DefaultMaxFieldBytes is where a long string is cut: prompts and answers of the largest
	// models fit, whole files do not.
	DefaultMaxFieldBytes = 1 << 20
	// DefaultMaxMediaBytes is up to where images and other media stay inside a message.
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
	PlainLogs bool
	// Prices compute the cost of model calls whose spans do not report it. Nil: such calls have no cost.
	Prices Prices
}

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
	opt  Options
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
func (m *Mapper) Traces(td ptrace.Traces) (event.Batch, []Rejection) {
	x := m.pool.Get().(*mapState)
	defer func() {
		x.reset()
		m.pool.Put(x)
	}()
	// In stages, since a span depends on the others: its session on the whole trace, its parent on the ids that
	// spans bring, and whether it counts as a model call on what is above and below it.
	rejected := x.collect(td, &m.opt)
	x.resolve()
	x.index()

	batch := event.Batch{Events: make([]event.Event, len(x.spans))}
	x.builder.opt, x.builder.x = &m.opt, x
	for i := range x.spans {
		x.indexSlots(&x.spans[i])
		x.builder.event(&x.spans[i], &batch.Events[i])
	}
	x.correct(batch.Events)
	batch.Sessions, batch.Traces = x.hints(), x.named()
	return batch, rejected
}

// mapState is the working memory of one call of Traces, pooled for the next.
type mapState struct {
	spans     []span
	attrs     []attr
	resources []*resource
	scopes    []*scope
	traces    map[[16]byte]*trace
	bySpan    map[spanKey]int // only filled where parents matter: see correct, and own event ids
	ownIDs    bool            // some span brought its own event id
	copies    bool            // some span is a copy of one that has not ended: see resolvePendingCopy
	sessions  map[uuid.UUID]*session
	order     []*session
	places    map[string]place // of names that are not the tables' own; kept for the next call
	builder   eventBuilder

	slotIndex slotIndex
	indexed   *span  // whose attributes slotIndex has
	names     keySet // unusual names in families, of the span whose attributes are being collected
}

type spanKey struct {
	trace [16]byte
	span  [8]byte
}

// keepAttrs bounds the memory a mapState keeps between calls, in attributes.
const keepAttrs = 1 << 16

func newMapState() *mapState {
	return &mapState{traces: map[[16]byte]*trace{}, bySpan: map[spanKey]int{}, sessions: map[uuid.UUID]*session{}, places: map[string]place{}}
}

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
	for i := range td.ResourceSpans().Len() {
		rs := td.ResourceSpans().At(i)
		res := newResource(rs.Resource())
		x.resources = append(x.resources, res)
		for j := range rs.ScopeSpans().Len() {
			ss := rs.ScopeSpans().At(j)
			sc := newScope(ss.Scope())
			x.scopes = append(x.scopes, sc)
			for k := range ss.Spans().Len() {
				src := ss.Spans().At(k)
				if reason := unusable(src); reason != "" {
					tid, sid := src.TraceID(), src.SpanID()
					rejected = append(rejected, Rejection{hex.EncodeToString(tid[:]), hex.EncodeToString(sid[:]), reason})
					continue
				}
				x.spans = append(x.spans, span{})
				s := &x.spans[len(x.spans)-1]
				s.src, s.resource, s.scope = src, res, sc
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

// identify fills what the other spans of the request may ask for.
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
	s.fixed = s.key != "" && s.key == s.text(attrs, compiled.lists[fixedSessionKeys])
	s.sessionName, s.own = s.text(attrs, compiled.lists[sessionNameKeys]), s.source(attrs)
	t.considerRoot(s)
}

func (x *mapState) attrsOf(s *span) []attr { return x.attrs[s.first : s.first+s.n : s.first+s.n] }

// resource is the resource of one part of the request.
type resource struct {
	attrs   pcommon.Map
	service string
	version string
	session string
	source  string
	json    []byte // all attributes but our own stamps, as one object; made when asked for
	made    bool
}

// stampPrefix marks the attributes that this service's own receiver puts on a resource.
const stampPrefix = "spangrove."

func newResource(src pcommon.Resource) *resource {
	r := &resource{attrs: src.Attributes()}
	r.service = textOf(r.attrs, "service.name")
	r.version = textOf(r.attrs, "service.version")
	r.session = textOf(r.attrs, "session.id")
	for _, name := range keyLists[resourceSourceKeys] {
		if r.source = textOf(r.attrs, name); r.source != "" {
			break
		}
	}
	return r
}

// textOf returns an attribute's text, "" if it is absent or of another type.
func textOf(m pcommon.Map, key string) string {
	if v, ok := m.Get(key); ok && v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return ""
}

// scope is the instrumentation scope of one part of the request.
type scope struct {
	name, version string
	attrs         pcommon.Map
	by            convention
	json          []byte // as metadata.scope; made when asked for
}

func newScope(src pcommon.InstrumentationScope) *scope {
	return &scope{name: src.Name(), version: src.Version(), attrs: src.Attributes(), by: ofScope(src.Name())}
}
