package httpapi_test

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/comment"
	"github.com/spangrove/spangrove/pkg/configuration"
	"github.com/spangrove/spangrove/pkg/dashboard"
	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/playground"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/tool"
	"github.com/spangrove/spangrove/pkg/view"
)

// The resources of a fake remember whose they were asked for, and fail with its error.

func (f *fake) asked(projectID int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.projectID = projectID
	return f.err
}

func (f *fake) CreateTool(_ context.Context, projectID int64, _ tool.Tool) (string, error) {
	return "", f.asked(projectID)
}

func (f *fake) FindTools(_ context.Context, projectID int64, _, _ int) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadTools(_ context.Context, projectID int64, _ []string) ([]tool.Tool, error) {
	return nil, f.asked(projectID)
}

func (f *fake) UpdateTool(_ context.Context, projectID int64, _ tool.Update) (tool.Tool, error) {
	return tool.Tool{}, f.asked(projectID)
}

func (f *fake) DeleteTool(_ context.Context, projectID int64, _ string) error {
	return f.asked(projectID)
}

func (f *fake) CreateChart(_ context.Context, projectID int64, c chart.Chart) (chart.Chart, error) {
	return c, f.asked(projectID)
}

func (f *fake) FindCharts(_ context.Context, projectID int64, _, _ int) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadCharts(_ context.Context, projectID int64, _ []string) ([]chart.Chart, error) {
	return nil, f.asked(projectID)
}

func (f *fake) SavedChart(_ context.Context, projectID int64, _ string) (chart.Chart, error) {
	return chart.Chart{}, f.asked(projectID)
}

func (f *fake) UpdateChart(_ context.Context, projectID int64, _ chart.Update) (chart.Chart, error) {
	return chart.Chart{}, f.asked(projectID)
}

func (f *fake) DeleteChart(_ context.Context, projectID int64, _ string) error {
	return f.asked(projectID)
}

func (f *fake) CreateComment(_ context.Context, projectID int64, c comment.Comment) (comment.Comment, error) {
	return c, f.asked(projectID)
}

func (f *fake) FindComments(_ context.Context, projectID int64, _ uuid.UUID, _, _ int) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadComments(_ context.Context, projectID int64, _ []string) ([]comment.Comment, error) {
	return nil, f.asked(projectID)
}

func (f *fake) CountComments(_ context.Context, projectID int64, _ []uuid.UUID) (map[uuid.UUID]int, error) {
	return nil, f.asked(projectID)
}

func (f *fake) UpdateComment(_ context.Context, projectID int64, _ uuid.UUID, _, _ string) (comment.Comment, error) {
	return comment.Comment{}, f.asked(projectID)
}

func (f *fake) DeleteComment(_ context.Context, projectID int64, _ uuid.UUID, _ string) error {
	return f.asked(projectID)
}

func (f *fake) CreateView(_ context.Context, projectID int64, v view.View) (view.View, error) {
	return v, f.asked(projectID)
}

func (f *fake) FindViews(_ context.Context, projectID int64, _, _ int) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadViews(_ context.Context, projectID int64, _ []string) ([]view.View, error) {
	return nil, f.asked(projectID)
}

func (f *fake) View(_ context.Context, projectID int64, _ string) (view.View, error) {
	return view.View{}, f.asked(projectID)
}

func (f *fake) UpdateView(_ context.Context, projectID int64, _ view.Update) (view.View, error) {
	return view.View{}, f.asked(projectID)
}

func (f *fake) DeleteView(_ context.Context, projectID int64, _ string) error {
	return f.asked(projectID)
}

func (f *fake) CreateDashboard(_ context.Context, projectID int64, v dashboard.Dashboard) (dashboard.Dashboard, error) {
	return v, f.asked(projectID)
}

func (f *fake) FindDashboards(_ context.Context, projectID int64, _, _ int) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadDashboards(_ context.Context, projectID int64, _ []string) ([]dashboard.Dashboard, error) {
	return nil, f.asked(projectID)
}

func (f *fake) Dashboard(_ context.Context, projectID int64, _ string) (dashboard.Dashboard, error) {
	return dashboard.Dashboard{}, f.asked(projectID)
}

func (f *fake) UpdateDashboard(_ context.Context, projectID int64, _ dashboard.Update) (dashboard.Dashboard, error) {
	return dashboard.Dashboard{}, f.asked(projectID)
}

func (f *fake) DeleteDashboard(_ context.Context, projectID int64, _ string) error {
	return f.asked(projectID)
}

func (f *fake) CreateConfiguration(_ context.Context, projectID int64, _ configuration.Configuration) (string, error) {
	return "", f.asked(projectID)
}

func (f *fake) FindConfigurations(_ context.Context, projectID int64, _ configuration.Query) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadConfigurations(_ context.Context, projectID int64, _, _ []string) ([]configuration.Configuration, error) {
	return nil, f.asked(projectID)
}

func (f *fake) UpdateConfiguration(_ context.Context, projectID int64, _ configuration.Update) (bool, error) {
	return false, f.asked(projectID)
}

