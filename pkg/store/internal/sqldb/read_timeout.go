package sqldb

import (
	"context"
	"time"
)

// patient marks a context whose reads may take any time: work in the background.
type patient struct{}

// Patiently returns a context whose reads may take any time. The background work of the store has one: what reads all events of
// a large project must not fail for the limit that answers to users have.
func Patiently(ctx context.Context) context.Context { return context.WithValue(ctx, patient{}, true) }

// readContext bounds one reading statement, from before it gets a connection until its rows are closed: waiting for a
// connection and what the caller does with the rows count.
func readContext(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 || ctx.Value(patient{}) != nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}

// timedRows ends the time of its statement when it is closed.
type timedRows struct {
	Rows
	cancel context.CancelFunc
}

func (r timedRows) Close() {
	r.Rows.Close()
	r.cancel()
}
