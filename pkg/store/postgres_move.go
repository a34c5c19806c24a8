package store

import (
	"context"
	"errors"

	"github.com/spangrove/spangrove/pkg/store/internal/move"
)

// MovePostgres moves the store of a database into another one, as MoveSQLite does.
func MovePostgres(ctx context.Context, dsn, to string, o MoveOptions) (*MoveReport, error) {
	return movePostgres(ctx, dsn, func() (move.Target, error) { return move.OpenPostgres(ctx, to) }, o)
}

// MovePostgresToSQLite moves the store of a database into a data directory, which must have none.
func MovePostgresToSQLite(ctx context.Context, dsn, data string, o MoveOptions) (*MoveReport, error) {
	return movePostgres(ctx, dsn, func() (move.Target, error) { return move.MakeSQLite(ctx, data) }, o)
}

func movePostgres(ctx context.Context, dsn string, open func() (move.Target, error), o MoveOptions) (_ *MoveReport, err error) {
	src, err := move.OpenPostgres(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	dst, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dst.Close(ctx)) }()
	return move.Run(ctx, src, dst, o)
}

// AbandonMovePostgres ends a move, and lets servers change the store of a database again.
func AbandonMovePostgres(ctx context.Context, dsn string) (err error) {
	src, err := move.OpenPostgres(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	return move.Abandon(ctx, src)
}

// ForeseeMovePostgres tells what a move of a database's store has to do. It changes nothing.
func ForeseeMovePostgres(ctx context.Context, dsn, to string) (_ *MovePlan, err error) {
	src, err := move.OpenPostgres(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	return move.Foresee(ctx, src, to)
}
