package online

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/evaluation"
)

// queueAge is how long a list of what is due may be used before it is read again.
const queueAge = time.Second

// groupQueue hands out groups: projects in turn, and the groups of each in turn, so that no metric and no
// project waits for another's to end. A project has no more than its share of the workers.
type groupQueue struct {
	store     Store
	telemetry *telemetry
	share     func(ctx context.Context, projectID int64) (int, error) // nil: no bound
	signal    chan struct{}                                           // holds one: something was asked for

	mu       sync.Mutex
	projects []*projectLine // with something due, as far as is known, in the order of their turns
	read     time.Time
	running  map[int64]int        // workers by project
	last     map[queueTurn]uint64 // when each had its last turn
	turns    uint64
}

// maxTurns bounds the projects and groups whose last turns are remembered.
const maxTurns = 10_000

// projectLine is what a project has due.
type projectLine struct {
	project int64
	groups  []evaluation.Group // in the order of their turns
}

// newGroupQueue returns an empty queue, which reads what is due when it is first asked.
func newGroupQueue(store Store, t *telemetry, share func(ctx context.Context, projectID int64) (int, error)) *groupQueue {
	return &groupQueue{
		store:     store,
		telemetry: t,
		share:     share,
		signal:    make(chan struct{}, 1),
		running:   map[int64]int{},
		last:      map[queueTurn]uint64{},
	}
}

// wake wakes one sleeping worker.
func (q *groupQueue) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// take returns the group whose turn it is; ok is false if nothing that may run now is due. batch is how
// many of the group will be claimed. The caller must call leave when done with the group.
func (q *groupQueue) take(ctx context.Context, batch int) (g evaluation.Group, ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.projects) == 0 || time.Since(q.read) > queueAge {
		if err := q.refresh(ctx); err != nil {
			return g, false, err
		}
	}
	for i, l := range q.projects {
		if q.share != nil {
			share, err := q.share(ctx, l.project)
			if err != nil {
				return g, false, err
			}
			if q.running[l.project] >= share {
				continue
			}
		}
		g = l.groups[0]
		l.groups = l.groups[1:]
		if g.Due -= batch; g.Due > 0 {
			l.groups = append(l.groups, g)
		}
		q.projects = slices.Delete(q.projects, i, i+1)
		if len(l.groups) > 0 {
			q.projects = append(q.projects, l)
		}
		q.running[l.project]++
		q.turns++
		q.last[queueTurn{project: l.project}], q.last[turnOf(g)] = q.turns, q.turns
		if len(q.projects) > 0 {
			q.wake() // there is something for another one
		}
		return g, true, nil
	}
	return g, false, nil
}

// leave ends the work on a group of the project.
func (q *groupQueue) leave(project int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running[project]--; q.running[project] == 0 {
		delete(q.running, project)
	}
	if len(q.projects) > 0 {
		q.wake() // what waited for its share may go on
	}
}

// refresh reads what is due. The one whose last turn is longest ago comes first.
func (q *groupQueue) refresh(ctx context.Context) error {
	all, err := q.store.EvaluationQueue(ctx)
	if err != nil {
		return err
	}
	byProject := map[int64]*projectLine{}
	q.projects, q.read = nil, time.Now()
	waiting := 0
	for _, g := range all {
		waiting += g.Waiting
		if g.Due == 0 {
			continue
		}
		l := byProject[g.Project]
		if l == nil {
			l = &projectLine{project: g.Project}
			byProject[g.Project] = l
			q.projects = append(q.projects, l)
		}
		l.groups = append(l.groups, g)
	}
	if len(q.last) > maxTurns {
		clear(q.last)
	}
	slices.SortStableFunc(q.projects, func(a, b *projectLine) int {
		return cmp.Compare(q.last[queueTurn{project: a.project}], q.last[queueTurn{project: b.project}])
	})
	for _, l := range q.projects {
		slices.SortStableFunc(l.groups, func(a, b evaluation.Group) int {
			return cmp.Compare(q.last[turnOf(a)], q.last[turnOf(b)])
		})
	}
	q.telemetry.waiting.Store(int64(waiting))
	return nil
}

// queueTurn names what takes turns: a project, or a group of one.
type queueTurn struct {
	project          int64
	metric, backfill string
	version          int64
}

func turnOf(g evaluation.Group) queueTurn {
	return queueTurn{g.Project, g.MetricID, g.Backfill, g.Version}
}
