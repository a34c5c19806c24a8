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

// partKind is what the form that events have can make of a part.
type partKind uint8

const (
	partOther     partKind = iota // kept as it came
	partText                      // a text with nothing beside it: nothing of a part may go
	partReasoning                 // a thought, likewise
	partCall
	partResult
)

// messagePart is a part of a message, looked at once.
type messagePart struct {
	raw  []byte
	typ  []byte // its type's name, nil if it has none
	text []byte // of a text or a thought, as a JSON string
	in   []byte // the object inside, in Bedrock's, Gemini's and Haystack's shapes
	kind partKind
}

func scanPart(raw []byte) messagePart {
	p, _ := scanPartAt(raw)
	return p
}

// scanPartAt looks at the part that text starts with, and gives its length.
func scanPartAt(text []byte) (messagePart, int) {
	var p messagePart
	var typ []byte
	texts, more, thought := 0, false, false
	wrapped := partOther
	c := members(text)
	for c.next() {
		switch string(c.key) {
		case "type":
			typ = c.val
		case "content", "text", "thinking":
			texts++
			if kind(c.val) == '"' {
				p.text = c.val
			}
		case "reasoningContent":
			// {reasoningText: {text}}; with a signature the part is kept whole.
			texts++
			thought = true
			if in := member(c.val, "reasoningText"); countMembers(c.val) == 1 && countMembers(in) == 1 {
				if v := member(in, "text"); kind(v) == '"' {
					p.text = v
				}
			}
		case "thought":
			switch kind(c.val) {
			case 't':
				thought = true
			case 'f', 'n':
			default:
				more = true
			}
		case "toolUse", "functionCall", "function_call", "tool_call":
			if kind(c.val) == '{' {
				p.in, wrapped = c.val, partCall
			}
			more = more || !empty(c.val)
		case "toolResult", "functionResponse", "function_response", "tool_call_result":
			if kind(c.val) == '{' {
				p.in, wrapped = c.val, partResult
			}
			more = more || !empty(c.val)
		default:
			more = more || !empty(c.val)
		}
	}
	n := c.stop
	if n == 0 {
		n = skipValue(text, 0)
	}
	p.raw = text[:n:n]
	if p.in == nil {
		p.in = p.raw
	}
	bare := texts == 1 && !more && p.text != nil
	if !empty(typ) {
		p.typ = inner(typ)
	}
	switch string(p.typ) {
	case "text", "input_text", "output_text":
		if bare {
			p.kind = partText
		}
	case "tool_call", "tool-call", "tool_use":
		p.kind = partCall
	case "tool_call_response", "tool-result", "tool_result":
		p.kind = partResult
	case "reasoning", "thinking":
		if bare {
			p.kind = partReasoning
		}
	case "":
		switch {
		case !empty(typ): // a type that is no text
		case wrapped != partOther:
			p.kind = wrapped
		case bare && thought:
			p.kind = partReasoning
		case bare:
			p.kind = partText
		}
	}
	return p, n
}

// callKey returns the name that a member of a tool call has in an event.
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
func (b *eventBuilder) appendPartCall(p *messagePart) {
	raw := p.in
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

// toolResult returns the message that a tool's result stands for.
func (b *eventBuilder) toolResult(p *messagePart) message {
	m := message{role: []byte(`"tool"`)}
	var result []byte
	for c := members(p.in); c.next(); {
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
func (b *eventBuilder) resultValue(raw []byte) []byte {
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

// hasCalls reports whether a message's content has calls, results or thoughts among its parts.
func hasCalls(content []byte) bool {
	for c := elements(content); c.next(); {
		switch scanPart(c.val).kind {
		case partCall, partResult, partReasoning:
			return true
		}
	}
	return false
}
