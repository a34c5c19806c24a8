package sqldb

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb/sqldbtest"
)

func openPostgresTest(t *testing.T, dsn string, read time.Duration) *Postgres {
	t.Helper()
	d, err := OpenPostgres(t.Context(), ServerOptions{DSN: dsn, Writers: 1, ReadTimeout: read, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	d.Bound(read)
	t.Cleanup(func() { _ = d.Close(context.Background()) })
	return d
}

// readUnwatched runs a statement by a reading connection, and nothing in this process ends it.
func readUnwatched(d *Postgres, quick bool, sql string) error {
	pool := d.reads
	if quick {
		pool = d.quickReads
	}
	_, err := pool.Exec(context.Background(), sql)
	return WrapError(d, err, "read")
}

// readText runs a statement for one text, patiently or not.
func readText(ctx context.Context, d *Postgres, patient bool, sql string) (text string, err error) {
	if patient {
		ctx = Patiently(ctx)
	}
	_, err = One(ctx, d, sql, nil, &text)
	return text, WrapError(d, err, "read")
}

// leaveRead begins a statement by a reading connection and closes the connection, so that no request to
// cancel the statement reaches the server. begun waits until the statement runs.
func leaveRead(ctx context.Context, d *Postgres, sql string, begun func()) error {
	held, err := d.reads.Acquire(ctx)
	if err != nil {
		return err
	}
	conn := held.Hijack().PgConn()
	conn.Frontend().SendQuery(&pgproto3.Query{String: sql})
	err = conn.Frontend().Flush()
	if err == nil {
		begun()
	}
	return errors.Join(err, conn.Conn().Close())
}

// PostgreSQL itself ends a read that takes too long, whoever waits for it, and work in the background
// has no limit.
func TestPostgresEndsReads(t *testing.T) {
	t.Parallel()
	d := openPostgresTest(t, sqldbtest.PostgresDSN(t), 250*time.Millisecond)
	for _, quick := range []bool{false, true} {
		if err := readUnwatched(d, quick, "SELECT pg_sleep(60)"); fault.Of(err) != fault.Timeout {
			t.Errorf("quick %t: %v, want a timeout", quick, err)
		}
	}
	for _, patient := range []bool{true, false, true} {
		want := "250ms"
		if patient {
			want = "0"
		}
		if got, err := readText(t.Context(), d, patient, "SELECT current_setting('statement_timeout')"); err != nil || got != want {
			t.Errorf("patient %t: the limit is %s (%v), want %s", patient, got, err, want)
		}
	}
	if text, err := readText(t.Context(), d, true, "SELECT 'x' || pg_sleep(1)"); err != nil || text != "x" {
		t.Errorf("work in the background: %q, %v", text, err)
	}
	if _, err := readText(t.Context(), d, false, "SELECT 'x' || pg_sleep(60)"); fault.Of(err) != fault.Timeout {
		t.Errorf("a read: %v, want a timeout", err)
	}
}

// A statement whose client has gone without a word ends long before its limit.
func TestPostgresEndsReadsOfNobody(t *testing.T) {
	t.Parallel()
	dsn := sqldbtest.PostgresDSN(t)
	d := openPostgresTest(t, dsn, time.Hour)
	other := openPostgresTest(t, dsn, time.Hour)
	mark := uuid.NewString()
	until := func(what string, running int) {
		for range 600 {
			var n int
			if _, err := One(t.Context(), other, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE '%"+mark+"%'", nil, &n); err != nil {
				t.Fatal(err)
			} else if n == running {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Error("the statement", what)
	}
	if err := leaveRead(t.Context(), d, "SELECT pg_sleep(3600), '"+mark+"'", func() { until("does not begin", 1) }); err != nil {
		t.Fatal(err)
	}
	until("runs on", 0)
}
