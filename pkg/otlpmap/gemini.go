package otlpmap

// The readers of requests and answers as Google's Gemini API has them: contents of a role and
// parts, {system_instruction, tools, …} beside them, and an answer of the same shape.

// asGeminiRequest reads {model, config, contents}, or contents alone.
var asGeminiRequest = reader{name: "Gemini request", about: "JSON {model, config, contents} as messages and settings", whole: func(b *eventBuilder, t target, a *attr) {
	raw, ok := b.parse(a)
	if !ok {
		raw, ok = b.repairTruncatedJSON(a)
	}
	if b.filled(t.field) {
		b.keep(a)
		return
	}
	at := len(b.msgs)
	if ok && kind(raw) == '[' && b.contents(raw) {
		a.used = b.putMessages(t, at)
		return
	}
	contents := member(raw, "contents")
	if !ok || kind(raw) != '{' || contents == nil {
		if !ok {
			b.unreadable(a, fields.inputValue)
		}
		return
	}
	config := member(raw, "config")
	instruction := firstMember(config, "system_instruction", "systemInstruction")
	if !empty(instruction) {
		if kind(instruction) == '"' {
			b.msgs = append(b.msgs, message{role: []byte(`"system"`), content: instruction})
		} else if !b.geminiContent(instruction, `"system"`) {
			b.msgs = append(b.msgs, message{role: []byte(`"system"`), content: instruction})
		}
	}
	if !empty(contents) && !b.contents(contents) {
		b.msgs = b.msgs[:at]
		b.keep(a)
		return
	}
	b.putMessages(t, at)
	all := true
	for c := members(config); c.next(); {
		switch key := keyText(c.key); key {
		case "system_instruction", "systemInstruction":
		case "tools":
			all = b.geminiTools(c.val) && all
		default:
			all = b.setting(geminiSetting(key), c.val) && all
		}
	}
	for c := members(raw); c.next(); {
		switch key := keyText(c.key); key {
		case "config", "contents":
		case "model":
			all = b.setting("model", c.val) && all
		default:
			all = b.member(bucketInputs, key, c.val) && all
		}
	}
	if all {
		a.used = true
	} else {
		b.keep(a)
	}
}}

// geminiSetting returns the name of a setting in config.
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

// geminiTools fills config.tools from [{function_declarations: […]}].
func (b *eventBuilder) geminiTools(raw []byte) bool {
	if b.filled(fields.tools.field) {
		return false
	}
	var list []byte
	for c := elements(raw); c.next(); {
		in := firstMember(c.val, "function_declarations", "functionDeclarations")
		if in == nil {
			list = appendItem(list, c.val)
			continue
		}
		for d := elements(in); d.next(); {
			list = appendItem(list, d.val)
		}
		if countMembers(c.val) > 1 {
			return b.putTools(raw)
		}
	}
	return list != nil && b.putTools(append(list, ']'))
}

// contents appends the messages of Gemini's contents.
func (b *eventBuilder) contents(raw []byte) bool {
	at := len(b.msgs)
	for c := elements(raw); c.next(); {
		if !b.geminiContent(c.val, "") {
			b.msgs = b.msgs[:at]
			return false
		}
	}
	return len(b.msgs) > at
}

// geminiContent appends the message of {role, parts}. The role "model" becomes "assistant".
func (b *eventBuilder) geminiContent(raw []byte, role string) bool {
	parts := member(raw, "parts")
	if kind(parts) != '[' {
		return false
	}
	m := message{role: member(raw, "role")}
	switch {
	case role != "":
		m.role = []byte(role)
	case string(inner(m.role)) == "model":
		b.part("role:model")
		m.role = []byte(`"assistant"`)
	case kind(m.role) != '"':
		m.role = []byte(`"user"`)
	}
	for c := members(raw); c.next(); {
		if key := string(c.key); key != "role" && key != "parts" && !empty(c.val) {
			m.add(c.key, c.val)
		}
	}
	return b.readParts(m, parts)
}

// asGeminiAnswer reads {content, finish_reason, usage_metadata, …}.
var asGeminiAnswer = reader{name: "Gemini answer", about: "JSON {content, finish_reason, …} as role, content, tool_calls, finish_reason", whole: func(b *eventBuilder, _ target, a *attr) {
	raw, ok := b.parse(a)
	if !ok {
		raw, ok = b.repairTruncatedJSON(a)
	}
	if b.answered() {
		b.keep(a)
		return
	}
	if !ok {
		b.unreadable(a, fields.content)
		return
	}
	at := len(b.msgs)
	if !b.geminiContent(member(raw, "content"), "") {
		if !empty(raw) && kind(raw) == '{' {
			b.spread(bucketOutputs, raw, a)
		}
		return
	}
	b.answer(at)
	b.texts.add(b, member(raw, "content"))
	all := true
	for c := members(raw); c.next(); {
		switch key := keyText(c.key); key {
		case "content":
		case "finish_reason", "finishReason":
			if kind(c.val) == '"' {
				c.val = b.plainReason(c.val)
			}
			all = b.put(fields.finish, c.val) && all
		case "model_version", "modelVersion":
			if kind(c.val) == '"' && b.put(fields.responseModel, c.val) {
				continue
			}
			all = false
		default:
			all = b.member(bucketOutputs, key, c.val) && all
		}
	}
	if all {
		a.used = true
	} else {
		b.keep(a)
	}
}}

// asGeminiUsage takes the counts of {usage_metadata: {…}}.
var asGeminiUsage = reader{name: "Gemini usage", about: "the counts in the JSON of an answer", whole: func(b *eventBuilder, _ target, a *attr) {
	raw, ok := b.parse(a)
	if !ok {
		return
	}
	for c := members(firstMember(raw, "usage_metadata", "usageMetadata")); c.next(); {
		switch string(c.key) {
		case "prompt_token_count", "promptTokenCount":
			b.offerCount(countPrompt, c.val)
		case "candidates_token_count", "candidatesTokenCount":
			b.offerCount(countCompletion, c.val)
		case "total_token_count", "totalTokenCount":
			b.offerCount(countTotal, c.val)
		case "cached_content_token_count", "cachedContentTokenCount":
			b.offerCount(countCacheRead, c.val)
		case "thoughts_token_count", "thoughtsTokenCount":
			b.offerCount(countReasoning, c.val)
		}
	}
}}
