// Package events holds sessions and events in a database.
//
// An event is a narrow head row (ids, type, name, times, the small JSON fields: all that can be
// filtered) and a payload (inputs, outputs, config). The payloads of one session in one commit
// are compressed together as a chunk. A session row holds totals counted only from rows really inserted.
//
// A write is idempotent by (project, event id); merges are made in Go (package event), since the two
// databases' own merge functions disagree. A Commit is the transaction that requests share.
//
// The unique key of events is local in time, (project, day, event id), so that random ids do
// not touch a random page each. A Bloom filter of ids for each day, and a look-up on the days that
// it names, make sure that the same id is not stored again on another day (id_filter.go).
//
// The family of a file stands first in its name:
//
//   - event: preparing, inserting, repeating, rewriting, updating, deleting and reading events
//   - session, trace: rows of sessions and traces, implicit sessions, moves between sessions
//   - tree: the trees of sessions, and their correction before a commit
//   - log: parts of events that log records bring
//   - field_index: which keys events have
//   - search, chart: reads that grow with the data; read_gate shares connections among them
//   - segment: the same events as columns, built from the rows in the background
//   - pack: chunks of sessions at rest are compressed again, many together
//   - condition: whether the database can write, and how fast, for the log and for who asks
//   - deletion: events or sessions that a search found are deleted, in parts
//   - outbox: events that wait to be evaluated
//   - session_watch: who wants to know of sessions that change (package live)
//   - activity, status, space: what the store tells of itself
//   - bulk, and files that begin with the name of a database: what the databases do differently with the
//     rows of events
package events

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/price"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/live"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// Options of the storage of events. All must be set but Meter.
type Options struct {
	Logger        *zap.Logger
	Meter         metric.Meter
	Now           func() time.Time
	IDFilterBytes int           // bound on the filters of ids
	QueueBytes    int64         // bound on the payload that waits for a commit
	PendingTTL    time.Duration // how long updates and log parts wait for their event
	MaxPending    int           // bound on the updates that wait, and on the log parts
	Window        event.Window  // when events may begin
	ReadTimeout   time.Duration // bound on one read
	ReadShare     int           // connections that the heavy reads of a project may have at once
	ReadWait      time.Duration // how long a heavy read waits for its project's share
	ValueEvents   int           // how many events Values looks at
	SlowCommit    time.Duration // from when on a commit counts as slow
	PackAfter     time.Duration // how long a session is at rest before its payloads are packed; negative: they are not
	// SealBeforeReads is for tests: each read that can use segments finds all events in them.
	SealBeforeReads bool
}

// Bounds of the caches.
const (
	chunkCacheBytes   = 20 << 20
	packCacheBytes    = 4 << 20 // few: what was read of a pack is in the cache of chunks
	traceCacheEntries = 50_000
)

// Hooks are what the storage of events asks of the parts that build on it.
type Hooks struct {
	// Limits returns the effective limits of a project.
	Limits func(ctx context.Context, project int64) (project.Bounds, error)
	// RunSessions returns the sessions that a run lists, none if there is no such run.
	RunSessions func(ctx context.Context, project int64, runID string) ([]uuid.UUID, error)
	// ScoreNames lists the members of an event's metrics that the server or people gave.
	ScoreNames func(ctx context.Context, c sqldb.Conn, project int64, event uuid.UUID) ([]string, error)
	// EraseOf deletes what is recorded of events that are deleted.
	EraseOf func(ctx context.Context, tx *Commit, project int64, events []uuid.UUID) error
	// MoveOf moves what people have said of a session to the one that its events have moved to.
	MoveOf func(ctx context.Context, tx *Commit, project int64, from, to uuid.UUID) error
}

// Store holds sessions and events in a database. It is safe for concurrent use.
type Store struct {
	// Dialect is the SQL of the database about events.
	Dialect query.Dialect

	options   Options
	hooks     Hooks
	db        sqldb.DB
	bulk      Bulk
	pool      *writer.Pool[*Commit]
	telemetry *telemetry
	condition *condition
	live      *live.Hub
	relay     *live.Relay // nil: no other server writes to the database
	prices    atomic.Pointer[price.Book]
	putting   atomic.Int64 // requests to store events that are under way
	lastPut   atomic.Int64 // when the last one ended, Unix nanoseconds
	server    string       // names this process among those that write to the database
	leases    leases
	packMu    sync.Mutex    // held while sessions are packed
	namesKick chan struct{} // holds one: a pass over a field index was asked for
	sealKick  chan struct{} // holds one: a pass over the segments was asked for
	removal   *chunkRemoval

	reads *gate

	// What is in memory of what is stored.
	idFilter   *idFilter
	fieldIndex *fieldIndex
	online     online
	chunks     *chunkCache
	packs      *chunkCache // texts of whole packs
	configs    *configKeep
	columns    *segment.Cache
	answers    *segment.Cache // what questions have made of segments
	numbers    *lru.Cache[valueTableKey, *query.ValueTable]
	sealed     segmentGauges
	traces     *lru.Cache[traceKey, traceRow]
	trees      *treeCache
	outcomes   *outcomeCache
	pending    *pendingIDs
	logCounts  logCounts
	aliases    *aliasFlag
	usage      *usage
	swept      sweptPayloads
	days       []projectDay // whose filters are to be built
}

