package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
)

// replica is a copy of the database that PostgreSQL keeps by streaming replication, or several behind one address. It answers reads whose
// context allows it (FromReplica).
//
// It answers them as the primary would: before the first statement of a read, the primary is asked up to where its log is on disk, and the
// statement runs once the replica has replayed the log up to there. So the statement sees everything that any server had committed when it began,
// later statements of the read see no less, and callers need not know where they ran. If that takes longer than wait, or the replica fails, the
// statement runs at the primary, and so do all others until the replica keeps up again, which is checked every replicaEvery.
//
// The same bound is on the wait for a lock. At a replica only the replay of the log holds those that reads wait for, as for a partition that was dropped.
// While it waits itself for a read that has rows to come, that read's next statement would wait for it on another connection, and neither would go on.
//
// Each statement runs in a transaction that leaves nothing behind, so that a pooler may stand before the replica, too.
type replica struct {
	primary *Postgres
	log     *zap.Logger
	pool    *pgxpool.Pool
	checks  *pgxpool.Pool // of the one connection that looks whether the replica keeps up
	wait    time.Duration // for the log, at most
	same    identity      // of the primary's database
	at      positions

	settings atomic.Pointer[string] // of each transaction
	serves   atomic.Bool            // else reads go to the primary
	reads    atomic.Int64           // that it answered
	missed   atomic.Int64           // that it was left to the primary to answer
	stop     context.CancelFunc
	work     sync.WaitGroup

	mu     sync.Mutex
	told   int       // what the log told last
	toldAt time.Time // when it last told that the replica rests
}

// What the log tells.
const (
	toldServes = iota + 1
	toldRests
)

const (
	// replicaEvery is how often it is looked at whether the replica keeps up.
	replicaEvery = time.Second
	// replicaConnect is how long a connection to the replica may take if the connection string does not say: reads can go elsewhere.
	replicaConnect = 2 * time.Second
	// replicaPoll is the longest pause between two questions how far the replica is.
	replicaPoll = 8 * time.Millisecond
	// replicaTold is how often the log tells at most that a replica rests: one that is just not quick enough does so every few seconds.
	replicaTold = time.Minute
	// replicaStart bounds the first look at the replica, for which the start of the server waits.
	replicaStart = 5 * time.Second
)

// FromReplica returns a context for one read, whose statements outside of transactions, but for those of Quick, may be answered by a replica, if there
// is one. They see all that is committed when the first of them begins, and none sees less than one before.
func FromReplica(ctx context.Context) context.Context {
	return context.WithValue(ctx, fromReplica{}, &reading{})
}

type fromReplica struct{}

// reading is what the statements of one read have in common.
type reading struct {
	mu    sync.Mutex
	known bool
	at    position // that all of them must see
}

// position returns the one that a statement must see. The first one asks for it.
func (g *reading) position(ctx context.Context, from *positions) (position, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.known {
		at, err := from.now(ctx)
		if err != nil {
			return at, err
		}
		at.lsn = max(at.lsn, g.at.lsn)
		g.at, g.known = at, true
	}
	return g.at, nil
}

// anew has the next statement ask again: the primary answers one, which may see more than the first position.
func (g *reading) anew() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known = false
}

// saw records how far the replica was that has answered: there may be several.
func (g *reading) saw(lsn uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at.lsn = max(g.at.lsn, lsn)
}

// identity tells databases apart. Copies of one have the same.
type identity struct{ system, database, schema string }

const selectIdentity = `SELECT (SELECT system_identifier FROM pg_control_system())::text, current_database()::text, coalesce(current_schema(), '')::text`

