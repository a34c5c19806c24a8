package otlpmap

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// answered reports whether the outputs hold what a model said: then no other rule places an answer.
func (b *eventBuilder) answered() bool {
	return b.filled(fieldContent.field) || b.filled(fieldCalls.field) || b.filled(fieldAnswerHistory.field) || b.whole != nil
}

// answer fills the outputs from b.msgs[at:], takes the messages off, and reports whether there were any. The first
// message is the answer: its role, content, tool_calls, finish_reason and reasoning become members of the outputs.
// What happens with the others depends:
//
//  1. One that only adds what is still missing is merged. A Responses API call gives each of its items as a message:
//     a thought, then a text, then a call.
//  2. If any says something of its own, all after the first become outputs.choices. They are alternatives, as of a
//     request for several choices.
//  3. For an agent, and where tools that the provider runs have answered, the messages are one after the other, not alternatives:
//     the last text is the answer and the whole list its chat_history.
func (b *eventBuilder) answer(at int) bool {
	list := b.msgs[at:]
	defer func() { b.msgs = b.msgs[:at] }()
	if len(list) == 0 {
		return false
	}
	main, rest := &list[0], list[1:]
	if len(list) > 1 && (b.s.role == onChain || slices.ContainsFunc(list, func(m chatMessage) bool { return string(jsonscan.Inner(m.role)) == "tool" })) {
		main = lastSaid(list)
		b.putAll(fieldAnswerHistory, list)
		rest = nil
	}
	merged := true
	texts, calls := !jsonscan.Empty(main.content), !jsonscan.Empty(main.calls)
	thoughts, finishes := !jsonscan.Empty(main.reasoning), !jsonscan.Empty(main.finish)
	for i := range rest {
		m := &rest[i]
		text, call := !jsonscan.Empty(m.content), !jsonscan.Empty(m.calls)
		thought, finish := !jsonscan.Empty(m.reasoning), !jsonscan.Empty(m.finish)
		if text && texts || call && calls || thought && thoughts || finish && finishes || m.extra != nil {
			merged = false
		}
		texts, calls, thoughts, finishes = texts || text, calls || call, thoughts || thought, finishes || finish
	}
	b.answerFields(main)
	if merged {
		for i := range rest {
			b.answerFields(&rest[i])
		}
	} else {
		b.putAll(fieldChoices, rest)
	}
	return true
}

// lastSaid returns the last message of a list that the assistant said: one with a text, else one with
// calls, else the last of all. The list must not be empty.
func lastSaid(list []chatMessage) *chatMessage {
	var calls *chatMessage
	for i := len(list) - 1; i >= 0; i-- {
		m := &list[i]
		switch string(jsonscan.Inner(m.role)) {
		case "user", "tool", "system", "developer":
			continue
		}
		if !jsonscan.Empty(m.content) {
			return m
		}
		if calls == nil && !jsonscan.Empty(m.calls) {
			calls = m
		}
	}
	if calls != nil {
		return calls
	}
	return &list[len(list)-1]
}

// answerRole sets the role of a model's answer where the span names none.
func (b *eventBuilder) answerRole() {
	if b.s.role == onModel && (b.filled(fieldContent.field) || b.filled(fieldCalls.field)) {
		if b.put(fieldRole, []byte(`"assistant"`)) {
			b.texts.text("assistant")
		}
	}
}

// plainReason returns a reason to stop in one form:
//
//   - A constant's name, all in capitals, in lower case and without the name of its type, which some frameworks send
//     with it: "FinishReason.STOP" → "stop". The original is then kept in metadata.finish_reasons, if nothing is there.
//   - The GenAI conventions' tool_call as tool_calls, as providers say. Otherwise where the content of a call was captured,
//     in its span or in a record, would decide which one its event has.
func (b *eventBuilder) plainReason(raw []byte) []byte {
	text := jsonscan.Inner(raw)
	if string(text) == "tool_call" {
		return []byte(`"tool_calls"`)
	}
	name := text[bytes.LastIndexByte(text, '.')+1:]
	if !bytes.ContainsAny(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") || bytes.ContainsAny(name, "abcdefghijklmnopqrstuvwxyz") {
		return raw
	}
	if !b.filled(fieldFinishReasons.field) {
		b.put(fieldFinishReasons, append(append([]byte{'['}, raw...), ']'))
	}
	return append(append([]byte{'"'}, bytes.ToLower(name)...), '"')
}

