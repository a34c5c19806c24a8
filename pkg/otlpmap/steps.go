package otlpmap

import (
	"strings"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
	"github.com/spangrove/spangrove/pkg/pyliteral"
)

// What LangChain's and LangGraph's steps are given and give back: states with messages, commands,
// serialised messages, and what OpenLLMetry's callbacks put around them.

// unwrapped returns a step's value without what an instrumentation put around it:
//
//	OpenLLMetry  {inputs, tags, metadata, kwargs}, of tools {input_str, tags, metadata, inputs, kwargs}
//	             {outputs, kwargs}, of tools {output, kwargs}
//	LangGraph    [{graph, update, resume, goto}], the commands that a node gives back
//	LangSmith    {input: …} and {output: …} around a list of messages, {messages}, a message or commands
//	LangChain    the constructor of a template's value, around {messages}
//
// An object with any other member is the step's own and returned as it is. What is left out of a wrapping is no
// longer whole in the event: the caller keeps the attribute for dropRedundant.
func (b *eventBuilder) unwrapped(raw []byte) (val []byte, wrapped bool) {
	if jsonscan.Kind(raw) == '{' {
		var inside, kwargs, tags, text []byte
		n := 0
		for c := jsonscan.Members(raw); c.Next(); n++ {
			switch string(c.Key) {
			case "inputs", "outputs", "input", "output":
				inside = c.Val
			case "kwargs":
				kwargs = c.Val
			case "tags":
				tags = c.Val
			case "input_str":
				text = c.Val
			case "metadata":
			default:
				return raw, false
			}
		}
		switch {
		case jsonscan.Kind(kwargs) == '{' && jsonscan.Kind(tags) == '[' && (inside != nil || text != nil):
			if raw, wrapped = inside, true; jsonscan.Empty(inside) {
				raw = b.calledWith(text)
			}
		case jsonscan.Kind(kwargs) == '{' && n == 2 && inside != nil:
			raw, wrapped = inside, true
		case n == 1 && inside != nil:
			if in, _ := b.command(inside); in != nil {
				return in, true
			}
			if b.isConversation(inside) || countMembers(inside) == 1 && b.isConversation(jsonscan.Member(inside, "messages")) {
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
	if in := b.promptValue(raw); in != nil {
		return in, true
	}
	return raw, wrapped
}

// promptValue returns the members of what a template of LangChain gave back, if it holds messages:
// {lc, type: constructor, id: [langchain, prompts, chat, ChatPromptValue], kwargs: {messages}} → {messages}.
func (b *eventBuilder) promptValue(raw []byte) []byte {
	if string(jsonscan.Inner(jsonscan.Member(raw, "type"))) != "constructor" {
		return nil
	}
	path := constructorPath(jsonscan.Member(raw, "id"))
	in := jsonscan.Member(raw, "kwargs")
	if !strings.HasSuffix(path, "PromptValue") || jsonscan.Kind(jsonscan.Member(in, "messages")) != '[' {
		return nil
	}
	b.part("constructor")
	b.part(path)
	return in
}

// calledWith returns the text of a tool's input as JSON: LangChain writes arguments as a Python literal.
func (b *eventBuilder) calledWith(text []byte) []byte {
	if jsonscan.Kind(text) != '"' {
		return text
	}
	if raw, ok := pyliteral.JSON(unquoted(text)); ok {
		if in, ok := b.clean(raw); ok && jsonscan.Kind(in) == '{' {
			return in
		}
	}
	return text
}

// command returns the state that LangGraph's commands update, if the list holds commands, the last one
// that does. ok is false if an element is no command, or none updates an object.
func (b *eventBuilder) command(raw []byte) (state []byte, ok bool) {
	if jsonscan.Kind(raw) != '[' {
		return nil, false
	}
	for c := jsonscan.Elements(raw); c.Next(); {
		update := jsonscan.Member(c.Val, "update")
		if jsonscan.Kind(c.Val) != '{' || update == nil || jsonscan.Member(c.Val, "goto") == nil && jsonscan.Member(c.Val, "graph") == nil {
			return nil, false
		}
		if jsonscan.Kind(update) == '{' {
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
	switch jsonscan.Kind(raw) {
	case '[':
		return b.readMessages(raw)
	case '{':
		return b.serialised(raw) && b.readMessage(raw)
	}
	return false
}

// serialised reports whether an object may be one of LangChain's messages: it names its type.
func (b *eventBuilder) serialised(raw []byte) bool {
	typ := jsonscan.Member(raw, "type")
	if jsonscan.Kind(typ) != '"' {
		return false
	}
	class := string(jsonscan.Inner(typ))
	if class == "constructor" {
		path := constructorPath(jsonscan.Member(raw, "id"))
		_, ok := langchainRoles[path[strings.LastIndexByte(path, '.')+1:]]
		return ok
	}
	_, ok := langchainRoles[class]
	return ok && (jsonscan.Member(raw, "content") != nil || jsonscan.Kind(jsonscan.Member(raw, "data")) == '{')
}

// conversation appends the messages of a step's value: a list of them, a state that has one under
// "messages", or one serialised message. in is the member of an object that they were, "" if the
// value is all messages. It returns false, and appends none, for any other value.
func (b *eventBuilder) conversation(raw []byte) (in string, ok bool) {
	switch jsonscan.Kind(raw) {
	case '[':
		return "", b.readMessages(raw)
	case '{':
		if list := jsonscan.Member(raw, "messages"); jsonscan.Kind(list) == '[' {
			return "messages", b.readMessages(list)
		}
		return "", b.serialised(raw) && b.readMessage(raw)
	}
	return "", false
}

// calledByName reports whether raw is {tool_name, arguments}, the call that OpenLLMetry's MCP instrumentation gives as
// the input of a tool. Its output is {result, is_error}.
func calledByName(raw []byte) bool {
	return jsonscan.Kind(raw) == '{' && countMembers(raw) == 2 && jsonscan.Kind(jsonscan.Member(raw, "tool_name")) == '"' &&
		jsonscan.Kind(jsonscan.Member(raw, "arguments")) == '{'
}

// calledResult places the output of a tool whose input is calledByName: its result, an object if it is JSON, and
// whether that is an error. It returns false if the step is no such tool.
func (b *eventBuilder) calledResult(raw []byte, a *attr) bool {
	in := b.s.at(b.attrs, compiled.entityInput)
	result := jsonscan.Member(raw, "result")
	if b.s.role != onTool || in == nil || result == nil {
		return false
	}
	if call, ok := b.parse(in); !ok || !calledByName(call) {
		return false
	}
	for c := jsonscan.Members(raw); c.Next(); {
		if key := string(c.Key); key != "result" && key != "is_error" {
			return false
		}
	}
	b.put(fieldResult, b.arguments(result))
	if e := jsonscan.Member(raw, "is_error"); e != nil {
		b.member(bucketOutputs, "is_error", e)
	}
	a.used = true
	return true
}

// toolOutput places the output of LlamaIndex's tools, {blocks, tool_name, raw_input, raw_output, is_error}: what the tool
// returned is its result, an object if it is JSON. It returns false if raw is something else.
func (b *eventBuilder) toolOutput(raw []byte, a *attr) bool {
	result := jsonscan.Member(raw, "raw_output")
	if b.s.role != onTool || result == nil || jsonscan.Member(raw, "raw_input") == nil || jsonscan.Kind(jsonscan.Member(raw, "tool_name")) != '"' {
		return false
	}
	if !b.put(fieldResult, b.arguments(result)) {
		return false
	}
	b.texts.add(b, result)
	if e := jsonscan.Member(raw, "is_error"); jsonscan.Kind(e) == 't' {
		b.member(bucketOutputs, "is_error", e)
	}
	b.keep(a)
	return true
}

// toolCall reads the call that LangChain passes to a tool as its input: {name, args, id, type: tool_call}. Its arguments
// become the inputs, its id and name metadata. It returns false if raw is no such call.
func (b *eventBuilder) toolCall(raw []byte, a *attr) bool {
	if calledByName(raw) { // OpenLLMetry's MCP
		if name := jsonscan.Member(raw, "tool_name"); !b.put(fieldToolName, name) {
			b.keep(a)
		}
		b.spread(bucketInputs, jsonscan.Member(raw, "arguments"), a)
		return true
	}
	args, callID := jsonscan.Member(raw, "args"), jsonscan.Member(raw, "callId")
	typed := string(jsonscan.Inner(jsonscan.Member(raw, "type"))) == "tool_call"
	if jsonscan.Kind(raw) != '{' || !typed && jsonscan.Kind(callID) != '"' || jsonscan.Kind(args) != '{' {
		return false
	}
	if !typed { // Gemini CLI: {callId, name, args, …}
		b.keep(a) // before spread, which else would take it for used
		b.spread(bucketInputs, args, a)
		return true
	}
	b.part("tool_call")
	if id := jsonscan.Member(raw, "id"); jsonscan.Kind(id) == '"' {
		b.put(fieldToolCallID, id)
	}
	if name := jsonscan.Member(raw, "name"); jsonscan.Kind(name) == '"' {
		b.put(fieldToolName, name)
	}
	b.texts.add(b, raw)
	b.spread(bucketInputs, args, a)
	return true
}
