package otlpmap

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// messageRoles are the older span events of the GenAI conventions that hold one message
// each, and its role.
var messageRoles = map[string]string{
	"gen_ai.system.message": "system", "gen_ai.user.message": "user",
	"gen_ai.assistant.message": "assistant", "gen_ai.tool.message": "tool",
}

// Names of span events. choiceEvent goes with messageRoles. promptEvent and completionEvent are older: one event has all
// messages. firstTokenEvent is OpenInference's.
const (
	choiceEvent     = "gen_ai.choice"
	promptEvent     = "gen_ai.content.prompt"
	completionEvent = "gen_ai.content.completion"
	evaluationEvent = "gen_ai.evaluation.result"
	exceptionEvent  = "exception"
	firstTokenEvent = "First Token Stream Event"
	toolOutputEvent = "tool.output"
	foundEvent      = "db.query.result" // OpenLLMetry's vector stores have one for each document that was found
	// Azure's clients have the attributes of the same names as events, each with some of the messages.
	inputEvent  = "gen_ai.input.messages"
	outputEvent = "gen_ai.output.messages"
)

// asEventMessages stands in a rule for messageEvents, which run calls for the source "@messages".
var asEventMessages = reader{
	name: "message events", about: "the messages in the span's events, in their order; gen_ai.choice is the answer",
}

// took marks a span event as being in the event, so that otherEvents leaves it out.
func (b *eventBuilder) took(i int) {
	for len(b.taken) <= i {
		b.taken = append(b.taken, false)
	}
	b.taken[i] = true
}

// messageEvents reads the messages in the span's events: of a tool its input and result, otherwise the
// conversation into t and the answer into the outputs. The older form of the prompt is read only if no event has a
// message.
func (b *eventBuilder) messageEvents(t target) {
	list := b.s.src.Events()
	if list.Len() == 0 {
		return
	}
	if b.s.role&onTools != 0 {
		b.toolEvents(list)
		return
	}
	// The conversation, unless attributes had it.
	if !b.filled(t.field) {
		at := len(b.msgs)
		for i := range list.Len() {
			role, ok := messageRoles[list.At(i).Name()]
			if list.At(i).Name() == inputEvent {
				role, ok = "user", true
			}
			if ok && b.eventMessage(list.At(i), role) {
				b.took(i)
			}
		}
		for i := range list.Len() {
			if list.At(i).Name() == promptEvent && len(b.msgs) == at && b.contentEvent(list.At(i), "gen_ai.prompt", "user") {
				b.took(i)
			}
		}
		b.putMessages(t, at)
	}
	// The answer, likewise.
	if b.answered() {
		return
	}
	at := len(b.msgs)
	for i := range list.Len() {
		switch ev := list.At(i); ev.Name() {
		case choiceEvent, outputEvent:
			if b.eventMessage(ev, "assistant") {
				b.took(i)
			}
		case completionEvent:
			if b.contentEvent(ev, "gen_ai.completion", "assistant") {
				b.took(i)
			}
		}
	}
	b.answer(at)
}

