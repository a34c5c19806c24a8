package writer

import (
	"context"
	"iter"
	"sync"
)

// Request is one entry of a writer's queue: a batch of events, or a change of stored rows.
type Request[T Transaction] struct {
	Batch Batch // nil: none
	// Apply changes stored rows. It may run many times, at most 2 x commitTries: again where another
	// writer was in the way, and alone where a neighbour broke the common transaction. So what it
	// leaves outside of the transaction is set again by each run and never added to; counters count
	// after Submit has returned. A permanent *fault.Error it returns is this request's own answer; if it has written
	// before, or for any other error, the whole commit is rolled back, and its neighbours are tried alone.
	Apply     func(ctx context.Context, tx T) error
	Bytes     int64
	mu        sync.Mutex // held while Apply runs
	abandoned bool       // the caller does not wait any more: Apply must not run
	done      chan error // takes one answer
}

// Batch is what a request stores at once.
type Batch interface {
	// Keys returns the ids that it stores.
	Keys() iter.Seq[Key]
	// Days returns the days on which it stores them; some may come twice.
	Days() iter.Seq[int32]
	// Size returns how many events it has, and about how many bytes.
	Size() (events int, bytes int64)
}

// run applies the change, unless the caller has left.
func (r *Request[T]) run(ctx context.Context, tx T) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Apply == nil || r.abandoned {
		return nil
	}
	return r.Apply(ctx, tx)
}

// abandon makes sure that Apply does not run any more, so that the caller may reuse what it uses.
func (r *Request[T]) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abandoned = true
}
