package tracer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// lane is a bounded queue with one goroutine that sends what waits in it: in order, batch by
// batch, each until it is sent, refused for good, or the lane is closed.
type lane[T any] struct {
	what  string // is in it, for errors
	send  func(ctx context.Context, batch []T) (lost int)
	limit int  // bytes that may be in it; a single larger item may be in it alone
	block bool // put waits for room; else it drops
	// A batch is sent when it has so many items or bytes, or its first item has waited so long.
	batchItems, batchBytes int
	delay                  time.Duration
	report                 func(error)

	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // has one element if there may be something to do
	ended  chan struct{}

	mu       sync.Mutex
	room     sync.Cond // signalled when bytes falls or the lane is closed
	items    []sized[T]
	waiting  int // bytes of items
	bytes    int // bytes of items and of the batch that is under way
	in, out  uint64
	flushes  []flush
	sent     int64
	lost     int64 // refused by the server, dropped by put, or left over at the end
	dropping bool  // the last put dropped, which was reported
	closed   bool
}

type sized[T any] struct {
	item T
	size int
}

// flush waits until all that came up to number upTo is out.
type flush struct {
	upTo uint64
	done chan struct{}
}

// start runs the lane's goroutine.
func (l *lane[T]) start() {
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.wake, l.ended = make(chan struct{}, 1), make(chan struct{})
	l.room.L = &l.mu
	go func() {
		defer close(l.ended)
		for {
			batch, bytes := l.take()
			if batch == nil {
				return
			}
			l.finish(len(batch), bytes, l.send(l.ctx, batch))
		}
	}()
}

// put adds an item, if need be after waiting for room.
func (l *lane[T]) put(item T, size int) {
	l.mu.Lock()
	for l.block && l.full(size) && !l.closed {
		l.room.Wait()
	}
	if l.closed || l.full(size) {
		l.lost++
		tell := !l.dropping
		l.dropping = true
		closed := l.closed
		l.mu.Unlock()
		switch {
		case closed && tell:
			l.report(fmt.Errorf("tracer: %s after the end of the tracer are lost", l.what))
		case tell:
			l.report(fmt.Errorf("tracer: the queue is full with %d bytes: %s are lost from now on, until the server answers", l.limit, l.what))
		}
		return
	}
	l.dropping = false
	l.in++
	l.items = append(l.items, sized[T]{item, size})
	l.waiting += size
	l.bytes += size
	tell := len(l.items) == 1 || l.ripe()
	l.mu.Unlock()
	if tell {
		l.signal()
	}
}

// full says that there is no room for so many bytes.
func (l *lane[T]) full(size int) bool { return l.bytes > 0 && l.bytes+size > l.limit }

// ripe says that there is enough for a batch.
func (l *lane[T]) ripe() bool { return len(l.items) >= l.batchItems || l.waiting >= l.batchBytes }

func (l *lane[T]) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take waits for the next batch. It is nil when the lane is closed and empty.
func (l *lane[T]) take() (batch []T, bytes int) {
	var due <-chan time.Time
	for late := false; ; {
		l.mu.Lock()
		some := len(l.items) > 0
		if some && (late || l.closed || len(l.flushes) > 0 || l.ripe()) {
			break
		}
		closed := l.closed
		l.mu.Unlock()
		if closed {
			return nil, 0
		}
		if some && due == nil {
			timer := time.NewTimer(l.delay)
			defer timer.Stop()
			due = timer.C
		}
		select {
		case <-l.wake:
		case <-due:
			late = true
		}
	}
	defer l.mu.Unlock()
	for _, s := range l.items {
		if n := len(batch); n == l.batchItems || n > 0 && bytes+s.size > l.batchBytes {
			break
		}
		batch, bytes = append(batch, s.item), bytes+s.size
	}
	l.items = slices.Delete(l.items, 0, len(batch))
	l.waiting -= bytes
	return batch, bytes
}

// finish counts a batch, and lets those go on who waited for it.
func (l *lane[T]) finish(items, bytes, lost int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out += uint64(items)
	l.bytes -= bytes
	l.sent += int64(items - lost)
	l.lost += int64(lost)
	l.room.Broadcast()
	l.flushes = slices.DeleteFunc(l.flushes, func(f flush) bool {
		if f.upTo > l.out {
			return false
		}
		close(f.done)
		return true
	})
}

// flush sends at once what is in the lane and waits until it is out.
func (l *lane[T]) flush(ctx context.Context) error {
	l.mu.Lock()
	f := flush{upTo: l.in, done: make(chan struct{})}
	if l.out >= f.upTo {
		l.mu.Unlock()
		return nil
	}
	l.flushes = append(l.flushes, f)
	l.mu.Unlock()
	l.signal()
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		l.flushes = slices.DeleteFunc(l.flushes, func(g flush) bool { return g.done == f.done })
		return fmt.Errorf("tracer: %d %s are still waiting: %w", l.in-l.out, l.what, context.Cause(ctx))
	}
}

// close takes no more items and waits until the lane is empty. What is still in it when the
// context ends is lost.
func (l *lane[T]) close(ctx context.Context) {
	l.mu.Lock()
	l.closed = true
	l.room.Broadcast()
	l.mu.Unlock()
	l.signal()
	select {
	case <-l.ended:
	case <-ctx.Done():
	}
	l.cancel()
	<-l.ended
}

func (l *lane[T]) counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Counts{Waiting: int64(l.in - l.out), Sent: l.sent, Lost: l.lost}
}
