package httpapi_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/configuration"
	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/metric"
)

// documents store nothing, and keep the last entry of the audit log.
type documents struct {
	fake
	entry audit.Entry
}

func (d *documents) RecordAudit(_ context.Context, e audit.Entry) { d.entry = e }

func (d *documents) CreateConfiguration(context.Context, int64, configuration.Configuration) (string, error) {
	return "c1", nil
}

func (d *documents) UpdateConfiguration(_ context.Context, _ int64, u configuration.Update) (bool, error) {
	for _, env := range u.Env {
		if err := configuration.CheckEnvironment(env); err != nil {
			return false, fault.In("env", err)
		}
	}
	return true, nil
}

func (d *documents) CreateMetric(context.Context, int64, metric.Definition) (string, error) {
	return "m1", nil
}

func (d *documents) UpdateMetric(context.Context, int64, string, metric.Patch) (metric.Metric, error) {
	return metric.Metric{}, nil
}

func (d *documents) CreateMetricVersion(context.Context, int64, string, metric.Version, bool) (metric.Version, error) {
	return metric.Version{Number: 4}, nil
}

func (d *documents) DeployMetricVersion(context.Context, int64, string, string) (metric.Version, error) {
	return metric.Version{Number: 3}, nil
}

// What is created, changed and deployed has an entry that names it, with versions and environments but without content.
func TestAuditOfDeployments(t *testing.T) {
	t.Parallel()
	const human = `"name": "taste", "type": "HUMAN", "criteria": "secret", "return_type": "boolean"`
	for _, tt := range []struct{ pattern, path, body, want string }{
		{"POST /v1/configurations", "", `{"name": "a", "provider": "p", "type": "LLM", "parameters": {"call_type": "chat", "model": "m"}, "env": ["dev"]}`, "configuration.create c1/env=dev SUCCESS"},
		{"PUT /v1/configurations/{id}", "/v1/configurations/c1", `{"name": "secret"}`, "configuration.update c1 SUCCESS"},
		{"PUT /configurations/{id}", "/configurations/c1", `{"name": "a", "env": ["dev", "prod"], "env_versions": {"staging": 3, "prod": null}}`, "configuration.update c1/env=dev+prod,prod=current,staging=3 SUCCESS"},
		{"PUT /v1/configurations/{id}", "/v1/configurations/c1", `{"name": "a", "env": []}`, "configuration.update c1/env=none SUCCESS"},
		{"PUT /v1/configurations/{id}", "/v1/configurations/c1", `{"name": "a", "env": ["secret"]}`, "configuration.update c1 VALIDATION_ERROR"},
		{"POST /v1/metrics", "", `{` + human + `}`, "metric.create m1 SUCCESS"},
		{"PUT /v1/metrics", "", `{"id": "m2", "enabled_in_prod": true}`, "metric.update m2 SUCCESS"},
		{"PUT /v1/metrics/{id}", "/v1/metrics/m3", `{"name": "secret"}`, "metric.update m3 SUCCESS"},
		{"POST /v1/metrics/{id}/versions", "/v1/metrics/m3/versions", `{"message": "secret", "content": {` + human + `}, "deploy_immediately": true}`, "metric.create_version m3/v4 SUCCESS"},
		{"POST /v1/metrics/{id}/versions/{name}/deploy", "/v1/metrics/m3/versions/0123abcd/deploy", "", "metric.deploy m3/v3 SUCCESS"},
	} {
		d := &documents{}
		served := false
		for _, r := range httpapi.New(httpapi.Deps{Store: d, Evaluator: evaluate.Builtin()}).Routes() {
			if r.Pattern() != tt.pattern {
				continue
			}
			served = true
			method, path, _ := strings.Cut(tt.pattern, " ")
			if tt.path != "" {
				path = tt.path
			}
			request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(tt.body))
			wild, given := strings.Split(r.Path, "/"), strings.Split(path, "/")
			for i, part := range wild {
				if strings.HasPrefix(part, "{") {
					request.SetPathValue(strings.Trim(part, "{}"), given[i])
				}
			}
			w := httptest.NewRecorder()
			r.Handler.ServeHTTP(w, request)
			if got := d.entry.Action + " " + d.entry.Target + " " + d.entry.Outcome; got != tt.want {
				t.Errorf("%s: %q, want %q: %d %s", tt.pattern, got, tt.want, w.Code, w.Body)
			}
		}
		if !served {
			t.Errorf("there is no route %s", tt.pattern)
		}
	}
}
