package otlpmap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// readParts reads a message that is made of parts (see shapes.go for what they look like): text
// becomes the content, tool calls and reasoning stand beside it, and each result of a tool
// call becomes a message of its own with the role "tool". It returns false if parts is not a list.
func (b *eventBuilder) readParts(m chatMessage, parts []byte) bool {
	if jsonscan.Kind(parts) != '[' {
		return false
	}
	var room [8]messagePart
	list, _ := scanParts(room[:0], parts)
	b.placeParts(m, list)
	return true
}

// scanParts scans the parts in the array that text starts with, and returns its length. An array that is not
// closed reaches to where its value ends.
func scanParts(list []messagePart, text []byte) ([]messagePart, int) {
	c := jsonscan.Elements(text)
	for c.Open() {
		p, n := scanPartAt(c.Val)
		c.Leave(n)
		list = append(list, p)
	}
	if c.Stop == 0 {
		return list, jsonscan.SkipValue(text, 0)
	}
	return list, c.Stop
}

// placeParts appends the message, or the messages, that parts make:
//
//  1. Texts and media become its content (see partContent).
//  2. Thoughts become its reasoning, joined by line breaks, and what else they have, such as signatures, its
//     reasoning_details; calls become its tool_calls, unless it has some.
//  3. The message is appended, unless it would be empty because all its parts are results: Anthropic's API sends
//     these in a message of the user, whose role only part_types remembers.
//  4. Each result becomes a message of the role "tool", after it.
func (b *eventBuilder) placeParts(m chatMessage, list []messagePart) {
	var text, media int
	for i := range list {
		switch list[i].kind {
		case partText:
			text++
		case partOther:
			media++
		}
	}
	if media > 0 || text > 0 {
		m.content = b.partContent(list, text, media)
	} else if jsonscan.Kind(m.content) == '[' {
		m.content = nil // the parts themselves
	}
	results := 0
	calls := false
	var details []byte
	thoughts := [][]byte{m.reasoning}
	for i := range list {
		switch p := &list[i]; p.kind {
		case partCall:
			calls = true
		case partResult:
			results++
		case partReasoning:
			b.partType(p)
			thoughts = append(thoughts, b.thoughtText(p.text))
			if p.more {
				if details == nil {
					details = append(details, '[')
				} else {
					details = append(details, ',')
				}
				details = appendThought(details, p)
			}
		}
	}
	m.reasoning = b.joinTexts(thoughts...)
	if details != nil {
		m.add([]byte("reasoning_details"), append(details, ']'))
	}
	switch {
	case !jsonscan.Empty(m.calls): // beside the parts, as OpenAI's API has them
		m.calls = b.normalCalls(m.calls)
	case calls:
		m.calls = b.partCalls(list)
	}
	// The name of a message that is nothing but one result is that of its tool.
	var tool []byte
	if results == 1 && len(list) == 1 && string(jsonscan.Inner(m.role)) == "tool" && len(m.extra) == 0 {
		tool, m.name = m.name, nil
	}
	if results == 0 || !m.blank() {
		b.msgs = append(b.msgs, m)
	} else if string(jsonscan.Inner(m.role)) != "tool" && m.role != nil {
		b.part("role:" + string(jsonscan.Inner(m.role)))
	}
	for i := range list {
		if p := &list[i]; p.kind == partResult {
			b.partType(p)
			result := b.toolResult(p)
			if result.name == nil {
				result.name = tool
			}
			b.msgs = append(b.msgs, result)
		}
	}
}

// thoughtText returns the text of a thought that comes as a list of parts, if all of them are texts; else the thought as it
// came. OpenLLMetry has the list as JSON in a text, for summaries of OpenAI's models: "[{\"text\": \"Hm.\", \"type\": \"summary_text\"}]".
func (b *eventBuilder) thoughtText(raw []byte) []byte {
	if jsonscan.Kind(raw) == '[' {
		if text, ok := b.onlyText(raw); ok {
			return text
		}
		return raw
	}
	if in := jsonscan.Inner(raw); len(in) == 0 || in[0] != '[' {
		return raw
	}
	list, ok := b.clean(view(unquoted(raw)))
	if !ok || jsonscan.Kind(list) != '[' {
		return raw
	}
	var texts [][]byte
	for c := jsonscan.Elements(list); c.Next(); {
		val := jsonscan.Member(c.Val, "text")
		if string(jsonscan.Inner(jsonscan.Member(c.Val, "type"))) != "summary_text" || jsonscan.Kind(val) != '"' || countMembers(c.Val) != 2 {
			return raw
		}
		texts = append(texts, val)
	}
	if texts == nil {
		return raw
	}
	b.part("summary_text")
	return b.joinTexts(texts...)
}

