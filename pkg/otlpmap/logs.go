package otlpmap

import (
	"encoding/hex"
	"strings"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Logs maps the log records of one request, all of one project, to log parts: contributions to the events of
// their spans. A record may become several parts. A record about AI without a trace or span id is rejected by itself.
// Records that hold nothing about AI are dropped and counted, unless they have a span and Options.PlainLogs
// keeps them. Records that are events of their own are left to Steps.
func (m *Mapper) Logs(ld plog.Logs) (parts []event.LogPart, rejected []Rejection, dropped int) {
	x := m.pool.Get().(*mapState)
	defer func() {
		x.reset()
		m.pool.Put(x)
	}()
	opt := m.opt
	opt.Prices = nil // the span's event knows all that a price depends on
	x.builder.opt, x.builder.x = &opt, x
	r := record{x: x, b: &x.builder}
	mostOfResource, mostOfScope := Shared(ld.LogRecordCount())
	for _, rl := range ld.ResourceLogs().All() {
		res, agents := newResource(rl.Resource(), mostOfResource), AgentSession(rl.Resource())
		for _, sl := range rl.ScopeLogs().All() {
			sc := newScope(sl.Scope(), mostOfScope)
			for _, src := range sl.LogRecords().All() {
				if step, session := stepOf(src, agents); step != nil {
					if step.joins != plainRecord {
						r.open(step.joined(src, session), res, sc)
						r.seq++
						r.read(step.joins)
					}
					continue // see Steps
				}
				known := recordKind(src)
				tid, sid := src.TraceID(), src.SpanID()
				nobodys := tid.IsEmpty() || sid.IsEmpty()
				switch {
				case known == plainRecord && (nobodys || !m.opt.PlainLogs):
					dropped++
				case nobodys:
					rejected = append(rejected, Rejection{hex.EncodeToString(tid[:]), hex.EncodeToString(sid[:]), NoSpan})
				default:
					r.open(src, res, sc)
					r.seq++
					r.read(known)
				}
			}
		}
	}
	return r.notes, rejected, dropped
}

// NoSpan is the reason why a record about a model's work that names no span is rejected.
const NoSpan = "a trace id of 16 bytes and a span id of 8 bytes, not all zero, are required"

// recordIs is what a log record is, which decides how it is read.
type recordIs uint8

const (
	plainRecord      recordIs = iota // holds nothing about AI
	messageRecord                    // one message to a model
	choiceRecord                     // one answer
	detailsRecord                    // attributes that the span could have
	evaluationRecord                 // the result of an evaluation
	exceptionRecord
	otherRecord // of AI, but unknown
)

// recordKinds are the names that are known, in which * stands for any text; docs/otlp-mapping.md prints it.
var recordKinds = []struct {
	name string
	is   recordIs
	does string
}{
	{"gen_ai.system.message", messageRecord, "a message of inputs.chat_history, in order of time"},
	{"gen_ai.user.message", messageRecord, "likewise"},
	{"gen_ai.assistant.message", messageRecord, "likewise"},
	{"gen_ai.tool.message", messageRecord, "likewise; of a tool's event, its inputs"},
	{choiceEvent, choiceRecord, "outputs; further choices outputs.choices, in order of their index; of a tool's event, outputs.result"},
	{detailsEvent, detailsRecord, "its attributes are read as if the span had them"},
	{
		evaluationEvent, evaluationRecord,
		"metrics, and metadata.evaluations, of the event whose metadata.response_id is gen_ai.response.id, " +
			"if its session has one, else of its span's event",
	},
	{exceptionEvent, exceptionRecord, "metadata.exceptions; error, if the span failed without a message"},
	{"gen_ai.*.exception", exceptionRecord, "likewise"},
}

// aiPrefixes begin the names of attributes that only instrumentations of AI write. A record of unknown name with such an
// attribute is about AI.
var aiPrefixes = []string{
	"gen_ai.", "llm.", "ai.", "openinference.", "traceloop.", "gcp.vertex.agent.",
	"langfuse.", "langsmith.", "mlflow.", "lmnr.", "pydantic_ai.",
	"honeyhive.", "honeyhive_",
}

// recordName returns the name of the event that a record is, "" if it is a line of a log. Older SDKs, without the field
// EventName, write an attribute.
func recordName(src plog.LogRecord) string {
	if n := src.EventName(); n != "" {
		return n
	}
	return textOf(src.Attributes(), "event.name")
}

// AboutAI reports whether a record is about a model's work or an exception, and not a line of some
// application's log.
func AboutAI(src plog.LogRecord) bool { return recordKind(src) != plainRecord }

// recordKind decides by its name what a record is, or else by its attributes.
func recordKind(src plog.LogRecord) recordIs {
	name := recordName(src)
	for i := range recordKinds {
		if matches(recordKinds[i].name, name) {
			return recordKinds[i].is
		}
	}
	if strings.HasPrefix(name, "gen_ai.") {
		return otherRecord
	}
	if isStepName(src) && !src.SpanID().IsEmpty() {
		return otherRecord
	}
	is := plainRecord
	for k := range src.Attributes().All() {
		if k == "exception.type" || k == "exception.message" {
			return exceptionRecord
		}
		for _, p := range aiPrefixes {
			if strings.HasPrefix(k, p) {
				is = otherRecord
			}
		}
	}
	return is
}

// record reads one log record after the other. A record is read like a span: its attributes go through the same rules
// and the same builder.
type record struct {
	x *mapState
	b *eventBuilder
	// The log parts of the request so far.
	notes []event.LogPart
	// The number of the current record within the request: it orders records of the same time.
	seq uint32

	src   plog.LogRecord
	name  string
	scope *requestScope
	span  span // what the attribute rules look at: a span with the record's attributes
	// What every part of the current record has: its span, time and session.
	at event.LogPart
}

// open takes up a record. The attributes of the record before it are forgotten. Without a time of its own the record
// has the one at which it was observed.
func (r *record) open(src plog.LogRecord, res *resource, sc *requestScope) {
	r.src, r.name, r.scope = src, recordName(src), sc
	tid, sid := src.TraceID(), src.SpanID()
	r.at = event.LogPart{
		SpanID: EventID(tid, sid), TraceID: uuid.UUID(tid),
		Nanos: uint64(src.Timestamp()), Observed: uint64(src.ObservedTimestamp()), Seq: r.seq,
	}
	if r.at.Nanos == 0 {
		r.at.Nanos = r.at.Observed
	}
	r.x.clearSlots()
	clear(r.x.attrs)
	r.x.attrs = r.x.attrs[:0]
	r.span = span{resource: res, scope: sc, trace: &trace{id: tid}, id: sid}
}

// note adds a part of the record. content is copied.
func (r *record) note(kind event.LogPartKind, content []byte) {
	n := r.at
	n.Kind, n.Content = kind, append([]byte(nil), content...) // the buffers are used again
	r.notes = append(r.notes, n)
}

// head begins what is kept of a record as it is: {name, time}, with the time in milliseconds.
func (r *record) head() (o object) {
	if r.name != "" {
		o.open("name")
		o.buf = r.b.appendString(o.buf, r.name)
	}
	o.open("time")
	o.buf = rawjson.AppendNumber(o.buf, event.NanosToMillis(r.at.Nanos))
	return o
}

// bodyJSON returns a record's body as JSON: a map or a list, also when it came as text; nil for
// anything else.
func (r *record) bodyJSON() []byte {
	body := r.src.Body()
	switch body.Type() {
	case pcommon.ValueTypeMap, pcommon.ValueTypeSlice:
		return r.b.appendValue(nil, body)
	case pcommon.ValueTypeStr:
		if k := jsonscan.Kind(view(body.Str())); k == '{' || k == '[' {
			if raw, ok := r.b.clean(view(body.Str())); ok {
				return raw
			}
		}
	}
	return nil
}
