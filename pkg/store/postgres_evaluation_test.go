package store_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/store"
)

// A result that another server stores at the moment in which evaluations that wait are deleted, or made to wait anew, stays.
func TestPostgresEvaluationsChangedAtOnce(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(ctx context.Context, s *store.Store, project int64, m, backfill string) error{
		"its metric is switched off": func(ctx context.Context, s *store.Store, project int64, m, backfill string) error {
			return s.DropWaiting(ctx, evaluation.Group{Project: project, MetricID: m, Version: 1, Backfill: backfill})
		},
		"its backfill is cancelled": func(ctx context.Context, s *store.Store, project int64, m, backfill string) error {
			_, err := s.MoveBackfill(ctx, project, m, backfill, evaluation.BackfillCancelled)
			return err
		},
		"its backfill is paused": func(ctx context.Context, s *store.Store, project int64, m, backfill string) error {
			_, err := s.MoveBackfill(ctx, project, m, backfill, evaluation.BackfillPaused)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			place := newPostgresPlace(t)
			s := place.Open(t, store.Options{})
			p, err := s.EnsureProject(ctx, "default")
			if err != nil {
				t.Fatal(err)
			}
			d := metric.Definition{Name: "m", Type: metric.Human, EnabledInProd: true}
			d.Complete(metric.DefaultSampling)
			m, err := s.CreateMetric(ctx, p.ID, d)
			if err != nil {
				t.Fatal(err)
			}
			b, err := s.CreateBackfill(ctx, p.ID, evaluation.Backfill{MetricID: m, Version: 1, Filters: json.RawMessage(`[]`)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.EnqueueEvaluations(ctx, evaluation.Enqueue{Project: p.ID, Requests: []evaluation.Request{{MetricID: m, Version: 1, EventID: uuid.New()}}}); err != nil {
				t.Fatal(err)
			}
			place.Exec(t, `UPDATE evaluation SET backfill_id = '`+b.ID+`'`)
			other := place.conn(t)
			defer func() { _ = other.Close(context.Background()) }()
			for _, text := range []string{`BEGIN`, `UPDATE evaluation SET state = 2, score = '1'`} {
				if _, err := other.Exec(ctx, text); err != nil {
					t.Fatal(err)
				}
			}
			done := make(chan error, 1)
			go func() { done <- change(ctx, s, p.ID, m, b.ID) }()
			const waits = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%evaluation%' AND datname = current_database()`
			for end := time.Now().Add(10 * time.Second); place.Count(t, waits) == 0 && time.Now().Before(end); {
				time.Sleep(5 * time.Millisecond)
			}
			if _, err := other.Exec(ctx, `COMMIT`); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if n := place.Count(t, `SELECT count(*) FROM evaluation WHERE state = 2 AND score = '1'`); n != 1 {
				t.Errorf("%d results are left, want the one that was stored", n)
			}
		})
	}
}
