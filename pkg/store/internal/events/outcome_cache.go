package events

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/spangrove/spangrove/pkg/run"
)

// Bounds of the outcomes of runs in memory.
const (
	outcomeBytes    = 96 << 20 // of all together: about 60 runs of 10,000 sessions with five metrics
	outcomeProjects = 256      // projects whose changes are recorded
	// maxChangedSessions is how many changes of a project are recorded. What was kept before them is forgotten.
	maxChangedSessions = 20_000
	// outcomeAge is how long outcomes are kept where other servers write to the database, of whose changes this one is not told.
	outcomeAge = 5 * time.Second
)

// outcomeCache keeps what runs came to, while the sessions of their project that change are recorded: an answer holds until a session of its run
// changes, or the run gets another one. It is safe for concurrent use.
type outcomeCache struct {
	mu       sync.Mutex
	shared   bool // other servers write to the database
	now      func() time.Time
	bytes    int
	runs     *lru.Cache[OutcomeKey, *keptOutcomes]
	projects *lru.Cache[int64, *changeLog]
}

// OutcomeKey says what outcomes depend on beside events: the run with the sessions that it lists, and what was asked of it.
type OutcomeKey struct {
	Project  int64
	Run      string
	Question uint64 // a hash
}

// keptOutcomes hold for the changes of log before at.
type keptOutcomes struct {
	outcomes *run.Outcomes
	sessions []uuid.UUID // of the run, in order, also those that the question leaves out
	log      *changeLog
	at       int
	made     time.Time
}

// changeLog lists the sessions of a project that changed, the first at begin.
type changeLog struct {
	begin int
	list  []uuid.UUID
}

func (l *changeLog) end() int { return l.begin + len(l.list) }

func newOutcomeCache(shared bool, now func() time.Time) *outcomeCache {
	c := &outcomeCache{shared: shared, now: now}
	// Both fail for sizes below 1 only. The bytes bound the runs, each of which takes some.
	c.runs, _ = lru.NewWithEvict(1<<20, func(_ OutcomeKey, k *keptOutcomes) { c.bytes -= k.size() })
	c.projects, _ = lru.New[int64, *changeLog](outcomeProjects)
	return c
}

func (k *keptOutcomes) size() int { return k.outcomes.Bytes() + 16*len(k.sessions) + 300 }

// sessionChanges collects the sessions that a transaction changes. A nil one collects nothing.
type sessionChanges map[int64]map[uuid.UUID]bool

func (c sessionChanges) add(project int64, session uuid.UUID) {
	if c == nil {
		return
	}
	if c[project] == nil {
		c[project] = map[uuid.UUID]bool{}
	}
	c[project][session] = true
}

// collect returns what a transaction that begins records its changes in; nil while nothing is kept.
func (c *outcomeCache) collect() sessionChanges {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.projects.Len() == 0 {
		return nil
	}
	return sessionChanges{}
}

// publish records what a transaction has changed, after its commit. Nil changes are those of a transaction that began while nothing was kept: what
// is kept since may lack them.
func (c *outcomeCache) publish(changes sessionChanges) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if changes == nil {
		if c.projects.Len() > 0 {
			c.projects.Purge()
			c.runs.Purge()
		}
		return
	}
	for project, sessions := range changes {
		l, ok := c.projects.Peek(project)
		if !ok {
			continue
		}
		for id := range sessions {
			l.list = append(l.list, id)
		}
		if n := len(l.list) - maxChangedSessions; n > 0 {
			l.begin, l.list = l.begin+n, slices.Clone(l.list[n:])
		}
	}
}

// begin returns where the changes of a project stand before it is read.
func (c *outcomeCache) begin(project int64) (*changeLog, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.projects.Get(project)
	if !ok {
		l = &changeLog{}
		c.projects.Add(project, l)
	}
	return l, l.end()
}

// find returns the outcomes that are kept, and the sessions of others that have changed since they were made: the run may have got one of these. Nil: there are
// none, or a session of theirs has changed.
func (c *outcomeCache) find(key OutcomeKey) (k *keptOutcomes, others []uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.runs.Get(key)
	if !ok {
		return nil, nil
	}
	l, ok := c.projects.Get(key.Project)
	if !ok || l != k.log || k.at < l.begin || c.shared && c.now().Sub(k.made) > outcomeAge {
		c.runs.Remove(key)
		return nil, nil
	}
	for _, id := range l.list[k.at-l.begin:] {
		if _, found := slices.BinarySearchFunc(k.sessions, id, compareIDs); found {
			c.runs.Remove(key)
			return nil, nil
		}
		others = append(others, id)
	}
	at := *k
	at.at = l.end()
	return &at, others
}

// keep keeps outcomes, or notes that they hold for more changes than before.
func (c *outcomeCache) keep(key OutcomeKey, k *keptOutcomes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.projects.Peek(key.Project); !ok || l != k.log || k.size() > outcomeBytes/2 {
		return
	}
	c.runs.Remove(key)
	c.runs.Add(key, k)
	for c.bytes += k.size(); c.bytes > outcomeBytes; {
		c.runs.RemoveOldest()
	}
}

func compareIDs(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }
