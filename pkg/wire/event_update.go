package wire

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeUpdate reads the body of an event update. id is the one of the path; if it is zero
// the body must carry event_id. An event_id in addition to an id in the path is ignored, like every
// unknown field.
//
// A field that is null is a field left out: clients send null for what they were not given,
// and taking it for a value would wipe what is stored. A null inside an object is a value.
// Errors are fault.Invalid naming the field.
func DecodeUpdate(body []byte, id uuid.UUID) (event.Update, error) {
	object, replaced, err := DecodeObject(body)
	if err != nil {
		return event.Update{}, err
	}
	u := event.Update{EventID: id}
	for key, raw := range rawjson.Object(object) {
		if rawjson.Null(raw) {
			continue
		}
		if err := setUpdate(&u, key, raw); err != nil {
			return event.Update{}, fault.In(key, err)
		}
	}
	if u.EventID == uuid.Nil {
		return event.Update{}, fault.InvalidField("event_id", "is required")
	}
	// The number of replaced characters goes into the metadata, as for an event that is created.
	if replaced > 0 {
		var b rawjson.Builder
		b.Int(event.ReplacedKey, int64(replaced))
		u.Metadata = rawjson.Merge(u.Metadata, b.Bytes())
	}
	return u, nil
}

// setUpdate takes one field of an update. Other fields of an event cannot be changed, and are ignored.
func setUpdate(u *event.Update, key string, raw json.RawMessage) (err error) {
	switch key {
	case "event_id":
		if u.EventID == uuid.Nil {
			u.EventID, err = readUUID(raw)
		}
	case "inputs":
		u.Inputs, err = readObject(raw)
	case "config":
		u.Config, err = readObject(raw)
	case "metadata":
		u.Metadata, err = readObject(raw)
	case "metrics":
		u.Metrics, err = readObject(raw)
	case "feedback":
		u.Feedback, err = readObject(raw)
	case "user_properties":
		u.UserProperties, err = readObject(raw)
	case "outputs":
		u.Outputs = raw
	case "children_ids":
		u.ChildrenIDs, err = readStrings(raw)
	case "duration":
		u.Duration, err = readMillis(raw)
	case "end_time":
		u.EndTime = new(float64)
		err = setTime(u.EndTime, raw)
	}
	return err
}
