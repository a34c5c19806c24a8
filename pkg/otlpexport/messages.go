package otlpexport

import (
	"encoding/json"
	"strings"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// inputMessages returns an event's history in the newest form, [{"role", "parts": […]}], nil if the
// event has none.
func inputMessages(inputs json.RawMessage) []byte {
	history := rawjson.Get(inputs, "chat_history")
	if rawjson.KindOf(history) != '[' {
		return nil
	}
	var list listBuilder
	for _, m := range rawjson.Array(history) {
		if rawjson.KindOf(m) == '{' {
			list.add(message(m, ""))
		}
	}
	return list.bytes()
}

// outputMessages returns an event's answer, and its further choices, likewise with finish_reason.
func outputMessages(outputs json.RawMessage) []byte {
	if rawjson.KindOf(outputs) != '{' {
		return nil
	}
	var list listBuilder
	if rawjson.Get(outputs, "content") != nil || rawjson.Get(outputs, "tool_calls") != nil {
		list.add(message(outputs, "assistant"))
	}
	for _, c := range rawjson.Array(choices(outputs)) {
		m := c
		if inner := rawjson.Get(c, "message"); rawjson.KindOf(inner) == '{' { // as the provider sent it
			m = rawjson.Fill(inner, finishOf(c))
		}
		if rawjson.KindOf(m) == '{' {
			list.add(message(m, "assistant"))
		}
	}
	return list.bytes()
}

func choices(outputs json.RawMessage) json.RawMessage {
	list := rawjson.Get(outputs, "choices")
	if rawjson.KindOf(list) != '[' {
		return nil
	}
	return list
}

// finishOf returns a choice's finish_reason as an object.
func finishOf(choice json.RawMessage) json.RawMessage {
	var b rawjson.Builder
	if reason := rawjson.Get(choice, "finish_reason"); len(reason) > 0 {
		b.Raw("finish_reason", reason)
	}
	return b.Bytes()
}

// message returns {role, content, name?, tool_calls?, tool_call_id?, reasoning?, finish_reason?} in
// parts.
func message(m json.RawMessage, role string) []byte {
	if own, ok := rawjson.Text(rawjson.Get(m, "role")); ok && own != "" {
		role = own
	}
	var parts listBuilder
	if reasoning := rawjson.Get(m, "reasoning"); rawjson.KindOf(reasoning) == '"' && !rawjson.Empty(reasoning) {
		parts.add(typed("reasoning", "content", reasoning))
	}
	content := rawjson.Get(m, "content")
	if role == "tool" {
		var b rawjson.Builder
		b.String("type", "tool_call_response")
		if id := rawjson.Get(m, "tool_call_id"); len(id) > 0 {
			b.Raw("id", id)
		}
		if len(content) == 0 {
			content = json.RawMessage("null")
		}
		b.Raw("response", content)
		parts.add(b.Bytes())
	} else {
		contentParts(&parts, content)
	}
	if calls := rawjson.Get(m, "tool_calls"); rawjson.KindOf(calls) == '[' {
		for _, c := range rawjson.Array(calls) {
			if rawjson.KindOf(c) == '{' {
				parts.add(toolCall(c))
			}
		}
	}
	var b rawjson.Builder
	b.String("role", role)
	b.Raw("parts", parts.whole())
	if name := rawjson.Get(m, "name"); rawjson.KindOf(name) == '"' {
		b.Raw("name", name)
	}
	if reason := rawjson.Get(m, "finish_reason"); rawjson.KindOf(reason) == '"' {
		b.Raw("finish_reason", reason)
	}
	return b.Bytes()
}

// contentParts adds a message's content: a text, a list of parts, or any other value, which
// becomes the text of its JSON.
func contentParts(parts *listBuilder, content json.RawMessage) {
	switch rawjson.KindOf(content) {
	case 0, 'n':
	case '"':
		if !rawjson.Empty(content) {
			parts.add(typed("text", "content", content))
		}
	case '[':
		for _, p := range rawjson.Array(content) {
			switch rawjson.KindOf(p) {
			case '"':
				parts.add(typed("text", "content", p))
			case '{':
				parts.add(part(p))
			}
		}
	default:
		parts.add(typed("text", "content", rawjson.AppendString(nil, string(content))))
	}
}

// part returns one part of a content in the standard's words where it has some: text, uri and blob.
// Any other part goes as it is, which the standard allows.
func part(p json.RawMessage) []byte {
	kind, _ := rawjson.Text(rawjson.Get(p, "type"))
	switch kind {
	case "text", "input_text", "output_text":
		if text := rawjson.Get(p, "text"); rawjson.KindOf(text) == '"' {
			return typed("text", "content", text)
		}
	case "image_url", "audio_url", "video_url", "file":
		modality := strings.TrimSuffix(kind, "_url")
		for _, at := range [...]string{"url", "file_url", "file_data"} {
			if url, ok := rawjson.Text(rawjson.Path(p, kind, at)); ok {
				return media(modality, url)
			}
		}
		if url, ok := rawjson.Text(rawjson.Get(p, kind)); ok {
			return media(modality, url)
		}
		if id, ok := rawjson.Text(rawjson.Path(p, kind, "file_id")); ok {
			return medium("file", modality, "", "file_id", id)
		}
	case "input_audio":
		data, ok := rawjson.Text(rawjson.Path(p, kind, "data"))
		format, also := rawjson.Text(rawjson.Path(p, kind, "format"))
		if ok && also {
			return medium("blob", "audio", "audio/"+format, "content", data)
		}
	}
	return p
}

// media returns an address, or, of a data URL, its content.
func media(modality, url string) []byte {
	head, content, isData := strings.Cut(strings.TrimPrefix(url, "data:"), ",")
	if mime, base64 := strings.CutSuffix(head, ";base64"); isData && base64 && strings.HasPrefix(url, "data:") {
		return medium("blob", modality, mime, "content", content)
	}
	return medium("uri", modality, "", "uri", url)
}

// medium returns a part of the standard that holds a picture, a sound or a file. The standard has no
// modality for files in general.
func medium(kind, modality, mime, key, value string) []byte {
	var b rawjson.Builder
	b.String("type", kind)
	if modality != "file" {
		b.String("modality", modality)
	}
	if mime != "" {
		b.String("mime_type", mime)
	}
	b.String(key, value)
	return b.Bytes()
}

// toolCall returns {id, name, arguments}, also where name and arguments stand in a function object
// as OpenAI's API has them.
func toolCall(c json.RawMessage) []byte {
	from := c
	if function := rawjson.Get(c, "function"); rawjson.KindOf(function) == '{' {
		from = function
	}
	var b rawjson.Builder
	b.String("type", "tool_call")
	if id := rawjson.Get(c, "id"); len(id) > 0 {
		b.Raw("id", id)
	}
	if name := rawjson.Get(from, "name"); len(name) > 0 {
		b.Raw("name", name)
	}
	if arguments := rawjson.Get(from, "arguments"); len(arguments) > 0 {
		b.Raw("arguments", arguments)
	}
	return b.Bytes()
}

func typed(kind, key string, value []byte) []byte {
	var b rawjson.Builder
	b.String("type", kind)
	b.Raw(key, value)
	return b.Bytes()
}

// listBuilder writes a JSON array; buf is what stands between the brackets.
type listBuilder struct{ buf []byte }

func (l *listBuilder) add(value []byte) {
	if len(l.buf) > 0 {
		l.buf = append(l.buf, ',')
	}
	l.buf = append(l.buf, value...)
}

// whole returns the array, [] if nothing was added.
func (l *listBuilder) whole() []byte {
	all := make([]byte, 0, len(l.buf)+2)
	all = append(all, '[')
	all = append(all, l.buf...)
	return append(all, ']')
}

// bytes returns the array, nil if nothing was added.
func (l *listBuilder) bytes() []byte {
	if len(l.buf) == 0 {
		return nil
	}
	return l.whole()
}
