package evalqueue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/resource"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Table evaluation is the queue and its results in one. A row is made when an evaluation is asked for, is claimed and retried
// in place, and becomes the result. So its unique key (project, event, metric, version) holds for both: to ask
// again for what waits, is being worked on or has a result adds nothing.
//
// Who writes it: the feeder and backfills insert rows; workers claim and finish them; a backfill that is
// paused, resumed or cancelled takes the rows it asked for along; a retry makes failed ones wait anew; and the deletion of an
// event or a project deletes what belongs to it. Claims are writes of the writer for all that is not telemetry, so that
// ingestion into PostgreSQL does not wait for them; results are writes of the writer of their event's session.

// evaluationSlice is how many results one transaction stores, and how many evaluations one
// changes, so that ingestion waits little for it.
const evaluationSlice = 50

// evaluationPage is how many bytes of scores and explanations a page has, but for its last one.
const evaluationPage = 4 << 20

// evaluationColumns are what a new evaluation is inserted with.
var evaluationColumns = []string{
	"project_id",
	"id",
	"metric_id",
	"version",
	"event_id",
	"backfill_id",
	"state",
	"attempts",
	"due_ms",
	"created_ms",
	"finished_ms",
	"failure",
	"cost",
	"latency_ms",
	"explanation",
}

// evaluationRows returns the rows of new evaluations, in the order of evaluationColumns: they wait, and are due at once.
// Their ids grow, which lists rely on: the newest come first by id (FindEvaluations).
// backfill is the id of the backfill that asks for them, empty for new events.
func (s *Store) evaluationRows(project int64, requests []evaluation.Request, backfill string, now time.Time) (rows [][]any) {
	for _, r := range requests {
		rows = append(rows, []any{
			project,
			resource.NewDocumentID(now),
			r.MetricID,
			r.Version,
			s.db.ID(r.EventID),
			backfill,
			stateCode(evaluation.Waiting),
			0,
			now.UnixMilli(),
			now.UnixMilli(),
			0,
			"",
			0.0,
			0.0,
			"",
		})
	}
	return rows
}

// requestEvaluations is insertRequests in a transaction of its own. Each run of the transaction sets n, so that a retry counts nothing twice.
func (s *Store) requestEvaluations(ctx context.Context, project int64, requests []evaluation.Request, now time.Time) (n int64, err error) {
	err = s.events.Change(ctx, project, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) (err error) {
		n, err = s.insertRequests(ctx, tx, project, requests, now)
		return err
	})
	return n, sqldb.WrapError(s.db, err, "request evaluations")
}

// insertRequests inserts the evaluations that new events ask for, if they are not there yet. One that still waits for a backfill no longer
// belongs to the backfill: it runs also while that is paused, and stays if that is cancelled. n counts both.
func (s *Store) insertRequests(ctx context.Context, tx *events.Commit, project int64, requests []evaluation.Request, now time.Time) (
	n int64, err error) {
	n, err = events.InsertRows(ctx, tx, "evaluation", evaluationColumns, s.evaluationRows(project, requests, "", now))
	if err != nil || n == int64(len(requests)) {
		return n, err
	}
	taken, err := s.takeFromBackfills(ctx, tx, project, requests, now)
	return n + taken, err
}

// stateCode returns the number under which a state is stored. Statements below spell those numbers: 0 waiting, 1 paused,
// 2 done, 3 failed, 4 dead. From 3 on there is no score, and nothing happens until somebody asks for a retry.
func stateCode(state evaluation.State) int { return slices.Index(evaluation.States(), state) }

