package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// postgresTx is one write transaction.
type postgresTx struct {
	postgresSpelling
	d  *postgresDB
	tx pgx.Tx
}

func (t *postgresTx) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	t.d.statements.Add(1)
	tag, err := t.tx.Exec(ctx, sql, args...)
	return tag.RowsAffected(), err
}

func (t *postgresTx) query(ctx context.Context, sql string, args ...any) (rows, error) {
	t.d.statements.Add(1)
	return t.tx.Query(ctx, sql, args...)
}

func (t *postgresTx) forUpdate(table string) string {
	if table != "" {
		return " FOR UPDATE OF " + table
	}
	return " FOR UPDATE"
}

func (t *postgresTx) skipLocked() string { return " FOR UPDATE SKIP LOCKED" }

func (t *postgresTx) deleted(context.Context) error { return nil } // the server's VACUUM reuses dead rows
