package otlpmap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// readParts reads a message in the form of the GenAI conventions, {role, parts: [{type, …}]}:
// text becomes the content, tool calls and reasoning stand beside it, and each result of a tool
// call becomes a message of its own with the role "tool".
func (b *build) readParts(m message, parts []byte) bool {
	if kind(parts) != '[' {
		return false
	}
	var text, media int
	for c := elements(parts); c.next(); {
		switch partKind(c.val) {
		case "text":
			text++
		case "tool_call", "tool_call_response", "reasoning":
		default:
			media++
		}
	}
	var results []message
	var calls [][]byte
	at := len(b.arena)
	if media == 0 && text > 0 {
		b.part("text")
		if text == 1 {
			m.content = nil
		} else {
			b.arena = append(b.arena, '"')
		}
	} else if media > 0 {
		b.arena = append(b.arena, '[')
	}
	for c := elements(parts); c.next(); {
		kind := partKind(c.val)
		switch {
		case kind == "tool_call" || kind == "tool_call_response" || kind == "reasoning":
		case media > 0:
			if len(b.arena) > at+1 {
				b.arena = append(b.arena, ',')
			}
			b.arena = append(b.arena, b.boundMedia(c.val)...)
		case text == 1:
			m.content = partText(c.val)
		default:
			b.arena = append(b.arena, inner(partText(c.val))...)
		}
	}
	switch {
	case media > 0:
		b.arena = append(b.arena, ']')
	case text > 1:
		b.arena = append(b.arena, '"')
	}
	if media > 0 || text > 1 {
		m.content = b.arena[at:len(b.arena):len(b.arena)]
	}
	for c := elements(parts); c.next(); {
		switch kind := partKind(c.val); kind {
		case "tool_call":
			b.part(kind)
			calls = append(calls, c.val)
		case "tool_call_response":
			b.part(kind)
			results = append(results, b.toolResult(c.val))
		case "reasoning":
			b.part(string(inner(member(c.val, "type"))))
			if m.reasoning == nil {
				m.reasoning = partText(c.val)
			} else {
				m.reasoning = b.joinText(m.reasoning, partText(c.val))
			}
		}
	}
	if calls != nil {
		at := len(b.arena)
		b.arena = append(b.arena, '[')
		for i, call := range calls {
			if i > 0 {
				b.arena = append(b.arena, ',')
			}
			b.appendPartCall(call)
		}
		b.arena = append(b.arena, ']')
		m.calls = b.arena[at:len(b.arena):len(b.arena)]
	}
	if len(results) == 0 || !m.blank() {
		b.msgs = append(b.msgs, m)
	} else if string(inner(m.role)) != "tool" && m.role != nil {
		b.part("role:" + string(inner(m.role)))
	}
	b.msgs = append(b.msgs, results...)
	return true
}

func (m *message) blank() bool {
	return empty(m.content) && empty(m.calls) && empty(m.reasoning) && len(m.extra) == 0 && empty(m.name)
}

// appendPartCall writes a tool_call part as a tool call: all of it but its type.
func (b *build) appendPartCall(raw []byte) {
	b.arena = append(b.arena, '{')
	first := true
	for m := members(raw); m.next(); {
		if string(m.key) == "type" {
			continue
		}
		if !first {
			b.arena = append(b.arena, ',')
		}
		first = false
		b.arena = append(b.arena, '"')
		b.arena = append(b.arena, m.key...)
		b.arena = append(b.arena, '"', ':')
		if string(m.key) == "arguments" {
			b.arena = append(b.arena, b.arguments(m.val)...)
		} else {
			b.arena = append(b.arena, m.val...)
		}
	}
	b.arena = append(b.arena, '}')
}

