package hostile

import (
	"net/http"
	"testing"
	"time"
)

func init() {
	register(hostileCase{name: "far_days", attack: farDays, memoryMiB: 300, latency: 15 * time.Second})
}

// farDays sends an event for each day there is, then some for days that there are not.
func farDays(t *testing.T, s *stage) {
	now := time.Now().UnixMilli()
	const day = 86_400_000
	for from := int64(0); from < 4000; from += 1000 {
		events := make([]map[string]any, 0, 1000)
		for i := from; i < from+1000; i++ {
			events = append(events, map[string]any{"event_type": "tool", "inputs": map[string]any{}, "start_time": now - i*day})
		}
		if err := s.hostile.ingest.JSON(t.Context(), http.MethodPost, "/v1/events/batch", map[string]any{"events": events}, nil); err != nil {
			t.Error("days in the window:", err)
		}
	}
	var far []map[string]any
	for i := range int64(400) {
		far = append(far, map[string]any{"event_type": "tool", "inputs": map[string]any{}, "start_time": i * 28 * day})
	}
	if err := s.hostile.ingest.JSON(t.Context(), http.MethodPost, "/v1/events/batch", map[string]any{"events": far}, nil); err == nil {
		t.Error("months from 1970 on were accepted")
	}
	// What the neighbour sends now costs what it did.
	for range 3 {
		batch := make([]map[string]any, 50)
		for i := range batch {
			batch[i] = map[string]any{"event_type": "tool", "inputs": map[string]any{}}
		}
		_ = s.neighbour.timed(func() error {
			return s.neighbour.ingest.JSON(t.Context(), http.MethodPost, "/v1/events/batch", map[string]any{"events": batch}, nil)
		})
	}
}
