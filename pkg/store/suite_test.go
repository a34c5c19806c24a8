package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Place { return sqlitePlace{t.TempDir()} })
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	dsn := postgresDSN(t)
	storetest.Run(t, func(t *testing.T) storetest.Place { return newPostgresPlace(t, dsn) })
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

// sqlitePlace is a data directory.
type sqlitePlace struct{ dir string }

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

func (p sqlitePlace) Bytes(hex string) string { return "x'" + hex + "'" }

// postgresDSN returns the database of the tests of PostgreSQL, which are skipped where there is none.
func postgresDSN(t *testing.T) string {
	t.Helper()
	dsn := os.Getenv("SPANGROVE_TEST_POSTGRES")
	if dsn == "" {
		t.Skip("SPANGROVE_TEST_POSTGRES is not set")
	}
	return dsn
}

// postgresPlace is a schema of its own in the database of a DSN.
type postgresPlace struct{ dsn string }

func newPostgresPlace(t *testing.T, dsn string) postgresPlace {
	t.Helper()
	schema := "t" + strings.ReplaceAll(uuid.NewString(), "-", "")
	run := func(ctx context.Context, text string) {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(ctx) }()
		if _, err := conn.Exec(ctx, text); err != nil {
			t.Error(err)
		}
	}
	run(t.Context(), "CREATE SCHEMA "+schema)
	t.Cleanup(func() { run(context.Background(), "DROP SCHEMA "+schema+" CASCADE") })
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return postgresPlace{u.String()}
}

func (p postgresPlace) Open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	s, err := store.OpenPostgres(t.Context(), p.dsn, o)
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
	if err := conn.QueryRow(t.Context(), text).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (p postgresPlace) Bytes(hex string) string { return fmt.Sprintf(`'\x%s'::bytea`, hex) }
