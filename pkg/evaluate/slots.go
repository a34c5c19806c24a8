package evaluate

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Slots are places for tasks that run at the same time, shared fairly between projects: a free place
// goes to the waiting project that holds the fewest, in turn among equals, and within a project to
// whoever came first.
type Slots struct {
	total      int
	maxWaiting int

	mu      sync.Mutex
	used    int
	holding map[int64]int
	waiting []*waiter // first come first
	turns   map[int64]uint64
	turn    uint64
}

type waiter struct {
	project int64
	most    int
	ready   chan struct{} // closed when it has a place
}

// ErrBusy is the cause of the errors of tasks that were not begun, since others had all places.
var ErrBusy = errors.New("all slots are taken")

// NewSlots returns places: total at the same time, for which at most maxWaiting tasks of a project may
// wait.
func NewSlots(total, maxWaiting int) *Slots {
	return &Slots{total: total, maxWaiting: maxWaiting, holding: map[int64]int{}, turns: map[int64]uint64{}}
}

// Wait defines how a task waits for a place.
type Wait struct {
	// Project is whose task it is.
	Project int64
	// Most is how many places the project may hold; 0: all.
	Most int
	// Longest is how long the task waits; 0: until its context ends.
	Longest time.Duration
	// Queued says that the task waits in a queue of its own, and so counts for no bound here.
	Queued bool
}

// Take waits for a place, which Give gives back. The error is fault.Limited if the project has too many
// tasks of its own, fault.Unavailable if all slots are taken, both with ErrBusy as their cause; or
// that of a context that was cancelled.
func (s *Slots) Take(ctx context.Context, w Wait) error {
	s.mu.Lock()
	me := &waiter{project: w.Project, most: w.Most, ready: make(chan struct{})}
	if me.most <= 0 || me.most > s.total {
		me.most = s.total
	}
	if !w.Queued && s.waitingOf(w.Project) >= s.maxWaiting {
		s.mu.Unlock()
		return &fault.Error{Kind: fault.Limited, Err: ErrBusy, Msg: "too many evaluations of this project wait for their turn"}
	}
	s.waiting = append(s.waiting, me)
	s.grant()
	s.mu.Unlock()
	var late <-chan time.Time
	if w.Longest > 0 {
		timer := time.NewTimer(w.Longest)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-me.ready:
		return nil
	default:
	}
	select {
	case <-me.ready:
		return nil
	case <-late:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.waiting, me)
	if at < 0 { // it got a place meanwhile
		if ctx.Err() == nil {
			return nil
		}
		s.give(w.Project)
		return ctx.Err()
	}
	s.waiting = slices.Delete(s.waiting, at, at+1)
	s.forget(w.Project)
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	if s.holding[w.Project] >= me.most {
		return &fault.Error{Kind: fault.Limited, Err: ErrBusy,
			Msg: "other evaluations of this project take all the places that it may have at the same time"}
	}
	return &fault.Error{Kind: fault.Unavailable, Err: ErrBusy, Msg: "the server is busy with other evaluations"}
}

// Give releases a place.
func (s *Slots) Give(project int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.give(project)
}

// Wanted reports whether another project waits for a place and would get it.
func (s *Slots) Wanted(project int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.waiting, func(o *waiter) bool { return o.project != project && s.holding[o.project] < o.most })
}

func (s *Slots) waitingOf(project int64) (n int) {
	for _, w := range s.waiting {
		if w.project == project {
			n++
		}
	}
	return n
}

func (s *Slots) give(project int64) {
	s.used--
	if s.holding[project]--; s.holding[project] == 0 {
		delete(s.holding, project)
	}
	s.forget(project)
	s.grant()
}

// forget drops the turn of a project that neither holds a place nor waits for one.
func (s *Slots) forget(project int64) {
	if s.holding[project] == 0 && s.waitingOf(project) == 0 {
		delete(s.turns, project)
	}
}

// grant hands free places to those that wait.
func (s *Slots) grant() {
	for s.used < s.total {
		best := -1
		for i, w := range s.waiting {
			if s.holding[w.project] >= w.most {
				continue
			}
			if best < 0 || s.before(w.project, s.waiting[best].project) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		w := s.waiting[best]
		s.waiting = slices.Delete(s.waiting, best, best+1)
		s.used++
		s.holding[w.project]++
		s.turn++
		s.turns[w.project] = s.turn
		close(w.ready)
	}
}

// before reports whether project a comes before b: it holds fewer places, or had its last one longer ago.
func (s *Slots) before(a, b int64) bool {
	if s.holding[a] != s.holding[b] {
		return s.holding[a] < s.holding[b]
	}
	return s.turns[a] < s.turns[b]
}
