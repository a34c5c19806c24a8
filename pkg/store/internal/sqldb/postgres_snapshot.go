package sqldb

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Snapshot is a transaction at the level REPEATABLE READ.
func (d *Postgres) Snapshot(ctx context.Context, f func(Conn) error) error {
	conn, err := d.reads.Acquire(ctx)
	if err != nil {
		d.renew(ctx, err)
		return err
	}
	defer conn.Release()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		d.renew(ctx, err)
		return err
	}
	err = d.inSnapshot(ctx, tx, f)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), resetTime)
	defer cancel()
	endRead(after, conn, tx)
	return err
}

// inSnapshot runs f, without a limit of time if ctx is a patient one.
func (d *Postgres) inSnapshot(ctx context.Context, tx pgx.Tx, f func(Conn) error) error {
	switch {
	case d.pooled:
		if _, err := tx.Exec(ctx, d.localSettings(ctx)); err != nil {
			return err
		}
	case ctx.Value(patient{}) != nil:
		if _, err := tx.Exec(ctx, "SET LOCAL statement_timeout = 0"); err != nil {
			return err
		}
	}
	return f(&postgresSnapshot{d, tx})
}

// endRead ends a transaction that has read. A connection that cannot do so is not used again.
func endRead(ctx context.Context, conn *pgxpool.Conn, tx pgx.Tx) {
	if err := tx.Rollback(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		_ = conn.Conn().Close(ctx)
	}
}

type postgresSnapshot struct {
	*Postgres
	tx pgx.Tx
}

func (s *postgresSnapshot) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	ctx, cancel := readContext(ctx, s.readTimeout)
	rs, err := s.tx.Query(ctx, sql, args...)
	if err != nil {
		cancel()
		return nil, err
	}
	return timedRows{rs, cancel}, nil
}
