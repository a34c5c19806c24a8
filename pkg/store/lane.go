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

// Bounds of one commit. A lane takes what waits and never waits for more, so an idle store
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
)

var (
	errBusy   = &fault.Error{Kind: fault.Unavailable, Msg: "the store is busy, try again", RetryAfter: time.Second}
	errClosed = &fault.Error{Kind: fault.Unavailable, Msg: "the store is shutting down"}
	// errConflict says that another process stored one of the ids meanwhile.
	errConflict = errors.New("another writer stored the same id")
)

// job is one request in a lane: a put, or a change of stored rows.
type job struct {
	put *put
	// do changes stored rows. It may run many times, at most 2 x commitTries: again where another
	// writer was in the way, and alone where a neighbour broke the common transaction. So what it
	// leaves outside of the transaction is set anew by each run and never added to; counters count
	// after submit has returned. A *fault.Error it returns is this job's own answer and must
	// leave the transaction untouched; any other error rolls back the whole commit.
	do    func(ctx context.Context, tx writeTx) error
	doing sync.Mutex // held while do runs
	left  bool       // the caller does not wait any more: do must not run
	bytes int64
	done  chan error // takes one answer
}

// run does what there is to do, unless the caller has left.
func (j *job) run(ctx context.Context, tx writeTx) error {
	j.doing.Lock()
	defer j.doing.Unlock()
	if j.do == nil || j.left {
		return nil
	}
	return j.do(ctx, tx)
}

// leave gives the caller back what do uses of its own: do does not run afterwards.
func (j *job) leave() {
	j.doing.Lock()
	defer j.doing.Unlock()
	j.left = true
}

// lane is one writer.
type lane struct {
	s     *Store
	n     int
	jobs  chan *job
	carry *job // taken already, but must wait for the next commit
}

// backlog bounds what waits in all lanes together, in bytes of payload.
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

// change runs f in the lane and waits for its commit. f may run more than once (see job.do).
func (s *Store) change(ctx context.Context, project int64, id uuid.UUID, size int64, f func(context.Context, writeTx) error) error {
	if !s.queue.take(size) {
		s.telemetry.refused(ctx)
		return errBusy
	}
	return s.submit(ctx, s.laneOfEvent(ctx, project, id), &job{do: f, bytes: size})
}

// laneOfEvent is the lane that writes an event's session, so that lanes seldom wait for one
// another's rows; for an event that is not known, the lane of its own id. Where there are several
// lanes, the last one writes what is no telemetry (id is uuid.Nil), so that no event waits for it.
func (s *Store) laneOfEvent(ctx context.Context, project int64, id uuid.UUID) int {
	if len(s.lanes) == 1 || id == uuid.Nil {
		return len(s.lanes) - 1
	}
	var session uuid.UUID
	from := s.db.frag()
	if ok, err := one(ctx, s.db.quick(), `SELECT `+from.sessionID+` FROM `+from.from+` WHERE e.event_id = $1 AND e.project_id = $2`,
		[]any{s.db.id(id), project}, scanID{&session}); err == nil && ok {
		return s.laneOf(session)
	}
	if to, ok, err := aliasOf(ctx, s.db.quick(), project, id); err == nil && ok {
		return s.laneOf(to)
	}
	return s.laneOf(id)
}

func (s *Store) laneOf(id uuid.UUID) int {
	return int(hashID(id)[0] % uint64(max(len(s.lanes)-1, 1)))
}

// submit hands a job to a lane and waits for its answer. Its bytes, taken from the queue by the
// caller, are given back when it is answered or refused. If ctx ends first, the job may still
// be stored, but do does not run any more when submit returns; all writes are idempotent.
func (s *Store) submit(ctx context.Context, n int, j *job) error {
	j.done = make(chan error, 1)
	s.closing.RLock()
	if s.closed {
		s.closing.RUnlock()
		s.queue.give(j.bytes)
		return errClosed
	}
	select {
	case s.lanes[n].jobs <- j:
		s.closing.RUnlock()
	case <-ctx.Done():
		s.closing.RUnlock()
		s.queue.give(j.bytes)
		return ctx.Err()
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		j.leave()
		return ctx.Err()
	}
}

