package otlpmap

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// The readers of requests and answers as Google's Gemini API has them: contents of a role and
// parts, {system_instruction, tools, …} beside them, and an answer of the same shape.

// asGeminiRequest reads {model, config, contents}, or contents alone: contents become the messages, after
// config.system_instruction; config the settings and tools; other members inputs. Names come in snake case (Python)
// and in camel case (REST).
var asGeminiRequest = reader{
	name: "Gemini request", about: "JSON {model, config, contents} as messages and settings",
	whole: func(b *eventBuilder, t target, a *attr) {
		raw, ok := b.parse(a)
		if !ok {
			raw, ok = b.repairTruncatedJSON(a)
		}
		if b.filled(t.field) {
			b.keep(a)
			return
		}
		at := len(b.msgs)
		if ok && jsonscan.Kind(raw) == '[' && b.contents(raw) {
			a.used = b.putMessages(t, at)
			return
		}
		contents := jsonscan.Member(raw, "contents")
		if !ok || jsonscan.Kind(raw) != '{' || contents == nil {
			if !ok {
				b.unreadable(a, fieldInputValue)
			}
			return
		}
		config := jsonscan.Member(raw, "config")
		instruction := firstMember(config, "system_instruction", "systemInstruction")
		if !jsonscan.Empty(instruction) {
			if jsonscan.Kind(instruction) == '"' {
				b.msgs = append(b.msgs, chatMessage{role: []byte(`"system"`), content: instruction})
			} else if !b.geminiContent(instruction, `"system"`) {
				b.msgs = append(b.msgs, chatMessage{role: []byte(`"system"`), content: instruction})
			}
		}
		if !jsonscan.Empty(contents) && !b.contents(contents) {
			b.msgs = b.msgs[:at]
			b.keep(a)
			return
		}
		b.putMessages(t, at)
		all := true
		for c := jsonscan.Members(config); c.Next(); {
			switch key := keyText(c.Key); key {
			case "system_instruction", "systemInstruction":
			case "tools":
				all = b.putTools(c.Val) && all
			default:
				all = b.setting(geminiSetting(key), c.Val) && all
			}
		}
		for c := jsonscan.Members(raw); c.Next(); {
			switch key := keyText(c.Key); key {
			case "config", "contents":
			case "model":
				all = b.setting("model", c.Val) && all
			default:
				all = b.member(bucketInputs, key, c.Val) && all
			}
		}
		if all {
			a.used = true
		} else {
			b.keep(a)
		}
	},
}

// geminiSetting returns the name of a setting in config; a setting of unknown name keeps it.
func geminiSetting(key string) string {
	switch key {
	case "candidate_count", "candidateCount":
		return "choice_count"
	case "response_mime_type", "responseMimeType":
		return "response_format"
	}
	if to, ok := settings[key]; ok {
		return to
	}
	return key
}

// contents appends the messages of Gemini's contents. It returns false, and appends none, if an element is no content.
func (b *eventBuilder) contents(raw []byte) bool {
	at := len(b.msgs)
	for c := jsonscan.Elements(raw); c.Next(); {
		if !b.geminiContent(c.Val, "") {
			b.msgs = b.msgs[:at]
			return false
		}
	}
	return len(b.msgs) > at
}

// geminiContent appends the message of {role, parts}. The role "model" becomes "assistant", and a content
// without one is the user's. role, as JSON, takes the place of its own; "" for none.
func (b *eventBuilder) geminiContent(raw []byte, role string) bool {
	parts := jsonscan.Member(raw, "parts")
	if jsonscan.Kind(parts) != '[' {
		return false
	}
	m := chatMessage{role: jsonscan.Member(raw, "role")}
	switch {
	case role != "":
		m.role = []byte(role)
	case string(jsonscan.Inner(m.role)) == "model":
		b.part("role:model")
		m.role = []byte(`"assistant"`)
	case jsonscan.Kind(m.role) != '"':
		m.role = []byte(`"user"`)
	}
	for c := jsonscan.Members(raw); c.Next(); {
		if key := string(c.Key); key != "role" && key != "parts" && !jsonscan.Empty(c.Val) {
			m.add(c.Key, c.Val)
		}
	}
	return b.readParts(m, parts)
}

