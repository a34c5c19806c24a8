package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/audit"
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
	// Writers is the number of writers of telemetry on PostgreSQL, in addition to one for all else. Default
	// 4; SQLite has one for both.
	Writers int
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
	if o.Writers == 0 {
		o.Writers = defaultWriters
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
	bulk      bulkDB
	dialect   query.Dialect
	telemetry *telemetry

	pool      *writerPool[*commit]
	idFilter  *idFilter
	chunks    *chunkCache
	traces    *lru.Cache[traceKey, traceRow]
	pending   *pendingIDs
	logCounts logCounts
	aliases   *aliasFlag
	purges    *purges
	keys      revision
	limits    *limits
	audit     *auditNotes
	prices    atomic.Pointer[price.Book]
	usage     *usage
	reads     *gate
	hooks     hooks
	datasetMu chan struct{} // one place: held by the change of datasets that runs (dataset_change.go)

	trees      *treeCache
	fieldIndex *fieldIndex
	online     online
	putting    atomic.Int64 // requests to store events that are under way

	orgID, workspaceID string

	stop context.CancelFunc
	work sync.WaitGroup // background work
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
	return open(ctx, db, newSQLiteBulk(db), query.SQLite, o)
}

// OpenPostgres opens the store in a PostgreSQL database, version 15 or later.
func OpenPostgres(ctx context.Context, dsn string, o Options) (*Store, error) {
	o = o.withDefaults()
	db, err := openPostgres(ctx, dsn, o.Writers, o.ReadTimeout)
	if err != nil {
		return nil, err
	}
	return open(ctx, db, newPostgresBulk(db), query.Postgres, o)
}

func open(ctx context.Context, db database, bulk bulkDB, dialect query.Dialect, o Options) (_ *Store, err error) {
	s := &Store{
		options:    o,
		db:         db,
		bulk:       bulk,
		dialect:    dialect,
		idFilter:   newIDFilter(idFilterBytes, !db.exclusive()),
		chunks:     newChunkCache(chunkCacheBytes),
		pending:    &pendingIDs{ids: map[idKey]int{}, of: map[int64]int{}},
		aliases:    &aliasFlag{},
		datasetMu:  make(chan struct{}, 1),
		purges:     newPurges(),
		namesKick:  make(chan struct{}, 1),
		limits:     newLimits(),
		audit:      &auditNotes{notes: audit.Notes{Max: auditNotesPerMinute}},
		usage:      newUsage(),
		trees:      newTreeCache(),
		fieldIndex: newFieldIndex(),
	}
	s.prices.Store(price.New())
	s.hooks = hooks{limits: s.ProjectLimits, runSessions: s.listedSessionsOf, scoreNames: s.scoreNames, eraseOf: eraseEvaluationsOf}
	defer func() {
		if err != nil {
			_ = s.Close(ctx)
		}
	}()
	s.pool = newWriterPool(db, o.QueueBytes, writerHooks[*commit]{
		ready: bulk.ready,
		begin: s.beginCommit,
		observe: func(ctx context.Context, batches []requestBatch, took time.Duration, err error) {
			s.telemetry.commit(ctx, batches, took, err)
		},
	})
	if s.telemetry, err = newTelemetry(o.Meter, s.pool.queued); err != nil {
		return nil, err
	}
	if s.traces, err = lru.New[traceKey, traceRow](traceCacheEntries); err != nil {
		return nil, err
	}
	db.bound(o.ReadTimeout)
	if err := bulk.open(patiently(ctx), s.idFilter, s.today); err != nil {
		return nil, err
	}
	// A quarter of the readers is left for reads that are not heavy.
	s.reads = newGate(db.readers()*3/4, o.ReadShare, o.ReadWait)
	ctx = patiently(ctx) // a large store is read as long as it takes
	days, err := bulk.days(ctx)
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
	if !db.exclusive() {
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

// Close stores what is queued, then closes the database. It is safe to call twice.
func (s *Store) Close(ctx context.Context) error {
	s.flushAudit(ctx)
	if s.pool != nil && !s.pool.close() {
		return nil
	}
	if s.stop != nil {
		s.stop()
	}
	if s.pool != nil {
		s.pool.wait()
	}
	s.work.Wait()
	return s.db.close(ctx)
}
