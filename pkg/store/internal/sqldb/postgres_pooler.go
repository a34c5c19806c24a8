package sqldb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Between this process and the server there may be a pooler. One that gives a connection a session of the server for as long as it
// stands (PgBouncer's pool_mode "session") is not noticed.
//
// One that gives each transaction another session (pool_mode "transaction") needs a second connection string, which leads to sessions:
// the schema is migrated by it, under a lock of a session, and notifications are heard by it. By the pooler come transactions that leave nothing
// behind: settings and limits of time are local to them, and no statement is prepared under a name. A read takes two more round
// trips for it. (The planner sees the arguments of statements without a name, so that force_custom_plan is not missed.)
//
// Without a second connection string such a pooler is refused, before anything is written: the lock would stay behind in a session that nobody
// can find again, and keep the next server from starting; limits of time would end up in the sessions of others; prepared statements would be
// missing where they are used, and notifications would reach nobody.

const (
	// poolerCheck bounds how long it may take to find out: a pooler without a free session lets its clients wait.
	poolerCheck = 15 * time.Second
	// poolerRounds is how often two connections are compared. One round tells a pooler that nobody else uses meanwhile, whether it
	// hands out the session that was free last or goes round; the other programs of a shared one may hide it, but not every time.
	poolerRounds = 10
	// noTransactions is the state of an error that is not the server's: a pooler's that allows no transactions.
	noTransactions = "08P01"
)

// checkPooler refuses a pooler that gives each transaction another session where sessions are needed.
func (d *Postgres) checkPooler(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, poolerCheck)
	defer cancel()
	if d.pooled {
		return d.checkPooled(within)
	}
	conn, err := d.Pool.Acquire(within)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer conn.Release()
	return d.ownSession(within, conn.Conn())
}

// checkPooled refuses a direct connection that has no session of its own, one that leads elsewhere than the pools do, and a pooler without transactions.
func (d *Postgres) checkPooled(ctx context.Context) error {
	direct, err := pgx.ConnectConfig(ctx, d.conf.Copy())
	if err != nil {
		return fmt.Errorf("direct_dsn: connect to PostgreSQL: %w", err)
	}
	defer func() { _ = direct.Close(context.WithoutCancel(ctx)) }()
	if err := d.ownSession(ctx, direct); err != nil {
		return err
	}
	if d.watches, err = watch(ctx, direct); err != nil {
		return err
	}
	const place = `SELECT current_database(), coalesce(current_schema(), ''), pg_postmaster_start_time()::text`
	var here, there [3]string
	if err := direct.QueryRow(ctx, place).Scan(&here[0], &here[1], &here[2]); err != nil {
		return fmt.Errorf("direct_dsn: connect to PostgreSQL: %w", err)
	}
	err = pgx.BeginFunc(ctx, d.Pool, func(tx pgx.Tx) error { return tx.QueryRow(ctx, place).Scan(&there[0], &there[1], &there[2]) })
	switch {
	case sqlState(err) == noTransactions:
		return fault.InvalidField("dsn", `it leads to a pooler that allows no transactions (PgBouncer's pool_mode "statement"); set pool_mode to "transaction"`)
	case err != nil:
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	case here != there:
		return fault.InvalidField("direct_dsn", "it leads to another server, database or schema than dsn: to %s, schema %q, of a server that runs since %s, and dsn to %s, schema %q, since %s",
			here[0], here[1], here[2], there[0], there[1], there[2])
	}
	return nil
}

// localSettings returns the statement that sets, for one transaction, what a connection without a pooler has for good.
func (d *Postgres) localSettings(ctx context.Context) string {
	limit := d.readLimit
	if ctx.Value(patient{}) != nil {
		limit = "0"
	}
	return localSettings(limit, d.watches)
}

// localSettings sets, for one transaction, the limit of time of its statements in milliseconds, and watchClient where the server's system can do it.
func localSettings(limit string, watches bool) string {
	text := "SET LOCAL jit = off; SET LOCAL statement_timeout = " + limit
	if watches {
		text += "; SET LOCAL client_connection_check_interval = " + watchEvery
	}
	return text
}

// pooledQuery reads in a transaction of its own.
func (d *Postgres) pooledQuery(ctx context.Context, by *pgxpool.Pool, sql string, args []any) (Rows, error) {
	tx, end, err := beginRead(ctx, by, pgx.TxOptions{BeginQuery: "BEGIN READ ONLY; " + d.localSettings(ctx)})
	if err != nil {
		return nil, err
	}
	rs, err := tx.Query(ctx, sql, args...)
	if err != nil {
		end()
		return nil, err
	}
	return timedRows{rs, end}, nil
}

// another returns a second connection of those that need a session of their own, and what gives it back.
func (d *Postgres) another(ctx context.Context) (*pgx.Conn, func(), error) {
	if d.pooled {
		conn, err := pgx.ConnectConfig(ctx, d.conf.Copy())
		return conn, func() { _ = conn.Close(context.WithoutCancel(ctx)) }, err
	}
	conn, err := d.quickReads.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	return conn.Conn(), conn.Release, nil
}

// ownSession refuses a connection that shares sessions of the server with others. A server tells a connection its process when it
// begins; a pooler says something else there, so without one it costs a single statement.
func (d *Postgres) ownSession(ctx context.Context, conn *pgx.Conn) error {
	first, err := backend(ctx, conn)
	if err != nil || first == conn.PgConn().PID() {
		return err
	}
	setting := "dsn"
	if d.pooled {
		setting = "direct_dsn"
	}
	other, release, err := d.another(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return fault.InvalidField(setting, "the pooler it leads to gave no second connection in time: "+
				"it must allow this server as many as PostgreSQL itself would have to")
		}
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer release()
	for range poolerRounds {
		same, err := keeps(ctx, conn, first, other)
		if err != nil {
			return err
		}
		if same {
			continue
		}
		what := `connect to PostgreSQL itself, or set pool_mode to "session"`
		if !d.pooled {
			what += `, or set direct_dsn, too, to a connection string past a pooler with pool_mode "transaction"`
		}
		return fault.InvalidField(setting, "it leads to a pooler that gives each transaction another session "+
			`(PgBouncer's pool_mode "transaction" or "statement"); %s`, what)
	}
	return nil
}

// keeps reports whether a connection has its session before another one's transaction and during it. The session of two connections
// that stand at once cannot be the same. A pooler that shares them and goes round gives another one to the second of two statements,
// and one that hands out what was free last gives the session of the statement before to the transaction.
func keeps(ctx context.Context, conn *pgx.Conn, session uint32, other *pgx.Conn) (bool, error) {
	for range 2 {
		if now, err := backend(ctx, conn); err != nil || now != session {
			return false, err
		}
	}
	if _, err := other.Exec(ctx, "BEGIN"); err != nil {
		if sqlState(err) == noTransactions {
			return false, nil
		}
		return false, err
	}
	defer func() { _, _ = other.Exec(context.WithoutCancel(ctx), "ROLLBACK") }()
	now, err := backend(ctx, other)
	if err != nil || now == session { // asked for first: with one session in all, the next would wait for it
		return false, err
	}
	now, err = backend(ctx, conn)
	return now == session, err
}

// backend returns the process of the server that answers. It prepares no statement, which a pooler might not find again.
func backend(ctx context.Context, conn *pgx.Conn) (pid uint32, err error) {
	if err = conn.QueryRow(ctx, "SELECT pg_backend_pid()::oid", pgx.QueryExecModeSimpleProtocol).Scan(&pid); err != nil {
		err = fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	return pid, err
}
