package otlpmap

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// trace is a trace of the request and the session it belongs to. key and session are known after resolve.
type trace struct {
	id [16]byte
	// The span whose key is the trace's: the earliest root that has one, else the earliest
	// span that has one. Ties go to the smaller span id, so that the order of arrival does
	// not matter.
	best *span

	key string // "": no span names one
	// The session of its spans: that of the key, or the trace id itself, which is provisional: the store
	// replaces it if a later request names one.
	session     uuid.UUID
	provisional bool
}

// considerRoot makes s the span that names the session of its trace, if it ranks before the present one.
func (t *trace) considerRoot(s *span) {
	if s.key == "" {
		return
	}
	b := t.best
	if b == nil || better(s, b) {
		t.best = s
	}
}

// better reports whether a decides about the session of its trace rather than b. The store orders the spans of other
// requests in the same way (event.TraceRank).
func better(a, b *span) bool {
	if ra, rb := a.root(), b.root(); ra != rb {
		return ra
	}
	if sa, sb := a.src.StartTimestamp(), b.src.StartTimestamp(); sa != sb {
		return sa < sb
	}
	return bytes.Compare(a.id[:], b.id[:]) < 0
}

// root reports whether the span has no parent, as far as it says.
func (s *span) root() bool { return s.parent == [8]byte{} }

// nameOf returns the session that a value names, "" for none: a text, or a whole number, as programs number their chats. 0 may mean that
// there is none.
func nameOf(v pcommon.Value) string {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		if !scrubbed(v.Str()) {
			return v.Str()
		}
	case pcommon.ValueTypeInt:
		if v.Int() > 0 {
			return strconv.FormatInt(v.Int(), 10)
		}
	}
	return ""
}

// firstSession returns the first attribute of a list that names a session, and the session.
func (s *span) firstSession(attrs []attr, list []slot) (*attr, string) {
	for _, i := range list {
		if a := s.at(attrs, i); a != nil {
			if name := nameOf(a.val); name != "" {
				return a, name
			}
		}
	}
	return nil, ""
}

// sessionKey returns the key a span names: one of the session attributes, a session in its caller's
// metadata, or the session of its resource, in this order; "" for none.
func (x *mapState) sessionKey(s *span, attrs []attr) string {
	if a, key := s.firstSession(attrs, compiled.lists[sessionKeys]); a != nil && !(key == springDefault && a.key == springConversation) {
		if key[0] == '"' { // MLflow's values are JSON
			if raw, ok := x.builder.clean(view(key)); ok && !jsonscan.Empty(raw) {
				return unquoted(raw)
			}
		}
		return key
	}
	if a := s.at(attrs, compiled.callerMetadata); a != nil {
		if raw, ok := x.builder.parse(a); ok {
			for _, name := range [...]string{"session_id", "thread_id"} {
				v := jsonscan.Member(raw, name)
				if jsonscan.Kind(v) == '"' && !jsonscan.Empty(v) {
					return unquoted(v)
				}
				if n, err := strconv.ParseInt(string(v), 10, 64); err == nil && n > 0 {
					return strconv.FormatInt(n, 10)
				}
			}
		}
	}
	return s.resource.session
}

// resolve decides the session of each trace. All spans of the request must have been looked at, since any of them may
// name the session of all; a trace that none names gets a provisional one, which a later request may replace. Then it
// finds, for each session, the span whose resource and name stand for it.
func (x *mapState) resolve() {
	for _, t := range x.traces {
		if t.best == nil {
			t.session, t.provisional = uuid.UUID(t.id), true
			continue
		}
		t.key = t.best.key
		t.session = SessionID(t.key)
	}
	for i := range x.spans {
		s := &x.spans[i]
		id := s.session()
		h := x.sessions[id]
		if h == nil {
			h = &session{id: id, best: s}
			x.sessions[id] = h
			x.order = append(x.order, h)
		} else if better(s, h.best) {
			h.best = s
		}
		if s.sessionName != "" && (h.named == nil || better(s, h.named)) {
			h.named, h.name = s, s.sessionName
		}
	}
}

// session returns the session of a span's event: its trace's, unless the span names one for itself alone.
func (s *span) session() uuid.UUID {
	if s.fixed {
		return SessionID(s.key)
	}
	return s.trace.session
}

// source returns the source that a span names, "" if it names none.
func (s *span) source(attrs []attr) string {
	if t := s.text(attrs, compiled.lists[sourceKeys]); t != "" {
		return t
	}
	return s.resource.source
}

// session is what the request holds about a session.
type session struct {
	id    uuid.UUID
	best  *span // its first root, or else its first span: its source and service are the session's
	name  string
	named *span // that gave the name
}