func readIdentity(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (id identity, err error) {
	err = q.QueryRow(ctx, selectIdentity, pgx.QueryExecModeSimpleProtocol).Scan(&id.system, &id.database, &id.schema)
	return id, err
}

// openReplica opens the replica at dsn, and looks at it once. One that cannot be reached, or does not keep up, is no error: it may later. One of another
// database is.
func (d *Postgres) openReplica(ctx context.Context, o ServerOptions) error {
	conf, err := postgresConfig("read_dsn", o.ReadDSN, 0)
	if err != nil {
		return err
	}
	if !strings.Contains(o.ReadDSN, "connect_timeout") {
		conf.ConnConfig.ConnectTimeout = replicaConnect
	}
	conf.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	conf.MaxConns = d.reads.Config().MaxConns
	conf.MinConns = 0
	r := &replica{primary: d, log: o.Logger, wait: o.ReplicaWait}
	r.at.ask = d.position
	if r.same, err = readIdentity(ctx, d.quickReads); err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	conf.AfterConnect = r.identify
	one := conf.Copy()
	one.MaxConns = 1
	if r.pool, err = pgxpool.NewWithConfig(ctx, conf); err != nil {
		return err
	}
	if r.checks, err = pgxpool.NewWithConfig(ctx, one); err != nil {
		r.pool.Close()
		return err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	d.replica = r
	var wrong *fault.Error
	if err := r.look(ctx, replicaStart); errors.As(err, &wrong) {
		return wrong
	}
	r.work.Go(func() { r.watch(background) })
	return nil
}

// identify refuses a connection that leads to another database, and finds the settings of transactions.
func (r *replica) identify(ctx context.Context, c *pgx.Conn) error {
	is, err := readIdentity(ctx, c)
	if err == nil && is != r.same && is.system == r.same.system { // a schema that was just made may not be there yet
		var at position
		if at, err = r.at.now(ctx); err == nil {
			_, err = r.reach(ctx, c, "", at)
		}
		if err == nil {
			is, err = readIdentity(ctx, c)
		}
	}
	if err != nil {
		return err
	}
	if is != r.same {
		return fault.InvalidField("read_dsn", "it leads to another database than dsn: to %s, schema %q, of system %s, and dsn to %s, schema %q, of system %s",
			is.database, is.schema, is.system, r.same.database, r.same.schema, r.same.system)
	}
	// In a transaction that is rolled back, so that nothing of it stays in a pooler's session.
	if _, err := c.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	watches, err := watch(ctx, c)
	if _, end := c.Exec(ctx, "ROLLBACK"); err == nil {
		err = end
	}
	settings := localSettings(r.primary.readLimit, watches) + "; SET LOCAL lock_timeout = " + strconv.FormatInt(max(r.wait.Milliseconds(), 1), 10)
	r.settings.Store(&settings)
	return err
}

// watch looks at the replica again and again, until ctx ends.
func (r *replica) watch(ctx context.Context) {
	tick := time.NewTicker(replicaEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = r.look(ctx, r.wait+replicaConnect)
		}
	}
}

// look finds out whether the replica keeps up.
func (r *replica) look(ctx context.Context, limit time.Duration) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	at, err := r.at.now(within)
	if err != nil {
		return nil // the primary's trouble tells nothing about the replica
	}
	_, _, end, err := r.begin(within, r.checks, at)
	if err == nil {
		end()
		r.serve()
		return nil
	}
	if ctx.Err() == nil {
		r.rest(err)
	}
	return err
}

// serve has reads go to the replica.
func (r *replica) serve() {
	r.serves.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told != toldServes {
		r.told = toldServes
		r.log.Info("searches, charts and sessions are read from the replica of PostgreSQL")
	}
}

// rest has reads go to the primary until the replica was looked at again.
func (r *replica) rest(err error) {
	r.serves.Store(false)
	r.mu.Lock()
	if r.told != toldRests && time.Since(r.toldAt) >= replicaTold {
		r.told, r.toldAt = toldRests, time.Now()
		r.log.Warn("searches, charts and sessions are read from the primary of PostgreSQL for now", zap.Error(err))
	}
	r.mu.Unlock()
	if r.primary.Unavailable(err) {
		r.pool.Reset()
		r.checks.Reset()
	}
}

// replicaFor returns the replica if it may answer a read.
func (d *Postgres) replicaFor(ctx context.Context) *replica {
	if d.replica == nil || readingOf(ctx) == nil || ctx.Value(patient{}) != nil {
		return nil
	}
	if !d.replica.serves.Load() {
		d.replica.miss(ctx)
		return nil
	}
	return d.replica
}

// readingOf returns the read in ctx, nil if there is none that a replica may answer.
func readingOf(ctx context.Context) *reading {
	g, _ := ctx.Value(fromReplica{}).(*reading)
	return g
}

// miss leaves a statement of the read in ctx to the primary.
func (r *replica) miss(ctx context.Context) {
	r.missed.Add(1)
	readingOf(ctx).anew()
}

// current begins a transaction at the replica that sees what the read in ctx must see. ok is false if the primary is to answer.
func (r *replica) current(ctx context.Context) (conn *pgx.Conn, end func(), ok bool) {
	read := readingOf(ctx)
	at, err := read.position(ctx, &r.at)
	if err == nil {
		var far uint64
		if conn, far, end, err = r.begin(ctx, r.pool, at); err == nil {
			read.saw(far)
			return conn, end, true
		}
		if ctx.Err() == nil {
			r.rest(err)
		}
	}
	r.miss(ctx)
	return nil, nil, false
}

