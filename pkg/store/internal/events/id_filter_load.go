package events

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

// At a start the filters of ids are empty, and ids of all days that are stored must be found all the same. Until a day's filter
// is complete, it answers that the day may hold any id, which costs a look-up and is never wrong. Filters are filled in the
// background, newest days first, since repeats and updates are mostly of today's events.

// fillIDFilter builds the Bloom filters of days stored before, newest first. Where one does not fit, its
// ids are found without.
func (s *Store) fillIDFilter(ctx context.Context, days []projectDay) {
	for _, k := range days {
		ids := make([]uuid.UUID, 0, 1000)
		err := s.bulk.idsOf(ctx, k, func(id uuid.UUID) error {
			// A thousand at a time, so that the filter's lock is never held for long against writers.
			if ids = append(ids, id); len(ids) == cap(ids) {
				if !s.idFilter.load(k.project, k.day, ids, false) {
					return errFull
				}
				ids = ids[:0]
			}
			return nil
		})
		if err == nil {
			// Only the last slice makes the filter complete. New ids of the day may have come in between; those
			// were added by the writer.
			s.idFilter.load(k.project, k.day, ids, true)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && !errors.Is(err, errFull) {
			s.options.Logger.Warn("build id filter", zap.Int32("day", k.day), zap.Error(err))
			return
		}
	}
	if err := s.moveDays(ctx); err != nil && ctx.Err() == nil {
		s.options.Logger.Warn("list the ids of days without a filter", zap.Error(err))
	}
}

var errFull = errors.New("filters are full")

// moveDays lists the events of days whose filters did not fit by id, so that those days need not be
// looked at one by one.
func (s *Store) moveDays(ctx context.Context) error {
	if !s.db.Exclusive() {
		return nil
	}
	for _, k := range s.idFilter.unfiltered(s.today() - nearDays) {
		var last []byte
		// last goes on only with a commit that succeeded, so a slice that failed is moved again, and nothing is left out.
		for more := true; more; {
			err := s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
				next, err := tx.moveIDs(ctx, k, last)
				if err == nil {
					last, more = next, next != nil
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
