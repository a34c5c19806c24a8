package evalqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

const checkEvaluations = "evaluations"

const (
	// overdue is how long an evaluation may be due, and a row of the outbox may stand.
	overdue = time.Hour
	// longLease is how much later than now a claimed evaluation may be due: what it waits for, such as a new day's budget, comes before.
	longLease = 48 * time.Hour
)

// Checks returns what is looked at of evaluations.
func Checks(db sqldb.DB, now func() time.Time) []diagnosis.Check {
	return []diagnosis.Check{{Name: checkEvaluations, Run: func(ctx context.Context, r *diagnosis.Recorder) error { return look(ctx, db, now(), r) }}}
}

// Mends returns what puts right what the checks found.
func (s *Store) Mends() []diagnosis.Mend {
	return []diagnosis.Mend{{Checks: []string{checkEvaluations}, Run: s.mendLeases}}
}

// look counts what is stuck, late or given up.
func look(ctx context.Context, db sqldb.DB, now time.Time, r *diagnosis.Recorder) error {
	far, late := now.Add(longLease).UnixMilli(), now.Add(-overdue).UnixMilli()
	var held, waiting, outboxHeld, outboxLate, failed, dead int64
	if _, err := sqldb.One(ctx, db, `SELECT
			CAST(coalesce(sum(CASE WHEN due_ms > $1 THEN 1 ELSE 0 END), 0) AS bigint),
			CAST(coalesce(sum(CASE WHEN due_ms < $2 THEN 1 ELSE 0 END), 0) AS bigint)
		FROM evaluation WHERE state = 0`, []any{far, late}, &held, &waiting); err != nil {
		return err
	}
	if _, err := sqldb.One(ctx, db, `SELECT
			CAST(coalesce(sum(CASE WHEN due_ms > $1 THEN 1 ELSE 0 END), 0) AS bigint),
			CAST(coalesce(sum(CASE WHEN created_ms < $2 AND due_ms < $2 THEN 1 ELSE 0 END), 0) AS bigint)
		FROM outbox`, []any{far, late}, &outboxHeld, &outboxLate); err != nil {
		return err
	}
	if _, err := sqldb.One(ctx, db, `SELECT
			CAST(coalesce(sum(CASE WHEN state = 3 THEN 1 ELSE 0 END), 0) AS bigint),
			CAST(coalesce(sum(CASE WHEN state = 4 THEN 1 ELSE 0 END), 0) AS bigint)
		FROM evaluation WHERE state >= 3`, nil, &failed, &dead); err != nil {
		return err
	}
	if held+outboxHeld > 0 {
		r.Add(diagnosis.Finding{Severity: diagnosis.Error, Count: held + outboxHeld, Mendable: true,
			Text: fmt.Sprintf("%d evaluations and %d lists of new events are taken for longer than any server takes them: its clock was wrong, "+
				"and nobody works on them until then", held, outboxHeld),
			Advice: "--mend gives them free"})
	}
	if waiting+outboxLate > 0 {
		r.Add(diagnosis.Finding{Severity: diagnosis.Warn, Count: waiting + outboxLate,
			Text:   fmt.Sprintf("%d evaluations and %d lists of new events have been due for more than an hour", waiting, outboxLate),
			Advice: "a server with spangrove_evaluate works on them; if one runs, see spangrove status and its log"})
	}
	if failed+dead > 0 {
		r.Add(diagnosis.Finding{Severity: diagnosis.Warn, Count: failed + dead,
			Text:   fmt.Sprintf("%d evaluations failed, and %d were given up after several tries", failed, dead),
			Advice: "spangrove evaluations list --state dead says why; spangrove evaluations retry has them tried again"})
	}
	if held+outboxHeld+waiting+outboxLate+failed+dead == 0 {
		r.OK("none is stuck, late or given up")
	}
	return nil
}

// mendLeases gives free what is taken for too long.
func (s *Store) mendLeases(ctx context.Context) (string, error) {
	now := s.options.Now()
	var n int64
	err := s.events.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) error {
		n = 0
		for _, text := range []string{
			`UPDATE evaluation SET due_ms = $1 WHERE state = 0 AND due_ms > $2`,
			`UPDATE outbox SET due_ms = $1 WHERE due_ms > $2`,
		} {
			some, err := tx.Exec(ctx, text, now.UnixMilli(), now.Add(longLease).UnixMilli())
			if err != nil {
				return err
			}
			n += some
		}
		return nil
	})
	return fmt.Sprintf("gave %d evaluations and lists of new events free", n), err
}
