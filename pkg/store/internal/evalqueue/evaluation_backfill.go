package evalqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/resource"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// A backfill's row holds what it is about and how far it has come; what it has asked for are rows
// of evaluation with its id. It walks through its events from the newest to the oldest and keeps only as many of them
// waiting as the workers need, so that a backfill over millions of events is a small row and a few hundred others that wait.
//
// Every server with evaluators steps all backfills (StepBackfills). The version of a backfill's row settles who made a step:
// whoever finds that it has changed since it looked leaves the step to the other.
//
// An event that is stored after the backfill has passed its start time is not asked for: that is what metrics which run over new
// events are for.
var backfills = resource.Documents{Table: "backfill", Noun: "backfill", Columns: []string{"metric_id", "state"}}

// CreateBackfill stores a backfill, which runs from then on, and returns it. fault.Conflict if evaluation.MaxBackfills of the
// project have not ended.
func (s *Store) CreateBackfill(ctx context.Context, projectID int64, b evaluation.Backfill) (evaluation.Backfill, error) {
	now := s.options.Now()
	b.ID, b.Created, b.State = resource.NewDocumentID(now), now.UnixMilli(), evaluation.BackfillRunning
	doc, err := json.Marshal(&b)
	if err != nil {
		return b, fmt.Errorf("encode backfill: %w", err)
	}
	err = s.resources.ChangeDocs(ctx, len(doc), "create backfill", func(ctx context.Context, tx *events.Commit) error {
		if err := resource.LockBound(ctx, tx, projectID, backfills); err != nil {
			return err
		}
		var open int
		// Without those of metrics that are deleted: nobody can find one that is paused, and end it.
		if _, err := sqldb.One(ctx, tx, `SELECT count(*)
			FROM backfill
			WHERE project_id = $1 AND state IN ('running', 'paused')
				AND EXISTS (SELECT 1 FROM metric WHERE metric.project_id = $1 AND metric.id = backfill.metric_id)`, []any{projectID}, &open); err != nil {
			return err
		}
		if open >= evaluation.MaxBackfills {
			return fault.New(fault.Conflict, "%d backfills of this project have not ended; no more may run", open)
		}
		return backfills.Insert(
			ctx,
			tx,
			projectID,
			resource.Document{ID: b.ID, Version: 1, Created: b.Created, Doc: doc},
			b.MetricID,
			string(b.State),
		)
	})
	return b, err
}

// FindBackfills lists the ids of a metric's backfills, oldest first, a page of them, and counts all.
func (s *Store) FindBackfills(ctx context.Context, projectID int64, metricID string, limit, page int) (ids []string, total int, err error) {
	ids, total, err = backfills.Find(ctx, s.db, projectID, "metric_id = $2", []any{metricID}, limit, page)
	return ids, total, sqldb.WrapError(s.db, err, "find backfills")
}

// LoadBackfills reads backfills with their progress, in the order of ids.
func (s *Store) LoadBackfills(ctx context.Context, projectID int64, ids []string) (list []evaluation.Backfill, err error) {
	for _, id := range ids {
		b, _, err := s.readBackfill(ctx, s.db, projectID, id, "")
		if fault.IsNotFound(err) {
			continue
		}
		if err == nil {
			b.Progress, err = s.progress(ctx, s.db, projectID, id)
		}
		if err != nil {
			return nil, sqldb.WrapError(s.db, err, "read backfill")
		}
		list = append(list, b)
	}
	return list, nil
}

