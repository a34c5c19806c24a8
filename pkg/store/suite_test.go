package store_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb/sqldbtest"
	"github.com/spangrove/spangrove/pkg/store/storetest"
)

// Cases wait for disks and clocks as long as they compute: unless the command line says how many run at once, twice as many as there are cores.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Place { return sqlitePlace{dir: t.TempDir()} })
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	newPostgresPlace(t) // skips all at once
	storetest.Run(t, func(t *testing.T) storetest.Place { return newPostgresPlace(t) })
}

// TestPostgresPooled holds a store behind a pooler that gives each transaction another session to the same cases.
func TestPostgresPooled(t *testing.T) {
	t.Parallel()
	newPooledPlace(t) // skips all at once
	storetest.Run(t, func(t *testing.T) storetest.Place { return newPooledPlace(t) })
}

// TestPostgresReplicated holds a store with a replica to the same cases: they write, and read at once what they wrote.
func TestPostgresReplicated(t *testing.T) {
	t.Parallel()
	pair := sqldbtest.NewReplicated(t)
	storetest.Run(t, func(t *testing.T) storetest.Place { return newReplicaPlace(t, pair) })
}

// TestCitus holds a store whose payloads are distributed to the same cases.
func TestCitus(t *testing.T) {
	t.Parallel()
	newCitusPlace(t) // skips all at once
	storetest.Run(t, func(t *testing.T) storetest.Place { return newCitusPlace(t) })
}

// TestSQLiteSegments and TestPostgresSegments hold reads to the cases of the suite about searches and charts, all events in segments.
func TestSQLiteSegments(t *testing.T) {
	t.Parallel()
	storetest.RunReads(t, func(t *testing.T) storetest.Place { return sqlitePlace{dir: t.TempDir()} }, store.Options{SealBeforeReads: true})
}

func TestPostgresSegments(t *testing.T) {
	t.Parallel()
	newPostgresPlace(t) // skips all at once
	storetest.RunReads(t, func(t *testing.T) storetest.Place { return newPostgresPlace(t) }, store.Options{SealBeforeReads: true})
}

// closeAfter closes what a test opened, however it ends.
func closeAfter(t *testing.T, s *store.Store, err error) *store.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// sqlitePlace is a data directory, which moves to a cluster if citus is set.
type sqlitePlace struct {
	dir   string
	citus bool
}

func (p sqlitePlace) Open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	s, err := store.OpenSQLite(t.Context(), p.dir, o)
	return closeAfter(t, s, err)
}

func (p sqlitePlace) Shared() bool { return false }