// EvaluationQueue lists what waits, of all projects. What a worker has claimed still waits, but is not due before its lease ends:
// Waiting counts it and Due does not. What the statement costs grows with all that waits.
func (s *Store) EvaluationQueue(ctx context.Context) (groups []evaluation.Group, err error) {
	err = sqldb.Each(ctx, s.db, `SELECT project_id, metric_id, version, backfill_id,
			count(*), CAST(sum(CASE WHEN due_ms <= $1 THEN 1 ELSE 0 END) AS bigint)
		FROM evaluation
		WHERE state = 0
		GROUP BY project_id, metric_id, version, backfill_id
		ORDER BY project_id, metric_id, version, backfill_id`,
		[]any{s.options.Now().UnixMilli()}, func(scan func(...any) error) error {
			var g evaluation.Group
			err := scan(&g.Project, &g.MetricID, &g.Version, &g.Backfill, &g.Waiting, &g.Due)
			groups = append(groups, g)
			return err
		})
	return groups, sqldb.WrapError(s.db, err, "read the queue of evaluations")
}

// ClaimEvaluations takes at most limit of a group that are due, longest due first, for nobody else
// to take for lease; but none of an event that waits for one of the metrics after.
//
// A claim is nothing but a later due time and one more attempt: if its holder ends, the evaluation is due again after the
// lease, and an outcome that comes after the next claim names an attempt that is no longer the last one, and is not
// stored. One that comes late, but before anybody has claimed the evaluation again, is still taken.
//
// Rows that another server is claiming at this moment are passed over (PostgreSQL); on SQLite there is one writer, and none
// are. Among the metrics after, what is claimed counts as waiting: its score is not there yet. What is paused
// does not, or an evaluation would wait for as long as somebody else's backfill does.
func (s *Store) ClaimEvaluations(ctx context.Context, g evaluation.Group, limit int, lease time.Duration,
	after []string) (jobs []evaluation.Job, err error) {
	now := s.options.Now()
	err = s.events.Change(ctx, g.Project, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) error {
		jobs = nil
		var ids []string
		var first string
		var others []any
		if len(after) > 0 {
			var cond string
			cond, others = tx.AnyText("o.metric_id", 7, after)
			first = `
				AND NOT EXISTS (
					SELECT 1
					FROM evaluation o
					WHERE o.project_id = $1 AND o.event_id = q.event_id AND o.state = 0 AND ` + cond + `)`
		}
		err := sqldb.Each(ctx, tx, `SELECT id, event_id, attempts + 1
			FROM evaluation q
			WHERE project_id = $1 AND metric_id = $2 AND version = $3 AND backfill_id = $4
				AND state = 0 AND due_ms <= $5`+first+`
			ORDER BY due_ms LIMIT $6`+tx.SkipLocked(),
			append([]any{g.Project, g.MetricID, g.Version, g.Backfill, now.UnixMilli(), limit}, others...), func(scan func(...any) error) error {
				var j evaluation.Job
				err := scan(&j.ID, sqldb.ScanID(&j.EventID), &j.Attempts)
				jobs, ids = append(jobs, j), append(ids, j.ID)
				return err
			})
		if err != nil || len(ids) == 0 {
			return err
		}
		cond, args := tx.AnyText("id", 3, ids)
		_, err = tx.Exec(ctx, `UPDATE evaluation SET attempts = attempts + 1, due_ms = $2 WHERE project_id = $1 AND `+cond,
			append([]any{g.Project, now.Add(lease).UnixMilli()}, args...)...)
		return err
	})
	return jobs, sqldb.WrapError(s.db, err, "claim evaluations")
}

