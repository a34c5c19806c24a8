package events

import (
	"math"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sessiontree"
)

// Flags that are kept in the spill column together with the spill bits; those about trees are in
// sessiontree (bits 10, 11, 14, 15 and 16).
const (
	flagUnfinished = 1 << 8  // a copy of a span that has not ended
	flagOutputsSet = 1 << 9  // an update has given the outputs
	flagFixed      = 1 << 12 // its session is its own, not that of its trace
	flagNamed      = 1 << 13 // its span names a session itself
	flagDuration   = 1 << 17 // somebody has given the duration
	flagInputs     = 1 << 18 // it has inputs
	flagOutputs    = 1 << 19 // it has outputs
	flagRootError  = 1 << 20 // a session event whose error is that of its first failed root
	flagExpired    = 1 << 21 // its payload was removed by a rule of retention; the triggers of segment_stale go by it as well
	flagNoConfig   = 1 << 22 // it has no configuration; not set for one that was stored before this flag was
	flagEnd        = 1 << 23 // a session event whose end an update has given
)

// head is one row of table event, and what the writer needs to know of the event besides.
type head struct {
	ev           *event.Event
	in           *event.Incoming // what ev came as; nil for a row that is read or changed
	project      int64
	day          int32
	sid          int64 // SQLite's number of the session, set in the writer
	session      uuid.UUID
	parent       uuid.UUID // zero: the session
	spill        int
	runID        string
	userID       string
	trace        int64  // 0: no span
	duplicateKey []byte // see DuplicateKey
	totals       totals
	rev          int
	// responseID is the id of a model's answer, which evaluations may name.
	responseID string
	datasetID  string
	target     string // the event that an event of a judge's session is about
	shape      uint64 // see shapeOf; set of events that come, not of those that are read

	chunk *record.Chunk // nil: no payload
	off   int
	// config is the configuration in the chunk.
	config []byte
	known  bool // the id may be stored already; its payload is not in a chunk yet
	waited bool // updates had waited for it, and were applied with it
	// priced is set if the store computed the cost of a new event, and totalled if it computed the total of its tokens.
	priced, totalled bool
}

// spanID returns the id that follows from the event's span, zero if that is the event's own.
func (h *head) spanID() uuid.UUID {
	if h.in == nil {
		return uuid.Nil
	}
	return h.in.SpanID
}

// traceID returns the id of the trace that the event came with, zero if it did not come as a span or is read.
func (h *head) traceID() uuid.UUID {
	if h.in == nil {
		return uuid.Nil
	}
	return h.in.TraceID
}

// derive sets what follows from the event.
func (h *head) derive() {
	e := h.ev
	h.day = dayOf(e.Start)
	h.parent = e.ParentID
	// NULL stands for the session, so that its roots are found by an index and follow it when it moves.
	if e.ParentID == e.SessionID {
		h.parent = uuid.Nil
	}
	h.spill = record.SpillOf(e) | flagsOf(e)
	if h.in != nil {
		h.trace = sessiontree.TraceHash(h.in.TraceID)
	}
	h.runID, h.userID, h.responseID, h.datasetID, h.target = "", "", "", "", ""
	if u, ok := rawjson.Text(rawjson.Get(e.UserProperties, "user_id")); ok {
		h.userID = indexed(u)
	}
	h.totals = totals{}
	h.totals.n = 1
	if e.Type == event.TypeTool {
		h.totals.tools = 1
	}
	if e.Unfinished {
		h.totals.unfinished = 1
	}
	if e.IsSession() {
		// A session event is not one of the session's events. Its totals are only added when it is read, so a
		// filter on its metadata cannot be decided by the row (SpillRollup).
		h.totals.n = 0
		h.spill |= query.SpillRollup
	}
	// An error that the session event has from a root is counted with that root.
	if e.Error != nil && *e.Error != "" && !e.DerivedError {
		h.totals.errors = 1
	}
	// Inputs and outputs are always in the payload. These two flags tell without reading it which step can show
	// something for a session event that has none of its own (stepWith).
	if !rawjson.Empty(e.Inputs) {
		h.spill |= flagInputs
	}
	if !rawjson.Empty(e.Outputs) {
		h.spill |= flagOutputs
	}
	h.spill |= configFlag(e)
	if !rawjson.Empty(e.Feedback) {
		h.totals.feedback = 1
	}
	model := e.Type == event.TypeModel
	// A wrapper came as a model call and was made a chain. It still counts as a call: the tree of a session with
	// fewer than two calls is never read, so the count must be of what senders reported.
	if model || e.Wrapper {
		h.totals.calls = 1
		if h.trace != 0 {
			h.spill |= contentFlag(e.Content())
		}
	}
	h.scanMetadata(model)
}

