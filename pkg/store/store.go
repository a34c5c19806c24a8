package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/evalqueue"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/resource"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Store is an open store. It is safe for concurrent use.
type Store struct {
	EventStore
	ResourceStore
	EvaluationStore

	log         *zap.Logger
	db          sqldb.DB
	events      *events.Store
	resources   *resource.Store
	evaluations *evalqueue.Store

	stop context.CancelFunc // ends the background work
	work sync.WaitGroup     // background work
}

// OpenSQLite opens the embedded store in a data directory, which it makes if there is none.
func OpenSQLite(ctx context.Context, dir string, o Options) (*Store, error) {
	o = o.withDefaults()
	if o.Synchronous != "full" && o.Synchronous != "normal" {
		return nil, fault.InvalidField("synchronous", `must be "full" or "normal"`)
	}
	db, err := sqldb.OpenSQLite(ctx, dir, o.Synchronous, o.Logger)
	if err != nil {
		return nil, err
	}
	return open(ctx, db, events.NewSQLiteBulk(db), query.SQLite, o)
}

// OpenPostgres opens the store in a PostgreSQL database, version 15 or later.
func OpenPostgres(ctx context.Context, dsn string, o Options) (*Store, error) {
	o = o.withDefaults()
	db, err := sqldb.OpenPostgres(ctx, sqldb.ServerOptions{
		DSN: dsn, DirectDSN: o.DirectDSN, ReadDSN: o.ReadDSN, ReplicaWait: o.ReplicaWait, Writers: o.Writers, ReadTimeout: o.ReadTimeout, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	return open(ctx, db, events.NewPostgresBulk(db), query.Postgres, o)
}

func open(ctx context.Context, db sqldb.DB, bulk events.Bulk, dialect query.Dialect, o Options) (*Store, error) {
	o.Logger = sqldb.WithoutFull(o.Logger, db)
	s := &Store{log: o.Logger, db: db}
	hooks := events.Hooks{
		Limits: func(ctx context.Context, id int64) (project.Bounds, error) { return s.resources.ProjectLimits(ctx, id) },
		RunSessions: func(ctx context.Context, id int64, runID string) ([]uuid.UUID, error) {
			return s.resources.ListedSessionsOf(ctx, id, runID)
		},
		ScoreNames: func(ctx context.Context, c sqldb.Conn, id int64, event uuid.UUID) ([]string, error) {
			return s.evaluations.ScoreNames(ctx, c, id, event)
		},
		EraseOf: func(ctx context.Context, tx *events.Commit, id int64, list []uuid.UUID) error {
			if err := evalqueue.EraseEvaluationsOf(ctx, tx, id, list); err != nil {
				return err
			}
			return resource.EraseCommentsOf(ctx, tx, id, list)
		},
		MoveOf: func(ctx context.Context, tx *events.Commit, id int64, from, to uuid.UUID) error {
			if err := evalqueue.MoveEvaluationsOf(ctx, tx, id, from, to); err != nil {
				return err
			}
			return resource.MoveComments(ctx, tx, id, from, to)
		},
	}
	e, err := events.Open(ctx, db, bulk, dialect, events.Options{
		Logger:        o.Logger,
		Meter:         o.Meter,
		Now:           o.Now,
		IDFilterBytes: o.IDFilterBytes,
		QueueBytes:    o.QueueBytes,
		PendingTTL:    o.PendingTTL,
		MaxPending:    o.MaxPending,
		Window:        o.Window,
		ReadTimeout:   o.ReadTimeout,
		ReadShare:     o.ReadShare,
		ReadWait:      o.ReadWait,
		ValueEvents:   o.ValueEvents,
		PackAfter:     o.PackAfter,
		SlowCommit:    o.SlowCommit,

		SealBeforeReads: o.SealBeforeReads,
	}, hooks)
	s.events = e
	s.resources = resource.New(db, e, resource.Options{
		Logger:          o.Logger,
		Now:             o.Now,
		Limits:          o.Limits,
		Retention:       o.Retention,
		AuditRetention:  o.AuditRetention,
		AuditMaxEntries: o.AuditMaxEntries,
	})
	s.evaluations = evalqueue.New(db, e, s.resources, evalqueue.Options{Now: o.Now})
	s.EventStore, s.ResourceStore, s.EvaluationStore = s.events, s.resources, s.evaluations
	if err == nil {
		err = s.resources.Load(sqldb.Patiently(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	if o.still {
		return s, nil
	}
	background, stop := context.WithCancel(sqldb.Patiently(context.WithoutCancel(ctx)))
	s.stop = stop
	s.events.Start(background, &s.work)
	s.resources.Start(background, &s.work)
	s.work.Go(func() { s.expire(background) })
	return s, nil
}

// Close stores what is queued, then closes the database. It is safe to call twice.
func (s *Store) Close(ctx context.Context) error {
	s.resources.FlushAudit(ctx)
	s.resources.FlushKeyUses(ctx)
	s.events.GiveLeases(ctx)
	if !s.events.CloseQueue() {
		return nil
	}
	if s.stop != nil {
		s.stop()
	}
	s.events.Close()
	s.work.Wait()
	return s.db.Close(ctx)
}

// expireEvery is how often what waited too long is dropped.
const expireEvery = 10 * time.Minute

// expire drops updates and log parts that waited too long, and finishes deletions, until ctx ends.
func (s *Store) expire(ctx context.Context) {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	s.resources.FinishDeletions(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.resources.FinishDeletions(ctx)
			s.events.Expire(ctx)
			if err := s.evaluations.ExpireOutbox(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("drop events that nobody evaluated", zap.Error(err))
			}
			if err := s.resources.ExpireAudit(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("drop old audit entries", zap.Error(err))
			}
		}
	}
}
