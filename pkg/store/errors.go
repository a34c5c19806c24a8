package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/spangrove/spangrove/pkg/fault"
)

// wrapDBError returns an error of the database with its fault.Kind and the operation that failed. Errors
// that have a kind are returned as they are.
func (s *Store) wrapDBError(err error, op string) error {
	var f *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case s.db.interrupted(err):
		return fmt.Errorf("%s: %w: %w", op, context.DeadlineExceeded, err)
	case s.db.retryable(err), s.db.unavailable(err):
		return &fault.Error{Kind: fault.Unavailable, Msg: "the store is not available, try again", Err: fmt.Errorf("%s: %w", op, err)}
	default:
		return fmt.Errorf("%s: %w", op, err)
	}
}
