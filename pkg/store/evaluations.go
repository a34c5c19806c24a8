package store

import (
	"context"
	"time"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/status"
)

// EvaluationStore holds evaluations, backfills, and the outbox of events that wait to be evaluated.
type EvaluationStore interface {
	// EvaluationQueue lists what waits, of all projects.
	EvaluationQueue(ctx context.Context) (groups []evaluation.Group, err error)
	// ClaimEvaluations takes at most limit of a group that are due, longest due first, for nobody else
	// to take for lease; but none of an event that waits for one of the metrics after. FinishEvaluations
	// ends the claim.
	ClaimEvaluations(
		ctx context.Context,
		g evaluation.Group,
		limit int,
		lease time.Duration,
		after []string,
	) (jobs []evaluation.Job, err error)
	// FinishEvaluations stores what became of claimed evaluations of the metric with this name; each
	// score goes into its event in the same transaction. An outcome whose claim has ended since
	// changes nothing, so that a score is written once. The event of one that is dropped may be gone.
	FinishEvaluations(ctx context.Context, projectID int64, metricName string, outcomes []evaluation.Outcome) (err error)
	// DropWaiting deletes those of a group that wait: their metric is gone, or runs no longer.
	DropWaiting(ctx context.Context, g evaluation.Group) error
	// See httpapi.ServerStatus.
	EvaluationBacklog(ctx context.Context, projectID int64) (status.Evaluations, error)
	// See httpapi.Evaluations.
	FindEvaluations(ctx context.Context, projectID int64, q evaluation.Query) (list []evaluation.Evaluation, more bool, err error)
	RetryEvaluations(ctx context.Context, projectID int64, q evaluation.Query) (n int64, err error)
	// See httpapi.MetricReports.
	LabelledScores(ctx context.Context, projectID int64, q query.LabelSearch) (list []evaluation.Labelled, more bool, err error)
	CountEvaluations(
		ctx context.Context,
		projectID int64,
		metricID string,
		from, to *float64,
	) (online, backfills evaluation.Counts, err error)
	// See httpapi.Backfills.
	CreateBackfill(ctx context.Context, projectID int64, b evaluation.Backfill) (evaluation.Backfill, error)
	FindBackfills(ctx context.Context, projectID int64, metricID string, limit, page int) (ids []string, total int, err error)
	LoadBackfills(ctx context.Context, projectID int64, ids []string) (list []evaluation.Backfill, err error)
	MoveBackfill(ctx context.Context, projectID int64, metricID, id string, to evaluation.BackfillState) (b evaluation.Backfill, err error)
	// StepBackfills has each backfill that runs, of all projects, ask for its next evaluations, unless
	// enough of it waits, and ends those that have nothing left. busy reports whether any did.
	StepBackfills(ctx context.Context) (busy bool, err error)
	// ClaimOutbox claims the oldest outbox rows of a project, with about limit events, for the time of
	// lease. EnqueueEvaluations deletes them.
	ClaimOutbox(ctx context.Context, projectID int64, limit int, lease time.Duration) (list []evaluation.OutboxRow, err error)
	// OutboxProjects returns the projects that have rows in the outbox.
	OutboxProjects(ctx context.Context) (ids []int64, err error)
	// ClaimDelayed claims at most limit events that are due, of all projects, for the time of lease; Due of
	// each is when that ends. EnqueueEvaluations deletes them.
	ClaimDelayed(ctx context.Context, limit int, lease time.Duration) (list []evaluation.Delayed, err error)
	// EnqueueEvaluations creates the evaluations asked for that do not exist yet, delays what is to be looked
	// at later, and deletes the claimed rows. That comes last, in one transaction with the last of the
	// evaluations, so that what broke off can be done again. It returns the number of evaluations created.
	EnqueueEvaluations(ctx context.Context, a evaluation.Enqueue) (n int64, err error)
}
