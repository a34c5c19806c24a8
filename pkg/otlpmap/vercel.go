package otlpmap

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// asPrompt reads the prompt of a call as its caller gave it: a text, messages, or an object
// {system, prompt, messages} of them.
var asPrompt = reader{
	name: "prompt", about: "a text, JSON messages, or JSON {system, prompt, messages} as messages",
	whole: func(b *eventBuilder, t target, a *attr) {
		if b.filled(t.field) {
			b.keep(a)
			return
		}
		raw, ok := b.parse(a)
		if !ok {
			raw, ok = b.repairTruncatedJSON(a)
		}
		at := len(b.msgs)
		switch {
		case !ok:
			b.msgs = append(b.msgs, chatMessage{role: []byte(`"user"`), content: b.take(a)})
		case jsonscan.Kind(raw) == '{' && jsonscan.Member(raw, "role") == nil:
			if !b.promptParts(raw) {
				b.msgs = b.msgs[:at]
				b.objectInput(a, raw)
				return
			}
			if b.putMessages(t, at) {
				b.rest(a, raw, bucketInputs, "system", "prompt", "messages")
			}
			return
		case jsonscan.Kind(raw) == '"' || jsonscan.Kind(raw) == '0':
			b.msgs = append(b.msgs, chatMessage{role: []byte(`"user"`), content: b.textOf(raw)})
		case !b.readMessages(raw) && !b.prompts(raw):
			b.unreadable(a, fieldInputValue)
			return
		}
		b.leadInstructions(at)
		a.used = b.putMessages(t, at) || a.used
	},
}

// promptParts appends the messages of {system, prompt, messages}. It returns false if a part is no
// message, or none is there; the caller then takes off what was appended.
func (b *eventBuilder) promptParts(raw []byte) bool {
	at := len(b.msgs)
	if sys := jsonscan.Member(raw, "system"); !jsonscan.Empty(sys) {
		switch jsonscan.Kind(sys) {
		case '"':
			b.msgs = append(b.msgs, chatMessage{role: []byte(`"system"`), content: sys})
		default:
			if !b.readMessages(sys) {
				return false
			}
		}
	}
	for _, key := range [...]string{"messages", "prompt"} {
		in := jsonscan.Member(raw, key)
		switch {
		case jsonscan.Empty(in):
		case jsonscan.Kind(in) == '"':
			b.msgs = append(b.msgs, chatMessage{role: []byte(`"user"`), content: in})
		case !b.readMessages(in):
			return false
		}
	}
	return len(b.msgs) > at
}

// asCalls reads a JSON array of tool calls. Unlike normalCalls it writes a call without a function object as a part also
// if it has arguments, so that its call_id becomes its id.
var asCalls = reader{
	name: "calls", about: "a JSON array of tool calls as [{id, name, arguments}]",
	scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
		raw, ok := b.parse(a)
		if !ok || jsonscan.Kind(raw) != '[' || jsonscan.Empty(raw) {
			return dst, no
		}
		return append(dst, b.listOf(raw, func(call []byte) {
			switch {
			case jsonscan.Kind(call) != '{':
				b.arena = append(b.arena, call...)
			case jsonscan.Kind(jsonscan.Member(call, "function")) == '{':
				b.appendCall(call)
			default:
				p := scanPart(call)
				b.partType(&p)
				b.appendPartCall(&p)
			}
		})...), yes
	},
}

// asTextList reads texts that are each encoded as JSON: one of them, or an array.
var asTextList = reader{
	name: "text list", about: "a text or an array of texts, each perhaps JSON-encoded",
	scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
		dst = append(dst, '[')
		for i, v := range scalars(a.val) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = b.appendDecoded(dst, v, '"')
		}
		return append(dst, ']'), yes
	},
}

// asJSONList reads values that are each encoded as JSON: one of them, or an array.
var asJSONList = reader{
	name: "json list", about: "an array of values, each perhaps JSON-encoded",
	scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
		if raw, ok := b.parse(a); ok && jsonscan.Kind(raw) == '[' && a.val.Type() == pcommon.ValueTypeStr {
			return append(dst, raw...), yes
		}
		dst = append(dst, '[')
		for i, v := range scalars(a.val) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = b.appendDecoded(dst, v, 0)
		}
		return append(dst, ']'), yes
	},
}