// asGeminiAnswer reads {content, finish_reason, usage_metadata, …}.
var asGeminiAnswer = reader{
	name: "Gemini answer", about: "JSON {content, finish_reason, …} as role, content, tool_calls, finish_reason",
	whole: func(b *eventBuilder, _ target, a *attr) {
		raw, ok := b.parse(a)
		if !ok {
			raw, ok = b.repairTruncatedJSON(a)
		}
		if b.answered() {
			b.keep(a)
			return
		}
		if !ok {
			b.unreadable(a, fieldContent)
			return
		}
		at := len(b.msgs)
		if !b.geminiContent(jsonscan.Member(raw, "content"), "") {
			if !jsonscan.Empty(raw) && jsonscan.Kind(raw) == '{' {
				b.spread(bucketOutputs, raw, a)
			}
			return
		}
		b.answer(at)
		b.texts.add(b, jsonscan.Member(raw, "content"))
		all := true
		for c := jsonscan.Members(raw); c.Next(); {
			switch key := keyText(c.Key); key {
			case "content":
			case "finish_reason", "finishReason":
				if jsonscan.Kind(c.Val) == '"' {
					c.Val = b.plainReason(c.Val)
				}
				all = b.put(fieldFinish, c.Val) && all
			case "model_version", "modelVersion":
				if jsonscan.Kind(c.Val) == '"' && b.put(fieldResponseModel, c.Val) {
					continue
				}
				all = false
			default:
				all = b.member(bucketOutputs, key, c.Val) && all
			}
		}
		if all {
			a.used = true
		} else {
			b.keep(a)
		}
	},
}

// asGeminiUsage takes the counts of {usage_metadata: {…}}. The attribute is left to asGeminiAnswer.
var asGeminiUsage = reader{
	name: "Gemini usage", about: "the counts in the JSON of an answer",
	whole: func(b *eventBuilder, _ target, a *attr) {
		raw, ok := b.parse(a)
		if !ok {
			return
		}
		for c := jsonscan.Members(firstMember(raw, "usage_metadata", "usageMetadata")); c.Next(); {
			switch string(c.Key) {
			case "prompt_token_count", "promptTokenCount":
				b.offerCount(countPrompt, c.Val)
			case "candidates_token_count", "candidatesTokenCount":
				b.offerCount(countCompletion, c.Val)
			case "total_token_count", "totalTokenCount":
				b.offerCount(countTotal, c.Val)
			case "cached_content_token_count", "cachedContentTokenCount":
				b.offerCount(countCacheRead, c.Val)
			case "thoughts_token_count", "thoughtsTokenCount":
				b.offerCount(countReasoning, c.Val)
			}
		}
	},
}

// geminiChunkAttrs are the attributes that say what members of a chunk do.
var geminiChunkAttrs = [...]struct{ member, attr string }{{"responseId", "gen_ai.response.id"}, {"modelVersion", "gen_ai.response.model"}}

// geminiChunks writes the answer in the chunks of a stream, as {role, parts} with all parts, and its id. Chunks are read one by one: decoded
// together they would take fifty times the memory of their text.
func geminiChunks(text string, out pcommon.Map) bool {
	raw, _, err := rawjson.Clean([]byte(text))
	if err != nil || rawjson.KindOf(raw) != '[' {
		return false
	}
	message := []byte(`[{"role":"model","parts":[`)
	begun := len(message)
	for _, chunk := range rawjson.Array(raw) {
		for _, part := range rawjson.Array(rawjson.Path(chunk, "candidates", "0", "content", "parts")) {
			if len(message) > begun {
				message = append(message, ',')
			}
			message = append(message, part...)
		}
		for _, x := range geminiChunkAttrs {
			if id, ok := rawjson.Text(rawjson.Get(chunk, x.member)); ok && id != "" {
				out.PutStr(x.attr, id)
			}
		}
	}
	if len(message) == begun {
		return false
	}
	out.PutStr("gen_ai.output.messages", string(append(message, "]}]"...)))
	return true
}
