package client_test

import (
	"fmt"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/spangrove/spangrove/e2e/inprocess"
	"github.com/spangrove/spangrove/pkg/client"
)

// methods name the method of each operation in openapi.yaml.
var methods = map[string]string{
	"startSession":     "Sessions.Start",
	"addSessionEvents": "Sessions.AddEvents",
	"getSession":       "Sessions.Get",
	"deleteSession":    "Sessions.Delete",
	"getSessionOTLP":   "OTLP.Session",
	"searchSessions":   "Sessions.Search",
	"getSessionTree":   "Sessions.Tree",
	"previewEvents":    "Events.Previews",
	"watchSessions":    "Sessions.Watch",

	"createEvent":           "Events.Create",
	"createModelEvent":      "Events.CreateModel",
	"createEventBatch":      "Events.CreateBatch",
	"createModelEventBatch": "Events.CreateModelBatch",
	"updateEventById":       "Events.Update",
	"getEvent":              "Events.Get",
	"deleteEvent":           "Events.Delete",
	"searchEvents":          "Events.Search",
	"exportEvents":          "Events.Export",
	"chartEvents":           "Events.Chart",
	"queryCharts":           "Events.Charts",
	"listEventValues":       "Events.Values",
	"getEventsSchema":       "Events.Schema",
	"getEventOTLP":          "OTLP.Event",
	"searchOTLP":            "OTLP.Search",
	"getEventField":         "Events.Field",

	"listDatasets":        "Datasets.List",
	"createDataset":       "Datasets.Create",
	"getDataset":          "Datasets.Get",
	"listDatasetVersions": "Datasets.Versions",
	"updateDatasetById":   "Datasets.Update",
	"deleteDatasetById":   "Datasets.Delete",
	"addDatapoints":       "Datasets.AddRows",
	"removeDatapoint":     "Datasets.Remove",

	"listDatasetRows":         "Datasets.Rows",
	"getDatasetSplits":        "Datasets.Splits",
	"getDatasetDiff":          "Datasets.Diff",
	"exportDataset":           "Datasets.Export",
	"importDataset":           "Datasets.Import",
	"createDatasetFromSearch": "Datasets.FromSearch",

	"listDatapoints":       "Datapoints.List",
	"createDatapoint":      "Datapoints.Create",
	"createDatapointBatch": "Datapoints.CreateFromEvents",
	"getDatapoint":         "Datapoints.Get",
	"updateDatapoint":      "Datapoints.Update",
	"deleteDatapoint":      "Datapoints.Delete",

	"listConfigurations":        "Configurations.List",
	"createConfiguration":       "Configurations.Create",
	"getConfiguration":          "Configurations.Get",
	"listConfigurationVersions": "Configurations.Versions",
	"updateConfiguration":       "Configurations.Update",
	"deleteConfiguration":       "Configurations.Delete",

	"listMetrics":         "Metrics.List",
	"createMetric":        "Metrics.Create",
	"updateMetricById":    "Metrics.Update",
	"deleteMetricById":    "Metrics.Delete",
	"runMetric":           "Metrics.Run",
	"listMetricLibrary":   "Metrics.Library",
	"enableMetric":        "Metrics.Enable",
	"listMetricVersions":  "Metrics.Versions",
	"createMetricVersion": "Metrics.CreateVersion",
	"getMetricAgreement":  "Metrics.Agreement",
	"getMetricCoverage":   "Metrics.Coverage",
	"deployMetricVersion": "Metrics.DeployVersion",

	"listEvaluations":  "Evaluations.List",
	"retryEvaluations": "Evaluations.Retry",

	"listBackfills":  "Backfills.List",
	"createBackfill": "Backfills.Create",
	"getBackfill":    "Backfills.Get",
	"pauseBackfill":  "Backfills.Pause",
	"resumeBackfill": "Backfills.Resume",
	"cancelBackfill": "Backfills.Cancel",

	"listTools":  "Tools.List",
	"createTool": "Tools.Create",
	"updateTool": "Tools.Update",
	"deleteTool": "Tools.Delete",

	"listRuns":         "Runs.List",
	"createRun":        "Runs.Create",
	"getRun":           "Runs.Get",
	"updateRun":        "Runs.Update",
	"deleteRun":        "Runs.Delete",
	"getRunResult":     "Runs.Result",
	"getRunMetrics":    "Runs.Scores",
	"compareRuns":      "Runs.Compare",
	"compareManyRuns":  "Runs.CompareMany",
	"compareRunEvents": "Runs.CompareEvents",
	"getRunsSchema":    "Runs.Schema",
	"getRunSchema":     "Runs.RunSchema",

	"listQueues":        "Queues.List",
	"createQueue":       "Queues.Create",
	"getQueue":          "Queues.Get",
	"updateQueue":       "Queues.Update",
	"deleteQueue":       "Queues.Delete",
	"listQueueItems":    "Queues.Items",
	"nextQueueItem":     "Queues.Next",
	"annotateQueueItem": "Queues.Annotate",
	"releaseQueueItem":  "Queues.Release",
	"getQueueAgreement": "Queues.Agreement",

	"claimQueueItem":      "Queues.Claim",
	"withdrawAnnotation":  "Queues.Withdraw",
	"settleQueueItem":     "Queues.Settle",
	"unsettleQueueItem":   "Queues.Unsettle",
	"listQueueAnnotators": "Queues.Annotators",

	"listProviders":  "Providers.List",
	"setProvider":    "Providers.Set",
	"deleteProvider": "Providers.Delete",
	"runPlayground":  "Playground.Run",

	"listCharts":     "Charts.List",
	"createChart":    "Charts.Create",
	"getChart":       "Charts.Get",
	"updateChart":    "Charts.Update",
	"deleteChart":    "Charts.Delete",
	"exportSessions": "Sessions.Export",
	"deleteEvents":   "Events.DeleteMatching",
	"deleteSessions": "Sessions.DeleteMatching",
	"listDeletions":  "Deletions.List",
	"getDeletion":    "Deletions.Get",
	"cancelDeletion": "Deletions.Cancel",

	"listDashboards":     "Dashboards.List",
	"createDashboard":    "Dashboards.Create",
	"getDashboard":       "Dashboards.Get",
	"updateDashboard":    "Dashboards.Update",
	"deleteDashboard":    "Dashboards.Delete",
	"listAlerts":         "Alerts.List",
	"createAlert":        "Alerts.Create",
	"getAlert":           "Alerts.Get",
	"updateAlert":        "Alerts.Update",
	"deleteAlert":        "Alerts.Delete",
	"testAlert":          "Alerts.Test",
	"listAlertHistory":   "Alerts.History",
	"listAlertNotices":   "Alerts.Notices",
	"listViews":          "Views.List",
	"createView":         "Views.Create",
	"getView":            "Views.Get",
	"updateView":         "Views.Update",
	"deleteView":         "Views.Delete",
	"listComments":       "Comments.List",
	"createComment":      "Comments.Create",
	"updateComment":      "Comments.Update",
	"deleteComment":      "Comments.Delete",
	"listProjectCharts":  "Charts.List", // after Charts.In, and so below
	"createProjectChart": "Charts.Create",
	"getProjectChart":    "Charts.Get",
	"updateProjectChart": "Charts.Update",
	"deleteProjectChart": "Charts.Delete",

	"listProjects":       "Projects.List",
	"createProject":      "Projects.Create",
	"updateProject":      "Projects.Update",
	"deleteProject":      "Projects.Delete",
	"getLimits":          "Projects.Limits",
	"setLimits":          "Projects.SetLimits",
	"getRetention":       "Projects.Retention",
	"setRetention":       "Projects.SetRetention",
	"previewRetention":   "Projects.PreviewRetention",
	"getUsage":           "Projects.Usage",
	"listUsage":          "Projects.ListUsage",
	"getIndex":           "Projects.Index",
	"rebuildIndex":       "Projects.RebuildIndex",
	"listKeys":           "Keys.List",
	"createDataPlaneKey": "Keys.Create",
	"createIngestionKey": "Keys.CreateIngestion",
	"revokeKey":          "Keys.Revoke",
	"listAudit":          "Audit.List",

	"otlpTraces":  "OTLP.SendSpans",
	"otlpLogs":    "OTLP.SendLogs",
	"otlpMetrics": "OTLP.SendMetrics",
	"healthcheck": "Ready",
	"getOpenAPI":  "OpenAPI",
	"getMe":       "Me",

	"listRefusals":       "Refusals",
	"getServerStatus":    "Status",
	"getServerDiagnosis": "Diagnosis",
	"getServerSpace":     "Space",
	"listRetention":      "Projects.ListRetention",

	"loadSamples":   "Sessions.LoadSamples",
	"deleteSamples": "Sessions.DeleteSamples",
}

