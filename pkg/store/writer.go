package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Bounds of one commit. A writer takes what waits and never waits for more, so an idle store
// results at the speed of one commit and a busy one shares each commit among many requests.
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
)

var (
	errBusy   = &fault.Error{Kind: fault.Unavailable, Msg: "the store is busy, try again", RetryAfter: time.Second}
	errClosed = &fault.Error{Kind: fault.Unavailable, Msg: "the store is shutting down"}
	// errConflict says that another process stored one of the ids meanwhile.
	errConflict = errors.New("another writer stored the same id")
)

// request is one entry of a writer's queue: a batch of events, or a change of stored rows.
type request struct {
	batch *writeBatch
	// apply changes stored rows. It may run many times, at most 2 x commitTries: again where another
	// writer was in the way, and alone where a neighbour broke the common transaction. So what it
	// leaves outside of the transaction is set anew by each run and never added to; counters count
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

// writer commits the requests of one queue. Each has a goroutine of its own.
type writer struct {
	s        *Store
	number   int
	requests chan *request
	carry    *request // taken already, but must wait for the next commit
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

// run is the writer's goroutine. It ends when requests is closed and empty.
func (l *writer) run() {
	for {
		batch, open := l.collect()
		if len(batch) > 0 {
			l.commit(batch)
		}
		if !open && l.carry == nil {
			return
		}
	}
}

// collect takes the requests of the next commit: what waits, within the bounds, but no two batches
// that carry the same event id, since a repeat needs the first one stored.
func (l *writer) collect() (batch []*request, open bool) {
	r := l.carry
	l.carry = nil
	if r == nil {
		if r, open = <-l.requests; !open {
			return nil, false
		}
	}
	batch = append(batch, r)
	ids := map[idKey]bool{}
	events, bytes := 0, int64(0)
	count := func(r *request) (clash bool) {
		if r.batch == nil {
			bytes += r.bytes
			return false
		}
		for _, g := range r.batch.groups {
			for _, h := range g.heads {
				if ids[idKey{h.project, h.ev.ID}] {
					return true
				}
			}
		}
		for _, g := range r.batch.groups {
			for _, h := range g.heads {
				ids[idKey{h.project, h.ev.ID}] = true
			}
		}
		events += r.batch.events
		bytes += r.batch.bytes
		return false
	}
	count(r)
	for events < commitEvents && bytes < commitBytes {
		select {
		case r, ok := <-l.requests:
			if !ok {
				return batch, false
			}
			if count(r) {
				l.carry = r
				return batch, true
			}
			batch = append(batch, r)
		default:
			return batch, true
		}
	}
	return batch, true
}

type idKey struct {
	project int64
	id      uuid.UUID
}

// commit stores a batch in one transaction and answers its requests. If that fails for a reason
// that may lie in one request, each is tried alone, so that none sinks its neighbours.
func (l *writer) commit(batch []*request) {
	results, err := l.try(batch)
	if err != nil && len(batch) > 1 && fault.Of(err) != fault.Unavailable {
		for _, r := range batch {
			a, err := l.try([]*request{r})
			l.answer(r, a[r], err)
		}
		return
	}
	for _, r := range batch {
		l.answer(r, results[r], err)
	}
}

func (l *writer) answer(r *request, own, err error) {
	l.s.queue.give(r.bytes)
	if err == nil {
		err = own
	}
	r.done <- err
}

// try runs one transaction, again where another writer was in the way. The results are the
// requests' own; err is that of the transaction.
func (l *writer) try(batch []*request) (results map[*request]error, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	start := time.Now()
	if l.s.db.writers() > 1 {
		ids := idsIn(batch)
		l.s.inFlight.enter(ids)
		defer l.s.inFlight.leave(ids)
	}
	days := daysIn(batch)
	for try := 1; ; try++ {
		if err := l.s.db.ready(ctx, days, try > 1); err != nil {
			return nil, l.s.wrapDBError(err, "make room")
		}
		results = make(map[*request]error, 1)
		w := &writing{s: l.s, force: try > 1}
		trees, fields, pending := newTreeFixer(l.s), newFieldIndexUpdate(l.s), newOutbox(l.s)
		var counted eventCounts
		err = l.s.db.write(ctx, l.number, func(tx writeTx) error {
			counted = tx.counts()
			tx.begin(trees, fields, pending)
			var batches []*writeBatch
			for _, r := range batch {
				if r.batch != nil {
					batches = append(batches, r.batch)
				}
			}
			if len(batches) > 0 {
				if err := w.storeBatches(ctx, tx, batches); err != nil {
					return err
				}
			}
			for _, r := range batch {
				err := r.run(ctx, tx)
				var own *fault.Error
				if errors.As(err, &own) && own.Kind.Permanent() {
					results[r] = err
				} else if err != nil {
					return err
				}
			}
			if err := trees.apply(ctx, tx); err != nil {
				return err
			}
			if err := w.reassignResults(ctx, tx); err != nil {
				return err
			}
			if err := tx.counts().write(ctx, tx, l.number); err != nil {
				return err
			}
			if err := pending.write(ctx, tx); err != nil {
				return err
			}
			return fields.write(ctx, tx)
		})
		w.finish(err == nil)
		if err == nil {
			trees.publish()
			fields.publish()
			l.s.usage.committed(counted)
		}
		if err == nil || try == commitTries || !(errors.Is(err, errConflict) || l.s.db.retryable(err)) {
			break
		}
		time.Sleep(rand.N(commitPause * time.Duration(try)))
	}
	l.s.telemetry.commit(ctx, batch, time.Since(start), err)
	return results, l.s.wrapDBError(err, "commit")
}

// inFlight holds the ids that writers are storing. The unique key does not see the same id on
// another day, and another writer's filter has it only once it is stored: two writers never store
// the same id at the same time.
type inFlight struct {
	mu    sync.Mutex
	freed *sync.Cond
	ids   map[idKey]bool
}

func newInFlight() *inFlight {
	f := &inFlight{ids: map[idKey]bool{}}
	f.freed = sync.NewCond(&f.mu)
	return f
}

// enter waits until none of ids is in flight, and takes all of them at once.
func (f *inFlight) enter(ids []idKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for slices.ContainsFunc(ids, func(k idKey) bool { return f.ids[k] }) {
		f.freed.Wait()
	}
	for _, k := range ids {
		f.ids[k] = true
	}
}

func (f *inFlight) leave(ids []idKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range ids {
		delete(f.ids, k)
	}
	f.freed.Broadcast()
}

// idsIn lists the ids of a batch's events.
func idsIn(batch []*request) []idKey {
	var ids []idKey
	for _, r := range batch {
		if r.batch == nil {
			continue
		}
		for _, g := range r.batch.groups {
			for _, h := range g.heads {
				ids = append(ids, idKey{h.project, h.ev.ID})
			}
		}
	}
	return ids
}

// daysIn lists the days of a batch's events.
func daysIn(batch []*request) []int32 {
	var days []int32
	for _, r := range batch {
		if r.batch == nil {
			continue
		}
		for _, g := range r.batch.groups {
			for _, h := range g.heads {
				if len(days) == 0 || (days[len(days)-1] != h.day && !slices.Contains(days, h.day)) {
					days = append(days, h.day)
				}
			}
		}
	}
	return days
}
