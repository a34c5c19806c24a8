package httpapi_test

import (
	"context"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/query"
)

func (f *fake) FindEvaluations(_ context.Context, projectID int64, _ evaluation.Query) ([]evaluation.Evaluation, bool, error) {
	return nil, false, f.asked(projectID)
}

func (f *fake) RetryEvaluations(_ context.Context, projectID int64, _ evaluation.Query) (int64, error) {
	return 0, f.asked(projectID)
}

func (f *fake) LabelledScores(_ context.Context, projectID int64, _ query.LabelSearch) ([]evaluation.Labelled, bool, error) {
	return nil, false, f.asked(projectID)
}

func (f *fake) CountEvaluations(_ context.Context, projectID int64, _ string, _, _ *float64) (online, backfills evaluation.Counts, err error) {
	return online, backfills, f.asked(projectID)
}

func (f *fake) CreateBackfill(_ context.Context, projectID int64, b evaluation.Backfill) (evaluation.Backfill, error) {
	return b, f.asked(projectID)
}

func (f *fake) FindBackfills(_ context.Context, projectID int64, _ string, _, _ int) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadBackfills(_ context.Context, projectID int64, _ []string) ([]evaluation.Backfill, error) {
	return nil, f.asked(projectID)
}

func (f *fake) MoveBackfill(_ context.Context, projectID int64, _, _ string, _ evaluation.BackfillState) (evaluation.Backfill, error) {
	return evaluation.Backfill{}, f.asked(projectID)
}
