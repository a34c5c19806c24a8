package storeextension

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store"
)

// openTimeout bounds connecting and migrating, so that an unreachable database is an error at
// start and not a program that hangs. Migrations of a large database are within it.
const openTimeout = 5 * time.Minute

const scopeName = "github.com/spangrove/spangrove/pkg/store"

type storeExtension struct {
	set extension.Settings
	cfg *Config

	mu    sync.Mutex
	store *store.Store // nil: not open
}

var _ mount.StoreHolder = (*storeExtension)(nil)

// Start opens and migrates the store. A second Start changes nothing.
func (e *storeExtension) Start(ctx context.Context, _ component.Host) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.store != nil {
		return nil
	}
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	began := time.Now()
	s, err := e.open(opening)
	if err != nil {
		return err
	}
	e.store = s
	mount.Announce(ctx, mount.Notice{Topic: mount.TopicData, Text: e.cfg.place()})
	e.set.Logger.Debug("store opened", zap.String("place", e.cfg.place()), zap.Duration("took", time.Since(began)))
	return nil
}

func (e *storeExtension) open(ctx context.Context) (*store.Store, error) {
	limits := project.Bounds(e.cfg.Limits)
	window, err := e.cfg.StartTime.window()
	if err != nil {
		return nil, fmt.Errorf("extensions::%s::start_time::%w", e.set.ID, err)
	}
	options := store.Options{
		Limits:      &limits,
		Retention:   project.RetentionRule(e.cfg.Retention),
		Window:      window,
		ReadTimeout: e.cfg.Reads.Timeout,
		ReadShare:   e.cfg.Reads.Share,
		ReadWait:    e.cfg.Reads.Wait,
		ValueEvents: e.cfg.Reads.ValueEvents,
		Logger:      e.set.Logger,
		Meter:       e.set.MeterProvider.Meter(scopeName),
		Synchronous: e.cfg.SQLite.Synchronous,
		QueueBytes:  e.cfg.QueueBytes,
		PendingTTL:  e.cfg.PendingTTL,
		MaxPending:  e.cfg.MaxPending,
		PackAfter:   e.cfg.packAfter(),
		SlowCommit:  e.cfg.slowCommit(),
		Writers:     e.cfg.Postgres.Writers,
		DirectDSN:   string(e.cfg.Postgres.DirectDSN),
		ReadDSN:     string(e.cfg.Postgres.ReadDSN),
		ReplicaWait: e.cfg.Postgres.ReplicaWait,

		AuditRetention:  e.cfg.Audit.Retention,
		AuditMaxEntries: e.cfg.Audit.MaxEntries,
	}
	if e.cfg.Postgres.used() {
		s, err := store.OpenPostgres(ctx, string(e.cfg.Postgres.DSN), options)
		if err != nil {
			return nil, fmt.Errorf("extensions::%s::postgres::dsn: open %s: %w", e.set.ID, e.cfg.place(), brief(err))
		}
		return s, nil
	}
	s, err := store.OpenSQLite(ctx, e.cfg.SQLite.Directory, options)
	if err != nil {
		return nil, fmt.Errorf("extensions::%s::sqlite::directory: open %s: %w", e.set.ID, e.cfg.SQLite.Directory, err)
	}
	return s, nil
}

// brief takes the message of the server, or of the network, where pgx lists every attempt
// with its user and database.
func brief(err error) error {
	var server *pgconn.PgError
	var network *net.OpError
	switch {
	case errors.As(err, &server):
		return server
	case errors.As(err, &network):
		return network
	default:
		return err
	}
}

// Store returns the open *store.Store, nil before Start and after Shutdown.
func (e *storeExtension) Store() any {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.store == nil {
		return nil
	}
	return e.store
}

// Shutdown stores what is queued and closes the database. Extensions stop after pipelines, so
// nothing writes any more.
func (e *storeExtension) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	s := e.store
	e.store = nil
	e.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.Close(ctx)
}
