package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// sessionRow is a session's row as it is stored, without its version.
type sessionRow struct {
	implicit    int // explicitSession, implicitAll or implicitEnd
	nameRank    int
	eventDay    int32
	totals      totals
	first, last float64 // noFirst and noLast if an implicit session has no events
	runID       string
	root, final rootRow
	userMS      *float64
}

// rootRow is a root event as the session's row names it; ms is nil if there is none.
type rootRow struct {
	ms  *float64
	id  uuid.UUID
	day *int32
}

// readSessionRow reads the row of a session. forUpdate is empty, or Tx.ForUpdate to lock the row until the transaction ends.
func readSessionRow(ctx context.Context, c sqldb.Conn, project int64, id uuid.UUID, forUpdate string) (r *sessionRow, found bool, err error) {
	r = &sessionRow{}
	found, err = sqldb.One(ctx, c, `
		SELECT
			implicit,
			name_rank,
			event_day,
			first_ms,
			last_ms,
			coalesce(run_id, ''),
			root_ms,
			root_id,
			root_day,
			last_root_ms,
			last_root_id,
			last_root_day,
			user_ms,`+totalsColumns+`
		FROM session
		WHERE project_id = $1 AND session_id = $2`+forUpdate, []any{project, c.ID(id)}, append([]any{
		&r.implicit,
		&r.nameRank,
		&r.eventDay,
		&r.first,
		&r.last,
		&r.runID,
		&r.root.ms,
		sqldb.ScanID(&r.root.id),
		&r.root.day,
		&r.final.ms,
		sqldb.ScanID(&r.final.id),
		&r.final.day,
		&r.userMS,
	}, r.totals.targets()...)...)
	return r, found, err
}