// scanMetadata reads the promoted members of metadata in one pass.
func (h *head) scanMetadata(model bool) {
	var in, out, prompt, completion, total, cost float64
	var hasTotal, hasCost, duplicate bool
	for k, v := range rawjson.Object(h.ev.Metadata) {
		switch k {
		case "run_id":
			h.runID, _ = rawjson.Text(v)
			// As the run's own id is stored: senders write UUIDs in either case, and the column is compared as text.
			h.runID = indexed(run.FoldID(h.runID))
		case "prompt_tokens":
			prompt, _ = rawjson.Number(v)
		case "completion_tokens":
			completion, _ = rawjson.Number(v)
		case "input_tokens":
			in, _ = rawjson.Number(v)
		case "output_tokens":
			out, _ = rawjson.Number(v)
		case "total_tokens":
			total, hasTotal = rawjson.Number(v)
		case "cost":
			cost, hasCost = rawjson.Number(v)
		case "response_id":
			h.responseID, _ = rawjson.Text(v)
		case "dataset_id":
			h.datasetID, _ = rawjson.Text(v)
		// Only a judge's record is tied to the event that it is about, and deleted with it. Anybody may send the key.
		case "target_event_id":
			if h.ev.Source == evaluation.Source {
				h.target, _ = rawjson.Text(v)
				h.target = indexed(h.target)
			}
		case event.DuplicateKey:
			duplicate = !rawjson.Null(v)
		}
	}
	// After the loop, since the key is made of the response id.
	if h.duplicateKey = nil; h.trace != 0 {
		h.duplicateKey = sessiontree.DuplicateKey(h.ev, h.trace, h.responseID)
	}
	if !model || duplicate {
		return // only model events count, and of those that report one call only one
	}
	// Newer senders name tokens input and output, older ones prompt and completion.
	h.totals.models = 1
	if prompt == 0 {
		prompt = in
	}
	if completion == 0 {
		completion = out
	}
	// A total that was sent counts, also if it differs from the sum: providers count tokens that are neither.
	if !hasTotal {
		total = prompt + completion
	}
	h.totals.prompt, h.totals.completion, h.totals.total = bounded(prompt), bounded(completion), bounded(total)
	if hasCost {
		// A cost of 0 that was sent is a cost, unlike one that is not there.
		h.totals.cost, h.totals.costs = bounded(cost), 1
	}
}

// indexed returns a text as it stands in a column with an index: "" for one that is too long. Such a user or run is found by filters alone, as
// any other member.
func indexed(text string) string {
	if len(text) > query.MaxIndexed {
		return ""
	}
	return text
}

// maxCounted is what one event adds at most to a sum of tokens or cost of its session: far more than any
// call has, and little enough that no sum of them overflows, and thousands of them add up exactly.
const maxCounted = 1e12

// bounded is v as it counts in a session's totals.
func bounded(v float64) float64 { return min(max(v, -maxCounted), maxCounted) }

// inHead returns a JSON field as it stands in the head row: nil where it is absent or in the payload. bit is the field's in
// the spill column.
func (h *head) inHead(bit int, raw []byte) []byte {
	if h.spill&bit != 0 || len(raw) == 0 {
		return nil
	}
	return raw
}

// errorText returns the error as it stands in the head row: nil where there is none, or it is in the payload.
func (h *head) errorText() *string {
	if h.spill&query.SpillError != 0 {
		return nil
	}
	return h.ev.Error
}

// dayMillis is the length of a day.
const dayMillis = 86_400_000

// dayOf returns the day (UTC) of a time in Unix milliseconds, counted from 1970.
func dayOf(ms float64) int32 { return int32(math.Floor(ms / dayMillis)) }

// flagsOf returns the flags of the spill column that follow from the event.
func flagsOf(e *event.Event) (flags int) {
	if e.Unfinished {
		flags |= flagUnfinished
	}
	if e.DurationGiven {
		flags |= flagDuration
	}
	if e.EndGiven {
		flags |= flagEnd
	}
	if e.OutputsSet {
		flags |= flagOutputsSet
	}
	if e.Wrapper {
		flags |= sessiontree.FlagWrapper
	}
	if e.Duplicate {
		flags |= sessiontree.FlagDuplicate
	}
	if e.Filled {
		flags |= sessiontree.FlagFilled
	}
	if e.DerivedError {
		flags |= flagRootError
	}
	if e.Named {
		flags |= flagNamed
	}
	if e.Fixed {
		flags |= flagFixed
	}
	if e.PayloadExpired && !hasPayload(e) {
		flags |= flagExpired
	}
	return flags
}

// hasPayload reports whether an event has anything that a rule of retention removes as its payload.
func hasPayload(e *event.Event) bool {
	return len(e.Inputs)+len(e.Outputs)+len(e.Config)+len(e.ColdMetadata) > 0
}

// contentFlag returns the flag of the spill column for the content of a model call.
func contentFlag(c event.Content) int {
	switch c {
	case event.Messages:
		return sessiontree.FlagMessages
	case event.ToolsOnly:
		return sessiontree.FlagTools
	}
	return 0
}

// asHead returns the row of a stored event as it follows from the event.
func (r *Stored) asHead() *head {
	h := &head{ev: &r.Event, project: r.project, session: r.SessionID, trace: r.trace}
	h.derive()
	return h
}

// headOf returns the row of an event that the writer creates or changes, with its own chunk.
func headOf(e *event.Event, project int64) (*head, *record.Chunk) {
	g := &eventGroup{project: project}
	h := &head{ev: e, project: project, session: e.SessionID}
	g.heads = []*head{h}
	h.derive()
	g.addPayload(h)
	if len(g.chunks) == 0 {
		return h, nil
	}
	c := g.chunks[0]
	c.Compress()
	return h, c
}
