package sqldb

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"go.uber.org/zap"
)

// PartitionDays is how many days share a partition of events and chunks.
const PartitionDays = 28

// MigratePostgres makes the tables of a store in a schema, which has at most some of them.
func MigratePostgres(ctx context.Context, conn *pgx.Conn) (err error) {
	db := stdlib.OpenDB(*conn.Config())
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := migrationsOf(db, goose.DialectPostgres, "postgres")
	if err != nil {
		return err
	}
	if _, err = p.Up(ctx); err != nil {
		return err
	}
	return distribute(ctx, db, zap.NewNop())
}
