package events

import (
	"context"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// RebuildIndex has all segments of a project built anew, in the background. It takes their headers away, in one transaction: from then on
// their events are read from rows, until a pass has replaced them. What is still to be done follows from the rows, so a process that ends
// leaves it to the next one, and to ask twice changes nothing.
func (s *Store) RebuildIndex(ctx context.Context, projectID int64) error {
	err := s.changeSegments(ctx, func(ctx context.Context, tx *Commit) error {
		_, err := tx.Exec(ctx, `UPDATE segment SET header = NULL WHERE project_id = $1 AND header IS NOT NULL`, projectID)
		return err
	})
	s.wakeSealing()
	return sqldb.WrapError(s.db, err, "rebuild the index")
}

// IndexState counts what a project has in segments, and what is read from rows instead.
func (s *Store) IndexState(ctx context.Context, projectID int64) (x project.Index, err error) {
	ctx, end, err := s.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return x, err
	}
	defer end()
	err = s.db.Snapshot(ctx, func(c sqldb.Conn) (err error) {
		x, err = s.indexState(ctx, c, projectID)
		return err
	})
	return x, sqldb.WrapError(s.db, err, "count what is in the index")
}

func (s *Store) indexState(ctx context.Context, c sqldb.Conn, projectID int64) (x project.Index, err error) {
	var sealed, headers int64
	if _, err := sqldb.One(ctx, c, `SELECT sealed_seq FROM segment_progress`, nil, &sealed); err != nil {
		return x, err
	}
	_, err = sqldb.One(ctx, c, `SELECT
			count(*),
			CAST(coalesce(sum(num_events), 0) AS bigint),
			count(*) - count(header),
			CAST(coalesce(sum(CASE WHEN header IS NULL THEN num_events END), 0) AS bigint),
			CAST(coalesce(sum(CASE WHEN header IS NULL OR NOT words THEN num_events END), 0) AS bigint),
			CAST(coalesce(sum(octet_length(header)), 0) AS bigint)
		FROM segment
		WHERE project_id = $1`, []any{projectID}, &x.Segments, &x.Events, &x.WaitingSegments, &x.WaitingEvents, &x.WaitingTextEvents, &headers)
	if err != nil {
		return x, err
	}
	if _, err := sqldb.One(ctx, c, `SELECT CAST(coalesce(sum(octet_length(c.data)), 0) AS bigint)
		FROM segment AS g
		CROSS JOIN segment_column AS c
		WHERE g.project_id = $1 AND c.segment_id = g.id`, []any{projectID}, &x.Bytes); err != nil {
		return x, err
	}
	x.Bytes += headers
	// A change of an event that was deleted before it came into a segment is no segment's.
	if _, err := sqldb.One(ctx, c, `SELECT count(*)
		FROM segment AS g
		CROSS JOIN segment_stale AS x
		WHERE g.project_id = $1 AND x.project_id = g.project_id AND x.seq >= g.first_seq AND x.seq <= g.last_seq`,
		[]any{projectID}, &x.ChangedEvents); err != nil {
		return x, err
	}
	_, err = sqldb.One(ctx, c, `SELECT count(*) FROM `+s.Dialect.FromBySeq()+` WHERE e.seq > $2 AND e.project_id = $1`,
		[]any{projectID, sealed}, &x.UnsealedEvents)
	return x, err
}