// partContent returns a message's content: the text of its parts, or the parts that are neither
// calls nor results nor thoughts if any of them is no text. text and media are how many there are of each.
// Texts are joined with their escapes as they stand.
func (b *eventBuilder) partContent(list []messagePart, text, media int) []byte {
	at := len(b.arena)
	if media > 0 {
		b.arena = append(b.arena, '[')
	} else if text > 1 {
		b.arena = append(b.arena, '"')
	}
	for i := range list {
		p := &list[i]
		switch {
		case p.kind != partText && p.kind != partOther:
		case media > 0:
			if len(b.arena) > at+1 {
				b.arena = append(b.arena, ',')
			}
			b.appendContentPart(p.raw)
		case text == 1:
			b.partType(p)
			return p.text
		default:
			b.partType(p)
			b.arena = append(b.arena, jsonscan.Inner(p.text)...)
		}
	}
	if media > 0 {
		b.arena = append(b.arena, ']')
	} else {
		b.arena = append(b.arena, '"')
	}
	return b.arena[at:len(b.arena):len(b.arena)]
}

// appendContentPart appends a part to the arena, which making the part uses, too: so it is made apart first.
func (b *eventBuilder) appendContentPart(raw []byte) {
	part := b.appendPart(nil, raw)
	b.arena = append(b.arena, part...)
}

// partCalls returns the tool calls among the parts of a message.
func (b *eventBuilder) partCalls(list []messagePart) []byte {
	at := len(b.arena)
	b.arena = append(b.arena, '[')
	for i := range list {
		p := &list[i]
		if p.kind != partCall {
			continue
		}
		b.partType(p)
		if len(b.arena) > at+1 {
			b.arena = append(b.arena, ',')
		}
		b.appendPartCall(p)
	}
	b.arena = append(b.arena, ']')
	return b.arena[at:len(b.arena):len(b.arena)]
}

// partType notes the type of a part that loses it.
func (b *eventBuilder) partType(p *messagePart) {
	if len(p.typ) > 0 && !b.losses.parts.hasText(p.typ) {
		b.part(string(p.typ))
	}
}

// blank reports whether a message has nothing but a role.
func (m *chatMessage) blank() bool {
	return jsonscan.Empty(m.content) && jsonscan.Empty(m.calls) && jsonscan.Empty(m.reasoning) && len(m.extra) == 0 && jsonscan.Empty(m.name)
}

// onlySaid reports whether a message has nothing but a role and a content.
func (m *chatMessage) onlySaid() bool {
	return jsonscan.Empty(m.calls) && jsonscan.Empty(m.reasoning) && jsonscan.Empty(m.finish) && jsonscan.Empty(m.callID) &&
		jsonscan.Empty(m.name) && len(m.extra) == 0
}

// boundMedia replaces each string over MaxMediaBytes inside content parts that are not text by
// an object that describes what was there: {type: "omitted", mime_type?, bytes, sha256}. bytes is the length of the text
// as it came, in base64 as a rule, and sha256 the hash of that text.
func (b *eventBuilder) boundMedia(raw []byte) []byte {
	limit := b.opt.MaxMediaBytes
	if limit < 0 || len(raw) <= limit {
		return raw
	}
	return b.replaceLong(nil, raw, nil, limit, 0)
}

// replaceLong does the work of boundMedia for one value inside a part; mime is the media type that stands beside it.
func (b *eventBuilder) replaceLong(dst, raw, mime []byte, limit, depth int) []byte {
	switch {
	case len(raw) <= limit || depth > maxPartDepth:
		return append(dst, raw...)
	case jsonscan.Kind(raw) == '[':
		dst = append(dst, '[')
		for c, n := jsonscan.Elements(raw), 0; c.Next(); n++ {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = b.replaceLong(dst, c.Val, nil, limit, depth+1)
		}
		return append(dst, ']')
	case jsonscan.Kind(raw) == '{':
		// The media type of what is inside, if it says so itself.
		if m := jsonscan.Member(raw, "mime_type"); m != nil {
			mime = m
		}
		text := string(jsonscan.Inner(jsonscan.Member(raw, "type"))) == "text"
		dst = append(dst, '{')
		for c, n := jsonscan.Members(raw), 0; c.Next(); n++ {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, '"')
			dst = append(dst, c.Key...)
			dst = append(dst, '"', ':')
			if text {
				dst = append(dst, c.Val...)
			} else {
				dst = b.replaceLong(dst, c.Val, mime, limit, depth+1)
			}
		}
		return append(dst, '}')
	case jsonscan.Kind(raw) == '"':
		// A long text inside a part that is no text: the medium.
		data := jsonscan.Inner(raw)
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
		b.losses.cuts = append(b.losses.cuts, cutOff{"media", len(data)})
		return append(dst, '"', '}')
	}
	return append(dst, raw...)
}

// maxPartDepth is how deep media stands in a content part at most: {image_url: {url}}.
const maxPartDepth = 6
