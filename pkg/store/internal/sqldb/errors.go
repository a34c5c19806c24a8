package sqldb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
)

// ErrConflict is returned if another process has stored one of the ids in the meantime, or has changed what the transaction
// relied on. The writer runs the transaction again, as for errors that are Retryable, and it finds things as they are then.
var ErrConflict = errors.New("another writer stored the same id")

// diskFull is what callers are told while the database has no room. It says nothing of where the disk is: callers may be anybody.
const diskFull = "disk full: the store has no space to write; try again when there is some"

// fullRetryAfter is when they are to come back: room is made by a person, which takes longer than a lock.
const fullRetryAfter = 10 * time.Second

// WrapError returns an error of a database with its fault.Kind and the operation that failed. Errors
// that have a kind are returned as they are.
//
// A statement that the database itself ended for want of time is a timeout, like one that the context ended: callers need not
// know which of the two clocks was first. What may go away by itself or is for the operator to mend (a lock, a lost connection, a full disk, a password) is
// Unavailable, so that clients try again; a full disk says so, since somebody must do something about it. Everything else is
// an internal error: a mistake of ours, or a damaged file.
func WrapError(db DB, err error, op string) error {
	var f *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case db.Interrupted(err):
		return fmt.Errorf("%s: %w: %w", op, context.DeadlineExceeded, err)
	case db.Full(err):
		return &fault.Error{Kind: fault.Unavailable, Msg: diskFull, Err: fmt.Errorf("%s: %w", op, err), RetryAfter: fullRetryAfter}
	case db.Retryable(err), db.Unavailable(err):
		return &fault.Error{Kind: fault.Unavailable, Msg: "the store is not available, try again", Err: fmt.Errorf("%s: %w", op, err)}
	default:
		return fmt.Errorf("%s: %w", op, err)
	}
}
