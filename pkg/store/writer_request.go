package store

import (
	"context"
	"iter"
	"sync"
)

// writeRequest is one entry of a writer's queue: a batch of events, or a change of stored rows.
type writeRequest[T transaction] struct {
	batch requestBatch // nil: none
	// apply changes stored rows. It may run many times, at most 2 x commitTries: again where another
	// writer was in the way, and alone where a neighbour broke the common transaction. So what it
	// leaves outside of the transaction is set again by each run and never added to; counters count
	// after submit has returned. A *fault.Error it returns is this request's own answer and must
	// leave the transaction untouched; any other error rolls back the whole commit.
	apply     func(ctx context.Context, tx T) error
	bytes     int64
	mu        sync.Mutex // held while apply runs
	abandoned bool       // the caller does not wait any more: apply must not run
	done      chan error // takes one answer
}

// requestBatch is what a request stores at once.
type requestBatch interface {
	// keys returns the ids that it stores.
	keys() iter.Seq[idKey]
	// days returns the days on which it stores them; some may come twice.
	days() iter.Seq[int32]
	// size returns how many events it has, and about how many bytes.
	size() (events int, bytes int64)
}

// run applies the change, unless the caller has left.
func (r *writeRequest[T]) run(ctx context.Context, tx T) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.apply == nil || r.abandoned {
		return nil
	}
	return r.apply(ctx, tx)
}

// abandon makes sure that apply does not run any more, so that the caller may reuse what it uses.
func (r *writeRequest[T]) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abandoned = true
}
