package store

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/deletion"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/run"
)

// heavyReads are the methods that wait for a place among the heavy reads of their project: what they look
// at grows with what the project has stored.
var heavyReads = map[string]func(context.Context, *Store, int64) error{
	"Search": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.Search(ctx, p, query.Search{Limit: 1, Page: 1})
		return err
	},
	"Chart": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.Chart(ctx, p, &query.Chart{Bucket: query.Hour, Zone: time.UTC, Aggregation: query.Count})
		return err
	},
	"Charts": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.Charts(ctx, p, &query.ChartSet{Bucket: query.Hour, Zone: time.UTC, Series: []*query.Chart{{Aggregation: query.Count}}})
		return err
	},
	"Values": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.Values(ctx, p, &query.ValueQuery{})
		return err
	},
	"SearchSessions": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.SearchSessions(ctx, p, query.SessionSearch{Sort: query.SortStart, Limit: 1})
		return err
	},
	"Session": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.Session(ctx, p, uuid.New())
		return err
	},
	"RunScores": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.RunScores(ctx, p, &run.Run{}, query.Search{})
		return err
	},
	"RunOutcomes": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.RunOutcomes(ctx, p, &run.Run{}, query.Search{})
		return err
	},
	"RunPairs": func(ctx context.Context, s *Store, p int64) error {
		_, _, err := s.RunPairs(ctx, p, &run.Run{}, &run.Run{}, run.PairQuery{}, nil)
		return err
	},
	"Usage":      func(ctx context.Context, s *Store, p int64) error { _, err := s.Usage(ctx, p); return err },
	"IndexState": func(ctx context.Context, s *Store, p int64) error { _, err := s.IndexState(ctx, p); return err },
	"PreviewRetention": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.PreviewRetention(ctx, p, project.RetentionRule{EventDays: 1})
		return err
	},
	"CountEventDeletion": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.CountEventDeletion(ctx, p, query.Search{})
		return err
	},
	"CountSessionDeletion": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.CountSessionDeletion(ctx, p, query.SessionSearch{})
		return err
	},
	"DeleteEvents": func(ctx context.Context, s *Store, p int64) error {
		_, _, err := s.DeleteEvents(ctx, p, query.Search{}, deletion.Count{})
		return err
	},
	"DeleteSessions": func(ctx context.Context, s *Store, p int64) error {
		_, _, err := s.DeleteSessions(ctx, p, query.SessionSearch{}, deletion.Count{})
		return err
	},
	"FindRuns": func(ctx context.Context, s *Store, p int64) error {
		_, _, _, err := s.FindRuns(ctx, p, run.Query{Limit: 1, Page: 1})
		return err
	},
	"FieldIndex": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.FieldIndex(ctx, p, query.Search{})
		return err
	},
	"MetricNames": func(ctx context.Context, s *Store, p int64) error { _, err := s.MetricNames(ctx, p); return err },
	"Copies": func(ctx context.Context, s *Store, p int64) error {
		_, _, err := s.Copies(ctx, p, uuid.New(), 1)
		return err
	},
	"FindDatapoints": func(ctx context.Context, s *Store, p int64) error {
		_, _, err := s.FindDatapoints(ctx, p, dataset.PointQuery{Limit: 1, Page: 1})
		return err
	},
	"CountDatapoints": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.CountDatapoints(ctx, p, "x", 1)
		return err
	},
	"DiffDataset": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.DiffDataset(ctx, p, "x", dataset.DiffQuery{From: 1, To: 2, Limit: 1})
		return err
	},
	"DatapointIDs": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.DatapointIDs(ctx, p, "x", 1)
		return err
	},
	"FindEvaluations": func(ctx context.Context, s *Store, p int64) error {
		_, _, err := s.FindEvaluations(ctx, p, evaluation.Query{Limit: 1})
		return err
	},
	"LabelledScores": func(ctx context.Context, s *Store, p int64) error {
		_, _, err := s.LabelledScores(ctx, p, query.LabelSearch{Search: query.Search{Limit: 1}, Label: []string{"feedback", "x"}})
		return err
	},
	"CountEvaluations": func(ctx context.Context, s *Store, p int64) error {
		_, _, err := s.CountEvaluations(ctx, p, "x", nil, nil)
		return err
	},
	"EvaluationBacklog": func(ctx context.Context, s *Store, p int64) error { _, err := s.EvaluationBacklog(ctx, p); return err },
	"FindQueueItems": func(ctx context.Context, s *Store, p int64) error {
		_, _, err := s.FindQueueItems(ctx, p, "x", queue.State(""), 1, 1)
		return err
	},
	"FindDifferences": func(ctx context.Context, s *Store, p int64) error {
		_, _, err := s.FindDifferences(ctx, p, "x", queue.Unsettled, 1, 1)
		return err
	},
	"FindAnnotators": func(ctx context.Context, s *Store, p int64) error {
		_, _, err := s.FindAnnotators(ctx, p, "x", 1, 1)
		return err
	},
	"QueueAgreement": func(ctx context.Context, s *Store, p int64) error {
		_, err := s.QueueAgreement(ctx, p, "x")
		return err
	},
}

