package otlpmap

// A part of a message has a type of its own in the GenAI conventions, another one in each
// provider's API. The functions of this file know a call, its result, a thought and a text in
// all of these shapes:
//
//	OTel GenAI      {type: tool_call, id, name, arguments}    {type: tool_call_response, id, response|result}
//	Vercel AI SDK   {type: tool-call, toolCallId, toolName, input|args}
//	                {type: tool-result, toolCallId, toolName, output|result}
//	Anthropic       {type: tool_use, id, name, input}         {type: tool_result, tool_use_id, content}
//	Bedrock         {toolUse: {toolUseId, name, input}}       {toolResult: {toolUseId, status, content}}
//	Gemini          {function_call: {id, name, args}}         {function_response: {id, name, response}}
//	Haystack        {tool_call: {id, tool_name, arguments}}   {tool_call_result: {result, origin, error}}

// partKind is what the form that events have can make of a part: "text", "tool_call",
// "tool_call_response" or "reasoning", else "other". A text with something beside it is other:
// nothing of it may go.
func partKind(part []byte) string {
	typ := member(part, "type")
	switch string(inner(typ)) {
	case "text", "input_text", "output_text":
		if bare(part) {
			return "text"
		}
	case "tool_call", "tool-call", "tool_use":
		return "tool_call"
	case "tool_call_response", "tool-result", "tool_result":
		return "tool_call_response"
	case "reasoning", "thinking":
		if bare(part) {
			return "reasoning"
		}
	case "":
		if typ == nil || empty(typ) {
			return untypedKind(part)
		}
	}
	return "other"
}

// untypedKind is the kind of a part that shows by its one member what it is.
func untypedKind(part []byte) string {
	if kind(part) != '{' {
		return "other"
	}
	for c := members(part); c.next(); {
		switch string(c.key) {
		case "toolUse", "functionCall", "function_call", "tool_call":
			if kind(c.val) == '{' {
				return "tool_call"
			}
		case "toolResult", "functionResponse", "function_response", "tool_call_result":
			if kind(c.val) == '{' {
				return "tool_call_response"
			}
		case "reasoningContent", "thought":
			if bare(part) {
				return "reasoning"
			}
			return "other"
		}
	}
	if bare(part) {
		return "text"
	}
	return "other"
}

// wrapped is the object inside a part of Bedrock's or Gemini's shape, else the part itself.
func wrapped(part []byte) []byte {
	for _, key := range [...]string{"toolUse", "functionCall", "function_call", "toolResult", "functionResponse", "function_response", "tool_call", "tool_call_result"} {
		if in := member(part, key); kind(in) == '{' {
			return in
		}
	}
	return part
}

// bare says that a part is its text and nothing else.
func bare(part []byte) bool {
	texts := 0
	for c := members(part); c.next(); {
		switch string(c.key) {
		case "type":
		case "content", "text", "thinking", "reasoningContent":
			texts++
		case "thought":
			if kind(c.val) != 't' && !empty(c.val) && kind(c.val) != 'f' {
				return false
			}
		default:
			if !empty(c.val) {
				return false
			}
		}
	}
	return texts == 1 && partText(part) != nil
}

// partText is the text of a part, nil if it has none.
func partText(part []byte) []byte {
	for _, key := range [...]string{"content", "text", "thinking"} {
		if v := member(part, key); kind(v) == '"' {
			return v
		}
	}
	// Bedrock: {reasoningContent: {reasoningText: {text}}}; with a signature the part is kept whole.
	if in := member(member(part, "reasoningContent"), "reasoningText"); countMembers(in) == 1 {
		if v := member(in, "text"); kind(v) == '"' {
			return v
		}
	}
	return nil
}

// callKey is the name that a member of a tool call has in an event.
func callKey(key string) string {
	switch key {
	case "toolCallId", "toolUseId", "call_id":
		return "id"
	case "toolName", "tool_name":
		return "name"
	case "input", "args":
		return "arguments"
	}
	return key
}

// appendPartCall writes a tool call part as {id, name, arguments}, with all else it has but its
// type.
func (b *build) appendPartCall(part []byte) {
	raw := wrapped(part)
	b.arena = append(b.arena, '{')
	first := true
	for m := members(raw); m.next(); {
		key := string(m.key)
		if key == "type" {
			continue
		}
		if to := callKey(key); to != key && member(raw, to) == nil {
			key = to
		}
		if !first {
			b.arena = append(b.arena, ',')
		}
		first = false
		b.arena = append(b.arena, '"')
		b.arena = append(b.arena, key...)
		b.arena = append(b.arena, '"', ':')
		if key == "arguments" {
			b.arena = append(b.arena, b.arguments(m.val)...)
		} else {
			b.arena = append(b.arena, m.val...)
		}
	}
	b.arena = append(b.arena, '}')
}

// toolResult is the message that a tool's result stands for.
func (b *build) toolResult(part []byte) message {
	m := message{role: []byte(`"tool"`)}
	var result []byte
	for c := members(wrapped(part)); c.next(); {
		switch string(c.key) {
		case "type":
		case "id", "toolCallId", "toolUseId", "tool_use_id":
			m.callID = c.val
		case "name", "toolName":
			m.name = c.val
		case "origin": // Haystack: the call itself
			m.callID, m.name = member(c.val, "id"), member(c.val, "tool_name")
			m.add(c.key, c.val)
		case "response", "result", "output", "content":
			if empty(result) {
				result = c.val
			} else {
				m.add(c.key, c.val)
			}
		default:
			if !empty(c.val) {
				m.add(c.key, c.val)
			}
		}
	}
	m.content = b.textOf(b.resultValue(result))
	return m
}

// resultValue takes the wrapping off a tool's result: the value of {type: json|text, value},
// the text of a list of texts, the object of [{json: …}].
func (b *build) resultValue(raw []byte) []byte {
	switch kind(raw) {
	case '{':
		typ, val := member(raw, "type"), member(raw, "value")
		if kind(typ) == '"' && val != nil && countMembers(raw) == 2 {
			b.part(string(inner(typ)))
			return val
		}
	case '[':
		if text, ok := b.onlyText(raw); ok {
			return text
		}
		if list := elements(raw); list.next() && kind(list.val) == '{' && countMembers(list.val) == 1 {
			if in := member(list.val, "json"); in != nil && !list.next() {
				return in
			}
		}
	}
	return raw
}

// hasCalls says that a message's content has calls, results or thoughts among its parts.
func hasCalls(content []byte) bool {
	for c := elements(content); c.next(); {
		switch partKind(c.val) {
		case "tool_call", "tool_call_response", "reasoning":
			return true
		}
	}
	return false
}
