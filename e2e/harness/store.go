package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Store is a kind of database that the server can stand on.
type Store struct {
	Name string
	// Env gives a fresh, empty store of this kind as the variables that select it.
	// What it made is removed when the test ends.
	Env func(t *testing.T) map[string]string
}

// Stores are the databases on which every behaviour must be the same.
var Stores = []Store{
	{"sqlite", func(*testing.T) map[string]string { return nil }},
	{"postgres", func(t *testing.T) map[string]string { return PostgresAt(PostgresDSN(t)).Env(t) }},
}

// PostgresAt is the store in a database that there is.
func PostgresAt(dsn string) Store {
	return Store{"postgres", func(*testing.T) map[string]string { return map[string]string{"SPANGROVE_POSTGRES_DSN": dsn} }}
}

// EachStore runs f as a subtest on each database.
func EachStore(t *testing.T, f func(t *testing.T, st Store)) {
	t.Helper()
	Require(t)
	for _, st := range Stores {
		t.Run(st.Name, func(t *testing.T) { f(t, st) })
	}
}

// AllStores reports whether suites that take minutes are to run on every database, and in full: SPANGROVE_E2E_ALL is set.
func AllStores() bool { return os.Getenv("SPANGROVE_E2E_ALL") != "" }

// OneStore runs f as a subtest on the named database, and on the others as well with AllStores. It is for
// suites that take minutes and test the API more than the database.
func OneStore(t *testing.T, name string, f func(t *testing.T, st Store)) {
	t.Helper()
	Require(t)
	for _, st := range Stores {
		if st.Name == name || AllStores() {
			t.Run(st.Name, func(t *testing.T) { f(t, st) })
		}
	}
}

// adminTimeout is generous: dropping a database waits for a checkpoint of the whole server.
const adminTimeout = 2 * time.Minute

// PostgresDSN makes an empty database and returns its URL. The test fails if no
// server is given.
func PostgresDSN(t *testing.T) string {
	t.Helper()
	u, name := createIn(t, "SPANGROVE_TEST_POSTGRES", Env(t, "SPANGROVE_TEST_POSTGRES", "run the tests under e2e/with-postgres.sh"), "DATABASE", "WITH (FORCE)")
	u.Path = "/" + name
	return u.String()
}

// createIn makes a database or a schema with a name of its own by the connection string that a variable has, and returns that and the name. It is dropped when
// the test ends.
func createIn(t *testing.T, variable, admin, kind, dropWith string) (u *url.URL, name string) {
	t.Helper()
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	name = fmt.Sprintf("spangrove_e2e_%08x", rand.Uint32())
	exec := func(ctx context.Context, sql string) error {
		ctx, cancel := context.WithTimeout(ctx, adminTimeout)
		defer cancel()
		conn, err := pgx.Connect(ctx, admin)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, sql)
		return err
	}
	if err := exec(t.Context(), "CREATE "+kind+" "+name); err != nil {
		t.Fatalf("make a %s for the test: %v", strings.ToLower(kind), err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := exec(context.Background(), "DROP "+kind+" "+name+" "+dropWith); err != nil {
			t.Errorf("drop the test's %s: %v", strings.ToLower(kind), err)
		}
	})
	return u, name
}
