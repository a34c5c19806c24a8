package otlpmap

import (
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
	kept, calls := list[:1], [][]byte{list[0].calls}
	for _, m := range list[1:] {
		if (m.role == nil || !several) && !jsonscan.Empty(m.calls) && jsonscan.Empty(m.content) && m.reasoning == nil && m.finish == nil && m.name == nil && m.callID == nil && len(m.extra) == 0 {
			calls = append(calls, m.calls)
		} else {
			kept = append(kept, m)
		}
	}
	list[0].calls = b.joinLists(calls...)
	b.msgs = b.msgs[:at+len(kept)]
}

// severalChoices reports whether the call asked for more than one choice.
func (b *eventBuilder) severalChoices() bool {
	return b.filled(fieldChoiceCount.field) && string(b.written(fieldChoiceCount)) != "1"
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
