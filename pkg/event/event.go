// Package event is what an event and a session are: fields, defaults, validity, how an update
// and a repeated create change a stored event, and how events form a tree. It does no I/O and
// knows no encoding but the JSON text inside the fields.
package event

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Type is the kind of step.
type Type string

// The types. A session event is the root of its session.
const (
	TypeModel   Type = "model"
	TypeTool    Type = "tool"
	TypeChain   Type = "chain"
	TypeSession Type = "session"
	TypeGeneric Type = "generic"
)

// Valid reports whether t is one of the five types.
func (t Type) Valid() bool {
	switch t {
	case TypeModel, TypeTool, TypeChain, TypeSession, TypeGeneric:
		return true
	}
	return false
}

// Unknown is the name and the source of an event that was given none.
const Unknown = "unknown"

// Bounds of times and durations, in milliseconds: the year 1970 to the end of 9999.
const (
	MinMillis = 0
	MaxMillis = 253402300799999
)

// Event is one recorded step of an application's run.
//
// The JSON fields hold JSON text as it came, digit for digit; nil means absent, which reads as
// {} ([] for ChildrenIDs). All but Outputs are objects.
type Event struct {
	ID        uuid.UUID
	SessionID uuid.UUID
	// ParentID equals SessionID for a step directly below the session, and is zero for the
	// session event itself, whose ID equals SessionID.
	ParentID uuid.UUID
	Type     Type
	Name     string
	Source   string
	Error    *string // nil: none

	Start    float64 // Unix time in milliseconds, fractions kept
	End      float64 // likewise
	Duration float64 // milliseconds

	ChildrenIDs    json.RawMessage // array of strings
	Config         json.RawMessage
	Inputs         json.RawMessage
	Outputs        json.RawMessage // any JSON value
	Metadata       json.RawMessage
	Metrics        json.RawMessage
	Feedback       json.RawMessage
	UserProperties json.RawMessage

	// ColdMetadata holds further members of Metadata, none of whose keys Metadata has, that
	// are large and seldom filtered on, such as the span's leftover attributes. They are
	// stored with the payload; readers get them joined to Metadata and see nil here.
	ColdMetadata json.RawMessage

	// Totals are the members of a session event's Metadata that a reader added: they are
	// counted over the session's events. Empty on any other event, and never written.
	Totals json.RawMessage
	// DerivedDuration is set on a session event that a reader returned if its Duration follows from its
	// events: the session is implicit, or was given no end. Never written.
	DerivedDuration bool

	// The rest is about how the event is stored. It is kept with the event and read back, because a later write
	// to the same event depends on it. What steers one write alone is in Incoming.

	// Unfinished marks a copy of a span that has not ended; the finished one replaces it.
	Unfinished bool
	// Fixed is set if the event's session holds for this event alone, whatever the session of its trace.
	Fixed bool
	// Named is set if the event's span names a session itself, and does not only inherit its trace's.
	Named bool
	// OutputsSet is set if an update has given Outputs, which log parts then leave alone.
	OutputsSet bool
	// DurationGiven is set if somebody gave Duration, which then stays when End changes.
	DurationGiven bool
	// EndGiven is set on a session event if an update has given End, which then no longer follows the session's events.
	EndGiven bool
	// Wrapper, Duplicate and Filled are set on an event that is corrected (Correct): its sender reported it as
	// a model call, the store marked it as a duplicate, and it holds what others know.
	Wrapper, Duplicate, Filled bool
	// PayloadExpired is set if a rule of retention has removed the payload (Inputs, Outputs, Config and ColdMetadata), and
	// the event got none since.
	PayloadExpired bool
	// DerivedError is set if Error, of a session event, is that of its session's first failed root.
	DerivedError bool
}

// IsSession reports whether e is the root event of its session.
func (e *Event) IsSession() bool { return e.ID == e.SessionID }

// Validate reports the first broken rule of a completed event as a fault.Invalid that names
// the field. It trusts that the JSON fields are JSON (rawjson.Clean), and checks their kinds.
func (e *Event) Validate() error {
	if !e.Type.Valid() {
		return fault.InvalidField("event_type", "unknown event type %q; must be one of model, tool, chain, session, generic", e.Type)
	}
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{
		{"inputs", e.Inputs}, {"config", e.Config}, {"metadata", e.Metadata}, {"metrics", e.Metrics},
		{"feedback", e.Feedback}, {"user_properties", e.UserProperties},
	} {
		if k := rawjson.KindOf(f.raw); k != 0 && k != '{' {
			return fault.InvalidField(f.name, "must be an object")
		}
	}
	if k := rawjson.KindOf(e.ChildrenIDs); k != 0 && k != '[' {
		return fault.InvalidField("children_ids", "must be an array of strings")
	}
	for _, f := range []struct {
		name string
		ms   float64
	}{{"start_time", e.Start}, {"end_time", e.End}} {
		if !(f.ms >= MinMillis && f.ms <= MaxMillis) {
			return fault.InvalidField(f.name, "%smust be a Unix time in milliseconds between 1970 and 9999", UnitHint(f.ms))
		}
	}
	if !(e.Duration >= 0 && e.Duration <= MaxMillis) {
		return fault.InvalidField("duration", "must be milliseconds, 0 or more")
	}
	return nil
}

// Set is a list of events whose payload (inputs, outputs, config, cold metadata and fields
// over the head bound) is read when it is asked for, so that a page of large events never
// stands in memory at once.
type Set struct {
	Total int // matches before paging
	// HasMore reports whether there are events after the page, and Last is what its last event is sorted by. Searches set them that were
	// asked to go on.
	HasMore bool
	Last    float64
	Events  []Event // in order, without payload
	// Complete reports whether Events[i] has all its fields but the payload: of others, some field was too large to stand
	// beside the rest, and only Load has it. If it is nil, all are complete.
	Complete func(i int) bool
	// Load returns event i whole. It may be called in any order, but not concurrently.
	Load func(ctx context.Context, i int) (Event, error)
	// Gone reports whether Load has found event i deleted, so that what it returned is not whole. If it is nil, none is.
	Gone func(i int) bool
}

// IsGone reports whether event i was found deleted when it was loaded.
func (s *Set) IsGone(i int) bool { return s.Gone != nil && s.Gone(i) }

// SessionSet is a page of sessions: the session events, and what the session rows say of them.
type SessionSet struct {
	Set                       // the session events; Load also has the inputs and outputs that follow from the events below
	Totals    []SessionTotals // by the same index
	IsCounted bool            // Total is exact
}

// SessionTotals are what a session's events add up to.
type SessionTotals struct {
	Events, ModelEvents, Errors, Feedback int64
	ToolEvents                            int64
	Unfinished                            int64 // events of which only the begin is known
	Prompt, Completion, Tokens            float64
	Cost                                  float64
	HasCost                               bool
	Implicit                              bool // no request started the session: its first event did
}
