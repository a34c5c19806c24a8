package otlpmap

import "strings"

// LangChain writes messages in three ways: the constructor of one
// ({lc: 1, type: constructor, id: [langchain, schema, messages, HumanMessage], kwargs: {…}}),
// {type: human, data: {…}}, and the fields alone with their type.

// langchainRoles are the roles of LangChain's messages, by type and by class.
var langchainRoles = map[string]string{
	"human": `"user"`, "ai": `"assistant"`, "system": `"system"`, "tool": `"tool"`, "function": `"tool"`,
	"HumanMessage": `"user"`, "AIMessage": `"assistant"`, "SystemMessage": `"system"`, "ToolMessage": `"tool"`, "FunctionMessage": `"tool"`,
	"HumanMessageChunk": `"user"`, "AIMessageChunk": `"assistant"`, "SystemMessageChunk": `"system"`, "ToolMessageChunk": `"tool"`,
	"ChatMessage": "", "ChatMessageChunk": "", "chat": "",
}

// langchainMessage appends the message that raw stands for, if it is one of LangChain's. What it has
// beside the members of a message (its id, what the provider told of its answer) is left to cover.
func (b *eventBuilder) langchainMessage(raw, typ []byte) bool {
	class, in := string(inner(typ)), raw
	switch data := member(raw, "data"); {
	case class == "constructor":
		if in = member(raw, "kwargs"); kind(in) != '{' {
			return false
		}
		path := constructorPath(member(raw, "id"))
		class = path[strings.LastIndexByte(path, '.')+1:]
		if _, ok := langchainRoles[class]; !ok {
			return false
		}
		b.part("constructor")
		b.part(path)
	case kind(data) == '{':
		in = data
	}
	role, ok := langchainRoles[class]
	if !ok || member(in, "content") == nil {
		return false
	}
	m := message{role: []byte(role)}
	if role == "" {
		m.role = nil
	}
	for c := members(in); c.next(); {
		switch string(c.key) {
		case "content":
			m.content = c.val
		case "name":
			m.name = c.val
		case "tool_calls":
			m.calls = c.val
		case "tool_call_id":
			m.callID = c.val
		case "role":
			if kind(c.val) == '"' && m.role == nil {
				m.role = c.val
			}
		case "type":
			b.part(string(inner(c.val)))
		case "usage_metadata":
			if b.s.role == onModel && role == langchainRoles["ai"] {
				b.answerUsage = c.val
			}
		case "status": // of a tool's result
			if kind(c.val) == '"' {
				m.extra = append(m.extra, pair{c.key, c.val})
			}
		}
	}
	if class == string(inner(typ)) {
		b.part(class)
	}
	b.addMessage(m)
	return true
}

// constructorPath returns the name of a constructor, whose parts are a list.
func constructorPath(id []byte) string {
	path := ""
	for c := elements(id); c.next(); {
		path += "." + string(inner(c.val))
	}
	return strings.TrimPrefix(path, ".")
}

// generations appends the messages of LangChain's answer to a model call: lists, one per prompt,
// of {text, message?, generation_info}.
func (b *eventBuilder) generations(raw []byte) bool {
	at := len(b.msgs)
	for c := elements(raw); c.next(); {
		switch kind(c.val) {
		case '[':
			if !b.generations(c.val) {
				b.msgs = b.msgs[:at]
				return false
			}
		case '{':
			finish := member(member(c.val, "generation_info"), "finish_reason")
			first := len(b.msgs)
			if msg := member(c.val, "message"); kind(msg) == '{' && b.readMessage(msg) {
				if m := &b.msgs[first]; m.finish == nil && kind(finish) == '"' {
					m.finish, m.raw = finish, nil
				}
				break
			}
			text := member(c.val, "text")
			if kind(text) != '"' {
				b.msgs = b.msgs[:at]
				return false
			}
			b.msgs = append(b.msgs, message{role: []byte(`"assistant"`), content: text, finish: finish})
		default:
			b.msgs = b.msgs[:at]
			return false
		}
	}
	return len(b.msgs) > at
}
