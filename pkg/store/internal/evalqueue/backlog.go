package evalqueue

import (
	"context"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/status"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// EvaluationBacklog counts what waits to be evaluated, and what gave no score, of a project or if that is 0 of all. Each count has
// an index of its own, and what it costs grows with what it finds.
func (s *Store) EvaluationBacklog(ctx context.Context, projectID int64) (x status.Evaluations, err error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return x, err
	}
	defer end()
	err = s.backlog(ctx, projectID, &x)
	return x, sqldb.WrapError(s.db, err, "count what waits to be evaluated")
}

func (s *Store) backlog(ctx context.Context, projectID int64, x *status.Evaluations) error {
	of, args := "", []any{s.options.Now().UnixMilli()}
	if projectID != 0 {
		of, args = ` AND project_id = $2`, append(args, projectID)
	}
	if _, err := sqldb.One(ctx, s.db, `SELECT count(*), CAST(coalesce(sum(CASE WHEN due_ms <= $1 THEN 1 ELSE 0 END), 0) AS bigint)
		FROM evaluation
		WHERE state = 0`+of, args, &x.Waiting, &x.Due); err != nil {
		return err
	}
	of, args = "", nil
	if projectID != 0 {
		of, args = ` AND project_id = $1`, []any{projectID}
	}
	err := sqldb.Each(ctx, s.db, `SELECT state, count(*) FROM evaluation WHERE state >= 3`+of+` GROUP BY state`, args,
		func(scan func(...any) error) error {
			var state int
			var n int64
			err := scan(&state, &n)
			switch state {
			case stateCode(evaluation.Failed):
				x.Failed = n
			case stateCode(evaluation.Dead):
				x.Dead = n
			}
			return err
		})
	if err != nil {
		return err
	}
	if _, err := sqldb.One(ctx, s.db, `SELECT count(*) FROM outbox_delayed WHERE 1 = 1`+of, args, &x.Delayed); err != nil {
		return err
	}
	// A row of the outbox has ids of event and session, 16 bytes each.
	_, err = sqldb.One(ctx, s.db, `SELECT CAST(coalesce(sum(octet_length(ids)), 0) / 32 AS bigint) FROM outbox WHERE 1 = 1`+of, args, &x.NewEvents)
	return err
}