// readBackfill reads a backfill and the row it stands in, whose version writeBackfill goes by. end is what the statement ends
// with, such as ForUpdate. Metric and state are columns and not part of the text, since statements look for them.
func (s *Store) readBackfill(
	ctx context.Context,
	c sqldb.Conn,
	project int64,
	id, end string,
) (b evaluation.Backfill, d resource.Document, err error) {
	var doc string
	d.ID = id
	ok, err := sqldb.One(ctx, c, `SELECT version, created_ms, updated_ms, doc, metric_id, state
		FROM backfill
		WHERE project_id = $1 AND id = $2`+end, []any{project, id},
		&d.Version, &d.Created, &d.Updated, &doc, &b.MetricID, (*string)(&b.State))
	if err == nil && !ok {
		err = backfills.Missing(id)
	}
	if err == nil {
		err = json.Unmarshal([]byte(doc), &b)
	}
	b.ID, b.Created, b.Updated = id, d.Created, d.Updated
	return b, d, err
}

// progress counts the evaluations that a backfill has asked for by their state. It is never stored: workers would have to write
// the backfill's row with each result, and wait for one another there.
func (s *Store) progress(ctx context.Context, c sqldb.Conn, project int64, id string) (p evaluation.Progress, err error) {
	return countAsked(ctx, c, project, id, "")
}

// unended is progress without what has a result. A step goes by it: what that costs does not grow with all that the backfill has done.
func (s *Store) unended(ctx context.Context, c sqldb.Conn, project int64, id string) (p evaluation.Progress, err error) {
	return countAsked(ctx, c, project, id, " AND state < 2")
}

func countAsked(ctx context.Context, c sqldb.Conn, project int64, id, cond string) (p evaluation.Progress, err error) {
	counts := []*int{&p.Waiting, &p.Paused, &p.Done, &p.Failed, &p.Dead}
	err = sqldb.Each(ctx, c, `SELECT state, count(*)
		FROM evaluation
		WHERE project_id = $1 AND backfill_id = $2 AND backfill_id <> ''`+cond+`
		GROUP BY state`, []any{project, id},
		func(scan func(...any) error) error {
			var state, n int
			err := scan(&state, &n)
			if err == nil {
				*counts[state] = n
			}
			return err
		})
	return p, err
}

// writeBackfill stores a backfill that the transaction holds, as the next version of d.
func (s *Store) writeBackfill(
	ctx context.Context,
	tx *events.Commit,
	project int64,
	b *evaluation.Backfill,
	d *resource.Document,
) (err error) {
	if d.Doc, err = json.Marshal(b); err != nil {
		return fmt.Errorf("encode backfill: %w", err)
	}
	err = backfills.Update(ctx, tx, project, d, s.options.Now(), b.MetricID, string(b.State))
	b.Updated = d.Updated
	return err
}

// MoveBackfill pauses, resumes or cancels a backfill of a metric, with what waits of it. The state is set in one transaction
// and its evaluations follow in slices. If the process ends in between, what a resumption left paused is made to wait by the
// backfill's next step. What a pause or a cancellation left waiting, workers still take up, until the same is asked for again.
func (s *Store) MoveBackfill(ctx context.Context, projectID int64, metricID, id string, to evaluation.BackfillState) (
	b evaluation.Backfill, err error) {
	err = s.resources.ChangeDocs(ctx, 0, "change backfill", func(ctx context.Context, tx *events.Commit) error {
		var d resource.Document
		if b, d, err = s.readBackfill(ctx, tx, projectID, id, tx.ForUpdate("")); err != nil {
			return err
		}
		if b.MetricID != metricID {
			return backfills.Missing(id)
		}
		before := b.State
		if err := b.Move(to); err != nil || before == to {
			return err
		}
		return s.writeBackfill(ctx, tx, projectID, &b, &d)
	})
	if err != nil {
		return b, err
	}
	err = s.followBackfill(ctx, projectID, id)
	if err == nil {
		b.Progress, err = s.progress(ctx, s.db, projectID, id)
	}
	return b, sqldb.WrapError(s.db, err, "change backfill")
}

