package otlpmap

import (
	"bytes"
	"encoding/hex"
	"math"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// identity sets the ids of an event, and what follows from them for its writing.
//
// The parent of a root is its session, or the event that an attribute names (HoneyHive's parent_id). The parent of
// any other span is the event of its parent span: normally its id is computed, whether or not that span has
// come; if the parent is in this request and brought an id of its own, it is that.
func (b *eventBuilder) identity(e *event.Incoming) {
	s := b.s
	e.ID, e.SessionID, e.Type = s.eventID, s.session(), s.typ
	e.TraceID = uuid.UUID(s.trace.id)
	// Children in other requests refer to the computed id: the store needs both.
	if id := EventID(s.trace.id, s.id); b.x.ownIDs && id != e.ID {
		e.SpanID = id
	}
	e.Provisional = s.trace.provisional && !s.fixed
	e.Fixed, e.Named = s.fixed, s.key != ""
	switch {
	case e.ID == e.SessionID:
		e.Type = event.TypeSession // a span that declares itself the session
	case s.root():
		// Directly below the session, unless an attribute names another event: spans of different traces
		// may belong together.
		e.ParentID = e.SessionID
		if a := b.s.firstText(b.attrs, compiled.lists[parentKeys]); a != nil {
			if id, err := uuid.Parse(a.str()); err == nil && id != uuid.Nil && id != e.ID {
				e.ParentID = id
				a.used = true
				b.markEqual(compiled.lists[parentKeys], a)
			}
		}
	default:
		e.ParentID = EventID(s.trace.id, s.parent)
		if b.x.ownIDs {
			if i, ok := b.x.bySpan[spanKey{s.trace.id, s.parent}]; ok && b.x.spans[i].session() == s.session() {
				e.ParentID = b.x.spans[i].eventID
			}
		}
	}
	if a := s.firstText(b.attrs, compiled.lists[eventIDKeys]); a != nil {
		if id, err := uuid.Parse(a.str()); err == nil && id == e.ID {
			a.used = true
		}
	}
	b.markText(compiled.lists[eventTypeKeys], string(s.typ))
	// Read by nobody, and not worth keeping.
	for _, i := range compiled.lists[unusedKeys] {
		if a := s.at(b.attrs, i); a != nil {
			a.used = true
		}
	}
}

// firstText returns the first attribute of a list that is a non-empty string.
func (s *span) firstText(attrs []attr, list []slot) *attr {
	for _, i := range list {
		if a := s.at(attrs, i); a != nil && a.str() != "" && !scrubbed(a.str()) {
			return a
		}
	}
	return nil
}

// markEqual marks the attributes of a list that have the same value as a.
func (b *eventBuilder) markEqual(list []slot, a *attr) { b.markText(list, a.str()) }

// markText marks the attributes of a list that have the given text as used. Of a list the first attribute counts; one
// with another text stays under its own name.
func (b *eventBuilder) markText(list []slot, text string) {
	for _, i := range list {
		if a := b.s.at(b.attrs, i); a != nil && a.str() == text {
			a.used = true
		}
	}
}

// name sets the event's name: the first that is there of
//
//  1. the name given for the event (HoneyHive's event_name),
//  2. the name of the decorated function (traceloop.entity.name),
//  3. of a tool, the tool's name,
//  4. of a chain, the name of its function (ai.telemetry.functionId),
//  5. a component's name or a message (haystack.component.name, logfire.msg),
//  6. the span's name.
//
// Attributes that have the same text are used.
func (b *eventBuilder) name(e *event.Event) {
	e.Name = b.s.text(b.attrs, compiled.lists[givenNameKeys])
	if e.Name == "" {
		e.Name = b.s.text(b.attrs, compiled.lists[nameKeys])
	}
	if e.Name == "" && e.Type == event.TypeTool {
		e.Name = b.s.text(b.attrs, compiled.lists[toolNameKeys])
	}
	if e.Name == "" && b.s.role == onChain {
		e.Name = b.s.text(b.attrs, compiled.lists[chainNameKeys])
	}
	if e.Name == "" {
		e.Name = b.s.text(b.attrs, compiled.lists[lateNameKeys])
	}
	if e.Name == "" {
		e.Name = b.s.name()
	}
	if e.Name == "" {
		e.Name = event.Unknown
	}
	for _, l := range [...]keyList{givenNameKeys, nameKeys, toolNameKeys, chainNameKeys, lateNameKeys} {
		b.markText(compiled.lists[l], e.Name)
	}
	e.Name = b.valid(e.Name)
}

// callersUser takes the user that a caller names in OpenInference's JSON of its own metadata, where
// LangChain's configuration has it, too; or else the account that the convention knows, whose attribute stays as well.
func (b *eventBuilder) callersUser() {
	if b.filled(fieldUser.field) {
		return
	}
	if a := b.s.at(b.attrs, compiled.callerMetadata); a != nil {
		if raw, ok := b.parse(a); ok && jsonscan.Kind(raw) == '{' {
			if id := jsonscan.Member(raw, "user_id"); jsonscan.Kind(id) == '"' && len(jsonscan.Inner(id)) > 0 || jsonscan.Kind(id) == '0' {
				b.put(fieldUser, id)
				return
			}
		}
	}
	if user := b.s.text(b.attrs, compiled.accounts[b.s.by]); user != "" {
		b.putText(fieldUser, user)
	}
}

// source sets where the event comes from: an environment or service, as the span or its resource names it.
func (b *eventBuilder) source(e *event.Event) {
	e.Source = b.s.own
	if e.Source == "" {
		e.Source = event.Unknown
	}
	b.markText(compiled.lists[sourceKeys], e.Source)
	e.Source = b.valid(e.Source)
}

// errorText sets the event's error: the first that is there of
//
//  1. the error that HoneyHive's SDK names,
//  2. the message of a failed status,
//  3. Langfuse's status message of an observation with the level ERROR,
//  4. of a failed span, the message of its last exception,
//  5. of a failed span, or of one that names a failure, whatever names it (error.message, error.type), or "error".
//
// An exception of a span that did not fail is no error: it was handled.
func (b *eventBuilder) errorText(e *event.Event) {
	s := b.s
	text := s.text(b.attrs, compiled.lists[errorKeys])
	failed := s.src.Status().Code() == ptrace.StatusCodeError
	if text == "" && failed {
		text = s.src.Status().Message()
	}
	observed := s.at(b.attrs, compiled.observationMessage)
	if level := s.at(b.attrs, compiled.observationLevel); level != nil && level.str() == "ERROR" {
		failed = true
		if text == "" && observed != nil {
			text = observed.str()
		}
	}
	if text == "" && failed {
		text = b.lastException
	}
	if text == "" && (failed || s.any(compiled.lists[lateErrorKeys])) {
		if text = s.text(b.attrs, compiled.lists[lateErrorKeys]); text == "" {
			text = "error"
		}
	}
	if text == "" {
		return
	}
	b.markText(compiled.lists[errorKeys], text)
	b.markText(compiled.lists[lateErrorKeys], text)
	if observed != nil && observed.str() == text {
		observed.used = true
	}
	if message, trace := cutTraceback(text); trace != "" && (strings.Contains(b.lastStack, trace) || b.putText(fieldStacktrace, trace)) {
		text = message
	}
	told := b.valid(text)
	e.Error = &told
}

// cutTraceback takes a Python traceback off the end of an error's text. LangSmith sends both as one. Without a message
// before it, or without a traceback, trace is empty.
func cutTraceback(text string) (message, trace string) {
	at := strings.Index(text, "Traceback (most recent call last):")
	if at < 0 || strings.TrimSpace(text[:at]) == "" {
		return text, ""
	}
	return strings.TrimSpace(text[:at]), text[at:]
}

// wrappedType returns the type of an exception that stands in another one's message, else the type told. LangSmith
// tells each run's error, as Python writes it with its traceback, by a plain Exception.
func wrappedType(told, message string) string {
	if told != "Exception" {
		return told
	}
	message, trace := cutTraceback(message)
	name, _, written := strings.Cut(message, "(")
	if trace == "" || !written || name == "" || strings.ContainsFunc(name, notInName) {
		return told
	}
	return name
}

// notInName reports whether a character cannot be part of a class's name.
func notInName(r rune) bool {
	return r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// nanosPerMilli turns the nanoseconds of OTLP into the milliseconds of events.
const nanosPerMilli = 1e6

// millis returns a time of OTLP, nanoseconds since 1970, in milliseconds, fractions kept, bounded to what an event
// may have. Whole milliseconds are taken out first: as one float64 the nanoseconds would lose their last digits.
func millis(ns uint64) float64 {
	return math.Min(float64(ns/1e6)+float64(ns%1e6)/nanosPerMilli, event.MaxMillis)
}

// times sets start, end and duration, in milliseconds. A span without an end is not finished. One without a start
// starts at its end; one without both, when it arrived. An end before the start counts as the start, and
// metadata.clock_skew tells of it.
func (b *eventBuilder) times(e *event.Incoming) {
	start, end := uint64(b.s.src.StartTimestamp()), uint64(b.s.src.EndTimestamp())
	e.Unfinished = end == 0 || b.s.pending
	switch {
	case start == 0 && end == 0:
		e.Start = float64(b.opt.Now().UnixNano()) / nanosPerMilli
		e.DefaultTime = true
	case start == 0:
		start = end
		fallthrough
	default:
		e.Start = millis(start)
	}
	e.End = e.Start
	if end > start {
		e.End = millis(end)
		e.Duration = math.Min(float64(end-start)/nanosPerMilli, event.MaxMillis)
	} else if end != 0 && end < start {
		b.put(fieldClockSkew, []byte("true"))
	}
}

// sessionFacts writes how the span names its session and whose service it is. metadata.session_id has the
// session's key, unless that is the session's id (a UUID) or stands elsewhere in the event, as the conversation id or
// in the resource. metadata.session_key has a key that lost against that of another span of the trace.
func (b *eventBuilder) sessionFacts(e *event.Event) {
	s := b.s
	if s.key != "" {
		conversation := s.at(b.attrs, compiled.conversationID)
		given, _ := s.firstSession(b.attrs, compiled.lists[sessionKeys])
		switch {
		case s.key != s.trace.key && !s.fixed:
			b.putText(fieldSessionKey, s.key)
		case given != nil && conversation == given, given == nil && s.key == s.resource.session:
		case isUUID(s.key):
		default:
			b.putText(fieldSessionID, s.key)
		}
		b.markText(compiled.lists[sessionKeys], s.key)
	}
	if s.resource.service != "" {
		b.putText(fieldServiceName, s.resource.service)
	}
	if s.resource.version != "" {
		b.putText(fieldServiceVersion, s.resource.version)
	}
	// On every event, so that none depends on which requests brought the others; the events of
	// a session are compressed together, where a repetition costs next to nothing.
	s.resource.object(b)
	b.putShared(fieldResource, &s.resource.sharedObject)
	if h := b.x.sessions[e.SessionID]; h != nil && h.name != "" {
		b.markText(compiled.lists[sessionNameKeys], h.name)
	}
}

// putShared fills a field with the event's part of what it shares with others, and notes how large that is if it is not all.
func (b *eventBuilder) putShared(t target, o *sharedObject) {
	raw, left := o.next()
	if len(raw) > 2 {
		b.put(t, raw)
	}
	if left > 0 {
		b.losses.cuts = append(b.losses.cuts, cutOff{t.key, len(raw) + left})
	}
}

// otlpFields writes where the event comes from: its span, scope and convention. Exporters need these fields to
// make the same span of the event again.
func (b *eventBuilder) otlpFields() {
	s := b.s
	b.hexField(fieldTraceID, s.trace.id[:])
	b.hexField(fieldSpanID, s.id[:])
	if s.root() {
		b.put(fieldParentSpanID, []byte(`""`))
	} else {
		b.hexField(fieldParentSpanID, s.parent[:])
	}
	b.put(fieldHasOTLP, []byte("true"))
	b.putText(fieldSpanName, s.name())
	if k := otelKinds[s.src.Kind()]; k != "" {
		b.putText(fieldOtelKind, k)
	}
	b.putText(fieldInstrumentor, conventions[s.by].name)
	// Made once for all spans of the scope.
	if !s.scope.made {
		b.makeScope(s.scope)
	}
	b.putShared(fieldScope, &s.scope.sharedObject)
	if state := s.src.TraceState().AsRaw(); state != "" {
		b.putText(fieldTraceState, state)
	}
	// The low byte are the W3C flags; the bits above are about how the parent was reached.
	if flags := s.src.Flags() & 0xff; flags != 0 {
		b.putInt(fieldTraceFlags, int64(flags))
	}
	for _, d := range [...]struct {
		to target
		n  uint32
	}{
		{fieldDroppedAttributes, s.src.DroppedAttributesCount()}, {fieldDroppedEvents, s.src.DroppedEventsCount()},
		{fieldDroppedLinks, s.src.DroppedLinksCount()},
	} {
		if d.n != 0 {
			b.putInt(d.to, int64(d.n))
		}
	}
}

var otelKinds = map[ptrace.SpanKind]string{
	ptrace.SpanKindInternal: "INTERNAL", ptrace.SpanKindServer: "SERVER", ptrace.SpanKindClient: "CLIENT",
	ptrace.SpanKindProducer: "PRODUCER", ptrace.SpanKindConsumer: "CONSUMER",
}

// hexField fills a field with an id in hexadecimal.
func (b *eventBuilder) hexField(t target, id []byte) {
	if b.filled(t.field) {
		return
	}
	b.mark(t.field)
	b.by[t.field] = 0
	o := &b.obj[t.bucket]
	o.field(t)
	o.buf = append(o.buf, '"')
	o.buf = hex.AppendEncode(o.buf, id)
	o.buf = append(o.buf, '"')
}

// makeScope makes metadata.scope.
func (b *eventBuilder) makeScope(sc *requestScope) {
	sc.made = true
	var o object
	if sc.name != "" {
		o.open("name")
		o.buf = b.appendString(o.buf, sc.name)
	}
	if sc.version != "" {
		o.open("version")
		o.buf = b.appendString(o.buf, sc.version)
	}
	if sc.attrs.Len() > 0 {
		before := len(o.buf)
		o.open("attributes")
		if o.buf = b.appendMap(o.buf, sc.attrs, 0); len(o.buf) > sc.most {
			sc.whole, sc.left = append(bytes.Clone(o.buf), '}'), len(o.buf)-before
			o.buf = o.buf[:before]
		}
	}
	sc.json = append(o.buf, '}')
}