func (f *fake) DeleteConfiguration(_ context.Context, projectID int64, _ string) error {
	return f.asked(projectID)
}

func (f *fake) Configuration(_ context.Context, projectID int64, _ string, _ int64) (configuration.Configuration, error) {
	return configuration.Configuration{}, f.asked(projectID)
}

func (f *fake) ConfigurationVersions(_ context.Context, projectID int64, _ string, _, _ int) ([]configuration.Configuration, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) CreateDataset(_ context.Context, projectID int64, _ dataset.Dataset, _ []string) (string, error) {
	return "", f.asked(projectID)
}

func (f *fake) CreateDatasetOf(_ context.Context, projectID int64, _ dataset.Dataset, _ []dataset.Datapoint) (string, []string, error) {
	return "", nil, f.asked(projectID)
}

func (f *fake) CountDatapoints(_ context.Context, projectID int64, _ string, _ int64) (int, error) {
	return 0, f.asked(projectID)
}

func (f *fake) DiffDataset(_ context.Context, projectID int64, _ string, _ dataset.DiffQuery) (dataset.Diff, error) {
	return dataset.Diff{}, f.asked(projectID)
}

func (f *fake) FindDatasets(_ context.Context, projectID int64, _ dataset.Query) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) UpdateDataset(_ context.Context, projectID int64, _ dataset.Update) (dataset.Dataset, error) {
	return dataset.Dataset{}, f.asked(projectID)
}

func (f *fake) RemoveRow(_ context.Context, projectID int64, _, _ string) error {
	return f.asked(projectID)
}

func (f *fake) DeleteDataset(_ context.Context, projectID int64, _ string) error {
	return f.asked(projectID)
}

func (f *fake) Dataset(_ context.Context, projectID int64, _ string, _ int64) (dataset.Dataset, error) {
	return dataset.Dataset{}, f.asked(projectID)
}

func (f *fake) DatapointIDs(_ context.Context, projectID int64, _ string, _ int64) ([]string, error) {
	return nil, f.asked(projectID)
}

func (f *fake) DatapointsIn(_ context.Context, projectID int64, _ string, _, _ int64, _ int) ([]dataset.Datapoint, int64, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) DatasetVersions(_ context.Context, projectID int64, _ string, _, _ int) ([]dataset.Dataset, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) CreateDatapoints(_ context.Context, projectID int64, _ []dataset.Datapoint) ([]string, error) {
	return nil, f.asked(projectID)
}

func (f *fake) FindDatapoints(_ context.Context, projectID int64, _ dataset.PointQuery) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadDatapoints(_ context.Context, projectID int64, _ []string) ([]dataset.Datapoint, error) {
	return nil, f.asked(projectID)
}

func (f *fake) UpdateDatapoint(_ context.Context, projectID int64, _ dataset.PointUpdate) (bool, error) {
	return false, f.asked(projectID)
}

func (f *fake) DeleteDatapoint(_ context.Context, projectID int64, _ string) error {
	return f.asked(projectID)
}

func (f *fake) Chat(_ context.Context, projectID int64, _ *playground.Request, _ func(playground.Event) error) error {
	return f.asked(projectID)
}

func (f *fake) Providers(_ context.Context, projectID int64) ([]provider.Provider, error) {
	return nil, f.asked(projectID)
}

func (f *fake) SetProvider(_ context.Context, projectID int64, _ provider.Update) (provider.Provider, error) {
	return provider.Provider{}, f.asked(projectID)
}

func (f *fake) DeleteProvider(_ context.Context, projectID int64, _ string) error {
	return f.asked(projectID)
}

func (f *fake) CreateAlert(_ context.Context, projectID int64, _ alert.Update) (alert.Alert, error) {
	return alert.Alert{}, f.asked(projectID)
}

func (f *fake) UpdateAlert(_ context.Context, projectID int64, _ string, _ alert.Update) (alert.Alert, error) {
	return alert.Alert{}, f.asked(projectID)
}

func (f *fake) TestAlert(_ context.Context, projectID int64, _ string) (alert.Reading, []alert.Notice, error) {
	return alert.Reading{}, nil, f.asked(projectID)
}

func (f *fake) FindAlerts(_ context.Context, projectID int64, _, _ int) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadAlerts(_ context.Context, projectID int64, _ []string) ([]alert.Alert, error) {
	return nil, f.asked(projectID)
}

func (f *fake) Alert(_ context.Context, projectID int64, _ string) (alert.Alert, error) {
	return alert.Alert{}, f.asked(projectID)
}

func (f *fake) DeleteAlert(_ context.Context, projectID int64, _ string) error {
	return f.asked(projectID)
}

func (f *fake) AlertChanges(_ context.Context, projectID int64, _ string, _, _ int) ([]alert.Change, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) AlertNotices(_ context.Context, projectID int64, _ string, _, _ int) ([]alert.Notice, int, error) {
	return nil, 0, f.asked(projectID)
}
