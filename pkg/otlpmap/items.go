package otlpmap

import (
	"bytes"
	"strings"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// The items of OpenAI's Responses API stand beside messages in its lists: calls, their outputs,
// thoughts, and the calls of OpenAI's own tools.

// itemMessage appends the message that an item stands for. m holds its members but the type,
// args and output among them. It returns false, and appends none, for a type that is no item.
//
//	{type: function_call, call_id, name, arguments} → {role: assistant, content: null, tool_calls: [{id, name, arguments}]}
//	{type: function_call_output, call_id, output}   → {role: tool, content, tool_call_id}
//	{type: reasoning, summary: [{text}]}            → {role: assistant, content: null, reasoning}
//	{type: web_search_call, …} and other calls      → {role: assistant, content: null, and its members}
func (b *eventBuilder) itemMessage(m chatMessage, typ, args, output []byte) bool {
	kind := string(jsonscan.Inner(typ))
	m.item = true
	switch {
	case kind == "function_call" && m.name != nil && jsonscan.Inner(m.name) != nil:
		m.without("type", "arguments")
		m.calls = b.oneCall(m.callID, m.name, args)
		m.callID, m.name = nil, nil
	case kind == "function_call_output" && output != nil:
		m.without("type", "output")
		m.role, m.content = []byte(`"tool"`), b.textOf(output)
		b.part(kind)
		b.msgs = append(b.msgs, m)
		return true
	case kind == "tool_call" && m.name != nil: // LangChain: {name, args, id, type}
		call := m
		for _, p := range m.extra {
			switch string(p.key) {
			case "args":
				args = p.val
			case "id":
				call.callID = p.val
			}
		}
		m.without("type", "args", "id")
		m.calls = b.oneCall(call.callID, m.name, args)
		m.callID, m.name = nil, nil
	case kind == "reasoning":
		for _, p := range m.extra {
			if key := string(p.key); key == "summary" || key == "content" {
				m.reasoning = b.itemTexts(m.reasoning, p.val)
			}
		}
		m.without("type", "summary")
		if m.content != nil {
			m.reasoning, m.content = b.itemTexts(m.reasoning, m.content), nil
		}
	case strings.HasSuffix(kind, "_call"), strings.HasSuffix(kind, "_call_output"), kind == "item_reference",
		kind == "mcp_list_tools", kind == "mcp_approval_request",
		kind == "agent_handoff", kind == "agent_config_update": // LiveKit
		if m.callID != nil {
			m.extra = append(m.extra, pair{[]byte("call_id"), m.callID})
		}
		if m.name != nil {
			m.extra = append(m.extra, pair{[]byte("name"), m.name})
		}
		m.callID, m.name = nil, nil
	default:
		return false
	}
	b.part(kind)
	m.role = []byte(`"assistant"`)
	if m.content == nil {
		m.content = []byte("null")
	}
	b.msgs = append(b.msgs, m)
	return true
}

// itemTexts joins the texts of a list of parts to a text.
func (b *eventBuilder) itemTexts(text, list []byte) []byte {
	texts := [][]byte{text}
	for c := jsonscan.Elements(list); c.Next(); {
		if t := jsonscan.Member(c.Val, "text"); jsonscan.Kind(t) == '"' {
			texts = append(texts, t)
		}
	}
	return b.joinTexts(texts...)
}

// joinItems makes one answer of the messages and items from b.msgs[at:] on: they follow each
// other and are no alternatives. What items have beside calls and thoughts has no place there.
// The first message or item of the assistant is the head that the later ones are joined to; two messages are
// not joined, since they may be alternatives.
func (b *eventBuilder) joinItems(at int) {
	any := false
	for i := range b.msgs[at:] {
		any = any || b.msgs[at+i].item
	}
	if !any {
		return
	}
	// head is the place of the message that others are joined to, n the place of the next one that stays. What joins
	// it is collected, and written once: each join copies all that there is.
	head := -1
	n := at
	var calls, thoughts [][]byte
	for _, m := range b.msgs[at:] {
		if m.item {
			m.extra = nil
		}
		if head < 0 || string(jsonscan.Inner(m.role)) != "assistant" || !m.item && !b.msgs[head].item {
			if string(jsonscan.Inner(m.role)) == "assistant" && head < 0 {
				head = n
				calls, thoughts = append(calls, m.calls), append(thoughts, m.reasoning)
			}
			b.msgs[n] = m
			n++
			continue
		}
		// From here on m joins the head. A message takes the head's place, with the calls and thoughts of the items
		// before it; an item only adds its own.
		h := &b.msgs[head]
		h.raw = nil
		calls, thoughts = append(calls, m.calls), append(thoughts, m.reasoning)
		if !m.item {
			m.finish, m.raw = firstPresent(m.finish, h.finish), nil
			*h = m
		} else {
			h.finish = firstPresent(h.finish, m.finish)
		}
	}
	if len(calls) > 1 {
		b.msgs[head].calls, b.msgs[head].reasoning = b.joinLists(calls...), b.joinTexts(thoughts...)
	}
	b.msgs = b.msgs[:n]
}

// joinTexts joins JSON strings by line breaks; those that are nil are absent. Their escapes stay as they are: nothing is decoded.
func (b *eventBuilder) joinTexts(list ...[]byte) (text []byte) {
	at := len(b.arena)
	for _, t := range list {
		switch {
		case t == nil:
		case text == nil:
			text = t
		default:
			if len(b.arena) == at {
				b.arena = append(append(b.arena, '"'), jsonscan.Inner(text)...)
			}
			b.arena = append(append(b.arena, `\n`...), jsonscan.Inner(t)...)
		}
	}
	if len(b.arena) == at {
		return text
	}
	b.arena = append(b.arena, '"')
	return b.arena[at:len(b.arena):len(b.arena)]
}

// firstPresent returns a, or b if a is absent.
func firstPresent(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}

// joinLists returns one JSON array of the elements of several.
func (b *eventBuilder) joinLists(lists ...[]byte) []byte {
	at := len(b.arena)
	var only []byte
	for _, l := range lists {
		if l = bytes.TrimSpace(l); jsonscan.Empty(l) {
			continue
		}
		switch {
		case only == nil:
			only = l
			continue
		case len(b.arena) == at:
			b.arena = append(b.arena, only[:len(only)-1]...)
		}
		b.arena = append(append(b.arena, ','), l[1:len(l)-1]...)
	}
	if len(b.arena) == at {
		return only
	}
	b.arena = append(b.arena, ']')
	return b.arena[at:len(b.arena):len(b.arena)]
}
