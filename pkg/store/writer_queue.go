package store

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// request is one entry of a writer's queue: a batch of events, or a change of stored rows.
type request struct {
	batch *writeBatch
	// apply changes stored rows. It may run many times, at most 2 x commitTries: again where another
	// writer was in the way, and alone where a neighbour broke the common transaction. So what it
	// leaves outside of the transaction is set again by each run and never added to; counters count
	// after submit has returned. A *fault.Error it returns is this request's own answer and must
	// leave the transaction untouched; any other error rolls back the whole commit.
	apply     func(ctx context.Context, tx writeTx) error
	mu        sync.Mutex // held while apply runs
	abandoned bool       // the caller does not wait any more: apply must not run
	bytes     int64
	done      chan error // takes one answer
}

// run applies the change, unless the caller has left.
func (r *request) run(ctx context.Context, tx writeTx) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.apply == nil || r.abandoned {
		return nil
	}
	return r.apply(ctx, tx)
}

// abandon makes sure that apply does not run any more, so that the caller may reuse what it uses.
func (r *request) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abandoned = true
}

// backlog bounds what waits in all writers together, in bytes of payload.
type backlog struct {
	mu          sync.Mutex
	used, limit int64
}

// take reserves n bytes. A request larger than the bound is let in when nothing else waits.
func (q *backlog) take(n int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used > 0 && q.used+n > q.limit {
		return false
	}
	q.used += n
	return true
}

func (q *backlog) give(n int64) {
	q.mu.Lock()
	q.used -= n
	q.mu.Unlock()
}

func (q *backlog) size() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used
}

// change runs f in the writer and waits for its commit. f may run more than once (see request.apply).
func (s *Store) change(ctx context.Context, project int64, id uuid.UUID, size int64, f func(context.Context, writeTx) error) error {
	if !s.queue.take(size) {
		s.telemetry.refused(ctx)
		return errBusy
	}
	return s.submit(ctx, s.writerOfEvent(ctx, project, id), &request{apply: f, bytes: size})
}

// writerOfEvent returns the number of the writer for an event's session, so that writers seldom wait
// for one another's rows; for an unknown event, that of its own id. Where there are several writers,
// the last one writes everything but telemetry (id is uuid.Nil), so that no event waits for it.
func (s *Store) writerOfEvent(ctx context.Context, project int64, id uuid.UUID) int {
	if len(s.writers) == 1 || id == uuid.Nil {
		return len(s.writers) - 1
	}
	var session uuid.UUID
	from := s.db.frag()
	if ok, err := one(ctx, s.db.quick(), `SELECT `+from.sessionID+` FROM `+from.from+` WHERE e.event_id = $1 AND e.project_id = $2`,
		[]any{s.db.id(id), project}, scanID{&session}); err == nil && ok {
		return s.writerOf(session)
	}
	if to, ok, err := aliasOf(ctx, s.db.quick(), project, id); err == nil && ok {
		return s.writerOf(to)
	}
	return s.writerOf(id)
}

func (s *Store) writerOf(id uuid.UUID) int {
	return int(hashID(id)[0] % uint64(max(len(s.writers)-1, 1)))
}

// submit queues a request with a writer and waits for its answer. Its bytes, taken from the queue by the
// caller, are given back when it is answered or refused. If ctx ends first, a batch may still
// be stored, but apply does not run any more when submit returns; all writes are idempotent.
func (s *Store) submit(ctx context.Context, n int, r *request) error {
	r.done = make(chan error, 1)
	s.closing.RLock()
	if s.closed {
		s.closing.RUnlock()
		s.queue.give(r.bytes)
		return errClosed
	}
	select {
	case s.writers[n].requests <- r:
		s.closing.RUnlock()
	case <-ctx.Done():
		s.closing.RUnlock()
		s.queue.give(r.bytes)
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
