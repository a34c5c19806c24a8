package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/configuration"
	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/resource"
	"github.com/spangrove/spangrove/pkg/tool"
)

// ResourceStore holds all that is not telemetry.
type ResourceStore interface {
	AuditStore
	ChartStore
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
}

// AuditStore holds the audit log.
type AuditStore interface {
	// RecordAudit adds an entry to the audit log, and to the log of the server. An entry of a success is
	// written when this returns, also if ctx has ended meanwhile; those of failures are added up in memory and
	// written once a minute, so that they cost no writes of their own. An entry that cannot be written is an
	// error in the server's log, and nothing else: what it is about has happened. An entry without a time is
	// of now.
	RecordAudit(ctx context.Context, e audit.Entry)
	// Audit lists entries of the audit log, newest first, a page of them (the first is 1), and counts all.
	// Those of failures that other servers on the same database have counted may be missing for a minute.
	Audit(ctx context.Context, q audit.Query) (list []audit.Entry, total int, err error)
	// ExpireAudit deletes the entries of the audit log that are older than Options.AuditRetention, and
	// the oldest ones where there are more than Options.AuditMaxEntries: of failures first, as long as they are
	// more than half, so that a flood of them does not push out what was done.
	ExpireAudit(ctx context.Context) error
}

// ChartStore holds saved charts.
type ChartStore interface {
	// CreateChart saves a chart that is complete and valid, and returns it as it is stored.
	CreateChart(ctx context.Context, projectID int64, c chart.Chart) (chart.Chart, error)
	// FindCharts lists the ids of all saved charts of a project, oldest first, a page of them, and
	// counts all.
	FindCharts(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	// LoadCharts reads saved charts in the order of ids. Those that are gone are left out.
	LoadCharts(ctx context.Context, projectID int64, ids []string) ([]chart.Chart, error)
	// SavedChart returns a saved chart. fault.NotFound if there is none.
	SavedChart(ctx context.Context, projectID int64, id string) (chart.Chart, error)
	// UpdateChart changes a saved chart and returns the updated one. fault.NotFound if there is none,
	// fault.Invalid if it would break a rule.
	UpdateChart(ctx context.Context, projectID int64, u chart.Update) (c chart.Chart, err error)
	// DeleteChart deletes a saved chart. fault.NotFound if there is none.
	DeleteChart(ctx context.Context, projectID int64, id string) error
}

// ConfigurationStore holds configurations with their versions.
type ConfigurationStore interface {
	// CreateConfiguration stores a configuration that is complete and valid, and returns its id.
	CreateConfiguration(ctx context.Context, projectID int64, c configuration.Configuration) (id string, err error)
	// FindConfigurations lists the ids of the configurations that match, oldest first, a page of
	// them, and counts all that do.
	FindConfigurations(ctx context.Context, projectID int64, q configuration.Query) (ids []string, total int, err error)
	// LoadConfigurations reads configurations in the order of ids. Those that are gone are left out.
	LoadConfigurations(ctx context.Context, projectID int64, ids []string) ([]configuration.Configuration, error)
	// Configuration returns a configuration as it was in a version; 0 is the current one.
	// fault.NotFound if there is none.
	Configuration(ctx context.Context, projectID int64, id string, version int64) (configuration.Configuration, error)
	// ConfigurationVersions lists the versions of a configuration, newest first, a page of them, and
	// counts all. Of each it gives Version and since when it was current (Updated). fault.NotFound if
	// there is no such configuration.
	ConfigurationVersions(ctx context.Context, projectID int64, id string, limit, page int) ([]configuration.Configuration, int, error)
	// UpdateConfiguration changes a configuration; changed is false if it was so before, which makes
	// no new version. fault.NotFound if there is none, fault.Invalid if it would break a rule.
	UpdateConfiguration(ctx context.Context, projectID int64, u configuration.Update) (changed bool, err error)
	// DeleteConfiguration deletes a configuration with all its versions. fault.NotFound if there is
	// none.
	DeleteConfiguration(ctx context.Context, projectID int64, id string) error
}

// DatapointStore holds the datapoints of projects.
type DatapointStore interface {
	// CreateDatapoints stores datapoints that are complete and valid, all or none, adds each to its
	// LinkedDatasets, and returns their ids in the same order. fault.NotFound if a dataset is not there,
	// fault.Invalid if one would have too many.
	CreateDatapoints(ctx context.Context, projectID int64, list []dataset.Datapoint) (ids []string, err error)
	// FindDatapoints lists the ids of the datapoints that match, oldest first, a page of them, and
	// counts all that do.
	FindDatapoints(ctx context.Context, projectID int64, q dataset.PointQuery) (ids []string, total int, err error)
	// LoadDatapoints reads datapoints in the order of ids. Those that are gone are left out.
	LoadDatapoints(ctx context.Context, projectID int64, ids []string) ([]dataset.Datapoint, error)
	// UpdateDatapoint changes a datapoint; changed is false if it was so before. Each dataset that
	// has it, had it or has it now gets a new version. fault.NotFound if it, or a dataset it shall be
	// linked with, is not there; fault.Invalid if it would break a rule.
	UpdateDatapoint(ctx context.Context, projectID int64, u dataset.PointUpdate) (changed bool, err error)
	// DeleteDatapoint deletes a datapoint with all its versions and takes it out of its datasets. Their
	// old versions still tell that it was there, by its id. fault.NotFound if there is none.
	DeleteDatapoint(ctx context.Context, projectID int64, id string) error
	// Copies lists the datapoints that were made of an event, or, if id is a session's, of any event in it,
	// oldest first: at most limit of them, and counts all. It finds none for an id that is not there.
	Copies(ctx context.Context, projectID int64, id uuid.UUID, limit int) (datapoints []string, total int, err error)
	// DeleteCopies deletes the datapoints that Copies lists, and counts them.
	DeleteCopies(ctx context.Context, projectID int64, id uuid.UUID) (n int, err error)
}

// DatasetStore holds datasets with their rows and versions.
type DatasetStore interface {
	// CreateDataset stores a dataset that is complete and valid, with these datapoints in order, and
	// returns its id. fault.NotFound if one of them is not there.
	CreateDataset(ctx context.Context, projectID int64, set dataset.Dataset, points []string) (id string, err error)
	// FindDatasets lists the ids of the datasets that match, oldest first, a page of them, and counts
	// all that do.
	FindDatasets(ctx context.Context, projectID int64, q dataset.Query) (ids []string, total int, err error)
	// Dataset returns a dataset as it was in a version; 0 is the current one. fault.NotFound if there
	// is none.
	Dataset(ctx context.Context, projectID int64, id string, version int64) (dataset.Dataset, error)
	// DatasetVersions lists the versions of a dataset, newest first, a page of them, and counts all. Of
	// each it gives Version and since when it was current (Updated). fault.NotFound if there is no
	// such dataset.
	DatasetVersions(ctx context.Context, projectID int64, id string, limit, page int) ([]dataset.Dataset, int, error)
	// UpdateDataset changes a dataset and returns the updated one. What changes nothing makes no new
	// version. fault.NotFound if there is no such dataset or one of its datapoints is not there,
	// fault.Invalid if it would break a rule.
	UpdateDataset(ctx context.Context, projectID int64, u dataset.Update) (set dataset.Dataset, err error)
	// RemoveRow takes a datapoint out of a dataset; the datapoint stays. fault.NotFound if there is no
	// such dataset, or the datapoint is not in it.
	RemoveRow(ctx context.Context, projectID int64, datasetID, datapointID string) error
	// DeleteDataset deletes a dataset with all its versions; its datapoints stay. fault.NotFound if
	// there is none.
	DeleteDataset(ctx context.Context, projectID int64, id string) error
	// DatapointIDs lists the datapoints that a dataset had in a version, in order.
	DatapointIDs(ctx context.Context, projectID int64, datasetID string, version int64) ([]string, error)
	// DatapointsIn reads the datapoints that a dataset had in a version as they were then, in order:
	// at most limit of them behind position after, which is 0 at first. next is where to go on, 0 at
	// the end. Their LinkedDatasets are those of now. Of those that are deleted by now only the id is left,
	// and Deleted is set.
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
	// HasAdminKey reports whether there is an active key of scope admin.
	HasAdminKey(ctx context.Context) (bool, error)
	// InsertKey stores a key. The same key again changes nothing. fault.NotFound if there is no
	// such project.
	InsertKey(ctx context.Context, k project.Key) error
	// ConfigureKey makes k the only key that comes from the configuration: it is in force in its
	// project, whatever was stored of it before, and every other configured key is revoked. A nil k
	// revokes all of them.
	ConfigureKey(ctx context.Context, k *project.Key) error
	// KeyByHash returns the key with this hash and its project, active or not. fault.NotFound if
	// there is none.
	KeyByHash(ctx context.Context, hash []byte) (project.Key, project.Project, error)
	// Keys lists the keys of a project whose readable part begins with prefix, active or not,
	// oldest first, a page of them (the first is 1), and counts all.
	Keys(ctx context.Context, projectID int64, prefix string, limit, page int) (list []project.Key, total int, err error)
	// RevokeKey deactivates a key of a project and returns the updated one. One that is not
	// active stays as it is. fault.NotFound if there is none; fault.Conflict for the
	// configured key, and for the last key that may manage keys.
	RevokeKey(ctx context.Context, projectID int64, id string) (project.Key, error)
}

// MetricStore holds metrics with their versions.
type MetricStore interface {
	// CreateMetric stores a metric whose definition is complete and valid, as its first version, and
	// returns its id.
	CreateMetric(ctx context.Context, projectID int64, def metric.Definition) (id string, err error)
	// FindMetrics lists the ids of the metrics that match, oldest first, a page of them, and counts
	// all that do.
	FindMetrics(ctx context.Context, projectID int64, q metric.Query) (ids []string, total int, err error)
	// LoadMetrics reads metrics in the order of ids. Those that are gone are left out.
	LoadMetrics(ctx context.Context, projectID int64, ids []string) ([]metric.Metric, error)
	// OnlineMetrics reads the metrics of a project that run over new events, oldest first.
	OnlineMetrics(ctx context.Context, projectID int64) ([]metric.Metric, error)
	// UpdateMetric changes a metric, which makes a new current version unless nothing changes.
	// fault.NotFound if there is none, fault.Invalid if it would break a rule.
	UpdateMetric(ctx context.Context, projectID int64, id string, p metric.Patch) (m metric.Metric, err error)
	// DeleteMetric deletes a metric with all its versions. fault.NotFound if there is none.
	DeleteMetric(ctx context.Context, projectID int64, id string) error
	// CreateMetricVersion stores a version of a metric whose definition is complete and valid, in
	// force from then on if deploy, and returns the updated one. fault.NotFound if there is no such
	// metric.
	CreateMetricVersion(ctx context.Context, projectID int64, id string, v metric.Version, deploy bool) (metric.Version, error)
	// DeployMetricVersion makes a version the current one, named by its name or its SHA, and returns it.
	// fault.NotFound if there is no such metric or version.
	DeployMetricVersion(ctx context.Context, projectID int64, id, name string) (v metric.Version, err error)
	// FindMetricVersions lists the names of a metric's versions, newest first, a page of them, and
	// counts all. fault.NotFound if there is no such metric.
	FindMetricVersions(ctx context.Context, projectID int64, id string, limit, page int) (names []string, total int, err error)
	// LoadMetricVersions reads versions of a metric by their names, which follow one another as in
	// FindMetricVersions. If the metric is gone, there are none.
	LoadMetricVersions(ctx context.Context, projectID int64, id string, names []string) (list []metric.Version, err error)
	// MetricRules returns the rules of the project's metrics by name. Of metrics that
	// share a name, the newest counts.
	MetricRules(ctx context.Context, projectID int64) (map[string]run.Rule, error)
}

// ProjectStore holds projects with their limits.
type ProjectStore interface {
	// EnsureProject returns the project with this name, and makes it if there is none.
	EnsureProject(ctx context.Context, name string) (project.Project, error)
	// CreateProject makes a project of p's name, description and type, and returns it as stored.
	// fault.Conflict if the name is taken.
	CreateProject(ctx context.Context, p project.Project) (project.Project, error)
	// UpdateProject changes a project and returns it as stored. fault.NotFound if there is none,
	// fault.Conflict if another one has the name.
	UpdateProject(ctx context.Context, id int64, c project.Change) (project.Project, error)
	// Projects lists projects, oldest first, a page of them (the first is 1), and counts all; only
	// the one of this name, if name is not empty.
	Projects(ctx context.Context, name string, limit, page int) (list []project.Project, total int, err error)
	// ProjectByName returns a project. fault.NotFound if there is none.
	ProjectByName(ctx context.Context, name string) (project.Project, error)
	// ProjectByPublicID returns a project. fault.NotFound if there is none.
	ProjectByPublicID(ctx context.Context, publicID string) (project.Project, error)
	// ProjectByID returns a project by the number that other rows name it by. fault.NotFound if there is
	// none.
	ProjectByID(ctx context.Context, id int64) (project.Project, error)
	// DefaultProject returns the first project of the store. fault.NotFound if there is none.
	DefaultProject(ctx context.Context) (project.Project, error)
	// DeleteProject deletes a project. When it returns nil, the project is not found any more, its
	// keys are unknown and its name is free; its data is deleted from then on in the background, in
	// slices, also by the next process if this one ends. gone is closed when nothing is left.
	//
	// fault.NotFound if there is no such project. fault.Conflict for the first project of the
	// store, where requests without a key go; for the one of the configured or generated key; and
	// where no key would be left that may manage projects.
	DeleteProject(ctx context.Context, id int64) (gone <-chan struct{}, err error)
	// DefaultLimits returns the limits of projects that set none of their own.
	DefaultLimits() project.Bounds
	// ProjectLimits returns the effective limits of a project: its own, and Options.Limits where
	// it has none. A change by another server is seen after some seconds, one by this Store at once.
	// fault.NotFound if there is no such project.
	ProjectLimits(ctx context.Context, projectID int64) (project.Bounds, error)
	// OwnLimits returns the limits that were set for a project. fault.NotFound if there is no such
	// project.
	OwnLimits(ctx context.Context, projectID int64) (project.Limits, error)
	// ChangeLimits changes the limits of a project, all of what change does or, if it returns an error,
	// nothing, and returns the updated ones. fault.NotFound if there is no such project.
	ChangeLimits(ctx context.Context, projectID int64, change func(*project.Limits) error) (l project.Limits, err error)
}

// ProviderStore holds the model providers of projects.
type ProviderStore interface {
	// ChangeProvider hands a provider of a project to change, a new one with only its name if there is
	// none, and stores what change made of it. Errors of change are the answer, and nothing is stored.
	ChangeProvider(ctx context.Context, projectID int64, name string, change func(*provider.Provider) error) (p provider.Provider, err error)
	// Providers lists the providers of a project, oldest first.
	Providers(ctx context.Context, projectID int64) ([]provider.Provider, error)
	// DeleteProvider deletes a provider and its key. fault.NotFound if there is none.
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
	// CreateQueue stores a queue that is valid, with these events in it, and returns it.
	// fault.NotFound if one of the events is not there.
	CreateQueue(ctx context.Context, projectID int64, q queue.Queue, ids []uuid.UUID) (queue.Queue, error)
	// FindQueues lists the ids of a project's queues, oldest first, a page of them, and counts all;
	// only of those that are enabled or are not, if enabled is set.
	FindQueues(ctx context.Context, projectID int64, enabled *bool, limit, page int) (ids []string, total int, err error)
	// LoadQueues reads queues in the order of ids. Those that are gone are left out.
	LoadQueues(ctx context.Context, projectID int64, ids []string) ([]queue.Queue, error)
	// Queue reads one queue. fault.NotFound if there is none.
	Queue(ctx context.Context, projectID int64, id string) (queue.Queue, error)
	// UpdateQueue changes a queue, takes events out of it and then adds others, all or nothing, and
	// returns the updated one. What is in it already stays as it is; what is not in it to be taken out
	// is no error. fault.NotFound if there is no such queue or event, fault.Invalid if it would break
	// a rule, fault.Conflict if too many items would wait.
	UpdateQueue(ctx context.Context, projectID int64, id string, u queue.Update, add, remove []uuid.UUID) (q queue.Queue, err error)
	// DeleteQueue deletes a queue with its items and their annotations. Scores that stand on events
	// stay there. fault.NotFound if there is none.
	DeleteQueue(ctx context.Context, projectID int64, id string) error
	// AnnotateItem stores an annotator's scores and comment of an item, in place of those that the annotator gave it
	// before, and if it has what it needs then, the scores on its event, in the same transaction.
	// fault.NotFound if there is no such queue, item or event, fault.Conflict if others have all slots.
	AnnotateItem(ctx context.Context, projectID int64, id string, eventID uuid.UUID, a queue.Annotation) (item queue.Item, err error)
	// QueueAgreement returns how far the annotators of a queue agree, by metric.
	// fault.NotFound if there is no such queue, fault.TooLarge if there are too many annotators.
	QueueAgreement(ctx context.Context, projectID int64, id string) ([]queue.Agreement, error)
	// ClaimItem claims the item that has waited longest for an annotator: it takes a slot of it
	// until the queue's lease runs out. Who has such a claim already gets it again, for a new lease.
	// found is false if there is none: each item has the annotations it needs, is claimed by others,
	// or was annotated or skipped by this annotator. Items whose events are gone go, too.
	// fault.NotFound if there is no such queue.
	ClaimItem(ctx context.Context, projectID int64, id, annotator string) (item queue.Item, found bool, err error)
	// ReleaseItem gives back an annotator's claim. With skip the item is not offered to that annotator
	// again. fault.NotFound if there is no such queue, item or claim.
	ReleaseItem(ctx context.Context, projectID int64, id string, event uuid.UUID, annotator string, skip bool) (item queue.Item, err error)
	// FillQueue lets events that match a queue's filters enter it: of those that it has not looked at,
	// each look takes the oldest queue.FillSlice. entered counts those that match, some of which it may have
	// already; more reports whether there are others to look at. While queue.MaxWaiting
	// items wait, none enter. fault.NotFound if there is no such queue.
	FillQueue(ctx context.Context, p project.Project, id string) (entered int, more bool, err error)
	// FindQueueItems lists the ids of the events of a queue in the order in which they entered, a page
	// of them, and counts all; only those in a state, or if that is empty all but the removed ones.
	// fault.NotFound if there is no such queue.
	FindQueueItems(ctx context.Context, projectID int64, id string, state queue.State, limit, page int) (events []string, total int, err error)
	// LoadQueueItems reads items of a queue in the order of the ids of their events. Those that are
	// gone are left out.
	LoadQueueItems(ctx context.Context, projectID int64, id string, events []string) ([]queue.Item, error)
}

// RunStore holds experiment runs.
type RunStore interface {
	// CreateRun stores a run and returns it complete. If the project has a run of that id already,
	// that one is updated: clients choose ids, and send again what may not have arrived.
	CreateRun(ctx context.Context, projectID int64, u run.Update) (r run.Run, err error)
	// UpdateRun changes a run and returns the updated one. fault.NotFound if there is none,
	// fault.Invalid if it would break a rule.
	UpdateRun(ctx context.Context, projectID int64, u run.Update) (r run.Run, err error)
	// Run returns a run. fault.NotFound if there is none.
	Run(ctx context.Context, projectID int64, id string) (run.Run, error)
	// DeleteRun deletes a run; its sessions stay. fault.NotFound if there is none.
	DeleteRun(ctx context.Context, projectID int64, id string) error
	// FindRuns returns a page of the runs that match, the number of all that match, and of all there
	// are.
	FindRuns(ctx context.Context, projectID int64, q run.Query) (list []run.Run, total, unfiltered int, err error)
	// FieldIndex lists which keys the events of a project have, by type and name of event, and the
	// datasets that they and the runs of that time name, sorted. Of q, only From, To, RunID and
	// InRuns count. It knows days: a key is listed if it was first seen before the range ends and
	// last seen after it begins. When the last event that had it is deleted, it goes in the background.
	//
	// Of a run, it lists the keys of the events that named the run, or whose session did, when they
	// were stored. For other kinds of events in the sessions that the run lists, it is the keys that
	// such events have in the project.
	FieldIndex(ctx context.Context, projectID int64, q query.Search) (*event.FieldIndex, error)
	// RunPairs pairs the events of two runs that are about the same datapoint and of the same kind,
	// the first with the first and so on, in the order of the new run, a page of the pairs, and
	// counts all. Without a name and a type, the session events are paired.
	RunPairs(
		ctx context.Context,
		projectID int64,
		newRun, oldRun *run.Run,
		q run.PairQuery,
		filters []query.Filter,
	) (pairs []run.Pair, total int, err error)
	// RunScores returns what the events of a run carry that match q's filters and date range: scores
	// and sessions of those events alone, Kinds of all.
	RunScores(ctx context.Context, projectID int64, r *run.Run, q query.Search) (*run.Scores, error)
}

// ToolStore holds tools.
type ToolStore interface {
	// CreateTool stores a tool that is complete and valid, and returns its id.
	CreateTool(ctx context.Context, projectID int64, t tool.Tool) (id string, err error)
	// FindTools lists the ids of all tools of a project, oldest first, a page of them, and counts all.
	FindTools(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	// LoadTools reads tools in the order of ids. Those that are gone are left out.
	LoadTools(ctx context.Context, projectID int64, ids []string) ([]tool.Tool, error)
	// UpdateTool changes a tool and returns the updated one. fault.NotFound if there is none,
	// fault.Invalid if it would break a rule.
	UpdateTool(ctx context.Context, projectID int64, u tool.Update) (t tool.Tool, err error)
	// DeleteTool deletes a tool. fault.NotFound if there is none.
	DeleteTool(ctx context.Context, projectID int64, id string) error
}

// Defaults of the audit log.
const (
	DefaultAuditRetention  = resource.DefaultAuditRetention
	DefaultAuditMaxEntries = resource.DefaultAuditMaxEntries
)
