package store

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
)

// expireEvery is how often what waited too long is dropped.
const expireEvery = 10 * time.Minute

// expire drops updates and log parts that waited too long, and finishes deletions.
func (s *Store) expire(ctx context.Context) {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	s.finishDeletions(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.finishDeletions(ctx)
			if err := s.bulk.tidy(ctx); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("drop empty partitions", zap.Error(err))
			}
			if err := s.moveDays(ctx); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("list the ids of days without a filter", zap.Error(err))
			}
			if err := s.expirePending(ctx, s.options.Now()); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("drop waiting updates", zap.Error(err))
			}
			if err := s.expireOutbox(ctx); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("drop events that nobody evaluated", zap.Error(err))
			}
			if err := s.ExpireAudit(ctx); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("drop old audit entries", zap.Error(err))
			}
			if err := errors.Join(s.expireLogs(ctx, s.options.Now()), s.sweepLogs(ctx)); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("drop waiting notes", zap.Error(err))
			}
		}
	}
}
