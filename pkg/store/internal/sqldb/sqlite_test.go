package sqldb

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openTest opens a database in a directory of its own, with a limit of time for each read.
func openTest(t *testing.T, read time.Duration) *SQLite {
	t.Helper()
	d, _ := openTwice(t)
	d.Bound(read)
	return d
}

// openTwice opens a database in a directory of its own, with a second connection to it that waits for no
// lock, as another program has one.
func openTwice(t *testing.T) (d *SQLite, other *sql.Conn) {
	t.Helper()
	dir := t.TempDir()
	d, err := OpenSQLite(t.Context(), dir, "full", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, sqliteFile))
	if err != nil {
		t.Fatal(err)
	}
	if other, err = db.Conn(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = other.ExecContext(context.Background(), "ROLLBACK")
		_ = other.Close()
		_ = db.Close()
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return d, other
}

// takeReaders takes all connections that read, and puts them back at the test's end.
func takeReaders(t *testing.T, d *SQLite) []*sql.Conn {
	t.Helper()
	var taken []*sql.Conn
	for range sqliteReaders {
		conn, err := d.reads.Conn(t.Context())
		if err != nil {
			t.Fatal("open a reader:", err)
		}
		taken = append(taken, conn)
		t.Cleanup(func() { _ = conn.Close() })
	}
	return taken
}

// A reader that opens while somebody writes does not wait for that, and stays open afterwards.
func TestReadersOpenBesideAWriter(t *testing.T) {
	t.Parallel()
	d, other := openTwice(t)
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	for _, conn := range takeReaders(t, d) {
		var n int
		if err := conn.QueryRowContext(t.Context(), "SELECT count(*) FROM event").Scan(&n); err != nil {
			t.Error("read:", err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := d.reads.Stats().MaxIdleClosed; n != 0 {
		t.Errorf("%d readers were closed that would be needed again", n)
	}
}

// Cutting the log keeps no writer waiting for a reader that stands on the log.
func TestCutWaitsForNobody(t *testing.T) {
	t.Parallel()
	d, other := openTwice(t)
	reader := takeReaders(t, d)[0]
	note := func(value string) {
		err := d.Write(t.Context(), func(tx Tx) error {
			_, err := tx.Exec(t.Context(), "INSERT INTO setting(name, value) VALUES ($1, $1)", value)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	note("before")
	if _, err := reader.ExecContext(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRowContext(t.Context(), "SELECT count(*) FROM setting").Scan(&n); err != nil {
		t.Fatal(err)
	}
	note("after")
	done := make(chan error, 1)
	go func() { done <- d.cut() }()
	for cutting := true; cutting; {
		select {
		case err := <-done:
			if err != nil {
				t.Error("cut:", err)
			}
			cutting = false
		default:
		}
		for _, text := range []string{"BEGIN IMMEDIATE", "ROLLBACK"} {
			if _, err := other.ExecContext(t.Context(), text); err != nil {
				t.Fatalf("%s while the log is cut: %v", text, err)
			}
		}
	}
	if _, err := reader.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}

// An index of event whose key is computed would make SQLite keep a journal for each statement that
// inserts several events: a function may fail where a column cannot.
func TestEventsHaveIndexesOfColumnsOnly(t *testing.T) {
	t.Parallel()
	d, _ := openTwice(t)
	indexes := 0
	err := Each(t.Context(), d, `SELECT l.name, x.cid FROM pragma_index_list('event') l, pragma_index_info(l.name) x`, nil, func(scan func(...any) error) error {
		var name string
		var column int
		if err := scan(&name, &column); err != nil {
			return err
		}
		indexes++
		if column < 0 {
			t.Errorf("index %s has an expression in its key", name)
		}
		return nil
	})
	if err != nil || indexes == 0 {
		t.Fatal(indexes, err)
	}
}

// slowAfterRows has 10 rows at once, and then looks at ten billion for the next one.
const slowAfterRows = `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10000000000) SELECT n FROM c WHERE n <= 10 OR n = 9999999999`

// A read whose caller leaves ends: between two rows, and while SQLite looks for the next one.
func TestReadsEndWithTheirCaller(t *testing.T) {
	t.Parallel()
	d := openTest(t, time.Hour)
	for name, later := range map[string]time.Duration{"between rows": 0, "in the search for the next row": 50 * time.Millisecond} {
		ctx, leave := context.WithCancel(t.Context())
		n := 0
		err := Each(ctx, d, slowAfterRows, nil, func(func(...any) error) error {
			if n++; n == 5 && later == 0 {
				leave()
			} else if n == 10 {
				time.AfterFunc(later, leave)
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s, after %d rows: %v, want context.Canceled", name, n, err)
		}
		leave()
	}
	// The connections are good for others.
	for range 2 * sqliteReaders {
		var n int
		if _, err := One(t.Context(), d, `SELECT 1`, nil, &n); err != nil || n != 1 {
			t.Errorf("a read after those: %v", err)
		}
	}
}

// A read that has rows already ends at its deadline.
func TestReadsWithRowsEndAtTheirDeadline(t *testing.T) {
	t.Parallel()
	d := openTest(t, 50*time.Millisecond)
	err := Each(t.Context(), d, slowAfterRows, nil, func(func(...any) error) error { return nil })
	if err = WrapError(d, err, "read"); fault.Of(err) != fault.Timeout {
		t.Errorf("got %v, want a timeout", err)
	}
}

// A read that takes too long is a timeout, and is interrupted.
func TestReadTimeout(t *testing.T) {
	t.Parallel()
	d := openTest(t, 50*time.Millisecond)
	var n int
	_, err := One(t.Context(), d, `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10000000000) SELECT count(*) FROM c`, nil, &n)
	if err = WrapError(d, err, "count"); fault.Of(err) != fault.Timeout {
		t.Errorf("got %v, want a timeout", err)
	}
}

// The writer keeps a bounded number of statements prepared, and runs any number.
func TestStatementsAreBounded(t *testing.T) {
	t.Parallel()
	d := openTest(t, time.Minute)
	for range 2 {
		err := d.Write(t.Context(), func(tx Tx) error {
			for n := range 2 * sqliteStatements {
				var got int
				if _, err := One(t.Context(), tx, fmt.Sprintf(`SELECT %d + $1`, n), []any{1}, &got); err != nil || got != n+1 {
					return fmt.Errorf("statement %d: %d, %w", n, got, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := d.stmts.Len(); n != sqliteStatements {
			t.Errorf("%d statements are prepared, want %d", n, sqliteStatements)
		}
	}
}

// Senders wait until the operator has put back a database in whose place there is another file.
func TestSQLiteOutage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, sqliteFile), bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &SQLite{}
	_, err := OpenSQLite(t.Context(), dir, "full", zap.NewNop())
	if err == nil || !d.Unavailable(err) || d.Full(err) {
		t.Errorf("opened with %v", err)
	}
}
