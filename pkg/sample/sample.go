// Package sample holds sessions that show what Spangrove does before there is data: written by hand, of no real application.
package sample

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Source is the source of all events of the samples.
const Source = "sample"

//go:embed sessions.json
var text []byte

// sessions are the samples, the one that is to be the newest first.
var sessions = parse()

// session is a session as the file has it. Its own fields are those of its session event, and its times are relative.
type session struct {
	recorded
	Ago    float64    `json:"ago"` // how long before they are loaded it began, in milliseconds
	Events []recorded `json:"events"`
}

// recorded is an event as the file has it.
type recorded struct {
	ID     string  `json:"id"`     // unique in the session
	Parent string  `json:"parent"` // id of another event of it; empty: the session itself
	Type   string  `json:"type"`
	Name   string  `json:"name"`
	At     float64 `json:"at"` // after the begin of the session, in milliseconds
	Millis float64 `json:"ms"` // how long it took

	Error          json.RawMessage `json:"error"`
	Config         json.RawMessage `json:"config"`
	Inputs         json.RawMessage `json:"inputs"`
	Outputs        json.RawMessage `json:"outputs"`
	Metadata       json.RawMessage `json:"metadata"`
	Metrics        json.RawMessage `json:"metrics"`
	Feedback       json.RawMessage `json:"feedback"`
	UserProperties json.RawMessage `json:"user_properties"`
}

func parse() (list []session) {
	var compact bytes.Buffer // as the store writes JSON that it merges
	err := json.Compact(&compact, text)
	if err == nil {
		err = json.Unmarshal(compact.Bytes(), &list)
	}
	if err != nil {
		panic(err) // the file is part of this program
	}
	return list
}

// IDs returns the ids of the sessions, which are the same in every project and at every time.
func IDs() []uuid.UUID {
	ids := make([]uuid.UUID, len(sessions))
	for i := range sessions {
		ids[i] = sessions[i].id()
	}
	return ids
}

// Batch returns all sessions as the body of a batch of events of the native API, as they would have come if they had begun a few
// minutes to hours before now. The ids do not depend on now, so that a second batch adds nothing to the first.
func Batch(now time.Time) []byte {
	out := []byte(`{"events":[`)
	for i := range sessions {
		s := &sessions[i]
		began := float64(now.UnixMilli()) - s.Ago
		out = s.appendEvent(out, s.id(), uuid.Nil, &s.recorded, began)
		for j := range s.Events {
			out = append(out, ',')
			e := &s.Events[j]
			out = s.appendEvent(out, s.eventID(e.ID), s.eventID(e.Parent), e, began)
		}
		if i < len(sessions)-1 {
			out = append(out, ',')
		}
	}
	return append(out, "]}"...)
}

// space is the name space of the ids, a random UUID.
var space = uuid.MustParse("5d0b6a2e-93c7-4f1e-8a55-2b7f60c41d3a")

func (s *session) id() uuid.UUID { return uuid.NewSHA1(space, []byte(s.ID)) }

// eventID returns the id of an event, and that of the session for an empty name.
func (s *session) eventID(name string) uuid.UUID {
	if name == "" {
		return s.id()
	}
	return uuid.NewSHA1(s.id(), []byte(name))
}

func (s *session) appendEvent(dst []byte, id, parent uuid.UUID, e *recorded, began float64) []byte {
	var b rawjson.Builder
	b.String("event_id", id.String())
	b.String("session_id", s.id().String())
	if parent == uuid.Nil {
		b.String("event_type", "session")
	} else {
		b.String("event_type", e.Type)
		b.String("parent_id", parent.String())
	}
	b.String("event_name", e.Name)
	b.String("source", Source)
	b.Int("start_time", int64(began+e.At))
	b.Int("end_time", int64(began+e.At+e.Millis))
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{
		{"error", e.Error}, {"config", e.Config}, {"inputs", e.Inputs}, {"outputs", e.Outputs}, {"metadata", e.Metadata}, {"metrics", e.Metrics},
		{"feedback", e.Feedback}, {"user_properties", e.UserProperties},
	} {
		if f.raw != nil {
			b.Raw(f.name, f.raw)
		}
	}
	return append(dst, b.Bytes()...)
}
