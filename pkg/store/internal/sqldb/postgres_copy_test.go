package sqldb

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb/sqldbtest"
)

// TestCopyPostgresKeepsTheSchema copies a store that an older version has written: the copy has its migrations and no more, and can be brought up to
// date. One of a newer version is refused.
func TestCopyPostgresKeepsTheSchema(t *testing.T) {
	t.Parallel()
	from, to := sqldbtest.PostgresDSN(t), sqldbtest.PostgresDSN(t)
	conf, err := pgx.ParseConfig(from)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*conf)
	defer func() { _ = db.Close() }()
	p, err := migrationsOf(db, goose.DialectPostgres, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	const old = 9
	if _, err := p.UpTo(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	exec := func(text string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO project(public_id, name, created_ms) VALUES ('p', 'kept', 1)`)
	// The partitions of a store that was made half a year ago are not those that the migrations make today.
	exec(`DROP TABLE event_archive`)
	exec(`CREATE TABLE event_archive PARTITION OF event FOR VALUES FROM (MINVALUE) TO (19600)`)
	exec(`CREATE TABLE event_d19600 PARTITION OF event FOR VALUES FROM (19600) TO (19628)`)
	if err := CopyPostgres(t.Context(), from, to, nil); err != nil {
		t.Fatal(err)
	}
	copied, err := pgx.Connect(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = copied.Close(t.Context()) }()
	var version int64
	var name, bounds string
	if err := copied.QueryRow(t.Context(), `SELECT string_agg(relname || ' ' || pg_get_expr(relpartbound, oid), ', ' ORDER BY relname)
		FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relispartition AND relname LIKE 'event!_%' ESCAPE '!' AND relkind = 'r'`).Scan(&bounds); err != nil {
		t.Fatal(err)
	}
	if want := "event_archive FOR VALUES FROM (MINVALUE) TO (19600), event_d19600 FOR VALUES FROM (19600) TO (19628)"; bounds != want {
		t.Errorf("partitions are %s, want %s", bounds, want)
	}
	if err := copied.QueryRow(t.Context(), `SELECT max(version_id), (SELECT name FROM project) FROM goose_db_version`).Scan(&version, &name); err != nil {
		t.Fatal(err)
	}
	if version != old || name != "kept" {
		t.Errorf("the copy has migration %d, want %d, and project %q", version, old, name)
	}
	d, err := OpenPostgres(t.Context(), ServerOptions{DSN: to, Writers: 1, Logger: zap.NewNop()})
	if err != nil {
		t.Fatalf("bring the copy up to date: %v", err)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}

	exec(`INSERT INTO goose_db_version(version_id, is_applied) VALUES (9999, true)`)
	if err := CopyPostgres(t.Context(), from, sqldbtest.PostgresDSN(t), nil); err == nil || !strings.Contains(err.Error(), "migration 9999") {
		t.Errorf("a store of a newer version: %v", err)
	}
}
