package event

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
)

// NoteKind says what a note adds to its event. The numbers are stored: never renumber.
type NoteKind uint8

// The kinds of notes, and the JSON of their contents.
const (
	// NoteInput: [{role, content, …}], messages of the conversation so far.
	NoteInput NoteKind = 1 + iota
	// NoteOutput: {index, messages: [{role, content, tool_calls, finish_reason, …}]}, one of
	// the answers.
	NoteOutput
	// NoteFields: {name, config: {}, inputs: {}, outputs, metadata: {}, metrics: {},
	// feedback: {}, user_properties: {}, attributes: {}}, fields ready to be filled in; what
	// is under attributes belongs to none.
	NoteFields
	// NoteEvaluation: {name, value, label, explanation, …}, the result of an evaluation.
	NoteEvaluation
	// NoteException: {type, message, stacktrace, …}.
	NoteException
	// NoteLog: {name, time, …}, a record that is kept as it is.
	NoteLog
)

// Note is what one log record says of the event of a span. Notes come before or after their
// event, in any order and more than once; what the event becomes depends only on the set of
// them. See Annotate.
type Note struct {
	Kind NoteKind
	// SpanID is the event id that follows from the trace and span id of the record; the event
	// itself may have got another one from its sender.
	SpanID  uuid.UUID
	TraceID uuid.UUID
	// Session is the session that the record names, zero if none.
	Session uuid.UUID
	// ResponseID, of an evaluation, names the answer that was evaluated: the note belongs to
	// the event with this metadata.response_id, if the session has one.
	ResponseID string
	// Nanos is when it happened and Observed when it was noticed, Unix nanoseconds; Seq is its
	// place in its request. Together they order notes.
	Nanos, Observed uint64
	Seq             uint32
	Content         json.RawMessage
}

// MaxNotes is how many notes of one event are composed, in order of time; what an event holds
// must stay readable.
const MaxNotes = 10_000

// ordered gives the notes without repeats, in their order. Notes of one time are ordered by
// when they were noticed, by their place in the request, by kind and by content, so that the
// order of arrival says nothing.
func ordered(notes []Note) []Note {
	list := slices.Clone(notes)
	slices.SortFunc(list, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Nanos, b.Nanos), cmp.Compare(a.Observed, b.Observed),
			bytes.Compare(a.Content, b.Content), cmp.Compare(b.Seq, a.Seq))
	})
	list = slices.CompactFunc(list, func(a, b Note) bool {
		return a.Kind == b.Kind && a.Nanos == b.Nanos && a.Observed == b.Observed && bytes.Equal(a.Content, b.Content)
	})
	slices.SortStableFunc(list, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), cmp.Compare(a.Observed, b.Observed), cmp.Compare(a.Seq, b.Seq),
			cmp.Compare(roleRank(&a), roleRank(&b)))
	})
	return list[:min(len(list), MaxNotes)]
}

// roleRank orders messages of one instant as conversations go.
func roleRank(n *Note) int {
	if n.Kind != NoteInput {
		return len(roleOrder)
	}
	for i, role := range roleOrder {
		if bytes.Contains(n.Content[:min(len(n.Content), roleWindow)], role) {
			return i
		}
	}
	return len(roleOrder)
}

// roleWindow is how far into its text the role of a message is looked for: it stands first.
const roleWindow = 32

var roleOrder = [][]byte{[]byte(`"role":"system"`), []byte(`"role":"developer"`), []byte(`"role":"user"`), []byte(`"role":"assistant"`), []byte(`"role":"tool"`)}
