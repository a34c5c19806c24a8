package query

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
)

// These tests hold the compiled SQL to the answers of the Go matcher, on real databases with
// the head table alone.

const testProject = int64(7)

// engine is a database with the head table.
type engine struct {
	dialect Dialect
	exec    func(ctx context.Context, query string, args ...any) error
	count   func(ctx context.Context, query string, args ...any) (int, error)
	// sessionColumn is what event holds of its session.
	sessionColumn string
}

const sqliteTables = `
CREATE TABLE session (session_rowid INTEGER PRIMARY KEY, project_id INTEGER NOT NULL, session_id BLOB NOT NULL, run_id TEXT,
	implicit INTEGER, num_events INTEGER, num_model_events INTEGER, num_costs INTEGER, cost REAL, total_tokens REAL, prompt_tokens REAL, completion_tokens REAL, UNIQUE (project_id, session_id)) STRICT;
CREATE TABLE event (
  id INTEGER PRIMARY KEY, project_id INTEGER NOT NULL, event_id BLOB NOT NULL, session_rowid INTEGER NOT NULL, parent_id BLOB,
  type INTEGER NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL, error TEXT,
  start_ms REAL NOT NULL, end_ms REAL NOT NULL, duration REAL NOT NULL,
  metadata TEXT, metrics TEXT, feedback TEXT, user_properties TEXT, children_ids TEXT,
  run_id TEXT, user_id TEXT, spill INTEGER NOT NULL) STRICT;`

const postgresTables = `
CREATE TEMP TABLE session (project_id bigint NOT NULL, session_id uuid NOT NULL, run_id text COLLATE "C",
	implicit smallint, num_events bigint, num_model_events bigint, num_costs bigint, cost float8, total_tokens float8, prompt_tokens float8, completion_tokens float8, PRIMARY KEY (project_id, session_id));
CREATE TEMP TABLE event (
  id bigint, project_id bigint NOT NULL, event_id uuid NOT NULL, session_id uuid NOT NULL, parent_id uuid,
  type smallint NOT NULL, name text NOT NULL, source text NOT NULL, error text,
  start_ms double precision NOT NULL, end_ms double precision NOT NULL, duration double precision NOT NULL,
  metadata json, metrics json, feedback json, user_properties json, children_ids json,
  run_id text, user_id text, spill integer NOT NULL);`

func openSQLite(t testing.TB) *engine {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // each connection would be a database of its own
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), sqliteTables); err != nil {
		t.Fatal(err)
	}
	return &engine{
		dialect:       SQLite,
		sessionColumn: "session_rowid",
		exec: func(ctx context.Context, query string, args ...any) error {
			_, err := db.ExecContext(ctx, query, args...)
			return err
		},
		count: func(ctx context.Context, query string, args ...any) (n int, err error) {
			return n, db.QueryRowContext(ctx, query, args...).Scan(&n)
		},
	}
}

// postgresDSN returns the PostgreSQL to test on, "" for none.
func postgresDSN() string { return os.Getenv("SPANGROVE_TEST_POSTGRES") }

func openPostgres(t testing.TB) *engine {
	t.Helper()
	dsn := postgresDSN()
	if dsn == "" {
		t.Skip("SPANGROVE_TEST_POSTGRES is not set")
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), postgresTables); err != nil {
		t.Fatal(err)
	}
	return &engine{
		dialect:       Postgres,
		sessionColumn: "session_id",
		exec: func(ctx context.Context, query string, args ...any) error {
			_, err := conn.Exec(ctx, query, args...)
			return err
		},
		count: func(ctx context.Context, query string, args ...any) (n int, err error) {
			return n, conn.QueryRow(ctx, query, args...).Scan(&n)
		},
	}
}

func onEachEngine(t *testing.T, f func(t *testing.T, en *engine)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); f(t, openSQLite(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); f(t, openPostgres(t)) })
}

