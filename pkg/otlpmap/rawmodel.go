package otlpmap

import "github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"

// What model calls were asked and answered, as the providers' APIs have it.

// said appends a text as the one message of a conversation.
func (b *eventBuilder) said(text []byte) {
	at := len(b.msgs)
	b.msgs = append(b.msgs, chatMessage{role: []byte(`"user"`), content: text})
	b.putMessages(fieldHistory, at)
}

// modelInput reads a model call's request: its messages become the chat history, its settings
// the config, the rest inputs. If the history is filled, a rule before this one knew better. The forms, in the order
// in which they are tried:
//
//  1. a list of messages; a text
//  2. {messages, system?, …}: the chat APIs of OpenAI and Anthropic
//  3. {role, content}: one message
//  4. {prompts} or {prompt}: the completion APIs
//  5. {input, instructions?}: the Responses API
//  6. any other value: see objectInput
func (b *eventBuilder) modelInput(a *attr, raw []byte) {
	if b.filled(fieldHistory.field) {
		// The tools that were offered may be nowhere else.
		if list := jsonscan.Member(raw, "tools"); b.s.role == onModel && toolList(list) && b.putTools(list) {
			b.texts.add(b, list)
		}
		b.keep(a)
		return
	}
	at := len(b.msgs)
	if jsonscan.Kind(raw) == '[' && b.readMessages(raw) {
		b.heard(a, raw, at)
		b.putMessages(fieldHistory, at)
		return
	}
	if jsonscan.Kind(raw) == '"' && b.obj[bucketInputs].empty() {
		b.said(raw)
		a.used = true
		return
	}
	if jsonscan.Kind(raw) == '[' && b.obj[bucketInputs].empty() && b.prompts(raw) {
		a.used = b.putMessages(fieldHistory, at)
		return
	}
	if jsonscan.Kind(raw) != '{' {
		b.objectInput(a, raw)
		return
	}
	if body := requestBody(b, raw); body != nil {
		b.inBody(a, raw, func() { b.modelInput(a, body) })
		return
	}
	if list := jsonscan.Member(raw, "messages"); list != nil {
		// Anthropic's API has the system prompt beside the messages.
		sys := jsonscan.Member(raw, "system")
		if jsonscan.Kind(sys) == '"' || jsonscan.Kind(sys) == '[' {
			b.msgs = append(b.msgs, chatMessage{role: []byte(`"system"`)})
			b.msgs[at].content = sys
			if text, ok := b.onlyText(sys); jsonscan.Kind(sys) == '[' && ok {
				b.msgs[at].content = text
			}
		}
		if b.readMessages(list) {
			b.heard(a, list, at)
			b.putMessages(fieldHistory, at)
			if jsonscan.Kind(sys) == '"' || jsonscan.Kind(sys) == '[' {
				b.rest(a, raw, bucketInputs, "messages", "system")
			} else {
				b.rest(a, raw, bucketInputs, "messages")
			}
			return
		}
		b.msgs = b.msgs[:at]
	}
	// One message by itself, and the prompts of the APIs before there were messages.
	if jsonscan.Member(raw, "content") != nil && b.readMessage(raw) {
		b.heard(a, raw, at)
		b.putMessages(fieldHistory, at)
		return
	}
	for _, key := range [...]string{"prompts", "prompt", titanPrompt} {
		if b.prompts(jsonscan.Member(raw, key)) {
			b.learn(at)
			b.putMessages(fieldHistory, at)
			b.rest(a, raw, bucketInputs, key)
			return
		}
	}
	// The Responses API: instructions beside an input that is a text or a list of items.
	if in := jsonscan.Member(raw, "input"); in != nil {
		read := []string{"input"}
		if sys := jsonscan.Member(raw, "instructions"); jsonscan.Kind(sys) == '"' {
			b.msgs = append(b.msgs, chatMessage{role: []byte(`"system"`), content: sys})
			read = append(read, "instructions")
		}
		if jsonscan.Kind(in) == '"' {
			b.msgs = append(b.msgs, chatMessage{role: []byte(`"user"`), content: in})
		}
		if jsonscan.Kind(in) == '"' || b.readMessages(in) {
			b.heard(a, in, at)
			b.putMessages(fieldHistory, at)
			b.rest(a, raw, bucketInputs, read...)
			return
		}
		b.msgs = b.msgs[:at]
	}
	b.objectInput(a, raw)
}

