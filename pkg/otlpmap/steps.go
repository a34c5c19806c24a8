package otlpmap

import "github.com/spangrove/spangrove/pkg/otlpmap/internal/pyliteral"

// What LangChain's and LangGraph's steps are given and give back: states with messages, commands,
// serialised messages, and what OpenLLMetry's callbacks put around them.

// unwrapped returns a step's value without what an instrumentation put around it:
//
//	OpenLLMetry  {inputs, tags, metadata, kwargs}, of tools {input_str, tags, metadata, inputs, kwargs}
//	             {outputs, kwargs}, of tools {output, kwargs}
//	LangGraph    [{graph, update, resume, goto}], the commands that a node gives back
//	LangSmith    {input: …} and {output: …} around a list of messages, a message or commands
//
// What it leaves out is no longer whole in the event: the caller keeps the attribute for cover.
func (b *eventBuilder) unwrapped(raw []byte) (val []byte, wrapped bool) {
	if kind(raw) == '{' {
		var inside, kwargs, tags, text []byte
		n := 0
		for c := members(raw); c.next(); n++ {
			switch string(c.key) {
			case "inputs", "outputs", "input", "output":
				inside = c.val
			case "kwargs":
				kwargs = c.val
			case "tags":
				tags = c.val
			case "input_str":
				text = c.val
			case "metadata":
			default:
				return raw, false
			}
		}
		switch {
		case kind(kwargs) == '{' && kind(tags) == '[' && (inside != nil || text != nil):
			if raw, wrapped = inside, true; empty(inside) {
				raw = b.calledWith(text)
			}
		case kind(kwargs) == '{' && n == 2 && inside != nil:
			raw, wrapped = inside, true
		case n == 1 && inside != nil:
			if in, _ := b.command(inside); in != nil {
				return in, true
			}
			if b.isConversation(inside) {
				return inside, true
			}
			return raw, false
		default:
			return raw, false
		}
	}
	if in, ok := b.command(raw); ok {
		return in, true
	}
	return raw, wrapped
}

// calledWith returns the text of a tool's input as JSON: LangChain writes arguments as a Python literal.
func (b *eventBuilder) calledWith(text []byte) []byte {
	if kind(text) != '"' {
		return text
	}
	if raw, ok := pyliteral.JSON(unquoted(text)); ok {
		if in, ok := b.clean(raw); ok && kind(in) == '{' {
			return in
		}
	}
	return text
}

// command returns the state that LangGraph's commands update, if the list holds commands, the last one
// that does.
func (b *eventBuilder) command(raw []byte) (state []byte, ok bool) {
	if kind(raw) != '[' {
		return nil, false
	}
	for c := elements(raw); c.next(); {
		update := member(c.val, "update")
		if kind(c.val) != '{' || update == nil || member(c.val, "goto") == nil && member(c.val, "graph") == nil {
			return nil, false
		}
		if kind(update) == '{' {
			state, ok = update, true
		}
	}
	return state, ok
}

// isConversation reports whether a value is a message that is serialised, or a list of messages,
// and reads none of them.
func (b *eventBuilder) isConversation(raw []byte) bool {
	at := len(b.msgs)
	defer func() { b.msgs = b.msgs[:at] }()
	switch kind(raw) {
	case '[':
		return b.readMessages(raw)
	case '{':
		return b.serialised(raw) && b.readMessage(raw)
	}
	return false
}

// serialised reports whether an object may be one of LangChain's messages: it says its type.
func (b *eventBuilder) serialised(raw []byte) bool {
	typ := member(raw, "type")
	if kind(typ) != '"' {
		return false
	}
	class := string(inner(typ))
	if class == "constructor" {
		path := constructorPath(member(raw, "id"))
		_, ok := langchainRoles[path[lastDot(path)+1:]]
		return ok
	}
	_, ok := langchainRoles[class]
	return ok && (member(raw, "content") != nil || kind(member(raw, "data")) == '{')
}

func lastDot(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '.' {
			return i
		}
	}
	return -1
}

// conversation appends the messages of a step's value: a list of them, a state that has one under
// "messages", or one serialised message. in tells which member of an object they were, "" if the
// value is all messages. It returns false, and appends none, for any other value.
func (b *eventBuilder) conversation(raw []byte) (in string, ok bool) {
	switch kind(raw) {
	case '[':
		return "", b.readMessages(raw)
	case '{':
		if list := member(raw, "messages"); kind(list) == '[' {
			return "messages", b.readMessages(list)
		}
		return "", b.serialised(raw) && b.readMessage(raw)
	}
	return "", false
}

// toolCall reads the call that LangChain gives a tool as its input: {name, args, id, type: tool_call}.
func (b *eventBuilder) toolCall(raw []byte, a *attr) bool {
	args := member(raw, "args")
	if kind(raw) != '{' || string(inner(member(raw, "type"))) != "tool_call" || kind(args) != '{' {
		return false
	}
	b.part("tool_call")
	if id := member(raw, "id"); kind(id) == '"' {
		b.put(fields.toolCallID, id)
	}
	if name := member(raw, "name"); kind(name) == '"' {
		b.put(fields.toolName, name)
	}
	b.texts.add(b, raw)
	b.spread(bucketInputs, args, a)
	return true
}
