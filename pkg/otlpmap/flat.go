package otlpmap

import (
	"bytes"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// The readers of families: messages, tools, documents and texts whose parts are attributes of
// their own, such as llm.input_messages.0.message.role or gen_ai.prompt.0.content.

var (
	// llm.input_messages.0.message.role = "user", …0.message.content = "Hi" → [{"role":"user","content":"Hi"}].
	asFlatMessages = reader{
		name: "flat messages", about: "indexed role, content, tool_calls, … as messages",
		family: func(b *eventBuilder, t target, fam int16) {
			if !b.filled(t.field) && b.plant(fam) && !b.toldWhole() {
				at := len(b.msgs)
				b.flatMessages()
				b.lendIDs(at, compiled.inputValue, compiled.inputMime)
				if b.leadSystemSetting(at); !b.ranked(at) {
					b.putMessages(t, at)
				}
			}
		},
	}

	// The same for an answer: its first message becomes the members of outputs.
	asFlatAnswer = reader{
		name: "flat answer", about: "indexed messages as role, content, tool_calls, finish_reason, reasoning; further ones as choices",
		family: func(b *eventBuilder, _ target, fam int16) {
			if !b.answered() && b.plant(fam) {
				at := len(b.msgs)
				b.flatMessages()
				b.joinThoughts(at)
				b.joinCalls(at)
				if b.lendIDs(at, compiled.rawOutput, compiled.outputMime); !b.found(at) {
					b.answer(at)
				}
			}
		},
	}

	// llm.prompts.0.prompt.text = "Hi", of completion APIs.
	asPrompts = reader{
		name: "flat prompts", about: "indexed prompt.text as messages of the user",
		family: func(b *eventBuilder, t target, fam int16) {
			if b.filled(t.field) || !b.plant(fam) {
				return
			}
			at := len(b.msgs)
			for _, n := range b.tree.indexed(0) {
				if a := b.leaf(b.down(n, "prompt", "text")); a != nil {
					b.msgs = append(b.msgs, chatMessage{role: []byte(`"user"`), content: b.take(a)})
				}
			}
			b.putMessages(t, at)
		},
	}

	// embedding.embeddings.0.embedding.text, or gen_ai.prompt.0.content of an embedding call.
	asTexts = reader{
		name: "texts", about: "the indexed texts; vectors over the bound leave count and dimension",
		family: func(b *eventBuilder, t target, fam int16) {
			if b.filled(t.field) || !b.plant(fam) {
				return
			}
			at := len(b.arena)
			b.arena = append(b.arena, '[')
			n := 0
			for _, i := range b.tree.indexed(0) {
				a := b.leaf(b.down(i, "embedding", "text"))
				if a == nil {
					a = b.leaf(b.down(i, "content"))
				}
				switch list := b.textParts(a); {
				case list != nil:
					for c := jsonscan.Elements(list); c.Next(); {
						if n++; n > 1 {
							b.arena = append(b.arena, ',')
						}
						b.arena = append(b.arena, jsonscan.Member(c.Val, "text")...)
					}
					b.part("text")
					a.used = true
				case a != nil:
					if n++; n > 1 {
						b.arena = append(b.arena, ',')
					}
					b.arena = b.appendValue(b.arena, a.val)
					a.used = true
				}
				if role := b.leaf(b.down(i, "role")); role != nil && role.str() == "user" {
					role.used = n == 0 // the one role a text has goes without saying, but not unseen
				}
				if v := b.leaf(b.down(i, "embedding", "vector")); v != nil {
					b.vector(v)
				}
			}
			b.arena = append(b.arena, ']')
			if n > 0 {
				b.put(t, b.arena[at:])
			}
		},
	}

	// retrieval.documents.0.document.content, .score and the like.
	asDocuments = reader{
		name: "documents", about: "indexed documents as [{id, content, score, metadata}]",
		family: func(b *eventBuilder, t target, fam int16) {
			if b.filled(t.field) || !b.plant(fam) {
				return
			}
			at := len(b.arena)
			b.arena = append(b.arena, '[')
			for i, n := range b.tree.indexed(0) {
				if i > 0 {
					b.arena = append(b.arena, ',')
				}
				if d := b.tree.child(n, "document"); d != 0 && b.tree.nodes[n].children == 1 {
					n = d
				}
				b.arena = b.appendNode(b.arena, n)
			}
			b.arena = append(b.arena, ']')
			if len(b.arena)-at > 2 {
				b.put(t, b.arena[at:])
			}
		},
	}

	// llm.tools.0.tool.json_schema, which holds the whole definition as JSON, or one attribute for each of its members.
	asToolList = reader{
		name: "flat tools", about: "indexed definitions as [{name, description, parameters}]",
		family: func(b *eventBuilder, t target, fam int16) {
			if b.filled(t.field) || !b.plant(fam) {
				return
			}
			at := len(b.arena)
			b.arena = append(b.arena, '[')
			n := 0
			for _, i := range b.tree.indexed(0) {
				if n++; n > 1 {
					b.arena = append(b.arena, ',')
				}
				if a := b.leaf(b.down(i, "tool", "json_schema")); a != nil {
					if raw, ok := b.parse(a); ok && jsonscan.Kind(raw) == '{' {
						a.used = true
						if !b.namedTool(i, raw) {
							b.appendTool(raw)
						}
						continue
					}
				}
				b.arena = b.appendNode(b.arena, i)
			}
			b.arena = append(b.arena, ']')
			if n > 0 {
				b.put(t, b.arena[at:])
			}
		},
	}
)

// namedTool appends a tool whose name stands beside its json_schema, which then has the parameters alone: OpenInference's
// instrumentation of Pydantic AI sends it so. It returns false, and appends nothing, for any other tool.
func (b *eventBuilder) namedTool(n int32, schema []byte) bool {
	tool := b.tree.child(n, "tool")
	name := b.leaf(b.tree.child(tool, "name"))
	if name == nil || jsonscan.Member(schema, "name") != nil || jsonscan.Member(schema, "function") != nil || jsonscan.Member(schema, "toolSpec") != nil {
		return false
	}
	b.arena = append(b.arena, `{"name":`...)
	b.arena = b.appendNode(b.arena, b.tree.child(tool, "name"))
	if text := b.tree.child(tool, "description"); text != 0 {
		b.arena = append(b.arena, `,"description":`...)
		b.arena = b.appendNode(b.arena, text)
	}
	b.arena = append(b.arena, `,"parameters":`...)
	b.arena = append(b.arena, schema...)
	b.arena = append(b.arena, '}')
	return true
}

// textParts returns the list of parts that an attribute holds as JSON, if each is {type: text, text} and nothing else.
// OpenLLMetry sends the texts of Cohere's embeddings as one such list.
func (b *eventBuilder) textParts(a *attr) []byte {
	if a == nil || jsonscan.Kind(view(a.str())) != '[' {
		return nil
	}
	raw, ok := b.parse(a)
	if !ok || jsonscan.Empty(raw) {
		return nil
	}
	for c := jsonscan.Elements(raw); c.Next(); {
		if string(jsonscan.Inner(jsonscan.Member(c.Val, "type"))) != "text" || jsonscan.Kind(jsonscan.Member(c.Val, "text")) != '"' || countMembers(c.Val) != 2 {
			return nil
		}
	}
	return raw
}

// ranked places what a reranker was given, which OpenLLMetry sends as messages, from b.msgs[at:] on: the documents as
// those of the system, the query as the user's. It takes them off, and returns false if they are something else.
func (b *eventBuilder) ranked(at int) bool {
	list := b.msgs[at:]
	if b.s.role != onRetriever || len(list) < 2 || b.filled(fieldInputDocuments.field) || b.filled(fieldQuery.field) {
		return false
	}
	query := -1
	for i := range list {
		switch m := &list[i]; {
		case jsonscan.Kind(m.content) != '"' || len(m.extra) > 0 || m.calls != nil:
			return false
		case string(jsonscan.Inner(m.role)) == "user" && query < 0:
			query = i
		case string(jsonscan.Inner(m.role)) != "system":
			return false
		}
	}
	if query < 0 {
		return false
	}
	b.part("role:system")
	b.part("role:user")
	b.put(fieldQuery, list[query].content)
	b.put(fieldInputDocuments, appendTexts(nil, append(list[:query:query], list[query+1:]...)))
	b.msgs = b.msgs[:at]
	return true
}

// found places what a retriever gave back as messages of the assistant, from b.msgs[at:] on, as its documents. It
// takes them off, and returns false if they are something else.
func (b *eventBuilder) found(at int) bool {
	list := b.msgs[at:]
	if b.s.role != onRetriever || len(list) == 0 || b.filled(fieldDocuments.field) {
		return false
	}
	for i := range list {
		if m := &list[i]; jsonscan.Kind(m.content) != '"' || len(m.extra) > 0 || m.calls != nil || m.finish != nil || string(jsonscan.Inner(m.role)) != "assistant" {
			return false
		}
	}
	b.part("role:assistant")
	b.put(fieldDocuments, appendTexts(nil, list))
	b.msgs = b.msgs[:at]
	return true
}

// appendTexts appends the contents of messages as documents, [{content}].
func appendTexts(dst []byte, list []chatMessage) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, `{"content":`...), list[i].content...), '}')
	}
	return append(dst, ']')
}

