package evalqueue

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
)

// What a change counts is counted once, also where the change ran more than once.
func TestChangesThatRunAgainCountOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, s := openTest(t)
	p, err := s.resources.EnsureProject(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	d := metric.Definition{Name: "m", Type: metric.Human}
	d.Complete(metric.DefaultSampling)
	m, err := s.resources.CreateMetric(ctx, p.ID, d)
	if err != nil {
		t.Fatal(err)
	}
	var requests []evaluation.Request
	for range 3 {
		requests = append(requests, evaluation.Request{MetricID: m, Version: 1, EventID: uuid.New()})
	}
	db.FailOnce()
	if n, err := s.EnqueueEvaluations(ctx, evaluation.Enqueue{Project: p.ID, Requests: requests}); n != 3 || err != nil {
		t.Errorf("admitted %d, %v, want 3", n, err)
	}
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
	db.FailOnce()
	if n, err := s.RetryEvaluations(ctx, p.ID, evaluation.Query{}); n != 3 || err != nil {
		t.Errorf("retried %d, %v, want 3", n, err)
	}
	exec(`INSERT INTO outbox(project_id, created_ms, due_ms, ids) VALUES ($1, 1, 0, $2)`, p.ID, make([]byte, 32))
	var n int64
	db.FailOnce()
	n, err = s.deleteStaleOutbox(ctx, time.Now())
	if n != 1 || err != nil {
		t.Errorf("dropped %d arrivals, %v, want 1", n, err)
	}
}
