package online

import (
	"context"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/evaluation"
)

// queueAge is how long a list of what waits is good, though it has something left.
const queueAge = time.Second

// queue hands out groups in turn, so that no metric and no project waits for another's to end.
type queue struct {
	store     Store
	telemetry *telemetry
	wake      chan struct{} // holds one: something was asked for

	mu     sync.Mutex
	groups []evaluation.Group // with something due, as far as is known
	next   int
	read   time.Time
}

// stir wakes a worker that sleeps.
func (q *queue) stir() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take gives the group whose turn it is; ok is false if none has anything due. batch is how many
// of it will be claimed.
func (q *queue) take(ctx context.Context, batch int) (g evaluation.Group, ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.groups) == 0 || time.Since(q.read) > queueAge {
		if err := q.refresh(ctx); err != nil || len(q.groups) == 0 {
			return g, false, err
		}
	}
	q.next %= len(q.groups)
	g = q.groups[q.next]
	if q.groups[q.next].Due -= batch; q.groups[q.next].Due > 0 {
		q.next++
	} else {
		q.groups = append(q.groups[:q.next], q.groups[q.next+1:]...)
	}
	if len(q.groups) > 0 {
		q.stir() // there is something for another one
	}
	return g, true, nil
}

func (q *queue) refresh(ctx context.Context) error {
	all, err := q.store.EvaluationQueue(ctx)
	if err != nil {
		return err
	}
	q.groups, q.read = q.groups[:0], time.Now()
	waiting := 0
	for _, g := range all {
		waiting += g.Waiting
		if g.Due > 0 {
			q.groups = append(q.groups, g)
		}
	}
	q.telemetry.waiting.Store(int64(waiting))
	return nil
}
