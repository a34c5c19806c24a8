package otlpmap

import (
	"bytes"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// asInput and asOutput read what a function or a call was given and gave back, in whatever
// shape it is.
var (
	asInput = reader{
		name: "input", about: "what the step was given: see below",
		whole: func(b *eventBuilder, _ target, a *attr) {
			raw, ok := b.content(a, compiled.inputMime)
			if !ok {
				b.plainInput(a)
				return
			}
			switch b.s.role {
			case onModel:
				b.modelInput(a, raw)
			case onEmbedding:
				b.embeddingInput(a, raw)
			default:
				b.objectInput(a, raw)
			}
		},
	}

	asOutput = reader{
		name: "output", about: "what the step gave back: see below",
		whole: func(b *eventBuilder, _ target, a *attr) {
			raw, ok := b.content(a, compiled.outputMime)
			b.output(a, raw, ok)
		},
	}
)

// embeddingInput reads what an embedding call was asked: {input, …} as OpenAI's API has it, or the texts alone.
func (b *eventBuilder) embeddingInput(a *attr, raw []byte) {
	if body := requestBody(b, raw); body != nil {
		b.inBody(a, raw, func() { b.embeddingInput(a, body) })
		return
	}
	in, key := raw, ""
	if jsonscan.Kind(raw) == '{' {
		for _, key = range [...]string{"input", "text", titanPrompt} { // OpenAI, Haystack, Bedrock
			if in = jsonscan.Member(raw, key); in != nil {
				break
			}
		}
	}
	if b.filled(fieldTexts.field) || !b.embeddedTexts(in) {
		b.objectInput(a, raw)
		return
	}
	if jsonscan.Kind(raw) == '{' {
		b.rest(a, raw, bucketInputs, key)
		return
	}
	a.used = true
}

// embeddedTexts makes a text, or a list of texts, the inputs.texts. Some instrumentations send each text as a message of
// the user, or as {content}. Numbers are texts that the caller has cut into tokens.
func (b *eventBuilder) embeddedTexts(raw []byte) bool {
	if jsonscan.Kind(raw) != '[' && jsonscan.Kind(raw) != '"' {
		return false
	}
	list := append(make([]byte, 0, len(raw)+2), '[')
	if jsonscan.Kind(raw) == '"' {
		return b.put(fieldTexts, append(append(list, raw...), ']'))
	}
	at := len(b.msgs)
	defer func() { b.msgs = b.msgs[:at] }()
	read := at // the end of the messages that were read, one of each element
	for c := jsonscan.Elements(raw); c.Next(); {
		text := c.Val
		if jsonscan.Kind(text) == '{' {
			switch {
			case countMembers(text) == 1 && jsonscan.Kind(jsonscan.Member(text, "content")) == '"':
				text = jsonscan.Member(text, "content")
			case b.readMessage(text):
				m := &b.msgs[len(b.msgs)-1]
				if read++; len(b.msgs) != read || string(jsonscan.Inner(m.role)) != "user" || jsonscan.Kind(m.content) != '"' || !m.onlySaid() {
					return false
				}
				text = m.content
				if !b.losses.parts.hasText([]byte("role:user")) {
					b.part("role:user")
				}
			default:
				return false
			}
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, text...)
	}
	return len(list) > 1 && b.put(fieldTexts, append(list, ']'))
}

// output places what a step gave back: JSON if ok, else the attribute's text.
func (b *eventBuilder) output(a *attr, raw []byte, ok bool) {
	if ok && jsonscan.Kind(raw) == 'n' {
		return // nothing came back: the attribute stays, and says so
	}
	if b.s.role != onModel && b.s.role != onEmbedding {
		b.stepOutput(a, raw, ok)
		return
	}
	switch {
	case ok:
		b.modelOutput(a, raw)
	case !b.filled(fieldContent.field) && b.whole == nil && !(b.filled(fieldCalls.field) && a.str() == noContent):
		b.put(fieldContent, b.take(a))
	default:
		b.keep(a)
	}
}

// noContent is the text that LlamaIndex makes of an answer that has calls alone.
const noContent = "assistant: None"

// content returns an attribute's value as JSON, unless the span declares it to be text, or it is a text that is
// no object, list or string in JSON: a bare 42 or true may be prose, but in traceloop.entity.output, which is always
// JSON. mime is the attribute that declares the type of
// input.value and output.value. JSON that was
// cut off is repaired, if this mapper cut it or it is in one of those two.
func (b *eventBuilder) content(a *attr, mime slot) ([]byte, bool) {
	if a.val.Type() == pcommon.ValueTypeStr {
		if a.slot == compiled.inputValue || a.slot == compiled.rawOutput {
			if m := b.s.at(b.attrs, mime); m != nil && m.str() == "text/plain" {
				return nil, false
			}
		}
		if k := jsonscan.Kind(view(a.val.Str())); k != '{' && k != '[' && k != '"' && a.slot != compiled.entityOutput {
			return nil, false
		}
	}
	if raw, ok := b.parse(a); ok {
		return raw, true
	}
	if cutShort(b.losses.cuts, a.key) || a.slot == compiled.inputValue || a.slot == compiled.rawOutput {
		return b.repairTruncatedJSON(a)
	}
	return nil, false
}

// cutShort reports whether an attribute was longer than MaxFieldBytes.
func cutShort(cuts []cutOff, key string) bool {
	for _, c := range cuts {
		if c.key == key {
			return true
		}
	}
	return false
}

// plainInput places a text: a model's prompt as a message of the user, an embedding's as inputs.texts, a retriever's as
// inputs.query, any other as inputs.value.
func (b *eventBuilder) plainInput(a *attr) {
	t := fieldInputValue
	if b.s.role == onRetriever {
		t = fieldQuery
	}
	if b.s.role == onModel && b.obj[bucketInputs].empty() {
		b.said(b.take(a))
		return
	}
	if b.s.role == onEmbedding && !b.filled(fieldTexts.field) && b.obj[bucketInputs].empty() {
		b.embeddedTexts(b.take(a))
		return
	}
	if b.filled(t.field) || !b.obj[bucketInputs].empty() && t == fieldInputValue {
		b.keep(a)
		return
	}
	b.put(t, b.take(a))
}

// rest places the members of an object beside those that were read: settings of a call in
// config, the others in the bucket. The attribute is used if all found their place. Otherwise what was placed
// joins b.texts, so that dropRedundant leaves only the others with the attribute.
func (b *eventBuilder) rest(a *attr, raw []byte, bucket int, read ...string) {
	var room [8]string
	left := room[:0] // the members without a place
	for c := jsonscan.Members(raw); c.Next(); {
		key := keyText(c.Key)
		if slices.Contains(read, key) {
			continue
		}
		if bucket == bucketInputs && b.s.role == onModel && jsonscan.Kind(c.Val) == '{' {
			if settingGroups[key] {
				if !b.settingsIn(c.Val) {
					left = append(left, key)
				}
				continue
			}
			if list := jsonscan.Member(c.Val, "tools"); key == "toolConfig" && toolList(list) && b.putTools(list) { // Bedrock
				b.texts.add(b, list)
				if countMembers(c.Val) > 1 {
					left = append(left, key)
				}
				continue
			}
		}
		// A setting that config has with another value goes to the bucket, like any other member.
		if to, ok := settings[key]; ok {
			if b.setting(to, c.Val) {
				if b.partly(a) {
					b.texts.add(b, c.Val)
				}
				continue
			}
			if to == "tools" && b.filled(fieldTools.field) {
				left = append(left, key) // reported elsewhere: what is new of it stays with the attribute
				continue
			}
		}
		switch {
		case !b.member(bucket, key, c.Val):
			left = append(left, key)
		case b.partly(a):
			b.texts.add(b, c.Val)
		}
	}
	if len(left) == 0 {
		if !b.partly(a) {
			a.used = true
		}
		return
	}
	if a.used { // by the messages in it, which have all found their place
		a.used = false
		for c := jsonscan.Members(raw); c.Next(); {
			if !slices.Contains(left, keyText(c.Key)) {
				b.texts.add(b, c.Val)
			}
		}
	}
	b.keep(a)
}

// objectInput makes an object the inputs, a list of messages the chat history, and anything
// else inputs.value. In this order:
//
//  1. a retriever's text is its query
//  2. if another attribute has filled the inputs, this one is only compared with them
//  3. what an instrumentation put around the value is taken off (see unwrapped)
//  4. an object may be a tool's own call, or a state with messages, or Python's {args, kwargs}; of any other one
//     the members become the inputs
//  5. a list of messages becomes the chat history
func (b *eventBuilder) objectInput(a *attr, raw []byte) {
	o := &b.obj[bucketInputs]
	if b.s.role == onRetriever && jsonscan.Kind(raw) == '"' && b.put(fieldQuery, raw) {
		a.used = true
		return
	}
	if !o.empty() {
		b.keep(a)
		return
	}
	if b.s.role == onRetriever { // LlamaIndex: {"query_bundle": {"query_str": "…", "embedding": …}}
		if query := jsonscan.Member(jsonscan.Member(raw, "query_bundle"), "query_str"); jsonscan.Kind(query) == '"' && b.put(fieldQuery, query) {
			b.texts.add(b, query)
			b.keep(a)
			return
		}
	}
	whole := raw
	raw, wrapped := b.unwrapped(raw)
	if wrapped {
		b.keep(a)
		if tags := jsonscan.Member(whole, "tags"); !jsonscan.Empty(tags) && b.member(bucketHot, "tags", tags) {
			b.texts.add(b, tags)
		}
	}
	at := len(b.msgs)
	switch jsonscan.Kind(raw) {
	case '{':
		if b.s.role&onTools != 0 && b.toolCall(raw, a) {
			return
		}
		if in, ok := b.conversation(raw); ok {
			if in == "" {
				b.heard(a, raw, at)
			} else {
				b.heard(a, jsonscan.Member(raw, in), at)
			}
			b.putMessages(fieldHistory, at)
			if in != "" {
				b.rest(a, raw, bucketInputs, in)
			}
			return
		}
		args, kwargs := jsonscan.Member(raw, "args"), jsonscan.Member(raw, "kwargs")
		if jsonscan.Kind(args) == '[' && jsonscan.Kind(kwargs) == '{' && jsonscan.Member(kwargs, "args") == nil &&
			(countMembers(raw) == 2 || b.s.role == onTool && onlyFlags(raw)) {
			for c := jsonscan.Members(raw); c.Next(); {
				if key := keyText(c.Key); key != "args" && key != "kwargs" && !b.member(bucketHot, key, c.Val) {
					b.keep(a)
				}
			}
			b.spread(bucketInputs, kwargs, a)
			if !jsonscan.Empty(args) {
				b.member(bucketInputs, "args", args)
			}
			return
		}
		if args == nil && jsonscan.Kind(kwargs) == '{' && b.s.role&onTools != 0 && countMembers(raw) == 1 { // LlamaIndex
			b.spread(bucketInputs, kwargs, a)
			return
		}
		b.spread(bucketInputs, raw, a)
	case '[':
		if b.readMessages(raw) {
			b.heard(a, raw, at)
			b.putMessages(fieldHistory, at)
			return
		}
		b.placeWhole(a, fieldInputValue, raw, wrapped)
	default:
		b.placeWhole(a, fieldInputValue, raw, wrapped)
	}
}

// onlyFlags reports whether an object's members other than args and kwargs are true, false or null: smolagents has
// sanitize_inputs_outputs beside a tool's arguments.
func onlyFlags(raw []byte) bool {
	for c := jsonscan.Members(raw); c.Next(); {
		if key := string(c.Key); key != "args" && key != "kwargs" && bytes.IndexByte([]byte("tfn"), jsonscan.Kind(c.Val)) < 0 {
			return false
		}
	}
	return true
}

// placeWhole sets a field to the whole value of an attribute, or to what was wrapped in it.
func (b *eventBuilder) placeWhole(a *attr, t target, raw []byte, wrapped bool) {
	b.put(t, raw)
	if wrapped {
		b.texts.add(b, raw)
	} else {
		a.used = true
	}
}

// countMembers returns the number of an object's members, 0 for any other value.
func countMembers(raw []byte) (n int) {
	for c := jsonscan.Members(raw); c.Next(); {
		n++
	}
	return n
}

// stepOutput makes a tool's return value outputs.result, and a chain's outputs the object it
// gave. Of a retriever it takes the documents. In this order:
//
//  1. a text is the result, if the outputs are empty
//  2. a list of documents, or {documents: […]}, of a retriever becomes outputs.documents
//  3. if another attribute has filled the outputs, this one is only compared with them
//  4. what an instrumentation put around the value is taken off (see unwrapped)
//  5. a conversation of a chain, or one serialised message, becomes the answer (see answer)
//  6. of a chain's object the members become the outputs, any other value becomes outputs.result
func (b *eventBuilder) stepOutput(a *attr, raw []byte, ok bool) {
	if !ok {
		if b.filled(fieldResult.field) || b.answered() || !b.obj[bucketOutputs].empty() {
			b.keep(a)
			return
		}
		b.put(fieldResult, b.take(a))
		return
	}
	if b.s.role == onRetriever {
		list := raw
		if jsonscan.Kind(raw) == '{' {
			list = jsonscan.Member(raw, "documents")
		}
		if !b.filled(fieldDocuments.field) && b.documents(list) {
			b.texts.add(b, list)
			b.keep(a)
			return
		}
	}
	if !b.obj[bucketOutputs].empty() || b.whole != nil {
		b.keep(a)
		return
	}
	if b.calledResult(raw, a) || b.toolOutput(raw, a) {
		return
	}
	raw, wrapped := b.unwrapped(raw)
	if wrapped {
		b.keep(a)
	}
	at := len(b.msgs)
	if in, ok := b.conversation(raw); ok && (b.s.role == onChain || in == "" && jsonscan.Kind(raw) == '{') {
		if in != "" {
			b.heard(a, jsonscan.Member(raw, in), at)
		} else {
			b.heard(a, raw, at)
		}
		if b.s.role&onTools != 0 && b.returned(at) {
			return
		}
		b.stateAnswer(at)
		if in != "" {
			b.rest(a, raw, bucketOutputs, in)
		}
		return
	}
	b.msgs = b.msgs[:at]
	if b.s.role == onChain && jsonscan.Kind(raw) == '{' {
		b.spread(bucketOutputs, raw, a)
		return
	}
	b.placeWhole(a, fieldResult, raw, wrapped)
}

// stateAnswer fills a chain's outputs from b.msgs[at:]: what the assistant said last and the whole
// list as its history, if it is more than that.
func (b *eventBuilder) stateAnswer(at int) {
	if len(b.msgs)-at == 1 {
		if m := &b.msgs[at]; !jsonscan.Empty(m.callID) {
			b.member(bucketOutputs, "tool_call_id", m.callID)
		}
	}
	b.answer(at)
}
