package events

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testProject is the project of the tests.
const testProject = 1

// openTest opens the storage of events in a data directory of its own, without what builds on it.
func openTest(t *testing.T, o Options) *Store {
	t.Helper()
	o.Logger = zap.NewNop()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.QueueBytes == 0 {
		o.QueueBytes = 64 << 20
	}
	if o.PendingTTL == 0 {
		o.PendingTTL = 24 * time.Hour
	}
	o.IDFilterBytes, o.MaxPending, o.Window = 64<<20, 1000, event.DefaultWindow
	o.ReadTimeout, o.ReadShare, o.ReadWait = time.Minute, 4, time.Second
	db, err := sqldb.OpenSQLite(t.Context(), t.TempDir(), "full", o.Logger)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), db, NewSQLiteBulk(db), query.SQLite, o, Hooks{
		Limits:      func(context.Context, int64) (project.Bounds, error) { return project.DefaultBounds(), nil },
		RunSessions: func(context.Context, int64, string) ([]uuid.UUID, error) { return nil, nil },
		ScoreNames:  func(context.Context, sqldb.Conn, int64, uuid.UUID) ([]string, error) { return nil, nil },
		EraseOf:     func(context.Context, *Commit, int64, []uuid.UUID) error { return nil },
	})
	t.Cleanup(func() {
		closeTest(s)
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// closeTest stores what is queued and refuses what comes then.
func closeTest(s *Store) {
	s.CloseQueue()
	s.Close()
}

// execTest runs a statement in a transaction.
func execTest(t *testing.T, s *Store, text string) {
	t.Helper()
	if err := s.changeSegments(t.Context(), func(ctx context.Context, tx *Commit) error {
		_, err := tx.Exec(ctx, text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// makeTestProject makes testProject. Segments are built of projects that there are.
func makeTestProject(t *testing.T, s *Store) {
	t.Helper()
	execTest(t, s, `INSERT INTO project(id, public_id, name, created_ms) VALUES (1, 'p', 'p', 0)`)
}

// sharing has a store put off what is asked of it until release is called: it is done in one transaction then.
type sharing struct {
	s       *Store
	release func()
	work    sync.WaitGroup
	asked   int64
}

func newSharing(s *Store) *sharing {
	held, started := make(chan struct{}), make(chan struct{})
	x := &sharing{s: s, asked: 1}
	x.work.Go(func() {
		_ = s.Change(context.Background(), 0, uuid.Nil, 0, func(context.Context, *Commit) error {
			close(started)
			<-held
			return nil
		})
	})
	<-started
	x.release = func() {
		close(held)
		x.work.Wait()
	}
	return x
}

// ask does something at the same time, and waits until the store has been asked for it.
func (x *sharing) ask(f func()) {
	x.asked++
	x.work.Go(f)
	for {
		if n, _, _ := x.s.pool.Waiting(); n == x.asked {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
