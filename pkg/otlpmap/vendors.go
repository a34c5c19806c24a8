package otlpmap

import (
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// The readers of values that some SDKs write in their own way.
var (
	// MLflow writes every value as JSON, so a word comes in quotes.
	asWord = reader{
		name: "word", about: "a text, also in JSON quotes",
		scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
			if jsonscan.Kind(view(a.str())) == '"' {
				if raw, ok := b.parse(a); ok && jsonscan.Kind(raw) == '"' {
					return append(dst, raw...), yes
				}
			}
			if a.str() == "" || a.str() == "null" {
				return dst, no
			}
			return b.appendValue(dst, a.val), yes
		},
	}

	// Python's str(True) is "True".
	asBool = reader{
		name: "boolean", about: "true or false, also as a text in any case",
		scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
			switch {
			case a.val.Type() == pcommon.ValueTypeBool:
				return b.appendValue(dst, a.val), yes
			case strings.EqualFold(a.str(), "true"):
				return append(dst, "true"...), part
			case strings.EqualFold(a.str(), "false"):
				return append(dst, "false"...), part
			}
			return dst, no
		},
	}

	asLiteral = reader{
		name: "literal", about: "embedded if it is JSON or a Python literal, else as text",
		scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
			if k := jsonscan.Kind(view(a.str())); k == '{' || k == '[' || k == '(' || k == '"' || a.val.Type() != pcommon.ValueTypeStr {
				if raw, ok := b.literal(a); ok {
					return append(dst, raw...), yes
				}
			}
			return b.appendValue(dst, a.val), yes
		},
	}

	asTags = reader{
		name: "tags", about: "an array, or a text with commas taken apart",
		scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
			text := a.str()
			if text == "" || jsonscan.Kind(view(text)) == '[' {
				return asList.scalar(b, dst, a)
			}
			n := 0
			dst = append(dst, '[')
			for tag := range strings.SplitSeq(text, ",") {
				if tag = strings.TrimSpace(tag); tag == "" {
					continue
				}
				if n++; n > 1 {
					dst = append(dst, ',')
				}
				dst = b.appendString(dst, tag)
			}
			dst = append(dst, ']')
			if n == 1 {
				return dst, yes
			}
			return dst, part
		},
	}

	// Langfuse has the time at which the first token came, in JSON quotes. An earlier time than the start is a
	// clock's error.
	asSinceStart = reader{
		name: "since start", about: "a time in ISO 8601, given in milliseconds after the span's start; the attribute stays as it came",
		scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
			at, err := time.Parse(time.RFC3339Nano, strings.Trim(a.str(), `"`))
			start := b.s.src.StartTimestamp()
			if err != nil || start == 0 || at.Before(start.AsTime()) {
				return dst, no
			}
			return rawjson.AppendNumber(dst, float64(at.Sub(start.AsTime()))/nanosPerMilli), part
		},
	}
)

// asCaller adds to metadata what the caller said about a step: flattened values that may each be
// JSON. Empty values and the environment variables that LangSmith's exporter adds stay
// attributes.
var asCaller = reader{
	name: "caller's", about: "rebuilt from dots, each value perhaps JSON; keys that are there stay, LANGSMITH_* and LANGCHAIN_* are left out",
	whole: func(b *eventBuilder, t target, a *attr) {
		if raw, ok := b.parse(a); ok && jsonscan.Kind(raw) == '{' {
			b.spread(t.bucket, raw, a)
		}
	},
	family: func(b *eventBuilder, t target, fam int16) {
		if !b.plant(fam) {
			return
		}
		b.jsonLeaves = true
		for c := b.tree.nodes[0].first; c != 0; c = b.tree.nodes[c].next {
			nd := &b.tree.nodes[c]
			if a := b.leaf(c); a != nil && nd.first == 0 && blank(a.val) {
				continue
			}
			if !strings.HasPrefix(nd.key, "LANGSMITH_") && !strings.HasPrefix(nd.key, "LANGCHAIN_") {
				b.memberNode(t.bucket, c)
			}
		}
		b.jsonLeaves = false
	},
}

// asRunOutput reads the outputs of a LangSmith run. What is no object comes as {output: …}; of
// tools, retrievers and model calls that wrapping is taken off.
var asRunOutput = reader{
	name: "run output", about: "as output; {output: x} of a tool, a retriever or a model call is x",
	whole: func(b *eventBuilder, _ target, a *attr) {
		raw, ok := b.content(a, compiled.outputMime)
		if in := jsonscan.Member(raw, "output"); ok && jsonscan.Kind(raw) == '{' && jsonscan.Kind(in) == 'n' && countMembers(raw) == 1 {
			a.used = true // nothing came back: the run failed, or its function returns nothing
			return
		}
		if ok && jsonscan.Kind(raw) == '{' && countMembers(raw) == 0 && b.s.src.Status().Code() == ptrace.StatusCodeError {
			a.used = true // nothing came back, as LangChain's failed runs say it
			return
		}
		if ok && b.s.role != onChain && jsonscan.Kind(raw) == '{' && countMembers(raw) == 1 {
			if in := jsonscan.Member(raw, "output"); in != nil {
				raw = in
			}
		}
		b.output(a, raw, ok)
	},
}

