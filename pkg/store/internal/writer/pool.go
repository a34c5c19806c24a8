// Package writer shares write transactions among requests.
//
// A Pool has a queue and a goroutine for each writer of a database. A writer takes what waits, runs it in
// one transaction, and answers each request when the commit is on disk: an idle store answers at the speed
// of one commit, a busy one shares each commit among many requests. A request that fails for a reason of
// its own fails alone. What a transaction consists of, the pool asks its owner (Hooks, Transaction).
package writer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
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
	ErrClosed = &fault.Error{Kind: fault.Unavailable, Msg: "the store is shutting down"}
)

// Transaction is what the owner of a pool makes of one transaction of the database.
type Transaction interface {
	// StoreBatches stores the batches of the requests that share the transaction, before their changes run.
	StoreBatches(ctx context.Context, batches []Batch) error
	// Finish writes what has come together, as the last statements of the transaction.
	Finish(ctx context.Context) error
	// Publish updates what is in memory once the transaction has committed.
	Publish()
}

// Hooks are what a pool asks of its owner.
type Hooks[T Transaction] struct {
	// Ready makes room for events of these days, outside any transaction. anew is set if a
	// transaction failed since it was called.
	Ready func(ctx context.Context, days []int32, anew bool) error
	// Begin returns a transaction of a writer. again is set if one failed before with the same requests.
	Begin func(tx sqldb.Tx, writer int, again bool) T
	// Observe is told of each transaction how long it took, all of its tries together.
	Observe func(ctx context.Context, batches []Batch, took time.Duration, err error)
}

// Pool is the writers of a database. A writer takes what waits in its queue, stores it in one
// transaction, and answers all requests when the commit is on disk.
type Pool[T Transaction] struct {
	db       sqldb.DB
	hooks    Hooks[T]
	writers  []*committer[T]
	waiting  *backlog
	requests atomic.Int64 // that were submitted and are not answered yet
	events   atomic.Int64 // in these
	inFlight *inFlight

	closing sync.RWMutex // held to read while a request is being queued
	closed  bool
	work    sync.WaitGroup
}

// NewPool starts the writers of a database. At most queueBytes of payload wait for them.
func NewPool[T Transaction](db sqldb.DB, queueBytes int64, hooks Hooks[T]) *Pool[T] {
	p := &Pool[T]{db: db, hooks: hooks, waiting: &backlog{limit: queueBytes}, inFlight: newInFlight()}
	for n := range db.Writers() {
		w := &committer[T]{p: p, number: n, requests: make(chan *Request[T], queueLength)}
		p.writers = append(p.writers, w)
		p.work.Go(w.run)
	}
	return p
}

// Count returns how many writers there are.
func (p *Pool[T]) Count() int { return len(p.writers) }

// Queued returns the bytes that wait for a commit.
func (p *Pool[T]) Queued() int64 { return p.waiting.size() }

// Oldest returns when the transaction began that has been running longest, the zero time if none runs.
func (p *Pool[T]) Oldest() (began time.Time) {
	for _, w := range p.writers {
		if since := w.since.Load(); since != 0 && (began.IsZero() || since < began.UnixNano()) {
			began = time.Unix(0, since)
		}
	}
	return began
}

// Waiting returns how many requests, and events in them, were submitted and are not answered yet, and how many requests the queues
// hold at most: further ones wait until they are let in.
func (p *Pool[T]) Waiting() (requests, events, maxRequests int64) {
	return p.requests.Load(), p.events.Load(), int64(len(p.writers)) * queueLength
}

// count adds a request to those that wait, or with n = -1 takes it off.
func (p *Pool[T]) count(r *Request[T], n int64) {
	p.requests.Add(n)
	if r.Batch != nil {
		events, _ := r.Batch.Size()
		p.events.Add(n * int64(events))
	}
}

// Take reserves room for n bytes in the queues; fault.Unavailable if there is none. Submit or GiveBack ends that.
func (p *Pool[T]) Take(n int64) error {
	if !p.waiting.take(n) {
		return errBusy
	}
	return nil
}

// GiveBack returns the room of a request that Take was called for and that is not submitted.
func (p *Pool[T]) GiveBack(n int64) { p.waiting.give(n) }

// Submit queues a request with a writer and waits for its answer. Its bytes, which the caller has
// taken, are given back when it is answered or refused. If ctx ends first, a batch may still
// be stored, but Apply does not run any more when Submit returns; all writes are idempotent.
func (p *Pool[T]) Submit(ctx context.Context, n int, r *Request[T]) error {
	r.done = make(chan error, 1)
	p.closing.RLock()
	if p.closed {
		p.closing.RUnlock()
		p.waiting.give(r.Bytes)
		return ErrClosed
	}
	p.count(r, 1)
	select {
	case p.writers[n].requests <- r:
		p.closing.RUnlock()
	case <-ctx.Done():
		p.closing.RUnlock()
		p.count(r, -1)
		p.waiting.give(r.Bytes)
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

// Close refuses new requests, and reports whether it is the first to do so. It may be called again.
func (p *Pool[T]) Close() (first bool) {
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

// Wait waits until the writers have answered all requests, once Close was called.
func (p *Pool[T]) Wait() { p.work.Wait() }
