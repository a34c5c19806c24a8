package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

// path fills ids into a route's path.
func path(r httpapi.Route) string {
	q := url.Values{}
	for _, name := range []string{"id", "dataset_id", "run_id_1", "run_id_2", "annotator"} {
		if slices.Contains(r.Parameters, name) {
			q.Set(name, "x")
		}
	}
	if slices.Contains(r.Parameters, "session") {
		q.Set("session", "*")
	}
	return regexp.MustCompile(`\{\w+\}`).ReplaceAllString(strings.Replace(r.Path, "{field}", "inputs", 1), "33333333-3333-4333-8333-333333333333") + "?" + q.Encode()
}

// Every operation knows the parameters that openapi.yaml has, and no others.
func TestParametersAreDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type parameter struct {
		Ref  string `yaml:"$ref"`
		Name string
		In   string
	}
	var doc struct {
		Paths      map[string]map[string]yaml.Node
		Components struct{ Parameters map[string]parameter }
	}
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	for path, item := range doc.Paths {
		var shared []parameter
		if node, ok := item["parameters"]; ok {
			if err := node.Decode(&shared); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
		for method, node := range item {
			if node.Kind != yaml.MappingNode {
				continue
			}
			var op struct {
				OperationID string `yaml:"operationId"`
				Parameters  []parameter
			}
			if err := node.Decode(&op); err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			for _, p := range slices.Concat(shared, op.Parameters) {
				if p.Ref != "" {
					p = doc.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
				}
				name, _, _ := strings.Cut(p.Name, "[")
				if p.In == "query" && !slices.Contains(want[op.OperationID], name) {
					want[op.OperationID] = append(want[op.OperationID], name)
				}
			}
		}
	}
	got := map[string][]string{}
	for _, r := range httpapi.New(httpapi.Deps{Store: &fake{}}).Routes() {
		if r.Parameters != nil {
			got[r.Operation] = r.Parameters
		}
	}
	for _, names := range want {
		slices.Sort(names)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parameters (-openapi.yaml +parameters.go):\n%s", diff)
	}
}

// What HoneyHive's published clients (Python 0.2 and 1.7, npm 1.0) have in their query strings is accepted.
func TestParametersOfPublishedClients(t *testing.T) {
	t.Parallel()
	sent := map[string]string{
		"GET /configurations":                 "env name project tags",
		"GET /datapoints":                     "datapoint_ids dataset_name project",
		"GET /datasets":                       "dataset_id name project type",
		"DELETE /datasets":                    "dataset_id",
		"GET /events/schema":                  "dateRange evaluation_id",
		"GET /metrics":                        "id project_name type",
		"DELETE /metrics":                     "metric_id",
		"GET /projects":                       "name",
		"DELETE /projects":                    "name",
		"GET /queues":                         "enabled",
		"GET /runs":                           "dataset_id dateRange limit name page project run_ids sort_by sort_order status",
		"GET /runs/schema":                    "dateRange",
		"GET /runs/{id}/schema":               "dateRange",
		"GET /runs/{id}/metrics":              "dateRange filters",
		"GET /runs/{id}/summary":              "aggregate_function filters",
		"GET /runs/{id}/result":               "aggregate_function filters project_id",
		"GET /runs/{id}/compare/{old}":        "aggregate_function filters",
		"GET /runs/{id}/compare-with/{old}":   "aggregate_function filters project_id",
		"GET /runs/{id}/compare/{old}/events": "event_name event_type filter limit page",
		"GET /runs/compare/events":            "event_name event_type filter limit page run_id_1 run_id_2",
		"DELETE /tools":                       "function_id",
	}
	found := 0
	for _, r := range httpapi.New(httpapi.Deps{Store: &fake{}}).Routes() {
		names, ok := sent[r.Method+" "+strings.TrimPrefix(r.Path, "/v1")]
		if !ok {
			continue
		}
		found++
		for _, name := range strings.Fields(names) {
			params, err := wire.ParseParams(name + "=x")
			if err != nil {
				t.Fatal(err)
			}
			if err := params.Known(r.Parameters); err != nil {
				t.Errorf("%s: %v", r.Pattern(), err)
			}
		}
	}
	if found != 2*len(sent) {
		t.Errorf("%d of %d routes", found, 2*len(sent))
	}
}

// What a route has no parameter for is refused, with the nearest name.
func TestUnknownParametersAreRefused(t *testing.T) {
	t.Parallel()
	for _, r := range httpapi.New(httpapi.Deps{Store: &fake{}}).Routes() {
		w := httptest.NewRecorder()
		ctx := project.WithIdentity(t.Context(), project.Identity{Project: shop, Scope: project.ScopeAdmin})
		at := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(r.Path, "33333333-3333-4333-8333-333333333333")
		// There is no store: a handler that got past the check would panic.
		r.Handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, r.Method, at+"?project=p&nonsense=1", nil))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `unknown parameter \"nonsense\"`) {
			t.Errorf("%s: %d %s", r.Pattern(), w.Code, w.Body)
		}
	}
}

