// Package eventstest opens the storage of events for the tests of what builds on it.
package eventstest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Logger writes nothing.
var Logger = zap.NewNop()

// DB is a database whose commits can be made to fail.
type DB struct {
	sqldb.DB
	fail atomic.Bool
}

// FailOnce makes the next transaction run and then fail as if another writer had been in the way, so that
// all that it does is done a second time.
func (d *DB) FailOnce() { d.fail.Store(true) }

// Write implements sqldb.DB.
func (d *DB) Write(ctx context.Context, f func(sqldb.Tx) error) error {
	return d.DB.Write(ctx, func(tx sqldb.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		if d.fail.Swap(false) {
			return sqldb.ErrConflict
		}
		return nil
	})
}

// Open opens the storage of events in a data directory of its own, with the default limits and nothing that builds
// on it. It is closed when the test ends.
func Open(t *testing.T) (*DB, *events.Store) {
	t.Helper()
	inner, err := sqldb.OpenSQLite(t.Context(), t.TempDir(), "full", Logger)
	if err != nil {
		t.Fatal(err)
	}
	db := &DB{DB: inner}
	s, err := events.Open(t.Context(), db, events.NewSQLiteBulk(inner), query.SQLite, events.Options{
		Logger:        Logger,
		Now:           time.Now,
		IDFilterBytes: 1 << 20,
		QueueBytes:    1 << 20,
		PendingTTL:    time.Hour,
		MaxPending:    1000,
		Window:        event.DefaultWindow,
		ReadTimeout:   time.Minute,
		ValueEvents:   1000,
		ReadShare:     4,
		ReadWait:      time.Minute,
		PackAfter:     -1,
	}, events.Hooks{
		Limits:      func(context.Context, int64) (project.Bounds, error) { return project.DefaultBounds(), nil },
		RunSessions: func(context.Context, int64, string) ([]uuid.UUID, error) { return nil, nil },
		ScoreNames:  func(context.Context, sqldb.Conn, int64, uuid.UUID) ([]string, error) { return nil, nil },
		EraseOf:     func(context.Context, *events.Commit, int64, []uuid.UUID) error { return nil },
		MoveOf:      func(context.Context, *events.Commit, int64, uuid.UUID, uuid.UUID) error { return nil },
	})
	t.Cleanup(func() {
		s.CloseQueue()
		s.Close()
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return db, s
}
