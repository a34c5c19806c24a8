package otlpmap

import (
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// botocoreScope begins the names of the scopes of OpenTelemetry's instrumentation of AWS's SDK for Python.
const botocoreScope = "opentelemetry.instrumentation.botocore"

// contentAttr holds the body of a record as JSON, in some instrumentations.
const contentAttr = "gen_ai.event.content"

// read turns the record that was opened into log parts:
//
//  1. It builds a span and a span event in the record's place, and puts the record's attributes into them: of a
//     message its members into the event and the others into the span; those of details and of unknown records all
//     into the span; those of any other record all into the event.
//  2. It collects the span's attributes, so that the rules can read them, and finds the session that they name.
//  3. It reads the record by its kind. Plain and unknown records, and those that cannot be read as what their name
//     says, are kept as they are (see log).
//
// Characters that no store can hold are counted from the body on, so the count is carried over reset.
func (r *record) read(is recordIs) {
	b := r.b
	src := ptrace.NewSpan()
	r.span.src = src
	b.losses.replaced = 0
	body := r.bodyJSON()
	ev := ptrace.NewSpanEvent()
	ev.SetName(r.name)
	ev.SetTimestamp(pcommon.Timestamp(r.at.Nanos))
	// fromAttr: the body was in contentAttr. inBody: the body has something that no attribute has.
	fromAttr, inBody := false, false
	if body == nil && blank(r.src.Body()) {
		// Without a body the content may be in an attribute.
		if text := textOf(r.src.Attributes(), contentAttr); text != "" {
			if raw, ok := b.clean(view(text)); ok && (jsonscan.Kind(raw) == '{' || jsonscan.Kind(raw) == '[') {
				body, fromAttr = raw, true
			}
		}
	}
	var rest pcommon.Map
	switch is {
	case messageRecord, choiceRecord:
		// All are copied at once, since to put in one looks at all that are there.
		rest = src.Attributes()
		r.src.Attributes().CopyTo(rest)
		rest.RemoveIf(func(k string, v pcommon.Value) bool {
			if messageMembers[k] {
				v.CopyTo(ev.Attributes().PutEmpty(k))
				return true
			}
			return toldElsewhere[k] || k == contentAttr && fromAttr
		})
	case detailsRecord, otherRecord:
		r.src.Attributes().CopyTo(src.Attributes())
		if is == detailsRecord && r.src.Body().Type() == pcommon.ValueTypeMap && r.src.Body().Map().Len() <= maxBodyMembers {
			for k, v := range r.src.Body().Map().All() {
				if _, twice := src.Attributes().Get(k); twice || !strings.HasPrefix(k, "gen_ai.") {
					inBody = true
				} else {
					v.CopyTo(src.Attributes().PutEmpty(k))
				}
			}
		} else {
			inBody = !blank(r.src.Body())
		}
	default:
		r.src.Attributes().CopyTo(ev.Attributes())
	}
	replaced := b.losses.replaced
	r.x.collectAttrs(&r.span, b.opt)
	attrs := r.x.attrsOf(&r.span)
	r.span.role, r.span.typ, r.span.wraps = onModel, event.TypeModel, false
	// A record is about a model call, unless details name another operation.
	if is == detailsRecord {
		if role := roleOf(&r.span, attrs); role != 0 {
			r.span.role, r.span.typ, r.span.wraps = role, role.typed(), role == onChain
		}
	}
	b.reset(&r.span)
	b.losses.replaced = replaced
	// Plain records and exceptions come from any library: their session.id may be a browser's session.
	if is != plainRecord && is != exceptionRecord {
		if _, key := r.span.firstSession(attrs, compiled.lists[sessionKeys]); key != "" {
			r.at.Session = SessionID(key)
		} else if key := sessionOf(r.src.Attributes()); key != "" {
			r.at.Session = SessionID(key)
		}
	}
	switch is {
	case messageRecord, choiceRecord:
		r.message(ev, body, is == choiceRecord)
		if rest.Len() > 0 {
			r.fields()
		}
	case detailsRecord:
		r.fields()
		if inBody {
			r.log(false)
		}
	case evaluationRecord:
		r.evaluation(ev)
	case exceptionRecord:
		r.exception(ev)
	default:
		r.log(true)
	}
}

// toldElsewhere are attributes that a record's name and its span tell.
var toldElsewhere = map[string]bool{"event.name": true, "event.domain": true, "gen_ai.system": true, "gen_ai.provider.name": true}

// maxBodyMembers bounds the members of a body that are read as those of a message or of details; records with more are kept as they are.
const maxBodyMembers = 1000

// messageMembers are the members of a message that a record may have as attributes.
var messageMembers = map[string]bool{
	"content": true, "role": true, "id": true, "name": true, "tool_calls": true, "finish_reason": true, "index": true, "message": true,
}

// sessionOf returns the session that a record names by an attribute that no rule has looked at.
func sessionOf(m pcommon.Map) string {
	for _, name := range keyLists[sessionKeys] {
		if v, ok := m.Get(name); ok && nameOf(v) != "" {
			return nameOf(v)
		}
	}
	return ""
}

// message reads one message, whose members are those of the body. A body that is a text is the
// content. An answer becomes an output with the index of its choice, any other message an input. A record that
// holds no message is kept as it is, but an answer without content (which SDKs leave out on demand) still
// has its reason to stop.
func (r *record) message(ev ptrace.SpanEvent, body []byte, answer bool) {
	b := r.b
	index := 0
	// Botocore's instrumentation sends a tool's result twice: as a message of the tool, and with more about it, in the
	// message of the user that follows.
	if r.name == "gen_ai.tool.message" && strings.HasPrefix(r.scope.name, botocoreScope) && jsonscan.Member(body, "content") != nil {
		return
	}
	if jsonscan.Kind(body) == '{' && countMembers(body) > maxBodyMembers {
		r.log(true)
		return
	}
	// The members of the body become attributes of the span event, so that one reader serves both: eventMessage.
	switch jsonscan.Kind(body) {
	case '{':
		for c := jsonscan.Members(body); c.Next(); {
			key := keyText(c.Key)
			if key == "index" {
				index, _ = strconv.Atoi(string(c.Val))
				continue
			}
			text := string(c.Val)
			if jsonscan.Kind(c.Val) == '"' {
				text = r.b.valid(unquoted(c.Val))
			} else if jsonscan.Kind(c.Val) == 'n' {
				continue
			}
			ev.Attributes().PutStr(key, r.cut(text))
		}
	case '[':
		ev.Attributes().PutStr("content", string(body))
	default:
		if v := r.src.Body(); !blank(v) {
			ev.Attributes().PutStr("content", r.cut(v.AsString()))
		}
	}
	role := "assistant"
	if !answer {
		role = messageRoles[r.name]
	}
	at := len(b.msgs)
	content := []byte(nil)
	if jsonscan.Kind(body) == '{' {
		content = jsonscan.Member(body, "content")
	}
	switch {
	case jsonscan.Kind(content) == '{' && jsonscan.Kind(jsonscan.Member(content, "parts")) == '[' && b.geminiContent(content, ""):
		if f := jsonscan.Member(body, "finish_reason"); answer && jsonscan.Kind(f) == '"' && len(b.msgs) > at {
			b.msgs[len(b.msgs)-1].finish = f
		}
	case b.eventMessage(ev, role):
	default:
		if f, ok := ev.Attributes().Get("finish_reason"); answer && ok { // an answer whose content is not sent
			b.msgs = append(b.msgs, chatMessage{role: []byte(`"assistant"`), finish: b.eventValue(f)})
		} else {
			r.log(true)
			return
		}
	}
	// One record may be several messages: a content with results of tools.
	list := b.msgs[at:]
	for i := range list {
		if jsonscan.Kind(list[i].finish) == '"' {
			list[i].finish, list[i].raw = b.plainReason(list[i].finish), nil
		}
	}
	// The messages become a log part, and are not placed in the builder's event.
	raw := b.appendMessages(nil, list)
	b.msgs = b.msgs[:at]
	if answer {
		// The store puts the choices in the order of their indexes.
		raw = append(append(strconv.AppendInt([]byte(`{"index":`), int64(index), 10), `,"messages":`...), append(raw, '}')...)
		r.note(event.LogOutput, raw)
	} else {
		r.note(event.LogInput, raw)
	}
	r.marks()
}

// cut bounds a text to MaxFieldBytes, and notes what it was.
func (r *record) cut(text string) string {
	if limit := r.b.opt.MaxFieldBytes; limit >= 0 && len(text) > limit {
		r.b.losses.cuts = append(r.b.losses.cuts, cutOff{r.name, len(text)})
		return rawjson.Prefix(text, limit)
	}
	return text
}

// marks adds a part with what was done to the values of the record: texts that were cut and characters that were
// replaced. The counts start anew then.
func (r *record) marks() {
	if len(r.b.losses.cuts) == 0 && r.b.losses.replaced == 0 {
		return
	}
	var o object
	if len(r.b.losses.cuts) > 0 {
		var cuts object
		for _, c := range r.b.losses.cuts {
			if cuts.keys.add(c.key) {
				cuts.int(c.key, int64(c.bytes))
			}
		}
		o.raw("truncated", append(cuts.buf, '}'))
	}
	if r.b.losses.replaced > 0 {
		o.int("replaced_characters", int64(r.b.losses.replaced))
	}
	var content object
	content.str("name", r.name)
	content.raw("metadata", append(o.buf, '}'))
	r.note(event.LogFields, append(content.buf, '}'))
	r.b.losses.cuts, r.b.losses.replaced = r.b.losses.cuts[:0], 0
}

// fields reads the record's attributes as those of a span, and adds a part with the objects that came of them:
// {name, config, inputs, outputs, metadata, …}. The attributes whose names metadata
// has already are a member of their own there: they stay with the record, in metadata.logs of the event.
func (r *record) fields() {
	b := r.b
	replaced := b.losses.replaced
	b.reset(&r.span)
	b.losses.replaced = replaced
	b.run()
	b.answerRole()
	b.usage()
	// What only says whose the record is, or that it is one, is not worth keeping.
	for _, list := range [...][]slot{compiled.lists[unusedKeys], compiled.lists[projectKeys]} {
		for _, i := range list {
			if a := r.span.at(b.attrs, i); a != nil {
				a.used = true
			}
		}
	}
	for i := range b.attrs {
		if a := &b.attrs[i]; a.key == "event.name" || a.key == "event.domain" {
			a.used = true
		}
	}
	if r.at.Session != [16]byte{} {
		if _, key := r.span.firstSession(b.attrs, compiled.lists[sessionKeys]); key != "" {
			b.markText(compiled.lists[sessionKeys], key)
		}
	}
	b.dropRedundant()
	b.unmapped()
	var e event.Event
	b.finish(&e)
	var o rawjson.Builder
	o.String("name", b.valid(r.name))
	// The two halves of metadata are one object in a log part; whoever merges it divides them again.
	metadata := rawjson.Concat(e.Metadata, e.ColdMetadata)
	attributes := rawjson.Get(metadata, "attributes") // those whose names metadata has
	if attributes != nil {
		var kept rawjson.Builder
		for k, v := range rawjson.Object(metadata) {
			if k != "attributes" {
				kept.Raw(k, v)
			}
		}
		metadata = kept.Bytes()
	}
	n := o.Len()
	for _, f := range []struct {
		key string
		raw []byte
	}{
		{"config", e.Config}, {"inputs", e.Inputs}, {"outputs", e.Outputs}, {"metadata", metadata}, {"metrics", e.Metrics},
		{"feedback", e.Feedback}, {"user_properties", e.UserProperties}, {"attributes", attributes},
	} {
		if len(f.raw) > 0 {
			o.Raw(f.key, f.raw)
		}
	}
	if o.Len() > n {
		r.note(event.LogFields, o.Bytes())
	}
}

// evaluation reads the result of an evaluation. Only this part has the id of the answer that was evaluated: the store
// looks for the event with that answer. One without a name is kept as a plain record.
func (r *record) evaluation(ev ptrace.SpanEvent) {
	ev.Attributes().Remove("event.name")
	r.at.ResponseID = storable(textOf(ev.Attributes(), "gen_ai.response.id"))
	raw := r.b.evaluation(ev)
	if raw == nil {
		r.at.ResponseID = ""
		r.log(true)
		return
	}
	if !blank(r.src.Body()) {
		if text := r.b.appendValue(nil, r.src.Body()); string(text) != "{}" {
			raw = append(append(append(raw[:len(raw)-1], `,"body":`...), text...), '}')
		}
	}
	r.note(event.LogEvaluation, raw)
	r.at.ResponseID = ""
}

// exception reads an exception. What else the record holds is kept with it.
func (r *record) exception(ev ptrace.SpanEvent) {
	ev.Attributes().Remove("event.name")
	raw := r.b.exception(ev)
	if body := r.src.Body(); !blank(body) &&
		!(body.Type() == pcommon.ValueTypeStr && body.Str() == textOf(ev.Attributes(), "exception.message")) {
		if text := r.b.appendValue(nil, body); string(text) != "{}" {
			raw = append(append(append(raw[:len(raw)-1], `,"body":`...), text...), '}')
		}
	}
	r.note(event.LogException, raw)
}

// log keeps the record as it is: {name, time, severity, body, attributes, scope}. Its attributes
// are left out where they have found another place.
func (r *record) log(attributes bool) {
	o := r.head()
	// The sender's own word, or else the name of the number.
	if s := r.src.SeverityText(); s != "" {
		o.open("severity")
		o.buf = r.b.appendString(o.buf, s)
	} else if n := r.src.SeverityNumber(); n != plog.SeverityNumberUnspecified {
		o.str("severity", n.String())
	}
	if v := r.bounded(r.src.Body()); !blank(v) && !(v.Type() == pcommon.ValueTypeMap && v.Map().Len() == 0) {
		o.open("body")
		o.buf = r.b.appendValue(o.buf, v)
	}
	if m := r.src.Attributes(); attributes && m.Len() > 0 {
		all := pcommon.NewMap()
		m.CopyTo(all)
		all.RemoveIf(func(k string, v pcommon.Value) bool {
			if short := r.bounded(v); short != v {
				short.CopyTo(v)
			}
			return k == "event.name"
		})
		if all.Len() > 0 {
			o.open("attributes")
			o.buf = r.b.appendMap(o.buf, all, 0)
		}
	}
	if n := r.src.DroppedAttributesCount(); n > 0 {
		o.int("dropped_attributes_count", int64(n))
	}
	if r.scope.name != "" {
		o.open("scope")
		o.buf = r.b.appendString(o.buf, r.scope.name)
	}
	r.note(event.LogRecord, append(o.buf, '}'))
	r.marks()
}

// bounded returns a value whose text is cut, if it is too long.
func (r *record) bounded(v pcommon.Value) pcommon.Value {
	if limit := r.b.opt.MaxFieldBytes; limit >= 0 && v.Type() == pcommon.ValueTypeStr && len(v.Str()) > limit {
		return pcommon.NewValueStr(r.cut(v.Str()))
	}
	return v
}
