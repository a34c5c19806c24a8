package resource

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Which projects have metrics that run over new events is in memory, since every commit asks for it: only their events enter the
// outbox. A server knows of its own changes before it answers them, and of another server's on PostgreSQL within
// events.RefreshEvery. What it stores before it knows of a project's first such metric does not enter the outbox.

// loadOnline reads the whole set anew and puts it in place of the one that is known.
func (s *Store) loadOnline(ctx context.Context) error {
	found := map[int64]bool{}
	err := sqldb.Each(ctx, s.db, `SELECT DISTINCT project_id FROM metric WHERE online = 1`, nil, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		found[id] = true
		return err
	})
	if err == nil {
		s.events.SetOnline(found)
	}
	return err
}

// watchOnline refreshes what other servers change until ctx ends.
func (s *Store) watchOnline(ctx context.Context) {
	tick := time.NewTicker(events.RefreshEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.loadOnline(ctx); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("read which metrics run over new events", zap.Error(err))
			}
			if err := s.events.ForgetErased(ctx); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("read from which field indexes names were erased", zap.Error(err))
			}
		}
	}
}

// changeMetrics is ChangeDocs for changes of metrics: events that come after it returned enter the
// outbox by the metrics as changed.
func (s *Store) changeMetrics(ctx context.Context, size int, op string, f func(context.Context, *events.Commit) error) error {
	if err := s.ChangeDocs(ctx, size, op, f); err != nil {
		return err
	}
	return sqldb.WrapError(s.db, s.loadOnline(ctx), op)
}
