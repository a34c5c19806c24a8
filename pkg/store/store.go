package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/price"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
)

// Options of a store. The zero value is ready for use.
type Options struct {
	Logger *zap.Logger
	Meter  metric.Meter
	// Synchronous is SQLite's promise: "full" (the default), an answered write survives a
	// power cut, or "normal", it survives a crash of the process but the last commits may be
	// lost with the power.
	Synchronous string
	// QueueBytes bounds the payload that waits for a commit; past it writes are refused as
	// busy. Default 64 MiB.
	QueueBytes int64
	// PendingTTL is how long an update, or what log records say of a span, waits for its event,
	// and how long the latter is known after it came. Default 24 hours.
	PendingTTL time.Duration
	// MaxPending bounds the updates that wait, and likewise what waits of log records (one for
	// each span and request), of which the oldest give way. Default 100,000.
	MaxPending int
	// Lanes is the number of writers of telemetry on PostgreSQL, beside one for all else. Default
	// 4; SQLite has one for both.
	Lanes int
	// Limits are those of projects that set none of their own. Default project.DefaultBounds.
	Limits *project.Bounds
	// Window is when events may begin. A span outside of it is stored at the time it arrived; any
	// other event is refused as fault.Invalid. Default event.DefaultWindow.
	Window event.Window
	// ReadTimeout bounds each read; past it a read is fault.Timeout. Default 30 seconds.
	ReadTimeout time.Duration
	// ReadShare is how many connections the heavy reads of one project (searches, charts, sessions, results
	// of runs) may have at once; one that reads payload has two. Default 4, at most three quarters
	// of the readers.
	ReadShare int
	// ReadWait is how long a heavy read waits for its project's share; past it, it is
	// fault.Limited. Default 10 seconds.
	ReadWait time.Duration
	// AuditRetention is how long entries of the audit log are kept. Default 400 days.
	AuditRetention time.Duration
	// AuditMaxEntries bounds the entries of the audit log. Default 1,000,000.
	AuditMaxEntries int64
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Defaults of what reads may take.
const (
	DefaultReadTimeout = 30 * time.Second
	DefaultReadShare   = 4
	DefaultReadWait    = 10 * time.Second
)

// Bounds of the caches.
const (
	defaultQueueBytes = 64 << 20
	defaultPendingTTL = 24 * time.Hour
	defaultMaxPending = 100_000
	defaultWriters    = 4
	idFilterBytes     = 64 << 20 // Bloom filters: ids of about 35 million events
	chunkCacheBytes   = 24 << 20
	traceCacheEntries = 50_000
	expireEvery       = 10 * time.Minute
	// scanConns is how many connections a read takes that reads payload while it reads rows.
	scanConns = 2
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.Synchronous == "" {
		o.Synchronous = "full"
	}
	if o.QueueBytes == 0 {
		o.QueueBytes = defaultQueueBytes
	}
	if o.PendingTTL == 0 {
		o.PendingTTL = defaultPendingTTL
	}
	if o.MaxPending == 0 {
		o.MaxPending = defaultMaxPending
	}
	if o.Lanes == 0 {
		o.Lanes = defaultWriters
	}
	if o.Limits == nil {
		defaults := project.DefaultBounds()
		o.Limits = &defaults
	}
	if o.Window == (event.Window{}) {
		o.Window = event.DefaultWindow
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = DefaultReadTimeout
	}
	if o.ReadShare == 0 {
		o.ReadShare = DefaultReadShare
	}
	if o.ReadWait == 0 {
		o.ReadWait = DefaultReadWait
	}
	if o.AuditRetention == 0 {
		o.AuditRetention = DefaultAuditRetention
	}
	if o.AuditMaxEntries == 0 {
		o.AuditMaxEntries = DefaultAuditMaxEntries
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	namesKick chan struct{} // holds one: a pass over a field index was asked for

	options   Options
	db        database
	dialect   query.Dialect
	telemetry *telemetry

	writers   []*writer
	queue     *backlog
	idFilter  *idFilter
	chunks    *chunkCache
	traces    *lru.Cache[traceKey, traceRow]
	pending   *pendingIDs
	logCounts logCounts
	aliases   *aliasFlag
	inFlight  *inFlight
	purges    *purges
	keys      revision
	limits    *limits
	audit     *auditNotes
	prices    atomic.Pointer[price.Book]
	usage     *usage
	reads     *gate
	datasetMu chan struct{} // one place: held by the change of datasets that runs (dataset_change.go)

	trees      *treeCache
	fieldIndex *fieldIndex
	online     online
	putting    atomic.Int64 // requests to store events that are under way

	orgID, workspaceID string

	closing    sync.RWMutex
	closed     bool
	stop       context.CancelFunc
	work       sync.WaitGroup // background work
	writerWork sync.WaitGroup // writers
}

// OpenSQLite opens the embedded store in a data directory, which it makes if there is none.
func OpenSQLite(ctx context.Context, dir string, o Options) (*Store, error) {
	o = o.withDefaults()
	if o.Synchronous != "full" && o.Synchronous != "normal" {
		return nil, fault.InvalidField("synchronous", `must be "full" or "normal"`)
	}
	db, err := openSQLite(ctx, dir, o.Synchronous, o.Logger)
	if err != nil {
		return nil, err
	}
	return open(ctx, db, query.SQLite, o)
}

// OpenPostgres opens the store in a PostgreSQL database, version 15 or later.
func OpenPostgres(ctx context.Context, dsn string, o Options) (*Store, error) {
	o = o.withDefaults()
	db, err := openPostgres(ctx, dsn, o.Lanes, o.ReadTimeout)
	if err != nil {
		return nil, err
	}
	return open(ctx, db, query.Postgres, o)
}

func open(ctx context.Context, db database, dialect query.Dialect, o Options) (_ *Store, err error) {
	s := &Store{options: o, db: db, dialect: dialect, queue: &backlog{limit: o.QueueBytes}, idFilter: newIDFilter(idFilterBytes, db.writers() > 1),
		chunks: newChunkCache(chunkCacheBytes), pending: &pendingIDs{ids: map[idKey]int{}, of: map[int64]int{}}, aliases: &aliasFlag{},
		datasetMu: make(chan struct{}, 1), inFlight: newInFlight(), purges: newPurges(), namesKick: make(chan struct{}, 1), limits: newLimits(), audit: &auditNotes{notes: audit.Notes{Max: auditNotesPerMinute}}, usage: newUsage(), trees: newTreeCache(), fieldIndex: newFieldIndex()}
	s.prices.Store(price.New())
	defer func() {
		if err != nil {
			_ = s.Close(ctx)
		}
	}()
	if s.telemetry, err = newTelemetry(o.Meter, s.queue); err != nil {
		return nil, err
	}
	if s.traces, err = lru.New[traceKey, traceRow](traceCacheEntries); err != nil {
		return nil, err
	}
	db.track(s.idFilter, s.today)
	db.bound(o.ReadTimeout)
	// A quarter of the readers is left for reads that are not heavy.
	s.reads = newGate(db.readers()*3/4, o.ReadShare, o.ReadWait)
	ctx = patiently(ctx) // a large store is read as long as it takes
	days, err := db.days(ctx)
	if err != nil {
		return nil, fmt.Errorf("list days: %w", err)
	}
	for _, d := range days {
		s.idFilter.known(d.project, d.day)
	}
	if err := s.aliases.load(ctx, db); err != nil {
		return nil, err
	}
	if err := s.loadPending(ctx); err != nil {
		return nil, err
	}
	if err := s.loadLogCounts(ctx); err != nil {
		return nil, err
	}
	if err := s.loadOnline(ctx); err != nil {
		return nil, err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	for n := range db.writers() {
		l := &writer{s: s, number: n, requests: make(chan *request, 256)}
		s.writers = append(s.writers, l)
		s.writerWork.Add(1)
		go func() { defer s.writerWork.Done(); l.run() }()
	}
	if db.writers() > 1 {
		s.work.Go(func() { s.watchOnline(background) })
	}
	s.work.Go(func() { s.erasing(background) })
	s.work.Go(func() { s.erasingNames(background) })
	s.work.Go(func() { s.countStored(background) })
	s.work.Go(func() { s.writingAudit(background) })
	s.work.Add(3)
	go func() { defer s.work.Done(); s.fillIDFilter(background, days) }()
	go func() { defer s.work.Done(); s.expire(background) }()
	go func() { defer s.work.Done(); s.purge(background) }()
	if s.orgID, err = s.setting(ctx, "org_id", newPublicID); err != nil {
		return nil, err
	}
	if s.workspaceID, err = s.setting(ctx, "workspace_id", newPublicID); err != nil {
		return nil, err
	}
	return s, nil
}

// Ingesting says that events are being stored right now, others than those of evaluators.
func (s *Store) Ingesting() bool { return s.putting.Load() > 0 }

// Put stores a batch: all of it or nothing. When it returns nil, the batch is committed and
// on disk. It is idempotent by event id: an event that is known already changes nothing but
// what was empty before (event.Repeat). Errors are *fault.Error: Invalid names the field,
// Unavailable says to try again, Limited that the project has stored all that it may. What
// evaluation stores is not held to that, so that no answer is paid for twice.
func (s *Store) Put(ctx context.Context, projectID int64, b event.Batch) error {
	if len(b.Events) == 0 && len(b.LogParts) == 0 {
		return nil
	}
	if len(b.Events) == 0 || b.Events[0].Source != evaluation.Source { // what evaluation stores, it need not wait for
		s.putting.Add(1)
		defer s.putting.Add(-1)
		if err := s.CheckStored(ctx, projectID); err != nil {
			return err
		}
	}
	size := sizeOf(&b)
	if !s.queue.take(size) {
		s.telemetry.refused(ctx)
		return errBusy
	}
	p, err := s.prepare(projectID, b)
	if err != nil {
		s.queue.give(size)
		return err
	}
	if err := s.submit(ctx, s.writerOf(shardKey(&b)), &request{batch: p, bytes: size}); err != nil {
		return err
	}
	if err := s.reconcileLogs(ctx, projectID, &b); err != nil {
		return err
	}
	if len(s.writers) == 1 || s.pending.count() == 0 {
		return nil
	}
	for i := range b.Events {
		if s.pending.has(idKey{projectID, b.Events[i].ID}) {
			if _, err := s.catchUp(ctx, projectID, b.Events[i].ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckStart returns a fault.Invalid about start_time if an event that is no span begins outside
// the window of the store, so that a sender can be told before the event is on its way.
func (s *Store) CheckStart(e *event.Event) error { return s.options.Window.Check(e, s.options.Now()) }

// shardKey returns the session id that selects the writer; for a batch of log records only, the
// trace id.
func shardKey(b *event.Batch) uuid.UUID {
	if len(b.Events) > 0 {
		return b.Events[0].SessionID
	}
	return b.LogParts[0].TraceID
}

func sizeOf(b *event.Batch) (n int64) {
	for i := range b.LogParts {
		n += int64(len(b.LogParts[i].Content)) + 64
	}
	for i := range b.Events {
		e := &b.Events[i]
		n += int64(len(e.Inputs)+len(e.Outputs)+len(e.Config)+len(e.Metadata)+len(e.ColdMetadata)+len(e.Metrics)+len(e.Feedback)+
			len(e.UserProperties)+len(e.ChildrenIDs)) + 256
	}
	return n
}

// today is the day of the store's clock, in days since 1970.
func (s *Store) today() int32 { return dayOf(float64(s.options.Now().UnixMilli())) }

// fillIDFilter builds the Bloom filters of days stored before, newest first. Where one does not fit, its
// ids are found without.
func (s *Store) fillIDFilter(ctx context.Context, days []projectDay) {
	for _, k := range days {
		ids := make([]uuid.UUID, 0, 1000)
		err := s.db.idsOf(ctx, k, func(id uuid.UUID) error {
			if ids = append(ids, id); len(ids) == cap(ids) {
				if !s.idFilter.load(k.project, k.day, ids, false) {
					return errFull
				}
				ids = ids[:0]
			}
			return nil
		})
		if err == nil {
			s.idFilter.load(k.project, k.day, ids, true)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && !errors.Is(err, errFull) {
			s.options.Logger.Warn("build id filter", zap.Int32("day", k.day), zap.Error(err))
			return
		}
	}
	if err := s.moveDays(ctx); err != nil && ctx.Err() == nil {
		s.options.Logger.Warn("list the ids of days without a filter", zap.Error(err))
	}
}

var errFull = errors.New("filters are full")

// expire drops updates and notes that waited too long, and finishes deletions.
func (s *Store) expire(ctx context.Context) {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	s.finishDeletions(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.finishDeletions(ctx)
			if err := s.db.tidy(ctx); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("drop empty partitions", zap.Error(err))
			}
			if err := s.moveDays(ctx); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("list the ids of days without a filter", zap.Error(err))
			}
			if err := s.expirePending(ctx, s.options.Now()); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("drop waiting updates", zap.Error(err))
			}
			if err := s.expireOutbox(ctx, s.options.Now()); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("drop events that nobody evaluated", zap.Error(err))
			}
			if err := s.ExpireAudit(ctx); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("drop old audit entries", zap.Error(err))
			}
			if err := errors.Join(s.expireLogs(ctx, s.options.Now()), s.sweepLogs(ctx)); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("drop waiting notes", zap.Error(err))
			}
		}
	}
}

// Close stores what is queued, then closes the database. It is safe to call twice.
func (s *Store) Close(ctx context.Context) error {
	s.flushAudit(ctx)
	s.closing.Lock()
	if s.closed {
		s.closing.Unlock()
		return nil
	}
	s.closed = true
	for _, l := range s.writers {
		close(l.requests)
	}
	s.closing.Unlock()
	if s.stop != nil {
		s.stop()
	}
	s.writerWork.Wait()
	s.work.Wait()
	return s.db.close(ctx)
}

// wrapDBError returns an error of the database with its fault.Kind and the operation that failed. Errors
// that have a kind are returned as they are.
func (s *Store) wrapDBError(err error, op string) error {
	var f *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case s.db.interrupted(err):
		return fmt.Errorf("%s: %w: %w", op, context.DeadlineExceeded, err)
	case s.db.retryable(err), s.db.unavailable(err):
		return &fault.Error{Kind: fault.Unavailable, Msg: "the store is not available, try again", Err: fmt.Errorf("%s: %w", op, err)}
	default:
		return fmt.Errorf("%s: %w", op, err)
	}
}

// aliasFlag knows whether any session id ever moved, to spare the look-up where none did.
type aliasFlag struct {
	mu  sync.RWMutex
	has bool
}

func (a *aliasFlag) any() bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.has
}

func (a *aliasFlag) note() {
	a.mu.Lock()
	a.has = true
	a.mu.Unlock()
}

// load reads it from the database; where others write too, it is always on.
func (a *aliasFlag) load(ctx context.Context, db database) error {
	var n int
	ok, err := one(ctx, db, `SELECT 1 FROM alias LIMIT 1`, nil, &n)
	a.has = ok || db.writers() > 1
	return err
}