// requestBody returns the body of a request to Bedrock's InvokeModel, {modelId, body}: an object, also as JSON in a text. It is nil for
// anything else.
func requestBody(b *eventBuilder, raw []byte) []byte {
	body := jsonscan.Member(raw, "body")
	if jsonscan.Kind(raw) != '{' || body == nil || jsonscan.Member(raw, "modelId") == nil {
		return nil
	}
	if body = b.arguments(body); jsonscan.Kind(body) != '{' {
		return nil
	}
	return body
}

// inBody lets read place what is in the body of a request, and then what stands beside the body. The attribute is kept for
// dropRedundant from the start, so that neither takes it for used.
func (b *eventBuilder) inBody(a *attr, raw []byte, read func()) {
	b.keep(a)
	read()
	b.rest(a, raw, bucketInputs, "body")
}

// stopped sets the reason to stop, unless there is one.
func (b *eventBuilder) stopped(reason []byte) {
	if jsonscan.Kind(reason) == '"' && len(jsonscan.Inner(reason)) > 0 && b.put(fieldFinish, b.plainReason(reason)) {
		b.texts.add(b, reason)
	}
}

// toolList reports whether a value is a list of definitions of tools, each with a name.
func toolList(raw []byte) bool {
	n := 0
	for c := jsonscan.Elements(raw); c.Next(); n++ {
		in := c.Val
		for _, key := range [...]string{"function", "toolSpec"} {
			if f := jsonscan.Member(in, key); jsonscan.Kind(f) == '{' {
				in = f
			}
		}
		if jsonscan.Kind(jsonscan.Member(in, "name")) != '"' {
			return false
		}
	}
	return n > 0
}

// prompts appends a text, or each text of a list, as a message of the user. It returns false, and appends none, for
// anything else.
func (b *eventBuilder) prompts(raw []byte) bool {
	at := len(b.msgs)
	switch jsonscan.Kind(raw) {
	case '"':
		b.msgs = append(b.msgs, chatMessage{role: []byte(`"user"`), content: raw})
	case '[':
		for c := jsonscan.Elements(raw); c.Next(); {
			if jsonscan.Kind(c.Val) != '"' {
				b.msgs = b.msgs[:at]
				return false
			}
			b.msgs = append(b.msgs, chatMessage{role: []byte(`"user"`), content: c.Val})
		}
	}
	return len(b.msgs) > at
}

// modelOutput reads a model call's raw answer: OpenAI choices, Responses items, one message or
// a list of them. Its id, model and usage fill what the span does not hold itself, also if another attribute has
// given the answer. An object of no known form becomes the outputs as it is.
func (b *eventBuilder) modelOutput(a *attr, raw []byte) {
	if b.s.role == onEmbedding && jsonscan.Kind(raw) == '{' {
		b.embeddingOutput(a, raw)
		return
	}
	if b.s.role == onEmbedding && jsonscan.Kind(raw) == '[' && b.dropVectors(raw) {
		a.used = true
		return
	}
	if body := jsonscan.Member(raw, "body"); jsonscan.Kind(body) == '{' && jsonscan.Member(raw, "ResponseMetadata") != nil {
		b.keep(a) // Bedrock's InvokeModel: what is around the body stays
		raw = body
	}
	b.replyFacts(raw)
	if b.answered() {
		b.keep(a)
		return
	}
	at := len(b.msgs)
	// Counts inside the answer's message come after those beside it: replyFacts has offered these.
	b.tokens.answer = nil
	defer func() { b.offerUsage(b.tokens.answer) }()
	switch {
	case jsonscan.Kind(raw) == '[' && b.readMessages(raw):
		b.joinItems(at)
		b.heard(a, raw, at)
		b.answer(at)
		return
	case jsonscan.Kind(raw) == '[' && b.textAnswer(raw):
		a.used = true
	case jsonscan.Kind(raw) == '{':
		if b.answerIn(raw) {
			// Items of one answer become one message, before any is placed.
			b.joinItems(at)
			b.learn(at)
			b.answer(at)
			b.keep(a)
			return
		}
		if b.readMessage(raw) {
			b.heard(a, raw, at)
			b.answer(at)
			return
		}
		b.spread(bucketOutputs, raw, a)
	case jsonscan.Kind(raw) == '"':
		b.put(fieldContent, raw)
		a.used = true
	default:
		if b.put(fieldResult, raw) {
			a.used = true
		} else {
			b.keep(a)
		}
	}
}

