package events

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

const (
	// conditionEvery is how often a store that cannot write tries to, and one that was slow is looked at again.
	conditionEvery = 5 * time.Second
	// roomBytes is how much must be free before a full disk counts as having space again: small writes find a place long
	// before large ones do, and the log would go to and fro.
	roomBytes = 4 << 20
	// roomAfter is how long no write must have found the disk full where nobody knows what is free.
	roomAfter = 10 * time.Second
	// fastAfter is how long no commit must have been slow before commits count as fast again.
	fastAfter = time.Minute
	// stuckAfter is far beyond what a transaction may take (writer.commitTimeout): the disk or the process hangs.
	stuckAfter = 5 * time.Minute
	// lastCommits is how many of the last commits the percentile in the log is of.
	lastCommits = 512
	// askEvery is how long the answer of Writable is good for: anybody may ask, without a key.
	askEvery = time.Second
	// askTimeout is how long the database may take to answer it.
	askTimeout = 3 * time.Second
	// diskEvery is how often the sizes on disk are read.
	diskEvery = 30 * time.Second
)

// Reasons for which commits fail, as an operator sees them.
const (
	failedFull        = "disk_full"
	failedUnavailable = "unavailable"
	failedTimeout     = "timeout"
	failedOther       = "other"
)

// condition is what the last commits say of the database: that its disk is full, that it is not available, or that it is slow. Each of
// these is an episode, of which the log has one line when it begins and one when it is over, whatever the number of requests.
type condition struct {
	db      sqldb.DB
	log     *zap.Logger
	now     func() time.Time
	slow    time.Duration
	waiting func() int64 // requests
	queued  func() int64
	oldest  func() time.Time

	disk, free atomic.Int64 // bytes as of the last look; -1: not known

	mu              sync.Mutex
	full, down, lag episode
	took            []time.Duration // of the last commits
	next            int             // in took

	asking  sync.Mutex // held while the database is asked
	asked   time.Time
	answer  error
	answers func(ctx context.Context) error // asks the database; for tests
}

// episode is a time in which something is wrong; the zero value is that nothing is.
type episode struct {
	began, last time.Time
	commits     int64 // that met it
}

func (e *episode) on() bool { return !e.began.IsZero() }

// add counts a commit, and reports whether it is the first.
func (e *episode) add(now time.Time) (first bool) {
	if first = !e.on(); first {
		e.began = now
	}
	e.last = now
	e.commits++
	return first
}

// end ends the episode and returns what there is to be said of it.
func (e *episode) end(now time.Time) []zap.Field {
	fields := []zap.Field{zap.Duration("after", now.Sub(e.began).Round(time.Millisecond)), zap.Int64("commits", e.commits)}
	*e = episode{}
	return fields
}

func newCondition(db sqldb.DB, o Options, pool *writer.Pool[*Commit]) *condition {
	c := &condition{
		db: db, log: o.Logger, now: time.Now, slow: o.SlowCommit,
		waiting: func() int64 { n, _, _ := pool.Waiting(); return n }, queued: pool.Queued, oldest: pool.Oldest,
	}
	c.answers = func(ctx context.Context) error {
		var one int
		_, err := sqldb.One(ctx, db.Quick(), `SELECT 1`, nil, &one)
		return err
	}
	c.disk.Store(-1)
	c.free.Store(-1)
	return c
}

// commit notes one commit, and returns why it failed, empty if it did not.
func (c *condition) commit(took time.Duration, err error) (failure string) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time(took)
	switch {
	case err == nil:
		if c.down.on() {
			c.log.Info("the database is available again", c.down.end(now)...)
		}
		if c.full.on() && c.room(now) {
			c.log.Info("disk has space again", c.full.end(now)...)
		}
	case c.db.Full(err):
		failure = failedFull
		if c.full.add(now) {
			c.log.Error("disk full: nothing can be stored until it has space", c.freeField(), zap.Error(err))
		}
	case errors.Is(err, context.DeadlineExceeded) || c.db.Interrupted(err):
		failure = failedTimeout
	case c.db.Unavailable(err):
		failure = failedUnavailable
		if c.down.add(now) {
			c.log.Error("the database is not available: nothing can be stored until it is", zap.Error(err))
		}
	default:
		failure = failedOther
	}
	if c.slow > 0 && took >= c.slow && c.lag.add(now) {
		c.log.Warn("commits are slow", append(c.pace(), zap.Duration("took", took), zap.Duration("slow_commit", c.slow))...)
	}
	c.settleLag(now)
	return failure
}

// settleLag ends the episode of slow commits once there was none for a while. The caller holds mu.
func (c *condition) settleLag(now time.Time) {
	if c.lag.on() && now.Sub(c.lag.last) >= fastAfter {
		c.log.Info("commits are fast again", append(c.lag.end(now), c.pace()...)...)
	}
}