// valid is a body that has what any operation needs.
const valid = `{"event_id":"33333333-3333-4333-8333-333333333333","id":"x","name":"x","provider":"p","parameters":{"call_type":"chat","model":"m"},` +
	`"type":"LLM","metric":"duration","annotator":"a","scores":{"m":1},"tool_type":"tool","criteria":"c","message":"m","content":{"name":"x","type":"HUMAN","criteria":""},` +
	`"dataset_id":"x","data":[{}],"mapping":{},"events":["33333333-3333-4333-8333-333333333333"]}`

func TestEveryRouteChecksTheScope(t *testing.T) {
	t.Parallel()
	for _, r := range httpapi.New(httpapi.Deps{Store: &fake{}}).Routes() {
		for _, scope := range project.Scopes() {
			if scope.Allows(r.Scope) {
				continue
			}
			w := httptest.NewRecorder()
			ctx := project.WithIdentity(t.Context(), project.Identity{Project: shop, Scope: scope})
			// There is no store: a handler that got past the check would panic.
			r.Handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, r.Method, path(r), nil))
			if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), `"errorCode":"FORBIDDEN"`) {
				t.Errorf("%s with scope %s: %d %s", r.Pattern(), scope, w.Code, w.Body)
			}
		}
	}
}

func TestEveryRouteAsksInTheCallersProject(t *testing.T) {
	t.Parallel()
	for _, r := range httpapi.New(httpapi.Deps{Store: &fake{}}).Routes() {
		if r.Operation == "getOpenAPI" || r.Operation == "runMetric" || r.Operation == "listMetricLibrary" || r.Operation == "listAudit" || r.Operation == "listRefusals" || strings.HasPrefix(r.Operation, "getServer") || r.Operation == "listRetention" || r.Operation == "listUsage" || r.Operation == "getMe" || strings.Contains(r.Path, "/projects") {
			continue // these are not about the data of the caller's project
		}
		for _, who := range []int64{0, 99} { // 0: nobody was identified
			f := &fake{err: http.ErrAbortHandler} // any unknown error
			ctx := t.Context()
			want := shop.ID
			if who != 0 {
				want = who
				ctx = project.WithIdentity(ctx, project.Identity{Project: project.Project{ID: who}, Scope: project.ScopeAdmin})
			}
			w := httptest.NewRecorder()
			body := strings.NewReader(valid)
			switch r.Operation { // whose types are others
			case "createDataset", "searchEvents", "exportEvents", "searchOTLP", "searchSessions", "exportSessions":
				body = strings.NewReader(`{}`)
			case "deleteEvents":
				body = strings.NewReader(`{"expected_events":1}`)
			case "deleteSessions":
				body = strings.NewReader(`{"expected_events":1,"expected_sessions":1}`)
			case "listEventValues":
				body = strings.NewReader(`{"field":"event_name"}`)
			case "createChart", "updateChart":
				body = strings.NewReader(`{"name":"x","metric":"duration"}`)
			case "createDashboard", "updateDashboard":
				body = strings.NewReader(`{"name":"x"}`)
			case "queryCharts":
				body = strings.NewReader(`{"series":[{}]}`)
			case "createAlert", "updateAlert":
				body = strings.NewReader(`{"name":"x","metric":"duration"}`)
			case "createView", "updateView":
				body = strings.NewReader(`{"name":"x","page":"sessions"}`)
			case "createComment", "updateComment":
				body = strings.NewReader(`{"author":"a","text":"x"}`)
			case "previewEvents":
				body = strings.NewReader(`{"event_ids":["33333333-3333-4333-8333-333333333333"]}`)
			case "importDataset":
				body = strings.NewReader(`{"format":"csv","text":"a\n1\n","name":"x"}`)
			case "createDatasetFromSearch":
				body = strings.NewReader(`{"events":{},"name":"x"}`)
			case "compareManyRuns":
				body = strings.NewReader(`{"run_ids":["x"]}`)
			case "enableMetric":
				body = strings.NewReader(`{"from":"latency"}`)
			case "runPlayground":
				body = strings.NewReader(oneQuestion)
			}
			serve(f).ServeHTTP(w, httptest.NewRequestWithContext(ctx, r.Method, path(r), body))
			if w.Code != http.StatusInternalServerError || f.projectID != want {
				t.Errorf("%s: project %d, want %d; %d %s", r.Pattern(), f.projectID, want, w.Code, w.Body)
			}
		}
	}
}

func TestDialectFollowsThePrefix(t *testing.T) {
	t.Parallel()
	for _, r := range httpapi.New(httpapi.Deps{Store: &fake{}}).Routes() {
		if v1 := strings.HasPrefix(r.Path, "/v1/"); v1 != (r.Dialect == wire.V1) {
			t.Errorf("%s has the dialect %s", r.Pattern(), r.Dialect)
		}
	}
}

