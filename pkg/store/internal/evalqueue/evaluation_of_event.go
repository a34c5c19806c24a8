package evalqueue

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// What belongs to an event beside its row: which of its metrics are scores that somebody gave, and what must go when
// it is deleted. Package events asks for both by hooks (events.Hooks), since it knows neither evaluations nor queues.

// ScoreNames lists the members of an event's metrics that the server or people gave: scores, and
// their explanations. An update of telemetry does not change those.
//
// A score counts under the name that its metric had when it was given (evaluation.name), not the metric's name now: a metric that
// is renamed leaves its old scores where they are. What people gave is in the scores of queue items, an object by name.
func (s *Store) ScoreNames(ctx context.Context, c sqldb.Conn, project int64, id uuid.UUID) (names []string, err error) {
	args := []any{project, c.ID(id), stateCode(evaluation.Done)}
	err = sqldb.Each(ctx, c, `SELECT e.name, m.doc
		FROM evaluation e
		LEFT JOIN metric m ON m.project_id = e.project_id AND m.id = e.metric_id
		WHERE e.project_id = $1 AND e.event_id = $2 AND e.state = $3 AND e.score IS NOT NULL`, args, func(scan func(...any) error) error {
		var name string
		var doc *string
		if err := scan(&name, &doc); err != nil {
			return err
		}
		if name == "" && doc != nil { // a result of before names were kept
			m := metric.FromRow([]byte(*doc))
			name = m.Name
		}
		if name != "" {
			names = events.AddScore(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = sqldb.Each(ctx, c, `SELECT scores
		FROM queue_item
		WHERE project_id = $1 AND event_id = $2 AND scores IS NOT NULL`, []any{project, c.ID(id)}, func(scan func(...any) error) error {
		var scores string
		err := scan(&scores)
		for name := range rawjson.Object([]byte(scores)) {
			names = events.AddScore(names, name)
		}
		return err
	})
	return names, err
}

// EraseEvaluationsOf deletes what evaluators and people have recorded of events that are deleted, beside
// the events that hold it: evaluations, and items of queues with their annotations. It runs in the transaction that
// deletes the events, so nobody finds one without the other. A worker that has claimed one of the evaluations finds it gone.
//
// The condition on queue_id names every queue of the project because the keys of both tables begin with it: there is no index
// by event alone that has all items.
func EraseEvaluationsOf(ctx context.Context, tx *events.Commit, project int64, events []uuid.UUID) error {
	if err := eraseEvaluations(ctx, tx, project, events); err != nil {
		return err
	}
	for _, table := range []string{"queue_turn", "queue_item"} {
		cond, args := tx.AnyID("event_id", 2, events)
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+`
			WHERE project_id = $1 AND queue_id IN (SELECT id FROM queue WHERE project_id = $1) AND `+cond,
			append([]any{project}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// MoveEvaluationsOf moves what evaluators and people have recorded of the event of a session to that of the session to which its events move. Where
// that one has an evaluation by the same version of a metric, its own stays, and the other goes; also where it is in the same queue, unless only
// the other has annotations there.
func MoveEvaluationsOf(ctx context.Context, tx *events.Commit, project int64, from, to uuid.UUID) error {
	const ofQueues = `project_id = $1 AND queue_id IN (SELECT id FROM queue WHERE project_id = $1) AND event_id = $2`
	var one int
	found, err := sqldb.One(ctx, tx, `SELECT 1 FROM evaluation WHERE project_id = $1 AND event_id = $2
		UNION ALL
		SELECT 1 FROM queue_item WHERE `+ofQueues+`
		LIMIT 1`, []any{project, tx.ID(from)}, &one)
	if err != nil || !found {
		return err // as with nearly all that move
	}
	annotated := func(event string) string {
		return `EXISTS (
			SELECT 1
			FROM queue_turn t
			WHERE t.project_id = $1 AND t.queue_id = queue_item.queue_id AND t.event_id = ` + event + ` AND t.state = 'annotated')`
	}
	for _, move := range []string{
		// What nobody has said anything of makes way for what somebody has, with its claims. What somebody took out of the queue stays out.
		`DELETE FROM queue_item
		WHERE project_id = $1 AND queue_id IN (SELECT id FROM queue WHERE project_id = $1) AND event_id = $3 AND state <> 'removed'
			AND ` + annotated("$2") + ` AND NOT ` + annotated("$3"),
		`DELETE FROM queue_turn
		WHERE project_id = $1 AND queue_id IN (SELECT queue_id FROM queue_item WHERE ` + ofQueues + `) AND event_id = $3 AND NOT EXISTS (
			SELECT 1
			FROM queue_item o
			WHERE o.project_id = $1 AND o.event_id = $3 AND o.queue_id = queue_turn.queue_id)`,
		`UPDATE evaluation SET event_id = $3
		WHERE project_id = $1 AND event_id = $2 AND NOT EXISTS (
			SELECT 1
			FROM evaluation o
			WHERE o.project_id = $1 AND o.event_id = $3 AND o.metric_id = evaluation.metric_id AND o.version = evaluation.version)`,
		// Turns before items, by which they are told.
		`UPDATE queue_turn SET event_id = $3
		WHERE ` + ofQueues + ` AND NOT EXISTS (
			SELECT 1
			FROM queue_item o
			WHERE o.project_id = $1 AND o.event_id = $3 AND o.queue_id = queue_turn.queue_id)`,
		`UPDATE queue_item SET event_id = $3
		WHERE ` + ofQueues + ` AND NOT EXISTS (
			SELECT 1
			FROM queue_item o
			WHERE o.project_id = $1 AND o.event_id = $3 AND o.queue_id = queue_item.queue_id)`,
	} {
		if _, err := tx.Exec(ctx, move, project, tx.ID(from), tx.ID(to)); err != nil {
			return err
		}
	}
	return EraseEvaluationsOf(ctx, tx, project, []uuid.UUID{from})
}

// eraseEvaluations deletes the evaluations of events that are deleted.
func eraseEvaluations(ctx context.Context, tx *events.Commit, project int64, ids []uuid.UUID) error {
	cond, args := tx.AnyID("event_id", 2, ids)
	_, err := tx.Exec(ctx, `DELETE FROM evaluation WHERE project_id = $1 AND `+cond, append([]any{project}, args...)...)
	return err
}