// time keeps how long a commit took.
func (c *condition) time(took time.Duration) {
	if len(c.took) < lastCommits {
		c.took = append(c.took, took)
		return
	}
	c.took[c.next] = took
	c.next = (c.next + 1) % lastCommits
}

// pace returns how long commits take, and what waits for one.
func (c *condition) pace() []zap.Field {
	sorted := slices.Sorted(slices.Values(c.took))
	return []zap.Field{
		zap.Duration("p99", sorted[(len(sorted)*99+99)/100-1]), zap.Int("of_commits", len(sorted)),
		zap.Int64("queue_requests", c.waiting()), zap.Int64("queue_bytes", c.queued()),
	}
}

// room reports whether a write that succeeded means that the disk is no longer full.
func (c *condition) room(now time.Time) bool {
	if free, known := c.freeBytes(); known {
		return free >= roomBytes
	}
	return now.Sub(c.full.last) >= roomAfter
}

func (c *condition) freeField() zap.Field {
	if free, known := c.freeBytes(); known {
		return zap.Int64("free_bytes", free)
	}
	return zap.Skip()
}

// freeBytes returns what is free on the disk of the database, if this machine can tell.
func (c *condition) freeBytes() (free int64, known bool) {
	free, _, known, err := c.db.Disk(context.Background())
	return free, known && err == nil
}

// state returns whether the disk is full, and whether the database is not available.
func (c *condition) state() (full, down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.full.on(), c.down.on()
}

// measure reads the sizes on disk.
func (c *condition) measure(ctx context.Context) {
	if n, err := c.db.DiskBytes(ctx); err == nil { // of a database that does not answer the last size stays
		c.disk.Store(n)
	}
	if n, known := c.freeBytes(); known {
		c.free.Store(n)
	}
}

// watchCondition tries a small write now and then while the store cannot write, so that it becomes known when it can, also if nobody
// sends anything, until ctx ends.
func (s *Store) watchCondition(ctx context.Context) {
	tick := time.NewTicker(conditionEvery)
	defer tick.Stop()
	var measured time.Time
	for {
		if now := time.Now(); now.Sub(measured) >= diskEvery {
			s.condition.measure(ctx)
			measured = now
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.condition.mu.Lock()
		s.condition.settleLag(s.condition.now())
		s.condition.mu.Unlock()
		if full, down := s.condition.state(); full || down {
			_ = s.CheckWrite(ctx) // what came of it, commit has noted
		}
	}
}

// Writable returns nil if what is sent now can be stored, as far as is known, and otherwise a fault.Unavailable that tells why not. It may be
// asked often: the database is asked at most once a second.
func (s *Store) Writable(ctx context.Context) error {
	return s.condition.writable(ctx)
}

func (c *condition) writable(ctx context.Context) error {
	if full, down := c.state(); full {
		return fault.New(fault.Unavailable, "disk full")
	} else if down {
		return fault.New(fault.Unavailable, "the database is not available")
	}
	c.asking.Lock()
	defer c.asking.Unlock()
	if now := c.now(); c.asked.IsZero() || now.Sub(c.asked) >= askEvery {
		// One who asks and leaves must not decide what the next one is told.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		c.answer = nil
		if err := c.answers(ctx); err != nil {
			c.answer = fault.Wrap(fault.Unavailable, err, "the database is not available")
		}
		c.asked = c.now()
	}
	return c.answer
}

// Stuck reports whether a transaction has been running for so long that it will hardly end.
func (s *Store) Stuck() bool { return s.condition.stuck() }

func (c *condition) stuck() bool {
	began := c.oldest()
	return !began.IsZero() && c.now().Sub(began) > stuckAfter
}

// observe registers the gauges.
func (c *condition) observe(m metric.Meter) error {
	full, err := m.Int64ObservableGauge("spangrove_store_disk_full", metric.WithUnit("1"),
		metric.WithDescription("1 while the disk of the store is full, otherwise 0."))
	if err != nil {
		return err
	}
	down, err := m.Int64ObservableGauge("spangrove_store_unavailable", metric.WithUnit("1"),
		metric.WithDescription("1 while the database is not available, otherwise 0."))
	if err != nil {
		return err
	}
	disk, err := m.Int64ObservableGauge("spangrove_store_disk_bytes", metric.WithUnit("By"),
		metric.WithDescription("What the database takes on disk, as of the last half minute."))
	if err != nil {
		return err
	}
	free, err := m.Int64ObservableGauge("spangrove_store_disk_free_bytes", metric.WithUnit("By"),
		metric.WithDescription("What is free on the file system of the data directory, as of the last half minute. SQLite only."))
	if err != nil {
		return err
	}
	_, err = m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		isFull, isDown := c.state()
		o.ObserveInt64(full, oneIf(isFull))
		o.ObserveInt64(down, oneIf(isDown))
		if n := c.disk.Load(); n >= 0 {
			o.ObserveInt64(disk, n)
		}
		if n := c.free.Load(); n >= 0 {
			o.ObserveInt64(free, n)
		}
		return nil
	}, full, down, disk, free)
	return err
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
