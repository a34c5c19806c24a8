// Package limit holds requests to the rates that their projects and keys are allowed: requests a
// second and bytes of bodies a second. A Limiter counts in token buckets, in memory, for one
// server; servers that share a database count each for itself.
package limit

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
)

// Bounds of what is counted at a time; past them the buckets that were idle longest are forgotten,
// and begin full when they are needed again. 10,000 buckets are about 2 MB.
const (
	maxProjects = 10_000
	maxKeys     = 50_000
)

// Limiter counts what projects and keys use. It is safe for concurrent use.
type Limiter struct {
	now func() time.Time

	mu       sync.Mutex
	projects *simplelru.LRU[int64, *Meter]
	keys     *simplelru.LRU[string, *rate.Limiter]
}

// New returns a Limiter; now is the clock.
func New(now func() time.Time) *Limiter {
	l := &Limiter{now: now}
	l.projects, _ = simplelru.NewLRU[int64, *Meter](maxProjects, nil) // fails for sizes below 1 only
	l.keys, _ = simplelru.NewLRU[string, *rate.Limiter](maxKeys, nil)
	return l
}

// Admit counts a request of a key and gives the meter of its project, to which what the request
// sends is charged. b are the limits that apply. fault.Limited, with the time until there is room
// again, if the key or the project has made too many requests, or if the project has sent more
// bytes than it may; what is refused counts nothing.
func (l *Limiter) Admit(who *project.Identity, b *project.Bounds) (*Meter, error) {
	now := l.now()
	m, key := l.of(who, b)
	if wait := m.debt(now); wait > 0 {
		return nil, refused(wait, "the project sends more than %d bytes a second", b.BytesPerSecond)
	}
	first, wait := take(key, now)
	if wait > 0 {
		return nil, refused(wait, "the key makes more than %g requests a second", b.KeyRequestsPerSecond)
	}
	if _, wait := take(m.requests, now); wait > 0 {
		if first != nil {
			first.CancelAt(now)
		}
		return nil, refused(wait, "the project makes more than %g requests a second", b.RequestsPerSecond)
	}
	return m, nil
}

func refused(wait time.Duration, format string, args ...any) error {
	f := &fault.Error{Kind: fault.Limited, RetryAfter: wait}
	f.Msg = fault.New(fault.Limited, format+"; try again later, or have its limits raised", args...).Error()
	return f
}

// of returns the buckets of a caller; key is nil if its requests have no bound of their own. After
// a change of limits the buckets are full.
func (l *Limiter) of(who *project.Identity, b *project.Bounds) (m *Meter, key *rate.Limiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok := l.projects.Get(who.Project.ID)
	if !ok || m.bounds != *b {
		m = &Meter{now: l.now, bounds: *b}
		m.requests = bucket(b.RequestsPerSecond, b.RequestBurst, 1)
		m.bytes = bucket(float64(b.BytesPerSecond), b.ByteBurst, minByteBurst)
		l.projects.Add(who.Project.ID, m)
	}
	if b.KeyRequestsPerSecond == 0 {
		return m, nil
	}
	if key, ok = l.keys.Get(who.KeyID); !ok || key.Limit() != rate.Limit(b.KeyRequestsPerSecond) ||
		key.Burst() != size(b.KeyRequestsPerSecond, b.KeyRequestBurst, 1) {
		key = bucket(b.KeyRequestsPerSecond, b.KeyRequestBurst, 1)
		l.keys.Add(who.KeyID, key)
	}
	return m, key
}

const (
	// minByteBurst keeps the charges of a request few.
	minByteBurst = 1 << 20
	// maxBurst is the most that a bucket holds.
	maxBurst = 1 << 40
)

// bucket makes a full bucket for so many a second; nil, which has no bound, for 0.
func bucket(perSecond float64, burst, least int64) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), size(perSecond, burst, least))
}

// size returns how much a bucket holds: burst, or a second's worth if that is 0, and at least so much.
func size(perSecond float64, burst, least int64) int {
	if burst == 0 {
		burst = int64(min(perSecond, maxBurst))
	}
	return int(max(least, min(burst, maxBurst)))
}

// take takes one from a bucket, or nothing and says how long until there is one. A nil bucket is
// without bound.
func take(bucket *rate.Limiter, now time.Time) (*rate.Reservation, time.Duration) {
	if bucket == nil {
		return nil, 0
	}
	r := bucket.ReserveN(now, 1)
	wait := min(r.DelayFrom(now), maxWait)
	if wait > 0 {
		r.CancelAt(now)
	}
	return r, wait
}

// Meter counts the bytes that a project sends.
type Meter struct {
	now             func() time.Time
	bounds          project.Bounds
	requests, bytes *rate.Limiter // nil: no bound
}

// Charge counts n bytes that were read from the body of an admitted request. They may be more than
// the project has left: then its next requests are refused until that is made up for.
func (m *Meter) Charge(n int64) {
	if m.bytes == nil {
		return
	}
	now, burst := m.now(), int64(m.bytes.Burst())
	for ; n > 0; n -= burst {
		m.bytes.ReserveN(now, int(min(n, burst)))
	}
}

// debt returns how long it takes until the project has made up for what it sent.
func (m *Meter) debt(now time.Time) time.Duration {
	if m.bytes == nil {
		return 0
	}
	missing := -m.bytes.TokensAt(now) / float64(m.bytes.Limit())
	return time.Duration(min(max(missing, 0), maxWait.Seconds()) * float64(time.Second))
}

// maxWait is the longest wait that an answer names.
const maxWait = time.Hour

type meterKey struct{}

// WithMeter returns a context under which Charge counts for m.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// Charge counts n bytes of the body of the request of ctx, after decompression. It does nothing
// for a request that no Limiter admitted, as on a server without keys.
func Charge(ctx context.Context, n int) {
	if m, ok := ctx.Value(meterKey{}).(*Meter); ok {
		m.Charge(int64(n))
	}
}
