package otlpmap

import (
	"strings"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// flatMessages appends the messages of the tree to b.msgs. What a message has beside its known
// parts is kept under its own name.
func (b *eventBuilder) flatMessages() {
	for _, n := range b.tree.indexed(0) {
		// OpenInference puts a level between the index and the message.
		for _, level := range [...]string{"message", "completion"} {
			if in := b.tree.child(n, level); in != 0 && b.tree.nodes[n].children == 1 {
				n = in
			}
		}
		if in := b.tree.child(n, "message"); in != 0 && b.tree.nodes[in].first != 0 && b.flatResults(in, b.tree.child(n, "function")) {
			continue
		}
		b.flatMessage(n)
	}
}

// flatResults appends the results of tools that OpenInference's instrumentation of AutoGen puts beside a message:
//
//	llm.input_messages.3.message.role = "function"
//	llm.input_messages.3.function.0   = {"name":"add","content":"3","call_id":"call_1","is_error":false}
//
// Each becomes a message of the role "tool". It returns false, and appends none, if anything else is there.
func (b *eventBuilder) flatResults(message, results int32) bool {
	role := b.leaf(b.tree.child(message, "role"))
	if results == 0 || role == nil || role.str() != "function" || b.tree.nodes[message].children != 1 {
		return false
	}
	list := b.tree.indexedInto(results, nil)
	for _, n := range list {
		a := b.leaf(n)
		if a == nil {
			return false
		}
		if raw, ok := b.parse(a); !ok || jsonscan.Kind(raw) != '{' || jsonscan.Member(raw, "content") == nil {
			return false
		}
	}
	for _, n := range list {
		a := b.leaf(n)
		raw, _ := b.parse(a)
		a.used = true
		b.msgs = append(b.msgs, b.toolResult(&messagePart{in: raw}))
	}
	role.used = true
	b.part("role:function")
	return len(list) > 0
}

// flatMessage appends the message that stands at a node of the tree: gen_ai.prompt.0.role and its siblings. A member
// that is a tree itself (contents.0.message_content.text) has no attribute of its own: a is nil then.
func (b *eventBuilder) flatMessage(n int32) {
	var m chatMessage
	for c := b.tree.nodes[n].first; c != 0; c = b.tree.nodes[c].next {
		key := b.tree.nodes[c].key
		a := b.leaf(c)
		if b.tree.nodes[c].first != 0 {
			a = nil
		}
		switch key {
		case "role":
			m.role = b.speaker(b.render(c))
		case "content", "text": // the first counts, a second one stays under its name
			if m.content != nil {
				m.add(quotable(key), b.render(c))
			} else if a != nil {
				m.content = b.flatContent(a)
			} else {
				m.content = b.render(c)
			}
		// Parts with an index each, next to content or in its place.
		case "contents":
			switch {
			case m.content != nil:
				m.add(quotable(key), b.render(c))
			case a == nil:
				b.flatContents(&m, c, b.tree.child(n, "tool_calls") != 0)
			default:
				m.content = b.flatContent(a)
			}
		case "tool_calls":
			if a == nil {
				m.calls = b.flatCalls(b.tree.indexedInto(c, nil))
			} else if m.calls = b.render(c); jsonscan.Kind(m.calls) == '[' {
				m.calls = b.normalCalls(m.calls)
			}
		case "name":
			m.name = b.render(c)
		case "tool_call_id":
			m.callID = b.render(c)
		case "finish_reason":
			m.finish = b.render(c)
		case "reasoning":
			m.reasoning = b.joinTexts(m.reasoning, b.thoughtText(b.render(c)))
		// OpenInference's form of OpenAI's functions: name and arguments are siblings (legacyCall).
		case "function_call_name":
			if a != nil && m.calls == nil {
				m.calls = b.legacyCall(n, a)
			}
		case "function_call": // {name, arguments}; LiteLLM has one for each call, as if they were answers
			if b.tree.nodes[c].first == 0 || m.calls != nil {
				m.add(quotable(key), b.render(c))
				break
			}
			at := len(b.arena)
			b.arena = append(b.arena, "[{"...)
			b.flatCallFields(c)
			b.arena = append(b.arena, "}]"...)
			m.calls = b.arena[at:len(b.arena):len(b.arena)]
		case "function_call_arguments_json":
			if b.tree.child(n, "function_call_name") == 0 {
				m.add(quotable(key), b.render(c))
			}
		default:
			m.add(quotable(key), b.render(c))
		}
	}
	switch {
	case string(m.role) == `"user"` && jsonscan.Kind(m.callID) == '"' && len(jsonscan.Inner(m.callID)) > 0:
		m.role = []byte(`"tool"`) // Anthropic's API has the result of a tool in a message of the user
		b.part("role:user")
	case m.role == nil && m.content == nil && m.calls == nil && len(m.extra) == 1 && string(m.extra[0].key) == "user" && jsonscan.Kind(m.extra[0].val) == '"':
		m.role, m.content, m.extra = []byte(`"user"`), m.extra[0].val, nil // OpenLLMetry's form of a completion's prompt: gen_ai.prompt.0.user
	case string(jsonscan.Inner(m.role)) == "thinking" && jsonscan.Kind(m.content) == '"' && m.reasoning == nil && jsonscan.Empty(m.calls) && len(m.extra) == 0:
		b.part("thinking") // OpenLLMetry numbers the thoughts of Anthropic's models as if they were answers
		m.role, m.content, m.reasoning = []byte(`"assistant"`), nil, m.content
	}
	if jsonscan.Kind(m.content) == '[' && hasCalls(m.content) {
		b.addMessage(m)
		return
	}
	b.msgs = append(b.msgs, m)
}

// joinThoughts joins answers of b.msgs[at:] that are thoughts alone with the message after them. OpenInference makes
// a message of each item of the Responses API.
func (b *eventBuilder) joinThoughts(at int) {
	if b.severalChoices() {
		return
	}
	for i := at; i < len(b.msgs); i++ {
		m := &b.msgs[i]
		m.item = m.item || m.reasoning != nil && m.content == nil && m.calls == nil && m.name == nil && m.callID == nil && len(m.extra) == 0
	}
	b.joinItems(at)
}

// leadSystemSetting puts the system prompt that is among the settings of a call (Anthropic's API has it beside
// the messages) before the messages from b.msgs[at:] on, unless they have one.
func (b *eventBuilder) leadSystemSetting(at int) {
	a := b.s.at(b.attrs, compiled.invocation)
	if a == nil || b.s.role != onModel || len(b.msgs) == at || hasSystem(b.msgs[at:]) {
		return
	}
	raw, ok := b.parse(a)
	if !ok {
		return
	}
	if sys := jsonscan.Member(raw, "system"); !jsonscan.Empty(sys) && b.lead(at, sys) {
		b.texts.add(b, sys)
	}
}

// flatContent returns a message's content: text, or parts that came as JSON text.
func (b *eventBuilder) flatContent(a *attr) []byte {
	if jsonscan.Kind(view(a.str())) == '[' {
		if raw, ok := b.parse(a); ok && knownParts(raw) {
			a.used = true
			if text, ok := b.onlyText(raw); ok {
				return text
			}
			if hasCalls(raw) {
				return raw
			}
			return b.contentParts(raw)
		}
	}
	// OpenLLMetry's older instrumentations of LangChain have a missing text as JSON, that of Bedrock all texts.
	if text := a.str(); text == `""` || jsonscan.Kind(view(text)) == '"' && strings.HasPrefix(b.s.scope.name, bedrockScope) {
		if raw, ok := b.parse(a); ok && jsonscan.Kind(raw) == '"' {
			a.used = true
			return raw
		}
	}
	return b.take(a)
}

// bedrockScope begins the names of the scopes of OpenLLMetry's instrumentation of Bedrock.
const bedrockScope = "opentelemetry.instrumentation.bedrock"

// knownParts reports whether a JSON array holds content parts and is not just text that looks like it: each has a
// type, or the shape of one of Bedrock's parts.
func knownParts(raw []byte) bool {
	n := 0
	for c := jsonscan.Elements(raw); c.Next(); n++ {
		if jsonscan.Kind(c.Val) != '{' || jsonscan.Kind(jsonscan.Member(c.Val, "type")) != '"' && scanPart(c.Val).kind == partOther {
			return false
		}
	}
	return n > 0
}

// flatContents reads indexed content parts into a message: text alone becomes the content, anything else an
// array of parts. OpenInference has a level message_content between the index and the part, and puts a call of a tool
// beside that level:
//
//	contents.0.message_content.type = "reasoning"   contents.0.message_content.text = "…"
//	contents.1.message_content.type = "tool_use"    contents.1.tool_call.function.name = "add"
//
// Thoughts become the reasoning, unless more than a text is with them, such as a signature. Calls become the tool_calls
// if called is false; else the message has them already.
func (b *eventBuilder) flatContents(m *chatMessage, n int32, called bool) {
	var calls []int32
	thoughts := [][]byte{m.reasoning}
	list := b.tree.indexedInto(n, nil)
	kept := list[:0]
	for _, c := range list {
		in := b.tree.child(c, "message_content")
		typ, text := b.leaf(b.tree.child(in, "type")), b.leaf(b.tree.child(in, "text"))
		switch {
		case b.tree.child(c, "tool_call") != 0 && (in == 0 || typ != nil && b.tree.nodes[in].children == 1):
			calls = append(calls, c)
		case typ != nil && text != nil && b.tree.nodes[in].children == 2 && (typ.str() == "reasoning" || typ.str() == "thinking"):
			thoughts = append(thoughts, b.take(text))
		default:
			if in != 0 {
				c = in
			}
			kept = append(kept, c)
			continue
		}
		if typ != nil {
			typ.used = true
			b.part(typ.str())
		}
	}
	m.reasoning = b.joinTexts(thoughts...)
	if len(calls) > 0 && !called {
		m.calls = b.flatCalls(calls)
	}
	if len(kept) > 0 {
		m.content = b.flatParts(kept)
	}
}

// flatParts returns content parts that are neither calls nor thoughts.
func (b *eventBuilder) flatParts(list []int32) []byte {
	// One part with nothing but a text, or its type and a text.
	if len(list) == 1 {
		in := list[0]
		typ, text := b.leaf(b.tree.child(in, "type")), b.leaf(b.tree.child(in, "text"))
		if text != nil && (typ == nil || typ.str() == "text") && b.tree.nodes[in].children <= 2 {
			if typ != nil {
				typ.used = true
				b.part("text")
			}
			return b.take(text)
		}
	}
	// Several parts, or one with more than a text.
	at := len(b.arena)
	b.arena = append(b.arena, '[')
	for i, in := range list {
		if i > 0 {
			b.arena = append(b.arena, ',')
		}
		if raw := b.encodedPart(in); raw != nil {
			b.arena = append(b.arena, raw...)
		} else {
			b.arena = b.appendNode(b.arena, in)
		}
	}
	b.arena = append(b.arena, ']')
	parts := b.arena[at:len(b.arena):len(b.arena)]
	if text, ok := b.onlyText(parts); ok {
		return text
	}
	return b.contentParts(parts)
}

// encodedPart returns a part that is in the text of another one of its type, as JSON: so come those that OpenInference
// has no attributes for, such as documents. It returns nil for any other part.
func (b *eventBuilder) encodedPart(n int32) []byte {
	typ, text := b.leaf(b.tree.child(n, "type")), b.leaf(b.tree.child(n, "text"))
	if typ == nil || text == nil || b.tree.nodes[n].children != 2 || jsonscan.Kind(view(text.str())) != '{' {
		return nil
	}
	raw, ok := b.parse(text)
	if !ok || string(jsonscan.Inner(jsonscan.Member(raw, "type"))) != typ.str() {
		return nil
	}
	typ.used, text.used = true, true
	return raw
}

// flatCalls returns indexed tool calls, with OpenInference's levels tool_call and function or
// without: tool_calls.0.tool_call.function.name and tool_calls.0.name are the same.
func (b *eventBuilder) flatCalls(list []int32) []byte {
	at := len(b.arena)
	b.arena = append(b.arena, '[')
	for i, c := range list {
		if i > 0 {
			b.arena = append(b.arena, ',')
		}
		if in := b.tree.child(c, "tool_call"); in != 0 {
			c = in
		}
		b.arena = append(b.arena, '{')
		b.flatCallFields(c)
		b.arena = append(b.arena, '}')
	}
	b.arena = append(b.arena, ']')
	return b.arena[at:len(b.arena):len(b.arena)]
}

// flatCallFields appends the members of a call, those of a function level as the call's own.
func (b *eventBuilder) flatCallFields(n int32) {
	for c := b.tree.nodes[n].first; c != 0; c = b.tree.nodes[c].next {
		key := b.tree.nodes[c].key
		if key == "function" && b.tree.nodes[c].first != 0 {
			b.flatCallFields(c)
			continue
		}
		if b.arena[len(b.arena)-1] != '{' {
			b.arena = append(b.arena, ',')
		}
		b.arena = appendKey(b.arena, key)
		b.arena = b.appendNode(b.arena, c)
	}
}

// legacyCall returns the one call of OpenAI's functions API, before there were tools. Its arguments are in a
// sibling of its name.
func (b *eventBuilder) legacyCall(n int32, name *attr) []byte {
	var args []byte
	if a := b.leaf(b.tree.child(n, "function_call_arguments_json")); a != nil {
		args = b.take(a)
	}
	return b.oneCall(nil, b.take(name), args)
}