// answerFields puts a message into the outputs. A field that is filled stays, so that a further message only adds.
func (b *eventBuilder) answerFields(m *chatMessage) {
	if jsonscan.Kind(m.finish) == '"' {
		m.finish = b.plainReason(m.finish)
	}
	switch string(jsonscan.Inner(m.role)) {
	case "": // of streams, in OpenLLMetry: it was not in the piece that was looked at
	case "unknown":
		b.part("role:unknown")
	default:
		if jsonscan.Kind(m.role) == '"' {
			b.put(fieldRole, m.role)
		}
	}
	for _, f := range [...]struct {
		to  target
		val []byte
	}{
		{fieldContent, m.content}, {fieldCalls, m.calls}, {fieldFinish, m.finish}, {fieldReasoning, m.reasoning},
	} {
		if !jsonscan.Empty(f.val) {
			b.put(f.to, f.val)
		}
	}
	for _, p := range m.extra {
		b.member(bucketOutputs, keyText(p.key), p.val)
	}
	if !jsonscan.Empty(m.name) {
		b.member(bucketOutputs, "name", m.name)
	}
}

// putAll fills a field with messages, which stay on the list.
func (b *eventBuilder) putAll(t target, list []chatMessage) {
	if b.filled(t.field) {
		return
	}
	b.mark(t.field)
	b.by[t.field] = 0
	o := &b.obj[t.bucket]
	o.field(t)
	o.buf = b.appendMessages(o.buf, list)
}

// asMessages reads a conversation in JSON: the GenAI form with parts, or the plain one. System
// instructions become its first message, unless it has one of the role.
var asMessages = reader{
	name: "messages", about: "JSON: [{role, parts}] or [{role, content}]; instructions become the first message",
	whole: func(b *eventBuilder, t target, a *attr) {
		if b.filled(t.field) || b.s.role == onEmbedding && b.filled(fieldTexts.field) {
			b.keep(a)
			return
		}
		at := len(b.msgs)
		raw, ok := b.parse(a)
		if !ok {
			raw, ok = b.repairTruncatedJSON(a)
		}
		// No attribute before this one had messages: the instructions are the conversation.
		if a.slot == compiled.systemInstructions {
			if !ok && a.str() != "" {
				raw, ok = b.appendValue(nil, a.val), true // plain text
			}
			if ok && b.instructions(raw) && b.putMessages(t, at) {
				a.used = true
			}
			return
		}
		if ok && b.s.role == onEmbedding && !b.filled(fieldTexts.field) && b.embeddedTexts(raw) {
			a.used = true
			return
		}
		if ok && jsonscan.Kind(raw) == '"' {
			b.msgs = append(b.msgs, chatMessage{role: []byte(`"user"`), content: raw})
		} else if !ok || !b.readMessages(raw) {
			b.msgs = b.msgs[:at]
			switch {
			case ok && jsonscan.Kind(raw) == '{' && b.s.role == onModel:
				b.modelInput(a, raw)
			case ok && jsonscan.Kind(raw) == '{':
				b.objectInput(a, raw) // what a tool was given, in Gemini CLI
			default:
				b.unreadable(a, fieldInputValue)
			}
			return
		}
		// A tool's own call is its input, no conversation.
		if b.s.role&onTools != 0 && b.called(at) {
			a.used = true
			return
		}
		if ok && jsonscan.Kind(raw) != '"' {
			b.heard(a, raw, at)
		} else {
			a.used = true
		}
		b.leadInstructions(at)
		b.putMessages(t, at)
	},
}

// asMessageTexts reads what an embedding call was given: a text, or messages of the user with nothing but a text.
var asMessageTexts = reader{
	name: "message texts", about: "JSON messages with nothing but a text as a list of these",
	whole: func(b *eventBuilder, t target, a *attr) {
		if b.filled(t.field) {
			return
		}
		raw, ok := b.parse(a)
		if !ok {
			if strings.HasPrefix(a.str(), "[") {
				return // messages that were cut off, which asMessages repairs
			}
			raw = b.take(a)
		}
		a.used = b.embeddedTexts(raw) || a.used
	},
}

