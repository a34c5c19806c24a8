package otlpmap

import (
	"bytes"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

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
//
// Of tools that the provider runs, such as a search of the web:
//
//	OTel GenAI      {type: server_tool_call, id, name, server_tool_call: {type, …}}
//	                {type: server_tool_call_response, id, server_tool_call_response: {type, …}}
//	Anthropic       {type: server_tool_use|mcp_tool_use, id, name, input}
//	                {type: web_search_tool_result|mcp_tool_result|…, tool_use_id, content}

// partKind is what the form that events have can make of a part.
type partKind uint8

const (
	partOther     partKind = iota // kept as it came
	partText                      // a text with nothing beside it: nothing of a part may go
	partReasoning                 // a thought; what else is with it becomes reasoning_details (see placeParts)
	partCall
	partResult
)

// messagePart is a part of a message, looked at once.
type messagePart struct {
	// The whole part.
	raw []byte
	typ []byte // its type's name, nil if it has none
	// The text of a text or a thought, as a JSON string.
	text []byte
	in   []byte // the object inside, in Bedrock's, Gemini's and Haystack's shapes
	kind partKind
	// A thought has more than its text, such as the signature that Anthropic's API wants back.
	more bool
}

// scanPart scans a part of a message.
func scanPart(raw []byte) messagePart {
	p, _ := scanPartAt(raw)
	return p
}

// scanPartAt scans the part that text starts with, and returns its length. It collects what any of the shapes has, and
// decides at the end:
//
//   - A type that names a call or a result decides; without one, a wrapping object does (toolUse, functionCall).
//   - A text counts as such only if nothing else is with it (bare), since its other members would be lost. Those of a
//     thought, such as Anthropic's signature, have a place of their own.
//   - Everything else is partOther and kept as it came.
func scanPartAt(text []byte) (messagePart, int) {
	var p messagePart
	var typ []byte
	texts, more, thought, odd := 0, false, false, false
	wrapped := partOther
	c := jsonscan.Members(text)
	for c.Next() {
		switch string(c.Key) {
		case "type":
			typ = c.Val
		case "content", "text", "thinking":
			texts++
			if jsonscan.Kind(c.Val) == '"' {
				p.text = c.Val
			}
		case "reasoningContent":
			// {reasoningText: {text, signature}}
			texts++
			thought = true
			if in := jsonscan.Member(c.Val, "reasoningText"); countMembers(c.Val) == 1 {
				if v := jsonscan.Member(in, "text"); jsonscan.Kind(v) == '"' {
					p.text, p.in = v, in
					for m := jsonscan.Members(in); m.Next(); {
						more = more || string(m.Key) != "text" && !jsonscan.Empty(m.Val)
					}
				}
			}
		case "thought":
			switch jsonscan.Kind(c.Val) {
			case 't':
				thought = true
			case 'f', 'n':
			default:
				odd = true // a thought of another form
			}
		case "reasoning": // Genkit's thoughts have no type
			if jsonscan.Kind(c.Val) == '"' {
				texts, thought, p.text = texts+1, true, c.Val
			} else {
				more = more || !jsonscan.Empty(c.Val)
			}
		case "toolUse", "functionCall", "function_call", "tool_call", "toolRequest":
			if jsonscan.Kind(c.Val) == '{' {
				p.in, wrapped = c.Val, partCall
			}
			more = more || !jsonscan.Empty(c.Val)
		case "toolResult", "functionResponse", "function_response", "tool_call_result", "toolResponse":
			if jsonscan.Kind(c.Val) == '{' {
				p.in, wrapped = c.Val, partResult
			}
			more = more || !jsonscan.Empty(c.Val)
		default:
			more = more || !jsonscan.Empty(c.Val)
		}
	}
	n := c.Stop
	if n == 0 {
		n = jsonscan.SkipValue(text, 0)
	}
	p.raw = text[:n:n]
	if p.in == nil {
		p.in = p.raw
	}
	alone := texts == 1 && p.text != nil && !odd
	bare := alone && !more
	if !jsonscan.Empty(typ) {
		p.typ = jsonscan.Inner(typ)
	}
	switch string(p.typ) {
	case "text", "input_text", "output_text":
		if bare {
			p.kind = partText
		}
	case "tool_call", "tool-call", "tool_use", "server_tool_call", "server_tool_use", "mcp_tool_use":
		p.kind = partCall
	case "tool_call_response", "tool-result", "tool_result", "server_tool_call_response":
		p.kind = partResult
	case "reasoning", "thinking":
		if alone {
			p.kind, p.more = partReasoning, more
		}
	case "":
		switch {
		case !jsonscan.Empty(typ): // a type that is no text
		case wrapped != partOther:
			p.kind = wrapped
		case alone && thought:
			p.kind, p.more = partReasoning, more
		case bare:
			p.kind = partText
		}
	default:
		if bytes.HasSuffix(p.typ, []byte("_tool_result")) && jsonscan.Member(p.raw, "tool_use_id") != nil {
			p.kind = partResult
		}
	}
	return p, n
}

// byServer reports whether a call is of a tool that the provider runs.
func (p *messagePart) byServer() bool {
	switch string(p.typ) {
	case "server_tool_call", "server_tool_use", "mcp_tool_use":
		return true
	}
	return false
}

// appendThought appends what a thought has beside its text, as an object: {signature}.
func appendThought(dst []byte, p *messagePart) []byte {
	dst = append(dst, '{')
	first := true
	inside := &p.in[0] != &p.raw[0]
	var within map[string]bool
	if inside {
		within = memberNames(p.in)
	}
	add := func(obj []byte, beside bool) {
		for m := jsonscan.Members(obj); m.Next(); {
			switch string(m.Key) {
			case "type", "content", "text", "thinking", "reasoning", "thought", "reasoningContent":
				continue
			}
			if jsonscan.Empty(m.Val) || beside && within[string(m.Key)] {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(append(append(dst, '"'), m.Key...), '"', ':')
			dst = append(dst, m.Val...)
		}
	}
	add(p.raw, true)
	if inside {
		add(p.in, false)
	}
	return append(dst, '}')
}

// callKey returns the name that a member of a tool call has in an event: toolCallId → id, input → arguments.
func callKey(key string) string {
	switch key {
	case "toolCallId", "toolUseId", "call_id", "ref":
		return "id"
	case "toolName", "tool_name":
		return "name"
	case "input", "args", "server_tool_call":
		return "arguments"
	}
	return key
}

// callName returns the name that a member of a call has in an event. It keeps its own if another member has the name that it would get, or
// would get it, too, and comes before it.
func callName(call []byte, key string) string {
	to := callKey(key)
	if to == key {
		return key
	}
	first := ""
	for m := jsonscan.Members(call); m.Next(); {
		name := string(m.Key)
		if name == to {
			return key
		}
		if first == "" && callKey(name) == to {
			first = name
		}
	}
	if first != key {
		return key
	}
	return to
}

// appendPartCall writes a tool call part as {id, name, arguments}, with all else it has but its
// type (see callName). Calls of tools that the provider runs keep their type: nobody else has to answer them.
func (b *eventBuilder) appendPartCall(p *messagePart) {
	raw := p.in
	b.arena = append(b.arena, '{')
	first := true
	for m := jsonscan.Members(raw); m.Next(); {
		key := string(m.Key)
		if key == "type" && !p.byServer() {
			continue
		}
		key = callName(raw, key)
		if !first {
			b.arena = append(b.arena, ',')
		}
		first = false
		b.arena = append(b.arena, '"')
		b.arena = append(b.arena, key...)
		b.arena = append(b.arena, '"', ':')
		if key == "arguments" {
			b.arena = append(b.arena, b.arguments(m.Val)...)
		} else {
			b.arena = append(b.arena, m.Val...)
		}
	}
	b.arena = append(b.arena, '}')
}

// toolResult returns the message that a tool's result stands for: {role: tool, content, tool_call_id, name?}. Of several
// members that may be the result, the first that is not empty is; the others are kept as they came.
func (b *eventBuilder) toolResult(p *messagePart) chatMessage {
	m := chatMessage{role: []byte(`"tool"`)}
	var result []byte
	for c := jsonscan.Members(p.in); c.Next(); {
		switch string(c.Key) {
		case "type":
		case "id", "toolCallId", "toolUseId", "tool_use_id", "call_id", "ref":
			m.callID = c.Val
		case "name", "toolName":
			m.name = c.Val
		case "origin": // Haystack: the call itself
			m.callID, m.name = jsonscan.Member(c.Val, "id"), jsonscan.Member(c.Val, "tool_name")
			m.add(c.Key, c.Val)
		case "response", "result", "output", "content", "server_tool_call_response":
			if jsonscan.Empty(result) {
				result = c.Val
			} else {
				m.add(c.Key, c.Val)
			}
		default:
			if !jsonscan.Empty(c.Val) {
				m.add(c.Key, c.Val)
			}
		}
	}
	m.content = b.textOf(b.resultValue(result))
	return m
}

// resultValue takes the wrapping off a tool's result: the value of {type: json|text, value},
// the text of a list of texts, the object of [{json: …}].
func (b *eventBuilder) resultValue(raw []byte) []byte {
	switch jsonscan.Kind(raw) {
	case '{':
		typ, val := jsonscan.Member(raw, "type"), jsonscan.Member(raw, "value")
		if jsonscan.Kind(typ) == '"' && val != nil && countMembers(raw) == 2 {
			b.part(string(jsonscan.Inner(typ)))
			return val
		}
	case '[':
		if text, ok := b.onlyText(raw); ok {
			return text
		}
		if list := jsonscan.Elements(raw); list.Next() && jsonscan.Kind(list.Val) == '{' && countMembers(list.Val) == 1 {
			if in := jsonscan.Member(list.Val, "json"); in != nil && !list.Next() {
				return in
			}
		}
	}
	return raw
}

// hasCalls reports whether a message's content has calls, results or thoughts among its parts.
func hasCalls(content []byte) bool {
	for c := jsonscan.Elements(content); c.Next(); {
		switch scanPart(c.Val).kind {
		case partCall, partResult, partReasoning:
			return true
		}
	}
	return false
}