// browsers are operations that set, change and take away a browser's cookie: programs send their key.
var browsers = map[string]bool{"login": true, "switchProject": true, "logout": true}

// doubles are operations that do what another does, for other clients' sake. They need no method
// of their own.
var doubles = map[string]string{
	"addSessionTraces":        "addSessionEvents",
	"listEvents":              "searchEvents",
	"updateEvent":             "updateEventById",
	"createEventBatchLenient": "createEventBatch",
	"updateDataset":           "updateDatasetById",
	"deleteDataset":           "deleteDatasetById",
	"updateMetric":            "updateMetricById",
	"deleteMetric":            "deleteMetricById",
	"compareRunEventsByPath":  "compareRunEvents",
}

// operation is one of openapi.yaml, with a pattern of method and path.
type operation struct {
	id      string
	pattern *regexp.Regexp
}

// operations reads openapi.yaml. Patterns with fewer parameters come first, as the server
// prefers them.
func operations(t *testing.T) []operation {
	t.Helper()
	text, err := os.ReadFile("../httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	type entry struct {
		operation
		parameters int
	}
	var all []entry
	for path, item := range doc.Paths {
		paths := []string{path}
		if node, ok := item["x-aliases"]; ok {
			var aliases []string
			if err := node.Decode(&aliases); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, aliases...)
		}
		for _, method := range []string{"get", "post", "put", "delete", "patch"} {
			node, ok := item[method]
			if !ok {
				continue
			}
			var op struct {
				ID string `yaml:"operationId"`
			}
			if err := node.Decode(&op); err != nil {
				t.Fatal(err)
			}
			for _, p := range paths {
				pattern := regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(p), `[^/]+`)
				all = append(all, entry{operation{op.ID, regexp.MustCompile("^" + strings.ToUpper(method) + " " + pattern + "$")}, strings.Count(p, "{")})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.parameters - b.parameters })
	var out []operation
	for _, e := range all {
		out = append(out, e.operation)
	}
	return out
}

