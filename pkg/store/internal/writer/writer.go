package writer

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// committer commits the requests of one queue. Each has a goroutine of its own.
type committer[T Transaction] struct {
	p        *Pool[T]
	number   int
	requests chan *Request[T]
	carry    *Request[T]  // taken already, but must wait for the next commit
	since    atomic.Int64 // when the transaction that runs began, Unix nanoseconds; 0: none runs
}

// run is the writer's goroutine. It ends when requests is closed and empty.
func (l *committer[T]) run() {
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
func (l *committer[T]) collect() (batch []*Request[T], open bool) {
	r := l.carry
	l.carry = nil
	if r == nil {
		if r, open = <-l.requests; !open {
			return nil, false
		}
	}
	batch = append(batch, r)
	ids := map[Key]bool{}
	events, bytes := 0, int64(0)
	count := func(r *Request[T]) (clash bool) {
		if r.Batch == nil {
			bytes += r.Bytes
			return false
		}
		for k := range r.Batch.Keys() {
			if ids[k] {
				return true
			}
		}
		for k := range r.Batch.Keys() {
			ids[k] = true
		}
		n, size := r.Batch.Size()
		events += n
		bytes += size
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
func (l *committer[T]) commit(batch []*Request[T]) {
	results, err := l.try(batch)
	if err != nil && len(batch) > 1 && fault.Of(err) != fault.Unavailable {
		for _, r := range batch {
			a, err := l.try([]*Request[T]{r})
			l.answer(r, a[r], err)
		}
		return
	}
	for _, r := range batch {
		l.answer(r, results[r], err)
	}
}

func (l *committer[T]) answer(r *Request[T], own, err error) {
	l.p.waiting.give(r.Bytes)
	l.p.count(r, -1)
	if err == nil {
		err = own
	}
	r.done <- err
}

// try runs one transaction, again where another writer was in the way. The results are the
// requests' own; err is that of the transaction.
func (l *committer[T]) try(requests []*Request[T]) (results map[*Request[T]]error, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	start := time.Now()
	l.since.Store(start.UnixNano())
	defer l.since.Store(0)
	var batches []Batch
	for _, r := range requests {
		if r.Batch != nil {
			batches = append(batches, r.Batch)
		}
	}
	if !l.p.db.Exclusive() {
		ids := idsIn(batches)
		l.p.inFlight.enter(ids)
		defer l.p.inFlight.leave(ids)
	}
	days := daysIn(batches)
	for try := 1; ; try++ {
		if err := l.p.hooks.Ready(ctx, days, try > 1); err != nil {
			l.p.hooks.Observe(ctx, batches, time.Since(start), err)
			return nil, sqldb.WrapError(l.p.db, err, "make room")
		}
		results = make(map[*Request[T]]error, 1)
		var tx T
		err = l.p.db.Write(ctx, func(began sqldb.Tx) error {
			tx = l.p.hooks.Begin(began, l.number, try > 1)
			if len(batches) > 0 {
				if err := tx.StoreBatches(ctx, batches); err != nil {
					return err
				}
			}
			for _, r := range requests {
				before := began.Changes()
				err := r.run(ctx, tx)
				if refusal(err) && began.Changes() == before {
					results[r] = err
				} else if err != nil {
					return err
				}
			}
			return tx.Finish(ctx)
		})
		if err == nil {
			tx.Publish()
		}
		if err == nil || try == commitTries || !(errors.Is(err, sqldb.ErrConflict) || l.p.db.Retryable(err)) {
			break
		}
		time.Sleep(rand.N(commitPause * time.Duration(try)))
	}
	if !refusal(err) { // which says nothing about the database
		l.p.hooks.Observe(ctx, batches, time.Since(start), err)
	}
	return results, sqldb.WrapError(l.p.db, err, "commit")
}

// refusal reports whether an error is the answer to one request, which would be the same if it were tried again.
func refusal(err error) bool {
	var own *fault.Error
	return errors.As(err, &own) && own.Kind.Permanent()
}

// idsIn lists the ids of batches.
func idsIn(batches []Batch) (ids []Key) {
	for _, b := range batches {
		ids = slices.AppendSeq(ids, b.Keys())
	}
	return ids
}

// daysIn lists the days of batches.
func daysIn(batches []Batch) (days []int32) {
	for _, b := range batches {
		for day := range b.Days() {
			if len(days) == 0 || (days[len(days)-1] != day && !slices.Contains(days, day)) {
				days = append(days, day)
			}
		}
	}
	return days
}
