package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

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
	// errConflict is returned if another process has stored one of the ids in the meantime.
	errConflict = errors.New("another writer stored the same id")
)

// writer commits the requests of one queue. Each has a goroutine of its own.
type writer struct {
	s        *Store
	number   int
	requests chan *request
	carry    *request // taken already, but must wait for the next commit
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