// TestEveryOperationHasAMethod compares openapi.yaml with the client.
func TestEveryOperationHasAMethod(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	for _, op := range operations(t) {
		if there[op.id] {
			continue // under another path
		}
		there[op.id] = true
		if doubles[op.id] == "" && methods[op.id] == "" && !browsers[op.id] {
			t.Errorf("operation %s has no method in pkg/client: add one, name it in methods, and call it below TestOperations", op.id)
		}
	}
	for id, name := range methods {
		if !there[id] {
			t.Errorf("%s is for operation %s, which openapi.yaml does not have", name, id)
		}
		if !hasMethod(name) {
			t.Errorf("the client has no method %s", name)
		}
	}
	for id, same := range doubles {
		if !there[id] || methods[same] == "" {
			t.Errorf("%s is to be the same as %s: one of them is not there", id, same)
		}
	}
}

func hasMethod(name string) bool {
	at := reflect.TypeFor[*client.Client]()
	if service, method, ok := strings.Cut(name, "."); ok {
		field, ok := at.Elem().FieldByName(service)
		if !ok {
			return false
		}
		at, name = field.Type, method
	}
	_, ok := at.MethodByName(name)
	return ok
}

// watcher sends requests on and notes which operations succeeded.
type watcher struct {
	operations []operation
	mu         sync.Mutex
	succeeded  map[string]bool
}

func (w *watcher) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || res.StatusCode/100 != 2 {
		return res, err
	}
	for _, op := range w.operations {
		if op.pattern.MatchString(r.Method + " " + r.URL.Path) {
			w.mu.Lock()
			w.succeeded[op.id] = true
			w.mu.Unlock()
			return res, nil
		}
	}
	return nil, fmt.Errorf("%s %s is no operation of openapi.yaml", r.Method, r.URL.Path)
}

// TestOperations calls every method on a real server. That none is forgotten is read from the
// requests.
func TestOperations(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, url string) {
		w := &watcher{operations: operations(t), succeeded: map[string]bool{}}
		c := connect(t, url, client.WithHTTPClient(&http.Client{Transport: w}))
		for _, part := range []struct {
			name string
			run  func(*testing.T, *client.Client)
		}{
			{"service", useService}, {"sessions", useSessions}, {"events", useEvents}, {"datasets", useDatasets}, {"rows of datasets", useDatasetRows},
			{"datapoints", useDatapoints}, {"configurations", useConfigurations}, {"metrics", useMetrics}, {"evaluations", useEvaluations}, {"backfills", useBackfills}, {"tools", useTools},
			{"runs", useRuns}, {"charts", useCharts}, {"views", useViews}, {"comments", useComments}, {"dashboards", useDashboards}, {"export", useExport}, {"alerts", useAlerts}, {"providers", useProviders}, {"queues", useQueues}, {"deletions", useDeletions}, {"projects and keys", useProjects}, {"otlp", useOTLP},
		} {
			t.Run(part.name, func(t *testing.T) { part.run(t, c) })
		}
		for id := range methods {
			if !w.succeeded[id] && !t.Failed() {
				t.Errorf("no request was one of operation %s", id)
			}
		}
	})
}
