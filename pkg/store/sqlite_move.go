package store

import (
	"context"
	"errors"

	"github.com/spangrove/spangrove/pkg/store/internal/move"
)

// MoveSQLite copies the store of a data directory, which a server may write to meanwhile, into an empty PostgreSQL database or schema,
// compares both, makes the old store refuse changes, and the new one one that servers open. If it ends before that, it goes on when it is called again.
func MoveSQLite(ctx context.Context, data, dsn string, o MoveOptions) (_ *MoveReport, err error) {
	src, err := move.OpenSQLite(ctx, data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	dst, err := move.OpenPostgres(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dst.Close(ctx)) }()
	return move.Run(ctx, src, dst, o)
}

// AbandonMoveSQLite ends a move, and lets servers change the store of a data directory again.
func AbandonMoveSQLite(ctx context.Context, data string) (err error) {
	src, err := move.OpenSQLite(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	return move.Abandon(ctx, src)
}

// ForeseeMoveSQLite tells what a move of a data directory's store has to do. It changes nothing.
func ForeseeMoveSQLite(ctx context.Context, data, to string) (_ *MovePlan, err error) {
	src, err := move.OpenSQLite(ctx, data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	return move.Foresee(ctx, src, to)
}
