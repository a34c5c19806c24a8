package store

import (
	"context"

	"github.com/spangrove/spangrove/pkg/store/internal/move"
)

// MoveSQLite copies the store of a data directory, which a server may write to meanwhile, into an empty PostgreSQL database or schema,
// compares both, makes the old store refuse changes, and the new one one that servers open. If it ends before that, it goes on when it is called again.
func MoveSQLite(ctx context.Context, data, dsn string, o MoveOptions) (*MoveReport, error) {
	return runMove(ctx, sqliteSource(ctx, data), postgresTarget(ctx, dsn), o)
}

// ForeseeMoveSQLite tells what a move of a data directory's store has to do. It changes nothing.
func ForeseeMoveSQLite(ctx context.Context, data, to string) (*MovePlan, error) {
	return foreseeMove(ctx, sqliteSource(ctx, data), to)
}

// AbandonMoveSQLite ends a move, and lets servers change the store of a data directory again. It reports whether there was one.
func AbandonMoveSQLite(ctx context.Context, data string) (bool, error) {
	return abandonMove(ctx, sqliteSource(ctx, data))
}

func sqliteSource(ctx context.Context, data string) moveSource {
	return func() (move.Source, error) { return move.OpenSQLite(ctx, data) }
}

func sqliteTarget(ctx context.Context, data string) moveTarget {
	return func() (move.Target, error) { return move.MakeSQLite(ctx, data) }
}
