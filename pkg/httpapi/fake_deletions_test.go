package httpapi_test

import (
	"context"

	"github.com/spangrove/spangrove/pkg/deletion"
	"github.com/spangrove/spangrove/pkg/query"
)

func (f *fake) CountEventDeletion(_ context.Context, projectID int64, _ query.Search) (deletion.Count, error) {
	return deletion.Count{}, f.asked(projectID)
}

func (f *fake) CountSessionDeletion(_ context.Context, projectID int64, _ query.SessionSearch) (deletion.Count, error) {
	return deletion.Count{}, f.asked(projectID)
}

func (f *fake) DeleteEvents(_ context.Context, projectID int64, _ query.Search, _ deletion.Count) (deletion.Deletion, <-chan struct{}, error) {
	return deletion.Deletion{}, f.done(), f.asked(projectID)
}

func (f *fake) DeleteSessions(_ context.Context, projectID int64, _ query.SessionSearch, _ deletion.Count) (deletion.Deletion, <-chan struct{}, error) {
	return deletion.Deletion{}, f.done(), f.asked(projectID)
}

func (f *fake) done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func (f *fake) FindDeletions(_ context.Context, projectID int64, _, _ int) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadDeletions(_ context.Context, projectID int64, _ []string) ([]deletion.Deletion, error) {
	return nil, f.asked(projectID)
}

func (f *fake) Deletion(_ context.Context, projectID int64, _ string) (deletion.Deletion, error) {
	return deletion.Deletion{}, f.asked(projectID)
}

func (f *fake) CancelDeletion(_ context.Context, projectID int64, _ string) (deletion.Deletion, error) {
	return deletion.Deletion{}, f.asked(projectID)
}
