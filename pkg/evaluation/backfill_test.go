package evaluation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func TestBackfillDue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		asked   bool
		waiting int
		want    bool
	}{{false, 0, true}, {false, 999, true}, {false, 1000, false}, {true, 0, true}, {true, 1, false}} {
		b := Backfill{Asked: tt.asked}
		if got := b.Due(Progress{Waiting: tt.waiting, Done: 5000}); got != tt.want {
			t.Errorf("asked for all %v, %d waiting: due is %v, want %v", tt.asked, tt.waiting, got, tt.want)
		}
	}
}

func TestBackfillRoom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ limit, looked, want int }{{0, 9000, 500}, {100, 0, 100}, {700, 0, 500}, {700, 500, 200}, {700, 700, 0}} {
		b := Backfill{Limit: tt.limit, Looked: tt.looked}
		if got := b.Room(500); got != tt.want {
			t.Errorf("%d of at most %d: room for %d, want %d", tt.looked, tt.limit, got, tt.want)
		}
	}
}

func TestBackfillTakesEachEventOnce(t *testing.T) {
	t.Parallel()
	id := func(n byte) uuid.UUID { return uuid.UUID{n} }
	events := []Candidate{{30, id(1)}, {20, id(9)}, {20, id(8)}, {20, id(2)}, {10, id(5)}} // as a search orders them
	to := 40.0
	b := Backfill{To: &to}
	if got := b.NextTo(); got != &to {
		t.Errorf("it begins at %v, want its own bound", got)
	}
	for i, want := range [][]uuid.UUID{{id(1), id(9)}, {id(8), id(2)}, {id(5)}, nil} {
		if diff := cmp.Diff(want, b.Take(events, 2)); diff != "" {
			t.Errorf("step %d (-want +got)\n%s", i+1, diff)
		}
		if at := []float64{20, 20, 10, 10}[i]; *b.NextTo() != at {
			t.Errorf("step %d leaves it at %v, want %v", i+1, *b.NextTo(), at)
		}
	}
	if b.AtID != id(5) {
		t.Errorf("it stands at %s, want the oldest event", b.AtID)
	}
}

func TestBackfillCount(t *testing.T) {
	t.Parallel()
	b := Backfill{Looked: 10, Skipped: 1}
	b.Count(5, 3)
	if b.Looked != 15 || b.Skipped != 3 {
		t.Errorf("looked at %d and skipped %d, want 15 and 3", b.Looked, b.Skipped)
	}
}
