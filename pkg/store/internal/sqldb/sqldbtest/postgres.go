// Package sqldbtest gives tests a PostgreSQL database of their own.
package sqldbtest

import (
	"context"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// PostgresDSN returns the connection string of a new schema in the database that the environment variable
// SPANGROVE_TEST_POSTGRES names. The schema is dropped when the test ends. The test is skipped if there is no such
// database.
func PostgresDSN(t *testing.T) string {
	t.Helper()
	dsn := serverOfTests(t, postgresVariable)
	return inSchema(t, dsn, create(t, dsn, "SCHEMA", "CASCADE"))
}

// CitusDSN does the same in a database that is a cluster: SPANGROVE_TEST_CITUS names its coordinator.
func CitusDSN(t *testing.T) string {
	t.Helper()
	dsn := serverOfTests(t, "SPANGROVE_TEST_CITUS")
	schema := newName()
	execute(t, dsn, "CREATE SCHEMA "+schema)
	t.Cleanup(func() {
		// Citus drops shards on all nodes, and two that do may wait for each other.
		var err error
		for range 20 {
			if err = try(t, dsn, "DROP SCHEMA "+schema+" CASCADE"); err == nil {
				return
			}
		}
		t.Error(err)
	})
	return inSchema(t, dsn, schema)
}

const postgresVariable = "SPANGROVE_TEST_POSTGRES"

// inSchema returns the connection string of a schema.
func inSchema(t *testing.T, dsn, schema string) string {
	t.Helper()
	u := parse(t, dsn)
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

func parse(t *testing.T, dsn string) *url.URL {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// serverOfTests returns the connection string that an environment variable has. The test is skipped if there is none.
func serverOfTests(t *testing.T, variable string) string {
	t.Helper()
	dsn := os.Getenv(variable)
	if dsn == "" {
		t.Skip(variable + " is not set")
	}
	return dsn
}

// create makes a schema or a database, which is dropped when the test ends, and returns its name.
func create(t *testing.T, dsn, kind, dropWith string) (name string) {
	t.Helper()
	name = newName()
	execute(t, dsn, "CREATE "+kind+" "+name)
	t.Cleanup(func() { execute(t, dsn, "DROP "+kind+" "+name+" "+dropWith) })
	return name
}

func newName() string { return "t" + strings.ReplaceAll(uuid.NewString(), "-", "") }

// execute runs a statement, also when the test has ended.
func execute(t *testing.T, dsn, text string) {
	t.Helper()
	if err := try(t, dsn, text); err != nil {
		t.Error(err)
	}
}

// try does the same, and returns the error.
func try(t *testing.T, dsn, text string) error {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, text)
	return err
}

// freePort returns a port of loopback that nobody uses.
func freePort(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = free.Close() }()
	return strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
}
