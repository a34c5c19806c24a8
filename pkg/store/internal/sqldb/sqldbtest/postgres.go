// Package sqldbtest gives tests a PostgreSQL database of their own.
package sqldbtest

import (
	"context"
	"net/url"
	"os"
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
	u, schema := create(t, "SCHEMA", "CASCADE")
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

// create makes a schema or a database, which is dropped when the test ends, and returns its name and the connection string of the database of the tests.
func create(t *testing.T, kind, dropWith string) (u *url.URL, name string) {
	t.Helper()
	dsn := os.Getenv("SPANGROVE_TEST_POSTGRES")
	if dsn == "" {
		t.Skip("SPANGROVE_TEST_POSTGRES is not set")
	}
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	name = "t" + strings.ReplaceAll(uuid.NewString(), "-", "")
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
	run(t.Context(), "CREATE "+kind+" "+name)
	t.Cleanup(func() { run(context.Background(), "DROP "+kind+" "+name+" "+dropWith) })
	return u, name
}
