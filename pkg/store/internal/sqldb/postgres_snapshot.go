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
	return f(&postgresSnapshot{d, tx})
}

// beginRead begins a transaction that reads, and returns what ends it. A connection that cannot end it is not used again.
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
	return tx, func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), resetTime)
		defer cancel()
		if err := tx.Rollback(after); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			_ = conn.Conn().Close(after)
		}
		conn.Release()
	}, nil
}

// pgxQuerier is a transaction, or the connection that is in one.
type pgxQuerier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

type postgresSnapshot struct {
	*Postgres
	by pgxQuerier
}

func (s *postgresSnapshot) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	ctx, cancel := readContext(ctx, s.readTimeout)
	rs, err := s.by.Query(ctx, sql, args...)
	if err != nil {
		cancel()
		return nil, err
	}
	return timedRows{rs, cancel}, nil
}
