package tracer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// sendQueue is a bounded queue with one goroutine that sends its items in order, batch by batch. A
// batch is tried until it is sent or refused for good, or the queue is closed.
type sendQueue[T any] struct {
	what  string // names the items in errors
	send  func(ctx context.Context, batch []T) (lost int)
	limit int  // bytes; a single larger item may be in it alone
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
	room     sync.Cond // signalled when bytes falls or the queue is closed
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

// flush waits until the item with number upTo, and all before it, have left the queue.
type flush struct {
	upTo uint64
	done chan struct{}
}

// start starts the goroutine that sends.
func (q *sendQueue[T]) start() {
	q.ctx, q.cancel = context.WithCancel(context.Background())
	q.wake, q.ended = make(chan struct{}, 1), make(chan struct{})
	q.room.L = &q.mu
	go func() {
		defer close(q.ended)
		for {
			batch, bytes := q.take()
			if batch == nil {
				return
			}
			q.finish(len(batch), bytes, q.send(q.ctx, batch))
		}
	}()
}

// put adds an item, if need be after waiting for room.
func (q *sendQueue[T]) put(item T, size int) {
	q.mu.Lock()
	for q.block && q.full(size) && !q.closed {
		q.room.Wait()
	}
	if q.closed || q.full(size) {
		q.lost++
		first := !q.dropping
		q.dropping = true
		closed := q.closed
		q.mu.Unlock()
		switch {
		case closed && first:
			q.report(fmt.Errorf("tracer: %s after the end of the tracer are lost", q.what))
		case first:
			q.report(fmt.Errorf("tracer: the queue is full with %d bytes: %s are lost from now on, until the server answers", q.limit, q.what))
		}
		return
	}
	q.dropping = false
	q.in++
	q.items = append(q.items, sized[T]{item, size})
	q.waiting += size
	q.bytes += size
	signal := len(q.items) == 1 || q.ripe()
	q.mu.Unlock()
	if signal {
		q.signal()
	}
}

// full reports whether there is no room for so many bytes.
func (q *sendQueue[T]) full(size int) bool { return q.bytes > 0 && q.bytes+size > q.limit }

// ripe reports whether there is enough for a batch.
func (q *sendQueue[T]) ripe() bool { return len(q.items) >= q.batchItems || q.waiting >= q.batchBytes }

func (q *sendQueue[T]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take waits for the next batch and returns it; nil once the queue is closed and empty.
func (q *sendQueue[T]) take() (batch []T, bytes int) {
	var due <-chan time.Time
	for late := false; ; {
		q.mu.Lock()
		some := len(q.items) > 0
		if some && (late || q.closed || len(q.flushes) > 0 || q.ripe()) {
			break
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return nil, 0
		}
		if some && due == nil {
			timer := time.NewTimer(q.delay)
			defer timer.Stop()
			due = timer.C
		}
		select {
		case <-q.wake:
		case <-due:
			late = true
		}
	}
	defer q.mu.Unlock()
	for _, s := range q.items {
		if n := len(batch); n == q.batchItems || n > 0 && bytes+s.size > q.batchBytes {
			break
		}
		batch, bytes = append(batch, s.item), bytes+s.size
	}
	q.items = slices.Delete(q.items, 0, len(batch))
	q.waiting -= bytes
	return batch, bytes
}

// finish counts a batch and wakes those who waited for it.
func (q *sendQueue[T]) finish(items, bytes, lost int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.out += uint64(items)
	q.bytes -= bytes
	q.sent += int64(items - lost)
	q.lost += int64(lost)
	q.room.Broadcast()
	q.flushes = slices.DeleteFunc(q.flushes, func(f flush) bool {
		if f.upTo > q.out {
			return false
		}
		close(f.done)
		return true
	})
}

// flush sends at once what is queued and waits until all of it has left the queue.
func (q *sendQueue[T]) flush(ctx context.Context) error {
	q.mu.Lock()
	f := flush{upTo: q.in, done: make(chan struct{})}
	if q.out >= f.upTo {
		q.mu.Unlock()
		return nil
	}
	q.flushes = append(q.flushes, f)
	q.mu.Unlock()
	q.signal()
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		q.flushes = slices.DeleteFunc(q.flushes, func(g flush) bool { return g.done == f.done })
		return fmt.Errorf("tracer: %d %s are still waiting: %w", q.in-q.out, q.what, context.Cause(ctx))
	}
}

// close accepts no more items and waits until the queue is empty. Items that are still in it when
// the context ends are lost.
func (q *sendQueue[T]) close(ctx context.Context) {
	q.mu.Lock()
	q.closed = true
	q.room.Broadcast()
	q.mu.Unlock()
	q.signal()
	select {
	case <-q.ended:
	case <-ctx.Done():
	}
	q.cancel()
	<-q.ended
}

func (q *sendQueue[T]) counts() Counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Counts{Waiting: int64(q.in - q.out), Sent: q.sent, Lost: q.lost}
}
