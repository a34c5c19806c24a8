// Package online runs metrics over events as they come, from a durable queue in the store:
//
//   - The feeder looks at the events that commits have noted, decides which metrics are to score
//     which of them, and asks for those evaluations (feed.go, match.go).
//   - Workers claim evaluations of one version of a metric, have its engine score their events, and
//     store what came of it (work.go).
//
// All that must survive is in the store. A process that dies leaves claims, which end with their
// lease; another one, or the next, goes on with them.
package online

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	defined "github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
)

// Store is where events, metrics and the queue are. Its claims are leases: who does not answer in
// time has lost them.
type Store interface {
	// Ingesting reports whether events are being stored right now.
	Ingesting() bool
	// OutboxProjects returns the projects that have rows in the outbox.
	OutboxProjects(ctx context.Context) ([]int64, error)
	// ClaimOutbox claims a project's oldest rows of the outbox, with about limit events.
	ClaimOutbox(ctx context.Context, projectID int64, limit int, lease time.Duration) ([]evaluation.OutboxRow, error)
	// ClaimDelayed takes at most limit of the events that were put off and are due.
	ClaimDelayed(ctx context.Context, limit int, lease time.Duration) ([]evaluation.Delayed, error)
	// EnqueueEvaluations asks for evaluations, and answers what was taken.
	EnqueueEvaluations(ctx context.Context, a evaluation.Enqueue) (n int64, err error)

	// StepBackfills has each backfill that runs ask for its next evaluations.
	StepBackfills(ctx context.Context) (busy bool, err error)

	// EvaluationQueue lists what waits, of all projects.
	EvaluationQueue(ctx context.Context) ([]evaluation.Group, error)
	// ClaimEvaluations takes at most limit that are due, of events that wait for none of the
	// metrics after.
	ClaimEvaluations(ctx context.Context, g evaluation.Group, limit int, lease time.Duration, after []string) ([]evaluation.Job, error)
	// FinishEvaluations stores outcomes, and scores in their events under the metric's name.
	FinishEvaluations(ctx context.Context, projectID int64, metricName string, outcomes []evaluation.Outcome) error
	// DropWaiting deletes what waits of a group.
	DropWaiting(ctx context.Context, g evaluation.Group) error

	// ProjectByID returns a project. fault.NotFound if there is none.
	ProjectByID(ctx context.Context, id int64) (project.Project, error)
	// OnlineMetrics reads the metrics of a project that run over new events.
	OnlineMetrics(ctx context.Context, projectID int64) ([]defined.Metric, error)
	// LoadMetrics reads metrics; those that are gone are left out.
	LoadMetrics(ctx context.Context, projectID int64, ids []string) ([]defined.Metric, error)
	// LoadMetricVersions reads versions of a metric by their names; none, if the metric is gone.
	LoadMetricVersions(ctx context.Context, projectID int64, id string, names []string) ([]defined.Version, error)
	// Session returns all events of a session. fault.NotFound if there is none.
	Session(ctx context.Context, projectID int64, sessionID uuid.UUID) (*event.Set, error)
	// EventsByID returns the events that exist, in the order of ids.
	EventsByID(ctx context.Context, projectID int64, ids []uuid.UUID) (*event.Set, error)
}

// Evaluator runs metrics.
type Evaluator interface {
	// Run scores the task's events: a result for each, in their order.
	Run(ctx context.Context, task evaluate.Task) ([]evaluation.Result, error)
}

// Options of a Runner. All but Logger, Meter and Now must be set.
type Options struct {
	// Workers is how many batches are evaluated at the same time.
	Workers int
	// Share says how many batches of a project may be evaluated at the same time. Nil: all.
	Share func(ctx context.Context, projectID int64) (int, error)
	// Batch is how many events of one version of a metric an engine gets at once, at most.
	Batch int
	// Timeout is how long an engine may take for a batch.
	Timeout time.Duration
	// Attempts is how often an engine that breaks is asked.
	Attempts int
	// Backoff is how long the second attempt waits; each further one waits twice as long, up to
	// an hour.
	Backoff time.Duration
	// Queue is how many evaluations of a project may wait before its rows of the outbox wait instead.
	Queue int
	// SessionIdle is how long nothing must come for a session before it is evaluated.
	SessionIdle time.Duration
	// Unfinished is how long an event that has not ended is waited for.
	Unfinished time.Duration
	// Poll is how often an idle queue is looked at.
	Poll time.Duration

	Logger *zap.Logger
	Meter  metric.Meter
	Now    func() time.Time
}

