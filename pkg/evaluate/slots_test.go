package evaluate

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
)

// queueFor has n tasks of a project wait, each of which tells order when it has a place, and keeps it.
func queueFor(t *testing.T, s *Slots, order chan int64, project int64, n int, most int) {
	t.Helper()
	for range n {
		before := s.queued()
		go func() {
			if s.Take(context.Background(), Wait{Project: project, Most: most}) == nil {
				order <- project
			}
		}()
		for s.queued() == before {
			time.Sleep(time.Millisecond)
		}
	}
}

// queued counts all that came: those that wait and those that have a place.
func (s *Slots) queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) + int(s.turn)
}

func TestSlotsAreShared(t *testing.T) {
	t.Parallel()
	s := NewSlots(2, 100)
	order := make(chan int64, 100)
	queueFor(t, s, order, 1, 6, 0)
	queueFor(t, s, order, 2, 2, 0)
	queueFor(t, s, order, 3, 1, 0)
	var got []int64
	for len(got) < 9 {
		p := <-order
		got = append(got, p)
		if len(got) < 2 {
			continue
		}
		s.Give(got[len(got)-2])
	}
	s.Give(got[8])
	// Two of the first before anybody else came; then each in turn.
	if want := []int64{1, 1, 2, 3}; got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] {
		t.Errorf("the order is %v, want %v first", got, want)
	}
	if len(s.holding) != 0 || len(s.turns) != 0 || s.used != 0 {
		t.Errorf("left behind: %+v", s)
	}
}

func TestSlotsBounds(t *testing.T) {
	t.Parallel()
	s := NewSlots(3, 2)
	order := make(chan int64, 10)
	queueFor(t, s, order, 1, 4, 2) // two have places, two wait
	err := s.Take(t.Context(), Wait{Project: 1, Most: 2})
	if fault.Of(err) != fault.Limited || !errors.Is(err, ErrBusy) {
		t.Errorf("a third that waits: %v", err)
	}
	// The third place is another project's.
	if err := s.Take(t.Context(), Wait{Project: 2, Longest: time.Minute}); err != nil {
		t.Error(err)
	}
	if err := s.Take(t.Context(), Wait{Project: 3, Longest: time.Millisecond}); fault.Of(err) != fault.Unavailable || !errors.Is(err, ErrBusy) {
		t.Errorf("no place is left: %v", err)
	}
	if err := s.Take(t.Context(), Wait{Project: 1, Most: 2, Queued: true, Longest: time.Millisecond}); fault.Of(err) != fault.Limited {
		t.Errorf("the project has all it may have: %v", err)
	}
	late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.Take(late, Wait{Project: 3, Queued: true}); !errors.Is(err, ErrBusy) {
		t.Errorf("the time is up: %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := s.Take(gone, Wait{Project: 3}); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller is gone: %v", err)
	}
	for range 4 {
		<-order
		s.Give(1)
	}
	s.Give(2)
	if s.used != 0 || len(s.waiting) != 0 {
		t.Errorf("left behind: %+v", s)
	}
}

func TestSlotsWanted(t *testing.T) {
	t.Parallel()
	s := NewSlots(1, 10)
	if err := s.Take(t.Context(), Wait{Project: 1}); err != nil || s.Wanted(1) {
		t.Fatal(err, s.Wanted(1))
	}
	order := make(chan int64, 10)
	queueFor(t, s, order, 1, 1, 0) // of the same project
	if s.Wanted(1) {
		t.Error("a project stands in its own way")
	}
	queueFor(t, s, order, 2, 1, 0)
	if !s.Wanted(1) {
		t.Error("another one waits")
	}
	s.Give(1)
	if got := <-order; got != 2 {
		t.Errorf("project %d came first", got)
	}
	s.Give(2)
	<-order
	s.Give(1)
}
