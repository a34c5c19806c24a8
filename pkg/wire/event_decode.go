package wire

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeEvent reads the body of an event create: {"event": {…}}, {"event": "<the same as
// text>"}, or the bare event. now is the time of arrival. The event comes back complete and
// valid; unknown fields are left out silently.
//
// The JSON fields may be slices of body. Errors are fault.Invalid naming the field.
func DecodeEvent(body []byte, now time.Time) (event.Incoming, error) {
	d, prefix, err := decodeWrapped(body, "event", eventFields)
	if err != nil {
		return event.Incoming{}, err
	}
	if err := d.finishEvent(now); err != nil {
		return event.Incoming{}, fault.In(prefix, err)
	}
	return d.event, nil
}

// draft is an event on its way in: what its fields said, before it is completed and checked.
type draft struct {
	event       event.Incoming
	sessionName string      // session_name, which goes before event_name
	model       *modelParts // nil: none of them was there
	// How many characters of its values had to be replaced.
	replaced int
}

// setter takes one field, which is not null, into a draft.
type setter func(d *draft, v json.RawMessage) error

// eventFields are the fields of an event create. Those that only say whose the event is are
// checked and left: the key decides.
var eventFields = map[string]setter{
	"event_id":        func(d *draft, v json.RawMessage) error { return setUUID(&d.event.ID, v) },
	"session_id":      func(d *draft, v json.RawMessage) error { return setUUID(&d.event.SessionID, v) },
	"parent_id":       func(d *draft, v json.RawMessage) error { return setUUID(&d.event.ParentID, v) },
	"event_type":      setType,
	"event_name":      func(d *draft, v json.RawMessage) error { return setText(&d.event.Name, v) },
	"source":          func(d *draft, v json.RawMessage) error { return setText(&d.event.Source, v) },
	"project_id":      checkText,
	"error":           setError,
	"start_time":      setStart,
	"end_time":        func(d *draft, v json.RawMessage) error { return setTime(&d.event.End, v) },
	"duration":        setDuration,
	"children_ids":    setChildren,
	"config":          func(d *draft, v json.RawMessage) error { return setObject(&d.event.Config, v) },
	"inputs":          func(d *draft, v json.RawMessage) error { return setObject(&d.event.Inputs, v) },
	"outputs":         setOutputs,
	"metadata":        func(d *draft, v json.RawMessage) error { return setObject(&d.event.Metadata, v) },
	"metrics":         func(d *draft, v json.RawMessage) error { return setObject(&d.event.Metrics, v) },
	"feedback":        func(d *draft, v json.RawMessage) error { return setObject(&d.event.Feedback, v) },
	"user_properties": func(d *draft, v json.RawMessage) error { return setObject(&d.event.UserProperties, v) },
}

// read takes the members of the next object. A null is a field left out: clients send null for what they were not
// given. If strict, a key that is not in the table is an error.
func (d *draft) read(r *reader, table map[string]setter, strict bool) error {
	return r.object(func(key string) error {
		set, known := table[key]
		switch {
		case !known && strict:
			return unknownField(key)
		case !known || r.kind() == 'n':
			return r.skip()
		}
		v, err := r.value(&d.replaced)
		if err != nil {
			return err
		}
		return set(d, v)
	})
}

// unknownField returns the error for an unknown key; the caller adds the key.
func unknownField(key string) error {
	switch key {
	case "is_single_session":
		return fault.New(fault.Invalid, "is not accepted here; use single_session")
	case "session":
		return fault.New(fault.Invalid, "is not accepted here; use session_properties")
	case "project":
		return fault.New(fault.Invalid, "is not accepted here; the key decides the project")
	default:
		return fault.New(fault.Invalid, "unknown field")
	}
}

// decodeWrapped reads a body whose event stands under a key, as an object or as JSON text, or
// bare. prefix is the key if there was one, for errors found later. Which of them it is shows only when the wrapper is
// found or the body ends. So fields next to it are read as well, and count, with their errors, only if there is none.
func decodeWrapped(body []byte, wrapper string, table map[string]setter) (d draft, prefix string, err error) {
	r, err := newReader(body)
	if err != nil {
		return draft{}, "", err
	}
	var inner draft
	var bareErr error // of a field next to the wrapper, where it does not count
	err = r.object(func(key string) error {
		if key == wrapper && r.kind() != 'n' {
			// A wrapper that comes twice is read anew, too.
			prefix, inner = wrapper, draft{}
			return inner.readEither(r, table)
		}
		set, known := table[key]
		if !known || r.kind() == 'n' {
			return r.skip()
		}
		v, err := r.value(&d.replaced)
		if err != nil {
			return err
		}
		if err := set(&d, v); err != nil && bareErr == nil {
			bareErr = fault.In(key, err)
		}
		return nil
	})
	switch {
	case err != nil:
		return draft{}, "", err
	case prefix != "":
		return inner, prefix, nil
	default:
		return d, "", bareErr
	}
}

// readEither reads an object, or a string that holds the text of one.
func (d *draft) readEither(r *reader, table map[string]setter) error {
	if r.kind() != '"' {
		return d.read(r, table, false)
	}
	v, err := r.value(&d.replaced)
	if err != nil {
		return err
	}
	text, _ := rawjson.Text(v)
	inner, err := newReader([]byte(text))
	if err != nil {
		return err
	}
	return d.read(inner, table, false)
}

// finishEvent requires what a create must carry, and completes the event.
func (d *draft) finishEvent(now time.Time) error {
	if err := d.needEvent(); err != nil {
		return err
	}
	return d.complete(now)
}

// needEvent requires what a create must carry.
func (d *draft) needEvent() error {
	if d.event.Type == "" {
		return fault.InvalidField("event_type", "is required: one of model, tool, chain, session, generic")
	}
	if d.event.Inputs == nil {
		return fault.InvalidField("inputs", "is required and must be an object")
	}
	return nil
}

// complete fills in what the event left out (ids, times, source; see event.Complete), and checks it.
func (d *draft) complete(now time.Time) error {
	d.event.Complete(now)
	if err := d.event.Validate(); err != nil {
		return err
	}
	d.event.CountReplaced(d.replaced)
	return nil
}

// moveTo makes the event one of the session, whatever session it named; a parent that was
// its own session follows. It comes before completion.
func (d *draft) moveTo(session uuid.UUID) {
	e := &d.event
	if e.ParentID == e.SessionID {
		e.ParentID = uuid.Nil
	}
	e.SessionID = session
}