// hints returns what the store may use for implicit sessions, those that no event starts: the name
// that its spans give it, and service, source and resource of the span that stands for it (see session.best).
func (x *mapState) hints() []event.SessionHint {
	if len(x.order) == 0 {
		return nil
	}
	out := make([]event.SessionHint, 0, len(x.order))
	for _, h := range x.order {
		hint := event.SessionHint{SessionID: h.id, Name: storable(h.name), Fallback: storable(h.best.resource.service), Source: storable(h.best.own)}
		if raw := h.best.resource.object(&x.builder); len(raw) > 2 {
			meta := make([]byte, 0, len(raw)+16)
			meta = append(meta, `{"resource":`...)
			meta = append(meta, raw...)
			hint.Metadata = append(meta, '}')
		}
		out = append(out, hint)
	}
	return out
}

// named returns the sessions that spans of the request name for their traces. The rank goes with each, so that the
// store can tell whether a span of another request ranks before.
func (x *mapState) named() (list []event.TraceSession) {
	for _, t := range x.traces {
		if s := t.best; s != nil {
			list = append(list, event.TraceSession{TraceID: uuid.UUID(t.id), SessionID: t.session,
				Rank: event.TraceRank{Below: !s.root(), Nanos: uint64(s.src.StartTimestamp()), Span: s.id}})
		}
	}
	return list
}

// object returns the resource's attributes as a JSON object, without our own stamps and what does not fit into its bound; nil if there
// are none. It is made once for all spans of the resource.
func (r *resource) object(b *eventBuilder) []byte {
	if r.made {
		return r.json
	}
	r.made = true
	if r.json, r.left = r.within(b, r.most); r.left > 0 {
		r.whole, _ = r.within(b, math.MaxInt)
	}
	return r.json
}

// within returns the attributes that fit into so many bytes, and how many bytes the others take.
func (r *resource) within(b *eventBuilder, most int) (json []byte, left int) {
	var o object
	for k, v := range r.attrs.All() {
		if strings.HasPrefix(k, stampPrefix) {
			continue
		}
		if k, fresh := o.keys.name(k); fresh {
			before := len(o.buf)
			o.open(k)
			o.buf = b.appendValue(o.buf, v)
			if len(o.buf) > most {
				left += len(o.buf) - before
				o.buf = o.buf[:before]
			}
		}
	}
	if o.empty() {
		return nil, left
	}
	return append(o.buf, '}'), left
}

// index notes the places of spans by their ids, where parents or ids of their own matter. Otherwise
// the map stays empty.
func (x *mapState) index() {
	if !x.ownIDs && x.models() < 2 {
		return
	}
	for i := range x.spans {
		s := &x.spans[i]
		x.bySpan[spanKey{s.trace.id, s.id}] = i
	}
}

// models counts the model calls of the request: with fewer than two there is nothing to correct.
func (x *mapState) models() (n int) {
	for i := range x.spans {
		if x.spans[i].typ == event.TypeModel {
			n++
		}
	}
	return n
}

// correct corrects model calls that several spans of the request report, each in
// its trace and session. The store goes on from there. An agent framework and the provider's client may both be
// instrumented: then one call comes as two model spans, one below the other, and its tokens would count twice.
// event.Accounts decides which of them is the call; the others become chains.
func (x *mapState) correct(events []event.Incoming) {
	if x.models() < 2 {
		return
	}
	spans := make([]event.Span, len(x.spans))
	for i := range x.spans {
		s := &x.spans[i]
		// Of a span that came twice the last stands for both: it is no call below itself.
		spans[i] = event.Span{Parent: -1, Model: s.typ == event.TypeModel && x.bySpan[spanKey{s.trace.id, s.id}] == i}
		if spans[i].Model {
			spans[i].Content = events[i].Content()
		}
		if s.root() {
			continue
		}
		// Only within a session: events of different sessions form different trees.
		if p, ok := x.bySpan[spanKey{s.trace.id, s.parent}]; ok && x.spans[p].session() == s.session() {
			spans[i].Parent = int32(p)
		}
	}
	// The order decides which span is the first of a cycle of parents: it must not depend on how the spans came.
	told := event.Accounts(spans, func(a, b int32) bool {
		sa, sb := &x.spans[a], &x.spans[b]
		if ta, tb := sa.src.StartTimestamp(), sb.src.StartTimestamp(); ta != tb {
			return ta < tb
		}
		return bytes.Compare(sa.eventID[:], sb.eventID[:]) < 0
	})
	for i := range x.spans {
		s := &x.spans[i]
		// All copies of a span that came twice share the account of the last.
		account := told[x.bySpan[spanKey{s.trace.id, s.id}]]
		c := event.Correction{Wrapper: account.Wrapper}
		if account.Inner {
			c.DuplicateOf = events[account.Of].ID
		}
		if c.Wrapper {
			events[i].Correct(c)
		}
	}
}
