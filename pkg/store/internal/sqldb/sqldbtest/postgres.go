// Package sqldbtest gives tests a PostgreSQL database of their own.
package sqldbtest

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// PostgresDSN returns the connection string of a new schema in the database that the environment variable
// SPANGROVE_TEST_POSTGRES names. The schema is dropped when the test ends. The test is skipped if there is no such
// database.
func PostgresDSN(t *testing.T) string {
	t.Helper()
	return newSchema(t, postgresVariable)
}

// CitusDSN does the same in a database that is a cluster: SPANGROVE_TEST_CITUS names its coordinator.
func CitusDSN(t *testing.T) string {
	t.Helper()
	return newSchema(t, "SPANGROVE_TEST_CITUS")
}

func newSchema(t *testing.T, variable string) string {
	t.Helper()
	dsn := serverOfTests(t, variable)
	return inSchema(t, dsn, create(t, dsn, "SCHEMA", "CASCADE"))
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
	name = "t" + strings.ReplaceAll(uuid.NewString(), "-", "")
	execute(t, dsn, "CREATE "+kind+" "+name)
	t.Cleanup(func() { execute(t, dsn, "DROP "+kind+" "+name+" "+dropWith) })
	return name
}

// execute runs a statement, also when the test has ended; again where it meets another one in a deadlock, as two that drop
// shards on all nodes of a cluster may.
func execute(t *testing.T, dsn, text string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	var met *pgconn.PgError
	for range 20 {
		if _, err = conn.Exec(ctx, text); !errors.As(err, &met) || met.Code != "40P01" {
			break
		}
	}
	if err != nil {
		t.Error(err)
	}
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
