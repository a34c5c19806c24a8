package otlpmap

import (
	"bytes"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// asInput and asOutput read what a function or a call was given and gave back, in whatever
// shape it is.
var (
	asInput = reader{name: "input", about: "what the step was given: see below", whole: func(b *build, _ target, a *attr) {
		raw, ok := b.content(a, inputMime)
		if !ok {
			b.plainInput(a)
			return
		}
		switch b.s.role {
		case onModel:
			b.modelInput(a, raw)
		case onEmbedding:
			if in := member(raw, "input"); !b.filled(fields.texts.field) && kind(in) == '[' {
				b.put(fields.texts, in)
				b.rest(a, raw, bucketInputs, "input")
				return
			}
			b.objectInput(a, raw)
		default:
			b.objectInput(a, raw)
		}
	}}

	asOutput = reader{name: "output", about: "what the step gave back: see below", whole: func(b *build, _ target, a *attr) {
		raw, ok := b.content(a, outputMime)
		if b.s.role == onModel || b.s.role == onEmbedding {
			if ok {
				b.modelOutput(a, raw)
			} else if !b.filled(fields.content.field) && b.whole == nil {
				b.put(fields.content, b.take(a))
			} else {
				b.keep(a)
			}
			return
		}
		b.stepOutput(a, raw, ok)
	}}
)

// content is an attribute's value as JSON, unless the span says that it is text.
func (b *build) content(a *attr, mime slot) ([]byte, bool) {
	if a.val.Type() == pcommon.ValueTypeStr {
		if a.slot == inputValue || a.slot == rawOutput {
			if m := b.s.at(b.attrs, mime); m != nil && m.str() == "text/plain" {
				return nil, false
			}
		}
		if k := kind(view(a.val.Str())); k != '{' && k != '[' && k != '"' {
			return nil, false
		}
	}
	if raw, ok := b.parse(a); ok {
		return raw, true
	}
	if cutShort(b.cuts, a.key) || a.slot == inputValue || a.slot == rawOutput {
		return b.mend(a)
	}
	return nil, false
}

func cutShort(cuts []cutOff, key string) bool {
	for _, c := range cuts {
		if c.key == key {
			return true
		}
	}
	return false
}

// plainInput places a text.
func (b *build) plainInput(a *attr) {
	t := fields.inputValue
	if b.s.role == onRetriever {
		t = fields.query
	}
	if b.filled(t.field) || !b.obj[bucketInputs].empty() && t == fields.inputValue {
		b.keep(a)
		return
	}
	b.put(t, b.take(a))
}

// modelInput reads a model call's request: its messages become the chat history, its settings
// the config, the rest inputs.
func (b *build) modelInput(a *attr, raw []byte) {
	if b.filled(fields.history.field) {
		b.keep(a)
		return
	}
	at := len(b.msgs)
	if kind(raw) == '[' && b.readMessages(raw) {
		b.putMessages(fields.history, at)
		a.used = true
		return
	}
	if kind(raw) != '{' {
		b.objectInput(a, raw)
		return
	}
	if list := member(raw, "messages"); list != nil && b.readMessages(list) {
		b.putMessages(fields.history, at)
		b.rest(a, raw, bucketInputs, "messages")
		return
	}
	// The Responses API: instructions beside an input that is a text or a list of items.
	if in := member(raw, "input"); in != nil {
		if sys := member(raw, "instructions"); kind(sys) == '"' {
			b.msgs = append(b.msgs, message{role: []byte(`"system"`), content: sys})
		}
		if kind(in) == '"' {
			b.msgs = append(b.msgs, message{role: []byte(`"user"`), content: in})
		}
		if kind(in) == '"' || b.readMessages(in) {
			b.putMessages(fields.history, at)
			b.rest(a, raw, bucketInputs, "input", "instructions")
			return
		}
		b.msgs = b.msgs[:at]
	}
	b.objectInput(a, raw)
}

// rest places the members of an object beside those that were read: settings of a call in
// config, the others in the bucket.
func (b *build) rest(a *attr, raw []byte, bucket int, read ...string) {
	all := true
next:
	for c := members(raw); c.next(); {
		key := keyText(c.key)
		for _, r := range read {
			if key == r {
				continue next
			}
		}
		if to, ok := settings[key]; ok && b.setting(to, c.val) {
			continue
		}
		if !b.member(bucket, key, c.val) {
			all = false
		}
	}
	if all {
		a.used = true
	} else {
		b.keep(a)
	}
}

// objectInput makes an object the inputs, a list of messages the chat history, and anything
// else inputs.value.
func (b *build) objectInput(a *attr, raw []byte) {
	o := &b.obj[bucketInputs]
	if b.s.role == onRetriever && kind(raw) == '"' && b.put(fields.query, raw) {
		a.used = true
		return
	}
	if !o.empty() {
		b.keep(a)
		return
	}
	switch kind(raw) {
	case '{':
		args, kwargs := member(raw, "args"), member(raw, "kwargs")
		if kind(args) == '[' && kind(kwargs) == '{' && len(bytes.TrimSpace(raw)) > 0 && countMembers(raw) == 2 && member(kwargs, "args") == nil {
			b.spread(bucketInputs, kwargs, a)
			if !empty(args) {
				b.member(bucketInputs, "args", args)
			}
			return
		}
		b.spread(bucketInputs, raw, a)
	case '[':
		at := len(b.msgs)
		if b.readMessages(raw) {
			b.putMessages(fields.history, at)
		} else {
			b.put(fields.inputValue, raw)
		}
		a.used = true
	default:
		b.put(fields.inputValue, raw)
		a.used = true
	}
}

func countMembers(raw []byte) (n int) {
	for c := members(raw); c.next(); {
		n++
	}
	return n
}

// modelOutput reads a model call's raw answer: OpenAI choices, Responses items, one message or
// a list of them. Its id, model and usage fill what the span does not say itself.
func (b *build) modelOutput(a *attr, raw []byte) {
	if b.s.role == onEmbedding && kind(raw) == '{' {
		b.embeddingOutput(a, raw)
		return
	}
	b.replyFacts(raw)
	if b.answered() {
		b.keep(a)
		return
	}
	at := len(b.msgs)
	read := ""
	switch {
	case kind(raw) == '[' && b.readMessages(raw):
		b.answer(at)
		a.used = true
		return
	case kind(raw) == '{':
		for _, key := range [...]string{"choices", "output", "messages"} {
			if list := member(raw, key); kind(list) == '[' && b.readMessages(list) {
				read = key
				break
			}
		}
		if read != "" {
			b.answer(at)
			b.keep(a)
			b.known.add(b, member(raw, read))
			return
		}
		if b.readMessage(raw) {
			b.answer(at)
			a.used = true
			return
		}
		b.spread(bucketOutputs, raw, a)
	case kind(raw) == '"':
		b.put(fields.content, raw)
		a.used = true
	default:
		b.put(fields.result, raw)
		a.used = true
	}
}

// replyFacts takes a raw answer's id, model and usage.
func (b *build) replyFacts(raw []byte) {
	for c := members(raw); c.next(); {
		switch string(c.key) {
		case "id":
			if kind(c.val) == '"' && b.put(fields.responseID, c.val) {
				b.known.add(b, c.val)
			}
		case "model":
			if kind(c.val) == '"' {
				b.put(fields.responseModel, c.val)
				if b.put(fields.model, c.val) {
					b.put(fields.modelName, c.val)
					b.modelText = unquoted(c.val)
				}
				b.known.add(b, c.val)
			}
		case "usage":
			b.offerUsage(c.val)
		}
	}
}

// stepOutput makes a tool's return value outputs.result, and a chain's outputs the object it
// gave. Of a retriever it takes the documents.
func (b *build) stepOutput(a *attr, raw []byte, ok bool) {
	if !ok {
		if b.filled(fields.result.field) || b.answered() || !b.obj[bucketOutputs].empty() {
			b.keep(a)
			return
		}
		b.put(fields.result, b.take(a))
		return
	}
	if b.s.role == onRetriever {
		list := raw
		if kind(raw) == '{' {
			list = member(raw, "documents")
		}
		if !b.filled(fields.documents.field) && b.documents(list) {
			b.known.add(b, list)
			b.keep(a)
			return
		}
	}
	if !b.obj[bucketOutputs].empty() || b.whole != nil {
		b.keep(a)
		return
	}
	at := len(b.msgs)
	switch {
	case b.s.role == onChain && kind(raw) == '{':
		b.spread(bucketOutputs, raw, a)
		return
	case b.s.role == onChain && kind(raw) == '[' && b.readMessages(raw):
		b.putMessages(fields.answerHistory, at)
	default:
		b.put(fields.result, raw)
	}
	a.used = true
}