// leadInstructions puts the span's system instructions before the messages from b.msgs[at:] on,
// unless they have some.
func (b *eventBuilder) leadInstructions(at int) {
	if sys := b.s.at(b.attrs, compiled.systemInstructions); sys != nil && !hasSystem(b.msgs[at:]) {
		raw, ok := b.parse(sys)
		if !ok && sys.str() != "" {
			raw, ok = b.appendValue(nil, sys.val), true // plain text
		}
		if ok && b.lead(at, raw) {
			sys.used = true
		}
	}
}

// lead puts the message of instructions before those from b.msgs[at:] on. It returns false, and puts none, if raw is no instructions.
func (b *eventBuilder) lead(at int, raw []byte) bool {
	first := len(b.msgs)
	if !b.instructions(raw) {
		return false
	}
	m := b.msgs[first]
	copy(b.msgs[at+1:], b.msgs[at:first])
	b.msgs[at] = m
	return true
}

// called makes the arguments of a tool's own call the inputs of its event, if b.msgs[at:] is
// that call alone. Some instrumentations send a tool's input as the message that called it.
func (b *eventBuilder) called(at int) bool {
	list := b.msgs[at:]
	if len(list) != 1 || !jsonscan.Empty(list[0].content) || !b.obj[bucketInputs].empty() {
		return false
	}
	calls := jsonscan.Elements(list[0].calls)
	if !calls.Next() {
		return false
	}
	call := calls.Val
	if calls.Next() {
		return false
	}
	for c := jsonscan.Members(call); c.Next(); {
		switch string(c.Key) {
		case "arguments":
			if jsonscan.Kind(c.Val) != '{' {
				b.put(fieldInputValue, c.Val)
				continue
			}
			for m := jsonscan.Members(c.Val); m.Next(); {
				b.member(bucketInputs, keyText(m.Key), m.Val)
			}
		case "id":
			b.put(fieldToolCallID, c.Val)
		case "name":
			b.put(fieldToolName, c.Val)
		}
	}
	b.msgs = b.msgs[:at]
	return true
}

// returned makes a tool's own result the outputs of its event, if b.msgs[at:] is that alone. It is the counterpart of
// called.
func (b *eventBuilder) returned(at int) bool {
	list := b.msgs[at:]
	if len(list) != 1 || string(jsonscan.Inner(list[0].role)) != "tool" || list[0].content == nil || b.filled(fieldResult.field) {
		return false
	}
	raw := list[0].content
	if in := b.arguments(raw); in != nil {
		raw = in
	}
	b.put(fieldResult, raw)
	for _, p := range list[0].extra {
		b.member(bucketOutputs, keyText(p.key), p.val)
	}
	if id := list[0].callID; jsonscan.Kind(id) == '"' {
		b.put(fieldToolCallID, id)
	}
	b.msgs = b.msgs[:at]
	return true
}

// hasSystem reports whether a conversation has instructions of its own.
func hasSystem(list []chatMessage) bool {
	for i := range list {
		if r := string(jsonscan.Inner(list[i].role)); r == "system" || r == "developer" {
			return true
		}
	}
	return false
}

// instructions appends one system message made of instruction parts ([{type: text, content}]) or of a plain string.
// It reports whether it did.
func (b *eventBuilder) instructions(raw []byte) bool {
	m := chatMessage{role: []byte(`"system"`)}
	switch jsonscan.Kind(raw) {
	case '"':
		m.content = raw
		b.msgs = append(b.msgs, m)
		return true
	case '[':
		at := len(b.msgs)
		return b.readParts(m, raw) && len(b.msgs) == at+1
	}
	return false
}

