package sqldb

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
)

// newDatabase returns the name and a connection string of a new database on the server of the tests.
func newDatabase(t *testing.T) (name string, conf *pgx.ConnConfig) {
	t.Helper()
	dsn := os.Getenv("SPANGROVE_TEST_POSTGRES")
	if dsn == "" {
		t.Skip("SPANGROVE_TEST_POSTGRES is not set")
	}
	conf, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	name = "t" + strings.ReplaceAll(uuid.NewString(), "-", "")
	run := func(ctx context.Context, text string) {
		conn, err := pgx.ConnectConfig(ctx, conf)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(ctx) }()
		if _, err := conn.Exec(ctx, text); err != nil {
			t.Error(err)
		}
	}
	run(t.Context(), "CREATE DATABASE "+name)
	t.Cleanup(func() { run(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)") })
	return name, conf
}

// pgBouncer runs PgBouncer before a database of its own, with further settings, and returns the connection string through it. The
// test is skipped where it is not installed.
func pgBouncer(t *testing.T, settings ...string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil { // Debian's, off the PATH of most users
			t.Skip("pgbouncer is not installed")
		}
	}
	name, conf := newDatabase(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	database := fmt.Sprintf("%s = host=%s port=%d dbname=%s user=%s", name, conf.Host, conf.Port, name, conf.User)
	if conf.Password != "" {
		database += " password='" + strings.ReplaceAll(conf.Password, "'", "''") + "'"
	}
	ini := filepath.Join(t.TempDir(), "pgbouncer.ini")
	text := strings.Join(append([]string{"[databases]", database, "[pgbouncer]", "listen_addr = 127.0.0.1", fmt.Sprint("listen_port = ", port),
		"unix_socket_dir =", "auth_type = any"}, settings...), "\n")
	if err := os.WriteFile(ini, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{ini}
	if os.Geteuid() == 0 { // which it refuses
		args = []string{"-u", "nobody", ini}
	}
	var log strings.Builder
	cmd := exec.Command(program, args...)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	address := net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", conf.User, address, name)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("PgBouncer does not listen")
	return ""
}

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
			dsn := pgBouncer(t, settings...)
			d, err := OpenPostgres(t.Context(), dsn, 2, time.Minute, zap.NewNop())
			if err == nil {
				_ = d.Close(t.Context())
			}
			if fault.Of(err) != fault.Invalid || !strings.Contains(fmt.Sprint(err), `set pool_mode to "session"`) {
				t.Fatalf("got %v, want to be told what to do", err)
			}
			conf, err := pgx.ParseConfig(os.Getenv("SPANGROVE_TEST_POSTGRES"))
			if err != nil {
				t.Fatal(err)
			}
			through, err := pgx.ParseConfig(dsn)
			if err != nil {
				t.Fatal(err)
			}
			conf.Database = through.Database
			conn, err := pgx.ConnectConfig(t.Context(), conf)
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

// A pooler that gives each connection a session is as good as none: the schema is made, reads have their limits of time, and
// notifications are heard.
func TestPostgresPoolerOfSessions(t *testing.T) {
	t.Parallel()
	d := openPostgresTest(t, pgBouncer(t, "pool_mode = session", "default_pool_size = 50"), 250*time.Millisecond)
	for _, patient := range []bool{false, true, false} {
		want := "250ms"
		if patient {
			want = "0"
		}
		if got, err := readText(t.Context(), d, patient, "SELECT current_setting('statement_timeout')"); err != nil || got != want {
			t.Errorf("patient %t: the limit is %s (%v), want %s", patient, got, err, want)
		}
	}
	if err := readUnwatched(d, true, "SELECT pg_sleep(60)"); fault.Of(err) != fault.Timeout {
		t.Errorf("%v, want a timeout", err)
	}
	for range 2 { // prepared, and by the prepared statement
		err := d.Write(t.Context(), func(tx Tx) error {
			if err := tx.Lock(t.Context(), "x"); err != nil {
				return err
			}
			var plan string
			_, err := One(t.Context(), tx, "SELECT current_setting('plan_cache_mode')", nil, &plan)
			if plan != "force_custom_plan" {
				t.Errorf("plan_cache_mode is %q", plan)
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
	err := d.Listen(ctx, func() {
		if err := d.Notify(ctx, []string{"hello"}); err != nil {
			t.Error(err)
			stop()
		}
	}, func(text string) { got = text; stop() })
	if got != "hello" {
		t.Errorf("heard %q, %v", got, err)
	}
}
