package spangrovereceiver

import (
	"context"
	"sync"
)

// gate counts the requests inside, and lets nobody in once it is closed. The zero gate is open. Shutdown closes it and
// waits for those inside, also for requests on the API's port, whose server is not the receiver's.
type gate struct {
	mu     sync.Mutex
	closed bool
	inside int
	empty  chan struct{} // closed when the last leaves a closed gate; nil while nobody waits
}

// enter reports whether the gate is open; if so, leave must follow.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

// leave must be called once for each enter that returned true.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.inside == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// close lets nobody in any more. It does not wait.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// drain waits until everybody has left, or ctx ends.
func (g *gate) drain(ctx context.Context) error {
	g.mu.Lock()
	if g.inside == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty := g.empty
	g.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
