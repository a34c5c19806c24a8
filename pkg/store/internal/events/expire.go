package events

import (
	"context"
	"errors"

	"go.uber.org/zap"
)

// Expire drops what waited too long, and frees the room of what is not stored any more.
func (s *Store) Expire(ctx context.Context) {
	for _, step := range []struct {
		op string
		do func(context.Context) error
	}{
		{"drop empty partitions", s.bulk.tidy},
		{"list the ids of days without a filter", s.moveDays},
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
