package otlpmap

import (
	"encoding/hex"
	"strings"
)

// Logfire sends a copy of each span when the span starts, so that a long run shows before it ends. The
// copy has logfire.span_type "pending_span", an id of its own, and the real span as its parent; the
// real parent is in logfire.pending_parent_id. For example
//
//	{span_id: c1, parent: 5e, name: "chat (pending)", logfire.pending_parent_id: "a0"}
//	{span_id: 5e, parent: a0, name: "chat"}
//
// The copy is mapped to the event of the real span, unfinished. The finished one has the same event id
// and replaces it: in this request (dropCopies) or, if it comes later, in the store.

const (
	pendingType   = "pending_span"
	pendingSuffix = " (pending)" // of the copy's name
)

// resolvePendingCopy replaces the ids of a copy by those of the real span. A copy whose real parent is missing or
// not 16 hex digits becomes a root: the finished span will bring its parent. It must run before
// anything is derived from the ids (see collect).
func (x *mapState) resolvePendingCopy(s *span) {
	attrs := x.attrsOf(s)
	a := s.at(attrs, compiled.spanType)
	if a == nil || a.str() != pendingType || s.root() {
		return
	}
	s.pending, x.copies = true, true
	a.used = true
	s.id, s.parent = s.parent, [8]byte{} // the copy's parent is the real span
	if p := s.at(attrs, compiled.pendingParent); p != nil {
		var id [8]byte
		if len(p.str()) == 2*len(id) {
			if _, err := hex.Decode(id[:], []byte(p.str())); err == nil {
				s.parent = id
				p.used = true
			}
		}
	}
	if s.parent == s.id { // a span cannot be below itself
		s.parent = [8]byte{}
	}
}

// dropCopies takes out the copies of spans that the request has, too, and all but the first of
// several copies. It runs once all spans are collected, since the real span may come before its copy or
// after it. Spans move to other places in x.spans, so all that points to them is set anew.
func (x *mapState) dropCopies() {
	x.clearSlots()
	have := make(map[spanKey]bool, len(x.spans))
	for i := range x.spans {
		if s := &x.spans[i]; !s.pending {
			have[spanKey{s.src.TraceID(), s.id}] = true
		}
	}
	// The spans that stay move together, in their order.
	kept := 0
	for i := range x.spans {
		s := &x.spans[i]
		if s.pending {
			key := spanKey{s.src.TraceID(), s.id}
			if have[key] {
				continue
			}
			have[key] = true
		}
		if kept != i {
			x.spans[kept] = *s
		}
		kept++
	}
	clear(x.spans[kept:])
	x.spans = x.spans[:kept]
	for _, t := range x.traces { // they pointed at the places that spans had before
		t.best = nil
	}
	for i := range x.spans {
		x.spans[i].trace.considerRoot(&x.spans[i])
	}
}

// name returns the span's own name.
func (s *span) name() string {
	if s.pending {
		return strings.TrimSuffix(s.src.Name(), pendingSuffix)
	}
	return s.src.Name()
}
