package event

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Batch is what one request stores: all of it or nothing.
type Batch struct {
	Events   []Incoming
	Sessions []SessionHint
	// Traces are the sessions that spans of this batch name for their traces. A trace that is
	// not listed is named by its events, unless they are provisional.
	Traces   []TraceSession
	LogParts []LogPart
}

// NewBatch returns a batch of complete native events, which need nothing else.
func NewBatch(events ...Event) Batch {
	b := Batch{Events: make([]Incoming, len(events))}
	for i := range events {
		b.Events[i].Event = events[i]
	}
	return b
}

// Incoming is an event on its way to the store, with what steers this one write. None of that is stored as such: what
// a reader gets is the Event.
type Incoming struct {
	Event

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

// Complete sets what an event may leave out: ids, parent, name, source and times. now is the
// time of arrival. Times follow from each other: end = start + duration, duration = end -
// start (never negative).
// A start time of 0 is one that was left out, unless StartGiven is set. So is a duration of 0, unless DurationGiven is set
// and there is an end.
func (e *Incoming) Complete(now time.Time) {
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
	// Clients that must send a duration send 0 while they do not know it. With an end, 0 is what was measured.
	instant := e.DurationGiven && e.End != 0
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
	if e.Duration == 0 && !instant {
		e.Duration = max(e.End-e.Start, 0)
	}
}

// Repeat changes e, which is not stored yet, by another create of the same id, as Event.Repeat does. If now
// replaces an unfinished copy, its instructions hold as well.
func (e *Incoming) Repeat(now *Incoming) {
	replaces := e.Unfinished && !now.Unfinished
	e.Event.Repeat(now)
	if replaces {
		event := e.Event
		*e = *now
		e.Event = event
	}
}

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