// toolResult is the message that a tool_call_response part stands for.
func (b *build) toolResult(part []byte) message {
	m := message{role: []byte(`"tool"`)}
	var result []byte
	for c := members(part); c.next(); {
		switch string(c.key) {
		case "type":
		case "id":
			m.callID = c.val
		case "name":
			m.name = c.val
		case "response", "result":
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
	m.content = b.textOf(result)
	return m
}

// bare says that a part is its text and nothing else.
func bare(part []byte) bool {
	texts := 0
	for c := members(part); c.next(); {
		switch string(c.key) {
		case "type":
		case "content", "text":
			texts++
		default:
			if !empty(c.val) {
				return false
			}
		}
	}
	return texts == 1 && partText(part) != nil
}

// partKind is a part's type if the form events have can stand for it, else "other". A text with
// something beside it is other: nothing of it may go.
func partKind(part []byte) string {
	switch string(inner(member(part, "type"))) {
	case "text":
		if bare(part) {
			return "text"
		}
	case "tool_call":
		return "tool_call"
	case "tool_call_response":
		return "tool_call_response"
	case "reasoning", "thinking":
		if bare(part) {
			return "reasoning"
		}
	}
	return "other"
}

func partText(part []byte) []byte {
	for _, key := range [...]string{"content", "text"} {
		if v := member(part, key); kind(v) == '"' {
			return v
		}
	}
	return nil
}

func (b *build) joinText(x, y []byte) []byte {
	at := len(b.arena)
	b.arena = append(b.arena, '"')
	b.arena = append(b.arena, inner(x)...)
	b.arena = append(b.arena, `\n`...)
	b.arena = append(b.arena, inner(y)...)
	b.arena = append(b.arena, '"')
	return b.arena[at:len(b.arena):len(b.arena)]
}

// boundMedia replaces each string over MaxMediaBytes inside content parts that are not text by
// an object that tells what was there: {type, mime_type?, bytes, sha256}.
func (b *build) boundMedia(raw []byte) []byte {
	limit := b.opt.MaxMediaBytes
	if limit < 0 || len(raw) <= limit {
		return raw
	}
	return b.replaceLong(nil, raw, nil, limit, 0)
}

func (b *build) replaceLong(dst, raw, mime []byte, limit, depth int) []byte {
	switch {
	case len(raw) <= limit || depth > maxPartDepth:
		return append(dst, raw...)
	case kind(raw) == '[':
		dst = append(dst, '[')
		for c, n := elements(raw), 0; c.next(); n++ {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = b.replaceLong(dst, c.val, nil, limit, depth+1)
		}
		return append(dst, ']')
	case kind(raw) == '{':
		if m := member(raw, "mime_type"); m != nil {
			mime = m
		}
		text := string(inner(member(raw, "type"))) == "text"
		dst = append(dst, '{')
		for c, n := members(raw), 0; c.next(); n++ {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, '"')
			dst = append(dst, c.key...)
			dst = append(dst, '"', ':')
			if text {
				dst = append(dst, c.val...)
			} else {
				dst = b.replaceLong(dst, c.val, mime, limit, depth+1)
			}
		}
		return append(dst, '}')
	case kind(raw) == '"':
		data := inner(raw)
		if rest, ok := bytes.CutPrefix(data, []byte("data:")); ok {
			if end := bytes.IndexAny(rest[:min(len(rest), 128)], ";,"); end > 0 {
				mime = append(append([]byte{'"'}, rest[:end]...), '"')
			}
		}
		sum := sha256.Sum256(data)
		dst = append(dst, `{"type":"omitted"`...)
		if mime != nil {
			dst = append(append(dst, `,"mime_type":`...), mime...)
		}
		dst = strconv.AppendInt(append(dst, `,"bytes":`...), int64(len(data)), 10)
		dst = append(dst, `,"sha256":"`...)
		dst = hex.AppendEncode(dst, sum[:])
		b.cuts = append(b.cuts, cutOff{"media", len(data)})
		return append(dst, '"', '}')
	}
	return append(dst, raw...)
}

// maxPartDepth is how deep media stands in a content part at most: {image_url: {url}}.
const maxPartDepth = 6
