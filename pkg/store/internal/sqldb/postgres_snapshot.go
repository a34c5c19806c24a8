package sqldb

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Snapshot is a transaction at the level REPEATABLE READ.
func (d *Postgres) Snapshot(ctx context.Context, f func(Conn) error) error {
	if r := d.replicaFor(ctx); r != nil {
		if answered, err := r.snapshot(ctx, f); answered {
			return err
		}
	}
	tx, end, err := beginRead(ctx, d.reads, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		d.renew(ctx, err)
		return err
	}
	defer end()
	return d.inSnapshot(ctx, tx, f)
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
	return f(&postgresSnapshot{d, tx.Conn()})
}

// beginRead begins a transaction that reads, and returns what ends it.
func beginRead(ctx context.Context, by *pgxpool.Pool, o pgx.TxOptions) (pgx.Tx, func(), error) {
	conn, err := by.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	tx, err := conn.BeginTx(ctx, o)
	if err != nil {
		conn.Release()
		return nil, nil, err
	}
	return tx, func() { endRead(ctx, conn, tx.Rollback) }, nil
}

// endRead ends the transaction of a connection, and gives it back. One that cannot end it is not used again.
func endRead(ctx context.Context, conn *pgxpool.Conn, rollback func(context.Context) error) {
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), resetTime)
	defer cancel()
	if err := rollback(after); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		_ = conn.Conn().Close(after)
	}
	conn.Release()
}

type postgresSnapshot struct {
	*Postgres
	in *pgx.Conn // in its transaction
}

func (s *postgresSnapshot) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	ctx, cancel := readContext(ctx, s.readTimeout)
	rs, err := s.in.Query(ctx, sql, args...)
	if err != nil {
		cancel()
		return nil, err
	}
	return timedRows{rs, cancel}, nil
}