// unfollowed is, by the state of a backfill, the condition on evaluations of its that have still to
// follow it there, and what becomes of them. A claim that somebody has of them ends: a pause adds an attempt, which no
// holder knows of, and outcomes are only taken in state 0. Results (from state 2 on) stay whatever becomes of the backfill.
var unfollowed = map[evaluation.BackfillState]struct{ cond, change string }{
	evaluation.BackfillRunning:   {"state = 1", `UPDATE evaluation SET state = 0, attempts = 0, due_ms = 0`},
	evaluation.BackfillPaused:    {"state = 0", `UPDATE evaluation SET state = 1, attempts = attempts + 1`},
	evaluation.BackfillCancelled: {"state < 2", `DELETE FROM evaluation`},
}

// followBackfill brings the evaluations that a backfill has asked for into its state, whatever that
// is by then, in slices. Each slice reads the state anew and holds the backfill's row: if it is paused and resumed at once, the two
// that follow work toward the same state and not against each other.
func (s *Store) followBackfill(ctx context.Context, project int64, id string) error {
	_, err := s.inSlices(ctx, project, func(ctx context.Context, tx *events.Commit) (int64, error) {
		b, _, err := s.readBackfill(ctx, tx, project, id, tx.ForUpdate(""))
		to, ok := unfollowed[b.State]
		if err != nil || !ok {
			return 0, err
		}
		// Once more outside: on PostgreSQL a row that is changed meanwhile is held against these conditions alone. It may have been scored,
		// or be a new event's by then (insertRequests).
		return tx.Exec(ctx, to.change+fmt.Sprintf(`
			WHERE project_id = $1 AND backfill_id = $2 AND %[1]s AND id IN (
				SELECT id
				FROM evaluation
				WHERE project_id = $1 AND backfill_id = $2 AND backfill_id <> '' AND %[1]s
				LIMIT %[2]d)`,
			to.cond, evaluationSlice), project, id)
	})
	return err
}

// takeFromBackfills takes the requested evaluations that wait for backfills away from these, and counts them. The backfills count them as
// skipped. Each backfill's row is locked before those of its evaluations, as everywhere.
func (s *Store) takeFromBackfills(ctx context.Context, tx *events.Commit, project int64, requests []evaluation.Request, now time.Time) (
	taken int64, err error) {
	asked := map[string][]evaluation.Request{}
	for _, r := range requests {
		asked[r.MetricID] = append(asked[r.MetricID], r)
	}
	var open []string
	err = sqldb.Each(ctx, tx, `SELECT id, metric_id
		FROM backfill
		WHERE project_id = $1 AND state IN ('running', 'paused')
		ORDER BY id`, []any{project}, func(scan func(...any) error) error {
		var id, metric string
		err := scan(&id, &metric)
		if asked[metric] != nil {
			open = append(open, id)
		}
		return err
	})
	for i := 0; i < len(open) && err == nil; i++ {
		var n int64
		n, err = s.takeFromBackfill(ctx, tx, project, open[i], asked, now)
		taken += n
	}
	return taken, err
}

