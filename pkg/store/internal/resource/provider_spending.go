package resource

import (
	"context"

	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// spendingDays is how many days of spending are kept.
const spendingDays = 100

// Spend adds dollars and calls to those of a provider on a UTC day, counted in days since 1970, and
// returns the day's totals.
func (s *Store) Spend(ctx context.Context, projectID int64, provider string, day int64, usd float64, calls int64) (
	dayUSD float64, dayCalls int64, err error) {
	key := []any{projectID, provider, day}
	if usd != 0 || calls != 0 {
		err = s.ChangeDocs(ctx, 0, "note spending", func(ctx context.Context, tx *events.Commit) error {
			if _, err := tx.Exec(ctx, `DELETE FROM spending
				WHERE project_id = $1 AND provider = $2 AND day < $3`, projectID, provider, day-spendingDays); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `INSERT INTO spending(project_id, provider, day, usd, calls) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (project_id, provider, day) DO UPDATE SET
					usd = spending.usd + excluded.usd,
					calls = spending.calls + excluded.calls`, append(key, usd, calls)...)
			return err
		})
		if err != nil {
			return 0, 0, err
		}
	}
	_, err = sqldb.One(ctx, s.db, `SELECT usd, calls
		FROM spending
		WHERE project_id = $1 AND provider = $2 AND day = $3`, key, &dayUSD, &dayCalls)
	return dayUSD, dayCalls, sqldb.WrapError(s.db, err, "read spending")
}
