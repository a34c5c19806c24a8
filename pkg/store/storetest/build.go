package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// noon is the time around which the suite's events happen: noon of 2 January 2026.
const noon = 1767355200000.0

const dayMillis = 86_400_000.0

var arrival = time.UnixMilli(int64(noon))

// id makes an id from a name, so that failures read alike from run to run.
func id(name string) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("storetest "+name))
}

// step returns an event below a session, a second long, at seconds after noon.
func step(session, name string, seconds float64) event.Incoming {
	e := event.Incoming{Event: event.Event{
		ID:        id(name),
		SessionID: id(session),
		Type:      event.TypeTool,
		Name:      name,
		Source:    "suite",
		Start:     noon + 1000*seconds,
		Duration:  1000,
	}}
	e.Complete(arrival)
	return e
}

// call returns a model event with tokens and cost. Costs in quarters add up exactly.
func call(session, name string, seconds float64, prompt, completion int, cost float64) event.Incoming {
	e := step(session, name, seconds)
	e.Type = event.TypeModel
	e.Metadata = text(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"cost":%v}`, prompt, completion, prompt+completion, cost)
	return e
}

// start returns the event of a session that its sender starts, open-ended unless seconds to last.
func start(session, name string, seconds, last float64) event.Incoming {
	e := event.Incoming{Started: true, Event: event.Event{
		ID:       id(session),
		Type:     event.TypeSession,
		Name:     name,
		Source:   "sender",
		Start:    noon + 1000*seconds,
		Duration: last * 1000,
	}}
	e.Complete(arrival)
	return e
}

// below hangs an event under another.
func below(parent string, e event.Incoming) event.Incoming {
	e.ParentID = id(parent)
	return e
}

// raw is JSON text as it stands.
func raw(s string) json.RawMessage { return json.RawMessage(s) }

// text is JSON text by a format.
func text(format string, args ...any) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(format, args...))
}

func pointer[T any](v T) *T { return &v }

// shape is an event as it is read, in strings, for comparing.
type shape struct {
	ID, Session, Parent          string
	Type, Name, Source, Error    string
	Start, End, Duration         float64
	Children, Config, Inputs     string
	Outputs, Metadata, Metrics   string
	Feedback, Properties, Ragged string
}

// shapeOf cuts long fields, keeping their length, so that a difference can be read.
func shapeOf(e event.Event) shape {
	short := func(b []byte) string {
		if len(b) > 2000 {
			return fmt.Sprintf("%s…%s (%d bytes, %s)", b[:40], b[len(b)-40:], len(b), uuid.NewSHA1(uuid.Nil, b))
		}
		return string(b)
	}
	s := shape{
		ID:         e.ID.String(),
		Session:    e.SessionID.String(),
		Parent:     e.ParentID.String(),
		Type:       string(e.Type),
		Name:       e.Name,
		Source:     e.Source,
		Start:      e.Start,
		End:        e.End,
		Duration:   e.Duration,
		Children:   short(e.ChildrenIDs),
		Config:     short(e.Config),
		Inputs:     short(e.Inputs),
		Outputs:    short(e.Outputs),
		Metadata:   short(rawjson.Concat(e.Metadata, e.ColdMetadata)),
		Metrics:    short(e.Metrics),
		Feedback:   short(e.Feedback),
		Properties: short(e.UserProperties),
	}
	if e.Error != nil {
		s.Error = "error " + short([]byte(*e.Error))
	}
	return s
}

func shapes(list []event.Event) []shape {
	out := make([]shape, len(list))
	for i := range list {
		out[i] = shapeOf(list[i])
	}
	return out
}

// eventsOf returns what of events that are sent can be read back.
func eventsOf(list []event.Incoming) []event.Event {
	events := make([]event.Event, len(list))
	for i := range list {
		events[i] = list[i].Event
	}
	return events
}

// same compares events as they are read.
func (e *env) same(what string, want, got []event.Event) {
	e.Helper()
	if d := cmp.Diff(shapes(want), shapes(got)); d != "" {
		e.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// holds compares stored steps with what was sent, roll-ups and made session events aside.
func (e *env) holds(want ...event.Incoming) {
	e.Helper()
	got := make([]event.Event, len(want))
	for i := range want {
		got[i] = e.event(want[i].ID)
	}
	e.same("events read back", eventsOf(want), got)
}

// members picks members of an object as one text, for short comparisons.
func members(object json.RawMessage, keys ...string) string {
	var b strings.Builder
	for _, k := range keys {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%s", k, rawjson.Get(object, k))
	}
	return b.String()
}

// rollup returns a session's totals as its event shows them.
func (e *env) rollup(session string) string {
	e.Helper()
	return members(
		e.event(id(session)).Metadata,
		"num_events",
		"num_model_events",
		"has_feedback",
		"cost",
		"total_tokens",
		"prompt_tokens",
		"completion_tokens",
	)
}

func (e *env) wantRollup(session, want string) {
	e.Helper()
	if got := e.rollup(session); got != want {
		e.Errorf("totals of %s:\n got %s\nwant %s", session, got, want)
	}
}

func (e *env) equal(what string, want, got any) {
	e.Helper()
	if d := cmp.Diff(want, got); d != "" {
		e.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func names(list []event.Event) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].Name
	}
	return out
}

func reversed(list []event.Incoming) []event.Incoming {
	out := slices.Clone(list)
	slices.Reverse(out)
	return out
}
