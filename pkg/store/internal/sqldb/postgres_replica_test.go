package sqldb

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb/sqldbtest"
)

// replicaStore opens a database and its replica, with a table of one number.
func replicaStore(t *testing.T, o ServerOptions) (*Postgres, *observer.ObservedLogs) {
	t.Helper()
	core, log := observer.New(zap.InfoLevel)
	o.Writers, o.ReadTimeout, o.Logger = 2, time.Minute, zap.New(core)
	if o.ReplicaWait == 0 {
		o.ReplicaWait = 10 * time.Second // a busy machine is not what most tests are about
	}
	d, err := OpenPostgres(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close(context.Background()) })
	setNumber(t, d, "CREATE TABLE IF NOT EXISTS number (n integer); DELETE FROM number; INSERT INTO number VALUES (0)")
	return d, log
}

func setNumber(t *testing.T, d *Postgres, text string) {
	t.Helper()
	if _, err := d.Pool.Exec(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// readNumber reads the number, and whether the replica answered.
func readNumber(t *testing.T, d *Postgres, snapshot bool) (n int, byReplica bool) {
	t.Helper()
	before, _ := d.ReplicaReads()
	read := func(c Conn) error {
		_, err := One(FromReplica(t.Context()), c, `SELECT n FROM number`, nil, &n)
		return err
	}
	var err error
	if snapshot {
		err = d.Snapshot(FromReplica(t.Context()), read)
	} else {
		err = read(d)
	}
	if err != nil {
		t.Fatal(err)
	}
	after, _ := d.ReplicaReads()
	return n, after > before
}

// awaitReplica waits until reads are answered by the replica, or no longer.
func awaitReplica(t *testing.T, d *Postgres, want bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, by := readNumber(t, d, false); by == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("reads by the replica: still %t", !want)
		}
	}
}

