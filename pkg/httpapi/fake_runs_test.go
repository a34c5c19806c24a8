package httpapi_test

import (
	"context"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
)

func (f *fake) CreateRun(_ context.Context, projectID int64, _ run.Update) (run.Run, error) {
	return run.Run{}, f.asked(projectID)
}

func (f *fake) UpdateRun(_ context.Context, projectID int64, _ run.Update) (run.Run, error) {
	return run.Run{}, f.asked(projectID)
}

func (f *fake) Run(_ context.Context, projectID int64, _ string) (run.Run, error) {
	return run.Run{}, f.asked(projectID)
}

func (f *fake) DeleteRun(_ context.Context, projectID int64, _ string) error {
	return f.asked(projectID)
}

func (f *fake) FindRuns(_ context.Context, projectID int64, _ run.Query) ([]run.Run, int, int, error) {
	return nil, 0, 0, f.asked(projectID)
}

func (f *fake) RunScores(_ context.Context, projectID int64, _ *run.Run, _ query.Search) (*run.Scores, error) {
	return &run.Scores{}, f.asked(projectID)
}

func (f *fake) RunPairs(_ context.Context, projectID int64, _, _ *run.Run, _ run.PairQuery, _ []query.Filter) ([]run.Pair, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) MetricRules(_ context.Context, projectID int64) (map[string]run.Rule, error) {
	return nil, f.asked(projectID)
}

func (f *fake) FieldIndex(_ context.Context, projectID int64, _ query.Search) (*event.FieldIndex, error) {
	return &event.FieldIndex{}, f.asked(projectID)
}

func (f *fake) MetricNames(_ context.Context, projectID int64) ([]string, error) {
	return nil, f.asked(projectID)
}

func (f *fake) RunOutcomes(_ context.Context, projectID int64, _ *run.Run, _ query.Search) (*run.Outcomes, error) {
	return &run.Outcomes{}, f.asked(projectID)
}