func (s *Store) takeFromBackfill(ctx context.Context, tx *events.Commit, project int64, id string, asked map[string][]evaluation.Request,
	now time.Time) (taken int64, err error) {
	b, d, err := s.readBackfill(ctx, tx, project, id, tx.ForUpdate(""))
	if fault.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var ids []uuid.UUID
	for _, r := range asked[b.MetricID] {
		if r.Version == b.Version {
			ids = append(ids, r.EventID)
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	cond, args := tx.AnyID("event_id", 4, ids)
	taken, err = tx.Exec(ctx, `UPDATE evaluation SET
			backfill_id = '',
			state = 0,
			attempts = CASE WHEN state = 0 THEN attempts ELSE 0 END,
			due_ms = CASE WHEN state = 0 THEN due_ms ELSE $3 END
		WHERE project_id = $1 AND backfill_id = $2 AND state < 2 AND `+cond, append([]any{project, id, now.UnixMilli()}, args...)...)
	if err != nil || taken == 0 {
		return 0, err
	}
	b.Skipped += int(taken)
	return taken, s.writeBackfill(ctx, tx, project, &b, &d)
}

// StepBackfills has each backfill that runs, of all projects, ask for its next evaluations, unless
// enough of it waits, and ends those that have nothing left. busy reports whether any did. One that fails, such as for filters
// that cannot be read any more, does not keep the others from their step; the errors are joined.
func (s *Store) StepBackfills(ctx context.Context) (busy bool, err error) {
	type key struct {
		project int64
		id      string
	}
	var running []key
	err = sqldb.Each(ctx, s.db, `SELECT project_id, id
		FROM backfill
		WHERE state = 'running'
		ORDER BY project_id, id`, nil, func(scan func(...any) error) error {
		var k key
		err := scan(&k.project, &k.id)
		running = append(running, k)
		return err
	})
	for _, k := range running {
		some, failed := s.stepBackfill(ctx, k.project, k.id)
		busy, err = busy || some, errors.Join(err, failed) // the others go on
	}
	return busy, sqldb.WrapError(s.db, err, "step backfills")
}

// stepBackfill has one backfill ask for its next evaluations. The events are looked for outside the transaction, which may take
// long; within it, the backfill's version tells whether another server has made the step meanwhile.
//
// The new evaluations and the place up to which the backfill has come are one transaction: after a crash it goes on
// exactly behind what it has asked for. It takes a step more to end than to ask for its last events: first Asked is set,
// and once none of its evaluations waits any longer, the state. A backfill whose metric is gone is cancelled.
func (s *Store) stepBackfill(ctx context.Context, project int64, id string) (busy bool, err error) {
	b, d, err := s.readBackfill(ctx, s.db, project, id, "")
	if err != nil {
		return false, err
	}
	p, err := s.unended(ctx, s.db, project, id)
	if err == nil && p.Paused > 0 { // whoever resumed it has not come to the end, and may never
		return true, s.followBackfill(ctx, project, id)
	}
	if err != nil || !b.Due(p) {
		return false, err
	}
	next := b
	var ids []uuid.UUID
	doc, gone := resource.Metrics.One(ctx, s.db, project, b.MetricID)
	switch {
	case b.Asked:
		next.State = evaluation.BackfillDone
	case gone != nil && fault.Of(gone) == fault.NotFound:
		next.State = evaluation.BackfillCancelled
	case gone != nil:
		return false, gone
	default:
		if ids, err = s.nextOfBackfill(ctx, project, &next); err != nil {
			return false, err
		}
		if m := metric.FromRow(doc.Doc); m.Deployed == b.Version {
			if err := s.restoreScores(ctx, project, &b, m.Name, ids); err != nil {
				return false, err
			}
		}
	}
	requests := make([]evaluation.Request, len(ids))
	for i, e := range ids {
		requests[i] = evaluation.Request{MetricID: b.MetricID, Version: b.Version, EventID: e}
	}
	now := s.options.Now()
	err = s.events.Change(ctx, project, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) error {
		after := next // this may run again, and must not count twice
		held, doc, err := s.readBackfill(ctx, tx, project, id, tx.ForUpdate(""))
		if err != nil || doc.Version != d.Version || held.State != evaluation.BackfillRunning {
			return err // another server was here, or it was paused meanwhile
		}
		n, err := events.InsertRows(ctx, tx, "evaluation", evaluationColumns, s.evaluationRows(project, requests, id, now))
		if err != nil {
			return err
		}
		after.Count(len(ids), int(n))
		return s.writeBackfill(ctx, tx, project, &after, &doc)
	})
	return err == nil, err
}

// restoreScores gives events the scores that the version of a backfill gave them before, where another version has scored them since: it is
// deployed anew, and scores no event twice. It then counts as asked for now (askedAt), which goes before what comes late of the other one.
func (s *Store) restoreScores(ctx context.Context, project int64, b *evaluation.Backfill, name string, ids []uuid.UUID) error {
	replaced, err := s.replacedScores(ctx, s.db, project, b, ids)
	if err != nil {
		return err
	}
	for slice := range slices.Chunk(replaced, evaluationSlice) {
		of := make([]uuid.UUID, len(slice))
		for i := range slice {
			of[i] = slice[i].EventID
		}
		if err := s.restoreSlice(ctx, project, b, name, of); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) restoreSlice(ctx context.Context, project int64, b *evaluation.Backfill, name string, ids []uuid.UUID) error {
	return s.events.Change(ctx, project, ids[0], 0, func(ctx context.Context, tx *events.Commit) error {
		list, err := s.replacedScores(ctx, tx, project, b, ids)
		if err != nil {
			return err
		}
		for i := range list {
			o := &list[i]
			if _, err := tx.Exec(ctx, `UPDATE evaluation SET due_ms = $3, name = $4 WHERE project_id = $1 AND id = $2`,
				project, o.ID, s.options.Now().UnixMilli(), name); err != nil {
				return err
			}
			if err := s.writeScore(ctx, tx, project, name, o); err != nil && !fault.IsNotFound(err) { // deleted since
				return err
			}
		}
		return nil
	})
}

// replacedScores reads what the version of a backfill has said of events that another version has scored since, in the order of their ids.
func (s *Store) replacedScores(ctx context.Context, c sqldb.Conn, project int64, b *evaluation.Backfill, ids []uuid.UUID) (
	list []evaluation.Outcome, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	cond, args := c.AnyID("q.event_id", 4, ids)
	err = sqldb.Each(ctx, c, `SELECT q.id, q.event_id, q.score, q.explanation
		FROM evaluation q
		WHERE q.project_id = $1 AND q.metric_id = $2 AND q.version = $3 AND q.state = 2 AND q.score IS NOT NULL AND `+cond+`
			AND EXISTS (
				SELECT 1
				FROM evaluation o
				WHERE o.project_id = $1 AND o.event_id = q.event_id AND o.metric_id = $2 AND o.version <> $3
					AND o.state = 2 AND o.score IS NOT NULL AND `+askedAt("o")+` >= `+askedAt("q")+`)
		ORDER BY q.event_id`, append([]any{project, b.MetricID, b.Version}, args...), func(scan func(...any) error) error {
		var o evaluation.Outcome
		var score string
		err := scan(&o.ID, sqldb.ScanID(&o.EventID), &score, &o.Explanation)
		o.Score = json.RawMessage(score)
		list = append(list, o)
		return err
	})
	return list, err
}

// nextOfBackfill finds the next events of a backfill and moves it behind them. It returns none, and sets Asked, at the end.
//
// The search begins at the start time of the last event that was looked at, that time included, since many events may have
// started then: pages of it are read until one has an event that is new. Only head rows are read, and nothing is counted.
func (s *Store) nextOfBackfill(ctx context.Context, project int64, b *evaluation.Backfill) (ids []uuid.UUID, err error) {
	q := query.Search{From: b.From, To: b.NextTo(), RunID: b.RunID, Limit: enqueueSlice, HeadOnly: true, Uncounted: true}
	if err := json.Unmarshal(b.Filters, &q.Filters); err != nil {
		return nil, fmt.Errorf("filters of backfill %s: %w", b.ID, err)
	}
	room := b.Room(enqueueSlice)
	for q.Page = 1; room > 0; q.Page++ {
		set, err := s.events.Search(ctx, project, q)
		if err != nil {
			return nil, err
		}
		page := make([]evaluation.Candidate, len(set.Events))
		for i := range set.Events {
			page[i] = evaluation.Candidate{Start: set.Events[i].Start, ID: set.Events[i].ID}
		}
		if ids = b.Take(page, room); len(ids) > 0 {
			return ids, nil
		}
		if len(set.Events) < q.Limit {
			break
		}
	}
	b.Asked = true
	return nil, nil
}