// answerIn appends the messages inside an answer object: OpenAI's choices, Responses items,
// LangChain's generations, Haystack's replies, a state with messages, or one message under a
// name. It reports whether there are any.
func (b *eventBuilder) answerIn(raw []byte) bool {
	for _, key := range [...]string{"choices", "output", "messages", "replies"} {
		if list := jsonscan.Member(raw, key); jsonscan.Kind(list) == '[' && (b.readMessages(list) || key == "replies" && b.replies(list)) {
			return true
		}
	}
	if list := jsonscan.Member(raw, "generations"); jsonscan.Kind(list) == '[' && b.generations(list) {
		return true
	}
	if jsonscan.Member(raw, "role") == nil && jsonscan.Member(raw, "content") == nil {
		for _, key := range [...]string{"message", "output"} {
			if in := jsonscan.Member(raw, key); jsonscan.Kind(in) == '{' && b.readMessage(in) {
				return true
			}
		}
	}
	for _, key := range [...]string{"combined_chunk_content", "output_text", "generation", "completion"} { // the latter two: Bedrock
		if text := jsonscan.Member(raw, key); jsonscan.Kind(text) == '"' {
			b.msgs = append(b.msgs, chatMessage{role: []byte(`"assistant"`), content: text})
			return true
		}
	}
	return b.bedrockAnswers(raw)
}

// bedrockAnswers appends the answers that models on Bedrock give in lists of their own:
//
//	Titan    {results: [{tokenCount, outputText, completionReason}], inputTextTokenCount}
//	Mistral  {outputs: [{text, stop_reason}]}
//
// It returns false, and appends none, if an element is something else.
func (b *eventBuilder) bedrockAnswers(raw []byte) bool {
	at := len(b.msgs)
	for _, form := range [...]struct{ list, text, reason string }{
		{"results", "outputText", "completionReason"}, {"outputs", "text", "stop_reason"},
	} {
		for c := jsonscan.Elements(jsonscan.Member(raw, form.list)); c.Next(); {
			text := jsonscan.Member(c.Val, form.text)
			if jsonscan.Kind(text) != '"' {
				b.msgs = b.msgs[:at]
				return false
			}
			m := chatMessage{role: []byte(`"assistant"`), content: text}
			if reason := jsonscan.Member(c.Val, form.reason); jsonscan.Kind(reason) == '"' {
				m.finish = reason
			}
			b.msgs = append(b.msgs, m)
		}
	}
	return len(b.msgs) > at
}

// replies appends the texts of a list as answers.
func (b *eventBuilder) replies(list []byte) bool {
	at := len(b.msgs)
	if !b.prompts(list) {
		return false
	}
	for i := at; i < len(b.msgs); i++ {
		b.msgs[i].role = []byte(`"assistant"`)
	}
	return true
}

// textAnswer takes a list of texts as a model's alternative answers.
func (b *eventBuilder) textAnswer(raw []byte) bool {
	at := len(b.msgs)
	return b.replies(raw) && b.answer(at)
}

