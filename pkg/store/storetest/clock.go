package storetest

import (
	"sync/atomic"
	"time"
)

// Clock is a store's clock that a test moves. The store reads it in the background, too.
type Clock struct{ now atomic.Pointer[time.Time] }

// NewClock makes a clock that stands at start.
func NewClock(start time.Time) *Clock {
	c := &Clock{}
	c.now.Store(&start)
	return c
}

// Now returns the time at which the clock stands.
func (c *Clock) Now() time.Time { return *c.now.Load() }

// Add moves the clock. It is for one goroutine.
func (c *Clock) Add(d time.Duration) {
	now := c.Now().Add(d)
	c.now.Store(&now)
}
