package httpapi_test

import (
	"context"

	"github.com/spangrove/spangrove/pkg/evaluation"
)

func (f *fake) FindEvaluations(_ context.Context, projectID int64, _ evaluation.Query) ([]evaluation.Evaluation, bool, error) {
	return nil, false, f.asked(projectID)
}

func (f *fake) RetryEvaluations(_ context.Context, projectID int64, _ evaluation.Query) (int64, error) {
	return 0, f.asked(projectID)
}
