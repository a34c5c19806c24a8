package resource

import (
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/deletion"
	"github.com/spangrove/spangrove/pkg/fault"
)

// TestCancelledWhilePreparing cancels a large deletion while what it is to delete is being written down.
func TestCancelledWhilePreparing(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	p, err := s.EnsureProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	d := deletion.Deletion{ID: NewDocumentID(now), Of: deletion.Events, State: deletion.Preparing, Server: s.retention.name, Created: now.UnixMilli()}
	cancelled := make(chan error, 1)
	go func() {
		for {
			switch _, err := s.CancelDeletion(t.Context(), p.ID, d.ID); {
			case fault.IsNotFound(err): // not begun yet
			default:
				cancelled <- err
				return
			}
		}
	}()
	parts := make([][]byte, 20_000)
	for i := range parts {
		parts[i] = []byte("part")
	}
	err = s.writeParts(t.Context(), p.ID, &d, parts)
	if err := <-cancelled; err != nil {
		t.Fatalf("cancel: %v", err)
	}
	if fault.Of(err) != fault.Conflict {
		t.Errorf("who asked for it is told %v", err)
	}
	after, err := s.Deletion(t.Context(), p.ID, d.ID)
	if err != nil {
		t.Fatal(err)
	}
	if after.State != deletion.Cancelled {
		t.Errorf("a deletion that was cancelled is %s", after.State)
	}
}