// joinCalls makes one answer of the messages from b.msgs[at:] on: one that is calls and nothing else joins the first.
// LiteLLM numbers the calls of one answer as if they were answers, without a role (see function_call in flatMessage), and
// OpenInference makes a message of each item of a Responses API call. Of a request for several choices, and of messages with a
// reason to stop of their own, those with a role are alternatives; of an agent they follow each other.
func (b *eventBuilder) joinCalls(at int) {
	list := b.msgs[at:]
	if len(list) < 2 {
		return
	}
	several := b.s.role != onModel || list[0].finish != nil || b.severalChoices()
	kept := list[:1]
	for _, m := range list[1:] {
		if (m.role == nil || !several) && !jsonscan.Empty(m.calls) && jsonscan.Empty(m.content) && m.reasoning == nil && m.finish == nil && len(m.extra) == 0 {
			list[0].calls = b.joinLists(list[0].calls, m.calls)
		} else {
			kept = append(kept, m)
		}
	}
	b.msgs = b.msgs[:at+len(kept)]
}

// severalChoices reports whether the call asked for more than one choice.
func (b *eventBuilder) severalChoices() bool {
	return b.filled(fieldChoiceCount.field) && string(b.written(fieldChoiceCount)) != "1"
}

// lendIDs gives the messages from b.msgs[at:] on what they lack, and the span's raw request or answer has: the ids of
// calls, which OpenInference's instrumentation of Mistral leaves out, and that a tool failed, which that of Anthropic does. The raw
// one must have the same messages, by their roles, with the same calls, by their names; a system prompt may be beside them.
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

