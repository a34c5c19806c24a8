package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb/sqldbtest"
)

// A pooler that gives each transaction another session is refused in words, and nothing was written or locked.
func TestPostgresPoolerOfTransactions(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"transaction":            {"pool_mode = transaction"},
		"transaction, in a ring": {"pool_mode = transaction", "server_round_robin = 1", "min_pool_size = 3"},
		"transaction, one":       {"pool_mode = transaction", "default_pool_size = 1"},
		"statement":              {"pool_mode = statement"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, direct := sqldbtest.PgBouncer(t, settings...)
			d, err := OpenPostgres(t.Context(), ServerOptions{DSN: dsn, Writers: 2, ReadTimeout: time.Minute, Logger: zap.NewNop()})
			if err == nil {
				_ = d.Close(t.Context())
			}
			if fault.Of(err) != fault.Invalid || !strings.Contains(fmt.Sprint(err), `set pool_mode to "session"`) {
				t.Fatalf("got %v, want to be told what to do", err)
			}
			conn, err := pgx.Connect(t.Context(), direct)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(context.Background()) }()
			var tables, locks int
			if err := conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_tables WHERE schemaname = 'public'),
				(SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database() AND locktype = 'advisory')`).
				Scan(&tables, &locks); err != nil || tables+locks > 0 {
				t.Errorf("%d tables and %d locks are left, %v", tables, locks, err)
			}
		})
	}
}

// A pooler that gives each connection a session is as good as none.
func TestPostgresPoolerOfSessions(t *testing.T) {
	t.Parallel()
	dsn, _ := sqldbtest.PgBouncer(t, "pool_mode = session", "default_pool_size = 50")
	poolerServes(t, openPostgresTest(t, dsn, 250*time.Millisecond))
}

// With a second connection string past it, a pooler that gives each transaction another session serves as well, and the sessions that it hands
// out are left as they were.
func TestPostgresPoolerWithDirectConnection(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"few sessions": {"default_pool_size = 3"},
		"in a ring":    {"server_round_robin = 1", "min_pool_size = 3"},
		"one session":  {"default_pool_size = 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, direct := sqldbtest.PgBouncer(t, append(settings, "pool_mode = transaction")...)
			d, err := OpenPostgres(t.Context(), ServerOptions{DSN: dsn, DirectDSN: direct, Writers: 2, ReadTimeout: 250 * time.Millisecond, Logger: zap.NewNop()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.Close(context.Background()) })
			d.Bound(250 * time.Millisecond)
			poolerServes(t, d)
			var wg sync.WaitGroup
			for i := range 12 {
				wg.Go(func() {
					for j := range 20 {
						var n int
						if _, err := One(Patiently(t.Context()), d, "SELECT $1::bigint * 1000 + $2::bigint", []any{i, j}, &n); err != nil || n != i*1000+j {
							t.Errorf("read %d of %d: %d, %v", j, i, n, err)
						}
					}
				})
			}
			wg.Wait()
			conn, err := pgx.Connect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(context.Background()) }()
			for range 6 {
				var got string
				err := conn.QueryRow(t.Context(), `SELECT concat_ws(' ', current_setting('statement_timeout'), current_setting('jit'), current_setting('lock_timeout'),
					current_setting('client_connection_check_interval'), (SELECT count(*) FROM pg_prepared_statements))`, pgx.QueryExecModeSimpleProtocol).Scan(&got)
				if want := "0 on 0 0 0"; err != nil || got != want {
					t.Errorf("a session has %s (%v), want %s", got, err, want)
				}
			}
		})
	}
}

// A direct connection that shares sessions, or that leads elsewhere, and a pooler without transactions are refused in words.
func TestPostgresPoolerRefused(t *testing.T) {
	t.Parallel()
	pooled, direct := sqldbtest.PgBouncer(t, "pool_mode = transaction")
	single, behind := sqldbtest.PgBouncer(t, "pool_mode = statement")
	for _, c := range []struct{ dsn, direct, field, want string }{
		{pooled, pooled, "direct_dsn", "gives each transaction another session"},
		{pooled, behind, "direct_dsn", "another server, database or schema than dsn"},
		{direct, sqldbtest.PostgresDSN(t), "direct_dsn", "another server, database or schema than dsn"},
		{single, behind, "dsn", "allows no transactions"},
		{pooled, "port=x", "direct_dsn", "not a PostgreSQL connection string"},
	} {
		d, err := OpenPostgres(t.Context(), ServerOptions{DSN: c.dsn, DirectDSN: c.direct, Writers: 2, ReadTimeout: time.Minute, Logger: zap.NewNop()})
		if err == nil {
			_ = d.Close(t.Context())
		}
		if f := new(fault.Error); fault.Of(err) != fault.Invalid || !strings.Contains(fmt.Sprint(err), c.want) || !errors.As(err, &f) || f.Field != c.field {
			t.Errorf("got %v, want %s: %s", err, c.field, c.want)
		}
	}
}

// poolerServes holds what a pooler leads to to what the store expects of it: reads have their limits of time, locks and settings are there,
// snapshots stand still, and notifications are heard.
func poolerServes(t *testing.T, d *Postgres) {
	t.Helper()
	for _, patient := range []bool{false, true, false} {
		want := "250ms"
		if patient {
			want = "0"
		}
		if got, err := readText(t.Context(), d, patient, "SELECT current_setting('statement_timeout')"); err != nil || got != want {
			t.Errorf("patient %t: the limit is %s (%v), want %s", patient, got, err, want)
		}
	}
	d.Bound(time.Minute) // the server's limit is to end it
	for _, c := range []Conn{d, d.Quick()} {
		var text string
		_, err := One(t.Context(), c, "SELECT 'x' || pg_sleep(60)", nil, &text)
		if fault.Of(WrapError(d, err, "read")) != fault.Timeout {
			t.Errorf("%v, want a timeout", err)
		}
	}
	err := d.Snapshot(t.Context(), func(c Conn) error {
		var first, second, limit string
		if _, err := One(t.Context(), c, "SELECT pg_current_snapshot()::text, current_setting('statement_timeout')", nil, &first, &limit); err != nil {
			return err
		}
		_, err := One(t.Context(), c, "SELECT pg_current_snapshot()::text", nil, &second)
		if first != second || limit != "250ms" {
			t.Errorf("snapshots %s and %s, limit %s", first, second, limit)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for range 2 { // prepared, and by the prepared statement
		err := d.Write(t.Context(), func(tx Tx) error {
			if err := tx.Lock(t.Context(), "x"); err != nil {
				return err
			}
			var plan, jit string
			_, err := One(t.Context(), tx, "SELECT current_setting('plan_cache_mode'), current_setting('jit')", nil, &plan, &jit)
			if plan != "force_custom_plan" && !d.pooled || jit != "off" { // a statement without a name has a plan of its own
				t.Errorf("plan_cache_mode is %q, jit %q", plan, jit)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	got := ""
	err = d.Listen(ctx, func() {
		if err := d.Notify(ctx, []string{"hello"}); err != nil {
			t.Error(err)
			stop()
		}
	}, func(text string) { got = text; stop() })
	if got != "hello" {
		t.Errorf("heard %q, %v", got, err)
	}
}