// insert puts the head of e in row n, under a session of its own. Fields in spill are left to
// the payload.
func (en *engine) insert(t *testing.T, n int, e *event.Event, run any, spill int) {
	t.Helper()
	en.insertSession(t, n, e.SessionID, run)
	en.insertHead(t, n, n, e, spill)
}

func (en *engine) insertSession(t *testing.T, sid int, id uuid.UUID, run any) {
	t.Helper()
	b := NewBuilder(en.dialect)
	columns, values := "", ""
	if en.dialect == SQLite {
		columns, values = "session_rowid, ", b.Arg(sid)+", "
	}
	en.must(t, b, "INSERT INTO session ("+columns+"project_id, session_id, run_id) VALUES ("+values+
		b.Arg(testProject)+", "+b.UUID(id)+", "+b.Arg(run)+")")
}

func (en *engine) insertHead(t *testing.T, n, sid int, e *event.Event, spill int) {
	t.Helper()
	b := NewBuilder(en.dialect)
	session := ""
	if en.dialect == SQLite {
		session = b.Arg(sid)
	} else {
		session = b.UUID(e.SessionID)
	}
	parent := "NULL"
	if e.ParentID != uuid.Nil && e.ParentID != e.SessionID {
		parent = b.UUID(e.ParentID)
	}
	field := func(bit int, raw []byte) string {
		if spill&bit != 0 || len(raw) == 0 {
			return "NULL"
		}
		return b.Arg(string(raw))
	}
	errText := "NULL"
	if e.Error != nil && spill&SpillError == 0 {
		errText = b.Arg(*e.Error)
	}
	promotedText := func(raw []byte, key string) string {
		if s, ok := rawjson.Text(rawjson.Get(raw, key)); ok && s != "" && len(s) <= MaxIndexed {
			if key == "run_id" {
				s = run.FoldID(s)
			}
			return b.Arg(s)
		}
		return "NULL"
	}
	if e.ColdMetadata != nil {
		spill |= SpillCold
	}
	values := []string{
		b.Arg(n), b.Arg(testProject), b.UUID(e.ID), session, parent,
		b.Arg(TypeCode(e.Type)), b.Arg(e.Name), b.Arg(e.Source), errText,
		b.Arg(e.Start), b.Arg(e.End), b.Arg(e.Duration),
		field(SpillMetadata, e.Metadata), field(SpillMetrics, e.Metrics), field(SpillFeedback, e.Feedback),
		field(SpillUserProperties, e.UserProperties), field(SpillChildrenIDs, e.ChildrenIDs),
		promotedText(e.Metadata, "run_id"), promotedText(e.UserProperties, "user_id"), b.Arg(spill),
	}
	en.must(t, b, "INSERT INTO event (id, project_id, event_id, "+en.sessionColumn+", parent_id, type, name, source, error, start_ms, end_ms, duration,"+
		" metadata, metrics, feedback, user_properties, children_ids, run_id, user_id, spill) VALUES ("+strings.Join(values, ", ")+")")
}

func (en *engine) must(t *testing.T, b *Builder, query string) {
	t.Helper()
	if err := en.exec(t.Context(), query, b.Args()...); err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
}

// matches reports whether row n fulfils the condition that pick takes from the plan.
func (en *engine) matches(t *testing.T, n int, b *Builder, condition string) bool {
	t.Helper()
	id := b.Arg(n)
	query := "SELECT count(*) FROM event AS e WHERE e.id = " + id + " AND (" + condition + ")"
	got, err := en.count(t.Context(), query, b.Args()...)
	if err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	return got == 1
}

// presentSpill returns the bits of the fields that e has.
func presentSpill(e *event.Event) (bits int) {
	for bit, raw := range map[int][]byte{
		SpillMetadata: e.Metadata, SpillMetrics: e.Metrics, SpillFeedback: e.Feedback,
		SpillUserProperties: e.UserProperties, SpillChildrenIDs: e.ChildrenIDs,
	} {
		if !rawjson.Empty(raw) {
			bits |= bit
		}
	}
	if e.Error != nil && *e.Error != "" {
		bits |= SpillError
	}
	return bits
}
