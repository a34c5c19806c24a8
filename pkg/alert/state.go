package alert

import (
	"encoding/json"
	"slices"
	"strconv"
)

// The states. An alert that nobody has evaluated yet has none.
const (
	OK     = "ok"
	Firing = "firing"
	NoData = "no_data"
)

// Status is where an alert stands. Times are Unix milliseconds.
type Status struct {
	State     string `json:"state"`
	Since     int64  `json:"since"`     // when the state began
	Evaluated int64  `json:"evaluated"` // the last due time; 0: none yet
	// BreachSince is from when on it has been out of bounds at every due time; 0: it was not at the last one.
	BreachSince int64 `json:"breach_since,omitempty"`
	// Incident is open from when the alert fires until it is within its bounds again, also over times without data. Told says that
	// notices of it went out, and Unheard names the channels that the alert has got since and that have heard nothing of it.
	Incident string   `json:"incident,omitempty"`
	Told     bool     `json:"told,omitempty"`
	Unheard  []string `json:"unheard,omitempty"`
	Last     Record   `json:"last"`
}

// Record is a reading as it is kept.
type Record struct {
	Value        *float64 `json:"value,omitempty"`
	Events       int64    `json:"events,omitempty"`
	Before       *float64 `json:"before,omitempty"`
	EventsBefore int64    `json:"events_before,omitempty"`
	Error        string   `json:"error,omitempty"`
}

// Percent returns the change from the week before, in percent. It is nil if there is nothing to compare, or if the change is infinite: from 0.
func (r *Record) Percent() *float64 {
	reading := Reading{Value: r.Value, Before: r.Before}
	percent, ok := reading.Change()
	if !ok || percent-percent != 0 {
		return nil
	}
	return &percent
}

// Doc writes a status down, and StatusFromDoc reads it.
func (s *Status) Doc() json.RawMessage {
	doc, err := json.Marshal(s)
	if err != nil { // a number that is none, which no reading has
		return json.RawMessage("{}")
	}
	return doc
}

// StatusFromDoc reads what Doc wrote.
func StatusFromDoc(doc json.RawMessage) (s Status) {
	_ = json.Unmarshal(doc, &s) // what cannot be read is no status, and is evaluated anew
	return s
}

// The kinds of notices.
const (
	KindFiring   = "firing"
	KindResolved = "resolved"
	KindNoData   = "no_data"
	KindTest     = "test"
)

// Told is a notice to send: its kind, empty for none, the incident that it is about, and the channels that it goes to.
type Told struct {
	Kind, Incident string
	To             []Channel
}

// Step takes a reading into the status. changed says whether the state is another one now.
//
// A silenced alert moves as any other and sends nothing; if it still fires when the silence is over, the notice goes out then. That
// an incident is over is told to all who were told that it began.
func (s *Status) Step(a *Alert, r *Reading) (changed bool, tell Told) {
	out, known := a.Breach(r)
	before := s.State
	s.Evaluated = r.At
	s.Last = Record{Value: r.Value, Events: r.Events, Before: r.Before, EventsBefore: r.EventsBefore, Error: r.Error}
	if !known || !out {
		s.BreachSince = 0
	} else if s.BreachSince == 0 || s.BreachSince > r.At { // a clock was set back since
		s.BreachSince = r.At
	}
	switch {
	case !known:
		s.State = NoData
	case out && (s.Incident != "" || r.At-s.BreachSince >= a.For*minute):
		s.State = Firing
	default: // also while it is not out of bounds for long enough
		s.State = OK
	}
	if changed = s.State != before; changed {
		s.Since = r.At
	}
	silent := r.At < a.SilencedUntil
	switch {
	case s.State == Firing:
		if s.Incident == "" {
			s.Incident = a.ID + "-" + strconv.FormatInt(r.At, 10)
		}
		switch {
		case silent:
		case !s.Told:
			s.Told, tell = true, Told{KindFiring, s.Incident, a.To}
		case s.Unheard != nil:
			tell = Told{KindFiring, s.Incident, s.channels(a, false)}
			s.Unheard = nil
		}
	case s.State == OK:
		tell = s.close(a)
	case changed && a.TellNoData && !silent:
		tell = Told{KindNoData, s.Incident, a.To}
	}
	return changed, tell
}

// Join notes the channels of an alert that it did not have before, where the others have been told of an incident, and reports whether there
// are any.
func (s *Status) Join(a, before *Alert) (some bool) {
	if !s.Told {
		return false
	}
	var unheard []string
	for i := range a.To {
		id := a.To[i].ID
		added := before.Channel(id) == nil
		if added || slices.Contains(s.Unheard, id) {
			unheard = append(unheard, id)
		}
		some = some || added
	}
	s.Unheard = unheard
	return some
}

// channels returns the channels that have heard of the incident, or those that have not.
func (s *Status) channels(a *Alert, heard bool) []Channel {
	return slices.DeleteFunc(slices.Clone(a.To), func(c Channel) bool { return slices.Contains(s.Unheard, c.ID) == heard })
}

// close ends the incident, if there is one.
func (s *Status) close(a *Alert) (tell Told) {
	if s.Told {
		tell = Told{KindResolved, s.Incident, s.channels(a, true)}
	}
	s.Incident, s.Told, s.Unheard = "", false, nil
	return tell
}

// Stop ends the status of an alert that is switched off: it has no state until it is evaluated again.
func (s *Status) Stop(a *Alert) (tell Told) {
	tell = s.close(a)
	*s = Status{}
	return tell
}

// Change is one entry of an alert's history.
type Change struct {
	At       int64  `json:"-"`
	From     string `json:"from"` // empty: it was not evaluated before
	To       string `json:"to"`   // empty: it was switched off
	Incident string `json:"incident,omitempty"`
	Silenced bool   `json:"silenced,omitempty"`
	Record
}

// Doc writes a change down, and ChangeFromDoc reads it.
func (c *Change) Doc() json.RawMessage {
	doc, err := json.Marshal(c)
	if err != nil {
		return json.RawMessage("{}")
	}
	return doc
}

// ChangeFromDoc reads what Doc wrote.
func ChangeFromDoc(doc json.RawMessage) (c Change) {
	_ = json.Unmarshal(doc, &c)
	return c
}

// Bounds of what is kept of an alert: the newest changes, and the newest notices that were sent or have failed. While MaxWaiting notices wait
// for a channel, further ones fail at once; their Error says so.
const (
	MaxChanges = 500
	MaxNotices = 500
	MaxWaiting = 100
)

// Claim is an alert that one server is to evaluate for a due time.
type Claim struct {
	Project int64
	Alert   Alert // with its status
	At      int64 // the due time, Unix milliseconds
	Lease   int64 // by which the store knows the claim
}

// Places bounds the notices that are sent at the same time, so that a receiver that does not answer leaves places for others.
type Places struct {
	Free int            // how many more may be sent
	Each int            // how many may be on their way to one receiver (Notice.Receiver)
	Busy map[string]int // how many are, by receiver
}

// NoticeClaim is a notice that one server is to send. Attempts counts the one to come.
type NoticeClaim struct {
	Project int64
	Notice  Notice
}
