package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
)

// A rule that removes payloads leaves alone what has moved to another session since it was listed: the next pass finds it there.
func TestRetentionMeetsMove(t *testing.T) {
	t.Parallel()
	s, err := OpenSQLite(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	trace, session := uuid.New(), uuid.New()
	put := func(of uuid.UUID, provisional bool, began time.Time) uuid.UUID {
		t.Helper()
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: of, ParentID: of, Type: event.TypeTool, Name: "step", Start: float64(began.UnixMilli()),
			Outputs: json.RawMessage(`{"text":"old"}`), Metadata: json.RawMessage(fmt.Sprintf(`{"large":%q}`, strings.Repeat("x", 10_000)))},
			TraceID: trace, Provisional: provisional}
		e.Complete(began)
		if err := s.Put(t.Context(), p.ID, event.Batch{Events: []event.Incoming{e}}); err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	first, moved := put(trace, true, time.Now().Add(-4*24*time.Hour)), false
	rule := project.RetentionRule{PayloadDays: 1}
	for range 2 {
		if _, err := s.events.Retain(t.Context(), p.ID, rule, func(context.Context) error {
			if !moved {
				put(session, false, time.Now())
				moved = true
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Event(t.Context(), p.ID, first)
		if err != nil || got.SessionID != session || !bytes.Contains(got.Metadata, []byte("xxxx")) {
			t.Fatalf("session %s, metadata of %d bytes (%v)", got.SessionID, len(got.Metadata), err)
		}
	}
	if got, err := s.Event(t.Context(), p.ID, first); err != nil || got.Outputs != nil {
		t.Errorf("outputs %s (%v) after the second pass", got.Outputs, err)
	}
}