// eventMessage appends the message of one span event: its attributes are the message's fields,
// or one attribute holds the whole message. Content may be a list of parts in any shape. role is the one that the
// event's name means; a role among the fields comes first. It returns false, and appends none, for an event without
// content, calls or any other member. An attribute with a list of messages is these; it then returns false if the event has
// more than that.
func (b *eventBuilder) eventMessage(ev ptrace.SpanEvent, role string) bool {
	var m chatMessage
	var result []byte
	listed := false
	for k, v := range ev.Attributes().All() {
		switch k {
		// Either the whole message as an object, or only its text.
		case "message":
			raw := b.eventValue(v)
			if jsonscan.Kind(raw) == '{' && countMembers(raw) == 0 {
				continue // content that is not sent
			}
			if jsonscan.Kind(raw) == '{' &&
				(jsonscan.Member(raw, "role") != nil || jsonscan.Member(raw, "content") != nil || jsonscan.Member(raw, "tool_calls") != nil) {
				m.fields(raw)
				continue
			}
			m.content = b.eventText(v, raw)
		case "content":
			m.content = b.eventText(v, b.eventValue(v))
		case "role":
			m.role = b.eventValue(v)
		case "id":
			m.callID = b.eventValue(v)
		case "name":
			m.name = b.eventValue(v)
		case "tool_calls":
			if raw := b.eventValue(v); jsonscan.Kind(raw) == '[' {
				m.calls = raw
			}
		case "finish_reason":
			m.finish = b.eventValue(v)
		case "tool.result":
			result = b.eventValue(v)
		case contentAttr:
			raw := b.eventValue(v)
			switch {
			case jsonscan.Kind(raw) == '{':
				if in := jsonscan.Member(raw, "message"); jsonscan.Kind(in) == '{' { // a choice
					m.fields(in)
				}
				for c := jsonscan.Members(raw); c.Next(); {
					switch string(c.Key) {
					case "message", "index":
					case "finish_reason":
						m.finish = c.Val
					case "id":
						m.callID = c.Val
					default:
						m.field(c.Key, c.Val)
					}
				}
			case jsonscan.Kind(raw) == '[' && b.readMessages(raw):
				listed = true
			default:
				m.add(quotable(k), raw)
			}
		case "gen_ai.system", "gen_ai.provider.name", "event.name", "index", "gen_ai.message.role":
			// said by the span, by the event's name, by the order and by the message
		default:
			m.add(quotable(k), b.eventValue(v))
		}
	}
	if listed {
		return len(m.extra) == 0
	}
	if jsonscan.Empty(m.content) && jsonscan.Empty(m.calls) && len(m.extra) == 0 {
		return false
	}
	if jsonscan.Kind(m.role) != '"' {
		m.role = []byte(`"` + role + `"`)
	}
	b.addMessage(m)
	// Strands sends a tool's result with the answer that called it.
	if !jsonscan.Empty(result) {
		b.addMessage(chatMessage{role: []byte(`"tool"`), content: result})
	}
	return true
}

// contentEvent appends the messages of the oldest form: one attribute with all of them, as JSON
// or as one text. It reports whether the event has nothing else; if not, the event is also kept.
func (b *eventBuilder) contentEvent(ev ptrace.SpanEvent, key, role string) bool {
	v, ok := ev.Attributes().Get(key)
	if !ok || blank(v) {
		return false
	}
	raw := b.eventValue(v)
	if jsonscan.Kind(raw) != '{' && jsonscan.Kind(raw) != '[' || !b.readMessages(raw) {
		b.msgs = append(b.msgs, chatMessage{role: []byte(`"` + role + `"`), content: b.eventText(v, raw)})
	}
	return ev.Attributes().Len() == 1
}

// toolEvents reads the events of a tool's span: the message to it is its input, the choice its
// result.
func (b *eventBuilder) toolEvents(list ptrace.SpanEventSlice) {
	for i := range list.Len() {
		ev := list.At(i)
		switch ev.Name() {
		case "gen_ai.tool.message":
			if v, ok := ev.Attributes().Get("content"); ok && b.obj[bucketInputs].empty() {
				raw := b.eventValue(v)
				if jsonscan.Kind(raw) == '{' {
					for c := jsonscan.Members(raw); c.Next(); {
						b.member(bucketInputs, keyText(c.Key), c.Val)
					}
				} else {
					b.put(fieldInputValue, raw)
				}
				b.tookTool(i, ev)
			}
		case choiceEvent, toolOutputEvent:
			v, ok := ev.Attributes().Get("message")
			for _, k := range [...]string{"content", "output"} {
				if !ok {
					v, ok = ev.Attributes().Get(k)
				}
			}
			// Only if no attribute had the outputs.
			if ok && b.obj[bucketOutputs].empty() && b.whole == nil {
				raw := b.resultValue(b.eventValue(v))
				if jsonscan.Kind(raw) == '"' {
					if in, ok := b.clean(view(unquoted(raw))); ok {
						switch jsonscan.Kind(in) {
						case '0', 't', 'f', 'n':
						default:
							raw = in // a result that is JSON, in a text part
						}
					}
				}
				b.put(fieldResult, raw)
				b.tookTool(i, ev)
			}
		}
	}
}

// tookTool marks an event of a tool's span as read, if it has nothing but what was read.
func (b *eventBuilder) tookTool(i int, ev ptrace.SpanEvent) {
	for k, v := range ev.Attributes().All() {
		switch k {
		case "content", "message", "output", "role", "gen_ai.system", "gen_ai.provider.name":
		case "id":
			if a := b.s.at(b.attrs, compiled.toolCallID); a == nil || a.str() != v.AsString() {
				return
			}
		default:
			return
		}
	}
	b.took(i)
}