// FinishEvaluations stores what became of claimed evaluations of the metric with this name; each
// score goes into its event in the same transaction. Scores are stored in slices; one that failed does not take back those
// before it, whose evaluations are finished. Those of the failed slice and after it come back when their claims end, and are
// scored once more.
//
// A slice is a request to the writer of its first event's session. Its other events may belong to other sessions, whose
// writers change the same rows. The order of event ids makes it rare that two slices wait for each other in a circle; where
// they do all the same, PostgreSQL ends one after a quarter of a second, and it is run again.
func (s *Store) FinishEvaluations(ctx context.Context, projectID int64, metricName string, outcomes []evaluation.Outcome) (err error) {
	outcomes = slices.Clone(outcomes)
	for i := range outcomes {
		storable(&outcomes[i])
	}
	// One order of locks for all writers.
	slices.SortFunc(outcomes, func(a, b evaluation.Outcome) int { return bytes.Compare(a.EventID[:], b.EventID[:]) })
	for slice := range slices.Chunk(outcomes, evaluationSlice) {
		size := 0
		for i := range slice {
			size += len(slice[i].Score) + len(slice[i].Explanation)
		}
		err := s.events.Change(ctx, projectID, slice[0].EventID, int64(size), func(ctx context.Context, tx *events.Commit) error {
			for i := range slice {
				if err := s.finishEvaluation(ctx, tx, projectID, metricName, &slice[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return sqldb.WrapError(s.db, err, "store results")
		}
	}
	return nil
}

// storable replaces in the texts of an outcome what no store can hold, as in events: an evaluator may have made texts of any bytes.
func storable(o *evaluation.Outcome) {
	o.Explanation, _ = rawjson.ValidText(o.Explanation)
	if score, _, err := rawjson.Clean(o.Score); err == nil {
		o.Score = score
	}
}

// finishEvaluation stores one outcome, if the attempt that it is of is still the evaluation's last one:
//
//  1. The evaluation's row is set. Nothing else happens if it is not done, or has no score.
//  2. A score of an older version of the metric gives way to one that was asked for later (Outdated).
//  3. The score and its explanation become metrics of the event (writeScore).
//
// "Still the last one" is decided by the number of attempts. They count anew after a retry, and when a backfill is resumed, so
// a holder from before may meet its number again. Its outcome then ends the claim of another: it is of the same version of
// the metric and of the same event, and the score is written once all the same.
func (s *Store) finishEvaluation(ctx context.Context, tx *events.Commit, project int64, name string, o *evaluation.Outcome) error {
	const claimed = ` WHERE project_id = $1 AND id = $2 AND attempts = $3 AND state = 0`
	key := []any{project, o.ID, o.Attempts}
	if o.Drop {
		_, err := tx.Exec(ctx, `DELETE FROM evaluation`+claimed, key...)
		return err
	}
	finished := s.options.Now().UnixMilli()
	if o.State == evaluation.Waiting { // to be tried again at o.Due
		finished = 0
	}
	var passed any // NULL: the score says nothing of a threshold
	if o.Passed != nil {
		passed = sqldb.BoolInt(*o.Passed)
	}
	n, err := tx.Exec(ctx, `
		UPDATE evaluation SET
			state = $4,
			due_ms = $5,
			finished_ms = $6,
			failure = $7,
			passed = $8,
			cost = cost + $9,
			latency_ms = $10,
			score = $11,
			explanation = $12,
			attempts = attempts - $13,
			name = $14`+claimed,
		append(key,
			stateCode(o.State),
			o.Due,
			finished,
			o.Failure,
			passed,
			o.Cost,
			o.LatencyMS,
			sqldb.Text(o.Score),
			o.Explanation,
			sqldb.BoolInt(o.Skipped),
			name,
		)...)
	if err != nil || n == 0 || o.State != evaluation.Done || o.Score == nil {
		return err
	}
	if o.Outdated {
		// What was asked for since goes before it, whichever comes to its end first. The row keeps this score
		// as its result; only the event does not get it.
		var newer int
		found, err := sqldb.One(ctx, tx, `SELECT 1
			FROM evaluation o
			JOIN evaluation q ON q.project_id = o.project_id AND q.event_id = o.event_id AND q.metric_id = o.metric_id
			WHERE q.project_id = $1 AND q.id = $2
				AND o.id <> q.id AND `+askedAt("o")+` >= `+askedAt("q")+`
				AND o.state = 2 AND o.score IS NOT NULL
			LIMIT 1`, []any{project, o.ID}, &newer)
		if err != nil || found {
			return err
		}
	}
	err = s.writeScore(ctx, tx, project, name, o)
	if fault.IsNotFound(err) {
		// Deleted while the engine looked at it.
		_, err = tx.Exec(ctx, `DELETE FROM evaluation WHERE project_id = $1 AND id = $2`, project, o.ID)
	}
	return err
}

// askedAt returns when a result was asked for, or, where its score was given back to its event (restoreScores), when that was. It stands in
// due_ms, which results have no other use for.
func askedAt(table string) string {
	return `(CASE WHEN ` + table + `.due_ms > ` + table + `.created_ms THEN ` + table + `.due_ms ELSE ` + table + `.created_ms END)`
}

// writeScore makes a score and its explanation metrics of its event. An explanation of the score before is taken off. fault.NotFound if there
// is no such event.
//
// The event is not listed for evaluation again because of it (Muted): metrics would evaluate each other's scores forever.
func (s *Store) writeScore(ctx context.Context, tx *events.Commit, project int64, name string, o *evaluation.Outcome) error {
	old, err := s.events.Find(ctx, tx, project, o.EventID)
	if err != nil {
		return err
	}
	var b rawjson.Builder
	b.Raw(name, o.Score)
	if o.Explanation != "" {
		b.String(name+events.ExplanationSuffix, o.Explanation)
	} else if rawjson.Get(old.Metrics, name+events.ExplanationSuffix) != nil {
		b.Raw(name+events.ExplanationSuffix, json.RawMessage("null")) // it explains another score
	}
	now := old.Event
	now.Apply(&event.Update{EventID: o.EventID, Metrics: b.Bytes()})
	tx.Outbox.Muted = true // a score is no news to evaluate
	defer func() { tx.Outbox.Muted = false }()
	return s.events.Rewrite(ctx, tx, project, old, &now)
}

// DropWaiting deletes those of a group that wait: their metric is gone, or runs no longer. A worker that has claimed one of them
// finds no row for its outcome, and nothing is stored. Results and what is paused stay.
func (s *Store) DropWaiting(ctx context.Context, g evaluation.Group) error {
	_, err := s.inSlices(ctx, g.Project, func(ctx context.Context, tx *events.Commit) (int64, error) {
		return tx.Exec(ctx, `DELETE FROM evaluation WHERE project_id = $1 AND state = 0 AND id IN (SELECT id FROM evaluation
			WHERE project_id = $1 AND metric_id = $2 AND version = $3 AND backfill_id = $4 AND state = 0 LIMIT `+fmt.Sprint(evaluationSlice)+`)`,
			g.Project, g.MetricID, g.Version, g.Backfill)
	})
	return err
}

// inSlices runs f, which changes at most evaluationSlice rows and counts them, until it changes none.
// It returns the number of all, with an error that of the slices before it, which stay.
//
// It ends because f changes rows in such a way that they do not meet its condition any more. Rows that others add meanwhile
// are changed, too. A slice that is not full need not be the last one: a row that somebody else changes at the same moment is left out.
func (s *Store) inSlices(
	ctx context.Context,
	project int64,
	f func(context.Context, *events.Commit) (int64, error),
) (total int64, err error) {
	for n := int64(1); n > 0; {
		err := s.events.Change(ctx, project, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) (err error) {
			n, err = f(ctx, tx)
			return err
		})
		if err != nil {
			return total, sqldb.WrapError(s.db, err, "change evaluations")
		}
		total += n
	}
	return total, nil
}

// evaluationWhere compiles a query's conditions; the project is $1, and the arguments that follow are for the caller to number
// from len(args)+1 on. Columns are not qualified: a statement that joins another table must not use it.
func (s *Store) evaluationWhere(project int64, q evaluation.Query) (cond string, args []any) {
	args = []any{project}
	parts := []string{"project_id = $1"}
	and := func(cond string, arg any) {
		args = append(args, arg)
		parts = append(parts, fmt.Sprintf(cond, len(args)))
	}
	if q.ID != "" {
		and("id = $%d", q.ID)
	}
	if q.EventID != uuid.Nil {
		and("event_id = $%d", s.db.ID(q.EventID))
	}
	if q.MetricID != "" {
		and("metric_id = $%d", q.MetricID)
	}
	if q.Backfill != "" {
		and("backfill_id = $%d", q.Backfill)
	}
	if q.State != "" {
		and("state = $%d", stateCode(q.State))
	}
	if q.Failure != "" {
		and("failure = $%d", q.Failure)
	}
	if q.Before != "" {
		and("id < $%d", q.Before)
	}
	return strings.Join(parts, " AND "), args
}

// errPageFull ends the reading of a page before the database has no more rows.
var errPageFull = errors.New("the page is full")

// FindEvaluations lists evaluations that match, newest first: at most q.Limit, and fewer where they
// are large. more reports whether there are others.
//
// Pages go on by q.Before, the id of the last one, and not by a number: the list grows at its beginning while somebody
// reads it, and a page that ends early for its size could not be numbered. One row more than the limit is asked for, to know
// whether there are more without counting. Explanations may be long texts, hence the bound in bytes.
func (s *Store) FindEvaluations(ctx context.Context, projectID int64, q evaluation.Query) (
	list []evaluation.Evaluation, more bool, err error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, false, err
	}
	defer end()
	size := 0
	cond, args := s.evaluationWhere(projectID, q)
	err = sqldb.Each(ctx, s.db, `
		SELECT
			id,
			metric_id,
			version,
			event_id,
			backfill_id,
			state,
			attempts,
			due_ms,
			created_ms,
			finished_ms,
			failure,
			passed,
			cost,
			latency_ms,
			score,
			explanation
		FROM evaluation
		WHERE `+cond+fmt.Sprintf(` ORDER BY id DESC LIMIT $%d`, len(args)+1), append(args, q.Limit+1), func(scan func(...any) error) error {
		var e evaluation.Evaluation
		var state int
		var passed *int
		var score *string
		err := scan(
			&e.ID,
			&e.MetricID,
			&e.Version,
			sqldb.ScanID(&e.EventID),
			&e.Backfill,
			&state,
			&e.Attempts,
			&e.Due,
			&e.Created,
			&e.Finished,
			&e.Failure,
			&passed,
			&e.Cost,
			&e.LatencyMS,
			&score,
			&e.Explanation,
		)
		if err != nil {
			return err
		}
		e.State = evaluation.States()[state]
		if passed != nil {
			holds := *passed == 1
			e.Passed = &holds
		}
		if score != nil {
			e.Score = json.RawMessage(*score)
		}
		if len(list) == q.Limit || size > evaluationPage {
			more = true
			return errPageFull
		}
		size += len(e.Score) + len(e.Explanation)
		list = append(list, e)
		return nil
	})
	if errors.Is(err, errPageFull) {
		err = nil
	}
	return list, more, sqldb.WrapError(s.db, err, "find evaluations")
}

// RetryEvaluations puts failed and dead evaluations that match back into the queue, and counts them. It leaves out those of deleted metrics, and
// of metrics that no longer run over new events unless a backfill asked for them: nobody would claim them.
//
// Their attempts count from 0 again, as many as the first time. The failure is emptied and the explanation of it stays
// until the next outcome. The slices are found by a state that the change ends, so none is found twice; the arguments
// are capped so that each run appends to a copy of its own.
func (s *Store) RetryEvaluations(ctx context.Context, projectID int64, q evaluation.Query) (n int64, err error) {
	cond, args := s.evaluationWhere(projectID, q)
	now := s.options.Now().UnixMilli()
	at := len(args)
	return s.inSlices(ctx, projectID, func(ctx context.Context, tx *events.Commit) (int64, error) {
		return tx.Exec(ctx, `UPDATE evaluation
			SET state = 0, attempts = 0, finished_ms = 0, failure = '', due_ms = `+fmt.Sprintf("$%d", at+1)+`
			WHERE project_id = $1 AND state >= `+fmt.Sprint(stateCode(evaluation.Failed))+` AND id IN (SELECT id FROM evaluation WHERE `+cond+
			` AND state >= `+fmt.Sprint(stateCode(evaluation.Failed))+`
					AND EXISTS (SELECT 1 FROM metric m WHERE m.project_id = $1 AND m.id = metric_id AND (backfill_id <> '' OR m.online = 1))
				LIMIT `+fmt.Sprint(evaluationSlice)+`)`, append(args[:at:at], now)...)
	})
}
