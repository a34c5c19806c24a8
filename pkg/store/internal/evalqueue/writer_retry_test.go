package evalqueue

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/store/internal/evalqueue"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
)

// besideFailure runs f in one transaction with a job that breaks it, so that f runs again.
func besideFailure(t *testing.T, s *Store, f func()) {
	t.Helper()
	release := hold(t, s)
	broken, done := make(chan error, 1), make(chan struct{})
	queued := func(n int) {
		for len(s.events.pool.writers[0].requests) < n {
			runtime.Gosched()
		}
	}
	go func() {
		defer close(done)
		f()
	}()
	queued(1)
	go func() {
		broken <- s.events.Change(context.Background(), 0, uuid.Nil, 0, func(context.Context, *events.Commit) error { return errors.New("broken") })
	}()
	queued(2)
	release()
	if err := <-broken; err == nil {
		t.Error("the broken neighbour had no error")
	}
	<-done
}

// What a change counts is counted once, also where the change ran more than once.
func TestChangesThatRunAgainCountOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openTest(t, Options{})
	p, err := s.resources.EnsureProject(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	m := uuid.New()
	var requests []evaluation.Request
	for range 3 {
		requests = append(requests, evaluation.Request{MetricID: m.String(), Version: 1, EventID: uuid.New()})
	}
	besideFailure(t, s, func() {
		if n, err := s.evaluations.EnqueueEvaluations(ctx, evaluation.Enqueue{Project: p.ID, Requests: requests}); n != 3 || err != nil {
			t.Errorf("admitted %d, %v, want 3", n, err)
		}
	})
	exec := func(text string, args ...any) {
		t.Helper()
		err := s.events.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) error {
			_, err := tx.Exec(ctx, text, args...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	exec(`UPDATE evaluation SET state = $1, backfill_id = 'b'`, stateCode(evaluation.Failed))
	besideFailure(t, s, func() {
		if n, err := s.evaluations.RetryEvaluations(ctx, p.ID, evaluation.Query{}); n != 3 || err != nil {
			t.Errorf("retried %d, %v, want 3", n, err)
		}
	})
	exec(`INSERT INTO outbox(project_id, created_ms, due_ms, ids) VALUES ($1, 1, 0, $2)`, p.ID, make([]byte, 32))
	var n int64
	besideFailure(t, s, func() {
		n, err = s.evaluations.deleteStaleOutbox(ctx, time.Now())
		if n != 1 || err != nil {
			t.Errorf("dropped %d arrivals, %v, want 1", n, err)
		}
	})
}