// Open opens the storage of events and starts its writers. Start must be called before what is to be
// done in the background is expected, and Close in the end, if there was an error as well.
func Open(ctx context.Context, db sqldb.DB, bulk Bulk, dialect query.Dialect, o Options, h Hooks) (*Store, error) {
	s := &Store{
		Dialect:    dialect,
		idFilter:   newIDFilter(o.IDFilterBytes, !db.Exclusive()),
		fieldIndex: newFieldIndex(),
		reads:      newGate(db.Readers()*3/4, o.ReadShare, o.ReadWait), // a quarter is left for reads that are not heavy
		options:    o,
		hooks:      h,
		db:         db,
		bulk:       bulk,
		live:       live.NewHub(o.Now),
		namesKick:  make(chan struct{}, 1),
		sealKick:   make(chan struct{}, 1),
		server:     uuid.NewString(),
		leases:     leases{until: map[string]time.Time{}},
		chunks:     newChunkCache(chunkCacheBytes),
		packs:      newChunkCache(packCacheBytes),
		configs:    newConfigKeep(),
		columns:    segment.NewCache(segmentCacheBytes),
		answers:    segment.NewCache(answerCacheBytes),
		numbers:    newValueTables(),
		trees:      newTreeCache(),
		outcomes:   newOutcomeCache(!db.Exclusive(), o.Now),
		pending:    &pendingIDs{ids: map[writer.Key]int{}, of: map[int64]int{}},
		aliases:    &aliasFlag{},
		usage:      newUsage(),
		swept:      sweptPayloads{before: map[int64]float64{}},
	}
	s.removal = newChunkRemoval(s, bulk)
	if n, shared := db.(live.Notifier); shared {
		s.relay = live.NewRelay(s.live, n, o.Logger)
	}
	s.prices.Store(price.New())
	s.traces, _ = lru.New[traceKey, traceRow](traceCacheEntries) // fails for sizes below 1 only
	s.pool = writer.NewPool(db, o.QueueBytes, writer.Hooks[*Commit]{
		Ready: bulk.ready,
		Begin: s.beginCommit,
		Observe: func(ctx context.Context, batches []writer.Batch, took time.Duration, err error) {
			s.telemetry.commit(ctx, batches, took, s.condition.commit(took, err))
		},
	})
	s.condition = newCondition(db, o, s.pool)
	var err error
	if s.telemetry, err = newTelemetry(o.Meter, o.Now, gauges{
		queued:     s.pool.Queued,
		waiting:    s.pool.Waiting,
		updates:    s.pending.count,
		statements: db.Statements,
		replica:    db.ReplicaReads,
		idFilters:  s.idFilter.size,
		segments:   &s.sealed,
		condition:  s.condition,
	}); err != nil {
		return s, err
	}
	return s, s.loadMemory(sqldb.Patiently(ctx)) // a large store is read as long as it takes
}

// loadMemory reads what the store keeps in memory of the database.
func (s *Store) loadMemory(ctx context.Context) (err error) {
	s.db.Bound(s.options.ReadTimeout)
	if err := s.bulk.open(ctx, s.idFilter, s.today); err != nil {
		return err
	}
	if s.days, err = s.bulk.days(ctx); err != nil {
		return fmt.Errorf("list days: %w", err)
	}
	for _, d := range s.days {
		s.idFilter.known(d.project, d.day)
	}
	if err := s.aliases.load(ctx, s.db); err != nil {
		return err
	}
	counts := recount{updates: true, logs: true}
	if err := counts.read(ctx, s.db); err != nil {
		return err
	}
	counts.publish(s)
	return nil
}

// Start begins what is done in the background until ctx ends; work counts it.
func (s *Store) Start(ctx context.Context, work *sync.WaitGroup) {
	work.Go(func() { s.watchCondition(ctx) })
	work.Go(func() { s.makeAhead(ctx) })
	work.Go(func() { s.erasing(ctx) })
	work.Go(func() { s.erasingNames(ctx) })
	work.Go(func() { s.countStored(ctx) })
	work.Go(func() { s.packing(ctx) })
	work.Go(func() { s.sealing(ctx) })
	work.Go(func() { s.fillIDFilter(sqldb.Patiently(ctx), s.days) })
	if s.relay != nil {
		work.Go(func() { s.relay.Run(ctx) })
	}
	if s.removal != nil {
		work.Go(func() { s.removal.run(ctx) })
	}
}

// CloseQueue refuses new writes, ends those who watch sessions, and reports whether it is the first to do so. Close waits until
// those before it are stored.
func (s *Store) CloseQueue() (first bool) {
	s.live.Close()
	return s.pool.Close()
}

// Close waits until what was queued is stored.
func (s *Store) Close() { s.pool.Wait() }
