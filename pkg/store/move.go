package store

import (
	"context"
	"errors"

	"github.com/spangrove/spangrove/pkg/store/internal/move"
)

// MoveOptions are those of a move.
type MoveOptions = move.Options

// MoveReport is what a move has done.
type MoveReport = move.Report

// MovePlan is what a move would have to do.
type MovePlan = move.Plan

type (
	moveSource func() (move.Source, error)
	moveTarget func() (move.Target, error)
)

// runMove moves the store of a source into a target.
func runMove(ctx context.Context, from moveSource, to moveTarget, o MoveOptions) (*MoveReport, error) {
	return onSource(ctx, from, func(src move.Source) (_ *MoveReport, err error) {
		dst, err := to()
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, dst.Close(ctx)) }()
		return move.Run(ctx, src, dst, o)
	})
}

func foreseeMove(ctx context.Context, from moveSource, to string) (*MovePlan, error) {
	return onSource(ctx, from, func(src move.Source) (*MovePlan, error) { return move.Foresee(ctx, src, to) })
}

func abandonMove(ctx context.Context, from moveSource) (bool, error) {
	return onSource(ctx, from, func(src move.Source) (bool, error) { return move.Abandon(ctx, src) })
}

// onSource opens a source, does something, and closes it.
func onSource[T any](ctx context.Context, open moveSource, do func(move.Source) (T, error)) (result T, err error) {
	src, err := open()
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	return do(src)
}
