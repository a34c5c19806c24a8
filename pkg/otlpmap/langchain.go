package otlpmap

import (
	"strings"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// LangChain writes messages in three ways: the constructor of one
// ({lc: 1, type: constructor, id: [langchain, schema, messages, HumanMessage], kwargs: {…}}),
// {type: human, data: {…}}, and the fields alone with their type.

// langchainRoles are the roles of LangChain's messages, by type and by class, as JSON. A chat message has "" here: it
// names its role itself.
var langchainRoles = map[string]string{
	"human": `"user"`, "ai": `"assistant"`, "system": `"system"`, "tool": `"tool"`, "function": `"tool"`,
	"HumanMessage": `"user"`, "AIMessage": `"assistant"`, "SystemMessage": `"system"`, "ToolMessage": `"tool"`, "FunctionMessage": `"tool"`,
	"HumanMessageChunk": `"user"`, "AIMessageChunk": `"assistant"`, "SystemMessageChunk": `"system"`, "ToolMessageChunk": `"tool"`,
	"ChatMessage": "", "ChatMessageChunk": "", "chat": "",
}

// langchainMessage appends the message that raw stands for, if it is one of LangChain's. What it has
// beside the members of a message (its id, what the provider said about its answer) is left to dropRedundant.
func (b *eventBuilder) langchainMessage(raw, typ []byte) bool {
	class, in := string(jsonscan.Inner(typ)), raw
	// in is the object that has the message's members, class its type by a name of langchainRoles.
	switch data := jsonscan.Member(raw, "data"); {
	case class == "constructor":
		if in = jsonscan.Member(raw, "kwargs"); jsonscan.Kind(in) != '{' {
			return false
		}
		path := constructorPath(jsonscan.Member(raw, "id"))
		class = path[strings.LastIndexByte(path, '.')+1:]
		if _, ok := langchainRoles[class]; !ok {
			return false
		}
		b.part("constructor")
		b.part(path)
	case jsonscan.Kind(data) == '{':
		in = data
	}
	role, ok := langchainRoles[class]
	if !ok || jsonscan.Member(in, "content") == nil {
		return false
	}
	m := chatMessage{role: []byte(role)}
	if role == "" {
		m.role = nil
	}
	for c := jsonscan.Members(in); c.Next(); {
		switch string(c.Key) {
		case "content":
			m.content = c.Val
		case "name":
			m.name = c.Val
		case "tool_calls":
			m.calls = c.Val
		case "tool_call_id":
			m.callID = c.Val
		case "role":
			if jsonscan.Kind(c.Val) == '"' && m.role == nil {
				m.role = c.Val
			}
		case "type":
			b.part(string(jsonscan.Inner(c.Val)))
		// The counts of the whole call; modelOutput offers them when the answer is placed.
		case "usage_metadata":
			if b.s.role == onModel && role == langchainRoles["ai"] {
				b.tokens.answer = c.Val
			}
		case "status": // of a tool's result
			if jsonscan.Kind(c.Val) == '"' {
				m.extra = append(m.extra, pair{c.Key, c.Val})
			}
		}
	}
	if class == string(jsonscan.Inner(typ)) {
		b.part(class)
	}
	b.addMessage(m)
	return true
}

// constructorPath returns the name of a constructor, whose parts are a list:
// ["langchain","schema","messages","AIMessage"] → "langchain.schema.messages.AIMessage".
func constructorPath(id []byte) string {
	path := ""
	for c := jsonscan.Elements(id); c.Next(); {
		path += "." + string(jsonscan.Inner(c.Val))
	}
	return strings.TrimPrefix(path, ".")
}

// generations appends the messages of LangChain's answer to a model call: lists, one per prompt,
// of {text, message?, generation_info}. It returns false, and appends none, if an element is something else.
func (b *eventBuilder) generations(raw []byte) bool {
	at := len(b.msgs)
	for c := jsonscan.Elements(raw); c.Next(); {
		switch jsonscan.Kind(c.Val) {
		case '[':
			if !b.generations(c.Val) {
				b.msgs = b.msgs[:at]
				return false
			}
		case '{':
			finish := jsonscan.Member(jsonscan.Member(c.Val, "generation_info"), "finish_reason")
			// The message, if there is one, has more than the text: calls, and its role.
			first := len(b.msgs)
			if msg := jsonscan.Member(c.Val, "message"); jsonscan.Kind(msg) == '{' && b.readMessage(msg) {
				if m := &b.msgs[first]; m.finish == nil && jsonscan.Kind(finish) == '"' {
					m.finish, m.raw = finish, nil
				}
				break
			}
			text := jsonscan.Member(c.Val, "text")
			if jsonscan.Kind(text) != '"' {
				b.msgs = b.msgs[:at]
				return false
			}
			b.msgs = append(b.msgs, chatMessage{role: []byte(`"assistant"`), content: text, finish: finish})
		default:
			b.msgs = b.msgs[:at]
			return false
		}
	}
	return len(b.msgs) > at
}