// eventValue returns a value of a span event as JSON; a text that holds a list or an object is that.
func (b *eventBuilder) eventValue(v pcommon.Value) []byte {
	if v.Type() == pcommon.ValueTypeStr {
		if k := jsonscan.Kind(view(v.Str())); k == '[' || k == '{' {
			if raw, ok := b.clean(view(v.Str())); ok {
				return raw
			}
		}
	}
	at := len(b.arena)
	b.arena = b.appendValue(b.arena, v)
	return b.arena[at:len(b.arena):len(b.arena)]
}

// eventText returns what a message's content is of a value: parts if it is a list of such, else the
// text as it came. raw is eventValue of v. A list of anything else, such as [1, 2], was the model's text.
func (b *eventBuilder) eventText(v pcommon.Value, raw []byte) []byte {
	if v.Type() != pcommon.ValueTypeStr || jsonscan.Kind(raw) == '"' {
		return raw
	}
	if jsonscan.Kind(raw) == '[' {
		for c := jsonscan.Elements(raw); c.Next(); {
			if p := scanPart(c.Val); jsonscan.Kind(c.Val) == '{' && (p.kind != partOther || len(p.typ) > 0) {
				return raw
			}
			break
		}
	}
	at := len(b.arena)
	b.arena = b.appendString(b.arena, v.Str())
	return b.arena[at:len(b.arena):len(b.arena)]
}

// spanEvents reads exceptions, evaluations and the first token's time. The last exception of a failed span is taken for
// what ended it: its parts become the event's error and its fields (see failure). All others go to
// metadata.exceptions.
func (b *eventBuilder) spanEvents() {
	b.lastException, b.lastStack = "", ""
	defer func() { b.putArray(fieldEvaluations, b.evaluations) }()
	list := b.s.src.Events()
	if list.Len() == 0 {
		return
	}
	last := -1
	failed := b.s.src.Status().Code() == ptrace.StatusCodeError
	var exceptions, documents []byte
	for i := range list.Len() {
		ev := list.At(i)
		switch ev.Name() {
		case exceptionEvent:
			last = i
		case evaluationEvent:
			if raw := b.evaluation(ev); raw != nil {
				b.evaluations = appendItem(b.evaluations, raw)
				b.took(i)
			}
		// One with attributes is not read, so that these are not lost.
		case firstTokenEvent:
			if start := b.s.src.StartTimestamp(); ev.Attributes().Len() == 0 && ev.Timestamp() >= start && start != 0 &&
				b.put(fieldFirstToken, rawjson.AppendNumber(nil, float64(ev.Timestamp()-start)/nanosPerMilli)) {
				b.took(i)
			}
		case detailsEvent:
			b.took(i)
		case foundEvent:
			if b.s.role&onTools != 0 && !b.filled(fieldDocuments.field) {
				documents = appendItem(documents, b.foundDocument(ev))
				b.took(i)
			}
		}
	}
	b.putArray(fieldDocuments, documents)
	if last < 0 {
		return
	}
	// A second walk, since only now it is known which exception is the last.
	for i := range list.Len() {
		if ev := list.At(i); ev.Name() == exceptionEvent {
			if !failed || i != last || !b.failure(ev) {
				exceptions = appendItem(exceptions, b.exception(ev))
			}
			b.took(i)
		}
	}
	b.putArray(fieldExceptions, exceptions)
}

// foundDocument returns a document that a vector store found, as {id, content, score or distance, metadata, …}.
func (b *eventBuilder) foundDocument(ev ptrace.SpanEvent) []byte {
	var o object
	for k, v := range ev.Attributes().All() {
		key := strings.TrimPrefix(k, foundEvent+".")
		if key == "document" {
			key = "content"
		}
		if name, fresh := o.keys.name(key); fresh {
			o.open(name)
			o.buf = append(o.buf, b.eventValue(v)...)
		}
	}
	if o.buf == nil {
		return []byte("{}")
	}
	return append(o.buf, '}')
}

