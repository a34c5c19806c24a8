// Package event is what an event and a session are: fields, defaults, validity, how an update
// and a repeated create change a stored event, and how events form a tree. It does no I/O and
// knows no encoding but the JSON text inside the fields.
package event

import (
	"context"
	"encoding/json"
	"time"

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

	// The rest is about how the event is stored. These are kept with the event and read back, because a later
	// write to the same event depends on them:

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
	// Wrapper, Duplicate and Filled are set on an event that is corrected (Correct): its sender reported it as
	// a model call, the store marked it as a duplicate, and it holds what others know.
	Wrapper, Duplicate, Filled bool
	// DerivedError is set if Error, of a session event, is that of its session's first failed root.
	DerivedError bool

	// These steer one write. They are zero on events that are read:

	// TraceID is the OTLP trace the event came with, zero for a native event.
	TraceID uuid.UUID
	// SpanID is the id that follows from trace and span id, under which log parts look for the
	// event and the span's children name it; zero if that is ID, or for a native event.
	SpanID uuid.UUID
	// Provisional is set as long as no span of the trace has named its session: SessionID is the
	// trace's own id, and is replaced by the session that another span of the trace names.
	Provisional bool
	// Started marks a session event that comes from a session start: repeated, it merges
	// metadata and user properties instead of only filling what is empty.
	Started bool
	// DefaultTime is set if the sender did not give Start.
	DefaultTime bool
	// StartGiven is set if the sender gave Start, which may then be 0. Complete clears it.
	StartGiven bool
}

// IsSession reports whether e is the root event of its session.
func (e *Event) IsSession() bool { return e.ID == e.SessionID }

// SessionHint is what a request holds about an implicit session, in addition to its events.
type SessionHint struct {
	SessionID uuid.UUID // as in the events of the same batch
	Name      string    // preferred name; empty: the name of the first root event
	Fallback  string    // name if no root event is known
	Source    string
	Metadata  json.RawMessage // members for the session event's metadata, filled where empty
}

// TraceSession is the session that a span names for its whole trace. Of those that the spans of a
// trace name, in whatever requests they come, the one with the smallest rank holds.
type TraceSession struct {
	TraceID, SessionID uuid.UUID
	Rank               TraceRank
}

// TraceRank orders the spans of a trace by which of them decides the trace's session: roots
// come first, then earlier spans, then smaller span ids.
type TraceRank struct {
	Below bool   // it is no root
	Nanos uint64 // its start, Unix nanoseconds
	Span  [8]byte
}

// Batch is what one request stores: all of it or nothing.
type Batch struct {
	Events   []Event
	Sessions []SessionHint
	// Traces are the sessions that spans of this batch name for their traces. A trace that is
	// not listed is named by its events, unless they are provisional.
	Traces   []TraceSession
	LogParts []LogPart
}

// Complete sets what an event may leave out: ids, parent, name, source and times. now is the
// time of arrival. Times follow from each other: end = start + duration, duration = end -
// start (never negative).
// A start time of 0 is one that was left out, unless StartGiven is set.
func (e *Event) Complete(now time.Time) {
	if e.Type == TypeSession {
		switch {
		case e.SessionID == uuid.Nil && e.ID != uuid.Nil:
			e.SessionID = e.ID
		case e.ID == uuid.Nil && e.SessionID != uuid.Nil:
			e.ID = e.SessionID
		case e.ID == uuid.Nil:
			e.ID = uuid.New()
			e.SessionID = e.ID
		}
	}
	if e.ID == uuid.Nil {
		e.ID = uuid.New()
	}
	if e.SessionID == uuid.Nil {
		e.SessionID = uuid.New()
	}
	if e.IsSession() {
		e.ParentID = uuid.Nil
		e.Type = TypeSession
	} else if e.ParentID == uuid.Nil {
		e.ParentID = e.SessionID
	}
	if e.Name == "" {
		e.Name = Unknown
	}
	if e.Source == "" {
		e.Source = Unknown
	}
	e.DurationGiven = e.Duration != 0
	given := e.Start != 0 || e.StartGiven
	e.StartGiven = false
	if !given && e.End != 0 {
		e.Start = max(e.End-e.Duration, MinMillis)
		e.DefaultTime = e.Duration == 0
		given = true
	}
	if !given {
		e.Start = float64(now.UnixMilli())
		e.DefaultTime = true
	}
	if e.End == 0 {
		e.End = e.Start + e.Duration
	}
	if e.Duration == 0 {
		e.Duration = max(e.End-e.Start, 0)
	}
}

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
	Total  int     // matches before paging
	Events []Event // in order, without payload
	// Load returns event i whole. It may be called in any order, but not concurrently.
	Load func(ctx context.Context, i int) (Event, error)
}
