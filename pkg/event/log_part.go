package event

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
)

// LogPartKind is what a log part adds to its event. The numbers are stored: never renumber.
type LogPartKind uint8

// The kinds of log parts, and the JSON of their contents.
const (
	// LogInput: [{role, content, …}], messages of the conversation so far.
	LogInput LogPartKind = 1 + iota
	// LogOutput: {index, messages: [{role, content, tool_calls, finish_reason, …}]}, one of
	// the answers.
	LogOutput
	// LogFields: {name, config: {}, inputs: {}, outputs, metadata: {}, metrics: {},
	// feedback: {}, user_properties: {}, attributes: {}}, fields ready to be filled in; what
	// is under attributes belongs to no field.
	LogFields
	// LogEvaluation: {name, value, label, explanation, …}, the result of an evaluation.
	LogEvaluation
	// LogException: {type, message, stacktrace, …}.
	LogException
	// LogRecord: {name, time, …}, a record that is kept as it is.
	LogRecord
)

// LogPart is what one log record contributes to the event of a span. Log parts arrive before or
// after their event, in any order and more than once; what the event becomes depends only on the
// set of them. See MergeLogs.
type LogPart struct {
	Kind LogPartKind
	// SpanID is the event id that follows from the trace and span id of the record; the event
	// itself may have got another one from its sender.
	SpanID  uuid.UUID
	TraceID uuid.UUID
	// Session is the session that the record names, zero if none.
	Session uuid.UUID
	// ResponseID, of an evaluation, names the answer that was evaluated: the log part belongs to
	// the event with this metadata.response_id, if the session has one.
	ResponseID string
	// Nanos is when it happened and Observed when it was observed, Unix nanoseconds; Seq is its
	// place in its request. Together they order log parts.
	Nanos, Observed uint64
	Seq             uint32
	Content         json.RawMessage
}

// MaxLogParts is how many log parts are merged into one event, the earliest first, as long as they have at most MaxLogBytes; an
// event must stay readable.
const MaxLogParts = 10_000

// ordered returns the log parts in order of time, without repeats. Those of the same time are
// ordered by when they were observed, by their place in the request, by kind and by content, so
// that the order of arrival does not matter.
func ordered(parts []LogPart) []LogPart {
	list := slices.Clone(parts)
	slices.SortFunc(list, func(a, b LogPart) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Nanos, b.Nanos), cmp.Compare(a.Observed, b.Observed),
			bytes.Compare(a.Content, b.Content), cmp.Compare(b.Seq, a.Seq))
	})
	list = slices.CompactFunc(list, func(a, b LogPart) bool {
		return a.Kind == b.Kind && a.Nanos == b.Nanos && a.Observed == b.Observed && bytes.Equal(a.Content, b.Content)
	})
	slices.SortStableFunc(list, func(a, b LogPart) int {
		return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), cmp.Compare(a.Observed, b.Observed), cmp.Compare(a.Seq, b.Seq),
			cmp.Compare(roleRank(&a), roleRank(&b)))
	})
	list = list[:min(len(list), MaxLogParts)]
	left := MaxLogBytes
	for i := range list {
		if left -= len(list[i].Content); left < 0 {
			return list[:i]
		}
	}
	return list
}

// roleRank orders messages of the same time by their roles, as in a conversation.
func roleRank(n *LogPart) int {
	if n.Kind != LogInput {
		return len(roleOrder)
	}
	for i, role := range roleOrder {
		if bytes.Contains(n.Content[:min(len(n.Content), roleWindow)], role) {
			return i
		}
	}
	return len(roleOrder)
}

// roleWindow is how far into its text the role of a message is looked for: it comes first.
const roleWindow = 32

var roleOrder = [][]byte{
	[]byte(`"role":"system"`), []byte(`"role":"developer"`), []byte(`"role":"user"`), []byte(`"role":"assistant"`), []byte(`"role":"tool"`),
}
