package sqldb

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// postgresTx is one write transaction, on a connection that it has to itself until it ends. The driver keeps the statements of
// a connection prepared.
type postgresTx struct {
	postgresSpelling
	d  *Postgres
	tx pgx.Tx

	changes changes

	// Chunks that were inserted ahead of it (InsertAhead).
	aheadIDs  []int64
	aheadDays []int32
}

func (t *postgresTx) Changes() int { return int(t.changes) }

func (t *postgresTx) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	t.d.statements.Add(1)
	t.changes.count(sql)
	tag, err := t.tx.Exec(ctx, sql, args...)
	return tag.RowsAffected(), err
}

func (t *postgresTx) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	t.d.statements.Add(1)
	t.changes.count(sql)
	return t.tx.Query(ctx, sql, args...)
}

func (t *postgresTx) ForUpdate(table string) string {
	if table != "" {
		return " FOR UPDATE OF " + table
	}
	return " FOR UPDATE"
}

func (t *postgresTx) SkipLocked() string { return " FOR UPDATE SKIP LOCKED" }

// Lock takes an advisory lock, which ends with the transaction. Names of one schema do not meet those of another. A name is a number
// to PostgreSQL: two whose hashes are equal wait for each other, which costs time and nothing else. Like rows, a lock is waited for
// up to lockTimeout.
func (t *postgresTx) Lock(ctx context.Context, name string) error {
	_, err := t.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || $1, 0))`, name)
	return err
}

func (t *postgresTx) Deleted(context.Context) error { return nil } // the server's VACUUM reuses dead rows
