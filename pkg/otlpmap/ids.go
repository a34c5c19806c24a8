package otlpmap

import (
	"crypto/sha1" //nolint:gosec // UUID version 5 is defined on SHA-1; nothing secret hangs on it
	"encoding/hex"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
)

// EventID returns the id of the event of a span: the UUID version 5 (RFC 9562) of the span id, as 16 lower-case
// hex digits, in the namespace of the trace id's 16 bytes. A retried export thus changes
// nothing, and a child can name its parent before the parent came.
func EventID(trace [16]byte, span [8]byte) uuid.UUID {
	var name [32]byte
	copy(name[:16], trace[:])
	hex.Encode(name[16:], span[:])
	sum := sha1.Sum(name[:]) //nolint:gosec // see above
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return id
}

// SessionID returns the session a key names: the key itself if it is a UUID, else one made of it (event.SessionOf).
func SessionID(key string) uuid.UUID { return event.SessionOf(key) }

// uuidText is how long a UUID is in its usual form.
const uuidText = 36

// isUUID reports whether a key is a UUID in its usual form: the id of the session that it names.
func isUUID(key string) bool {
	if len(key) != uuidText {
		return false
	}
	id, err := uuid.Parse(key)
	return err == nil && id != uuid.Nil
}
