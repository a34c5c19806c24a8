package otlpmap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// readParts reads a message that is made of parts (see shapes.go for what they look like): text
// becomes the content, tool calls and reasoning stand beside it, and each result of a tool
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
			b.partType(c.val)
			m.content = partText(c.val)
		default:
			b.partType(c.val)
			b.arena = append(b.arena, inner(partText(c.val))...)
		}
	}
	switch {
	case media > 0:
		b.arena = append(b.arena, ']')
	case text > 1:
		b.arena = append(b.arena, '"')
	}
	if media == 0 && text == 0 && kind(m.content) == '[' {
		m.content = nil // the parts themselves
	}
	if media > 0 || text > 1 {
		m.content = b.arena[at:len(b.arena):len(b.arena)]
	}
	for c := elements(parts); c.next(); {
		switch partKind(c.val) {
		case "tool_call":
			b.partType(c.val)
			calls = append(calls, c.val)
		case "tool_call_response":
			b.partType(c.val)
			results = append(results, b.toolResult(c.val))
		case "reasoning":
			b.partType(c.val)
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

// partType notes the type of a part that loses it.
func (b *build) partType(part []byte) {
	if typ := inner(member(part, "type")); len(typ) > 0 {
		b.part(string(typ))
	}
}

func (m *message) blank() bool {
	return empty(m.content) && empty(m.calls) && empty(m.reasoning) && len(m.extra) == 0 && empty(m.name)
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
