package events

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// gate shares the connections for heavy reads among projects: no project has more than its share, and
// what is free goes to the waiting project that has the least. A read is heavy if what it looks at
// grows with what the project has stored: searches, charts, results of runs, sessions, lists.
type gate struct {
	mu      sync.Mutex
	free    int
	share   int           // connections that one project may have
	wait    time.Duration // longest wait for them
	waiters int           // requests of one project that may wait
	used    map[int64]int
	queue   []*waiter // in the order of arrival
}

type waiter struct {
	project int64
	n       int
	ready   chan struct{} // closed when it has them
}

// ScanConns is how many connections a read takes that reads payload while it reads rows.
const ScanConns = 2

// maxWaiters is how many heavy reads of one project may wait.
const maxWaiters = 64

func newGate(connections, share int, wait time.Duration) *gate {
	return &gate{free: connections, share: min(share, connections), wait: wait, waiters: maxWaiters, used: map[int64]int{}}
}

// enter takes n connections for a read of a project, at most its whole share. release gives them
// back. fault.Limited if too many wait already, or for too long.
func (g *gate) enter(ctx context.Context, project int64, n int) (release func(), err error) {
	// A read that asks for more than a project may ever have would wait for ever.
	n = min(n, g.share)
	g.mu.Lock()
	// Nobody passes a request of the same project that waits: a stream of small reads would keep a large one waiting.
	if g.fits(project, n) && !slices.ContainsFunc(g.queue, func(w *waiter) bool { return w.project == project }) {
		g.take(project, n)
		g.mu.Unlock()
		return g.releaser(project, n), nil
	}
	waiting := 0
	for _, w := range g.queue {
		if w.project == project {
			waiting++
		}
	}
	if waiting >= g.waiters {
		g.mu.Unlock()
		return nil, errManyReads
	}
	w := &waiter{project, n, make(chan struct{})}
	g.queue = append(g.queue, w)
	g.mu.Unlock()
	timer := time.NewTimer(g.wait)
	defer timer.Stop()
	select {
	case <-w.ready:
		return g.releaser(project, n), nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = errManyReads
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// It may have got its connections between the end of the wait and this lock. Then they must be given back.
	if i := slices.Index(g.queue, w); i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
	} else { // it got them meanwhile
		g.give(project, n)
	}
	return nil, err
}

var errManyReads = &fault.Error{
	Kind:       fault.Limited,
	Msg:        "too many reads of this project run at once, try again",
	RetryAfter: 2 * time.Second,
}

func (g *gate) fits(project int64, n int) bool { return g.free >= n && g.used[project]+n <= g.share }

// inUse reports whether a heavy read is under way.
func (g *gate) inUse() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.used) > 0
}

func (g *gate) take(project int64, n int) {
	g.free -= n
	g.used[project] += n
}

func (g *gate) releaser(project int64, n int) func() {
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.give(project, n)
	})
}

// give puts connections back and hands what is free to those who wait.
func (g *gate) give(project int64, n int) {
	g.free += n
	if g.used[project] -= n; g.used[project] == 0 {
		delete(g.used, project)
	}
	for {
		next := -1
		// At most maxWaiters for each project, so the walk is short. Of projects that have equally many, who came first is first.
		for i, w := range g.queue {
			if g.fits(w.project, w.n) && (next < 0 || g.used[w.project] < g.used[g.queue[next].project]) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := g.queue[next]
		g.queue = slices.Delete(g.queue, next, next+1)
		g.take(w.project, w.n)
		close(w.ready)
	}
}

// HeavyRead begins a heavy read of a project with n connections, within the time that a read may
// take. end ends it. Within a heavy read, it is that one. A replica may answer it.
func (s *Store) HeavyRead(ctx context.Context, project int64, n int) (_ context.Context, end func(), err error) {
	if ctx.Value(inHeavyRead{}) != nil {
		return ctx, func() {}, nil
	}
	release, err := s.reads.enter(ctx, project, n)
	if err != nil {
		return ctx, nil, err
	}
	// The time begins once the connections are had; the wait for them has a bound of its own.
	ctx, cancel := context.WithTimeout(context.WithValue(sqldb.FromReplica(ctx), inHeavyRead{}, true), s.options.ReadTimeout)
	return ctx, func() { cancel(); release() }, nil
}

// readRest is how long background work rests while questions are being answered, as a multiple of the time that its last step took.
const readRest = 4

// restForReads rests after a step of background work that began at a time, if a question is being answered: whoever asked waits for it.
func (s *Store) restForReads(ctx context.Context, began time.Time) {
	if s.reads.inUse() {
		sleep(ctx, readRest*time.Since(began))
	}
}

// inHeavyRead marks the context of a heavy read, which waits for no other.
type inHeavyRead struct{}

// ReadShare returns how many connections the heavy reads of one project may have at once.
func (s *Store) ReadShare() int { return s.reads.share }
