package httpapi_test

import (
	"context"

	"github.com/spangrove/spangrove/pkg/metric"
)

func (f *fake) CreateMetric(_ context.Context, projectID int64, _ metric.Definition) (string, error) {
	return "", f.asked(projectID)
}

func (f *fake) EnableMetric(_ context.Context, projectID int64, _ metric.Definition) (string, bool, error) {
	return "", false, f.asked(projectID)
}

func (f *fake) FindMetrics(_ context.Context, projectID int64, _ metric.Query) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadMetrics(_ context.Context, projectID int64, _ []string) ([]metric.Metric, error) {
	return nil, f.asked(projectID)
}

func (f *fake) UpdateMetric(_ context.Context, projectID int64, _ string, _ metric.Patch) (metric.Metric, error) {
	return metric.Metric{}, f.asked(projectID)
}

func (f *fake) DeleteMetric(_ context.Context, projectID int64, _ string) error {
	return f.asked(projectID)
}

func (f *fake) FindMetricVersions(_ context.Context, projectID int64, _ string, _, _ int) ([]string, int, error) {
	return nil, 0, f.asked(projectID)
}

func (f *fake) LoadMetricVersions(_ context.Context, projectID int64, _ string, _ []string) ([]metric.Version, error) {
	return nil, f.asked(projectID)
}

func (f *fake) CreateMetricVersion(_ context.Context, projectID int64, _ string, _ metric.Version, _ bool) (metric.Version, error) {
	return metric.Version{}, f.asked(projectID)
}

func (f *fake) DeployMetricVersion(_ context.Context, projectID int64, _, _ string) (metric.Version, error) {
	return metric.Version{}, f.asked(projectID)
}