// asAnswer reads a model's answer in JSON: messages as in asMessages, or OpenAI choices.
var asAnswer = reader{
	name: "answer", about: "JSON messages or choices as role, content, tool_calls, finish_reason, reasoning; further ones as choices",
	whole: func(b *eventBuilder, _ target, a *attr) {
		if b.answered() {
			b.completeAnswer(a)
			return
		}
		at := len(b.msgs)
		raw, ok := b.parse(a)
		if !ok {
			raw, ok = b.repairTruncatedJSON(a)
		}
		switch {
		case ok && jsonscan.Kind(raw) == '"':
			b.put(fieldContent, raw)
			a.used = true
		case ok && b.readMessages(raw):
			if b.s.role&onTools != 0 && b.returned(at) {
				a.used = true
				return
			}
			b.joinItems(at)
			b.heard(a, raw, at)
			if b.s.by == geminiCLI {
				b.joinChunks(at)
			}
			b.answer(at)
		case ok && jsonscan.Kind(raw) == '{' && b.s.role&onTools == 0:
			b.msgs = b.msgs[:at]
			b.output(a, raw, true)
		case ok && b.s.role&onTools != 0 && jsonscan.Kind(raw) == '{':
			b.msgs = b.msgs[:at]
			if res := jsonscan.Member(raw, "response"); jsonscan.Kind(res) == '{' && jsonscan.Kind(jsonscan.Member(raw, "request")) == '{' {
				if b.put(fieldResult, res) { // Gemini CLI
					b.texts.add(b, res)
				}
				b.keep(a)
			} else {
				b.stepOutput(a, raw, true)
			}
		default:
			b.unreadable(a, fieldContent)
		}
	},
}

// joinChunks makes one message of those from b.msgs[at:] on: Gemini CLI has each chunk of a streamed answer as a message.
func (b *eventBuilder) joinChunks(at int) {
	list := b.msgs[at:]
	if len(list) < 2 {
		return
	}
	var calls, thoughts [][]byte
	text := []byte{'"'}
	for i := range list {
		m := &list[i]
		if string(jsonscan.Inner(m.role)) != "assistant" || !jsonscan.Empty(m.content) && jsonscan.Kind(m.content) != '"' || len(m.extra) > 0 {
			return
		}
		text = append(text, jsonscan.Inner(m.content)...)
		calls, thoughts = append(calls, m.calls), append(thoughts, m.reasoning)
		list[0].finish = firstPresent(m.finish, list[0].finish)
	}
	if len(text) > 1 {
		list[0].content = append(text, '"')
	}
	list[0].raw, list[0].calls, list[0].reasoning = nil, b.joinLists(calls...), b.joinTexts(thoughts...)
	b.msgs = b.msgs[:at+1]
}

// completeAnswer adds to an answer that is calls alone what an attribute says of it beyond these: LiteLLM has the calls as
// flat attributes and the text in the message.
func (b *eventBuilder) completeAnswer(a *attr) {
	b.keep(a)
	if b.s.role != onModel || !b.filled(fieldCalls.field) || b.filled(fieldContent.field) || b.filled(fieldChoices.field) {
		return
	}
	at := len(b.msgs)
	defer func() { b.msgs = b.msgs[:at] }()
	if raw, ok := b.parse(a); !ok || !b.readMessages(raw) {
		return
	}
	b.joinItems(at)
	if m := &b.msgs[at]; len(b.msgs) == at+1 && string(jsonscan.Inner(m.role)) == "assistant" {
		for _, f := range [...]struct {
			to  target
			val []byte
		}{{fieldContent, m.content}, {fieldReasoning, m.reasoning}, {fieldFinish, m.finish}} {
			if f.to.field == fieldFinish.field && jsonscan.Kind(f.val) == '"' {
				b.stopped(f.val)
			} else if !jsonscan.Empty(f.val) && b.put(f.to, f.val) {
				b.texts.add(b, f.val)
			}
		}
		b.texts.text("assistant")
	}
}

// unreadable keeps a value that should have been JSON as text, so that a person can read it.
// metadata.parse_error then names the attribute. If t is filled, the attribute stays under its own name.
func (b *eventBuilder) unreadable(a *attr, t target) {
	if b.put(t, b.take(a)) {
		b.losses.failed = append(b.losses.failed, a.key)
	} else {
		a.used = false
	}
}
