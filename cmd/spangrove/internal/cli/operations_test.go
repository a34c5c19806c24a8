package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// verbs name the command of each operation in openapi.yaml, or say after a colon why there is none.
var verbs = map[string]string{
	"startSession": "sessions start", "getSession": "sessions get", "deleteSession": "sessions delete",
	"searchSessions": "sessions search", "getSessionTree": ": for pages; sessions tree reads what the events say, too", "previewEvents": ": for pages",
	"watchSessions": "sessions watch",
	"getEventField": "events field", "getMe": "keys whoami", "login": ": for browsers", "switchProject": ": for browsers", "logout": ": for browsers",
	"getSessionOTLP": "events export", "addSessionTraces": "events import", "addSessionEvents": "events batch",

	"createEvent": "events create", "createModelEvent": "events create", "getEvent": "events get", "updateEventById": "events update", "deleteEvent": "events delete",
	"createEventBatch": "events batch", "createEventBatchLenient": "events import", "createModelEventBatch": "events batch",
	"searchEvents": "events search", "listEvents": "events list", "exportEvents": "events export", "searchOTLP": "events export", "getEventOTLP": "events export",
	"getEventsSchema": "events schema", "chartEvents": "events chart", "queryCharts": "events charts", "listEventValues": "events values", "updateEvent": "events update",
	"otlpTraces": "events import", "otlpLogs": ": instrumentations send them", "otlpMetrics": ": instrumentations send them",

	"listConfigurations": "configurations list", "createConfiguration": "configurations create", "getConfiguration": "configurations get",
	"updateConfiguration": "configurations update", "deleteConfiguration": "configurations delete", "listConfigurationVersions": "configurations versions",

	"listDatasets": "datasets list", "createDataset": "datasets create", "getDataset": "datasets get", "updateDataset": "datasets update", "updateDatasetById": "datasets update",
	"deleteDataset": "datasets delete", "deleteDatasetById": "datasets delete", "listDatasetVersions": "datasets versions", "addDatapoints": "datasets add", "removeDatapoint": "datasets remove",
	"listDatasetRows": "datasets rows", "getDatasetSplits": "datasets splits", "getDatasetDiff": "datasets diff", "exportDataset": "datasets export",
	"importDataset": "datasets import", "createDatasetFromSearch": "datasets from-search",
	"listDatapoints": "datapoints list", "createDatapoint": "datapoints create", "createDatapointBatch": "datapoints from-events", "getDatapoint": "datapoints get",
	"updateDatapoint": "datapoints update", "deleteDatapoint": "datapoints delete",

	"listMetrics": "metrics list", "createMetric": "metrics create", "updateMetric": "metrics update", "deleteMetric": "metrics delete",
	"updateMetricById": "metrics update", "deleteMetricById": "metrics delete", "runMetric": "metrics run", "listMetricLibrary": "metrics library", "enableMetric": "metrics enable",
	"listMetricVersions": "metrics versions", "createMetricVersion": "metrics draft", "deployMetricVersion": "metrics deploy",
	"getMetricAgreement": "metrics agreement", "getMetricCoverage": "metrics coverage",
	"runPlayground": "playground run",
	"listBackfills": "backfills list", "createBackfill": "backfills start", "getBackfill": "backfills get",
	"pauseBackfill": "backfills pause", "resumeBackfill": "backfills resume", "cancelBackfill": "backfills cancel",
	"listEvaluations": "evaluations list", "retryEvaluations": "evaluations retry",
	"listProviders": "providers list", "setProvider": "providers set", "deleteProvider": "providers delete",
	"listTools": "tools list", "createTool": "tools create", "updateTool": "tools update", "deleteTool": "tools delete",

	"listRuns": "runs list", "createRun": "runs create", "getRun": "runs get", "updateRun": "runs update", "deleteRun": "runs delete", "getRunResult": "runs result",
	"getRunMetrics": "runs metrics", "compareRuns": "eval", "compareManyRuns": "runs compare", "compareRunEvents": "runs pairs", "compareRunEventsByPath": "runs pairs",
	"getRunsSchema": "runs schema", "getRunSchema": "runs schema",

	"listCharts": "charts list", "createChart": "charts create", "getChart": "charts get", "updateChart": "charts update", "deleteChart": "charts delete",
	"exportSessions": "sessions export", "deleteEvents": "events delete-matching", "deleteSessions": "sessions delete-matching", "listDeletions": "deletions list", "getDeletion": "deletions get", "cancelDeletion": "deletions cancel",
	"listDashboards": "dashboards list", "createDashboard": "dashboards create", "getDashboard": "dashboards get", "updateDashboard": "dashboards update", "deleteDashboard": "dashboards delete",
	"listAlerts": "alerts list", "createAlert": "alerts create", "getAlert": "alerts get", "updateAlert": "alerts update", "deleteAlert": "alerts delete",
	"testAlert": "alerts test", "listAlertHistory": "alerts history", "listAlertNotices": "alerts notices",
	"listViews": "views list", "createView": "views create", "getView": "views get", "updateView": "views update", "deleteView": "views delete",
	"listComments": "comments list", "createComment": "comments create", "updateComment": "comments update", "deleteComment": "comments delete",
	"listProjectCharts": "charts list", "createProjectChart": "charts create", "getProjectChart": "charts get", "updateProjectChart": "charts update", "deleteProjectChart": "charts delete",
	"listQueues": "queues list", "createQueue": "queues create", "getQueue": "queues get", "updateQueue": "queues update", "deleteQueue": "queues delete",
	"listQueueItems": "queues items", "nextQueueItem": "queues next", "annotateQueueItem": "queues annotate", "releaseQueueItem": "queues release", "getQueueAgreement": "queues agreement",
	"claimQueueItem": "queues claim", "withdrawAnnotation": "queues withdraw", "settleQueueItem": "queues settle", "unsettleQueueItem": "queues unsettle", "listQueueAnnotators": "queues annotators",

	"listProjects": "projects list", "createProject": "projects create", "updateProject": "projects update", "deleteProject": "projects delete",
	"getLimits": "projects limits", "setLimits": "projects set-limits",
	"getRetention": "projects retention", "setRetention": "projects set-retention",
	"previewRetention": "projects preview-retention", "getUsage": "usage", "listUsage": "usage",
	"getIndex": "index status", "rebuildIndex": "index rebuild",
	"createIngestionKey": "keys create", "createDataPlaneKey": "keys create", "listKeys": "keys list", "revokeKey": "keys revoke", "listAudit": "audit list", "listRefusals": "refusals list",
	"getServerStatus": "status", "getServerDiagnosis": "status", "getServerSpace": "status", "listRetention": "status",
	"loadSamples": "samples load", "deleteSamples": "samples delete",
	"getOpenAPI": ": for programs that are written", "healthcheck": ": for who runs the server",
}

// TestEveryOperationHasAVerb compares openapi.yaml with the commands.
func TestEveryOperationHasAVerb(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../pkg/httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			ID string `yaml:"operationId"`
		}
	}
	// Beside operations, a path has lists.
	if err := yaml.Unmarshal(text, &doc); err != nil && !strings.Contains(err.Error(), "cannot unmarshal !!seq") {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, item := range doc.Paths {
		for _, operation := range item {
			if operation.ID != "" {
				there[operation.ID] = true
			}
		}
	}
	root := &cobra.Command{Use: "spangrove"}
	Add(root, nil)
	for id := range there {
		if verbs[id] == "" {
			t.Errorf("operation %s has no verb: add one, and name it in verbs", id)
		}
	}
	for id, verb := range verbs {
		if !there[id] {
			t.Errorf("%s is for operation %s, which openapi.yaml does not have", verb, id)
		}
		if strings.HasPrefix(verb, ":") {
			continue
		}
		words := strings.Fields(verb)
		if cmd, rest, err := root.Find(words); err != nil || len(rest) > 0 || !slices.Equal(strings.Fields(cmd.CommandPath())[1:], words) {
			t.Errorf("there is no command %q for operation %s", verb, id)
		}
	}
}