// asConversation reads a whole conversation: what the model said last becomes the outputs, the
// messages before it the inputs. The list may be one of event records, with the names that the
// GenAI conventions once gave to messages.
var asConversation = reader{
	name: "conversation", about: "JSON messages or message events; the last answer becomes the outputs, what is before it the inputs",
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
		if !ok || jsonscan.Kind(raw) != '[' || jsonscan.Empty(raw) {
			return
		}
		said := b.readConversation(raw)
		if said < 0 {
			return
		}
		b.heard(a, raw, at)
		if b.answered() {
			said = len(b.msgs)
		} else if said < len(b.msgs) {
			b.answer(said)
		}
		b.leadInstructions(at)
		b.putMessages(t, at)
	},
}

// readConversation appends the messages of a list. It returns the place of the first that is an
// answer: a choice, or else the last message if the assistant's text ends the list (of a model call, all messages of the
// assistant that end it, calls as well), or else the end of the list. It returns -1, and appends none, if it is no list of
// messages.
func (b *eventBuilder) readConversation(raw []byte) int {
	at := len(b.msgs)
	said := -1
	for c := jsonscan.Elements(raw); c.Next(); {
		first := len(b.msgs)
		if !b.readMessage(c.Val) {
			b.msgs = b.msgs[:at]
			return -1
		}
		name := jsonscan.Inner(jsonscan.Member(c.Val, "event.name"))
		if name == nil {
			continue
		}
		b.part(string(name))
		for i := first; i < len(b.msgs); i++ {
			m := &b.msgs[i]
			m.without("event.name", "gen_ai.message.index") // its place says the same
			if sys := jsonscan.Member(c.Val, "gen_ai.system"); jsonscan.Kind(sys) == '"' && unquoted(sys) == b.s.text(b.attrs, compiled.systemName) {
				m.without("gen_ai.system")
			}
			m.raw = nil
			if string(jsonscan.Inner(m.role)) != "tool" || m.callID != nil {
				continue
			}
			for _, p := range m.extra {
				if string(p.key) == "id" { // of the call
					m.callID = p.val
				}
			}
			if m.callID != nil {
				m.without("id")
			}
		}
		if string(name) == choiceEvent && said < 0 {
			said = first
		}
	}
	if said >= 0 {
		return said
	}
	assistants := func(i int) bool { return i > at && string(jsonscan.Inner(b.msgs[i].role)) == "assistant" }
	said = len(b.msgs)
	if b.s.role != onModel {
		if assistants(said-1) && jsonscan.Empty(b.msgs[said-1].calls) {
			said--
		}
		return said
	}
	// A model's answer may be several messages: Logfire makes one of each item of the Responses API.
	for assistants(said - 1) {
		said--
	}
	if said < len(b.msgs)-1 {
		for i := said; i < len(b.msgs); i++ {
			m := &b.msgs[i]
			m.item = m.item || jsonscan.Empty(m.content) && m.name == nil && m.callID == nil && len(m.extra) == 0
		}
		b.joinItems(said)
	}
	return said
}

// asFinal reads what an agent gave back in the end: a text, or a value of the type it was asked
// for.
var asFinal = reader{
	name: "final", about: "a text as outputs.content, JSON as outputs.result",
	whole: func(b *eventBuilder, _ target, a *attr) {
		if raw, ok := b.content(a, compiled.outputMime); ok && jsonscan.Kind(raw) != '"' {
			if b.put(fieldResult, raw) {
				a.used = true
			} else {
				b.keep(a)
			}
			return
		}
		if b.filled(fieldContent.field) {
			b.keep(a)
			return
		}
		b.put(fieldContent, b.take(a))
	},
}

// asFunctionTools takes the tools out of pydantic-ai's parameters of a request, which stay.
var asFunctionTools = reader{
	name: "function tools", about: "function_tools and output_tools of a JSON object, as tools; the attribute stays",
	whole: func(b *eventBuilder, t target, a *attr) {
		raw, ok := b.parse(a)
		if !ok || b.filled(t.field) {
			return
		}
		for _, key := range [...]string{"function_tools", "output_tools"} {
			if list := jsonscan.Member(raw, key); !jsonscan.Empty(list) && b.putTools(list) {
				return
			}
		}
	},
}