// What is read at a replica is what was committed when the read began, however quickly one follows the other, by whichever connection it was written.
func TestPostgresReplica(t *testing.T) {
	t.Parallel()
	c := sqldbtest.NewReplicated(t)

	t.Run("sees all that was committed", func(t *testing.T) {
		primary, at := c.Schema(t)
		d, log := replicaStore(t, ServerOptions{DSN: primary, ReadDSN: at})
		other, err := pgx.Connect(t.Context(), primary)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Close(context.Background()) }()
		answered := 0
		for i := range 300 {
			if _, err := other.Exec(t.Context(), "UPDATE number SET n = "+strconv.Itoa(i)); err != nil {
				t.Fatal(err)
			}
			n, by := readNumber(t, d, i%2 == 0)
			if n != i {
				t.Fatalf("read %d after %d was committed", n, i)
			}
			if by {
				answered++
			}
		}
		if answered < 200 {
			t.Errorf("the replica answered %d of 300", answered)
		}
		if log.FilterMessageSnippet("from the replica").Len() != 1 {
			t.Errorf("log: %v", log.All())
		}
	})

	t.Run("many read while others write", func(t *testing.T) {
		primary, at := c.Schema(t)
		d, _ := replicaStore(t, ServerOptions{DSN: primary, ReadDSN: at})
		setNumber(t, d, "CREATE TABLE counter (who integer PRIMARY KEY, n integer)")
		var wg sync.WaitGroup
		for who := range 6 {
			wg.Go(func() {
				for i := range 100 {
					if _, err := d.Pool.Exec(t.Context(), "INSERT INTO counter VALUES ($1, $2) ON CONFLICT (who) DO UPDATE SET n = $2", who, i); err != nil {
						t.Error(err)
						return
					}
					n := -1
					if _, err := One(FromReplica(t.Context()), d, `SELECT n FROM counter WHERE who = $1`, []any{who}, &n); err != nil || n != i {
						t.Errorf("read %d (%v) after %d was committed", n, err, i)
						return
					}
				}
			})
		}
		wg.Wait()
		if by, not := d.ReplicaReads(); by < not {
			t.Errorf("the replica answered %d, the primary %d", by, not)
		}
	})

	t.Run("one that is behind is not waited for", func(t *testing.T) {
		primary, at := c.Schema(t)
		d, log := replicaStore(t, ServerOptions{DSN: primary, ReadDSN: at, ReplicaWait: 200 * time.Millisecond})
		awaitReplica(t, d, true)
		c.Exec(t, c.Replica, "SELECT pg_wal_replay_pause()")
		resume := sync.OnceFunc(func() { c.Exec(t, c.Replica, "SELECT pg_wal_replay_resume()") })
		t.Cleanup(resume)
		for i := range 50 {
			setNumber(t, d, "UPDATE number SET n = "+strconv.Itoa(i))
			if n, by := readNumber(t, d, i%2 == 0); n != i || by && i > 0 {
				t.Fatalf("read %d (by the replica: %t) after %d was committed", n, by, i)
			}
		}
		if l := log.FilterMessageSnippet("from the primary").All(); len(l) != 1 || !strings.Contains(l[0].ContextMap()["error"].(string), "more than 200ms behind") { //nolint:errcheck // a string
			t.Errorf("log: %v", log.All())
		}
		resume()
		awaitReplica(t, d, true)
		if n, _ := readNumber(t, d, false); n != 49 {
			t.Errorf("read %d", n)
		}
	})

	t.Run("a read does not wait for a lock that waits for it", func(t *testing.T) {
		primary, at := c.Schema(t)
		d, _ := replicaStore(t, ServerOptions{DSN: primary, ReadDSN: at, ReplicaWait: time.Second})
		// The log waits for as long as it takes.
		set := func(change string) {
			c.Exec(t, c.Replica, "ALTER SYSTEM "+change)
			c.Exec(t, c.Replica, "SELECT pg_reload_conf()")
		}
		set("SET max_standby_streaming_delay = -1")
		t.Cleanup(func() { set("RESET max_standby_streaming_delay") })
		replica, err := pgx.Connect(t.Context(), c.Replica)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = replica.Close(context.Background()) }()
		awaitReplica(t, d, true)
		setNumber(t, d, "INSERT INTO number VALUES (1)")
		read, cancel := context.WithTimeout(FromReplica(t.Context()), 30*time.Second) // less than the limit of statements
		defer cancel()
		var numbers []int
		err = Each(read, d, `SELECT n FROM number ORDER BY n`, nil, func(scan func(...any) error) error {
			if numbers == nil {
				setNumber(t, d, "ALTER TABLE number ADD COLUMN named text")
				for waits := false; !waits; time.Sleep(time.Millisecond) {
					if err := replica.QueryRow(t.Context(), `SELECT coalesce(wait_event_type = 'Lock', false) FROM pg_stat_activity WHERE backend_type = 'startup'`).Scan(&waits); err != nil {
						return err
					}
				}
			}
			var n, count int
			if _, err := One(read, d, `SELECT count(*) FROM number`, nil, &count); err != nil || count != 2 {
				t.Errorf("the statement beside it: %d, %v", count, err)
			}
			err := scan(&n)
			numbers = append(numbers, n)
			return err
		})
		if err != nil || len(numbers) != 2 {
			t.Errorf("read %v, %v", numbers, err)
		}
		awaitReplica(t, d, true)
	})

	t.Run("a schema that it does not have yet", func(t *testing.T) {
		c.Exec(t, c.Replica, "SELECT pg_wal_replay_pause()")
		primary, at := c.Schema(t)
		go func() {
			time.Sleep(300 * time.Millisecond)
			c.Exec(t, c.Replica, "SELECT pg_wal_replay_resume()")
		}()
		d, _ := replicaStore(t, ServerOptions{DSN: primary, ReadDSN: at})
		awaitReplica(t, d, true)
	})

	t.Run("one that crashes is missed by nobody", func(t *testing.T) {
		primary, at := c.Schema(t)
		d, _ := replicaStore(t, ServerOptions{DSN: primary, ReadDSN: at})
		awaitReplica(t, d, true)
		begun, more := make(chan struct{}), make(chan struct{})
		snapshot := make(chan error, 1)
		calls, sum := 0, 0
		go func() {
			snapshot <- d.Snapshot(FromReplica(t.Context()), func(conn Conn) error {
				calls++
				sum = 0
				for range 2 {
					n := 0
					if _, err := One(t.Context(), conn, `SELECT n FROM number`, nil, &n); err != nil {
						return err
					}
					if sum += n; calls == 1 {
						close(begun)
						<-more
					}
				}
				return nil
			})
		}()
		<-begun
		setNumber(t, d, "UPDATE number SET n = 7")
		c.KillReplica(t)
		close(more)
		if err := <-snapshot; err != nil || calls != 2 || sum != 14 {
			t.Errorf("a snapshot that was under way: %v, %d calls, sum %d", err, calls, sum)
		}
		if n, by := readNumber(t, d, false); n != 7 || by {
			t.Errorf("read %d, by the replica: %t", n, by)
		}
		c.StartReplica(t)
		awaitReplica(t, d, true)
	})

	t.Run("statements have their limits", func(t *testing.T) {
		primary, at := c.Schema(t)
		d, _ := replicaStore(t, ServerOptions{DSN: primary, ReadDSN: at})
		awaitReplica(t, d, true)
		for setting, want := range map[string]string{"statement_timeout": "1min", "jit": "off", "transaction_read_only": "on", "client_connection_check_interval": "2s"} {
			got := ""
			if _, err := One(FromReplica(t.Context()), d, "SELECT current_setting('"+setting+"')", nil, &got); err != nil || got != want {
				t.Errorf("%s: %s (%v), want %s", setting, got, err, want)
			}
		}
		for _, ctx := range []context.Context{t.Context(), Patiently(FromReplica(t.Context()))} {
			primary := false
			if _, err := One(ctx, d, `SELECT NOT pg_is_in_recovery()`, nil, &primary); err != nil || !primary {
				t.Errorf("a read that must be the primary's: %v", err)
			}
		}
		primaryToo := false
		if _, err := One(FromReplica(t.Context()), d.Quick(), `SELECT NOT pg_is_in_recovery()`, nil, &primaryToo); err != nil || !primaryToo {
			t.Errorf("a quick read: %v", err)
		}
	})

	t.Run("behind poolers", func(t *testing.T) {
		pooler := []string{"pool_mode = transaction", "default_pool_size = 3"}
		d, _ := replicaStore(t, ServerOptions{
			DSN: sqldbtest.StartBouncer(t, c.Primary, pooler...).DSN, DirectDSN: c.Primary, ReadDSN: sqldbtest.StartBouncer(t, c.Replica, pooler...).DSN,
		})
		awaitReplica(t, d, true)
		var wg sync.WaitGroup
		for range 12 { // more than there are sessions
			wg.Go(func() {
				for range 20 {
					err := d.Snapshot(FromReplica(t.Context()), func(conn Conn) error {
						var n int
						_, err := One(t.Context(), conn, `SELECT n FROM number`, nil, &n)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		for i := range 50 {
			setNumber(t, d, "UPDATE number SET n = "+strconv.Itoa(i))
			if n, _ := readNumber(t, d, i%2 == 0); n != i {
				t.Errorf("read %d after %d was committed", n, i)
			}
		}
		wg.Wait()
		if by, not := d.ReplicaReads(); by < not {
			t.Errorf("the replica answered %d, the primary %d", by, not)
		}
	})

	t.Run("an error of the statement is the primary's", func(t *testing.T) {
		primary, at := c.Schema(t)
		d, _ := replicaStore(t, ServerOptions{DSN: primary, ReadDSN: at})
		awaitReplica(t, d, true)
		_, err := One(FromReplica(t.Context()), d, `SELECT 1 / n FROM number`, nil, new(int))
		if sqlState(err) != "22012" {
			t.Errorf("%v", err)
		}
		if _, by := readNumber(t, d, false); !by {
			t.Error("it counted as an error of the replica")
		}
	})

	t.Run("another database is refused", func(t *testing.T) {
		primary, _ := c.Schema(t)
		_, at := c.Schema(t)
		if _, err := OpenPostgres(t.Context(), ServerOptions{DSN: primary, ReadDSN: at, Writers: 1, ReadTimeout: time.Minute, ReplicaWait: 10 * time.Second, Logger: zap.NewNop()}); fault.Of(err) != fault.Invalid ||
			!strings.Contains(err.Error(), "read_dsn: it leads to another database than dsn") {
			t.Errorf("another schema: %v", err)
		}
		if _, err := OpenPostgres(t.Context(), ServerOptions{DSN: primary, ReadDSN: sqldbtest.PostgresDSN(t), Writers: 1, ReadTimeout: time.Minute, Logger: zap.NewNop()}); fault.Of(err) != fault.Invalid {
			t.Errorf("another server: %v", err)
		}
	})

	t.Run("one that is none, or not there, is not used", func(t *testing.T) {
		primary, _ := c.Schema(t)
		for dsn, want := range map[string]string{primary: "not in recovery", "postgres://spangrove@127.0.0.1:1/postgres": "refused"} {
			d, log := replicaStore(t, ServerOptions{DSN: primary, ReadDSN: dsn})
			if _, by := readNumber(t, d, false); by {
				t.Errorf("%s answers", dsn)
			}
			if l := log.FilterMessageSnippet("from the primary").All(); len(l) != 1 || !strings.Contains(l[0].ContextMap()["error"].(string), want) { //nolint:errcheck // a string
				t.Errorf("log: %v", log.All())
			}
		}
	})
}