// run is the lane's goroutine. It ends when jobs is closed and empty.
func (l *lane) run() {
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

// collect takes the jobs of the next commit: what waits, within the bounds, but no two puts
// that carry the same event id, since a repeat needs the first one stored.
func (l *lane) collect() (batch []*job, open bool) {
	j := l.carry
	l.carry = nil
	if j == nil {
		if j, open = <-l.jobs; !open {
			return nil, false
		}
	}
	batch = append(batch, j)
	ids := map[idKey]bool{}
	events, bytes := 0, int64(0)
	note := func(j *job) (clash bool) {
		if j.put == nil {
			bytes += j.bytes
			return false
		}
		for _, g := range j.put.groups {
			for _, h := range g.heads {
				if ids[idKey{h.project, h.ev.ID}] {
					return true
				}
			}
		}
		for _, g := range j.put.groups {
			for _, h := range g.heads {
				ids[idKey{h.project, h.ev.ID}] = true
			}
		}
		events += j.put.events
		bytes += j.put.bytes
		return false
	}
	note(j)
	for events < commitEvents && bytes < commitBytes {
		select {
		case j, ok := <-l.jobs:
			if !ok {
				return batch, false
			}
			if note(j) {
				l.carry = j
				return batch, true
			}
			batch = append(batch, j)
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

// commit stores a batch in one transaction and answers its jobs. If that fails for a reason
// that may lie in one job, each is tried alone, so that none sinks its neighbours.
func (l *lane) commit(batch []*job) {
	answers, err := l.try(batch)
	if err != nil && len(batch) > 1 && fault.Of(err) != fault.Unavailable {
		for _, j := range batch {
			a, err := l.try([]*job{j})
			l.answer(j, a[j], err)
		}
		return
	}
	for _, j := range batch {
		l.answer(j, answers[j], err)
	}
}

func (l *lane) answer(j *job, own, err error) {
	l.s.queue.give(j.bytes)
	if err == nil {
		err = own
	}
	j.done <- err
}

// try runs one transaction, again where another writer was in the way. The answers are the
// jobs' own; err is that of the transaction.
func (l *lane) try(batch []*job) (answers map[*job]error, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	start := time.Now()
	if l.s.db.lanes() > 1 {
		ids := idsIn(batch)
		l.s.flight.enter(ids)
		defer l.s.flight.leave(ids)
	}
	days := daysIn(batch)
	for try := 1; ; try++ {
		if err := l.s.db.ready(ctx, days, try > 1); err != nil {
			return nil, l.s.kind(err, "make room")
		}
		answers = make(map[*job]error, 1)
		w := &writing{s: l.s, force: try > 1}
		shape, list, arrived := newReshape(l.s), newListing(l.s), newArrivals(l.s)
		var counted tally
		err = l.s.db.write(ctx, l.n, func(tx writeTx) error {
			counted = tx.counts()
			tx.begin(shape, list, arrived)
			var puts []*put
			for _, j := range batch {
				if j.put != nil {
					puts = append(puts, j.put)
				}
			}
			if len(puts) > 0 {
				if err := w.puts(ctx, tx, puts); err != nil {
					return err
				}
			}
			for _, j := range batch {
				err := j.run(ctx, tx)
				var own *fault.Error
				if errors.As(err, &own) && own.Kind.Permanent() {
					answers[j] = err
				} else if err != nil {
					return err
				}
			}
			if err := shape.settle(ctx, tx); err != nil {
				return err
			}
			if err := w.readdress(ctx, tx); err != nil {
				return err
			}
			if err := tx.counts().write(ctx, tx, l.n); err != nil {
				return err
			}
			if err := arrived.write(ctx, tx); err != nil {
				return err
			}
			return list.write(ctx, tx)
		})
		w.finish(err == nil)
		if err == nil {
			shape.publish()
			list.publish()
			l.s.usage.committed(counted)
		}
		if err == nil || try == commitTries || !(errors.Is(err, errConflict) || l.s.db.retryable(err)) {
			break
		}
		time.Sleep(rand.N(commitPause * time.Duration(try)))
	}
	l.s.telemetry.commit(ctx, batch, time.Since(start), err)
	return answers, l.s.kind(err, "commit")
}

// flight holds the ids that lanes are storing. The unique key does not see the same id on
// another day, and another lane's filter has it only once it is stored: two lanes never store
// the same id at the same time.
type flight struct {
	mu   sync.Mutex
	left *sync.Cond
	ids  map[idKey]bool
}

func newFlight() *flight {
	f := &flight{ids: map[idKey]bool{}}
	f.left = sync.NewCond(&f.mu)
	return f
}

// enter waits until none of ids is in flight, and takes all of them at once.
func (f *flight) enter(ids []idKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for slices.ContainsFunc(ids, func(k idKey) bool { return f.ids[k] }) {
		f.left.Wait()
	}
	for _, k := range ids {
		f.ids[k] = true
	}
}

func (f *flight) leave(ids []idKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range ids {
		delete(f.ids, k)
	}
	f.left.Broadcast()
}

// idsIn lists the ids of a batch's events.
func idsIn(batch []*job) []idKey {
	var ids []idKey
	for _, j := range batch {
		if j.put == nil {
			continue
		}
		for _, g := range j.put.groups {
			for _, h := range g.heads {
				ids = append(ids, idKey{h.project, h.ev.ID})
			}
		}
	}
	return ids
}

// daysIn lists the days of a batch's events.
func daysIn(batch []*job) []int32 {
	var days []int32
	for _, j := range batch {
		if j.put == nil {
			continue
		}
		for _, g := range j.put.groups {
			for _, h := range g.heads {
				if len(days) == 0 || (days[len(days)-1] != h.day && !slices.Contains(days, h.day)) {
					days = append(days, h.day)
				}
			}
		}
	}
	return days
}
