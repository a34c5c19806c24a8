package wire

import (
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// AppendBatchAnswer appends the answer to a batch: {"event_ids", "session_id", "success"}.
func AppendBatchAnswer(dst []byte, b *Batch) []byte {
	dst = append(dst, `{"event_ids":[`...)
	for i, id := range b.IDs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendID(dst, id)
	}
	dst = append(dst, `],"session_id":`...)
	if b.SessionID == uuid.Nil {
		dst = rawjson.AppendString(dst, "")
	} else {
		dst = appendID(dst, b.SessionID)
	}
	return append(dst, `,"success":true}`...)
}

// AppendCreateAnswer appends the answer to an event create: {"success", "event_id"}.
func AppendCreateAnswer(dst []byte, id uuid.UUID) []byte {
	dst = append(dst, `{"success":true,"event_id":`...)
	return append(appendID(dst, id), '}')
}
