package wire

import (
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
)

// DecodeSessionEvents reads {"events": […]}, events to be added to the session of the path,
// whatever session they name themselves. There must be at least one, and no id twice.
func DecodeSessionEvents(body []byte, sessionID string, now time.Time) (Batch, error) {
	return decodeSessionLists(body, sessionID, []string{"events"}, true, now)
}

// DecodeSessionTraces reads {"logs"?: […], "events"?: […]}, both lists of events to be added
// to the session of the path.
func DecodeSessionTraces(body []byte, sessionID string, now time.Time) (Batch, error) {
	return decodeSessionLists(body, sessionID, []string{"logs", "events"}, false, now)
}

// decodeSessionLists reads lists of events that are added to one session, in the order of lists. If required, each list
// must be there, hold an event, and name no id twice.
func decodeSessionLists(body []byte, sessionID string, lists []string, required bool, now time.Time) (Batch, error) {
	session, ok := parseUUID(sessionID)
	if !ok {
		return Batch{}, fault.InvalidField("session_id", "%.40q is not a UUID", sessionID)
	}
	r, err := newReader(body)
	if err != nil {
		return Batch{}, err
	}
	found := map[string][]*draft{}
	err = r.object(func(key string) (err error) {
		for _, list := range lists {
			if key == list && (required || r.kind() != 'n') {
				found[key], err = readDrafts(r, found[key][:0], eventList, Lenient)
				return err
			}
		}
		return r.skip()
	})
	if err != nil {
		return Batch{}, err
	}
	total := 0
	for _, drafts := range found {
		total += len(drafts)
	}
	if total > MaxBatchEvents {
		return Batch{}, fault.New(fault.TooLarge, "a request may hold at most %d events", MaxBatchEvents)
	}
	out := Batch{SessionID: session}
	for _, list := range lists {
		drafts, ok := found[list]
		if !ok && required {
			return Batch{}, fault.InvalidField(list, "is required: an array of events")
		}
		if required {
			if err := listedOnce(drafts, list); err != nil {
				return Batch{}, err
			}
		}
		for i := range drafts {
			drafts[i].moveTo(session)
		}
		of := eventList
		of.name = list
		b, err := finishAll(drafts, of, now)
		if err != nil {
			return Batch{}, err
		}
		out.Events = append(out.Events, b.Events...)
		out.IDs = append(out.IDs, b.IDs...)
		if list == "logs" {
			out.Logs = len(b.Events)
		}
	}
	return out, nil
}
