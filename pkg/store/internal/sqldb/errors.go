package sqldb

import (
	"context"
	"errors"
	"fmt"

	"github.com/spangrove/spangrove/pkg/fault"
)

// ErrConflict is returned if another process has stored one of the ids in the meantime.
var ErrConflict = errors.New("another writer stored the same id")

// WrapError returns an error of a database with its fault.Kind and the operation that failed. Errors
// that have a kind are returned as they are.
func WrapError(db DB, err error, op string) error {
	var f *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case db.Interrupted(err):
		return fmt.Errorf("%s: %w: %w", op, context.DeadlineExceeded, err)
	case db.Retryable(err), db.Unavailable(err):
		return &fault.Error{Kind: fault.Unavailable, Msg: "the store is not available, try again", Err: fmt.Errorf("%s: %w", op, err)}
	default:
		return fmt.Errorf("%s: %w", op, err)
	}
}
