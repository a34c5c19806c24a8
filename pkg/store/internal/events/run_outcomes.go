package events

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// maxOtherChanges is how many changed sessions are looked up for a run that is kept; past it, the run is read again.
const maxOtherChanges = 2000

// Outcomes returns what is kept of a run, or else what read makes of it, which is kept then. read also returns all sessions of the run. The answer must not be
// changed.
func (s *Store) Outcomes(ctx context.Context, key OutcomeKey, read func() (*run.Outcomes, []uuid.UUID, error)) (*run.Outcomes, error) {
	k, others := s.outcomes.find(key)
	if k != nil {
		joined, err := s.anyOfRun(ctx, key, others)
		if err != nil {
			return nil, err
		}
		if !joined {
			if len(others) > 0 {
				s.outcomes.keep(key, k)
			}
			return k.outcomes, nil
		}
	}
	k = &keptOutcomes{made: s.options.Now()}
	k.log, k.at = s.outcomes.begin(key.Project)
	var err error
	if k.outcomes, k.sessions, err = read(); err != nil {
		return nil, err
	}
	slices.SortFunc(k.sessions, compareIDs)
	s.outcomes.keep(key, k)
	return k.outcomes, nil
}

// anyOfRun reports whether one of some sessions belongs to a run, or has an event that does.
func (s *Store) anyOfRun(ctx context.Context, key OutcomeKey, sessions []uuid.UUID) (bool, error) {
	if len(sessions) > maxOtherChanges {
		return true, nil
	}
	for group := range slices.Chunk(sessions, sqldb.IDsPerQuery) {
		b := query.NewBuilder(s.Dialect)
		of := s.Dialect.SessionIn(b, key.Project, group)
		found, n := false, 0
		found, err := sqldb.One(ctx, s.db, fmt.Sprintf(`SELECT 1 FROM event AS e WHERE %s AND e.run_id = %s LIMIT 1`, of, b.Arg(key.Run)), b.Args(), &n)
		if err != nil || found {
			return true, err
		}
		cond, args := s.db.AnyID("session_id", 3, group)
		found, err = sqldb.One(ctx, s.db, `SELECT 1 FROM session WHERE project_id = $1 AND run_id = $2 AND `+cond+` LIMIT 1`,
			append([]any{key.Project, key.Run}, args...), &n)
		if err != nil || found {
			return true, err
		}
	}
	return false, nil
}

// SessionOutcomes reads what sessions came to, without their datapoints, into out. Those that are gone are left out.
func (s *Store) SessionOutcomes(ctx context.Context, project int64, sessions []uuid.UUID, out map[uuid.UUID]run.Outcome) error {
	for group := range slices.Chunk(sessions, sqldb.IDsPerQuery) {
		cond, args := s.db.AnyID("s.session_id", 2, group)
		err := sqldb.Each(ctx, s.db, fmt.Sprintf(`SELECT
				s.session_id,
				s.cost,
				s.num_costs,
				s.total_tokens,
				s.num_unfinished,
				e.start_ms,
				e.duration,
				CASE WHEN e.error <> '' OR (e.spill & %d) <> 0 THEN 1 ELSE 0 END
			FROM session AS s
			JOIN event AS e ON e.project_id = s.project_id AND e.day = s.event_day AND e.event_id = s.session_id
			WHERE s.project_id = $1 AND %s`, query.SpillError, cond), append([]any{project}, args...), func(scan func(...any) error) error {
			var o run.Outcome
			var costs, unfinished, failed int64
			if err := scan(sqldb.ScanID(&o.ID), &o.Cost, &costs, &o.Tokens, &unfinished, &o.Start, &o.Duration, &failed); err != nil {
				return err
			}
			o.Cost, o.HasCost, o.Running, o.HasError = query.RoundCost(o.Cost), costs > 0, unfinished > 0, failed != 0
			out[o.ID] = o
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
