package otlpmap

import (
	"bytes"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// lendIDs completes the messages b.msgs[at:] by the span's raw request or answer: with the ids of calls, which OpenInference's
// instrumentation of Mistral leaves out, and with the mark that a tool failed, which that of Anthropic leaves out. The raw messages must have
// the same roles in the same order, with calls of the same names; a system prompt may stand beside them.
func (b *eventBuilder) lendIDs(at int, from, mime slot) {
	lack, results := false, false
	for i := range b.msgs[at:] {
		m := &b.msgs[at+i]
		result := string(m.role) == `"tool"`
		results = results || result
		lack = lack || result && jsonscan.Empty(m.callID) || !jsonscan.Empty(m.calls) && !hasIDs(m.calls)
	}
	a := b.s.at(b.attrs, from)
	if !lack && !results || a == nil {
		return
	}
	raw, ok := b.content(a, mime)
	if !ok || jsonscan.Kind(raw) != '{' || !lack && !bytes.Contains(raw, []byte(`"is_error"`)) {
		return
	}
	end := len(b.msgs)
	defer func() { b.msgs = b.msgs[:end] }()
	counts := b.tokens.answer
	if list := jsonscan.Member(raw, "messages"); from == compiled.inputValue && jsonscan.Kind(list) == '[' {
		ok = b.readMessages(list)
	} else {
		ok = from != compiled.inputValue && b.answerIn(raw)
		b.joinItems(end)
	}
	b.tokens.answer = counts
	if at < end && string(b.msgs[at].role) == `"system"` && len(b.msgs)-end == end-at-1 {
		at++
	}
	if !ok || len(b.msgs)-end != end-at {
		return
	}
	for i := range b.msgs[at:end] {
		if m, o := &b.msgs[at+i], &b.msgs[end+i]; string(m.role) != string(o.role) {
			return
		}
	}
	for i := range b.msgs[at:end] {
		m, o := &b.msgs[at+i], &b.msgs[end+i]
		if string(m.role) == `"tool"` && jsonscan.Empty(m.callID) && jsonscan.Kind(o.callID) == '"' {
			m.callID = o.callID
			b.texts.add(b, o.callID)
		}
		if !jsonscan.Empty(m.calls) && !hasIDs(m.calls) && sameCalls(m.calls, o.calls) {
			m.calls = b.withIDs(m.calls, o.calls)
		}
		for _, p := range o.extra {
			if string(p.key) == "is_error" && jsonscan.Kind(p.val) == 't' {
				m.add(p.key, p.val)
			}
		}
	}
}

// hasIDs reports whether any of a list of calls has an id.
func hasIDs(calls []byte) bool {
	for c := jsonscan.Elements(calls); c.Next(); {
		if jsonscan.Member(c.Val, "id") != nil {
			return true
		}
	}
	return false
}

// sameCalls reports whether two lists of calls are of the same tools.
func sameCalls(x, y []byte) bool {
	other := jsonscan.Elements(y)
	for c := jsonscan.Elements(x); c.Next(); {
		name := jsonscan.Member(c.Val, "name")
		if jsonscan.Kind(name) != '"' || !other.Next() || string(jsonscan.Member(other.Val, "name")) != string(name) {
			return false
		}
	}
	return !other.Next()
}

// withIDs returns calls with the ids of others, which are of the same tools.
func (b *eventBuilder) withIDs(calls, others []byte) []byte {
	at := len(b.arena)
	b.arena = append(b.arena, '[')
	other := jsonscan.Elements(others)
	for c := jsonscan.Elements(calls); c.Next() && other.Next(); {
		if len(b.arena) > at+1 {
			b.arena = append(b.arena, ',')
		}
		id := jsonscan.Member(other.Val, "id")
		if jsonscan.Kind(id) != '"' {
			b.arena = append(b.arena, c.Val...)
			continue
		}
		b.arena = append(b.arena, `{"id":`...)
		b.arena = append(b.arena, id...)
		b.arena = append(b.arena, ',')
		b.arena = append(b.arena, c.Val[1:]...) // it has a name
		b.texts.add(b, id)
	}
	b.arena = append(b.arena, ']')
	return b.arena[at:len(b.arena):len(b.arena)]
}