// heard notes that the messages from b.msgs[at:] on, which are about to be placed, came from a
// list in an attribute. Messages that came as such are all there, so the attribute is used; choices and items
// have more around them, so the attribute stays with what it holds beyond the messages.
func (b *eventBuilder) heard(a *attr, list []byte, at int) {
	if b.hasWhole(list) {
		a.used = true
		return
	}
	b.learn(at)
	b.keep(a)
}

// learn adds the messages from b.msgs[at:] on to what dropRedundant knows. They are written out for that, since a
// message may hold texts that its source has in another form.
func (b *eventBuilder) learn(at int) {
	from := len(b.arena)
	b.arena = b.appendMessages(b.arena, b.msgs[at:])
	b.texts.add(b, b.arena[from:])
}

// hasWhole reports what wholeMessages does; for the list that readMessages read last, the reading has found it out
// already. It is the same list if it is the same memory.
func (b *eventBuilder) hasWhole(list []byte) bool {
	if len(list) > 0 && len(list) == len(b.list) && &list[0] == &b.list[0] {
		return b.listWhole
	}
	return wholeMessages(list)
}

// wholeMessages reports whether all of a message, or of each in a list, has its place in an event. An object with a
// role is such a message: members without a place are kept with it. One with "messages" before that is a state around
// messages.
func wholeMessages(raw []byte) bool {
	switch jsonscan.Kind(raw) {
	case '[':
		for c := jsonscan.Elements(raw); c.Next(); {
			if !wholeMessages(c.Val) {
				return false
			}
		}
		return true
	case '{':
		for c := jsonscan.Members(raw); c.Next(); {
			switch string(c.Key) {
			case "role", "_role":
				if jsonscan.Kind(c.Val) == '"' {
					return true
				}
			case "messages":
				return false
			}
		}
		return false
	}
	return true
}

// partly reports whether an attribute is on the list of dropRedundant: it stays unless all of it is in the event.
func (b *eventBuilder) partly(a *attr) bool { return a.unread }

// replyFacts takes a raw answer's id, model, usage and reason to stop, also from LangChain's llm_output and
// Haystack's meta. A field that has a value keeps it.
func (b *eventBuilder) replyFacts(raw []byte) {
	for c := jsonscan.Members(raw); c.Next(); {
		switch string(c.Key) {
		case "id", "response_id", "responseId": // the latter two are Gemini's
			if jsonscan.Kind(c.Val) == '"' && b.put(fieldResponseID, c.Val) {
				b.texts.add(b, c.Val)
			}
		case "model", "model_name":
			if jsonscan.Kind(c.Val) == '"' {
				b.put(fieldResponseModel, c.Val)
				if b.put(fieldModel, c.Val) {
					b.put(fieldModelName, c.Val)
					b.modelText = unquoted(c.Val)
				}
				b.texts.add(b, c.Val)
			}
		case "usage", "usage_metadata", "token_usage":
			b.offerUsage(c.Val)
		case "finish_reason", "finishReason", "stop_reason", "stopReason": // the latter two are Anthropic's and Bedrock's
			b.stopped(c.Val)
		case "inputTextTokenCount", "prompt_token_count": // Titan and Llama on Bedrock
			b.offerCount(countPrompt, c.Val)
		case "generation_token_count":
			b.offerCount(countCompletion, c.Val)
		case "results":
			if first := jsonscan.Elements(c.Val); first.Next() {
				b.offerCount(countCompletion, jsonscan.Member(first.Val, "tokenCount"))
			}
		case "choices", "candidates":
			if first := jsonscan.Elements(c.Val); first.Next() {
				b.stopped(firstMember(first.Val, "finish_reason", "finishReason"))
			}
		case "llm_output":
			b.replyFacts(c.Val)
		case "meta": // Haystack: one per reply
			if first := jsonscan.Elements(c.Val); first.Next() {
				b.replyFacts(first.Val)
			}
		case "replies":
			if first := jsonscan.Elements(c.Val); first.Next() {
				b.replyFacts(firstMember(first.Val, "meta", "_meta"))
			}
		}
	}
}
