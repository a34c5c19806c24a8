package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MaxPreviews is how many events one request may ask previews of.
const MaxPreviews = 200

// previewLength is how long a preview is at most, in characters.
const previewLength = 200

// DecodePreviews reads the body of a request for previews: {"event_ids": [<id>, …]}, at most 200.
func DecodePreviews(body []byte) (ids []uuid.UUID, err error) {
	err = eachMember(body, func(key string, raw []byte) (err error) {
		if key != "event_ids" {
			return fault.New(fault.Invalid, "is not a field of this request")
		}
		ids, err = readEventIDs(raw, MaxPreviews)
		return err
	})
	if err == nil && ids == nil {
		err = fault.InvalidField("event_ids", "is required")
	}
	return ids, err
}

// WritePreviews streams {"previews": {"<event_id>": {"input", "output", "model", "comments"}}}: one line each, without what is
// empty. comments are how many comments are on events that have some.
func WritePreviews(ctx context.Context, s *Stream, set *event.Set, comments map[uuid.UUID]int) error {
	s.text(`{"previews":{`)
	for i := range set.Events {
		e, err := s.load(ctx, set, i)
		if err != nil {
			return err
		}
		if i > 0 {
			s.text(",")
		}
		s.buf = appendID(s.buf, e.ID)
		s.text(":")
		s.buf = append(s.buf, previewOf(&e, comments[e.ID])...)
		if err := s.flushFull(); err != nil {
			return err
		}
	}
	s.text("}}")
	return s.flushFull()
}

// previewOf returns the preview of an event.
func previewOf(e *event.Event, comments int) json.RawMessage {
	var b rawjson.Builder
	add := func(key, text string) {
		if text != "" {
			b.String(key, text)
		}
	}
	add("input", PreviewInput(e.Inputs))
	add("output", PreviewOutput(e.Outputs))
	model, _ := rawjson.Text(rawjson.Get(e.Config, "model"))
	add("model", cut(model, maxRowName))
	if comments > 0 {
		b.Int("comments", int64(comments))
	}
	if b.Len() == 0 {
		return json.RawMessage("{}")
	}
	return b.Bytes()
}

// PreviewInput returns a line of at most 200 characters that tells what went into a step: the last message of the user where
// there are messages, else the member that such objects have the text in, else the JSON.
func PreviewInput(raw json.RawMessage) string { return preview(raw, "user") }

// PreviewOutput does the same for what came out: the last message of the assistant.
func PreviewOutput(raw json.RawMessage) string { return preview(raw, "assistant") }

// messageKeys are members that hold a list of messages, and textKeys those that hold the text of an object, in the order
// of preference.
var (
	messageKeys = []string{"chat_history", "messages", "history", "choices", "contents"}
	textKeys    = []string{"content", "text", "query", "question", "prompt", "input", "message", "user_message", "output", "answer", "response",
		"result", "completion", "summary", "description", "value", "parts", "title"}
)

func preview(raw json.RawMessage, role string) string {
	return previewOfLength(raw, role, previewLength)
}

// previewOfLength is preview with another bound, in characters.
func previewOfLength(raw json.RawMessage, role string, most int) string {
	if rawjson.Empty(raw) {
		return ""
	}
	text := previewText(raw, role, 0)
	if strings.TrimSpace(text) == "" {
		text = string(raw[:min(len(raw), 8*most)])
	}
	return oneLine(text, most)
}

// maxPreviewDepth bounds how deep the text of an object is looked for.
const maxPreviewDepth = 6

// previewText returns the text of a value, empty if none is found.
func previewText(raw json.RawMessage, role string, depth int) string {
	if depth > maxPreviewDepth {
		return ""
	}
	switch rawjson.KindOf(raw) {
	case '"':
		text, _ := rawjson.Text(raw)
		return text
	case '[':
		return previewList(raw, role, depth)
	case '{':
		return previewObject(raw, role, depth)
	}
	return ""
}

// mediaTypes are the types of parts of a message that are no text, such as images, in the forms of the providers.
var mediaTypes = []string{"image", "image_url", "input_image", "audio", "input_audio", "video", "file", "input_file", "document", "media", "blob", "uri"}

// previewList takes the last message of a role, else the last element that has a text; of parts such as images only where nothing else has.
func previewList(raw json.RawMessage, role string, depth int) (text string) {
	var other, media string
	for _, v := range rawjson.Array(raw) {
		now := previewText(v, role, depth+1)
		if now == "" {
			continue
		}
		if kind, _ := rawjson.Text(rawjson.Get(v, "type")); slices.Contains(mediaTypes, kind) {
			media = now
			continue
		}
		if of, ok := rawjson.Text(rawjson.Get(v, "role")); ok && of == role || of == "model" && role == "assistant" {
			text = now
		} else {
			other = now
		}
	}
	return cmp.Or(text, other, media)
}

func previewObject(raw json.RawMessage, role string, depth int) string {
	members := map[string]json.RawMessage{}
	first := ""
	for key, v := range rawjson.Object(raw) {
		if slices.Contains(messageKeys, key) || slices.Contains(textKeys, key) || key == "tool_calls" || key == "function" || key == "name" {
			members[key] = v
		} else if first == "" && rawjson.KindOf(v) == '"' && !strings.HasSuffix(key, "id") && key != "role" && key != "type" && key != "finish_reason" {
			first, _ = rawjson.Text(v)
		}
	}
	// A message says what it is by its own content; beside it may stand further choices.
	if text := previewText(members["content"], role, depth+1); text != "" {
		return text
	}
	if name := calledIn(members["tool_calls"]); name != "" {
		return name
	}
	for _, keys := range [][]string{messageKeys, textKeys} {
		for _, key := range keys {
			if text := previewText(members[key], role, depth+1); text != "" {
				return text
			}
		}
	}
	return first
}

// calledIn returns the first of a message's calls of tools: "get_weather(…)", empty if there is none. A call has its name in itself, or in
// its function.
func calledIn(calls json.RawMessage) string {
	for _, call := range rawjson.Array(calls) {
		for _, at := range []json.RawMessage{rawjson.Lookup(call, "function", "name"), rawjson.Get(call, "name")} {
			if name, _ := rawjson.Text(at); name != "" {
				return name + "(…)"
			}
		}
	}
	return ""
}

// oneLine returns a text in one line, its spaces folded, of at most so many characters and an ellipsis.
func oneLine(text string, most int) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = n > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		if n >= most {
			b.WriteString("…")
			break
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// loneFields are the fields of an event that can be read alone.
var loneFields = []string{"inputs", "outputs", "config", "metadata", "metrics", "feedback", "user_properties", "error"}

// IsEventField reports whether a field of an event can be read alone.
func IsEventField(name string) bool { return slices.Contains(loneFields, name) }

// EventFieldNames returns the names for which IsEventField holds, for messages.
func EventFieldNames() string { return strings.Join(loneFields, ", ") }

// EventField returns the JSON of a field as it is stored; what is absent is {}, an error that is absent null.
func EventField(e *event.Event, name string) json.RawMessage {
	var raw json.RawMessage
	switch name {
	case "inputs":
		raw = e.Inputs
	case "outputs":
		raw = e.Outputs
	case "config":
		raw = e.Config
	case "metadata":
		raw = e.Metadata
	case "metrics":
		raw = e.Metrics
	case "feedback":
		raw = e.Feedback
	case "user_properties":
		raw = e.UserProperties
	case "error":
		if e.Error == nil {
			return json.RawMessage("null")
		}
		return rawjson.AppendString(nil, *e.Error)
	}
	if rawjson.Null(raw) {
		return json.RawMessage("{}")
	}
	return raw
}
