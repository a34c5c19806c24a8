package store

import "github.com/spangrove/spangrove/pkg/store/internal/move"

// MoveOptions are those of a move.
type MoveOptions = move.Options

// MoveReport is what a move has done.
type MoveReport = move.Report

// MovePlan is what a move would have to do.
type MovePlan = move.Plan
