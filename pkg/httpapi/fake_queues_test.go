package httpapi_test

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/queue"
)

func (f *fake) CreateQueue(_ context.Context, projectID int64, _ queue.Queue, _ []uuid.UUID) (queue.Queue, error) {
	return queue.Queue{}, f.asked(projectID)
}

func (f *fake) FindQueues(_ context.Context, projectID int64, _ *bool, _, _ int) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadQueues(_ context.Context, projectID int64, _ []string) ([]queue.Queue, error) {
	return nil, f.asked(projectID)
}

func (f *fake) Queue(_ context.Context, projectID int64, _ string) (queue.Queue, error) {
	return queue.Queue{}, f.asked(projectID)
}

func (f *fake) UpdateQueue(_ context.Context, projectID int64, _ string, _ queue.Update, _, _ []uuid.UUID) (queue.Queue, error) {
	return queue.Queue{}, f.asked(projectID)
}

func (f *fake) DeleteQueue(_ context.Context, projectID int64, _ string) error {
	return f.asked(projectID)
}

func (f *fake) QueueAgreement(_ context.Context, projectID int64, _ string) ([]queue.Agreement, error) {
	return nil, f.asked(projectID)
}

func (f *fake) FillQueue(_ context.Context, p project.Project, _ string) (int, bool, error) {
	return 0, false, f.asked(p.ID)
}

func (f *fake) FindQueueItems(_ context.Context, projectID int64, _ string, _ queue.State, _, _ int) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadQueueItems(_ context.Context, projectID int64, _ string, _ []string) ([]queue.Item, error) {
	return nil, f.asked(projectID)
}

func (f *fake) ClaimItem(_ context.Context, projectID int64, _, _ string) (queue.Item, bool, error) {
	return queue.Item{}, false, f.asked(projectID)
}

func (f *fake) ReleaseItem(_ context.Context, projectID int64, _ string, _ uuid.UUID, _ string, _ bool) (queue.Item, error) {
	return queue.Item{}, f.asked(projectID)
}

func (f *fake) AnnotateItem(_ context.Context, projectID int64, _ string, _ uuid.UUID, _ queue.Annotation) (queue.Item, error) {
	return queue.Item{}, f.asked(projectID)
}

func (f *fake) OpenItem(_ context.Context, projectID int64, _ string, _ uuid.UUID, _ string) (queue.Item, *queue.Annotation, error) {
	return queue.Item{}, nil, f.asked(projectID)
}

func (f *fake) WithdrawAnnotation(_ context.Context, projectID int64, _ string, _ uuid.UUID, _ string) (queue.Item, error) {
	return queue.Item{}, f.asked(projectID)
}

func (f *fake) SettleItem(_ context.Context, projectID int64, _ string, _ uuid.UUID, _ queue.Settlement) (queue.Item, error) {
	return queue.Item{}, f.asked(projectID)
}

func (f *fake) UnsettleItem(_ context.Context, projectID int64, _ string, _ uuid.UUID) (queue.Item, error) {
	return queue.Item{}, f.asked(projectID)
}

func (f *fake) FindDifferences(_ context.Context, projectID int64, _ string, _ queue.Differences, _, _ int) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) FindAnnotators(_ context.Context, projectID int64, _ string, _, _ int) ([]queue.AnnotatorCounts, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) QueueProgress(_ context.Context, projectID int64, _, _ string) (queue.Progress, error) {
	return queue.Progress{}, f.asked(projectID)
}