// toldWhole reports whether a chain's raw input holds its conversation more completely than the
// messages of the tree: OpenInference sends only the first message of a LangGraph node as
// attributes, and the content only of some. The messages are read to be counted, and taken off again.
func (b *eventBuilder) toldWhole() bool {
	a := b.s.at(b.attrs, compiled.inputValue)
	if b.s.role != onChain || a == nil {
		return false
	}
	raw, ok := b.content(a, compiled.inputMime)
	if !ok {
		return false
	}
	at := len(b.msgs)
	defer func() { b.msgs = b.msgs[:at] }()
	raw, _ = b.unwrapped(raw)
	if _, ok := b.conversation(raw); !ok {
		return false
	}
	return len(b.msgs)-at >= len(b.tree.indexed(0))
}

// down follows keys from a node, 0 if the way ends.
func (b *eventBuilder) down(n int32, keys ...string) int32 {
	for _, key := range keys {
		if n = b.tree.child(n, key); n == 0 {
			return 0
		}
	}
	return n
}

// take returns an attribute's value as JSON, in the arena; the attribute is used.
func (b *eventBuilder) take(a *attr) []byte {
	a.used = true
	at := len(b.arena)
	b.arena = b.appendValue(b.arena, a.val)
	return b.arena[at:len(b.arena):len(b.arena)]
}

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
			m.reasoning = b.thoughtText(b.render(c))
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
	case string(jsonscan.Inner(m.role)) == "thinking" && jsonscan.Kind(m.content) == '"' && jsonscan.Empty(m.calls) && len(m.extra) == 0:
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
	for i := at; i < len(b.msgs); i++ {
		m := &b.msgs[i]
		m.item = m.item || m.reasoning != nil && m.content == nil && m.calls == nil && len(m.extra) == 0
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
	if sys := jsonscan.Member(raw, "system"); !jsonscan.Empty(sys) {
		first := len(b.msgs)
		if b.instructions(sys) {
			b.texts.add(b, sys)
			m := b.msgs[first]
			copy(b.msgs[at+1:], b.msgs[at:first])
			b.msgs[at] = m
		}
	}
}

// quotable returns a key as it may stand between quotes.
func quotable(key string) []byte {
	quoted := appendKey(nil, key)
	return quoted[1 : len(quoted)-2]
}

// render returns what is at and below a node as JSON.
func (b *eventBuilder) render(n int32) []byte {
	at := len(b.arena)
	b.arena = b.appendNode(b.arena, n)
	return b.arena[at:len(b.arena):len(b.arena)]
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
	list := b.tree.indexedInto(n, nil)
	kept := list[:0]
	for _, c := range list {
		in := b.tree.child(c, "message_content")
		typ, text := b.leaf(b.tree.child(in, "type")), b.leaf(b.tree.child(in, "text"))
		switch {
		case b.tree.child(c, "tool_call") != 0 && (in == 0 || typ != nil && b.tree.nodes[in].children == 1):
			calls = append(calls, c)
		case typ != nil && text != nil && b.tree.nodes[in].children == 2 && (typ.str() == "reasoning" || typ.str() == "thinking"):
			if thought := b.take(text); m.reasoning == nil {
				m.reasoning = thought
			} else {
				m.reasoning = b.joinText(m.reasoning, thought)
			}
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

// vector keeps a short vector as an attribute and drops a long one, noting its size.
func (b *eventBuilder) vector(a *attr) {
	if a.val.Type() != pcommon.ValueTypeSlice {
		return
	}
	if n := a.val.Slice().Len(); b.opt.MaxVector >= 0 && n > b.opt.MaxVector {
		a.used = true
		b.dropVector(fromAttribute, n)
	}
}
