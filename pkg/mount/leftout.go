package mount

import (
	"context"
	"sync"
)

// LeftOut is what exporters left out of a request that they took, for the answer to its sender.
type LeftOut struct {
	mu     sync.Mutex
	items  int
	reason string
}

type leftOutKey struct{}

// WithLeftOut returns a context under which exporters tell of the items of a request that they leave out.
func WithLeftOut(ctx context.Context) (context.Context, *LeftOut) {
	l := &LeftOut{}
	return context.WithValue(ctx, leftOutKey{}, l), l
}

// LeaveOut tells the receiver of a request, if it wants to know, that so many of its items are not stored though the request is
// taken, and why. Of several exporters that which left out most counts: they get the same items.
func LeaveOut(ctx context.Context, items int, reason string) {
	l, ok := ctx.Value(leftOutKey{}).(*LeftOut)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if items > l.items {
		l.items, l.reason = items, reason
	}
}

// Told returns how many items exporters have told of, and why they are not stored. Behind a queue they tell nobody.
func (l *LeftOut) Told() (items int, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items, l.reason
}
