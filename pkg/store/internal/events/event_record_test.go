package events

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
)

// While a judge's record is being stored, it is listed as one that is to be deleted, so that nothing stays
// of it if the process ends. Whoever finishes deletions in that moment takes it for one of a process that
// ended: it is stored again.
func TestRecordOutlivesThoseWhoFinishDeletions(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	about := oneEvent()
	if err := s.Put(t.Context(), testProject, about); err != nil {
		t.Fatal(err)
	}
	judge := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeModel, Name: "judge", Source: "evaluator"}}
	judge.Complete(time.UnixMilli(1767355200000))
	sessions := []uuid.UUID{judge.SessionID}
	for try, finish := range []bool{true, false} {
		err := s.Change(t.Context(), testProject, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
			return deleteLater(ctx, tx, testProject, sessions)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), testProject, event.Batch{Events: []event.Incoming{judge}}); err != nil {
			t.Fatal(err)
		}
		if finish {
			if err := s.FinishDeletion(t.Context(), testProject, judge.SessionID); err != nil {
				t.Fatal(err)
			}
		}
		if kept, err := s.keepRecord(t.Context(), testProject, about.Events[0].ID, sessions); err != nil || kept == finish {
			t.Fatalf("try %d: kept %t, %v", try, kept, err)
		}
	}
	// Whoever listed it while it was being stored and comes later deletes nothing.
	if err := s.FinishDeletion(t.Context(), testProject, judge.SessionID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Event(t.Context(), testProject, judge.ID); err != nil {
		t.Errorf("the record: %v", err)
	}
}
