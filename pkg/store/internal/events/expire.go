package events

import (
	"context"
	"errors"

	"go.uber.org/zap"
)

// Expire drops what waited too long, frees the room of what is not stored any more, and makes room for the days to come.
func (s *Store) Expire(ctx context.Context) {
	for _, step := range []struct {
		op string
		do func(context.Context) error
	}{
		{"drop empty partitions", s.bulk.tidy},
		{"make partitions ahead", s.bulk.ahead}, // goes by the list that tidy has just read
		{"list the ids of days without a filter", s.moveDays},
		{"apply waiting updates", s.sweepPending},
		{"drop waiting updates", func(ctx context.Context) error { return s.expirePending(ctx, s.options.Now()) }},
		{"drop waiting log parts", func(ctx context.Context) error {
			return errors.Join(s.expireLogs(ctx, s.options.Now()), s.sweepLogs(ctx))
		}},
	} {
		// A step that fails does not keep the others from their turn, and is tried again at the next expiry.
		if err := step.do(ctx); err != nil && ctx.Err() == nil {
			s.options.Logger.Warn(step.op, zap.Error(err))
		}
	}
}

// makeAhead makes room for events of now and of the days to come when the store is opened.
func (s *Store) makeAhead(ctx context.Context) {
	if err := s.bulk.ahead(ctx); err != nil && ctx.Err() == nil {
		s.options.Logger.Warn("make partitions ahead", zap.Error(err)) // Expire tries again
	}
}
