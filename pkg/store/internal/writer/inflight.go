package writer

import (
	"slices"
	"sync"
)

// inFlight holds the ids that writers are storing. The unique key does not see the same id on
// another day, and another writer's filter has it only once it is stored: two writers never store
// the same id at the same time.
type inFlight struct {
	mu    sync.Mutex
	freed *sync.Cond
	ids   map[Key]bool
}

func newInFlight() *inFlight {
	f := &inFlight{ids: map[Key]bool{}}
	f.freed = sync.NewCond(&f.mu)
	return f
}

// enter waits until none of ids is in flight, and takes all of them at once.
func (f *inFlight) enter(ids []Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for slices.ContainsFunc(ids, func(k Key) bool { return f.ids[k] }) {
		f.freed.Wait()
	}
	for _, k := range ids {
		f.ids[k] = true
	}
}

func (f *inFlight) leave(ids []Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range ids {
		delete(f.ids, k)
	}
	f.freed.Broadcast()
}