// Runner runs metrics over new events from Start to Stop.
type Runner struct {
	options   Options
	store     Store
	evaluator Evaluator
	telemetry *telemetry
	queue     *groupQueue

	cancel context.CancelFunc
	work   sync.WaitGroup
}

// New returns a runner. It does nothing before Start.
func New(store Store, evaluator Evaluator, o Options) (*Runner, error) {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	t, err := newTelemetry(o.Meter)
	if err != nil {
		return nil, err
	}
	r := &Runner{options: o, store: store, evaluator: evaluator, telemetry: t}
	r.queue = newGroupQueue(store, t, o.Share)
	return r, nil
}

// Start starts the workers.
func (r *Runner) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.work.Go(func() {
		r.repeat(ctx, "look at new events", nil, r.throttle(1, r.feed))
	})
	r.work.Go(func() {
		r.repeat(ctx, "ask for evaluations of past events", nil, r.throttle(1, r.backfill))
	})
	for range r.options.Workers {
		r.work.Go(func() {
			r.repeat(ctx, "evaluate", r.queue.signal, r.throttle(r.options.Workers, r.workOnce))
		})
	}
}

// Stop cancels what runs, which whoever comes next will do again, and waits until it has ended.
func (r *Runner) Stop() {
	if r.cancel != nil {
		r.cancel()
	}
	r.work.Wait()
}

// Estimates of the work that a step costs the machine. Elapsed time does not measure it during
// ingestion: most of a step is then spent waiting for the store, or for a model's answer.
const (
	eventWork = 200 * time.Microsecond // to look at an event, or to store a score in it
	judgeWork = time.Millisecond       // to ask a model about one and to record the answer
	stepWork  = 100 * time.Millisecond // to find the next events of a backfill
)

// While events are being ingested, a worker sleeps backoffFactor times as long as it worked, at most
// maxPause, so that all workers together take only a small part of the machine from ingestion.
const (
	backoffFactor = 25
	maxPause      = 10 * time.Minute
	quiet         = 5 // looks at the store, a tenth of a second apart, that must find it idle to end a pause
)

// dueIn returns the time after a pause from now, as the store keeps times.
func (r *Runner) dueIn(pause time.Duration) int64 {
	return r.options.Now().Add(pause).UnixMilli()
}

// throttle returns f with a pause after its work while events are being ingested. n is how many of f
// run at the same time.
func (r *Runner) throttle(n int, f func(context.Context) (time.Duration, error)) func(context.Context) (busy bool, err error) {
	return func(ctx context.Context) (bool, error) {
		worked, err := f(ctx)
		if worked > 0 && r.store.Ingesting() {
			r.pause(ctx, min(worked*time.Duration(backoffFactor*n), maxPause))
		}
		return worked > 0, err
	}
}

// pause waits for d, or until ingestion stops.
func (r *Runner) pause(ctx context.Context, d time.Duration) {
	end := time.NewTimer(d)
	defer end.Stop()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for idle := 0; idle < quiet; {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			return
		case <-look.C:
			if idle++; r.store.Ingesting() {
				idle = 0
			}
		}
	}
}

// backfill advances every backfill by a step.
func (r *Runner) backfill(ctx context.Context) (worked time.Duration, err error) {
	busy, err := r.store.StepBackfills(ctx)
	if busy {
		r.queue.wake()
		worked = stepWork
	}
	return worked, err
}

// repeat calls f until ctx ends: again at once if it had something to do, else after Poll or when
// woken.
func (r *Runner) repeat(ctx context.Context, doing string, wake <-chan struct{}, f func(context.Context) (busy bool, err error)) {
	for ctx.Err() == nil {
		busy, err := f(ctx)
		if err != nil && ctx.Err() == nil {
			r.options.Logger.Warn(doing, zap.Error(err))
			busy = false
		}
		if busy {
			continue
		}
		pause := time.NewTimer(r.options.Poll)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-pause.C:
		}
		pause.Stop()
	}
}