// otherMethods are all other methods, by why they do not wait. Each of their reading statements is
// bounded in time nevertheless.
var otherMethods = map[string][]string{
	"reads as many as were asked for, by id or in order": {
		"DatapointsIn",
		"Event", "EventsByID", "ReadSession", "Run", "Configuration", "Dataset", "Queue", "SavedChart", "View", "FindComments", "CountComments", "QueueProgress",
		"Dashboard", "Alert", "Deletion",
		"LoadDatapoints", "LoadConfigurations", "LoadMetrics", "LoadMetricVersions", "LoadBackfills",
		"LoadCharts", "LoadQueues", "LoadQueueItems", "LoadTools", "LoadViews", "LoadComments", "LoadDashboards", "LoadAlerts", "LoadDeletions",
	},
	"lists definitions that people made": {
		"FindBackfills", "FindCharts", "FindDashboards", "FindConfigurations", "ConfigurationVersions", "FindDatasets", "DatasetVersions",
		"FindMetrics", "FindMetricVersions", "FindQueues", "FindTools", "FindViews", "FindAlerts", "FindDeletions", "AlertChanges", "AlertNotices", "OnlineMetrics", "MetricRules", "Providers",
	},
	"is of the server or its operator": {
		"Audit", "Projects", "Keys", "DatabaseBytes", "ExpireAudit", "RecordAudit", "RecordKeyUse", "Forget", "Tidy", "UsePrices",
		"Close", "DefaultLimits", "DefaultRetention", "KeysRevision", "Ingesting", "Writable", "Stuck",
		"RecordSecret", "Activity", "Database", "State", "CheckWrite", "Space",
	},
	"reads by connections of its own, for keys and ingestion": {
		"HasAdminKey", "KeyByHash", "KeyByID", "ProjectLimits", "OwnLimits", "ProjectByName", "ProjectByPublicID", "ProjectByID",
		"DefaultProject", "StoredBytes", "EventCount", "Retention", "CheckStored", "CheckStart", "Watch",
	},
	"works in the background": {
		"OutboxProjects", "ClaimOutbox", "ClaimDelayed", "EnqueueEvaluations", "EvaluationQueue", "ClaimEvaluations",
		"FinishEvaluations", "DropWaiting", "StepBackfills", "FillQueue", "Recount", "Seal", "Retain", "Pack", "Spend",
		"ClaimAlerts", "FinishAlert", "PutOffAlert", "ClaimNotices", "FinishNotice", "RecordNotices",
	},
	"writes": {
		"Put", "PutAbout", "RebuildIndex", "Update", "DeleteEvent", "DeleteSession", "DeleteCopies",
		"CreateBackfill", "MoveBackfill", "CreateConfiguration", "UpdateConfiguration", "DeleteConfiguration", "CreateDatapoints",
		"UpdateDatapoint", "DeleteDatapoint", "CreateDataset", "CreateDatasetOf", "UpdateDataset", "RemoveRow", "DeleteDataset",
		"RetryEvaluations", "InsertKey", "ConfigureKey", "RevokeKey", "ChangeLimits", "ChangeRetention", "CreateMetric", "EnableMetric", "UpdateMetric",
		"DeleteMetric", "CreateMetricVersion", "DeployMetricVersion", "EnsureProject", "CreateProject", "UpdateProject",
		"DeleteProject", "ChangeProvider", "DeleteProvider", "CreateQueue", "UpdateQueue", "DeleteQueue", "ClaimItem",
		"ReleaseItem", "AnnotateItem", "OpenItem", "WithdrawAnnotation", "SettleItem", "UnsettleItem", "CreateRun", "UpdateRun", "DeleteRun", "CreateChart", "UpdateChart", "DeleteChart",
		"CreateView", "UpdateView", "DeleteView", "CreateComment", "UpdateComment", "DeleteComment",
		"CreateDashboard", "UpdateDashboard", "DeleteDashboard",
		"CreateAlert", "ChangeAlert", "DeleteAlert", "CancelDeletion",
		"CreateTool", "UpdateTool", "DeleteTool",
	},
}

// Every method of the store is one that waits for its project's share, or one of those that need not.
func TestReadsHaveAShare(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openTest(t, Options{ReadWait: time.Millisecond})
	p, err := s.EnsureProject(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for name := range heavyReads {
		known = append(known, name)
	}
	for _, names := range otherMethods {
		known = append(known, names...)
	}
	slices.Sort(known)
	for i := range known[1:] {
		if known[i] == known[i+1] {
			t.Errorf("%s is listed twice", known[i])
		}
	}
	typ := reflect.TypeFor[*Store]()
	for i := range typ.NumMethod() {
		if name := typ.Method(i).Name; !slices.Contains(known, name) {
			t.Errorf("%s is new: does it wait for its project's share?", name)
		}
	}
	for _, name := range known {
		if _, ok := typ.MethodByName(name); !ok {
			t.Errorf("%s is no method any more", name)
		}
	}
	_, release, err := s.events.HeavyRead(ctx, p.ID, s.events.ReadShare())
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range heavyReads {
		if err := read(ctx, s, p.ID); fault.Of(err) != fault.Limited {
			t.Errorf("%s beside a full share: %v, want Limited", name, err)
		}
	}
	release()
	for name, read := range heavyReads {
		if err := read(ctx, s, p.ID); fault.Of(err) == fault.Limited {
			t.Errorf("%s: %v", name, err)
		}
	}
	// No read kept its share: all connections for heavy reads can be had.
	for project, n := range map[int64]int{p.ID: s.events.ReadShare(), p.ID + 1: s.db.Readers()*3/4 - s.events.ReadShare()} {
		_, release, err := s.events.HeavyRead(ctx, project, n)
		if err != nil {
			t.Fatalf("%d connections: %v", n, err)
		}
		defer release()
	}
}
