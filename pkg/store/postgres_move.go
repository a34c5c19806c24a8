package store

import (
	"context"

	"github.com/spangrove/spangrove/pkg/store/internal/move"
)

// MovePostgres moves the store of a database into another one, as MoveSQLite does.
func MovePostgres(ctx context.Context, dsn, to string, o MoveOptions) (*MoveReport, error) {
	return runMove(ctx, postgresSource(ctx, dsn), postgresTarget(ctx, to), o)
}

// MovePostgresToSQLite moves the store of a database into a data directory, which must have none.
func MovePostgresToSQLite(ctx context.Context, dsn, data string, o MoveOptions) (*MoveReport, error) {
	return runMove(ctx, postgresSource(ctx, dsn), sqliteTarget(ctx, data), o)
}

// ForeseeMovePostgres tells what a move of a database's store has to do. It changes nothing.
func ForeseeMovePostgres(ctx context.Context, dsn, to string) (*MovePlan, error) {
	return foreseeMove(ctx, postgresSource(ctx, dsn), to)
}

// AbandonMovePostgres ends a move, and lets servers change the store of a database again. It reports whether there was one.
func AbandonMovePostgres(ctx context.Context, dsn string) (bool, error) {
	return abandonMove(ctx, postgresSource(ctx, dsn))
}

func postgresSource(ctx context.Context, dsn string) moveSource {
	return func() (move.Source, error) { return move.OpenPostgres(ctx, dsn) }
}

func postgresTarget(ctx context.Context, dsn string) moveTarget {
	return func() (move.Target, error) { return move.OpenPostgres(ctx, dsn) }
}
