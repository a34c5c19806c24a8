package resource

import (
	"context"

	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// What calls of providers have cost, table spending: a row for each project, provider and UTC day. The budgets of a day are reckoned
// in memory (package llm) and go by these totals, so that they outlive the server and hold for all servers together.
//
// Additions commute: servers add to the same row without reading it first, and none is lost. A server that dies between a call
// and its booking leaves that call out.

// spendingDays is how many days of spending are kept. Older ones of a provider go when something is booked for it.
const spendingDays = 100

// Spend adds dollars and calls to those of a provider on a UTC day, counted in days since 1970, and
// returns the day's totals. They are read after the commit, so that what other servers have added by then is in them. To add
// nothing only reads, and writes no row.
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
