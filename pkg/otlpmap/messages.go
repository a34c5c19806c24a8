package otlpmap

import (
	"bytes"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// speaker returns a message's role by the name that it has in events. Gemini calls the assistant model; smolagents calls
// it tool-call where it calls tools, and their answers tool-response. metadata.part_types remembers the latter two.
func (b *eventBuilder) speaker(role []byte) []byte {
	if jsonscan.Kind(role) != '"' {
		return role
	}
	switch name := string(jsonscan.Inner(role)); name {
	case "model":
		return []byte(`"assistant"`)
	case "tool-call":
		b.part("role:" + name)
		return []byte(`"assistant"`)
	case "tool-response":
		b.part("role:" + name)
		return []byte(`"tool"`)
	}
	return role
}

// readMessages appends the messages of a JSON array (or of one message, or of an object with
// messages) to b.msgs. It returns false, and appends none, if the value is something else: one element
// that is no message makes the list something else. Of a list of lists, a batch of conversations, the first is read.
func (b *eventBuilder) readMessages(raw []byte) bool {
	at := len(b.msgs)
	switch jsonscan.Kind(raw) {
	case '[':
		all := true
		for c := jsonscan.Elements(raw); c.Open(); {
			if jsonscan.Kind(c.Val) == '[' {
				end := jsonscan.SkipValue(c.Val, 0)
				if b.readPair(c.Val[:end]) {
					all = false
					c.Leave(end)
					continue
				}
				if len(b.msgs) == at { // one list deeper: a batch of conversations
					return b.readMessages(c.Val[:end])
				}
			}
			if jsonscan.Kind(c.Val) == 'n' { // a chunk without a message
				c.Leave(jsonscan.SkipValue(c.Val, 0))
				continue
			}
			text := c.Val
			if jsonscan.Kind(text) == '"' {
				text = b.encodedObject(text)
			}
			n, whole, ok := b.readMessageAt(text)
			if !ok {
				b.msgs = b.msgs[:at]
				return false
			}
			if jsonscan.Kind(c.Val) == '"' {
				n, whole = jsonscan.SkipValue(c.Val, 0), false
			}
			all = all && whole
			c.Leave(n)
		}
		b.list, b.listWhole = raw, all
		return len(b.msgs) > at
	case '{':
		if inside := jsonscan.Member(raw, "messages"); jsonscan.Kind(inside) == '[' {
			return b.readMessages(inside)
		}
		return b.readMessage(raw)
	}
	return false
}

// encodedObject returns the object that the string at the start of text holds as JSON, nil if it holds something else.
// Mistral's SDK writes each message of a list by itself.
func (b *eventBuilder) encodedObject(text []byte) []byte {
	raw := text[:jsonscan.SkipValue(text, 0)]
	if in := jsonscan.Inner(raw); len(in) < 2 || in[0] != '{' {
		return nil
	}
	if obj, ok := b.clean(view(unquoted(raw))); ok && jsonscan.Kind(obj) == '{' {
		return obj
	}
	return nil
}

// readPair appends the message that a role and a text stand for, ["user", "Hi"]: LangChain takes messages in this form.
func (b *eventBuilder) readPair(raw []byte) bool {
	c := jsonscan.Elements(raw)
	if !c.Next() || jsonscan.Kind(c.Val) != '"' {
		return false
	}
	role := c.Val
	switch string(jsonscan.Inner(role)) {
	case "human", "ai":
		b.part("role:" + string(jsonscan.Inner(role)))
		role = []byte(langchainRoles[string(jsonscan.Inner(role))])
	case "user", "assistant", "system", "developer":
	default:
		return false
	}
	if !c.Next() || jsonscan.Kind(c.Val) != '"' {
		return false
	}
	content := c.Val
	if c.Next() {
		return false
	}
	b.msgs = append(b.msgs, chatMessage{role: role, content: content})
	return true
}

// readMessage appends one message, or the several that one message with tool results stands for.
func (b *eventBuilder) readMessage(raw []byte) bool {
	_, _, ok := b.readMessageAt(raw)
	return ok
}

// readMessageAt reads the message that text starts with, and returns its length. whole is what
// wholeMessages would report about it: to find out while reading saves a second walk over texts that may be long.
//
// Conventions differ little enough that one pass serves them all: members that any of them has are noted as they
// come, and what kind of message it was is decided at the end:
//
//  1. Without a role, it may be an OpenAI choice ({message: {…}, finish_reason}), an item of the Responses API
//     ({type: function_call, …}) or one of LangChain's messages ({type: human, …}). Anything else is no message.
//  2. With parts, they become the content, the calls and the results (see placeParts).
//  3. A message that already has the form of events (plain) is kept as text, so that most conversations are copied
//     and not written anew.
//  4. Any other message is written from its members.
func (b *eventBuilder) readMessageAt(text []byte) (n int, whole, ok bool) {
	if jsonscan.Kind(text) != '{' {
		return 0, false, false
	}
	var m chatMessage
	var room [8]messagePart
	var parts []messagePart
	var inside, typ, args, output, said []byte
	plain, wrong, inList := true, false, false
	c := jsonscan.Members(text)
	for c.Open() {
		if string(c.Key) == "parts" {
			plain = false
			if wrong = jsonscan.Kind(c.Val) != '['; !wrong {
				parts, n = scanParts(room[:0], c.Val)
				c.Leave(n)
				continue
			}
		}
		if !c.Close() {
			break
		}
		switch string(c.Key) {
		case "parts":
		case "role", "_role": // with _: Haystack before 2.9
			m.role = b.speaker(c.Val)
			plain = plain && string(m.role) == string(c.Val)
			whole = whole || !inList && jsonscan.Kind(c.Val) == '"'
		case "content", "_content":
			m.content = c.Val
			plain = plain && c.Key[0] != '_'
		case "tool_calls":
			m.calls = c.Val
			plain = plain && jsonscan.Empty(c.Val)
		case "tool_call_id":
			m.callID = c.Val
		case "name", "_name":
			m.name = c.Val
			plain = plain && c.Key[0] != '_'
		case "finish_reason":
			m.finish = c.Val
		case "stop_reason": // Anthropic
			if jsonscan.Kind(c.Val) == '"' {
				m.finish, plain = c.Val, false
			}
		case "reasoning":
			m.reasoning = b.thoughtText(c.Val)
			plain = plain && len(m.reasoning) == len(c.Val)
		case "message":
			inside = c.Val
			m.extra = append(m.extra, pair{c.Key, c.Val})
		case "type":
			typ = c.Val
			m.extra = append(m.extra, pair{c.Key, c.Val})
		case "arguments":
			args = c.Val
			m.extra = append(m.extra, pair{c.Key, c.Val})
		case "text":
			if said = c.Val; !jsonscan.Empty(c.Val) {
				m.extra = append(m.extra, pair{c.Key, c.Val})
			}
		case "output":
			output = c.Val
			m.extra = append(m.extra, pair{c.Key, c.Val})
		case "call_id":
			m.callID = c.Val
		case "function_call": // OpenAI's API before there were several
			if name := jsonscan.Member(c.Val, "name"); jsonscan.Empty(m.calls) && jsonscan.Kind(c.Val) == '{' && jsonscan.Kind(name) == '"' {
				m.calls, plain = b.oneCall(nil, name, jsonscan.Member(c.Val, "arguments")), false
			} else if !jsonscan.Empty(c.Val) {
				m.extra = append(m.extra, pair{c.Key, c.Val})
			}
		case "messages":
			inList = true
			fallthrough
		default:
			if !jsonscan.Empty(c.Val) {
				m.extra = append(m.extra, pair{c.Key, c.Val})
			}
		}
	}
	if n = c.Stop; n == 0 {
		return 0, false, false
	}
	if jsonscan.Kind(m.role) != '"' {
		switch {
		case jsonscan.Kind(inside) == '{':
			return n, whole, b.readChoice(inside, m.finish)
		case typ != nil && b.itemMessage(m, typ, args, output):
			return n, whole, true
		case typ != nil:
			return n, whole, b.langchainMessage(text[:n:n], typ)
		}
		return 0, false, false
	}
	if m.content == nil && jsonscan.Kind(said) == '"' && parts == nil && !wrong { // Dify: {role, text}
		m.content, plain = said, false
		m.without("text")
	}
	switch {
	case wrong:
		return n, whole, false
	case parts != nil:
		b.placeParts(m, parts)
		return n, whole, true
	case plain:
		m.raw = text[:n:n]
	}
	b.addMessage(m)
	return n, whole, true
}

// addMessage appends a message whose content may be a list of parts. m.raw is dropped if the
// message does not stay as it came.
func (b *eventBuilder) addMessage(m chatMessage) {
	if jsonscan.Kind(m.content) == '{' && b.partsObject(m) {
		return
	}
	if jsonscan.Kind(m.content) == '[' {
		if text := onlyString(m.content); text != nil {
			m.content, m.raw = text, nil
		} else if text, ok := b.onlyText(m.content); ok {
			m.content, m.raw = text, nil
		} else if hasCalls(m.content) {
			m.raw = nil
			b.readParts(m, m.content)
			return
		} else if parts := b.contentParts(m.content); len(parts) != len(m.content) || &parts[0] != &m.content[0] {
			// contentParts has not returned its argument: something was changed, and m.raw is the old text.
			m.content, m.raw = parts, nil
		}
	}
	if !jsonscan.Empty(m.calls) {
		m.calls = b.normalCalls(m.calls)
	}
	b.msgs = append(b.msgs, m)
}

// partsObject appends a message whose content is {format, parts, content}, as Mastra stores it: content is the text of the parts
// again. It returns false, and appends none, if the content is another object.
func (b *eventBuilder) partsObject(m chatMessage) bool {
	content, at := m.content, len(b.msgs)
	parts := jsonscan.Member(content, "parts")
	if jsonscan.Kind(parts) != '[' {
		return false
	}
	m.content, m.raw = nil, nil
	for c := jsonscan.Members(content); c.Next(); {
		if key := string(c.Key); key != "parts" && key != "content" && !jsonscan.Empty(c.Val) {
			m.add(c.Key, c.Val)
		}
	}
	b.readParts(m, parts)
	if text := jsonscan.Member(content, "content"); !jsonscan.Empty(text) && len(b.msgs) > at && string(b.msgs[at].content) != string(text) {
		b.msgs[at].add([]byte("text"), text)
	}
	return true
}

// onlyString returns the text of a list that has it alone, nil for any other list: LiveKit's messages are made of texts.
func onlyString(list []byte) []byte {
	c := jsonscan.Elements(list)
	if !c.Next() || jsonscan.Kind(c.Val) != '"' {
		return nil
	}
	text := c.Val
	if c.Next() {
		return nil
	}
	return text
}

// readChoice reads the message inside an OpenAI choice, {index, message: {…}, finish_reason}. The reason to stop stands
// beside the message and becomes a member of it.
func (b *eventBuilder) readChoice(inside, finish []byte) bool {
	at := len(b.msgs)
	if !b.readMessage(inside) {
		return false
	}
	for i := at; i < len(b.msgs); i++ {
		if b.msgs[i].finish == nil && finish != nil {
			b.msgs[i].finish, b.msgs[i].raw = finish, nil
		}
	}
	return true
}

// part notes the kind of a message part whose wrapping is dropped, for metadata.part_types.
func (b *eventBuilder) part(kind string) { b.losses.parts.add(kind) }

// onlyText returns the text of content parts if they are all text and nothing else is with them:
// [{"type":"text","text":"a"},{"type":"text","text":"b"}] → "ab". A part with any other member that is
// not empty, such as cache_control, makes it return false.
func (b *eventBuilder) onlyText(content []byte) ([]byte, bool) {
	n := 0
	var first []byte
	for c := jsonscan.Elements(content); c.Next(); {
		if jsonscan.Kind(c.Val) != '{' {
			return nil, false
		}
		var typ, text []byte
		for m := jsonscan.Members(c.Val); m.Next(); {
			switch string(m.Key) {
			case "type":
				typ = jsonscan.Inner(m.Val)
			case "text":
				text = m.Val
			default:
				if !jsonscan.Empty(m.Val) {
					return nil, false
				}
			}
		}
		switch string(typ) {
		case "text", "input_text", "output_text", "":
		default:
			return nil, false
		}
		if jsonscan.Kind(text) != '"' {
			return nil, false
		}
		if n == 0 {
			first = text
		}
		n++
	}
	if n == 0 {
		return nil, false
	}
	// The texts are joined with their escapes as they stand: none is decoded and encoded again.
	at := len(b.arena)
	b.arena = append(b.arena, '"')
	for c := jsonscan.Elements(content); c.Next(); {
		b.arena = append(b.arena, jsonscan.Inner(jsonscan.Member(c.Val, "text"))...)
		if typ := jsonscan.Inner(jsonscan.Member(c.Val, "type")); typ != nil && !b.losses.parts.hasText(typ) {
			b.part(string(typ))
		}
	}
	b.arena = append(b.arena, '"')
	if n == 1 {
		b.arena = b.arena[:at]
		return first, true
	}
	return b.arena[at:len(b.arena):len(b.arena)], true
}

// textOf returns a value as a JSON string: a string itself, anything else its JSON text in quotes.
func (b *eventBuilder) textOf(raw []byte) []byte {
	switch jsonscan.Kind(raw) {
	case '"':
		return raw
	case 0, 'n':
		return []byte(`""`)
	}
	at := len(b.arena)
	b.arena = b.appendString(b.arena, string(bytes.TrimSpace(raw)))
	return b.arena[at:len(b.arena):len(b.arena)]
}

// putMessages fills a field with the messages from b.msgs[at:] on, and takes them off the list.
func (b *eventBuilder) putMessages(t target, at int) bool {
	if t.field == fieldHistory.field {
		b.definedTools(at)
	}
	if b.filled(t.field) || len(b.msgs) == at {
		b.msgs = b.msgs[:at]
		return false
	}
	if t.field == fieldHistory.field {
		b.leadInstructions(at)
	}
	b.mark(t.field)
	b.by[t.field] = 0
	o := &b.obj[t.bucket]
	o.field(t)
	o.buf = b.appendMessages(o.buf, b.msgs[at:])
	b.msgs = b.msgs[:at]
	return true
}

// definedTools makes the definitions of tools among the messages from b.msgs[at:] on the config.tools. Langfuse's callback for
// LangChain appends each tool to the conversation, as the content of a message of the role "tool".
func (b *eventBuilder) definedTools(at int) {
	defines := func(m *chatMessage) bool {
		return jsonscan.Kind(m.content) == '{' && string(jsonscan.Inner(m.role)) == "tool" && m.onlySaid() &&
			string(jsonscan.Inner(jsonscan.Member(m.content, "type"))) == "function" &&
			jsonscan.Kind(jsonscan.Member(jsonscan.Member(m.content, "function"), "name")) == '"'
	}
	var list []byte
	for i := at; i < len(b.msgs); i++ {
		if m := &b.msgs[i]; defines(m) {
			if list == nil {
				list = append(list, '[')
			} else {
				list = append(list, ',')
			}
			list = append(list, m.content...)
		}
	}
	if list == nil || b.filled(fieldTools.field) || !b.putTools(append(list, ']')) {
		return
	}
	kept := b.msgs[:at]
	for _, m := range b.msgs[at:] {
		if !defines(&m) {
			kept = append(kept, m)
		}
	}
	b.msgs = kept
}

// appendMessages appends a JSON array of messages.
func (b *eventBuilder) appendMessages(dst []byte, list []chatMessage) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendMessage(dst, &list[i])
	}
	return append(dst, ']')
}