// appendItem appends an element to an array that has no closing bracket yet; a nil list becomes an array.
func appendItem(list, item []byte) []byte {
	if list == nil {
		list = append(list, '[')
	} else {
		list = append(list, ',')
	}
	return append(list, item...)
}

// putArray closes an array of appendItem and fills a field with it.
func (b *eventBuilder) putArray(t target, list []byte) {
	if list != nil {
		b.put(t, append(list, ']'))
	}
}

// failure takes the exception that ended the span apart: its message is the event's error, its
// type and stack trace have fields of their own. It reports whether that is all of it.
func (b *eventBuilder) failure(ev ptrace.SpanEvent) bool {
	all := true
	for k, v := range ev.Attributes().All() {
		text := ""
		if v.Type() == pcommon.ValueTypeStr {
			text = v.Str()
		}
		switch k {
		case "exception.message":
			b.lastException = text
			all = all && b.inError(text)
		case "exception.type":
			if message, ok := ev.Attributes().Get("exception.message"); ok && message.Type() == pcommon.ValueTypeStr {
				text = wrappedType(text, message.Str())
			}
			all = all && (text == "" || b.putText(fieldErrorType, text) || b.errorType() == text)
		case "exception.stacktrace":
			if text != "" && b.putText(fieldStacktrace, text) {
				b.lastStack = text
			}
		case "exception.escaped":
			all = all && (text == "False" || text == "false" || v.Type() == pcommon.ValueTypeBool && !v.Bool())
		default:
			all = false
		}
	}
	return all
}

// errorType returns metadata.error_type if an attribute named it.
func (b *eventBuilder) errorType() string {
	if from := b.by[fieldErrorType.field]; from > 0 {
		return b.attrs[from-1].str()
	}
	return ""
}

// inError reports whether the event's error will hold the text: errorText, which runs later, takes the first of these.
func (b *eventBuilder) inError(text string) bool {
	own := b.s.text(b.attrs, compiled.lists[errorKeys])
	if own == "" {
		own = b.s.src.Status().Message()
	}
	return own == "" || strings.Contains(own, text)
}

// exception returns an exception as an object: {message, type, stacktrace, …, time}, with the time in milliseconds. An
// attribute whose short name is taken keeps its own, below "attribute.".
func (b *eventBuilder) exception(ev ptrace.SpanEvent) []byte {
	var o object
	o.keys.add("time")
	for k, v := range ev.Attributes().All() {
		name, fresh := o.keys.name(exceptionKey(k))
		if !fresh {
			if name, fresh = o.keys.name("attribute." + k); !fresh {
				continue
			}
		}
		o.open(name)
		o.buf = b.appendValue(o.buf, v)
	}
	o.open("time")
	o.buf = rawjson.AppendNumber(o.buf, millis(uint64(ev.Timestamp())))
	return append(o.buf, '}')
}

// exceptionKey returns the name of an exception's attribute in metadata.exceptions.
func exceptionKey(k string) string {
	switch k {
	case "exception.message", "exception.type", "exception.stacktrace", "exception.escaped":
		return k[len("exception."):]
	}
	return k
}

// evaluation reads the result of an evaluation: its score (or its label) becomes a metric of
// the span that the record sits on, whichever answer it names, so that what an event says does
// not hang on how spans were batched. The record itself is kept.
func (b *eventBuilder) evaluation(ev ptrace.SpanEvent) []byte {
	name := textOf(ev.Attributes(), "gen_ai.evaluation.name")
	if name == "" {
		return nil
	}
	var o object
	var value []byte
	for k, v := range ev.Attributes().All() {
		key := k
		switch k {
		case "gen_ai.evaluation.name":
			key = "name"
		case "gen_ai.evaluation.score.value":
			key = "value"
			value = b.appendValue(nil, v)
		case "gen_ai.evaluation.score.label":
			key = "label"
			if value == nil {
				value = b.appendValue(nil, v)
			}
		case "gen_ai.evaluation.explanation":
			key = "explanation"
		case "gen_ai.response.id":
			key = "response_id"
		}
		if key, fresh := o.keys.name(key); fresh {
			o.open(key)
			o.buf = b.appendValue(o.buf, v)
		}
	}
	// The score goes first; the label is a metric only without one.
	if value != nil {
		b.member(bucketMetrics, name, value)
	}
	return append(o.buf, '}')
}
