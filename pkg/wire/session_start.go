package wire

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeSessionStart reads the body of a session start: {"session": {…}}, {"session": "<the
// same as text>"}, or the bare session. The session event comes back complete and valid;
// nothing is required. A session_id that is not a UUID is replaced by a new one; without one, an
// event_id that is a UUID is the session's id. A start or end time written as text means now.
//
// The JSON fields may be slices of body. Errors are fault.Invalid naming the field.
func DecodeSessionStart(body []byte, now time.Time) (event.Incoming, error) {
	d, prefix, err := decodeWrapped(body, "session", sessionFields)
	if err != nil {
		return event.Incoming{}, err
	}
	if err := d.finishSession(now); err != nil {
		return event.Incoming{}, fault.In(prefix, err)
	}
	return d.event, nil
}

// sessionFields are the fields of a session start and of the properties of a batch's session:
// those of an event, less what makes no sense for a session.
var sessionFields = func() map[string]setter {
	fields := maps.Clone(eventFields)
	delete(fields, "event_type")
	delete(fields, "parent_id")
	fields["session_name"] = func(d *draft, v json.RawMessage) error { return setText(&d.sessionName, v) }
	fields["session_id"] = func(d *draft, v json.RawMessage) error { return setUUIDOrNew(&d.event.SessionID, v) }
	fields["event_id"] = func(d *draft, v json.RawMessage) error { return setUUIDOrNew(&d.event.ID, v) }
	fields["start_time"] = func(d *draft, v json.RawMessage) error {
		d.event.StartGiven = rawjson.KindOf(v) != '"'
		return setTimeOrNow(&d.event.Start, v)
	}
	fields["end_time"] = func(d *draft, v json.RawMessage) error { return setTimeOrNow(&d.event.End, v) }
	return fields
}()

// setUUIDOrNew leaves the id unset, to be made new, if the text is not a UUID.
func setUUIDOrNew(to *uuid.UUID, v json.RawMessage) error {
	s, err := readText(v)
	if err != nil {
		return err
	}
	*to = uuid.Nil
	if id, ok := parseUUID(s); ok {
		*to = id
	}
	return nil
}

// setTimeOrNow leaves the time unset if it is text.
func setTimeOrNow(to *float64, v json.RawMessage) error {
	if rawjson.KindOf(v) == '"' {
		*to = 0
		return nil
	}
	return setTime(to, v)
}

// finishSession completes a session event: its id is the session's, and session_name its name.
func (d *draft) finishSession(now time.Time) error {
	e := &d.event
	e.Type, e.Started = event.TypeSession, true
	if e.SessionID == uuid.Nil {
		e.SessionID = e.ID
	}
	e.ID = e.SessionID
	if d.sessionName != "" {
		e.Name = d.sessionName
	}
	return d.complete(now)
}
