package store

import (
	"context"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Bounds of one commit. A writer takes what waits and never waits for more, so an idle store
// answers at the speed of one commit and a busy one shares each commit among many requests.
const (
	commitEvents = 2000
	commitBytes  = 8 << 20
	// commitTimeout ends a transaction that hangs on its database.
	commitTimeout = 60 * time.Second
	// commitTries is how often a transaction is run that lost against another writer, and
	// commitPause the longest pause before the second try; it grows with each. Pauses are
	// random, so that two who met do not meet again.
	commitTries = 20
	commitPause = 20 * time.Millisecond
	// queueLength is how many requests wait for one writer, in addition to those in its commit.
	queueLength = 256
)

var (
	errBusy   = &fault.Error{Kind: fault.Unavailable, Msg: "the store is busy, try again", RetryAfter: time.Second}
	errClosed = &fault.Error{Kind: fault.Unavailable, Msg: "the store is shutting down"}
)

// transaction is what the owner of a pool makes of one transaction of the database.
type transaction interface {
	// storeBatches stores the batches of the requests that share the transaction, before their changes run.
	storeBatches(ctx context.Context, batches []requestBatch) error
	// finish writes what has come together, as the last statements of the transaction.
	finish(ctx context.Context) error
	// publish updates what is in memory once the transaction has committed.
	publish()
}

// writerHooks are what a pool asks of its owner.
type writerHooks[T transaction] struct {
	// ready makes room for events of these days, outside any transaction. anew is set if a
	// transaction failed since it was called.
	ready func(ctx context.Context, days []int32, anew bool) error
	// begin returns a transaction of a writer. again is set if one failed before with the same requests.
	begin func(tx writeTx, writer int, again bool) T
	// observe is told of each transaction how long it took, all of its tries together.
	observe func(ctx context.Context, batches []requestBatch, took time.Duration, err error)
}

// writerPool is the writers of a database. A writer takes what waits in its queue, stores it in one
// transaction, and answers all requests when the commit is on disk.
type writerPool[T transaction] struct {
	db       database
	hooks    writerHooks[T]
	writers  []*writer[T]
	waiting  *backlog
	inFlight *inFlight

	closing sync.RWMutex // held to read while a request is being queued
	closed  bool
	work    sync.WaitGroup
}

// newWriterPool starts the writers of a database. At most queueBytes of payload wait for them.
func newWriterPool[T transaction](db database, queueBytes int64, hooks writerHooks[T]) *writerPool[T] {
	p := &writerPool[T]{db: db, hooks: hooks, waiting: &backlog{limit: queueBytes}, inFlight: newInFlight()}
	for n := range db.writers() {
		w := &writer[T]{p: p, number: n, requests: make(chan *writeRequest[T], queueLength)}
		p.writers = append(p.writers, w)
		p.work.Go(w.run)
	}
	return p
}

// count returns how many writers there are.
func (p *writerPool[T]) count() int { return len(p.writers) }

// queued returns the bytes that wait for a commit.
func (p *writerPool[T]) queued() int64 { return p.waiting.size() }

// take reserves room for n bytes in the queues; errBusy if there is none. submit or giveBack ends that.
func (p *writerPool[T]) take(n int64) error {
	if !p.waiting.take(n) {
		return errBusy
	}
	return nil
}

// giveBack returns the room of a request that take was called for and that is not submitted.
func (p *writerPool[T]) giveBack(n int64) { p.waiting.give(n) }

// submit queues a request with a writer and waits for its answer. Its bytes, which the caller has
// taken, are given back when it is answered or refused. If ctx ends first, a batch may still
// be stored, but apply does not run any more when submit returns; all writes are idempotent.
func (p *writerPool[T]) submit(ctx context.Context, n int, r *writeRequest[T]) error {
	r.done = make(chan error, 1)
	p.closing.RLock()
	if p.closed {
		p.closing.RUnlock()
		p.waiting.give(r.bytes)
		return errClosed
	}
	select {
	case p.writers[n].requests <- r:
		p.closing.RUnlock()
	case <-ctx.Done():
		p.closing.RUnlock()
		p.waiting.give(r.bytes)
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		r.abandon()
		return ctx.Err()
	}
}

// close refuses new requests; wait waits until the writers have answered all others. close may be
// called again.
func (p *writerPool[T]) close() (first bool) {
	p.closing.Lock()
	defer p.closing.Unlock()
	if p.closed {
		return false
	}
	p.closed = true
	for _, w := range p.writers {
		close(w.requests)
	}
	return true
}

func (p *writerPool[T]) wait() { p.work.Wait() }
