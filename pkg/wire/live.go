package wire

import (
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// LiveMessage returns a server-sent event that tells of a change: an event "change" with the session, null for several, or an
// event "reset".
func LiveMessage(c event.Change) string {
	if c.Reset {
		return "event: reset\ndata: {}\n\n"
	}
	var b rawjson.Builder
	if c.SessionID == uuid.Nil {
		b.Raw("session_id", []byte("null"))
	} else {
		b.String("session_id", c.SessionID.String())
	}
	b.Int("touched", c.Touched)
	b.String("kind", string(c.Kind))
	return "event: change\ndata: " + string(b.Bytes()) + "\n\n"
}
