package sqldb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Between this process and the server there may be a pooler. One that gives a connection a session of the server for as long as it
// stands (PgBouncer's pool_mode "session") is not noticed. One that gives each transaction another session (pool_mode
// "transaction") is refused, before anything is written: the lock under which the schema is migrated would stay behind in a session
// that nobody can find again, and keep the next server from starting; limits of time would end up in the sessions of others;
// prepared statements would be missing where they are used, and notifications would reach nobody.

const (
	// poolerCheck bounds how long it may take to find out: a pooler without a free session lets its clients wait.
	poolerCheck = 15 * time.Second
	// poolerRounds is how often two connections are compared. One round tells a pooler that nobody else uses meanwhile, whether it
	// hands out the session that was free last or goes round; the other programs of a shared one may hide it, but not every time.
	poolerRounds = 10
)

// checkPooler refuses a pooler that gives each transaction another session.
func (d *Postgres) checkPooler(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, poolerCheck)
	defer cancel()
	conn, err := d.Pool.Acquire(within)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer conn.Release()
	return d.ownSession(within, conn.Conn())
}

// ownSession refuses a connection that shares sessions of the server with others. A server tells a connection its process when it
// begins; a pooler says something else there, so without one it costs a single statement.
func (d *Postgres) ownSession(ctx context.Context, conn *pgx.Conn) error {
	first, err := backend(ctx, conn)
	if err != nil || first == conn.PgConn().PID() {
		return err
	}
	other, err := d.quickReads.Acquire(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return fault.InvalidField("dsn", "the pooler it leads to gave no second connection in time: "+
				"it must allow this server as many as PostgreSQL itself would have to")
		}
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer other.Release()
	for range poolerRounds {
		same, err := keeps(ctx, conn, first, other.Conn())
		if err != nil {
			return err
		}
		if !same {
			return fault.InvalidField("dsn", "it leads to a pooler that gives each transaction another session "+
				"(PgBouncer's pool_mode \"transaction\" or \"statement\"); connect to PostgreSQL itself, or set pool_mode to \"session\"")
		}
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
		if sqlState(err) == "08P01" { // not of the server: a pooler that allows no transactions
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