func (p sqlitePlace) db(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.dir, "spangrove.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func (p sqlitePlace) Exec(t *testing.T, text string) {
	t.Helper()
	db := p.db(t)
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func (p sqlitePlace) Count(t *testing.T, text string) (n int) {
	t.Helper()
	db := p.db(t)
	defer func() { _ = db.Close() }()
	if err := db.QueryRowContext(t.Context(), text).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (p sqlitePlace) OfSession(event, session string) string {
	return fmt.Sprintf("%s.session_rowid = %s.session_rowid AND %[1]s.type <> 4", event, session)
}

func (p sqlitePlace) Bytes(hex string) string { return "x'" + hex + "'" }

// postgresPlace is a schema of its own in the database of the tests, in one that is a cluster, or in one that has a replica, or a database of its own
// behind a pooler.
type postgresPlace struct {
	dsn, pooled, replica string
	pair                 *sqldbtest.Replicated
	citus                bool
}

// newPostgresPlace returns a new schema; the test is skipped if there is no database.
func newPostgresPlace(t *testing.T) postgresPlace {
	t.Helper()
	return postgresPlace{dsn: sqldbtest.PostgresDSN(t)}
}

// newCitusPlace returns a new schema in a cluster; the test is skipped if there is none.
func newCitusPlace(t *testing.T) postgresPlace {
	t.Helper()
	return postgresPlace{dsn: sqldbtest.CitusDSN(t), citus: true}
}

// newPooledPlace returns a new database behind a pooler; the test is skipped if there is no PostgreSQL or no PgBouncer.
func newPooledPlace(t *testing.T) postgresPlace {
	t.Helper()
	pooled, dsn := sqldbtest.PgBouncer(t, "pool_mode = transaction", "default_pool_size = 6")
	return postgresPlace{dsn: dsn, pooled: pooled}
}

// newReplicaPlace returns a new schema in a database that has a replica.
func newReplicaPlace(t *testing.T, pair *sqldbtest.Replicated) postgresPlace {
	t.Helper()
	p := postgresPlace{pair: pair}
	p.dsn, p.replica = pair.Schema(t)
	return p
}

func (p postgresPlace) Open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	dsn := p.dsn
	if p.replica != "" {
		o.ReadDSN, o.ReplicaWait = p.replica, 5*time.Second
	}
	if p.pooled != "" {
		dsn, o.DirectDSN = p.pooled, p.dsn
	}
	s, err := store.OpenPostgres(t.Context(), dsn, o)
	if p.citus && err == nil { // to make the partitions of now takes a second there
		for end := time.Now().Add(5 * time.Second); p.Count(t, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'event'::regclass`) < 2 && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return closeAfter(t, s, err)
}

func (p postgresPlace) Shared() bool { return true }

func (p postgresPlace) conn(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func (p postgresPlace) Exec(t *testing.T, text string) {
	t.Helper()
	conn := p.conn(t)
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func (p postgresPlace) Count(t *testing.T, text string) (n int) {
	t.Helper()
	conn := p.conn(t)
	defer func() { _ = conn.Close(context.Background()) }()
	if p.citus {
		_, _ = awaitRemoval(t.Context(), conn, 5*time.Second) // no store may be open, or none may be there
	}
	if err := conn.QueryRow(t.Context(), text).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// await waits until a count is no longer zero.
func (p postgresPlace) await(t *testing.T, what, count string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); p.Count(t, count) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func (p postgresPlace) OfSession(event, session string) string {
	return fmt.Sprintf("%s.session_id = %s.session_id AND %[1]s.project_id = %[2]s.project_id AND %[1]s.type <> 4", event, session)
}

func (p postgresPlace) Bytes(hex string) string { return fmt.Sprintf(`'\x%s'::bytea`, hex) }

// Doctor examines all of the place, whether a store is open there or not.
func (p sqlitePlace) Doctor(t *testing.T, o store.DoctorOptions) (*diagnosis.Report, error) {
	return store.DoctorSQLite(t.Context(), p.dir, o)
}

// Doctor examines all of the place, whether a store is open there or not.
func (p postgresPlace) Doctor(t *testing.T, o store.DoctorOptions) (*diagnosis.Report, error) {
	return store.DoctorPostgres(t.Context(), p.dsn, o)
}

func (p sqlitePlace) Fresh(t *testing.T) storetest.Place {
	return sqlitePlace{dir: t.TempDir(), citus: p.citus}
}

func (p postgresPlace) Fresh(t *testing.T) storetest.Place {
	if p.pooled != "" {
		return newPooledPlace(t)
	}
	if p.pair != nil {
		return newReplicaPlace(t, p.pair)
	}
	if p.citus {
		return newCitusPlace(t)
	}
	return newPostgresPlace(t)
}

func (p sqlitePlace) Copy(ctx context.Context, to storetest.Place, progress func(done, total int64)) error {
	return store.CopySQLite(ctx, p.dir, to.(sqlitePlace).dir, progress) //nolint:errcheck // of the same kind
}

func (p postgresPlace) Copy(ctx context.Context, to storetest.Place, progress func(done, total int64)) error {
	return store.CopyPostgres(ctx, p.dsn, to.(postgresPlace).dsn, progress) //nolint:errcheck // of the same kind
}

func (p sqlitePlace) Backup(ctx context.Context, dir string, o store.BackupOptions) (*store.BackupReport, error) {
	return store.BackupSQLite(ctx, p.dir, dir, o)
}

func (p postgresPlace) Backup(ctx context.Context, dir string, o store.BackupOptions) (*store.BackupReport, error) {
	return store.BackupPostgres(ctx, p.dsn, dir, o)
}

func (p sqlitePlace) Restore(ctx context.Context, dir, name string, progress diagnosis.Progress) (*store.Backup, error) {
	return store.RestoreSQLite(ctx, dir, name, p.dir, progress)
}

func (p postgresPlace) Restore(ctx context.Context, dir, name string, progress diagnosis.Progress) (*store.Backup, error) {
	return store.RestorePostgres(ctx, dir, name, p.dsn, progress)
}

func (p sqlitePlace) TryOpen(ctx context.Context) error {
	s, err := store.OpenSQLite(ctx, p.dir, store.Options{})
	if err != nil {
		return err
	}
	return s.Close(ctx)
}

func (p postgresPlace) TryOpen(ctx context.Context) error {
	s, err := store.OpenPostgres(ctx, p.dsn, store.Options{})
	if err != nil {
		return err
	}
	return s.Close(ctx)
}

func (p sqlitePlace) Other(t *testing.T) storetest.Place {
	if p.citus {
		return newCitusPlace(t)
	}
	return newPostgresPlace(t)
}

func (p postgresPlace) Other(t *testing.T) storetest.Place {
	return sqlitePlace{dir: t.TempDir(), citus: p.citus}
}

func (p sqlitePlace) Move(ctx context.Context, to storetest.Place, o store.MoveOptions) (*store.MoveReport, error) {
	return store.MoveSQLite(ctx, p.dir, to.(postgresPlace).dsn, o) //nolint:errcheck // Other
}

func (p postgresPlace) Move(ctx context.Context, to storetest.Place, o store.MoveOptions) (*store.MoveReport, error) {
	return store.MovePostgresToSQLite(ctx, p.dsn, to.(sqlitePlace).dir, o) //nolint:errcheck // Other
}

func (p sqlitePlace) AbandonMove(ctx context.Context) (bool, error) {
	return store.AbandonMoveSQLite(ctx, p.dir)
}

func (p postgresPlace) AbandonMove(ctx context.Context) (bool, error) {
	return store.AbandonMovePostgres(ctx, p.dsn)
}