// patterns returns all routes of the API: ours, the receiver's, and the extension's own.
func patterns() []string {
	all := append(mount.WritePatterns(), "GET /healthcheck", "GET /v1/healthcheck", "POST /v1/login", "POST /v1/login/project", "POST /v1/logout")
	for _, r := range httpapi.New(httpapi.Deps{Store: &fake{}}).Routes() {
		all = append(all, r.Pattern())
	}
	slices.Sort(all)
	return all
}

func TestOpenAPIListsEveryRoute(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	var documented []string
	operations := map[string]string{}
	for at, item := range doc.Paths {
		paths := []string{at}
		if node, ok := item["x-aliases"]; ok {
			var aliases []string
			if err := node.Decode(&aliases); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, aliases...)
		}
		for method, node := range item {
			if method == "x-aliases" || method == "parameters" {
				continue
			}
			var op struct {
				OperationID string `yaml:"operationId"`
				Summary     string
				Responses   map[string]yaml.Node
			}
			if err := node.Decode(&op); err != nil {
				t.Fatalf("%s %s: %v", method, at, err)
			}
			if op.Summary == "" || op.Responses["200"].Kind == 0 && op.Responses["201"].Kind == 0 {
				t.Errorf("%s %s has no summary or no answer", method, at)
			}
			for _, p := range paths {
				pattern := strings.ToUpper(method) + " " + p
				documented = append(documented, pattern)
				operations[pattern] = op.OperationID
			}
		}
	}
	slices.Sort(documented)
	if diff := cmp.Diff(patterns(), documented); diff != "" {
		t.Errorf("openapi.yaml (-routes +documented)\n%s", diff)
	}
	for _, r := range httpapi.New(httpapi.Deps{Store: &fake{}}).Routes() {
		if operations[r.Pattern()] != r.Operation {
			t.Errorf("%s is %q in the table and %q in openapi.yaml", r.Pattern(), r.Operation, operations[r.Pattern()])
		}
	}
}

func TestOpenAPIReferencesLead(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(n any) {
		switch n := n.(type) {
		case map[string]any:
			if ref, ok := n["$ref"].(string); ok {
				at := doc
				for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
					m, _ := at.(map[string]any)
					at = m[step]
				}
				if at == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, v := range n {
				walk(v)
			}
		case []any:
			for _, v := range n {
				walk(v)
			}
		}
	}
	walk(doc)
}

func TestDocsListEveryRoute(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(cells[2], "`") {
			continue
		}
		for i, quoted := range strings.Split(cells[2], "`") {
			if i%2 == 1 {
				documented = append(documented, quoted)
			}
		}
	}
	slices.Sort(documented)
	if diff := cmp.Diff(patterns(), documented); diff != "" {
		t.Errorf("docs/api.md (-routes +documented)\n%s", diff)
	}
}

// Whatever deletes, whatever changes keys, providers, alerts, projects, limits and rules of retention, whatever deploys, and whatever asks a model for a person, has an entry in the audit log.
func TestChangesAreAudited(t *testing.T) {
	t.Parallel()
	managed := regexp.MustCompile(`^(/v1)?(/projects|/projects/\{id\}/(limits|retention|\w*api_keys)|/providers|/alerts)(/\{\w+\})?(/test)?$|^(/v1)?/playground/run$|^(/v1)?/configurations(/\{id\})?$|^(/v1)?/metrics(/\{id\}(/versions(/\{name\}/deploy)?)?|/library)?$|^(/v1)?/(events|sessions)/delete$|^(/v1)?/deletions/\{\w+\}/cancel$`)
	used := map[string]bool{audit.SignIn: true, audit.ProjectSwitch: true} // the check of keys records these
	for _, r := range httpapi.New(httpapi.Deps{Store: &fake{}}).Routes() {
		must := r.Method == http.MethodDelete || r.Method != http.MethodGet && managed.MatchString(r.Path)
		if must != (r.Audit != "") {
			t.Errorf("%s has the audit action %q", r.Pattern(), r.Audit)
		}
		if r.Audit != "" && !audit.IsAction(r.Audit) {
			t.Errorf("%s: the action %q is not listed", r.Pattern(), r.Audit)
		}
		used[r.Audit] = true
	}
	raw, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, documented, _ := strings.Cut(string(raw), "\n    AuditAction:\n      enum: [")
	documented, _, _ = strings.Cut(documented, "]")
	if got := strings.Join(strings.Fields(documented), " "); got != strings.Join(audit.Actions(), ", ") {
		t.Errorf("openapi.yaml has the actions %s", got)
	}
	for _, action := range audit.Actions() {
		if !used[action] {
			t.Errorf("no route has the action %q", action)
		}
	}
}