// scalars returns the elements of an array, or the value itself as the only one.
func scalars(v pcommon.Value) []pcommon.Value {
	if v.Type() != pcommon.ValueTypeSlice {
		return []pcommon.Value{v}
	}
	list := make([]pcommon.Value, 0, v.Slice().Len())
	for i := range v.Slice().Len() {
		list = append(list, v.Slice().At(i))
	}
	return list
}

// appendDecoded appends the JSON that a text holds if it is of a kind (0: an object, an array
// or a text), else the value itself.
func (b *eventBuilder) appendDecoded(dst []byte, v pcommon.Value, want byte) []byte {
	if v.Type() == pcommon.ValueTypeStr {
		k := jsonscan.Kind(view(v.Str()))
		if k == want && k != 0 || want == 0 && (k == '{' || k == '[' || k == '"') {
			if raw, ok := b.clean(view(v.Str())); ok {
				return append(dst, raw...)
			}
		}
	}
	return b.appendValue(dst, v)
}

// asVectors drops embedding vectors over Options.MaxVector and notes their number and dimension.
// Shorter ones stay attributes.
var asVectors = reader{
	name: "vectors", about: "vectors as JSON text; those over the bound leave count and dimension",
	whole: func(b *eventBuilder, _ target, a *attr) {
		if b.opt.MaxVector < 0 {
			return
		}
		var sizes []int
		note := func(raw []byte) bool {
			n := length(raw)
			sizes = append(sizes, n)
			return jsonscan.Kind(raw) == '[' && n > b.opt.MaxVector
		}
		switch list := scalars(a.val); {
		case a.val.Type() == pcommon.ValueTypeSlice && len(list) > 0 && list[0].Type() == pcommon.ValueTypeStr:
			for _, v := range list {
				if !note(view(v.Str())) {
					return
				}
			}
		default:
			raw, ok := b.parse(a)
			if !ok {
				return
			}
			if first := jsonscan.Elements(raw); first.Next() && jsonscan.Kind(first.Val) == '[' {
				for c := jsonscan.Elements(raw); c.Next(); {
					if !note(c.Val) {
						return
					}
				}
			} else if !note(raw) {
				return
			}
		}
		for _, n := range sizes {
			b.dropVector(fromAttribute, n)
		}
		a.used = true
	},
}

// asProviderFacts keeps what a provider sends beside its answer and takes the counts from it that
// the SDK reports nowhere else.
var asProviderFacts = reader{
	name: "provider facts", about: "a JSON object by provider, kept whole; cached, written and reasoning tokens are read from it",
	scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
		raw, ok := b.parse(a)
		if !ok || jsonscan.Kind(raw) != '{' {
			return dst, no
		}
		for p := jsonscan.Members(raw); p.Next(); {
			for c := jsonscan.Members(p.Val); c.Next(); {
				switch string(c.Key) {
				case "cachedPromptTokens", "cacheReadInputTokens":
					b.offerCount(countCacheRead, c.Val)
				case "cacheCreationInputTokens", "cacheWriteInputTokens":
					b.offerCount(countCacheWrite, c.Val)
				case "reasoningTokens":
					b.offerCount(countReasoning, c.Val)
				case "usage":
					b.offerCount(countCacheRead, firstMember(c.Val, "cacheReadInputTokens", "cache_read_input_tokens"))
					b.offerCount(countCacheWrite, firstMember(c.Val, "cacheWriteInputTokens", "cache_creation_input_tokens"))
				}
			}
		}
		return append(dst, raw...), yes
	},
}

// firstMember returns the first of an object's members that is there.
func firstMember(raw []byte, keys ...string) []byte {
	for _, k := range keys {
		if v := jsonscan.Member(raw, k); v != nil {
			return v
		}
	}
	return nil
}
