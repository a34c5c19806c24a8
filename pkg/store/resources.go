package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/comment"
	"github.com/spangrove/spangrove/pkg/configuration"
	"github.com/spangrove/spangrove/pkg/dashboard"
	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/deletion"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/resource"
	"github.com/spangrove/spangrove/pkg/tool"
	"github.com/spangrove/spangrove/pkg/view"
)

// ResourceStore holds all that is not telemetry. What the API asks of it is documented there (package httpapi), and the
// rest here.
type ResourceStore interface {
	AlertStore
	AuditStore
	ChartStore
	CommentStore
	ConfigurationStore
	DatapointStore
	DatasetStore
	KeyStore
	MetricStore
	ProjectStore
	ProviderStore
	QueueStore
	RunStore
	ToolStore
	ViewStore
	DashboardStore
	DeletionStore
}

// AlertStore holds alerts with their history.
type AlertStore interface {
	// CreateAlert stores an alert that is valid, and returns it as it is stored. It is due at once. fault.Invalid if the project has
	// as many as it may have.
	CreateAlert(ctx context.Context, projectID int64, a alert.Alert) (alert.Alert, error)
	// ChangeAlert hands an alert to change, and stores what change made of it. Errors of change are the answer, and nothing is
	// stored. An alert that asks something else now is due at once; one that is switched off has no state any more.
	ChangeAlert(ctx context.Context, projectID int64, id string, change func(*alert.Alert) error) (a alert.Alert, err error)
	// See httpapi.Alerts.
	FindAlerts(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	LoadAlerts(ctx context.Context, projectID int64, ids []string) ([]alert.Alert, error)
	Alert(ctx context.Context, projectID int64, id string) (alert.Alert, error)
	DeleteAlert(ctx context.Context, projectID int64, id string) error
	AlertChanges(ctx context.Context, projectID int64, id string, limit, page int) (list []alert.Change, total int, err error)
	AlertNotices(ctx context.Context, projectID int64, id string, limit, page int) (list []alert.Notice, total int, err error)
	// ClaimAlerts takes at most limit alerts of all projects that are due, longest due first, for nobody else to take for lease.
	// Where due times were missed, the last one stands for all.
	ClaimAlerts(ctx context.Context, limit int, lease time.Duration) (list []alert.Claim, err error)
	// FinishAlert stores what the evaluation of a claimed alert has made of its status, the change of its state, if there was one,
	// and the notices that follow. done is false, and nothing is stored, if the claim holds no longer, or the alert was changed.
	FinishAlert(ctx context.Context, c *alert.Claim, status alert.Status, change *alert.Change, notices []alert.Notice) (done bool, err error)
	// PutOffAlert has a claim that holds end after a pause from now, without a result.
	PutOffAlert(ctx context.Context, c *alert.Claim, pause time.Duration) error
	// ClaimNotices takes notices of all projects that wait and are due, as many as there are places for, and counts the attempt.
	ClaimNotices(ctx context.Context, places alert.Places, lease time.Duration) (list []alert.NoticeClaim, err error)
	// FinishNotice stores what became of a claimed notice; nothing if another server has taken it over since.
	FinishNotice(ctx context.Context, projectID int64, n alert.Notice) error
	// RecordNotices stores notices that were sent already, and sets their ids. fault.NotFound if the alert is gone.
	RecordNotices(ctx context.Context, projectID int64, id string, notices []alert.Notice) error
}

// AuditStore holds the audit log.
type AuditStore interface {
	// See httpapi.Audit.
	RecordAudit(ctx context.Context, e audit.Entry)
	Audit(ctx context.Context, q audit.Query) (list []audit.Entry, total int, err error)
	// ExpireAudit deletes the entries of the audit log that are older than Options.AuditRetention, and
	// the oldest ones where there are more than Options.AuditMaxEntries: of failures first, as long as they are
	// more than half, so that a flood of them does not push out what was done.
	ExpireAudit(ctx context.Context) error
}

// ChartStore holds saved charts.
type ChartStore interface {
	// See httpapi.Charts.
	CreateChart(ctx context.Context, projectID int64, c chart.Chart) (chart.Chart, error)
	FindCharts(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	LoadCharts(ctx context.Context, projectID int64, ids []string) ([]chart.Chart, error)
	SavedChart(ctx context.Context, projectID int64, id string) (chart.Chart, error)
	UpdateChart(ctx context.Context, projectID int64, u chart.Update) (c chart.Chart, err error)
	DeleteChart(ctx context.Context, projectID int64, id string) error
}

// CommentStore holds what people say of events.
type CommentStore interface {
	// See httpapi.Comments.
	CreateComment(ctx context.Context, projectID int64, c comment.Comment) (comment.Comment, error)
	FindComments(ctx context.Context, projectID int64, event uuid.UUID, limit, page int) (ids []string, total int, err error)
	LoadComments(ctx context.Context, projectID int64, ids []string) ([]comment.Comment, error)
	CountComments(ctx context.Context, projectID int64, ids []uuid.UUID) (map[uuid.UUID]int, error)
	UpdateComment(ctx context.Context, projectID int64, event uuid.UUID, id, text string) (comment.Comment, error)
	DeleteComment(ctx context.Context, projectID int64, event uuid.UUID, id string) error
}

// ConfigurationStore holds configurations with their versions.
type ConfigurationStore interface {
	// See httpapi.Configurations.
	CreateConfiguration(ctx context.Context, projectID int64, c configuration.Configuration) (id string, err error)
	FindConfigurations(ctx context.Context, projectID int64, q configuration.Query) (ids []string, total int, err error)
	LoadConfigurations(ctx context.Context, projectID int64, ids, env []string) ([]configuration.Configuration, error)
	// See httpapi.ConfigurationHistory.
	Configuration(ctx context.Context, projectID int64, id string, version int64) (configuration.Configuration, error)
	ConfigurationVersions(ctx context.Context, projectID int64, id string, limit, page int) ([]configuration.Configuration, int, error)
	// See httpapi.Configurations.
	UpdateConfiguration(ctx context.Context, projectID int64, u configuration.Update) (changed bool, err error)
	DeleteConfiguration(ctx context.Context, projectID int64, id string) error
}

// DatapointStore holds the datapoints of projects.
type DatapointStore interface {
	// See httpapi.Datapoints.
	CreateDatapoints(ctx context.Context, projectID int64, list []dataset.Datapoint) (ids []string, err error)
	FindDatapoints(ctx context.Context, projectID int64, q dataset.PointQuery) (ids []string, total int, err error)
	LoadDatapoints(ctx context.Context, projectID int64, ids []string) ([]dataset.Datapoint, error)
	UpdateDatapoint(ctx context.Context, projectID int64, u dataset.PointUpdate) (changed bool, err error)
	DeleteDatapoint(ctx context.Context, projectID int64, id string) error
	// See httpapi.Writer.
	Copies(ctx context.Context, projectID int64, id uuid.UUID, limit int) (datapoints []string, total int, err error)
	DeleteCopies(ctx context.Context, projectID int64, id uuid.UUID) (n int, err error)
}

// DatasetStore holds datasets with their rows and versions.
type DatasetStore interface {
	// See httpapi.Datasets.
	CreateDataset(ctx context.Context, projectID int64, set dataset.Dataset, points []string) (id string, err error)
	CreateDatasetOf(ctx context.Context, projectID int64, set dataset.Dataset, list []dataset.Datapoint) (id string, ids []string, err error)
	FindDatasets(ctx context.Context, projectID int64, q dataset.Query) (ids []string, total int, err error)
	// See httpapi.DatasetHistory.
	Dataset(ctx context.Context, projectID int64, id string, version int64) (dataset.Dataset, error)
	DatasetVersions(ctx context.Context, projectID int64, id string, limit, page int) ([]dataset.Dataset, int, error)
	// See httpapi.Datasets.
	UpdateDataset(ctx context.Context, projectID int64, u dataset.Update) (set dataset.Dataset, err error)
	RemoveRow(ctx context.Context, projectID int64, datasetID, datapointID string) error
	DeleteDataset(ctx context.Context, projectID int64, id string) error
	// See httpapi.DatasetHistory.
	DatapointIDs(ctx context.Context, projectID int64, datasetID string, version int64) ([]string, error)
	CountDatapoints(ctx context.Context, projectID int64, datasetID string, version int64) (n int, err error)
	DiffDataset(ctx context.Context, projectID int64, id string, q dataset.DiffQuery) (diff dataset.Diff, err error)
	DatapointsIn(
		ctx context.Context,
		projectID int64,
		datasetID string,
		version, after int64,
		limit int,
	) (list []dataset.Datapoint, next int64, err error)
}

// KeyStore holds API keys.
type KeyStore interface {
	// KeysRevision returns a number that differs after every change of a key or a project made through
	// this Store. What was read before it changed may be old.
	KeysRevision() uint64
	// RecordKeyUse notes that a request with a key was admitted, from the address of its connection. It is written within a minute.
	RecordKeyUse(id string, at time.Time, from string)
	// HasAdminKey reports whether there is an active key of scope admin.
	HasAdminKey(ctx context.Context) (bool, error)
	// See httpapi.Keys.
	InsertKey(ctx context.Context, k project.Key) error
	// ConfigureKey makes k the only key that comes from the configuration: it is in force in its
	// project, whatever was stored of it before, and every other configured key is revoked. A nil k
	// revokes all of them.
	ConfigureKey(ctx context.Context, k *project.Key) error
	// KeyByHash returns the key with this hash and its project, active or not. fault.NotFound if
	// there is none.
	KeyByHash(ctx context.Context, hash []byte) (project.Key, project.Project, error)
	// KeyByID returns the key with this id and its project, active or not. fault.NotFound if there is no such key.
	KeyByID(ctx context.Context, id string) (project.Key, project.Project, error)
	// See httpapi.Keys.
	Keys(ctx context.Context, projectID int64, prefix string, limit, page int) (list []project.Key, total int, err error)
	RevokeKey(ctx context.Context, projectID int64, id string) (project.Key, error)
}

// MetricStore holds metrics with their versions.
type MetricStore interface {
	// See httpapi.Metrics.
	CreateMetric(ctx context.Context, projectID int64, def metric.Definition) (id string, err error)
	EnableMetric(ctx context.Context, projectID int64, def metric.Definition) (id string, inserted bool, err error)
	FindMetrics(ctx context.Context, projectID int64, q metric.Query) (ids []string, total int, err error)
	LoadMetrics(ctx context.Context, projectID int64, ids []string) ([]metric.Metric, error)
	// OnlineMetrics reads the metrics of a project that run over new events, oldest first.
	OnlineMetrics(ctx context.Context, projectID int64) ([]metric.Metric, error)
	// See httpapi.Metrics.
	UpdateMetric(ctx context.Context, projectID int64, id string, p metric.Patch) (m metric.Metric, err error)
	DeleteMetric(ctx context.Context, projectID int64, id string) error
	// See httpapi.MetricVersions.
	CreateMetricVersion(ctx context.Context, projectID int64, id string, v metric.Version, deploy bool) (metric.Version, error)
	DeployMetricVersion(ctx context.Context, projectID int64, id, name string) (v metric.Version, err error)
	FindMetricVersions(ctx context.Context, projectID int64, id string, limit, page int) (names []string, total int, err error)
	LoadMetricVersions(ctx context.Context, projectID int64, id string, names []string) (list []metric.Version, err error)
	// See httpapi.RunScores.
	MetricRules(ctx context.Context, projectID int64) (map[string]run.Rule, error)
}

// ProjectStore holds projects with their limits.
type ProjectStore interface {
	// EnsureProject returns the project with this name, and makes it if there is none.
	EnsureProject(ctx context.Context, name string) (project.Project, error)
	// See httpapi.Projects.
	CreateProject(ctx context.Context, p project.Project) (project.Project, error)
	UpdateProject(ctx context.Context, id int64, c project.Change) (project.Project, error)
	Projects(ctx context.Context, name string, limit, page int) (list []project.Project, total int, err error)
	ProjectByName(ctx context.Context, name string) (project.Project, error)
	ProjectByPublicID(ctx context.Context, publicID string) (project.Project, error)
	// ProjectByID returns a project by the number that other rows name it by. fault.NotFound if there is
	// none.
	ProjectByID(ctx context.Context, id int64) (project.Project, error)
	// DefaultProject returns the first project of the store. fault.NotFound if there is none.
	DefaultProject(ctx context.Context) (project.Project, error)
	// See httpapi.Projects.
	DeleteProject(ctx context.Context, id int64) (gone <-chan struct{}, err error)
	// DefaultLimits returns the limits of projects that set none of their own.
	DefaultLimits() project.Bounds
	// ProjectLimits returns the effective limits of a project: its own, and Options.Limits where
	// it has none. A change by another server is seen after some seconds, one by this Store at once.
	// fault.NotFound if there is no such project.
	ProjectLimits(ctx context.Context, projectID int64) (project.Bounds, error)
	// See httpapi.Limits.
	OwnLimits(ctx context.Context, projectID int64) (project.Limits, error)
	ChangeLimits(ctx context.Context, projectID int64, change func(*project.Limits) error) (l project.Limits, err error)
	// See httpapi.Retention.
	Retention(ctx context.Context, projectID int64) (own project.Retention, rule project.RetentionRule, err error)
	DefaultRetention() project.RetentionRule
	ChangeRetention(ctx context.Context, projectID int64, change func(*project.Retention) error) (own project.Retention, err error)
	// Retain removes what the rules of all projects do not keep now, as is done every ten minutes; nothing if another server is
	// at it.
	Retain(ctx context.Context) error
}

// ProviderStore holds the model providers of projects.
type ProviderStore interface {
	// ChangeProvider hands a provider of a project to change, a new one with only its name if there is
	// none, and stores what change made of it. Errors of change are the answer, and nothing is stored.
	ChangeProvider(ctx context.Context, projectID int64, name string, change func(*provider.Provider) error) (p provider.Provider, err error)
	// See httpapi.Providers.
	Providers(ctx context.Context, projectID int64) ([]provider.Provider, error)
	DeleteProvider(ctx context.Context, projectID int64, name string) error
	// Spend adds dollars and calls to those of a provider on a UTC day, counted in days since 1970,
	// and returns the day's totals. Adding nothing only reads them. Project 0 is the server itself, for
	// providers that all projects share.
	Spend(
		ctx context.Context,
		projectID int64,
		provider string,
		day int64,
		usd float64,
		calls int64,
	) (dayUSD float64, dayCalls int64, err error)
}

// QueueStore holds annotation queues.
type QueueStore interface {
	// See httpapi.Queues.
	CreateQueue(ctx context.Context, projectID int64, q queue.Queue, ids []uuid.UUID) (queue.Queue, error)
	FindQueues(ctx context.Context, projectID int64, enabled *bool, limit, page int) (ids []string, total int, err error)
	LoadQueues(ctx context.Context, projectID int64, ids []string) ([]queue.Queue, error)
	Queue(ctx context.Context, projectID int64, id string) (queue.Queue, error)
	UpdateQueue(ctx context.Context, projectID int64, id string, u queue.Update, add, remove []uuid.UUID) (q queue.Queue, err error)
	DeleteQueue(ctx context.Context, projectID int64, id string) error
	// See httpapi.QueueItems.
	OpenItem(ctx context.Context, projectID int64, id string, event uuid.UUID, annotator string) (queue.Item, *queue.Annotation, error)
	WithdrawAnnotation(ctx context.Context, projectID int64, id string, event uuid.UUID, annotator string) (queue.Item, error)
	SettleItem(ctx context.Context, projectID int64, id string, event uuid.UUID, decided queue.Settlement) (queue.Item, error)
	UnsettleItem(ctx context.Context, projectID int64, id string, event uuid.UUID) (queue.Item, error)
	FindDifferences(ctx context.Context, projectID int64, id string, d queue.Differences, limit, page int) (list []string, total int, err error)
	FindAnnotators(ctx context.Context, projectID int64, id string, limit, page int) (list []queue.AnnotatorCounts, total int, err error)
	QueueProgress(ctx context.Context, projectID int64, id, annotator string) (queue.Progress, error)
	AnnotateItem(ctx context.Context, projectID int64, id string, eventID uuid.UUID, a queue.Annotation) (item queue.Item, err error)
	// See httpapi.Queues.
	QueueAgreement(ctx context.Context, projectID int64, id string) ([]queue.Agreement, error)
	// See httpapi.QueueItems.
	ClaimItem(ctx context.Context, projectID int64, id, annotator string) (item queue.Item, found bool, err error)
	ReleaseItem(ctx context.Context, projectID int64, id string, event uuid.UUID, annotator string, skip bool) (item queue.Item, err error)
	FillQueue(ctx context.Context, p project.Project, id string) (entered int, more bool, err error)
	FindQueueItems(ctx context.Context, projectID int64, id string, state queue.State, limit, page int) (events []string, total int, err error)
	LoadQueueItems(ctx context.Context, projectID int64, id string, events []string) ([]queue.Item, error)
}

// RunStore holds experiment runs.
type RunStore interface {
	// See httpapi.Runs.
	CreateRun(ctx context.Context, projectID int64, u run.Update) (r run.Run, err error)
	UpdateRun(ctx context.Context, projectID int64, u run.Update) (r run.Run, err error)
	Run(ctx context.Context, projectID int64, id string) (run.Run, error)
	DeleteRun(ctx context.Context, projectID int64, id string) error
	FindRuns(ctx context.Context, projectID int64, q run.Query) (list []run.Run, total, unfiltered int, err error)
	// See httpapi.Schemas.
	FieldIndex(ctx context.Context, projectID int64, q query.Search) (*event.FieldIndex, error)
	// See httpapi.RunScores.
	RunPairs(
		ctx context.Context,
		projectID int64,
		newRun, oldRun *run.Run,
		q run.PairQuery,
		filters []query.Filter,
	) (pairs []run.Pair, total int, err error)
	RunScores(ctx context.Context, projectID int64, r *run.Run, q query.Search) (*run.Scores, error)
	RunOutcomes(ctx context.Context, projectID int64, r *run.Run, q query.Search) (*run.Outcomes, error)
}

// ToolStore holds tools.
type ToolStore interface {
	// See httpapi.Tools.
	CreateTool(ctx context.Context, projectID int64, t tool.Tool) (id string, err error)
	FindTools(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	LoadTools(ctx context.Context, projectID int64, ids []string) ([]tool.Tool, error)
	UpdateTool(ctx context.Context, projectID int64, u tool.Update) (t tool.Tool, err error)
	DeleteTool(ctx context.Context, projectID int64, id string) error
}

// Defaults of the audit log.
const (
	DefaultAuditRetention  = resource.DefaultAuditRetention
	DefaultAuditMaxEntries = resource.DefaultAuditMaxEntries
)

// ViewStore holds saved views.
type ViewStore interface {
	// See httpapi.Views.
	CreateView(ctx context.Context, projectID int64, v view.View) (view.View, error)
	FindViews(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	LoadViews(ctx context.Context, projectID int64, ids []string) ([]view.View, error)
	View(ctx context.Context, projectID int64, id string) (view.View, error)
	UpdateView(ctx context.Context, projectID int64, u view.Update) (v view.View, err error)
	DeleteView(ctx context.Context, projectID int64, id string) error
}

// DashboardStore holds dashboards.
type DashboardStore interface {
	// See httpapi.Dashboards.
	CreateDashboard(ctx context.Context, projectID int64, d dashboard.Dashboard) (dashboard.Dashboard, error)
	FindDashboards(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	LoadDashboards(ctx context.Context, projectID int64, ids []string) ([]dashboard.Dashboard, error)
	Dashboard(ctx context.Context, projectID int64, id string) (dashboard.Dashboard, error)
	UpdateDashboard(ctx context.Context, projectID int64, u dashboard.Update) (d dashboard.Dashboard, err error)
	DeleteDashboard(ctx context.Context, projectID int64, id string) error
}

// DeletionStore deletes all that searches find.
type DeletionStore interface {
	// See httpapi.Deletions.
	CountEventDeletion(ctx context.Context, projectID int64, q query.Search) (deletion.Count, error)
	CountSessionDeletion(ctx context.Context, projectID int64, q query.SessionSearch) (deletion.Count, error)
	DeleteEvents(ctx context.Context, projectID int64, q query.Search, seen deletion.Count) (d deletion.Deletion, done <-chan struct{}, err error)
	DeleteSessions(ctx context.Context, projectID int64, q query.SessionSearch, seen deletion.Count) (d deletion.Deletion, done <-chan struct{}, err error)
	FindDeletions(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	LoadDeletions(ctx context.Context, projectID int64, ids []string) ([]deletion.Deletion, error)
	Deletion(ctx context.Context, projectID int64, id string) (deletion.Deletion, error)
	CancelDeletion(ctx context.Context, projectID int64, id string) (deletion.Deletion, error)
}