// begin begins a transaction, at READ COMMITTED, in which the log is replayed up to a position of the primary's, and returns up to where it is replayed.
func (r *replica) begin(ctx context.Context, pool *pgxpool.Pool, at position) (_ *pgx.Conn, far uint64, end func(), err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	end = sync.OnceFunc(func() {
		endRead(ctx, conn, func(after context.Context) error {
			_, err := conn.Exec(after, "ROLLBACK")
			return err
		})
	})
	if far, err = r.reach(ctx, conn.Conn(), "BEGIN READ ONLY; "+*r.settings.Load()+"; ", at); err != nil {
		end()
		return nil, 0, nil, err
	}
	return conn.Conn(), far, end, nil
}

// reach waits until the replica has replayed the log up to a position, and returns up to where it has. It runs first before it asks.
func (r *replica) reach(ctx context.Context, c *pgx.Conn, first string, at position) (far uint64, err error) {
	const howFar = `SELECT pg_is_in_recovery(), pg_last_wal_replay_lsn(), ` +
		`greatest((SELECT timeline_id FROM pg_control_checkpoint()), (SELECT received_tli FROM pg_stat_wal_receiver))`
	until := time.Now().Add(r.wait)
	for pause := time.Millisecond; ; pause = min(2*pause, replicaPoll) {
		answer, err := c.PgConn().Exec(ctx, first+howFar).ReadAll()
		if err != nil {
			return 0, err
		}
		far, err := at.far(answer[len(answer)-1])
		if err != nil || far >= at.lsn {
			return far, err
		}
		if time.Now().After(until) {
			return 0, fmt.Errorf("the replica is more than %s behind", r.wait)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(pause):
		}
		first = ""
	}
}

// query runs a statement at the replica. ok is false if the primary is to answer, as where the replica fails before the first row: it ends statements
// that keep it from replaying the log for too long.
func (r *replica) query(ctx context.Context, sql string, args []any) (_ Rows, ok bool) {
	conn, end, ok := r.current(ctx)
	if !ok {
		return nil, false
	}
	rs, err := conn.Query(ctx, sql, args...)
	if err == nil {
		begun := &begunRows{Rows: rs, ahead: true, has: rs.Next()}
		if err = rs.Err(); err == nil {
			r.reads.Add(1)
			return timedRows{begun, end}, true
		}
		rs.Close()
	}
	end()
	r.failed(ctx, err)
	r.miss(ctx)
	return nil, false
}

// snapshot calls f with a transaction at the replica all of whose reads see the database as of one moment. answered is false if f is to be called at the
// primary, too.
func (r *replica) snapshot(ctx context.Context, f func(Conn) error) (answered bool, err error) {
	conn, end, ok := r.current(ctx)
	if !ok {
		return false, nil
	}
	defer end()
	// A snapshot is taken before its statement finds out how far the log is, so this needs a transaction after the one that did. A pooler keeps
	// the session for it, and everything is as it was but the settings.
	_, err = conn.PgConn().Exec(ctx, "ROLLBACK AND CHAIN; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; "+*r.settings.Load()).ReadAll()
	if err == nil {
		err = f(&postgresSnapshot{r.primary, conn})
	}
	if err != nil && r.failed(ctx, err) {
		r.miss(ctx)
		return false, nil
	}
	r.reads.Add(1)
	return true, err
}

// failed reports whether an error is the replica's own, and another server may do better.
func (r *replica) failed(ctx context.Context, err error) bool {
	lost := r.primary.Unavailable(err)
	if ctx.Err() != nil || !lost && !r.primary.Retryable(err) {
		return false
	}
	if lost || sqlState(err) == lockNotAvailable {
		r.rest(err)
	}
	return true
}

func (r *replica) close() {
	r.stop()
	r.work.Wait()
	r.pool.Close()
	r.checks.Close()
}

func (d *Postgres) ReplicaReads() (replica, itself int64) {
	if d.replica == nil {
		return 0, 0
	}
	return d.replica.reads.Load(), d.replica.missed.Load()
}

// begunRows are rows of which the first was asked for already.
type begunRows struct {
	Rows
	ahead, has bool
}

func (b *begunRows) Next() bool {
	if b.ahead {
		b.ahead = false
		return b.has
	}
	return b.Rows.Next()
}
