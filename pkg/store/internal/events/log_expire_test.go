package events

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// TestExpireLogs holds that notes go after their time, those that wait and those that are in
// their event, and that an event keeps what it has.
func TestExpireLogs(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1767355200000)
	s := openTest(t, Options{Now: func() time.Time { return now }, PendingTTL: time.Hour})
	span := event.Incoming{TraceID: uuid.New(), Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeModel, Fixed: true}}
	span.Complete(now)
	put := func(b event.Batch) {
		t.Helper()
		if err := s.Put(t.Context(), testProject, b); err != nil {
			t.Fatal(err)
		}
	}
	say := func(id uuid.UUID, text string) event.LogPart {
		return event.LogPart{Kind: event.LogInput, SpanID: id, TraceID: span.TraceID, Nanos: 1, Content: json.RawMessage(`[{"role":"user","content":"` + text + `"}]`)}
	}
	put(event.Batch{Events: []event.Incoming{span}})
	put(event.Batch{LogParts: []event.LogPart{say(span.ID, "early"), say(uuid.New(), "nobody's")}})
	count := func() (n int) {
		t.Helper()
		if _, err := sqldb.One(t.Context(), s.db, `SELECT count(*) FROM log_part`, nil, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, tt := range []struct {
		after         time.Duration
		rows, waiting int
	}{{time.Hour, 2, 1}, {time.Hour + time.Millisecond, 0, 0}} {
		if err := s.expireLogs(t.Context(), now.Add(tt.after)); err != nil {
			t.Fatal(err)
		}
		if n := count(); n != tt.rows || s.logCounts.waiting.Load() != int64(tt.waiting) {
			t.Errorf("after %s %d rows, %d waiting, want %d, %d", tt.after, n, s.logCounts.waiting.Load(), tt.rows, tt.waiting)
		}
	}
	put(event.Batch{LogParts: []event.LogPart{say(span.ID, "late")}})
	e, err := s.Event(t.Context(), testProject, span.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(e.Inputs); got != `{"chat_history":[{"role":"user","content":"early"}]}` {
		t.Errorf("inputs %s", got)
	}
	if got := rawjson.Get(rawjson.Get(e.Metadata, "from_logs"), "count"); string(got) != "2" {
		t.Errorf("from_logs.count %s, want 2", got)
	}
}
