package wire

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// parseUUID reads an id that a client chose: 36 characters with dashes or 32 hexadecimal
// digits, in any case. The nil UUID is none.
func parseUUID(s string) (uuid.UUID, bool) {
	if len(s) != 36 && len(s) != 32 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(s)
	return id, err == nil && id != uuid.Nil
}

// setUUID takes an id.
func setUUID(to *uuid.UUID, v json.RawMessage) error {
	s, ok := rawjson.Text(v)
	if !ok {
		return wrong("a UUID", v)
	}
	if *to, ok = parseUUID(s); !ok {
		return fault.New(fault.Invalid, "%.40q is not a UUID", s)
	}
	return nil
}

// setText takes a string.
func setText(to *string, v json.RawMessage) (err error) {
	*to, err = readText(v)
	return err
}

// setTime is setMillis for a point in time. One that would be right in another unit, such as nanoseconds, gets an error
// that says so.
func setTime(to *float64, v json.RawMessage) error {
	if f, ok := rawjson.Number(v); ok && f > event.MaxMillis {
		if hint := event.UnitHint(f); hint != "" {
			return fault.New(fault.Invalid, "%smust be before the year 10000", hint)
		}
	}
	return setMillis(to, v)
}

// setStart takes the time at which an event begins, which may be 0.
func setStart(d *draft, v json.RawMessage) error {
	d.event.StartGiven = true
	return setTime(&d.event.Start, v)
}

// setDuration takes a duration, which may be 0.
func setDuration(d *draft, v json.RawMessage) error {
	d.event.DurationGiven = true
	return setMillis(&d.event.Duration, v)
}

// setMillis takes a JSON number only, since a time written as text would be a guess.
func setMillis(to *float64, v json.RawMessage) error {
	f, ok := rawjson.Number(v)
	if !ok {
		return wrong("a number", v)
	}
	if !(f >= event.MinMillis && f <= event.MaxMillis) {
		return fault.New(fault.Invalid, "must be milliseconds, 0 or more and before the year 10000")
	}
	*to = f
	return nil
}

// setObject takes an object, as it is spelled.
func setObject(to *json.RawMessage, v json.RawMessage) (err error) {
	*to, err = readObject(v)
	return err
}

// setType takes the type of an event.
func setType(d *draft, v json.RawMessage) error {
	s, err := readText(v)
	if err != nil {
		return err
	}
	if d.event.Type = event.Type(s); !d.event.Type.Valid() {
		return fault.New(fault.Invalid, "unknown event type %.40q; must be one of model, tool, chain, session, generic", s)
	}
	return nil
}

// setError takes the error, also the empty text.
func setError(d *draft, v json.RawMessage) error {
	s, err := readText(v)
	if err != nil {
		return err
	}
	d.event.Error = &s
	return nil
}

// setOutputs takes the outputs, which may be any value.
func setOutputs(d *draft, v json.RawMessage) error {
	d.event.Outputs = v
	return nil
}

// setChildren takes a list of ids, which need not be UUIDs.
func setChildren(d *draft, v json.RawMessage) (err error) {
	d.event.ChildrenIDs, err = readStrings(v)
	return err
}

// checkText takes nothing: the field must be a string, but means nothing here.
func checkText(_ *draft, v json.RawMessage) error {
	_, err := readText(v)
	return err
}
